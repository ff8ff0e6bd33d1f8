"""Leading eigenvectors: of a matrix, and of a map that is known only by what it does."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh, qr, svd
from sklearn.exceptions import ConvergenceWarning

from clems.arrays import Floats

NOTHING = 1e-10  # share of the whole below which a direction is taken for a rounding error
ROOM = 1000  # columns of a basis that are always affordable
GAIN = 1e-4  # of the sum of eigenvalues: if a restart gains less, the next would not be worth it either
NEAR = 1 - 1e-6  # entries at least so large, beside the largest, count as the largest


def leading_directions(matrix: Floats, size: int) -> Floats:
    """Eigenvectors of the greatest eigenvalues of a symmetric matrix, greatest first, as rows of shape (size, K)."""
    K = len(matrix)
    _, vectors = eigh((matrix + matrix.T) / 2, subset_by_index=(K - size, K - 1))
    rows = vectors.T[::-1]
    return np.asarray(signs(rows)[:, None] * rows)


def signs(rows: Floats) -> Floats:
    """Sign that makes the first of the largest entries of each row positive."""
    size = np.abs(rows)
    first = (size >= NEAR * size.max(axis=1, keepdims=True)).argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), first] < 0, -1.0, 1.0)


def leading_eigenvectors(
    apply: Callable[[Floats], Floats], start: Floats, size: int, *, tol: float = 1e-9, max_iter: int = 100
) -> tuple[Floats, Floats]:
    """Greatest eigenvalues and their vectors of a symmetric map without negative eigenvalues.

    The block Lanczos method with restarts: it searches the space that the map makes of `start`. Eigenvectors that are
    orthogonal to all of `start` are not found, and if there are no more others, fewer are returned.

    Parameters
    ----------
    apply : callable
        The map, from an array of shape (n, k) to one of the same shape.
    start : ndarray of shape (n, b)
        Where the search begins.
    size : int
        How many are wanted.
    tol : float, default=1e-9
        Length of a residual, as a share of the greatest eigenvalue, that is good enough. Where eigenvalues are too
        close to each other for that, it is good enough that a restart raises their sum by no more than 1e-4 of it;
        up to 1000 rows there are no restarts.
    max_iter : int, default=100
        Most applications of the map; if they do not suffice, there is a warning.

    Returns
    -------
    values : ndarray of shape (m,)
        Greatest first; m is `size` or less.
    vectors : ndarray of shape (n, m)
        Of length 1 and orthogonal to each other.
    """
    new, _ = _orthonormal(start)
    if not new.shape[1]:
        return np.zeros(0), np.zeros((len(start), 0))
    kept = size + new.shape[1] // 2  # vectors that a restart goes on with
    room = np.empty((len(start), min(len(start), max(ROOM, kept + 2 * new.shape[1]))), order="F")
    projected, total = np.zeros((0, 0)), 0.0
    for _ in range(max_iter):
        old, used = len(projected), len(projected) + new.shape[1]
        room[:, old:used] = new
        basis, image = room[:, :used], apply(new)
        column = basis.T @ image
        projected = np.block([[projected, column[:old]], [column.T]])
        wanted = (max(0, used - kept), used - 1)
        values, weights = eigh((projected + projected.T) / 2, subset_by_index=wanted, check_finite=False)
        values, weights = values[::-1], weights[:, ::-1]
        new, coupling = _orthonormal(_without(basis, image), values[0])
        residual = np.linalg.norm(coupling @ weights[old:, :size], axis=0).max()
        if not new.shape[1] or (residual <= tol * values[0] and used >= size):
            break
        new, _ = qr(_without(basis, new), mode="economic")  # small directions were not orthogonal to the last digit
        if used + new.shape[1] > room.shape[1]:
            before, total = total, values[:size].sum()
            if total - before <= GAIN * total:
                break
            room[:, :kept] = basis @ weights[:, :kept]
            basis, projected, weights = room[:, :kept], np.diag(values[:kept]), np.eye(kept)
    else:
        warnings.warn(
            f"Eigenvectors did not converge in {max_iter} steps: the residual is {residual / values[0]:.1g} of the "
            f"greatest eigenvalue, {tol:.1g} was wanted.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return values[:size], basis @ weights[:, :size]


def _without(basis: Floats, block: Floats) -> Floats:
    """Part of a block that is orthogonal to a basis; the second pass removes what rounding left."""
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
    return block


def _orthonormal(block: Floats, scale: float | None = None) -> tuple[Floats, Floats]:
    """Orthonormal columns and the factor by which they make the block, but for directions that are next to nothing."""
    columns, triangle = qr(block, mode="economic", check_finite=False)
    left, size, right = svd(triangle, full_matrices=False, check_finite=False)
    there = size > NOTHING * (size[0] if scale is None else scale)
    return columns @ left[:, there], size[there, None] * right[there]
