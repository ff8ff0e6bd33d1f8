"""Factors of label vectors against brute force over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_multilabel_classification

from clems.embedding.factorisation import factorise, label_graph
from clems.labels.distinct import distinct_rows

_, Y = make_multilabel_classification(300, n_features=8, n_classes=9, random_state=0)
VECTORS, PLACE = distinct_rows(Y.astype(np.uint8))
LABELS, FREQUENCY = sparse.csr_array(VECTORS, dtype=float), np.bincount(PLACE).astype(float)
each_rank = pytest.mark.parametrize("rank", [1, 2, 4, 6])


def factors(rank, n_neighbors=5, labels=LABELS, frequency=FREQUENCY, max_iter=50, tol=1e-3):
    seed = np.random.RandomState(0)
    return factorise(labels, frequency, rank, seed, n_neighbors=n_neighbors, max_iter=max_iter, tol=tol)


def error_by_rows(codes, n_neighbors):
    """Error over all pairs of rows whose label vectors are neighbours, each row counted by itself."""
    graph = label_graph(LABELS, FREQUENCY, n_neighbors).toarray()[PLACE][:, PLACE]
    wanted = (VECTORS @ VECTORS.T.astype(float))[PLACE][:, PLACE]
    found = (codes @ codes.T)[PLACE][:, PLACE]
    return (graph * (wanted - found) ** 2).sum() / (graph * wanted**2).sum()


@given(
    st.lists(st.lists(st.integers(0, 1), min_size=5, max_size=5), min_size=1, max_size=20, unique_by=tuple),
    st.integers(1, 25),
)
def test_the_graph_holds_the_nearest_label_vectors(vectors, n_neighbors):
    vectors = np.array(vectors, float)
    L = len(vectors)
    graph = label_graph(sparse.csr_array(vectors), np.arange(1.0, L + 1), n_neighbors).toarray()
    assert np.array_equal(graph, graph.T)
    assert {*graph.ravel()} <= {0, 1}
    assert graph.diagonal().all()
    sizes = np.maximum(np.sqrt(vectors.sum(axis=1)), 1)
    cosine = vectors @ vectors.T / np.outer(sizes, sizes)
    for own in range(L):
        others = np.array([other for other in range(L) if other != own], int)
        ranked = others[np.lexsort((-others, -cosine[own, others].round(9)))]  # the last are the most frequent
        assert graph[own, ranked[:n_neighbors]].all()
        for other in ranked[n_neighbors:]:  # only there because it has this one as a neighbour
            if graph[own, other]:
                rest = np.delete(cosine[other], [other, own])
                assert (rest > cosine[own, other] + 1e-9).sum() < n_neighbors


@each_rank
def test_error_falls_and_is_that_of_all_rows(rank):
    made = factors(rank)
    assert made.codes.shape == (len(VECTORS), rank)
    assert len(made.history) > 2
    assert (np.diff(made.history) < 0).all()
    assert made.error < 0.9 * made.history[0]
    assert made.error == pytest.approx(error_by_rows(made.codes, 5))


@pytest.mark.parametrize("rank", [3, 5, 7])
def test_it_stops_at_the_first_step_that_lowers_the_error_by_less_than_tol(rank):
    """By less than that share of it, or of a thousandth where it is smaller."""
    history = factors(rank, max_iter=10_000, tol=1e-2).history
    enough = -np.diff(history) > 1e-2 * np.maximum(history[:-1], 1e-3)
    assert enough.tolist() == [True] * (len(history) - 2) + [False]


@each_rank
def test_better_than_random_factors(rank):
    made = factors(rank, max_iter=1)
    for seed in range(10):
        drawn = np.random.default_rng(seed).standard_normal(made.codes.shape)
        graph = label_graph(LABELS, FREQUENCY, 5).toarray() * np.outer(FREQUENCY, FREQUENCY)
        wanted, found = VECTORS @ VECTORS.T.astype(float), drawn @ drawn.T
        scale = (graph * wanted * found).sum() / (graph * found**2).sum()  # that of least error
        assert made.error < error_by_rows(np.sqrt(max(scale, 0)) * drawn, 5)


@each_rank
def test_for_all_pairs_no_factors_are_better_than_the_leading_axes(rank):
    scaled = np.sqrt(FREQUENCY)[:, None] * VECTORS
    values = np.linalg.svd(scaled)[1] ** 4
    made = factors(rank, n_neighbors=len(VECTORS))
    assert made.history[0] == pytest.approx(values[rank:].sum() / values.sum())
    assert made.error == pytest.approx(made.history[0])


def test_enough_dimensions_are_exact():
    for size in (9, 30):
        made = factors(size)
        assert made.codes.shape[1] == 9
        assert made.error < 1e-20
        np.testing.assert_allclose(made.codes @ made.codes.T, VECTORS @ VECTORS.T.astype(float), atol=1e-9)


def test_more_label_vectors_than_labels_or_fewer():
    few = factors(3, labels=LABELS[:5], frequency=FREQUENCY[:5], n_neighbors=2)
    assert few.codes.shape == (5, 3)
    assert (np.diff(few.history) < 0).all()
    lone = factors(4, labels=LABELS[:1], frequency=FREQUENCY[:1])
    assert lone.codes.shape == (1, 1)
    empty = factors(4, labels=sparse.csr_array((1, 3)), frequency=np.ones(1))
    assert not empty.codes.any()
    assert empty.error == 0


def test_leading_axes_of_very_many_labels(monkeypatch):
    exact = factors(2)
    monkeypatch.setattr("clems.embedding.factorisation.WIDE", 5)
    assert factors(2).history[0] == pytest.approx(exact.history[0], rel=1e-3)
