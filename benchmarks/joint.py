"""CLEMS's fit and predict against BR and against scikit-learn's joint multi-label forest, as ratios of one run.

Usage: python -m benchmarks.joint [--output FILE] [--runs 3]
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from benchmarks.chains import peak_growth, times
from benchmarks.data import like_eurlex, load, split
from clems import BR, CLEMS

TEXT = """\
# The joint forest

Made by `make bench-joint`: medians over {runs} runs taken in turns of ratios of times, one job and one thread, 100
trees each, trained on half of the data. CLEMS has its defaults: the fit has the embedding, the forest and the choice of
sharpness and decoder in it. The joint forest is scikit-learn's RandomForestClassifier on the label matrix; BR
has this package's default forests. Choice: CLEMS with seven depths to choose from besides, over CLEMS of one depth,
sharpness and decoder.

| data | rows | features | labels | CLEMS / BR | CLEMS / joint forest | choice |
|---|---|---|---|---|---|---|
"""
LARGE = """
At the size of EUR-Lex (dc), {rows} rows, {features} sparse features, {labels} labels, {vectors} distinct label vectors,
generated, {trees} trees each, one run: CLEMS / joint forest {ratio:.2f}.
"""
PREDICTION = """
`predict` for 100,000 rows, {runs} runs: CLEMS over the joint forest's `predict`. Memory: growth of the peak while
predicting 20,000 and 100,000 rows, less the growth of the result.

| data | cost | CLEMS / joint forest | 20,000 rows | 100,000 rows |
|---|---|---|---|---|
"""


def ratio(seconds: np.ndarray, which: int, over: int) -> float:
    return float(np.median(seconds[:, which] / seconds[:, over]))


def fits(runs: int) -> str:
    text = TEXT.format(runs=runs)
    for name in ("medical", "enron", "cal500"):
        X, Y = load(name)
        train, _ = split(len(Y), 0)
        models = [
            BR(random_state=0),
            RandomForestClassifier(100, random_state=0),
            CLEMS(random_state=0),
            CLEMS(random_state=0, depths=[35], sharpness=1, decoder="exact"),
            CLEMS(random_state=0, depths=range(5, 36, 5)),
        ]
        seconds = times(runs, *(partial(model.fit, X[train], Y[train]) for model in models))
        cells = [f"{ratio(seconds, which, other):.3f}" for which, other in ((2, 0), (2, 1), (4, 3))]
        text += f"| {name} | {len(train)} | {X.shape[1]} | {Y.shape[1]} | {' | '.join(cells)} |\n"
    return text


def large(trees: int = 10) -> str:
    X, Y = like_eurlex()
    models = [RandomForestClassifier(trees, random_state=0), CLEMS(n_trees=trees, random_state=0)]
    seconds = times(1, *(partial(model.fit, X, Y) for model in models))
    return LARGE.format(
        rows=X.shape[0],
        features=X.shape[1],
        labels=Y.shape[1],
        vectors=len(np.unique(Y, axis=0)),
        trees=trees,
        ratio=ratio(seconds, 1, 0),
    )


def predictions(runs: int) -> str:
    text = PREDICTION.format(runs=runs)
    for name, cost in (("yeast", "f1"), ("yeast", "rank"), ("yeast", "accuracy"), ("medical", "f1")):
        X, Y = load(name)
        train, test = split(len(Y), 0)
        rows = np.resize(test, 100_000)
        many = X[rows]
        forest = RandomForestClassifier(100, random_state=0).fit(X[train], Y[train])
        model = CLEMS(cost=cost, random_state=0).fit(X[train], Y[train])
        seconds = times(runs, partial(forest.predict, many), partial(model.predict, many))
        grown = [peak_growth(model.predict, many[:size]) - size * Y.itemsize * Y.shape[1] / 2**20 for size in SIZES]
        text += f"| {name} | {cost} | {ratio(seconds, 1, 0):.2f} | {grown[0]:.0f} MB | {grown[1]:.0f} MB |\n"
    return text


SIZES = (20_000, 100_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", type=Path, help="write the tables here too")
    arguments = parser.parse_args()
    threadpool_limits(1)  # as one job has one core, whatever others do on this machine
    text = fits(arguments.runs) + large() + predictions(arguments.runs)
    sys.stdout.write(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
