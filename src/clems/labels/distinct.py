"""Distinct label vectors: the different rows of a label matrix, and which of them each row is."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    names = np.random.default_rng(0).integers(2**64, size=(Y.shape[1], 2), dtype=np.uint64)
    bounds = np.concatenate([np.zeros((1, 2), np.uint64), np.cumsum(names[Y.indices], axis=0, dtype=np.uint64)])
    sums = np.diff(bounds[Y.indptr], axis=0)  # modulo 2^64, as all sums here
    _, first, index = np.unique(sums[:, 0], return_index=True, return_inverse=True)
    if (sums[first, 1][index] != sums[:, 1]).any():
        keys = np.ascontiguousarray(sums).view([("first", np.uint64), ("second", np.uint64)]).ravel()
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return dense_if_small(Y[first[order]]), place[index.reshape(-1)]
