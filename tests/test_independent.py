"""Independent labels: decisions against brute force over all 2^K vectors, and sums of labels against convolution."""

from functools import lru_cache

import numpy as np
import pytest
from distributions import every_vector, jaccard, own_cost
from hypothesis import given, settings
from hypothesis import strategies as st

from clems import COSTS, Posterior, f_beta, get_cost, weighted_hamming
from clems.costs.cost import CountCost
from clems.decisions.decide import decide, expected_costs, roughly_decide
from clems.decisions.independent import ALL_COUNTS, hits_help, independent_rules, prefix_costs
from clems.decisions.poisson_binomial import LEFT_OUT, common_window, of_sums, windows, with_each_label
from clems.decisions.rules import rule_for
from clems.posterior.distribution import stacked
from clems.posterior.independent import DRAWS, UNCERTAIN, IndependentPosterior

KINDS = ("uniform", "halves", "rare", "tenths", "tiny", "likely")


def some_marginals(rng, kind, n, K):
    P = rng.random((n, K))
    if kind == "halves":  # exactly 0, ½ and 1
        return rng.integers(0, 3, (n, K)) / 2
    if kind == "rare":
        return P**6
    if kind == "tenths":  # many ties
        return P.round(1)
    if kind == "tiny":
        return np.where(rng.random((n, K)) < 0.4, 10.0 ** -rng.integers(1, 300, (n, K)), P)
    return 1 - P**5 if kind == "likely" else P


def brute(P, cost):
    """Expected cost of all vectors for all rows, and how probable each vector is."""
    every = every_vector(P.shape[1])
    q = np.where(every == 1, P[:, None], 1 - P[:, None]).prod(axis=2)
    return q @ _between(cost, P.shape[1]), q


@lru_cache(20)
def _between(cost, K):
    return cost.pairwise(every_vector(K), every_vector(K))


def chosen(table, decided):
    return table[np.arange(len(table)), decided.astype(int) @ (1 << np.arange(decided.shape[1]))]


def even(c):
    """Affine in the hits, which help where the truth has an odd number of labels and harm where it is even."""
    return c.total + c.fp / 7 + np.where(c.truth % 2 == 0, c.tp, -c.tp)


def far(c):
    """Not affine, and more hits may cost more."""
    return (c.tp - 1) ** 2 + c.wrong


def squares(c):
    """Not affine, but a hit never costs more."""
    return c.fn**2 + c.fp * c.truth / 2


EVEN = CountCost(name="even", formula=even, affine_in_tp=True)
FAR, SQUARES = CountCost(name="far", formula=far), CountCost(name="squares", formula=squares)
ROOT = CountCost(name="root", formula=lambda c: np.sqrt(c.total) - np.sqrt(c.tn) + np.sqrt(c.fn))  # of possible counts
EXACT = [*COSTS.values(), f_beta(0.5), EVEN, SQUARES, ROOT]


# Decisions


@pytest.mark.parametrize("K", range(1, 11))
def test_the_decision_is_the_best_of_all_vectors(K):
    """On 1,200 rows of marginals, for every cost of counts, with and without a budget."""
    rng = np.random.default_rng(K)
    P = np.concatenate([some_marginals(rng, kind, 20, K) for kind in KINDS])
    posterior, size = Posterior.from_marginals(P), every_vector(K).sum(axis=1)
    k = int(rng.integers(0, K + 1))
    for cost in [*EXACT, weighted_hamming(rng.integers(0, 5, K), rng.integers(0, 5, K))]:
        table, _ = brute(P, cost)
        for budget, allowed in (({}, size >= 0), ({"at_most": k}, size <= k), ({"exactly": k}, size == k)):
            assert rule_for(cost, posterior.rules, budget=bool(budget)).exact
            decided = posterior.decide(cost, **budget)
            assert allowed[decided @ (1 << np.arange(K))].all()
            least = table[:, allowed].min(axis=1)
            np.testing.assert_allclose(chosen(table, decided), least, rtol=1e-11, atol=1e-12, err_msg=cost.name)
        np.testing.assert_allclose(
            posterior.expected_cost(decided, cost), chosen(table, decided), rtol=1e-11, atol=1e-12
        )


@settings(max_examples=200)
@given(
    P=st.integers(1, 7).flatmap(lambda K: st.lists(st.floats(0, 1), min_size=K, max_size=K)),
    name=st.sampled_from(sorted(COSTS)),
)
def test_any_probabilities_are_decided_exactly(P, name):
    row = np.array([P])
    table, _ = brute(row, COSTS[name])
    decided = Posterior.from_marginals(row).decide(name)
    np.testing.assert_allclose(chosen(table, decided), table.min(axis=1), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_rules_that_apply_to_the_same_cost_agree(kind):
    P = some_marginals(np.random.default_rng(0), kind, 20, 7)
    posterior = Posterior.from_marginals(P)
    for cost in EXACT:
        table, _ = brute(P, cost)
        able = [rule for rule in posterior.rules.values() if rule.applies(cost) and rule.exact]
        assert able
        for rule in able:
            np.testing.assert_allclose(
                chosen(table, rule.decide(posterior, cost)), table.min(axis=1), rtol=1e-11, atol=1e-12
            )


def test_which_rule_decides():
    rules = independent_rules(6)
    wanted = {"f1": "prefix", "accuracy": "prefix", "composition": "prefix", "f_beta": "prefix", "zero_one": "mode"}
    for name, rule in (wanted | {"hamming": "threshold", "rank": "threshold"}).items():
        assert rule_for(COSTS[name], rules) is rules[rule]
    for name in ("hamming", "rank"):
        assert rule_for(COSTS[name], rules, budget=True) is rules["prefix"]
    assert rule_for(weighted_hamming(2), rules, budget=True) is rules["gain"]
    assert rule_for(EVEN, rules) is rules["size"]
    assert rule_for(FAR, rules) is rule_for(get_cost(own_cost), rules) is rules["expected"]


@pytest.mark.parametrize("cost", [FAR, get_cost(own_cost), get_cost(jaccard)])
def test_other_costs_are_searched_over_all_vectors_of_few_labels(cost):
    P = some_marginals(np.random.default_rng(0), "uniform", 30, 6)
    posterior, (table, _) = Posterior.from_marginals(P), brute(P, cost)
    size = every_vector(6).sum(axis=1)
    for budget, allowed in (({}, size >= 0), ({"at_most": 2}, size <= 2), ({"exactly": 3}, size == 3)):
        decided = posterior.decide(cost, **budget)
        reached, least = chosen(table, decided), table[:, allowed].min(axis=1)
        assert (reached >= least - 1e-12).all()
        assert np.isclose(reached, least).mean() > 0.9  # a search may end too early
        assert allowed[decided @ (1 << np.arange(6))].all()
        np.testing.assert_allclose(posterior.expected_cost(decided, cost), reached, rtol=1e-11)


def test_hits_help_says_what_is_true_of_all_counts():
    for cost in [*EXACT, FAR]:
        for K in (1, 2, 5):
            labels = every_vector(K).astype(int)
            tp, size, costs = labels @ labels.T, labels.sum(axis=1), cost.pairwise(labels, labels)
            by_counts = {}
            for t, p in np.ndindex(costs.shape):
                by_counts[tp[t, p], size[t], size[p]] = costs[t, p]
            raised = [c for (hit, s, m), c in by_counts.items() if c > by_counts.get((hit - 1, s, m), np.inf) + 1e-12]
            assert hits_help(cost, K) == (not raised), (cost.name, K)
    assert not hits_help(get_cost(own_cost), 4)


def test_a_hit_that_costs_more_is_found_among_many_labels():
    late = CountCost(name="late", formula=lambda c: c.wrong + 9 * np.maximum(c.tp - 150, 0) ** 2)
    assert hits_help(late, ALL_COUNTS)
    assert not hits_help(late, 200)


def test_of_predictions_that_cost_the_same_the_shortest_is_taken():
    P = np.full((1, 7), 0.3)
    assert not Posterior.from_marginals(P).decide("rank", at_most=7).any()
    assert Posterior.from_marginals(P).decide("rank", exactly=2).tolist() == [[1, 1, 0, 0, 0, 0, 0]]


# Sums of labels


def convolved(p):
    sums = np.ones(1)
    for own in p:
        sums = np.convolve(sums, [1 - own, own])
    return sums


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("K", [1, 31, 32, 33, 70, 300])
def test_sums_and_labels_divided_out_of_them_are_convolutions(kind, K):
    P = -np.sort(-some_marginals(np.random.default_rng(K), kind, 3, K), axis=1)
    first, width = common_window(P)
    sums = of_sums(P, first, width)
    joint = with_each_label(P, sums)
    for row, p in enumerate(P):
        whole = convolved(p)
        np.testing.assert_allclose(sums[row], whole[first : first + width], atol=1e-14)
        assert whole[first : first + width].sum() > 1 - LEFT_OUT - 1e-13
        for label in {0, K // 3, K // 2, K - 1}:
            others = np.concatenate([[0], convolved(np.delete(p, label))])
            np.testing.assert_allclose(joint[:, row, label], p[label] * others[first : first + width], atol=1e-14)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200))
def test_a_window_leaves_out_next_to_nothing(p):
    row = np.array(p)
    least, most = windows(row.sum(), (row * (1 - row)).sum(), len(p))
    whole = convolved(row)
    assert whole[:least].sum() + whole[most + 1 :].sum() <= LEFT_OUT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["f1", "rank", "composition", "accuracy"])
def test_costs_of_prefixes_of_many_labels(name, kind):
    """Two ways to the same numbers: labels divided out, or counted from both ends; and hits and misses of each."""
    K = 150
    p = -np.sort(-some_marginals(np.random.default_rng(1), kind, 3, K), axis=1)
    costs = prefix_costs(p, COSTS[name])
    for m in (0, 1, 40, K):
        predicted = np.tile((np.arange(K) < m).astype(np.uint8), (3, 1))
        expected = Posterior.from_marginals(p).expected_cost(predicted, name)
        np.testing.assert_allclose(costs[:, m], expected, rtol=1e-9, atol=1e-11)
    hit, missed = convolved(p[0, :40]), convolved(p[0, 40:])
    truth = np.zeros((41 * 111, K), np.uint8)  # a truth for each number of hits and of misses
    for which, (t, f) in enumerate(np.ndindex(41, 111)):
        truth[which, :t], truth[which, 40 : 40 + f] = 1, 1
    prefix = np.tile((np.arange(K) < 40).astype(np.uint8), (len(truth), 1))
    assert costs[0, 40] == pytest.approx(np.outer(hit, missed).ravel() @ COSTS[name].rowwise(truth, prefix), rel=1e-9)


@pytest.mark.parametrize("name", ["f1", "accuracy"])
def test_rows_are_decided_alone(name):
    """Blocks are of rows of similar size; their order, and what else is there, makes no difference."""
    rng = np.random.default_rng(0)
    P = np.concatenate([some_marginals(rng, kind, 20, 90) for kind in KINDS])
    together = Posterior.from_marginals(P).decide(name)
    some = rng.permutation(len(P))[:25]
    for row in some:
        assert np.array_equal(Posterior.from_marginals(P[row : row + 1]).decide(name)[0], together[row])
    assert np.array_equal(Posterior.from_marginals(P[some]).decide(name), together[some])


def test_many_rows_and_labels_are_decided_in_blocks(monkeypatch):
    P = some_marginals(np.random.default_rng(0), "uniform", 40, 60)
    wanted = {name: Posterior.from_marginals(P).decide(name) for name in ("f1", "accuracy")}
    expected = Posterior.from_marginals(P).expected_cost(wanted["f1"])
    for name in ("ENTRIES", "COUNTED"):
        monkeypatch.setattr(f"clems.decisions.independent.{name}", 5000)
    for name, decided in wanted.items():
        assert np.array_equal(Posterior.from_marginals(P).decide(name), decided)
    np.testing.assert_allclose(Posterior.from_marginals(P).expected_cost(wanted["f1"]), expected, rtol=1e-12)


# The posterior


def test_it_is_a_posterior_like_others():
    P = some_marginals(np.random.default_rng(0), "uniform", 5, 4)
    posterior = Posterior.from_marginals(P)
    assert isinstance(posterior, IndependentPosterior)
    assert len(posterior) == 5
    assert repr(posterior) == "IndependentPosterior of 5 rows over 4 independent labels"
    q = brute(P, COSTS["f1"])[1]
    assert posterior.share.shape == (5, 5 * 16)
    np.testing.assert_allclose(posterior.share.sum(axis=1), 1)
    np.testing.assert_allclose(posterior.share.data, q.ravel(), atol=1e-15)
    np.testing.assert_allclose(posterior.share @ posterior.labels.astype(float), P, atol=1e-12)
    plain = posterior.as_vectors()
    for cost in (*COSTS.values(), get_cost(own_cost)):
        decided = plain.decide(cost)
        np.testing.assert_allclose(
            expected_costs(posterior, cost, decided), plain.expected_cost(decided, cost), rtol=1e-9
        )
        assert np.array_equal(roughly_decide(posterior, cost), decide(posterior, cost))
    parts = [posterior.rows(slice(0, 2)), posterior.rows([2]), posterior.rows(np.array([3, 4]))]
    assert np.array_equal(stacked(parts).marginals, P)
    with pytest.raises(ValueError, match="no points"):
        _ = posterior.points
    true, mass = posterior.by_size(slice(1, 4))
    wanted, its_mass = plain.by_size(slice(1, 4))
    np.testing.assert_allclose(mass, its_mass, atol=1e-14)
    np.testing.assert_allclose(true, wanted, atol=1e-14)


@given(power=st.floats(0.2, 5))
def test_a_power_of_independent_labels_is_one_of_each(power):
    P = np.array([[0.3, 0.9, 0.0], [1.0, 0.5, 1e-200]])
    posterior = Posterior.from_marginals(P).sharpened(power)
    np.testing.assert_allclose(
        posterior.marginals, Posterior.from_marginals(P).as_vectors().sharpened(power).marginals, atol=1e-9
    )


def test_certain_labels_need_no_vectors():
    P = np.concatenate([np.ones(30), np.zeros(30), np.full(5, 1e-14), [0.25, 0.5]])[None]
    posterior = Posterior.from_marginals(P)
    assert len(posterior.labels) == 4
    assert posterior.labels[:, :30].all()
    assert not posterior.labels[:, 30:65].any()
    np.testing.assert_allclose(posterior.share.data, [0.375, 0.125, 0.375, 0.125])


def test_vectors_of_many_uncertain_labels_are_drawn_the_same_way_always():
    P = some_marginals(np.random.default_rng(3), "uniform", 4, UNCERTAIN + 8)
    posterior = Posterior.from_marginals(P)
    assert np.diff(posterior.share.indptr).max() <= DRAWS
    again = Posterior.from_marginals(P[2:3])
    own = slice(*posterior.share.indptr[2:4])
    assert np.array_equal(again.labels, posterior.labels[own])
    assert np.array_equal(again.share.data, posterior.share.data[own])
    drawn = posterior.share @ posterior.labels.astype(float)
    np.testing.assert_allclose(drawn, P, atol=1 / DRAWS)  # each label has its share of draws, rounded
    by_draws, by_counts = (
        posterior.expected_cost(posterior.decide("f1"), cost) for cost in (get_cost(f1_of_rows), "f1")
    )
    np.testing.assert_allclose(by_draws, by_counts, atol=0.01)
    np.testing.assert_allclose(posterior.expected_cost(posterior.decide(f1_of_rows), "f1"), by_counts, atol=0.01)


def f1_of_rows(Y, P):
    return (Y != P).sum(axis=1) / np.maximum((Y + P).sum(axis=1), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_k_are_the_prediction_prefixes_and_single_changes(kind):
    P = some_marginals(np.random.default_rng(0), kind, 10, 5)
    posterior = Posterior.from_marginals(P)
    for cost in (*COSTS.values(), weighted_hamming([3, 1, 1, 5, 2]), get_cost(own_cost)):
        (table, q), decided = brute(P, cost), posterior.decide(cost)
        for k in (1, 3, 6):
            top = posterior.top_k(k, cost)
            assert np.array_equal(top.labels[:, 0], decided)
            for row in range(10):
                names = top.labels[row] @ (1 << np.arange(5))
                assert len({*names}) == k
                np.testing.assert_allclose(top.expected_cost[row], table[row, names], rtol=1e-9, atol=1e-12)
                np.testing.assert_allclose(top.probability[row], q[row, names], atol=1e-12)
                order = np.argsort(-P[row], kind="stable")
                prefixes = [np.isin(np.arange(5), order[:m]) for m in range(6)]
                others = np.array([*prefixes, *(decided[row] ^ np.eye(5, dtype=np.uint8))]).astype(int)
                offered = {*(others @ (1 << np.arange(5)))} - {names[0]}
                best = np.sort(table[row, [*offered]])[: k - 1]
                np.testing.assert_allclose(top.expected_cost[row, 1:], best, rtol=1e-9, atol=1e-11)
    with pytest.raises(ValueError, match="k must be a whole number of at least 1 and at most 6; got 7"):
        posterior.top_k(7)


def test_no_rows_are_decided_too():
    posterior = Posterior.from_marginals(np.empty((0, 3)))
    for cost in (*COSTS.values(), weighted_hamming(2), get_cost(own_cost)):
        for budget in ({}, {"at_most": 1}):
            assert posterior.decide(cost, **budget).shape == (0, 3)
        assert posterior.expected_cost(np.empty((0, 3)), cost).shape == (0,)
