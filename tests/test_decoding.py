"""Decisions by expected cost, against brute force over all label vectors."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from clems import COSTS, f_beta, get_cost, weighted_hamming
from clems.decoding import (
    FEW,
    RULES,
    Posterior,
    above_threshold,
    affine_coefficients,
    best_of_each_size,
    by_rule,
    expected_costs,
    least_expected,
    least_line,
    most_likely,
    rule_for,
)


def every_vector(K):
    return (np.arange(2**K)[:, None] >> np.arange(K) & 1).astype(np.uint8)


@st.composite
def posteriors(draw):
    """Distributions over all vectors or a few, for one to four rows; some probabilities are equal, many are zero."""
    K, n = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = rng.permutation(every_vector(K))[: draw(st.integers(1, 2**K))]
    if draw(st.booleans()):
        share = rng.dirichlet(np.full(len(labels), draw(st.sampled_from([0.02, 0.3, 3]))), n)
    else:
        counts = rng.multinomial(draw(st.integers(1, 12)), np.full(len(labels), 1 / len(labels)), n)
        share = counts / counts.sum(axis=1, keepdims=True)
    return posterior_of(labels, share)


def posterior_of(labels, share):
    kept = sparse.csr_array(share)
    return Posterior(labels, kept, kept @ labels.astype(float), kept.data)


def expected(cost, posterior, predicted):
    """Expected cost of each row's prediction, and the least of all vectors."""
    costs = cost.pairwise(posterior.labels, every_vector(predicted.shape[1]))
    of_all = posterior.share @ costs
    chosen = predicted @ (1 << np.arange(predicted.shape[1]))
    return of_all[np.arange(len(predicted)), chosen], of_all.min(axis=1)


def prices(K):
    rng = np.random.default_rng(K)
    return weighted_hamming(rng.integers(0, 5, K), rng.integers(0, 5, K))


EXACT = ["hamming", "f1", "f_beta", "f_beta(0.5)", "rank", "composition", "zero_one"]


@settings(max_examples=500)
@given(posterior=posteriors())
def test_the_decision_is_the_best_of_all_vectors(posterior):
    for cost in map(get_cost, EXACT):
        rule = rule_for(cost)
        assert rule.exact
        np.testing.assert_allclose(*expected(cost, posterior, rule.decide(cost, posterior)), atol=1e-12)


@given(posterior=posteriors())
def test_prices_are_decided_label_by_label(posterior):
    cost = prices(posterior.labels.shape[1])
    assert rule_for(cost) is RULES["threshold"]
    np.testing.assert_allclose(*expected(cost, posterior, above_threshold(cost, posterior)), atol=1e-12)


@given(posterior=posteriors())
def test_rules_that_apply_to_the_same_cost_agree(posterior):
    for cost in COSTS.values():
        decided = [rule.decide(cost, posterior) for rule in RULES.values() if rule.applies(cost) and rule.exact]
        reached = [expected(cost, posterior, predicted)[0] for predicted in decided]
        for other in reached[1:]:
            np.testing.assert_allclose(other, reached[0], atol=1e-12)


@given(posterior=posteriors())
def test_any_cost_is_decided_no_worse_than_by_what_is_considered(posterior):
    cost = get_cost("accuracy")
    assert not rule_for(cost).exact
    predicted = rule_for(cost).decide(cost, posterior)
    reached, _ = expected(cost, posterior, predicted)
    K = predicted.shape[1]
    for considered in (
        most_likely(cost, posterior),
        *((posterior.marginals >= t).astype(np.uint8) for t in np.linspace(0, 1.01, 9)),
        *(predicted ^ flip for flip in np.eye(K, dtype=np.uint8)),
    ):
        assert (reached <= expected(cost, posterior, considered)[0] + 1e-12).all()


@given(posterior=posteriors())
def test_the_general_rule_finds_nothing_better_than_the_exact_ones(posterior):
    cost = f_beta(3)
    exact, least = expected(cost, posterior, best_of_each_size(cost, posterior))
    general, _ = expected(cost, posterior, least_expected(cost, posterior))
    assert (general >= exact - 1e-12).all()
    np.testing.assert_allclose(exact, least, atol=1e-12)


@given(posterior=posteriors())
def test_a_quick_decision_is_the_best_of_the_likeliest_labels_of_each_number(posterior):
    K = posterior.labels.shape[1]
    assume(len({*posterior.labels.sum(axis=1)}) <= FEW)
    rank = np.argsort(np.argsort(-posterior.marginals, axis=1, kind="stable"), axis=1)
    for cost in map(get_cost, ("f1", "f_beta", "composition")):
        reached, _ = expected(cost, posterior, by_rule(cost, posterior, quickly=True))
        prefixes = [expected(cost, posterior, (rank < size).astype(np.uint8))[0] for size in range(K + 1)]
        np.testing.assert_allclose(reached, np.min(prefixes, axis=0), atol=1e-12)
    for cost in map(get_cost, ("hamming", "rank", "zero_one")):
        assert np.array_equal(by_rule(cost, posterior, quickly=True), by_rule(cost, posterior))


@pytest.mark.parametrize("name", ["f1", "composition"])
def test_a_quick_decision_among_many_sizes_is_nearly_the_best(name):
    rng = np.random.default_rng(0)
    labels = (rng.random((200, 60)) < rng.random((200, 1)) * rng.random(60)).astype(np.uint8)
    assert len(np.unique(labels.sum(axis=1))) > 2 * FEW
    posterior = posterior_of(labels, rng.dirichlet(np.full(200, 0.1), 50))
    quick, exact, none = (
        expected_costs(COSTS[name], posterior, predicted).mean()
        for predicted in (
            by_rule(COSTS[name], posterior, quickly=True),
            by_rule(COSTS[name], posterior),
            np.zeros((50, 60), np.uint8),
        )
    )
    assert exact < quick < exact + 0.02 * (none - exact)


@pytest.mark.parametrize("K", [1, 2, 5])
@pytest.mark.parametrize("name", [name for name, cost in COSTS.items() if cost.affine_in_tp])
def test_affine_coefficients_give_the_cost_back(name, K):
    alpha, beta = affine_coefficients(COSTS[name], K)
    labels = every_vector(K).astype(int)
    size, tp = labels.sum(axis=1), labels @ labels.T
    costs = alpha[np.ix_(size, size)] + beta[np.ix_(size, size)] * tp
    np.testing.assert_allclose(costs, COSTS[name].pairwise(labels, labels), atol=1e-12)


@pytest.mark.parametrize("name", sorted(COSTS))
def test_no_prediction_costs_less_than_the_line_of_its_size(name):
    labels = every_vector(5)
    costs, tp, size = COSTS[name].pairwise(labels, labels), labels @ labels.T.astype(int), labels.sum(axis=1)
    floor, slope = np.transpose([least_line(COSTS[name].formula, 5, predicted) for predicted in size])
    assert (costs >= floor + slope * tp - 1e-12).all()


def test_rows_are_decided_alone():
    rng = np.random.default_rng(0)
    labels = rng.permutation(every_vector(7))[:40]
    share = rng.dirichlet(np.full(40, 0.1), 30)
    for cost in COSTS.values():
        decide = rule_for(cost).decide
        together = decide(cost, posterior_of(labels, share))
        alone = [decide(cost, posterior_of(labels, row[None]))[0] for row in share]
        assert np.array_equal(together, alone)


def test_many_labels_are_decided_in_blocks():
    rng = np.random.default_rng(0)
    labels = (rng.random((50, 300)) < 0.02).astype(np.uint8)
    posterior = posterior_of(labels, rng.dirichlet(np.full(50, 0.1), 20))  # 300 · 300 entries a row: several blocks
    predicted = best_of_each_size(COSTS["f1"], posterior)
    rank = best_of_each_size(COSTS["rank"], posterior)
    assert np.array_equal(rank, above_threshold(COSTS["rank"], posterior))
    reached = (posterior.share * COSTS["f1"].pairwise(predicted, labels)).sum(axis=1)
    seen = (posterior.share @ COSTS["f1"].pairwise(labels, labels)).min(axis=1)
    assert (reached <= seen + 1e-12).all()
    assert (reached < seen - 1e-6).any()
