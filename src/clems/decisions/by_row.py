"""Decisions row by row, each among the row's own label vectors and their labels: where there are many of either.

A posterior over many label vectors gives each row a few of them. What is decided for a row then takes time in the
number of these, whatever the number of label vectors and of labels: a search sees a small posterior of the row's most
probable vectors and of the labels that are in them (`Posterior.own`), and the cost of these labels alone
(`Cost.among`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clems.arrays import Bits, Floats, Integers
from clems.costs.cost import Cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clems.posterior.distribution import Posterior

MANY = 1000  # label vectors above which rows are decided one by one
WIDE = 400  # labels above which they are, and labels that are negligible left out
MOST = 500  # label vectors of a row that take part, at most
NEGLIGIBLE = 1e-3  # what the shares of those that are left out may add up to where a row has no more than `MOST`


def decided_by_row(posterior: Posterior, cost: Cost, decide: Callable[..., Bits], sizes: range | None = None) -> Bits:
    """Decide for each row by what it has: a rule applied to its own label vectors and labels.

    Labels that none of its vectors has are predicted only where there is a budget: all take part then, or of more than
    `WIDE` as many as it asks for.
    """
    n, K = len(posterior), posterior.labels.shape[1]
    decided = np.zeros((n, K), np.uint8)
    least = 0 if sizes is None else K if K <= WIDE else sizes.start
    for row, own, columns in own_parts(posterior, least=least):
        given = () if sizes is None else (range(sizes.start, min(sizes.stop, len(columns) + 1)),)
        decided[row, columns] = decide(own, cost.among(columns, K), *given)[0]
    return decided


def own_parts(
    posterior: Posterior, predicted: Bits | None = None, least: int = 0
) -> Iterator[tuple[int, Posterior, Integers]]:
    """Go through rows: the number of each, the posterior of its own label vectors, and the labels that these are of.

    Parameters
    ----------
    posterior : Posterior
        Of n rows.
    predicted : ndarray of shape (n, K), default=None
        Labels that take part, too.
    least : int, default=0
        How many labels take part at least; the first of all are added.
    """
    for row in range(len(posterior)):
        more = np.empty(0, np.intp) if predicted is None else np.flatnonzero(predicted[row])
        yield row, *posterior.own(row, more, least)


def most_probable(share: Floats) -> Integers:
    """Return the entries of a row of shares that take part in a decision, in their order."""
    largest = np.argpartition(-share, MOST)[:MOST] if len(share) > MOST else np.arange(len(share))
    rising = largest[np.argsort(share[largest], kind="stable")]
    left_out = int(np.searchsorted(np.cumsum(share[rising]), NEGLIGIBLE * share.sum(), side="right"))
    return np.sort(rising[min(left_out, len(rising) - 1) :])


def labels_of(vectors: Any, more: Integers, least: int) -> Integers:
    """Return the labels that some label vectors have, and others; at least so many, in rising order."""
    K = vectors.shape[1]
    there = np.zeros(K, bool)
    there[np.flatnonzero(vectors.any(axis=0)) if isinstance(vectors, np.ndarray) else vectors.indices] = True
    there[more] = True
    missing = min(least, K) - int(there.sum())
    if missing > 0:
        there[np.flatnonzero(~there)[:missing]] = True
    return np.flatnonzero(there)


def cut(vectors: Any, columns: Integers) -> Bits:
    """Return some labels of label vectors as an array."""
    if isinstance(vectors, np.ndarray):
        return np.asarray(vectors[:, columns])
    place = np.zeros(vectors.shape[1], np.intp)
    place[columns] = np.arange(len(columns))
    part = np.zeros((vectors.shape[0], len(columns)), np.uint8)
    part[np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr)), place[vectors.indices]] = 1
    return part
