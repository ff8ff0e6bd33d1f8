"""CSRPE: what bits of pairs tell, and that they decode to the cheapest candidate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from clems import COSTS, CSRPE, weighted_hamming
from clems.embedding.reference_pairs import draw_pairs, reference_differences
from clems.labels.distinct import distinct_rows

SEPARATING = sorted(name for name, cost in COSTS.items() if cost.separating)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(COSTS)), st.integers(2, 12))
def test_bits_say_which_of_two_is_cheaper(seed, name, L):
    rng = np.random.default_rng(seed)
    labels = distinct_rows(rng.integers(0, 2, (L, 4)).astype(np.uint8))[0]
    pairs = draw_pairs(COSTS[name], labels, np.ones(len(labels)), 10**6, np.random.RandomState(0))
    assert len(pairs) == len(labels) * (len(labels) - 1) // 2
    difference = reference_differences(COSTS[name], labels, pairs)
    costs = COSTS[name].pairwise(labels, labels)
    own = costs[:, pairs[:, 0]] - costs[:, pairs[:, 1]]
    told = np.abs(own) > 1e-12
    np.testing.assert_allclose(difference[told], own[told])
    assert (np.abs(difference) > 0).all()
    if told.any() and not told.all():
        assert np.abs(difference[~told]).max() < np.abs(own[told]).mean()


@pytest.mark.parametrize("cost", [*SEPARATING, weighted_hamming([5, 1, 2, 1])], ids=str)
def test_with_all_pairs_and_perfect_classifiers_the_cheapest_candidate_is_found(cost):
    rng = np.random.default_rng(0)
    labels = distinct_rows(rng.integers(0, 2, (12, 4)).astype(np.uint8))[0]
    truth = rng.integers(0, len(labels), 60)
    model = CSRPE(cost, n_components=10**4, estimator=DecisionTreeClassifier(), n_folds=None, random_state=0)
    model.fit(truth[:, None], labels[truth])
    assert len(model.pairs_) == len(model.candidates_) * (len(model.candidates_) - 1) // 2
    bits = (reference_differences(model.cost_, labels, model.pairs_) > 0)[truth]
    known = model._bit_probabilities(model.estimators_, truth[:, None])
    candidate = model.candidates_.labels
    own = (reference_differences(model.cost_, candidate, model.pairs_) > 0).astype(float)
    nearest = np.abs(own[None] - known[:, None]).sum(axis=2).argmin(axis=1)
    cheapest = model.cost_.pairwise(labels[truth], candidate).argmin(axis=1)
    assert bits.shape == known.shape
    assert np.array_equal(nearest, cheapest)
    assert np.array_equal(model.predict(truth[:, None]), candidate[cheapest])


@pytest.mark.parametrize("name", ["f1", "rank", "zero_one"])
def test_few_pairs_tell_candidates_apart(name):
    labels = distinct_rows(np.random.default_rng(0).integers(0, 2, (200, 8)).astype(np.uint8))[0]
    pairs = draw_pairs(COSTS[name], labels, np.arange(1.0, len(labels) + 1), 400, np.random.RandomState(0))
    assert len(np.unique(pairs, axis=0)) == 400
    bits = reference_differences(COSTS[name], labels, pairs) > 0
    assert len(np.unique(bits, axis=0)) == len(labels)


def test_more_pairs_are_taken_where_they_are_wanted():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((80, 5)), rng.integers(0, 2, (80, 6))
    sizes = [len(CSRPE(n_components=size, n_trees=2, random_state=0).fit(X, Y).pairs_) for size in (None, 10, 2.0)]
    assert sizes == [32, 10, 12]


def test_a_given_sharpness_leaves_the_depth_open():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((80, 5)), rng.integers(0, 2, (80, 4))
    model = CSRPE(sharpness=0.1, n_trees=3, random_state=0).fit(X, Y)
    assert model.sharpness_ == 0.1
    assert model.at_depth(1).predict(X).shape == (80, 4)
