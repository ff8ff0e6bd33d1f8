"""Judging on held-out rows: log losses, means with their errors, and the rule by which all that is chosen is chosen.

The usual choice stays, unless another is better on held-out rows by more than a paired standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from clems.arrays import Bits, Floats, Weights

LEAST = 1e-3  # marginals nearer to 0 or 1 are judged as if they were this far


def log_loss_per_row(marginals: Floats, Y: Bits) -> Floats:
    """Compute the log loss of each row, its labels taken one by one: ``−Σ_k log P(y_k)``, shape (n,)."""
    p = np.clip(marginals, LEAST, 1 - LEAST)
    return np.asarray(-np.log(np.where(Y == 1, p, 1 - p)).sum(axis=1))


def mean_and_error(values: Floats, weight: Weights) -> tuple[float, float]:
    """Mean of the values of rows and its standard error."""
    mean = float(np.average(values, weights=weight))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=weight) / len(values)))


def root_of_ratio(paid: Floats, expected: Floats, weight: Weights) -> float:
    """Square root of what rows cost over what they were expected to cost, both in sum; 1 if that says nothing."""
    mean_paid, mean_expected = (float(np.average(costs, weights=weight)) for costs in (paid, expected))
    return float(np.sqrt(mean_paid / mean_expected)) if 0 < 1e-12 * mean_paid < mean_expected else 1.0


def once(rows: Any, key: Any, compute: Callable[[], Any]) -> Any:
    """Compute what is asked of held-out rows, unless it has been; where a cost cannot be a key, again each time."""
    known = KNOWN.setdefault(rows, {})
    try:
        return known[key]
    except (KeyError, TypeError):
        computed = compute()
    with suppress(TypeError):
        known[key] = computed
    return computed


KNOWN: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


def one_standard_error(losses: dict[Any, Floats], usual: Any, weight: Weights) -> Any:
    """Key of the least losses; the usual one, unless another loses less by more than a paired standard error.

    Parameters
    ----------
    losses : dict
        Losses of the held-out rows.
    usual : object
        One of its keys.
    weight : ndarray or None
        Sample weights of these rows.
    """

    def lead(key: Any) -> float:
        gain, error = mean_and_error(losses[usual] - losses[key], weight)
        return gain - error

    best = max(losses, key=lead)
    return best if lead(best) > 0 else usual


def valley(
    loss: Callable[[float], Floats], grid: Sequence[float], start: float, weight: Weights
) -> tuple[float, dict[float, Floats]]:
    """Go up or down a grid as long as the mean loss gets less; return where that ends, and all losses on the way.

    Parameters
    ----------
    loss : callable
        Function of a number of the grid; returns the losses of rows.
    grid : sequence of float
        Numbers in order.
    start : float
        One of them.
    weight : ndarray or None
        Sample weights of the rows.
    """
    losses: dict[float, Floats] = {}

    def mean(place: int) -> float:
        losses[grid[place]] = own = loss(grid[place])
        return float(np.average(own, weights=weight))

    best = first = grid.index(start)
    least = mean(first)
    for step in (-1, 1):
        while 0 <= best + step < len(grid) and (value := mean(best + step)) < least:
            best, least = best + step, value
        if best != first:
            break
    return grid[best], losses
