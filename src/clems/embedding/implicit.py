"""Codes from which labels follow and which follow from features: the leading eigenvectors of Y Yᵀ + alpha · H."""

from __future__ import annotations

from typing import Any

import numpy as np

from clems.arrays import Floats, Weights
from clems.embedding.ridge import RidgeSmoother, roots, scaled_rows
from clems.embedding.spectral import leading_eigenvectors, signs


def implicit_codes(
    labels: Any, weight: Weights, smooth: RidgeSmoother | None, alpha: float, size: int
) -> tuple[Floats, Floats]:
    """Codes of the rows, of mean square 1 and uncorrelated, and the map that decodes them.

    Parameters
    ----------
    labels : CSR array of shape (n, K)
        Labels as floats.
    weight : ndarray of shape (n,) or None
        Sample weights.
    smooth : RidgeSmoother or None
        H: of the features of the same rows, with the same weights; not needed if alpha is 0.
    alpha : float
        How much it counts that codes follow from features.
    size : int
        How many codes are wanted; there may be fewer. Labels that are all 0 have one, which is 0 too.

    Returns
    -------
    codes : ndarray of shape (n, M)
    components : ndarray of shape (M, K)
    """
    root, scaled = roots(weight, labels.shape[0]), scaled_rows(labels, weight)
    if smooth is None or not alpha:
        vectors = _by_rows(scaled, None, 0.0, size)
    elif smooth.by_features and smooth.factor is not None and labels.shape[1] + len(smooth.mean) < len(root):
        vectors = _by_features(scaled, smooth, alpha, size)
    else:
        vectors = _by_rows(scaled, smooth, alpha, size)
    if not vectors.shape[1]:
        vectors = np.zeros((len(root), 1))
    unit = np.sqrt(root @ root)
    # C = Yᵀ V / √Σw, and codes √Σw · V, so that codes have a mean square of 1
    components = np.asarray(scaled.T @ vectors).T / unit
    sign = signs(components)
    vectors *= sign * unit
    vectors /= root[:, None]
    return vectors, sign[:, None] * components


def _by_rows(scaled: Any, smooth: Any, alpha: float, size: int) -> Floats:
    """Eigenvectors found among vectors of length n."""

    def apply(block: Floats) -> Floats:
        product = np.asarray(scaled @ (scaled.T @ block))  # (Y Yᵀ + alpha H) V
        return product + alpha * smooth(block) if alpha else product

    return leading_eigenvectors(apply, scaled.toarray(), size)[1]


def _by_features(scaled: Any, smooth: RidgeSmoother, alpha: float, size: int) -> Floats:
    """Eigenvectors found among vectors of length K + 1 + d, and mapped to rows at the end.

    Y Yᵀ + alpha · H is B Bᵀ, where the columns of B are the labels, √alpha times the level, which the intercept fits,
    and √alpha times the features divided by the factor of the ridge regression. So its eigenvectors are those of BᵀB,
    mapped by B. And BᵀB is known without the rows: its part for features is alpha · (1 − penalty · (factor factorᵀ)⁻¹).
    """
    K, weight = scaled.shape[1], np.sqrt(alpha)
    level = weight * smooth.root / np.sqrt(smooth.root @ smooth.root)
    inner, on_level = (scaled.T @ scaled).toarray(), np.asarray(scaled.T @ level)
    on_features = weight * smooth.unfactored(smooth.backward(scaled.toarray()))

    def apply(block: Floats) -> Floats:  # BᵀB V, part by part
        labels, middle, features = block[:K], block[K], block[K + 1 :]
        image = np.empty_like(block)
        image[:K] = inner @ labels + np.outer(on_level, middle) + on_features.T @ features
        image[K] = on_level @ labels + alpha * middle
        shrunk = smooth.unfactored(smooth.unfactored(features, transposed=True))
        image[K + 1 :] = on_features @ labels + alpha * (features - smooth.penalty * shrunk)
        return image

    start = np.eye(K + 1 + len(on_features), K)
    values, vectors = leading_eigenvectors(apply, start, size)
    there = values > 1e-10 * values[:1]  # the others are combinations of labels and features that are zero for all rows
    vectors = vectors[:, there] / np.sqrt(values[there])  # unit vectors B v / √λ of the rows
    rows: Floats = weight * smooth.forward(smooth.unfactored(vectors[K + 1 :], transposed=True))
    rows += scaled @ vectors[:K]
    rows += np.outer(level, vectors[K])
    return rows
