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

labels = arrays(np.uint8, (5, 4), elements=st.integers(0, 1))


def test_every_cost_has_a_criterion():
    assert set(CRITERIA) == {*COSTS, "micro_f1", "macro_f1"}


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
    scorer = CRITERIA[name].scorer
    good, bad = (scorer(Fixed(P), np.zeros((2, 1)), Y) for P in (Y, 1 - Y))
    assert good > bad
    assert name in repr(scorer)


def test_get_criterion():
    prices = weighted_hamming([2, 1], name="prices")
    assert get_criterion(prices)([[1, 0]], [[0, 0]]) == 2
    assert get_criterion("f1") is CRITERIA["f1"]
    assert get_criterion(CRITERIA["f1"]) is CRITERIA["f1"]
    assert get_criterion("f_beta(0.5)").name == "f_beta(0.5)"
    for unknown in ("f7", None, "f_beta(x)"):
        with pytest.raises(
            ValueError, match=f"Unknown criterion {re.escape(repr(unknown))}; the criteria are accuracy"
        ):
            get_criterion(unknown)


@pytest.mark.parametrize("name", sorted(CRITERIA))
@pytest.mark.parametrize("weight", [[1, 1, 1], [-1, 1], [0, 0], [np.nan, 1], ["a", "b"]])
def test_bad_weights_are_told(name, weight):
    Y = np.eye(2, dtype=int)
    with pytest.raises(ValueError, match="sample_weight"):
        CRITERIA[name](Y, Y, weight)
    with pytest.raises(ValueError, match="at least one row"):
        CRITERIA[name](Y[:0], Y[:0])
