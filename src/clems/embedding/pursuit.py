"""Compressed sensing: random codes of sparse vectors, and orthogonal matching pursuit, which reads them back."""

from __future__ import annotations

import numpy as np

from clems.arrays import Floats, row_blocks

NEAR = 1 - 1e-9  # correlations at least so large, beside the largest, count as the largest
NOTHING = 1e-9  # share of a code that is not worth another label


def random_code(size: int, K: int, random_state: np.random.RandomState) -> Floats:
    """Random matrix of shape (size, K) with orthonormal rows times √(K / size), or orthonormal columns if size ≥ K.

    It is drawn uniformly from all such matrices: a Gaussian matrix whose rows, or columns, were made orthogonal.
    Columns have length 1 on average, as those of a Gaussian matrix of variance 1 / size.
    """
    tall = random_state.standard_normal((max(size, K), min(size, K)))
    orthonormal, triangle = np.linalg.qr(tall)
    orthonormal *= np.where(np.diag(triangle) < 0, -1.0, 1.0)  # without it the draw would not be uniform
    return orthonormal if size >= K else np.sqrt(K / size) * orthonormal.T


def matching_pursuit(codes: Floats, code: Floats, most: int) -> Floats:
    """Find sparse vectors whose codes are near given ones, by orthogonal matching pursuit, for all rows at once.

    Up to `most` times each row takes the entry whose column correlates most with what its code is short of, and fits
    all entries that it has taken by least squares.

    Parameters
    ----------
    codes : ndarray of shape (n, M)
        What is to be explained.
    code : ndarray of shape (M, K)
        Codes of unit vectors; columns that are 0 are never taken.
    most : int
        Most entries of a vector that are not 0.

    Returns
    -------
    ndarray of shape (n, K)

    Examples
    --------
    >>> import numpy as np
    >>> A = random_code(4, 6, np.random.RandomState(0))
    >>> matching_pursuit(np.array([[0, 0, 1.0, 0, 0, 0]]) @ A.T, A, 2).round(6)
    array([[0., 0., 1., 0., 0., 0.]])
    """
    vectors = np.zeros((len(codes), code.shape[1]))
    for rows in row_blocks(len(codes), max(code.shape[1], most**2), 1 << 22):
        vectors[rows] = _pursuit(codes[rows], code, most)
    return vectors


def _pursuit(codes: Floats, code: Floats, most: int) -> Floats:
    n, K = len(codes), code.shape[1]
    gram, target = code.T @ code, codes @ code  # AᵀA, and zᵀA of each row
    length = np.sqrt(gram.diagonal())
    usable = length > 0
    wanted = NOTHING * np.linalg.norm(codes, axis=1)
    taken = np.zeros((n, 0), np.intp)
    weights = np.zeros((n, 0))
    active = np.arange(n)  # rows that go on
    result = np.zeros((n, K))
    for _ in range(min(most, int(usable.sum()), len(code))):
        residual = target[active] - np.einsum("ns,nsk->nk", weights, gram[taken])
        correlation = np.where(usable, np.abs(residual) / np.where(usable, length, 1), 0)
        np.put_along_axis(correlation, taken, 0, axis=1)
        greatest = correlation.max(axis=1, keepdims=True)
        on = greatest[:, 0] > wanted[active]
        result[active[~on][:, None], taken[~on]] = weights[~on]
        active, taken, correlation, greatest = active[on], taken[on], correlation[on], greatest[on]
        if not len(active):
            return result
        first = (correlation >= NEAR * greatest).argmax(axis=1)
        taken = np.concatenate([taken, first[:, None]], axis=1)
        inner = gram[taken[:, :, None], taken[:, None, :]]
        inner += 1e-12 * np.eye(inner.shape[1])  # columns that say the same share
        weights = np.linalg.solve(inner, np.take_along_axis(target[active], taken, axis=1)[:, :, None])[:, :, 0]
    result[active[:, None], taken] = weights
    return result
