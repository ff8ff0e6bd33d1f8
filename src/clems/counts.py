"""How predictions differ from truths, as counts: row-wise, pair-wise and label-wise, of dense and sparse labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

Floats = NDArray[np.float64]  # float32 too, which is typed alike
MOST_WEIGHT = 1e100  # of a row
Labels = Any  # a label matrix: ndarray of uint8, or scipy.sparse.csr_array of uint8


@dataclass(frozen=True)
class Counts:
    """Sizes from which every count of a truth and a prediction follows.

    Attributes
    ----------
    tp : ndarray
        True positives: labels that are in both.
    truth, predicted : ndarray
        Number of labels in the truth and in the prediction; they broadcast against `tp`.
    total : float
        How many labels there are (label-wise: how many rows).
    """

    tp: Floats
    truth: Floats
    predicted: Floats
    total: float

    @property
    def fn(self) -> Floats:
        """False negatives: labels of the truth that were not predicted."""
        return self.truth - self.tp

    @property
    def fp(self) -> Floats:
        """False positives: labels predicted that are not in the truth."""
        return self.predicted - self.tp

    @property
    def tn(self) -> Floats:
        """True negatives: labels that are in neither."""
        return self.total - self.union

    @property
    def union(self) -> Floats:
        """Labels in the truth, the prediction or both."""
        return self.truth + self.predicted - self.tp

    @property
    def wrong(self) -> Floats:
        """Labels in the truth or the prediction but not in both: false negatives and false positives."""
        return self.truth + self.predicted - 2 * self.tp


def as_labels(Y: Any, name: str = "Y") -> Labels:
    """Check a label matrix and return it as an array or CSR array of zeros and ones.

    Parameters
    ----------
    Y : array-like, DataFrame or sparse matrix of shape (n, K)
        Zeros and ones, of any number type.
    name : str, default="Y"
        What to call it in an error.
    """
    if sparse.issparse(Y):
        if Y.ndim != 2:
            raise ValueError(_not_two_dimensional(name, Y.shape))
        if Y.dtype.kind not in "biuf":
            raise ValueError(f"{name} holds values of type {Y.dtype}; labels must be 0 or 1.")
        matrix = canonical(sparse.csr_array(Y), name)
        bad = _first_that_is_not_binary(matrix.data)
        if bad is not None:
            column = int(matrix.indices[bad])
            row = int(np.searchsorted(matrix.indptr, bad, side="right")) - 1
            raise ValueError(_not_binary(name, matrix.data[bad], row, column))
        return matrix.astype(np.uint8)
    try:
        array = np.asarray(Y)
    except ValueError:
        raise ValueError(
            f"{name} is not a matrix: its rows differ in length. If they are label sets, write {{0, 1}}, not [0, 1]."
        ) from None
    if array.ndim != 2:
        raise ValueError(_not_two_dimensional(name, array.shape))
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            row, column, value = next(
                (*divmod(place, array.shape[1]), value)
                for place, value in enumerate(array.flat)
                if not _is_number(value)
            )
            raise ValueError(_not_binary(name, value, row, column)) from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds values of type {array.dtype}; labels must be 0 or 1.")
    bad = _first_that_is_not_binary(array.ravel())
    if bad is not None:
        row, column = divmod(bad, array.shape[1])
        raise ValueError(_not_binary(name, array[row, column], row, column))
    return array.astype(np.uint8, copy=False)


def canonical(matrix: Any, name: str) -> Any:
    """Return a CSR matrix that has each entry once, columns in order and no zeros; a copy if it was not so.

    What is stored of a matrix may be in any order, hold an entry in parts, which add up, and hold zeros. Few routines
    heed that: trees take the last part of an entry for all of it.

    Parameters
    ----------
    matrix : CSR array or matrix
        It is not changed.
    name : str
        What to call it in an error.
    """
    # A new one, since what the old one knows of its order may be out of date.
    matrix = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{name} is a broken sparse matrix: {error}.") from None
    if matrix.has_canonical_format and matrix.data.all():
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def as_dense(Y: Labels) -> NDArray[np.uint8]:
    """Labels as an array."""
    return np.asarray(Y.toarray() if sparse.issparse(Y) else Y)


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _first_that_is_not_binary(values: NDArray[Any]) -> int | None:
    if values.dtype == np.bool_:
        return None
    wrong = (values != 0) & (values != 1)
    return int(wrong.argmax()) if wrong.any() else None


def _not_two_dimensional(name: str, shape: tuple[int, ...]) -> str:
    return (
        f"{name} must be two-dimensional, one row per example and one column of zeros and ones per label; its shape is "
        f"{shape}. A single label is a matrix with one column; label sets become a matrix by MultiLabelBinarizer."
    )


def _not_binary(name: str, value: Any, row: int, column: int) -> str:
    return f"{name} has the value {value} in row {row}, column {column}; labels must be 0 or 1."


def as_weights(weight: Any, n: int) -> NDArray[np.float64]:
    """Check one weight per row: finite, none negative, not all zero, and of a size that can be squared and summed."""
    try:
        given = np.asarray(weight)
        with np.errstate(over="ignore"):  # of more than double precision, which makes them infinite
            weights = given.astype(np.float64) if given.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        weights = None
    if weights is None:
        raise ValueError("sample_weight must hold numbers, one for each row.")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must hold one number for each of {n} rows; its shape is {weights.shape}.")
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"sample_weight is {weights[row]} in row {row}; weights are finite and not negative.")
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere; at least one row needs a positive weight.")
    row = int(weights.argmax())
    if not 1 / MOST_WEIGHT <= weights[row] <= MOST_WEIGHT:
        raise ValueError(
            f"sample_weight is {weights[row]} in row {row}, the greatest of all; that must be between "
            f"{1 / MOST_WEIGHT:.0e} and {MOST_WEIGHT:.0e}, so that weights can be squared and summed."
        )
    return weights


def as_label_pair(Y: Any, P: Any, *, rowwise: bool) -> tuple[Labels, Labels]:
    """Check a matrix of truths and one of predictions that are to be compared; both sparse or both dense."""
    truth, prediction = as_labels(Y, "the truth"), as_labels(P, "the prediction")
    if truth.shape[1] != prediction.shape[1] or (rowwise and truth.shape != prediction.shape):
        kind = "the same shape" if rowwise else "the same number of labels"
        raise ValueError(f"The truth and the prediction must have {kind}; got {truth.shape} and {prediction.shape}.")
    if sparse.issparse(truth) != sparse.issparse(prediction):
        truth, prediction = sparse.csr_array(truth), sparse.csr_array(prediction)
    return truth, prediction


def rowwise(Y: Labels, P: Labels) -> Counts:
    """Count for each row of Y and the same row of P: arrays of shape (n,)."""
    return _along(Y, P, axis=1)


def labelwise(Y: Labels, P: Labels, weight: ArrayLike | None = None) -> Counts:
    """Count for each label over all rows, each row with its weight: arrays of shape (K,)."""
    if weight is None:
        return _along(Y, P, axis=0)
    rows = np.asarray(weight, np.float64)
    return Counts(rows @ (Y * P), rows @ Y, rows @ P, float(rows.sum()))


def _along(Y: Labels, P: Labels, axis: int) -> Counts:
    tp, truth, predicted = ((Z != 0).sum(axis=axis).astype(np.float64) for Z in (Y * P, Y, P))
    return Counts(tp, truth, predicted, float(Y.shape[axis]))


def pairwise_with(P: Labels, dtype: DTypeLike = np.float64) -> Callable[[Labels], Counts]:
    """Counter of rows of truths against every row of P: arrays of shape (n, len(P)) from one matrix product."""
    predicted = P.sum(axis=1, dtype=dtype)
    # Single precision counts exactly up to 2^24 labels.
    columns = P.T.astype(np.float32) if sparse.issparse(P) else np.ascontiguousarray(P.T, np.float32)

    def count(Y: Labels) -> Counts:
        product = Y.astype(np.float32) @ columns
        tp = (product.toarray() if sparse.issparse(product) else product).astype(dtype, copy=False)
        return Counts(tp, Y.sum(axis=1, dtype=dtype)[:, None], predicted, float(P.shape[1]))

    return count


def row_blocks(rows: int, width: int, entries: int = 1 << 20) -> Iterator[slice]:
    """Cut rows into blocks of about so many entries, so that memory does not grow with their number."""
    step = max(1, entries // max(1, width))
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))
