"""The nearest point, and what the paper promises of it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clems.decisions.nearest import nearest


@given(seed=st.integers(0, 10**6))
def test_theorem_1_where_the_roles_coincide(seed):
    rng = np.random.default_rng(seed)
    points, wanted = rng.normal(size=(9, 3)), 4 * rng.random((9, 9))
    predicted = points + rng.normal(size=(9, 3)) * rng.choice([0.1, 1, 10])
    chosen = nearest(predicted, points)
    truth = np.arange(9)
    embedding_error = (np.linalg.norm(points - points[chosen], axis=1) - wanted[truth, chosen]) ** 2
    regression_error = (np.linalg.norm(points - predicted, axis=1)) ** 2
    assert (wanted[truth, chosen] ** 2 <= 5 * (embedding_error + regression_error) + 1e-9).all()


@given(seed=st.integers(0, 10**6))
def test_nearest_is_nearest(seed):
    rng = np.random.default_rng(seed)
    Z, among = rng.normal(size=(11, 3)), rng.normal(size=(6, 3))
    wanted = np.linalg.norm(Z[:, None] - among[None], axis=2).argmin(axis=1)
    assert np.array_equal(nearest(Z, among), wanted)


def test_nearest_of_many_is_that_of_few(monkeypatch):
    rng = np.random.default_rng(0)
    among, points = rng.integers(4, size=(500, 4)).astype(float), rng.standard_normal((30, 4))
    wanted = nearest(points, among)  # of which many are at the same place: the first
    monkeypatch.setattr("clems.decisions.nearest.MANY", 10)
    monkeypatch.setattr(
        "clems.decisions.nearest.row_blocks", lambda n, width: (slice(at, at + 7) for at in range(0, n, 7))
    )
    assert np.array_equal(nearest(points, among), wanted)
