"""Choosing on held-out rows: the option of a source, the sharpness of its posterior, and the decoder.

One rule holds for all of them, `one_standard_error`: the usual choice stays, unless another is better on held-out rows
by more than a standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from clems.arrays import Bits, Floats, Weights, dense_if_full
from clems.costs.criteria import Criterion, label_criteria
from clems.decisions.decide import DECODERS
from clems.posterior.distribution import Posterior, marginals_of, sharpened
from clems.posterior.source import Source

SHARPNESS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5)
START = 4  # place of the one from which the search begins
LEAST = 1e-3  # marginals nearer to 0 or 1 are judged as if they were this far
THRESHOLD = "threshold"  # name of the only decoder of criteria of all rows together


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes
    ----------
    option : object
        Option of the source.
    sharpness : float
        Power to which shares are raised.
    decoder : str
        How to decide.
    costs : dict of str to float
        Mean cost of the held-out rows by each decoder that was compared; nan if there are no such rows.
    thresholds : dict of str to ndarray
        Thresholds of marginals for each criterion of all rows together.
    """

    option: Any
    sharpness: float
    decoder: str
    costs: dict[str, float]
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
    """
    names = [*decoders] if criterion.of_single_rows else [THRESHOLD]
    if not len(truth):
        return Choice(source.usual, sharpness or 1.0, names[-1], dict.fromkeys(names, np.nan))
    cost = criterion.cost

    def rough(posterior: Posterior, power: float) -> Posterior:
        share = sharpened(posterior.share, power)
        marginals = marginals_of(dense_if_full(share), posterior.labels)
        points = partial(getattr, posterior, "points")
        return Posterior(posterior.labels, share, marginals=marginals, points=points, embedded=posterior.embedded)

    def log_losses(posterior: Posterior, power: float) -> Floats:
        return log_loss_per_row(rough(posterior, power).marginals, truth)

    def costs(posterior: Posterior, power: float) -> Floats:
        return cost.of_rows(truth, DECODERS[names[-1]].rough(rough(posterior, power), cost))

    option, power, raw = choose_shape(
        source, log_losses, costs if criterion.of_single_rows else None, weight, sharpness
    )
    posterior = raw.sharpened(power)
    thresholds = {name: one.thresholds(posterior.marginals, weight) for name, one in label_criteria().items()}
    if not criterion.of_single_rows:
        decided = (posterior.marginals > thresholds[criterion.name]).astype(np.uint8)
        value = criterion.measure(truth, decided, weight)
        return Choice(option, power, THRESHOLD, {THRESHOLD: criterion.as_cost(value)}, thresholds)
    by_row = {name: cost.of_rows(truth, DECODERS[name].decide(posterior, cost)) for name in names}
    means = {name: float(np.average(own, weights=weight)) for name, own in by_row.items()}
    return Choice(option, power, one_standard_error(by_row, names[-1], weight), means, thresholds)


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


def log_loss_per_row(marginals: Floats, Y: Bits) -> Floats:
    """Compute the log loss of each row, its labels taken one by one: ``−Σ_k log P(y_k)``, shape (n,)."""
    p = np.clip(marginals, LEAST, 1 - LEAST)
    return np.asarray(-np.log(np.where(Y == 1, p, 1 - p)).sum(axis=1))


def mean_and_error(values: Floats, weight: Weights) -> tuple[float, float]:
    """Mean of the values of rows and its standard error."""
    mean = float(np.average(values, weights=weight))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=weight) / len(values)))


def one_standard_error(losses: dict[Any, Floats], usual: Any, weight: Weights) -> Any:
    """Key of the least losses; the usual one, unless another loses less by more than a paired standard error.

    Parameters
    ----------
    losses : dict
        Losses of the held-out rows.
    usual : object
        One of its keys.
    weight : ndarray or None
        Sample weights of these rows.
    """

    def lead(key: Any) -> float:
        gain, error = mean_and_error(losses[usual] - losses[key], weight)
        return gain - error

    best = max(losses, key=lead)
    return best if lead(best) > 0 else usual


def valley(
    loss: Callable[[float], Floats], grid: Sequence[float], start: float, weight: Weights
) -> tuple[float, dict[float, Floats]]:
    """Go up or down a grid as long as the mean loss gets less; return where that ends, and all losses on the way.

    Parameters
    ----------
    loss : callable
        Function of a number of the grid; returns the losses of rows.
    grid : sequence of float
        Numbers in order.
    start : float
        One of them.
    weight : ndarray or None
        Sample weights of the rows.
    """
    losses: dict[float, Floats] = {}

    def mean(place: int) -> float:
        losses[grid[place]] = own = loss(grid[place])
        return float(np.average(own, weights=weight))

    best = first = grid.index(start)
    least = mean(first)
    for step in (-1, 1):
        while 0 <= best + step < len(grid) and (value := mean(best + step)) < least:
            best, least = best + step, value
        if best != first:
            break
    return grid[best], losses
