"""Running times as bars, relative to those of one learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clems.experiments.analysis.selection import results
from clems.experiments.analysis.times import PHASES, time_ratios
from clems.experiments.output.figures.style import add_legend, looks, make_panels, style
from clems.experiments.store import Records

if TYPE_CHECKING:
    from clems.experiments.plan import Plan


def times(plan: Plan, records: Records) -> Any:
    """Draw running times of training, prediction and both as multiples of those of the baseline, on a log axis.

    Whiskers are 95 % confidence intervals. Without a baseline bars are seconds.

    Parameters
    ----------
    plan : Plan
        What was to be done; its first criterion selects the trials where depths were chosen.
    records : mapping
        Record of each key that has one.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved by :func:`save`.
    """
    spec = plan.spec
    frame = results(plan, records)
    frame = time_ratios(frame[frame["criterion"] == spec.criteria[0]], spec.baseline)
    value = "factor" if spec.baseline else "seconds"
    frame = frame.dropna(subset=value)
    datasets = [name for name in spec.datasets if name in {*frame["dataset"]}]
    look_of = looks(spec)
    shown = [name for name in look_of if name in {*frame["learner"]} and name != spec.baseline]
    width = 0.8 / max(len(shown), 1)
    with style():
        figure, axes = make_panels(
            len(PHASES), 1, (min(max(4.5, 1.2 + 0.14 * len(datasets) * (len(shown) + 1.5)), 9), 1.6)
        )
        for phase, ax in zip(PHASES, axes, strict=True):
            ax.set_yscale("log")
            for at, name in enumerate(shown):
                bars = frame[(frame["phase"] == phase) & (frame["learner"] == name)]
                bars = bars.drop_duplicates("dataset")  # the first position stands for all
                centre = np.array([datasets.index(dataset) for dataset in bars["dataset"]], np.float64)
                centre += (at - (len(shown) - 1) / 2) * width
                look = look_of[name]
                whole = {"color": look.colour, "hatch": look.hatch, "edgecolor": "white", "linewidth": 0.4}
                top = bars[value].to_numpy()
                bottom = 1.0 if spec.baseline else max(frame["seconds"].min() / 2, 1e-9)
                ax.bar(centre, top - bottom, width, bottom=bottom, label=look.title, **whole)
                if spec.baseline:
                    reach = np.stack([top - bars["low"], bars["high"] - top])
                    ax.errorbar(centre, top, np.nan_to_num(reach), fmt="none", ecolor="#808080", elinewidth=0.7)
            ax.set_xticks(range(len(datasets)), datasets if phase == PHASES[-1] else [""] * len(datasets))
            ax.set_xlim(-0.6, len(datasets) - 0.4)
            ax.tick_params(axis="x", length=0)
            ax.grid(axis="x", visible=False)
            ax.set_title(phase, loc="left", fontweight="bold")
            if spec.baseline:
                ax.axhline(1, color="#222222", linewidth=0.8)
                ax.yaxis.set_major_formatter(_multiple)
                ax.set_ylabel(f"× {look_of[spec.baseline].title}")
            else:
                ax.set_ylabel("seconds")
        add_legend(figure, _bars_of(axes[0]), [look_of[name].title for name in shown])
    return figure


def _bars_of(ax: Any) -> list[Any]:
    from matplotlib.container import BarContainer

    return [one for one in ax.containers if isinstance(one, BarContainer)]


def _multiple(value: float, _: Any = None) -> str:
    return f"{value:g}"
