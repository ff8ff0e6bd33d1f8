"""Landmark labels: few labels of which all others are combinations, found by a penalty on whole rows of weights."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from clems.arrays import Floats, Integers

BISECTIONS = 20  # halvings of the interval in which the penalty is searched


def landmark_weights(
    products: Floats,
    by_row: float,
    by_entry: float = 0.0,
    *,
    start: Floats | None = None,
    tol: float = 1e-8,
    max_iter: int = 5000,
) -> Floats:
    """Minimise ``½ ‖Y − Y A‖² + by_row Σ_r ‖A_r‖₂ + by_entry ‖A‖₁`` over A, by accelerated proximal steps (FISTA).

    Parameters
    ----------
    products : ndarray of shape (K, K)
        YᵀY, all that the objective needs of Y.
    by_row, by_entry : float
        Penalties of the lengths of rows and of single entries.
    start : ndarray of shape (K, K), default=None
        Where to begin; None is 0.
    tol : float, default=1e-8
        It stops when a step changes A by less than this share of its length.
    max_iter : int, default=5000
        Most steps; if they do not suffice, there is a warning.

    Returns
    -------
    ndarray of shape (K, K)
        A; its rows that are not 0 are landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> landmark_weights(np.diag([4.0, 1.0]), by_row=2.0)
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    rate = float(np.linalg.eigvalsh(products)[-1]) or 1.0  # the greatest curvature
    weights = np.zeros_like(products) if start is None else start
    ahead, momentum = weights, 1.0
    for _ in range(max_iter):
        before, earlier = weights, momentum
        weights = _shrunk(ahead - (products @ ahead - products) / rate, by_row / rate, by_entry / rate)
        change = weights - before
        if ((ahead - weights) * change).sum() > 0:  # the momentum leads astray: begin it anew
            momentum = earlier = 1.0
        momentum = (1 + np.sqrt(1 + 4 * earlier**2)) / 2
        ahead = weights + (earlier - 1) / momentum * change
        if np.linalg.norm(change) <= tol * max(float(np.linalg.norm(weights)), tol):
            return np.asarray(weights)
    warnings.warn(f"Landmarks did not converge in {max_iter} steps.", ConvergenceWarning, stacklevel=2)
    return np.asarray(weights)


def choose_landmarks(products: Floats, size: int, by_entry: float = 0.0, tol: float = 1e-4) -> Integers:
    """Find the landmarks for the greatest penalty of rows that leaves at least so many of them.

    Parameters
    ----------
    products : ndarray of shape (K, K)
        YᵀY.
    size : int
        How many are wanted; of more than these, the rows of greatest length.
    by_entry : float, default=0.0
        Penalty of single entries.
    tol : float, default=1e-4
        How exactly each problem on the way is solved.
    """
    present = np.flatnonzero(products.diagonal() > 0)
    if size >= len(present):
        return present if len(present) else np.arange(1)
    low, high = 0.0, float(np.linalg.norm(_soft(products, by_entry), axis=1).max())  # under which all rows are 0
    weights, best = np.zeros_like(products), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # which row is the longest is clear before the last digit
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            weights = landmark_weights(products, middle, by_entry, start=weights, tol=tol, max_iter=500)
            lengths = np.linalg.norm(weights, axis=1)
            found = int((lengths > 0).sum())
            if found >= size:
                low, best = middle, lengths
            else:
                high = middle
            if found == size:
                break
    lengths = products.diagonal() if best is None else best
    return np.sort(np.argsort(-np.round(lengths, 9), kind="stable")[:size])


def _soft(matrix: Floats, by: float) -> Floats:
    return np.sign(matrix) * np.maximum(np.abs(matrix) - by, 0)


def _shrunk(matrix: Floats, by_row: float, by_entry: float) -> Floats:
    """Proximal step of both penalties: entries first, then rows."""
    entries = _soft(matrix, by_entry) if by_entry else matrix
    lengths = np.linalg.norm(entries, axis=1, keepdims=True)
    return np.asarray(entries * np.maximum(1 - by_row / np.maximum(lengths, 1e-300), 0))
