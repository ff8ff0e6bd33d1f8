"""Costs: the formulas, `COSTS` by name, `PARAMETRISED` with numbers, and `get_cost`, which reads "f_beta(2)"."""

from __future__ import annotations

import inspect
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clems.arrays import Floats
from clems.costs.cost import CallableCost, Cost, CountCost, Formula, PriceCost, Threshold
from clems.costs.counts import Counts
from clems.costs.label_prices import (
    FALSE_POSITIVE,
    KINDS,
    Names,
    Numbers,
    as_numbers,
    columns_of,
    places_of,
    split_names,
)
from clems.costs.thresholds import PriceThreshold, half, their_mean
from clems.wording import did_you_mean

COSTS: dict[str, Cost] = {}
PARAMETRISED: dict[str, Callable[..., Cost]] = {}  # its cost for 0.5 is written, and called, name(0.5)
CALL = re.compile(r"(\w+)\((.*)\)")


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

    Examples
    --------
    With β = 2 a missed label costs more than one too many:

    >>> from clems import f_beta
    >>> truth = [[1, 1, 0]]
    >>> f_beta(2).pairwise(truth, [[1, 0, 0], [1, 1, 1]]).round(2).tolist()
    [[0.44, 0.09]]
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
PARAMETRISED["f_beta"] = f_beta


def weighted_hamming(false_negative: Any, false_positive: Any = 1.0, name: str = "weighted_hamming") -> Cost:
    """Cost with its own price for each label: the sum of prices of all mistakes.

    Parameters
    ----------
    false_negative : float, array-like of shape (K,), dict, Series or DataFrame
        Price of a false negative of each label. Arrays and lists are in the order of the labels. A dict, or a Series by
        its index, is matched to the labels by name, as soon as these are known: when a model is fitted or asked. A
        DataFrame has the names in its index or in a column ``label``, and the prices in its columns ``false_negative``
        and ``false_positive``; one of these may be left out, and its prices are 1.
    false_positive : float, array-like of shape (K,), dict or Series, default=1.0
        Price of a false positive of each label.
    name : str, default="weighted_hamming"
        What to call it in tables and errors.

    Examples
    --------
    Missing the first label costs 10 euros, any other mistake 1:

    >>> from clems import weighted_hamming
    >>> price = weighted_hamming([10, 1, 1])
    >>> price.rowwise([[1, 0, 1]], [[0, 1, 1]])
    array([11.])

    Prices by name, whatever the order of the columns is:

    >>> import pandas as pd
    >>> price = weighted_hamming({"urgent": 10, "bug": 1})
    >>> Y = pd.DataFrame([[1, 1], [0, 1]], columns=["bug", "urgent"])
    >>> price.rowwise(Y, 0 * Y)
    array([11., 10.])
    """
    if hasattr(false_negative, "columns"):
        columns = columns_of(false_negative, name)
        if FALSE_POSITIVE in columns and not (np.isscalar(false_positive) and false_positive == 1):
            raise ValueError(f"{name} has false_positive prices twice: in the DataFrame and as an argument.")
        false_negative, false_positive = (
            columns.get(kind, other) for kind, other in zip(KINDS, (1.0, false_positive), strict=True)
        )
    (fn_names, fn), (fp_names, fp) = (
        _numbers(prices, f"{kind} of {name}")
        for kind, prices in zip(KINDS, (false_negative, false_positive), strict=True)
    )
    labels = fn_names or fp_names
    if labels is None and 1 not in (len(fn), len(fp)) and len(fn) != len(fp):
        raise ValueError(
            f"{name} has {len(fn)} false_negative but {len(fp)} false_positive prices; give as many of both."
        )
    if labels is not None:
        fn, fp = _in_order(labels, fn_names, fn, name), _in_order(labels, fp_names, fp, name)
    return PriceCost(
        name=name,
        symmetric=bool((np.array(fn) == np.array(fp)).all()),
        separating=min(*fn, *fp) > 0,
        threshold=None if labels else PriceThreshold(fn, fp),
        false_negative=fn,
        false_positive=fp,
        labels=labels,
    )


def _numbers(prices: Any, what: str) -> tuple[Names | None, Numbers]:
    names, values = split_names(prices, what)
    return names, as_numbers(values, names, what)


def _in_order(labels: Names, names: Names | None, prices: Numbers, what: str) -> Numbers:
    """Put prices in the order in which the first were given by name; a single one is for all labels."""
    if names is not None:
        return tuple(prices[at] for at in places_of(labels, names, f"false_positive of {what}"))
    if len(prices) > 1:
        raise ValueError(f"{what} has prices by name and by position; give both by name.")
    return prices


# What others call our costs: asked for, they are named, not taken, since definitions differ in detail.
OTHER_NAMES = {
    "exact_match": "zero_one",
    "f_measure": "f1",
    "hamming_loss": "hamming",
    "iou": "accuracy",
    "jaccard": "accuracy",
    "ranking_loss": "rank",
    "subset_accuracy": "zero_one",
    "zero_one_loss": "zero_one",
}


def cost_named(text: str) -> Cost | None:
    """Resolve a cost written as a name, ``f1``, or as a name with numbers, ``f_beta(0.5)``; None if it is neither.

    This is the only parser of such text: learners, command lines and experiment files all come here.
    """
    call = CALL.fullmatch(text)
    if call is None or call[1] not in PARAMETRISED:
        return COSTS.get(text)
    name, given = call[1], call[2].split(",")
    parameters = _parameters(name)
    try:
        values = dict(zip(parameters, map(_number_in, given), strict=True))
    except ValueError:  # no numbers, or too many or too few of them
        one = "a number" if len(parameters) == 1 else "numbers"
        raise ValueError(f"Unknown cost {text!r}; {name}({', '.join(parameters)}) takes {one}.") from None
    return PARAMETRISED[name](**values)


def _number_in(text: str) -> float:
    """Read a number; whole ones, of which a cost may count labels, stay whole."""
    return int(text) if text.strip().isdigit() else float(text)


def calls() -> list[str]:
    """List how parametrised costs are written, such as ``f_beta(beta)``."""
    return [f"{name}({', '.join(_parameters(name))})" for name in PARAMETRISED]


def _parameters(name: str) -> list[str]:
    """Name the numbers that a parametrised cost takes: the arguments of its function that have no default."""
    arguments = inspect.signature(PARAMETRISED[name]).parameters.values()
    return [one.name for one in arguments if one.default is one.empty]


def get_cost(cost: str | Cost | Callable[[Any, Any], Any], *, pairwise: bool = False, name: str | None = None) -> Cost:
    """Resolve a cost given as name, object or function.

    Parameters
    ----------
    cost : str, Cost or callable
        A key of `COSTS`, or one of `PARAMETRISED` with its numbers, ``"f_beta(0.5)"``; a cost, which is returned as it
        is; or a function of one's own. A function gets truths and predictions as read-only integer arrays of zeros and
        ones, both of shape (n, K), and returns n costs.
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
        if (named := cost_named(cost)) is not None:
            return named
        near = did_you_mean(cost, COSTS, OTHER_NAMES)
        raise ValueError(
            f"Unknown cost {cost!r}; {f'{near} T' if near else 't'}he costs are {', '.join(sorted(COSTS))}, and with "
            f"numbers {', '.join(calls())}. weighted_hamming(...) takes prices, and a function of your own works too."
        )
    if hasattr(cost, "greater_is_better"):
        raise ValueError("A criterion is not a cost; name the cost that it measures, such as 'f1'.")
    if callable(cost):
        name_of_cost = str(name or getattr(cost, "__name__", type(cost).__name__))
        return CallableCost(name=name_of_cost, function=cost, pairs=pairwise)
    raise TypeError(f"A cost is a name, a Cost or a function; got {type(cost).__name__}.")
