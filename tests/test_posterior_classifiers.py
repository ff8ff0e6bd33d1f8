"""What classifiers say of labels, in every form that there is, comes out as one matrix."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from clems.posterior.classifiers import Given, OfAllLabels, OfEachLabel, gives_scores, values_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, :3] + RNG.normal(size=(60, 3)) > 0).astype(int)
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


@pytest.mark.parametrize(
    "estimator",
    [
        TREE,
        KNeighborsClassifier(5),
        OneVsRestClassifier(TREE),
        MultiOutputClassifier(TREE),
        ClassifierChain(TREE),
    ],
    ids=lambda one: type(one).__name__,
)
def test_probabilities_in_every_form(estimator):
    fitted = estimator.fit(X, Y)
    given = fitted.predict_proba(X)
    wanted = np.column_stack([one[:, 1] for one in given]) if isinstance(given, list) else given
    assert np.array_equal(values_of(fitted, X, 3), wanted)
    assert not gives_scores(fitted)


def test_scores_where_there_are_no_probabilities():
    fitted = RidgeClassifier().fit(X, Y)
    assert gives_scores(fitted)
    assert np.array_equal(values_of(fitted, X, 3), fitted.decision_function(X))
    alone = LinearSVC().fit(X, Y[:, 0])
    assert np.array_equal(values_of(alone, X, 1)[:, 0], alone.decision_function(X))


def test_labels_with_one_class():
    constant = np.column_stack([Y[:, 0], np.zeros(60, int), np.ones(60, int)])
    values = values_of(TREE.fit(X, constant), X, 3)
    assert np.array_equal(values[:, 1:], constant[:, 1:])
    each = [LogisticRegression().fit(X, Y[:, 0]), *(DummyClassifier().fit(X, [k] * 60) for k in (0, 1))]
    assert np.array_equal(OfEachLabel(each, False)(X)[:, 1:], constant[:, 1:])
    assert np.isnan(OfEachLabel([LinearSVC().fit(X, Y[:, 0]), *each[1:]], True)(X)[:, 1:]).all()
    some = OfAllLabels(RidgeClassifier().fit(X, Y[:, :2]), np.array([np.nan, 1, np.nan]), True)(X)
    assert np.isnan(some[:, 1]).all()
    assert not np.isnan(some[:, [0, 2]]).any()


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, pd.DataFrame, sparse.csr_array])
def test_functions_return_probabilities_in_any_form(form):
    P = RNG.random((60, 3))
    assert np.array_equal(values_of(lambda _: form(P), X, 3), P)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            np.full((60, 2), 0.5),
            r"^The estimator model predicted an array of shape \(60, 2\); for 60 rows and 3 labels",
        ),
        (np.full((60, 3), 1.5), "^The estimator model predicted probabilities outside 0 to 1, from 1.5 to 1.5"),
        (np.full((60, 3), -0.1), "outside 0 to 1, from -0.1 to -0.1"),
        (np.full((60, 3), np.nan), "^The estimator model predicted values that are no finite numbers"),
        ([["a"] * 3] * 60, "^The estimator model predicted something of type list, which is no array of numbers"),
        (None, "shape|no array of numbers"),
    ],
)
def test_what_is_no_probability_is_reported(given, message):
    def model(_):
        return given

    with pytest.raises(ValueError, match=message):
        values_of(model, X, 3)


def test_a_class_that_is_neither_0_nor_1():
    fitted = KNeighborsClassifier(3).fit(X, Y + 1)
    with pytest.raises(ValueError, match=r"for label 0 with the classes \[.*2.*\]; it must have a column for each of"):
        values_of(fitted, X, 3)


def test_rows_that_are_themselves_probabilities():
    P = RNG.random((5, 3))
    assert np.array_equal(Given(None, 3)(P), P)
    assert np.array_equal(Given(None, 3)(sparse.csr_array(P)), P)
    with pytest.raises(ValueError, match="X must hold the probabilities of 2 labels; it has 3 columns"):
        Given(None, 2)(P)
    with pytest.raises(ValueError, match=r"X must hold probabilities; its values go from .* to 1.5"):
        Given(None, 3)(np.vstack([P, np.full(3, 1.5)]))


def test_a_classifier_that_was_fitted_to_a_frame_gets_one(recwarn):
    frame = pd.DataFrame(X, columns=list("abcd"))
    Given(MultiOutputClassifier(LogisticRegression()).fit(frame, Y), 3, frame.columns)(X)
    assert not recwarn
