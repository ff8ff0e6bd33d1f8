"""Handing over: rows whose decision is expected to cost more than a price are left to somebody else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clems.arrays import Floats
from clems.checks import check_number


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
