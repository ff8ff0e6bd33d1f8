"""The labels of greatest gain: the exact rule for costs that are sums over labels, within a budget if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clems.arrays import Bits, Floats
from clems.costs.cost import Cost
from clems.decisions.by_size import first_of

if TYPE_CHECKING:
    from clems.posterior.distribution import Posterior


def most_of_gain(gains: Floats, sizes: range | None = None) -> Bits:
    """Predict the labels of positive gain, of those of some sizes the labels of greatest gain; ties to the first.

    Parameters
    ----------
    gains : ndarray of shape (n, K)
        What predicting each label gains; of a prediction they add up.
    sizes : range or None, default=None
        Allowed numbers of labels; all by default.
    """
    if sizes is None:
        return (gains > 0).astype(np.uint8)
    # Gains that fall from label to label add up to the most after the last positive one, or as near to it as allowed.
    number = np.clip((gains > 0).sum(axis=1), sizes.start, sizes.stop - 1)
    decided = np.empty(gains.shape, np.uint8)
    order = np.argsort(-gains, axis=1, kind="stable")
    np.put_along_axis(decided, order, first_of(number, gains.shape[1]), axis=1)
    return decided


def greatest_gain(posterior: Posterior, cost: Cost, sizes: range | None = None) -> Bits:
    """Predict the labels whose gain is greatest, for a cost that is a sum over labels."""
    assert cost.gain is not None
    return most_of_gain(cost.gain(posterior.marginals), sizes)
