"""What is CLEMS's own: candidates, the embedding, its roles, and decisions by posteriors of every kind of estimator.

What it shares with all learners is in `test_learners`, what with those that have a posterior in `test_by_posterior`.
"""

import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from distributions import brute, own_cost
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from clems import CLEMS, COSTS, f_beta, get_cost, get_criterion, weighted_hamming
from clems.datasets import digit_scenes
from clems.decisions.best_candidate import searched_from_candidates
from clems.decisions.decide import DECODERS
from clems.decisions.nearest import nearest
from clems.decisions.rules import rule_for
from clems.labels.matrix import as_labels
from clems.learners import clems as learner
from clems.posterior.choosing import SHARPNESS
from clems.trees.growing import default_forest

X, Y = digit_scenes(260, random_state=0)
TRAIN, TEST = slice(0, 140), slice(140, 260)
SMALL = default_forest(121, n_estimators=5)
NEAREST = KNeighborsRegressor(1)


def fit(X=X[TRAIN], Y=Y[TRAIN], **settings):
    settings = {"estimator": SMALL, "random_state": 0, "tol": 1e-2} | settings
    return CLEMS(**settings).fit(X, Y)


def test_predictions_are_candidates():
    model = fit(candidates=("subsample", 12), decoder="nearest")
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


def test_precision_by_default_depends_on_how_many_label_vectors_there_are(monkeypatch):
    model = fit()
    assert model.embedding_.truth.dtype == fit(dtype="float64").embedding_.truth.dtype == np.float64
    monkeypatch.setattr(learner, "MOST_DOUBLE", len(model.candidates_) - 1)
    assert fit().embedding_.truth.dtype == np.float32
    assert fit(dtype="float64").embedding_.truth.dtype == np.float64


def test_sample_weight_counts_in_both_stages():
    weight = np.random.default_rng(0).integers(1, 4, 140)
    weighted = CLEMS(estimator=Ridge(), random_state=0, tol=1e-4).fit(X[TRAIN], Y[TRAIN], weight)
    repeated = fit(
        np.repeat(X[TRAIN], weight, axis=0), np.repeat(Y[TRAIN], weight, axis=0), estimator=Ridge(), tol=1e-4
    )
    assert np.array_equal(weighted.candidates_.frequency, repeated.candidates_.frequency)
    np.testing.assert_allclose(weighted.embedding_.truth, repeated.embedding_.truth, atol=1e-6)
    np.testing.assert_allclose(weighted.estimator_.coef_, repeated.estimator_.coef_, atol=1e-6)


@pytest.mark.parametrize(
    "changed", [{"cost": "f1"}, {"roles": "worded"}, {"cost_transform": "identity"}, {"dtype": "float32"}]
)
def test_the_embedding_error_stays_when_parameters_change(changed):
    model = fit(cost="rank", estimator=Ridge())
    error = model.embedding_error()
    assert np.array_equal(model.set_params(**changed).embedding_error(), error)


@pytest.mark.parametrize("n_components", [1, 3])
@pytest.mark.parametrize("estimator", [Ridge(), KNeighborsRegressor(3), SVR(), ExtraTreesRegressor(5)], ids=repr)
def test_a_regressor_with_one_output_is_fitted_once_per_dimension(estimator, n_components):
    model = fit(estimator=estimator, n_components=n_components)
    assert model.predict(X[TEST]).shape == (120, 10)
    assert isinstance(model.estimator_, MultiOutputRegressor) == isinstance(estimator, SVR)
    if isinstance(estimator, SVR):
        assert len(model.estimator_.estimators_) == n_components


def test_an_unfitted_model_has_no_embedding_error():
    with pytest.raises(NotFittedError):
        CLEMS().embedding_error()


def test_verbose(capsys):
    fit(verbose=1)
    embedding, regressor, decoder = capsys.readouterr().out.splitlines()
    assert decoder.startswith("[CLEMS] decoder ")
    assert embedding.startswith("[CLEMS] embedding: ")
    assert regressor.startswith("[CLEMS] regressor: ExtraTreesRegressor")


@pytest.mark.parametrize("n_trees", [1, 7])
def test_the_default_forest_has_as_many_trees_as_wanted(n_trees):
    model = CLEMS(n_trees=n_trees, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert len(model.estimator_) == n_trees


def test_another_decoder_without_training_anew():
    settings = {"cost": "rank", "depths": None, "sharpness": 1}
    model = fit(**settings, decoder="exact")
    for decoder in ("nearest", "expected", "exact"):
        other, trained = model.with_decoder(decoder), fit(**settings, decoder=decoder)
        assert other.decoder_ == decoder
        assert np.array_equal(other.predict(X[TEST]), trained.predict(X[TEST]))
    assert model.decoder_ == "exact"
    compared = fit(cost="rank")
    assert compared.with_decoder("nearest").oob_cost_ == compared.oob_costs_["nearest"]
    by_rows = fit(cost="micro_f1").with_decoder("nearest").predict(X[TEST])
    assert {*map(bytes, by_rows)} <= {*map(bytes, Y[TRAIN])}
    with pytest.raises(ValueError, match="decoder must be one of 'nearest', 'expected', 'exact'; got 'auto'"):
        model.with_decoder("auto")
    with pytest.raises(ValueError, match="needs a cost with an exact rule, which 'accuracy' has not"):
        fit(cost="accuracy").with_decoder("exact")
    with pytest.raises(NotFittedError):
        CLEMS().with_decoder("nearest")


# Posteriors of every kind of estimator, and decisions by them

KINDS = {
    "default": None,
    "forest": RandomForestRegressor(15, random_state=0),
    "extra": ExtraTreesRegressor(15, random_state=0),
    "tree": DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
    "neighbours": KNeighborsRegressor(5, weights="distance", algorithm="kd_tree"),
    "ridge": Ridge(10),
    "pipeline": make_pipeline(StandardScaler(), Ridge(10)),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@cache
def model(kind="forest", /, **settings_):
    return CLEMS(estimator=KINDS[kind], random_state=0, **settings_).fit(X[TRAIN], Y[TRAIN])


@kinds
@pytest.mark.parametrize("cost", ["f1", "accuracy", "macro_f1"])
def test_all_kinds_of_estimators_give_probabilities_and_held_out_costs(kind, cost):
    fitted = model(kind, cost=cost)
    probabilities = fitted.predict_proba(X[TEST])
    assert probabilities.shape == (120, 10)
    assert probabilities.min() >= -1e-12
    assert probabilities.max() <= 1 + 1e-12
    names = {"f1": [*DECODERS], "accuracy": ["nearest", "expected"], "macro_f1": ["threshold"]}[cost]
    assert [*fitted.oob_costs_] == names
    assert np.isfinite([*fitted.oob_costs_.values()]).all()
    assert fitted.oob_cost_ == fitted.oob_costs_[fitted.decoder_]
    assert fitted.sharpness_ in SHARPNESS


def test_probabilities_are_no_more_than_one():
    labels = np.hstack([Y[TRAIN], np.ones((140, 1), np.uint8)])
    fitted = [CLEMS(estimator=kind, random_state=0).fit(X[TRAIN], labels) for kind in KINDS.values()]
    assert max(one.predict_proba(X[TEST]).max() for one in fitted) <= 1


@kinds
@pytest.mark.parametrize("roles", ["mirrored", "swapped"])
def test_the_nearest_point_is_that_of_what_the_estimator_predicts(kind, roles):
    fitted = model(kind, cost="rank", decoder="nearest", depths=None, roles=roles)
    embedding = fitted.embedding_
    among = embedding.prediction if roles == "mirrored" else embedding.truth
    points = fitted.posterior(X[TEST]).points
    if kind != "default":  # which is a list of trees
        np.testing.assert_allclose(points, fitted.estimator_.predict(X[TEST]), atol=2**-19)  # trees round targets
    wanted = nearest(points, among)
    assert np.array_equal(fitted.predict(X[TEST]), fitted.candidates_.labels[wanted])


@pytest.mark.parametrize("cost", ["hamming", "f1", "f_beta(0.5)", "rank", "composition", "zero_one", "prices"])
@pytest.mark.parametrize("kind", ["forest", "ridge"])
def test_exact_decisions_are_the_best_of_all_vectors(kind, cost):
    given = weighted_hamming([1, 2, 3, 4, 5, 6], [6, 1, 2, 1, 1, 2]) if cost == "prices" else get_cost(cost)
    labels = Y[:, :6]
    fitted = CLEMS(given, decoder="exact", estimator=KINDS[kind], random_state=0).fit(X[TRAIN], labels[TRAIN])
    posterior = fitted.posterior(X[TEST])
    table, of = brute(posterior, given)
    np.testing.assert_allclose(of(fitted.predict(X[TEST])), table.min(axis=1), atol=1e-12)
    honest = np.minimum(fitted.paid_over_expected() * table.min(axis=1), given.bound(6))
    np.testing.assert_allclose(fitted.expected_cost(X[TEST]), honest, atol=1e-12)


def test_decoders_get_better_by_their_own_probabilities():
    """For the same trees and shape, the more a decoder considers, the less it expects to pay."""
    models = [model(cost="f1", decoder=name, depths=(5,), sharpness=1) for name in ("nearest", "expected", "exact")]
    costs = [one.expected_cost(X[TEST]) / one.paid_over_expected() for one in models]
    assert (costs[1] <= costs[0] + 1e-12).all()
    assert (costs[2] <= costs[1] + 1e-12).all()
    assert costs[2].mean() < costs[1].mean() < costs[0].mean()


@kinds
def test_one_fit_decides_for_every_cost(kind):
    fitted = model(kind, cost="accuracy")
    probabilities = fitted.predict_proba(X[TEST])
    assert np.array_equal(fitted.posterior(X[TEST], "macro_f1").marginals, probabilities)
    half = fitted.posterior(X[TEST], "hamming").marginals > 0.5
    assert np.array_equal(fitted.predict(X[TEST], cost="hamming"), half)
    dear = weighted_hamming(3, 1)
    assert np.array_equal(fitted.predict(X[TEST], cost=dear), fitted.posterior(X[TEST], dear).marginals > 0.25)
    for cost in (f_beta(2), get_cost(own_cost)):
        decide = rule_for(cost).decide if rule_for(cost).exact else searched_from_candidates
        assert np.array_equal(fitted.predict(X[TEST], cost=cost), decide(fitted.posterior(X[TEST], cost), cost))


def test_expected_costs_follow_from_probabilities():
    fitted = model()
    probabilities = fitted.posterior(X[TEST], "hamming").marginals
    wrong = np.abs(fitted.predict(X[TEST], cost="hamming") - probabilities)

    def check(cost, wanted):
        honest = np.minimum(fitted.paid_over_expected(cost) * wanted, 1)  # no row can cost more
        np.testing.assert_allclose(fitted.expected_cost(X[TEST], cost), honest, atol=1e-12)

    check("hamming", wrong.mean(axis=1))
    likeliest = fitted.top_k(X[TEST], 1, cost="zero_one").probability[:, 0]
    check("zero_one", 1 - likeliest)
    posterior = fitted.posterior(X[TEST])
    costs = COSTS["f1"].pairwise(posterior.labels, fitted.predict(X[TEST]))
    check(None, (posterior.share.toarray() * costs.T).sum(axis=1))


@pytest.mark.parametrize("cost", [None, "accuracy", "zero_one", own_cost])
@pytest.mark.parametrize("decoder", ["auto", "nearest", "exact"])
def test_the_first_of_the_best_is_the_prediction(decoder, cost):
    fitted = model(decoder=decoder)
    top = fitted.top_k(X[TEST], 4, cost=cost)
    assert np.array_equal(top.labels[:, 0], fitted.predict(X[TEST], cost=cost))
    np.testing.assert_allclose(top.expected_cost[:, 0], fitted.expected_cost(X[TEST], cost=cost), atol=1e-12)
    assert (np.diff(top.expected_cost[:, 1:], axis=1) >= 0).all()
    whole = fitted.top_k(X[TEST], len(fitted.candidates_), cost=cost)
    for part, all_ in zip(top, whole, strict=True):
        assert np.array_equal(part, all_[:, :4])
    assert (whole.probability.sum(axis=1) <= 1 + 1e-9).all()


@pytest.mark.parametrize("name", ["micro_f1", "macro_f1"])
@pytest.mark.parametrize("kind", ["forest", "ridge"])
def test_criteria_of_all_rows_are_decided_by_thresholds(kind, name):
    fitted = model(kind, cost=name)
    probabilities = fitted.predict_proba(X[TEST])
    threshold = fitted._thresholds[name]
    assert threshold.shape == ((1,) if name == "micro_f1" else (10,))
    assert np.array_equal(fitted.predict(X[TEST]), probabilities > threshold)
    assert fitted.score(X[TEST], Y[TEST]) == get_criterion(name)(Y[TEST], fitted.predict(X[TEST]))
    assert fitted.decoder_ == "threshold"
    assert 0 < fitted.oob_cost_ < 1
    other = model(kind, cost="hamming")
    marginals = other.posterior(X[TEST], name).marginals
    assert np.array_equal(other.predict(X[TEST], cost=name), marginals > other._thresholds[name])
    for ask in (fitted.expected_cost, lambda rows: fitted.top_k(rows, 1), lambda rows: other.expected_cost(rows, name)):
        with pytest.raises(ValueError, match=rf"^{name} is no cost of single rows; name one that is, such as .*\.$"):
            ask(X[TEST])
    np.testing.assert_allclose(
        fitted.expected_cost(X[TEST], cost="hamming") / fitted.paid_over_expected("hamming"),
        np.minimum(probabilities, 1 - probabilities).mean(axis=1),
        atol=1e-12,
    )


@pytest.mark.parametrize("weight", [None, "some"])
@pytest.mark.parametrize("name", ["macro_f1", "f1"])
def test_trees_see_labels_of_one_variance(name, weight, monkeypatch):
    grown_on, grow_trees = [], learner.grow_trees

    def grow(X, targets, groups, *others, **settings):
        grown_on.append((targets[1][groups], settings["bags"]))
        return grow_trees(X, targets, groups, *others, **settings)

    monkeypatch.setattr(learner, "grow_trees", grow)
    labels = np.column_stack([Y[TRAIN], np.ones(len(Y[TRAIN]), int), np.zeros(len(Y[TRAIN]), int)])
    weight = None if weight is None else np.random.default_rng(0).integers(1, 4, len(labels)).astype(float)
    CLEMS(name, n_trees=2, random_state=0).fit(X[TRAIN], labels, sample_weight=weight)
    targets, bags = grown_on.pop()
    variance = np.cov(targets.T, ddof=0, aweights=weight).diagonal()
    np.testing.assert_allclose(variance, [1] * 10 + [0, 0], atol=1e-12)
    assert np.array_equal(targets > 0, labels > 0)
    assert bags == "thirds"
    CLEMS("f1", decoder="nearest", n_trees=2, random_state=0).fit(X[TRAIN], labels, sample_weight=weight)
    targets, bags = grown_on.pop()  # the paper's algorithm grows its trees as it did
    assert np.array_equal(targets, labels)
    assert bags == "bootstrap"


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"cost": "accuracy", "decoder": "exact"}, "decoder='exact' needs a cost with an exact rule, which 'accuracy'"),
        ({"cost": own_cost, "decoder": "exact"}, "decoder='exact' needs a cost with an exact rule, which 'own_cost'"),
        ({"cost": "micro_f1", "decoder": "nearest"}, "cost='micro_f1' is decided by thresholds; decoder must be"),
        ({"decoder": "best"}, "decoder must be one of 'auto', 'nearest', 'expected', 'exact'; got 'best'"),
        ({"depths": []}, "depths must hold at least one depth"),
        ({"depths": [3, 0]}, "each of depths must be a whole number of at least 1; got 0"),
        ({"depths": [2.5]}, "each of depths must be a whole number of at least 1; got 2.5"),
        ({"sharpness": 0}, "sharpness must be 'auto' or a number above 0; got 0"),
        ({"sharpness": np.inf}, "sharpness must be 'auto' or a number above 0; got inf"),
        ({"sharpness": np.nan}, "sharpness must be 'auto' or a number above 0; got nan"),
        ({"sharpness": True}, "sharpness must be 'auto' or a number above 0; got True"),
        ({"sharpness": "sharp"}, "sharpness must be 'auto' or a number above 0; got 'sharp'"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(settings_, message):
    fresh = CLEMS(random_state=0, **settings_)
    before = {*vars(fresh)}
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        fresh.fit(X[TRAIN], Y[TRAIN])
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert {*vars(fresh)} == before


def test_bad_questions_are_refused_in_one_sentence():
    fitted = model()
    size = len(fitted.candidates_)
    for k in (0, size + 1, 1.5):
        with pytest.raises(
            ValueError, match=rf"^k must be a whole number of at least 1 and at most {size}; got {k}\.$"
        ):
            fitted.top_k(X[TEST], k)
    for depth in (0, 2.5, "deep"):
        with pytest.raises(ValueError, match=r"^depth must be a whole number of at least 1; got "):
            fitted.at_depth(depth)


@pytest.mark.parametrize("kind", ["ridge", "neighbours", "pipeline"])
def test_only_trees_have_a_depth(kind):
    with pytest.raises(ValueError, match=r"^at_depth needs trees, which \w+ does not have\.$"):
        model(kind).at_depth(3)


@pytest.mark.parametrize("kind", ["default", "forest", "extra", "tree"])
def test_another_depth_is_another_model(kind):
    fitted = model(kind, depths=(3, 6), sharpness=1)
    before = fitted.predict_proba(X[TEST])
    shallow, full = fitted.at_depth(1), fitted.at_depth(None)
    assert (shallow.depth_, full.depth_) == (1, None)
    assert fitted.depth_ in (3, 6)
    assert not np.array_equal(shallow.predict_proba(X[TEST]), before)
    assert np.array_equal(fitted.predict_proba(X[TEST]), before)
    assert np.array_equal(shallow.at_depth(fitted.depth_).predict_proba(X[TEST]), before)
    assert shallow.estimator_ is fitted.estimator_
    assert np.isnan(shallow.oob_cost_)
    assert [*shallow.oob_costs_] == [*fitted.oob_costs_]
    assert np.isfinite(fitted.oob_cost_)


def test_a_depth_chosen_later_is_that_of_training():
    later = model(depths=None, sharpness=1, decoder="exact").at_depth(3)
    at_once = model(depths=(3,), sharpness=1, decoder="exact")
    assert at_once.depth_ == 3
    assert np.array_equal(later.predict_proba(X[TEST]), at_once.predict_proba(X[TEST]))
    assert np.array_equal(later.predict(X[TEST]), at_once.predict(X[TEST]))


@pytest.mark.parametrize("cost", ["f1", "accuracy", "macro_f1"])
def test_jobs_and_sparse_features_change_nothing(cost):
    fitted = model("default", cost=cost)
    probabilities, predicted = fitted.predict_proba(X[TEST]), fitted.predict(X[TEST])
    parallel = CLEMS(cost, n_jobs=2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    thin = CLEMS(cost, random_state=0).fit(sparse.csr_array(X[TRAIN]), Y[TRAIN])
    for other, rows in [(parallel, X[TEST]), (thin, sparse.csr_array(X[TEST])), (fitted, sparse.csr_matrix(X[TEST]))]:
        assert other.oob_costs_ == fitted.oob_costs_
        assert np.array_equal(other.predict_proba(rows), probabilities)
        assert np.array_equal(other.predict(rows), predicted)


@pytest.mark.parametrize("kind", ["default", "extra", "neighbours", "ridge"])
def test_held_out_costs_are_honest(kind):
    """Labels that have nothing to do with the features cost as much on training rows as on others."""
    rng = np.random.default_rng(0)
    features, labels = rng.random((400, 5)), rng.integers(0, 2, (400, 3))
    fitted = CLEMS("hamming", estimator=KINDS[kind], random_state=0).fit(features[:200], labels[:200])
    wrong = (fitted.predict(features[200:]) != labels[200:]).mean()
    for cost in fitted.oob_costs_.values():
        assert cost == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(600))
    assert wrong == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(600))


@kinds
@pytest.mark.parametrize("cost", ["f1", "macro_f1"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_rows_suffice(kind, cost, n):
    estimator = KNeighborsRegressor(1, algorithm="kd_tree") if kind == "neighbours" else KINDS[kind]
    fitted = CLEMS(cost, estimator=estimator, random_state=0).fit(X[:n], Y[:n])
    assert np.isfinite(fitted.predict_proba(X[TEST])).all()
    assert fitted.predict(X[TEST]).shape == (120, 10)
    if n == 1:
        assert np.isnan(fitted.oob_cost_)
        assert (fitted.predict(X[TEST]) == Y[0]).all()


def test_neighbours_may_be_all_rows():
    fitted = CLEMS(estimator=KNeighborsRegressor(5), random_state=0).fit(X[:5], Y[:5])
    np.testing.assert_allclose(fitted.predict_proba(X[TEST]), np.tile(Y[:5].mean(axis=0), (120, 1)))


@pytest.mark.parametrize("cost", ["f1", "accuracy", "macro_f1"])
@pytest.mark.parametrize("kind", ["default", "ridge"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_labels_are_validated_once_in_a_fit_and_never_in_a_prediction(cost, kind, form, monkeypatch):
    checked = []

    def watched(labels, *others):
        checked.append(labels)
        return as_labels(labels, *others)

    for module in [module for name, module in sys.modules.items() if name.split(".")[0] == "clems"]:
        if vars(module).get("as_labels") is as_labels:
            monkeypatch.setattr(module, "as_labels", watched)
    given = form(Y[TRAIN])
    fitted = CLEMS(cost, estimator=KINDS[kind], n_trees=5, random_state=0).fit(X[TRAIN], given)
    assert len(checked) == 1
    assert checked[0] is given
    fitted.predict(X[TEST])
    fitted.predict(X[TEST], cost="rank")
    fitted.expected_cost(X[TEST], cost="accuracy")
    fitted.top_k(X[TEST], 2, cost="f1")
    assert len(checked) == 1


@kinds
@pytest.mark.parametrize("cost", ["accuracy", "micro_f1"])
def test_one_label_and_constant_labels(kind, cost):
    for labels in (Y[:40, :1], np.zeros((40, 1), int), np.eye(4, dtype=int)[[1] * 40]):
        fitted = CLEMS(cost, estimator=KINDS[kind], random_state=0).fit(X[:40], labels)
        predicted = fitted.predict(X[TEST])
        assert predicted.shape == (120, labels.shape[1])
        if len(np.unique(labels, axis=0)) == 1:
            assert (predicted == labels[0]).all()
            assert fitted.oob_cost_ == pytest.approx(float(cost == "micro_f1" and not labels.any()))


def test_weights_count_in_held_out_costs():
    rng = np.random.default_rng(0)
    features, noise = rng.integers(0, 2, (2, 200, 3))
    noisy = np.arange(200) < 100
    labels = np.where(noisy[:, None], noise, features)
    for kind in ("ridge", "forest", "extra"):
        fitted = CLEMS("hamming", estimator=KINDS[kind], random_state=0)
        assert fitted.fit(features, labels).oob_cost_ > 0.2
        assert fitted.fit(features, labels, np.where(noisy, 1e-3, 1)).oob_cost_ < 0.01


@pytest.mark.parametrize("weights", [lambda d: 1 / (d - d), lambda d: d < 0, lambda d: -d])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_weights_of_neighbours_that_are_none_are_refused(weights):
    model = CLEMS(estimator=KNeighborsRegressor(3, weights=weights), random_state=0)
    with pytest.raises(ValueError, match="The weights of KNeighborsRegressor must be finite, at least 0, and not all"):
        model.fit(X[TRAIN], Y[TRAIN])


@dataclass
class Unhashable:
    price: float = 2.0

    def __call__(self, truth, predicted):
        return self.price * abs(truth - predicted).sum(axis=1)


def test_a_cost_need_not_be_hashable():
    with pytest.raises(TypeError):
        hash(Unhashable())
    fitted = CLEMS(Unhashable(), random_state=0, n_trees=10).fit(X[TRAIN], Y[TRAIN])
    same = fitted.predict(X, cost=get_cost(lambda Y, P: 2.0 * abs(Y - P).sum(axis=1)))
    assert np.array_equal(fitted.predict(X), same)


@pytest.mark.parametrize("name", ["micro_f2", "macrof1", "micro-f1"])
def test_a_misspelt_criterion_is_recognised(name):
    with pytest.raises(ValueError, match=f"Unknown cost '{name}'; did you mean 'm[ai]cro_f1'"):
        CLEMS(name).fit(X[TRAIN], Y[TRAIN])
