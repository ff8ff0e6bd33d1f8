"""Options that several commands share, each defined once, and how their values are read."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from clems.cli.estimators import complete_estimator
from clems.wording import names_in

EXITS = (
    "Exit codes: 0 success, 1 an error, described in one sentence, 2 wrong usage, 130 interrupted; after SIGTERM and "
    "SIGHUP the command cleans up and then ends by the signal."
)
STANDARD = "-"


def complete_cost(start: str) -> list[str]:
    """Complete the name of a cost, or of a criterion of all rows together."""
    from clems.costs import CRITERIA

    return [name for name in CRITERIA if name.startswith(start)]


def _not_zero(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("give a number of cores, or -1 for all.")
    return jobs


def output(text: str) -> Any:
    """Make the option --output, also -o, with its help."""
    return typer.Option("--output", "-o", help=text)


# What is read.

Model = Annotated[str, typer.Argument(help="The model, a file written by 'clems fit'.", show_default=False)]
Data = Annotated[
    str,
    typer.Argument(
        help="Data: CSV, TSV, Parquet, ARFF or libsvm; or a pattern such as 'data/*.parquet', or a folder, which Dask "
        "reads in parts.",
        show_default=False,
    ),
]
Rows = Annotated[
    str,
    typer.Argument(
        help="Rows: CSV, TSV, Parquet, ARFF or libsvm; - is standard input, a CSV; or a pattern such as "
        "'data/*.parquet', or a folder, which Dask reads in parts.",
        show_default=False,
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:FUNCTION", help="A function that the model may import as its cost; repeat it for several."
    ),
]

# How data is read.

Labels = Annotated[
    str | None,
    typer.Option(
        help="Which columns are labels: names or patterns such as 'tag_*', separated by commas. For an ARFF file, also "
        "their number or an XML file; by default the labels that the file declares."
    ),
]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out: names or patterns, separated by commas.")]


Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="KIND=COLUMNS",
        help="Set what columns of a table hold, if it is detected wrongly: numbers, booleans, dates, words, "
        "characters or text, as in text=subject,notes; repeat it for several.",
    ),
]
RowId = Annotated[
    str | None,
    typer.Option(
        "--id", "--row-id", metavar="COLUMN", help="Column that identifies each row; it is not used as a feature."
    ),
]


@dataclass(frozen=True)
class TagColumn:
    """The column of a table that holds the labels as tags."""

    tags: Annotated[str | None, typer.Option(help="Column of a table that holds the labels as tags.")] = None
    separator: Annotated[str | None, typer.Option(help="Separator of tags, such as ';'.")] = None


@dataclass(frozen=True)
class TextForm:
    """How a text file is written."""

    delimiter: Annotated[str | None, typer.Option(help="Separator of columns in a CSV; detected by default.")] = None
    decimal: Annotated[str | None, typer.Option(help="Decimal point of numbers in a CSV, such as ','.")] = None
    encoding: Annotated[str, typer.Option(help="Encoding of a text file, such as latin-1.")] = "utf-8"


NO_TAGS, USUAL = TagColumn(), TextForm()

Pairs = Annotated[Path | None, typer.Option(help="A second table with one row and one label per line.")]

MissingLabels = Annotated[
    str | None,
    typer.Option(
        metavar="refuse|keep",
        help="What to do with missing labels: refuse them (the default), or keep them for a learner that accepts them, "
        "leml or bcs.",
    ),
]

# What is done.

Estimator = Annotated[
    str | None,
    typer.Option(
        help="The estimator inside the learner: logistic_regression, random_forest, gradient_boosting and others for "
        "learners built on a classifier (cost_sensitive, br, pcc and others), or any from scikit-learn with its "
        "parameters, such as 'RandomForestClassifier(n_estimators=300)'.",
        autocompletion=complete_estimator,
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter of the learner, such as n_trees=200; repeat it for several."
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(
        help="What a mistake costs: a name such as f1, hamming, rank or f_beta(2); a CSV of prices with the columns "
        "label, false_negative, false_positive; or your own module:function. By default f1.",
        autocompletion=complete_cost,
    ),
]
AtMost = Annotated[int | None, typer.Option("--at-most", metavar="K", help="Predict at most K labels for each row.")]
Exactly = Annotated[int | None, typer.Option(metavar="K", help="Predict exactly K labels for each row.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Jobs = Annotated[int | None, typer.Option(callback=_not_zero, help="Number of cores to use; -1 for all.")]
FitsAtATime = Annotated[
    int | None, typer.Option(min=1, help="Number of fits that run at a time; by default the number of cores.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Read tables in parts by the Dask cluster of this scheduler, tcp://host:8786."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Read tables in parts by so many processes of this computer, each in memory of its own."),
]
Budget = Annotated[str | None, typer.Option(help="Stop after this time, such as 90s, 30m or 2h30m.")]

Unit = Annotated[str | None, typer.Option(help="The unit of costs, such as '€'.")]
HandOverPrice = Annotated[
    float | None, typer.Option("--abstain-at", min=0, help="Price of handing one row over to a person.")
]

# What is written.

Force = Annotated[bool, typer.Option("--force", help="Allow --output to replace a file that this command reads.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results and errors, no notes and no progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass of options by these options, which typer knows only one by one."""
    parameters = signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: own.annotation for name, own in parameters.items() if is_dataclass(own.annotation)}

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    single = [
        option
        for name, own in parameters.items()
        for option in (signature(groups[name], eval_str=True).parameters.values() if name in groups else [own])
    ]
    called.__signature__ = Signature(single)  # type: ignore[attr-defined]
    return called


def kinds_of(given: list[str] | None) -> dict[str, str]:
    """Read kinds of columns that are written as KIND=COLUMN,COLUMN."""
    found: dict[str, str] = {}
    for text in given or []:
        kind, equals, columns = text.partition("=")
        names = names_in(columns)
        if not equals or not kind.strip() or not names:
            raise ValueError(f"--as takes KIND=COLUMNS, such as text=subject; got {text!r}.")
        for name in names:
            if found.setdefault(name, kind.strip()) != kind.strip():
                raise ValueError(f"--as gives the column {name!r} two kinds, {found[name]} and {kind.strip()}.")
    return found


def parameters_in(given: list[str] | None) -> dict[str, Any]:
    """Read parameters that are written as NAME=VALUE; a value that is no literal of Python's is text."""
    found = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"--set takes NAME=VALUE; got {text!r}.")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):  # the last two for deeply nested text
            found[name] = value
    return found


def remembered(reading: dict[str, str], **given: str | None) -> dict[str, Any]:
    """Take what is not given from what a model remembers of its training data."""
    return {name: reading.get(name) if value is None else value for name, value in given.items()}


def form_for(text: TextForm, reading: dict[str, str] | None = None) -> dict[str, Any]:
    """Options of reading text: those that are given, else those that a model remembers, else the usual ones."""
    known = remembered(reading or {}, delimiter=text.delimiter, decimal=text.decimal)
    return {"delimiter": known["delimiter"], "decimal": known["decimal"] or ".", "encoding": text.encoding}


def input_of(file: str) -> Any:
    """Return what to read, which may be standard input."""
    return sys.stdin.buffer if file == STANDARD else file


def check_output(output: str | Path, force: bool, *inputs: str | Path | None) -> None:
    """Refuse an output that cannot be written, and, unless forced, one that is also an input.

    Files are compared as files, not by path, so links are seen through; pipes and devices may be both.
    """
    from clems.datasets.formats import find_format
    from clems.files import check_place, is_written_whole

    path = Path(output)
    check_place(path)
    if force or not path.exists() or not is_written_whole(path):
        return
    given = [Path(file) for file in inputs if file is not None and file != STANDARD]
    known = [(file, find_format(file)) for file in given]
    given += [other for file, file_format in known if file_format for other in file_format.beside(file)]
    for file in given:
        if file.exists() and file.samefile(path):
            also = "" if file == path else f", the same file as {file},"
            raise ValueError(
                f"{path}{also} is read by this command and would be replaced; choose another --output, or pass --force."
            )
