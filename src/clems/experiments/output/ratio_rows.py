"""Rows of ratios: costs over those of another entry, and what was paid over what was expected or held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from clems.experiments.analysis.naming import criterion_named, titles_of
from clems.experiments.output.table import NAN, Cell, Row, Table

if TYPE_CHECKING:
    from clems.experiments.plan import Plan

LEAST, MOST = 0.9, 1.1  # what is paid over what was expected, or held out, where that is called honest


def ratio_rows(plan: Plan, frame: pd.DataFrame) -> tuple[list[Row], list[str]]:
    """Rows of costs of entries over those of the entry that each names, and how to read them.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    frame : DataFrame
        Its results.
    """
    spec, titles = plan.spec, titles_of(plan.spec)
    over = {name: entry.over for name, entry in spec.learners.items() if entry.over is not None}
    costs = {
        key: part.set_index("repetition")["cost"]
        for key, part in with_costs(frame).groupby(["dataset", "criterion", "learner"])
    }
    none = pd.Series(dtype=float)
    rows, above, total = [], [], 0
    for dataset in spec.datasets:
        for criterion in spec.criteria:
            cells = {}
            for name, base in over.items():
                own, other = (costs.get((dataset, criterion, one), none) for one in (name, base))
                ratios = (own / other).dropna()
                cells[name] = _cell(ratios, planned=len(own))
                total += bool(len(ratios))
                if cells[name].value - np.nan_to_num(cells[name].error) > 1:
                    above.append(f"{titles[name]} on {dataset} for {_title(criterion)}")
            rows.append(Row(dataset, criterion, _title(criterion), None, 3, cells))
    pairs = "; ".join(f"{titles[name]} over {titles[base]}" for name, base in over.items())
    verdict = f"Of {total} cells {len(above)} lie above 1 by more than a standard error"
    return rows, [
        f"Mean cost of test rows over that of another entry, on the same splits: {pairs}. Below 1 is better. Mean ± "
        "standard error of the ratio over repetitions; of scores the cost is 1 − score.",
        f"{verdict}: {'; '.join(above)}." if above else f"{verdict}.",
        *(_geometric_means(titles[name], name, rows) for name in over),
    ]


def _geometric_means(title: str, name: str, rows: list[Row]) -> str:
    """Say what the geometric mean of an entry's ratios is, over all rows and over those of each dataset."""
    values = pd.DataFrame([(row.dataset, row.cells[name].value) for row in rows], columns=["dataset", "ratio"]).dropna()
    logs = np.log(values["ratio"])
    means = np.exp(logs.groupby(values["dataset"], sort=False).mean())
    parts = ", ".join(f"{dataset} {mean:.3f}" for dataset, mean in means.items())
    return f"Geometric mean of the ratios of {title}: {np.exp(logs.mean()):.3f} ({parts})."


def honesty_tables(plan: Plan, frame: pd.DataFrame) -> list[Table]:
    """Make tables of what was paid over what was expected, and over what held-out training rows paid.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    frame : DataFrame
        Its results; there is no table of what no record tells.
    """
    kinds = {
        "expected": (
            "Paid over expected",
            "Mean realised cost of test rows over their mean expected cost, both over all repetitions, ± the standard "
            "error of the former: 1 is honest, above it predictions cost more than they were expected to.",
        ),
        "held_out": (
            "Paid over held out",
            "Mean cost of test rows over that of the training rows that are held out for choosing, both over all "
            "repetitions, ± the standard error of the former: 1 means that choices are made on rows that cost what "
            "new ones do.",
        ),
    }
    tables = (_honesty_table(plan, frame, column, *kind) for column, kind in kinds.items())
    return [table for table in tables if table.rows]


def _honesty_table(plan: Plan, frame: pd.DataFrame, column: str, title: str, legend: str) -> Table:
    """Make a table of costs over those in a column."""
    known = with_costs(frame).dropna(subset=["cost", column])
    titles = {name: title for name, title in titles_of(plan.spec).items() if (known["learner"] == name).any()}
    rows = []
    for (dataset, criterion), part in known.groupby(["dataset", "criterion"], sort=False):
        cells = {name: _paid_over(part[part["learner"] == name], column) for name in titles}
        rows.append(Row(str(dataset), str(criterion), _title(str(criterion)), None, 2, cells))
    values = [cell.value for row in rows for cell in row.cells.values() if not np.isnan(cell.value)]
    inside = sum(LEAST <= value <= MOST for value in values)
    means = [f"{titles[name]} {np.nanmean([row.cells[name].value for row in rows]):.3f}" for name in titles]
    legend += f" Of {len(values)} cells {inside} are within {LEAST:g} to {MOST:g}; mean over all: {', '.join(means)}."
    return Table(title, titles, rows, legend=[legend])


def with_costs(frame: pd.DataFrame) -> pd.DataFrame:
    """Add a column of costs: of a score what it lacks to 1."""
    costs = [
        criterion_named(name).as_cost(value) for name, value in zip(frame["criterion"], frame["value"], strict=True)
    ]
    return frame.assign(cost=np.array(costs, float))


def _title(criterion: str) -> str:
    return criterion_named(criterion).title


def _paid_over(part: pd.DataFrame, column: str) -> Cell:
    mean = part[column].mean()
    ratios = part["cost"] / mean if mean > 0 else part["cost"].iloc[:0]
    return _cell(ratios, planned=len(part))


def _cell(ratios: pd.Series, planned: int) -> Cell:
    n = len(ratios)
    error = float(ratios.sem()) if n > 1 else NAN
    return Cell(value=float(ratios.mean()) if n else NAN, error=error, n=n, planned=planned)
