"""Kernel ridge regression against what it is defined by: training anew without each row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from clems.posterior import ridge_expert
from clems.posterior.ridge_expert import PENALTIES, Gaussian, Linear, fit_ridge

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(60, 5))
WORDS = sparse.csr_array(RNG.poisson(0.3, (60, 30)).astype(float))
Y = (DENSE[:, :3] + RNG.normal(size=(60, 3)) > 0.3).astype(np.uint8)
FEATURES = {"gaussian": (Gaussian, DENSE), "linear": (Linear, WORDS)}
each_kernel = pytest.mark.parametrize("name", FEATURES)


def fit(name, weight=None, rows=None, labels=Y):
    kind, X = FEATURES[name]
    weight = np.ones(len(labels)) if weight is None else weight
    rows = np.arange(len(labels)) if rows is None else rows
    return fit_ridge(kind.of(X), X, labels, weight, rows, np.random.RandomState(0))


def anew(name, weight, left_out, penalty):
    """Scores of a row by weighted ridge regression of the others, with all that is learned of all rows kept."""
    kind, X = FEATURES[name]
    kernel = kind.of(X)
    rows = kernel.rows(X)
    G, weight = kernel(rows, rows), weight / weight.mean()
    mean = weight @ Y / len(Y)
    others = np.arange(len(Y)) != left_out
    A = G[np.ix_(others, others)] + np.diag(penalty * np.trace(G) / len(G) / weight[others])
    return mean + G[left_out, others] @ np.linalg.solve(A, Y[others] - mean)


@each_kernel
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_held_out_as_if_trained_anew(name, weighted, monkeypatch):
    monkeypatch.setattr(ridge_expert, "PENALTIES", (1.0,))
    weight = RNG.uniform(0.5, 2, len(Y)) if weighted else np.ones(len(Y))
    _, held_out = fit(name, weight)
    for row in (0, 7, 59):
        np.testing.assert_allclose(held_out[row], anew(name, weight, row, 1.0), atol=1e-9)


@each_kernel
def test_new_rows_are_predicted_as_training_rows_are_fitted(name, monkeypatch):
    monkeypatch.setattr(ridge_expert, "PENALTIES", (1.0,))
    scores, _ = fit(name)
    kind, X = FEATURES[name]
    kernel = kind.of(X)
    G = kernel(kernel.rows(X), kernel.rows(X))
    smooth = G @ np.linalg.inv(G + np.trace(G) / len(G) * np.eye(len(G)))
    np.testing.assert_allclose(scores(X), Y.mean(axis=0) + smooth @ (Y - Y.mean(axis=0)), atol=1e-9)


@each_kernel
def test_weights_are_repetitions(name, monkeypatch):
    kind, X = FEATURES[name]
    times, kernel = RNG.integers(1, 4, len(Y)), kind.of(X)
    repeated = np.repeat(np.arange(len(Y)), times)
    monkeypatch.setattr(ridge_expert, "PENALTIES", (1.0,))
    weighted, _ = fit(name, times.astype(float))
    monkeypatch.setattr(ridge_expert, "PENALTIES", (times.mean(),))  # weights have no unit
    rows = np.arange(5)
    other, _ = fit_ridge(kernel, X[repeated], Y[repeated], np.ones(len(repeated)), rows, np.random.RandomState(0))
    np.testing.assert_allclose(weighted(X), other(X), atol=1e-9)


@each_kernel
def test_the_penalty_is_that_of_least_error(name, monkeypatch):
    _, held_out = fit(name)
    error = ((held_out - Y) ** 2).sum()
    for penalty in PENALTIES:
        monkeypatch.setattr(ridge_expert, "PENALTIES", (penalty,))
        assert ((fit(name)[1] - Y) ** 2).sum() >= error - 1e-9


def test_many_rows_of_few_words_are_fitted_by_their_features(monkeypatch):
    whole = fit("linear")
    monkeypatch.setattr(ridge_expert, "MOST_ROWS", 40)
    primal = fit("linear")
    np.testing.assert_allclose(primal[0](WORDS), whole[0](WORDS), atol=1e-9)
    np.testing.assert_allclose(primal[1], whole[1], atol=1e-9)


@each_kernel
def test_as_many_landmarks_as_rows_change_nothing(name, monkeypatch):
    whole = fit(name)
    monkeypatch.setattr(ridge_expert, "MOST_ROWS", 10)
    monkeypatch.setattr(ridge_expert, "LANDMARKS", 60)
    close = fit(name)
    X = FEATURES[name][1]
    np.testing.assert_allclose(close[0](X), whole[0](X), atol=1e-5)
    np.testing.assert_allclose(close[1], whole[1], atol=1e-5)


@each_kernel
def test_some_landmarks_come_close_and_bound_memory(name, monkeypatch):
    whole = fit(name)
    monkeypatch.setattr(ridge_expert, "MOST_ROWS", 10)
    monkeypatch.setattr(ridge_expert, "MOST_FEATURES", 10)
    monkeypatch.setattr(ridge_expert, "LANDMARKS", 30)
    monkeypatch.setattr(ridge_expert, "MOST_TRAINED", 45)
    scores, held_out = fit(name, rows=np.arange(20))
    X = FEATURES[name][1]
    assert scores.landmarks.shape[0] == 30
    assert held_out.shape == (20, 3)
    for label in range(3):
        assert np.corrcoef(scores(X)[:, label], whole[0](X)[:, label])[0, 1] > 0.7


@each_kernel
def test_blocks_of_rows_change_nothing(name, monkeypatch):
    monkeypatch.setattr(ridge_expert, "MOST_ROWS", 10)
    monkeypatch.setattr(ridge_expert, "LANDMARKS", 30)
    whole = fit(name, rows=np.arange(20))
    monkeypatch.setattr(ridge_expert, "ENTRIES", 50)
    monkeypatch.setattr(ridge_expert, "HELD", 50)
    parts = fit(name, rows=np.arange(20))
    np.testing.assert_allclose(parts[1], whole[1], atol=1e-9)
    np.testing.assert_allclose(parts[0](FEATURES[name][1]), whole[0](FEATURES[name][1]), atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_words_are_scaled_rows_of_length_one(seed):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.poisson(0.4, (8, 6)) * rng.choice([-1.0, 1.0], 6))
    rows = Linear.of(X).rows(X)
    length = np.sqrt((rows.toarray() ** 2).sum(axis=1))
    np.testing.assert_allclose(length, (X.toarray() != 0).any(axis=1), atol=1e-12)
    assert np.array_equal(np.sign(rows.toarray()), np.sign(X.toarray()))
    assert np.array_equal(Linear.of(X.toarray()).factor, Linear.of(X).factor)


def test_a_column_of_large_numbers_counts_as_one_of_ones():
    X = np.ones((4, 2))
    X[:, 1] = 1e6
    np.testing.assert_allclose(Linear.of(X).rows(X).toarray(), np.sqrt([[0.5, 0.5]] * 4))


def test_missing_values_count_as_the_mean():
    X = DENSE.copy()
    X[::3, 1] = np.nan
    kernel = Gaussian.of(X)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(kernel.rows(X), kernel.rows(filled), atol=1e-12)
    np.testing.assert_allclose(kernel.mean, np.nanmean(X, axis=0))
    np.testing.assert_allclose(kernel.deviation, np.nanstd(X, axis=0))


def test_the_rate_is_two_over_the_median_squared_distance():
    kernel = Gaussian.of(DENSE)
    rows = kernel.rows(DENSE)
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)[np.triu_indices(60, 1)]
    assert kernel.rate == pytest.approx(2 / np.median(squares))
    np.testing.assert_allclose(kernel(rows, rows)[0, 1], np.exp(-kernel.rate * squares[0]))
    assert Gaussian.of(np.ones((3, 2))).rate == 1


@pytest.mark.parametrize("value", [0.0, 2.0**-600, 2.0**-1074])
@pytest.mark.parametrize("n", [30, 3], ids=["few features", "few rows"])
def test_rows_without_anything_in_them_get_the_mean(value, n):
    """Their kernel is 0, and penalties in units of it would be, too."""
    X, labels = sparse.csr_array(np.full((n, 5), value)), np.arange(3 * n).reshape(n, 3) % 4 == 1
    scores, held_out = fit_ridge(Linear.of(X), X, labels, np.ones(n), np.arange(n), np.random.RandomState(0))
    assert np.isfinite(held_out).all()
    np.testing.assert_allclose(scores(X[:1])[0], labels.mean(axis=0))


@pytest.mark.parametrize("constant", [0.5, 0.1, 1e6 + 0.1, 0.0])
def test_a_constant_column_changes_nothing(constant):
    """The mean of many 0.1 is not 0.1 to the last digit, which is no deviation."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    kernel, other = Gaussian.of(X), Gaussian.of(np.column_stack([X, np.full(300, constant)]))
    new = np.column_stack([X, np.full(300, constant * (1 + 1e-12))])
    np.testing.assert_allclose(other.rows(new)[:, :4], kernel.rows(X))
    assert abs(other.rows(new)[:, 4]).max() < 1e-5
