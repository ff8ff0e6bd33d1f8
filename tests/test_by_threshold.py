"""Embeddings that score labels: the threshold is one half, a number, or the best for a cost."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score
from sklearn.tree import DecisionTreeRegressor

from clems import CRITERIA, LEARNERS, get_cost
from clems.datasets import digit_scenes
from clems.learners.by_threshold import ThresholdClassifier

X, Y = digit_scenes(260, random_state=0)
X, Y = X[:, ::4], Y[:, :6]
TRAIN, TEST = slice(0, 160), slice(160, 260)
each = pytest.mark.parametrize(
    "learner", [one for one in LEARNERS.values() if issubclass(one, ThresholdClassifier)], ids=lambda one: one.__name__
)


def fit(learner, *args, estimator=None, **settings):
    return learner(*args, estimator=estimator or Ridge(), random_state=0, **settings).fit(X[TRAIN], Y[TRAIN])


@each
def test_without_a_cost_one_half_decides_and_score_is_subset_accuracy(learner):
    plain, half = fit(learner), fit(learner, threshold=0.5)
    assert not plain.cost_sensitive
    assert not plain.cost_at_predict
    assert learner.cost_sensitive
    assert plain.threshold_ == 0.5
    predicted = plain.predict(X[TEST])
    assert np.array_equal(predicted, plain._scores(X[TEST]) > 0.5)
    assert np.array_equal(predicted, half.predict(X[TEST]))
    assert plain.score(X[TEST], Y[TEST]) == pytest.approx(accuracy_score(Y[TEST], predicted))
    with pytest.raises(
        ValueError, match=r"fitted with a threshold of 0\.5 for every cost; fit it with threshold='auto'"
    ):
        plain.predict(X[TEST], cost="f1")


@each
def test_a_number_is_the_threshold(learner):
    low, high = fit(learner, threshold=0.2), fit(learner, threshold=0.8)
    assert np.array_equal(low.predict(X[TEST]), low._scores(X[TEST]) > 0.2)
    assert low.predict(X[TEST]).sum() > high.predict(X[TEST]).sum()


@each
def test_auto_without_a_cost_is_for_f1_and_serves_all(learner):
    model = fit(learner, threshold="auto")
    assert model.cost_ is get_cost("f1")
    assert model.cost_sensitive
    assert model.cost_at_predict
    assert np.array_equal(model.predict(X[TEST]), fit(learner, "f1").predict(X[TEST]))
    assert np.array_equal(model.predict(X[TEST], cost="rank"), fit(learner, "rank").predict(X[TEST]))


@each
@pytest.mark.parametrize("cost", ["f1", "rank"])
def test_the_threshold_is_the_best_of_all_on_rows_that_were_held_out(learner, cost):
    model = fit(learner, cost)
    truth, scores, weight = model._seen
    assert weight is None
    scores = scores.toarray()

    def paid(threshold):
        return get_cost(cost).rowwise(truth.toarray(), scores > threshold).mean()

    grid = np.linspace(0.01, 0.99, 99)
    assert paid(model.threshold_) <= 1.02 * min(
        map(paid, grid)
    )  # of 64 thresholds between scores, the best is nearly the best of all
    in_sample = fit(learner, cost, n_folds=None)._seen[1].toarray()
    assert not np.allclose(in_sample, scores)


@each
def test_rows_that_a_tree_knows_by_heart_say_nothing_of_the_threshold(learner):
    """Why rows are held out: a tree that knows its rows by heart gets every threshold right there."""
    noisy = DecisionTreeRegressor(min_samples_leaf=2)
    honest, peeping = (fit(learner, "f1", n_folds=folds, estimator=noisy) for folds in (2, None))
    f1 = CRITERIA["f1"]
    known, new = (f1(Y[part], peeping.predict(X[part])) for part in (TRAIN, TEST))
    assert known > new
    assert honest.threshold_ != peeping.threshold_


@each
def test_scores_that_are_all_the_same(learner):
    model = fit(learner, "f1", estimator=DummyRegressor())
    assert len(np.unique(model.predict(X[TEST]), axis=0)) == 1
