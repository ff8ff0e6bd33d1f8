"""Budgets: at most, or exactly, so many labels for each row; and rows that are handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clems.arrays import Bits, Floats
from clems.checks import check_count, check_number
from clems.costs.cost import Cost
from clems.decisions.by_size import first_of

if TYPE_CHECKING:
    from clems.posterior.distribution import Posterior


def allowed_sizes(at_most: Any, exactly: Any, K: int) -> range | None:
    """Check a budget and return the numbers of labels that it allows; None without one.

    Parameters
    ----------
    at_most, exactly : int or None
        At most one of them is given, from 0 to K.
    K : int
        Number of labels.
    """
    if at_most is not None and exactly is not None:
        raise ValueError(f"Give at_most or exactly, not both; got at_most={at_most!r} and exactly={exactly!r}.")
    if exactly is not None:
        size = check_count(exactly, "exactly", least=0, most=K)
        return range(size, size + 1)
    return None if at_most is None else range(check_count(at_most, "at_most", least=0, most=K) + 1)


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


def check_price(abstain_at: Any) -> float | None:
    """Check the price of handing a row over; None if no row is to be."""
    return None if abstain_at is None else check_number(abstain_at, "abstain_at", "None or ")


def handed_over(decided: Any, expected: Floats, price: float) -> NDArray[Any]:
    """Mask the rows whose decision is expected to cost more than handing them over.

    Returns
    -------
    masked array of shape (n, K)
        What was decided; rows that are handed over are masked.
    """
    over = np.broadcast_to((expected > price)[:, None], decided.shape)
    return np.ma.MaskedArray(decided, mask=over.copy())
