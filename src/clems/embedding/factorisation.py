"""Factors of label vectors whose inner products are those of the labels, on a graph of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd

from clems.arrays import Floats, Integers, row_blocks
from clems.checks import check_count, check_tol

EXACT = 1e-20  # share of the squared inner products below which an error is rounding
NEGLIGIBLE = 1e-3  # the decrease of a smaller error is judged as if the error were this large
TIE = 1e-12  # difference of cosines that only orders those that are equal
WIDE = 2000  # axes from which on only the leading ones are computed


@dataclass(frozen=True, eq=False)
class Factorisation:
    """Points whose inner products are near those of label vectors.

    Attributes
    ----------
    codes : ndarray of shape (L, M)
        A point for each label vector.
    history : ndarray of shape (n_iter + 1,)
        Error at the start and after each step: squared differences of inner products over squared inner products of
        labels, both summed over the graph with products of frequencies as weights. It never rises.
    scale : float
        The second of these sums.
    """

    codes: Floats
    history: NDArray[np.float64]
    scale: float

    @property
    def error(self) -> float:
        """Error of the codes."""
        return float(self.history[-1])


def label_graph(labels: Any, frequency: Floats, n_neighbors: int) -> Any:
    """Graph of distinct label vectors: each one, its nearest others by the cosine, and those that it is near to.

    Of vectors that are equally near, the more frequent come first. Cosines are computed for a block of rows at a time.

    Parameters
    ----------
    labels : CSR array of shape (L, K)
        Distinct label vectors.
    frequency : ndarray of shape (L,)
        How often each occurs.
    n_neighbors : int
        How many others.

    Returns
    -------
    CSR array of shape (L, L)
        Symmetric, with a one for each pair and each vector itself.
    """
    L = labels.shape[0]
    number = min(n_neighbors, L - 1)
    sizes = np.sqrt(np.maximum(labels.sum(axis=1), 1))
    unit = sparse.csr_array(labels / sizes[:, None])
    rarity = np.empty(L)
    rarity[np.argsort(-frequency, kind="stable")] = TIE * np.arange(L) / L
    pairs = []
    for rows in row_blocks(L, L):
        far = rarity - (unit[rows] @ unit.T).toarray()
        themselves = np.arange(rows.start, rows.stop)
        far[np.arange(len(themselves)), themselves] = -np.inf
        pairs.append(np.argpartition(far, number, axis=1)[:, : number + 1] if number < L - 1 else far.argsort(axis=1))
    near = np.concatenate(pairs)
    ends = np.arange(0, near.size + 1, number + 1)
    graph = sparse.csr_array((np.ones(near.size), near.ravel(), ends), (L, L))
    graph = sparse.csr_array(graph + graph.T)
    graph.data[:] = 1
    graph.sort_indices()
    return graph


def factorise(
    labels: Any,
    frequency: Floats,
    size: int,
    random_state: np.random.RandomState,
    *,
    n_neighbors: int,
    max_iter: int,
    tol: float,
) -> Factorisation:
    """Factorise the inner products of label vectors on a graph of neighbours by singular value projection.

    It minimises ``Σ f_i f_j (y_i · y_j − z_i · z_j)²`` over the pairs of the graph. A step goes down the gradient and
    back to rank M: the leading eigenvectors of a low-rank plus a sparse matrix, within the span of the present factors
    and their gradient. In this span the present factors are contained, so a step of length 1 never raises the error;
    longer ones are tried and taken back if they do. It starts at the best rank-M factors for all pairs, which are exact
    if M is at least the rank of the labels.

    Parameters
    ----------
    labels : CSR array of shape (L, K)
        Distinct label vectors.
    frequency : ndarray of shape (L,)
        How often each occurs.
    size : int
        Dimension M; at most min(L, K) are used.
    random_state : RandomState
        Used where there are so many labels that their leading axes are found by random projection.
    n_neighbors : int
        Neighbours of each vector in the graph.
    max_iter : int
        Most steps.
    tol : float
        It stops when a step lowers the error by less than this share of it, or of a thousandth if it is smaller.
    """
    max_iter = check_count(max_iter, "max_iter")
    check_tol(tol)
    root = np.sqrt(frequency)
    scaled = sparse.csr_array(labels * root[:, None])
    graph = label_graph(labels, frequency, n_neighbors)
    row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    wanted = _products(scaled, row, graph.indices)  # √(f_i f_j) y_i · y_j of the pairs of the graph
    scale = float(wanted @ wanted)

    def residual(factors: Floats) -> tuple[Any, float]:
        # R = √(f_i f_j) (y_i · y_j − z_i · z_j) on the graph; the error is ‖R‖² as a share of that of z = 0
        missing = wanted - _products(factors, row, graph.indices)
        error = float(missing @ missing) / (scale or 1)
        return sparse.csr_array((missing, graph.indices, graph.indptr), graph.shape), error

    factors = _all_pairs(scaled, min(size, *scaled.shape), random_state)
    rest, error = residual(factors)
    history, step, falls = [error], 1.0, True
    while falls and error > EXACT and len(history) <= max_iter:
        # Q, an orthonormal basis of [Z, R Z]: the present factors, and the gradient of the error at them
        basis = linalg.qr(np.hstack([factors, rest @ factors]), mode="economic", check_finite=False)[0]
        inside = basis.T @ factors
        low_rank, gradient = inside @ inside.T, basis.T @ (rest @ basis)
        while True:
            # Z' Z'ᵀ: the leading M eigenvectors of Z Zᵀ + step · R, within the span of Q
            values, axes = linalg.eigh(low_rank + step * gradient, check_finite=False)
            leading = slice(-factors.shape[1], None)
            tried = basis @ (axes[:, leading] * np.sqrt(np.maximum(values[leading], 0)))
            rest_tried, error_tried = residual(tried)
            if error_tried < error or step == 1:
                break
            step = max(1.0, step / 4)
        if error_tried >= error:  # by rounding: there is no way down
            break
        falls = error - error_tried > tol * max(error, NEGLIGIBLE)
        factors, rest, error = tried, rest_tried, error_tried
        history.append(error)
        step *= 2
    return Factorisation(factors / root[:, None], np.array(history), scale)


def _all_pairs(scaled: Any, size: int, random_state: np.random.RandomState) -> Floats:
    """Best factors of so many columns for the inner products of all rows: their leading principal axes."""
    rows, columns = scaled.shape
    if min(rows, columns) > WIDE and size < min(rows, columns) // 4:
        left, values, _ = randomized_svd(scaled, size, random_state=random_state)
        return np.asarray(left * values)
    if rows < columns:
        values, axes = linalg.eigh((scaled @ scaled.T).toarray(), check_finite=False)
        return np.asarray(axes[:, -size:] * np.sqrt(np.maximum(values[-size:], 0)))
    axes = linalg.eigh((scaled.T @ scaled).toarray(), check_finite=False)[1]
    return np.asarray(scaled @ axes[:, -size:])


def _products(matrix: Any, row: Integers, column: Integers) -> Floats:
    """Inner products of pairs of rows."""
    products = np.empty(len(row))
    for pairs in row_blocks(len(row), matrix.shape[1]):
        one, other = matrix[row[pairs]], matrix[column[pairs]]
        products[pairs] = (one * other).sum(axis=1) if sparse.issparse(matrix) else np.einsum("ij,ij->i", one, other)
    return products
