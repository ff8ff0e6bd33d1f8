"""BCS: the Gaussian posterior written out, and labels that are missing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from test_leml import hidden, some

from clems import BCS
from clems.embedding.bayesian_sensing import label_probabilities, sense
from clems.embedding.pursuit import random_code


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 6))
def test_the_posterior_is_that_of_gaussian_labels(seed, M, K):
    rng = np.random.default_rng(seed)
    code, codes = rng.standard_normal((M, K)), rng.standard_normal((5, M))
    mean, variance, noise = rng.random(K) * 0.8 + 0.1, rng.random(K) + 0.1, rng.random(M) + 0.1
    p, expected, spread = label_probabilities(codes, code, mean, variance, noise)
    sigma = np.linalg.inv(np.diag(1 / variance) + code.T @ np.diag(1 / noise) @ code)
    np.testing.assert_allclose(spread, sigma.diagonal(), rtol=1e-6)
    np.testing.assert_allclose(expected, codes @ np.diag(1 / noise) @ code @ sigma, atol=1e-8)
    for j in range(K):  # density of the posterior over that of the prior at 1 and at 0, times the frequency

        def log_ratio(y, j=j):
            posterior = -0.5 * (y - mean[j] - expected[:, j]) ** 2 / spread[j]
            return posterior + 0.5 * (y - mean[j]) ** 2 / variance[j]

        odds = mean[j] / (1 - mean[j]) * np.exp(log_ratio(1) - log_ratio(0))
        np.testing.assert_allclose(p[:, j], odds / (1 + odds), rtol=1e-6, atol=1e-12)


def test_codes_that_say_nothing_leave_the_frequencies():
    rng = np.random.default_rng(0)
    mean = np.array([0.1, 0.5, 0.7])
    p, _, spread = label_probabilities(
        rng.standard_normal((4, 3)), random_code(3, 3, np.random.RandomState(0)), mean, np.ones(3), np.full(3, 1e8)
    )
    np.testing.assert_allclose(p, np.tile(mean, (4, 1)), atol=1e-4)
    np.testing.assert_allclose(spread, 1, atol=1e-4)


def test_known_labels_stay_and_missing_ones_are_inferred():
    X, Y = some(300, 8, 12, 2)
    gaps = hidden(Y, 0.3)
    known, mean = ~np.isnan(gaps), np.nanmean(gaps, axis=0)
    code = random_code(12, 12, np.random.RandomState(0))
    found = sense(X, np.nan_to_num(gaps) - mean, code, known, None, ridge=1.0, noise=0.01, n_rounds=20)
    np.testing.assert_allclose(found.labels[known], (Y - mean)[known])
    assert roc_auc_score(Y[~known], (found.labels + mean)[~known]) > 0.75


@pytest.mark.parametrize("seed", range(3))
def test_beats_ridge_on_labels_filled_with_zeros(seed):
    X, Y = some(600, 20, 12, 3, seed)
    gaps = hidden(Y[:300], 0.5, seed)
    model = BCS("hamming", estimator=Ridge(), random_state=0).fit(X[:300], gaps)
    filled = Ridge().fit(X[:300], np.nan_to_num(gaps)).predict(X[300:])
    assert (model.predict(X[300:]) != Y[300:]).mean() < ((filled > 0.5) != Y[300:]).mean()


def test_fewer_codes_leave_more_uncertainty():
    X, Y = some(200, 8, 6, 3)
    spreads = [BCS(n_components=size, estimator=Ridge(), random_state=0).fit(X, Y).spread_ for size in (2, 4, 6)]
    assert spreads[0].sum() > spreads[1].sum() > spreads[2].sum()
