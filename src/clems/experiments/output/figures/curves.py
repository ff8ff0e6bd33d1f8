"""Curves over a parameter, in a panel for each dataset and criterion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from clems.experiments.analysis.naming import heading_of
from clems.experiments.analysis.selection import results, summary
from clems.experiments.analysis.significance import interval
from clems.experiments.output.figures.style import COLUMNS, Look, add_legend, looks, make_panels, style
from clems.experiments.store import Records

if TYPE_CHECKING:
    from clems.experiments.plan import Plan


def curves(plan: Plan, records: Records, criteria: Sequence[str] | None = None) -> Any:
    """Draw values over the position x, in a panel for each dataset and criterion.

    Each point stands at its own x. Bands are 95 % confidence intervals of the mean by the t distribution. A learner
    without a position is a horizontal line.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.
    criteria : sequence of str, default=None
        Of which criteria; None stands for all of the spec. Panels of one criterion are wrapped; of several, lines are
        datasets and columns criteria.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved by :func:`save`.
    """
    criteria = [*(plan.spec.criteria if criteria is None else criteria)]
    cells = summary(results(plan, records)).dropna(subset="mean")
    cells["low"], cells["high"] = interval(cells["mean"], cells["standard_error"], cells["n"])
    datasets = [name for name in plan.spec.datasets if name in {*cells["dataset"]}]
    panels = [(dataset, criterion) for dataset in datasets for criterion in criteria]
    wrapped = math.ceil(len(datasets) / max(math.ceil(len(datasets) / COLUMNS), 1))  # lines of about the same length
    columns = max(wrapped if len(criteria) == 1 else len(criteria), 1)
    look_of = looks(plan.spec)
    with style():
        figure, axes = make_panels(len(panels), columns)
        for at, ((dataset, criterion), ax) in enumerate(zip(panels, axes, strict=True)):
            here = cells[(cells["dataset"] == dataset) & (cells["criterion"] == criterion)]
            _curves_of(ax, here, look_of)
            ax.set_title(f"{dataset}: {heading_of(criterion)}", loc="left", fontweight="bold")
            if at + columns >= len(panels):
                ax.set_xlabel(plan.spec.x_label or "x")
        shown = [name for name in look_of if name in {*cells["learner"]}]
        moving = {*cells.loc[cells["x"].notna(), "learner"]}
        handles = [_line(look_of[name], look_of[name].marker if name in moving else "") for name in shown]
        add_legend(figure, handles, [look_of[name].title for name in shown])
    return figure


def _curves_of(ax: Any, cells: pd.DataFrame, look_of: Mapping[str, Look]) -> None:
    for name, look in look_of.items():
        curve = cells[(cells["learner"] == name) & cells["x"].notna()].sort_values("x")
        if len(curve):
            band = curve.dropna(subset=["low", "high"])
            ax.fill_between(band["x"], band["low"], band["high"], color=look.colour, alpha=0.13, linewidth=0)
            ax.add_line(_line(look, look.marker, curve["x"], curve["mean"]))
        for flat in cells[(cells["learner"] == name) & cells["x"].isna()].itertuples():
            if flat.n > 1:
                ax.axhspan(flat.low, flat.high, color=look.colour, alpha=0.10, linewidth=0)
            ax.axhline(flat.mean, color=look.colour, linestyle=look.flat, linewidth=1.2)
    ax.autoscale_view()
    ax.margins(x=0.04, y=0.08)
    ax.xaxis.set_major_locator(_ticks())
    ax.yaxis.set_major_locator(_ticks())


def _line(look: Look, marker: str, x: Any = (), y: Any = ()) -> Any:
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"linewidth": 1.4, "markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.5}
    style |= {"color": look.colour, "marker": marker, "linestyle": look.line if marker else look.flat}
    return Line2D(x, y, label=look.title, **style)


def _ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5, steps=[1, 2, 5, 10])
