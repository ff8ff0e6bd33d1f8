"""What a cost is, and the ways to compute one: from counts, from prices, by a function of the user's.

The map of the module: `Cost`, with what can be asked of any, and one class for each way to compute one: `CountCost`,
`PriceCost`, `CallableCost`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from clems.arrays import Bits, Floats, Integers, Labels, row_blocks
from clems.costs import counts
from clems.costs.counts import Counts
from clems.costs.label_prices import Names, Numbers, nameless, names_of_pair, places_of
from clems.costs.thresholds import PriceThreshold
from clems.labels.matrix import as_dense, as_label_pair

Formula = Callable[[Counts], Floats]
Threshold = Callable[[Floats], Floats]

SHOWN = 20  # labels whose prices a notebook shows


@dataclass(frozen=True)
class Top:
    """What the best prediction is, whatever the distribution: the k labels of the greatest expected weight.

    Attributes
    ----------
    k : int
        How many labels it has; all, if there are fewer.
    weights : tuple of float or None
        What a true positive of each label weighs; None if all weigh the same.
    by_size : bool
        Whether that is divided by the number of true labels.
    """

    k: int
    weights: Numbers | None = None
    by_size: bool = False


@dataclass(frozen=True, kw_only=True, repr=False)
class Cost(ABC):
    """Penalty of a prediction, given the truth: at least 0, lower is better, truth first.

    Use :func:`get_cost` to obtain one; subclasses define how it is computed.

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
    uniform : bool
        Whether all wrong predictions cost the same, whatever the truth, and right ones nothing.
    threshold : callable or None
        Function from marginal probabilities of labels, shape (n, K), to thresholds that broadcast against them: the
        labels whose probability exceeds theirs are the prediction of least expected cost, whatever the distribution.
        None where no such function is known.
    top : Top or None
        How many labels, and which, make the prediction of least expected cost, whatever the distribution; None where
        that is not known, or depends on the distribution.
    as_score : bool
        Whether people report it as the score ``1 − cost``.
    formula : callable or None
        The cost as a function of counts; None where it depends on more than these.

    Examples
    --------
    >>> from clems import get_cost
    >>> cost = get_cost("f1")
    >>> cost.rowwise([[1, 1, 0]], [[1, 0, 0]]).round(2).tolist()
    [0.33]
    >>> cost.pairwise([[1, 1, 0]], [[1, 0, 0], [1, 1, 0]]).round(2).tolist()
    [[0.33, 0.0]]
    >>> cost.symmetric, cost.as_score
    (True, True)
    """

    name: str
    symmetric: bool = False
    separating: bool = False
    affine_in_tp: bool = False
    uniform: bool = False
    threshold: Threshold | None = None
    top: Top | None = None
    as_score: bool = False
    formula: Formula | None = None

    def __repr__(self) -> str:
        return f"<Cost {self.name}{f': {words}' if (words := self._in_words()) else ''}>"

    def _repr_html_(self) -> str:
        """Name, and what it is, for notebooks."""
        words = self._in_words() or (self.formula.__doc__ or "" if self.formula is not None else "").partition("\n")[0]
        return f"<strong>{escape(self.name)}</strong>{f': {escape(words)}' if words else ''}"

    def _in_words(self) -> str:
        """Say in a few words what a cost is, beside its name."""
        return ""

    @property
    def gain(self) -> Callable[[Floats], Floats] | None:
        """Function from marginals, shape (n, K), to what predicting each label gains in expectation, of the same shape.

        Only of a cost that is a sum over labels, of which each depends on its own truth and prediction; None else.
        """
        return getattr(self.threshold, "gain", None)

    def for_labels(self, names: Iterable[Any], propensities: ArrayLike | None = None) -> Cost:  # noqa: ARG002
        """Put what belongs to labels, such as prices by name, in the order of the labels; most costs stay as they are.

        Whatever knows the names of labels comes here before it computes a cost: learners, criteria, experiments.

        Parameters
        ----------
        names : iterable
            Names of the labels, in order; numbers from 0 on for labels without names.
        propensities : array-like of shape (K,), default=None
            How probable it is that each label is noted where it is true, for a cost that takes these from the training
            labels, see :func:`clems.propensities`.

        Returns
        -------
        Cost
        """
        return self

    def rowwise(self, Y: Any, P: Any) -> NDArray[np.float64]:
        """Cost of each row of P, the truth being the same row of Y.

        Parameters
        ----------
        Y, P : array-like, sparse matrix or DataFrame of shape (n, K)
            Truths and predictions, zeros and ones. Columns of two DataFrames are matched by name.

        Returns
        -------
        ndarray of shape (n,)
        """
        pair = as_label_pair(Y, P, rowwise=True)
        return self.for_labels(names_of_pair(Y, P)).of_rows(*pair)

    def pairwise(self, Y: Any, P: Any, dtype: DTypeLike = np.float64) -> Floats:
        """Cost of every row of P for every row of Y as truth.

        It is computed in blocks of rows, so only the result itself takes memory.

        Parameters
        ----------
        Y : array-like, sparse matrix or DataFrame of shape (n, K)
            Truths, zeros and ones.
        P : array-like, sparse matrix or DataFrame of shape (m, K)
            Predictions, zeros and ones.
        dtype : float32 or float64, default=float64
            Type of the result.

        Returns
        -------
        ndarray of shape (n, m)
        """
        pair = as_label_pair(Y, P, rowwise=False)
        return self.for_labels(names_of_pair(Y, P)).of_pairs(*pair, dtype)

    def of_independent(self, marginals: Floats, P: Bits) -> Floats | None:  # noqa: ARG002
        """Compute the expected cost of each row of P if labels are independent; None where there is no way of its own.

        Parameters
        ----------
        marginals : ndarray of shape (n, K)
            How probable each label is.
        P : ndarray of shape (n, K)
            Predictions.
        """
        return None

    @abstractmethod
    def of_rows(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        """Compute what `rowwise` returns, for labels that have been checked."""

    def of_pairs(self, Y: Labels, P: Labels, dtype: DTypeLike = np.float64) -> Floats:
        """Compute what `pairwise` returns, for labels that have been checked."""
        result = np.empty((Y.shape[0], P.shape[0]), dtype)
        costs_of = self._pairwise_with(P, result.dtype)
        for rows in row_blocks(*result.shape):
            result[rows] = costs_of(Y[rows])
        return result

    def bound(self, K: int) -> float | None:  # noqa: ARG002
        """Compute the greatest cost that a row of K labels can have; None where that is not known."""
        return None

    def among(self, columns: Integers, K: int) -> Cost:
        """Return the cost of truths and predictions that are given by some of K labels, the others being 0.

        Parameters
        ----------
        columns : ndarray of shape (k,)
            Which labels are given.
        K : int
            How many labels there are.
        """
        return AmongCost(name=self.name, whole=self, columns=columns, total=K)

    @abstractmethod
    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        """Return the function from a block of truths to their costs against every row of P."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CountCost(Cost):
    """A cost that depends on nothing but the counts of true and false positives and negatives."""

    def of_rows(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        """Compute the cost of each row of checked labels."""
        assert self.formula is not None
        return np.asarray(self.formula(counts.rowwise(Y, P)), np.float64)

    def bound(self, K: int) -> float:
        """Compute the greatest cost of all counts that K labels can have; 1 if it is 1 less a score."""
        return 1.0 if self.as_score else _greatest(self, K)

    def among(self, columns: Integers, K: int) -> Cost:  # noqa: ARG002
        """Return the cost of label vectors that are given by some of K labels: it counts K labels all the same."""
        assert self.formula is not None
        return replace(self, formula=OfTotal(self.formula, float(K)))

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        count, formula = counts.pairwise_with(P, dtype), self.formula
        assert formula is not None
        return lambda Y: formula(count(Y))


@lru_cache(maxsize=64)
def _greatest(cost: CountCost, K: int) -> float:
    """Greatest cost of all counts that K labels can have; every block of rows asks for it."""
    assert cost.formula is not None
    sizes, greatest = np.arange(K + 1.0), 0.0
    for truth in sizes:
        # s true and m predicted labels have between max(0, s + m − K) and min(s, m) true positives.
        least, most = np.maximum(0, truth + sizes - K), np.minimum(truth, sizes)
        # What is affine in the true positives is greatest at one of the two ends.
        steps = np.array([0.0, K]) if cost.affine_in_tp else np.arange((most - least).max() + 1)
        tp = np.minimum(least + steps[:, None], most)
        costs = cost.formula(Counts(tp, np.full_like(tp, truth), np.broadcast_to(sizes, tp.shape), float(K)))
        greatest = max(greatest, float(np.max(costs)))
    return greatest


@dataclass(frozen=True, kw_only=True, repr=False)
class PriceCost(Cost):
    """A cost that is a sum over labels: a price for each false negative and each false positive.

    Attributes
    ----------
    false_negative, false_positive : tuple of float
        One price per label, or one for all.
    labels : tuple of str or None
        Names of the labels that prices belong to. With names it cannot be computed until `for_labels` has put the
        prices in the order of the labels; None if they are in that order.
    """

    false_negative: Numbers
    false_positive: Numbers
    labels: Names | None = None

    def _in_words(self) -> str:
        kinds = {"false negatives": self.false_negative, "false positives": self.false_positive}
        ranges = [
            f"{kind} {min(prices):g}{f' to {max(prices):g}' if max(prices) > min(prices) else ''}"
            for kind, prices in kinds.items()
        ]
        K = max(map(len, kinds.values()))
        return ", ".join([*ranges, *([f"{K:,} labels"] if K > 1 else [])])

    def _repr_html_(self) -> str:
        """Prices of each label, for notebooks."""
        fn, fp = self.false_negative, self.false_positive
        K = max(len(fn), len(fp))
        names = range(K) if self.labels is None or len(self.labels) != K else self.labels
        lines = "".join(
            f"<tr><th>{escape(str(name))}</th><td>{fn[at % len(fn)]:g}</td><td>{fp[at % len(fp)]:g}</td></tr>"
            for at, name in zip(range(SHOWN), names, strict=False)
        )
        more = f"<p>and {K - SHOWN:,} more labels</p>" if K > SHOWN else ""
        head = "<tr><th>label</th><th>false negative</th><th>false positive</th></tr>"
        return f"{super()._repr_html_()}<table><thead>{head}</thead><tbody>{lines}</tbody></table>{more}"

    def for_labels(self, names: Iterable[Any], propensities: ArrayLike | None = None) -> Cost:  # noqa: ARG002
        """Put prices by name in the order of the labels."""
        if self.labels is None:
            return self
        places = places_of(names, self.labels, self.name)
        fn, fp = (
            prices if len(prices) == 1 else tuple(prices[at] for at in places)
            for prices in (self.false_negative, self.false_positive)
        )
        return replace(self, labels=None, false_negative=fn, false_positive=fp, threshold=PriceThreshold(fn, fp))

    def prices(self, K: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Prices of false negatives and of false positives of each of K labels."""
        if self.labels is not None:
            raise nameless(self.labels, self.name)
        fn, fp = np.array(self.false_negative), np.array(self.false_positive)
        for kind, prices in (("false_negative", fn), ("false_positive", fp)):
            if len(prices) not in (1, K):
                raise ValueError(
                    f"{self.name} has {len(prices)} {kind} prices for {K} labels; give one per label or one."
                )
        return np.broadcast_to(fn, K), np.broadcast_to(fp, K)

    def among(self, columns: Integers, K: int) -> Cost:
        """Return the cost of label vectors that are given by some of K labels: the prices of these."""
        fn, fp = (tuple(own[columns].tolist()) for own in self.prices(K))
        return replace(self, false_negative=fn, false_positive=fp, threshold=PriceThreshold(fn, fp))

    def bound(self, K: int) -> float:
        """Compute the cost of a row with a mistake in each label, each of the dearer kind."""
        return float(np.maximum(*self.prices(K)).sum())

    def of_rows(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        """Compute the cost of each row of checked labels."""
        fn, fp = self.prices(Y.shape[1])
        both = Y * P
        return np.asarray((Y - both) @ fn + (P - both) @ fp)

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        fn, fp = self.prices(P.shape[1])
        hit_prices = (P * (fn + fp)).T
        false_alarms = P @ fp

        def costs_of(Y: Labels) -> Floats:
            saved = Y.astype(np.float64) @ hit_prices
            dense = saved.toarray() if sparse.issparse(saved) else saved
            # fn·Y + fp·P − (fn + fp)·Y·P; of a vector against itself it is 0 up to rounding.
            result: Floats = np.maximum((Y @ fn)[:, None] + false_alarms - dense, 0).astype(dtype, copy=False)
            return result

        return costs_of


@dataclass(frozen=True, kw_only=True, repr=False)
class CallableCost(Cost):
    """A function of the user's, row-wise or pair-wise; what it returns is checked."""

    function: Callable[[Any, Any], Any]
    pairs: bool = False

    def of_rows(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        """Compute the cost of each row of checked labels."""
        truth, prediction = as_dense(Y), as_dense(P)
        if not self.pairs:
            return self._call(truth, prediction, (len(truth),))
        # Diagonals of small blocks: a pair-wise function has no cheaper way to answer row by row.
        blocks = [
            np.diagonal(self._call(truth[rows], prediction[rows], (rows.stop - rows.start,) * 2))
            for rows in row_blocks(len(truth), 1, 32)
        ]
        return np.concatenate([np.empty(0), *blocks])

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        prediction = as_dense(P)
        if not self.pairs:  # a function of all pairs, taken for one of rows, is found out before it fills the memory
            self._call(prediction[:2], prediction[:2], (len(prediction[:2]),))

        def costs_of(Y: Labels) -> Floats:
            truth = as_dense(Y)
            shape = len(truth), len(prediction)
            if self.pairs:
                return self._call(truth, prediction, shape).astype(dtype, copy=False)
            block = np.empty(shape, dtype)
            for rows in row_blocks(shape[0], prediction.size):
                repeated = np.repeat(truth[rows], shape[1], axis=0)
                tiled = np.tile(prediction, (rows.stop - rows.start, 1))
                block[rows] = self._call(repeated, tiled, (len(tiled),)).reshape(-1, shape[1])
            return block

        return costs_of

    def _call(self, Y: Bits, P: Bits, shape: tuple[int, ...]) -> NDArray[np.float64]:
        try:
            raw = self.function(_lent(Y), _lent(P))
        except Exception as error:
            error.add_note(f"The cost {self.name!r} failed.")
            raise
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


@dataclass(frozen=True, kw_only=True, eq=False)
class AmongCost(Cost):
    """A cost of label vectors that are given by some of the labels, the others being 0; of any cost.

    Attributes
    ----------
    whole : Cost
        The cost of whole vectors.
    columns : ndarray of shape (k,)
        Which labels are given.
    total : int
        How many labels there are.
    """

    whole: Cost
    columns: Integers
    total: int

    def _whole_of(self, Y: Labels) -> Bits:
        vectors = np.zeros((Y.shape[0], self.total), np.uint8)
        vectors[:, self.columns] = as_dense(Y)
        return vectors

    def of_rows(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        """Compute the cost of each row of checked labels."""
        return self.whole.of_rows(self._whole_of(Y), self._whole_of(P))

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        costs_of = self.whole._pairwise_with(self._whole_of(P), dtype)
        return lambda Y: costs_of(self._whole_of(Y))


@dataclass(frozen=True)
class OfTotal:
    """A formula for counts of some of the labels only, the others being in neither vector."""

    formula: Formula
    total: float

    def __call__(self, c: Counts) -> Floats:
        """Cost of counts."""
        return self.formula(Counts(c.tp, c.truth, c.predicted, self.total))


def _lent(Y: Bits) -> NDArray[np.int64]:
    """Labels for a function of the user's: signed, so that differences are right, and not to be written to."""
    signed = Y.astype(np.int64)
    signed.flags.writeable = False
    return signed
