"""Decide by the probabilities of anyone's model, in one call."""

from __future__ import annotations

from typing import Any

from clems.posterior.distribution import AnyCost, Posterior


def decide(
    given: Any,
    cost: AnyCost = "f1",
    *,
    candidates: Any = None,
    prior_power: float = 1.0,
    at_most: int | None = None,
    exactly: int | None = None,
    abstain_at: float | None = None,
) -> Any:
    """Decide by the probabilities of any model: predict the label vectors of least expected cost.

    Parameters
    ----------
    given : array-like, sparse matrix, DataFrame, list or Posterior
        How probable each label is for each row, as :meth:`Posterior.from_marginals` takes it; or a posterior.
    cost : str, Cost or callable, default="f1"
        As :func:`clems.get_cost` takes it.
    candidates, prior_power
        As :meth:`Posterior.from_marginals` takes them. By default labels are independent.
    at_most, exactly : int, default=None
        Predict at most, or exactly, so many labels for each row.
    abstain_at : float, default=None
        Price of handing a row over: rows whose decision is expected to cost more are masked.

    Returns
    -------
    ndarray of shape (n, K)
        Zeros and ones. With `abstain_at` a masked array, in which the rows that are handed over are masked.

    Examples
    --------
    >>> from clems import decide, weighted_hamming
    >>> P = [[0.9, 0.45, 0.4], [0.6, 0.2, 0.1]]
    >>> decide(P, "f1")
    array([[1, 1, 1],
           [1, 0, 0]], dtype=uint8)
    >>> decide(P, weighted_hamming(false_negative=[10, 1, 1]), at_most=1)
    array([[1, 0, 0],
           [1, 0, 0]], dtype=uint8)
    """
    if isinstance(given, Posterior):
        if candidates is not None or prior_power != 1:
            raise ValueError(
                "A posterior has its label vectors; candidates and prior_power are for probabilities of labels."
            )
        posterior = given
    else:
        posterior = Posterior.from_marginals(given, candidates=candidates, prior_power=prior_power)
    return posterior.decide(cost, at_most=at_most, exactly=exactly, abstain_at=abstain_at)
