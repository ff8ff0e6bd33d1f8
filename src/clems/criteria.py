"""Criteria: what a table reports. Every cost has one under its name; micro and macro F1 look at all rows together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer

from clems import counts
from clems.cost import Cost
from clems.costs import COSTS, f1, get_cost
from clems.counts import Labels

Weight = NDArray[np.float64] | None


@dataclass(frozen=True)
class Criterion:
    """A number that sums up predictions, and which way it is better.

    Call it with truths, predictions and, if wanted, sample weights.

    Attributes
    ----------
    name : str
        Key in `CRITERIA`.
    title : str
        How a table heads it.
    greater_is_better : bool
        Its direction.
    """

    name: str
    title: str
    greater_is_better: bool
    measure: Callable[..., float]

    def __call__(self, Y: Any, P: Any, sample_weight: ArrayLike | None = None) -> float:
        """Value for truths Y and predictions P, each row counted with its sample weight."""
        truth, prediction = counts.as_label_pair(Y, P, rowwise=True)
        if not truth.shape[0]:
            raise ValueError(f"{self.name} needs at least one row.")
        weight = None if sample_weight is None else counts.as_weights(sample_weight, truth.shape[0])
        return self.measure(truth, prediction, weight)

    @property
    def __name__(self) -> str:
        """Name that scikit-learn's scorers print."""
        return self.name

    @property
    def arrow(self) -> str:
        """Arrow that points where better values are."""
        return "↑" if self.greater_is_better else "↓"

    @property
    def sign(self) -> int:
        """Factor that makes greater values better."""
        return 1 if self.greater_is_better else -1

    @property
    def scorer(self) -> Any:
        """Scorer for scikit-learn's ``scoring=``; of a criterion where lower is better it returns the negative."""
        return make_scorer(self, greater_is_better=self.greater_is_better)


def _mean(Y: Labels, P: Labels, weight: Weight, *, cost: Cost) -> float:
    value = float(np.average(cost.rowwise(Y, P), weights=weight))
    return 1 - value if cost.as_score else value


def _label_f1(Y: Labels, P: Labels, weight: Weight, *, summed: bool) -> float:
    c = counts.labelwise(Y, P, weight)
    if summed:
        c = counts.Counts(c.tp.sum(), c.truth.sum(), c.predicted.sum(), c.total * len(c.tp))
    # Unlike an empty row, a label that is neither true nor predicted anywhere shows no skill: it scores 0.
    return float(np.mean(np.where(c.union > 0, 1 - f1(c), 0)))


def get_criterion(criterion: str | Criterion | Cost | Callable[[Any, Any], Any]) -> Criterion:
    """Return the criterion that is meant: by name, or that of a cost or of a function of one's own.

    Examples
    --------
    >>> from clems import get_criterion
    >>> get_criterion("rank")([[1, 0, 1]], [[0, 0, 1]])
    0.5
    """
    if isinstance(criterion, Criterion):
        return criterion
    if isinstance(criterion, str) and criterion in CRITERIA:
        return CRITERIA[criterion]
    try:
        return _of_cost(get_cost(criterion))
    except (TypeError, ValueError):
        names = ", ".join(sorted(CRITERIA))
        raise ValueError(f"Unknown criterion {criterion!r}; the criteria are {names}, a cost or a function.") from None


def _of_cost(cost: Cost) -> Criterion:
    title = {"f1": "F1", "zero_one": "subset accuracy"}.get(cost.name, cost.name.replace("_", " "))
    return Criterion(cost.name, title, cost.as_score, partial(_mean, cost=cost))


CRITERIA: dict[str, Criterion] = {name: _of_cost(cost) for name, cost in COSTS.items()}
CRITERIA["micro_f1"] = Criterion("micro_f1", "micro F1", True, partial(_label_f1, summed=True))
CRITERIA["macro_f1"] = Criterion("macro_f1", "macro F1", True, partial(_label_f1, summed=False))
