"""Bayesian compressed sensing: labels and their codes as Gaussian variables, some labels known, codes near features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clems.arrays import Floats, Weights
from clems.embedding.ridge import ridge_smoother

A0 = B0 = 1e-3  # of the Gamma prior of precisions: next to nothing
LEAST = 1e-10  # the least variance, so that nothing is divided by 0


@dataclass(frozen=True)
class Sensed:
    """What variational inference found.

    Attributes
    ----------
    labels : ndarray of shape (n, K)
        Expected labels about their mean: as they are where known.
    codes : ndarray of shape (n, M)
        Expected codes.
    variance : ndarray of shape (K,)
        1 / E[α], the variance of each label.
    """

    labels: Floats
    codes: Floats
    variance: Floats


def sense(
    X: Any,
    T: Floats,
    code: Floats,
    known: NDArray[np.bool_] | None,
    weight: Weights,
    *,
    ridge: float,
    noise: float,
    n_rounds: int,
) -> Sensed:
    """Infer codes of labels of which some are missing, by turns over codes, labels and the map from features to codes.

    The model is ``z ~ N(Wᵀx, σ²)``, ``z ~ N(Φy, χ²)``, ``y_j ~ N(0, 1/α_j)``, ``α_j ~ Gamma``, with one α for each
    label. If all labels are known, codes are ``Φy`` up to χ² and one turn is all.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        Features.
    T : ndarray of shape (n, K)
        Labels about their mean; any number where they are not known.
    code : ndarray of shape (M, K)
        Φ.
    known : ndarray of shape (n, K) or None
        Which labels are known; None is all.
    weight : ndarray of shape (n,) or None
        Sample weights.
    ridge : float
        Penalty of the map from features to codes.
    noise : float
        χ², the variance with which codes follow from labels.
    n_rounds : int
        Most turns.
    """
    rows = np.ones(len(T)) if weight is None else weight
    total = rows.sum()

    def variance_of(labels: Floats, spread: Floats) -> Floats:
        # E[α_j] = (a₀ + n/2) / (b₀ + ½ Σ (μ_ij² + Σ_jj))
        return np.asarray((B0 + 0.5 * rows @ (labels**2 + spread)) / (A0 + 0.5 * total) + LEAST)

    if known is None:
        return Sensed(T, T @ code.T, variance_of(T, np.zeros_like(T)))
    labels, spread = np.where(known, T, 0.0), np.zeros(T.shape)
    smooth = ridge_smoother(X, weight, ridge)
    root = smooth.root[:, None]
    variance = variance_of(labels, spread)
    gram = code.T @ code / noise
    patterns, index = np.unique(known, axis=0, return_inverse=True)
    for _ in range(n_rounds):
        before = labels.copy()
        own = labels @ code.T
        said = smooth(root * own) / root  # Wᵀx
        sigma = np.maximum((rows @ (own - said) ** 2 / total).mean(), LEAST)
        codes = (said / sigma + own / noise) / (1 / sigma + 1 / noise)  # E[z]
        target = codes @ code / noise  # χ⁻² Φᵀ μ_z
        for at, pattern in enumerate(patterns):  # rows with the same labels missing share a covariance
            gone = ~pattern
            if not gone.any():
                continue
            mine = np.flatnonzero(index.reshape(-1) == at)
            inner = np.linalg.inv(gram[np.ix_(gone, gone)] + np.diag(1 / variance[gone]))
            rest = target[np.ix_(mine, gone)] - labels[np.ix_(mine, pattern)] @ gram[np.ix_(pattern, gone)]
            labels[np.ix_(mine, gone)] = rest @ inner
            spread[np.ix_(mine, gone)] = inner.diagonal()
        variance = variance_of(labels, spread)
        if np.abs(labels - before).max() < 1e-6:
            break
    return Sensed(labels, labels @ code.T, variance)


def read_labels(code: Floats, variance: Floats, noise: float, errors: Floats) -> tuple[Floats, Floats]:
    """Return how labels are read from predicted codes: ``E[y | ẑ] = ẑ gain``, and the variance that they keep.

    What a regressor predicts is the mean of z given the features, not another noisy measurement of it: z is ẑ with an
    error that has nothing to do with ẑ. So the expectation of labels is linear in ẑ, ``E[E[y | z] | ẑ] = G ẑ`` with
    ``G = D Φᵀ (Φ D Φᵀ + χ² I)⁻¹``, and errors widen the posterior without drawing it to the prior once more.

    Parameters
    ----------
    code : ndarray of shape (M, K)
        Φ.
    variance : ndarray of shape (K,)
        D, the prior variances of labels.
    noise : float
        χ², the variance with which codes follow from labels.
    errors : ndarray of shape (M, M)
        Covariance E of the errors of predicted codes.

    Returns
    -------
    gain : ndarray of shape (M, K)
        Gᵀ.
    spread : ndarray of shape (K,)
        Diagonal of ``D − G Φ D + G E Gᵀ``.
    """
    through = code * variance  # Φ D
    gain = np.asarray(np.linalg.solve(through @ code.T + noise * np.eye(len(code)), through))
    spread = variance - (through * gain).sum(axis=0) + (gain * (errors @ gain)).sum(axis=0)
    return gain, np.maximum(spread, LEAST * variance)
