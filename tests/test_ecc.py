"""Codes against their laws; ECC against RAkEL written out."""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import DecisionTreeClassifier

from clems import ECC
from clems.codes import CHECKS, CODES, HammingOnRepetition, Repetition, grouped, make_code

X, Y = make_multilabel_classification(200, n_features=6, n_classes=5, random_state=0)
TRAIN, TEST = slice(0, 120), slice(120, 200)
each_code = pytest.mark.parametrize("code", [*CODES])


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


@pytest.mark.parametrize(("code", "least"), [("rrep", 5), ("hamr", 14)])
def test_a_code_that_is_too_short_is_refused(code, least):
    told = f"The code '{code}' needs at least {least} bits for 5 labels; got {least - 1}."
    with pytest.raises(ValueError, match=told):
        ECC(code, n_components=least - 1).fit(X, Y)
    assert ECC(code, n_components=least, estimator=DecisionTreeClassifier()).fit(X, Y).code_.size == least


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


def rakel(X, Y, X_new, labelsets, estimators):
    """Each set of labels is one problem of several classes; a label is predicted if most of its sets say so."""
    votes, of = np.zeros((len(X_new), Y.shape[1])), np.zeros(Y.shape[1])
    for labelset, estimator in zip(labelsets, estimators, strict=True):
        names = ["".join(map(str, row)) for row in Y[:, labelset]]
        for row, name in enumerate(estimator.fit(X, names).predict(X_new)):
            votes[row, labelset] += [int(bit) for bit in name]
        of[labelset] += 1
    return (votes > of / 2).astype(int)


@pytest.mark.parametrize("copies", [1, 3.0, 4.0])
@pytest.mark.parametrize("group_size", [1, 2, 3])
def test_repetition_is_rakel(copies, group_size):
    forest = ExtraTreesClassifier(5, max_depth=4)
    size = int(copies * 5)
    model = ECC("rrep", n_components=size, group_size=group_size, estimator=forest, random_state=0)
    model.fit(X[TRAIN], Y[TRAIN])
    labelsets = [group.bits % 5 for group in model.groups_]
    same = [clone(forest).set_params(random_state=estimator.random_state) for estimator in model.estimators_]
    wanted = rakel(X[TRAIN], Y[TRAIN], X[TEST], labelsets, same)
    assert np.array_equal(model.predict(X[TEST]), wanted)


@each_code
def test_a_group_predicts_what_it_has_seen(code):
    model = ECC(code, estimator=DecisionTreeClassifier(max_depth=3), random_state=0).fit(X[TRAIN], Y[TRAIN])
    bits = model.code_.encode(Y[TRAIN])
    assert len(model.groups_) == len(model.estimators_) == -(-model.code_.length // 3)
    for group, estimator in zip(model.groups_, model.estimators_, strict=True):
        seen = {*map(tuple, bits[:, group.bits])}
        assert {*map(tuple, group.combinations)} == seen
        assert len(group.combinations) == len(seen)
        assert estimator.classes_.tolist() == [*range(len(seen))]


@each_code
def test_a_proper_code_loses_nothing(code):
    assert ECC(code, estimator=DecisionTreeClassifier()).fit(X, Y).reconstruction_error_ == 0


def test_more_bits_correct_more():
    forest = ExtraTreesClassifier(5, max_depth=5)

    def mean_score(n_components):
        models = [ECC("rrep", n_components=n_components, estimator=forest, random_state=seed) for seed in range(5)]
        return np.mean([(m.fit(X[TRAIN], Y[TRAIN]).predict(X[TEST]) == Y[TEST]).mean() for m in models])

    assert mean_score(9.0) > mean_score(1.0)


@each_code
def test_trees_that_end_at_a_depth(code):
    def fit(depth):
        return ECC(code, estimator=DecisionTreeClassifier(max_depth=depth), random_state=0).fit(X[TRAIN], Y[TRAIN])

    whole, shallow = fit(None), fit(2)
    assert np.array_equal(whole.at_depth(2).predict(X[TEST]), shallow.predict(X[TEST]))
    assert (whole.predict(X[TEST]) != shallow.predict(X[TEST])).any()


def test_who_fails_is_named():
    with pytest.raises(ValueError, match="max_depth") as caught:
        ECC("rrep", n_components=1.0, group_size=5, estimator=DecisionTreeClassifier(max_depth=-1)).fit(X, Y)
    number = len(np.unique(Y, axis=0))
    wanted = f"It happened while training the bits [0, 1, 2, 3, 4], which have {number} combinations."
    assert caught.value.__notes__ == [wanted]


@dataclass(frozen=True)
class Lossy:
    """A code of one's own, which forgets all labels but the first."""

    n_labels: int
    length: int

    def encode(self, Y):
        return np.repeat(Y[:, :1], self.length, axis=1)

    def decode(self, bits):
        return np.pad(bits[:, :1], ((0, 0), (0, self.n_labels - 1)))


def test_a_code_of_ones_own():
    model = ECC(Lossy, n_components=2, estimator=DecisionTreeClassifier(), random_state=0).fit(X, Y)
    assert model.code_ == Lossy(5, 2)
    assert np.array_equal(model.predict(X)[:, 0], Y[:, 0])
    assert not model.predict(X)[:, 1:].any()
    assert model.reconstruction_error_ == pytest.approx(Y[:, 1:].sum() / Y.size)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (lambda K, M: "code", "A code has length, encode and decode; .* made 'code'."),
        (lambda K, M: Lossy(K, M - 1).encode, "A code has length"),
        (lambda K, M: Wrong(K, M, 2), "Wrong.encode must return zeros and ones of shape"),
        (lambda K, M: Wrong(K, M, 1), "Wrong.encode must return zeros and ones of shape"),
    ],
)
def test_a_bad_code_of_ones_own_is_refused(code, told):
    with pytest.raises(ValueError, match=told):
        ECC(code).fit(X, Y)


@dataclass(frozen=True)
class Wrong(Lossy):
    value: int

    def encode(self, Y):
        return np.full((len(Y), self.length + (self.value == 1)), self.value)
