"""`clems report`: one HTML file on what a saved model does on labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clems.cli.console import (
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Force,
    Model,
    Quiet,
    Rows,
    Separator,
    Tags,
    Trust,
    check_output,
    names_in,
    print_path,
    progress,
)
from clems.cli.models import ask, labelled_rows, load_model, wanted_by


def report(
    model: Model,
    file: Rows,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Heading; by default the learner and its cost.")] = None,
    mistakes: Annotated[int, typer.Option(min=0, help="How many of the most expensive mistakes to show.")] = 20,
    tags: Tags = None,
    separator: Separator = None,
    trust: Trust = None,
    drop: Drop = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a report on a model: criteria, the label map, expected costs, labels, mistakes, other costs.

    Labels are found by the names that they have in the model. The report is one HTML file that needs no network.

    Examples
    --------
        clems report model.clems test.csv --output report.html

        clems report model.clems test.csv --tags tags --separator ";" --title "Tickets of May"
    """
    check_output(output, force, model, file)
    with progress("Reading", quiet) as update:
        fitted = load_model(model, trust or [])
        wanted = wanted_by(fitted, truth=True, tags=tags, separator=separator, drop=names_in(drop))
        X, Y = labelled_rows(file, wanted, delimiter=delimiter, decimal=decimal, encoding=encoding)
        update(None, f"Reporting on {X.shape[0]:,} rows")
        from clems.report import write_report

        written = ask(lambda rows: write_report(fitted, rows, Y, output, title=title, n_mistakes=mistakes), fitted, X)
    print_path(written)
