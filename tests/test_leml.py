"""LEML: low-rank regression against closed forms, and labels that are missing."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from clems import LEARNERS, LEML
from clems.embedding.low_rank import low_rank_regression


def some(n, d, K, rank, seed=0, noise=0.3):
    """Features and labels that follow from few combinations of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, rank)) @ rng.standard_normal((rank, K)) / rank**0.5
    return X, (scores + noise * rng.standard_normal((n, K)) > 0.5).astype(int)


def hidden(Y, share, seed=0):
    return np.where(np.random.default_rng(seed).random(Y.shape) < share, np.nan, Y)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans(), st.booleans(), st.floats(0.01, 10))
def test_no_half_step_raises_the_objective(seed, size, gaps, sparse_features, penalty):
    rng = np.random.default_rng(seed)
    X, T = rng.standard_normal((20, 6)), rng.standard_normal((20, 4))
    known = rng.random(T.shape) < 0.7 if gaps else None
    fit = low_rank_regression(
        sparse.csr_array(X) if sparse_features else X,
        T,
        size,
        penalty,
        known=known,
        weight=rng.random(20) + 0.1,
        start=rng.standard_normal((4, size)),
    )
    assert len(fit.history) == 21
    assert (np.diff(fit.history) <= 1e-9 * fit.history[0]).all()


def test_with_labels_as_codes_the_half_step_over_features_is_ridge_regression():
    X, Y = some(60, 5, 3, 2)
    T = Y - Y.mean(axis=0)
    fit = low_rank_regression(X, T, 3, 2.0, start=np.eye(3), n_rounds=1)
    ridge = Ridge(alpha=2.0, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(fit.features, ridge.coef_.T, atol=1e-8)
    np.testing.assert_allclose(fit.codes, ridge.predict(X) - Y.mean(axis=0), atol=1e-8)


@pytest.mark.parametrize("penalty", [0.5, 6.0])
def test_with_all_dimensions_it_is_the_regression_with_a_trace_norm(penalty):
    """For orthonormal features: singular values of least squares, each less the penalty (none below 0)."""
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.standard_normal((50, 6)) - 0.0)[0]
    X = np.linalg.qr(X - X.mean(axis=0))[0]
    T = 5 * rng.standard_normal((50, 4))
    left, singular, right = np.linalg.svd(X.T @ T, full_matrices=False)
    assert 0.5 < singular.min() < 6.0 < singular.max()  # the second penalty leaves fewer dimensions
    wanted = left @ np.diag(np.maximum(singular - penalty, 0)) @ right
    fit = low_rank_regression(X, T, 4, penalty, start=rng.standard_normal((4, 4)), n_rounds=3000)
    np.testing.assert_allclose(fit.features @ fit.labels.T, wanted, atol=1e-3)


def test_what_is_not_known_does_not_count():
    X, Y = some(40, 5, 4, 2)
    T, known = Y - 0.5, np.random.default_rng(0).random(Y.shape) < 0.6
    one, other = (
        low_rank_regression(X, np.where(known, T, value), 2, 1.0, known=known, start=np.eye(4, 2)) for value in (0, 99)
    )
    np.testing.assert_array_equal(one.features, other.features)
    whole, all_known = (
        low_rank_regression(X, T, 2, 1.0, known=mask, start=np.eye(4, 2)) for mask in (None, np.ones(T.shape, bool))
    )
    np.testing.assert_allclose(whole.labels, all_known.labels, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_beats_ridge_on_labels_filled_with_zeros(seed):
    X, Y = some(600, 20, 40, 3, seed)
    gaps = hidden(Y[:300], 0.7, seed)
    model = LEML(n_components=3, estimator=Ridge(), random_state=0).fit(X[:300], gaps)
    filled = Ridge().fit(X[:300], np.nan_to_num(gaps))
    own, other = (
        roc_auc_score(Y[300:], scores, average="micro") for scores in (model._scores(X[300:]), filled.predict(X[300:]))
    )
    assert own > other + 0.01
    assert (model.predict(X[300:]) != Y[300:]).mean() < ((filled.predict(X[300:]) > 0.5) != Y[300:]).mean()


def test_the_published_model_is_there():
    X, Y = some(80, 6, 5, 2)
    model = LEML(n_components=2, n_trees=1, random_state=0).fit(X, Y)
    fit = low_rank_regression(X, Y - model.mean_, 2, 1.0, start=np.linalg.svd(Y - model.mean_)[2][:2].T)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, fit.codes @ fit.labels.T + model.mean_, atol=1e-7)
    assert model.objective_.shape == (21,)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array], ids=["array", "frame", "sparse"])
def test_missing_labels_in_every_form(form):
    X, Y = some(60, 5, 4, 2)
    gaps = hidden(Y, 0.2)
    wanted = LEML(n_trees=3, random_state=0).fit(X, gaps).predict(X)
    predicted = LEML(n_trees=3, random_state=0).fit(X, form(gaps)).predict(X)
    assert sparse.issparse(predicted) == (form is sparse.csr_array)
    assert np.array_equal(predicted.toarray() if sparse.issparse(predicted) else predicted, wanted)
    assert LEML("f1", n_trees=3, random_state=0).fit(X, form(gaps)).predict(X, cost="rank").shape == Y.shape


@pytest.mark.parametrize("name", [name for name, learner in LEARNERS.items() if not learner.takes_missing_labels])
def test_others_say_who_takes_missing_labels(name):
    X, Y = some(20, 3, 3, 2)
    for gaps in (hidden(Y, 0.2), sparse.csr_array(hidden(Y, 0.2)), pd.DataFrame(hidden(Y, 0.2))):
        with pytest.raises(ValueError, match=r"^Y has the value nan in row \d, column \d; .* no missing labels; LEML"):
            LEARNERS[name]().fit(X, gaps)


def test_a_label_that_is_nowhere_known():
    X, Y = some(30, 3, 3, 2)
    gaps = Y.astype(float)
    gaps[:, 1] = np.nan
    predicted = LEML(estimator=Ridge(), random_state=0).fit(X, gaps).predict(X)
    assert not predicted[:, 1].any()
    with pytest.raises(ValueError, match=r"^Y has the value nan everywhere; some labels must be known"):
        LEML().fit(X, np.full(Y.shape, np.nan))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("size", [1e30, 1e9, 2.0**-1074])
def test_a_constant_feature_changes_nothing(form, size):
    """Centring leaves nothing of it but rounding errors, which are greater than all other features."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 4))
    Y = (X[:, :3] > 0.5).astype(int)
    settings = {"n_components": 2, "estimator": DummyRegressor(), "random_state": 0}
    model = LEML(**settings).fit(form(np.column_stack([X, np.full(40, size)])), Y)
    np.testing.assert_allclose(model.components_, LEML(**settings).fit(form(X), Y).components_, atol=1e-6)
    assert (model.coef_[-1] == 0).all()


@pytest.mark.parametrize("power", [-1074, 1020])
def test_features_of_any_size_have_an_intercept(power):
    X = np.arange(40.0).reshape(20, 2) % 7 + 1
    model = LEML(estimator=DummyRegressor(), random_state=0).fit(np.ldexp(X, power).astype(float), (X > 3).astype(int))
    plain = LEML(estimator=DummyRegressor(), random_state=0).fit(X, (X > 3).astype(int))
    np.testing.assert_allclose(model.components_, plain.components_, atol=0.3)
    assert np.isfinite(model.intercept_).all()
