"""Distinct label vectors: the different rows of a label matrix, and which of them each row is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clems.arrays import Integers, Labels, row_blocks
from clems.labels.matrix import dense_if_small, is_large


def distinct_rows(Y: Labels) -> tuple[Labels, Integers]:
    """Distinct rows of a label matrix in lexicographic order, and which of them each row is.

    Those of a large sparse matrix are in the order in which they come, and sparse if they are many, too.
    """
    n, K = Y.shape
    if is_large(Y):
        return _distinct_sparse_rows(Y)
    packed = np.empty((n, -(-K // 8)), np.uint8)
    for rows in row_blocks(n, K, 1 << 24):
        block = Y[rows]
        packed[rows] = np.packbits(block.toarray() if sparse.issparse(block) else block, axis=1)
    # Rows as opaque strings of bytes: sorting those is many times faster than sorting rows of numbers.
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    return np.unpackbits(packed[first], axis=1, count=K), index.reshape(n)


def _distinct_sparse_rows(Y: Any) -> tuple[Any, Integers]:
    """Tell rows apart by sums of 64 random bits of each of their labels, and by others where two rows share one."""
    ones = sparse.csr_array((np.ones(Y.nnz, np.uint64), Y.indices, Y.indptr), Y.shape)
    sums = ones @ _random_bits(Y.shape[1])  # modulo 2^64
    index, first = _in_order(sums[:, 0])
    if (sums[first, 1][index] != sums[:, 1]).any():
        other, among = _in_order(sums[:, 1])
        index, first = _in_order(index * len(among) + other)
    return dense_if_small(Y[first]), index


def _random_bits(K: int) -> NDArray[np.uint64]:
    """128 random bits for each label, the same ones always."""
    return np.random.default_rng(0).integers(2**64, size=(K, 2), dtype=np.uint64)


def _in_order(keys: NDArray[Any]) -> tuple[Integers, Integers]:
    """Return the number of each key, in the order in which they come, and where each comes first."""
    index, _ = pd.factorize(keys)
    return index, np.flatnonzero(np.diff(np.maximum.accumulate(index), prepend=-1))
