"""Codes against their laws."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clems.embedding.codewords import CHECKS, CODES, HammingOnRepetition, Repetition, grouped, make_code


@st.composite
def code_and_labels(draw, *names):
    kind = CODES[draw(st.sampled_from(names))]
    K = draw(st.integers(1, 12))
    least = kind.least(K)
    labels = draw(st.lists(st.lists(st.integers(0, 1), min_size=K, max_size=K), min_size=1, max_size=6))
    return kind(K, draw(st.integers(least, 6 * least))), np.array(labels, np.uint8)


@given(code_and_labels(*CODES))
def test_what_is_encoded_is_decoded(case):
    code, labels = case
    bits = code.encode(labels)
    assert bits.shape == (len(labels), code.length)
    assert bits.dtype == np.uint8
    assert {*bits.ravel()} <= {0, 1}
    assert code.size - 7 < code.length <= code.size
    assert np.array_equal(code.decode(bits), labels)


@given(code_and_labels("rrep"), st.data())
def test_repetition_survives_any_minority_of_wrong_copies(case, data):
    code, labels = case
    bits = code.encode(labels)
    for label in range(code.n_labels):
        copies = np.flatnonzero(code.labels == label)
        assert len(copies) in (code.size // code.n_labels, -(-code.size // code.n_labels))
        wrong = data.draw(st.permutations(copies.tolist()))[: (len(copies) - 1) // 2]
        bits[:, wrong] ^= 1
    assert np.array_equal(code.decode(bits), labels)


def test_half_of_the_copies_are_not_enough():
    code = Repetition(2, 8)
    assert code.decode(np.array([[1, 1, 1, 1, 0, 1, 0, 0]])).tolist() == [[0, 1]]


@given(code_and_labels("hamr"), st.data())
def test_hamming_corrects_one_wrong_bit_of_each_block(case, data):
    code, labels = case
    bits = code.encode(labels)
    for block in range(code.length // 7):
        bits[:, 7 * block + data.draw(st.integers(0, 6))] ^= 1
    assert np.array_equal(code.decode(bits), labels)


def test_words_of_hamming_differ_in_three_bits():
    words = HammingOnRepetition(4, 7).encode(np.array([*product([0, 1], repeat=4)]))
    assert {int((a != b).sum()) for a, b in combinations(words, 2)} == {3, 4, 7}
    assert not (words @ CHECKS.T % 2).any()


@pytest.mark.parametrize(("n_components", "rrep", "hamr"), [(None, 20, 14), (4.0, 20, 14), (3.3, 16, 14), (29, 29, 28)])
def test_length_of_the_code(n_components, rrep, hamr):
    assert make_code("rrep", 5, n_components).length == rrep
    assert make_code("hamr", 5, n_components).length == hamr
    assert make_code("hamr", 1, None).length == 7


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 5), st.integers(0, 9))
def test_bits_of_a_kind_are_kept_apart(kinds, group_size, seed):
    kinds = np.array(kinds)
    groups = grouped(kinds, group_size, np.random.RandomState(seed))
    assert len(groups) == -(-len(kinds) // group_size)
    assert sorted(np.concatenate(groups)) == [*range(len(kinds))]
    assert all((np.diff(group) > 0).all() for group in groups)
    sizes = {len(group) for group in groups}
    assert max(sizes) - min(sizes) <= 1
    repeats = sum(len(group) - len({*kinds[group]}) for group in groups)
    unavoidable = sum(max(0, count - len(groups)) for count in np.bincount(kinds))
    assert repeats == unavoidable


def test_groups_are_random():
    kinds = Repetition(12, 48).labels
    drawn = [{frozenset(kinds[g]) for g in grouped(kinds, 3, np.random.RandomState(seed))} for seed in range(20)]
    assert len({frozenset(sets) for sets in drawn}) == 20
    assert np.mean([len(sets) for sets in drawn]) > 15  # of 16: hardly ever the same three labels twice
