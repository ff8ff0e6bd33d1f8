"""Time and memory of label embeddings at EUR-Lex's size, beside a joint forest of ten trees in the same run.

Usage: python -m benchmarks.embeddings [--output FILE] [--runs 1] [--rows 19348]
"""

from __future__ import annotations

import argparse
import multiprocessing
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from scipy import sparse
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor

from benchmarks.chains import peak_growth, times
from clems import CPLST, PLST, FaIE

# Each is fitted with an estimator that learns next to nothing, so that what is left is the embedding.
EMBEDDINGS = {
    "PLST": PLST(estimator=DummyRegressor()),
    "CPLST": CPLST(estimator=DummyRegressor()),
    "FaIE, alpha given": FaIE(alpha=10.0, estimator=DummyRegressor(), random_state=0),
    "FaIE, alpha chosen": FaIE(estimator=DummyRegressor(), random_state=0),
}
FOREST = ExtraTreesRegressor(10, max_features="sqrt", random_state=0)
TEXT = """\
# Embeddings

Made by `make bench-embeddings` on generated data of EUR-Lex's size: {n:,} rows, {d:,} features, {density:.1%} of them
not zero, {K} labels, {cardinality:.2f} per row, M = K.

Time of `fit` with an estimator that learns nothing, over that of scikit-learn's ExtraTreesRegressor with 10 trees that
try the root of the number of features, fitted to the labels: median of {runs} run(s) taken in turns. It is processor
time of all threads, so that other work on the machine does not count. Memory is the growth of the peak during `fit`, in
a process of its own, over the size of the input, {megabytes:.0f} MB. Lost is the share of the label entries of training
rows that decoding gets wrong.

| | time / forest | memory / input | codes | lost |
|---|---|---|---|---|
"""


def eurlex_like(n: int = 19_348, d: int = 5_000, K: int = 412, cardinality: float = 1.3, seed: int = 0):
    """Sparse features like words, half of a row's from the topics of its labels; labels few and of uneven frequency."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, K + 1)
    row = np.repeat(np.arange(n), 1 + rng.poisson(cardinality - 1, n))
    label = rng.choice(K, len(row), p=frequency / frequency.sum())
    Y = np.zeros((n, K), np.uint8)
    Y[row, label] = 1
    topics = rng.integers(0, d, (K, 200))
    own = rng.permutation(n * 160) % len(row)
    common = (1 / np.arange(10, d + 10) ** 0.5).cumsum()
    words = np.concatenate(
        [
            topics[label[own], rng.integers(0, 200, len(own))],
            np.searchsorted(common, rng.random(n * 140) * common[-1]),
        ]
    )
    rows = np.concatenate([row[own], np.repeat(np.arange(n), 140)])
    X = sparse.coo_array((np.ones(len(rows)), (rows.astype(np.int32), words.astype(np.int32))), (n, d)).tocsr()
    X.data = np.log1p(X.data)
    return X, Y


def size_of(*arrays) -> float:
    """Megabytes of dense and sparse arrays."""
    parts = [part for a in arrays for part in ((a.data, a.indices, a.indptr) if sparse.issparse(a) else (a,))]
    return sum(part.nbytes for part in parts) / 2**20


def _growth(name: str, rows: int, queue) -> None:
    queue.put(peak_growth(EMBEDDINGS[name].fit, *eurlex_like(rows)))


def growth(name: str, rows: int) -> float:
    """Growth of the peak memory in MB while fitting, in a new process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_growth, args=(name, rows, queue))
    process.start()
    grown = queue.get()
    process.join()
    return grown


def table(rows: int, runs: int) -> str:
    X, Y = eurlex_like(rows)
    megabytes = size_of(X, Y)
    text = TEXT.format(
        n=X.shape[0],
        d=X.shape[1],
        K=Y.shape[1],
        density=X.nnz / np.prod(X.shape),
        cardinality=Y.sum(axis=1).mean(),
        runs=runs,
        megabytes=megabytes,
    )
    calls = [partial(model.fit, X, Y) for model in (FOREST, *EMBEDDINGS.values())]
    seconds = times(runs, *calls, clock=process_time)
    ratios = np.median(seconds[:, 1:] / seconds[:, :1], axis=0)
    for (name, model), ratio in zip(EMBEDDINGS.items(), ratios, strict=True):
        memory, lost = growth(name, rows) / megabytes, model.reconstruction_error_
        text += f"| {name} | {ratio:.3f} | {memory:.1f} | {model.codes_.shape[1]} | {lost:.3%} |\n"
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
