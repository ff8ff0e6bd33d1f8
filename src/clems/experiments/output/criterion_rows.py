"""Rows of a table that are compared by criteria: means, ranks, tests, and printed values beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from clems.experiments.analysis.naming import heading_of
from clems.experiments.analysis.selection import summary
from clems.experiments.analysis.significance import ALPHA, against_best
from clems.experiments.output.printed import read_printed
from clems.experiments.output.table import AS_GOOD, FEWER, NAN, NO_RULE, Cell, Row, decimals_of

if TYPE_CHECKING:
    from clems.experiments.plan import Plan


def criterion_rows(plan: Plan, frame: pd.DataFrame) -> tuple[list[Row], list[str]]:
    """Rows of a table by dataset, criterion and position, and how to read them.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    frame : DataFrame
        Its results.
    """
    spec = plan.spec
    cells = {key_of(one): one for one in summary(frame).to_dict("records")}
    tests = {key_of(one): one for one in against_best(frame).to_dict("records")}
    printed = read_printed(spec.printed) if spec.printed else {}
    positions = {
        dataset: sorted({one.x for one in plan.planned if one.trial.dataset == dataset}, key=position)
        for dataset in dict.fromkeys([*spec.datasets, *(one.trial.dataset for one in plan.planned)])
    }
    taking_part = {(one.trial.dataset, one.learner, one.x) for one in plan.planned}
    rows = []
    for dataset, criterion in ((dataset, criterion) for dataset in positions for criterion in spec.criteria):
        for x in positions[dataset] or [None]:
            made: dict[str, Cell] = {}
            for name in spec.learners:
                key = (dataset, criterion, name, x)
                elsewhere = printed.get((dataset, name, criterion), (NAN, NAN)) if x is None else (NAN, NAN)
                if key in cells:
                    made[name] = _cell(cells[key], tests.get(key), *elsewhere)
                else:  # it takes part and has no rule, or it takes no part here
                    without = (name, criterion) in plan.without_rule or (dataset, name, x) in taking_part
                    made[name] = Cell(printed=elsewhere[0], printed_error=elsewhere[1], has_rule=not without)
            if sum(bool(cell.planned) for cell in made.values()) == 1:  # no race
                made = {name: replace(cell, rank=NAN, best=False) for name, cell in made.items()}
            rows.append(Row(dataset, criterion, heading_of(criterion), x, decimals_of(made.values()), made))
    return rows, _legend([cell for row in rows for cell in row.cells.values()])


def position(x: float | None) -> tuple[bool, float]:
    """Order of positions: none comes last."""
    return (x is None, x or 0)


def key_of(one: Mapping[str, Any]) -> tuple[str, str, str, float | None]:
    """Dataset, criterion, learner and position of a line of results."""
    return one["dataset"], one["criterion"], one["learner"], None if pd.isna(one["x"]) else one["x"]


def _cell(line: Mapping[str, Any], test: Mapping[str, Any] | None, printed: float, printed_error: float) -> Cell:
    p = test["p_holm"] if test is not None else NAN
    return Cell(
        value=line["mean"],
        error=line["standard_error"],
        n=int(line["n"]),
        planned=int(line["planned"]),
        rank=line["rank"],
        best=bool(line["is_best"]),
        p=p,
        worse=None if test is None or math.isnan(p) else bool(test["worse"]),
        printed=printed,
        printed_error=printed_error,
        options_missing=int(line["options_missing"]),
    )


def _legend(cells: list[Cell]) -> list[str]:
    planned = sorted({cell.planned for cell in cells if cell.planned})
    if not planned:
        return []
    over = " or ".join(map(str, planned))
    error = " ± standard error" if max(planned) > 1 else ""
    repetitions = "one repetition" if planned == [1] else f"{over} repetitions"
    said = [
        f"Mean{error} over {repetitions}, and in parentheses its rank in the row. Bold is the best mean; "
        "arrows point where better values are."
    ]
    if any(cell.worse is not None for cell in cells):
        said.append(
            f"{AS_GOOD} marks those that are not significantly worse than the best, by the corrected resampled t-test "
            "of Nadeau and Bengio over paired repetitions, as splits share rows, with Holm's correction for the rivals "
            f"of the row (α = {ALPHA:g})."
        )
    if any(cell.n < cell.planned for cell in cells if cell.n):
        said.append("Where n is given, only n repetitions are there.")
    if any(cell.options_missing for cell in cells):
        said.append(f"{FEWER}: some parameters were not tried in all repetitions, as trials are missing.")
    if any(not cell.has_rule for cell in cells):
        said.append(f"{NO_RULE}: the learner has no rule to decide for this criterion.")
    if any(cell.printed == cell.printed for cell in cells):
        said.append(
            "Under our values stand those that are printed elsewhere; in brackets ours minus the printed ones, in "
            "standard errors of the difference."
        )
    return said
