"""Choosing on held-out rows: the option of a source, how it is mixed with experts, and the decoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from clems.arrays import Bits, Floats, Weights, dense_if_full
from clems.costs.criteria import Criterion, label_criteria
from clems.decisions.decide import DECODERS
from clems.posterior.distribution import Posterior, marginals_of
from clems.posterior.held_out_rows import HeldOutRows, losses_for, mixture_for
from clems.posterior.mixture import Mixture
from clems.posterior.one_standard_error import log_loss_per_row, one_standard_error, valley
from clems.posterior.source import Source

SHARPNESS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5)
START = 4  # place of the one from which the search begins
THRESHOLD = "threshold"  # name of the only decoder of criteria of all rows together


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes
    ----------
    option : object
        Option of the source.
    mixture : Mixture
        The power to which shares are raised, and the weight of experts.
    decoder : str
        How to decide.
    costs : dict of str to float
        Mean cost of the held-out rows by each decoder that was compared; nan if there are no such rows.
    by_mixture : dict of Mixture to float
        Mean cost of the held-out rows by each mixture that was compared; by log loss for criteria of all rows
        together. Empty without experts.
    rows : HeldOutRows or None
        On which a mixture is chosen for another cost; None if no row is held out.
    thresholds : dict of str to ndarray
        Thresholds of marginals for each criterion of all rows together.
    """

    option: Any
    mixture: Mixture
    decoder: str
    costs: dict[str, float]
    by_mixture: dict[Mixture, float] = field(default_factory=dict)
    rows: HeldOutRows | None = None
    thresholds: dict[str, Floats] = field(
        default_factory=lambda: dict.fromkeys(label_criteria(), np.array([0.5]))  # without rows to learn them from
    )


def choose(
    source: Source,
    truth: Bits,
    weight: Weights,
    criterion: Criterion,
    decoders: Sequence[str],
    sharpness: float | None,
    held_out_rows: Callable[[Posterior], HeldOutRows] | None = None,
) -> Choice:
    """Choose on the held-out rows of a source what a criterion is best with.

    Parameters
    ----------
    source : Source
        Which holds out m rows.
    truth : ndarray of shape (m, K)
        Labels of these rows.
    weight : ndarray of shape (m,) or None
        Their sample weights.
    criterion : Criterion
        What the model is trained for.
    decoders : sequence of str
        Keys of `DECODERS` to choose from, the usual last; of no use for a criterion of all rows together.
    sharpness : float or None
        If given, it is not chosen.
    held_out_rows : callable or None
        Adds to the posterior of the held-out rows what experts say of them; None keeps no rows.
    """
    names = [*decoders] if criterion.of_single_rows else [THRESHOLD]
    if not len(truth):
        return Choice(source.usual, Mixture(sharpness or 1.0, 0.0), names[-1], dict.fromkeys(names, np.nan))
    cost = criterion.cost

    def rough(posterior: Posterior, power: float) -> Posterior:
        sharper = posterior.sharpened(power)
        sharper.marginals = marginals_of(dense_if_full(sharper.share), sharper.sparse_labels)
        return sharper

    def log_losses(posterior: Posterior, power: float) -> Floats:
        return log_loss_per_row(rough(posterior, power).marginals, truth)

    def costs(posterior: Posterior, power: float) -> Floats:
        return cost.of_rows(truth, DECODERS[names[-1]].rough(rough(posterior, power), cost))

    option, power, raw = choose_shape(
        source, log_losses, costs if criterion.of_single_rows else None, weight, sharpness
    )
    mixture, rows, by_mixture = Mixture(power, 0.0), None, {}
    posterior = of_labels = raw.sharpened(power)
    if held_out_rows is not None:
        rows = held_out_rows(raw).with_mixtures(mixture, SHARPNESS if sharpness is None else (sharpness,))
    if rows is not None and rows.evidence is not None:
        any_label_criterion = next(iter(label_criteria().values()))
        by_labels, losses = losses_for(rows, [any_label_criterion, criterion])
        of_labels = rows.posterior(mixture_for(rows, any_label_criterion, by_labels))
        mixture = rows.chosen(losses)
        by_mixture = {one: float(np.average(own, weights=weight)) for one, own in losses.items()}
        posterior = rows.mix(raw, mixture)
        names = names[-1:] if mixture.apart else names  # there is no point, and no candidate
    thresholds = {name: one.thresholds(of_labels.marginals, weight) for name, one in label_criteria().items()}
    if not criterion.of_single_rows:
        decided = (of_labels.marginals > thresholds[criterion.name]).astype(np.uint8)
        value = criterion.as_cost(criterion.measure(truth, decided, weight))
        return Choice(option, mixture, THRESHOLD, {THRESHOLD: value}, by_mixture, rows, thresholds)

    # Where every row is decided by itself, a decoder takes long, and the usual one has always been the best.
    names = names[-1:] if posterior.large else names
    by_row = {name: cost.of_rows(truth, DECODERS[name].decide(posterior, cost)) for name in names}
    means = {name: float(np.average(own, weights=weight)) for name, own in by_row.items()}
    decoder = one_standard_error(by_row, names[-1], weight)
    return Choice(option, mixture, decoder, means, by_mixture, rows, thresholds)


def choose_shape(
    source: Source,
    log_losses: Callable[[Posterior, float], Floats],
    costs: Callable[[Posterior, float], Floats] | None,
    weight: Weights,
    sharpness: float | None = None,
) -> tuple[Any, float, Posterior]:
    """Choose an option and a sharpness by held-out rows; return them and the posterior of these rows.

    The option is the usual one, unless another has a smaller log loss by more than a standard error. The sharpness is
    the one of least log loss, which suits every cost, unless with another the rows cost less by more than a standard
    error.

    Parameters
    ----------
    source : Source
        Which holds out m rows.
    log_losses, costs : callable
        Function of the posterior of these rows and of a sharpness; returns a number for each row. Costs may be None
        where no single row has one.
    weight : ndarray of shape (m,) or None
        Sample weights of these rows.
    sharpness : float or None
        If given, it is not chosen.
    """
    grid = SHARPNESS if sharpness is None else (sharpness,)
    posteriors = {option: source.held_out(option) for option in source.options}
    found, power = {}, grid[min(START, len(grid) - 1)]
    for option, posterior in posteriors.items():  # the best power of one is near that of the next
        found[option] = power, _ = valley(partial(log_losses, posterior), grid, power, weight)
    by_option = {option: losses[power] for option, (power, losses) in found.items()}
    option = one_standard_error(by_option, source.usual, weight)
    power = found[option][0]
    if costs is not None and sharpness is None:
        cheapest, losses = valley(partial(costs, posteriors[option]), grid, power, weight)
        power = one_standard_error({own: losses[own] for own in (power, cheapest)}, power, weight)
    return option, power, posteriors[option]
