"""`clems report`: one HTML file on what a saved model does on labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    model: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A saved model, such as model.clems.")],
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Rows with the labels of the model.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Heading; by default the learner and its cost.")] = None,
    mistakes: Annotated[int, typer.Option(min=0, help="How many of the most expensive mistakes to show.")] = 20,
) -> None:
    """Write a report on a model: criteria, the label map, expected costs, labels, mistakes, other costs.

    Example: clems report model.clems test.csv --output report.html
    """
    from clems.datasets import read_dataset
    from clems.persistence import load
    from clems.report import write_report

    fitted = load(model)
    labels = [*map(str, fitted.classes_)]
    rows = read_dataset(file, labels=labels)
    X, Y = rows.X, rows.label_frame()[labels]
    names = [*map(str, getattr(fitted, "feature_names_in_", ()))]
    if names and {*names} <= {*rows.feature_names}:
        X = X[:, [rows.feature_names.index(name) for name in names]]  # the file may have them in another order
    Y.columns = [*fitted.classes_]  # which need not be text
    features = names or rows.feature_names
    typer.echo(write_report(fitted, X, Y, output, title=title, feature_names=features, n_mistakes=mistakes))
