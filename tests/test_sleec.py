"""SLEEC and its parts against brute force over all pairs, all neighbours and all thresholds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeRegressor

from clems import COSTS, SLEEC, get_cost
from clems.candidates import distinct_rows
from clems.datasets import digit_scenes
from clems.factorisation import factorise, label_graph
from clems.learners import sleec
from clems.neighbours import above, best_threshold, neighbour_scores

X, Y = make_multilabel_classification(300, n_features=8, n_classes=9, random_state=0)
TRAIN, TEST = slice(0, 200), slice(200, 300)
VECTORS, PLACE = distinct_rows(Y.astype(np.uint8))
LABELS, FREQUENCY = sparse.csr_array(VECTORS, dtype=float), np.bincount(PLACE).astype(float)
each_rank = pytest.mark.parametrize("rank", [1, 2, 4, 6])


def factors(rank, n_neighbors=5, labels=LABELS, frequency=FREQUENCY, max_iter=50, tol=1e-3):
    seed = np.random.RandomState(0)
    return factorise(labels, frequency, rank, seed, n_neighbors=n_neighbors, max_iter=max_iter, tol=tol)


def error_by_rows(codes, n_neighbors):
    """Error over all pairs of rows whose label vectors are neighbours, each row counted by itself."""
    graph = label_graph(LABELS, FREQUENCY, n_neighbors).toarray()[PLACE][:, PLACE]
    wanted = (VECTORS @ VECTORS.T.astype(float))[PLACE][:, PLACE]
    found = (codes @ codes.T)[PLACE][:, PLACE]
    return (graph * (wanted - found) ** 2).sum() / (graph * wanted**2).sum()


@given(
    st.lists(st.lists(st.integers(0, 1), min_size=5, max_size=5), min_size=1, max_size=20, unique_by=tuple),
    st.integers(1, 25),
)
def test_the_graph_holds_the_nearest_label_vectors(vectors, n_neighbors):
    vectors = np.array(vectors, float)
    L = len(vectors)
    graph = label_graph(sparse.csr_array(vectors), np.arange(1.0, L + 1), n_neighbors).toarray()
    assert np.array_equal(graph, graph.T)
    assert {*graph.ravel()} <= {0, 1}
    assert graph.diagonal().all()
    sizes = np.maximum(np.sqrt(vectors.sum(axis=1)), 1)
    cosine = vectors @ vectors.T / np.outer(sizes, sizes)
    for own in range(L):
        others = np.array([other for other in range(L) if other != own], int)
        ranked = others[np.lexsort((-others, -cosine[own, others].round(9)))]  # the last are the most frequent
        assert graph[own, ranked[:n_neighbors]].all()
        for other in ranked[n_neighbors:]:  # only there because it has this one as a neighbour
            if graph[own, other]:
                rest = np.delete(cosine[other], [other, own])
                assert (rest > cosine[own, other] + 1e-9).sum() < n_neighbors


@each_rank
def test_error_falls_and_is_that_of_all_rows(rank):
    made = factors(rank)
    assert made.codes.shape == (len(VECTORS), rank)
    assert len(made.history) > 2
    assert (np.diff(made.history) < 0).all()
    assert made.error < 0.9 * made.history[0]
    assert made.error == pytest.approx(error_by_rows(made.codes, 5))


@each_rank
def test_better_than_random_factors(rank):
    made = factors(rank, max_iter=1)
    for seed in range(10):
        drawn = np.random.default_rng(seed).standard_normal(made.codes.shape)
        graph = label_graph(LABELS, FREQUENCY, 5).toarray() * np.outer(FREQUENCY, FREQUENCY)
        wanted, found = VECTORS @ VECTORS.T.astype(float), drawn @ drawn.T
        scale = (graph * wanted * found).sum() / (graph * found**2).sum()  # that of least error
        assert made.error < error_by_rows(np.sqrt(max(scale, 0)) * drawn, 5)


@each_rank
def test_for_all_pairs_no_factors_are_better_than_the_leading_axes(rank):
    scaled = np.sqrt(FREQUENCY)[:, None] * VECTORS
    values = np.linalg.svd(scaled)[1] ** 4
    made = factors(rank, n_neighbors=len(VECTORS))
    assert made.history[0] == pytest.approx(values[rank:].sum() / values.sum())
    assert made.error == pytest.approx(made.history[0])


def test_enough_dimensions_are_exact():
    for size in (9, 30):
        made = factors(size)
        assert made.codes.shape[1] == 9
        assert made.error < 1e-20
        np.testing.assert_allclose(made.codes @ made.codes.T, VECTORS @ VECTORS.T.astype(float), atol=1e-9)


def test_more_label_vectors_than_labels_or_fewer():
    few = factors(3, labels=LABELS[:5], frequency=FREQUENCY[:5], n_neighbors=2)
    assert few.codes.shape == (5, 3)
    assert (np.diff(few.history) < 0).all()
    lone = factors(4, labels=LABELS[:1], frequency=FREQUENCY[:1])
    assert lone.codes.shape == (1, 1)
    empty = factors(4, labels=sparse.csr_array((1, 3)), frequency=np.ones(1))
    assert not empty.codes.any()
    assert empty.error == 0


def test_leading_axes_of_very_many_labels(monkeypatch):
    exact = factors(2)
    monkeypatch.setattr("clems.factorisation.WIDE", 5)
    assert factors(2).history[0] == pytest.approx(exact.history[0], rel=1e-3)


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
    scores = neighbour_scores(moved, among, weight, labels, k, own=True).toarray()
    for row in range(40):
        others = np.arange(40) != row
        alone = neighbour_scores(moved[[row]], among[others], weight[others], labels[others], k)
        np.testing.assert_allclose(scores[row], alone.toarray()[0], atol=1e-12)


def test_rows_that_are_equally_far_share():
    among = np.array([[1.0, 0], [-1, 0], [0, 1], [0, 3]])
    scores = neighbour_scores(np.zeros((1, 2)), among, np.array([1.0, 1, 2, 9]), sparse.eye_array(4, format="csr"), 2)
    np.testing.assert_allclose(scores.toarray(), [[0.25, 0.25, 0.5, 0]])


def test_a_row_without_others_scores_nothing():
    assert not neighbour_scores(points(1, 0), points(1, 0), np.ones(1), sparse.csr_array([[1.0]]), 3, own=True).nnz


def far_off(Y, P):
    return (Y.sum(axis=1) - P.sum(axis=1)) ** 2 + (Y != P).sum(axis=1) / 9


@pytest.mark.parametrize("cost", [*COSTS, far_off])
@pytest.mark.parametrize("weight", [None, np.arange(300.0)])
def test_no_threshold_costs_less(cost, weight):
    cost = get_cost(cost)
    scores = np.clip(Y * 0.4 + np.random.default_rng(0).random(Y.shape) * 0.6, 0, 1).round(1)
    truth, scores = sparse.csr_array(Y.astype(np.uint8)), sparse.csr_array(scores)

    def mean_cost(threshold):
        return np.average(cost.rowwise(truth, above(scores, threshold)), weights=weight)

    chosen = best_threshold(cost, truth, scores, weight)
    assert 0 < chosen < 1
    every = np.arange(0.05, 1, 0.1)
    assert mean_cost(chosen) <= min(map(mean_cost, every)) + 1e-12
    as_good = [threshold for threshold in every if np.isclose(mean_cost(threshold), mean_cost(chosen))]
    assert abs(chosen - 0.5) == pytest.approx(min(abs(threshold - 0.5) for threshold in as_good))


def test_a_threshold_between_scores_of_any_kind():
    scores = sparse.csr_array(np.random.default_rng(0).random((400, 3)))
    truth = above(scores, 0.7)
    assert best_threshold(COSTS["hamming"], truth, scores) == pytest.approx(0.7, abs=0.02)
    assert best_threshold(COSTS["f1"], truth[:0], scores[:0]) == 0.5


def written_out(X, Y, X_new, cost, k, codes, folds):
    """SLEEC in one cluster with a linear regressor and a plain search for neighbours."""
    ridge = Ridge().fit(X, codes)
    known = ridge.predict(X)
    unseen = known.copy()
    for others, part in folds:
        unseen[part] = Ridge().fit(X[others], codes[others]).predict(X[part])
    near = NearestNeighbors(n_neighbors=k + 1).fit(known).kneighbors(unseen, return_distance=False)
    near = [[other for other in row if other != own][:k] for own, row in enumerate(near)]
    scores = np.array([Y[row].mean(axis=0) for row in near])
    thresholds = (np.arange(k) + 0.5) / k
    costs = [cost.rowwise(Y, (scores > t).astype(int)).mean() for t in thresholds]
    least = thresholds[np.isclose(costs, min(costs))]
    threshold = least[abs(least - 0.5).argmin()]
    found = NearestNeighbors(n_neighbors=k).fit(known).kneighbors(ridge.predict(X_new), return_distance=False)
    return threshold, (Y[found].mean(axis=1) > threshold).astype(int)


@pytest.mark.parametrize("n_components", [None, 3])
@pytest.mark.parametrize("cost", ["f1", "rank", "hamming"])
@pytest.mark.parametrize("n_folds", [None, 3])
def test_all_of_it_written_out(n_components, cost, n_folds):
    model = SLEEC(
        cost, n_components=n_components, n_neighbors=8, n_folds=n_folds, estimator=Ridge(), random_state=0
    ).fit(X[TRAIN], Y[TRAIN])
    codes = model.label_codes_[0][distinct_rows(Y[TRAIN].astype(np.uint8))[1]]
    assert np.array_equal(codes, model.codes_)
    splits = KFold(n_folds, shuffle=True, random_state=seed_of_folds()).split(X[TRAIN]) if n_folds else []
    threshold, wanted = written_out(X[TRAIN], Y[TRAIN], X[TEST], COSTS[cost], 8, codes, splits)
    assert model.threshold_ == pytest.approx(threshold)
    assert np.array_equal(model.predict(X[TEST]), wanted)


def seed_of_folds():
    """The state in which the learner draws parts: Ridge has a seed of its own, for the check and for the first fit."""
    state = np.random.RandomState(0)
    state.randint(2**31 - 1)
    state.randint(2**31 - 1)
    return state


def test_more_dimensions_keep_more():
    models = [SLEEC(n_components=M, estimator=Ridge(), random_state=0).fit(X, Y) for M in (1, 3, 5, 9)]
    kept = [model.explained_share_ for model in models]
    assert kept == sorted(kept)
    assert kept[0] < 0.999
    assert kept[-1] == pytest.approx(1)
    for model in models:
        assert model.explained_share_ == pytest.approx(1 - model.histories_[0][-1])
        assert model.n_iter_ == len(model.histories_[0])


def test_codes_decode_to_what_they_encode():
    exact = SLEEC(n_neighbors=1, estimator=Ridge(), random_state=0).fit(X, Y)
    assert exact.reconstruction_error_ == 0
    blurred = SLEEC(n_neighbors=40, estimator=Ridge(), random_state=0).fit(X, Y)
    codes, labels, frequency = blurred.label_codes_[0], blurred.labels_[0], blurred.frequencies_[0]
    decoded = above(neighbour_scores(codes, codes, frequency, labels, 40), blurred.threshold_).toarray()
    wanted = (decoded != labels.toarray())[distinct_rows(Y.astype(np.uint8))[1]].mean()
    assert blurred.reconstruction_error_ == pytest.approx(wanted)
    assert wanted > 0


def test_a_threshold_by_unseen_rows_is_the_better_one():
    features, labels = digit_scenes(700, random_state=0)
    forest = ExtraTreesRegressor(15, max_features=40)
    known, unseen = (
        SLEEC(n_folds=n_folds, estimator=forest, random_state=0).fit(features[:400], labels[:400])
        for n_folds in (None, 2)
    )
    for cost in ("f1", "rank", "hamming"):
        there, here = (
            COSTS[cost].rowwise(labels[400:], model.predict(features[400:], cost=cost)).mean()
            for model in (known, unseen)
        )
        assert here < there


ISLANDS = np.repeat([[0, 0, 1], [0, 1, 0], [1, 0, 0]], [40, 50, 3], axis=0) * 50.0
LANDS = np.repeat([0, 1, 2], [40, 50, 3])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_cluster_knows_the_labels_of_its_own_rows(form):
    rng = np.random.default_rng(0)
    features = ISLANDS + rng.standard_normal((93, 3))
    labels = np.zeros((93, 9), int)
    for land in range(3):
        labels[land == LANDS, 3 * land : 3 * land + 3] = rng.integers(0, 2, ((land == LANDS).sum(), 3))
    model = SLEEC(n_clusters=3, n_neighbors=4, estimator=DecisionTreeRegressor(), random_state=0)
    model.fit(form(features), labels)
    assert sorted(map(len, model.points_)) == [3, 40, 50]
    assert sorted(codes.shape[1] for codes in model.label_codes_)[0] <= 3
    new = form(ISLANDS + rng.standard_normal((93, 3)))
    predicted = model.predict(new)
    assert predicted.any()
    for land in range(3):
        assert not np.delete(predicted[land == LANDS], np.s_[3 * land : 3 * land + 3], axis=1).any()
        rows = np.flatnonzero(land == LANDS)
        assert np.array_equal(model.predict(new[rows]), predicted[rows])


def test_one_cluster_for_each_so_many_rows(monkeypatch):
    assert sleec.ROWS == 6000
    monkeypatch.setattr(sleec, "ROWS", 60)
    features = np.random.default_rng(0).standard_normal((160, 2))
    labels = (features > 0).astype(int)
    for n, number in ((20, 1), (89, 1), (91, 2), (160, 3)):
        model = SLEEC(estimator=Ridge(), n_neighbors=5, random_state=0).fit(features[:n], labels[:n])
        assert len(model.centers_) == len(model.estimators_) == number
        assert model.score(features, labels) > 0.7


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("of_type", "power"), [(float, -1040), (float, 512), (float, 1010), (np.float32, 100)])
def test_clusters_of_huge_and_of_tiny_features(form, of_type, power):
    centers, which = sleec.clusters(form(X), 4, None, np.random.RandomState(0))
    features = form(np.ldexp(X, power).astype(of_type))
    far, other = sleec.clusters(features, 4, None, np.random.RandomState(0))
    assert np.array_equal(other, which)
    np.testing.assert_allclose(np.ldexp(far.astype(float), -power), centers, rtol=1e-3)  # of the smallest number
    assert np.array_equal(sleec.nearest_centers(features, far), which)
    assert np.array_equal(sleec.nearest_centers(form(X), far), np.zeros(300) + sleec.nearest_centers(form(X[:1]), far))


@pytest.mark.parametrize("n_clusters", [2, 5, 12, 100])
@pytest.mark.parametrize("n_folds", [None, 2])
def test_small_clusters(n_clusters, n_folds):
    features, labels = X[:12].copy(), Y[:12].copy()
    features[5:] = features[5]  # which leaves six distinct rows
    labels[5:] = labels[5]
    labels[0] = 0
    model = SLEEC(
        n_clusters=n_clusters, n_folds=n_folds, n_neighbors=1, estimator=DecisionTreeRegressor(), random_state=0
    ).fit(features, labels)
    assert len(model.centers_) <= 6
    assert all(map(len, model.points_))
    assert np.array_equal(model.predict(features), labels)
    assert 0 < model.threshold_ < 1


def test_sparse_features_stay_sparse(monkeypatch):
    features = sparse.random_array((60, 100_000), density=1e-3, format="csr", random_state=np.random.default_rng(0))
    dense = sparse.csr_array.toarray

    def small(self, *args, **kwargs):
        assert self.shape[0] == 1 or self.shape[1] < 100_000  # a row may become a centre
        return dense(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", small)
    for n_clusters in (1, 2):
        model = SLEEC(n_clusters=n_clusters, estimator=Ridge(solver="lsqr"), random_state=0).fit(features, Y[:60])
        assert model.predict(features).shape == (60, 9)


def test_an_estimator_of_ones_own_is_left_alone():
    ridge = Ridge()
    SLEEC(estimator=ridge).fit(X, Y)
    assert vars(ridge) == vars(clone(ridge))
