"""Every learner as a user and as scikit-learn meet it: laws that hold for all of `LEARNERS`."""

import pickle
import re
from copy import deepcopy
from functools import cache, partial, wraps
from inspect import signature
from itertools import count, product
from math import ceil
from traceback import extract_tb

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

import clems.learners.base
from clems import C2AE, CFT, COSTS, CRITERIA, ECC, GLE, LEARNERS, get_cost, weighted_hamming
from clems.datasets import digit_scenes
from clems.evaluation.evaluate import evaluate

SCENES, DIGITS = digit_scenes(280, random_state=0)
SEEN = DIGITS[:, :6].any(axis=1)
X, Y = SCENES[SEEN, ::2], DIGITS[SEEN, :6]
TRAIN, TEST = slice(0, 120), slice(120, 180)
NAMES = ["zero", "one", "two", "three", "four", "five"]
SETS = [{NAMES[k] for k in np.flatnonzero(row)} for row in Y]


class StubbornRegressor(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        assert y.ndim == 1
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.mean_)


class StubbornClassifier(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        assert y.ndim == 1
        self.most_ = int(y.mean() > 0.5)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.most_)


LINEAR = LogisticRegression(solver="liblinear", tol=1e-8)
MANY_CLASSES = LogisticRegression(solver="newton-cg", C=1e-3, tol=1e-6)  # which liblinear does not learn
ESTIMATORS = {  # trees know by heart what they were trained on; the linear ones are deterministic and use weights
    "regressor": {
        "tree": DecisionTreeRegressor(),
        "linear": Ridge(tol=1e-12),
        "forest": ExtraTreesRegressor(5, min_samples_leaf=3),
        "default": None,
        "nearest": KNeighborsRegressor(3),
        "pipeline": make_pipeline(StandardScaler(), Ridge()),
        "machine": SVR(),
        "stubborn": StubbornRegressor(),
    },
    "classifier": {
        "tree": DecisionTreeClassifier(),
        "linear": LINEAR,
        "forest": ExtraTreesClassifier(5, min_samples_leaf=3),
        "default": None,
        "nearest": KNeighborsClassifier(3),
        "pipeline": make_pipeline(StandardScaler(), LINEAR),
        "machine": LinearSVC(tol=1, C=1e-4),
        "stubborn": StubbornClassifier(),
    },
}
WITHOUT_WEIGHTS = {"nearest", "pipeline", "stubborn"}
WITHOUT_PROBABILITIES = {"machine", "stubborn"}
CHEAP = {
    "cost": "f1",
    "decoder": "nearest",
    "n_rounds": 2,
    "n_folds": None,
    "n_neighbors": 1,
    "n_samples": 20,
    "tol": 1e-2,
    "n_trees": 5,
    "joint": "independent",
    "calibration": None,
    "max_iter": 5000,
    "n_hidden": 64,
    "learning_rate": 1e-2,
    "max_epochs": 100,
    "validation_fraction": None,
    "random_state": 0,
}


class RREP(ECC):
    """ECC by its other code."""

    def __init__(
        self,
        code="rrep",
        *,
        n_components=None,
        group_size=3,
        estimator=None,
        n_trees=100,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        settings = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(**settings)


VARIANTS = LEARNERS | {"rrep": RREP}


def having(learner, **settings):
    return {name: value for name, value in settings.items() if name in learner().get_params()}


def new(learner, estimator="tree", cost="f1", **settings):
    estimators = ESTIMATORS[learner.predictor]
    if issubclass(learner, (ECC, GLE)):
        estimators = estimators | {"linear": MANY_CLASSES, "pipeline": make_pipeline(StandardScaler(), MANY_CLASSES)}
    estimator = estimators[estimator] if isinstance(estimator, str) and estimator in estimators else estimator
    return learner(estimator=estimator, **having(learner, **CHEAP | {"cost": cost}) | settings)


def fit(learner, X=X[TRAIN], Y=Y[TRAIN], sample_weight=None, **settings):
    return new(learner, **settings).fit(X, Y, sample_weight)


@cache
def fitted(learner):
    return fit(learner)


def answers(model, X):
    return [getattr(model, method)(X) for method in ("predict", "predict_proba") if hasattr(model, method)]


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def watch(monkeypatch, owner, method, see):
    original = getattr(owner, method)

    @wraps(original)
    def watched(self, *args, **kwargs):
        see(self, *args)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(owner, method, watched)


def tree_of(learner):
    return type(ESTIMATORS[learner.predictor]["tree"])


each_learner = pytest.mark.parametrize("learner", [*VARIANTS.values()], ids=[*VARIANTS])
each_cost_sensitive = pytest.mark.parametrize(
    "learner", [pytest.param(learner, id=name) for name, learner in VARIANTS.items() if learner.cost_sensitive]
)
each_that_is_blind = pytest.mark.parametrize(
    "learner", [pytest.param(learner, id=name) for name, learner in VARIANTS.items() if not learner.cost_sensitive]
)
each_learner_and_cost = pytest.mark.parametrize(
    ("learner", "cost"),
    [
        pytest.param(learner, cost, id=f"{name}-{cost}")
        for name, learner in VARIANTS.items()
        for cost in (sorted(COSTS) if learner.cost_sensitive else ["zero_one"])
        if learner.supports(COSTS[cost])
    ],
)


# Checks of scikit-learn's that learners cannot pass: why, and what the failure shows, by which the reason is known.
NOT_BINARY = (
    "feeds a column of classes that are not 0 and 1; a label matrix holds nothing else",
    r"^ValueError: Y has the value 2 in row \d, column 0; labels must be 0 or 1\.$",
)
NOT_A_MATRIX = (
    "feeds a one-dimensional target; labels are a matrix",
    r"^ValueError: Y must be two-dimensional, .* its shape is \(\d+,\)",
)
A_VECTOR = (
    "wants predictions for one column of classes as a vector; ours stay a matrix",
    r"^AssertionError: .*\n  at: assert y_pred\.shape == \(n_samples,\)$",
)
NO_FUNCTION = (
    "feeds labels that no function of numpy may be called with",
    r"^TypeError: Don't want to call array_function shape!$",
)
ONE_COLUMN = (
    "wants two columns of probabilities for one label; ours are one column per label",
    r"^AssertionError: .*\n  at: assert probs\.shape == expected_probs_shape$",
)
ONE_BIT = (
    "sets n_components=1, and Hamming's code needs seven bits",
    r"^ValueError: The code 'hamr' needs at least 7 bits for 1 labels; got 1\.$",
)
FOR_A_COST = (
    "wants a label where its probability exceeds one half; ours is predicted for a cost",
    r"^AssertionError: \nArrays are not equal\n\nMismatched elements: \d / 126 ",
)
ZERO = (
    "wants no probability of 0; some of ours are",
    r"^AssertionError: \nArrays are not strictly ordered `x < y`\n(.*\n)+ x: array\(0",
)
NAMESAKE = (
    "skips what is called CCA, as scikit-learn has a class of that name",
    r"^SkipTest: Skipping check_estimators_data_not_an_array for cross decomposition",
)
EXPECTED_FAILURES = {
    "check_sample_weights_pandas_series": NOT_BINARY,
    "check_sample_weights_not_an_array": NOT_BINARY,
    "check_classifiers_one_label": NOT_A_MATRIX,
    "check_classifiers_one_label_sample_weights": NOT_A_MATRIX,
    "check_classifiers_classes": NOT_A_MATRIX,
    "check_classifiers_regression_target": NOT_A_MATRIX,
    "check_classifier_not_supporting_multiclass": NOT_A_MATRIX,
    "check_classifiers_train": A_VECTOR,
    "check_classifier_data_not_an_array": NO_FUNCTION,
}
EXPECTED_FAILURES_OF_PROBABILITIES = {
    "check_estimator_sparse_array": ONE_COLUMN,
    "check_estimator_sparse_matrix": ONE_COLUMN,
}
EXPECTED_FAILURES_OF_HAMMING = {
    "check_dont_overwrite_parameters": ONE_BIT,
    "check_methods_sample_order_invariance": ONE_BIT,
    "check_methods_subset_invariance": ONE_BIT,
    "check_fit2d_1feature": ONE_BIT,
    "check_fit2d_1sample": ONE_BIT,
    "check_fit2d_predict1d": ONE_BIT,
}
EXPECTED_FAILURES_OF_EMBEDDINGS = {
    "check_classifier_multioutput": FOR_A_COST,
    "check_classifiers_multilabel_output_format_predict_proba": ZERO,
}


def each_check():
    for name, learner in VARIANTS.items():
        for model, check in estimator_checks_generator(new(learner, "linear")):
            yield pytest.param(model, check, id=f"{name}-{check.func.__name__}")


def expected_failures(model):
    expected = EXPECTED_FAILURES | (EXPECTED_FAILURES_OF_PROBABILITIES if hasattr(model, "predict_proba") else {})
    if type(model).__name__ in ("CLEMS", "BCS"):
        expected |= EXPECTED_FAILURES_OF_EMBEDDINGS
    if type(model).__name__ == "CCA":
        expected |= {"check_classifier_data_not_an_array": NAMESAKE}
    if getattr(model, "code", None) == "hamr":
        expected |= EXPECTED_FAILURES_OF_HAMMING
    return expected


def zeros_and_ones(_, y):
    """One column of zeros and ones from a made-up target of other numbers; nan and infinity stay."""
    y = np.reshape(y, (-1, 1))
    return (y != y.min()).astype(y.dtype) if y.size and np.isfinite(y).all() else y


def story(error):
    """What an exception and those that it arose from say, each with the line that raised it."""
    lines = []
    while error is not None:
        lines.append(f"{type(error).__name__}: {error}\n  at: {extract_tb(error.__traceback__)[-1].line}")
        error = error.__cause__ or error.__context__
    return "\n".join(lines)


@pytest.mark.parametrize(("model", "check"), [*each_check()])
def test_scikit_learn_citizenship(model, check, monkeypatch):
    # Most checks make up a target and pass it through this function, which knows of classes but not of label matrices.
    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_y", zeros_and_ones)
    reason, shows = expected_failures(model).get(check.func.__name__, (None, None))
    if reason is None:
        check(model)
        return
    with pytest.raises(Exception) as caught:  # noqa: PT011
        check(model)
    assert re.search(shows, story(caught.value), re.MULTILINE), f"it should fail as it {reason}"


def test_expected_failures_are_of_checks_that_there_are():
    for learner in VARIANTS.values():
        checks = {check.func.__name__ for _, check in estimator_checks_generator(new(learner, "linear"))}
        assert expected_failures(new(learner, "linear")).keys() <= checks


@pytest.mark.parametrize("name", [*VARIANTS])
def test_declared_capabilities(name):
    learner = VARIANTS[name]
    assert learner.__name__.lower() == name.replace("cost_sensitive", "costsensitiveclassifier")
    assert learner.cost_sensitive == ("cost" in learner().get_params())
    assert learner.cost_at_predict == ("cost" in signature(learner.predict).parameters)
    assert learner.predictor in ESTIMATORS
    costs = [*COSTS.values(), weighted_hamming(2), get_cost(lambda Y, P: np.zeros(len(Y)))]
    supported = [learner.supports(cost) for cost in costs]
    assert {*supported} <= {True, False}
    assert any(supported)
    with pytest.raises(TypeError, match="cost" if not learner.cost_sensitive else "colour"):
        learner(**{"colour" if learner.cost_sensitive else "cost": "f1"})


@each_learner_and_cost
def test_learns(learner, cost):
    X, Y = make_multilabel_classification(400, 8, n_classes=6, length=200, allow_unlabeled=False, random_state=0)
    forest = clone(ESTIMATORS[learner.predictor]["forest"]).set_params(n_estimators=10)
    model = fit(learner, X[:300], Y[:300], estimator=forest, cost=cost)
    learned = COSTS[cost].rowwise(Y[300:], model.predict(X[300:])).mean()
    constant = COSTS[cost].pairwise(Y[300:], list(product([0, 1], repeat=6))).mean(axis=0).min()
    assert learned < 0.9 * constant


@each_learner_and_cost
def test_what_was_seen_is_predicted_again(learner, cost):
    assert np.array_equal(fit(learner, X[:30], Y[:30], cost=cost).predict(X[:30]), Y[:30])


@pytest.mark.parametrize("dear", [[0, 2, 4], [1, 3, 5]])
@each_cost_sensitive
def test_a_high_price_for_a_miss_is_used(learner, dear):
    prices = np.ones(6)
    prices[dear] = 20
    settings = having(learner, order="random", n_neighbors=9, n_folds=2)
    models = [fit(learner, cost=weighted_hamming(price), estimator="forest", **settings) for price in (1, prices)]
    blind, careful = (model.predict(X[TEST]).sum(axis=0) for model in models)
    assert (careful[dear] > 1.5 * blind[dear]).all()
    if not hasattr(models[0], "threshold_"):  # which is the same for all labels
        cheap = prices == 1
        assert careful[cheap].sum() <= 1.5 * blind[cheap].sum()


@each_cost_sensitive
def test_a_function_as_cost(learner):
    prices = np.arange(1, 6)

    def missed_or_vain(Y, P):
        return (prices * (Y > P) + (Y < P)).sum(axis=1)

    known, own = (
        fit(learner, Y=Y[TRAIN, :5], estimator="linear", cost=cost, **having(learner, order="random", beam_width=32))
        for cost in (weighted_hamming(prices), missed_or_vain)
    )
    assert np.array_equal(known.predict(X[TEST]), own.predict(X[TEST]))
    assert own.score(X[TEST], Y[TEST, :5]) == pytest.approx(known.score(X[TEST], Y[TEST, :5]))


@pytest.mark.parametrize("cost", sorted(COSTS))
@pytest.mark.parametrize("learner", [pytest.param(v, id=k) for k, v in VARIANTS.items() if v.cost_at_predict])
def test_one_fit_serves_every_cost(learner, cost):
    settings = having(learner, n_folds=2)  # what is chosen on rows that a forest knows suits no others
    one = fit(learner, estimator="forest", **settings)
    predicted = one.predict(X[TEST], cost=cost)
    if not learner.cost_at_fit:
        assert np.array_equal(predicted, fit(learner, estimator="forest", cost=cost, **settings).predict(X[TEST]))
    criterion = CRITERIA[cost]
    for other in ("hamming", "f_beta"):  # one cautious, one daring
        there, here = (criterion.sign * criterion(Y[TEST], one.predict(X[TEST], cost=name)) for name in (other, cost))
        assert here >= there - 0.15 * abs(there)
    assert one.cost_ is COSTS["f1"]
    with pytest.raises(ValueError, match="Unknown cost 'f3'"):
        one.predict(X[TEST], cost="f3")


@pytest.mark.parametrize("cost", ["f1", "rank"])
@each_cost_sensitive
def test_score_is_greater_when_better(learner, cost):
    model = fit(learner, cost=cost, estimator="forest")
    criterion = CRITERIA[cost]
    assert model.cost_ is COSTS[cost]
    weight = np.random.default_rng(0).random(60)
    value = criterion(Y[TEST], model.predict(X[TEST]), weight)
    assert model.score(X[TEST], Y[TEST], weight) == criterion.sign * value
    assert model.score(X[TRAIN], Y[TRAIN]) > model.score(X[TEST], Y[TEST])


@each_that_is_blind
def test_score_without_a_cost_is_subset_accuracy(learner):
    model = fit(learner, estimator="forest")
    predicted, weight = model.predict(X[TRAIN]), np.random.default_rng(0).random(120)
    plain, weighted = accuracy_score(Y[TRAIN], predicted), accuracy_score(Y[TRAIN], predicted, sample_weight=weight)
    assert 0 < plain < 1
    assert plain != pytest.approx(weighted)
    assert model.score(X[TRAIN], Y[TRAIN]) == pytest.approx(plain)
    assert model.score(X[TRAIN], Y[TRAIN], weight) == pytest.approx(weighted)


@pytest.mark.parametrize("kind", [*ESTIMATORS["classifier"]])
@each_learner
def test_any_estimator_of_its_kind(learner, kind):
    model, own = new(learner, kind), learner.__name__
    message = None
    if getattr(learner, "needs_probabilities", False) and kind in WITHOUT_PROBABILITIES:
        message = rf"{own} needs an estimator with predict_proba, which \w+ does not have"
    elif getattr(learner, "needs_weights", False) and kind in WITHOUT_WEIGHTS:
        message = rf"{own} trains with weights, but \w+.fit has no parameter sample_weight"
    if message:
        with pytest.raises(ValueError, match=message):
            model.fit(X[:40], Y[:40, :3])
        return
    for K in (3, 1):
        assert model.fit(X[:40], Y[:40, :K]).predict(X[TEST]).shape == (60, K)
    if learner.predictor == "classifier" and hasattr(learner(), "predict_proba"):
        assert hasattr(model, "predict_proba") == (kind not in WITHOUT_PROBABILITIES)
    if kind in WITHOUT_WEIGHTS:
        with pytest.raises(ValueError, match=r"sample_weight was given, but \w+.fit has no parameter"):
            model.fit(X[:40], Y[:40], np.ones(40))


@pytest.mark.parametrize("kind", ["default", "forest"])
@each_learner
def test_seed_decides_all(learner, kind):
    def fit_few(**settings):
        return answers(fit(learner, X[:40], Y[:40, :2], estimator=kind, **settings), X[TEST])

    one, again, other = (fit_few(random_state=seed, n_jobs=jobs) for seed, jobs in ((0, None), (0, 2), (1, None)))
    assert_same(one, again)
    assert any((a != b).any() for a, b in zip(one, other, strict=True))


@each_learner
def test_a_generator_is_drawn_from(learner):
    def fit_with(generator):
        return answers(fit(learner, estimator="forest", random_state=generator), X[TEST])

    generator = np.random.RandomState(0)
    first, second = fit_with(generator), fit_with(generator)
    assert_same(first, fit_with(np.random.RandomState(0)))
    assert any((a != b).any() for a, b in zip(first, second, strict=True))


@each_learner
def test_the_seed_of_all_is_left_alone(learner):
    np.random.seed(7)  # noqa: NPY002
    wanted = np.random.random_sample()  # noqa: NPY002
    np.random.seed(7)  # noqa: NPY002
    fit(learner, estimator="forest").predict(X[TEST])
    assert np.random.random_sample() == wanted  # noqa: NPY002


@each_learner
def test_estimators_get_seeds_but_keep_their_own(learner, monkeypatch):
    seeds = []
    watch(monkeypatch, tree_of(learner), "fit", lambda tree, *_: seeds.append(tree.random_state))
    fit(learner)
    assert seeds
    assert None not in seeds
    assert len({*seeds}) == len(seeds)
    seeds.clear()
    fit(learner, estimator=tree_of(learner)(random_state=5))
    assert {*seeds} == {5}


@pytest.mark.parametrize("sparse_labels", [False, True])
@each_learner
def test_predicts_in_blocks(learner, sparse_labels, monkeypatch):
    model = fit(learner, Y=sparse.csr_array(Y[TRAIN]) if sparse_labels else Y[TRAIN], estimator="forest")
    rows = []
    step, times = ("_posterior", 2) if hasattr(learner, "posterior") else ("_predict", 1)  # probabilities read it too
    watch(monkeypatch, learner, step, lambda _, block: rows.append(block.shape[0]))
    features = np.tile(X[TEST], (2, 1))
    whole = answers(model, features)
    assert rows == [120] * times
    rows.clear()
    monkeypatch.setattr(clems.learners.base, "BLOCK", 50)
    parts = answers(model, features)
    assert rows == [50, 50, 20] * times
    for a, b in zip(whole, parts, strict=True):
        assert sparse.issparse(a) == sparse.issparse(b)
        assert a.shape == b.shape == (120, 6)
        assert (a != b).sum() == 0


@each_learner_and_cost
def test_a_prediction_depends_on_its_row_alone(learner, cost):
    model = fit(learner, estimator="forest", cost=cost)
    wanted = answers(model, X[TEST])
    order = np.random.default_rng(0).permutation(60)
    assert_same(answers(model, X[TEST][order]), [answer[order] for answer in wanted])
    assert_same(answers(model, X[TEST][7:20]), [answer[7:20] for answer in wanted])
    assert_same(answers(model, X[TEST][33:34]), [answer[33:34] for answer in wanted])
    assert_same(answers(model, np.repeat(X[TEST], 2, axis=0)), [np.repeat(answer, 2, axis=0) for answer in wanted])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "learner", [pytest.param(v, id=k) for k, v in VARIANTS.items() if hasattr(v(), "predict_proba")]
)
def test_probabilities_agree_with_predictions(learner, form):
    settings = having(learner, order="random", decoder="exact")
    model = fit(learner, Y=form(Y[TRAIN]), estimator="forest", cost="hamming", **settings)
    probabilities = model.predict_proba(X[TEST])
    assert isinstance(probabilities, np.ndarray)
    assert probabilities.shape == (60, 6)
    assert probabilities.dtype == np.float64
    assert probabilities.min() >= 0
    assert probabilities.max() <= 1
    assert len(np.unique(probabilities)) > 10
    predicted = model.predict(X[TEST])
    assert np.array_equal(predicted if form is np.asarray else predicted.toarray(), probabilities > 0.5)
    sure = fit(learner, Y=form(Y[TRAIN]), **having(learner, order="random"))
    assert np.array_equal(sure.predict_proba(X[TRAIN]), Y[TRAIN])


@pytest.mark.parametrize(("most", "kind"), [(1, list), (3, pd.Series)])
@each_learner
def test_a_weight_is_a_number_of_equal_rows(learner, most, kind, monkeypatch):
    seen = []
    watch(monkeypatch, type(ESTIMATORS[learner.predictor]["linear"]), "fit", lambda linear, *_: seen.append(linear))
    times = np.random.default_rng(0).integers(most // 2, most, 120, endpoint=True)
    rows = np.repeat(np.arange(120), times)
    weighted = answers(fit(learner, sample_weight=kind(times), estimator="linear"), X[TEST])
    repeated = answers(fit(learner, X[rows], Y[rows], estimator="linear"), X[TEST])
    half = len(seen) // 2
    for one, other in zip(seen[:half], seen[half:], strict=True):
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    for a, b in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@each_learner
def test_rows_of_weight_zero_do_not_count(learner, monkeypatch):
    sizes = []
    watch(monkeypatch, tree_of(learner), "fit", lambda _, X, *__: sizes.append(X.shape[0]))
    weight = np.random.default_rng(0).integers(0, 3, 120) / 4
    there = np.flatnonzero(weight)
    left_out = fit(learner, sample_weight=weight)
    never_there = fit(learner, X[there], Y[there], weight[there])
    assert_same(answers(left_out, X[TEST]), answers(never_there, X[TEST]))
    half = len(sizes) // 2
    assert sizes[:half] == sizes[half:]


@pytest.mark.parametrize(
    "form",
    [
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.csc_matrix,
        sparse.coo_array,
        np.asfortranarray,
        np.ndarray.tolist,
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.int16),
        lambda X: pd.DataFrame(X, columns=[f"pixel {i}" for i in range(61)]),
    ],
    ids=["csr_array", "csr", "csc_array", "csc", "coo_array", "fortran", "list", "float32", "int16", "frame"],
)
@each_learner
def test_forms_of_features(learner, form):
    model = fit(learner, form(X[TRAIN]), estimator="linear")
    for a, b in zip(answers(model, form(X[TEST])), answers(fit_linear(learner), X[TEST]), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)  # in single precision
    assert model.n_features_in_ == 61
    if isinstance(form(X), pd.DataFrame):
        assert model.feature_names_in_[7] == "pixel 7"


@cache
def fit_linear(learner):
    return fit(learner, estimator="linear")


@each_learner
def test_forms_of_labels(learner):
    wanted = fitted(learner).predict(X[TEST])
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array):
        predicted = fit(learner, Y=form(Y[TRAIN])).predict(X[TEST])
        assert sparse.issparse(predicted)
        assert np.array_equal(predicted.toarray(), wanted)
    for labels in (Y[TRAIN].astype(bool), Y[TRAIN].astype(float), Y[TRAIN].tolist(), pd.DataFrame(Y[TRAIN])):
        predicted = fit(learner, Y=labels).predict(X[TEST])
        assert isinstance(predicted, np.ndarray)
        assert np.array_equal(predicted, wanted)
        assert predicted.dtype == np.asarray(labels).dtype


@each_learner
def test_label_names(learner):
    assert fitted(learner).classes_.tolist() == list(range(6))
    assert fit(learner, Y=pd.DataFrame(Y[TRAIN], columns=NAMES)).classes_.tolist() == NAMES
    model = fit(learner, Y=SETS[TRAIN])
    assert model.classes_.tolist() == sorted(NAMES)
    columns = [sorted(NAMES).index(name) for name in NAMES]
    assert np.array_equal(model.predict(X[TRAIN])[:, columns], Y[TRAIN])
    ordered = np.empty_like(Y[TEST])
    ordered[:, columns] = Y[TEST]
    assert model.score(X[TEST], SETS[TEST]) == model.score(X[TEST], ordered)
    for kind in (tuple, list):
        assert fit(learner, Y=[kind(labels) for labels in SETS[TRAIN]]).classes_.tolist() == sorted(NAMES)
    with pytest.raises(ValueError, match=r"not there in training: \['eleven'\]"):
        model.score(X[:1], [{"eleven"}])


@each_learner
def test_columns_of_a_frame_are_matched_by_name(learner):
    frame = pd.DataFrame(Y, columns=list("abcdef"))
    model = fit(learner, Y=frame[TRAIN])
    assert model.score(X[TRAIN], frame[TRAIN][list("bcdefa")]) == model.score(X[TRAIN], frame[TRAIN]) == 1
    with pytest.raises(ValueError, match=r"\['z'\] are new, \['a'\] are missing"):
        model.score(X[TEST], frame[TEST].rename(columns={"a": "z"}))
    unnamed = fitted(learner)
    assert unnamed.score(X[TRAIN], frame[TRAIN]) == 1
    assert unnamed.score(X[TRAIN], frame[TRAIN].set_axis([str(k) for k in range(6)], axis=1)) == 1


@each_learner
def test_lists_as_label_sets_and_as_matrix(learner):
    X4 = X[:4]
    model = fit(learner, X4, [["a"], ["b"], ["a", "b"], []])
    assert model.predict(X4).tolist() == [[1, 0], [0, 1], [1, 1], [0, 0]]
    assert model.score(X4[3:], [[]]) == 1
    numbers = fit(learner, X4, [[1, 2], [3], [1], [2, 3]])
    assert numbers.classes_.tolist() == [1, 2, 3]
    assert numbers.score(X4[[0, 3]], [[1, 2], [2, 3]]) == 1
    for sets in (iter([{"a"}, {"b"}, {"a", "b"}, set()]), pd.Series([{"a"}, {"b"}, {"a", "b"}, set()])):
        assert fit(learner, X4, sets).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float32])
@each_learner
def test_predictions_have_the_type_of_the_labels(learner, kind):
    frame = pd.DataFrame(Y[:40].astype(kind))
    for labels in (frame, frame.to_numpy(), sparse.csr_array(frame.to_numpy())):
        assert fit(learner, X[:40], labels).predict(X[TEST]).dtype == kind


@each_learner
def test_sparse_features_with_long_indices(learner):
    plain, labels = X[:60], Y[:60]
    long = sparse.csr_array(plain)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    short, dense = fit(learner, sparse.csr_array(plain), labels), fit(learner, plain, labels)
    model = fit(learner, long, labels)
    for other in (short, dense):
        assert_same(answers(model, long), answers(other, long))
    assert_same(answers(model, long), answers(model, plain))
    assert long.indices.dtype == np.int64


def in_parts(A, seed=0):
    """Rows, columns and values that add up to a matrix: entries in two parts, others that are 0, in no order."""
    random = np.random.default_rng(seed)
    row, column = np.nonzero(A)
    value = A[row, column]
    empty = np.argwhere(A == 0)[:: max(1, (A == 0).sum() // 30)].T
    if A.dtype == bool:
        parts = [(row, column, value), (row, column, value), (*empty, np.zeros(len(empty[0]), bool))]
    else:
        some = random.random(len(row)) < 0.5
        first = np.where(some, value - 1, value).astype(A.dtype)
        ones = np.ones(len(empty[0]), A.dtype)
        away = ones * -1 if A.dtype.kind in "if" else ones * A.dtype.type(255)  # of uint8, which wraps around
        parts = [(row, column, first), (row[some], column[some], (value - first)[some]), (*empty, ones), (*empty, away)]
    order = random.permutation(sum(len(part[0]) for part in parts))
    return [np.concatenate([part[place] for part in parts])[order] for place in range(3)]


def compressed(A, form, index):
    """A matrix of a compressed form whose entries are stored in parts and in no order, with indices of a type."""
    row, column, value = in_parts(A)
    outer, inner, size = (column, row, A.shape[1]) if "csc" in form.__name__ else (row, column, A.shape[0])
    order = np.argsort(outer, kind="stable")
    ends = np.concatenate([[0], np.bincount(outer, minlength=size).cumsum()]).astype(index)
    data = value[order].reshape(-1, 1, 1) if "bsr" in form.__name__ else value[order]
    matrix = form((data, inner[order].astype(index), ends), shape=A.shape)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def untidy(A, kind, index=np.int32):
    """A sparse matrix that is stored as untidily as its form allows."""
    form = getattr(sparse, kind)
    if kind[:3] in ("csr", "csc", "bsr"):
        return compressed(A, form, index)
    if kind[:3] == "coo":
        row, column, value = in_parts(A)
        return form((value, (row.astype(index), column.astype(index))), shape=A.shape)
    return form(A)


def stored(matrix):
    """All arrays of a sparse matrix, copied."""
    if matrix.format in ("lil", "dok"):
        return [matrix.toarray()]
    parts = ("data", "indices", "indptr", "row", "col", "offsets")
    return [np.array(getattr(matrix, name)) for name in parts if hasattr(matrix, name)]


TYPES = [(np.float32, np.int64), (np.float64, np.int32), (np.int64, np.int64), (np.uint8, np.int32), (bool, np.int32)]
KINDS = [f"{form}_{kind}" for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia") for kind in ("array", "matrix")]
UNTIDY = [("csr_array", *of) for of in TYPES] + [(kind, *TYPES[at % 5]) for at, kind in enumerate(KINDS[1:])]
FEW = np.round(X[:30, ::4])


@cache
def fitted_to_few(learner, kind):
    return fit(learner, FEW.astype(kind).astype(float), Y[:30, :3])


@pytest.mark.parametrize(("kind", "of_type", "index"), UNTIDY, ids=lambda one: getattr(one, "__name__", one))
@each_learner
def test_a_sparse_matrix_means_the_same_however_it_is_stored(learner, kind, of_type, index):
    features, labels = untidy(FEW.astype(of_type), kind, index), untidy(Y[:30, :3].astype(of_type), kind, index)
    plain, truth = FEW.astype(of_type).astype(float), Y[:30, :3]
    assert np.array_equal(features.toarray(), plain)
    assert np.array_equal(labels.toarray(), truth)
    before = stored(features) + stored(labels)
    model, dense = fit(learner, features, labels), fitted_to_few(learner, of_type)
    for method in ("predict", "predict_proba", "expected_cost"):
        if hasattr(model, method):
            answer = getattr(model, method)(features)
            answer = answer.toarray() if sparse.issparse(answer) else answer
            np.testing.assert_array_equal(answer, getattr(dense, method)(plain))
    if learner.cost_at_predict:
        for answer, wanted in zip(
            model.predict_each(features, ["rank", "f1"]), dense.predict_each(plain, ["rank", "f1"]), strict=True
        ):
            np.testing.assert_array_equal(answer.toarray(), wanted)
    assert model.score(features, labels) == dense.score(plain, truth)
    if kind == "csr_array" and of_type is np.float64:
        assert evaluate(model, features, labels).criteria == evaluate(dense, plain, truth).criteria
    assert_same(stored(features) + stored(labels), before)


@each_learner
def test_sparse_features_that_add_up_to_infinity(learner):
    features = sparse.csr_array((np.full(2, 1e308), [0, 0], [0, 2]), shape=(1, X.shape[1]))
    for call in (fitted(learner).predict, lambda features: fit(learner, features, Y[:1])):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            call(features)


@each_learner
def test_a_broken_sparse_matrix_is_reported(learner):
    features, labels = sparse.csr_array(X[:6]), sparse.csr_array(Y[:6])
    features.indices[0], labels.indices[0] = X.shape[1], -1
    columns = "(indices|column index values)"  # as newer and older versions of SciPy say
    for call in (fitted(learner).predict, lambda features: fit(learner, features, Y[:6])):
        with pytest.raises(ValueError, match=rf"^X is a broken sparse matrix: {columns} must be < 61\.$"):
            call(features)
    for call in (fitted(learner).score, partial(fit, learner)):
        with pytest.raises(ValueError, match=rf"^Y is a broken sparse matrix: {columns} must be >= 0\.$"):
            call(X[:6], labels)


@each_learner
def test_what_was_fitted_stays_when_parameters_change(learner):
    model = fit(learner, cost="rank", estimator="linear")
    methods = [method for method in ("predict", "predict_proba") if hasattr(model, method)]
    for name in sorted(model.get_params(deep=False).keys() - {"n_jobs", "verbose"}):
        changed = deepcopy(model).set_params(**{name: "other"})
        assert_same([getattr(changed, method)(X[TEST]) for method in methods], answers(model, X[TEST]))
        assert changed.score(X[TEST], Y[TEST]) == model.score(X[TEST], Y[TEST])


@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
@each_learner
def test_what_is_passed_is_not_changed(learner, form):
    features, labels, weight = form(X[TRAIN]), form(Y[TRAIN]), np.arange(120.0)
    for array in (features, labels, weight):
        for part in (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,):
            part.flags.writeable = False
    fit(learner, features, labels, weight).predict(features)
    for given, wanted in ((features, X[TRAIN]), (labels, Y[TRAIN])):
        assert np.array_equal(given.toarray() if sparse.issparse(given) else given, wanted)
    assert np.array_equal(weight, np.arange(120))


@each_learner
def test_a_second_fit_forgets_the_first(learner):
    model = fit(learner, sparse.csr_array(X[:40]), sparse.csr_array(Y[:40]), np.arange(40))
    model.fit(pd.DataFrame(X[:30, :50]).add_prefix("pixel "), SETS[:30])
    again = model.fit(X[:60, :70], Y[:60, :4])
    fresh = fit(learner, X[:60, :70], Y[:60, :4])
    assert_same(answers(again, X[TEST, :70]), answers(fresh, X[TEST, :70]))
    assert vars(again).keys() == vars(fresh).keys()


@each_learner
def test_notebooks_show_it(learner):
    for model, state in ((learner(), "Not fitted"), (fitted(learner), "Fitted")):
        shown = model._repr_html_()
        assert learner.__name__ in shown
        assert state in shown
        assert {*model._repr_mimebundle_()} == {"text/plain", "text/html"}


@each_learner
def test_clone_and_pickle(learner):
    model = fit(learner, cost=weighted_hamming(np.arange(1, 7)))
    assert repr(clone(model)) == repr(model)
    assert clone(model).get_params().get("cost") == model.get_params().get("cost")
    assert not [name for name in vars(clone(model)) if name.endswith("_")]
    copy = pickle.loads(pickle.dumps(model))
    assert_same(answers(copy, X[TEST]), answers(model, X[TEST]))
    assert copy.score(X[TEST], Y[TEST]) == model.score(X[TEST], Y[TEST])


@pytest.mark.parametrize("name", [*VARIANTS])
def test_pipeline_and_grid_search(name):
    learner = VARIANTS[name]
    name = learner.__name__.lower()  # as pipelines call it
    search = GridSearchCV(
        make_pipeline(StandardScaler(), new(learner, "forest", **having(learner, n_folds=2))),
        {f"{name}__{key}": value for key, value in having(learner, cost=["f1", "hamming"]).items()}
        | {f"{name}__estimator__max_depth": [1, 8]},
        scoring={name: CRITERIA[name].scorer for name in ("f1", "rank", "macro_f1")},
        refit="rank",
        cv=2,
    ).fit(X, Y)
    assert search.best_params_[f"{name}__estimator__max_depth"] == 8
    assert (search.cv_results_["mean_test_rank"] <= 0).all()
    assert search.predict(X).shape == Y.shape


@each_learner
def test_verbose(learner, capsys):
    fit(learner, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith(f"[{learner.__name__}] ") for line in lines)
    fit(learner)
    assert not capsys.readouterr().out


def with_value(array, value, dtype=float):
    array = array.astype(dtype)
    array[2, 1] = value
    return array


BAD_DATA = [
    ({"y": with_value(Y[:6], 2)}, r"Y has the value 2.0 in row 2, column 1; labels must be 0 or 1"),
    ({"y": with_value(Y[:6], np.nan)}, "Y has the value nan in row 2, column 1"),
    ({"y": with_value(Y[:6], -np.inf)}, "Y has the value -inf in row 2, column 1"),
    ({"y": sparse.csr_array(with_value(Y[:6], 2))}, r"Y has the value 2.0 in row 2, column 1"),
    ({"X": with_value(X[:6], np.inf)}, "Input X contains infinity"),
    ({"X": sparse.csr_array(with_value(X[:6], np.nan))}, "^X is sparse and contains NaN; only dense features may be"),
    ({"X": X[0]}, "Expected 2D array, got 1D array"),
    ({"X": [["a", "b"]] * 6}, "not compatible with arrays of bytes/strings"),
    ({"X": X[:6].astype("datetime64[s]")}, r"^X holds values of type datetime64\[s\]; features must be numbers\.$"),
    ({"X": with_value(X[:6], np.longdouble(10) ** 4000, np.longdouble)}, "Input X contains infinity"),
    ({"y": sparse.csr_array(Y[:6] * 1j)}, "^Y holds values of type complex128; labels must be 0 or 1"),
    ({"y": Y[:5]}, r"inconsistent numbers of samples: \[6, 5\]"),
    ({"y": Y[:6, 0]}, r"Y must be two-dimensional.*its shape is \(6,\)"),
    ({"y": ["a"] * 6}, "Y must be two-dimensional"),
    ({"y": sparse.coo_array(Y[:6, 0])}, r"Y must be two-dimensional.*its shape is \(6,\)"),
    ({"y": [[1, 2]] * 6}, "Y has the value 2 in row 0, column 1"),
    ({"y": Y[:6, :0]}, "Y has no labels"),
    ({"y": [[1, 0], [1], [0, 1], [1, 0], [1, 1], [1, 0]]}, "Y is not a matrix: its rows differ in length"),
    ({"y": with_value(Y[:6], pd.NA, object)}, "Y has the value <NA> in row 2, column 1; labels must be 0 or 1"),
    ({"y": with_value(Y[:6], "a", object)}, "Y has the value a in row 2, column 1"),
    ({"y": [list("101")] * 6}, r"Row 0 of Y is \['1', '0', '1'\], which holds a label twice"),
    ({"y": [{1, "a"}] * 6}, "Names of labels must be all strings or all numbers"),
    ({"y": pd.DataFrame(Y[:6, :2], columns=["a", "a"])}, "two columns of the same name"),
    ({"X": X[:0], "y": Y[:0]}, "Found array with 0 sample"),
    ({"y": None}, "requires y to be passed"),
    ({"sample_weight": np.ones(3)}, "[Ww]eight"),
    ({"sample_weight": -np.ones(6)}, "[Ww]eight"),
    ({"sample_weight": np.zeros(6)}, "[Ww]eight"),
    ({"sample_weight": np.full(6, np.nan)}, "[Ww]eight"),
    ({"sample_weight": np.full(6, np.inf)}, "[Ww]eight"),
    ({"sample_weight": np.ones((6, 2))}, "[Ww]eight"),
    ({"sample_weight": list("abcdef")}, "[Ww]eight"),
    ({"sample_weight": list("123456")}, "^sample_weight must hold numbers, one for each row"),
    ({"sample_weight": np.ones(6) + 1j}, "^sample_weight must hold numbers, one for each row"),
    ({"sample_weight": np.ones(6, "datetime64[s]")}, "^sample_weight must hold numbers, one for each row"),
    ({"sample_weight": np.full(6, np.longdouble(10) ** 4000)}, "sample_weight is inf in row 0"),
]


def no_count(name):
    return [(value, rf"{name} must be a whole number of at least 1.*; got") for value in (0, -1, 1.5, True, "many")]


def no_number(name, instead):
    message = f"^{name} must be {instead}a finite number of at least 0; got"
    return [(value, message) for value in (-1, np.nan, np.inf, True, "much", None)]


def no_order():
    values = ["backwards", range(5), range(7), [0] * 6, [*range(5), 6], list("012345"), 5, NAMES]
    tables = [[range(6)] * 2, [[0], [1, 2]]]
    return [
        *((value, "order must be None, 'random' or each of the 6 labels") for value in values),
        *((value, "order must be None|order lists 2") for value in tables),
    ]


def bad_parameters(learner):
    kind = f"estimator must be a {learner.predictor}"
    (other,) = ESTIMATORS.keys() - {learner.predictor}
    return {
        "cost": [
            ("f3", "Unknown cost 'f3'; the costs are accuracy, composition, f1"),
            (lambda Y, P: np.full(len(Y), np.nan), "The cost '<lambda>' must be a finite number"),
            (lambda Y, P: -np.ones(len(Y)), r"at least 0; it is -1.0"),
            (lambda Y, P: np.ones(3), "must return one cost per row"),
            (weighted_hamming([1, 2]), "has 2 false_negative prices for 6 labels"),
            (CRITERIA["f1"], "A criterion is not a cost"),
        ],
        "estimator": [
            (StandardScaler(), kind),
            (KMeans(3), kind),
            (ESTIMATORS[other]["tree"], kind),
            (tree_of(learner), kind),
            ("best", kind),
        ],
        "random_state": [("seed", "'seed' cannot be used to seed"), (-1, "[Ss]eed")],
        "n_rounds": no_count("n_rounds"),
        "n_folds": [(value, "n_folds must be a whole number of at least 2; got") for value in (0, 1, 2.5, True, "two")],
        "n_samples": no_count("n_samples"),
        "n_chains": no_count("n_chains"),
        "n_clusters": no_count("n_clusters"),
        "n_neighbors": no_count("n_neighbors"),
        "n_graph_neighbors": no_count("n_graph_neighbors"),
        "beam_width": no_count("beam_width"),
        "n_trees": no_count("n_trees"),
        "max_iter": no_count("max_iter"),
        "order": no_order(),
        "tol": [(-1, "tol must be a number of at least 0; got -1"), (np.nan, "tol must be"), ("small", "tol must be")],
        "code": [(value, "code must be one of 'rrep', 'hamr', or a class of codes") for value in ("bch", None, 3)],
        "group_size": no_count("group_size"),
        "threshold": [
            (value, "^threshold must be None, 'auto' or a number from 0 to below 1; got")
            for value in (-0.1, 1, np.nan, True, "half", [])
        ]
        + [(0.3, "^The threshold is all that depends on the cost; give cost='f1' or threshold=0.3, not both")],
        "n_components": [
            (0, "n_components must be at least 1"),
            (-2.0, "n_components must be at least 1"),
            ("many", "n_components must be a whole number"),
        ],
        "ridge": no_number("ridge", ""),
        "l1": no_number("l1", ""),
        "labelset_size": no_count("labelset_size"),
        "smooth": no_number("smooth", ""),
        "cost_sensitive_labelsets": [
            (value, "^cost_sensitive_labelsets must be True or False; got") for value in (1, None, "yes")
        ],
        "balance": no_number("balance", "'auto' or "),
        "decoding": [(value, "^decoding must be one of 'mean_field', 'observed'; got") for value in ("exact", None, 1)],
        "noise": no_number("noise", ""),
        "n_nonzero": no_count("n_nonzero"),
        "sampling": [
            (value, "^sampling must be one of 'determinantal', 'leverage'; got") for value in ("uniform", None, 1)
        ],
        "label_ridge": no_number("label_ridge", ""),
        "alpha": no_number("alpha", "" if learner is C2AE else "'auto' or "),
        "n_hidden": no_count("n_hidden"),
        "batch_size": no_count("batch_size"),
        "learning_rate": no_number("learning_rate", ""),
        "max_epochs": no_count("max_epochs"),
        "patience": no_count("patience"),
        "validation_fraction": [
            (value, "^validation_fraction must be None or a number between 0 and 1; got")
            for value in (0, 1, -0.1, np.nan, True, "some")
        ],
        "cv": [
            (value, "^cv must be a whole number of folds of at least 2") for value in (1, 0, 2.5, True, "five", None)
        ],
        "joint": [
            (value, "^joint must be one of 'auto', 'independent', 'observed'; got") for value in ("all", None, 1)
        ],
        "calibration": [
            (value, "^calibration must be 'auto', 'sigmoid', 'isotonic' or None; got") for value in ("platt", 1, [])
        ],
        "decoder": [
            ("best", "decoder must be one of 'auto', 'nearest', 'expected', 'exact'; got 'best'"),
            (None, "decoder must be one of"),
        ],
        "experts": [
            ("kernel", "^experts must be 'auto', None or a list of names and classifiers; got 'kernel'"),
            (1, "^experts must be 'auto', None or a list of names and classifiers; got 1"),
            (["kernel"], "^An expert must be a classifier or one of 'linear', 'gaussian'; got 'kernel'"),
        ],
        "depths": [
            ((), "depths must hold at least one depth, or be None"),
            *(((5, value), "each of depths must be a whole number of at least 1; got") for value in (0, -1, 1.5)),
            ("deep", "each of depths must be a whole number of at least 1; got 'deep'"),
        ],
        "sharpness": [
            (value, "sharpness must be 'auto' or a number above 0; got")
            for value in (0, -1, np.nan, True, "high", None)
        ],
        "landmarks": [
            (value, "landmarks must be 'auto', None or a whole number of at least 2; got")
            for value in (1, 0, 2.5, True, "all")
        ],
        "max_memory": [
            (value, "max_memory must be 'auto', None, a number of bytes above 0 or a text such as '4 GiB'; got")
            for value in (0, -1, "much", "4 apples", True)
        ],
        "roles": [("worded", "roles must be one of 'mirrored', 'swapped'; got 'worded'")],
        "cost_transform": [
            ("log", "cost_transform must be one of 'sqrt', 'identity' or a function; got 'log'"),
            (lambda cost: cost - 9, "cost_transform must turn"),
            (lambda cost: cost[0], "cost_transform must turn"),
        ],
        "dtype": [("float16", "dtype must be 'auto', 'float32' or 'float64'; got 'float16'")],
        "candidates": [
            ("all", "Candidates 'all' are unknown"),
            (None, "Candidates None are unknown; they are 'observed'"),
            (0.5, r"Candidates 0.5 are unknown; they are 'observed'"),
        ],
    }


def each_bad_parameter():
    for name, learner in VARIANTS.items():
        bad = bad_parameters(learner)
        for parameter in sorted(learner().get_params().keys() - {"n_jobs", "verbose"}):
            for place, (value, message) in enumerate(bad[parameter]):
                yield pytest.param(learner, {parameter: value}, message, id=f"{name}-{parameter}-{place}")


def assert_nothing_is_done(model, error, message, data):
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        model.fit(**data)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def assert_nothing_is_half_done(learner, error, message, data, settings):
    model = new(learner, **settings)
    assert_nothing_is_done(model, error, message, data)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model = deepcopy(fitted(learner)).set_params(**settings)
    assert_nothing_is_done(model, error, message, data)
    assert np.array_equal(model.predict(X[TEST]), fitted(learner).predict(X[TEST]))


@pytest.mark.parametrize(("bad", "message"), BAD_DATA)
@each_learner
def test_bad_data_are_reported_and_nothing_is_half_done(learner, bad, message):
    if learner.takes_missing_labels and re.search("value (nan|<NA>)", message):
        assert fit(learner, X[:6], bad["y"].astype(float) if bad["y"].dtype == float else bad["y"]).predict(X).shape
        return
    assert_nothing_is_half_done(learner, ValueError, message, {"X": X[:6], "y": Y[:6]} | bad, {})


@pytest.mark.parametrize(("learner", "bad", "message"), [*each_bad_parameter()])
def test_bad_parameters_are_reported_and_nothing_is_half_done(learner, bad, message):
    assert_nothing_is_half_done(learner, ValueError, message, {"X": X[:6], "y": Y[:6]}, bad)


@pytest.mark.parametrize("learner", [learner for learner in VARIANTS.values() if learner.cost_at_predict])
def test_predictions_for_several_costs_are_those_for_each(learner):
    model, costs = fitted(learner), ["rank", "f1", weighted_hamming(2.0)]
    for cost, predicted in zip(costs, model.predict_each(X[TEST], costs), strict=True):
        assert np.array_equal(predicted, model.predict(X[TEST], cost=cost))
    model = fit(learner, Y=sparse.csr_array(Y[TRAIN]))
    assert all(sparse.issparse(predicted) for predicted in model.predict_each(X[TEST], costs))


@each_learner
def test_the_default_forest_has_as_many_trees_as_wanted(learner, monkeypatch):
    def trees_grown(n_trees):
        grown = []
        with monkeypatch.context() as patch:
            watch(patch, BaseDecisionTree, "_fit", lambda *_: grown.append(1))
            fit(learner, estimator=None, n_trees=n_trees, **{"n_rounds": 1} if learner is CFT else {})
        return len(grown)

    assert trees_grown(2) == 2 * trees_grown(1) > 0
    assert trees_grown(3) == 3 * trees_grown(1)


@each_learner
def test_models_tell_how_deep_their_trees_are(learner):
    settings = {"depths": None} if "depths" in signature(learner).parameters else {}
    model = fit(learner, estimator=None, n_trees=3, **settings)
    if not model.depth_path:
        with pytest.raises((AttributeError, ValueError), match="at_depth"):
            model.at_depth(2)
        return
    full = model.get_depth()
    assert full > 2
    assert np.array_equal(model.at_depth(full).predict(X[TEST]), model.predict(X[TEST]))
    treeless = {"classifier": DummyClassifier(), "regressor": DummyRegressor()}[learner.predictor]
    assert fit(learner, estimator=treeless).get_depth() == 0


@pytest.mark.parametrize("share", [0.5, 1])
@each_learner
def test_an_interrupted_fit_leaves_nothing_half_done(learner, share, monkeypatch):
    fitted(learner)
    calls = []
    with monkeypatch.context() as patch:
        watch(patch, tree_of(learner), "fit", lambda *_: calls.append(1))
        fit(learner)
    last, number = ceil(share * len(calls)), count(1)

    def stop(*_):
        if next(number) % last == 0:
            raise KeyboardInterrupt("enough")

    watch(monkeypatch, tree_of(learner), "fit", stop)
    assert_nothing_is_half_done(learner, KeyboardInterrupt, "enough", {"X": X[TRAIN], "y": Y[TRAIN]}, {})


@each_learner
def test_an_estimator_that_fails_is_reported_and_nothing_is_half_done(learner):
    broken = {"estimator": tree_of(learner)(max_depth=-1)}
    assert_nothing_is_half_done(learner, ValueError, "max_depth", {"X": X[:6], "y": Y[:6]}, broken)


@each_learner
def test_an_estimator_that_predicts_nonsense(learner, monkeypatch):
    model = fit_linear(learner)
    linear = type(ESTIMATORS[learner.predictor]["linear"])
    for method in ("predict", "predict_proba"):
        if hasattr(linear, method):
            honest = getattr(linear, method)
            monkeypatch.setattr(linear, method, lambda self, X, honest=honest: honest(self, X) * np.nan)
    with pytest.raises(ValueError, match=f"The estimator {linear.__name__} predicted .*"):
        model.predict(X[TEST])


@each_learner
def test_unfitted(learner):
    for call in (learner().predict, lambda X: learner().score(X, Y), getattr(learner(), "predict_proba", None)):
        if call is not None:
            with pytest.raises(NotFittedError):
                call(X)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (X[:, :3], r"X has 3 features, but \w+ is expecting 61"),
        (sparse.csr_array(X[:, :3]), r"X has 3 features, but \w+ is expecting 61"),
        (X[0], "Expected 2D array, got 1D array"),
        (X[:0], "Found array with 0 sample"),
        (sparse.csr_array(with_value(X, np.nan)), "^X is sparse and contains NaN"),
        (sparse.csr_array(with_value(X, np.inf)), "Input X contains infinity"),
    ],
)
@each_learner
def test_other_features(learner, features, message):
    model = fitted(learner)
    for method in ("predict", "predict_proba"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match=message):
                getattr(model, method)(features)


@each_learner
def test_features_may_be_missing(learner):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(120, 3))
    gaps = rng.random(features.shape) < 0.3
    labels = np.column_stack([gaps[:, 0], features[:, 1] > 0])  # of which only who sees the gaps can tell the first
    features[gaps & [True, False, True]] = np.nan
    made = partial(learner, **having(learner, **CHEAP))
    if not learner.takes_gaps:
        with pytest.raises(
            ValueError, match=rf"^X contains NaN, and {learner.__name__} takes no missing features; fill"
        ):
            made().fit(features, labels)
        return
    model = made(n_trees=30, random_state=0).fit(features, labels)
    assert (model.predict(features)[:, 0] == gaps[:, 0]).mean() > 0.9
    assert get_tags(model).input_tags.allow_nan
    # Rows with gaps that training did not have are predicted, too.
    whole = made(n_trees=5, random_state=0).fit(np.nan_to_num(features), labels)
    assert whole.predict(features).shape == labels.shape
    kind = {"regressor": Ridge(), "classifier": LogisticRegression()}[learner.predictor]
    with pytest.raises(ValueError, match=rf"and {learner.__name__} on (Ridge|LogisticRegression) takes no missing"):
        clone(model).set_params(estimator=kind).fit(features, labels)
    if getattr(learner, "needs_weights", False):  # which no pipeline passes on
        return
    filled = clone(model).set_params(estimator=make_pipeline(SimpleImputer(), kind)).fit(features, labels)
    assert filled.predict(features).shape == labels.shape


@each_learner
def test_features_of_other_names(learner):
    frame = pd.DataFrame(X).add_prefix("pixel ")
    model = fit(learner, frame[TRAIN])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[TEST].iloc[:, ::-1])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(model.predict(X[TEST]), model.predict(frame[TEST]))


@pytest.mark.parametrize(
    ("labels", "weight", "message"),
    [
        (Y[TEST, :3], None, "Y has 3 labels; in training it had 6"),
        (Y[TRAIN], None, r"inconsistent numbers of samples: \[60, 120\]"),
        (with_value(Y[TEST], 2), None, r"Y has the value 2.0 in row 2, column 1"),
        (None, None, "Y must be two-dimensional"),
        (Y[TEST], np.ones(3), "[Ww]eight"),
        (Y[TEST], -np.ones(60), "[Ww]eight"),
    ],
)
@each_learner
def test_bad_labels_in_score(learner, labels, weight, message):
    with pytest.raises(ValueError, match=message):
        fitted(learner).score(X[TEST], labels, weight)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@each_learner
def test_what_trees_cannot_compare_is_reported_in_training_and_in_prediction(learner, form):
    for kind in ("tree", "default"):
        model = fit(learner, estimator=kind)
        for size in (3.5e38, -1e154, 1.7e308):
            features = form(with_value(X[:6], size))
            calls = [
                partial(fit, learner, features, Y[:6], estimator=kind),
                partial(model.predict, features),
            ]
            if hasattr(model, "predict_proba"):
                calls.append(partial(model.predict_proba, features))
            for call in calls:
                with pytest.raises(ValueError, match=r"X holds a number beyond ±3.4e\+38, the most that trees take"):
                    call()
        assert model.predict(form(with_value(X[:6], 3.3e38))).shape == (6, 6)


@pytest.mark.parametrize("sign", [1, -1])
@each_learner
def test_weights_that_cannot_be_squared_are_reported(learner, sign):
    for size in (1e101, 1.7e308) if sign == 1 else (1e-101, 5e-324):
        weight = np.full(6, size)
        with pytest.raises(
            ValueError, match=r"sample_weight is .* in row 0, the greatest of all; that must be between"
        ):
            fit(learner, X[:6], Y[:6], weight)
        with pytest.raises(ValueError, match="sample_weight is"):
            fitted(learner).score(X[:6], Y[:6], weight)
    small = np.array([1.0, 5e-324, 1, 1, 1e-300, 1])
    assert fit(learner, X[:6], Y[:6], small).predict(X[:6]).shape == (6, 6)


LOOKS_BAD = {
    "constant labels": (X[:6], np.hstack([Y[:6], np.zeros((6, 1)), np.ones((6, 1))])),
    "row without": (X[:6], np.vstack([Y[:5], np.zeros((1, 6))])),
    "one empty": (X[:6], np.zeros((6, 3))),
    "one full": (X[:6], np.ones((6, 3))),
    "duplicates": (np.repeat(X[:3], 2, axis=0), np.repeat(Y[:3], 2, axis=0)),
    "all equal": (np.repeat(X[:1], 6, axis=0), np.repeat(Y[:1], 6, axis=0)),
    "K=1": (X[:6], np.array([[0, 1, 1, 0, 0, 1]]).T),
    "d=1": (np.arange(6)[:, None], Y[:6]),
    "empty features": (np.vstack([X[:5], np.zeros((1, 61))]), Y[:6]),
    "sparse": (sparse.csr_array(X[:6]), Y[:6]),
    "two": (X[:2], Y[:2]),
    "one": (X[:1], Y[:1]),
}
each_that_looks_bad = pytest.mark.parametrize("name", [*LOOKS_BAD])


@each_that_looks_bad
@each_learner_and_cost
def test_what_looks_bad_but_is_fine(learner, cost, name):
    features, labels = LOOKS_BAD[name]
    model = fit(learner, features, labels, cost=cost)
    predicted = model.predict(features)
    assert predicted.shape == labels.shape
    assert not COSTS[cost].rowwise(labels, predicted).any()
    assert model.score(features, labels) == COSTS[cost].as_score


@each_that_looks_bad
@each_learner
def test_a_constant_label_stays_whatever_the_estimator(learner, name):
    features, labels = LOOKS_BAD[name]
    predicted = fit(learner, features, labels, estimator="linear").predict(features)
    assert predicted.shape == labels.shape
    constant = (labels == labels[0]).all(axis=0)
    assert np.array_equal(predicted[:, constant], labels[:, constant])


@each_learner_and_cost
def test_contradictory_rows(learner, cost):
    predicted = fit(learner, np.zeros((6, 2)), Y[:6], cost=cost).predict(np.zeros((3, 2)))
    assert predicted.shape == (3, 6)
    assert (predicted == predicted[0]).all()
