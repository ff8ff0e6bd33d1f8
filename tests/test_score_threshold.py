"""Thresholds of scores against all others."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification

from clems import COSTS, get_cost
from clems.decisions.score_threshold import above, best_threshold

_, Y = make_multilabel_classification(300, n_features=8, n_classes=9, random_state=0)


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
