"""Stratified splits against the package iterative-stratification, side by side in one run, as ratios.

Usage: python -m benchmarks.stratification [--output FILE], after pip install iterative-stratification
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np
from iterstrat.ml_stratifiers import MultilabelStratifiedKFold, MultilabelStratifiedShuffleSplit
from scipy import sparse

from clems.model_selection import (
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    iterative_stratification,
    split_quality,
)

SEEDS = range(5)
FOLDS, SHUFFLE = np.full(10, 0.1), np.array([0.75, 0.25])

TEXT = """\
Made by `python -m benchmarks.stratification --output benchmarks/results/stratification.md` in one run.

Splits of {rows:,} generated rows with {labels} labels of skewed frequencies, {cardinality:.1f} a row, into 10 folds
and into 75 % and 25 %, with {seeds} seeds. "package" is iterative-stratification {version}, which needs dense labels
and is given them ready made; "published" is `iterative_stratification`, the same algorithm on sparse labels;
"splitter" is `IterativeStratifiedKFold` or `IterativeStratifiedShuffleSplit`, which also make the sizes exact.
Seconds are medians, and so are the speed-ups over the package, measured in turns. LD and ED are means of
`split_quality`: how far the odds of labels and the numbers of rows are from the wanted ones. Rows without labels,
where there are any, are dealt last and bring the sizes right.

| data | split | by | seconds | speed-up | LD | ED |
|---|---|---|---|---|---|---|
"""


def skewed(rows: int, K: int, mean: float, least: int, exponent: float = 1.0, seed: int = 0):
    """Sparse labels whose frequencies fall with their rank; each row draws so many, some of them twice."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, K + 1) ** exponent
    size = least + rng.poisson(mean - least, rows)
    columns = rng.choice(K, size.sum(), p=popularity / popularity.sum())
    Y = sparse.csr_array((np.ones(len(columns)), (np.repeat(np.arange(rows), size), columns)), shape=(rows, K))
    return (Y > 0).astype(np.uint8)


def package(Y, dense, folds: bool, seed: int):
    if folds:
        folded = MultilabelStratifiedKFold(10, shuffle=True, random_state=seed)
        return [test for _, test in folded.split(dense, dense)]
    return next(MultilabelStratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(dense, dense))


def published(Y, dense, folds: bool, seed: int):
    proportions = FOLDS if folds else SHUFFLE
    part = iterative_stratification(Y, proportions, random_state=seed)
    return [np.flatnonzero(part == k) for k in range(len(proportions))]


def splitter(Y, dense, folds: bool, seed: int):
    if folds:
        return [test for _, test in IterativeStratifiedKFold(10, shuffle=True, random_state=seed).split(Y, Y)]
    return next(IterativeStratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(Y, Y))


def measure(ways, Y, dense, folds: bool):
    """Seconds, label distribution and example distribution for each seed and way, in turns."""
    figures = np.empty((len(SEEDS), len(ways), 3))
    for seed in SEEDS:
        for way, by in enumerate(ways):
            start = perf_counter()
            parts = by(Y, dense, folds, seed)
            seconds = perf_counter() - start
            quality = split_quality(Y, parts, FOLDS if folds else SHUFFLE)
            figures[seed, way] = seconds, quality.label_distribution, quality.example_distribution
    return figures


def compare(name: str, Y) -> list[str]:
    ways = (package, published, splitter)
    lines = []
    for folds in (True, False):
        figures = measure(ways, Y, Y.toarray(), folds)
        speed = np.median(figures[:, :1, 0] / figures[:, :, 0], axis=0)
        for way, by in enumerate(ways):
            seconds = np.median(figures[:, way, 0])
            label, example = figures[:, way, 1:].mean(axis=0)
            cells = [name, "10 folds" if folds else "75/25", by.__name__, f"{seconds:.2g}"]
            cells += ["" if by is package else f"{speed[way]:.0f}×", f"{label:.2g}", f"{example:.3g}"]
            lines.append("| " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="write the table here too")
    arguments = parser.parse_args()
    data = {
        "all rows have labels": skewed(100_000, 100, 3.4, 1),
        "some have none": skewed(100_000, 100, 3.4, 0),
    }
    Y = data["all rows have labels"]
    lines = TEXT.format(
        rows=Y.shape[0],
        labels=Y.shape[1],
        cardinality=Y.nnz / Y.shape[0],
        seeds=len(SEEDS),
        version=version("iterative-stratification"),
    ).splitlines()
    print("\n".join(lines), flush=True)
    for name, Y in data.items():
        lines += compare(name, Y)
        if arguments.output:
            arguments.output.write_text("\n".join(lines) + "\n")
    Y = skewed(15_000, 30_000, 5, 1, exponent=0.8)
    for folds in (True, False):
        figures = measure((published, splitter), Y, None, folds)
        for by, (seconds, label, example) in zip((published, splitter), figures.mean(axis=0), strict=True):
            name = f"15,000 × 30,000 labels, {10 if folds else 2} parts, {by.__name__}"
            print(f"{name}: {seconds:.2f} s, LD {label:.2g}, ED {example:.3g}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
