"""Mixtures of forest and experts: the formula, what changes nothing, and the choice on held-out rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, logit

from clems import COSTS, CRITERIA, Posterior
from clems.costs.criteria import mean_of
from clems.posterior import held_out_rows as rows_module
from clems.posterior import mixture as mixture_module
from clems.posterior.held_out_rows import HeldOutRows, losses_for, mixture_for
from clems.posterior.mixture import (
    EXPERTS_ALONE,
    NEGLIGIBLE,
    PRIOR,
    ROOM,
    WEIGHTS,
    MixedPosterior,
    Mixture,
    evidence_of,
    mixed,
    probabilities_apart,
)

LABELS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 1]], np.uint8)
FREQUENCY = np.array([4.0, 3.0, 2.0, 1.0])
PRIORS = FREQUENCY / FREQUENCY.sum()
SHARE = FREQUENCY @ LABELS / FREQUENCY.sum()


def drawn(seed, n=6):
    rng = np.random.default_rng(seed)
    forest = rng.dirichlet(np.full(4, 0.3), n)
    forest[forest < 0.05] = 0
    return sparse.csr_array(forest / forest.sum(axis=1, keepdims=True)), rng.uniform(0.02, 0.98, (n, 3))


@given(seed=st.integers(0, 2**32 - 1), sharpness=st.floats(0.4, 2.5), weight=st.sampled_from(WEIGHTS))
def test_shares_are_those_of_the_formula(seed, sharpness, weight):
    forest, p = drawn(seed)
    found = mixed(forest, LABELS, evidence_of([p], SHARE), PRIORS, Mixture(sharpness, weight)).toarray()
    odds = p / (1 - p) / (SHARE / (1 - SHARE))
    wanted = ((1 - PRIOR) * forest.toarray() + PRIOR * PRIORS) ** sharpness
    wanted = wanted * np.prod(odds[:, None] ** (weight * LABELS), axis=2)
    wanted /= wanted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (np.abs(found - wanted).sum(axis=1) <= 2 * NEGLIGIBLE).all()
    assert (found[wanted < NEGLIGIBLE / 4 / 2] == 0).all()


def test_without_weight_it_is_the_forest():
    forest, p = drawn(0)
    found = mixed(forest, LABELS, evidence_of([p], SHARE), PRIORS, Mixture(1.7, 0.0))
    wanted = Posterior(LABELS, forest).sharpened(1.7).share
    assert np.array_equal(found.toarray(), wanted.toarray())


def test_experts_that_know_nothing_change_nothing():
    assert np.array_equal(evidence_of([np.tile(SHARE, (2, 1))], SHARE), np.zeros((2, 3)))
    evidence = evidence_of([np.full((1, 3), 0.5), np.full((1, 3), 0.9)], SHARE)
    np.testing.assert_allclose(evidence[0], logit(0.9) / 2 - logit(SHARE), atol=1e-6)
    assert np.array_equal(np.rint(evidence * 2**20), evidence * 2**20)


def test_candidates_that_are_nowhere_stay_so():
    forest = sparse.csr_array([[1.0, 0, 0, 0]])
    prior = np.array([0.5, 0.5, 0, 0])
    found = mixed(forest, LABELS, np.full((1, 3), 5.0), prior, Mixture(1.0, 0.75)).toarray()
    assert (found[0, 2:] == 0).all()
    assert found[0, 1] > 0


def test_posteriors_can_be_mixed_again_cut_and_joined():
    forest, p = drawn(1)
    evidence, one, other = evidence_of([p], SHARE), Mixture(1.0, 0.3), Mixture(0.7, 0.5)
    posterior = MixedPosterior(Posterior(LABELS, forest), evidence, PRIORS, one)
    assert len(posterior) == 6
    assert posterior.remixed(one) is posterior
    wanted = mixed(forest, LABELS, evidence, PRIORS, other).toarray()
    assert np.array_equal(posterior.remixed(other).share.toarray(), wanted)
    for part in (posterior.rows(slice(2, 5)), posterior.remixed(other).rows(slice(2, 5)).remixed(one)):
        assert np.array_equal(part.share.toarray(), posterior.share.toarray()[2:5])
        assert np.array_equal(part.decide("rank"), posterior.decide("rank")[2:5])
    whole = MixedPosterior._joined([posterior.rows(slice(0, 2)), posterior.rows(slice(2, 6))])
    assert np.array_equal(whole.share.toarray(), posterior.share.toarray())
    assert np.array_equal(posterior.likelihood, posterior.share.data)


@given(seed=st.integers(0, 2**32 - 1))
def test_experts_alone_decide_among_all_vectors_by_what_they_say(seed):
    forest, p = drawn(seed)
    evidence, one = evidence_of([p], SHARE), Mixture(1.0, 0.3)
    posterior = MixedPosterior(Posterior(LABELS, forest), evidence, PRIORS, one, SHARE)
    alone, wanted = posterior.remixed(EXPERTS_ALONE), Posterior.from_marginals(p)
    np.testing.assert_allclose(alone.marginals, p, atol=1e-6)
    for cost in ("f1", "hamming", "rank", "accuracy"):
        assert np.array_equal(alone.decide(cost), wanted.decide(cost))
    assert alone.remixed(EXPERTS_ALONE) is alone
    joined = alone._joined([alone.rows(slice(0, 2)), alone.rows(slice(2, 6))])
    assert np.array_equal(joined.marginals, alone.marginals)
    for back in (alone.remixed(one), joined.remixed(one), posterior.remixed(EXPERTS_ALONE).rows(slice(6)).remixed(one)):
        assert np.array_equal(back.share.toarray(), posterior.share.toarray())


@given(
    seed=st.integers(0, 2**32 - 1), sharpness=st.floats(0.1, 1.5), weight=st.floats(0.1, 1.5), constant=st.floats(-1, 1)
)
def test_labels_apart_are_those_of_the_formula(seed, sharpness, weight, constant):
    forest, p = drawn(seed)
    posterior = MixedPosterior(Posterior(LABELS, forest), evidence_of([p], SHARE), PRIORS, Mixture(1.0, 0.3), SHARE)
    apart = posterior.remixed(Mixture(sharpness, weight, constant))
    by_forest = np.clip((1 - PRIOR) * (forest @ LABELS) + PRIOR * SHARE, 1e-4, 1 - 1e-4)
    wanted = expit(constant + sharpness * logit(by_forest) + weight * logit(p))
    np.testing.assert_allclose(apart.marginals, wanted, atol=1e-5)
    part = apart.rows(slice(2, 5))
    assert np.array_equal(part.marginals, apart.marginals[2:5])
    assert part.mixture == apart.mixture
    assert np.array_equal(part.remixed(posterior.mixture).share.toarray(), posterior.share.toarray()[2:5])


@pytest.mark.parametrize("K", [3, 10_000])
def test_labels_that_are_nearly_impossible_add_up_to_little(K):
    p, share = np.full((1, K), 1e-9), np.full(K, 0.3)
    found = probabilities_apart(None, evidence_of([p], share), share, EXPERTS_ALONE)
    assert found.sum() <= 1.01 * min(ROOM, 1e-4 * K)


def held_out(p, truth, own, forest=None, weight=None, label_share=None):
    forest = np.tile(PRIORS, (len(own), 1)) if forest is None else forest
    shares, evidence = sparse.csr_array(forest), evidence_of([p], SHARE)
    rows = HeldOutRows(LABELS, shares, evidence, FREQUENCY, own, truth, weight, (), label_share)
    return rows.with_mixtures(Mixture(1.0, 0.0), (0.5, 1.0, 2.0))


def informed(seed, n=300):
    """Rows whose labels an expert knows."""
    rng = np.random.default_rng(seed)
    own = rng.choice(4, n, p=PRIORS)
    truth = LABELS[own]
    return np.where(truth == 1, 0.9, 0.1) + rng.normal(0, 0.02, truth.shape), truth, own, rng


@pytest.mark.parametrize("cost", ["f1", "hamming", "rank", "accuracy"])
def test_experts_count_where_they_lower_the_cost(cost):
    p, truth, own, rng = informed(0)
    chosen = mixture_for(held_out(p, truth, own), mean_of(COSTS[cost]))
    assert chosen.weight > 0
    shuffled = held_out(p[rng.permutation(len(p))], truth, own)
    assert mixture_for(shuffled, mean_of(COSTS[cost])) == Mixture(1.0, 0.0)


def rare(n=1000):
    """Rows whose labels are independent, and of which forest and experts know different parts."""
    rng = np.random.default_rng(5)
    odds = rng.normal(-1, 1.5, (2, n, 3))
    truth = (rng.random((n, 3)) < expit(odds.sum(axis=0) + 1)).astype(np.uint8)
    by_forest = np.stack([expit(odds[0]), 1 - expit(odds[0])])
    shares = np.prod(np.where(LABELS == 1, by_forest[0][:, None], by_forest[1][:, None]), axis=2)
    known = (truth[:, None] == LABELS).all(axis=2).any(axis=1)
    shares = shares[known] / shares[known].sum(axis=1, keepdims=True)
    return expit(odds[1])[known], truth[known], np.zeros(known.sum(), int), shares


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_apart_are_learned_by_most_likelihood(weighted):
    p, truth, own, shares = rare()
    weight = np.random.default_rng(6).integers(1, 4, len(own)).astype(float) if weighted else None
    mixture = held_out(p, truth, own, shares, weight, SHARE).mixtures[-1]
    assert mixture.apart
    by_forest = logit(np.clip((1 - PRIOR) * (shares @ LABELS) + PRIOR * SHARE, 1e-4, 1 - 1e-4))
    by_experts = logit(p)

    def log_likelihood(constant, sharpness, weight_of_experts):
        q = expit(constant + sharpness * by_forest + weight_of_experts * by_experts)
        own = np.log(np.where(truth == 1, q, 1 - q)).sum(axis=1)
        return own.sum() if weight is None else weight @ own

    best = mixture.constant, mixture.sharpness, mixture.weight
    for step in np.eye(3) * 0.02:
        assert log_likelihood(*best) > max(log_likelihood(*(best + step)), log_likelihood(*(best - step)))


def test_labels_apart_are_for_costs_that_are_decided_by_marginals():
    p, truth, own, shares = rare()
    rows = held_out(p, truth, own, shares, label_share=SHARE)
    apart = rows.mixtures[-1]
    assert apart.apart
    for name, among in {"rank": True, "hamming": True, "f1": False, "accuracy": False}.items():
        assert (apart in losses_for(rows, [mean_of(COSTS[name])])[0]) == among
    assert apart not in losses_for(rows, [CRITERIA["micro_f1"]])[0]
    assert mixture_for(rows, mean_of(COSTS["rank"])) == apart
    assert not mixture_for(rows.among_candidates(), mean_of(COSTS["rank"])).apart
    assert not any(mixture.apart for mixture in held_out(p, 0 * truth, own, shares, label_share=SHARE).mixtures)


def test_experts_alone_are_chosen_where_no_candidate_has_the_labels_of_rows(monkeypatch):
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, (200, 3)).astype(np.uint8)
    truth = truth[~(truth[:, None] == LABELS).all(axis=2).any(axis=1)]
    given = np.where(truth == 1, 0.95, 0.05), truth, rng.integers(0, 4, len(truth))
    monkeypatch.setattr(rows_module, "WIDE", 2)
    rows = held_out(*given, label_share=SHARE)
    for criterion in (mean_of(COSTS["f1"]), mean_of(COSTS["accuracy"]), CRITERIA["micro_f1"]):
        assert mixture_for(rows, criterion) == EXPERTS_ALONE
        assert mixture_for(rows.among_candidates(), criterion) in held_out(*given).mixtures
    assert EXPERTS_ALONE not in held_out(*given).mixtures


def test_criteria_of_all_rows_are_chosen_for_by_log_loss():
    p, truth, own, _ = informed(1)
    rows = held_out(p, truth, own)
    assert mixture_for(rows, CRITERIA["micro_f1"]).weight > 0
    assert mixture_for(rows, CRITERIA["micro_f1"]) is mixture_for(rows, CRITERIA["macro_f1"])


def test_a_choice_is_made_once_for_each_cost(monkeypatch):
    rows, asked = held_out(*informed(2)[:3]), []
    monkeypatch.setattr(rows_module, "losses_for", lambda *given: asked.append(1) or losses_for(*given))
    for _ in range(3):
        mixture_for(rows, mean_of(COSTS["rank"]))
        mixture_for(rows, mean_of(COSTS["f1"]))
    assert len(asked) == 2


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.5]])
def test_a_row_does_not_count_itself_among_the_frequent(weight):
    own, weight = np.array([0, 3, 3]), None if weight is None else np.array(weight)
    truth = LABELS[own].copy()
    truth[2] = [1, 1, 1]  # which is no candidate
    rows = HeldOutRows(LABELS, sparse.csr_array(np.eye(4)[own]), np.zeros((3, 3)), FREQUENCY, own, truth, weight)
    taken = 1.0 if weight is None else weight[0]
    np.testing.assert_allclose(rows.prior[0], (FREQUENCY - [taken, 0, 0, 0]) / (10 - taken))
    np.testing.assert_allclose(rows.prior[1], [4 / 9, 3 / 9, 2 / 9, 0])
    np.testing.assert_allclose(rows.prior[2], PRIORS)


def test_many_candidates_are_mixed_among_those_in_the_leaves(monkeypatch):
    rng = np.random.default_rng(0)
    labels = np.unpackbits(np.arange(64, dtype=np.uint8)[:, None], axis=1)[:, 2:]
    frequency = rng.integers(1, 9, 64).astype(float)
    share = rng.dirichlet(np.full(64, 0.1), size=30)
    share[share < 1e-3] = 0
    share = sparse.csr_array(share / share.sum(axis=1, keepdims=True))
    evidence = rng.standard_normal((30, 6))
    own = rng.integers(64, size=30)
    everywhere = HeldOutRows(labels, share, evidence, frequency, own, labels[own], None)
    mixture = Mixture(0.8, 0.5)
    wanted = everywhere.posterior(mixture).share.toarray() * (share.toarray() > 0)
    wanted /= wanted.sum(axis=1, keepdims=True)
    dense_prior = everywhere.prior
    monkeypatch.setattr(mixture_module, "MANY", 10)
    monkeypatch.setattr(rows_module, "MANY", 10)
    for vectors in (labels, sparse.csr_array(labels)):
        rows = HeldOutRows(vectors, share, evidence, frequency, own, labels[own], None)
        np.testing.assert_allclose(rows.prior.toarray(), dense_prior * (share.toarray() > 0), rtol=1e-12)
        found = rows.posterior(mixture)
        assert abs(found.share.toarray() - wanted).max() < 2e-3  # what is negligible is another
        some = found.rows(np.array([3, 7]))
        np.testing.assert_allclose(some.share.toarray(), found.share.toarray()[[3, 7]])
        assert len(rows.with_mixtures(mixture, (0.5, 1.0)).mixtures) > 1
