"""Landmarks: where they change nothing, how close they come to the solver of all, and that they stay linear."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import euclidean_distances

from benchmarks.zipf import words_of, zipf_rows, zipf_sets
from clems import CLEMS, COSTS
from clems.embedding import landmarks as module
from clems.embedding.landmarks import (
    choose_landmarks,
    default_components,
    embed_by_landmarks,
    number_of_landmarks,
    placed,
    sampled_stress,
)
from clems.embedding.smacof import label_start, mirrored_smacof


def roots_of(cost):
    return lambda truths, predictions: np.sqrt(COSTS[cost].of_pairs(truths, predictions))


@pytest.fixture(scope="module")
def sets():
    return zipf_sets(700, 60)


def test_landmarks_by_default_only_of_many_label_vectors():
    assert number_of_landmarks("auto", module.MOST_SOLVED) is None
    assert number_of_landmarks("auto", module.MOST_SOLVED + 1) == module.LANDMARKS
    assert number_of_landmarks(None, 10**6) is None
    assert number_of_landmarks(30, 30) is None
    assert number_of_landmarks(30, 31) == 30


@pytest.mark.parametrize("given", [0, 1, -3, 2.5, True, "some", [3]])
def test_other_landmarks_are_refused(given):
    with pytest.raises(ValueError, match="landmarks must be 'auto', None or a whole number of at least 2; got"):
        number_of_landmarks(given, 100)


def test_few_label_vectors_are_embedded_as_without_landmarks():
    Y = zipf_rows(80, 60, 12)
    X = words_of(Y, 40)
    models = [CLEMS(n_trees=4, landmarks=given, random_state=0).fit(X, Y) for given in (None, "auto", 60)]
    for model in models[1:]:
        assert np.array_equal(model.embedding_.truth, models[0].embedding_.truth)
        assert np.array_equal(model.predict_proba(X), models[0].predict_proba(X))
        assert model.embedding_.landmarks is None


def test_vectors_of_labels_that_no_landmark_has_are_as_far_out_as_others():
    """In the centre, one of them would be the nearest to whatever a forest is unsure of."""
    labels = zipf_sets(3000, 1000, seed=1)
    found = embed_by_landmarks(labels, np.ones(3000), roots_of("f1"), 64, 200, np.random.RandomState(0))
    unseen = np.asarray(labels[found.landmarks].sum(axis=0)).ravel() == 0
    apart = np.diff(labels[:, ~unseen].indptr) == 0
    assert apart.sum() > 10
    for points in (found.truth, found.prediction):
        radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
        assert radius[apart].min() > 0.9 * np.median(radius)
        assert len(np.unique(points[apart], axis=0)) == apart.sum()
    for one, other in ((found.truth, found.prediction), (found.prediction, found.truth)):
        own = np.linalg.norm(one[apart] - other[apart], axis=1)
        assert np.median(own) < 0.5 * np.median(np.linalg.norm(one[apart] - other[np.roll(apart, 1)], axis=1))


@pytest.mark.parametrize("cost", ["f1", "rank", "accuracy"])
def test_stress_is_near_that_of_the_solver_of_all_pairs(sets, cost):
    weight = 1 + 200 / (1.0 + np.random.default_rng(0).permutation(sets.shape[0]))
    found = embed_by_landmarks(sets, weight, roots_of(cost), 60, 250, np.random.RandomState(0))
    wanted = roots_of(cost)(sets, sets)
    solved = mirrored_smacof(wanted, label_start(sets.toarray(), 60, np.random.RandomState(0)), weight, tol=1e-2)
    distance = euclidean_distances(found.truth, found.prediction)
    stress = float((weight @ (distance - wanted) ** 2).sum() / (weight @ wanted**2).sum())
    assert stress < solved.stress + 1e-3
    assert found.stress == pytest.approx(stress, rel=0.2)  # which was estimated on a sample


def test_landmarks_keep_the_points_that_the_solver_gave_them(sets):
    chosen, share = choose_landmarks(np.ones(sets.shape[0]), 300, np.random.RandomState(0))
    found = embed_by_landmarks(sets, np.ones(sets.shape[0]), roots_of("f1"), 20, 300, np.random.RandomState(0))
    assert np.array_equal(found.landmarks, chosen)
    assert share.sum() == pytest.approx(1)
    distance = euclidean_distances(found.truth[chosen], found.prediction[chosen])
    wanted = roots_of("f1")(sets[chosen], sets[chosen])
    assert ((distance - wanted) ** 2).sum() / (wanted**2).sum() == pytest.approx(found.history[-1], rel=1e-3)


def test_dense_and_sparse_labels_get_the_same_points(sets):
    points = [
        embed_by_landmarks(labels, np.ones(sets.shape[0]), roots_of("f1"), 16, 100, np.random.RandomState(0)).truth
        for labels in (sets, sets.toarray())
    ]
    assert np.allclose(*points, atol=1e-2)


def test_heavy_vectors_are_landmarks_and_the_rest_stands_for_all_others():
    weight = np.ones(1000)
    weight[[3, 700]] = 500, 400
    chosen, share = choose_landmarks(weight, 100, np.random.RandomState(0))
    assert {3, 700} <= {*chosen.tolist()}
    assert len(np.unique(chosen)) == 100
    by_vector = dict(zip(chosen.tolist(), share.tolist(), strict=True))
    assert by_vector[3] == pytest.approx(500 / weight.sum())
    assert share.sum() == pytest.approx(1)


def test_points_are_found_where_distances_are_exact(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 20)
    rng = np.random.default_rng(0)
    landmarks, points = rng.standard_normal((60, 4)), rng.standard_normal((25, 4))
    wanted = np.linalg.norm(points[:, None] - landmarks, axis=2).astype(np.float32)
    share = np.full(60, 1 / 60)
    towards = points - landmarks.mean(axis=0) + 0.05 * rng.standard_normal(points.shape)
    assert abs(placed(towards, landmarks, wanted, share) - points).max() < 1e-3


def test_steps_never_raise_the_error_of_a_point(sets, monkeypatch):
    rng = np.random.default_rng(0)
    landmarks, wanted = rng.standard_normal((40, 5)), rng.random((200, 40)).astype(np.float32)
    share, towards = rng.dirichlet(np.ones(40)), rng.standard_normal((200, 5))

    def errors(steps):
        monkeypatch.setattr(module, "STEPS", steps)
        points = placed(towards, landmarks, wanted, share)
        return (np.linalg.norm(points[:, None] - landmarks, axis=2) - wanted) ** 2 @ share

    by_steps = [errors(steps) for steps in range(6)]
    for before, after in pairwise(by_steps):
        assert (after <= before + 1e-5).all()
    assert by_steps[-1].sum() < by_steps[0].sum()


def test_estimated_stress_is_that_of_all_pairs_where_all_are_drawn(sets):
    rng = np.random.default_rng(0)
    truth, prediction = rng.standard_normal((2, sets.shape[0], 6))
    weight = rng.random(sets.shape[0])
    wanted = roots_of("f1")(sets, sets)
    distance = euclidean_distances(truth, prediction)
    exact = (weight @ (distance - wanted) ** 2).sum() / (weight @ wanted**2).sum()
    found = sampled_stress(sets, weight, roots_of("f1"), truth, prediction, np.random.RandomState(0))
    assert found == pytest.approx(exact, rel=0.05)


def test_no_pairs_of_all_label_vectors_are_compared(monkeypatch):
    largest = []

    def wanted(truths, predictions):
        largest.append(truths.shape[0] * predictions.shape[0])
        return roots_of("f1")(truths, predictions)

    monkeypatch.setattr(module, "ENTRIES", 1 << 14)
    monkeypatch.setattr(module, "SAMPLE", 100)
    labels = zipf_sets(3000, 200)
    embed_by_landmarks(labels, np.ones(3000), wanted, 8, 100, np.random.RandomState(0))
    assert max(largest) <= 1 << 14
    assert sum(largest) <= 2 * 3000 * 100 + 100 * 100 + 100 * 100


def test_clems_with_landmarks_predicts_about_as_well_as_without():
    Y = zipf_rows(1500, 600, 40)
    X = words_of(Y, 300)
    costs = {}
    for given in (None, 150):
        model = CLEMS(n_trees=20, landmarks=given, decoder="nearest", random_state=0).fit(X[:1000], Y[:1000])
        costs[given] = 1 - model.score(X[1000:], Y[1000:])
        assert sparse.issparse(model.predict(X[:3]))
    assert model.embedding_.landmarks is not None
    assert model.embedding_.truth.dtype == np.float32
    assert 0 <= model.reconstruction_error_ < 0.05
    assert costs[150] < 1.05 * costs[None]


def test_dimensions_are_capped_by_default_only_with_landmarks(monkeypatch):
    monkeypatch.setattr(module, "MOST_COMPONENTS", 7)
    Y = zipf_rows(80, 60, 12)
    X = words_of(Y, 40)
    shapes = {
        (given, size): CLEMS(n_trees=2, landmarks=given, n_components=size, random_state=0).fit(X, Y).codes_.shape[1]
        for given in (None, 20)
        for size in (None, 9)
    }
    assert shapes == {(None, None): 12, (None, 9): 9, (20, None): 7, (20, 9): 9}
    assert default_components(module.MANY_LABELS, None) == module.MANY_LABELS
    assert default_components(module.MANY_LABELS + 1, None) == 7
