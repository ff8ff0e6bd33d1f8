"""Thresholds of marginals: of hamming, rank loss and prices row by row, of micro and macro F1 over all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clems.arrays import Floats, Weights


def half(marginals: Floats) -> Floats:  # noqa: ARG001
    """Threshold of a cost where a false negative and a false positive weigh the same."""
    return np.array([0.5])


def their_mean(marginals: Floats) -> Floats:
    """Threshold of the rank loss: the mean probability of the row's labels, and ½ for one that equals it."""
    mean = marginals.mean(axis=1, keepdims=True)
    return np.where(np.isclose(marginals, mean, rtol=1e-12, atol=0), 0.5, mean)  # either way costs the same there


@dataclass(frozen=True)
class PriceThreshold:
    """Threshold of a price list: a label is worth predicting if p · false negative > (1 − p) · false positive."""

    false_negative: tuple[float, ...]
    false_positive: tuple[float, ...]

    def __call__(self, marginals: Floats) -> Floats:  # noqa: ARG002
        """Thresholds, one for all labels or one per label."""
        fn, fp = np.array(self.false_negative), np.array(self.false_positive)
        return np.asarray(
            np.divide(fp, fn + fp, out=np.ones(np.broadcast_shapes(fn.shape, fp.shape)), where=fn + fp > 0)
        )

    def gain(self, marginals: Floats) -> Floats:
        """Compute what predicting each label gains: ``p · false negative − (1 − p) · false positive``, shape (n, K)."""
        fn, fp = np.array(self.false_negative), np.array(self.false_positive)
        return np.asarray(marginals * fn - (1 - marginals) * fp)


def common_threshold(marginals: Floats, weight: Weights) -> Floats:
    """Threshold for all labels together under which micro F1 is greatest if probabilities are right, shape (1,)."""
    each = None if weight is None else np.repeat(weight, marginals.shape[1])
    return threshold_of_each_label(marginals.reshape(-1, 1), each)


def threshold_of_each_label(marginals: Floats, weight: Weights) -> Floats:
    """Threshold for each label by which its F1, and so macro F1, is greatest if probabilities are right, shape (K,).

    Predicting the m likeliest rows, the expected F1 is ``2 Σ_{i ≤ m} p_i / (Σ_i p_i + m)``. The best threshold is half
    of the greatest of these: to add a row pays if its probability exceeds that. A label that no row can have gets the
    common threshold of all labels; if that is the only one, ½.
    """
    rows = np.ones(len(marginals)) if weight is None else weight
    result = np.empty(marginals.shape[1])
    for label, p in enumerate(marginals.T):
        likeliest_first = np.argsort(-p, kind="stable")
        true, predicted = (rows * p)[likeliest_first].cumsum(), rows[likeliest_first].cumsum()
        result[label] = (true / (true[-1] + predicted)).max()
    impossible = result == 0
    if impossible.any():
        result[impossible] = 0.5 if len(result) == 1 else common_threshold(marginals, weight)[0]
    return result
