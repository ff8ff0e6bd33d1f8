"""The nearest of many points by an index: found nearly always, measured, and forgotten with the points."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from scipy import sparse

from clems import Posterior
from clems.decisions import nearest_index
from clems.decisions.nearest import nearest, nearest_candidate
from clems.decisions.nearest_index import KNOWN, WANTED, index_of

pytest.importorskip("faiss")


@pytest.fixture
def points(monkeypatch):
    monkeypatch.setattr(nearest_index, "LEAST", 1000)
    rng = np.random.default_rng(0)
    return rng.standard_normal((6000, 12)).astype(np.float32), rng.standard_normal((400, 12)).astype(np.float32)


def test_the_index_finds_what_a_look_at_all_points_finds(points):
    among, questions = points
    index = index_of(among, questions, lambda some: nearest(some, among))
    assert index.recall >= WANTED
    assert np.mean(index(questions) == nearest(questions, among)) >= WANTED - 0.02  # on other questions, too
    assert index_of(among, questions[:1], None) is index  # made once


def test_recall_is_measured(points, monkeypatch):
    among, questions = points
    monkeypatch.setattr(nearest_index, "WANTED", 0.0)  # so that the first number of cells will do
    index = index_of(among, questions, lambda some: nearest(some, among))
    own = questions[::2][:200]
    assert index.recall == pytest.approx(np.mean(index(own) == nearest(own, among)))
    assert index.recall < 1


def test_few_points_have_no_index(points):
    among, questions = points
    assert index_of(among[:999], questions, None) is None


def test_without_faiss_there_is_no_index_and_the_same_decision(points, monkeypatch):
    among, questions = points
    labels = np.unpackbits(np.arange(6000, dtype=">u2").view(np.uint8).reshape(-1, 2), axis=1)
    share = sparse.csr_array((np.ones(400), np.zeros(400, int), np.arange(401)), (400, 6000))
    posterior = Posterior(labels, share, points=questions, embedded=among)
    found = nearest_candidate(posterior, None)
    monkeypatch.setattr(nearest_index, "find_spec", lambda name: None)
    exact = nearest_candidate(posterior, None)
    assert np.array_equal(exact, labels[nearest(questions, among)])
    assert np.mean((found == exact).all(axis=1)) >= WANTED - 0.02


def test_an_index_is_forgotten_with_its_points(points):
    among = points[0].copy()
    index_of(among, points[1], lambda some: nearest(some, points[0]))
    key = id(among)
    assert key in KNOWN
    del among
    gc.collect()
    assert key not in KNOWN
