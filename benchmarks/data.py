"""Datasets as the benchmarks take them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import sparse

from clems.datasets import load_dataset
from clems.labels.matrix import as_dense


def load(name: str) -> tuple[Any, np.ndarray]:
    """Features, dense or sparse as they come, and dense labels; where there are none, say what is to be done."""
    try:
        data = load_dataset(name)
    except FileNotFoundError as error:
        sys.exit(str(error))
    return data.X, as_dense(data.Y)


def split(n: int, repetition: int) -> tuple[np.ndarray, np.ndarray]:
    """Training half and test quarter of a random split 50/25/25."""
    order = np.random.RandomState(repetition).permutation(n)
    return order[: n // 2], order[n - n // 4 :]


def like_eurlex(n: int = 19_348, d: int = 5_000, K: int = 412, L: int = 1_615) -> tuple[Any, np.ndarray]:
    """Generated data of the size of EUR-Lex (dc): sparse features like words, labels of uneven frequency.

    There are at most L distinct label vectors, most of one label, some of two or three. Half of a row's words belong to
    the topics of its labels, the others are common ones.
    """
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, K + 1)
    vectors = np.zeros((L, K), np.uint8)
    vectors[np.arange(L), rng.permutation(L) % K] = 1
    more = np.repeat(np.arange(L), rng.poisson(1.0, L))
    vectors[more, rng.choice(K, len(more), p=frequency / frequency.sum())] = 1
    share = 1 / vectors.sum(axis=1) ** 2 * (rng.pareto(2, L) + 0.2)  # rows with few labels are the more frequent
    which = rng.choice(L, n, p=share / share.sum())
    Y = vectors[which]
    row, label = np.nonzero(Y)
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
