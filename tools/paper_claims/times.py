"""The claim on running times, as multiples of BR's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from clems.experiments.analysis.naming import listed
from clems.experiments.analysis.times import PHASES, time_ratios
from tools.paper_claims.drawing import COLOURS, dot, legend_above, line, log_scale, rows_of_panels
from tools.paper_claims.page import Claim
from tools.paper_claims.records import Evidence, evidence


def times() -> Claim:
    """Running times as multiples of BR's."""
    own = evidence("times")
    frame = time_ratios(own.results, own.plan.spec.baseline).dropna(subset="factor")
    learners = [name for name in own.plan.spec.learners if name in {*frame["learner"]} and name != "br"]
    training, prediction = (
        listed([f"{own.title(name)} {_span(frame, name, phase)}" for name in learners])
        for phase in ("training", "prediction")
    )
    return Claim(
        _figure(own, frame, learners),
        "Training, prediction and total time of each learner as a multiple of BR's",
        f"{own.caption()} Processor time of one job.",
        [f"Training takes {training} times as long as BR; prediction takes {prediction} times as long."],
    )


def _span(frame: pd.DataFrame, learner: str, phase: str) -> str:
    """Least and greatest ratio of a learner over the datasets."""
    values = frame[(frame["learner"] == learner) & (frame["phase"] == phase)]["factor"]
    return f"{values.min():.2g} to {values.max():.2g}"


def _figure(own: Evidence, frame: pd.DataFrame, learners: Sequence[str]) -> Any:
    """A panel for each phase, a row for each dataset."""
    datasets = own.datasets
    size, label = (2.55, 0.8 + 0.3 * len(datasets)), "time as a multiple of BR's"
    figure, axes = rows_of_panels(len(PHASES), 3, size, datasets, label)
    for ax, phase in zip(axes, PHASES, strict=True):
        ax.axvline(1, color=COLOURS["br"], linewidth=1.5)
        for name in learners:
            part = frame[(frame["phase"] == phase) & (frame["learner"] == name)]
            at = [datasets.index(one) for one in part["dataset"]]
            ax.plot(part["factor"], at, "o", color=COLOURS[name], markersize=6)
        ax.set_title(phase)
        ax.set_xlim(frame["factor"].min() / 1.4, frame["factor"].max() * 1.4)
        log_scale(ax, (0.01, 0.1, 1, 10))
        ax.grid(axis="x")
    dots = [dot(COLOURS[name], own.title(name)) for name in learners]
    legend_above(figure, [line(COLOURS["br"], "BR", linewidth=1.5), *dots])
    return figure
