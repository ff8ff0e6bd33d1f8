"""Scores of rankings against loops over places, and nDCG against scikit-learn's."""

import warnings
from math import log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import ndcg_score

from clems import precision_at, propensities, recall_at
from clems.evaluation import ranking_scores


def by_loops(Y, scores, k, p, stored=None):
    """Precision, recall, nDCG and PSP at k, written out."""
    n, K = Y.shape
    sums, weighted, most = np.zeros(3), 0.0, 0.0
    for y, s, there in zip(Y, scores, np.ones_like(Y, bool) if stored is None else stored, strict=True):
        first = sorted((label for label in range(K) if there[label]), key=lambda label: (-s[label], label))[:k]
        hits = sum(y[label] for label in first)
        best = sum(1 / log2(i + 2) for i in range(min(k, y.sum())))
        dcg = sum(y[label] / log2(i + 2) for i, label in enumerate(first))
        sums += [hits / k, hits / y.sum() if y.any() else 0, dcg / best if y.any() else 0]
        weighted += sum(y[label] / p[label] for label in first)
        most += sum(sorted((1 / p[label] for label in range(K) if y[label]), reverse=True)[:k])
    return [*(sums / n), weighted / most if most else 0]


@st.composite
def rankings(draw):
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 6)))
    Y = draw(arrays(np.uint8, shape, elements=st.integers(0, 1)))
    return Y, draw(arrays(np.float64, shape, elements=st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0])))


@given(ranking=rankings())
def test_they_are_their_definitions(ranking):
    Y, scores = ranking
    ks, p = [1, 2, 3, 9], np.linspace(0.1, 1, Y.shape[1])
    wanted = [by_loops(Y, scores, k, p) for k in ks]
    for truth in (Y, sparse.csr_array(Y), Y.tolist()):
        found = ranking_scores(truth, scores, ks, p)
        assert ([*found.columns], [*found.index]) == (["precision", "recall", "ndcg", "psp"], ks)
        np.testing.assert_allclose(found.to_numpy(), wanted)
    few = ranking_scores(Y, sparse.csr_array(scores), ks, p)
    np.testing.assert_allclose(few.to_numpy(), [by_loops(Y, scores, k, p, scores != 0) for k in ks])


def test_ndcg_is_that_of_scikit_learn_where_there_are_no_ties():
    random = np.random.default_rng(0)
    scores = random.permuted(np.tile(np.arange(30.0), (50, 1)), axis=1)
    Y = (random.random(scores.shape) < 0.2).astype(int)
    found = ranking_scores(Y, scores, (1, 5, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (1, 5, 30):
            assert found.loc[k, "ndcg"] == pytest.approx(ndcg_score(Y, scores, k=k))
    assert "psp" not in found


def test_they_are_the_scores_of_the_sets_of_the_first_k():
    random = np.random.default_rng(1)
    scores, k = random.random((40, 8)), 3
    Y = (random.random(scores.shape) < 0.4).astype(int)
    Y[:, 0] = 1
    first = (np.argsort(np.argsort(-scores, axis=1), axis=1) < k).astype(int)
    found = ranking_scores(Y, scores, k)
    assert found.loc[k, "precision"] == pytest.approx(1 - precision_at(k).rowwise(Y, first).mean())
    assert found.loc[k, "recall"] == pytest.approx(1 - recall_at(k).rowwise(Y, first).mean())


def test_names():
    random = np.random.default_rng(2)
    Y = pd.DataFrame(random.integers(0, 2, (9, 4)), columns=[*"abcd"])
    scores = pd.DataFrame(random.random(Y.shape), columns=Y.columns)
    p = propensities(Y)
    wanted = ranking_scores(Y.to_numpy(), scores.to_numpy(), 2, p.to_numpy())
    pd.testing.assert_frame_equal(ranking_scores(Y, scores[[*"dbac"]], 2, p[[*"cabd"]]), wanted)
    with pytest.raises(ValueError, match="scores have the columns 'x', 'b', 'c', 'd', Y has 'a', 'b', 'c', 'd'"):
        ranking_scores(Y, scores.rename(columns={"a": "x"}))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([[1, 0]], [[0.1, np.nan]]), "scores hold NaN"),
        (([[1, 0]], [[0.1]]), r"scores must have the shape of Y, \(1, 2\), .*; it is \(1, 1\)"),
        (([[1, 0]], [["a", "b"]]), "scores must be a matrix of numbers"),
        (([[1, 2]], [[0.1, 0.2]]), "labels must be 0 or 1"),
        (([[1, 0]], [[0.1, 0.2]], 0), "k must be a whole number of at least 1; got 0"),
        (([[1, 0]], [[0.1, 0.2]], ()), "at least one number of labels"),
        (([[1, 0]], [[0.1, 0.2]], 1, [0.5]), "1 propensities for 2 labels"),
        ((np.zeros((0, 2)), np.zeros((0, 2))), "at least one row"),
    ],
)
def test_what_is_wrong_is_said(given, said):
    with pytest.raises(ValueError, match=said):
        ranking_scores(*given)
