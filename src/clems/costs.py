"""Costs: what it costs to predict P when the truth is Y. The one place to add a cost."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from clems import counts
from clems.counts import Counts, Floats, Labels

Formula = Callable[[Counts], Floats]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Penalty of a prediction, given the truth: at least 0, lower is better, truth first.

    Use :func:`get_cost` to obtain one; subclasses say how it is computed.

    Attributes
    ----------
    name : str
        Key in `COSTS`, or what the user calls it.
    symmetric : bool
        Whether truth and prediction may be exchanged; False also where that is not known.
    separating : bool
        Whether only equal vectors cost 0; False also where that is not known.
    affine_in_tp : bool
        Whether, for fixed numbers of true and of predicted labels, it is affine in the true positives.
    as_score : bool
        Whether people report it as the score ``1 − cost``.
    """

    name: str
    symmetric: bool = False
    separating: bool = False
    affine_in_tp: bool = False
    as_score: bool = False

    def rowwise(self, Y: Any, P: Any) -> NDArray[np.float64]:
        """Cost of each row of P, the truth being the same row of Y.

        Parameters
        ----------
        Y, P : array-like or sparse matrix of shape (n, K)
            Truths and predictions, zeros and ones.

        Returns
        -------
        ndarray of shape (n,)
        """
        truth, prediction = counts.as_label_pair(Y, P, rowwise=True)
        return self._rowwise(truth, prediction)

    def pairwise(self, Y: Any, P: Any, dtype: DTypeLike = np.float64) -> Floats:
        """Cost of every row of P for every row of Y as truth.

        It is computed in blocks of rows, so only the result itself takes memory.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n, K)
            Truths, zeros and ones.
        P : array-like or sparse matrix of shape (m, K)
            Predictions, zeros and ones.
        dtype : float32 or float64, default=float64
            Type of the result.

        Returns
        -------
        ndarray of shape (n, m)
        """
        truth, prediction = counts.as_label_pair(Y, P, rowwise=False)
        result = np.empty((truth.shape[0], prediction.shape[0]), dtype)
        costs_of = self._pairwise_with(prediction, result.dtype)
        for rows in counts.row_blocks(*result.shape):
            result[rows] = costs_of(truth[rows])
        return result

    def _rowwise(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        raise NotImplementedError

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        """Return the function from a block of truths to their costs against every row of P."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class CountCost(Cost):
    """A cost that depends on nothing but the counts of true and false positives and negatives."""

    formula: Formula

    def _rowwise(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        return np.asarray(self.formula(counts.rowwise(Y, P)), np.float64)

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        count = counts.pairwise_with(P, dtype)
        return lambda Y: self.formula(count(Y))


COSTS: dict[str, Cost] = {}


def cost(
    *, symmetric: bool, separating: bool, affine_in_tp: bool = False, as_score: bool = False
) -> Callable[[Formula], Formula]:
    """Enter a formula in `COSTS` under its function's name, with the facts about it."""

    def register(formula: Formula) -> Formula:
        COSTS[formula.__name__] = CountCost(
            name=formula.__name__,
            formula=formula,
            symmetric=symmetric,
            separating=separating,
            affine_in_tp=affine_in_tp,
            as_score=as_score,
        )
        return formula

    return register


@cost(symmetric=True, separating=True, affine_in_tp=True)
def hamming(c: Counts) -> Floats:
    """Share of labels that are wrong."""
    return c.wrong / c.total


@cost(symmetric=True, separating=True, as_score=True)
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


@cost(symmetric=False, separating=False, affine_in_tp=True)
def rank(c: Counts) -> Floats:
    """Pairs of a true and an untrue label in the wrong order, ties half: fn·fp + ½ fn·tn + ½ tp·fp, not normalised."""
    fn, fp = c.fn, c.fp
    return fn * (fp + 0.5 * c.tn) + 0.5 * c.tp * fp


@cost(symmetric=True, separating=True, affine_in_tp=True)
def composition(c: Counts) -> Floats:
    """5 · hamming + f1, the paper's example of a cost of one's own."""
    return 5 * hamming(c) + f1(c)


def _share(part: Floats, whole: Floats) -> Floats:
    """Part of a whole; nothing of nothing is 0."""
    result: Floats = part / (whole + (whole == 0))
    return result


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


@dataclass(frozen=True, kw_only=True)
class PriceCost(Cost):
    """A cost that is a sum over labels: a price for each label missed and for each predicted in vain."""

    false_negative: tuple[float, ...]
    false_positive: tuple[float, ...]

    def _prices(self, K: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        fn, fp = np.array(self.false_negative), np.array(self.false_positive)
        for kind, prices in (("false_negative", fn), ("false_positive", fp)):
            if len(prices) not in (1, K):
                raise ValueError(
                    f"{self.name} has {len(prices)} {kind} prices for {K} labels; give one per label or one."
                )
        return np.broadcast_to(fn, K), np.broadcast_to(fp, K)

    def _rowwise(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        fn, fp = self._prices(Y.shape[1])
        both = Y * P
        return np.asarray((Y - both) @ fn + (P - both) @ fp)

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        fn, fp = self._prices(P.shape[1])
        paid_back = (P * (fn + fp)).T
        in_vain = P @ fp

        def costs_of(Y: Labels) -> Floats:
            spared = Y.astype(np.float64) @ paid_back
            dense = spared.toarray() if sparse.issparse(spared) else spared
            # What a vector spares against itself equals what it costs, up to rounding.
            result: Floats = np.maximum((Y @ fn)[:, None] + in_vain - dense, 0).astype(dtype, copy=False)
            return result

        return costs_of


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
    return PriceCost(
        name=name,
        symmetric=bool((fn == fp).all()),
        separating=bool((fn > 0).all() and (fp > 0).all()),
        false_negative=tuple(fn.tolist()),
        false_positive=tuple(fp.tolist()),
    )


def _as_prices(prices: Any, kind: str, name: str) -> NDArray[np.float64]:
    try:
        array = np.atleast_1d(np.asarray(prices, np.float64))
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"{kind} of {name} must be one price or one per label, each a number of at least 0.")
    return array


@dataclass(frozen=True, kw_only=True)
class CallableCost(Cost):
    """A function of the user's, row-wise or pair-wise; what it returns is checked."""

    function: Callable[[Any, Any], Any]
    pairs: bool = False

    def _rowwise(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        truth, prediction = _dense(Y), _dense(P)
        if not self.pairs:
            return self._call(truth, prediction, (len(truth),))
        # Diagonals of small blocks: a pair-wise function has no cheaper way to answer row by row.
        blocks = [
            np.diagonal(self._call(truth[rows], prediction[rows], (rows.stop - rows.start,) * 2))
            for rows in counts.row_blocks(len(truth), 1, 32)
        ]
        return np.concatenate([np.empty(0), *blocks])

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        prediction = _dense(P)

        def costs_of(Y: Labels) -> Floats:
            truth = _dense(Y)
            shape = len(truth), len(prediction)
            if self.pairs:
                return self._call(truth, prediction, shape).astype(dtype, copy=False)
            # A function of all pairs, taken for one of rows, is found out here before it fills the memory.
            self._call(prediction[:2], prediction[:2], (len(prediction[:2]),))
            block = np.empty(shape, dtype)
            for rows in counts.row_blocks(shape[0], prediction.size):
                repeated = np.repeat(truth[rows], shape[1], axis=0)
                tiled = np.tile(prediction, (rows.stop - rows.start, 1))
                block[rows] = self._call(repeated, tiled, (len(tiled),)).reshape(-1, shape[1])
            return block

        return costs_of

    def _call(self, Y: NDArray[np.uint8], P: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.float64]:
        raw = self.function(_lent(Y), _lent(P))
        if raw is None:
            raise ValueError(f"The cost {self.name!r} must return numbers; it returned None.")
        try:
            value = np.asarray(raw, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"The cost {self.name!r} must return numbers; it returned {type(raw).__name__}.") from None
        if value.shape != shape:
            form = "one cost per pair of rows" if self.pairs else "one cost per row (or get_cost(..., pairwise=True))"
            raise ValueError(
                f"The cost {self.name!r} must return {form}: for truths of shape {Y.shape} and predictions of shape "
                f"{P.shape} the shape {shape}; it returned {value.shape}."
            )
        wrong = ~(np.isfinite(value) & (value >= 0))
        if wrong.any():
            where = np.unravel_index(int(wrong.argmax()), shape)
            raise ValueError(
                f"The cost {self.name!r} must be a finite number of at least 0; it is {value[where]} for the truth "
                f"{Y[where[0]].tolist()} and the prediction {P[where[-1]].tolist()}."
            )
        return value


def _lent(Y: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Labels for a function of the user's: signed, so that differences are right, and not to be written to."""
    signed = Y.astype(np.int64)
    signed.flags.writeable = False
    return signed


def _dense(Y: Labels) -> NDArray[np.uint8]:
    return np.asarray(Y.toarray() if sparse.issparse(Y) else Y)


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
        if match := re.fullmatch(r"f_beta\((\d+\.?\d*|\.\d+)\)", cost):
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
