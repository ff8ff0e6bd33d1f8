"""Column subsets: a few columns of a matrix from which the others follow, drawn at random by what they matter."""

from __future__ import annotations

import numpy as np

from clems.arrays import Floats, Integers

ROUNDING = 1e-9  # what is left of a column of length 1 when all of it has been taken away


def draw_columns(directions: Floats, random_state: np.random.RandomState, *, repel: bool = True) -> Integers:
    """Draw as many distinct columns as there are directions, each by its leverage.

    The leverage of a column is ``Σ_m V_mj²``, its part in the leading directions. With `repel`, columns are drawn by
    the determinantal process of the kernel ``VᵀV``: a set S with probability ``det(V_S)²``, so that the probability of
    drawing a column is just its leverage and columns that say the same are never drawn together. Without, one is drawn
    after the other by leverage alone, until there are enough.

    Parameters
    ----------
    directions : ndarray of shape (M, K)
        Orthonormal rows, the leading right singular vectors of the matrix.
    random_state : RandomState
    repel : bool, default=True
        Which of both.

    Returns
    -------
    ndarray of shape (M,) or less
        Columns in rising order; fewer than M if there are no more with any leverage.

    Examples
    --------
    >>> import numpy as np
    >>> V = np.array([[0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])  # the first two say the same
    >>> [draw_columns(V, np.random.RandomState(seed)).tolist() for seed in range(3)]
    [[1, 2], [1, 2], [1, 2]]
    """
    left = (directions**2).sum(axis=0)
    taken: list[int] = []
    basis = np.zeros((0, len(directions)))
    for _ in directions:
        left[taken] = 0
        left[left < ROUNDING] = 0
        if not left.any():
            break
        # A uniform number in the cumulated leverage, so that a draw takes one number whatever the columns are.
        place = np.searchsorted(np.cumsum(left), random_state.random_sample() * left.sum(), side="right")
        column = min(int(place), int(np.flatnonzero(left)[-1]))
        taken.append(column)
        if repel:  # what is left of each column is orthogonal to those that were drawn
            new = directions[:, column]
            for _ in range(2):
                new = new - basis.T @ (basis @ new)
            new /= np.linalg.norm(new)
            basis = np.vstack([basis, new])
            left = left - (new @ directions) ** 2
    return np.sort(np.asarray(taken, np.intp))


def from_columns(products: Floats, columns: Integers) -> Floats:
    """Least-squares map from some columns of a matrix to all of them, C⁺Y, by its inner products YᵀY; (M, K)."""
    return np.asarray(np.linalg.pinv(products[np.ix_(columns, columns)], hermitian=True) @ products[columns])
