"""SMACOF, mirrored and weighted: two sets of points whose distances are given dissimilarities.

It minimises ``Σ_ij a_i (‖T_i − P_j‖ − D_ij)²`` over truth points T and prediction points P. An evaluation is three
matrix products of the size of D and one pass over its entries; the 2L×2L arrays of the paper's formulation never exist.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from clems.arrays import Floats, Integers
from clems.checks import check_count, check_tol
from clems.labels.matrix import as_weights

LEAST = 1e-30  # share of the weight that a row has at least, so that its root is no rounding error
PATIENCE = 5  # evaluations over which the decrease is judged: a single short step is not the end
NEGLIGIBLE = 1e-3  # the decrease of a smaller stress is judged as if the stress were this large
JITTER = 1e-4  # of the start, as a share of its spread
CACHE = 1 << 16  # entries of D handled at a time, so that the pass over them stays in a core's cache


@dataclass(frozen=True, eq=False)
class Embedding:
    """Points of both roles, and how well their distances fit.

    Attributes
    ----------
    truth : ndarray of shape (L_t, M)
        Label vectors in the role of the truth.
    prediction : ndarray of shape (L_p, M)
        Label vectors in the role of the prediction.
    stress : float
        ``Σ a_i (d_ij − D_ij)² / Σ a_i D_ij²``. It has no unit: 0 is a perfect embedding, 1 is a single point.
    n_iter : int
        Evaluations of the stress; each is the work of one majorisation step.
    converged : bool
        Whether the stress stopped falling before `max_iter` evaluations.
    history : ndarray of shape (n_iter,)
        Least stress so far at each evaluation; it never rises.
    landmarks : ndarray of shape (m,) or None
        Label vectors that were solved, the others being placed against them, see :mod:`clems.embedding.landmarks`;
        None if all were.

    Examples
    --------
    >>> import numpy as np
    >>> from clems import mirrored_smacof
    >>> D = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> embedding = mirrored_smacof(D, ([[0.0], [0.7]], [[0.1], [0.9]]))
    >>> embedding.truth.shape, embedding.converged, bool(embedding.stress < 1e-3)
    ((2, 1), True, True)
    """

    truth: Floats
    prediction: Floats
    stress: float
    n_iter: int
    converged: bool
    history: NDArray[np.float64]
    landmarks: Integers | None = None


def mirrored_smacof(
    dissimilarity: ArrayLike,
    start: tuple[ArrayLike, ArrayLike],
    weight: ArrayLike | None = None,
    *,
    max_iter: int = 500,
    tol: float = 1e-4,
) -> Embedding:
    """Place truth and prediction points so that their distances are the given dissimilarities.

    Majorisation (SMACOF) accelerated by a memoryless BFGS direction in the metric of the majorising function. A step
    that would raise the stress is replaced by the plain majorisation step, which cannot.

    Parameters
    ----------
    dissimilarity : array-like of shape (L_t, L_p)
        Wanted distance of each truth point (row) to each prediction point (column). The computation runs in float32
        if this is float32, else in float64.
    start : pair of array-like of shapes (L_t, M) and (L_p, M)
        First truth and prediction points; see :func:`clems.embedding.smacof.label_start`.
    weight : array-like of shape (L_t,), default=None
        Positive weight of each truth row; None weighs all alike. Only the proportions matter.
    max_iter : int, default=500
        Most evaluations of the stress.
    tol : float, default=1e-4
        Stop when five evaluations together lower the stress by less than this share of it.

    Returns
    -------
    Embedding

    References
    ----------
    De Leeuw (1977), Applications of convex analysis to multidimensional scaling. Shanno (1978), Conjugate gradient
    methods with inexact searches (the memoryless direction).

    Examples
    --------
    Three label vectors whose costs are the distances of three points on a line:

    >>> import numpy as np
    >>> from clems import mirrored_smacof
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    >>> start = np.array([[0.0], [0.5], [2.0]])
    >>> embedding = mirrored_smacof(D, (start, start))
    >>> distances = np.abs(embedding.truth - embedding.prediction.T)
    >>> bool(np.allclose(distances, D, atol=0.01))
    True
    """
    check_count(max_iter, "max_iter")
    check_tol(tol)
    problem = Majoriser(dissimilarity, weight)
    point = problem.join(*start)
    trial = np.empty_like(point)
    direction, *_ = basis = np.empty((3, *point.shape), point.dtype)
    flat, coefficients = basis.reshape(3, -1), np.empty(3, point.dtype)
    old, new = 1, 2
    stress = problem.start(point, out=basis[old])
    history = [stress]
    np.multiply(basis[old], 2, out=direction)  # the over-relaxed first step of De Leeuw and Heiser
    plain = False
    while not (converged := _has_converged(history, tol, problem.precision)) and len(history) < max_iter:
        np.subtract(point, direction, out=trial)
        new_stress = problem(trial, out=basis[new])
        if new_stress < stress:
            point, trial, stress, plain = trial, point, new_stress, False
            coefficients[[0, old, new]] = quasi_newton(direction, basis[old], basis[new])
            direction[:] = np.matmul(coefficients, flat, out=trial.reshape(-1)).reshape(point.shape)
            old, new = new, old
        elif plain:  # majorisation itself is down to rounding
            converged = True
            break
        else:
            direction[:], plain = basis[old], True
        history.append(stress)
    if not converged:
        warnings.warn(
            f"The embedding still improved after max_iter={max_iter} evaluations (stress {stress:.3g}); "
            "raise max_iter, or raise tol to accept it.",
            ConvergenceWarning,
            stacklevel=2,
        )
    truth, prediction = problem.part(point)
    return Embedding(truth, prediction, stress, len(history), converged, np.array(history))


def _has_converged(history: list[float], tol: float, precision: float) -> bool:
    stress = history[-1]
    stalled = len(history) > PATIENCE and history[-1 - PATIENCE] - stress <= tol * max(stress, NEGLIGIBLE)
    return stalled or stress <= precision


def quasi_newton(direction: Floats, residual: Floats, new_residual: Floats) -> Floats:
    """Coefficients, over the three arguments, of the next direction: the BFGS inverse built from the last step."""
    with_direction = np.vdot(direction, new_residual)
    square, both = np.vdot(new_residual, new_residual), np.vdot(new_residual, residual)
    # The step was −direction and changed the residual by d = new_residual − residual.
    curvature = np.vdot(direction, residual) - with_direction
    length = square - 2 * both + np.vdot(residual, residual)
    if not curvature > 0 or not length > 0:
        return np.array([0, 0, 1], direction.dtype)
    along, across, shrink = -with_direction / curvature, (square - both) / length, curvature / length
    return np.array([across - 2 * along, shrink * along, shrink * (1 - along)], direction.dtype)


class Majoriser:
    """The majorising function of one problem, with its buffers.

    A point is one array, truth rows above prediction rows. Truth rows are scaled by ``√(a_i L_p)`` and prediction rows
    are centred, which makes the majorising function a sphere: its step subtracts a plain gradient.
    """

    def __init__(self, dissimilarity: ArrayLike, weight: ArrayLike | None = None) -> None:
        given: Any = np.asarray(dissimilarity)
        if given.ndim != 2 or not given.size or given.dtype.kind not in "biuf":
            raise ValueError(f"dissimilarity must be a matrix of numbers; got {given.dtype} of shape {given.shape}.")
        if not (given.min() >= 0 and given.max() < np.inf):
            raise ValueError("dissimilarity must hold finite numbers of at least 0.")
        self.dtype: Any = np.float32 if given.dtype == np.float32 else np.float64
        self.dissimilarity: Floats = np.ascontiguousarray(given, self.dtype)
        rows, columns = given.shape
        share = np.ones(rows) if weight is None else as_weights(weight, rows)
        if not share.all():
            raise ValueError("weight must be positive for every truth row; leave rows of no weight out.")
        self.share = np.maximum(share / share.sum(), LEAST)
        self.root = np.sqrt(self.share * columns)[:, None].astype(self.dtype)
        self.scale = float(self.share @ np.einsum("ij,ij->i", self.dissimilarity, self.dissimilarity, dtype=np.float64))
        self.precision = float(np.finfo(self.dtype).eps)
        self.ratio = np.empty_like(self.dissimilarity)
        self.error = np.empty(rows)
        self.buffer = np.empty((min(rows, max(1, CACHE // columns)), columns), self.dtype)

    def join(self, truth: ArrayLike, prediction: ArrayLike) -> Floats:
        """Point of truth and prediction rows, centred on the latter."""
        truth, prediction = np.asarray(truth, self.dtype), np.asarray(prediction, self.dtype)
        size = truth.shape[-1] if truth.ndim else 0
        if size < 1 or truth.shape != (len(self.share), size) or prediction.shape != (self.ratio.shape[1], size):
            raise ValueError(
                f"start must be truth and prediction points, of shapes ({self.ratio.shape[0]}, M) and "
                f"({self.ratio.shape[1]}, M); got {truth.shape} and {prediction.shape}."
            )
        centre = prediction.mean(axis=0)
        point = np.vstack([self.root * (truth - centre), prediction - centre])
        width = -(-(point.shape[1] + 2) // 8) * 8  # rows on whole cache lines: products run faster
        self.left, self.by_row = np.zeros((2, len(truth), width), self.dtype)
        self.right, self.by_column = np.zeros((2, len(prediction), width), self.dtype)
        return point

    def part(self, point: Floats) -> tuple[Floats, Floats]:
        """Truth and prediction rows of a point."""
        rows = len(self.share)
        return point[:rows] / self.root, point[rows:].copy()

    def __call__(self, point: Floats, out: Floats) -> float:
        """Return the stress at a point and write to `out` what the majorisation step would subtract from it."""
        (rows, columns), size = self.ratio.shape, point.shape[1]
        left, right, by_row, by_column = self.left, self.right, self.by_row, self.by_column
        truth, prediction = left[:, :size], point[rows:]
        np.divide(point[:rows], self.root, out=truth)
        np.multiply(prediction, -2, out=right[:, :size])
        # One pair of factors serves all three products: left rightᵀ are the squared distances, and the added columns
        # turn the other two products into row and column sums on the way.
        of_truth, of_prediction = np.einsum("ij,ij->i", truth, truth), np.einsum("ij,ij->i", prediction, prediction)
        # Added to squared distances, it hides the rounding errors of nearly equal points and keeps ratios finite.
        smoothing = 16 * self.precision * (max(of_truth.max() + of_prediction.max(), self.scale / columns) or 1.0)
        left[:, size], left[:, size + 1] = of_truth + smoothing, 1
        right[:, size], right[:, size + 1] = 1, of_prediction
        self._ratios(np.matmul(left, right.T, out=self.ratio))
        np.matmul(self.ratio, right, out=by_row)  # −2 G P, row sums of G, and a column not needed
        if not np.isfinite(by_row[:, size]).all():  # rounding made a square negative or zero all the same
            np.matmul(left, right.T, out=self.ratio)
            self._ratios(np.maximum(self.ratio, smoothing, out=self.ratio))
            np.matmul(self.ratio, right, out=by_row)
        left *= self.share[:, None].astype(self.dtype)
        np.matmul(self.ratio.T, left, out=by_column)  # (aG)ᵀ T, a column not needed, and column sums of aG

        # T − T' and P − P' for T' = (rowsum(G) T − G P) / L_p and P' = colsum(aG) P − (aG)ᵀ T, centred
        np.multiply(point[:rows], 1 - by_row[:, size, None] / columns, out=out[:rows])
        by_row *= self.root * (0.5 / columns)
        out[:rows] -= by_row[:, :size]
        np.multiply(prediction, 1 - by_column[:, size + 1, None], out=out[rows:])
        out[rows:] += by_column[:, :size]
        out[rows:] -= out[rows:].mean(axis=0)
        return float(self.share @ self.error) / self.scale if self.scale else 0.0

    def start(self, point: Floats, out: Floats) -> float:
        """Bring a point to the scale of least stress and evaluate it, at the price of one evaluation.

        The Guttman transform of a point does not depend on its scale, and the stress is quadratic in it: where the mean
        squared distance is that of the dissimilarities, it is least at ``1 − stress / 2`` of that scale.
        """
        norm = float(np.vdot(point, point))
        if not (norm and self.scale):
            return self(point, out=out)
        point *= np.sqrt(self.scale / norm)
        stress = self(point, out=out)
        out -= stress / 2 * point
        point *= 1 - stress / 2
        return stress - stress**2 / 4

    def _ratios(self, squares: Floats) -> None:
        """Turn squared distances into ratios ``D / d`` and sum the squared errors of each row, a few rows at a time."""
        with np.errstate(invalid="ignore", divide="ignore"):
            for first in range(0, len(squares), len(self.buffer)):
                rows = slice(first, first + len(self.buffer))
                ratio, dissimilarity = squares[rows], self.dissimilarity[rows]
                np.sqrt(ratio, out=ratio)
                error = np.subtract(ratio, dissimilarity, out=self.buffer[: len(ratio)])
                self.error[rows] = np.vecdot(error, error)
                np.divide(dissimilarity, ratio, out=ratio)


def label_start(labels: ArrayLike, n_components: int, random_state: np.random.RandomState) -> tuple[Floats, Floats]:
    """First truth and prediction points: the label vectors themselves.

    Label vectors are cut to their leading principal axes when there are more labels than components, padded with zeros
    when there are fewer, and separated by a small seeded jitter of opposite sign in the two roles.

    Parameters
    ----------
    labels : array-like of shape (L, K)
        Label vectors.
    n_components : int
        Dimension M of the points.
    random_state : RandomState
        Source of the jitter.

    Returns
    -------
    truth, prediction : ndarray of shape (L, M)
    """
    vectors = np.asarray(labels, np.float64)
    if n_components < vectors.shape[1]:
        vectors = PCA(min(n_components, *vectors.shape), random_state=random_state).fit_transform(vectors)
    point = np.zeros((len(vectors), n_components))
    point[:, : vectors.shape[1]] = vectors - vectors.mean(axis=0)
    # Dimensions beyond the labels' own start from the jitter alone, and would be slow to open from too little.
    share = JITTER if n_components <= vectors.shape[1] else 10 * JITTER
    spread = np.sqrt(point.var(axis=0).sum())
    jitter = random_state.standard_normal(point.shape) * (share * spread / np.sqrt(n_components))
    return point + jitter, point - jitter
