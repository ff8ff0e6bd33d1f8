"""Predictions of several models compared: every criterion with an interval, by the same resampled rows for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.cost import Cost
from clems.costs import f1, get_cost
from clems.counts import Counts, Floats, as_label_pair, as_labels
from clems.criteria import CRITERIA, Criterion, get_criterion
from clems.decoding import LABEL_BASED

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
    """

    models: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    value: Floats
    resampled: Floats

    @property
    def low(self) -> Floats:
        """Lower ends of the 95 % intervals, shape (models, criteria)."""
        return np.asarray(_ends(self.resampled)[0])

    @property
    def high(self) -> Floats:
        """Upper ends of the 95 % intervals, shape (models, criteria)."""
        return np.asarray(_ends(self.resampled)[1])

    @property
    def best(self) -> NDArray[np.bool_]:
        """Whether a model is the best, or as good, under a criterion, shape (models, criteria)."""
        signed = self.value * [one.sign for one in self.criteria]
        return np.asarray(signed == signed.max(axis=0))

    def lead(self, first: int, second: int, criterion: int) -> tuple[float, float, float]:
        """By how much the first model is better than the second under a criterion, with the ends of its interval."""
        sign = self.criteria[criterion].sign
        value = sign * (self.value[first, criterion] - self.value[second, criterion])
        low, high = _ends(sign * (self.resampled[:, first, criterion] - self.resampled[:, second, criterion]))
        return float(value), float(low), float(high)


def bootstrap(
    predictions: Mapping[str, Any],
    Y: Any,
    criteria: Sequence[str | Cost] | None = None,
    *,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> Bootstrap:
    """Measure predictions of several models for the same rows, with bootstrap intervals over the rows.

    Parameters
    ----------
    predictions : mapping of str to array-like or sparse matrix of shape (n, K)
        Predicted labels by name of the model.
    Y : array-like or sparse matrix of shape (n, K)
        True labels.
    criteria : sequence of str or Cost, default=None
        What to measure: names of criteria, or costs; None is all of `CRITERIA`.
    n_resamples : int, default=1000
        How many times rows are drawn.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Bootstrap

    Examples
    --------
    >>> from clems.bootstrap import bootstrap
    >>> Y = [[1, 0], [0, 1], [1, 1]]
    >>> bootstrap({"all": [[1, 1]] * 3, "none": [[0, 0]] * 3}, Y, ["hamming"]).value.round(3)
    array([[0.333],
           [0.667]])
    """
    wanted = [*(CRITERIA if criteria is None else criteria)]
    meant = tuple(get_criterion(one) for one in wanted)
    truth = sparse.csr_array(as_labels(Y), dtype=np.float64)
    n = truth.shape[0]
    value = np.array([[one(Y, P) for one in meant] for P in predictions.values()])
    by_row = [place for place, one in enumerate(meant) if one.name not in LABEL_BASED]
    costs = np.array([[get_cost(wanted[at]).rowwise(Y, P) for at in by_row] for P in predictions.values()])
    costs = costs.reshape(len(predictions), len(by_row), n)
    labels = [sparse.csr_array(as_label_pair(Y, P, rowwise=True)[1], dtype=np.float64) for P in predictions.values()]
    hits = [truth.multiply(predicted).tocsr() for predicted in labels]

    random = np.random.default_rng(random_state)
    resampled = np.empty((n_resamples, *value.shape))
    step = max(1, CELLS // n)
    for start in range(0, n_resamples, step):
        block = resampled[start : start + step]
        weight = _drawn(n, len(block), random)
        block[:, :, by_row] = np.tensordot(weight, costs, (1, 2)) / n
        if len(by_row) == len(meant):
            continue
        true = weight @ truth
        for place, (hit, predicted) in enumerate(zip(hits, labels, strict=True)):
            c = Counts(weight @ hit, true, weight @ predicted, float(n))
            for at, one in enumerate(meant):
                if one.name in LABEL_BASED:
                    block[:, place, at] = _label_f1(c, summed=one.name == "micro_f1")
    scores = [at for at in by_row if get_cost(wanted[at]).as_score]
    resampled[:, :, scores] = 1 - resampled[:, :, scores]
    return Bootstrap(tuple(predictions), meant, value, resampled)


def _drawn(n: int, times: int, random: np.random.Generator) -> NDArray[np.float64]:
    """How often each of n rows is drawn, for several drawings of n rows."""
    places = random.integers(n, size=(times, n)) + n * np.arange(times)[:, None]
    return np.bincount(places.ravel(), minlength=n * times).reshape(times, n).astype(np.float64)


def _label_f1(c: Counts, *, summed: bool) -> Floats:
    if summed:
        tp, truth, predicted = (part.sum(axis=1, keepdims=True) for part in (c.tp, c.truth, c.predicted))
        c = Counts(tp, truth, predicted, c.total)
    return np.asarray(np.where(c.truth + c.predicted > 0, 1 - f1(c), 0).mean(axis=1))


def _ends(samples: Floats) -> Floats:
    return np.asarray(np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0))
