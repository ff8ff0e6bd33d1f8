"""Kinds of experiments: how each is checked, tabled and drawn, and the table that an experiment asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from clems.experiments.analysis import ANALYSES
from clems.experiments.analysis.completeness import missing
from clems.experiments.analysis.kernels import several_kernels
from clems.experiments.analysis.naming import heading_of, titles_of
from clems.experiments.analysis.selection import results
from clems.experiments.output.criterion_rows import criterion_rows
from clems.experiments.output.figures.curves import curves
from clems.experiments.output.figures.ranks import critical_differences
from clems.experiments.output.figures.times import times
from clems.experiments.output.ratio_rows import ratio_rows
from clems.experiments.output.table import Row, Table
from clems.experiments.output.time_rows import time_rows
from clems.experiments.store import Records

if TYPE_CHECKING:
    from clems.experiments.plan import Plan
    from clems.experiments.spec import Spec

Drawing = tuple[str, str, Any]  # name, title and figure


@dataclass(frozen=True)
class Kind:
    """How an experiment is shown.

    Attributes
    ----------
    rows : callable
        Function of a plan and its results that returns the rows of the table and sentences that say how to read them.
    figures : callable
        Function of a plan and records that returns name, title and figure of each.
    caption : str
        What is said below the figures.
    row_label : str
        Heading of what rows are of.
    led_by_figures : bool
        Whether figures come first, and numbers below them.
    compares : bool
        Whether learners are compared over datasets, by all of `ANALYSES`.
    fault : callable
        Function of a spec that returns what it lacks to be of this kind, None if nothing.
    """

    rows: Callable[[Plan, pd.DataFrame], tuple[list[Row], list[str]]]
    figures: Callable[[Plan, Records], list[Drawing]]
    caption: str
    row_label: str = "criterion"
    led_by_figures: bool = True
    compares: bool = False
    fault: Callable[[Spec], str | None] = lambda _: None


def _ranks(plan: Plan, records: Records) -> list[Drawing]:
    drawn = critical_differences(plan, records)
    return [(f"ranks-{name}", f"Average ranks, {heading_of(name)}", figure) for name, figure in drawn.items()]


def _curves(plan: Plan, records: Records) -> list[Drawing]:
    return [(name, heading_of(name), curves(plan, records, [name])) for name in plan.spec.criteria]


def _without_axis(spec: Spec) -> str | None:
    has_axis = any(entry.along for entry in spec.learners.values())
    return None if has_axis else "learners: curves need an entry with a parameter along the axis"


def _times(plan: Plan, records: Records) -> list[Drawing]:
    return [("times", "Running time", times(plan, records))]


def _without_baseline(spec: Spec) -> str | None:
    return "baseline: times are relative to an entry; name it" if spec.baseline is None else None


def _without_ratio(spec: Spec) -> str | None:
    has_ratio = any(entry.over for entry in spec.learners.values())
    return None if has_ratio else "learners: ratios need an entry that says over which other entry"


KINDS: dict[str, Kind] = {
    "table": Kind(
        criterion_rows,
        _ranks,
        "Bars join learners whose average ranks do not differ significantly by Nemenyi's test.",
        led_by_figures=False,
        compares=True,
    ),
    "ratios": Kind(
        ratio_rows,
        lambda _, __: [],
        "",
        led_by_figures=False,
        fault=_without_ratio,
    ),
    "curves": Kind(
        criterion_rows,
        _curves,
        "Bands are 95 % confidence intervals of the mean.",
        fault=_without_axis,
    ),
    "times": Kind(
        time_rows,
        _times,
        "Whiskers are 95 % confidence intervals.",
        row_label="",
        fault=_without_baseline,
    ),
}


def make_table(plan: Plan, records: Records) -> Table:
    """Make the table that a spec asks for, with what records there are.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.
    """
    spec, kind = plan.spec, KINDS[plan.spec.kind]
    headings = titles_of(spec)
    rows, legend = kind.rows(plan, results(plan, records))
    headings = {name: title for name, title in headings.items() if not rows or any(name in row.cells for row in rows)}
    x_label = (spec.x_label or "x") if any(row.x is not None for row in rows) else ""
    notes = [f"{headings[name]}: {entry.notes}" for name, entry in spec.learners.items() if entry.notes]
    return Table(
        title=spec.title,
        headings=headings,
        rows=rows,
        row_label=kind.row_label,
        x_label=x_label,
        legend=legend,
        missing=missing(plan, records).sentences,
        footnotes=[*notes, *([spec.notes] if spec.notes else []), *several_kernels(plan, records)],
    )


def comparisons(plan: Plan, records: Records) -> list[str]:
    """Compare learners over datasets, in the sentences of all analyses."""
    if not KINDS[plan.spec.kind].compares or len(plan.spec.datasets) < 2:
        return []
    repetitions = results(plan, records)
    return [sentence for analysis in ANALYSES.values() for sentence in analysis(plan, repetitions)]
