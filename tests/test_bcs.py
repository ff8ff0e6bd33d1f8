"""BCS: the Gaussian posterior written out, probabilities that come true, and labels that are missing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier
from test_leml import hidden, some

from clems import BCS, CCAOC, get_cost
from clems.embedding.bayesian_sensing import read_labels, sense
from clems.embedding.pursuit import random_code


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 6))
def test_labels_are_read_as_the_gaussian_posterior_of_codes_averaged_over_their_errors(seed, M, K):
    rng = np.random.default_rng(seed)
    code, codes = rng.standard_normal((M, K)), rng.standard_normal((5, M))
    variance, noise, root = rng.random(K) + 0.1, rng.random() + 0.1, rng.standard_normal((M, M))
    gain, spread = read_labels(code, variance, noise, root @ root.T)
    # y | z is Gaussian with covariance Σ = (D⁻¹ + ΦᵀΦ / χ²)⁻¹ and mean ΣΦᵀz / χ²; z | ẑ has the mean ẑ
    sigma = np.linalg.inv(np.diag(1 / variance) + code.T @ code / noise)
    mean = sigma @ code.T / noise
    np.testing.assert_allclose(codes @ gain, codes @ mean.T, atol=1e-8)
    np.testing.assert_allclose(spread, (sigma + mean @ root @ root.T @ mean.T).diagonal(), rtol=1e-6)


def test_codes_without_noise_give_the_labels_back():
    rng, variance = np.random.default_rng(0), np.array([0.1, 0.2, 0.25])
    code, labels = random_code(3, 3, np.random.RandomState(0)), rng.standard_normal((4, 3))
    gain, spread = read_labels(code, variance, 1e-12, np.zeros((3, 3)))
    np.testing.assert_allclose(labels @ code.T @ gain, labels, atol=1e-8)
    np.testing.assert_allclose(spread, 0, atol=1e-8)


def test_codes_that_say_nothing_leave_the_frequencies():
    X, Y = some(300, 8, 4, 2)
    model = BCS("hamming", estimator=DummyRegressor(), n_components=2, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), np.tile(Y.mean(axis=0), (300, 1)), atol=0.02)


CALIBRATED = {
    "BCS": (BCS("f1", estimator=Ridge(), random_state=0), 0.0),
    "BCS, a fifth missing": (BCS("f1", estimator=Ridge(), random_state=0), 0.2),
    "CCAOC": (CCAOC("f1", estimator=LogisticRegression(), random_state=0), 0.0),
    "CCAOC of trees": (CCAOC("f1", estimator=DecisionTreeClassifier(min_samples_leaf=5), random_state=0), 0.0),
}


@pytest.mark.parametrize("name", CALIBRATED)
def test_probabilities_come_true(name):
    model, missing = CALIBRATED[name]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 8))
    Y = (rng.random((3000, 6)) < expit(X @ rng.standard_normal((8, 6)) - 1)).astype(int)
    model = clone(model).fit(X[:1000], hidden(Y[:1000], missing) if missing else Y[:1000])
    paid = get_cost("f1").of_rows(Y[1000:], model.predict(X[1000:])).mean()
    assert paid == pytest.approx(model.expected_cost(X[1000:]).mean(), rel=0.1)
    marginals = model.predict_proba(X[1000:])
    for low, high in ((0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1)):
        within = (marginals >= low) & (marginals <= high)
        assert within.sum() > 100
        assert marginals[within].mean() == pytest.approx(Y[1000:][within].mean(), abs=0.05)


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
