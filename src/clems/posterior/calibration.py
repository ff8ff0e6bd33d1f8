"""Calibration: probabilities of labels that occur as often as they say, learned on held-out rows.

A classifier's probabilities, or the scores of one that has none, become numbers ``z``: the logit of a probability, a
score over its spread. A *sigmoid* (Platt) is ``1 / (1 + exp(−(intercept + slope · z)))``, a line for each label. Rare
labels have too few rows for a line of their own, so all labels share one line whose intercept and slope depend on how
frequent the label is, and each label departs from it as far as its rows say. *Isotonic* calibration is any rising
function of ``z``, for labels with rows enough. Which one is used is chosen on held-out rows, the simpler one unless
the other has a smaller log loss by more than a standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log1p
from sklearn.isotonic import IsotonicRegression

from clems.arrays import Bits, Floats, Integers, Weights
from clems.posterior.one_standard_error import log_loss_per_row, one_standard_error

LEAST = 1e-6  # probabilities nearer to 0 or 1 count as if they were this far
SHRINKAGE = 3.0  # precision with which the line of a label is expected to be that of all labels
ENOUGH = 50  # rows with a label, and rows without it, from which on it has an isotonic function of its own
MOST_STEPS = 100  # of Newton's method, which needs about ten


@dataclass(frozen=True)
class Unchanged:
    """Probabilities as they are."""

    def __call__(self, values: Floats) -> Floats:
        """Return probabilities, shape (n, K)."""
        return values

    def of_label(self, label: int) -> Unchanged:  # noqa: ARG002
        """Return what calibrates one label, of probabilities of shape (n, 1)."""
        return self


@dataclass(frozen=True)
class Sigmoid:
    """A sigmoid for each label.

    Attributes
    ----------
    least : float or None
        What probabilities of 0 count as, and ``1 −`` it those of 1; None if scores are calibrated.
    spread : ndarray of shape (K,)
        What scores are divided by.
    intercept, slope : ndarray of shape (K,)
        The line of each label.
    """

    least: float | None
    spread: Floats
    intercept: Floats
    slope: Floats

    def z(self, values: Floats) -> Floats:
        """Return the numbers that lines are functions of, shape (n, K)."""
        return as_line(values, self.least, self.spread)

    def __call__(self, values: Floats) -> Floats:
        """Return calibrated probabilities, shape (n, K)."""
        return np.asarray(expit(self.intercept + self.slope * self.z(values)))

    def of_label(self, label: int) -> Sigmoid:
        """Return what calibrates one label, of probabilities of shape (n, 1)."""
        own = slice(label, label + 1)
        return Sigmoid(self.least, self.spread[own], self.intercept[own], self.slope[own])


@dataclass(frozen=True)
class Isotonic:
    """A rising function for each label that has rows enough, and a sigmoid for the others.

    Attributes
    ----------
    sigmoid : Sigmoid
        For the labels without a function of their own.
    columns : list of int
        Labels that have one.
    places, heights : list of ndarray
        Where the function of each of these has its corners, and its values there; it is linear between them.
    """

    sigmoid: Sigmoid
    columns: list[int]
    places: list[Floats]
    heights: list[Floats]

    def __call__(self, values: Floats) -> Floats:
        """Return calibrated probabilities, shape (n, K)."""
        z, calibrated = self.sigmoid.z(values), self.sigmoid(values)
        for column, places, heights in zip(self.columns, self.places, self.heights, strict=True):
            calibrated[:, column] = np.interp(z[:, column], places, heights)
        return calibrated

    def of_label(self, label: int) -> Sigmoid | Isotonic:
        """Return what calibrates one label, of probabilities of shape (n, 1)."""
        if label not in self.columns:
            return self.sigmoid.of_label(label)
        at = self.columns.index(label)
        return Isotonic(self.sigmoid.of_label(label), [0], [self.places[at]], [self.heights[at]])


Calibrator = Unchanged | Sigmoid | Isotonic


@dataclass(frozen=True)
class Calibration:
    """How probabilities were calibrated, and what that is worth.

    Attributes
    ----------
    method : {"none", "sigmoid", "isotonic"}
        What is used.
    log_loss : dict of str to float
        Mean log loss of a label of a held-out row by each method that was compared, each learned on other rows; "none"
        is before calibration. Empty without held-out rows.
    """

    method: str
    log_loss: dict[str, float]


def as_line(values: Floats, least: float | None, spread: Floats) -> Floats:
    """Compute what lines are functions of: ``log(p / (1 − p))`` of probabilities, ``score / spread`` of scores."""
    if least is None:
        return np.asarray(values / spread)
    p = np.clip(values, least, 1 - least)
    return np.asarray(np.log(p) - log1p(-p))


def fit_unchanged(values: Floats, Y: Bits, weight: Weights, are_scores: bool) -> Unchanged:  # noqa: ARG001
    """Leave probabilities as they are."""
    return Unchanged()


def fit_sigmoid(values: Floats, Y: Bits, weight: Weights, are_scores: bool) -> Sigmoid:
    """Fit a sigmoid for each label, close to one for all labels together where its rows are few.

    Parameters
    ----------
    values : ndarray of shape (n, K)
        Probabilities or scores of held-out rows.
    Y : ndarray of shape (n, K)
        Their labels.
    weight : ndarray of shape (n,) or None
        Their sample weights.
    are_scores : bool
        Whether `values` are scores rather than probabilities.

    Returns
    -------
    Sigmoid
    """
    inner = values[(values > 0) & (values < 1)]
    # A forest of few trees says 0 of a label that is less probable than it can tell: half of the least that it tells.
    least = None if are_scores else max(LEAST, np.minimum(inner, 1 - inner).min(initial=0.5) / 2)
    spread = np.where((deviation := values.std(axis=0)) > 0, deviation, 1.0) if are_scores else np.ones(Y.shape[1])
    z = as_line(values, least, spread)
    # Weights count rows; smaller ones than that, such as shares that add up to 1, count as if their mean was 1.
    rows = np.ones(len(Y)) if weight is None else weight / min(1.0, weight.mean() or 1.0)
    with_label, total = rows @ Y, rows.sum()
    prior = np.log(with_label + 0.5) - np.log(total - with_label + 0.5)  # logit of how frequent a label is
    loss = _line_loss(z, Y, rows)

    # All labels: intercept_k = t_0 + t_1 · prior_k, slope_k = t_2 + t_3 · prior_k; in D_k are what t is multiplied by.
    D = np.zeros((len(prior), 2, 4))
    D[:, 0, 0] = D[:, 1, 2] = 1
    D[:, 0, 1] = D[:, 1, 3] = prior

    def pooled(t: Floats) -> tuple[Floats, Floats, Floats]:
        losses, gradient, hessian = loss(np.einsum("kij,j->ki", D, t[0]))
        return (
            losses.sum(keepdims=True),
            np.einsum("kij,ki->j", D, gradient)[None],
            np.einsum("kij,kil,klm->jm", D, hessian, D)[None],
        )

    start = np.array([[0.0, float(are_scores), 1.0, 0.0]])
    common = np.einsum("kij,j->ki", D, _least(pooled, start, 1.0)[0])
    line = _least(loss, common, SHRINKAGE)
    return Sigmoid(least, spread, line[:, 0], line[:, 1])


def fit_isotonic(values: Floats, Y: Bits, weight: Weights, are_scores: bool) -> Isotonic:
    """Fit a rising function for each label that `ENOUGH` rows have and lack, and a sigmoid for the others.

    Parameters are those of :func:`fit_sigmoid`.
    """
    sigmoid = fit_sigmoid(values, Y, weight, are_scores)
    z, counted = sigmoid.z(values), Y if weight is None else Y[weight > 0]
    there = counted.sum(axis=0, dtype=np.intp)
    columns = np.flatnonzero((there >= ENOUGH) & (len(counted) - there >= ENOUGH)).tolist()
    least = 1 / (len(Y) + 2)  # nothing is sure after so many rows
    places, heights = [], []
    for column in columns:
        rising = IsotonicRegression(y_min=least, y_max=1 - least).fit(z[:, column], Y[:, column], weight)
        places.append(np.asarray(rising.X_thresholds_))
        heights.append(np.asarray(rising.y_thresholds_))
    return Isotonic(sigmoid, columns, places, heights)


METHODS: dict[str, Callable[[Floats, Bits, Weights, bool], Calibrator]] = {  # the simplest first
    "none": fit_unchanged,
    "sigmoid": fit_sigmoid,
    "isotonic": fit_isotonic,
}


CALIBRATIONS = ("auto", "sigmoid", "isotonic")


def methods_for(calibration: Any) -> list[str]:
    """List the methods that a parameter `calibration` has to choose from, the simplest first.

    Parameters
    ----------
    calibration : {"auto", "sigmoid", "isotonic"} or None
        All of them; that one; or none.
    """
    if calibration is not None and (not isinstance(calibration, str) or calibration not in CALIBRATIONS):
        raise ValueError(f"calibration must be {', '.join(map(repr, CALIBRATIONS))} or None; got {calibration!r}.")
    return [*METHODS] if calibration == "auto" else ["none" if calibration is None else calibration]


def calibrate(
    values: Floats, Y: Bits, weight: Weights, fold: Integers, methods: Sequence[str], are_scores: bool
) -> tuple[Calibrator, Floats, Calibration]:
    """Choose a method on held-out rows and fit it to all of them.

    Each method is fitted to the rows of all folds but one and judged on that one, fold after fold. A method takes the
    place of a simpler one if its log loss is smaller by more than a paired standard error.

    Parameters
    ----------
    values : ndarray of shape (n, K)
        Probabilities or scores of rows by a classifier that has not seen them.
    Y : ndarray of shape (n, K)
        Their labels.
    weight : ndarray of shape (n,) or None
        Their sample weights.
    fold : ndarray of shape (n,)
        Number of the fold of each.
    methods : sequence of str
        Keys of `METHODS` to choose from, the simplest first.
    are_scores : bool
        Whether `values` are scores rather than probabilities.

    Returns
    -------
    calibrator : callable
        Function from probabilities or scores to calibrated probabilities.
    held_out : ndarray of shape (n, K)
        Calibrated probabilities of these rows, each by the rows of other folds.
    calibration : Calibration
        What was chosen, and the log losses.
    """
    by_method = {name: _by_other_folds(METHODS[name], values, Y, weight, fold, are_scores) for name in methods}
    if not are_scores:
        by_method = {"none": values} | by_method  # what was before is reported, if it cannot be chosen
    losses = {name: log_loss_per_row(p, Y) / Y.shape[1] for name, p in by_method.items()}
    method = chosen_method({name: losses[name] for name in methods}, weight)
    means = {name: float(np.average(loss, weights=weight)) for name, loss in losses.items()}
    return METHODS[method](values, Y, weight, are_scores), by_method[method], Calibration(method, means)


def calibrate_each(
    values: Floats,
    Y: Bits,
    weight: Weights,
    fold: Integers,
    methods: Sequence[str],
    known: NDArray[np.bool_] | None = None,
) -> list[Calibrator]:
    """Calibrate probabilities of each label; those of a label that all rows have, or none, stay as they are.

    Parameters
    ----------
    values : ndarray of shape (n, K)
        Probabilities of held-out rows.
    Y : ndarray of shape (n, K)
        Their labels.
    weight : ndarray of shape (n,) or None
        Their sample weights.
    fold : ndarray of shape (n,)
        Number of the fold of each.
    methods : sequence of str
        Keys of `METHODS` to choose from, the simplest first.
    known : ndarray of shape (n, K) or None
        Which labels are known. If some are not, each label is calibrated by itself, on rows that it is known of.

    Returns
    -------
    list of callable
        What :func:`calibrated` applies.
    """
    calibrators: list[Calibrator] = [Unchanged()] * Y.shape[1]
    for group in [np.arange(Y.shape[1])] if known is None else np.arange(Y.shape[1])[:, None]:
        rows = np.arange(len(Y)) if known is None else np.flatnonzero(known[:, group[0]])
        truth = Y[np.ix_(rows, group)]
        varied = group[truth.min(axis=0, initial=1) < truth.max(axis=0, initial=0)]
        if not len(varied):
            continue
        own = None if weight is None else weight[rows]
        at = np.ix_(rows, varied)
        found, _, _ = calibrate(values[at], Y[at], own, fold[rows], methods, are_scores=False)
        for number, label in enumerate(varied.tolist()):
            calibrators[label] = found.of_label(number)
    return calibrators


def calibrated(values: Floats, calibrators: Sequence[Calibrator]) -> Floats:
    """Return probabilities, shape (n, K), of which each label has its own calibrator."""
    each = [one(values[:, [label]]) for label, one in enumerate(calibrators)]
    return np.column_stack([np.empty((len(values), 0)), *each])


def chosen_method(losses: Mapping[str, Floats], weight: Weights) -> str:
    """Return the last method that is better than what was chosen before it by more than a paired standard error.

    Parameters
    ----------
    losses : mapping of str to ndarray of shape (n,)
        Losses of held-out rows by each method, the simplest first.
    weight : ndarray of shape (n,) or None
        Sample weights of these rows.
    """
    chosen, *others = losses
    for method in others:
        chosen = one_standard_error({chosen: losses[chosen], method: losses[method]}, chosen, weight)
    return chosen


def _by_other_folds(fit: Any, values: Floats, Y: Bits, weight: Weights, fold: Integers, are_scores: bool) -> Floats:
    """Calibrate the rows of each fold by what the rows of the others say."""
    calibrated = np.empty_like(values)
    for one in np.unique(fold):
        here, others = fold == one, fold != one
        own_weight = None if weight is None else weight[others]
        calibrated[here] = fit(values[others], Y[others], own_weight, are_scores)(values[here])
    return calibrated


Derivatives = Callable[[Floats], tuple[Floats, Floats, Floats]]


def _line_loss(z: Floats, Y: Bits, rows: Floats) -> Derivatives:
    """Return the log loss of each label's line with its derivatives.

    With ``u = intercept + slope · z`` and ``q = 1 / (1 + exp(−u))`` the loss of a row is ``log(1 + exp(u)) − y u``, its
    derivative by u is ``q − y``, the second one ``q (1 − q)``.
    """

    def derivatives(line: Floats) -> tuple[Floats, Floats, Floats]:
        u = line[:, 0] + line[:, 1] * z
        q = expit(u)
        losses = rows @ (np.logaddexp(0, u) - Y * u)
        residual, curvature = q - Y, q * (1 - q)
        gradient = np.column_stack([rows @ residual, rows @ (residual * z)])
        wz = curvature * z
        h00, h01, h11 = rows @ curvature, rows @ wz, rows @ (wz * z)
        return losses, gradient, np.stack([h00, h01, h01, h11], axis=1).reshape(-1, 2, 2)

    return derivatives


def _least(derivatives: Derivatives, start: Floats, precision: float) -> Floats:
    """Minimise convex functions side by side by Newton's method, each with ``precision / 2 · |x − start|²`` added.

    Parameters
    ----------
    derivatives : callable
        Function of points, shape (m, p); returns the values, shape (m,), gradients, (m, p), and Hessians, (m, p, p), of
        m functions of p parameters.
    start : ndarray of shape (m, p)
        Where each begins, and to where it is drawn.
    precision : float
        How strongly.

    Returns
    -------
    ndarray of shape (m, p)
    """

    def penalised(x: Floats) -> tuple[Floats, Floats, Floats]:
        value, gradient, hessian = derivatives(x)
        away = x - start
        value = value + precision / 2 * (away**2).sum(axis=1)
        return value, gradient + precision * away, hessian + precision * np.eye(x.shape[1])

    x = start
    value, gradient, hessian = penalised(x)
    for _ in range(MOST_STEPS):
        direction = _newton_step(hessian, gradient)
        slope = (gradient * direction).sum(axis=1)  # what a whole step gains is half of it where quadratic
        if slope.max() < 1e-10:
            break
        step = np.ones((len(x), 1))
        for _ in range(MOST_STEPS):  # halve steps that do not gain
            new = penalised(x - step * direction)
            worse = new[0] > value - 1e-4 * step[:, 0] * slope + 1e-12 * np.abs(value)
            if not worse.any():
                break
            step[worse] /= 2
        x = x - step * direction
        value, gradient, hessian = new
    return x


def _newton_step(hessian: Floats, gradient: Floats) -> Floats:
    """Solve ``H d = g`` for each function; where weights of 1e90 make H singular, it is raised a little."""
    try:
        return np.asarray(np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        size = np.trace(hessian, axis1=1, axis2=2)[:, None, None]
        raised = hessian + 1e-12 * size * np.eye(hessian.shape[1])
        return np.asarray(np.linalg.solve(raised, gradient[:, :, None])[:, :, 0])
