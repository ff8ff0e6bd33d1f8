"""Time and memory of label embeddings at EUR-Lex's size, beside a joint forest of ten trees in the same run.

Usage: python -m benchmarks.embeddings [--output FILE] [--runs 1] [--rows 19348]
"""

from __future__ import annotations

import argparse
import multiprocessing
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesRegressor
from threadpoolctl import threadpool_limits

from benchmarks.chains import peak_growth, times
from benchmarks.data import like_eurlex
from clems import CLEMS, CPLST, CRITERIA, ECC, PLST, SLEEC, FaIE

EMBEDDINGS = {
    "PLST": PLST(),
    "CPLST": CPLST(),
    "FaIE, alpha given": FaIE(alpha=10.0),
    "FaIE, alpha chosen": FaIE(),
    "SLEEC": SLEEC(),
    "SLEEC, M = K / 4": SLEEC(n_components=0.25),
    "ECC, rrep": ECC("rrep", estimator=DummyClassifier(), random_state=0),
    "ECC, hamr": ECC("hamr", estimator=DummyClassifier(), random_state=0),
    "CLEMS, F1": CLEMS(),
}
FOREST = ExtraTreesRegressor(10, max_features="sqrt", random_state=0)
TEXT = """\
# Embeddings

Made by `make bench-embeddings` on generated data of EUR-Lex's size: {n:,} rows, {d:,} features, {density:.1%} of them
not zero, {K} labels, {cardinality:.2f} per row, M = K.

Time of encoding over that of scikit-learn's ExtraTreesRegressor with 10 trees that try the root of the number of
features, fitted to the labels: median of {runs} run(s) taken in turns, one thread. For ECC, whose codes have 4 K bits,
it is the whole `fit` with a classifier that learns nothing. Memory is the growth of the peak meanwhile, in a process of
its own, over the size of the input, {megabytes:.0f} MB; the codes themselves are {codes:.1f} times that.

| | time / forest | memory / input |
|---|---|---|
"""


def encode(name: str, X, Y) -> None:
    """Learn the embedding and encode the labels of all rows."""
    model = EMBEDDINGS[name]
    if isinstance(model, ECC):
        model.fit(X, Y)
    elif isinstance(model, CLEMS):
        model.criterion_ = CRITERIA["f1"]
        model._embed(Y, None, np.random.RandomState(0))
    else:
        model._encode(X, Y, None, np.random.RandomState(0))


def size_of(*arrays) -> float:
    """Megabytes of dense and sparse arrays."""
    parts = [part for a in arrays for part in ((a.data, a.indices, a.indptr) if sparse.issparse(a) else (a,))]
    return sum(part.nbytes for part in parts) / 2**20


def _growth(name: str, rows: int, queue) -> None:
    queue.put(peak_growth(encode, name, *like_eurlex(rows)))


def growth(name: str, rows: int) -> float:
    """Growth of the peak memory in MB while encoding, in a new process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_growth, args=(name, rows, queue))
    process.start()
    grown = queue.get()
    process.join()
    return grown


def table(rows: int, runs: int) -> str:
    X, Y = like_eurlex(rows)
    megabytes = size_of(X, Y)
    text = TEXT.format(
        n=X.shape[0],
        d=X.shape[1],
        K=Y.shape[1],
        density=X.nnz / np.prod(X.shape),
        cardinality=Y.sum(axis=1).mean(),
        runs=runs,
        megabytes=megabytes,
        codes=8 * Y.size / 2**20 / megabytes,
    )
    calls = [partial(FOREST.fit, X, Y), *(partial(encode, name, X, Y) for name in EMBEDDINGS)]
    with threadpool_limits(1):
        seconds = times(runs, *calls)
    ratios = np.median(seconds[:, 1:] / seconds[:, :1], axis=0)
    for name, ratio in zip(EMBEDDINGS, ratios, strict=True):
        text += f"| {name} | {ratio:.3f} | {growth(name, rows) / megabytes:.1f} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rows", type=int, default=19_348)
    parser.add_argument("--output", type=Path, help="write the table here too")
    arguments = parser.parse_args()
    text = table(arguments.rows, arguments.runs)
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
