"""The solver against the dense procedure it replaces, and its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from benchmarks.authors import guttman, mirrored_matrices
from clems import COSTS, mirrored_smacof
from clems.embedding.smacof import Majoriser, label_start


def problem(seed, rows=7, columns=None, size=3):
    rng = np.random.default_rng(seed)
    columns = rows if columns is None else columns
    D = rng.random((rows, columns)) * 3
    return D, rng.integers(1, 9, rows), rng.normal(size=(rows, size)), rng.normal(size=(columns, size))


def raw_stress(D, weight, T, P):
    distance = np.linalg.norm(T[:, None] - P[None], axis=2)
    return (weight[:, None] * (distance - D) ** 2).sum() / (weight[:, None] * D**2).sum()


@given(seed=st.integers(0, 10**6), rows=st.integers(2, 9), size=st.integers(1, 5))
def test_closed_form_step_is_the_dense_step(seed, rows, size):
    D, weight, T, P = problem(seed, rows, size=size)
    delta, weights = mirrored_matrices(D, weight)
    dense = guttman(np.vstack([T, P]), delta, weights)
    majoriser = Majoriser(D, weight)
    point = majoriser.join(T, P)
    residual = np.empty_like(point)
    stress = majoriser(point, out=residual)
    new_T, new_P = majoriser.part(point - residual)
    shift = dense[rows:].mean(axis=0)  # the dense step centres on all points, ours on the predictions
    np.testing.assert_allclose(new_T, dense[:rows] - shift, atol=1e-6)
    np.testing.assert_allclose(new_P, dense[rows:] - shift, atol=1e-6)
    assert stress == pytest.approx(raw_stress(D, weight, T, P))


@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 12),
    columns=st.integers(1, 12),
    size=st.integers(1, 5),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_stress_never_rises_and_is_what_the_points_say(seed, rows, columns, size, dtype):
    D, weight, T, P = problem(seed, rows, columns, size)
    result = mirrored_smacof(D.astype(dtype), (T, P), weight, max_iter=2000)
    assert result.truth.shape == (rows, size)
    assert result.prediction.shape == (columns, size)
    assert result.truth.dtype == result.prediction.dtype == dtype
    assert (np.diff(result.history) <= 0).all()
    assert result.n_iter == len(result.history)
    assert result.stress == result.history[-1]
    assert result.stress == pytest.approx(raw_stress(D, weight, result.truth, result.prediction), abs=2e-5, rel=1e-3)


def test_ends_at_a_fixed_point_of_the_dense_step():
    D, weight, T, P = problem(3, rows=8, size=2)
    result = mirrored_smacof(D, (T, P), weight, max_iter=100_000, tol=1e-13)
    points = np.vstack([result.truth, result.prediction])
    points -= points.mean(axis=0)
    again = guttman(points, *mirrored_matrices(D, weight))
    np.testing.assert_allclose(again - again.mean(axis=0), points, atol=1e-3)


@pytest.mark.parametrize("K", [1, 3, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hamming_embeds_without_stress(K, dtype):
    labels = np.unique(np.random.default_rng(0).integers(0, 2, (40, K)), axis=0)
    D = np.sqrt(COSTS["hamming"].pairwise(labels, labels, dtype=dtype))
    result = mirrored_smacof(D, label_start(labels, K, np.random.RandomState(0)))
    assert result.stress < {np.float32: 1e-6, np.float64: 1e-9}[dtype]
    assert result.converged
    np.testing.assert_allclose(result.truth, result.prediction, atol=1e-2)


@pytest.mark.parametrize("name", sorted(COSTS))
@pytest.mark.parametrize("size", [1, 2, 6, 9])
def test_any_dimension(name, size):
    labels = np.unique(np.random.default_rng(0).integers(0, 2, (30, 6)), axis=0)
    D = np.sqrt(COSTS[name].pairwise(labels, labels))
    start = label_start(labels, size, np.random.RandomState(0))
    result = mirrored_smacof(D, start, max_iter=5000)
    assert result.truth.shape == result.prediction.shape == (len(labels), size)
    assert result.stress < result.history[0]


@pytest.mark.parametrize("name", ["composition", "f1", "f_beta"])
@pytest.mark.parametrize("K", [6, 8, 10])
def test_little_stress_is_lowered_as_far_as_much(name, K):
    """What tol leaves over the least stress is about that share of it, or of a thousandth where it is smaller."""
    labels = np.unique(np.random.default_rng(K).random((40, K)) < 0.35, axis=0).astype(int)
    D = np.sqrt(COSTS[name].pairwise(labels, labels))
    start = label_start(labels, K, np.random.RandomState(0))
    ended, least = (mirrored_smacof(D, start, tol=tol, max_iter=20_000).stress for tol in (1e-4, 1e-10))
    assert least < 5e-3
    assert ended - least <= 2e-4 * max(least, 1e-3)


def test_more_dimensions_fit_better():
    labels = np.unique(np.random.default_rng(0).integers(0, 2, (30, 6)), axis=0)
    D = np.sqrt(COSTS["accuracy"].pairwise(labels, labels))
    stress = [
        mirrored_smacof(D, label_start(labels, size, np.random.RandomState(0)), max_iter=5000).stress
        for size in (1, 3, 6, 12)
    ]
    assert sorted(stress, reverse=True) == stress


def test_more_dimensions_than_vectors_fit_as_well_as_enough():
    labels = np.zeros((8, 100), np.uint8)
    labels[:, 50:] = np.random.RandomState(0).randint(0, 2, (8, 50))
    D = np.sqrt(COSTS["hamming"].pairwise(labels, labels))
    for size in (7, 8, 50, 100):
        assert mirrored_smacof(D, label_start(labels, size, np.random.RandomState(0))).stress < 1e-8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dissimilarity": np.full((7, 7), np.nan)}, "finite numbers of at least 0"),
        ({"dissimilarity": -np.ones((7, 7))}, "finite numbers of at least 0"),
        ({"dissimilarity": np.ones(7)}, "must be a matrix of numbers"),
        ({"weight": np.arange(7)}, "weight must be positive"),
        ({"weight": np.ones(3)}, "one number for each of 7 rows"),
        ({"start": (np.ones((7, 2)), np.ones((7, 3)))}, "start must be truth and prediction points"),
        ({"start": (np.ones(7), np.ones(7))}, "start must be truth and prediction points"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ({"tol": -1.0}, "tol must be a number of at least 0"),
    ],
)
def test_bad_problems(change, message):
    D, weight, T, P = problem(0)
    with pytest.raises(ValueError, match=message):
        mirrored_smacof(**{"dissimilarity": D, "start": (T, P), "weight": weight} | change)


def test_neither_the_unit_nor_the_number_of_rows_matters():
    D, weight, T, P = problem(5)
    plain = mirrored_smacof(D, (T, P), weight, max_iter=2000)
    scaled = mirrored_smacof(1000 * D, (1000 * T, 1000 * P), 50 * weight, max_iter=2000)
    assert scaled.n_iter == plain.n_iter
    assert scaled.stress == pytest.approx(plain.stress)


def test_the_scale_of_the_start_does_not_matter():
    D, weight, T, P = problem(5)
    P -= P.mean(axis=0)
    plain, large = (mirrored_smacof(D, (c * T, c * P), weight, max_iter=2000) for c in (1, 1000))
    assert large.history[0] == pytest.approx(plain.history[0])
    assert large.stress == pytest.approx(plain.stress, rel=1e-3)
    scales = [raw_stress(D, weight, c * T, c * P) for c in np.linspace(0.01, 3, 300)]
    assert plain.history[0] == pytest.approx(min(scales), rel=1e-3)


def test_says_what_to_do_when_it_does_not_converge():
    D, weight, T, P = problem(5)
    with pytest.warns(ConvergenceWarning, match="after max_iter=3 evaluations .* raise max_iter, or raise tol"):
        result = mirrored_smacof(D, (T, P), weight, max_iter=3)
    assert not result.converged
    assert result.n_iter == 3


def test_a_single_point():
    result = mirrored_smacof(np.zeros((1, 1)), (np.zeros((1, 2)), np.zeros((1, 2))))
    assert result.stress == 0
    assert result.converged


def test_points_far_apart_do_not_break_single_precision():
    D, weight, T, P = problem(1, rows=30, size=4)
    D[0] *= 1e4
    result = mirrored_smacof(D.astype(np.float32), (1e4 + T, 1e4 + P), weight, max_iter=5000)
    assert np.isfinite(result.history).all()
    assert np.isfinite(result.truth).all()
    assert result.stress < result.history[0]
