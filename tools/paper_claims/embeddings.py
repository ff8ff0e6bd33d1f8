"""Claims on label embeddings: CLEMS of fewer and of more dimensions than labels against other codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd
from matplotlib import pyplot as plt

from clems.experiments.analysis.naming import listed
from clems.experiments.analysis.selection import summary
from tools.paper_claims.bars import bars, figure_of_bars, legend_of_verdicts
from tools.paper_claims.counting import duels, grouped, in_words
from tools.paper_claims.drawing import COLOURS, CYCLE, MARKERS, WIDE, curve, grid, legend_above, name_x
from tools.paper_claims.page import Claim
from tools.paper_claims.records import Evidence, evidence

MOST = 5  # panels side by side


def below() -> Claim:
    """Fewer dimensions than labels, against embeddings that know no cost."""
    own = evidence("lsdr")
    others = own.planned("plst", "cplst", "faie")
    found = duels(own.results, "clems-nearest", [*others, "sleec"])
    groups = grouped(own, found, product(own.criteria, others))
    return Claim(
        curves_and_bars(own, groups, "CLEMS, nearest: datasets and M / K"),
        "F1 over the number of dimensions, and in how many rows the paper's CLEMS is better than each embedding",
        own.caption(),
        [
            f"Against {listed([own.title(name) for name in others])}, the paper's algorithm is "
            f"{in_words(found[found['rival'] != 'sleec'], 'comparisons')}. A comparison is of a dataset, a criterion "
            "and a value of M / K with one of them.",
        ],
    )


def sleec() -> Claim:
    """Fewer dimensions than labels, against the embedding that chooses its threshold for the cost."""
    own = evidence("lsdr")
    found = duels(own.results, "clems-nearest", ["plst", "cplst", "faie", "sleec"])
    found = found[found["rival"] == "sleec"]
    groups = {f"M / K = {x:g}": found[found["x"] == x] for x in sorted(found["x"].unique())}
    at_most = found[found["x"] == found["x"].max()]
    return Claim(
        figure_of_bars(groups, "CLEMS, nearest, against SLEEC: datasets and criteria"),
        "In how many rows the paper's CLEMS is better than SLEEC, by the number of dimensions",
        own.caption(own.of("clems-nearest", "sleec")),
        [
            f"Against SLEEC, the paper's algorithm is {in_words(found)}; with as many dimensions as labels, "
            f"{in_words(at_most)}."
        ],
    )


def beyond() -> Claim:
    """More dimensions than labels."""
    own = evidence("lsde")
    others = own.planned("ecc-rrep", "ecc-hamr")
    found = duels(_by_order(own.results), "clems-nearest", others)
    groups = grouped(own, found, product(own.criteria, others))
    return Claim(
        curves_and_bars(own, groups, "CLEMS, nearest: datasets and lengths", log=True),
        "F1 over the number of dimensions, and in how many rows the paper's CLEMS is better than each code",
        own.caption(),
        [
            f"Against {listed([own.title(name) for name in others])}, the paper's algorithm is "
            f"{in_words(found, 'comparisons')}. As in the paper's figures, the first dimension of CLEMS stands beside "
            "the first length of a code, and so on.",
        ],
    )


def _by_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Number the positions of each learner: the k-th length of a code beside the k-th dimension, as in print."""
    return frame.assign(x=frame.groupby("learner")["x"].rank(method="dense") - 1)


def curves_and_bars(own: Evidence, groups: Mapping[str, pd.DataFrame], title: str, log: bool = False) -> Any:
    """F1 over the number of dimensions, a panel for each dataset, and bars of what all criteria say."""
    number = len(own.datasets)
    lines = -(-number // MOST)
    figure = plt.figure(figsize=(WIDE, 1.95 * lines + 0.9 + 0.22 * len(groups)))
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.95 * lines + 0.3, 0.6 + 0.22 * len(groups)])
    _curves(upper, own, grid(upper, number, -(-number // lines), sharex=True), log)
    ax = lower.subplots()
    bars(ax, groups)
    ax.set_title(title)
    ax.tick_params(labelsize=8)
    legend_of_verdicts(lower, groups)
    return figure


def _curves(figure: Any, own: Evidence, axes: Sequence[Any], log: bool) -> None:
    """Draw F1 of all learners, a panel for each dataset."""
    cells = summary(own.results)
    cells = cells[cells["criterion"] == "f1"]
    looks = _looks([*cells["learner"].unique()])
    for ax, dataset in zip(axes, own.datasets, strict=True):
        for learner, (colour, marker) in looks.items():
            part = cells[(cells["dataset"] == dataset) & (cells["learner"] == learner)].sort_values("x")
            ax.plot(part["x"], part["mean"], color=colour, marker=marker, markersize=3, linewidth=1.2)
        ax.set_title(dataset)
        ax.tick_params(labelsize=7)
        ax.grid(axis="y")
        if log:
            ax.set_xscale("log", base=2)
            ax.set_xticks([1.2, 2, 4, 10], ["1.2", "2", "4", "10"])
            ax.minorticks_off()
    axes[0].set_ylabel("F1")
    name_x(figure, "M / K", 8)
    legend_above(figure, [curve(colour, own.title(name), marker) for name, (colour, marker) in looks.items()])


def _looks(learners: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each learner; those without a colour of their own take free ones."""
    free = iter(colour for colour in CYCLE if colour not in {COLOURS.get(name) for name in learners})
    return {name: (COLOURS.get(name) or next(free), MARKERS[at]) for at, name in enumerate(learners)}
