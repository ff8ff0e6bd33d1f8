"""Types of arrays, blocks of rows, and what sparse matrices need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]  # float32 too, which is typed alike
Integers = NDArray[np.intp]
Bits = NDArray[np.uint8]  # zeros and ones
Weights = NDArray[np.float64] | None  # of rows; None where all count the same
Labels = Any  # a label matrix: ndarray of uint8, or scipy.sparse.csr_array of uint8


def canonical(matrix: Any, name: str) -> Any:
    """Return a CSR matrix that has each entry once, columns in order and no zeros; a copy if it was not so.

    A stored matrix may have its entries in any order, hold an entry in parts, which add up, and hold zeros. Few
    routines expect that: trees take the last part of an entry for all of it.

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


def row_blocks(rows: int, width: int, entries: int = 1 << 20) -> Iterator[slice]:
    """Cut rows into blocks of about so many entries, so that memory does not grow with their number."""
    step = max(1, entries // max(1, width))
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))


def beside(X: Any, Y: Bits) -> Any:
    """Return the matrix of features and labels side by side."""
    if not Y.shape[1]:
        return X
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_array(Y.astype(X.dtype))], format="csr")
    return np.concatenate([X, Y.astype(X.dtype)], axis=1)


FULL = 0.1  # share of entries other than 0 above which a dense matrix multiplies faster


def dense_if_full(matrix: Any) -> Any:
    """Return a sparse matrix as it multiplies fastest; sums may then depend, up to rounding, on the other rows."""
    return matrix.toarray() if matrix.nnz > FULL * matrix.shape[0] * matrix.shape[1] else matrix


def share_of_entries(X: Any) -> float:
    """Share of the entries of a dense or sparse matrix that are other than 0."""
    entries = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return float(entries / max(X.shape[0] * X.shape[1], 1))


def with_short_indices(X: Any) -> Any:
    """Sparse matrix with 32-bit indices where they suffice: scikit-learn's trees take no others."""
    if X.indices.dtype == np.int32 or max(*X.shape, X.nnz) > np.iinfo(np.int32).max:
        return X
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
