"""Leading eigenvectors where they are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from clems.embedding import spectral
from clems.embedding.spectral import leading_directions, leading_eigenvectors, signs


@pytest.mark.parametrize("room", [0, 1000])
@settings(max_examples=25)
@given(data=st.data())
def test_leading_eigenvectors(room, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, b = data.draw(st.integers(2, 40)), data.draw(st.integers(1, 6))
    size = data.draw(st.integers(1, 8))
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    matrix = (basis * 0.8 ** np.arange(n)) @ basis.T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spectral, "ROOM", room)
        patch.setattr(spectral, "GAIN", 0)
        values, vectors = leading_eigenvectors(matrix.__matmul__, rng.standard_normal((n, b)), size)
    assert len(values) == min(size, n)
    np.testing.assert_allclose(values, 0.8 ** np.arange(len(values)), atol=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-8)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-7)


def test_only_what_the_start_leads_to():
    matrix = np.diag([5.0, 4, 3, 2, 1])
    values, vectors = leading_eigenvectors(matrix.__matmul__, np.eye(5)[:, [1, 3, 3]], 4)
    np.testing.assert_allclose(values, [4, 2])
    np.testing.assert_allclose(np.abs(vectors), np.eye(5)[:, [1, 3]], atol=1e-12)
    values, vectors = leading_eigenvectors(matrix.__matmul__, np.zeros((5, 2)), 4)
    assert values.shape == (0,)
    assert vectors.shape == (5, 0)


def test_eigenvectors_that_do_not_converge_are_reported():
    matrix = np.diag(np.arange(1.0, 200))
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps"):
        leading_eigenvectors(matrix.__matmul__, np.ones((199, 1)), 1, max_iter=2)


def test_signs_do_not_depend_on_rounding():
    rows = np.array([[-1.0, 1 + 1e-12, 0], [0.5, -3, 1], [0, 0, 0]])
    assert signs(rows).tolist() == [-1, -1, 1]
    assert signs(-rows).tolist() == [1, 1, 1]
    directions = leading_directions(np.diag([1.0, 3, 2]), 2)
    np.testing.assert_allclose(directions, [[0, 1, 0], [0, 0, 1]], atol=1e-12)
