"""Predictions of several models compared: every criterion with an interval, by the same resampled rows for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.arrays import Floats
from clems.costs.cost import Cost
from clems.costs.counts import Counts
from clems.costs.criteria import CRITERIA, Criterion, LabelCriterion, get_criterion
from clems.costs.label_prices import names_of_pair
from clems.labels.matrix import as_label_pair, as_labels

LEVEL = 0.95
CELLS = 1 << 22  # sample weights held at a time


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Values of models under criteria, and what they are for resampled rows.

    Attributes
    ----------
    models : tuple of str
        Names, in the order given.
    criteria : tuple of Criterion
        What was measured.
    value : ndarray of shape (models, criteria)
        Values for all rows.
    resampled : ndarray of shape (resamples, models, criteria)
        Values for rows drawn with replacement, the same rows for all models and criteria.

    Examples
    --------
    >>> from clems.evaluation import bootstrap
    >>> Y = [[1, 0], [1, 1], [0, 1], [0, 0]] * 10
    >>> found = bootstrap({"all": [[1, 1]] * 40, "none": [[0, 0]] * 40}, Y, ["f1"])
    >>> found.models, found.value.shape, bool((found.low <= found.value).all())
    (('all', 'none'), (2, 1), True)
    """

    models: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    value: Floats
    resampled: Floats

    @property
    def low(self) -> Floats:
        """Lower ends of the 95 % intervals, shape (models, criteria)."""
        return np.asarray(ends(self.resampled)[0])

    @property
    def high(self) -> Floats:
        """Upper ends of the 95 % intervals, shape (models, criteria)."""
        return np.asarray(ends(self.resampled)[1])

    @property
    def best(self) -> NDArray[np.bool_]:
        """Whether a model is the best, or as good, under a criterion, shape (models, criteria)."""
        signed = self.value * [one.sign for one in self.criteria]
        return np.asarray(signed == signed.max(axis=0))

    def lead(self, first: int, second: int, criterion: int) -> tuple[float, float, float]:
        """By how much the first model is better than the second under a criterion, with the ends of its interval."""
        sign = self.criteria[criterion].sign
        value = sign * (self.value[first, criterion] - self.value[second, criterion])
        low, high = ends(sign * (self.resampled[:, first, criterion] - self.resampled[:, second, criterion]))
        return float(value), float(low), float(high)


def bootstrap(
    predictions: Mapping[str, Any],
    Y: Any,
    criteria: Sequence[str | Cost | Criterion] | None = None,
    *,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> Bootstrap:
    """Measure predictions of several models for the same rows, with bootstrap intervals over the rows.

    Parameters
    ----------
    predictions : mapping of str to array-like or sparse matrix of shape (n, K)
        Predicted labels by name of the model.
    Y : array-like, sparse matrix or DataFrame of shape (n, K)
        True labels; prices by name need a DataFrame.
    criteria : sequence of str, Cost or Criterion, default=None
        What to measure; None is all of `CRITERIA`.
    n_resamples : int, default=1000
        How many times rows are drawn.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Bootstrap

    Examples
    --------
    >>> from clems.evaluation import bootstrap
    >>> Y = [[1, 0], [0, 1], [1, 1]]
    >>> bootstrap({"all": [[1, 1]] * 3, "none": [[0, 0]] * 3}, Y, ["hamming"]).value.round(3)
    array([[0.333],
           [0.667]])
    """
    pairs = [as_label_pair(Y, P, rowwise=True) for P in predictions.values()]
    truth = sparse.csr_array(as_labels(Y), dtype=np.float64)
    names = names_of_pair(Y, next(iter(predictions.values()), Y))
    measured = tuple(get_criterion(one).for_labels(names) for one in (CRITERIA if criteria is None else criteria))
    n = truth.shape[0]
    if not n:
        raise ValueError("A comparison needs at least one row.")
    value = np.array([[one.measure(*pair, None) for one in measured] for pair in pairs])
    by_row = [which for which, one in enumerate(measured) if one.of_single_rows]
    costs = np.array([[measured[at].cost.of_rows(*pair) for at in by_row] for pair in pairs])
    costs = costs.reshape(len(predictions), len(by_row), n)
    labels = [sparse.csr_array(predicted, dtype=np.float64) for _, predicted in pairs]
    hits = [truth.multiply(predicted).tocsr() for predicted in labels]

    random = np.random.default_rng(random_state)
    resampled = np.empty((n_resamples, *value.shape))
    step = max(1, CELLS // n)
    for start in range(0, n_resamples, step):
        block = resampled[start : start + step]
        weight = drawn(n, len(block), random)
        block[:, :, by_row] = np.tensordot(weight, costs, (1, 2)) / n
        if len(by_row) == len(measured):
            continue
        true = weight @ truth
        for which, (hit, predicted) in enumerate(zip(hits, labels, strict=True)):
            c = Counts(weight @ hit, true, weight @ predicted, float(n))
            for at, one in enumerate(measured):
                if isinstance(one, LabelCriterion):
                    block[:, which, at] = one.of_counts(c)
    for at in by_row:
        resampled[:, :, at] = measured[at].as_cost(resampled[:, :, at])
    return Bootstrap(tuple(predictions), measured, value, resampled)


def drawn(n: int, times: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Count how often each of n rows is drawn, for several drawings of n rows, shape (times, n)."""
    places = random.integers(n, size=(times, n)) + n * np.arange(times)[:, None]
    return np.bincount(places.ravel(), minlength=n * times).reshape(times, n).astype(np.float64)


def ends(samples: Floats) -> Floats:
    """Lower and upper ends of the middle 95 % of samples, along the first axis."""
    return np.asarray(np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0))
