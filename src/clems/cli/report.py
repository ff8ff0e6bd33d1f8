"""`clems report`: write an HTML report on a model and labelled rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from clems.cli.console import print_path, progress
from clems.cli.data import model_and_rows
from clems.cli.models import ask
from clems.cli.options import (
    NO_TAGS,
    USUAL,
    Drop,
    Force,
    HandOverPrice,
    Model,
    Quiet,
    Rows,
    TagColumn,
    TextForm,
    Trust,
    Unit,
    check_output,
    output,
)


def report(
    model: Model,
    file: Rows,
    output: Annotated[Path, output("The HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Title of the report; by default the learner and its cost.")] = None,
    mistakes: Annotated[int, typer.Option(min=0, help="Number of the most expensive mistakes to show.")] = 20,
    show: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Show this column with the mistakes; repeat it for several. By default columns of text, and the --id "
            "of training.",
        ),
    ] = None,
    unit: Unit = None,
    abstain_at: HandOverPrice = None,
    tags: TagColumn = NO_TAGS,
    trust: Trust = None,
    drop: Drop = None,
    text: TextForm = USUAL,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a report on a model: savings, other prices to try, mistakes, labels, expected costs, label map, criteria.

    Labels are matched to those of the model by name; the model remembers the tags and the unit of training.
    The report is one HTML file that needs no network.

    Examples
    --------
        clems report model.clems test.csv --output report.html

        clems report model.clems test.csv --tags tags --separator ";" --title "Tickets of May"

        clems report model.clems test.csv --unit € --abstain-at 4.50 --show subject --show text
    """
    check_output(output, force, model, file)
    with progress("Reading", quiet) as update:
        loaded, X, Y, shown = model_and_rows(model, file, trust, tags, drop, text, show)
        fitted, unit = loaded.learner, loaded.reading.get("unit", "") if unit is None else unit
        update(None, f"Reporting on {X.shape[0]:,} rows")
        from clems.evaluation.report import write_report

        asked = partial(write_report, title=title, n_mistakes=mistakes, unit=unit, abstain_at=abstain_at, show=shown)
        names = loaded.feature_names
        written = ask(lambda rows: asked(fitted, rows, Y, output, feature_names=names), fitted, X)
    print_path(written)
