"""What the commands print: results, notes, progress, and errors in one sentence."""

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
from typing import Any

import typer

from clems.cli import process

_doing = ""
MANY = 20  # columns of numbers from which on they are listed together
WIDE = 200  # characters per line when output is not a terminal
FLAGS = (
    "missing_labels|cost|labels|tags|separator|pairs|row_id|drop|delimiter|decimal|encoding|spreadsheet_safe|at_most|"
    "exactly"
)


def note(text: str, quiet: bool) -> None:
    """Print a note to standard error, unless quiet."""
    if not quiet:
        process.say(text)


def column_lines(columns: list[list[str]]) -> list[str]:
    """Say what was done with the columns of a table, a line for each; with many of a kind, one for all of these."""
    from clems.wording import first_few, plural, printable

    kinds = [kind for _, kind, _ in columns]
    lines, width = [], min(30, max([len(name) for name, *_ in columns], default=0))
    for place, (name, kind, how) in enumerate(columns):
        alike = [other for other, own, _ in columns if own == kind]
        if len(alike) <= MANY or kind not in ("numbers", "booleans"):
            lines.append(f"  {name:<{width}}  {kind:<10}  {how}")
        elif kinds.index(kind) == place:
            lines.append(f"  {plural(len(alike), 'column')} of {kind}: {first_few(alike, show=str)}")
    return [printable(line) for line in lines]


def print_json(value: Any) -> None:
    """Print a result as JSON for scripts; NaN and infinity become null."""
    text = json.dumps(_plain(value), ensure_ascii=False, indent=1)
    typer.echo(text.encode("utf-8", "backslashreplace"))  # UTF-8, whatever the encoding of the terminal


def print_path(path: Path) -> None:
    """Print the path of a file that was written, byte for byte; nothing if standard output is closed."""
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


def print_table(title: str, frame: Any, *, numbers: bool = False) -> None:
    """Print a DataFrame as a table, as wide as the terminal, or as wide as it needs when that is not one.

    Parameters
    ----------
    title : str
        Above it.
    frame : DataFrame
        What to print.
    numbers : bool, default=False
        Whether all columns but the first hold numbers, also those that are written already.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in frame.columns:
        is_number = (numbers and column != frame.columns[0]) or frame[column].dtype.kind in "iuf"
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
    """Show progress on a terminal: the current step, the time, and the share that is done where it is known.

    Yields
    ------
    callable
        Takes the share that is done, or None, and the current step.
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
    """Remember the current step, which an error about memory names."""
    global _doing
    _doing = text


def sentence_of(error: Exception) -> str:
    """Describe an error in one line, with options as they are written on a command line."""
    while_doing = f" ({_doing})" if _doing else ""
    if isinstance(error, MemoryError):
        detail = str(error).strip().partition("\n")[0].rstrip(".")
        return (
            f"Not enough memory{while_doing}{f': {detail}' if detail else ''}; use fewer rows or trees, "
            "fewer jobs at a time, or a computer with more memory."
        )
    if isinstance(error, RecursionError):
        return f"The input is nested too deeply{while_doing}."
    if isinstance(error, OSError) and error.errno == errno.EBADF and error.filename is None:
        return "A standard stream that this command needs is closed; give file names, and --output."
    if notes := getattr(error, "__notes__", None):  # of an exception raised by a function of the user's
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
    >>> in_flags("leave it out with drop=['colour'], or take it as words with kinds={'colour': 'words'}.")
    "leave it out with --drop 'colour', or take it as words with --as words=colour."
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
    text = text.replace("; use nominal='codes'", "")
    text = re.sub(r"kinds=\{'([^']*)': '(\w+)'\}", lambda match: f"--as {match[2]}={_quoted(match[1])}", text)
    text = re.sub(rf"\b({FLAGS})=\[([^\]]*)\]", lambda match: f"{_flag(match[1])} {match[2]}", text)
    return re.sub(rf"\b({FLAGS})=(\.\.\. ?| )?", lambda match: f"{_flag(match[1])} ", text)


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"'{text}'"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
