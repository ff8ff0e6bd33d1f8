"""`clems datasets`: the usual datasets by name."""

from __future__ import annotations

import csv
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from clems.cli.console import EXITS, Force, Json, Quiet, check_output, note, print_json, print_table, progress
from clems.cli.inspect import show_dataset

app = typer.Typer(help="The usual datasets by name: list, fetch, describe.", no_args_is_help=True, epilog=EXITS)


class Part(StrEnum):
    """Parts of a published split."""

    all = "all"
    train = "train"
    test = "test"


def complete_name(start: str) -> list[str]:
    """Names of datasets that start so, read without importing what reads datasets."""
    table = files("clems").joinpath("datasets", "catalogue.csv").read_text("utf-8")
    return [row["name"] for row in csv.DictReader(table.splitlines()) if row["name"].startswith(start)]


Name = Annotated[str, typer.Argument(help="Its name.", autocompletion=complete_name, show_default=False)]
Home = Annotated[str | None, typer.Option("--data-home", help="A folder to look in first.")]
Subset = Annotated[Part, typer.Option(help="The whole, or a part of the published split.")]


@app.command("list", epilog=EXITS)
def list_names(data_home: Home = None, json: Json = False) -> None:
    """List the datasets that are known by name, their sizes, and where they are.

    Example: clems datasets list
    """
    from clems.datasets.catalogue import list_datasets

    table = list_datasets(data_home)
    if json:
        records = table.reset_index().astype(object)
        print_json(records.where(records.notna(), None).to_dict("records"))
        return
    print_table("Datasets", table.reset_index())


@app.command(epilog=EXITS)
def fetch(
    name: Name,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it here: .csv, .parquet, .arff or .txt (libsvm).")
    ] = None,
    subset: Subset = Part.all,
    data_home: Home = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Get a dataset: from a folder of yours, the cache or OpenML; and write it to a file, if you say which.

    Examples
    --------
        clems datasets fetch emotions

        clems datasets fetch emotions --subset train --output train.csv
    """
    from clems.datasets.catalogue import load_dataset
    from clems.datasets.libsvm import read_libsvm
    from clems.datasets.reading import reader_of
    from clems.datasets.table import read_table
    from clems.datasets.writing import write_arff, write_libsvm, write_table

    if output is not None:
        check_output(output, force)
        reader = reader_of(output)
        write = write_table if reader is read_table else write_libsvm if reader is read_libsvm else write_arff
    with progress(f"Fetching {name}", quiet):
        data = load_dataset(name, subset.value, data_home)
        if output is not None:
            check_output(output, force, data.source or None)
            write(data, output)
    note(f"{data!r} from {data.source}" + (f"; written to {output}." if output is not None else "."), quiet)


@app.command(epilog=EXITS)
def describe(name: Name, subset: Subset = Part.all, data_home: Home = None, json: Json = False) -> None:
    """Count what is in a dataset: rows, labels per row, rarest label, missing values.

    Example: clems datasets describe yeast
    """
    from clems.datasets.catalogue import load_dataset

    with progress(f"Loading {name}", False):
        data = load_dataset(name, subset.value, data_home)
    show_dataset(data, json)
