"""Column subsets: draws against enumerated probabilities, and the bound of the expected error."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clems import CSSP
from clems.embedding.column_subset import draw_columns, from_columns
from clems.embedding.spectral import leading_directions

ROWS = np.random.default_rng(0).integers(0, 2, (40, 5)).astype(float)


def lost(Y, columns):
    """Squared error of all columns as combinations of some, by least squares."""
    C = Y[:, columns]
    return ((Y - C @ np.linalg.lstsq(C, Y, rcond=None)[0]) ** 2).sum()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.floats(0.1, 0.9))
def test_the_expected_error_is_within_its_bound(seed, K, share):
    Y = (np.random.default_rng(seed).random((25, K)) < share).astype(float)
    singular = np.linalg.svd(Y, compute_uv=False)
    for M in range(1, np.linalg.matrix_rank(Y) + 1):
        V = leading_directions(Y.T @ Y, M)
        sets = [list(one) for one in combinations(range(K), M)]
        probability = np.array([np.linalg.det(V[:, one]) ** 2 for one in sets])  # of the determinantal process
        assert probability.sum() == pytest.approx(1)
        expected = probability @ [lost(Y, one) for one in sets]
        assert expected <= (1 + M * (K - M)) * (singular[M:] ** 2).sum() + 1e-8


@pytest.mark.parametrize("M", [1, 2, 3, 4])
def test_sets_are_drawn_as_often_as_their_determinant_says(M):
    V = leading_directions(ROWS.T @ ROWS, M)
    random = np.random.RandomState(0)
    sets = [tuple(one) for one in combinations(range(5), M)]
    wanted = np.array([np.linalg.det(V[:, list(one)]) ** 2 for one in sets])
    drawn = [sets.index(tuple(draw_columns(V, random).tolist())) for _ in range(4000)]
    np.testing.assert_allclose(np.bincount(drawn, minlength=len(sets)) / 4000, wanted, atol=5 * 0.5 / 4000**0.5)


def test_one_after_the_other_by_leverage():
    V = leading_directions(ROWS.T @ ROWS, 2)
    random = np.random.RandomState(0)
    p = (V**2).sum(axis=0) / 2
    sets = [*combinations(range(5), 2)]
    wanted = [p[i] * p[j] / (1 - p[i]) + p[j] * p[i] / (1 - p[j]) for i, j in sets]
    drawn = [sets.index(tuple(draw_columns(V, random, repel=False).tolist())) for _ in range(4000)]
    np.testing.assert_allclose(np.bincount(drawn, minlength=10) / 4000, wanted, atol=5 * 0.5 / 4000**0.5)


def test_labels_that_say_the_same_are_not_drawn_together():
    rng = np.random.default_rng(0)
    two = rng.integers(0, 2, (60, 2))
    labels = np.repeat(two, 3, axis=1)
    errors = {}
    for sampling in ("determinantal", "leverage"):
        models = [CSSP(n_components=2, sampling=sampling, n_trees=1, random_state=seed) for seed in range(20)]
        errors[sampling] = [model.fit(two, labels).reconstruction_error_ for model in models]
    assert not np.any(errors["determinantal"])
    assert np.any(errors["leverage"])


def test_learned_labels_come_out_as_they_are():
    products = ROWS.T @ ROWS
    weights = from_columns(products, np.array([1, 3]))
    np.testing.assert_allclose(weights[:, [1, 3]], np.eye(2), atol=1e-12)
    np.testing.assert_allclose(weights, np.linalg.lstsq(ROWS[:, [1, 3]], ROWS, rcond=None)[0], atol=1e-12)
