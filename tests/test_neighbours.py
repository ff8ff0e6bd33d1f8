"""Labels of near points against a plain search for neighbours."""

import numpy as np
import pytest
from scipy import sparse

from clems.embedding.neighbours import neighbour_scores


def points(n, seed, width=3):
    return np.random.default_rng(seed).standard_normal((n, width))


@pytest.mark.parametrize("k", [1, 4, 100, 1000])
def test_scores_are_means_of_the_nearest_rows(k):
    among, new, frequency = points(60, 0), points(30, 1), np.random.default_rng(2).integers(1, 5, 60)
    labels = np.random.default_rng(3).integers(0, 2, (60, 4))
    rows = np.repeat(np.arange(60), frequency)
    scores = neighbour_scores(new, among, frequency.astype(float), sparse.csr_array(labels, dtype=float), k)
    for score, point in zip(scores.toarray(), new, strict=True):
        nearest = rows[np.argsort(((among[rows] - point) ** 2).sum(axis=1), kind="stable")[:k]]
        np.testing.assert_allclose(score, labels[nearest].mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 50])
def test_no_row_is_its_own_neighbour(k):
    among, weight = points(40, 0), np.ones(40)
    labels = sparse.csr_array(np.random.default_rng(3).integers(0, 2, (40, 4)), dtype=float)
    moved = among + 0.3 * points(40, 5)
    scores = neighbour_scores(moved, among, weight, labels, k, same_rows=True).toarray()
    for row in range(40):
        others = np.arange(40) != row
        alone = neighbour_scores(moved[[row]], among[others], weight[others], labels[others], k)
        np.testing.assert_allclose(scores[row], alone.toarray()[0], atol=1e-12)


def test_rows_that_are_equally_far_share():
    among = np.array([[1.0, 0], [-1, 0], [0, 1], [0, 3]])
    scores = neighbour_scores(np.zeros((1, 2)), among, np.array([1.0, 1, 2, 9]), sparse.eye_array(4, format="csr"), 2)
    np.testing.assert_allclose(scores.toarray(), [[0.25, 0.25, 0.5, 0]])


def test_a_row_without_others_scores_nothing():
    assert not neighbour_scores(
        points(1, 0), points(1, 0), np.ones(1), sparse.csr_array([[1.0]]), 3, same_rows=True
    ).nnz
