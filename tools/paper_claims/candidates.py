"""Claims on candidates and dimensions: what fewer and more of them change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from clems.experiments.analysis.naming import heading_of
from tools.paper_claims.counting import against_position, duels, in_words, signed
from tools.paper_claims.drawing import CYCLE, MARKERS, QUIET, curve, legend_above, name_x, panels
from tools.paper_claims.page import Claim
from tools.paper_claims.records import evidence


def candidates() -> Claim:
    """Fewer and more candidates than label vectors of training."""
    own = evidence("candidates")
    found = against_position(own.results, 1.0)
    fewer, more = found[found["x"] < 1], found[found["x"] > 1]
    return Claim(
        lines_of_datasets(found, "candidates / label vectors of training", "better by, in %", own.datasets),
        "What fewer and more candidates change, by criterion and dataset",
        f"{own.caption()} Bands are 95 % intervals; those of few repetitions may leave the picture.",
        [
            f"With fewer candidates the results are {in_words(fewer)}; with the fewest, a quarter, "
            f"{in_words(fewer[fewer['x'] == fewer['x'].min()])}.",
            f"With more, they are {in_words(more)}.",
        ],
    )


def peeping() -> Claim:
    """Candidates from the test rows, too."""
    own = evidence("peeping")
    found = duels(own.results, "clems-all", ["clems-train"])
    typical = found["percent"].abs().median()
    return Claim(
        lines_of_datasets(found, "M / K", "better with S_all by, in %", own.datasets),
        "What knowing the label vectors of test rows changes, by criterion and dataset",
        f"{own.caption()} Bands are 95 % intervals.",
        [
            f"With the label vectors of the test rows among the candidates, results are {in_words(found)}.",
            f"The median of the differences is {typical:.1f} %, and the greatest gain {found['percent'].max():.1f} %.",
        ],
    )


def dimension() -> Claim:
    """How many dimensions are enough."""
    own = evidence("peeping")
    frame = own.of("clems-train")
    found = against_position(frame, 1.0)
    fewer, more = found[found["x"] < 1], found[found["x"] > 1]
    return Claim(
        lines_of_datasets(found, "M / K", "better than M = K by, in %", own.datasets),
        "What fewer and more dimensions than labels change, by criterion and dataset",
        f"{own.caption(frame)} Bands are 95 % intervals.",
        [
            f"With fewer dimensions than labels, CLEMS, nearest is {in_words(fewer)} than with as many as labels; "
            f"with more, {in_words(more)}, and its median gain is {signed(more['percent'].median())} %.",
        ],
    )


def lines_of_datasets(found: pd.DataFrame, x_label: str, y_label: str, names: Sequence[str]) -> Any:
    """A panel for each criterion, a line for each dataset: percent gained over x, with 95 % intervals."""
    criteria = [*found["criterion"].unique()]
    figure, axes = panels(len(criteria), 3, (2.55, 2.4), sharex=True)
    for ax, criterion in zip(axes, criteria, strict=True):
        _lines(ax, found[found["criterion"] == criterion], names)
        ax.set_title(heading_of(criterion))
    axes[0].set_ylabel(y_label)
    name_x(figure, x_label)
    legend_above(figure, [curve(CYCLE[at], name, MARKERS[at]) for at, name in enumerate(names)])
    return figure


def _lines(ax: Any, found: pd.DataFrame, names: Sequence[str]) -> None:
    """Draw a panel; its limits show all values, if not all of the intervals."""
    ax.axhline(0, color=QUIET, linewidth=1)
    for at, name in enumerate(names):
        own = found[found["dataset"] == name].sort_values("x")
        ax.fill_between(own["x"], own["low"], own["high"], color=CYCLE[at], alpha=0.06, linewidth=0)
        ax.plot(own["x"], own["percent"], color=CYCLE[at], marker=MARKERS[at], markersize=4, linewidth=1.4)
    ax.grid(axis="y")
    middle = found["percent"]
    reach = max(1.5 * middle.abs().max(), 1.0)  # intervals of few repetitions may be far wider
    ax.set_ylim(max(-reach, 1.15 * min(middle.min(), -0.5) - 1.5), min(reach, 1.15 * max(middle.max(), 0.5) + 1.5))
