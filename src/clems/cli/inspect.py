"""`clems inspect`: describe a model or a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clems.cli.console import column_lines, doing, note, print_json
from clems.cli.data import read_data
from clems.cli.options import NO_TAGS, USUAL, Drop, Json, Labels, MissingLabels, Quiet, TagColumn, TextForm, form_for
from clems.wording import first_few, plural, printable

MODEL = b"PK"  # first bytes of a model file
SUFFIX = ".clems"  # the usual end of its name
SOME = 8  # most names that are shown
MIXED = "numbers and others"  # what a column holds that fit refuses


def inspect(
    file: Annotated[str, typer.Argument(help="A model, or a data file of any format.", show_default=False)],
    labels: Labels = None,
    tags: TagColumn = NO_TAGS,
    drop: Drop = None,
    missing_labels: MissingLabels = None,
    text: TextForm = USUAL,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Describe a model or a data file; for a table without --labels or --tags, list the columns.

    No object of a model is created, so a model from an untrusted source can be inspected safely.

    Examples
    --------
        clems inspect model.clems

        clems inspect tickets.csv

        clems inspect tickets.csv --labels "tag_*"
    """
    doing(f"Reading {file}")
    with Path(file).open("rb") as start:
        is_model = start.read(len(MODEL)) == MODEL
    if is_model or file.endswith(SUFFIX):
        _model(file, json)
        return
    from clems.datasets.formats import format_of

    file_format = format_of(file)
    if file_format.is_table and labels is None and tags.tags is None:
        _columns(file, text, json)
        note("For more, say which columns are labels: --labels 'tag_*' or --tags COLUMN.", quiet or json)
        return
    nominal = "codes" if file_format.is_table else None  # a column of words is one feature
    data = read_data(file, labels, tags, drop, text, nominal=nominal, missing_labels=missing_labels)
    show_dataset(data, json)


def show_dataset(data: Any, json: bool) -> None:
    """Print the summary of a dataset."""
    if json:
        found = vars(data.summary())
        print_json({"name": data.name, "source": data.source, **found, "label_names": list(data.label_names)})
        return
    typer.echo(str(data))
    typer.echo(f"{'names of labels':<24}{first_few(data.label_names, SOME, str)}")


def _model(file: str, json: bool) -> None:
    from clems.persistence import describe

    info = vars(describe(file))
    if json:
        print_json(info)
        return
    versions = f"clems {info['clems']}, scikit-learn {info['sklearn']}, {info['saved']}"
    lines = {"learner": info["learner"], "cost": info["cost"] or "none", "saved by": versions}
    lines["labels"] = f"{len(info['label_names']):,}: {first_few(info['label_names'], SOME, str)}"
    names = info["feature_names"]
    lines["features"] = f"{info['n_features']:,}" + ("" if names is None else f": {first_few(names, SOME, str)}")
    if info["steps"]:
        lines["steps before"] = ", ".join(map(str, info["steps"]))
    for key in ("parameters", "summary", "reading"):
        lines |= {f"  {name}": str(value) for name, value in info[key].items()}
    for name, value in lines.items():
        typer.echo(printable(f"{name:<24}{value}"))  # no control characters of an untrusted file reach the terminal
    if info["columns"]:
        typer.echo("columns")
    for line in column_lines(info["columns"]):
        typer.echo(line)


def _columns(file: str, text: TextForm, json: bool) -> None:
    """Print the columns of a table."""
    from clems.datasets.formats.table import read_frame
    from clems.datasets.text.source import Source

    with Source(file, encoding=text.encoding) as source:
        form = form_for(text)
        frame, origin = read_frame(source, delimiter=form["delimiter"], decimal=form["decimal"], any_length=True)
    rows = [
        {
            "column": name,
            "holds": _kind(str(name), column, origin),
            "missing": int(column.isna().sum()),
            "values": int(column.nunique()),
        }
        for name, column in frame.items()
    ]
    if json:
        print_json({"rows": len(frame), "columns": rows})
        return
    width = max(len(str(row["column"])) for row in rows) + 2
    typer.echo(f"{len(frame):,} rows, {len(rows):,} columns")
    for row in rows:
        missing = f", {row['missing']:,} missing" if row["missing"] else ""
        refused = "; fit refuses these, see --drop and --as" if row["holds"] == MIXED else ""
        typer.echo(f"{row['column']:<{width}}{row['holds']}, {plural(row['values'], 'value')}{missing}{refused}")


def _kind(name: str, column: Any, rows: Any) -> str:
    """Say what a column holds, as 'clems fit' would take it."""
    from clems.datasets.encoding.kinds import kind_of
    from clems.datasets.text.source import DataError

    if column.dtype.kind in "biuf" and len(column) and column.isin([0, 1]).all():
        return "0 and 1"
    try:
        return kind_of(name, column, rows).kind
    except DataError:
        return MIXED
