"""CFT against its definition."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from clems import BR, CC, CFT, COSTS, weighted_hamming
from clems.arrays import beside
from clems.learners.cft import Round, pooled

X, Y = make_multilabel_classification(160, n_features=6, n_classes=5, random_state=0)
TRAIN, TEST = slice(0, 100), slice(100, 160)
NAMES = np.array(list("abcde"))


class Noting(ClassifierMixin, BaseEstimator):
    """A naive Bayes classifier that notes what it is trained on."""

    def __init__(self, notes=None):
        self.notes = notes

    def __sklearn_clone__(self):
        return Noting(self.notes)

    def fit(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        self.notes.append((np.asarray(X), np.asarray(y), weight))
        self.model_ = GaussianNB().fit(X, y, sample_weight=weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


def noted(learner, **settings_):
    notes = []
    model = learner(estimator=Noting(notes), random_state=0, **settings_).fit(X[TRAIN], Y[TRAIN])
    return model, notes


def test_one_round_for_hamming_is_the_training_of_a_chain():
    plain, plain_notes = noted(CC, order=[3, 1, 4, 0, 2])
    filtered, notes = noted(CFT, cost="hamming", n_rounds=1, order=[3, 1, 4, 0, 2])
    assert len(notes) == len(plain_notes) == 5
    for problem, other in zip(notes, plain_notes, strict=True):
        for ours, theirs in zip(problem, other, strict=True):
            assert np.array_equal(ours, theirs)
    assert np.array_equal(plain.predict(X[TEST]), filtered.predict(X[TEST]))


def test_one_round_for_hamming_grows_the_forests_of_a_chain():
    forest = RandomForestClassifier(7)
    plain, filtered = CC(estimator=forest, random_state=0), CFT("hamming", n_rounds=1, estimator=forest, random_state=0)
    assert np.array_equal(*(model.fit(X[TRAIN], Y[TRAIN]).predict(X[TEST]) for model in (plain, filtered)))


@pytest.mark.parametrize("cost", [*COSTS.values(), weighted_hamming([5, 1, 1, 2, 9], [1, 1, 3, 1, 1])])
def test_a_label_is_weighed_by_what_it_costs(cost):
    rng = np.random.default_rng(0)
    truth, at = rng.integers(0, 2, (2, 50, 5)).astype(np.uint8)
    order, weight = np.array([3, 1, 4, 0, 2]), rng.random(50)
    found = Round.of(at, truth, cost, weight, order)
    assert np.array_equal(found.at, at[:, order])
    for j, label in enumerate(order):
        zero, one = at.copy(), at.copy()
        zero[:, label], one[:, label] = 0, 1
        costs = np.column_stack([cost.rowwise(truth, zero), cost.rowwise(truth, one)])
        np.testing.assert_allclose(found.weight[:, j], weight * np.abs(costs[:, 0] - costs[:, 1]), atol=1e-12)
        matters = found.weight[:, j] > 0
        assert np.array_equal(found.target[matters, j], costs[matters].argmin(axis=1))


@pytest.mark.parametrize("n_rounds", [1, 2, 4])
def test_pooled_rows_are_those_of_all_rounds(n_rounds):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (40, 4)).astype(np.uint8)
    stands = [truth, *(truth ^ (rng.random((40, 4)) < 0.2) for _ in range(n_rounds - 1))]
    sample_weight = rng.random(40)
    rounds = [Round.of(at, truth, COSTS["rank"], sample_weight, np.array([2, 0, 3, 1])) for at in stands]
    for j, problem in enumerate(pooled(rounds, NAMES[:4], sample_weight.mean())):
        wanted = {}
        total = np.mean([r.weight[:, j] for r in rounds]) / sample_weight.mean()
        for r in rounds:
            for row in range(40):
                if r.weight[row, j]:
                    key = (*X[row], *r.at[row, :j], r.target[row, j])
                    wanted[key] = wanted.get(key, 0) + r.weight[row, j] / total
        features = beside(X[:40][slice(None) if problem.rows is None else problem.rows], problem.labels)
        found = {(*x, y): w for x, y, w in zip(features, problem.target, problem.weight, strict=True)}
        assert found.keys() == wanted.keys()
        np.testing.assert_allclose([found[key] for key in wanted], [*wanted.values()], rtol=1e-5)


def test_rounds_train_on_where_the_chain_arrives():
    _, notes = noted(CFT, cost="f1", n_rounds=3, n_folds=None)
    assert len(notes) == 15
    once, *_ = noted(CFT, cost="f1", n_rounds=1)
    truth, arrived = (labels.astype(np.uint8) for labels in (Y[TRAIN], once.predict(X[TRAIN])))
    rounds = [Round.of(at, truth, COSTS["f1"], None, np.arange(5)) for at in (truth, arrived)]
    for (features, target, weight), wanted in zip(notes[5:10], pooled(rounds, NAMES, 1.0), strict=True):
        rows = slice(None) if wanted.rows is None else wanted.rows
        assert np.array_equal(features, beside(X[TRAIN][rows], wanted.labels))
        assert np.array_equal(target, wanted.target)
        np.testing.assert_allclose(weight, wanted.weight)


def test_between_rounds_rows_are_predicted_by_chains_that_have_not_seen_them():
    notes = []
    features = np.arange(30.0)[:, None]  # tells rows apart
    labels = np.random.default_rng(0).integers(0, 2, (30, 2))

    class Spy(Noting):
        def __sklearn_clone__(self):
            return Spy(self.notes)

        def predict_proba(self, X):
            asked = {*X[:, 0].tolist()}
            trained = {*notes[-2][0][:, 0].tolist()}
            assert not asked & trained
            predicted.append(asked)
            return super().predict_proba(X)

    predicted = []
    CFT("hamming", n_rounds=3, n_folds=3, estimator=Spy(notes), random_state=0).fit(features, labels)
    assert len(notes) == 2 * (2 * 3 + 1)
    assert sorted(row for asked in predicted[::2] for row in asked) == sorted([*range(30)] * 2)


def test_labels_without_a_price_are_skipped():
    notes = []
    cost = weighted_hamming([1, 0, 1, 0, 1], [1, 0, 1, 0, 1])
    model = CFT(cost, n_rounds=2, n_folds=None, estimator=Noting(notes)).fit(X, Y)
    assert len(notes) == 6
    predicted = model.predict(X)
    assert (predicted[:, [1, 3]] == (Y[:, [1, 3]].mean(axis=0) > 0.5)).all()


def test_cft_needs_sample_weight_before_it_starts():
    fits = []

    class Spy(KNeighborsClassifier):
        def fit(self, X, y):
            fits.append(1)
            return super().fit(X, y)

    with pytest.raises(ValueError, match=r"CFT trains with weights, but Spy.fit has no parameter sample_weight"):
        CFT(estimator=Spy()).fit(X, Y)
    assert not fits
    with pytest.raises(ValueError, match=r"sample_weight was given, but Spy.fit has no parameter sample_weight"):
        BR(Spy()).fit(X, Y, np.ones(160))


def test_rounds_use_the_cost():
    blind, careful = (
        CFT(weighted_hamming(price), n_rounds=2, n_trees=20, random_state=0).fit(X[TRAIN], Y[TRAIN])
        for price in (1, 20)
    )
    assert careful.predict(X[TEST]).sum() > 1.2 * blind.predict(X[TEST]).sum()
