"""Low-rank regression: labels as a product of two thin matrices and the features, where some labels may be missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from clems.arrays import Floats, Weights
from clems.embedding.ridge import Map, doubled, exponent_of, inner_products, roots, scaled_rows, worth_factorising

STEPS = 20  # of conjugate gradients in each half step
ROUNDING = 1e-13  # a feature whose variance is less than this share of its mean square is constant
NULL = 1e-12  # squares of singular values below this part of the greatest are rounding errors


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

    No half step raises the objective. H is solved exactly, and so is W if all is known: in the coordinates of the
    singular vectors of X̄ its equations are as many numbers. Where targets are missing, or the inner products of rows
    or of features would be much larger than sparse features are, W takes at most twenty steps of conjugate gradients
    from where it was, and XᵀX is never formed.

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
    raw = np.asarray((scaled.multiply(scaled) if sparse.issparse(scaled) else scaled**2).sum(axis=0)).ravel()
    squares = np.maximum(raw - (root @ root) * mean**2, 0)  # sums of squares of the centred features
    varies = np.flatnonzero(squares > ROUNDING * raw)  # centring leaves rounding errors of a constant, of any size
    if not len(varies):
        nothing = np.zeros((len(raw), size)), np.zeros_like(start), np.zeros((X.shape[0], size))
        return LowRank(*nothing, [0.5 * float((T**2).sum())])
    if len(varies) < len(raw):
        scaled, mean, squares = scaled[:, varies], mean[varies], squares[varies]
    flipped = scaled.T.tocsr() if sparse.issparse(scaled) else scaled.T

    def forward(W: Floats) -> Floats:
        return np.asarray(scaled @ W - np.outer(root, mean @ W))

    def backward(R: Floats) -> Floats:
        return np.asarray(flipped @ R - np.outer(mean, root @ R))

    def of_all(W: Floats) -> Floats:
        """Weights of all features, 0 of those that are constant."""
        whole = np.zeros((len(raw), W.shape[1]))
        whole[varies] = W
        return whole

    def fitted(Z: Floats, H: Floats) -> Floats:
        return Z @ H.T if mask is None else mask * (Z @ H.T)

    def objective(W: Floats, H: Floats, Z: Floats) -> float:
        return float(0.5 * ((T - fitted(Z, H)) ** 2).sum() + penalty / 2 * ((W**2).sum() + (H**2).sum()))

    def curvature(H: Floats, D: Floats) -> Floats:
        through = forward(D) @ (H.T @ H) if mask is None else fitted(forward(D), H) @ H
        return backward(through) + penalty * D

    entries = scaled.nnz if sparse.issparse(scaled) else scaled.size
    if mask is None and worth_factorising(scaled.shape[0], scaled.shape[1], entries):
        spectrum = _spectrum(scaled, flipped, root, mean, T, backward)
        W, H, history = _by_spectrum(spectrum, float((T**2).sum()), penalty, start, n_rounds)
        W = spectrum.lifted(W)
        return LowRank(of_all(W), H, forward(W) / root[:, None], history)

    H, W = start.copy(), np.zeros((len(varies), size))
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
    return LowRank(of_all(W), H, Z / root[:, None], history)


class _Spectrum(NamedTuple):
    """The problem in the coordinates of singular vectors, ``X̄ = P diag(s) Uᵀ``.

    Attributes
    ----------
    singular : ndarray of shape (r,)
        s, those that are not 0.
    targets : ndarray of shape (r, K)
        PᵀT, the part of the targets that features reach.
    lifted : callable
        From weights of the coordinates to those of the features, ``U W``.
    """

    singular: Floats
    targets: Floats
    lifted: Map


def _spectrum(scaled: Any, flipped: Any, root: Floats, mean: Floats, T: Floats, backward: Map) -> _Spectrum:
    """Find singular vectors by the inner products of features, or of rows if these are fewer."""
    n, d = scaled.shape
    rows = scaled if sparse.issparse(scaled) else scaled - np.outer(root, mean)
    columns = flipped if sparse.issparse(scaled) else rows.T
    squares, vectors = eigh(
        inner_products(rows, columns, root, mean, d <= n), overwrite_a=True, check_finite=False, driver="evd"
    )
    kept = squares > NULL * squares[-1]
    singular, vectors = np.sqrt(squares[kept]), vectors[:, kept]
    if d <= n:
        return _Spectrum(singular, vectors.T @ backward(T) / singular[:, None], vectors.__matmul__)
    return _Spectrum(singular, vectors.T @ T, lambda W: backward(vectors @ (W / singular[:, None])))


def _by_spectrum(
    spectrum: _Spectrum, total: float, penalty: float, start: Floats, n_rounds: int
) -> tuple[Floats, Floats, list[float]]:
    """Take turns over W and H, both exact, in the coordinates of singular vectors."""
    s, T = spectrum.singular[:, None], spectrum.targets
    beyond = max(total - float((T**2).sum()), 0)  # what no W reaches

    def objective(W: Floats, H: Floats, Z: Floats) -> float:
        return 0.5 * (beyond + float(((T - Z @ H.T) ** 2).sum())) + penalty / 2 * float((W**2).sum() + (H**2).sum())

    H, W = start, np.zeros((len(T), start.shape[1]))
    history = [objective(W, H, W)]
    for _ in range(n_rounds):
        # Over W: s² W HᵀH + λ W = s T H, which falls apart in the coordinates of the eigenvectors of HᵀH
        lengths, Q = np.linalg.eigh(H.T @ H)
        across = np.where(
            lengths > NULL * lengths[-1], H @ Q, 0
        )  # columns of such lengths; the others are rounding errors
        W = (s * (T @ across) / (s**2 * np.maximum(lengths, 0) + penalty)) @ Q.T
        Z = s * W
        history.append(objective(W, H, Z))
        H = _ridge(Z, T, penalty).T
        history.append(objective(W, H, Z))
    return W, H, history


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
