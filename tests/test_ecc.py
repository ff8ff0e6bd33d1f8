"""ECC against RAkEL written out, and what its codes promise."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import DecisionTreeClassifier

from clems import ECC
from clems.embedding.codewords import CODES

X, Y = make_multilabel_classification(200, n_features=6, n_classes=5, random_state=0)
TRAIN, TEST = slice(0, 120), slice(120, 200)
each_code = pytest.mark.parametrize("code", [*CODES])


@pytest.mark.parametrize(("code", "least"), [("rrep", 5), ("hamr", 14)])
def test_a_code_that_is_too_short_is_refused(code, least):
    message = f"The code '{code}' needs at least {least} bits for 5 labels; got {least - 1}."
    with pytest.raises(ValueError, match=message):
        ECC(code, n_components=least - 1).fit(X, Y)
    assert ECC(code, n_components=least, estimator=DecisionTreeClassifier()).fit(X, Y).code_.size == least


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
    ("code", "message"),
    [
        (lambda K, M: "code", "A code has length, encode and decode; .* made 'code'."),
        (lambda K, M: Lossy(K, M - 1).encode, "A code has length"),
        (lambda K, M: Wrong(K, M, 2), "Wrong.encode must return zeros and ones of shape"),
        (lambda K, M: Wrong(K, M, 1), "Wrong.encode must return zeros and ones of shape"),
    ],
)
def test_a_bad_code_of_ones_own_is_refused(code, message):
    with pytest.raises(ValueError, match=message):
        ECC(code).fit(X, Y)


@dataclass(frozen=True)
class Wrong(Lossy):
    value: int

    def encode(self, Y):
        return np.full((len(Y), self.length + (self.value == 1)), self.value)
