"""`clems inspect`: what is in a model or in a file of data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clems.cli.console import (
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Json,
    Quiet,
    Separator,
    Tags,
    doing,
    names_in,
    note,
    print_json,
)
from clems.cli.fit import Labels, read_training

MODEL = b"PK"  # how a file that clems saves begins
SUFFIX = ".clems"  # and how its name mostly ends
SOME = 8  # names that are shown of many


def inspect(
    file: Annotated[str, typer.Argument(help="A model, or data of any form.", show_default=False)],
    labels: Labels = None,
    tags: Tags = None,
    separator: Separator = None,
    drop: Drop = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Tell what is in a model or in a file of data; of a table without --labels or --tags, its columns.

    Nothing of a model is built, so that a file from elsewhere can be inspected safely.

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
    from clems.datasets.reading import reader_of
    from clems.datasets.table import read_table

    if reader_of(file) is read_table and labels is None and tags is None:
        _columns(file, delimiter, encoding, json)
        note("Say which columns are labels, --labels 'tag_*' or --tags COLUMN, to see more.", quiet or json)
        return
    options: dict[str, Any] = {
        "labels": labels,
        "drop": names_in(drop),
        "encoding": encoding,
        "tags": tags,
        "separator": separator,
        "delimiter": delimiter,
        "decimal": decimal,
    }
    data = read_training(file, **options, nominal="codes", complete=False)  # a column of words is one feature
    show_dataset(data, json)


def show_dataset(data: Any, json: bool) -> None:
    """Print the summary of a dataset."""
    if json:
        found = vars(data.summary())
        print_json({"name": data.name, "source": data.source, **found, "label_names": list(data.label_names)})
        return
    typer.echo(str(data))
    typer.echo(f"{'names of labels':<24}{_some(data.label_names)}")


def _model(file: str, json: bool) -> None:
    from clems.datasets.source import printable
    from clems.persistence import describe

    info = vars(describe(file))
    if json:
        print_json(info)
        return
    versions = f"clems {info['clems']}, scikit-learn {info['sklearn']}, {info['saved']}"
    lines = {"learner": info["learner"], "cost": info["cost"] or "none", "saved by": versions}
    lines["labels"] = f"{len(info['label_names']):,}: {_some(info['label_names'])}"
    names = info["feature_names"]
    lines["features"] = f"{info['n_features']:,}" + ("" if names is None else f": {_some(names)}")
    for key in ("parameters", "summary"):
        lines |= {f"  {name}": str(value) for name, value in info[key].items()}
    for name, value in lines.items():
        typer.echo(printable(f"{name:<24}{value}"))  # nothing in a file from elsewhere moves the cursor


def _columns(file: str, delimiter: str | None, encoding: str, json: bool) -> None:
    """Print the columns of a table."""
    from clems.datasets.pieces import read_pieces
    from clems.datasets.source import Source

    with Source(file, encoding=encoding) as source:
        import pandas as pd

        frame = pd.concat([*read_pieces(source, delimiter=delimiter)], ignore_index=True)
    rows = [
        {"column": name, "holds": _kind(column), "missing": int(column.isna().sum()), "values": int(column.nunique())}
        for name, column in frame.items()
    ]
    if json:
        print_json({"rows": len(frame), "columns": rows})
        return
    width = max(len(str(row["column"])) for row in rows) + 2
    typer.echo(f"{len(frame):,} rows, {len(rows):,} columns")
    for row in rows:
        missing = f", {row['missing']:,} missing" if row["missing"] else ""
        typer.echo(f"{row['column']:<{width}}{row['holds']}, {row['values']:,} values{missing}")


def _kind(column: Any) -> str:
    if column.dtype.kind in "biuf":
        return "0 and 1" if column.isin([0, 1]).all() else "numbers"
    return "words"


def _some(names: Any) -> str:
    shown = ", ".join(map(str, names[:SOME]))
    return f"{shown} and {len(names) - SOME:,} more" if len(names) > SOME else shown
