"""`clems evaluate`: evaluate a model on labelled rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clems.cli.console import note, print_json, print_table, progress
from clems.cli.data import model_and_rows
from clems.cli.models import ask
from clems.cli.options import (
    NO_TAGS,
    USUAL,
    Drop,
    HandOverPrice,
    Json,
    Model,
    Quiet,
    Rows,
    TagColumn,
    TextForm,
    Trust,
    Unit,
)

if TYPE_CHECKING:
    import pandas as pd

    from clems.evaluation.evaluate import Evaluation
    from clems.evaluation.savings import Savings


def evaluate(
    model: Model,
    file: Rows,
    unit: Unit = None,
    abstain_at: HandOverPrice = None,
    tags: TagColumn = NO_TAGS,
    trust: Trust = None,
    drop: Drop = None,
    text: TextForm = USUAL,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare a model's predictions with the truth: savings first, then criteria, labels, expected and realised cost.

    Labels are matched to those of the model by name; the model remembers the tags and the unit of training.

    Examples
    --------
        clems evaluate model.clems test.csv

        clems evaluate model.clems test.csv --tags tags --separator ";"

        clems evaluate model.clems test.csv --unit € --abstain-at 4.50

        clems evaluate model.clems test.csv --json | jq .criteria.f1
    """
    with progress("Reading", quiet) as update:
        loaded, X, Y, _ = model_and_rows(model, file, trust, tags, drop, text)
        fitted, unit = loaded.learner, loaded.reading.get("unit", "") if unit is None else unit
        update(None, f"Evaluating {X.shape[0]:,} rows")
        from clems.evaluation.evaluate import evaluate as evaluate_model

        asked = partial(evaluate_model, unit=unit, abstain_at=abstain_at)
        evaluation = ask(lambda rows: asked(fitted, rows, Y), fitted, X)
    if json:
        print_json(
            {
                "rows": X.shape[0],
                "criteria": evaluation.criteria,
                "labels": evaluation.labels.to_dict("index"),
                "reliability": _lines(evaluation.reliability),
                "abstention": _lines(evaluation.abstention),
                "savings": _savings(evaluation.savings),
            }
        )
        return
    show(evaluation)
    note(f"{type(fitted).__name__} on {X.shape[0]:,} rows of {file}.", quiet)


def _lines(table: pd.DataFrame | None) -> object:
    return None if table is None else table.to_dict("records")


def _savings(savings: Savings | None) -> object:
    if savings is None:
        return None
    own = {"cost": savings.cost, "unit": savings.unit, "paid": savings.paid, "expected": savings.expected}
    by_label = None if savings.labels is None else savings.labels.to_dict("index")
    return {**own, "against": savings.table.to_dict("index"), "labels": by_label}


def _head(name: str) -> str:
    """Return the heading of a criterion with its arrow; a cost of the user's has a downward one."""
    from clems.costs.criteria import get_criterion

    try:
        criterion = get_criterion(name)
    except ValueError:
        return f"{name} ↓"
    return f"{criterion.title} {criterion.arrow}"


def show(evaluation: Evaluation) -> None:
    """Print an evaluation as tables."""
    import pandas as pd

    if evaluation.savings is not None:
        show_savings(evaluation.savings)
    print_table("Labels", evaluation.labels.reset_index())
    criteria = [(_head(name), value) for name, value in evaluation.criteria.items()]
    print_table("Criteria", pd.DataFrame(criteria, columns=["criterion", "value"]))
    if evaluation.reliability is not None:
        print_table("Expected and realised cost", evaluation.reliability)
    if evaluation.abstention is not None:
        print_table("Mean cost by the share of rows handed over", evaluation.abstention)


def show_savings(savings: Savings) -> None:
    """Print what was paid, and what is saved against each simple way to predict."""
    import pandas as pd
    import typer

    from clems.evaluation.savings import amount
    from clems.wording import printable

    for line in str(savings).splitlines():
        typer.echo(printable(line))
    unit = savings.unit or savings.cost
    print_table(f"Savings in {unit}", savings.table.map(amount).reset_index(), numbers=True)
    if savings.labels is not None:
        total = savings.labels.sum().rename("in sum").to_frame().T
        by_label = pd.concat([savings.labels, total]).rename_axis("label")
        print_table(f"By label in {unit}: paid, and saved against", by_label.map(amount).reset_index(), numbers=True)
