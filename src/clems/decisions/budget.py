"""Budgets: at most, or exactly, so many labels for each row."""

from __future__ import annotations

from typing import Any

from clems.checks import check_count


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
