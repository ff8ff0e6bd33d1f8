"""Full trees against a choice of their depth out of bag: test costs of CLEMS, paired over random splits.

Usage: python -m benchmarks.depths [--output FILE] [--splits 4]
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.data import load, split
from clems import CLEMS, COSTS

CRITERIA = ["f1", "accuracy", "rank", "composition"]
DATASETS = ["flags", "emotions", "birds", "scene", "yeast", "medical", "enron", "cal500", "language-log", "slashdot"]
DEPTHS = (5, 10, 15, 20, 25, 30, 35)
FIRST = 1000  # number of the first split; none of them had a part in making this the default
TEXT = """\
# Full trees or a depth chosen out of bag

Made by `make depths`. Mean test cost of CLEMS with full trees, its default, as a multiple of that of CLEMS with
`depths=(5, 10, …, 35)`, over {splits} random splits 50/25/25; in brackets the standard error of the mean ratio. Below 1
full trees are better; bold is more than two standard errors away from 1.

| | {columns} |
|---|{rules}
"""


def ratio(dataset: str, repetition: int, cost: str) -> float:
    """Test cost with full trees over that with a depth that was chosen."""
    X, Y = load(dataset)
    train, test = split(len(Y), repetition)

    def mean_cost(depths: tuple[int, ...] | None) -> float:
        model = CLEMS(cost=cost, depths=depths, random_state=repetition).fit(X[train], Y[train])
        return COSTS[cost].rowwise(Y[test], model.predict(X[test])).mean()

    return mean_cost(None) / mean_cost(DEPTHS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--output", type=Path, help="write the table here too")
    arguments = parser.parse_args()
    trials = [*product(DATASETS, range(FIRST, FIRST + arguments.splits), CRITERIA)]
    found = Parallel(n_jobs=-1)(delayed(ratio)(*one) for one in trials)
    ratios = np.array(found).reshape(len(DATASETS), arguments.splits, len(CRITERIA))
    means, errors = ratios.mean(axis=1), ratios.std(axis=1, ddof=1) / np.sqrt(arguments.splits)
    text = TEXT.format(splits=arguments.splits, columns=" | ".join(CRITERIA), rules="---|" * len(CRITERIA))
    for dataset, own, own_errors in zip(DATASETS, means, errors, strict=True):
        cells = [
            f"**{mean:.3f}** ({error:.3f})" if abs(mean - 1) > 2 * error else f"{mean:.3f} ({error:.3f})"
            for mean, error in zip(own, own_errors, strict=True)
        ]
        text += f"| {dataset} | {' | '.join(cells)} |\n"
    sys.stdout.write(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
