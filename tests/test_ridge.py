"""Ridge regression against scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge

from clems.embedding import ridge as ridge_module
from clems.embedding.ridge import conjugate_gradients, ridge_smoother

X, Y = make_multilabel_classification(140, n_features=8, n_classes=6, random_state=0)
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def some(n, d, K, seed=0):
    """Features of which most are zero, labels that depend on them, and weights."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 4, (n, d)) * (rng.random((n, d)) < 0.4) + (rng.random(d) < 0.2)
    labels = (features @ rng.standard_normal((d, K)) + rng.standard_normal((n, K)) > 0.5).astype(np.uint8)
    return features.astype(float), labels, rng.integers(1, 4, n).astype(float)


@pytest.fixture(params=["factorised", "iterative"])
def way(request, monkeypatch):
    if request.param == "iterative":
        monkeypatch.setattr(ridge_module, "SMALL", 0)
        monkeypatch.setattr(ridge_module, "WORTH", 0)
    calls = []
    original = conjugate_gradients
    monkeypatch.setattr(ridge_module, "conjugate_gradients", lambda *a: calls.append(1) or original(*a))
    yield request.param
    assert bool(calls) == (request.param == "iterative")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "d"), [(40, 12), (12, 40), (20, 20), (1, 3), (5, 1)])
@forms
def test_ridge_is_that_of_scikit_learn(way, form, n, d, weighted):
    features, _, weight = some(n + 6, d, 3)
    targets = np.random.default_rng(1).standard_normal((n, 4))
    weight = weight[:n] if weighted else None
    theirs = Ridge(0.7).fit(features[:n], targets, weight)
    smooth = ridge_smoother(form(features[:n]), weight, 0.7)
    assert smooth.by_features == (d <= n)
    root = smooth.root[:, None]
    np.testing.assert_allclose(root**2, np.ones((n, 1)) if weight is None else weight[:, None])
    np.testing.assert_allclose(smooth(root * targets) / root, theirs.predict(features[:n]), atol=1e-8)
    fitted = smooth(root * targets)
    np.testing.assert_allclose(smooth.products(root * targets), (root * targets).T @ fitted, atol=1e-8)
    np.testing.assert_allclose(smooth.predict(form(features[n:]), targets), theirs.predict(features[n:]), atol=1e-8)


@forms
def test_the_smoother_is_symmetric_and_shrinks(form):
    features, _, weight = some(30, 10, 3)
    smooth = ridge_smoother(form(features), weight, 2.0)
    matrix = smooth(np.eye(30))
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-10)
    values = np.linalg.eigvalsh(matrix)
    assert values.min() > -1e-10
    assert values.max() == pytest.approx(1)
    np.testing.assert_allclose(smooth(smooth.root[:, None]), smooth.root[:, None], atol=1e-10)


@pytest.mark.parametrize("features", [np.zeros((6, 2)), np.full((6, 2), 0.1), np.eye(6)[:, :1] * 1e-6])
@forms
def test_no_ridge_at_all(form, features):
    targets = np.arange(6.0)[:, None]
    fitted = ridge_smoother(form(features), None, 0.0)(targets)
    np.testing.assert_allclose(fitted, LinearRegression().fit(features, targets).predict(features), atol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(300, 40), (40, 300)])
def test_sparse_features_stay_sparse(monkeypatch, n, d):
    features = sparse.random_array((n, d), density=0.05, format="csr", random_state=np.random.default_rng(0))
    wanted = Ridge(1.0).fit(features.toarray(), np.ones((n, 1)) * np.arange(n)[:, None]).predict(features.toarray())
    sizes, toarray = [], sparse.csr_array.toarray
    monkeypatch.setattr(
        sparse.csr_array, "toarray", lambda self, *a, **k: sizes.append(self.shape) or toarray(self, *a, **k)
    )
    fitted = ridge_smoother(features)(np.arange(float(n))[:, None])
    assert (n, d) not in sizes
    assert (d, n) not in sizes
    np.testing.assert_allclose(fitted.ravel(), wanted.ravel(), atol=1e-8)


@pytest.mark.parametrize("power", [-1040, -900, -400, 400, 511, 900, 1015])
@pytest.mark.parametrize("d", [4, 8])
@forms
def test_a_smoother_of_huge_and_of_tiny_features(form, d, power):
    features, new, targets = X[:6, :d] % 8, X[6:9, :d] % 8, Y[:6].astype(float)
    plain, far = (ridge_smoother(form(np.ldexp(features, by)), ridge=0) for by in (0, power))
    np.testing.assert_allclose(far(targets), plain(targets), rtol=1e-9, atol=1e-12)
    wanted = plain.predict(form(new), targets)
    np.testing.assert_allclose(far.predict(form(np.ldexp(new, power)), targets), wanted, rtol=1e-9, atol=1e-12)
    with_ridge = ridge_smoother(form(np.ldexp(features, power)), ridge=1.0)
    expected = plain(targets) if power > 0 else np.broadcast_to(targets.mean(axis=0), targets.shape)
    np.testing.assert_allclose(with_ridge(targets), expected, rtol=1e-6, atol=1e-9)


def test_too_few_steps_are_reported():
    matrix = np.diag(np.arange(1.0, 30))
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 steps"):
        conjugate_gradients(matrix.__matmul__, np.ones((29, 1)), max_iter=3)
    solved = conjugate_gradients(matrix.__matmul__, np.column_stack([np.ones(29), np.zeros(29)]))
    np.testing.assert_allclose(solved, np.column_stack([1 / np.arange(1, 30), np.zeros(29)]), atol=1e-10)
