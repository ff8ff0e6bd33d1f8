"""From marginals to posteriors: what is assumed of labels together, and its choice on held-out rows.

Labels are *independent* given the features, or only label vectors of training are *observed* again. The latter has a
power of how frequent vectors are and a sharpness: where labels go together, the product of their probabilities counts
the same evidence several times and is too sure. Both are chosen by the log loss of the marginals of held-out rows, so
that these, and expected costs, stay as right as the calibrated probabilities are. Then held-out rows are decided both
ways, and the cheaper one is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from clems.arrays import Bits, Floats, Integers, Weights
from clems.costs.criteria import Criterion
from clems.posterior.choosing import log_loss_per_row, one_standard_error
from clems.posterior.distribution import Posterior, sharpened
from clems.posterior.given import shares_of_candidates
from clems.posterior.independent import IndependentPosterior

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
SHARPNESS = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3)


@dataclass(frozen=True)
class Independent:
    """Labels are independent of each other."""

    name = "independent"
    width = 1  # numbers that a row takes, beside its marginals

    def __call__(self, marginals: Floats) -> Posterior:
        """Return the posterior of rows with these marginals, shape (n, K)."""
        return IndependentPosterior(marginals)


@dataclass(frozen=True, eq=False)
class Observed:
    """Only candidates occur: ``q_i ∝ frequency_i^power · (Π_k p_k^{S_ik} (1 − p_k)^{1 − S_ik})^sharpness``.

    Attributes
    ----------
    labels : ndarray of shape (L, K)
        The candidates, label vectors of which no two are alike.
    frequency : ndarray of shape (L,)
        How frequent each is, above 0.
    power : float
        Power of the frequency.
    sharpness : float
        Power of the product.
    """

    labels: Bits
    frequency: Floats
    power: float
    sharpness: float
    name = "observed"

    @property
    def width(self) -> int:
        """Numbers that a row takes, beside its marginals."""
        return len(self.labels)

    def __call__(self, marginals: Floats) -> Posterior:
        """Return the posterior of rows with these marginals, shape (n, K)."""
        share = shares_of_candidates(marginals, self.labels, self.frequency, self.power / self.sharpness)
        return Posterior(self.labels, sharpened(share, self.sharpness))


Joint = Independent | Observed


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows, and what their classifiers were trained on.

    Attributes
    ----------
    marginals : ndarray of shape (m, K)
        Calibrated probabilities of labels.
    truth : ndarray of shape (m, K)
        Their labels.
    weight : ndarray of shape (m,) or None
        Their sample weights.
    fold : ndarray of shape (m,)
        Number of the fold of each.
    candidates : ndarray of shape (L, K)
        Label vectors of all training rows, no two alike.
    by_fold : ndarray of shape (F, L)
        How frequent these are among the rows to train on of each fold.
    frequency : ndarray of shape (L,)
        How frequent they are among all training rows.
    """

    marginals: Floats
    truth: Bits
    weight: Weights
    fold: Integers
    candidates: Bits
    by_fold: Floats
    frequency: Floats

    def observed(self, frequency: Floats, power: float, sharpness: float) -> Observed:
        """Return the joint distribution over the candidates that there are."""
        seen = frequency > 0
        return Observed(self.candidates[seen], frequency[seen], power, sharpness)

    def ask(self, joint: Callable[[Floats], Joint], question: Callable[[Posterior, Bits], Floats]) -> Floats:
        """Ask for something of each row, by the joint distribution that the training rows of its fold make.

        Parameters
        ----------
        joint : callable
            Function from frequencies of candidates, shape (L,), to a joint distribution.
        question : callable
            Function of a posterior and of the truths of its rows; returns an array with a row for each.
        """
        folds = np.unique(self.fold)
        here = [np.flatnonzero(self.fold == fold) for fold in folds]
        answers = [
            question(joint(self.by_fold[fold])(self.marginals[rows]), self.truth[rows])
            for fold, rows in zip(folds, here, strict=True)
        ]
        return np.concatenate(answers)[np.concatenate(here).argsort()]


def choose_joint(
    held_out: HeldOut, criterion: Criterion, names: tuple[str, ...]
) -> tuple[Joint, dict[str, float], Floats]:
    """Choose what to assume of labels together.

    Parameters
    ----------
    held_out : HeldOut
        On which it is chosen.
    criterion : Criterion
        What is decided for. One of all rows together is chosen for by log loss.
    names : tuple of str
        What there is to choose from, "independent" or "observed"; the first stays, unless another is better by more
        than a paired standard error.

    Returns
    -------
    joint : Joint
        Made of all training rows.
    losses : dict of str to float
        Mean loss of held-out rows by each.
    marginals : ndarray of shape (m, K)
        Of the held-out rows, by the one that was chosen.
    """
    kinds: dict[str, Callable[[Floats], Joint]] = {"independent": lambda _: Independent()}
    if "observed" in names:
        shapes = [
            partial(held_out.observed, power=power, sharpness=sharpness)
            for power, sharpness in product(POWERS, SHARPNESS)
        ]
        log_losses = [held_out.ask(shape, _log_losses) for shape in shapes]
        kinds["observed"] = shapes[int(np.argmin(np.average(log_losses, axis=1, weights=held_out.weight)))]

    def costs(posterior: Posterior, truth: Bits) -> Floats:
        if criterion.of_single_rows:
            return criterion.cost.of_rows(truth, posterior.decide(criterion.cost))
        return _log_losses(posterior, truth)

    losses: dict[Any, Floats] = {name: held_out.ask(kinds[name], costs) for name in names}
    chosen = kinds[one_standard_error(losses, names[0], held_out.weight)]
    means = {name: float(np.average(loss, weights=held_out.weight)) for name, loss in losses.items()}
    return chosen(held_out.frequency), means, held_out.ask(chosen, lambda posterior, _: posterior.marginals)


def _log_losses(posterior: Posterior, truth: Bits) -> Floats:
    return log_loss_per_row(posterior.marginals, truth)
