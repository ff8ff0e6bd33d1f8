"""Ridge regression with an intercept as a smoother: fitted values for many targets from one factorisation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, cholesky, solve_triangular
from sklearn.exceptions import ConvergenceWarning

from clems.arrays import Floats, Weights, row_blocks

SMALL = 1 << 22  # entries up to which a matrix of inner products is formed whatever X is
WORTH = 8  # and how many times the entries of X it may have beyond that
LEAST = 1e-10  # the least penalty, as a share of the sum of squares of X, so that nothing is divided by rounding errors
REACH = 300  # features between 2^−REACH and 2^REACH have squares that neither overflow nor vanish
DEAR = 1e200  # a penalty under which nothing is learned from features that are at most 1

Map = Callable[[Floats], Floats]


@dataclass(frozen=True)
class RidgeSmoother:
    """Fitted values of a ridge regression with an intercept, as a function of its targets.

    Rows are scaled by the roots of their weights, so that the map is symmetric: for targets T it takes ``root * T`` and
    returns ``root *`` the fitted values. Its eigenvalues lie between 0 and 1; that of ``root`` itself is 1.

    Attributes
    ----------
    root : ndarray of shape (n,)
        Roots of the weights.
    mean : ndarray of shape (d,)
        Weighted mean of the features.
    penalty : float
        What is added to the diagonal.
    by_features : bool
        Whether equations for d coefficients are solved, or for n rows.
    forward, backward : callable
        Product with the centred and scaled features, and with their transpose.
    solve : callable
        Solution of the equations for several right-hand sides.
    factor : ndarray of shape (d, d), (n, n) or None
        Lower triangular factor of their matrix; None if they are solved by iteration.
    exponent : int
        Features are taken times two to this power, which is 0 unless they are huge or tiny; mean and penalty too.
    """

    root: Floats
    mean: Floats
    penalty: float
    by_features: bool
    forward: Map
    backward: Map
    solve: Map
    factor: Floats | None
    exponent: int = 0

    def __call__(self, scaled: Floats) -> Floats:
        """Scaled fitted values of scaled targets, shape (n, k)."""
        level = self._level(scaled)
        if self.by_features:
            return level + self.forward(self.solve(self.backward(scaled)))  # X (XᵀX + λI)⁻¹ Xᵀ T
        rest = scaled - level
        return scaled - self.penalty * self.solve(rest)  # X Xᵀ (X Xᵀ + λI)⁻¹ = I − λ (X Xᵀ + λI)⁻¹

    def products(self, scaled: Floats) -> Floats:
        """Inner products of scaled targets and their scaled fitted values, shape (k, k)."""
        if not self.by_features:
            return np.asarray(scaled.T @ self(scaled))
        level, right = self.root @ scaled, self.backward(scaled)
        return np.asarray(right.T @ self.solve(right) + np.outer(level, level) / (self.root @ self.root))

    def unfactored(self, values: Floats, transposed: bool = False) -> Floats:
        """Solution of the triangular system of the factor, or of its transpose."""
        return np.asarray(
            solve_triangular(self.factor, values, lower=True, trans="T" if transposed else "N", check_finite=False)
        )

    def predict(self, X: Any, targets: Floats) -> Floats:
        """Predictions for other rows by the regression to targets of shape (n, k)."""
        coef, intercept = self.coefficients(targets)
        return np.asarray(doubled(X, self.exponent) @ coef + intercept)

    def coefficients(self, targets: Floats) -> tuple[Floats, Floats]:
        """Coefficients (d, k) of the regression to targets, for features times two to `exponent`, and intercepts."""
        scaled = self.root[:, None] * targets
        rest = scaled - self._level(scaled)
        coef = self.solve(self.backward(rest)) if self.by_features else self.backward(self.solve(rest))
        intercept = self.root @ scaled / (self.root @ self.root) - self.mean @ coef  # mean of T − (mean of X) β
        return coef, intercept

    def _level(self, scaled: Floats) -> Floats:
        """Fitted values of the intercept alone."""
        return np.outer(self.root, self.root @ scaled / (self.root @ self.root))


def ridge_smoother(X: Any, weight: Weights = None, ridge: float = 1.0, factorise: bool = False) -> RidgeSmoother:
    """Prepare ridge regressions of any targets on the same features.

    A matrix of inner products is factorised: of features, or of rows if these are fewer. Where it would be much larger
    than sparse features are, equations are solved by conjugate gradients instead. Sparse features stay sparse.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        Features.
    weight : ndarray of shape (n,) or None, default=None
        Sample weights, all positive.
    ridge : float, default=1.0
        Penalty of squared coefficients, as `alpha` of scikit-learn's Ridge. The intercept has none. Less than 1e-10 of
        the sum of squares of X counts as that much.
    factorise : bool, default=False
        Whether the matrix is factorised in any case: as that of all rows was, of which these are a part.

    Returns
    -------
    RidgeSmoother

    Examples
    --------
    >>> import numpy as np
    >>> smooth = ridge_smoother(np.array([[0.0], [1.0], [2.0]]), ridge=0)
    >>> smooth(np.array([[1.0], [0.0], [2.0]])).ravel().round(6)
    array([0.5, 1. , 1.5])
    """
    n, d = X.shape
    root = roots(weight, n)
    exponent = exponent_of(X)
    if exponent:
        X = doubled(X, exponent)
        with np.errstate(over="ignore"):
            ridge = min(float(np.ldexp(ridge, 2 * exponent)), DEAR)
    scaled = scaled_rows(X, weight)
    mean = np.asarray(scaled.T @ root) / (root @ root)
    penalty = max(ridge, LEAST * sum_of_squares(scaled)) or 1.0
    rows, by_features = (scaled, d <= n)
    if sparse.issparse(X):
        flipped = scaled.T.tocsr()

        def forward(coef: Floats) -> Floats:
            return np.asarray(scaled @ coef - np.outer(root, mean @ coef))

        def backward(targets: Floats) -> Floats:
            return np.asarray(flipped @ targets - np.outer(mean, root @ targets))
    else:
        rows = scaled - np.outer(root, mean)
        forward, backward = rows.__matmul__, rows.T.__matmul__

    entries = scaled.nnz if sparse.issparse(X) else scaled.size
    if not factorise and not worth_factorising(n, d, entries):

        def normal(values: Floats) -> Floats:
            product = backward(forward(values)) if by_features else forward(backward(values))
            return product + penalty * values

        def solve(right: Floats) -> Floats:
            return conjugate_gradients(normal, right)

        factor = None
    else:
        gram = inner_products(rows, flipped if sparse.issparse(X) else rows.T, root, mean, by_features)
        gram[np.diag_indices(len(gram))] += penalty
        factor = cholesky(gram.T, lower=True, overwrite_a=True, check_finite=False)

        def solve(right: Floats) -> Floats:
            return np.asarray(cho_solve((factor, True), right, check_finite=False))

    return RidgeSmoother(root, mean, penalty, by_features, forward, backward, solve, factor, exponent)


def exponent_of(X: Any, reach: int = REACH) -> int:
    """Power of two that brings the greatest of huge or tiny numbers to about 1; 0 for those within reach, or all 0."""
    values = X.data if sparse.issparse(X) else X
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    return 0 if not largest or 2.0**-reach < largest < 2.0**reach else -int(np.frexp(largest)[1])


def doubled(X: Any, times: int) -> Any:
    """Multiply numbers by a power of two, in double precision; X itself if that is 0."""
    if not times:
        return X
    if not sparse.issparse(X):
        return np.ldexp(np.asarray(X, np.float64), times)
    return sparse.csr_array((np.ldexp(X.data.astype(np.float64), times), X.indices, X.indptr), X.shape)


def conjugate_gradients(apply: Map, right: Floats, tol: float = 1e-11, max_iter: int = 2000) -> Floats:
    """Solve a symmetric positive system for each column of a right-hand side.

    Parameters
    ----------
    apply : callable
        Product with the matrix.
    right : ndarray of shape (m, k)
        Right-hand sides.
    tol : float, default=1e-11
        Length of a residual, as a share of its right-hand side, that is good enough.
    max_iter : int, default=2000
        Most steps; if they do not suffice, there is a warning.
    """
    solution, residual = np.zeros_like(right), right.copy()
    direction, length = residual.copy(), (residual**2).sum(axis=0)
    enough = tol**2 * length
    for _ in range(max_iter):
        if (length <= enough).all():
            return solution
        image = apply(direction)
        curvature = (direction * image).sum(axis=0)
        step = _share(length, curvature)
        solution += step * direction
        residual -= step * image
        length, before = (residual**2).sum(axis=0), length
        direction *= _share(length, before)
        direction += residual
    warnings.warn(
        f"Conjugate gradients did not converge in {max_iter} steps; a larger ridge makes the problem easier.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return solution


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def roots(weight: Weights, n: int) -> Floats:
    """Roots of the weights of n rows; ones if there are none."""
    return np.ones(n) if weight is None else np.sqrt(weight)


def scaled_rows(X: Any, weight: Weights) -> Any:
    """Rows in double precision, times the roots of their weights; X itself if that changes nothing."""
    if not sparse.issparse(X):
        array = np.asarray(X, np.float64)
        return array if weight is None else np.sqrt(weight)[:, None] * array
    array = sparse.csr_array(X, dtype=np.float64)
    if weight is None:
        return array
    data = array.data * np.repeat(np.sqrt(weight), np.diff(array.indptr))
    return sparse.csr_array((data, array.indices, array.indptr), array.shape)


def sum_of_squares(X: Any) -> float:
    """Sum of the squares of all entries of an array, dense or sparse."""
    values = X.data if sparse.issparse(X) else X.ravel()
    return float(values @ values)


def worth_factorising(n: int, d: int, entries: int) -> bool:
    """Whether a matrix of inner products, of features or of rows, is not much larger than what X has in memory."""
    return min(n, d) ** 2 <= max(SMALL, WORTH * entries)


def inner_products(rows: Any, columns: Any, root: Floats, mean: Floats, by_features: bool) -> Floats:
    """Return inner products of centred features, or of rows; sparse ones are not centred yet.

    Parameters
    ----------
    rows, columns : array or CSR array of shape (n, d) and (d, n)
        Scaled features and their transpose; dense ones are centred.
    root : ndarray of shape (n,)
        Roots of the weights.
    mean : ndarray of shape (d,)
        Weighted mean of the features.
    by_features : bool
        Whether of features rather than of rows.
    """
    left, right = (columns, rows) if by_features else (rows, columns)
    if not sparse.issparse(rows):
        return np.asarray(left @ right)
    gram = np.empty((left.shape[0],) * 2)
    for block in row_blocks(len(gram), len(gram)):
        gram[block] = (left[block] @ right).toarray()
    if by_features:
        away, other = mean, -(root @ root) * mean
    else:
        away, other = root, (mean @ mean) * root - 2 * (rows @ mean)
    for block in row_blocks(len(gram), len(gram)):  # half of the symmetric correction from either side
        gram[block] += (np.outer(away[block], other) + np.outer(other[block], away)) / 2
    return gram
