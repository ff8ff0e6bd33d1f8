"""`clems datasets`: benchmark datasets by name."""

from __future__ import annotations

import csv
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from clems.cli.console import note, print_json, print_table, progress
from clems.cli.inspect import show_dataset
from clems.cli.options import EXITS, Force, Json, Quiet, check_output, output

app = typer.Typer(help="Benchmark datasets by name: list, fetch, describe.", no_args_is_help=True, epilog=EXITS)


class Part(StrEnum):
    """Parts of a published split."""

    all = "all"
    train = "train"
    test = "test"


def complete_name(start: str) -> list[str]:
    """Complete the name of a dataset, without importing the readers of datasets."""
    table = files("clems").joinpath("datasets", "catalogue.csv").read_text("utf-8")
    return [row["name"] for row in csv.DictReader(table.splitlines()) if row["name"].startswith(start)]


Name = Annotated[str, typer.Argument(help="Name of the dataset.", autocompletion=complete_name, show_default=False)]
Home = Annotated[str | None, typer.Option("--data-home", help="A folder to search first.")]
Subset = Annotated[Part, typer.Option(help="The whole dataset, or a part of the published split.")]


@app.command("list", epilog=EXITS)
def list_names(data_home: Home = None, json: Json = False) -> None:
    """List the known datasets, their sizes, and where they are stored.

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
    output: Annotated[Path | None, output("File to write: .csv, .parquet, .arff or .txt (libsvm).")] = None,
    subset: Subset = Part.all,
    data_home: Home = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Get a dataset from a local folder, the cache or OpenML, and optionally write it to a file.

    Examples
    --------
        clems datasets fetch emotions

        clems datasets fetch emotions --subset train --output train.csv
    """
    from clems.datasets.catalogue import load_dataset
    from clems.datasets.formats import format_of

    write: Any = None
    if output is not None:
        check_output(output, force)
        write = format_of(output, "write").write
    with progress(f"Fetching {name}", quiet):
        data = load_dataset(name, subset.value, data_home)
        if output is not None:
            check_output(output, force, data.source or None)
            write(data, output)
    note(f"{data!r} from {data.source}" + (f"; written to {output}." if output is not None else "."), quiet)


@app.command(epilog=EXITS)
def describe(name: Name, subset: Subset = Part.all, data_home: Home = None, json: Json = False) -> None:
    """Summarise a dataset: rows, labels per row, rarest label, missing values.

    Example: clems datasets describe yeast
    """
    from clems.datasets.catalogue import load_dataset

    with progress(f"Loading {name}", False):
        data = load_dataset(name, subset.value, data_home)
    show_dataset(data, json)
