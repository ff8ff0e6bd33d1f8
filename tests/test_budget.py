"""Budgets against brute force over all vectors of an allowed size, and rows that are handed over."""

import numpy as np
import pytest
from distributions import ALL_COSTS, brute, every_vector, own_cost, own_posteriors, posterior_of, posteriors
from hypothesis import given, settings
from hypothesis import strategies as st

from clems import COSTS, Posterior, get_cost, weighted_hamming
from clems.decisions.budget import allowed_sizes
from clems.decisions.greatest_gain import most_of_gain
from clems.decisions.rules import RULES, rule_for

each_kind = st.one_of(posteriors(), own_posteriors())


@settings(max_examples=150)
@given(posterior=each_kind, data=st.data())
def test_the_decision_is_the_best_of_an_allowed_size(posterior, data):
    K = posterior.labels.shape[1]
    rng = np.random.default_rng(K)
    size = every_vector(K).sum(axis=1)
    k = data.draw(st.integers(0, K))
    for cost in [*COSTS.values(), weighted_hamming(rng.integers(0, 5, K), rng.integers(0, 5, K))]:
        table, of = brute(posterior, cost)
        rule = rule_for(cost, budget=True)
        assert rule.exact == (cost.name != "accuracy")
        for budget, allowed in (({"at_most": k}, size <= k), ({"exactly": k}, size == k)):
            decided = posterior.decide(cost, **budget)
            assert allowed[decided @ (1 << np.arange(K))].all()
            if rule.exact:
                least = table[:, allowed].min(axis=1)
                np.testing.assert_allclose(of(decided), least, atol=1e-12, err_msg=cost.name)


@settings(max_examples=60)
@given(posterior=each_kind, data=st.data())
def test_a_search_within_a_budget_ends_where_nothing_near_is_better(posterior, data):
    K = posterior.labels.shape[1]
    every = every_vector(K)
    size = every.sum(axis=1)
    k = data.draw(st.integers(0, K))
    for cost in (COSTS["accuracy"], get_cost(own_cost)):
        table, of = brute(posterior, cost)
        for budget, allowed in (({"at_most": k}, size <= k), ({"exactly": k}, size == k)):
            decided = posterior.decide(cost, **budget)
            for row, vector in enumerate(decided):
                changes = (every != vector).sum(axis=1)
                near = allowed & ((changes == 1) | ((changes == 2) & (size == vector.sum())))
                own = posterior.labels[posterior.share[[row]].indices] @ (1 << np.arange(K))
                near[own[allowed[own]]] = True
                for m in np.unique(size[allowed]):
                    prefix = np.argsort(-posterior.marginals[row], kind="stable")[:m]
                    near[(1 << prefix).sum()] = True
                if near.any():
                    assert of(decided)[row] <= table[row, near].min() + 1e-12


def test_a_budget_that_allows_all_changes_nothing():
    rng = np.random.default_rng(0)
    posterior = posterior_of(every_vector(4), rng.dirichlet(np.full(16, 0.5), 20))
    for cost in ALL_COSTS:
        _, of = brute(posterior, cost)
        free, within = posterior.decide(cost), posterior.decide(cost, at_most=4)
        np.testing.assert_allclose(of(within), of(free), atol=1e-12)


def test_many_sizes_are_restricted_in_any_place():
    """The rule tries every eighth size first; a budget may allow none of these."""
    rng = np.random.default_rng(0)
    labels = (rng.random((30, 40)) < 0.4).astype(np.uint8)
    posterior = posterior_of(labels, rng.dirichlet(np.full(30, 0.3), 5))
    for k in (3, 8, 13, 40):
        assert (posterior.decide("f1", exactly=k).sum(axis=1) == k).all()
        assert (posterior.decide("f1", at_most=k).sum(axis=1) <= k).all()


def test_the_likeliest_vector_of_an_allowed_size():
    labels = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 1]])
    posterior = posterior_of(labels, np.array([[0.5, 0.2, 0.3], [0.6, 0.0, 0.4]]))
    assert posterior.decide("zero_one", at_most=2).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]  # of the second row none is
    assert posterior.decide("zero_one", exactly=3).tolist() == [[1, 1, 1, 0]] * 2
    assert posterior.decide("zero_one", exactly=2).tolist() == [[1, 1, 0, 0]] * 2


@given(
    gains=st.integers(1, 6).flatmap(
        lambda K: st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0]), min_size=K, max_size=K)
    ),
    data=st.data(),
)
def test_the_most_gain(gains, data):
    K = len(gains)
    low = data.draw(st.integers(0, K))
    sizes = range(low, data.draw(st.integers(low, K)) + 1)
    every = every_vector(K)
    sums, allowed = every @ np.array(gains), np.isin(every.sum(axis=1), sizes)
    for given_sizes, able in ((None, every.sum(axis=1) >= 0), (sizes, allowed)):
        found = most_of_gain(np.array([gains]), given_sizes)[0]
        assert found @ gains == sums[able].max()
        assert given_sizes is None or found.sum() in sizes


def test_prices_say_what_a_label_gains():
    cost = weighted_hamming([3, 1, 0], [1, 2, 5])
    P = np.random.default_rng(0).random((5, 3))
    posterior = Posterior.from_marginals(P)
    nothing = posterior.expected_cost(np.zeros((5, 3)), cost)
    for label in range(3):
        one = np.tile(np.arange(3) == label, (5, 1))
        np.testing.assert_allclose(nothing - posterior.expected_cost(one, cost), cost.gain(P)[:, label])
    assert COSTS["f1"].gain is COSTS["hamming"].gain is get_cost(own_cost).gain is None
    assert [name for name, rule in RULES.items() if not rule.budget] == ["threshold"]


# What may be asked


def test_a_budget_is_checked():
    assert allowed_sizes(None, None, 3) is None
    assert allowed_sizes(2, None, 3) == range(3)
    assert allowed_sizes(None, np.int64(2), 3) == range(2, 3)
    posterior = Posterior.from_marginals([[0.2, 0.9, 0.4]])
    for name in ("at_most", "exactly"):
        for wrong in (-1, 4, 1.5, "2", True):
            message = rf"^{name} must be a whole number of at least 0 and at most 3; got {wrong!r}\.$"
            with pytest.raises(ValueError, match=message):
                posterior.decide("f1", **{name: wrong})
    with pytest.raises(ValueError, match=r"^Give at_most or exactly, not both; got at_most=2 and exactly=1\.$"):
        posterior.decide("f1", at_most=2, exactly=1)


# Handing rows over


@given(posterior=each_kind, price=st.floats(0, 1))
def test_rows_that_cost_more_than_the_price_are_handed_over(posterior, price):
    for budget in ({}, {"at_most": 1}):
        plain, decided = posterior.decide("f1", **budget), posterior.decide("f1", abstain_at=price, **budget)
        assert isinstance(decided, np.ma.MaskedArray)
        assert np.array_equal(decided.data, plain)
        over = posterior.expected_cost(plain) > price
        assert np.array_equal(decided.mask, np.repeat(over[:, None], plain.shape[1], axis=1))


def test_a_price_is_checked():
    posterior = Posterior.from_marginals([[0.2, 0.9, 0.4]])
    for wrong in (-1, np.nan, np.inf, "1", True):
        with pytest.raises(ValueError, match=r"^abstain_at must be None or a finite number of at least 0; got"):
            posterior.decide("f1", abstain_at=wrong)
    assert not posterior.decide("f1", abstain_at=1).mask.any()
    assert posterior.decide("f1", abstain_at=0).mask.all()
