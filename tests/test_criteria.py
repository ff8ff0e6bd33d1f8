"""Criteria against scikit-learn, and as scorers."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin

from clems import COSTS, CRITERIA, get_criterion, weighted_hamming
from clems.costs.criteria import LabelF1, MeanCost, label_criteria
from clems.costs.thresholds import common_threshold, threshold_of_each_label

labels = arrays(np.uint8, (5, 4), elements=st.integers(0, 1))


def test_every_cost_has_a_criterion():
    assert set(CRITERIA) == {*COSTS, "micro_f1", "macro_f1"}
    assert [*label_criteria()] == ["micro_f1", "macro_f1"]
    for name, criterion in CRITERIA.items():
        assert criterion.name == name
        assert criterion.of_single_rows == (name in COSTS) == isinstance(criterion, MeanCost)
        assert criterion.cost is COSTS.get(name, COSTS["f1"])


@pytest.mark.parametrize("name", sorted(CRITERIA))
@given(Y=labels, P=labels, weight=arrays(float, 5, elements=st.sampled_from([0.5, 1, 3])))
def test_what_has_been_checked_is_measured_alike(name, Y, P, weight):
    criterion = CRITERIA[name]
    for own in (None, weight):
        value = criterion(Y, P, own)
        assert criterion.measure(Y, P, own) == value
        assert criterion.measure(sparse.csr_array(Y), sparse.csr_array(P), own) == pytest.approx(value, abs=1e-12)
    assert criterion.as_cost(criterion.as_cost(value)) == pytest.approx(value, abs=1e-12)
    assert criterion.as_cost(criterion(Y, Y)) <= criterion.as_cost(criterion(Y, P)) + 1e-12


def test_micro_f1_pools_its_labels():
    assert CRITERIA["micro_f1"].pooled
    assert not CRITERIA["macro_f1"].pooled
    assert isinstance(CRITERIA["micro_f1"], LabelF1)
    Y, P = np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]])
    assert CRITERIA["micro_f1"](Y, P) == pytest.approx(4 / 5)
    assert CRITERIA["macro_f1"](Y, P) == pytest.approx(1 / 2)


@pytest.mark.parametrize("name", sorted(COSTS))
@given(Y=labels, P=labels)
def test_mean_cost_or_its_score(name, Y, P):
    criterion, cost = CRITERIA[name], COSTS[name]
    mean = cost.rowwise(Y, P).mean()
    assert criterion(Y, P) == pytest.approx(1 - mean if cost.as_score else mean)
    assert criterion.greater_is_better == cost.as_score
    assert criterion.arrow == "↓↑"[cost.as_score]


@pytest.mark.parametrize("average", ["micro", "macro"])
@given(Y=labels, P=labels, weight=arrays(float, 5, elements=st.sampled_from([0.5, 1, 3])))
def test_label_based_f1_is_scikit_learns(average, Y, P, weight):
    criterion = CRITERIA[f"{average}_f1"]
    wanted = metrics.f1_score(Y, P, average=average, zero_division=0)
    assert criterion(Y, P) == pytest.approx(wanted)
    assert criterion(sparse.csr_array(Y), P) == pytest.approx(wanted)
    weighted = metrics.f1_score(Y, P, average=average, zero_division=0, sample_weight=weight)
    assert criterion(Y, P, weight) == pytest.approx(weighted)


@given(Y=labels, P=labels, weight=arrays(np.int64, 5, elements=st.integers(1, 3)))
def test_a_weight_of_two_is_a_row_twice(Y, P, weight):
    for criterion in CRITERIA.values():
        twice = criterion(np.repeat(Y, weight, axis=0), np.repeat(P, weight, axis=0))
        assert criterion(Y, P, weight) == pytest.approx(twice)


class Fixed(ClassifierMixin, BaseEstimator):
    def __init__(self, P):
        self.P = P
        self.classes_ = np.arange(P.shape[1])

    def predict(self, X):
        return self.P


@pytest.mark.parametrize("name", sorted(CRITERIA))
def test_scorers_are_greater_when_better(name):
    Y = np.array([[1, 0, 0], [1, 1, 0]])
    criterion, scorer = CRITERIA[name], CRITERIA[name].scorer
    good, bad = (scorer(Fixed(P), np.zeros((2, 1)), Y) for P in (Y, 1 - Y))
    assert good > bad
    assert bad == criterion.sign * criterion(Y, 1 - Y)
    assert criterion.sign == (1 if criterion.greater_is_better else -1)
    assert name in repr(scorer)


def test_get_criterion():
    prices = weighted_hamming([2, 1], name="prices")
    assert get_criterion(prices)([[1, 0]], [[0, 0]]) == 2
    assert get_criterion("f1") == CRITERIA["f1"]
    assert get_criterion(CRITERIA["f1"]) == CRITERIA["f1"]
    assert get_criterion("f_beta(0.5)").name == "f_beta(0.5)"
    for unknown in ("f7", None, "f_beta(x)"):
        with pytest.raises(
            ValueError, match=f"Unknown criterion {re.escape(repr(unknown))}; .*he criteria are accuracy"
        ):
            get_criterion(unknown)


@pytest.mark.parametrize("name", sorted(CRITERIA))
@pytest.mark.parametrize("weight", [[1, 1, 1], [-1, 1], [0, 0], [np.nan, 1], ["a", "b"]])
def test_bad_weights_are_reported(name, weight):
    Y = np.eye(2, dtype=int)
    with pytest.raises(ValueError, match="sample_weight"):
        CRITERIA[name](Y, Y, weight)
    with pytest.raises(ValueError, match="at least one row"):
        CRITERIA[name](Y[:0], Y[:0])


@pytest.mark.parametrize("name", sorted(CRITERIA))
def test_every_truth_wants_its_prediction(name):
    Y = np.eye(3, dtype=int)
    for predicted in (Y[:1], Y[:2], Y[:, :2]):
        with pytest.raises(ValueError, match=r"^The truth and the prediction must have the same shape; got"):
            CRITERIA[name](Y, predicted)


# Thresholds


def f1_at(threshold, marginals, Y, weight=None):
    weight = np.ones(len(Y)) if weight is None else weight
    chosen = marginals > threshold
    return 2 * (weight @ (chosen * Y)) / np.maximum(weight @ chosen + weight @ Y, 1e-300)


def calibrated(n, seed=0):
    rng = np.random.default_rng(seed)
    marginals = rng.beta([0.5, 1, 0.5], [2, 1, 4], (n, 3))
    return marginals, (rng.random((n, 3)) < marginals).astype(np.uint8)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60))
def test_a_threshold_is_half_of_the_f1_that_it_reaches_and_no_other_reaches_more(seed, n):
    """F1 is judged by the probabilities themselves, which have no noise; rounding makes ties."""
    marginals = calibrated(n, seed)[0].round(1)
    for find, p in [(threshold_of_each_label, marginals), (common_threshold, marginals.reshape(-1, 1))]:
        found, possible = find(marginals, None), p.any(axis=0)
        best = np.max([f1_at(cut, p, p) for cut in [-1, *np.unique(p)]], axis=0)
        np.testing.assert_allclose(found[possible], best[possible] / 2)
        np.testing.assert_allclose(f1_at(found - 1e-12, p, p)[possible], best[possible])
        assert (found[~possible] == (common_threshold(marginals, None) if marginals.any() else 0.5)).all()


def test_thresholds_of_true_probabilities_are_best_for_what_is_drawn_from_them():
    marginals, Y = calibrated(20_000)
    each, common = threshold_of_each_label(marginals, None), common_threshold(marginals, None)
    for name, threshold in [("macro_f1", each), ("micro_f1", common)]:
        criterion = get_criterion(name)
        reached = criterion(Y, marginals > threshold)
        assert reached > max(criterion(Y, marginals > factor * threshold) for factor in (0.5, 0.7, 1.4, 2))
        assert np.array_equal(criterion.thresholds(marginals, None), threshold)


@pytest.mark.parametrize("find", [threshold_of_each_label, common_threshold])
def test_a_weight_is_a_number_of_equal_rows_to_a_threshold(find):
    marginals, _ = calibrated(200)
    weight = np.random.default_rng(1).integers(1, 4, 200)
    repeated = find(np.repeat(marginals, weight, axis=0), None)
    np.testing.assert_allclose(find(marginals, weight.astype(float)), repeated, rtol=1e-12)


def test_where_no_label_is_possible_a_threshold_is_one_half():
    assert threshold_of_each_label(np.zeros((9, 3)), None).tolist() == [0.5] * 3
    assert common_threshold(np.zeros((9, 3)), None).tolist() == [0.5]
