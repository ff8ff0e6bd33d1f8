"""The nearest point: the paper's decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clems.arrays import Bits, Floats, Integers, row_blocks
from clems.costs.cost import Cost
from clems.decisions.nearest_index import index_of
from clems.labels.matrix import as_dense

if TYPE_CHECKING:
    from clems.posterior.distribution import Posterior

MANY = 1 << 16  # points above which the search goes through them in blocks


def nearest(points: Floats, among: Floats) -> Integers:
    """Index of the row of `among` nearest to each point; the first of several.

    Parameters
    ----------
    points : ndarray of shape (n, M)
    among : ndarray of shape (L, M)

    Returns
    -------
    ndarray of shape (n,)
    """
    half = np.einsum("ij,ij->i", among, among) / 2
    if len(among) <= MANY:
        index = np.empty(len(points), np.intp)
        for rows in row_blocks(len(points), len(among)):
            index[rows] = (half - points[rows] @ among.T).argmin(axis=1)  # ½ ‖z − p‖² up to what does not depend on p
        return index
    # Of many, some at a time are compared with all points, so that each is read once.
    index, least = np.zeros(len(points), np.intp), np.full(len(points), np.inf)
    for some in row_blocks(len(among), max(1, len(points))):
        value = half[some] - points @ among[some].T
        best = value.argmin(axis=1)
        closest = value[np.arange(len(points)), best]
        better = closest < least
        index[better], least[better] = some.start + best[better], closest[better]
    return index


def nearest_candidate(posterior: Posterior, cost: Cost) -> Bits:  # noqa: ARG001
    """Predict the candidate whose point is nearest to the predicted one; the cost shaped the points.

    Of many candidates it is found by an index where faiss is installed, else by looking at all of them in blocks.
    """
    points, embedded = posterior.points, posterior.embedded
    assert embedded is not None
    index = index_of(embedded, points, lambda some: nearest(some, embedded))
    return as_dense(posterior.labels[nearest(points, embedded) if index is None else index(points)])
