"""From records to results: choosing by validation, means and ranks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from clems.experiments.analysis.completeness import is_done
from clems.experiments.analysis.naming import criterion_named
from clems.experiments.store import Records

if TYPE_CHECKING:
    from clems.experiments.plan import Plan, Planned


ROW = ["dataset", "criterion", "x"]  # what is compared with each other
CELL = ["dataset", "criterion", "learner", "x"]
COLUMNS = [
    *CELL,
    "repetition",
    "value",
    "expected",
    "held_out",
    "half",
    "depth",
    "parameters",
    "fit_seconds",
    "predict_seconds",
    "test_ratio",
    "options",
    "options_missing",
]


def results(plan: Plan, records: Records) -> pd.DataFrame:
    """Choose, for each cell and repetition, by validation, and return what came out on test rows.

    Of all planned trials of a place, and of their decisions for the cost that counts there, the one whose validation
    value is the best is taken; of several the first.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.

    Returns
    -------
    DataFrame
        One line per cell (dataset, criterion, learner, x) and repetition that is planned, in the order of the spec.
        ``value`` is NaN where no trial is done; ``expected`` is the mean expected cost of test rows, ``held_out`` the
        mean cost of held-out training rows and ``half`` the value of ½ thresholds, NaN where they are not known or
        another cost was decided for. ``parameters`` is JSON; ``test_ratio`` is test rows by training and validation
        rows; ``options_missing`` of ``options`` planned trials had no part in the choice, as they failed or are not
        done.
    """
    planned_at: dict[tuple[Any, ...], list[Any]] = {}
    for one in plan.planned:
        planned_at.setdefault((one.trial.dataset, one.learner, one.x, one.trial.repetition), []).append(one)
    lines = []
    for (dataset, learner, x, repetition), planned in planned_at.items():
        for criterion in plan.spec.criteria:
            serving = [one for one in planned if _serves(one, criterion, plan.without_rule)]
            if serving:
                cell = (dataset, criterion, learner, np.nan if x is None else float(x), repetition)
                lines.append((*cell, *_chosen(serving, criterion, records)))
    frame = pd.DataFrame(lines, columns=COLUMNS)
    orders = {"dataset": plan.spec.datasets, "criterion": plan.spec.criteria, "learner": plan.spec.learners}
    orders_of = {column: {name: at for at, name in enumerate(order)} for column, order in orders.items()}

    def order_of(column: pd.Series) -> pd.Series:
        return column.map(orders_of[column.name]) if column.name in orders_of else column

    return frame.sort_values([*CELL, "repetition"], key=order_of, ignore_index=True, kind="stable")


def _target(planned: Planned, criterion: str) -> str:
    """Cost for which is decided."""
    return str(planned.fixed_cost or criterion)


def _serves(planned: Planned, criterion: str, without_rule: set[tuple[str, str]]) -> bool:
    target = _target(planned, criterion)
    return (planned.learner, target) not in without_rule and (not planned.trial.costs or target in planned.trial.costs)


def _chosen(serving: list[Any], criterion: str, records: Records) -> tuple[Any, ...]:
    """Columns after the repetition."""
    sign = criterion_named(criterion).sign
    done = [(one, records[one.trial.key]) for one in serving if is_done(records.get(one.trial.key))]
    decided = [
        (decision, record)
        for one, record in done
        for decision in record["decisions"]
        if decision["cost"] in (None, _target(one, criterion))
    ]
    absent = len(serving) - len(done)
    if not decided:
        return (np.nan, np.nan, np.nan, np.nan, None, None, np.nan, np.nan, np.nan, len(serving), absent)

    def goodness(one: tuple[Mapping[str, Any], Mapping[str, Any]]) -> float:
        value = (one[0].get("validation") or {}).get(criterion)
        return -np.inf if value is None or np.isnan(value) else sign * value

    decision, record = max(decided, key=goodness)  # the first of equals
    value = decision["test"].get(criterion)
    beside = decision if decision["cost"] == criterion else {}
    seconds, rows = record.get("seconds") or {}, record.get("rows") or {}
    seen = (rows.get("train") or 0) + (rows.get("validation") or 0)
    return (
        np.nan if value is None else float(value),
        *(float(beside.get(name, np.nan)) for name in ("expected", "held_out", "half")),
        decision["depth"],
        json.dumps(record["parameters"], sort_keys=True),
        seconds.get("fit", np.nan),
        seconds.get("predict", np.nan),
        rows.get("test", np.nan) / seen if seen else np.nan,
        len(serving),
        absent,
    )


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard error and rank of each cell.

    Parameters
    ----------
    results : DataFrame
        What :func:`results` returns.

    Returns
    -------
    DataFrame
        One line per cell: ``mean``, ``standard_error`` (NaN for a single repetition), ``n`` repetitions of ``planned``
        ones, ``rank`` of the mean in its row (1 is the best, equals share the better rank, NaN without a value),
        ``is_best``, and ``options_missing``, trials that had no part in choices.
    """
    chosen = results["value"].notna()
    cells = results.groupby(CELL, sort=False, dropna=False)
    frame = cells.agg(
        mean=("value", "mean"),
        standard_error=("value", "sem"),
        n=("value", "count"),
        planned=("value", "size"),
        options_missing=("options_missing", lambda missing: int(missing[chosen[missing.index]].sum())),
    ).reset_index()
    sign = frame["criterion"].map(lambda name: criterion_named(name).sign)
    badness = (-sign * frame["mean"]).groupby([frame[name] for name in ROW], sort=False, dropna=False)
    frame["rank"] = badness.rank(method="min")
    frame["is_best"] = frame["rank"] == 1
    return frame
