"""What learners that divide their task share, and BR against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from clems import BR, CC, CFT, PCC
from clems.arrays import beside

X, Y = make_multilabel_classification(160, n_features=6, n_classes=5, random_state=0)
TRAIN, TEST = slice(0, 100), slice(100, 160)
NAMES = np.array(list("abcde"))
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
FOREST = RandomForestClassifier(7, random_state=0)
LINEAR = LogisticRegression()
ESTIMATORS = [TREE, FOREST, LINEAR]
FORMS = [np.asarray, sparse.csr_array, sparse.csr_matrix]


@pytest.mark.parametrize("form", FORMS)
def test_labels_stand_beside_features(form):
    features = form(X)
    assert beside(features, Y[:, :0].astype(np.uint8)) is features
    wide = beside(features, Y.astype(np.uint8))
    assert sparse.issparse(wide) == sparse.issparse(features)
    assert np.array_equal(wide.toarray() if sparse.issparse(wide) else wide, np.hstack([X, Y]))


class Sparse(ClassifierMixin, BaseEstimator):
    """A classifier that takes sparse features only."""

    def fit(self, X, y, sample_weight=None):
        assert sparse.issparse(X)
        self.classes_ = np.unique(y)
        self.share_ = y.mean()
        return self

    def predict_proba(self, X):
        assert sparse.issparse(X)
        return np.tile([1 - self.share_, self.share_], (X.shape[0], 1))

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


@pytest.mark.parametrize("learner", [BR, CC, PCC, CFT])
def test_sparse_features_stay_sparse(learner):
    model = learner(estimator=Sparse(), random_state=0).fit(sparse.csr_array(X), Y)
    assert model.predict(sparse.csr_array(X)).shape == Y.shape


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_br_is_one_classifier_per_label(estimator, form):
    ours = BR(estimator, n_jobs=2).fit(form(X[TRAIN]), Y[TRAIN])
    theirs = MultiOutputClassifier(estimator).fit(form(X[TRAIN]), Y[TRAIN])
    probabilities = np.column_stack([of_label[:, 1] for of_label in theirs.predict_proba(form(X[TEST]))])
    np.testing.assert_allclose(ours.predict_proba(form(X[TEST])), probabilities)
    assert np.array_equal(ours.predict(form(X[TEST])), theirs.predict(form(X[TEST])))


def test_what_always_or_never_occurred_has_probability_one_or_zero():
    labels = np.hstack([np.ones((160, 1)), Y[:, :2], np.zeros((160, 1))])
    for learner in (BR, CC, PCC):
        probabilities = learner(estimator=TREE, random_state=0).fit(X, labels).predict_proba(X)
        assert (probabilities[:, [0, 3]] == [1, 0]).all()


class Failing(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        if y.sum() == 1:
            raise ValueError("Too few examples.")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("learner", [BR, CC, PCC, CFT])
def test_a_failing_estimator_tells_the_label(learner):
    labels = Y.copy()
    labels[:, 3] = 0
    labels[0, 3] = 1
    with pytest.raises(ValueError, match="Too few") as caught:
        learner(estimator=Failing()).fit(X, pd.DataFrame(labels, columns=NAMES))
    assert caught.value.__notes__[0].startswith("It happened while training the label 'd', which 1 of ")
