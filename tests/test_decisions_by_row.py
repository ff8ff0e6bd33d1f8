"""Decisions among what each row has: the same as among all, for dense and sparse label vectors."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from benchmarks.zipf import words_of, zipf_rows, zipf_sets
from clems import CLEMS, COSTS, Posterior, get_cost, weighted_hamming
from clems.costs.at_k import psp_at
from clems.decisions import by_row, by_size
from clems.decisions.by_row import most_probable
from clems.embedding.candidates import choose_candidates
from clems.labels import matrix
from clems.labels.distinct import distinct_rows
from clems.posterior import distribution, label_vectors

K = 12
EVERY = {
    **COSTS,
    "prices": weighted_hamming([1 + label % 3 for label in range(K)], 2),
    "own": get_cost(lambda Y, P: ((Y != P) * np.arange(1, K + 1)).sum(axis=1) ** 0.5),
    "psp": psp_at(2, np.linspace(0.2, 1, K)),
}


def made(n=25, L=60, seed=0, few=20):
    """A posterior in which each row has a few of the label vectors."""
    rng = np.random.default_rng(seed)
    labels = distinct_rows((rng.random((L, K)) < 0.3).astype(np.uint8))[0]
    share = np.zeros((n, len(labels)))
    for row in share:
        there = rng.choice(len(labels), few, replace=False)
        row[there] = rng.dirichlet(np.full(few, 0.5)) + 2e-3  # of which none is negligible
    return Posterior(labels, sparse.csr_array(share / share.sum(axis=1, keepdims=True)))


@pytest.fixture
def rows_one_by_one(monkeypatch):
    monkeypatch.setattr(distribution, "MANY", 1)
    monkeypatch.setattr(by_size, "WIDE", 1)
    monkeypatch.setattr(by_size, "RARE", 0.0)
    monkeypatch.setattr(by_row, "NEGLIGIBLE", 0.0)


@pytest.mark.parametrize("name", EVERY)
def test_a_cost_among_some_labels_is_that_of_whole_vectors(name):
    rng = np.random.default_rng(0)
    columns = np.array([1, 4, 5, 9])
    Y, P = np.zeros((2, 8, K), np.uint8)
    Y[:, columns], P[:, columns] = rng.integers(2, size=(2, 8, 4))
    some = EVERY[name].among(columns, K)
    assert some.of_rows(Y[:, columns], P[:, columns]) == pytest.approx(EVERY[name].of_rows(Y, P))
    assert some.of_pairs(Y[:, columns], P[:, columns]) == pytest.approx(EVERY[name].of_pairs(Y, P))


@pytest.mark.parametrize("name", EVERY)
def test_decisions_cost_what_those_among_all_cost(name, rows_one_by_one, monkeypatch):
    posterior, cost = made(), EVERY[name]
    assert posterior.large
    own = posterior.decide(cost)
    monkeypatch.undo()
    assert not posterior.large
    among_all = posterior.decide(cost)
    found, wanted = posterior.expected_cost(own, cost), posterior.expected_cost(among_all, cost)
    exact = name not in ("accuracy", "own")  # a search from another candidate may end elsewhere
    assert found == pytest.approx(wanted) if exact else abs(found - wanted).max() < 0.02 * wanted.mean() + 1e-9


@pytest.mark.parametrize("name", ["f1", "rank", "accuracy", "prices", "own", "zero_one"])
@pytest.mark.parametrize("budget", [{"at_most": 2}, {"exactly": 3}, {"exactly": K}])
def test_budgets_are_kept(name, budget, rows_one_by_one, monkeypatch):
    posterior, cost = made(few=3), EVERY[name]
    own = posterior.decide(cost, **budget)
    monkeypatch.undo()
    sizes = own.sum(axis=1)
    assert (sizes <= 2).all() if "at_most" in budget else (sizes == budget["exactly"]).all()
    wanted = posterior.expected_cost(posterior.decide(cost, **budget), cost)
    assert (posterior.expected_cost(own, cost) <= 1.02 * wanted + 1e-9).all()


@pytest.mark.parametrize("name", EVERY)
def test_sparse_label_vectors_are_decided_as_dense_ones(name, monkeypatch):
    monkeypatch.setattr(by_row, "NEGLIGIBLE", 0.0)
    monkeypatch.setattr(distribution, "MANY", 1)
    dense, cost = made(), EVERY[name]
    posterior = Posterior(sparse.csr_array(dense.labels), dense.share)
    assert np.array_equal(posterior.marginals, dense.marginals)
    decided = dense.decide(cost)
    assert np.array_equal(posterior.decide(cost), decided)
    assert posterior.expected_cost(decided, cost) == pytest.approx(dense.expected_cost(decided, cost))
    for k in (3, 30):
        for one, other in zip(posterior.top_k(k, cost), dense.top_k(k, cost), strict=True):
            assert one == pytest.approx(other)


@pytest.mark.parametrize("name", ["f1", "rank", "accuracy", "prices", "own"])
@pytest.mark.parametrize("k", [1, 4, 40])
def test_lists_are_those_among_all(name, k, rows_one_by_one, monkeypatch):
    posterior, cost = made(few=30), EVERY[name]
    found = posterior.top_k(k, cost)
    predicted = posterior.decide(cost)
    assert np.array_equal(found.labels[:, 0], predicted)
    assert found.expected_cost == pytest.approx(
        np.stack([posterior.expected_cost(found.labels[:, place], cost) for place in range(k)], axis=1)
    )
    monkeypatch.undo()
    wanted = posterior.top_of(cost, predicted, k)
    if k == 40:  # more than the row has: of all candidates
        assert found.expected_cost == pytest.approx(wanted.expected_cost)
    # Without the candidates that the row does not have, the list is no better than with them.
    assert (found.expected_cost >= wanted.expected_cost - 1e-9).all()
    assert (found.probability.sum(axis=1) < 1 + 1e-9).all()


def test_what_is_left_out_of_a_row_is_negligible_and_the_least_probable():
    share = np.array([0.5, 0.0004, 0.3, 0.0003, 0.1993])
    assert most_probable(share).tolist() == [0, 2, 4]
    assert most_probable(np.array([1.0])).tolist() == [0]
    flat = np.full(3 * by_row.MOST, 1 / (3 * by_row.MOST))
    flat[7] = 0.5
    assert len(most_probable(flat / flat.sum())) <= by_row.MOST
    assert 7 in most_probable(flat / flat.sum())


def test_many_labels_are_decided_by_those_that_a_row_may_have(monkeypatch):
    labels = zipf_sets(300, by_row.WIDE + 50)
    share = sparse.csr_array(np.random.default_rng(0).dirichlet(np.full(300, 0.02), size=30))
    found = {}
    for kind in (labels, labels.toarray()):
        posterior = Posterior(kind, share)
        found[type(kind)] = posterior.decide("f1"), posterior.decide("rank")
    monkeypatch.setattr(by_size, "WIDE", 10**6)
    posterior = Posterior(labels.toarray(), share)
    for decided in found.values():
        for cost, own in zip(("f1", "rank"), decided, strict=True):
            wanted = posterior.expected_cost(posterior.decide(cost), cost)
            assert (posterior.expected_cost(own, cost) <= wanted * 1.001).all()


def test_no_pairs_of_all_candidates_are_compared(monkeypatch):
    labels = zipf_sets(3000, 60)
    share = sparse.random_array((4, 3000), density=0.02, format="csr", random_state=np.random.default_rng(0))
    share = sparse.csr_array(share.multiply(1 / share.sum(axis=1)[:, None]))
    compared = []
    of_pairs = type(COSTS["f1"]).of_pairs

    def counted(self, Y, P, *others):
        compared.append(Y.shape[0] * P.shape[0])
        return of_pairs(self, Y, P, *others)

    monkeypatch.setattr(type(COSTS["f1"]), "of_pairs", counted)
    posterior = Posterior(labels.toarray(), share)
    posterior.decide("accuracy")
    posterior.top_k(5, "f1")
    posterior.expected_cost(posterior.decide("f1"), "accuracy")
    assert max(compared, default=0) <= np.diff(share.indptr).max() ** 2


@pytest.mark.parametrize("how", ["observed", ("subsample", 0.5), ("extend", np.eye(30, dtype=np.uint8))])
def test_sparse_candidates_are_the_dense_ones(how, monkeypatch):
    Y = zipf_rows(200, 90, 30)
    dense = choose_candidates(Y.toarray(), how, COSTS["f1"], np.random.RandomState(0))
    monkeypatch.setattr(matrix, "SMALL", 0)
    found = choose_candidates(Y, how, COSTS["f1"], np.random.RandomState(0))
    assert sparse.issparse(found.labels)
    if how[0] == "subsample":  # which takes others, as the order is another
        assert len(found) == len(dense)
    else:
        assert {*map(bytes, found.labels.toarray())} == {*map(bytes, dense.labels)}
        assert np.array_equal(found.labels[found.index].toarray(), dense.labels[dense.index])
    assert found.frequency.sum() == 200
    assert len(np.unique(found.labels.toarray(), axis=0)) == len(found)


def test_clems_with_sparse_candidates(monkeypatch):
    Y = zipf_rows(500, 200, 40)
    X = words_of(Y, 200)
    dense = CLEMS(n_trees=20, random_state=0).fit(X[:350], Y[:350])
    monkeypatch.setattr(matrix, "SMALL", 0)
    model = CLEMS(n_trees=20, random_state=0, landmarks=60).fit(X[:350], Y[:350])
    assert sparse.issparse(model.candidates_.labels)
    assert model.score(X[350:], Y[350:]) > 0.97 * dense.score(X[350:], Y[350:])
    for cost in ("f1", "accuracy", "rank", "zero_one", "micro_f1"):
        assert sparse.issparse(model.predict(X[350:370], cost=cost))
    for decoder in ("nearest", "expected"):
        assert sparse.issparse(model.with_decoder(decoder).predict(X[350:370]))
    assert model.top_k(X[350:353], 4).labels.shape == (3, 4, 40)
    assert model.expected_cost(X[350:370]).shape == (20,)


@pytest.mark.parametrize(("cost", "usual"), [("f1", "exact"), ("accuracy", "expected")])
def test_where_rows_are_decided_one_by_one_clems_compares_no_decoders(cost, usual, monkeypatch):
    Y = zipf_rows(200, 60, 12)
    X = words_of(Y, 80)
    assert [*CLEMS(cost, n_trees=10, random_state=0).fit(X, Y).oob_costs_][-1] == usual
    monkeypatch.setattr(distribution, "MANY", 10)
    model = CLEMS(cost, n_trees=10, random_state=0).fit(X, Y)
    assert [*model.oob_costs_] == [usual] == [model.decoder_]
    assert np.isfinite(model.oob_cost_)


def test_label_vectors_of_a_model_are_put_into_form_once(monkeypatch):
    Y = zipf_rows(200, 60, 80)
    model = CLEMS(n_trees=10, random_state=0).fit(words_of(Y, 80), Y)
    rows = words_of(Y, 80)[:20]
    expected, decided = model.predict_proba(rows), model.predict(rows).toarray()
    made, multiplied = [], label_vectors.multiplied
    monkeypatch.setattr(label_vectors, "multiplied", lambda labels: made.append(labels) or multiplied(labels))
    fresh = copy(model)
    fresh._reader = replace(model._reader)
    for row in range(20):
        np.testing.assert_allclose(fresh.predict_proba(rows[row : row + 1]), expected[row : row + 1], atol=1e-12)
        assert np.array_equal(fresh.predict(rows[row : row + 1]).toarray(), decided[row : row + 1])
    assert sum(labels is model.candidates_.labels for labels in made) == 1


def test_rows_whose_labels_are_all_rare_are_decided(monkeypatch):
    monkeypatch.setattr(by_size, "WIDE", 3)
    monkeypatch.setattr(by_size, "RARE", 0.9)
    posterior = made()
    assert (posterior.decide("f1").sum(axis=1) <= 1).all()
    assert (posterior.decide("f1", at_most=2).sum(axis=1) <= 1).all()
    assert (posterior.decide("f1", exactly=4).sum(axis=1) == 4).all()
