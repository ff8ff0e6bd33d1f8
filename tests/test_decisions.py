"""Decisions by expected cost, against brute force over all label vectors."""

import numpy as np
import pytest
from distributions import (
    ALL_COSTS,
    SEARCHED,
    brute,
    every_vector,
    jaccard,
    own_cost,
    own_posteriors,
    posterior_of,
    posteriors,
    reached_and_least,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clems import COSTS, f_beta, get_cost, weighted_hamming
from clems.decisions.best_candidate import (
    best_candidate,
    changes_help,
    improvable,
    least_line,
    prefixes_help,
    roughly_searched_from_candidates,
    searched_from_candidates,
)
from clems.decisions.by_size import FEW, affine_coefficients, best_of_each_size
from clems.decisions.decide import DECODERS, TIE, decide, expected_costs, roughly_decide, top_k
from clems.decisions.rules import RULES, above_threshold, least_expected, most_likely, rule_for
from clems.decisions.search import RARE, improved, improved_by_prefixes

# Rules


def prices(K):
    rng = np.random.default_rng(K)
    return weighted_hamming(rng.integers(0, 5, K), rng.integers(0, 5, K))


EXACT = ["hamming", "f1", "f_beta", "f_beta(0.5)", "rank", "composition", "zero_one"]


@settings(max_examples=500)
@given(posterior=posteriors(8))
def test_the_decision_is_the_best_of_all_vectors(posterior):
    for cost in map(get_cost, EXACT):
        assert rule_for(cost).exact
        np.testing.assert_allclose(*reached_and_least(posterior, cost, decide(posterior, cost)), atol=1e-12)


@given(posterior=posteriors(8))
def test_prices_are_decided_label_by_label(posterior):
    cost = prices(posterior.labels.shape[1])
    assert rule_for(cost) is RULES["threshold"]
    np.testing.assert_allclose(*reached_and_least(posterior, cost, above_threshold(posterior, cost)), atol=1e-12)


@given(posterior=posteriors(8))
def test_rules_that_apply_to_the_same_cost_agree(posterior):
    for cost in COSTS.values():
        decided = [rule.decide(posterior, cost) for rule in RULES.values() if rule.applies(cost) and rule.exact]
        reached = [reached_and_least(posterior, cost, predicted)[0] for predicted in decided]
        for other in reached[1:]:
            np.testing.assert_allclose(other, reached[0], atol=1e-12)


@given(posterior=posteriors(8))
def test_any_cost_is_decided_no_worse_than_by_what_is_considered(posterior):
    cost = get_cost("accuracy")
    assert not rule_for(cost).exact
    predicted = rule_for(cost).decide(posterior, cost)
    reached, _ = reached_and_least(posterior, cost, predicted)
    K = predicted.shape[1]
    for considered in (
        most_likely(posterior, cost),
        *((posterior.marginals >= t).astype(np.uint8) for t in np.linspace(0, 1.01, 9)),
        *(predicted ^ flip for flip in np.eye(K, dtype=np.uint8)),
    ):
        assert (reached <= reached_and_least(posterior, cost, considered)[0] + 1e-12).all()


@given(posterior=posteriors(8))
def test_the_general_rule_finds_nothing_better_than_the_exact_ones(posterior):
    cost = f_beta(3)
    exact, least = reached_and_least(posterior, cost, best_of_each_size(posterior, cost))
    general, _ = reached_and_least(posterior, cost, least_expected(posterior, cost))
    assert (general >= exact - 1e-12).all()
    np.testing.assert_allclose(exact, least, atol=1e-12)


@given(posterior=posteriors(8))
def test_a_rough_decision_is_the_best_of_the_likeliest_labels_of_each_number(posterior):
    K = posterior.labels.shape[1]
    assume(len({*posterior.labels.sum(axis=1)}) <= FEW)
    rank = np.argsort(np.argsort(-posterior.marginals, axis=1, kind="stable"), axis=1)
    for cost in map(get_cost, ("f1", "f_beta", "composition")):
        reached, _ = reached_and_least(posterior, cost, roughly_decide(posterior, cost))
        prefixes = [reached_and_least(posterior, cost, (rank < size).astype(np.uint8))[0] for size in range(K + 1)]
        np.testing.assert_allclose(reached, np.min(prefixes, axis=0), atol=1e-12)
    for cost in map(get_cost, ("hamming", "rank", "zero_one")):
        assert np.array_equal(roughly_decide(posterior, cost), decide(posterior, cost))


@pytest.mark.parametrize("name", ["f1", "composition"])
def test_a_rough_decision_among_many_sizes_is_nearly_the_best(name):
    rng = np.random.default_rng(0)
    labels = (rng.random((200, 60)) < rng.random((200, 1)) * rng.random(60)).astype(np.uint8)
    assert len(np.unique(labels.sum(axis=1))) > 2 * FEW
    posterior = posterior_of(labels, rng.dirichlet(np.full(200, 0.1), 50))
    rough, exact, none = (
        expected_costs(posterior, COSTS[name], predicted).mean()
        for predicted in (
            roughly_decide(posterior, COSTS[name]),
            decide(posterior, COSTS[name]),
            np.zeros((50, 60), np.uint8),
        )
    )
    assert exact < rough < exact + 0.02 * (none - exact)


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
        together = decide(posterior_of(labels, share), cost)
        alone = [decide(posterior_of(labels, row[None]), cost)[0] for row in share]
        assert np.array_equal(together, alone)


def test_many_labels_are_decided_in_blocks():
    rng = np.random.default_rng(0)
    labels = (rng.random((50, 300)) < 0.02).astype(np.uint8)
    posterior = posterior_of(labels, rng.dirichlet(np.full(50, 0.1), 20))  # 300 · 300 entries a row: several blocks
    predicted = best_of_each_size(posterior, COSTS["f1"])
    rank = best_of_each_size(posterior, COSTS["rank"])
    assert np.array_equal(rank, above_threshold(posterior, COSTS["rank"]))
    reached = (posterior.share * COSTS["f1"].pairwise(predicted, labels)).sum(axis=1)
    seen = (posterior.share @ COSTS["f1"].pairwise(labels, labels)).min(axis=1)
    assert (reached <= seen + 1e-12).all()
    assert (reached < seen - 1e-6).any()


# Candidates and search


@settings(max_examples=50)
@given(posterior=st.one_of(posteriors(), own_posteriors()))
def test_expected_costs_are_summed_over_the_distribution(posterior):
    rng = np.random.default_rng(0)
    for cost in ALL_COSTS:
        predicted = rng.integers(0, 2, posterior.marginals.shape).astype(np.uint8)
        _, of = brute(posterior, cost)
        np.testing.assert_allclose(expected_costs(posterior, cost, predicted), of(predicted), atol=1e-12)


@settings(max_examples=50)
@given(posterior=posteriors())
def test_the_best_candidate_is_found(posterior):
    for cost in ALL_COSTS:
        best, least = best_candidate(posterior, cost)
        _, of = brute(posterior, cost)
        of_all = np.column_stack([of(np.tile(vector, (len(best), 1))) for vector in posterior.labels])
        np.testing.assert_allclose(least, of_all.min(axis=1), atol=1e-12)
        np.testing.assert_allclose(of_all[np.arange(len(best)), best], least, atol=1e-12)


def check_search(posterior, cost, start, found, *, changes):
    """A search improves, and ends where no prefix and, if it makes changes, no change of a label is better."""
    n, K = posterior.marginals.shape
    _, of = brute(posterior, cost)
    reached = of(found)
    assert (reached <= of(start) + 1e-12).all()
    order = np.argsort(-posterior.marginals, axis=1, kind="stable")
    usual = np.take_along_axis(posterior.marginals, order, axis=1) > RARE
    for size in range(K + 1):
        prefix = np.zeros((n, K), np.uint8)
        np.put_along_axis(prefix, order[:, :size], 1, axis=1)
        considered = usual[:, :size].all(axis=1)
        assert (reached <= of(prefix) + 1e-12)[considered].all()
    for label in range(K if changes else 0):
        flipped = found.copy()
        flipped[:, label] ^= 1
        considered = (posterior.marginals[:, label] > RARE) | (found[:, label] == 1)
        assert (reached <= of(flipped) + 1e-12)[considered].all()


@pytest.mark.parametrize("cost", SEARCHED)
@given(posterior=st.one_of(posteriors(), own_posteriors()), seed=st.integers(0, 99))
def test_a_search_only_improves_and_ends_where_nothing_near_is_better(cost, posterior, seed):
    start = np.random.default_rng(seed).integers(0, 2, posterior.marginals.shape).astype(np.uint8)
    before = start.copy()
    least = expected_costs(posterior, cost, start)
    found = improved(posterior, cost, start, least)
    check_search(posterior, cost, start, found, changes=True)
    if cost.formula is not None:
        by_prefixes = improved_by_prefixes(posterior, cost, start, least)
        check_search(posterior, cost, start, by_prefixes, changes=False)
        reached, rough = (expected_costs(posterior, cost, one) for one in (found, by_prefixes))
        assert (reached <= rough + 1e-12).all()
    assert np.array_equal(start, before)
    np.testing.assert_array_equal(least, expected_costs(posterior, cost, start))


@given(posterior=posteriors(whole=True), seed=st.integers(0, 99))
def test_searches_by_counts_and_by_pairs_agree(posterior, seed):
    assume((posterior.marginals > RARE).all())
    start = np.random.default_rng(seed).integers(0, 2, posterior.marginals.shape).astype(np.uint8)
    by_counts, by_pairs = COSTS["accuracy"], get_cost(jaccard)
    _, of = brute(posterior, by_counts)
    one, other = (improved(posterior, cost, start, of(start)) for cost in (by_counts, by_pairs))
    np.testing.assert_allclose(of(one), of(other), atol=1e-12)


@settings(max_examples=50)
@given(posterior=posteriors())
def test_candidates_are_where_a_search_starts(posterior):
    decoder = DECODERS["expected"]
    for cost in ALL_COSTS:
        best, least = best_candidate(posterior, cost)
        _, of = brute(posterior, cost)
        start = posterior.labels[best]
        searched = start if rule_for(cost).exact else improved(posterior, cost, start, least)
        by_prefixes = not rule_for(cost).exact and cost.formula is not None
        roughly = improved_by_prefixes(posterior, cost, start, least) if by_prefixes else start
        for found, wanted in ((decoder.decide, searched), (decoder.rough, roughly)):
            assert np.array_equal(found(posterior, cost), wanted)
            assert (of(found(posterior, cost)) <= least + 1e-12).all()


@pytest.mark.parametrize("cost", [COSTS["accuracy"], get_cost(jaccard)])
@pytest.mark.parametrize("spread", [0.02, 0.3, 3])
def test_rows_that_start_alike_are_searched_as_each_alone(cost, spread):
    rng = np.random.default_rng(1)
    labels = rng.permutation(every_vector(7))[:12]
    posterior = posterior_of(labels, rng.dirichlet(np.full(12, spread), 300))
    best, least = best_candidate(posterior, cost)
    rows = improvable(posterior, cost, best, least, (prefixes_help, changes_help))
    assert 0 < len(rows) < 300
    searched = improved(posterior, cost, labels[best], least)
    assert {*np.flatnonzero((searched != labels[best]).any(axis=1))} <= {*rows}
    assert np.array_equal(searched_from_candidates(posterior, cost), searched)
    by_each = [improvable(posterior, cost, best, least, (way,)) for way in (prefixes_help, changes_help)]
    assert np.array_equal(np.union1d(*by_each), rows)
    roughly = roughly_searched_from_candidates(posterior, cost)
    prefixes = labels[best] if cost.formula is None else improved_by_prefixes(posterior, cost, labels[best], least)
    assert np.array_equal(roughly, prefixes)
    assert {*np.flatnonzero((roughly != labels[best]).any(axis=1))} <= {*by_each[0]}


def test_a_row_is_searched_alike_in_any_company():
    K = 300
    single = np.eye(K, dtype=np.uint8)
    labels = np.vstack([single | np.roll(single, 1, axis=1), np.arange(K) < 40]).astype(np.uint8)
    share = np.zeros((2, K + 1))
    share[0, :K], share[1, K] = np.random.default_rng(0).dirichlet(np.full(K, 50)), 1
    together = searched_from_candidates(posterior_of(labels, share), COSTS["accuracy"])
    alone = searched_from_candidates(posterior_of(labels, share[:1]), COSTS["accuracy"])
    assert np.array_equal(together[:1], alone)


# Decoders


@st.composite
def placed_posteriors(draw):
    """Posteriors with points in an embedded space."""
    bare = draw(posteriors(5))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    points, embedded = rng.normal(size=(len(bare), 3)), rng.normal(size=(len(bare.labels), 3))
    return posterior_of(bare.labels, bare.share, points=points, embedded=embedded)


@settings(max_examples=50)
@given(posterior=placed_posteriors())
def test_the_more_a_decoder_considers_the_less_it_expects_to_pay(posterior):
    """Rough decisions are of the same shape, and never better than those that take their time."""
    for cost in ALL_COSTS:
        able = [decoder for decoder in DECODERS.values() if decoder.applies(cost)]
        assert (DECODERS["exact"] in able) == rule_for(cost).exact
        slow = [decoder.decide(posterior, cost) for decoder in able]
        rough = [decoder.rough(posterior, cost) for decoder in able]
        for one, other in zip(slow, rough, strict=True):
            assert one.shape == other.shape == posterior.marginals.shape
            assert one.dtype == other.dtype == np.uint8
        costs, rough_costs = ([expected_costs(posterior, cost, one) for one in own] for own in (slow, rough))
        ties = 1e-12 * posterior.marginals.shape[1]  # of each label, to which what is expected is rounded
        assert (np.diff(costs, axis=0) <= ties).all()
        assert (np.array(costs) <= np.array(rough_costs) + ties).all()


@settings(max_examples=50)
@given(posterior=placed_posteriors())
def test_the_nearest_decoder_takes_the_nearest_point_whatever_the_cost(posterior):
    distance = ((posterior.points[:, None] - posterior.embedded) ** 2).sum(axis=2)
    wanted = posterior.labels[distance.argmin(axis=1)]
    for cost in ALL_COSTS:
        assert np.array_equal(DECODERS["nearest"].decide(posterior, cost), wanted)


# The best k


def check_top(posterior, cost, predicted, top, k):
    """The prediction comes first; what is said of each vector is right; each is there once; costs rise."""
    (n, K), (_, of) = predicted.shape, brute(posterior, cost)
    assert top.labels.shape == (n, k, K)
    assert top.probability.shape == top.expected_cost.shape == (n, k)
    assert np.array_equal(top.labels[:, 0], predicted)
    for place in range(k):
        np.testing.assert_allclose(top.expected_cost[:, place], of(top.labels[:, place]), atol=1e-12)
    tie = 0 if posterior.shared else 10.0**-TIE  # within which vectors of a row's own keep their order
    assert (np.diff(top.expected_cost[:, 1:], axis=1) >= -tie).all()
    for row, share in enumerate(posterior.share.toarray()):
        listed = [*map(bytes, top.labels[row])]
        assert len({*listed}) == k
        for vector, probability in zip(top.labels[row], top.probability[row], strict=True):
            wanted = share[(posterior.labels == vector).all(axis=1)].sum()
            assert probability == pytest.approx(wanted, abs=1e-12)


@given(posterior=posteriors(), seed=st.integers(0, 99))
def test_candidates_are_ranked_after_the_prediction(posterior, seed):
    rng = np.random.default_rng(seed)
    n, K = posterior.marginals.shape
    drawn = rng.integers(0, 2, (n, K)).astype(np.uint8)
    candidates = [*map(bytes, posterior.labels)]
    for cost in (COSTS["f1"], get_cost(own_cost)):
        _, of = brute(posterior, cost)
        for predicted in (drawn, posterior.labels[best_candidate(posterior, cost)[0]]):
            k = int(rng.integers(1, len(candidates) + 1))
            top = top_k(posterior, cost, predicted, k)
            check_top(posterior, cost, predicted, top, k)
            for row in range(n):
                probable = dict(zip(candidates, posterior.share.toarray()[row], strict=True))
                listed = [*map(bytes, top.labels[row])]
                assert [probable.get(vector, 0) for vector in listed] == top.probability[row].tolist()
                left = [vector for vector in posterior.labels if bytes(vector) not in listed]
                for vector in left if k > 1 else []:
                    assert of(np.tile(vector, (n, 1)))[row] >= top.expected_cost[row, -1] - 1e-12


@given(posterior=own_posteriors(), seed=st.integers(0, 99), data=st.data())
def test_vectors_of_their_own_are_ranked_after_the_prediction(posterior, seed, data):
    """All vectors that a row has, and those next to the prediction, are compared: no other of these is better."""
    n, K = posterior.marginals.shape
    drawn = np.random.default_rng(seed).integers(0, 2, (n, K)).astype(np.uint8)
    k = data.draw(st.integers(1, K + 1))
    for cost in (COSTS["f1"], COSTS["accuracy"], get_cost(own_cost)):
        table, _ = brute(posterior, cost)
        for predicted in (drawn, decide(posterior, cost)):
            top = top_k(posterior, cost, predicted, k)
            check_top(posterior, cost, predicted, top, k)
            for row, share in enumerate(posterior.share.toarray()):
                beside = predicted[row] ^ np.eye(K, dtype=np.uint8)
                known = {*map(bytes, posterior.labels[share > 0]), *map(bytes, beside)} - {bytes(predicted[row])}
                costs = sorted(table[row, np.frombuffer(one, np.uint8) @ (1 << np.arange(K))] for one in known)
                np.testing.assert_allclose(top.expected_cost[row, 1:], costs[: k - 1], atol=2e-12)


@given(posterior=own_posteriors(max_labels=4))
def test_of_a_row_that_has_all_vectors_the_best_k_are_the_best_of_all(posterior):
    K = posterior.labels.shape[1]
    rng = np.random.default_rng(0)
    every = np.tile(every_vector(K), (len(posterior), 1))
    share = np.kron(np.eye(len(posterior)), np.ones((1, 2**K)))
    share[share > 0] = rng.dirichlet(np.ones(2**K), len(posterior)).ravel()
    whole = posterior_of(every, share, shared=False)
    for cost in (COSTS["f1"], COSTS["rank"], COSTS["zero_one"]):
        top = top_k(whole, cost, decide(whole, cost), K + 1)
        table, _ = brute(whole, cost)
        np.testing.assert_allclose(top.expected_cost, np.sort(table, axis=1)[:, : K + 1], atol=2e-12)


@given(posterior=st.one_of(posteriors(), own_posteriors()))
def test_there_are_no_more_than_are_known_of(posterior):
    most = len(posterior.labels) if posterior.shared else posterior.labels.shape[1] + 1
    predicted = decide(posterior, COSTS["f1"])
    assert top_k(posterior, COSTS["f1"], predicted, most).labels.shape[1] == most
    for k in (0, most + 1, 1.5):
        message = rf"^k must be a whole number of at least 1 and at most {most}; got {k}\.$"
        with pytest.raises(ValueError, match=message):
            top_k(posterior, COSTS["f1"], predicted, k)


def test_vectors_of_equal_cost_keep_the_order_in_which_a_row_has_them():
    """Even where sums differ in their last digit, as they do from one processor to the next."""
    labels = np.eye(3, dtype=np.uint8)
    for nudge in (0, 1e-15, -1e-15):
        share = np.array([[0.3 + nudge, 0.3 - nudge, 0.4]])
        top = top_k(posterior_of(labels, share, shared=False), COSTS["zero_one"], labels[2:], 3)
        assert np.array_equal(top.labels[0], labels[[2, 0, 1]])
