"""GLE: labelsets that cover all labels, and weights in closed form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from clems import GLE, weighted_hamming
from clems.embedding.label_groups import draw_labelsets, set_laplacian, set_weights


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 4), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_labelsets_cover_all_labels_evenly(K, size, number, seed):
    sets = draw_labelsets(K, size, number, np.random.RandomState(seed))
    assert len({tuple(one.tolist()) for one in sets}) == len(sets)
    assert all(len({*one.tolist()}) == min(size, K) for one in sets)
    assert {*np.concatenate(sets).tolist()} == {*range(K)}


def expanded(seed, n=40, K=5):
    """What sets predict, truths and importances, and the same as one long table: a row for each entry."""
    rng = np.random.default_rng(seed)
    sets = draw_labelsets(K, 2, 7, np.random.RandomState(seed))
    predicted = [rng.random((n, len(one))) - 0.5 for one in sets]
    truth, importance = rng.random((n, K)) - 0.5, rng.random((n, K))
    table = np.zeros((n, K, len(sets)))
    for at, (one, said) in enumerate(zip(sets, predicted, strict=True)):
        table[:, one, at] = said
    return sets, predicted, truth, importance, table.reshape(n * K, -1)


@pytest.mark.parametrize(("ridge", "smooth"), [(1e-9, 0), (2.0, 0), (0.5, 3.0)])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_least_squares(seed, ridge, smooth):
    sets, predicted, truth, importance, table = expanded(seed)
    found = set_weights(predicted, sets, truth, importance, ridge, smooth)
    values, vectors = np.linalg.eigh(set_laplacian(sets, 5))
    root = np.sqrt(importance.ravel())[:, None]
    equal = np.full(len(sets), 5 / sum(map(len, sets)))
    # Penalties as further rows: ridge (β − 1/c) and the square root of the Laplacian times β.
    rows = np.vstack(
        [
            root * table,
            np.sqrt(ridge) * np.eye(len(sets)),
            np.sqrt(smooth) * (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T,
        ]
    )
    targets = np.concatenate([root[:, 0] * truth.ravel(), np.sqrt(ridge) * equal, np.zeros(len(sets))])
    np.testing.assert_allclose(found, np.linalg.lstsq(rows, targets, rcond=None)[0], atol=1e-6)


def test_the_laplacian_leaves_weights_that_are_alike():
    sets = draw_labelsets(9, 3, 12, np.random.RandomState(0))
    L = set_laplacian(sets, 9)
    np.testing.assert_allclose(L, L.T)
    assert np.linalg.eigvalsh(L).min() > -1e-12
    np.testing.assert_allclose(L @ np.ones(len(sets)), 0, atol=1e-12)  # all sets have as many labels


def test_sets_that_know_nothing_count_less():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    Y = np.column_stack([X[:, :3] > 0, rng.random((300, 3)) < 0.5]).astype(int)
    model = GLE(labelset_size=1, n_components=6, ridge=0.1, smooth=0, estimator=GaussianNB(), random_state=0).fit(X, Y)
    weight = {int(one.bits[0]): own for one, own in zip(model.labelsets_, model.weights_, strict=True)}
    assert min(weight[label] for label in range(3)) > max(weight[label] for label in range(3, 6))


def test_labelsets_may_be_trained_for_a_cost():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    Y = (X @ rng.standard_normal((3, 4)) + rng.standard_normal((300, 4)) > 1).astype(int)
    dear = weighted_hamming([9, 9, 1, 1])
    tree = DecisionTreeClassifier(min_samples_leaf=10)
    settings = {"estimator": tree, "random_state": 0}
    plain, trained = (GLE(dear, cost_sensitive_labelsets=on, **settings).fit(X, Y) for on in (False, True))
    assert not plain.cost_at_fit
    assert trained.cost_at_fit
    rise = (trained.predict_proba(X) - plain.predict_proba(X)).mean(axis=0)
    assert rise[:2].min() > 0.1
    with pytest.raises(ValueError, match=r"GLE trains with weights, but KNeighborsClassifier.fit has no parameter"):
        GLE(dear, cost_sensitive_labelsets=True, estimator=KNeighborsClassifier()).fit(X, Y)
