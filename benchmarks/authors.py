"""The authors' procedure, restated plainly: what the benchmarks compare with and a test checks our step against.

A double loop over pairs of label vectors for the costs, matrices of twice the number of label vectors for the mirrored
problem, the pseudo-inverse of the weights' Laplacian, and the best of eight random starts of 300 steps.
"""

from __future__ import annotations

import numpy as np


def f1(y, p):
    size = y.sum() + p.sum()
    return 1 - 2 * (y & p).sum() / size if size else 0.0


def accuracy(y, p):
    union = (y | p).sum()
    return 1 - (y & p).sum() / union if union else 0.0


def rank(y, p):
    tp, fn, fp = (y & p).sum(), (y & ~p).sum(), (~y & p).sum()
    tn = len(y) - tp - fn - fp
    return fn * fp + 0.5 * fn * tn + 0.5 * tp * fp


def composition(y, p):
    return 5 * (y != p).mean() + f1(y, p)


COSTS = {"f1": f1, "accuracy": accuracy, "rank": rank, "composition": composition}


def cost_matrix(cost, labels):
    vectors = labels.astype(bool)
    return np.array([[COSTS[cost](y, p) for p in vectors] for y in vectors], dtype=float)


def mirrored_matrices(dissimilarity, frequency):
    """Dissimilarities and weights of the 2L mirrored objects, the paper's equations 1 and 2."""
    L = len(dissimilarity)
    delta, weight = np.zeros((2 * L, 2 * L)), np.zeros((2 * L, 2 * L))
    delta[:L, L:], weight[:L, L:] = dissimilarity, np.asarray(frequency)[:, None]
    return delta + delta.T, weight + weight.T


def inverse_laplacian(weight):
    return np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight, hermitian=True)


def guttman(points, delta, weight, inverse=None):
    """One step of majorisation with full matrices."""
    inverse = inverse_laplacian(weight) if inverse is None else inverse
    square = (points**2).sum(axis=1)
    distance = np.sqrt(np.maximum(square[:, None] + square - 2 * points @ points.T, 0))
    ratio = weight * delta / np.where(distance > 1e-12, distance, 1e-5)
    B = np.diag(ratio.sum(axis=1)) - ratio
    return inverse @ (B @ points)


def stress(points, dissimilarity, frequency):
    """Weighted stress as a share of the weighted sum of squared dissimilarities."""
    L = len(dissimilarity)
    truth, prediction = points[:L], points[L:]
    square = (truth**2).sum(axis=1)[:, None] + (prediction**2).sum(axis=1) - 2 * truth @ prediction.T
    error = (np.sqrt(np.maximum(square, 0)) - dissimilarity) ** 2
    return float(frequency @ error.sum(axis=1) / (frequency @ (dissimilarity**2).sum(axis=1)))


def embed(dissimilarity, frequency, n_components, starts=8, steps=300, seed=0):
    """Points of the best of several random starts, and their stress."""
    delta, weight = mirrored_matrices(dissimilarity, frequency)
    inverse = inverse_laplacian(weight)
    rng = np.random.default_rng(seed)
    best = None, np.inf
    for _ in range(starts):
        points = rng.random((len(delta), n_components))
        for _ in range(steps):
            points = guttman(points, delta, weight, inverse)
        reached = stress(points, dissimilarity, frequency)
        if reached < best[1]:
            best = points, reached
    return best
