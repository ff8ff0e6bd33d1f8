"""Rows of a table of running times: training, prediction and both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from clems.experiments.analysis.naming import titles_of
from clems.experiments.analysis.selection import summary
from clems.experiments.analysis.times import PHASES, time_ratios
from clems.experiments.output.criterion_rows import key_of, position
from clems.experiments.output.table import NAN, Cell, Row, decimals_for

if TYPE_CHECKING:
    from clems.experiments.plan import Plan


def time_rows(plan: Plan, frame: pd.DataFrame) -> tuple[list[Row], list[str]]:
    """Rows of a table by dataset, position and phase, and how to read them.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    frame : DataFrame
        Its results.
    """
    spec = plan.spec
    # Training and prediction are the same for all criteria, up to the choice of depth: the first speaks for all.
    frame = frame[frame["criterion"] == spec.criteria[0]]
    times = {(*key_of(one), one["phase"]): one for one in time_ratios(frame, spec.baseline).to_dict("records")}
    planned = summary(frame)
    planned_of = {key_of(one): int(one["planned"]) for one in planned.to_dict("records")}
    rows = []
    for dataset in planned["dataset"].unique():
        for x in sorted({key[3] for key in planned_of if key[0] == dataset}, key=position):
            for phase in PHASES:
                cells = {}
                for name in spec.learners:
                    key = (dataset, spec.criteria[0], name, x)
                    times_of_phase = times.get((*key, phase), {})
                    value = times_of_phase.get("factor" if spec.baseline else "seconds", NAN)
                    n, of = times_of_phase.get("n", 0), planned_of.get(key, 0)
                    cells[name] = Cell(value=value, n=n, planned=of, seconds=times_of_phase.get("seconds", NAN))
                least = min((cell.value for cell in cells.values() if cell.value > 0), default=1.0)
                rows.append(Row(dataset, phase, phase, x, decimals_for(least, 2), cells))
    base = titles_of(spec)[spec.baseline] if spec.baseline else ""
    relative = f"Seconds as multiples of those of {base}, geometric mean over repetitions; less is faster."
    return rows, [relative if base else "Mean seconds; less is faster."]
