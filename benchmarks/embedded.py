"""What trees are grown on when CLEMS is trained for micro or macro F1, for which a single row has no cost.

Usage: python -m benchmarks.embedded [--output FILE] [--splits 10] [--datasets flags,birds]
"""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed

from benchmarks.data import divided, load, split
from clems import CLEMS, CRITERIA
from clems.learners.clems import EMBEDDED

NAMES = ["micro_f1", "macro_f1"]
COSTS = [EMBEDDED, *(cost for cost in ("f1", "accuracy", "composition", "rank", "hamming") if cost != EMBEDDED)]
OTHER = "other labels"
TRAINING = ["emotions", "medical", "enron", "scene", "yeast", "corel5k"]  # whose test files are for Table 3
DATASETS = ["flags", "birds", "cal500", "language-log", *TRAINING]
FIRST = 2000  # number of the first split; none of them had a part in anything else
TEXT = """\
# Trees for micro and macro F1

Made by `make embedded`. Half of CLEMS's trees are grown on label vectors embedded for a cost, the others on the labels
themselves, which for macro F1 are brought to one variance. The first column is micro or macro F1 of CLEMS trained for
it with {default} as the cost, the default; the next are the differences from it with other costs; the last that with
labels as they are for macro F1, and of one variance for micro F1. Means over {splits} random splits 50/25/25, of the
training file alone where there is a test file, which is left for Table 3, with standard errors. Greater is better;
bold is more than two standard errors away from the default.

| | | {columns} |
|---|---|{rules}
"""
LABEL_TARGETS = CLEMS._label_targets


def other_labels(model: Any) -> np.ndarray:
    """Labels as trees for the other criterion see them."""
    with patch.object(model, "_own_label_based", next(name for name in NAMES if name != model._own_label_based)):
        return LABEL_TARGETS(model)


def changed(variant: str) -> AbstractContextManager:
    """Make CLEMS a variant."""
    if variant == OTHER:
        return patch.object(CLEMS, "_label_targets", other_labels)
    return patch("clems.learners.clems.EMBEDDED", variant)


def trial(dataset: str, repetition: int) -> list[list[float]]:
    """Both criteria for each variant on one split."""
    X, Y = divided(dataset)[:2] if dataset in TRAINING else load(dataset)
    train, test = split(len(Y), FIRST + repetition)

    def score(variant: str, name: str) -> float:
        with changed(variant):
            model = CLEMS(name, random_state=repetition).fit(X[train], Y[train])
        return CRITERIA[name](Y[test], model.predict(X[test]))

    return [[score(variant, name) for variant in (*COSTS, OTHER)] for name in NAMES]


def line(dataset: str, name: str, values: np.ndarray) -> str:
    """Line of the table for values by split and variant, of which the first is the default."""
    gains = values[:, 1:] - values[:, :1]
    errors = gains.std(axis=0, ddof=1) / len(gains) ** 0.5
    cells = [cell(mean, error) for mean, error in zip(gains.mean(axis=0), errors, strict=True)]
    return f"| {dataset} | {name} | {values[:, 0].mean():.4f} | {' | '.join(cells)} |\n"


def cell(mean: float, error: float) -> str:
    """Write a difference; bold if it is far from 0."""
    text = f"{mean:+.4f} ± {error:.4f}"
    return f"**{text}**" if abs(mean) > 2 * error else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="write the table here too")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    arguments = parser.parse_args()
    datasets, splits = arguments.datasets.split(","), arguments.splits
    values = np.array(Parallel(n_jobs=-1)(delayed(trial)(*one) for one in product(datasets, range(splits))))
    values = values.reshape(len(datasets), splits, len(NAMES), -1)
    columns = [*COSTS, OTHER]
    text = TEXT.format(splits=splits, default=EMBEDDED, columns=" | ".join(columns), rules="---|" * len(columns))
    for (i, dataset), (j, name) in product(enumerate(datasets), enumerate(NAMES)):
        text += line(dataset, name, values[i, :, j])
    for j, name in enumerate(NAMES):
        text += line("mean", name, values[:, :, j].mean(axis=0))
    sys.stdout.write(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
