"""Label matrices: checked, dense or sparse, with weights of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clems.arrays import Bits, Floats, Labels, canonical

MOST_WEIGHT = 1e100  # of a row
SMALL = 1 << 24  # entries of a sparse label matrix, 16 MiB, up to which it may become dense


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
                (*divmod(position, array.shape[1]), value)
                for position, value in enumerate(array.flat)
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


def missing_in(Y: Any) -> NDArray[np.bool_] | None:
    """Which labels are missing (NaN, None or NA), shape (n, K); None if all are there, or if Y is no matrix at all."""
    if sparse.issparse(Y):
        if Y.ndim != 2 or Y.dtype.kind != "f" or not np.isnan(Y.tocoo(copy=True).data).any():
            return None
        return np.asarray(np.isnan(Y.toarray()))
    if getattr(Y, "ndim", 0) != 2:
        return None
    unknown = np.asarray(pd.isna(Y))
    return unknown if unknown.any() else None


def split_missing(Y: Any, name: str = "Y") -> tuple[Labels, NDArray[np.bool_] | None]:
    """Label matrix with 0 where a label is missing, and which these are; None if all are there."""
    missing = missing_in(Y)
    if missing is None:
        return as_labels(Y, name), None
    dense = np.array(Y.toarray() if sparse.issparse(Y) else Y, dtype=object)
    dense[missing] = 0
    return as_labels(dense, name), missing


def as_labels_or_missing(Y: Any) -> Any:
    """Check a label matrix as `as_labels` does; if labels are missing, it is an array of floats, NaN where they are."""
    labels, missing = split_missing(Y)
    return labels if missing is None else np.where(missing, np.nan, as_dense(labels))


def as_dense(Y: Labels) -> Bits:
    """Labels as an array."""
    return np.asarray(Y.toarray() if sparse.issparse(Y) else Y)


def is_large(Y: Labels) -> bool:
    """Whether a label matrix is sparse and too large to become dense."""
    return bool(sparse.issparse(Y) and Y.shape[0] * Y.shape[1] > SMALL)


def dense_if_small(Y: Labels) -> Labels:
    """Labels as an array, unless they are sparse and large."""
    return Y if is_large(Y) else as_dense(Y)


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


def constant_labels(Y: Labels) -> Floats:
    """Return the value of each label that is the same in all rows, NaN for the others, shape (K,)."""
    if sparse.issparse(Y):
        share = Y.sum(axis=0, dtype=np.int64) / Y.shape[0]
        return np.where((share == 0) | (share == 1), share, np.nan)
    return np.where((Y[0] == Y).all(axis=0), Y[0], np.nan)


def as_label_pair(Y: Any, P: Any, *, rowwise: bool) -> tuple[Labels, Labels]:
    """Check a matrix of truths and one of predictions that are to be compared; both sparse or both dense.

    If both are DataFrames with the same columns in another order, predictions are put in the order of the truths.
    """
    names, others = ([*getattr(one, "columns", ())] for one in (Y, P))
    if names != others and len(names) == len(others) == len({*names}) and {*names} == {*others}:
        P = P[names]
    truth, prediction = as_labels(Y, "the truth"), as_labels(P, "the prediction")
    if truth.shape[1] != prediction.shape[1] or (rowwise and truth.shape != prediction.shape):
        kind = "the same shape" if rowwise else "the same number of labels"
        raise ValueError(f"The truth and the prediction must have {kind}; got {truth.shape} and {prediction.shape}.")
    if sparse.issparse(truth) != sparse.issparse(prediction):
        truth, prediction = sparse.csr_array(truth), sparse.csr_array(prediction)
    return truth, prediction
