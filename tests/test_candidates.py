"""Candidate sets against plain restatements."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from clems import COSTS
from clems.embedding.candidates import choose_candidates
from clems.labels.distinct import distinct_rows

labels = st.tuples(st.integers(1, 30), st.integers(1, 12)).flatmap(
    lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 1))
)


def choose(Y, how, cost="f1", seed=0, weight=None):
    return choose_candidates(Y, how, COSTS[cost], np.random.RandomState(seed), weight)


@given(Y=labels)
def test_distinct_rows_is_unique(Y):
    wanted, inverse = np.unique(Y, axis=0, return_inverse=True)
    for form in (np.asarray, sparse.csr_array):
        rows, index = distinct_rows(form(Y))
        assert np.array_equal(rows, wanted)
        assert np.array_equal(index, inverse.ravel())


@given(Y=labels, alike=st.booleans())
def test_distinct_rows_of_large_sparse_matrices_are_in_the_order_in_which_they_come(Y, alike):
    bits = np.random.default_rng(1).integers(2**64, size=(Y.shape[1], 2), dtype=np.uint64)
    bits[:, 0] *= not alike  # so that all rows share the first sum, and the second one has to tell them apart
    with (
        patch("clems.labels.distinct.is_large", lambda _: True),
        patch("clems.labels.distinct._random_bits", lambda _: bits),
    ):
        rows, index = distinct_rows(sparse.csr_array(Y))
    _, first = np.unique(Y, axis=0, return_index=True)
    assert np.array_equal(rows, Y[np.sort(first)])
    assert np.array_equal(rows[index], Y)


@given(Y=labels)
def test_observed(Y):
    chosen = choose(Y, "observed")
    assert np.array_equal(chosen.labels[chosen.index], Y)
    assert chosen.frequency.sum() == len(Y)
    assert np.array_equal(chosen.weight, chosen.frequency)


@given(Y=labels, size=st.one_of(st.integers(1, 40), st.floats(0.01, 1)))
def test_subsample(Y, size):
    observed = choose(Y, "observed")
    chosen = choose(Y, ("subsample", size))
    wanted = size if isinstance(size, int) else round(size * len(observed))
    assert len(chosen) == min(max(1, wanted), len(observed))
    assert {*map(bytes, chosen.labels)} <= {*map(bytes, observed.labels)}
    costs = COSTS["f1"].pairwise(Y, chosen.labels)
    # A row keeps its vector where it can (cost 0), and else goes where that costs least.
    assert np.array_equal(costs[np.arange(len(Y)), chosen.index], costs.min(axis=1))
    assert chosen.frequency.sum() == len(Y)


@given(Y=labels, size=st.one_of(st.integers(1, 40), st.floats(0.01, 2)))
def test_augment(Y, size):
    observed = choose(Y, "observed")
    chosen = choose(Y, ("augment", size))
    more = size if isinstance(size, int) else round(size * len(observed))
    assert len(chosen) == min(len(observed) + more, 2 ** Y.shape[1])
    assert len({*map(bytes, chosen.labels)}) == len(chosen)
    assert np.array_equal(chosen.labels[: len(observed)], observed.labels)
    assert np.array_equal(chosen.labels[chosen.index], Y)
    assert (chosen.frequency[len(observed) :] == 0).all()
    assert (chosen.weight[len(observed) :] == observed.frequency.min()).all()


def test_augment_with_many_labels():
    Y = np.eye(40, dtype=np.uint8)
    assert len(choose(Y, ("augment", 1.5))) == 100


def test_seed():
    Y = np.eye(30, dtype=np.uint8)
    for how in (("subsample", 0.5), ("augment", 10)):
        assert np.array_equal(choose(Y, how, seed=1).labels, choose(Y, how, seed=1).labels)
        assert not np.array_equal(choose(Y, how, seed=1).labels, choose(Y, how, seed=2).labels)


def test_extend_and_explicit():
    Y = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1]], np.uint8)
    extended = choose(Y, ("extend", [[1, 1, 1], [1, 0, 0], [1, 1, 1]]))
    assert extended.labels.tolist() == [[0, 1, 1], [1, 0, 0], [1, 1, 1]]
    assert extended.frequency.tolist() == [1, 2, 0]
    given = choose(Y, [[1, 1, 1], [1, 0, 0]])
    assert given.labels.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert given.index.tolist() == [1, 1, 0]
    assert given.frequency.tolist() == [1, 2]


def test_the_cost_decides_where_a_dropped_row_goes():
    Y = np.array([[1, 1, 0, 0]], np.uint8)
    chosen = [[1, 1, 1, 1], [0, 1, 0, 0]]
    # f1: 1 − 4/6 against 1 − 2/3; forgetting is dear under F10.
    assert choose(Y, chosen, "hamming").index.tolist() == [1]
    assert choose(Y, chosen, "f_beta").index.tolist() == [0]


def test_sample_weight_counts():
    Y = np.array([[1, 0], [1, 0], [0, 1]], np.uint8)
    assert choose(Y, "observed", weight=np.array([0.5, 2, 3])).frequency.tolist() == [3, 2.5]


@pytest.mark.parametrize("how", ["all", ("double", 2), ("subsample",), ("subsample", 1, 2), ["augment"]])
def test_unknown_ways_list_the_known(how):
    with pytest.raises(ValueError, match=r"unknown; they are 'observed', \('subsample', size\)"):
        choose(np.eye(3, dtype=np.uint8), how)


@pytest.mark.parametrize("size", [0, -1, 0.0, np.nan, "half", True, None])
def test_sizes_must_be_sizes(size):
    with pytest.raises(ValueError, match="A number of candidates"):
        choose(np.eye(3, dtype=np.uint8), ("subsample", size))


@pytest.mark.parametrize("vectors", [np.zeros((0, 3)), [[1, 0]], [[1, 0, 2]]])
def test_vectors_must_fit(vectors):
    with pytest.raises(ValueError, match="candidates"):
        choose(np.eye(3, dtype=np.uint8), vectors)


def test_too_many_random_vectors():
    with pytest.raises(ValueError, match="ask for fewer"):
        choose(np.eye(21, dtype=np.uint8), ("augment", 2**20))
