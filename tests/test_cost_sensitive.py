"""CostSensitiveClassifier: rows held out honestly, classifiers of every kind, and what is kept of them."""

from copy import deepcopy
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold, RepeatedKFold, TimeSeriesSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from clems import BR, COSTS, CostSensitiveClassifier, Posterior, load, save, weighted_hamming
from clems.learners.cost_sensitive import splits_of, without_gaps

X, Y = make_multilabel_classification(240, 8, n_classes=5, length=200, random_state=0)
TRAIN, TEST = slice(0, 160), slice(160, 240)
LINEAR = LogisticRegression(solver="liblinear")
NAIVE = GaussianNB()


def fit(estimator=NAIVE, cost="f1", y=Y[TRAIN], **settings):
    return CostSensitiveClassifier(estimator, cost, **{"cv": 3, "random_state": 0} | settings).fit(X[TRAIN], y)


class Recorder(ClassifierMixin, BaseEstimator):
    """Knows the rows that it has seen, and says of each row whether it is one of them."""

    def fit(self, X, y):
        self.classes_, self.seen_ = np.unique(y), {row.tobytes() for row in X}
        return self

    def predict(self, X):
        return self.predict_proba(X)[:, 1] > 0.5

    def predict_proba(self, X):
        p = np.array([0.9 if row.tobytes() in self.seen_ else 0.2 for row in X])
        return np.column_stack([1 - p, p])


def test_held_out_probabilities_are_by_classifiers_that_have_not_seen_the_row():
    model = fit(Recorder(), calibration=None, joint="observed")
    assert (model._held_out.marginals == 0.2).all()
    assert (Posterior.from_marginals(model._classifier(X[TRAIN])).marginals == 0.9).all()  # it has seen all rows


@pytest.mark.parametrize(
    "estimator",
    [
        NAIVE,
        LINEAR,
        LinearSVC(tol=1e-2),
        make_pipeline(MaxAbsScaler(), LINEAR),
        make_pipeline(MaxAbsScaler(), LinearSVC(tol=1e-2)),
        RidgeClassifier(),
        ExtraTreesClassifier(5),
        OneVsRestClassifier(LINEAR),
        OneVsRestClassifier(LinearSVC(tol=1e-2)),
        MultiOutputClassifier(LINEAR),
        ClassifierChain(LINEAR),
        BR(n_trees=3),
        None,
    ],
    ids=lambda one: (
        "default" if one is None else "-".join(type(part).__name__ for part in getattr(one, "steps", [one]))
    ),
)
def test_classifiers_of_every_kind(estimator):
    labels = np.column_stack([Y[TRAIN], np.zeros(160), np.ones(160), np.eye(160)[3]])  # never, always, once
    settings = {"n_trees": 5} if estimator is None else {}
    model = fit(estimator, y=labels, **settings)
    P = model.predict_proba(X[TEST])
    assert P.shape == (80, 8)
    assert (P[:, 5] == 0).all()
    assert (P[:, 6] == 1).all()
    assert P[:, 7].mean() < 0.1
    predicted = model.predict(X[TEST])
    assert (predicted[:, [5, 6]] == [0, 1]).all()
    constant = COSTS["f1"].pairwise(Y[TEST], [*product([0, 1], repeat=5)]).mean(axis=0).min()
    assert COSTS["f1"].rowwise(Y[TEST], predicted[:, :5]).mean() < 0.8 * constant


def test_a_classifier_of_all_labels_is_trained_at_once_and_one_of_a_label_for_each():
    assert isinstance(fit(ExtraTreesClassifier(2)).estimator_, ExtraTreesClassifier)
    each = fit(LINEAR).estimator_
    assert len(each) == 5
    for label, estimator in enumerate(each):  # fitted to all rows, as BR fits it
        np.testing.assert_array_equal(estimator.coef_, deepcopy(LINEAR).fit(X[TRAIN], Y[TRAIN, label]).coef_)


def test_half_is_the_decision_for_hamming_of_what_the_classifier_says():
    model = fit(LINEAR, "hamming", calibration=None, joint="independent")
    assert np.array_equal(model.predict(X[TEST]), BR(LINEAR).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST]))
    assert np.isnan(model.held_out_cost_)


def test_the_classifier_that_predicts_does_not_depend_on_what_is_learned_besides():
    forest = RandomForestClassifier(3)
    plain = fit(forest, calibration=None, joint="independent").estimator_
    learned = fit(forest, "rank").estimator_
    np.testing.assert_array_equal(plain.predict(X[TEST]), learned.predict(X[TEST]))


def test_calibration_is_reported_before_and_after():
    shy = fit(ExtraTreesClassifier(30, max_depth=2))  # whose probabilities are all near those of all rows
    assert shy.calibration_.method == "sigmoid"
    assert shy.calibration_.log_loss["sigmoid"] < 0.97 * shy.calibration_.log_loss["none"]
    assert fit(calibration=None, joint="observed").calibration_.log_loss.keys() == {"none"}
    assert fit(calibration="isotonic").calibration_.method == "isotonic"
    assert fit(LinearSVC(tol=1e-2)).calibration_.log_loss.keys() == {"sigmoid", "isotonic"}
    for cost in ("f1", weighted_hamming(20)):
        expected = shy.expected_cost(X[TEST], cost).mean()
        real = shy.cost_ if cost == "f1" else cost
        assert expected == pytest.approx(real.rowwise(Y[TEST], shy.predict(X[TEST], cost=cost)).mean(), rel=0.25)


def test_another_cost_without_training_anew():
    costs = ["rank", weighted_hamming([1, 2, 30, 4, 5]), "macro_f1"]
    for cost in costs:
        other, fresh = fit().with_cost(cost), fit(cost=cost)
        assert np.array_equal(other.predict(X[TEST]), fresh.predict(X[TEST]))
        assert (other.joint_, other.held_out_costs_) == (fresh.joint_, fresh.held_out_costs_)
        assert other.get_params()["cost"] == cost
        assert other.held_out_cost_ == other.held_out_costs_[other.joint_]
    model = fit()
    model.with_cost("rank")
    assert (model.cost, model.cost_.name) == ("f1", "f1")
    with pytest.raises(NotFittedError):
        CostSensitiveClassifier().with_cost("f1")


def test_micro_and_macro_f1():
    model = fit(cost="micro_f1")
    assert model.criterion_.name == "micro_f1"
    assert np.array_equal(model.predict(X[TEST]), fit().with_cost("micro_f1").predict(X[TEST]))
    assert model.criterion_(Y[TEST], model.predict(X[TEST])) > model.criterion_(Y[TEST], np.ones_like(Y[TEST]))
    with pytest.raises(ValueError, match=r"macro_f1 is decided by .* and none were held out; fit with cost='macro_f1'"):
        fit(calibration=None, joint="independent").predict(X[TEST], cost="macro_f1")


def test_splitters_and_pairs_of_rows():
    folds = KFold(3, shuffle=True, random_state=1)
    pairs = [*folds.split(X[TRAIN])]
    by_splitter = fit(cv=folds).predict_proba(X[TEST])
    for cv in (pairs, iter(pairs)):
        np.testing.assert_array_equal(fit(cv=cv).predict_proba(X[TEST]), by_splitter)
    partly = fit(cv=TimeSeriesSplit(3))  # the first rows are never held out
    assert len(partly._held_out.truth) == 120
    for cv, message in (
        (RepeatedKFold(n_splits=3, n_repeats=2), r"^cv holds out row \d+ 2 times; a row may be held out once"),
        ([(np.arange(100), np.arange(50, 120))], "^cv holds out rows that it trains on"),
        ([], "^cv holds out no row"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(cv=cv)


def test_every_fold_has_its_share_of_every_label():
    rare = np.zeros((100, 2), np.uint8)
    rare[:10, 0], rare[5:10, 1] = 1, 1
    splits = splits_of(5, X[:100], rare, np.random.RandomState(0))
    assert [rare[held_out].sum(axis=0).tolist() for _, held_out in splits] == [[2, 1]] * 5
    assert splits_of(5, X[:1], rare[:1], np.random.RandomState(0)) == []
    assert len(splits_of(5, X[:3], rare[:3], np.random.RandomState(0))) == 3


def test_a_score_that_no_classifier_of_a_fold_could_give_is_the_least_of_others():
    values = np.array([[np.nan, 1.0, np.nan], [2.0, np.nan, np.nan], [-1.0, 3.0, np.nan]])
    labels = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], np.uint8)
    assert without_gaps(values, labels).tolist() == [[-1, 1, 0], [2, 3, 0], [-1, 3, 0]]


@pytest.mark.parametrize("form", ["estimator", "function", "probabilities"])
def test_a_fitted_model_is_used_as_it_is(form):
    fitted = OneVsRestClassifier(LINEAR).fit(X[:100], Y[:100])
    before = deepcopy(vars(fitted))
    given = {"estimator": fitted, "function": fitted.predict_proba, "probabilities": None}[form]
    rows = fitted.predict_proba(X) if form == "probabilities" else X
    model = CostSensitiveClassifier(given, "rank", cv="prefit", random_state=0).fit(rows[100:180], Y[100:180])
    assert model.estimator_ is given
    assert [e.coef_.tolist() for e in fitted.estimators_] == [e.coef_.tolist() for e in before["estimators_"]]
    wanted = CostSensitiveClassifier(fitted, "rank", cv="prefit", random_state=0).fit(X[100:180], Y[100:180])
    assert np.array_equal(model.predict(rows[180:]), wanted.predict(X[180:]))
    assert np.array_equal(model.predict_proba(rows[180:]), wanted.predict_proba(X[180:]))


def test_a_label_that_calibration_rows_lack_may_come():
    P = np.full((60, 2), 0.4)
    P[:30, 0] = 0.9
    model = CostSensitiveClassifier(cv="prefit", random_state=0).fit(P, np.eye(2, dtype=int)[[0] * 30 + [0] * 30])
    assert 0 < model.predict_proba([[0.4, 0.4]])[0, 1] < 0.4


def test_a_frozen_estimator_survives_being_cloned():
    frozen = FrozenEstimator(OneVsRestClassifier(LINEAR).fit(X[:100], Y[:100]))
    model = clone(CostSensitiveClassifier(frozen, cv="prefit", random_state=0)).fit(X[100:180], Y[100:180])
    assert model.predict(X[180:]).shape == (60, 5)


@pytest.mark.parametrize("given", ["model", LogisticRegression, 3])
def test_what_is_no_fitted_model_is_reported(given):
    with pytest.raises(
        ValueError, match=r"^With cv='prefit', estimator must be a fitted classifier with predict_proba"
    ):
        fit(given, cv="prefit")


def test_models_that_are_not_fitted_and_functions_that_are_not_prefit():
    with pytest.raises(NotFittedError, match="LogisticRegression instance is not fitted"):
        fit(LogisticRegression(), cv="prefit")
    with pytest.raises(ValueError, match="estimator must be a classifier"):
        fit(lambda X: X)
    with pytest.raises(
        ValueError, match="With calibration=None, CostSensitiveClassifier needs an estimator with predict"
    ):
        fit(LinearSVC(), calibration=None)


def test_few_rows():
    for n in (1, 2, 3, 6):
        model = CostSensitiveClassifier(DecisionTreeClassifier(), random_state=0).fit(X[:n], Y[:n])
        assert model.predict(X[TEST]).shape == (80, 5)
    scores = CostSensitiveClassifier(RidgeClassifier(), random_state=0).fit(X[:2], Y[:2])
    assert np.isfinite(scores.predict_proba(X[TEST])).all()


def test_weights_count_rows_in_calibration_and_in_the_frequency_of_label_sets():
    weight = np.where(Y[TRAIN, 0] == 1, 5.0, 1.0)
    plain = fit(joint="observed").predict_proba(X[TEST])[:, 0].mean()
    model = CostSensitiveClassifier(NAIVE, cv=3, joint="observed", random_state=0).fit(X[TRAIN], Y[TRAIN], weight)
    assert model.predict_proba(X[TEST])[:, 0].mean() > plain + 0.05
    assert model._joint.frequency.sum() == pytest.approx(weight.sum())


@pytest.mark.parametrize(
    "estimator", [LINEAR, make_pipeline(MaxAbsScaler(), LinearSVC(tol=1e-2)), ExtraTreesClassifier(3), None]
)
@pytest.mark.parametrize("settings", [{"joint": "observed", "calibration": "isotonic"}, {"joint": "independent"}])
def test_saved_and_loaded(estimator, settings, tmp_path):
    settings = settings | {"n_trees": 3}
    model = fit(estimator, y=pd_labels(), **settings)
    save(model, tmp_path / "model.clems")
    loaded = load(tmp_path / "model.clems")
    for cost in (None, "rank"):
        assert np.array_equal(loaded.predict(X[TEST], cost=cost), model.predict(X[TEST], cost=cost))
    np.testing.assert_array_equal(loaded.expected_cost(X[TEST]), model.expected_cost(X[TEST]))
    assert loaded.calibration_ == model.calibration_
    assert loaded.with_cost("rank").held_out_costs_ == model.with_cost("rank").held_out_costs_
    assert loaded.classes_.tolist() == list("abcde")


def pd_labels():
    return pd.DataFrame(Y[TRAIN], columns=list("abcde"))


def test_a_prefit_model_is_saved_with_its_estimator(tmp_path):
    fitted = OneVsRestClassifier(LINEAR).fit(X[:100], Y[:100])
    model = CostSensitiveClassifier(fitted, cv="prefit", random_state=0).fit(X[100:180], Y[100:180])
    save(model, tmp_path / "model.clems")
    assert np.array_equal(load(tmp_path / "model.clems").predict(X[180:]), model.predict(X[180:]))


def test_sparse_features_and_labels():
    dense = fit(LINEAR).predict(X[TEST])
    model = CostSensitiveClassifier(LINEAR, cv=3, random_state=0)
    model.fit(sparse.csr_array(X[TRAIN]), sparse.csr_array(Y[TRAIN]))
    assert np.array_equal(model.predict(sparse.csr_array(X[TEST])).toarray(), dense)


def test_xgboost_and_lightgbm():
    boosting = pytest.importorskip("xgboost").XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1)
    leaves = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=3, num_leaves=4, n_jobs=1, verbose=-1)
    labels = np.column_stack([Y[TRAIN], np.zeros(160), np.ones(160), np.eye(160)[3]])
    for estimator in (boosting, leaves):
        model = fit(estimator, y=labels)
        assert (model.predict(X[TEST])[:, 5:7] == [0, 1]).all()
        assert COSTS["f1"].rowwise(Y[TEST], model.predict(X[TEST])[:, :5]).mean() < 0.5
