"""CLEMS as a user and as scikit-learn meet it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from clems import CLEMS, COSTS, CRITERIA, LEARNERS, get_cost, weighted_hamming
from clems.classifier import BLOCK
from clems.datasets import digit_scenes
from clems.forest import default_forest

X, Y = digit_scenes(240, random_state=0)
TRAIN, TEST = slice(0, 160), slice(160, 240)
SMALL = default_forest(121, n_estimators=5)
NEAREST = KNeighborsRegressor(1)


def fit(X=X[TRAIN], Y=Y[TRAIN], **settings):
    settings = {"estimator": SMALL, "random_state": 0, "tol": 1e-2} | settings
    return CLEMS(**settings).fit(X, Y)


NOT_BINARY = "feeds a column of classes that are not 0 and 1; a label matrix holds nothing else"
NOT_A_MATRIX = "feeds a one-dimensional target; labels are a matrix"
EXPECTED_FAILURES = {
    "check_estimators_dtypes": NOT_BINARY,
    "check_sample_weights_pandas_series": NOT_BINARY,
    "check_sample_weights_not_an_array": NOT_BINARY,
    "check_sample_weights_shape": NOT_BINARY,
    "check_sample_weights_not_overwritten": NOT_BINARY,
    "check_classifier_data_not_an_array": NOT_BINARY,
    "check_fit2d_1feature": NOT_BINARY,
    "check_classifiers_one_label": NOT_A_MATRIX,
    "check_classifiers_one_label_sample_weights": NOT_A_MATRIX,
    "check_classifiers_classes": NOT_A_MATRIX,
    "check_classifiers_train": "wants predictions for one column of classes as a vector; ours stay a matrix",
    "check_classifiers_regression_target": NOT_A_MATRIX,
    "check_classifier_not_supporting_multiclass": NOT_A_MATRIX,
}


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="older versions of these checks feed a column of other classes than 0 and 1 nearly everywhere",
)
@parametrize_with_checks(
    [learner(estimator=Ridge()) for learner in LEARNERS.values()],
    expected_failed_checks=lambda learner: EXPECTED_FAILURES,
)
def test_scikit_learn_citizenship(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", sorted(COSTS))
def test_learns(name):
    X, Y = make_multilabel_classification(400, n_features=8, n_classes=6, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal costs of all mistakes embed slowly
        model = fit(X[:300], Y[:300], cost=name, estimator=None)
    cost = COSTS[name]
    learned = cost.rowwise(Y[300:], model.predict(X[300:])).mean()
    constant = cost.pairwise(Y[300:], model.candidates_.labels).mean(axis=0).min()
    assert learned < 0.9 * constant


def test_what_was_seen_is_predicted_again():
    model = fit(estimator=NEAREST, cost="f1")
    assert np.array_equal(model.predict(X[TRAIN]), Y[TRAIN])


def test_predictions_are_candidates():
    model = fit(candidates=("subsample", 12))
    assert len(model.candidates_) == 12
    assert {*map(bytes, model.predict(X[TEST]))} <= {*map(bytes, model.candidates_.labels)}


def test_fitted_attributes():
    model = fit(n_components=7)
    L = len(model.candidates_)
    assert np.array_equal(model.candidates_.labels[model.candidates_.index], Y[TRAIN])
    assert model.embedding_.truth.shape == model.embedding_.prediction.shape == (L, 7)
    assert model.estimator_.n_outputs_ == 7
    error, frequency = model.embedding_error(), model.candidates_.frequency
    wanted = COSTS["f1"].pairwise(model.candidates_.labels, model.candidates_.labels)
    assert error.shape == (L, L)
    assert model.embedding_.stress == pytest.approx(frequency @ error.sum(1) / (frequency @ wanted.sum(1)), rel=1e-6)


@pytest.mark.parametrize(("given", "wanted"), [(None, 10), (3, 3), (0.5, 5), (2.0, 20), (0.01, 1), (1, 1)])
def test_n_components(given, wanted):
    assert fit(n_components=given).embedding_.truth.shape[1] == wanted


def test_roles():
    mirrored, swapped = fit(cost="rank"), fit(cost="rank", roles="swapped")
    assert not np.array_equal(mirrored.predict(X[TEST]), swapped.predict(X[TEST]))
    seen = swapped.candidates_.index
    again = fit(cost="rank", roles="swapped", estimator=NEAREST)
    np.testing.assert_allclose(again.estimator_.predict(X[TRAIN]), again.embedding_.prediction[seen])


def test_transform():
    root, plain = fit(cost_transform="sqrt"), fit(cost_transform="identity")
    own = fit(cost_transform=lambda cost: cost**0.5)
    assert np.array_equal(root.embedding_.truth, own.embedding_.truth)
    assert plain.embedding_.stress != root.embedding_.stress
    single = fit(dtype=np.float32)
    assert single.embedding_.truth.dtype == np.float32
    assert single.embedding_.stress == pytest.approx(root.embedding_.stress, rel=0.1)


def test_a_high_price_for_a_miss_is_heeded():
    blind, careful = (fit(cost=weighted_hamming(price)).predict(X[TEST]).sum() for price in (1, 20))
    assert careful > 1.5 * blind


def test_a_function_as_cost():
    def missed_or_vain(Y, P):
        return np.abs(Y.astype(float) - P).mean(axis=1)

    ours, theirs = fit(cost="hamming"), fit(cost=missed_or_vain)
    assert np.array_equal(ours.predict(X[TEST]), theirs.predict(X[TEST]))
    assert theirs.score(X[TEST], Y[TEST]) == pytest.approx(ours.score(X[TEST], Y[TEST]))


@pytest.mark.parametrize("name", ["f1", "rank"])
def test_score_is_greater_when_better(name):
    model = fit(cost=name)
    criterion = CRITERIA[name]
    weight = np.random.default_rng(0).random(80)
    value = criterion(Y[TEST], model.predict(X[TEST]), weight)
    assert model.score(X[TEST], Y[TEST], weight) == criterion.sign * value
    assert model.score(X[TRAIN], Y[TRAIN]) > model.score(X[TEST], Y[TEST])


@pytest.mark.parametrize(
    "estimator",
    [None, Ridge(), KNeighborsRegressor(3), SVR(), ExtraTreesRegressor(5), make_pipeline(StandardScaler(), Ridge())],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_regressor(estimator):
    model = fit(estimator=estimator, n_components=3)
    assert model.predict(X[TEST]).shape == (80, 10)
    assert isinstance(model.estimator_, MultiOutputRegressor) == isinstance(estimator, SVR)
    assert fit(estimator=estimator, n_components=1).predict(X[:5]).shape == (5, 10)


class Stubborn(RegressorMixin, BaseEstimator):
    """A regressor with one output and no sample weights."""

    def fit(self, X, y):
        assert y.ndim == 1
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_regressor_without_sample_weight():
    assert fit(estimator=Stubborn()).predict(X[TEST]).shape == (80, 10)
    with pytest.raises(ValueError, match=r"sample_weight was given, but Stubborn.fit does not take it"):
        CLEMS(estimator=Stubborn()).fit(X, Y, sample_weight=np.ones(240))


def test_seed_decides_all():
    one, two, other = (fit(estimator=None, random_state=seed, n_jobs=jobs) for seed, jobs in ((0, 1), (0, 2), (1, 1)))
    np.testing.assert_allclose(one.estimator_.predict(X[TEST]), two.estimator_.predict(X[TEST]))
    assert np.array_equal(one.predict(X[TEST]), two.predict(X[TEST]))
    assert not np.array_equal(one.estimator_.predict(X[TEST]), other.estimator_.predict(X[TEST]))
    assert not np.array_equal(
        fit(random_state=0).estimator_.predict(X[TEST]), fit(random_state=1).estimator_.predict(X[TEST])
    )


def test_a_seed_of_the_estimators_own_is_kept():
    model = fit(estimator=ExtraTreesRegressor(3, random_state=5))
    assert model.estimator_.random_state == 5


def test_predicts_in_blocks():
    model = fit(estimator=DummyRegressor())
    seen = []
    predict = model.estimator_.predict
    model.estimator_.predict = lambda X: seen.append(len(X)) or predict(X)
    assert model.predict(np.zeros((2 * BLOCK + 1, X.shape[1]))).shape == (2 * BLOCK + 1, 10)
    assert seen == [BLOCK, BLOCK, 1]


def test_sample_weight_counts_in_both_stages():
    weight = np.random.default_rng(0).integers(1, 4, 160)
    weighted = CLEMS(estimator=Ridge(), random_state=0).fit(X[TRAIN], Y[TRAIN], weight)
    repeated = fit(
        np.repeat(X[TRAIN], weight, axis=0), np.repeat(Y[TRAIN], weight, axis=0), estimator=Ridge(), tol=1e-4
    )
    assert np.array_equal(weighted.candidates_.frequency, repeated.candidates_.frequency)
    np.testing.assert_allclose(weighted.embedding_.truth, repeated.embedding_.truth, atol=1e-6)
    np.testing.assert_allclose(weighted.estimator_.coef_, repeated.estimator_.coef_, atol=1e-6)


def test_rows_of_weight_zero_do_not_count():
    weight = (np.arange(160) < 100).astype(float)
    left_out = CLEMS(estimator=SMALL, random_state=0).fit(X[TRAIN], Y[TRAIN], weight)
    never_there = CLEMS(estimator=SMALL, random_state=0).fit(X[:100], Y[:100], np.ones(100))
    assert np.array_equal(left_out.predict(X[TEST]), never_there.predict(X[TEST]))


def test_forms_of_features_and_labels():
    def fit_nearest(X=X[TRAIN], Y=Y[TRAIN]):
        return fit(X, Y, estimator=KNeighborsRegressor(3))

    wanted = fit_nearest().predict(X[TEST])
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(X.shape[1])])
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_matrix):
        assert np.array_equal(fit_nearest(form(X[TRAIN])).predict(form(X[TEST])), wanted)
        predicted = fit_nearest(Y=form(Y[TRAIN])).predict(X[TEST])
        assert sparse.issparse(predicted)
        assert np.array_equal(predicted.toarray(), wanted)
    model = fit_nearest(frame[TRAIN])
    assert np.array_equal(model.predict(frame[TEST]), wanted)
    assert model.feature_names_in_[7] == "pixel 7"
    for labels in (Y[TRAIN].astype(bool), Y[TRAIN].astype(float), Y[TRAIN].tolist()):
        predicted = fit_nearest(Y=labels).predict(X[TEST])
        assert np.array_equal(predicted, wanted)
        assert predicted.dtype == np.asarray(labels).dtype


def test_label_names():
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    assert fit().classes_.tolist() == list(range(10))
    assert fit(Y=pd.DataFrame(Y[TRAIN], columns=names)).classes_.tolist() == names
    sets = [{names[k] for k in np.flatnonzero(row)} for row in Y]
    model = fit(Y=sets[TRAIN])
    assert model.classes_.tolist() == sorted(names)
    columns = [sorted(names).index(name) for name in names]
    assert np.array_equal(fit(Y=sets[TRAIN], estimator=NEAREST).predict(X[TRAIN])[:, columns], Y[TRAIN])
    assert model.score(X[TEST], sets[TEST]) == model.score(X[TEST], model_order(Y[TEST], columns))
    for kind in (tuple, list):
        assert fit(Y=[kind(labels) for labels in sets[TRAIN]]).classes_.tolist() == sorted(names)
    with pytest.raises(ValueError, match=r"not there in training: \['eleven'\]"):
        model.score(X[:1], [{"eleven"}])


def model_order(Y, columns):
    ordered = np.empty_like(Y)
    ordered[:, columns] = Y
    return ordered


def test_columns_of_a_frame_are_matched_by_name():
    frame = pd.DataFrame(Y, columns=list("abcdefghij"))
    model = fit(Y=frame[TRAIN])
    assert model.score(X[TEST], frame[TEST]) == model.score(X[TEST], frame[TEST][list("jihgfedcba")])
    with pytest.raises(ValueError, match=r"\['z'\] are new, \['a'\] are missing"):
        model.score(X[TEST], frame[TEST].rename(columns={"a": "z"}))
    assert fit().score(X[TEST], frame[TEST]) == fit().score(X[TEST], Y[TEST])
    numbered = frame[TEST].set_axis([str(k) for k in range(10)], axis=1)
    assert fit().score(X[TEST], numbered) == fit().score(X[TEST], Y[TEST])


def test_lists_as_label_sets_and_as_matrix():
    X4 = X[:4]
    model = fit(X4, [["a"], ["b"], ["a", "b"], []], estimator=NEAREST)
    assert model.predict(X4).tolist() == [[1, 0], [0, 1], [1, 1], [0, 0]]
    assert model.score(X4[3:], [[]]) == 1
    numbers = fit(X4, [[1, 2], [3], [1], [2, 3]], estimator=NEAREST)
    assert numbers.classes_.tolist() == [1, 2, 3]
    assert numbers.score(X4[[0, 3]], [[1, 2], [2, 3]]) == 1
    assert fit(X4, iter([{"a"}, {"b"}, {"a", "b"}, set()]), estimator=NEAREST).classes_.tolist() == ["a", "b"]
    assert fit(X4, pd.Series([{"a"}, {"b"}, {"a", "b"}, set()]), estimator=NEAREST).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float32])
def test_predictions_have_the_type_of_the_labels(kind):
    frame = pd.DataFrame(Y[TRAIN].astype(kind))
    for labels in (frame, frame.to_numpy(), sparse.csr_array(frame.to_numpy())):
        assert fit(Y=labels, estimator=NEAREST).predict(X[TEST]).dtype == kind


def test_sparse_features_with_long_indices():
    long = sparse.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    model = CLEMS(random_state=0, estimator=SMALL).fit(long, Y)
    assert np.array_equal(model.predict(long), model.predict(sparse.csr_array(X)))
    assert long.indices.dtype == np.int64


def test_what_was_fitted_stays_when_parameters_change():
    model = fit(cost="rank", estimator=Ridge())
    predicted, error, score = model.predict(X[TEST]), model.embedding_error(), model.score(X[TEST], Y[TEST])
    model.set_params(cost="f1", roles="worded", cost_transform="identity")
    assert np.array_equal(model.predict(X[TEST]), predicted)
    assert np.array_equal(model.embedding_error(), error)
    assert model.score(X[TEST], Y[TEST]) == score


def test_an_estimator_that_predicts_nonsense():
    model = fit(estimator=DummyRegressor(strategy="constant", constant=np.zeros(10)))
    model.estimator_.constant_[:] = np.nan
    with pytest.raises(ValueError, match="DummyRegressor predicted values that are not finite"):
        model.predict(X)


def test_clone_and_pickle():
    model = fit(cost=weighted_hamming(np.arange(1, 11)))
    assert clone(model).get_params()["cost"] == model.cost
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X[TEST]), model.predict(X[TEST]))


def test_pipeline_and_grid_search():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), CLEMS(estimator=SMALL, random_state=0, tol=1e-2)),
        {"clems__cost": ["f1", "hamming"], "clems__estimator__max_depth": [1, 8]},
        scoring={name: CRITERIA[name].scorer for name in ("f1", "rank", "macro_f1")},
        refit="rank",
        cv=2,
    ).fit(X, Y)
    assert search.best_params_["clems__estimator__max_depth"] == 8
    assert (search.cv_results_["mean_test_rank"] <= 0).all()


def test_verbose(capsys):
    fit(verbose=1)
    embedding, regressor = capsys.readouterr().out.splitlines()
    assert embedding.startswith("[CLEMS] embedding: ")
    assert regressor.startswith("[CLEMS] regressor: ExtraTreesRegressor")
    fit()
    assert not capsys.readouterr().out


GOOD = {"X": X[:6], "Y": Y[:6]}


def with_value(array, value):
    array = array.astype(float)
    array[2, 1] = value
    return array


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"Y": with_value(Y[:6], 2)}, r"Y has the value 2.0 in row 2, column 1; labels must be 0 or 1"),
        ({"Y": with_value(Y[:6], np.nan)}, "Y has the value nan in row 2, column 1"),
        ({"Y": with_value(Y[:6], -np.inf)}, "Y has the value -inf in row 2, column 1"),
        ({"X": with_value(X[:6], np.nan)}, "Input X contains NaN"),
        ({"X": with_value(X[:6], np.inf)}, "Input X contains infinity"),
        ({"Y": Y[:5]}, r"inconsistent numbers of samples: \[6, 5\]"),
        ({"Y": Y[:6, 0]}, r"Y must be two-dimensional.*its shape is \(6,\)"),
        ({"Y": ["a"] * 6}, "Y must be two-dimensional"),
        ({"Y": Y[:6, :0]}, "Y has no labels"),
        ({"Y": [[1, 0], [1], [0, 1], [1, 0], [1, 1], [1, 0]]}, "Y is not a matrix: its rows differ in length"),
        ({"Y": [list("101")] * 6}, r"Row 0 of Y is \['1', '0', '1'\], which holds a label twice"),
        ({"Y": [{1, "a"}] * 6}, "Names of labels must be all strings or all numbers"),
        ({"Y": pd.DataFrame(Y[:6, :2], columns=["a", "a"])}, "two columns of the same name"),
        ({"X": X[:0], "Y": Y[:0]}, "Found array with 0 sample"),
        ({"Y": None}, "requires y to be passed"),
        ({"cost": "f3"}, "Unknown cost 'f3'; the costs are accuracy, composition, f1"),
        ({"cost": lambda Y, P: np.full(len(Y), np.nan)}, "The cost '<lambda>' must be a finite number"),
        ({"cost": lambda Y, P: -np.ones(len(Y))}, "at least 0; it is -1.0"),
        ({"cost": lambda Y, P: np.ones(3)}, "must return one cost per row"),
        ({"cost": weighted_hamming([1, 2])}, "has 2 false_negative prices for 10 labels"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_components": -2.0}, "n_components must be at least 1"),
        ({"n_components": "many"}, "n_components must be a whole number"),
        ({"roles": "worded"}, "roles must be one of 'mirrored', 'swapped'; got 'worded'"),
        ({"cost_transform": "log"}, "cost_transform must be one of 'sqrt', 'identity' or a function; got 'log'"),
        ({"cost_transform": lambda cost: cost - 9}, "cost_transform must turn"),
        ({"cost_transform": lambda cost: cost[0]}, "cost_transform must turn"),
        ({"dtype": "float16"}, "dtype must be 'float32' or 'float64'; got 'float16'"),
        ({"candidates": "all"}, "Candidates 'all' are unknown"),
        ({"candidates": None}, "Candidates None are unknown; they are 'observed'"),
        ({"candidates": 0.5}, "Candidates 0.5 are unknown; they are 'observed'"),
        ({"cost": CRITERIA["f1"]}, "A criterion is not a cost"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1; got 0"),
        ({"tol": -1}, "tol must be a number of at least 0; got -1"),
        ({"estimator": StandardScaler()}, "estimator must be a regressor"),
        ({"estimator": KNeighborsClassifier()}, "estimator must be a regressor"),
        ({"estimator": KMeans(3)}, "estimator must be a regressor"),
    ],
)
def test_bad_input_is_told_and_nothing_is_half_done(bad, message):
    data = {key: bad.get(key, value) for key, value in GOOD.items()}
    settings = {key: value for key, value in bad.items() if key not in GOOD}
    model = CLEMS(**{"estimator": NEAREST} | settings)
    with pytest.raises(ValueError, match=message):
        model.fit(*data.values())
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)
    fitted = fit(estimator=NEAREST)
    before = fitted.predict(X[TEST])
    fitted.set_params(**settings)
    with pytest.raises(ValueError, match=message):
        fitted.fit(*data.values())
    assert np.array_equal(fitted.predict(X[TEST]), before)


@pytest.mark.parametrize("weight", [np.ones(3), -np.ones(6), np.zeros(6), np.full(6, np.nan)])
def test_bad_weights(weight):
    with pytest.raises(ValueError, match=r"[Ww]eight"):
        CLEMS(estimator=NEAREST).fit(X[:6], Y[:6], weight)


def test_unfitted_and_other_features():
    for call in (CLEMS().predict, lambda X: CLEMS().score(X, Y), lambda X: CLEMS().embedding_error()):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(ValueError, match="X has 3 features, but CLEMS is expecting 121"):
        fit().predict(X[:, :3])
    with pytest.raises(ValueError, match="Y has 3 labels; in training it had 10"):
        fit().score(X, Y[:, :3])


@pytest.mark.parametrize("name", sorted(COSTS))
@pytest.mark.parametrize(
    ("features", "labels"),
    [
        (X[:6], np.hstack([Y[:6], np.zeros((6, 1)), np.ones((6, 1))])),
        (X[:6], np.vstack([Y[:5], np.zeros((1, 10))])),
        (X[:6], np.zeros((6, 3))),
        (X[:6], np.ones((6, 3))),
        (np.repeat(X[:3], 2, axis=0), np.repeat(Y[:3], 2, axis=0)),
        (np.repeat(X[:1], 6, axis=0), np.repeat(Y[:1], 6, axis=0)),
        (X[:6], np.array([[0, 1, 1, 0, 0, 1]]).T),
        (X[:2], Y[:2]),
        (X[:1], Y[:1]),
    ],
    ids=["constant labels", "row without", "one empty", "one full", "duplicates", "all equal", "K=1", "two", "one"],
)
def test_what_looks_bad_but_is_fine(name, features, labels):
    model = CLEMS(name, estimator=SMALL, random_state=0, max_iter=5000).fit(features, labels)
    predicted = model.predict(features)
    assert predicted.shape == labels.shape
    constant = (labels == labels[0]).all(axis=0)
    assert (predicted[:, constant] == labels[:, constant]).all()
    assert np.isfinite(model.score(features, labels))


def test_get_cost_is_what_a_model_uses():
    assert get_cost("f1") is COSTS["f1"]
    assert fit().score(X[TEST], Y[TEST]) == 1 - COSTS["f1"].rowwise(Y[TEST], fit().predict(X[TEST])).mean()
