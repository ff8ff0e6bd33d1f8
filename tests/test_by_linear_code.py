"""Linear embeddings against dense eigen-solutions, and where the answer is known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn import cross_decomposition
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from test_ridge import some

from clems import CCA, CLEMS, CPLST, CSSP, LEML, MOPLMS, PLST, FaIE
from clems.decisions.nearest import nearest
from clems.embedding import implicit, spectral
from clems.embedding.implicit import implicit_codes
from clems.embedding.ridge import ridge_smoother
from clems.learners import faie

X, Y = make_multilabel_classification(140, n_features=8, n_classes=6, random_state=0)
TRAIN, TEST = slice(0, 90), slice(90, 140)
LINEAR = [PLST, CPLST, FaIE, CCA, CSSP, MOPLMS, LEML]
NEAREST = KNeighborsRegressor(1)
each = pytest.mark.parametrize("learner", LINEAR)
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def hat_matrix(features, ridge, weight=None):
    """The map from targets to fitted values, written out: an intercept without penalty beside penalised features."""
    n, d = features.shape
    design = np.hstack([np.ones((n, 1)), features])
    W = np.diag(np.ones(n) if weight is None else weight)
    penalty = ridge * np.eye(d + 1)
    penalty[0, 0] = 0
    return design @ np.linalg.solve(design.T @ W @ design + penalty, design.T @ W)


def dense_eigen(matrix, size):
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return values[::-1][:size], vectors[:, ::-1][:, :size]


def fit(learner, features=X, labels=Y, weight=None, estimator=None, **settings):
    return learner(estimator=estimator or Ridge(), random_state=0, **settings).fit(features, labels, weight)


@pytest.mark.parametrize("learner", [CPLST, FaIE])
@forms
def test_codes_for_features_of_any_size(learner, form):
    settings = {"estimator": DummyRegressor(), "random_state": 0, "ridge": 0} | (
        {"alpha": 9.0} if learner is FaIE else {}
    )
    plain = learner(**settings).fit(form(X[TRAIN] % 8), Y[TRAIN])
    for power in (-900, 512, 900):
        far = learner(**settings).fit(form(np.ldexp(X[TRAIN] % 8, power)), Y[TRAIN])
        np.testing.assert_allclose(far.components_, plain.components_, atol=1e-7)


# What the learners are in special cases


@each
def test_all_dimensions_and_least_squares_are_least_squares_label_by_label(learner):
    model = fit(learner, X[TRAIN], Y[TRAIN], estimator=LinearRegression(), **({"alpha": 0} if learner is FaIE else {}))
    alone = LinearRegression().fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
    assert np.abs(alone - 0.5).min() > 1e-6
    assert np.array_equal(model.predict(X[TEST]), alone > 0.5)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_plst_is_the_best_of_its_dimension(size):
    model = fit(PLST, n_components=size)
    centred = Y - Y.mean(axis=0)
    _, singular, right = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(model.components_ @ right[:size].T), np.eye(size), atol=1e-10)
    np.testing.assert_allclose(model.codes_, centred @ model.components_.T, atol=1e-12)
    np.testing.assert_allclose(model.explained_variance_ratio_, singular[:size] ** 2 / (singular**2).sum())
    np.testing.assert_allclose(model.mean_, Y.mean(axis=0))


@pytest.mark.parametrize("ridge", [1e-6, 1.0, 50.0])
@pytest.mark.parametrize("shape", [(60, 9, 5), (25, 40, 5)])
@forms
def test_cplst_maximises_what_features_tell(form, shape, ridge):
    features, labels, _ = some(*shape)
    model = fit(CPLST, form(features), labels, ridge=ridge, n_components=3)
    centred = labels - labels.mean(axis=0)
    matrix = centred.T @ hat_matrix(features, ridge) @ centred
    values, vectors = dense_eigen(matrix, 3)
    V = model.components_.T
    assert np.trace(V.T @ matrix @ V) == pytest.approx(values.sum(), rel=1e-8)
    np.testing.assert_allclose(np.abs(vectors.T @ V), np.eye(3), atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_cplst_of_groups_predicts_means_of_groups(size):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 5, 200)
    labels = (rng.random((200, 4)) < rng.random((5, 4))[group]).astype(np.uint8)
    features = np.eye(5)[group]
    model = fit(CPLST, features, labels, ridge=1e-9, n_components=size, estimator=LinearRegression())
    means = np.array([labels[group == g].mean(axis=0) for g in range(5)])
    centred = (means - labels.mean(axis=0))[group]
    _, V = dense_eigen(centred.T @ centred, size)
    wanted = (means - labels.mean(axis=0)) @ V @ V.T + labels.mean(axis=0)
    assert np.array_equal(model.predict(np.eye(5)), wanted > 0.5)
    if size == 4:
        assert np.array_equal(model.predict(np.eye(5)), means > 0.5)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_cca_is_that_of_scikit_learn(size, weighted):
    features, labels, weight = some(300, 6, 4)
    rows = np.repeat(np.arange(300), weight.astype(int)) if weighted else np.arange(300)
    model = fit(CCA, features, labels, weight if weighted else None, ridge=0, label_ridge=0, n_components=size)
    wanted = cross_decomposition.CCA(size, max_iter=100_000, tol=1e-14).fit(features[rows], labels[rows])
    of_features, of_labels = wanted.transform(features[rows], labels[rows])
    correlations = [np.corrcoef(a, b)[0, 1] for a, b in zip(of_features.T, of_labels.T, strict=True)]
    np.testing.assert_allclose(model.correlations_, correlations, atol=1e-5)
    assert subspace_angles(model.codes_[rows] - model.codes_[rows].mean(axis=0), of_labels).max() < 1e-3
    assert subspace_angles(model.directions_, wanted.y_rotations_ / wanted._y_std[:, None]).max() < 1e-3


def test_cca_decodes_with_the_least_squared_error():
    features, labels, weight = some(80, 6, 5)
    model = fit(CCA, features, labels, weight, n_components=2)
    root = np.sqrt(weight)[:, None]
    wanted = np.linalg.lstsq(root * model.codes_, root * (labels - model.mean_), rcond=None)[0]
    np.testing.assert_allclose(model.components_, wanted, atol=1e-8)
    lost = (weight[:, None] * (labels - model.mean_ - model.codes_ @ wanted) ** 2).sum()
    whole = (weight[:, None] * (labels - model.mean_) ** 2).sum()
    assert model.explained_variance_ratio_.sum() == pytest.approx(1 - lost / whole)


def test_cca_takes_a_rare_label_as_seriously_as_a_frequent_one():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((2000, 2))
    labels = np.column_stack([features[:, 0] > 1.8, features[:, 1] + 4 * rng.standard_normal(2000) > 0]).astype(int)
    assert np.abs(fit(CCA, features, labels, n_components=1).directions_[:, 0]).argmax() == 0
    assert np.abs(fit(CPLST, features, labels, n_components=1).components_[0]).argmax() == 1


def test_cplst_forgets_labels_that_features_do_not_tell():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((300, 3))
    by_features = (features[:, 0] > 1).astype(int)
    labels = np.column_stack([rng.integers(0, 2, 300), rng.integers(0, 2, 300), by_features])
    assert np.abs(fit(PLST, features, labels, n_components=1).components_[0]).argmax() != 2
    assert np.abs(fit(CPLST, features, labels, n_components=1).components_[0]).argmax() == 2


@pytest.mark.parametrize("size", [1, 3, 5, 8])
@pytest.mark.parametrize("alpha", [0.5, 20.0, 1000.0])
@pytest.mark.parametrize("shape", [(60, 9, 5), (25, 40, 5)])
@forms
def test_faie_maximises_its_objective(form, shape, alpha, size):
    features, labels, _ = some(*shape)
    model = fit(FaIE, form(features), labels, alpha=alpha, ridge=0.8, n_components=size)
    n = shape[0]
    matrix = labels.astype(float) @ labels.T + alpha * hat_matrix(features, 0.8)
    values, _ = dense_eigen(matrix, size)
    codes = model.codes_ / np.sqrt(n)
    np.testing.assert_allclose(codes.T @ codes, np.eye(size), atol=1e-8)
    np.testing.assert_allclose(np.diag(codes.T @ matrix @ codes), values, rtol=1e-8)
    np.testing.assert_allclose(model.components_, model.codes_.T @ labels / n, atol=1e-8)
    assert model.alpha_ == alpha


@pytest.mark.parametrize("size", [1, 2, 4])
def test_faie_blind_to_features_is_plst_without_the_mean(size):
    model = fit(FaIE, alpha=0, n_components=size)
    left, singular, _ = np.linalg.svd(Y.astype(float), full_matrices=False)
    assert subspace_angles(model.codes_, left[:, :size]).max() < 1e-7
    np.testing.assert_allclose(model.explained_variance_ratio_, singular[:size] ** 2 / (singular**2).sum())


@pytest.mark.parametrize("alpha", [0.3, 30.0])
def test_faie_by_features_and_by_rows(alpha, monkeypatch):
    features, labels, weight = some(400, 8, 12)
    features[:, 7] = features[:, 6]
    labels = sparse.csr_array(np.hstack([labels, labels[:, :2]]), dtype=float)
    smooth = ridge_smoother(sparse.csr_array(features), weight, 0.5)
    monkeypatch.setattr(spectral, "ROOM", 0)
    codes, components = implicit_codes(labels, weight, smooth, alpha, 14)
    with monkeypatch.context() as patch:
        patch.setattr(implicit, "_by_features", lambda *_: pytest.fail("not by rows"))
        others, same = implicit_codes(labels, weight, replace(smooth, factor=None), alpha, 14)
    assert codes.shape == others.shape == (400, 14)
    np.testing.assert_allclose(codes, others, atol=1e-6)
    np.testing.assert_allclose(components, same, atol=1e-8)
    np.testing.assert_allclose(codes.T @ (weight[:, None] * codes) / weight.sum(), np.eye(14), atol=1e-8)


def test_faie_at_large_alpha_takes_what_features_tell_best():
    features, labels, _ = some(80, 10, 6)
    explained = [
        np.trace(codes.T @ hat_matrix(features, 1.0) @ codes) / 80
        for codes in (fit(FaIE, features, labels, alpha=alpha, n_components=3).codes_ for alpha in (0, 10, 1e4))
    ]
    assert explained[0] < explained[1] < explained[2]
    assert explained[2] == pytest.approx(np.linalg.eigvalsh(hat_matrix(features, 1.0))[-3:].sum(), rel=1e-2)


def test_alpha_is_the_best_on_held_out_rows(monkeypatch):
    features, labels, _ = some(200, 10, 6)
    seen, mean = [], np.average
    monkeypatch.setattr(faie.np, "average", lambda *a, **k: seen.append(mean(*a, **k)) or seen[-1])
    model = fit(FaIE, features, labels, n_components=2)
    losses = seen[: len(faie.GRID)]
    unit = (labels.astype(float) ** 2).sum() / 6
    assert len({*losses}) > 1
    assert model.alpha_ == pytest.approx(faie.GRID[int(np.argmin(losses))] * unit)
    alike = fit(FaIE, features, labels, n_components=2, alpha=model.alpha_)
    np.testing.assert_allclose(model.codes_, alike.codes_)
    assert fit(FaIE, features[:1], labels[:1]).alpha_ == 0


def test_alpha_is_chosen_on_some_rows_of_many(monkeypatch):
    monkeypatch.setattr(faie, "ROWS", 60)
    sizes, original = [], faie.ridge_smoother
    monkeypatch.setattr(faie, "ridge_smoother", lambda X, *a: sizes.append(X.shape[0]) or original(X, *a))
    features, labels, _ = some(600, 20, 4)
    faie.choose_alpha(features, sparse.csr_array(labels, dtype=float), None, 4, 1.0, np.random.RandomState(0))
    assert len(sizes) == 1
    assert 20 < sizes[0] < 60


def test_equal_rows_are_held_out_together(monkeypatch):
    features, labels, weight = some(60, 6, 4)
    rows = np.repeat(np.arange(60), weight.astype(int))
    trained, original = [], faie.ridge_smoother
    monkeypatch.setattr(faie, "ridge_smoother", lambda X, *a: trained.append(X) or original(X, *a))
    for part, own in ((np.arange(60), weight), (rows, None)):
        known = sparse.csr_array(labels[part], dtype=float)
        faie.choose_alpha(features[part], known, own, 4, 1.0, np.random.RandomState(0))
    weighted, repeated = ({*map(tuple, part.tolist())} for part in trained)
    assert weighted == repeated
    assert 20 < len(weighted) < 60


# What all promise


@pytest.mark.parametrize("settings", [{}, {"n_components": 1.5}, {"n_components": 50}])
@each
def test_nothing_is_lost_with_all_dimensions(learner, settings):
    features = np.column_stack([np.arange(140), X])
    labels = np.column_stack([Y, np.ones(140), np.zeros(140), Y[:, 0]])
    settings = settings | ({"alpha": 0.01} if learner is FaIE else {})
    model = fit(learner, features, labels, estimator=DecisionTreeRegressor(), **settings)
    assert model.reconstruction_error_ == 0
    assert np.array_equal(model.predict(features), labels)


@pytest.mark.parametrize("size", [1, 2, 4, 0.5, 6, 7, 20])
@each
def test_attributes_agree(learner, size):
    weight = np.random.default_rng(0).random(140) + 0.1
    features = np.column_stack([np.arange(140), X])
    model = fit(learner, features, Y, weight, estimator=DecisionTreeRegressor(), n_components=size)
    M = model.n_components_
    most = min(round(size * 6) if isinstance(size, float) else size, 140)
    assert most >= M
    assert min(most, 6) == M or learner is FaIE
    assert model.components_.shape == (M, 6)
    assert model.codes_.shape == (140, M)
    assert model.explained_variance_ratio_.shape == (M,)
    assert (model.explained_variance_ratio_ >= 0).all()
    assert model.explained_variance_ratio_.sum() <= 1 + 1e-12
    wrong = (model.predict(features) != Y).mean(axis=1)
    assert model.reconstruction_error_ == pytest.approx(np.average(wrong, weights=weight))
    largest = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(M), largest] > 0).all()


@each
def test_more_dimensions_lose_less(learner):
    models = [fit(learner, n_components=size, **({"alpha": 1} if learner is FaIE else {})) for size in range(1, 7)]
    kept = [model.explained_variance_ratio_.sum() for model in models]
    assert (np.diff(kept) > 0).all()
    assert models[0].reconstruction_error_ > models[-1].reconstruction_error_ == 0


@forms
@each
def test_sparse_features_and_labels_give_the_same(learner, form):
    features, labels, weight = some(50, 12, 5)
    settings = {"alpha": 5} if learner is FaIE else {}
    one, other = (
        fit(learner, a, b, weight, n_components=3, **settings)
        for a, b in ((features, labels), (sparse.csr_array(features), form(labels)))
    )
    np.testing.assert_allclose(one.codes_, other.codes_, atol=1e-7)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-8)


@pytest.mark.parametrize("shape", [(40, 6, 5), (20, 40, 5)])
@each
def test_a_weight_is_a_number_of_rows(learner, shape):
    features, labels, weight = some(*shape)
    rows = np.repeat(np.arange(shape[0]), weight.astype(int))
    settings = {"n_components": 3}
    weighted = fit(learner, features, labels, weight, **settings)
    repeated = fit(learner, features[rows], labels[rows], **settings)
    assert getattr(weighted, "alpha_", 0) == pytest.approx(getattr(repeated, "alpha_", 0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-7)
    np.testing.assert_allclose(weighted.codes_[rows], repeated.codes_, atol=1e-6)
    np.testing.assert_allclose(weighted.explained_variance_ratio_, repeated.explained_variance_ratio_)
    assert weighted.reconstruction_error_ == pytest.approx(repeated.reconstruction_error_)
    unweighted = fit(learner, features, labels, **settings)
    assert not np.allclose(weighted.components_, unweighted.components_, atol=1e-3)


@each
def test_labels_that_never_vary(learner):
    labels = np.tile([1, 0, 1], (20, 1))
    model = fit(learner, X[:20], labels)
    assert not model.explained_variance_ratio_.any()
    assert model.reconstruction_error_ == 0
    assert np.array_equal(model.predict(X[TEST]), np.tile([1, 0, 1], (50, 1)))


@each
def test_a_label_that_is_always_there_stays_in_few_dimensions(learner):
    half = np.arange(60)[:, None] % 2
    labels = np.hstack([np.ones((60, 1)), np.tile(half, 4)])
    model = fit(learner, half + 0.0, labels, n_components=1, estimator=LinearRegression())
    assert np.array_equal(model.predict(half), labels)


@pytest.mark.parametrize("K", [1, 6])
@each
def test_one_row_and_one_label(learner, K):
    model = fit(learner, X[:1], Y[:1, :K])
    assert np.array_equal(model.predict(X[:3]), np.repeat(Y[:1, :K], 3, axis=0))
    assert fit(learner, X, Y[:, :1]).codes_.shape == (140, 1)


@each
def test_a_half_is_not_more_than_a_half(learner):
    labels = np.tile([[1, 0, 1], [0, 0, 1]], (5, 1))
    model = fit(learner, np.zeros((10, 1)), labels)
    assert np.array_equal(model.predict(np.zeros((2, 1))), [[0, 0, 1]] * 2)


@each
def test_trees_may_end_earlier(learner):
    model = fit(learner, X[TRAIN], Y[TRAIN], estimator=DecisionTreeRegressor())
    stump = fit(learner, X[TRAIN], Y[TRAIN], estimator=DecisionTreeRegressor(max_depth=1))
    assert np.array_equal(model.at_depth(1).predict(X[TEST]), stump.predict(X[TEST]))
    assert not np.array_equal(model.predict(X[TEST]), stump.predict(X[TEST]))
    with pytest.raises(ValueError, match="depth must be a whole number"):
        model.at_depth(0)


@cache
def embedded():
    return CLEMS(cost="f1", decoder="nearest", estimator=NEAREST, random_state=0).fit(X, Y)


def test_clems_has_codes_too():
    model = embedded()
    assert np.array_equal(model.codes_, model.embedding_.truth[model.candidates_.index])
    decoded = model.candidates_.labels[nearest(model.codes_, model.embedding_.prediction)]
    assert model.reconstruction_error_ == (decoded != Y).mean()
    few = CLEMS(candidates=Y[:4], decoder="nearest", estimator=NEAREST, random_state=0).fit(X, Y)
    assert few.reconstruction_error_ > model.reconstruction_error_
