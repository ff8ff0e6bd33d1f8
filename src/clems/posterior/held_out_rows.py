"""Held-out rows: a mixture of forest and experts is chosen on them, for any cost, and how honest its costs are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from clems.arrays import Bits, Floats, Integers, Labels, Weights
from clems.costs.cost import Cost
from clems.costs.criteria import Criterion
from clems.decisions.by_row import WIDE
from clems.decisions.decide import roughly_decide
from clems.embedding.landmarks import MOST_SOLVED
from clems.labels.matrix import as_dense
from clems.posterior.distribution import Posterior, marginals_of
from clems.posterior.label_vectors import multiplied
from clems.posterior.mixture import (
    EXPERTS_ALONE,
    MANY,
    WEIGHTS,
    MixedPosterior,
    Mixture,
    mixing_parts,
    mixing_shares,
    odds_apart,
)
from clems.posterior.one_standard_error import log_loss_per_row, once, one_standard_error, root_of_ratio, valley

DECIMALS = 3  # of what it learns; further ones differ from one processor to the next


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Training rows with what forest and experts say of them that have not seen them.

    Attributes
    ----------
    labels : ndarray of shape (L, K)
        The candidates.
    share : CSR array of shape (m, L)
        The forest's shares of these.
    evidence : ndarray of shape (m, K) or None
        The experts' evidence; None without experts.
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
    label_share : ndarray of shape (K,) or None
        How frequent labels are, where labels may be taken apart; None where they may not.
    """

    labels: Labels
    share: Any
    evidence: Floats | None
    frequency: Floats
    own: Integers
    truth: Bits
    weight: Weights
    mixtures: tuple[Mixture, ...] = ()
    label_share: Floats | None = None

    @property
    def prior(self) -> Any:
        """How frequent candidates are among the training rows other than each row, shape (m, L).

        Of many candidates it is a CSR array with an entry for each share.
        """
        taken = np.ones(len(self.own)) if self.weight is None else self.weight
        counted = (as_dense(self.labels[self.own]) == self.truth).all(axis=1)  # whose candidate is its own vector
        rest = self.frequency[self.own] - taken
        rest = np.where(rest > 1e-9 * taken, rest, 0)
        if len(self.frequency) > MANY:
            owner = np.repeat(np.arange(len(self.own)), np.diff(self.share.indptr))
            known = self.frequency[self.share.indices]
            own = counted[owner] & (self.share.indices == self.own[owner])
            known[own] = rest[owner[own]]
            known /= (self.frequency.sum() - np.where(counted, self.frequency[self.own] - rest, 0))[owner]
            return sparse.csr_array((known, self.share.indices, self.share.indptr), self.share.shape)
        prior, rows = np.tile(self.frequency, (len(self.own), 1)), np.flatnonzero(counted)
        prior[rows, self.own[rows]] = rest[rows]
        return np.asarray(prior / np.maximum(prior.sum(axis=1, keepdims=True), 1e-300))

    def posterior(self, mixture: Mixture) -> Posterior:
        """Return the posterior of the rows."""
        return self.mix(Posterior(self.labels, self.share), mixture)

    def mix(self, forest: Posterior, mixture: Mixture) -> Posterior:
        """Return the posterior of the rows, mixed of what the forest says of them."""
        if self.evidence is None:
            return forest.sharpened(mixture.sharpness)
        start = self.mixtures[0] if mixture.apart else mixture
        return MixedPosterior(forest, self.evidence, self.prior, start, self.label_share).remixed(mixture)

    def among_candidates(self) -> HeldOutRows:
        """Return the rows without labels apart, so that all mixtures are over the candidates."""
        mixtures = tuple(mixture for mixture in self.mixtures if not mixture.apart)
        return self if mixtures == self.mixtures else replace(self, mixtures=mixtures, label_share=None)

    def chosen(self, losses: dict[Mixture, Floats]) -> Mixture:
        """Return the forest alone, unless a mixture has smaller losses by more than a paired standard error."""
        found: Mixture = one_standard_error(losses, self.mixtures[0], self.weight)
        return found

    def with_mixtures(self, alone: Mixture, grid: Sequence[float]) -> HeldOutRows:
        """Return the rows with mixtures to choose from: for each weight the sharpness of a grid of least log loss."""
        if self.evidence is None:
            return replace(self, mixtures=(alone,))
        base, evidence = mixing_parts(self.share, self.labels, self.evidence, self.prior)
        labels = multiplied(self.labels)

        def log_losses(weight: float, sharpness: float) -> Floats:
            share = mixing_shares(base, evidence, Mixture(sharpness, weight))
            return log_loss_per_row(marginals_of(share, labels), self.truth)

        mixtures, sharpness = [alone], alone.sharpness
        for weight in WEIGHTS:  # the best sharpness beside one weight is near that beside the next
            start = min(grid, key=lambda own: abs(own - sharpness))
            sharpness, _ = valley(partial(log_losses, weight), grid, start, self.weight)
            mixtures.append(Mixture(sharpness, weight))
        if self.label_share is not None:
            mixtures.extend(self._apart())
        return replace(self, mixtures=tuple(mixtures))

    def _apart(self) -> list[Mixture]:
        """Return the mixture in which labels are taken apart: of many the experts alone, else by a regression."""
        if len(self.frequency) > MOST_SOLVED or self.truth.shape[1] > WIDE:
            return [EXPERTS_ALONE]
        assert self.evidence is not None
        assert self.label_share is not None
        if self.truth.min(initial=1) == self.truth.max(initial=0):
            return []
        forest = marginals_of(self.share, multiplied(self.labels))
        odds = np.stack(odds_apart(forest, self.evidence, self.label_share), axis=-1).reshape(-1, 2)
        weight = None if self.weight is None else np.repeat(self.weight, self.truth.shape[1])
        learned = powers_of_odds(odds, self.truth.ravel(), weight)
        return [] if learned is None else [Mixture(*learned)]


def powers_of_odds(odds: Floats, truth: Bits, weight: Weights) -> tuple[float, ...] | None:
    """Learn powers of odds, and what is added to the sum of their logarithms, by a logistic regression.

    Evidence for a label never counts against it: odds that would have a power below 0 are left out, and the result is
    None if none are left. Powers have a standard normal prior, which matters only if rows are few, or separable.

    Parameters
    ----------
    odds : ndarray of shape (n, p)
        Logarithms.
    truth : ndarray of shape (n,)
        Zeros and ones, both.
    weight : ndarray of shape (n,) or None
        Weights.
    """
    powers, asked = np.zeros(odds.shape[1]), [*range(odds.shape[1])]
    even = None if weight is None else weight / weight.mean()
    while asked:
        found = LogisticRegression(solver="newton-cholesky").fit(odds[:, asked], truth, even)
        own = np.round(found.coef_[0], DECIMALS)
        if own.min() >= 0:
            powers[asked] = own
            return *powers.tolist(), round(float(found.intercept_[0]), DECIMALS) + 0.0
        del asked[int(own.argmin())]
    return None


def mixture_for(rows: HeldOutRows, criterion: Criterion, losses: dict[Mixture, Floats] | None = None) -> Mixture:
    """Choose the mixture for a criterion: by what held-out rows cost, or by log loss where no row has a cost.

    `losses` are those that :func:`losses_for` returns for the criterion, if they have been computed.
    """
    key = "mixture", criterion.cost if criterion.of_single_rows else None
    mixture: Mixture = once(rows, key, lambda: rows.chosen(losses or losses_for(rows, [criterion])[0]))
    return mixture


def losses_for(rows: HeldOutRows, criteria: Sequence[Criterion]) -> list[dict[Mixture, Floats]]:
    """Compute the losses of rows by the mixtures that suit each of several criteria; each posterior is mixed once."""
    losses: list[dict[Mixture, Floats]] = [{} for _ in criteria]
    alone = rows.posterior(rows.mixtures[0])
    for mixture in rows.mixtures:
        suited = [place for place, criterion in enumerate(criteria) if suits(mixture, criterion)]
        posterior = alone.remixed(mixture) if suited and isinstance(alone, MixedPosterior) else alone
        for place in suited:
            losses[place][mixture] = loss_of(rows, criteria[place])(posterior)
    return losses


def suits(mixture: Mixture, criterion: Criterion) -> bool:
    """Whether a mixture may be chosen for a criterion.

    Any but labels apart are for all. These say nothing of how labels go together, and are for costs that are decided by
    how probable each label is, and for label vectors that hardly ever repeat, of which the experts alone are. These are
    not for a function of which nothing is known, whose search among all vectors of many labels would not end.
    """
    if not mixture.apart or (criterion.of_single_rows and criterion.cost.threshold is not None):
        return True
    return mixture == EXPERTS_ALONE and not (criterion.of_single_rows and criterion.cost.formula is None)


def paid_over_expected(rows: HeldOutRows, mixture: Mixture, cost: Cost) -> float:
    """Return the square root of what decisions for held-out rows cost over what they were expected to cost."""

    def compute() -> float:
        posterior = rows.posterior(mixture)
        decided = roughly_decide(posterior, cost)
        return root_of_ratio(cost.of_rows(rows.truth, decided), posterior.expected_of(cost, decided), rows.weight)

    ratio: float = once(rows, ("paid over expected", mixture, cost), compute)
    return ratio


def loss_of(rows: HeldOutRows, criterion: Criterion) -> Callable[[Posterior], Floats]:
    """Return what mixtures are compared by: a function from the posterior of the rows to their losses."""
    cost = criterion.cost
    if criterion.of_single_rows:
        return lambda posterior: cost.of_rows(rows.truth, roughly_decide(posterior, cost))
    return lambda posterior: log_loss_per_row(posterior.marginals, rows.truth)
