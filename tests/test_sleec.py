"""SLEEC against itself written out."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeRegressor

from clems import COSTS, SLEEC
from clems.datasets import digit_scenes
from clems.decisions.score_threshold import above
from clems.embedding.neighbours import neighbour_scores
from clems.labels.distinct import distinct_rows
from clems.learners import sleec

X, Y = make_multilabel_classification(300, n_features=8, n_classes=9, random_state=0)
TRAIN, TEST = slice(0, 200), slice(200, 300)


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
        [
            SLEEC(n_folds=n_folds, estimator=forest, random_state=seed).fit(features[:400], labels[:400])
            for seed in (0, 1, 2)
        ]
        for n_folds in (None, 2)
    )
    for cost in ("f1", "rank", "hamming"):
        there, here = (
            np.mean([COSTS[cost].rowwise(labels[400:], model.predict(features[400:], cost=cost)) for model in models])
            for models in (known, unseen)
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
