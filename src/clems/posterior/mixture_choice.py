"""Held-out rows on which a mixture of forest and experts is chosen, for any cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from clems.arrays import Bits, Floats, Integers, Weights
from clems.costs.criteria import Criterion
from clems.decisions.decide import roughly_decide
from clems.posterior.distribution import Posterior
from clems.posterior.mixture import WEIGHTS, MixedPosterior, Mixture, mixing_parts, mixing_shares
from clems.posterior.one_standard_error import log_loss_per_row, one_standard_error, valley


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Training rows with what forest and experts say of them that have not seen them.

    Attributes
    ----------
    labels : ndarray of shape (L, K)
        The candidates.
    share : CSR array of shape (m, L)
        The forest's shares of these.
    evidence : ndarray of shape (m, K)
        The experts' evidence.
    frequency : ndarray of shape (L,)
        How frequent candidates are among all training rows.
    own : ndarray of shape (m,)
        Candidate of each row.
    truth : ndarray of shape (m, K)
        Labels of the rows.
    weight : ndarray of shape (m,) or None
        Their sample weights.
    mixtures : tuple of Mixture
        What there is to choose from, the forest alone first.
    """

    labels: Bits
    share: Any
    evidence: Floats
    frequency: Floats
    own: Integers
    truth: Bits
    weight: Weights
    mixtures: tuple[Mixture, ...] = ()

    @property
    def prior(self) -> Floats:
        """How frequent candidates are among the training rows other than each row, shape (m, L)."""
        prior = np.tile(self.frequency, (len(self.own), 1))
        taken = np.ones(len(self.own)) if self.weight is None else self.weight
        rows = np.flatnonzero((self.labels[self.own] == self.truth).all(axis=1))
        rest = prior[rows, self.own[rows]] - taken[rows]
        prior[rows, self.own[rows]] = np.where(rest > 1e-9 * taken[rows], rest, 0)
        return np.asarray(prior / np.maximum(prior.sum(axis=1, keepdims=True), 1e-300))

    def posterior(self, mixture: Mixture) -> MixedPosterior:
        """Return the posterior of the rows."""
        return MixedPosterior(Posterior(self.labels, self.share), self.evidence, self.prior, mixture)

    def losses(self, loss: Callable[[Posterior], Floats]) -> dict[Mixture, Floats]:
        """Compute the losses of rows by each mixture."""
        alone = self.posterior(self.mixtures[0])
        return {mixture: loss(alone.remixed(mixture)) for mixture in self.mixtures}

    def chosen(self, losses: dict[Mixture, Floats]) -> Mixture:
        """Return the forest alone, unless a mixture has smaller losses by more than a paired standard error."""
        found: Mixture = one_standard_error(losses, self.mixtures[0], self.weight)
        return found

    def with_mixtures(self, alone: Mixture, grid: Sequence[float]) -> HeldOutRows:
        """Return the rows with mixtures to choose from: for each weight the sharpness of a grid of least log loss."""
        base, evidence = mixing_parts(self.share, self.labels, self.evidence, self.prior)
        labels = self.labels.astype(np.float64)

        def log_losses(weight: float, sharpness: float) -> Floats:
            share = mixing_shares(base, evidence, Mixture(sharpness, weight))
            return log_loss_per_row(np.minimum(share @ labels, 1), self.truth)

        mixtures, sharpness = [alone], alone.sharpness
        for weight in WEIGHTS:  # the best sharpness beside one weight is near that beside the next
            start = min(grid, key=lambda own: abs(own - sharpness))
            sharpness, _ = valley(partial(log_losses, weight), grid, start, self.weight)
            mixtures.append(Mixture(sharpness, weight))
        return replace(self, mixtures=tuple(mixtures))


def mixture_for(rows: HeldOutRows, criterion: Criterion) -> Mixture:
    """Choose the mixture for a criterion: by what decisions cost held-out rows, or by log loss where no row has a cost.

    It is computed once for each cost that can be a key.
    """
    known = CHOSEN.setdefault(rows, {})
    key = criterion.cost if criterion.of_single_rows else None
    try:
        return known[key]
    except (KeyError, TypeError):
        chosen = rows.chosen(rows.losses(loss_of(rows, criterion)))
    with suppress(TypeError):  # a cost that cannot be a key
        known[key] = chosen
    return chosen


CHOSEN: WeakKeyDictionary[HeldOutRows, dict[Any, Mixture]] = WeakKeyDictionary()


def loss_of(rows: HeldOutRows, criterion: Criterion) -> Callable[[Posterior], Floats]:
    """Return what mixtures are compared by: a function from the posterior of the rows to their losses."""
    cost = criterion.cost
    if criterion.of_single_rows:
        return lambda posterior: cost.of_rows(rows.truth, roughly_decide(posterior, cost))
    return lambda posterior: log_loss_per_row(posterior.marginals, rows.truth)
