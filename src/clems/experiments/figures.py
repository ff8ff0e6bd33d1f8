"""Figures of results: curves over a position, running times, and critical differences of ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clems.experiments.plan import Plan
from clems.experiments.selection import Records, results, summary
from clems.experiments.significance import Ranking, interval, over_datasets
from clems.experiments.spec import Spec
from clems.experiments.times import time_ratios
from clems.experiments.trial import criterion_named
from clems.files import replacing

# Colours of Okabe and Ito, which all eyes tell apart; the palest ones last.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h", "d", "8"]
LINES = ["-", "--", ":", "-."]
HATCHES = ["", "////", "....", "xxxx"]
STYLE = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",  # text stays text, which can be searched and read aloud
    "svg.hashsalt": "clems",  # the same figure is the same file
}
LEAST_WIDTH = 3.2  # inches, for a legend above a single panel
COLUMNS = 4  # panels side by side at most


@dataclass(frozen=True)
class Look:
    """How a learner is drawn, the same in all figures of a spec."""

    title: str
    colour: str
    marker: str
    line: str
    hatch: str

    @property
    def flat(self) -> str:
        """Line of a learner without a position."""
        return "--" if self.line == "-" else self.line


def looks(spec: Spec) -> dict[str, Look]:
    """Give each learner a colour, a marker and a line of its own."""
    return {
        name: Look(
            entry.title or name,
            COLOURS[at % len(COLOURS)],
            MARKERS[at % len(MARKERS)],
            LINES[at // len(COLOURS) % len(LINES)],
            HATCHES[at // len(COLOURS) % len(HATCHES)],
        )
        for at, (name, entry) in enumerate(spec.learners.items())
    }


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
    own = looks(plan.spec)
    with _style():
        figure, axes = _panels(len(panels), columns)
        for at, ((dataset, criterion), ax) in enumerate(zip(panels, axes, strict=True)):
            here = cells[(cells["dataset"] == dataset) & (cells["criterion"] == criterion)]
            _curves_of(ax, here, own)
            kind = criterion_named(criterion)
            ax.set_title(f"{dataset}: {kind.title} {kind.arrow}", loc="left", fontweight="bold")
            if at + columns >= len(panels):
                ax.set_xlabel(plan.spec.x_label or "x")
        shown = [name for name in own if name in {*cells["learner"]}]
        moving = {*cells.loc[cells["x"].notna(), "learner"]}
        handles = [_line(own[name], own[name].marker if name in moving else "") for name in shown]
        _legend(figure, handles, [own[name].title for name in shown])
    return figure


def _curves_of(ax: Any, cells: pd.DataFrame, own: Mapping[str, Look]) -> None:
    for name, look in own.items():
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


def times(plan: Plan, records: Records) -> Any:
    """Draw running times of training, prediction and both as multiples of those of the baseline, on a log axis.

    Whiskers are 95 % confidence intervals. Without a baseline bars are seconds.

    Parameters
    ----------
    plan : Plan
        What was to be done; its first criterion says which trials are meant where depths were chosen.
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
    own = looks(spec)
    shown = [name for name in own if name in {*frame["learner"]} and name != spec.baseline]
    width = 0.8 / max(len(shown), 1)
    phases = ["training", "prediction", "total"]
    with _style():
        figure, axes = _panels(len(phases), 1, (min(max(4.5, 1.2 + 0.14 * len(datasets) * (len(shown) + 1.5)), 9), 1.6))
        for phase, ax in zip(phases, axes, strict=True):
            ax.set_yscale("log")
            for at, name in enumerate(shown):
                bars = frame[(frame["phase"] == phase) & (frame["learner"] == name)]
                bars = bars.drop_duplicates("dataset")  # the first position stands for all
                place = np.array([datasets.index(dataset) for dataset in bars["dataset"]], np.float64)
                place += (at - (len(shown) - 1) / 2) * width
                look = own[name]
                whole = {"color": look.colour, "hatch": look.hatch, "edgecolor": "white", "linewidth": 0.4}
                top = bars[value].to_numpy()
                bottom = 1.0 if spec.baseline else max(frame["seconds"].min() / 2, 1e-9)
                ax.bar(place, top - bottom, width, bottom=bottom, label=look.title, **whole)
                if spec.baseline:
                    reach = np.stack([top - bars["low"], bars["high"] - top])
                    ax.errorbar(place, top, np.nan_to_num(reach), fmt="none", ecolor="#808080", elinewidth=0.7)
            ax.set_xticks(range(len(datasets)), datasets if phase == phases[-1] else [""] * len(datasets))
            ax.set_xlim(-0.6, len(datasets) - 0.4)
            ax.tick_params(axis="x", length=0)
            ax.grid(axis="x", visible=False)
            ax.set_title(phase, loc="left", fontweight="bold")
            if spec.baseline:
                ax.axhline(1, color="#222222", linewidth=0.8)
                ax.yaxis.set_major_formatter(_multiple)
                ax.set_ylabel(f"× {own[spec.baseline].title}")
            else:
                ax.set_ylabel("seconds")
        _legend(figure, _bars_of(axes[0]), [own[name].title for name in shown])
    return figure


def _bars_of(ax: Any) -> list[Any]:
    from matplotlib.container import BarContainer

    return [one for one in ax.containers if isinstance(one, BarContainer)]


def _multiple(value: float, _: Any = None) -> str:
    return f"{value:g}"


def critical_differences(plan: Plan, records: Records) -> dict[str, Any]:
    """Draw average ranks over datasets for each criterion; bars join learners whose ranks do not differ significantly.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.

    Returns
    -------
    dict
        Figure of each criterion that has enough complete datasets and learners.
    """
    rankings = over_datasets(results(plan, records))
    return {name: _ranks(plan.spec, own) for name, own in rankings.items() if isinstance(own, Ranking)}


def _ranks(spec: Spec, ranking: Ranking) -> Any:
    with _style():
        try:
            from scikit_posthocs import critical_difference_diagram  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError("Diagrams of ranks need scikit-posthocs: pip install 'clems[report]'.") from None
        own = looks(spec)
        titles = {name: own[name].title for name in ranking.learners}
        figure, (ax,) = _panels(1, 1, (5.6, 1.0 + 0.16 * len(titles)))
        ax.grid(visible=False)
        heading = criterion_named(ranking.criterion)
        ax.set_title(
            f"{heading.title} {heading.arrow}: average ranks on {len(ranking.datasets)} datasets, "
            f"critical difference {ranking.critical_difference:.2f}",
            loc="left",
            pad=18,
        )
        drawn = critical_difference_diagram(
            ranking.ranks.rename(titles),
            ranking.p_values.rename(titles, axis=0).rename(titles, axis=1),
            ax=ax,
            label_fmt_left="{label}  {rank:.2f}  ",
            label_fmt_right="  {rank:.2f}  {label}",
            label_props={"fontsize": 8},
            elbow_props={"linewidth": 1.0},
            marker_props={"s": 14},
            crossbar_props={"linewidth": 2.6, "color": "#555555", "solid_capstyle": "round"},
            color_palette={own[name].title: own[name].colour for name in ranking.learners},
        )
        ax.spines["top"].set_visible(True)
        for label in drawn["labels"]:
            label.set_color("#222222")  # pale colours are hard to read
    return figure


def save(figure: Any, path: Path) -> list[Path]:
    """Save a figure as PNG and SVG, whole or not at all; the same figure gives the same files.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to save.
    path : path
        Where, without a suffix.

    Returns
    -------
    list of path
        Both files.
    """
    written = []
    with _style():
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            file = path.with_name(f"{path.name}.{suffix}")
            with replacing(file) as out:
                figure.savefig(out, format=suffix, dpi=200, metadata=metadata, bbox_inches="tight", pad_inches=0.05)
            written.append(file)
    return written


def _panels(number: int, columns: int, size: tuple[float, float] = (2.1, 1.75)) -> tuple[Any, list[Any]]:
    """Make a figure of panels of a size, in inches; places that are left over are empty."""
    from matplotlib.figure import Figure

    lines = max(math.ceil(number / columns), 1)
    figure = Figure(figsize=(max(columns * size[0], LEAST_WIDTH), lines * size[1]), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    for ax in axes[number:]:
        ax.remove()
    return figure, axes[:number]


def _legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Put one legend above all panels, in as many columns as there is room for, and make room for its lines."""
    if not labels:
        return
    room = int(figure.get_figwidth() / (0.45 + 0.075 * max(map(len, labels))))
    lines = math.ceil(len(labels) / max(room, 1))
    figure.legend(handles, labels, loc="outside upper center", ncols=math.ceil(len(labels) / lines))
    figure.set_figheight(figure.get_figheight() + 0.18 * lines)


def _style() -> AbstractContextManager[Any]:
    try:
        import matplotlib as mpl
    except ImportError:
        raise ImportError("Figures need matplotlib: pip install 'clems[report]'.") from None
    return mpl.rc_context(STYLE)  # type: ignore[arg-type]
