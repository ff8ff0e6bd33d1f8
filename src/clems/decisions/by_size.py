"""Exact decisions for F1 and all costs that are affine in the true positives: the best of each size, then the size.

With s labels in the truth and m predicted, the cost is ``α(s, m) + β(s, m) · tp``. So among the predictions of size m
the best one has the m labels of smallest ``Σ_i q_i β(|S_i|, m) S_ik``, and the best of those K + 1 is the best of all
2^K vectors. For F-measures this is the general F-measure maximiser.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.arrays import Bits, Floats, Integers, dense_if_full, row_blocks
from clems.costs.cost import Cost
from clems.costs.counts import Counts
from clems.decisions.by_row import WIDE
from clems.decisions.search import GAIN
from clems.labels.matrix import as_dense

if TYPE_CHECKING:
    from clems.posterior.distribution import Posterior

FEW = 8  # sizes of truths that a rough decision distinguishes
RARE = 1e-3  # probability of labels that are left out where there are many
STRIDE = 8  # of the sizes of predictions that are tried first


def best_of_each_size(posterior: Posterior, cost: Cost, allowed: range | None = None) -> Bits:
    """Predict the vector of least expected cost of all 2^K, or of those of allowed sizes; for `affine_in_tp`.

    Of more than `WIDE` labels each row is decided by those that it may well have: labels of a smaller probability than
    `RARE` are left out, but for as many as a budget asks for.
    """
    n, K = len(posterior), posterior.n_labels
    sizes = posterior.size_values
    decided = np.zeros((n, K), np.uint8)
    if K <= WIDE:
        for rows in row_blocks(n, K * (K + 1 + len(sizes)), 1 << 20):
            decided[rows] = _best_of_each_size(*posterior.by_size(rows), cost, sizes, allowed, K)
        return decided
    for rows in row_blocks(n, K * (1 + len(sizes)), 1 << 20):
        true, mass = posterior.by_size(rows)
        for row, marginals in enumerate(true.sum(axis=1), rows.start):
            columns = _probable_labels(marginals, 1 if allowed is None else max(1, allowed.start))
            own = slice(row - rows.start, row - rows.start + 1)
            part = _best_of_each_size(true[own][:, :, columns], mass[own], cost, sizes, allowed, K)
            decided[row, columns] = part[0]
    return decided


def _probable_labels(marginals: Floats, least: int) -> Integers:
    """Return the labels that are not rare, or so many of the most probable; in their order."""
    columns = np.flatnonzero(marginals > RARE)
    return columns if len(columns) >= least else np.sort(np.argsort(-marginals, kind="stable")[:least])


def _best_of_each_size(
    true: Floats, mass: Floats, cost: Cost, sizes: Integers, allowed: range | None, total: int
) -> Bits:
    """Predict the best vector of some of `total` labels, for rows of which `by_size` tells `true` and `mass`."""
    K = true.shape[2]
    intercept, slope = coefficients_of_sizes(cost, sizes, K, total)
    most, fewest = hits_within(sizes[:, None], np.arange(K + 1), total)
    lowest = intercept + np.minimum(slope * most, slope * fewest)  # with as many hits as suit the cost
    may_be = np.isin(np.arange(K + 1), range(K + 1) if allowed is None else allowed)
    best = _best_size(mass @ intercept, mass @ lowest, slope, true, may_be)
    # Σ_s β(s, m) P(y_k = 1, |y| = s): the m labels with the smallest are predicted
    order = np.einsum("sn,nsk->nk", slope[:, best], true).argsort(axis=1, kind="stable")
    decided = np.empty((len(mass), K), np.uint8)
    np.put_along_axis(decided, order, first_of(best, K), axis=1)
    return decided


def roughly_best_of_each_size(posterior: Posterior, cost: Cost) -> Bits:
    """Predict nearly the same with less work by a factor of K.

    The m most probable labels stand for the best prediction of size m, and truths of similar size are taken together
    if there are many sizes.
    """
    n, K = posterior.marginals.shape
    sizes, size_index = np.unique(posterior.sizes, return_inverse=True)
    intercept, slope = coefficients_of_sizes(cost, sizes, K, K)
    if len(sizes) > FEW:
        similar = np.arange(len(sizes)) * FEW // len(sizes)
        intercept, slope = (
            np.stack([coefficients[similar == which].mean(axis=0) for which in range(FEW)])
            for coefficients in (intercept, slope)
        )
        sizes, size_index = sizes[:FEW], similar[size_index]
    decided = np.empty((n, K), np.uint8)
    for rows in row_blocks(n, 2 * (K + 1 + len(sizes)), 1 << 20):
        share = dense_if_full(posterior.share[rows])
        labels = posterior.sparse_labels if sparse.issparse(share) else posterior.float_labels
        true, mass = by_size(share, labels, size_index, len(sizes))
        expected = mass @ intercept
        order = np.argsort(-posterior.marginals[rows], axis=1, kind="stable")
        hits = true[np.arange(len(mass))[:, None], :, order]
        np.cumsum(hits, axis=1, out=hits)
        expected[:, 1:] += np.einsum("sm,nms->nm", slope[:, 1:], hits)
        np.put_along_axis(decided[rows], order, first_of(expected.argmin(axis=1), K), axis=1)
    return decided


def first_of(numbers: Integers, K: int) -> Bits:
    """Rows of K zeros and ones that begin with so many ones, shape (n, K)."""
    return (np.arange(K) < numbers[:, None]).astype(np.uint8)


def _best_size(without: Floats, lowest: Floats, slope: Floats, true: Floats, may_be: NDArray[np.bool_]) -> Integers:
    """Find the size of prediction of least expected cost, for each row of a block.

    Parameters
    ----------
    without : ndarray of shape (n, K + 1)
        Expected cost of each size but for the labels that are hit: ``Σ_s P(|y| = s) α(s, m)``.
    lowest : ndarray of shape (n, K + 1)
        A bound: what it would be if of every truth as much were hit as the size lets it.
    slope : ndarray of shape (S, K + 1)
        β, what a hit adds to the cost, for each size of truth and of prediction.
    true : ndarray of shape (n, S, K)
        How probable labels are together with each size of truth.
    may_be : ndarray of shape (K + 1,)
        Whether a prediction may have this size.
    """
    expected = np.full_like(without, np.inf)
    for step in (STRIDE, 1):  # every so many sizes first; then no more than those whose bound is below the best so far
        promising = (lowest * GAIN <= expected.min(axis=1, keepdims=True)).any(axis=0) & np.isinf(expected[0])
        promising &= may_be
        sizes = np.flatnonzero(promising[::step]) * step
        added = slope[:, sizes].T @ true  # what a label adds to the cost of a prediction of each size
        for which, m in enumerate(sizes.tolist()):
            smallest = np.partition(added[:, which], max(m - 1, 0), axis=1)[:, :m]
            expected[:, m] = without[:, m] + smallest.sum(axis=1)
    return np.asarray(expected.argmin(axis=1))


def by_size(share: Any, labels: Floats, size_index: Integers, count: int) -> tuple[Floats, Floats]:
    """Sum up the truths of each size.

    Parameters
    ----------
    share : array or CSR array of shape (n, L)
        How probable each label vector is for each row.
    labels : ndarray or, if shares are sparse, CSR array of shape (L, K)
        The vectors as floats.
    size_index : ndarray of shape (L,)
        Which of `count` sizes each has.
    count : int
        How many sizes there are.

    Returns
    -------
    true : ndarray of shape (n, count, K)
        How probable each label is together with each size.
    mass : ndarray of shape (n, count)
        How probable each size is.
    """
    n, K = share.shape[0], labels.shape[1]
    if not sparse.issparse(share):
        true = np.empty((n, count, K))
        for which in range(count):
            of_size = size_index == which
            true[:, which] = share[:, of_size] @ labels[of_size]
        return true, share @ np.eye(count)[size_index]
    entries = share.tocoo()
    # One row for each row and size of truth, so that one product sums up the truths of every size.
    apart = sparse.csr_array(
        (entries.data, (entries.row * count + size_index[entries.col], entries.col)), (n * count, labels.shape[0])
    )
    sums: Any = apart @ labels
    return as_dense(sums).reshape(n, count, K).astype(np.float64, copy=False), apart.sum(axis=1).reshape(n, count)


def hits_within(s: Any, m: Any, K: int) -> tuple[Any, Any]:
    """Return how many of s true labels a prediction of m labels hits at most, and at least, if there are K."""
    return np.minimum(s, m), np.maximum(s + m - K, 0)


def coefficients_of_sizes(cost: Cost, sizes: Integers, most_predicted: int, K: int) -> tuple[Floats, Floats]:
    """Coefficients α and β for some numbers of true and up to so many predicted labels, shape (S, m + 1)."""
    if cost.formula is None or K <= WIDE:
        alpha, beta = affine_coefficients(cost, K)
        return alpha[sizes, : most_predicted + 1], beta[sizes, : most_predicted + 1]
    s, m = sizes[:, None].astype(np.float64), np.arange(most_predicted + 1.0)
    most, fewest = hits_within(s, m, K)
    highest, lowest = (cost.formula(Counts(tp, s, m, float(K))) for tp in (most, fewest))
    beta = (highest - lowest) / np.maximum(most - fewest, 1)
    return np.asarray(lowest - beta * fewest), np.asarray(beta)


@lru_cache(8)
def affine_coefficients(cost: Cost, K: int) -> tuple[Floats, Floats]:
    """Coefficients α and β of ``α(s, m) + β(s, m) · tp`` for s true and m predicted labels, shape (K + 1, K + 1)."""
    stairs = np.tri(K + 1, K, -1, dtype=np.uint8)  # row s holds the first s labels
    s, m = np.ogrid[: K + 1, : K + 1]
    most, fewest = hits_within(s, m, K)
    highest, lowest = cost.of_pairs(stairs, stairs), cost.of_pairs(stairs, stairs[:, ::-1])
    beta = (highest - lowest) / np.maximum(most - fewest, 1)
    return lowest - beta * fewest, beta
