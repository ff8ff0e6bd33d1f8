"""What a cost is, and the ways to compute one: from counts, from prices, by a function of the user's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from clems import counts
from clems.counts import Counts, Floats, Labels

Formula = Callable[[Counts], Floats]
Threshold = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True)
class Cost(ABC):
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
    uniform : bool
        Whether all wrong predictions cost the same, whatever the truth, and right ones nothing.
    threshold : callable or None
        Function from marginal probabilities of labels, shape (n, K), to thresholds that broadcast against them: the
        labels whose probability exceeds theirs are the prediction of least expected cost, whatever the distribution.
        None where no such function is known.
    as_score : bool
        Whether people report it as the score ``1 − cost``.
    formula : callable or None
        The cost as a function of counts; None where it depends on more than these.
    """

    name: str
    symmetric: bool = False
    separating: bool = False
    affine_in_tp: bool = False
    uniform: bool = False
    threshold: Threshold | None = None
    as_score: bool = False
    formula: Formula | None = None

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

    @abstractmethod
    def _rowwise(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        """Return the cost of each row of checked labels."""

    @abstractmethod
    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        """Return the function from a block of truths to their costs against every row of P."""


@dataclass(frozen=True, kw_only=True)
class CountCost(Cost):
    """A cost that depends on nothing but the counts of true and false positives and negatives."""

    def _rowwise(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        assert self.formula is not None
        return np.asarray(self.formula(counts.rowwise(Y, P)), np.float64)

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        count, formula = counts.pairwise_with(P, dtype), self.formula
        assert formula is not None
        return lambda Y: formula(count(Y))


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


@dataclass(frozen=True, kw_only=True)
class CallableCost(Cost):
    """A function of the user's, row-wise or pair-wise; what it returns is checked."""

    function: Callable[[Any, Any], Any]
    pairs: bool = False

    def _rowwise(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        truth, prediction = counts.as_dense(Y), counts.as_dense(P)
        if not self.pairs:
            return self._call(truth, prediction, (len(truth),))
        # Diagonals of small blocks: a pair-wise function has no cheaper way to answer row by row.
        blocks = [
            np.diagonal(self._call(truth[rows], prediction[rows], (rows.stop - rows.start,) * 2))
            for rows in counts.row_blocks(len(truth), 1, 32)
        ]
        return np.concatenate([np.empty(0), *blocks])

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        prediction = counts.as_dense(P)
        if not self.pairs:  # a function of all pairs, taken for one of rows, is found out before it fills the memory
            self._call(prediction[:2], prediction[:2], (len(prediction[:2]),))

        def costs_of(Y: Labels) -> Floats:
            truth = counts.as_dense(Y)
            shape = len(truth), len(prediction)
            if self.pairs:
                return self._call(truth, prediction, shape).astype(dtype, copy=False)
            block = np.empty(shape, dtype)
            for rows in counts.row_blocks(shape[0], prediction.size):
                repeated = np.repeat(truth[rows], shape[1], axis=0)
                tiled = np.tile(prediction, (rows.stop - rows.start, 1))
                block[rows] = self._call(repeated, tiled, (len(tiled),)).reshape(-1, shape[1])
            return block

        return costs_of

    def _call(self, Y: NDArray[np.uint8], P: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.float64]:
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


def _lent(Y: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Labels for a function of the user's: signed, so that differences are right, and not to be written to."""
    signed = Y.astype(np.int64)
    signed.flags.writeable = False
    return signed
