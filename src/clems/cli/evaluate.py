"""`clems evaluate`: how good a model is on labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clems.cli.console import (
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Json,
    Model,
    Quiet,
    Rows,
    Separator,
    Tags,
    Trust,
    names_in,
    note,
    print_json,
    print_table,
    progress,
)
from clems.cli.models import ask, labelled_rows, load_model, wanted_by

if TYPE_CHECKING:
    from clems.evaluation import Evaluation


def evaluate(
    model: Model,
    file: Rows,
    tags: Tags = None,
    separator: Separator = None,
    trust: Trust = None,
    drop: Drop = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare a model's predictions with the truth: every criterion, each label, and whether it knows its cost.

    Labels are found by the names that they have in the model.

    Examples
    --------
        clems evaluate model.clems test.csv

        clems evaluate model.clems test.csv --tags tags --separator ";"

        clems evaluate model.clems test.csv --json | jq .criteria.f1
    """
    with progress("Reading", quiet) as update:
        fitted = load_model(model, trust or [])
        wanted = wanted_by(fitted, truth=True, tags=tags, separator=separator, drop=names_in(drop))
        X, Y = labelled_rows(file, wanted, delimiter=delimiter, decimal=decimal, encoding=encoding)
        update(None, f"Evaluating {X.shape[0]:,} rows")
        from clems.evaluation import evaluate as evaluate_model

        found = ask(lambda rows: evaluate_model(fitted, rows, Y), fitted, X)
    if json:
        groups = found.reliability
        print_json(
            {
                "rows": X.shape[0],
                "criteria": found.criteria,
                "labels": found.labels.to_dict("index"),
                "reliability": None if groups is None else groups.to_dict("records"),
            }
        )
        return
    show(found)
    note(f"{type(fitted).__name__} on {X.shape[0]:,} rows of {file}.", quiet)


def _head(name: str) -> str:
    """How a table heads a criterion; one that the package does not know is a cost."""
    from clems.criteria import get_criterion

    try:
        own = get_criterion(name)
    except ValueError:
        return f"{name} ↓"
    return f"{own.title} {own.arrow}"


def show(found: Evaluation) -> None:
    """Print an evaluation as tables."""
    import pandas as pd

    criteria = [(_head(name), value) for name, value in found.criteria.items()]
    print_table("Criteria", pd.DataFrame(criteria, columns=["criterion", "value"]))
    print_table("Labels", found.labels.reset_index())
    if found.reliability is not None:
        print_table("Expected and realised cost", found.reliability)
