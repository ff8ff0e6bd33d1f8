"""What the commands share: options, progress, and how they speak."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any

import typer

from clems import process

EXITS = (
    "Exit codes: 0 all is well, 1 something went wrong and one sentence says what, 2 the command was not used rightly, "
    "130 interrupted; SIGTERM and SIGHUP end it as they end others, once it has cleaned up."
)
_doing = ""
WIDE = 200  # characters of a line that nobody looks at
FLAGS = "cost|labels|tags|separator|pairs|row_id|drop|nominal|delimiter|decimal|encoding|spreadsheet_safe"


def _not_zero(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 cores cannot do anything; give a number of them, or -1 for all.")
    return jobs


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress, only results and errors.")]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON to standard output, for scripts.")]
Tags = Annotated[str | None, typer.Option(help="The labels are in this column of a table, as tags.")]
Separator = Annotated[str | None, typer.Option(help="What is between two tags, such as ';'.")]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out: names or patterns, with commas between.")]
Delimiter = Annotated[
    str | None, typer.Option(help="What is between two columns of a CSV; found out if it is not given.")
]
Decimal = Annotated[str, typer.Option(help="The point in numbers of a CSV, such as ','.")]
Encoding = Annotated[str, typer.Option(help="Encoding of a text file, such as latin-1.")]
Trust = Annotated[
    list[str] | None,
    typer.Option(metavar="MODULE:FUNCTION", help="A cost of your own that the model may use; repeat for more."),
]
Force = Annotated[bool, typer.Option("--force", help="Write even over a file that this command reads.")]
Jobs = Annotated[int | None, typer.Option(callback=_not_zero, help="Cores to use; -1 for all.")]
Model = Annotated[str, typer.Argument(help="The model, a file that 'clems fit' has written.", show_default=False)]


Rows = Annotated[
    str,
    typer.Argument(help="Rows: CSV, TSV, Parquet, ARFF or libsvm; - is standard input, a CSV.", show_default=False),
]
STANDARD = "-"


def input_of(file: str) -> Any:
    """Return what to read, which may be standard input."""
    return sys.stdin.buffer if file == STANDARD else file


def check_output(output: str | Path, force: bool, *inputs: str | Path | None) -> None:
    """Refuse an output that cannot be written, and, unless that is forced, one that is an input too.

    The same file is the same by whatever path or link; pipes and devices may be both.
    """
    from clems.datasets.mulan import xml_beside
    from clems.files import check_place, is_written_whole

    path = Path(output)
    check_place(path)
    if force or not path.exists() or not is_written_whole(path):
        return
    given = [Path(file) for file in inputs if file is not None and file != STANDARD]
    given += [xml for file in given if ".arff" in file.name.lower() and (xml := xml_beside(file)) is not None]
    for file in given:
        if file.exists() and file.samefile(path):
            also = "" if file == path else f", the same file as {file},"
            raise ValueError(
                f"{path}{also} is read by this command and would be replaced; choose another --output, or say --force."
            )


def names_in(text: str | None) -> list[str]:
    """Names or patterns with commas between; a comma in a name is written ``?``, which stands for any character."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def note(text: str, quiet: bool) -> None:
    """Say something beside the result, on standard error."""
    if not quiet:
        process.say(text)


def print_json(value: Any) -> None:
    """Print a result for scripts; what is no number, or infinite, is null."""
    text = json.dumps(_plain(value), ensure_ascii=False, indent=1)
    typer.echo(text.encode("utf-8", "backslashreplace"))  # whatever the encoding of the terminal


def print_path(path: Path) -> None:
    """Print where something was written, exactly; if standard output is closed, the file is all that was asked for."""
    if process.STDOUT not in process.CLOSED:
        typer.echo(os.fsencode(path))


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(title: str, frame: Any) -> None:
    """Print a DataFrame; on a terminal in its width, else in the width that it needs."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in frame.columns:
        is_number = frame[column].dtype.kind in "iuf"
        table.add_column(str(column), justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(escape(_shown(cell)) for cell in row))
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)


def _shown(cell: Any) -> str:
    from pandas import isna

    if isna(cell):
        return "–"
    if isinstance(cell, float):
        return f"{cell:.3f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


@contextmanager
def progress(text: str, quiet: bool) -> Iterator[Callable[[float | None, str], None]]:
    """Show on a terminal what is going on and for how long, and the share that is done where it is known.

    Yields
    ------
    callable
        Takes the share that is done, or None, and what to say now.
    """
    doing(text)
    if quiet or not sys.stderr.isatty():
        yield lambda _share, text: doing(text)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(text, total=None)

        def update(share: float | None, text: str) -> None:
            doing(text)
            shown.update(task, description=text, total=None if share is None else 1.0, completed=share or 0.0)

        yield update


def doing(text: str) -> None:
    """Keep in mind what is being done, to say it if the memory is not enough."""
    global _doing
    _doing = text


def sentence_of(error: Exception) -> str:
    """Say in one line what went wrong, with options as they are written on a command line."""
    while_doing = f" ({_doing})" if _doing else ""
    if isinstance(error, MemoryError):
        told = str(error).strip().partition("\n")[0].rstrip(".")
        return (
            f"The memory is not enough{while_doing}{f': {told}' if told else ''}; try it with fewer rows or trees, "
            "fewer jobs at a time, or on a computer with more of it."
        )
    if isinstance(error, RecursionError):
        return f"Something that was given is nested too deeply{while_doing}."
    if isinstance(error, OSError) and error.errno == errno.EBADF and error.filename is None:
        return "A standard stream that is needed is closed; give the names of files, and --output."
    if notes := getattr(error, "__notes__", None):  # on what a function of the user's raised
        last = extract_tb(error.__traceback__)[-1]
        return f"{notes[0]} {type(error).__name__}: {error} ({last.filename}, line {last.lineno})."
    if isinstance(error, OSError) and error.strerror:
        if isinstance(error, FileNotFoundError) and error.filename is not None:
            return f"There is no file {error.filename}."
        return f"{f'{error.filename}: ' if error.filename is not None else ''}{error.strerror}."
    return in_flags(str(error).strip().partition("\n")[0])


def in_flags(text: str) -> str:
    """Turn advice for Python into advice for the command line.

    Examples
    --------
    >>> from clems.cli.console import in_flags
    >>> in_flags("leave it out with drop=['colour'], or pass nominal='one-hot' or 'codes'.")
    "leave it out with --drop 'colour', or pass --nominal 'one-hot'."
    >>> in_flags("load it with trusted=['prices.late_fee'].")
    'pass --trust prices:late_fee.'
    """

    def trust(match: re.Match[str]) -> str:
        names = re.findall(r"'([^']+)'", match[1])
        return "pass " + " ".join(f"--trust {':'.join(name.rsplit('.', 1))}" for name in names)

    text = re.sub(r"load it with trusted=\[([^\]]*)\]", trust, text)
    text = text.replace("list_datasets()", "'clems datasets list'").replace(
        "; read_arff and the like read your own", ""
    )
    text = text.replace("nominal='one-hot' or 'codes'", "nominal='one-hot'").replace("; use nominal='codes'", "")
    text = re.sub(rf"\b({FLAGS})=\[([^\]]*)\]", lambda match: f"{_flag(match[1])} {match[2]}", text)
    return re.sub(rf"\b({FLAGS})=(\.\.\. ?| )?", lambda match: f"{_flag(match[1])} ", text)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
