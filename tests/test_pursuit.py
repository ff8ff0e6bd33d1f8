"""Compressed sensing: pursuit against scikit-learn's, and recovery of sparse vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge, orthogonal_mp
from sklearn.tree import DecisionTreeRegressor

from clems import CS
from clems.embedding.pursuit import matching_pursuit, random_code


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 16), st.integers(1, 4))
def test_agrees_with_scikit_learn(seed, M, K, most):
    random = np.random.RandomState(seed)
    A, Z = random_code(M, K, random), random.standard_normal((7, M))
    A /= np.linalg.norm(A, axis=0)  # of other lengths scikit-learn compares products, not correlations
    most = min(most, M, K)
    wanted = orthogonal_mp(A, Z.T, n_nonzero_coefs=most).reshape(K, -1).T
    np.testing.assert_allclose(matching_pursuit(Z, A, most), wanted, atol=1e-6)


def recovered(M, K, k, n=200):
    """Share of vectors of k labels that come out as they were."""
    random = np.random.RandomState(0)
    A = random_code(M, K, random)
    labels = np.zeros((n, K))
    for row in labels:
        row[random.choice(K, k, replace=False)] = 1
    return ((matching_pursuit(labels @ A.T, A, k) > 0.5) == labels).all(axis=1).mean()


@pytest.mark.parametrize(("K", "k"), [(64, 2), (256, 3), (1024, 4)])
def test_sparse_vectors_are_recovered_beyond_the_phase_transition(K, k):
    enough, few = round(4 * k * np.log(K / k)), round(0.6 * k * np.log(K / k))
    assert recovered(enough, K, k) > 0.97
    assert recovered(few, K, k) < 0.3


@pytest.mark.parametrize("size", [3, 6, 10])
def test_codes_are_orthogonal(size):
    A = random_code(size, 6, np.random.RandomState(0))
    product = A.T @ A if size >= 6 else A @ A.T * size / 6
    np.testing.assert_allclose(product, np.eye(min(size, 6)), atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"n_components": 1.5}, {"n_components": 50}])
def test_nothing_is_lost_with_all_dimensions(settings):
    rng = np.random.default_rng(0)
    features, labels = np.arange(80)[:, None], (rng.random((80, 6)) < 0.4).astype(int)
    labels = np.column_stack([labels, np.ones(80), np.zeros(80), labels[:, 0]])
    model = CS(estimator=DecisionTreeRegressor(), random_state=0, **settings).fit(features, labels)
    assert model.reconstruction_error_ == 0
    assert np.array_equal(model.predict(features), labels)
    assert model.n_nonzero_ == labels.sum(axis=1).max() - 1  # the label of all rows is not in the code


def test_no_more_labels_than_said():
    rng = np.random.default_rng(0)
    features, labels = rng.standard_normal((80, 4)), (rng.random((80, 6)) < 0.6).astype(int)
    model = CS(n_nonzero=2, threshold=0.1, estimator=Ridge(), random_state=0).fit(features, labels)
    assert model.predict(features).sum(axis=1).max() == 2
