"""Orders of chains, and CC against scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.tree import DecisionTreeClassifier

from clems import CC, CFT, PCC

X, Y = make_multilabel_classification(160, n_features=6, n_classes=5, random_state=0)
TRAIN, TEST = slice(0, 100), slice(100, 160)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
FOREST = RandomForestClassifier(7, random_state=0)
LINEAR = LogisticRegression()
ESTIMATORS = [TREE, FOREST, LINEAR]
FORMS = [np.asarray, sparse.csr_array, sparse.csr_matrix]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("order", [None, [3, 1, 4, 0, 2]])
def test_cc_is_scikit_learns_chain(estimator, order, form):
    ours = CC(order=order, estimator=estimator).fit(form(X[TRAIN]), Y[TRAIN])
    theirs = ClassifierChain(estimator, order=order).fit(form(X[TRAIN]), Y[TRAIN])
    np.testing.assert_allclose(ours.predict_proba(form(X[TEST])), theirs.predict_proba(form(X[TEST])), atol=1e-12)
    assert np.array_equal(ours.predict(form(X[TEST])), theirs.predict(form(X[TEST])))


def test_several_chains_are_averaged():
    model = CC(n_chains=4, estimator=TREE, random_state=0).fit(X[TRAIN], Y[TRAIN])
    orders = [chain.order.tolist() for chain in model.chains_]
    assert len({*map(tuple, orders)}) == 4
    alone = [CC(order=order, estimator=TREE).fit(X[TRAIN], Y[TRAIN]).predict_proba(X[TEST]) for order in orders]
    np.testing.assert_allclose(model.predict_proba(X[TEST]), np.mean(alone, axis=0))
    assert np.array_equal(model.predict(X[TEST]), np.mean(alone, axis=0) > 0.5)
    listed = CC(n_chains=4, order=orders, estimator=TREE).fit(X[TRAIN], Y[TRAIN])
    assert np.array_equal(listed.predict_proba(X[TEST]), model.predict_proba(X[TEST]))


def test_orders():
    assert CC(estimator=TREE).fit(X, Y).chains_[0].order.tolist() == [0, 1, 2, 3, 4]
    for learner in (CC, PCC, CFT):
        drawn = learner(order="random", estimator=TREE, random_state=0).fit(X, Y)
        again = learner(order="random", estimator=TREE, random_state=0).fit(X, Y)
        chain, same = (model.chains_[0] if learner is CC else model.chain_ for model in (drawn, again))
        assert chain.order.tolist() == same.order.tolist() != [0, 1, 2, 3, 4]


def test_an_order_may_name_labels():
    sets = [{"abcde"[k] for k in np.flatnonzero(row)} for row in Y]
    for learner in (CC, PCC, CFT):
        named = learner(order=list("caebd"), estimator=TREE, random_state=0).fit(X, sets)
        numbered = learner(order=[2, 0, 4, 1, 3], estimator=TREE, random_state=0).fit(X, Y)
        assert np.array_equal(named.predict(X), numbered.predict(X))


@pytest.mark.parametrize("learner", [CC, PCC, CFT])
@pytest.mark.parametrize(
    "order", ["alphabetic", [0, 1, 2], [0, 1, 2, 3, 3], [0, 1, 2, 3, 9], 3, [[0, 1]], {"a": 1}, {0, 1, 2, 3, 4}]
)
def test_bad_orders(learner, order):
    with pytest.raises(ValueError, match=r"^(order must be None, 'random' or each of the 5 labels|n_chains=1 needs)"):
        learner(order=order, estimator=TREE).fit(X, Y)


def test_bad_numbers():
    for settings_, message in [
        ({"n_chains": 0}, "n_chains must be a whole number of at least 1; got 0"),
        ({"n_chains": 3, "order": range(5)}, "n_chains=3 needs as many orders, or 'random'; order lists 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            CC(estimator=TREE, **settings_).fit(X, Y)
    for name in ("n_samples", "beam_width"):
        with pytest.raises(ValueError, match=rf"{name} must be a whole number of at least 1.*; got 2.5"):
            PCC(estimator=TREE, **{name: 2.5}).fit(X, Y)
    with pytest.raises(ValueError, match="n_rounds must be a whole number of at least 1; got True"):
        CFT(estimator=TREE, n_rounds=True).fit(X, Y)
