"""The threshold of scores, such as those of SLEEC, under which a cost is least on labelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Floats, row_blocks
from clems.costs.cost import Cost

MOST = 64  # thresholds that are compared
BLOCK = 4096  # rows whose costs are computed together


def best_threshold(cost: Cost, Y: Any, scores: Any, weight: Floats | None = None) -> float:
    """Threshold between 0 and 1 for which predicting the labels that score above it costs least.

    Compared are the middles between the scores that occur, a selection if there are many. Of thresholds that cost the
    same, the one nearest to ½ is taken.

    Parameters
    ----------
    cost : Cost
    Y : CSR array of shape (n, K)
        Truths.
    scores : CSR array of shape (n, K)
        From 0 to 1.
    weight : ndarray of shape (n,), default=None
        Sample weights.
    """
    if not Y.shape[0]:
        return 0.5
    values = np.unique(np.round(np.concatenate([[0, 1], scores.data]), 9))
    if len(values) > MOST:
        values = values[np.linspace(0, len(values) - 1, MOST + 1).round().astype(int)]
    thresholds = (values[1:] + values[:-1]) / 2
    costs = np.array([np.average(_costs(cost, Y, above(scores, t)), weights=weight) for t in thresholds])
    least = thresholds[costs <= costs.min() * (1 + 1e-12)]
    return float(least[abs(least - 0.5).argmin()])


def above(scores: Any, threshold: float) -> Any:
    """Labels that score above a threshold, a CSR array of zeros and ones."""
    labels = sparse.csr_array(((scores.data > threshold).astype(np.uint8), scores.indices, scores.indptr), scores.shape)
    labels = labels.copy()
    labels.eliminate_zeros()
    return labels


def _costs(cost: Cost, Y: Any, P: Any) -> Floats:
    return np.concatenate([cost.of_rows(Y[rows], P[rows]) for rows in row_blocks(Y.shape[0], 1, BLOCK)])
