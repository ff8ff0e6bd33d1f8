"""Draw the figures of docs/decisions.md: decisions under four costs, the depth path, sharpness.

Usage: python -m tools.figures [--output docs/figures]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from joblib import Parallel, delayed
from matplotlib import pyplot as plt

from benchmarks.data import load, split
from clems import CLEMS, COSTS, weighted_hamming
from clems.datasets import digit_scenes
from clems.experiments.spec import DEPTHS
from clems.posterior.choosing import SHARPNESS

BLUE, ORANGE, GREY, GREEN = "#2166ac", "#d6604d", "#777777", "#1b7837"
SPLITS = 3


def costs_of(dataset: str, cost: str, repetition: int, **settings) -> tuple[float, float]:
    """Out-of-bag and test cost of CLEMS on one split."""
    X, Y = load(dataset)
    train, test = split(len(Y), repetition)
    model = CLEMS(cost=cost, random_state=repetition, **settings).fit(X[train], Y[train])
    return model.oob_cost_, float(COSTS[cost].rowwise(Y[test], model.predict(X[test])).mean())


def mean_costs(dataset: str, cost: str, settings: list[dict]) -> np.ndarray:
    """Mean out-of-bag and test costs over splits, shape (settings, 2)."""
    tasks = [(dataset, cost, repetition, own) for own in settings for repetition in range(SPLITS)]
    found = Parallel(n_jobs=-1)(delayed(costs_of)(*task, **own) for *task, own in tasks)
    return np.array(found).reshape(len(settings), SPLITS, 2).mean(axis=1)


def decisions() -> plt.Figure:
    """One row's marginals, and which labels are predicted under each of four costs."""
    X, Y = digit_scenes(1500, random_state=0)
    model = CLEMS(cost="f1", random_state=0).fit(X[:1200], Y[:1200])
    prices = weighted_hamming(false_negative=10, false_positive=1)
    costs = {"Hamming loss": "hamming", "F1": "f1", "rank loss": "rank", "a miss ten times\nas dear": prices}
    predicted = {name: model.predict(X[1200:], cost=cost) for name, cost in costs.items()}
    # The first scene on which all four disagree.
    row = next(i for i in range(300) if len({tuple(own[i]) for own in predicted.values()}) == len(costs))
    marginals = model.predict_proba(X[1200 + row : 1201 + row])[0]
    order = np.argsort(-marginals)
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 4.2), height_ratios=[3, 2], sharex=True)
    top.bar(range(10), marginals[order], color=BLUE)
    top.axhline(0.5, color=GREY, linestyle="--", linewidth=1)
    top.text(9.45, 0.51, "½: Hamming", ha="right", va="bottom", color=GREY)
    top.axhline(marginals.mean(), color=ORANGE, linestyle="--", linewidth=1)
    top.text(9.45, marginals.mean() + 0.01, "mean of the row: rank", ha="right", va="bottom", color=ORANGE)
    top.axhline(1 / 11, color=GREEN, linestyle="--", linewidth=1)
    top.text(9.45, 1 / 11 + 0.01, "1/11: prices", ha="right", va="bottom", color=GREEN)
    top.set_ylim(0, 0.62)
    top.set_ylabel("probability")
    top.set_title("One scene of digits, one fitted model, four costs")
    for line, own in enumerate(predicted.values()):
        for place, label in enumerate(order):
            size = 120 if own[row, label] else 14
            bottom.scatter(place, -line, s=size, color=BLUE if own[row, label] else "#cccccc")
    bottom.set_yticks([-line for line in range(len(costs))], costs)
    bottom.set_ylim(-len(costs) + 0.4, 0.6)
    true = [f"{label}\n✓" if Y[1200 + row, label] else f"{label}" for label in order]
    bottom.set_xticks(range(10), true)
    bottom.set_xlabel("digit; ✓ is in the scene. Large dots are predicted.")
    bottom.spines[["left", "bottom"]].set_visible(False)
    bottom.tick_params(length=0)
    return figure


def depths() -> plt.Figure:
    """Out-of-bag and test cost by depth and decoder."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4))
    for axis, (dataset, cost) in zip(axes, [("medical", "rank"), ("emotions", "f1")], strict=True):
        for decoder, colour in (("nearest", ORANGE), ("exact", BLUE)):
            found = mean_costs(dataset, cost, [{"depths": (depth,), "decoder": decoder} for depth in DEPTHS])
            axis.plot(DEPTHS, found[:, 1], color=colour, label=f"{decoder}, test")
            axis.plot(DEPTHS, found[:, 0], color=colour, linestyle=":", label=f"{decoder}, out of bag")
        own = mean_costs(dataset, cost, [{}])[0, 1]
        axis.axhline(own, color=GREY, linewidth=1, linestyle="--", label="full depth, test")
        axis.set(title=f"{dataset}, {cost}", xlabel="depth of trees", ylabel="mean cost")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def sharpness() -> plt.Figure:
    """Test cost by sharpness, as a multiple of that of probabilities as they are."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
    for axis, cost in zip(axes, ("f1", "rank"), strict=True):
        for dataset, colour in (("emotions", BLUE), ("medical", ORANGE), ("birds", GREEN)):
            found = mean_costs(dataset, cost, [{"sharpness": power} for power in SHARPNESS])
            axis.plot(SHARPNESS, found[:, 1] / found[SHARPNESS.index(1.0), 1], color=colour, label=dataset, marker=".")
        axis.axhline(1, color=GREY, linewidth=1, linestyle="--")
        axis.set(title=cost, xlabel="sharpness")
    axes[0].set_ylabel("test cost / that of sharpness 1")
    axes[0].legend(frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1] / "docs" / "figures")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    mpl.use("agg")
    mpl.rcParams |= {"axes.spines.top": False, "axes.spines.right": False, "savefig.bbox": "tight", "savefig.dpi": 120}
    for draw in (decisions, depths, sharpness):
        figure = draw()
        figure.tight_layout()
        figure.savefig(folder / f"{draw.__name__}.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
