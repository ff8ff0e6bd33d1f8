"""From what a model predicts to label vectors: the nearest point, or the least expected cost under a distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.cost import Cost
from clems.counts import Floats, row_blocks

Vectors = NDArray[np.uint8]


def nearest(points: Floats, among: Floats) -> NDArray[np.intp]:
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
    index = np.empty(len(points), np.intp)
    for rows in row_blocks(len(points), len(among)):
        index[rows] = (half - points[rows] @ among.T).argmin(axis=1)  # ‖z − p‖² up to what does not depend on p
    return index


@dataclass(frozen=True)
class Posterior:
    """For each row a distribution of label vectors.

    Attributes
    ----------
    labels : ndarray of shape (L, K)
        Label vectors, which rows may share or not.
    share : CSR array of shape (n, L)
        How probable each vector is for each row; rows sum to 1.
    marginals : ndarray of shape (n, K)
        How probable each label is for each row.
    likelihood : ndarray of shape (share.nnz,)
        Numbers by which the vectors of a row compare, one for each stored entry of `share`; the shares themselves, or
        what they estimate.
    """

    labels: Vectors
    share: Any
    marginals: Floats
    likelihood: Floats


@dataclass(frozen=True)
class Rule:
    """A way to decide by least expected cost.

    Attributes
    ----------
    decide : callable
        Function of a cost and a posterior; returns label vectors, shape (n, K).
    applies : callable
        Function of a cost: whether the rule may be used for it.
    exact : bool
        Whether no label vector at all has a smaller expected cost than the one it returns.
    """

    decide: Callable[[Cost, Posterior], Vectors]
    applies: Callable[[Cost], bool]
    exact: bool


def rule_for(cost: Cost) -> Rule:
    """Return the first rule of `RULES` that applies to a cost."""
    return next(rule for rule in RULES.values() if rule.applies(cost))


def above_threshold(cost: Cost, posterior: Posterior) -> Vectors:
    """Predict the labels whose marginal exceeds the cost's threshold."""
    assert cost.threshold is not None
    return (posterior.marginals > cost.threshold(posterior.marginals)).astype(np.uint8)


def best_of_each_size(cost: Cost, posterior: Posterior) -> Vectors:
    """Exact decision for a cost that is affine in the true positives, over all 2^K vectors.

    With s labels in the truth and m predicted, the cost is α(s, m) + β(s, m) · tp. So among the predictions of size m
    the best one has the m labels of smallest ``Σ_i q_i β(|S_i|, m) S_ik``, and the best of those K + 1 is the best of
    all. For F-measures this is the general F-measure maximiser.
    """
    n, K = posterior.marginals.shape
    sizes, place = np.unique(posterior.labels.sum(axis=1, dtype=np.intp), return_inverse=True)
    intercept, slope = (coefficients[sizes] for coefficients in affine_coefficients(cost, K))
    labels = posterior.labels.astype(np.float64)
    decided = np.empty((n, K), np.uint8)
    for rows in row_blocks(n, K * (K + 1 + len(sizes))):
        share = posterior.share[rows].tocoo()
        count = share.shape[0]
        # One row for each row and size of truth, so that one product sums up the truths of every size.
        by_size = sparse.csr_array(
            (share.data, (share.row * len(sizes) + place[share.col], share.col)), (count * len(sizes), len(labels))
        )
        true = (by_size @ labels).reshape(count, len(sizes), K)
        added = slope.T @ true  # what a label adds to the cost of a prediction of size m, shape (count, K + 1, K)
        cheapest_first = added.argsort(axis=2, kind="stable")
        sums = np.take_along_axis(added, cheapest_first, axis=2).cumsum(axis=2)
        expected = by_size.sum(axis=1).reshape(count, len(sizes)) @ intercept
        expected[:, 1:] += sums[:, range(1, K + 1), range(K)]
        best = expected.argmin(axis=1)
        chosen = (np.arange(K) < best[:, None]).astype(np.uint8)
        np.put_along_axis(decided[rows], cheapest_first[np.arange(count), best], chosen, axis=1)
    return decided


def affine_coefficients(cost: Cost, K: int) -> tuple[Floats, Floats]:
    """Coefficients α and β of ``α(s, m) + β(s, m) · tp`` for s true and m predicted labels, shape (K + 1, K + 1)."""
    stairs = np.tri(K + 1, K, -1, dtype=np.uint8)  # row s holds the first s labels
    s, m = np.ogrid[: K + 1, : K + 1]
    most, fewest = np.minimum(s, m), np.maximum(s + m - K, 0)
    highest, lowest = cost.pairwise(stairs, stairs), cost.pairwise(stairs, stairs[:, ::-1])
    beta = (highest - lowest) / np.maximum(most - fewest, 1)
    return lowest - beta * fewest, beta


def most_likely(cost: Cost, posterior: Posterior) -> Vectors:  # noqa: ARG001
    """Predict the likeliest vector."""
    best = [start + posterior.likelihood[start:end].argmax() for start, end in pairwise(posterior.share.indptr)]
    return np.asarray(posterior.labels[posterior.share.indices[best]])


def least_expected(cost: Cost, posterior: Posterior) -> Vectors:
    """Predict a vector of small expected cost, for any cost.

    Considered are the vectors of the row's distribution and the prefixes of its labels sorted by their marginals; the
    best of these is then changed by one label at a time, as long as that helps.
    """
    n, K = posterior.marginals.shape
    single, stairs = np.eye(K, dtype=np.uint8), np.tri(K + 1, K, -1, dtype=np.uint8)
    decided = np.empty((n, K), np.uint8)
    starts = posterior.share.indptr
    for row in range(n):
        own = slice(starts[row], starts[row + 1])
        share, truths = posterior.share.data[own], posterior.labels[posterior.share.indices[own]]
        likeliest_first = np.argsort(-posterior.marginals[row], kind="stable")
        prefixes = np.empty_like(stairs)
        prefixes[:, likeliest_first] = stairs
        candidates = np.concatenate([truths, prefixes])
        least = np.inf
        while True:
            blocks = row_blocks(len(candidates), len(truths))
            expected = np.concatenate([share @ cost.pairwise(truths, candidates[block]) for block in blocks])
            best = expected.argmin()
            if not expected[best] < least * (1 - 1e-12):  # a tie by another order of adding is no gain
                break
            least, decided[row] = expected[best], candidates[best]
            candidates = decided[row] ^ single
    return decided


# The first that applies is used, so the cheapest come first and the last one applies to all.
RULES = {
    "threshold": Rule(above_threshold, lambda cost: cost.threshold is not None, exact=True),
    "size": Rule(best_of_each_size, lambda cost: cost.affine_in_tp, exact=True),
    "mode": Rule(most_likely, lambda cost: cost.uniform, exact=True),
    "expected": Rule(least_expected, lambda _: True, exact=False),
}
