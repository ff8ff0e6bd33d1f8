"""Low-rank regression: labels as a product of two thin matrices and the features, where some labels may be missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.arrays import Floats, Weights
from clems.embedding.ridge import doubled, exponent_of, roots, scaled_rows

STEPS = 20  # of conjugate gradients in each half step
ROUNDING = 1e-13  # a feature whose variance is less than this share of its mean square is constant


@dataclass(frozen=True)
class LowRank:
    """Factors of the weights of a linear regression, ``X̄ W Hᵀ``.

    Attributes
    ----------
    features : ndarray of shape (d, M)
        W, from features to codes.
    labels : ndarray of shape (K, M)
        H, from codes to labels.
    codes : ndarray of shape (n, M)
        ``X̄ W``, where X̄ are the features, their mean taken away.
    history : list of float
        The objective at the start and after each half step.
    """

    features: Floats
    labels: Floats
    codes: Floats
    history: list[float]


def low_rank_regression(
    X: Any,
    T: Floats,
    size: int,
    penalty: float,
    *,
    known: NDArray[np.bool_] | None = None,
    weight: Weights = None,
    start: Floats,
    n_rounds: int = 10,
) -> LowRank:
    """Minimise ``½ Σ (T − X̄ W Hᵀ)² + penalty / 2 (‖W‖² + ‖H‖²)`` over what is known, by turns over H and over W.

    H is solved exactly, W by at most twenty steps of conjugate gradients from where it was, so that no half step raises
    the objective. XᵀX is never formed.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        Features, whose weighted mean is taken away without forming a dense matrix.
    T : ndarray of shape (n, K)
        Targets, about their mean; any number where they are not known.
    size : int
        M, the rank.
    penalty : float
        Of squared entries of W and H.
    known : ndarray of shape (n, K), default=None
        Which targets are known; None is all.
    weight : ndarray of shape (n,), default=None
        Sample weights.
    start : ndarray of shape (K, M)
        H at the start.
    n_rounds : int, default=10
        Turns over W and H.

    Returns
    -------
    LowRank
    """
    X = doubled(X, exponent_of(X))
    root = roots(weight, X.shape[0])
    scaled = scaled_rows(X, weight)
    mean = np.asarray(scaled.T @ root) / (root @ root)
    mask = None if known is None else known.astype(np.float64)
    T = root[:, None] * (T if mask is None else np.where(mask, T, 0))
    flipped = scaled.T.tocsr() if sparse.issparse(scaled) else scaled.T

    raw = np.asarray((scaled.multiply(scaled) if sparse.issparse(scaled) else scaled**2).sum(axis=0)).ravel()
    squares = np.maximum(raw - (root @ root) * mean**2, 0)  # sums of squares of the centred features
    varies = (squares > ROUNDING * raw).astype(np.float64)[:, None]  # of a constant, centring leaves rounding errors

    def forward(W: Floats) -> Floats:
        W = varies * W
        return np.asarray(scaled @ W - np.outer(root, mean @ W))

    def backward(R: Floats) -> Floats:
        return varies * np.asarray(flipped @ R - np.outer(mean, root @ R))

    def fitted(Z: Floats, H: Floats) -> Floats:
        return Z @ H.T if mask is None else mask * (Z @ H.T)

    def objective(W: Floats, H: Floats, Z: Floats) -> float:
        return float(0.5 * ((T - fitted(Z, H)) ** 2).sum() + penalty / 2 * ((W**2).sum() + (H**2).sum()))

    def curvature(H: Floats, D: Floats) -> Floats:
        through = forward(D) @ (H.T @ H) if mask is None else fitted(forward(D), H) @ H
        return backward(through) + penalty * D

    H, W = start.copy(), np.zeros((X.shape[1], size))
    Z = np.zeros((X.shape[0], size))
    history = [objective(W, H, Z)]
    for _ in range(n_rounds):
        # Over W: Xᵀ(X W Hᵀ − T) H + λ W = 0
        slope = backward((fitted(Z, H) - T) @ H) + penalty * W
        W = W - _solved(partial(curvature, H), slope, np.outer(squares, (H**2).sum(axis=0)) + penalty)
        Z = forward(W)
        history.append(objective(W, H, Z))
        # Over H: for each label a ridge regression on the codes
        if mask is None:
            H = _ridge(Z, T, penalty).T
        else:
            targets = zip(mask.T, T.T, strict=True)
            H = np.stack([_ridge(Z * column[:, None], target, penalty) for column, target in targets])
        history.append(objective(W, H, Z))
    return LowRank(W, H, Z / root[:, None], history)


def _ridge(Z: Floats, target: Floats, penalty: float) -> Floats:
    return np.asarray(np.linalg.solve(Z.T @ Z + penalty * np.eye(Z.shape[1]), Z.T @ target), np.float64)


def _solved(apply: Callable[[Floats], Floats], right: Floats, diagonal: Floats) -> Floats:
    """Solve a symmetric positive system for a matrix by a few conjugate gradients, scaled by its diagonal."""
    solution, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal
    direction, length = scaled, float((residual * scaled).sum())
    enough = 1e-24 * length
    for _ in range(STEPS):
        if length <= enough:
            break
        image = apply(direction)
        step = length / float((direction * image).sum())
        solution += step * direction
        residual -= step * image
        scaled = residual / diagonal
        length, before = float((residual * scaled).sum()), length
        direction = scaled + length / before * direction
    return solution
