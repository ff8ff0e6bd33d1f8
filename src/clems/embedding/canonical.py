"""Canonical directions: of labels, those that features correlate with most."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from clems.arrays import Floats
from clems.embedding.spectral import NOTHING


def canonical_directions(fitted: Floats, variation: Floats, penalty: float, size: int) -> tuple[Floats, Floats]:
    """Solve ``fitted v = r² (variation + penalty I) v`` for the greatest r.

    Parameters
    ----------
    fitted : ndarray of shape (K, K)
        Inner products of targets and of what a regression on the features fits to them.
    variation : ndarray of shape (K, K)
        Inner products of the targets, their mean taken away.
    penalty : float
        What is added to its diagonal.
    size : int
        How many directions are wanted; there are no more than the rank of `variation`, but always one.

    Returns
    -------
    correlations : ndarray of shape (M,)
        Greatest first.
    directions : ndarray of shape (K, M)
        Of length 1 in the sense of ``vᵀ (variation + penalty I) v``, and orthogonal in that sense.

    Examples
    --------
    >>> import numpy as np
    >>> correlations, directions = canonical_directions(np.diag([1.0, 4.0]), np.diag([1.0, 16.0]), 0.0, 2)
    >>> correlations
    array([1. , 0.5])
    """
    values, vectors = eigh((variation + variation.T) / 2)
    varied = values > NOTHING * max(values[-1], 0)
    if not varied.any():  # labels that never vary
        return np.zeros(1), np.eye(len(variation), 1)
    # In the coordinates C^{-1/2}, in which all directions vary alike, the problem is an ordinary one.
    whiten = vectors[:, varied] / np.sqrt(values[varied] + penalty)
    inner = whiten.T @ fitted @ whiten
    size = min(size, len(inner))
    squares, rotation = eigh((inner + inner.T) / 2, subset_by_index=(len(inner) - size, len(inner) - 1))
    return np.sqrt(np.clip(squares[::-1], 0, 1)), whiten @ rotation[:, ::-1]
