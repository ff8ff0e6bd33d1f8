"""Draw how all learners hang together, from the registry: docs/figures/learners.png.

Usage: python -m tools.family_tree [--output docs/figures/learners.png]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt

from clems import LEARNERS

GROUPS = {
    "none": "labels are learned\nas they are",
    "reduction": "labels become\nfewer numbers",
    "expansion": "labels become\nmore numbers",
}
GREW_OUT_OF = {
    "cc": "br",
    "pcc": "cc",
    "cft": "pcc",
    "cplst": "plst",
    "cca": "cplst",
    "faie": "cplst",
    "leml": "plst",
    "cssp": "moplms",
    "bcs": "cs",
    "gle": "ecc",
    "csrpe": "clems",
    "c2ae": "cca",
}


def placed(group: str, top: float) -> Iterator[tuple[str, float, float]]:
    """Give each learner of a group a place: beside the one that it grew out of, else in a line of its own."""
    members = sorted(name for name, learner in LEARNERS.items() if learner.profile.code == group)
    lines = 0

    def place(name: str, depth: int) -> Iterator[tuple[str, float, float]]:
        nonlocal lines
        yield name, 2.3 + 1.75 * depth, top - lines
        children = [one for one in members if GREW_OUT_OF.get(one) == name]
        for number, child in enumerate(children):
            lines += number > 0
            yield from place(child, depth + 1)

    for name in members:
        if GREW_OUT_OF.get(name) not in members:
            yield from place(name, 0)
            lines += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("docs/figures/learners.png"))
    output = parser.parse_args().output
    plt.style.use("clems.figures")
    figure, axes = plt.subplots(figsize=(8.6, 6.4))
    places: dict[str, tuple[float, float]] = {}
    top = 0.0
    for group, title in GROUPS.items():
        members = list(placed(group, top))
        places |= {name: (x, y) for name, x, y in members}
        lowest = min(y for _, _, y in members)
        axes.text(0, (top + lowest) / 2, title, va="center", fontsize=10, color="#444444")
        axes.plot([1.55, 1.55], [top + 0.35, lowest - 0.35], color="#bbbbbb", linewidth=1)
        top = lowest - 1.5
    for child, parent in GREW_OUT_OF.items():
        axes.annotate(
            "",
            xy=places[child],
            xytext=places[parent],
            arrowprops={"arrowstyle": "-|>", "color": "#999999", "shrinkA": 26, "shrinkB": 26},
        )
    for name, (x, y) in places.items():
        learner = LEARNERS[name]
        shown = "CostSensitive\nClassifier" if name == "cost_sensitive" else learner.__name__
        posterior = hasattr(learner, "posterior")
        box = {"boxstyle": "round,pad=0.35", "edgecolor": "#0072B2", "facecolor": "#cfe6f5" if posterior else "white"}
        if not learner.cost_sensitive:
            box["edgecolor"] = "#999999"
        axes.text(x, y, shown, ha="center", va="center", fontsize=9, bbox=box, zorder=3)
    axes.text(0, top + 0.55, "blue edge: takes a cost   filled: has a posterior   arrow: grew out of", fontsize=9)
    axes.set_xlim(-0.1, 8.6)
    axes.set_ylim(top + 0.3, 0.8)
    axes.axis("off")
    figure.savefig(output, dpi=130)


if __name__ == "__main__":
    main()
