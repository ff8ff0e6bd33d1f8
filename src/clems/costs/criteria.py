"""Criteria: what a table reports. Every cost has one under its name; micro and macro F1 look at all rows together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from clems.arrays import Floats, Labels, Weights
from clems.costs import counts
from clems.costs.cost import Cost
from clems.costs.counts import Counts
from clems.costs.formulas import COSTS, OTHER_NAMES, cost_named, f1, get_cost
from clems.costs.label_prices import names_of_pair
from clems.costs.thresholds import common_threshold, threshold_of_each_label
from clems.labels.matrix import as_label_pair, as_weights
from clems.wording import did_you_mean

TITLES = {"f1": "F1", "zero_one": "subset accuracy", "ndcg": "nDCG", "psp": "PSP regret"}  # where names are none


@dataclass(frozen=True)
class Criterion(ABC):
    """A number that summarises predictions, and whether greater or smaller is better.

    Call it with truths, predictions and, optionally, sample weights. A learner is trained for a criterion, either that
    of a cost or one that is computed from all rows together.

    Attributes
    ----------
    name : str
        Key in `CRITERIA`.
    title : str
        How a table heads it.
    greater_is_better : bool
        Its direction.
    cost : Cost
        What a single row costs. Of a criterion of all rows together, the cost for which labels are embedded.

    Examples
    --------
    >>> from clems import get_criterion
    >>> criterion = get_criterion("macro_f1")
    >>> float(criterion([[1, 0], [1, 1]], [[1, 0], [1, 0]]))
    0.5
    >>> criterion.greater_is_better
    True
    """

    name: str
    title: str
    greater_is_better: bool
    cost: Cost
    of_single_rows = True  # whether it is the mean of what single rows cost

    def __call__(self, Y: Any, P: Any, sample_weight: ArrayLike | None = None) -> float:
        """Value for truths Y and predictions P, each row counted with its sample weight."""
        truth, prediction = as_label_pair(Y, P, rowwise=True)
        if not truth.shape[0]:
            raise ValueError(f"{self.name} needs at least one row.")
        weight = None if sample_weight is None else as_weights(sample_weight, truth.shape[0])
        return self.for_labels(names_of_pair(Y, P)).measure(truth, prediction, weight)

    def for_labels(self, names: Iterable[Any], propensities: ArrayLike | None = None) -> Self:
        """Put what belongs to labels, such as prices by name, in the order of the labels, see :class:`clems.Cost`."""
        return replace(self, cost=self.cost.for_labels(names, propensities))

    @abstractmethod
    def measure(self, Y: Labels, P: Labels, weight: Weights) -> float:
        """Compute the value for labels and weights that have been checked."""

    def as_cost(self, value: Any) -> Any:
        """Turn a value into a cost, or a mean cost into a value: ``1 −`` it where greater is better."""
        return 1 - value if self.greater_is_better else value

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


@dataclass(frozen=True)
class MeanCost(Criterion):
    """The mean cost of rows, or ``1 −`` that of a cost that people report as a score."""

    def measure(self, Y: Labels, P: Labels, weight: Weights) -> float:
        """Compute the value for labels and weights that have been checked."""
        return float(self.as_cost(np.average(self.cost.of_rows(Y, P), weights=weight)))


@dataclass(frozen=True)
class LabelCriterion(Criterion):
    """A criterion of all rows together, computed from counts of labels and decided by thresholds of their marginals."""

    of_single_rows = False

    def measure(self, Y: Labels, P: Labels, weight: Weights) -> float:
        """Compute the value for labels and weights that have been checked."""
        return float(self.of_counts(counts.labelwise(Y, P, weight)))

    @abstractmethod
    def of_counts(self, c: Counts) -> Floats:
        """Value of counts of labels, which are along the last axis."""

    @abstractmethod
    def thresholds(self, marginals: Floats, weight: Weights) -> Floats:
        """Thresholds of marginals by which it is best if these are right: one for all labels, (1,), or each, (K,)."""


@dataclass(frozen=True)
class LabelF1(LabelCriterion):
    """F1 of labels over all rows together.

    Attributes
    ----------
    pooled : bool
        Whether the counts of all labels are added up first (micro F1), or the F1 of labels is averaged (macro F1).
    """

    pooled: bool = False

    def of_counts(self, c: Counts) -> Floats:
        """Value of counts of labels, which are along the last axis."""
        if self.pooled:
            tp, truth, predicted = (part.sum(axis=-1, keepdims=True) for part in (c.tp, c.truth, c.predicted))
            c = Counts(tp, truth, predicted, c.total * c.tp.shape[-1])
        # Unlike an empty row, a label that is neither true nor predicted anywhere shows no skill: it scores 0.
        return np.asarray(np.where(c.union > 0, 1 - f1(c), 0).mean(axis=-1))

    def thresholds(self, marginals: Floats, weight: Weights) -> Floats:
        """Thresholds of marginals by which it is greatest if these are right: of all labels, (1,), or of each, (K,)."""
        return (common_threshold if self.pooled else threshold_of_each_label)(marginals, weight)


def get_criterion(criterion: str | Criterion | Cost | Callable[[Any, Any], Any]) -> Criterion:
    """Resolve a criterion given by name, or as the cost or function whose mean it is.

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
        return mean_of(get_cost(criterion))
    except (TypeError, ValueError):
        names = ", ".join(sorted(CRITERIA))
        near = did_you_mean(criterion, CRITERIA, OTHER_NAMES) if isinstance(criterion, str) else ""
        known = f"{f'{near} T' if near else 't'}he criteria are {names}, a cost or a function."
        raise ValueError(f"Unknown criterion {criterion!r}; {known}") from None


def known_criterion(text: str) -> Criterion | None:
    """Find a criterion by its name in `CRITERIA`, or that of a cost with numbers, ``precision_at(3)``; None if none."""
    if text in CRITERIA:
        return CRITERIA[text]
    cost = cost_named(text)
    return None if cost is None else mean_of(cost)


def mean_of(cost: Cost) -> MeanCost:
    """Return the criterion that is the mean of a cost."""
    name, at, k = cost.name.partition("_at(")  # precision_at(3) is titled precision@3
    title = f"{TITLES.get(name, name)}@{k.rstrip(')')}" if at else TITLES.get(name, name.replace("_", " "))
    return MeanCost(cost.name, title, cost.as_score, cost)


class Criteria(MutableMapping[str, Criterion]):
    """Criteria by name: one for each of `COSTS`, whenever it was entered there, and those that are entered here."""

    def __init__(self, *entered: Criterion) -> None:
        self._entered = {one.name: one for one in entered}

    def __getitem__(self, name: str) -> Criterion:
        return self._entered[name] if name in self._entered else mean_of(COSTS[name])

    def __setitem__(self, name: str, criterion: Criterion) -> None:
        self._entered[name] = criterion

    def __delitem__(self, name: str) -> None:
        del self._entered[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**COSTS, **self._entered})

    def __len__(self) -> int:
        return len({**COSTS, **self._entered})


CRITERIA = Criteria(
    LabelF1("micro_f1", "micro F1", True, COSTS["f1"], pooled=True),
    LabelF1("macro_f1", "macro F1", True, COSTS["f1"]),
)


def label_criteria() -> dict[str, LabelCriterion]:
    """Return the criteria of all rows together, by name."""
    return {name: one for name, one in CRITERIA.items() if isinstance(one, LabelCriterion)}
