"""How predictions differ from truths, as counts: row-wise, pair-wise and label-wise, of dense and sparse labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from clems.arrays import Floats, Labels


@dataclass(frozen=True)
class Counts:
    """Sizes from which every count of a truth and a prediction follows.

    Attributes
    ----------
    tp : ndarray
        True positives: labels that are in both.
    truth, predicted : ndarray
        Number of labels in the truth and in the prediction; they broadcast against `tp`.
    total : float
        How many labels there are (label-wise: how many rows).
    """

    tp: Floats
    truth: Floats
    predicted: Floats
    total: float

    @property
    def fn(self) -> Floats:
        """False negatives: labels of the truth that were not predicted."""
        return self.truth - self.tp

    @property
    def fp(self) -> Floats:
        """False positives: labels predicted that are not in the truth."""
        return self.predicted - self.tp

    @property
    def tn(self) -> Floats:
        """True negatives: labels that are in neither."""
        return self.total - self.union

    @property
    def union(self) -> Floats:
        """Labels in the truth, the prediction or both."""
        return self.truth + self.predicted - self.tp

    @property
    def wrong(self) -> Floats:
        """Labels in the truth or the prediction but not in both: false negatives and false positives."""
        return self.truth + self.predicted - 2 * self.tp


def rowwise(Y: Labels, P: Labels) -> Counts:
    """Count for each row of Y and the same row of P: arrays of shape (n,)."""
    return _along(Y, P, axis=1)


def labelwise(Y: Labels, P: Labels, weight: ArrayLike | None = None) -> Counts:
    """Count for each label over all rows, each row with its weight: arrays of shape (K,)."""
    if weight is None:
        return _along(Y, P, axis=0)
    rows = np.asarray(weight, np.float64)
    return Counts(rows @ (Y * P), rows @ Y, rows @ P, float(rows.sum()))


def _along(Y: Labels, P: Labels, axis: int) -> Counts:
    tp, truth, predicted = ((Z != 0).sum(axis=axis).astype(np.float64) for Z in (Y * P, Y, P))
    return Counts(tp, truth, predicted, float(Y.shape[axis]))


def pairwise_with(P: Labels, dtype: DTypeLike = np.float64) -> Callable[[Labels], Counts]:
    """Counter of rows of truths against every row of P: arrays of shape (n, len(P)) from one matrix product."""
    predicted = P.sum(axis=1, dtype=dtype)
    # Single precision counts exactly up to 2^24 labels.
    columns = P.T.astype(np.float32) if sparse.issparse(P) else np.ascontiguousarray(P.T, np.float32)

    def count(Y: Labels) -> Counts:
        product = Y.astype(np.float32) @ columns
        tp = (product.toarray() if sparse.issparse(product) else product).astype(dtype, copy=False)
        return Counts(tp, Y.sum(axis=1, dtype=dtype)[:, None], predicted, float(P.shape[1]))

    return count
