"""Kernel ridge regression of all labels at once, with predictions of training rows by what has not seen them.

With a kernel matrix ``G`` of the training rows, weights ``v`` of these and a penalty ``λ``, the coefficients are
``α = A⁻¹ (Y − mean)`` with ``A = G + λ diag(1/v)``. Left out of training, a row would be predicted
``y_i − α_i / (A⁻¹)_ii``: one factorisation serves all labels and holds out every row. With a linear kernel
and fewer features than rows, or with more rows than `MOST_ROWS`, rows are described by features instead, ``φ(x)``: by
their own, if these are at most `MOST_FEATURES`, or by the kernel with some of the rows, *landmarks*. Then
``β = (Φᵀ V Φ + λ I)⁻¹ Φᵀ V (Y − mean)``, and a row that is left out has the residual ``(y_i − ŷ_i) / (1 − h_i)`` with
``h_i = v_i φ_iᵀ (Φᵀ V Φ + λ I)⁻¹ φ_i``. What is factorised has no more rows than these numbers say, and what is
computed of rows is computed in blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, cholesky, eigh, lapack, solve_triangular

from clems.arrays import Floats, Integers, Labels, row_blocks
from clems.labels.matrix import as_dense

MOST_ROWS = 4000  # rows whose kernel matrix is factorised
MOST_FEATURES = 8000  # whose products are factorised, where there are more rows; else as many as `MOST_ROWS`
LANDMARKS = 2000  # rows by which the others are described where there are more
MOST_TRAINED = 20_000  # rows that are described by landmarks; of more, so many are drawn
ENTRIES = 1 << 22  # of what is computed of rows at a time
HELD = 1 << 24  # of what stays in memory of rows
SAMPLE = 500  # rows on which the search for a penalty begins
PENALTIES = tuple(10.0 ** np.arange(-3, 3.01, 0.5))  # in units of the mean of the kernel of a row with itself


@dataclass(frozen=True, eq=False)
class Linear:
    """Rows scaled to length 1, and the products of these.

    What is other than 0 counts by ``log(1 + |x|)``, with its sign, over its usual size in the column, and the more the
    fewer rows have it: ``1 + log((1 + n) / (1 + n_j))``, as in TF-IDF.

    Attributes
    ----------
    factor : ndarray of shape (d,)
        What the logarithms of each column are multiplied by.
    """

    factor: Floats

    @classmethod
    def of(cls, X: Any) -> Linear:
        """Learn how rows are scaled."""
        logs = _logarithms(X)
        count = np.bincount(logs.indices, minlength=logs.shape[1])
        squares = np.bincount(logs.indices, logs.data**2, logs.shape[1])
        usual = np.sqrt(squares / np.maximum(count, 1))
        rarity = 1 + np.log((1 + logs.shape[0]) / (1 + count))
        return cls(rarity / np.where(usual > 0, usual, 1))

    def rows(self, X: Any) -> Any:
        """Scale rows; a CSR array of shape (n, d)."""
        scaled = sparse.csr_array(_logarithms(X) * self.factor)
        length = np.sqrt(np.bincount(_owners(scaled), scaled.data**2, scaled.shape[0]))
        scaled.data = scaled.data / np.where(length > 0, length, 1)[_owners(scaled)]
        return scaled

    def __call__(self, rows: Any, others: Any) -> Floats:
        """Return the kernel of scaled rows with others, shape (n, m)."""
        return np.asarray((rows @ others.T).toarray())


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Standardised features, and ``exp(−rate · squared distance)`` of these.

    Attributes
    ----------
    mean, deviation : ndarray of shape (d,)
        Of each column. A value that is missing counts as the mean.
    rate : float
        Two over the median of the squared distances.
    """

    mean: Floats
    deviation: Floats
    rate: float

    @classmethod
    def of(cls, X: Any) -> Gaussian:
        """Learn the scale of each column, and of distances."""
        n = X.shape[0]

        def summed(of_block: Callable[[Floats], Any]) -> Any:
            blocks = row_blocks(n, X.shape[1], ENTRIES)
            return sum(of_block(_dense(X[rows]).astype(np.float64)).sum(axis=0) for rows in blocks)

        count = np.maximum(summed(lambda dense: ~np.isnan(dense)), 1)
        mean = summed(lambda dense: np.where(np.isnan(dense), 0, dense)) / count
        squares = summed(lambda dense: np.where(np.isnan(dense), 0, dense - mean) ** 2)
        deviation = np.sqrt(squares / count)
        varies = deviation > 1e-12 * np.abs(mean)  # less is what a constant column is off by in rounding
        made = cls(mean, np.where(varies, deviation, 1), 1.0)
        some = made.rows(X[:: max(1, n // 300)])
        between = _squared_distances(some, some)[np.triu_indices(len(some), 1)]
        usual = float(np.median(between)) if len(between) else 0.0
        return cls(made.mean, made.deviation, 2 / usual if usual > 0 else 1.0)

    def rows(self, X: Any) -> Any:
        """Standardise rows; an array of shape (n, d)."""
        scaled = (_dense(X).astype(np.float64) - self.mean) / self.deviation
        return np.where(np.isnan(scaled), 0, scaled)

    def __call__(self, rows: Any, others: Any) -> Floats:
        """Return the kernel of standardised rows with others, shape (n, m)."""
        product = (2 * self.rate * rows) @ others.T  # becomes −rate · squared distance in place
        product -= self.rate * _squared_lengths(others)
        product -= self.rate * _squared_lengths(rows)[:, None]
        return np.asarray(np.exp(np.minimum(product, 0, out=product), out=product))


@dataclass(frozen=True, eq=False)
class Description:
    """Describes rows by features: ``φ(x)`` is their scaled features, or their kernel with landmarks, whitened.

    Attributes
    ----------
    kernel : Linear or Gaussian
        How rows are scaled and compared.
    landmarks : array or CSR array of shape (m, d), or None
        Scaled rows; None if scaled features themselves describe a row.
    basis : ndarray of shape (m, r) or None
        What makes the products of features those of the kernel.
    """

    kernel: Linear | Gaussian
    landmarks: Any = None
    basis: Any = None

    @classmethod
    def by_landmarks(cls, kernel: Linear | Gaussian, X: Any) -> Description:
        """Take some rows as landmarks."""
        landmarks = kernel.rows(X)
        return cls(kernel, landmarks, _whitening(kernel(landmarks, landmarks)))

    def __call__(self, X: Any) -> Any:
        """Describe rows, shape (n, r)."""
        rows = self.kernel.rows(X)
        return rows if self.landmarks is None else self.kernel(rows, self.landmarks) @ self.basis

    def scores(self, coefficients: Floats, mean: Floats) -> RidgeScores:
        """Return what predicts scores with coefficients of these features."""
        of_kernel = coefficients if self.basis is None else np.asarray(self.basis @ coefficients)
        return RidgeScores(self.kernel, self.landmarks, of_kernel, mean)


@dataclass(frozen=True, eq=False)
class RidgeScores:
    """Predicts scores of labels: ``mean + φ(x) β``.

    Attributes
    ----------
    kernel : Linear or Gaussian
        How rows are scaled and compared.
    landmarks : array or CSR array of shape (m, d), or None
        Scaled rows whose kernel with a new row describes it; None if it is described by its scaled features.
    coefficients : ndarray of shape (m, K) or (d, K)
        Of the kernel, or of features.
    mean : ndarray of shape (K,)
        How frequent labels are.
    """

    kernel: Linear | Gaussian
    landmarks: Any
    coefficients: Floats
    mean: Floats

    def __call__(self, X: Any) -> Floats:
        """Return the scores of rows, shape (n, K)."""
        rows = self.kernel.rows(X)
        described = rows if self.landmarks is None else self.kernel(rows, self.landmarks)
        return np.asarray(self.mean + described @ self.coefficients)


def fit_ridge(
    kernel: Linear | Gaussian,
    X: Any,
    Y: Labels,
    weight: Floats,
    rows: Integers,
    random_state: np.random.RandomState,
) -> tuple[RidgeScores, Floats]:
    """Fit a kernel ridge regression, and predict some training rows by what has not seen them.

    Parameters
    ----------
    kernel : Linear or Gaussian
        How rows are scaled and compared.
    X : array or CSR array of shape (n, d)
        Features.
    Y : ndarray or CSR array of shape (n, K)
        Labels; a few rows at a time become dense.
    weight : ndarray of shape (n,)
        Sample weights.
    rows : ndarray of shape (m,)
        Training rows to hold out.
    random_state : RandomState
        By which landmarks are drawn, and rows where there are too many.

    Returns
    -------
    scores : RidgeScores
    held_out : ndarray of shape (m, K)
        Scores of the rows, each predicted as if it had not been trained on.
    """
    n = Y.shape[0]
    weight = weight / weight.mean()
    mean = sum(weight[block] @ Y[block] for block in row_blocks(n, Y.shape[1], HELD)) / n
    few = np.sort(random_state.choice(n, SAMPLE, replace=False)) if n > SAMPLE else np.arange(n)
    start = first_penalty(kernel, X[few], as_dense(Y[few]) - mean)
    by_own_features = has_few_features(type(kernel), n, X.shape[1])
    if not by_own_features and n <= MOST_ROWS:
        scaled = kernel.rows(X)
        fit = _by_rows(kernel(scaled, scaled), as_dense(Y) - mean, weight, rows)
        coefficients, residual = best_fit(fit, start)
        if isinstance(kernel, Linear):  # Σ_i α_i x_iᵀ x is linear in x
            return RidgeScores(kernel, None, np.asarray(scaled.T @ coefficients), mean), as_dense(Y[rows]) - residual
        return RidgeScores(kernel, scaled, coefficients, mean), as_dense(Y[rows]) - residual
    if by_own_features:  # the same solution by fewer unknowns
        describe, used = Description(kernel), np.arange(n)
    else:
        used = _with_others(rows, n, random_state) if n > MOST_TRAINED else np.arange(n)
        landmarks = np.sort(random_state.choice(n, LANDMARKS, replace=False))
        describe = Description.by_landmarks(kernel, X[landmarks])
    sums = ridge_sums(describe, X, Y, used, mean, weight)
    features = describe(X[rows]) if by_own_features else _described(describe, X, rows, len(sums[0]))
    fit = fit_by_sums(*sums, weight[used].sum(), features, as_dense(Y[rows]) - mean, weight[rows])
    coefficients, residual = best_fit(fit, start)
    return describe.scores(coefficients, mean), as_dense(Y[rows]) - residual


def has_few_features(kernel: type, n: int, d: int) -> bool:
    """Whether rows are described by their own features: linearly, and by fewer of them than there are rows."""
    return kernel is Linear and d <= min(n, n if n <= MOST_ROWS else MOST_FEATURES)


Fit = Callable[[float], tuple[Floats, Floats]]  # from a penalty to coefficients and residuals of held-out rows


def _by_rows(G: Floats, R: Floats, weight: Floats, rows: Integers) -> Fit:
    """Return how to fit to a kernel matrix with a penalty.

    Held-out rows come last in the matrix that is factorised, ``A = L Lᵀ``: their block of ``A⁻¹`` is then that of the
    last rows and columns of L alone, ``(L₂₂ L₂₂ᵀ)⁻¹``, whose diagonal has the squared lengths of the columns of
    ``L₂₂⁻¹``. Nothing else has to be inverted.
    """
    order = np.concatenate([np.setdiff1d(np.arange(len(G)), rows), rows])
    back, last = order.argsort(), slice(len(G) - len(rows), None)
    G, R = G[np.ix_(order, order)], R[order]
    ridge = _mean_length(G, len(G)) / np.maximum(weight[order], 1e-9)

    def fit(penalty: float) -> tuple[Floats, Floats]:
        A = G.copy(order="F")
        A[np.diag_indices_from(A)] += penalty * ridge
        L = cholesky(A, lower=True, overwrite_a=True, check_finite=False)
        alpha = cho_solve((L, True), R, check_finite=False)
        root, _ = lapack.dtrtri(L[last, last], lower=1)
        return alpha[back], alpha[last] / np.einsum("ij,ij->j", root, root)[:, None]

    return fit


def _whitener(L: Floats, few_entries: bool) -> Callable[[Any], Floats]:
    """Return a function from rows φ to ``L⁻¹ φ``, in rows: by the inverse where rows are sparse, else by solving."""
    if not few_entries:
        return lambda rows: np.asarray(solve_triangular(L, rows.T, lower=True).T)
    inverse, _ = lapack.dtrtri(L, lower=1)
    transposed = np.ascontiguousarray(inverse.T)
    return lambda rows: np.asarray(rows @ transposed)


def ridge_sums(
    describe: Description, X: Any, Y: Labels, used: Integers, mean: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """Return ``Φᵀ V Φ`` and ``Φᵀ V (Y − mean)`` of some rows; they are added up in blocks, as those of partitions are.

    Parameters
    ----------
    describe : Description
        How rows are described.
    X, Y, weight
        As in `fit_ridge`.
    used : ndarray of shape (m,)
        The rows.
    mean : ndarray of shape (K,)
        How frequent labels are among all rows.
    """
    product: Any = 0
    right: Any = 0
    for block in row_blocks(len(used), LANDMARKS):
        some = used[block]
        features = describe(X[some])
        weighted = features * weight[some, None]
        product = product + _dense(features.T @ weighted)
        right = right + weighted.T @ (as_dense(Y[some]) - mean)
    return product, right


def fit_by_sums(product: Floats, right: Floats, total: float, held_out: Any, R: Floats, weight: Floats) -> Fit:
    """Return how to fit to sums over rows with a penalty.

    Parameters
    ----------
    product, right : ndarray
        As `ridge_sums` returns them.
    total : float
        Summed weight of the rows.
    held_out : array or CSR array of shape (m, r)
        Features of the rows to hold out, which are among the rows of the sums.
    R : ndarray of shape (m, K)
        Their labels less the mean.
    weight : ndarray of shape (m,)
        Their weights.
    """
    unit = _mean_length(product, total)

    def fit(penalty: float) -> tuple[Floats, Floats]:
        A = np.array(product, order="F")
        A[np.diag_indices_from(A)] += penalty * unit
        L = cholesky(A, lower=True, overwrite_a=True)
        beta = cho_solve((L, True), np.asarray(right, np.float64))
        whitened = _whitener(L, sparse.issparse(held_out))
        h = np.empty(len(weight))  # φᵀ (L Lᵀ)⁻¹ φ = |L⁻¹ φ|²
        for block in row_blocks(len(h), len(product), HELD):
            h[block] = _squared_lengths(whitened(held_out[block]))
        h *= weight
        return beta, (R - held_out @ beta) / (1 - np.minimum(h, 0.999))[:, None]

    return fit


def _with_others(rows: Integers, n: int, random_state: np.random.RandomState) -> Integers:
    """Return rows, and others at random until there are `MOST_TRAINED`, in order."""
    others = np.setdiff1d(np.arange(n), rows)
    size = max(0, MOST_TRAINED - len(rows))
    return np.sort(np.concatenate([rows, random_state.choice(others, size, replace=False)]))


def _described(describe: Description, X: Any, rows: Integers, size: int) -> Floats:
    """Describe rows by their kernel with landmarks, a block at a time, shape (m, size)."""
    features = np.empty((len(rows), size))
    for block in row_blocks(len(rows), LANDMARKS, ENTRIES):
        features[block] = _dense(describe(X[rows[block]]))
    return features


def best_fit(fit: Fit, start: int) -> tuple[Floats, Floats]:
    """Raise the penalty as long as held-out rows are predicted better: few rows want a smaller one than all."""
    found = fit(PENALTIES[start])
    for penalty in PENALTIES[start + 1 :]:
        if ((other := fit(penalty))[1] ** 2).sum() >= (found[1] ** 2).sum():
            break
        found = other
    return found


def first_penalty(kernel: Linear | Gaussian, X: Any, R: Floats) -> int:
    """Return the number of the penalty by which few rows, each left out, are predicted best."""
    scaled = kernel.rows(X)
    G = kernel(scaled, scaled)
    values, U = eigh(G)
    values, UR, squares = np.maximum(values, 0), U.T @ R, U**2
    errors = []
    for penalty in np.array(PENALTIES) * _mean_length(G, len(G)):
        kept = values / (values + penalty)  # G (G + λ I)⁻¹ in the basis of eigenvectors
        residual = (R - U @ (kept[:, None] * UR)) / (1 - np.minimum(squares @ kept, 0.999))[:, None]
        errors.append((residual**2).sum())
    return int(np.argmin(errors))


def _mean_length(G: Floats, n: float) -> float:
    """Mean of the kernel of a row with itself, the unit of penalties; 1 if all rows are 0, so that none is 0."""
    return float(np.trace(G) / n) or 1.0


def _whitening(G: Floats) -> Floats:
    """Return the matrix B by which ``k(x, landmarks) B`` are features whose products are about the kernel."""
    values, U = eigh(G)
    kept = values > 1e-9 * values[-1]
    return np.asarray(U[:, kept] / np.sqrt(values[kept]))


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _squared_lengths(rows: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _squared_distances(rows: Floats, others: Floats) -> Floats:
    squares = _squared_lengths(rows)[:, None] + _squared_lengths(others) - 2 * rows @ others.T
    return np.asarray(np.maximum(squares, 0))


def _logarithms(X: Any) -> Any:
    rows = sparse.csr_array(X, dtype=np.float64, copy=True)
    rows.data = np.sign(rows.data) * np.log1p(np.abs(rows.data))
    rows.data[np.isnan(rows.data)] = 0
    return rows


def _owners(rows: Any) -> Integers:
    """Row of each stored entry."""
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
