"""Exact decisions for costs at k: the k labels of the greatest expected weight.

With a fixed number of predicted labels, precision, recall and propensity-scored precision at k are sums over labels. Up
to k labels, one more never costs anything; beyond that, k of them in random order are never better than the best k.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clems.arrays import Bits, Floats, row_blocks
from clems.costs.cost import Cost, Top
from clems.decisions.by_size import first_of

if TYPE_CHECKING:
    from clems.posterior.distribution import Posterior


def greatest_expected_weight(posterior: Posterior, cost: Cost, sizes: range | None = None) -> Bits:
    """Predict the k labels of the greatest expected weight, for a cost with `top`."""
    assert cost.top is not None
    return _heaviest(expected_of_shares(posterior) if cost.top.by_size else posterior.marginals, cost.top, sizes)


def greatest_marginal_weight(posterior: Posterior, cost: Cost, sizes: range | None = None) -> Bits:
    """Predict the same of independent labels: of these ``E[y_k / |y|]`` is the greater the more probable label k is."""
    assert cost.top is not None
    return _heaviest(posterior.marginals, cost.top, sizes)


def _heaviest(expected: Floats, top: Top, sizes: range | None) -> Bits:
    """Predict the labels of the greatest expected weight, of equal ones the first; k, or as near to k as is allowed."""
    n, K = expected.shape
    if top.weights is not None:
        expected = expected * np.array(top.weights)
    number = min(top.k, K) if sizes is None else min(max(top.k, sizes.start), sizes.stop - 1)
    decided = np.empty((n, K), np.uint8)
    order = np.argsort(-expected, axis=1, kind="stable")
    np.put_along_axis(decided, order, first_of(np.full(n, number), K), axis=1)
    return decided


def expected_of_shares(posterior: Posterior) -> Floats:
    """Compute ``E[y_k / |y|] = Σ_s P(y_k = 1, |y| = s) / s`` of each row and label, shape (n, K)."""
    n, K = posterior.marginals.shape
    expected = np.empty((n, K))
    share = 1 / np.maximum(posterior.size_values, 1)
    for rows in row_blocks(n, K * (len(share) + 1)):
        expected[rows] = np.einsum("s,nsk->nk", share, posterior.by_size(rows)[0])
    return expected
