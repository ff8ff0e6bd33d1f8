"""What is CLEMS's own: candidates, the embedding, its roles; what it shares with all learners is in `test_learners`."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR

from clems import CLEMS, COSTS
from clems.datasets import digit_scenes
from clems.forest import default_forest

X, Y = digit_scenes(240, random_state=0)
TRAIN, TEST = slice(0, 160), slice(160, 240)
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


def test_sample_weight_counts_in_both_stages():
    weight = np.random.default_rng(0).integers(1, 4, 160)
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
    assert model.predict(X[TEST]).shape == (80, 10)
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
