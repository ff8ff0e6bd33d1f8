"""What predictions rest on: how much of what a mixture says comes from its forest, and how much from its experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from clems.arrays import Bits, Floats
from clems.decisions.decide import DECODERS
from clems.posterior.distribution import Posterior
from clems.posterior.mixture import SURE, LabelsApart, Mixture


@dataclass(frozen=True, eq=False)
class Sources:
    """What a model's predictions rest on.

    Attributes
    ----------
    experts : tuple of str
        Names of the experts that were consulted.
    mixture : Mixture
        How they are mixed with the forest.
    held_out : dict of Mixture to float
        Mean cost of held-out training rows by each mixture that was compared.
    shares : dict of str to float
        Shares of forest and experts in how far labels are from how frequent they are, see `evidence_shares`.
    changed : float or None
        Share of the rows that the forest alone decides otherwise; None of a criterion of all rows together.
    cost, cost_alone : float or None
        Mean cost of the rows, and what it is if the forest decides alone.
    """

    experts: tuple[str, ...]
    mixture: Mixture
    held_out: dict[Mixture, float]
    shares: dict[str, float]
    changed: float | None
    cost: float | None
    cost_alone: float | None


def has_sources(model: Any) -> bool:
    """Whether a fitted model mixes a forest with experts, or has compared to do so."""
    return bool(getattr(model, "experts_", None)) and hasattr(model, "mixture_")


def question_about_forest(model: Any, posterior: Posterior) -> list[Any]:
    """Ask what the forest alone says of labels and would decide, and how far it and experts move labels apart."""
    alone = model.by_forest(posterior)
    if not model.criterion_.of_single_rows:
        return [alone.marginals]
    moved = posterior.moved() if isinstance(posterior, LabelsApart) else ()
    return [alone.marginals, DECODERS[model.decoder_].decide(alone, model.cost_), *moved]


def sources_of(model: Any, predicted: Bits, mixed: Floats, alone: list[Any], truth: Bits) -> Sources:
    """Compare what a mixture says with what its forest says alone.

    Parameters
    ----------
    model : CLEMS
        A fitted model with experts.
    predicted : ndarray of shape (n, K)
        What it predicts.
    mixed : ndarray of shape (n, K)
        How probable labels are, by the mixture that it decides by.
    alone : list of ndarray
        What `question_about_forest` found.
    truth : ndarray of shape (n, K)
        Their labels.
    """
    candidates = model.candidates_
    frequency = candidates.frequency @ candidates.labels / candidates.frequency.sum()
    marginals, decided, *moved = [*alone, None][: max(2, len(alone))]
    forest = share_of_first(*moved) if moved else evidence_shares(frequency, marginals, mixed)
    return Sources(
        tuple(model.experts_),
        model.mixture_,
        model.mixture_costs_,
        {"forest": forest, "experts": 1 - forest},
        None if decided is None else float((decided != predicted).any(axis=1).mean()),
        None if decided is None else float(model.cost_.of_rows(truth, predicted).mean()),
        None if decided is None else float(model.cost_.of_rows(truth, decided).mean()),
    )


def evidence_shares(frequency: Floats, forest: Floats, mixed: Floats) -> float:
    """Compute the forest's share in how far probabilities are from how frequent labels are, in log odds.

    The forest takes a label from its frequency to what it says alone, the experts from there to what the mixture says:
    ``Σ |forest − frequency| / Σ (|forest − frequency| + |mixed − forest|)`` over all rows and labels.

    Parameters
    ----------
    frequency : ndarray of shape (K,)
        How frequent labels are among the training rows.
    forest, mixed : ndarray of shape (n, K)
        How probable they are by the forest alone, and by the mixture.

    Examples
    --------
    >>> import numpy as np
    >>> from clems.evaluation.sources import evidence_shares
    >>> float(evidence_shares(np.array([0.5]), np.array([[0.8]]), np.array([[0.8]])))
    1.0
    """
    start, middle, end = (logit(np.clip(p, SURE, 1 - SURE)) for p in (frequency, forest, mixed))
    return share_of_first(middle - start, end - middle)


def share_of_first(first: Floats, second: Floats) -> float:
    """Return the share of the first of two arrays in the sum of all absolute values; 1 if the second has only zeros."""
    sums = float(np.abs(first).sum()), float(np.abs(second).sum())
    return sums[0] / sum(sums) if sums[1] > 0 else 1.0
