"""Experts: models of single labels whose evidence is mixed with what a forest says of label vectors.

An *expert* says how probable each label is for a row. Two kinds are made here, both kernel ridge regressions with
calibrated scores, which hold every training row out in closed form, so that they take less time than a forest: a
linear one for features that are mostly 0, such as words, and one with a Gaussian kernel for others. `EXPERTS` lists
them; the first that applies to features by their content is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from clems.arrays import Floats, Integers, Labels, Weights, share_of_entries
from clems.decisions.by_row import WIDE
from clems.labels.matrix import as_dense, constant_labels
from clems.posterior.calibration import Sigmoid, fit_sigmoid
from clems.posterior.ridge_expert import Gaussian, Linear, fit_ridge

SPARSE = 0.25  # share of entries other than 0 up to which features count as words do
CALIBRATED = 1 << 19  # scores from which sigmoids are learned, at most
CALIBRATED_WIDE = 1 << 24  # of more than `WIDE` labels, of which each is in few rows
MOST_CALIBRATED = 10_000  # rows of which these are, at most


@dataclass(frozen=True, eq=False)
class Expert:
    """Reads how probable labels are.

    Attributes
    ----------
    scores : callable
        Function of rows; returns a score for each label that varies among the training rows, shape (n, V).
    sigmoid : Sigmoid
        From scores to probabilities.
    constant : ndarray of shape (K,)
        Value of the labels that do not vary; NaN for the others.
    """

    scores: Any
    sigmoid: Sigmoid
    constant: Floats

    def __call__(self, X: Any) -> Floats:
        """Return how probable labels are for rows, shape (n, K)."""
        return self.of_scores(self.scores(X))

    def of_scores(self, scores: Floats) -> Floats:
        """Return how probable labels are by the scores of those that vary."""
        probable = np.tile(np.nan_to_num(self.constant), (len(scores), 1))
        probable[:, np.isnan(self.constant)] = self.sigmoid(scores)
        return probable


# From features, labels, weights, rows to hold out and a RandomState to an expert and its probabilities of these rows.
FitExpert = Callable[[Any, Labels, Weights, Integers, np.random.RandomState], tuple[Any, Floats]]


@dataclass(frozen=True)
class ExpertKind:
    """A kind of expert.

    Attributes
    ----------
    applies : callable
        Function of features: whether it suits their content.
    fit : callable
        From features, labels, weights, rows to hold out and a RandomState; returns an expert, a function from rows to
        probabilities, and the probabilities of the rows by what has not seen them.
    kernel : type or None, default=None
        Of a kernel ridge regression the kernel, which can be fitted to sums over partitions of rows.
    """

    applies: Callable[[Any], bool]
    fit: FitExpert
    kernel: type[Linear] | type[Gaussian] | None = None


def fit_ridge_expert(
    kernel: Callable[[Any], Linear | Gaussian],
    X: Any,
    Y: Labels,
    weight: Weights,
    rows: Integers,
    random_state: np.random.RandomState,
) -> tuple[Expert, Floats]:
    """Fit a kernel ridge regression to the labels that vary, and sigmoids to its scores of held-out rows."""
    constant = constant_labels(Y)
    varied = np.flatnonzero(np.isnan(constant))
    weights = np.ones(Y.shape[0]) if weight is None else weight
    some = max(len(rows), rows_to_calibrate(len(varied)))
    others = np.setdiff1d(np.arange(Y.shape[0]), rows)
    if len(rows) + len(others) > some:
        others = random_state.choice(others, some - len(rows), replace=False)
    learned = np.concatenate([rows, others])
    labels = Y[:, varied]
    scores, held_out = fit_ridge(kernel(X), X, labels, weights, learned, random_state)
    sigmoid = fit_sigmoid(
        held_out, as_dense(labels[learned]), None if weight is None else weight[learned], are_scores=True
    )
    expert = Expert(scores, sigmoid, constant)
    return expert, expert.of_scores(held_out[: len(rows)])


def rows_to_calibrate(K: int) -> int:
    """Return how many rows sigmoids of K labels are learned from, at most."""
    return min((CALIBRATED if K <= WIDE else CALIBRATED_WIDE) // max(K, 1), MOST_CALIBRATED)


EXPERTS: dict[str, ExpertKind] = {
    "linear": ExpertKind(lambda X: share_of_entries(X) <= SPARSE, partial(fit_ridge_expert, Linear.of), Linear),
    "gaussian": ExpertKind(lambda _: True, partial(fit_ridge_expert, Gaussian.of), Gaussian),
}


def expert_for(X: Any) -> str:
    """Name the first kind of expert that suits the content of features."""
    return next(name for name, kind in EXPERTS.items() if kind.applies(X))
