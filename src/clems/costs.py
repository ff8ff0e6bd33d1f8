"""Costs: the formulas and `COSTS`, where all of them are found. The one place to add a cost."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clems.cost import CallableCost, Cost, CountCost, Formula, PriceCost, Threshold
from clems.counts import Counts, Floats

COSTS: dict[str, Cost] = {}


def half(marginals: Floats) -> Floats:  # noqa: ARG001
    """Threshold of a cost where a miss of a label and a false alarm weigh the same."""
    return np.array([0.5])


def their_mean(marginals: Floats) -> Floats:
    """Threshold of the rank loss: the mean probability of the row's labels, and ½ for one that equals it."""
    mean = marginals.mean(axis=1, keepdims=True)
    return np.where(np.isclose(marginals, mean, rtol=1e-12, atol=0), 0.5, mean)  # either way costs the same there


def cost(
    *,
    symmetric: bool,
    separating: bool,
    affine_in_tp: bool = False,
    uniform: bool = False,
    threshold: Threshold | None = None,
    as_score: bool = False,
) -> Callable[[Formula], Formula]:
    """Enter a formula in `COSTS` under its function's name, with the facts about it."""

    def register(formula: Formula) -> Formula:
        COSTS[formula.__name__] = CountCost(
            name=formula.__name__,
            formula=formula,
            symmetric=symmetric,
            separating=separating,
            affine_in_tp=affine_in_tp,
            uniform=uniform,
            threshold=threshold,
            as_score=as_score,
        )
        return formula

    return register


@cost(symmetric=True, separating=True, affine_in_tp=True, threshold=half)
def hamming(c: Counts) -> Floats:
    """Share of labels that are wrong."""
    return c.wrong / c.total


@cost(symmetric=True, separating=True, uniform=True, as_score=True)
def zero_one(c: Counts) -> Floats:
    """1 unless every label is right; its score is subset accuracy."""
    return np.minimum(c.wrong, 1)


@cost(symmetric=True, separating=True, affine_in_tp=True, as_score=True)
def f1(c: Counts) -> Floats:
    """1 − F1; two empty sets are equal and cost 0."""
    return _share(c.wrong, c.truth + c.predicted)


@cost(symmetric=True, separating=True, as_score=True)
def accuracy(c: Counts) -> Floats:
    """1 − Jaccard index, the paper's Accuracy; two empty sets are equal and cost 0."""
    return _share(c.wrong, c.union)


@cost(symmetric=False, separating=False, affine_in_tp=True, threshold=their_mean)
def rank(c: Counts) -> Floats:
    """Pairs of a true and an untrue label in the wrong order, ties half: fn·fp + ½ fn·tn + ½ tp·fp, not normalised."""
    # With fp + tn = K − |truth| and tp + fn = |truth| the three products are two.
    return c.fp * (c.truth / 2) + c.fn * ((c.total - c.truth) / 2)


@cost(symmetric=True, separating=True, affine_in_tp=True)
def composition(c: Counts) -> Floats:
    """5 · hamming + f1, the paper's example of a cost of one's own."""
    return 5 * hamming(c) + f1(c)


def _share(part: Floats, whole: Floats) -> Floats:
    """Part of a whole; nothing of nothing is 0."""
    return part / np.maximum(whole, np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class FBeta:
    """Formula ``1 − F_β``; two empty sets are equal and cost 0."""

    beta: float

    def __call__(self, c: Counts) -> Floats:
        """Cost of counts."""
        square = self.beta**2
        return _share(square * c.fn + c.fp, square * c.truth + c.predicted)


def f_beta(beta: float, name: str | None = None) -> Cost:
    """Cost ``1 − F_β``: recall counts β times as much as precision.

    Parameters
    ----------
    beta : float
        Positive; 1 is f1, 2 favours recall, 0.5 precision.
    name : str, default=None
        By default ``f_beta(β)``.
    """
    if not (isinstance(beta, numbers.Real) and np.isfinite(beta) and beta > 0):
        raise ValueError(f"beta must be a positive number; got {beta!r}.")
    return CountCost(
        name=name or f"f_beta({beta:g})",
        formula=FBeta(float(beta)),
        symmetric=beta == 1,
        separating=True,
        affine_in_tp=True,
        as_score=True,
    )


COSTS["f_beta"] = f_beta(2, "f_beta")


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


def weighted_hamming(
    false_negative: ArrayLike, false_positive: ArrayLike = 1.0, name: str = "weighted_hamming"
) -> Cost:
    """Cost with its own price for each label: the sum of prices of all mistakes.

    Parameters
    ----------
    false_negative : float or array-like of shape (K,)
        Price of missing each label.
    false_positive : float or array-like of shape (K,), default=1.0
        Price of predicting each label in vain.
    name : str, default="weighted_hamming"
        What to call it in tables and errors.

    Examples
    --------
    Missing the first label costs 10 euros, any other mistake 1:

    >>> from clems import weighted_hamming
    >>> price = weighted_hamming([10, 1, 1])
    >>> price.rowwise([[1, 0, 1]], [[0, 1, 1]])
    array([11.])
    """
    fn, fp = _as_prices(false_negative, "false_negative", name), _as_prices(false_positive, "false_positive", name)
    if 1 not in (len(fn), len(fp)) and len(fn) != len(fp):
        raise ValueError(
            f"{name} has {len(fn)} false_negative but {len(fp)} false_positive prices; give as many of both."
        )
    prices = tuple(fn.tolist()), tuple(fp.tolist())
    return PriceCost(
        name=name,
        symmetric=bool((fn == fp).all()),
        separating=bool((fn > 0).all() and (fp > 0).all()),
        threshold=PriceThreshold(*prices),
        false_negative=prices[0],
        false_positive=prices[1],
    )


def _as_prices(prices: Any, kind: str, name: str) -> NDArray[np.float64]:
    try:
        array = np.atleast_1d(np.asarray(prices, np.float64))
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"{kind} of {name} must be one price or one per label, each a number of at least 0.")
    return array


def get_cost(cost: str | Cost | Callable[[Any, Any], Any], *, pairwise: bool = False, name: str | None = None) -> Cost:
    """Return the cost that is meant.

    Parameters
    ----------
    cost : str, Cost or callable
        A key of `COSTS`, or ``"f_beta(0.5)"`` with any β; a cost, which is returned as it is; or a function of one's
        own. A function gets truths and predictions as read-only integer arrays of zeros and ones, both of shape (n, K),
        and returns n costs.
    pairwise : bool, default=False
        The function gets arrays of shapes (n, K) and (m, K) instead and returns the costs of all pairs, shape (n, m).
    name : str, default=None
        What to call the function's cost; by default its own name.

    Returns
    -------
    Cost

    Examples
    --------
    >>> from clems import get_cost
    >>> def forgotten(Y, P):
    ...     return ((Y == 1) & (P == 0)).sum(axis=1)
    >>> get_cost(forgotten).pairwise([[1, 1], [0, 1]], [[0, 0], [1, 1]])
    array([[2., 0.],
           [1., 0.]])
    """
    if (pairwise or name is not None) and (isinstance(cost, (Cost, str)) or not callable(cost)):
        raise ValueError("pairwise and name are for a function of your own; a known cost takes neither.")
    if isinstance(cost, Cost):
        return cost
    if isinstance(cost, str):
        if cost in COSTS:
            return COSTS[cost]
        if match := re.fullmatch(r"f_beta\((-?(\d+\.?\d*|\.\d+))\)", cost):
            return f_beta(float(match[1]))
        raise ValueError(
            f"Unknown cost {cost!r}; the costs are {', '.join(sorted(COSTS))}. 'f_beta(0.5)' takes any beta, "
            "weighted_hamming(...) takes prices, and a function of your own works too."
        )
    if hasattr(cost, "greater_is_better"):
        raise ValueError("A criterion is not a cost; name the cost that it measures, such as 'f1'.")
    if callable(cost):
        own = str(name or getattr(cost, "__name__", type(cost).__name__))
        return CallableCost(name=own, function=cost, pairs=pairwise)
    raise TypeError(f"A cost is a name, a Cost or a function; got {type(cost).__name__}.")
