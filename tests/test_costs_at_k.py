"""Costs at k against their definitions: sets in random order, written out, and the best of all 2^K sets."""

import itertools
import re
from math import comb, log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import clems
from clems import (
    CLEMS,
    CRITERIA,
    PCC,
    Posterior,
    get_cost,
    get_criterion,
    load,
    ndcg_at,
    precision_at,
    propensities,
    psp_at,
    recall_at,
    save,
)
from clems.costs.criteria import known_criterion
from clems.datasets import digit_scenes, load_dataset
from clems.decisions.rules import RULES, rule_for
from clems.evaluation import evaluate
from clems.experiments import compare

K = 5
EVERY = np.array([*itertools.product([0, 1], repeat=K)], np.uint8)
P_OF = (1.0, 0.5, 0.25, 0.8, 0.4)
KS = [1, 2, 3, 5, 7]
KINDS = [precision_at, recall_at, ndcg_at, lambda k: psp_at(k, P_OF)]
COSTS_AT = [kind(k) for kind in KINDS for k in KS]


def score_in_order(name, k, y, order):
    """Score of labels in an order, as tables of extreme classification have it."""
    hits = [y[label] for label in order[:k]]
    if name == "precision":
        return sum(hits) / k
    if name == "psp":
        return sum(hit / P_OF[label] for hit, label in zip(hits, order, strict=False)) / k
    if not y.any():
        return 1
    if name == "recall":
        return sum(hits) / y.sum()
    best = sum(1 / log2(i + 2) for i in range(min(k, y.sum())))
    return sum(hit / log2(i + 2) for i, hit in enumerate(hits)) / best


@pytest.mark.parametrize("cost", COSTS_AT, ids=lambda cost: cost.name)
def test_a_set_is_taken_in_random_order(cost):
    name, k = re.fullmatch(r"(\w+)_at\((\d)\)", cost.name).groups()
    k = int(k)
    some = EVERY[::3]
    table = cost.pairwise(some, some)
    for (i, y), (j, p) in itertools.product(enumerate(some), enumerate(some)):
        orders = [*itertools.permutations(np.flatnonzero(p))]
        mean = np.mean([score_in_order(name, k, y, order) for order in orders])
        best = sum(sorted((1 / P_OF[at] for at in np.flatnonzero(y)), reverse=True)[:k]) / k if name == "psp" else 1
        # Precision of fewer than k labels counts the missing ones as wrong; of more, the definition divides by them.
        assert table[i, j] == pytest.approx(best - mean, abs=1e-12)
    np.testing.assert_allclose(cost.rowwise(some, some[::-1]), np.diagonal(table[:, ::-1]), atol=1e-12)
    np.testing.assert_allclose(cost.pairwise(sparse.csr_array(some), sparse.csr_array(some)), table, atol=1e-12)
    np.testing.assert_allclose(cost.pairwise(some, some, np.float32), table, atol=1e-6)
    assert (table >= 0).all()
    assert cost.bound(K) == pytest.approx(cost.pairwise(EVERY, EVERY).max())


def posterior_of(shares):
    return Posterior(EVERY, sparse.csr_array(shares / shares.sum(axis=1, keepdims=True)))


@pytest.mark.parametrize("cost", COSTS_AT, ids=lambda cost: cost.name)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), few=st.sampled_from([1, 2, 5, 32]))
def test_decisions_are_the_best_of_all_sets(cost, seed, few):
    random = np.random.default_rng(seed)
    shares = random.random((4, 2**K)) * (random.permuted(np.tile(np.arange(2**K), (4, 1)), axis=1) < few)
    posterior = posterior_of(shares)
    assert rule_for(cost).exact
    decided = posterior.decide(cost)
    expected = posterior.share @ cost.pairwise(EVERY, EVERY)
    reached = posterior.expected_cost(decided, cost)
    np.testing.assert_allclose(reached, expected.min(axis=1), atol=1e-12)
    if cost.top is not None:
        assert (decided.sum(axis=1) == min(K, cost.top.k)).all()
    if cost.affine_in_tp:  # the general rule is no better
        np.testing.assert_allclose(posterior.expected_cost(RULES["size"].decide(posterior, cost), cost), reached)


@pytest.mark.parametrize("cost", COSTS_AT, ids=lambda cost: cost.name)
@settings(max_examples=25)
@given(marginals=arrays(float, (3, K), elements=st.sampled_from([0, 0.1, 0.25, 0.5, 0.7, 1])), bound=st.integers(0, K))
def test_of_independent_labels_and_within_a_budget_too(cost, marginals, bound):
    shares = np.where(EVERY, marginals[:, None], 1 - marginals[:, None]).prod(axis=2)
    expected, size = shares @ cost.pairwise(EVERY, EVERY), EVERY.sum(axis=1)
    budgets = (({}, size >= 0), ({"at_most": bound}, size <= bound), ({"exactly": bound}, size == bound))
    for posterior in (Posterior.from_marginals(marginals), Posterior(EVERY, sparse.csr_array(shares))):
        for budget, allowed in budgets:
            decided = posterior.decide(cost, **budget)
            reached = posterior.expected_cost(decided, cost)
            assert [vector in EVERY[allowed].tolist() for vector in decided.tolist()] == [True] * 3
            np.testing.assert_allclose(reached, expected[:, allowed].min(axis=1), atol=1e-12)


def test_of_labels_that_are_as_likely_the_first_are_taken():
    certain = posterior_of(np.eye(2**K)[[0, -1, 1]])
    for cost in (precision_at(2), recall_at(2), psp_at(2, [0.5] * K)):
        assert certain.decide(cost).tolist() == [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 0, 0, 1]]


def test_affine_slopes_are_never_positive():
    for cost in (cost for cost in COSTS_AT if cost.affine_in_tp):
        size, pairs, tp = EVERY.sum(axis=1), cost.pairwise(EVERY, EVERY), EVERY.astype(int) @ EVERY.T
        for s, m in itertools.product(range(K + 1), repeat=2):
            where = np.ix_(size == s, size == m)
            x, y = tp[where].ravel(), pairs[where].ravel()
            slope, intercept = np.polyfit(x, y, 1) if len({*x}) > 1 else (0, y[0])
            np.testing.assert_allclose(intercept + slope * x, y, atol=1e-9)
            assert slope <= 1e-12


@pytest.mark.parametrize("name", ["precision_at", "recall_at", "ndcg_at", "psp_at"])
def test_text_means_the_cost(name):
    assert get_cost(f"{name}(3)") == getattr(clems, name)(3)
    assert get_cost(f"{name}(3)").name == f"{name}(3)"
    for wrong in ("0", "-1", "2.5"):
        with pytest.raises(ValueError, match=f"k of {name} must be a whole number of at least 1; got {wrong}"):
            get_cost(f"{name}({wrong})")
    with pytest.raises(ValueError, match=re.escape(f"Unknown cost '{name}(x)'; {name}(k) takes a number.")):
        get_cost(f"{name}(x)")


def test_criteria_of_costs_of_numbers_are_found_but_not_listed():
    assert "precision_at(3)" not in CRITERIA
    assert known_criterion("nothing_at(3)") is None
    assert known_criterion("f_beta(0.5)").greater_is_better
    one = get_criterion("ndcg_at(3)")
    assert (one, one.title, one.arrow) == (known_criterion("ndcg_at(3)"), "nDCG@3", "↑")
    assert get_criterion("precision_at(2)")(EVERY[[3, 7]], EVERY[[1, 7]]) == (1 / 2 + 3 / 3) / 2


def test_propensities_are_the_published_formula():
    Y = np.random.default_rng(0).random((200, 7)) < np.linspace(0, 1, 7)
    N, n_l = len(Y), Y.sum(axis=0)
    for A, B in ((0.55, 1.5), (0.5, 0.4)):
        C = (np.log(N) - 1) * (B + 1) ** A
        wanted = 1 / (1 + C * np.exp(-A * np.log(n_l + B)))
        np.testing.assert_allclose(propensities(Y, A, B), wanted)
        np.testing.assert_allclose(propensities(sparse.csr_array(Y), A, B), wanted)
    named = propensities(pd.DataFrame(Y, columns=[*"abcdefg"]))
    assert [*named.index] == [*"abcdefg"]
    assert (propensities(Y[:2]) == 1).all()
    with pytest.raises(ValueError, match="at least one row"):
        propensities(Y[:0])


def test_propensities_by_name():
    Y, P = (pd.DataFrame(rows, columns=[*"abcde"]) for rows in (EVERY[[7, 20]], EVERY[[5, 9]]))
    by_position = psp_at(2, P_OF)
    by_name = psp_at(2, pd.Series(P_OF, index=[*"abcde"])[[*"ecadb"]])
    np.testing.assert_allclose(by_name.rowwise(Y, P), by_position.rowwise(Y, P))
    np.testing.assert_allclose(by_name.rowwise(Y, P[[*"bacde"]]), by_position.rowwise(Y, P))
    for faulty, said in (
        (lambda: by_name.rowwise(Y.to_numpy(), P.to_numpy()), "the 5 labels here have no names"),
        (lambda: by_name.of_rows(Y.to_numpy(), P.to_numpy()), "the labels here have no names; ask a fitted model"),
        (lambda: psp_at(2).rowwise(Y, P), r"give them, psp_at\(2, propensities\(Y_train\)\)"),
        (lambda: psp_at(2, [0.5, 0.5]).rowwise(Y, P), "has 2 propensities for 5 labels"),
        (lambda: psp_at(2, [0.5, 0]), r"above 0 and at most 1; one is 0"),
        (lambda: psp_at(2, {"a": 2}), r"above 0 and at most 1; one is 2"),
        (lambda: psp_at(2, {"a": "x"}), r"is 'x' for 'a'; a propensity is a number"),
        (lambda: psp_at(2, {"a": 1}).rowwise(Y, P), "has no propensity for 'b', 'c', 'd', 'e'; the labels are"),
    ):
        with pytest.raises(ValueError, match=said):
            faulty()


X, Y = digit_scenes(240, random_state=0)


@pytest.mark.parametrize("text", ["precision_at(2)", "recall_at(2)", "ndcg_at(2)", "psp_at(2)"])
def test_learners_take_them_as_text(text, tmp_path):
    model = PCC(cost=text, n_trees=5, random_state=0).fit(X[:160], Y[:160])
    predicted = model.predict(X[160:])
    cost = psp_at(2, propensities(Y[:160])) if text == "psp_at(2)" else get_cost(text)
    assert model.cost_ == cost
    assert np.array_equal(model.posterior(X[160:]).decide(cost), predicted)
    assert (predicted.sum(axis=1) == 2).all() or text == "ndcg_at(2)"
    other = PCC(cost="f1", n_trees=5, random_state=0).fit(X[:160], Y[:160])
    assert np.array_equal(other.predict(X[160:], cost=text), predicted)
    found = evaluate(model, X[160:], Y[160:]).criteria[text]
    mean = cost.rowwise(Y[160:], predicted).mean()
    assert found == pytest.approx(mean if text == "psp_at(2)" else 1 - mean)
    save(model, tmp_path / "m.clems")
    assert load(tmp_path / "m.clems").cost_ == cost
    assert np.array_equal(load(tmp_path / "m.clems").predict(X[160:]), predicted)


def test_clems_is_trained_for_them():
    model = CLEMS(cost="precision_at(2)", n_trees=10, decoder="exact", random_state=0).fit(X[:160], Y[:160])
    predicted = model.predict(X[160:])
    assert (predicted.sum(axis=1) == 2).all()
    assert model.score(X[160:], Y[160:]) == pytest.approx((predicted * Y[160:]).sum() / 2 / 80)


def test_comparisons_report_them_as_scores():
    data = load_dataset("digit-scenes").take(slice(120))
    for text, better in (("precision_at(2)", max), ("psp_at(2)", min)):
        found = compare(data, text, learners=["br", "pcc"], repetitions=2, trees=3, backend="serial")
        means = found.table["mean"]
        assert found.best == means.index[means == better(means)][0]
        assert ((means > 0) & (means < 1)).all() or text == "psp_at(2)"


def test_random_order_needs_no_sampling():
    """The mean over orders of how many of the first k are true is that of a hypergeometric distribution."""
    m, tp, k = 5, 3, 2
    mean = sum(h * comb(tp, h) * comb(m - tp, k - h) for h in range(k + 1)) / comb(m, k)
    assert mean == pytest.approx(tp * k / m)
