"""Posteriors of chains against enumeration of their distribution."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import kstest

from clems import COSTS, get_cost
from clems.decisions.rules import rule_for
from clems.posterior.chains import Chain, by_draws, by_likelihood, grow, probability, row_offsets
from clems.posterior.distribution import Posterior


def every_vector(K):
    return np.array(list(itertools.product([0, 1], repeat=K)), np.uint8)


def offsets(seed, n, K):
    return np.random.default_rng(seed).integers(0, 2**32, (n, K))


class Table:
    """A classifier that looks the probability up by the labels before; features are the row of the table."""

    classes_ = (0, 1)

    def __init__(self, table):
        self.table = table  # shape (rows, 2^j)

    def predict_proba(self, X):
        row, bits = X[:, 0].astype(int), X[:, 1:].astype(int)
        p = self.table[row, bits @ (1 << np.arange(bits.shape[1]))]
        return np.column_stack([1 - p, p])


@st.composite
def chains(draw, max_labels=8):
    """Chains with known probabilities for up to three rows, and the distribution of all vectors that they have."""
    K, n = draw(st.integers(1, max_labels)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sharpness = draw(st.sampled_from([0.1, 0.5, 2]))
    tables = [rng.beta(sharpness, sharpness, (n, 2**j)) for j in range(K)]
    if draw(st.booleans()):
        tables = [table.round(1) for table in tables]  # with zeros, ones and ties
    order = rng.permutation(K)
    every = every_vector(K)
    joint = np.ones((n, 2**K))
    for j, table in enumerate(tables):
        before, bit = every[:, order[:j]], every[:, order[j]]
        p = table[:, before @ (1 << np.arange(j))]
        joint *= np.where(bit, p, 1 - p)
    return Chain(order, [Table(table) for table in tables]), np.arange(n, dtype=float)[:, None], every, joint


@settings(max_examples=500)
@given(case=chains())
def test_decisions_of_a_chain_are_the_best_of_all_vectors(case):
    chain, rows, every, joint = case
    posterior = grow(chain, rows, 1, by_likelihood(2 ** len(chain.order)))
    np.testing.assert_allclose(posterior.marginals, joint @ every, atol=1e-12)
    for cost in map(get_cost, ["hamming", "f1", "f_beta", "f_beta(0.5)", "rank", "composition", "zero_one"]):
        predicted = rule_for(cost).decide(posterior, cost)
        expected = joint @ cost.pairwise(every, every)
        reached = expected[np.arange(len(rows)), predicted @ (1 << np.arange(len(chain.order)))[::-1]]
        np.testing.assert_allclose(reached, expected.min(axis=1), atol=1e-12)


@given(case=chains(), n_samples=st.integers(1, 200), seed=st.integers(0, 99))
def test_draws_are_whole_and_probable(case, n_samples, seed):
    chain, rows, every, joint = case
    K = len(chain.order)
    posterior = grow(chain, rows, n_samples, by_draws(offsets(seed, len(rows), K)))
    counts = posterior.share.data * n_samples
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
    np.testing.assert_allclose(posterior.share.sum(axis=1), 1)
    place = posterior.labels @ (1 << np.arange(K))[::-1]
    row = np.repeat(np.arange(len(rows)), np.diff(posterior.share.indptr))
    np.testing.assert_allclose(np.exp(posterior.likelihood), joint[row, place], atol=1e-12)
    assert (joint[row, place] > 0).all()
    assert len({*zip(row, place, strict=True)}) == len(row)  # every vector once
    first = posterior.labels[:, chain.order[0]]
    drawn = np.bincount(row, counts * first, len(rows))
    assert (np.abs(drawn - n_samples * (joint @ every)[:, chain.order[0]]) < 1).all()


def test_draws_agree_with_enumeration_on_average():
    rng = np.random.default_rng(0)
    K, seeds, n_samples = 4, 3000, 7
    tables = [rng.random((2, 2**j)) for j in range(K)]
    chain = Chain(np.arange(K), [Table(table) for table in tables])
    rows = np.arange(2.0)[:, None]
    whole = grow(chain, rows, 1, by_likelihood(2**K))
    frequency, marginals, sampled = np.zeros((2, 2**K)), np.zeros((seeds, 2, K)), np.zeros((seeds, 2, K))
    for seed in range(seeds):
        drawn = grow(chain, rows, n_samples, by_draws(offsets(seed, len(rows), K)))
        place = drawn.labels @ (1 << np.arange(K))[::-1]
        np.add.at(frequency, (np.repeat([0, 1], np.diff(drawn.share.indptr)), place), drawn.share.data / seeds)
        marginals[seed], sampled[seed] = drawn.marginals, drawn.share @ drawn.labels.astype(float)
    joint = whole.share.data.reshape(2, -1)
    five_errors = 5 * np.sqrt(joint * (1 - joint) / (seeds * n_samples))  # of independent draws, which have more
    assert (np.abs(frequency - joint) < five_errors).all()
    errors = marginals.std(axis=0) / np.sqrt(seeds)
    assert (np.abs(marginals.mean(axis=0) - whole.marginals) < 5 * errors + 1e-12).all()
    assert (marginals.std(axis=0) < sampled.std(axis=0) + 1e-12).all()
    independent = np.sqrt(whole.marginals * (1 - whole.marginals) / n_samples)
    assert (sampled.std(axis=0) < independent).all()


@given(case=chains(max_labels=6))
def test_a_wider_beam_finds_likelier_vectors(case):
    chain, rows, _, joint = case
    found = []
    for width in (1, 4, 64):
        posterior = grow(chain, rows, 1, by_likelihood(width))
        assert (np.diff(posterior.share.indptr) <= width).all()
        best = rule_for(COSTS["zero_one"]).decide(posterior, COSTS["zero_one"])
        found.append(joint[np.arange(len(rows)), best @ (1 << np.arange(len(chain.order)))[::-1]])
    np.testing.assert_allclose(found[-1], joint.max(axis=1))
    greedy, bits = np.ones(len(rows)), np.zeros((len(rows), 0))
    for estimator in chain.estimators:
        p = estimator.predict_proba(np.hstack([rows, bits]))[:, 1]
        bits = np.column_stack([bits, p > 0.5])
        greedy *= np.maximum(p, 1 - p)
    np.testing.assert_allclose(found[0], greedy)


def test_offsets_are_uniform_and_those_of_different_rows_independent():
    rng = np.random.default_rng(0)
    features = np.unique(rng.integers(0, 2, (20_000, 16)).astype(float), axis=0)  # few values: the hard case
    seeds = rng.integers(0, 2**63, 5).astype(np.uint64)
    drawn = row_offsets(features, seeds) / 2**32
    assert drawn.min() >= 0
    assert drawn.max() < 1
    for column in drawn.T:
        assert kstest(column, "uniform").pvalue > 1e-4
    assert np.abs(np.corrcoef(drawn.T) - np.eye(5)).max() < 0.04
    assert abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < 0.04
    assert np.array_equal(row_offsets(sparse.csr_array(features), seeds), row_offsets(features, seeds))


class Given:
    """A classifier that predicts what it is given."""

    def __init__(self, value, classes=(0, 1)):
        self.value, self.classes_ = value, classes

    def predict_proba(self, X):
        return np.asarray(self.value)


def test_probabilities_of_estimators_are_checked():
    rows = np.zeros((2, 1))
    assert probability(Given([[0, 1 + 1e-12], [1, 0]]), rows).tolist() == [1, 0]
    assert probability(Given([[0.2, 0.8], [1, 0]], (True, False)), rows).tolist() == [0.2, 1]
    assert probability(Given([[1], [1]], (0.0,)), rows).tolist() == [0, 0]
    for value, classes, message in [
        ([[0.5, 1.1]] * 2, (0, 1), "Given predicted probabilities outside 0 to 1"),
        ([[0.5, np.nan]] * 2, (0, 1), "Given predicted probabilities outside 0 to 1"),
        ([0.5, 0.5], (0, 1), r"classes \[0, 1\] and gave an array of shape \(2,\)"),
        ([[0.5, 0.5]] * 2, ("0", "1"), r"classes \['0', '1'\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            probability(Given(value, classes), rows)


def test_rank_of_labels_that_are_alike():
    for K in (1, 3, 6, 7, 10):
        for p, wanted in ((0.1, 0), (0.7, 1), (0.3, 0), (1.0, 1), (0.0, 0)):
            marginals = np.full((2, K), p)
            posterior = Posterior(np.zeros((2, K), np.uint8), sparse.csr_array(np.eye(2)), marginals=marginals)
            assert (rule_for(COSTS["rank"]).decide(posterior, COSTS["rank"]) == wanted).all()
