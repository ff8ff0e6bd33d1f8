"""Landmark labels against a general solver and the conditions of optimality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from clems import MOPLMS
from clems.embedding.group_lasso import choose_landmarks, landmark_weights


def objective(A, G, by_row, by_entry):
    """½ ‖Y − Y A‖² − ½ ‖Y‖² + penalties, by G = YᵀY."""
    smooth = 0.5 * np.trace(A.T @ G @ A) - np.trace(G @ A)
    return smooth + by_row * np.linalg.norm(A, axis=1).sum() + by_entry * np.abs(A).sum()


def by_general_solver(G, by_row, by_entry, corner=1e-12):
    """Minimise by L-BFGS, with the corners of both penalties rounded off."""
    K = len(G)

    def paid(v):
        A = v.reshape(K, K)
        lengths, sizes = np.sqrt((A**2).sum(axis=1, keepdims=True) + corner), np.sqrt(A**2 + corner)
        slope = G @ A - G + by_row * A / lengths + by_entry * A / sizes
        value = 0.5 * np.trace(A.T @ G @ A) - np.trace(G @ A) + by_row * lengths.sum() + by_entry * sizes.sum()
        return value, slope.ravel()

    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(paid, np.eye(K).ravel() / 2, jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(K, K)


@pytest.mark.parametrize(("by_row", "by_entry"), [(1.0, 0.0), (4.0, 0.5), (0.0, 2.0), (10.0, 1.0)])
def test_agrees_with_a_general_solver(by_row, by_entry):
    Y = (np.random.default_rng(1).random((30, 3)) < [0.6, 0.4, 0.2]).astype(float)
    Y[:, 2] = Y[:, 0] * Y[:, 2]
    G = Y.T @ Y
    A, wanted = landmark_weights(G, by_row, by_entry, tol=1e-12), by_general_solver(G, by_row, by_entry)
    assert objective(A, G, by_row, by_entry) <= objective(wanted, G, by_row, by_entry) + 1e-6
    np.testing.assert_allclose(A, wanted, atol=1e-2)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 20), st.floats(0, 3))
def test_conditions_of_optimality(seed, by_row, by_entry):
    Y = (np.random.default_rng(seed).random((30, 5)) < 0.4).astype(float)
    G = Y.T @ Y + 0.1 * np.eye(5)
    A = landmark_weights(G, by_row, by_entry, tol=1e-13, max_iter=20_000)
    gradient = G @ A - G
    for row, slope in zip(A, gradient, strict=True):
        if not row.any():  # the slope, less what single entries may take, is no longer than the penalty
            assert np.linalg.norm(np.maximum(np.abs(slope) - by_entry, 0)) <= by_row + 1e-6
            continue
        there = row != 0
        direction = row / np.linalg.norm(row)
        rest = slope + by_row * direction
        np.testing.assert_allclose(rest[there], -by_entry * np.sign(row[there]), atol=1e-5)
        assert (np.abs(rest[~there]) <= by_entry + 1e-5).all()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_as_many_landmarks_as_wanted(size):
    Y = (np.random.default_rng(0).random((80, 6)) < 0.4).astype(float)
    Y[:, 5] = 0
    assert len(choose_landmarks(Y.T @ Y, size)) == size
    assert len(choose_landmarks(Y.T @ Y, 6)) == 5  # of a label that is never there nothing is learned


def test_landmarks_are_the_labels_of_which_others_are_made():
    rng = np.random.default_rng(0)
    base = (rng.random((200, 3)) < 0.4).astype(int)
    copies = np.repeat(base, 4, axis=1)  # nearly the same labels, but some are lost
    labels = np.hstack([base, copies * (rng.random(copies.shape) < 0.9)])
    model = MOPLMS(n_components=3, n_trees=1, random_state=0).fit(base, labels)
    groups = [column if column < 3 else (column - 3) // 4 for column in model.labels_]
    assert sorted(groups) == [0, 1, 2]
