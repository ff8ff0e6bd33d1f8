"""Rules: which way leads from a posterior and a cost to the least expected cost; `RULES`, the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from clems.arrays import Bits
from clems.costs.cost import Cost
from clems.decisions.best_candidate import roughly_searched_from_candidates, searched_from_candidates
from clems.decisions.by_size import best_of_each_size, roughly_best_of_each_size
from clems.decisions.greatest_gain import greatest_gain
from clems.decisions.search import best_within, expected_of_each, improved, most_probable_of
from clems.decisions.weighted_top import greatest_expected_weight
from clems.labels.matrix import as_dense

if TYPE_CHECKING:
    from clems.posterior.distribution import Posterior

# From a posterior and a cost to label vectors; one that keeps to budgets takes the allowed numbers of labels, too.
Decide = Callable[..., Bits]


@dataclass(frozen=True)
class Rule:
    """A way to decide by least expected cost.

    Attributes
    ----------
    decide : callable
        Function of a posterior and a cost and, if it can keep to a budget, a range of numbers of labels; returns label
        vectors, shape (n, K).
    applies : callable
        Function of a cost: whether the rule may be used for it.
    exact : bool
        Whether no label vector at all, or none of an allowed size, has a smaller expected cost than the one it returns.
    rough : callable or None, default=None
        A quicker way to nearly the same decisions, for choices on held-out rows; None if there is none.
    budget : bool, default=False
        Whether it can decide among vectors of allowed sizes alone.
    by_row : bool, default=False
        Whether it decides row by row, by what each row has, where there are many label vectors or labels.
    """

    decide: Decide
    applies: Callable[[Cost], bool]
    exact: bool
    rough: Decide | None = None
    budget: bool = False
    by_row: bool = False


def rule_for(cost: Cost, rules: Mapping[str, Rule] | None = None, *, budget: bool = False) -> Rule:
    """Return the last rule that applies to a cost.

    Parameters
    ----------
    cost : Cost
        Any cost.
    rules : mapping of str to Rule, default=None
        The rules of a posterior; by default `RULES`.
    budget : bool, default=False
        Whether the number of labels is restricted.
    """
    among = reversed([*(RULES if rules is None else rules).values()])
    return next(rule for rule in among if rule.applies(cost) and (rule.budget or not budget))


def above_threshold(posterior: Posterior, cost: Cost) -> Bits:
    """Predict the labels whose marginal exceeds the cost's threshold."""
    assert cost.threshold is not None
    return (posterior.marginals > cost.threshold(posterior.marginals)).astype(np.uint8)


def most_likely(posterior: Posterior, cost: Cost, sizes: range | None = None) -> Bits:  # noqa: ARG001
    """Predict the likeliest vector, or the likeliest of some sizes.

    Where no vector that the row may have is of an allowed size, all of these are equally wrong: it gets as many of its
    most probable labels as it may have.
    """
    if sizes is not None:
        return _most_likely_within(posterior, sizes)
    best = [start + posterior.likelihood[start:end].argmax() for start, end in pairwise(posterior.share.indptr)]
    return as_dense(posterior.labels[posterior.share.indices[best]])


def _most_likely_within(posterior: Posterior, sizes: range) -> Bits:
    allowed = np.isin(posterior.sizes[posterior.share.indices], sizes)
    decided = most_probable_of(posterior.marginals, sizes.stop - 1)
    for row, (start, end) in enumerate(pairwise(posterior.share.indptr)):
        entries = start + np.flatnonzero(allowed[start:end])
        if len(entries):
            best = posterior.share.indices[entries[posterior.likelihood[entries].argmax()]]
            decided[row] = as_dense(posterior.labels[[best]])[0]
    return decided


def least_expected(posterior: Posterior, cost: Cost, sizes: range | None = None) -> Bits:
    """Predict a vector of small expected cost, for any cost: the best of the row's candidates, improved by search."""
    if sizes is not None:
        return best_within(posterior, cost, sizes)
    if posterior.shared:
        return searched_from_candidates(posterior, cost)
    starts = posterior.share.indptr
    start = np.empty(posterior.marginals.shape, np.uint8)
    least = np.empty(len(start))
    for row in range(len(start)):
        entries = slice(starts[row], starts[row + 1])
        share, truths = posterior.share.data[entries], posterior.labels[posterior.share.indices[entries]]
        expected = expected_of_each(cost, share, truths, truths)
        best = expected.argmin()
        start[row], least[row] = truths[best], expected[best]
    return improved(posterior, cost, start, least)


# The last that applies is used: the first one applies to all costs, and the cheaper of two comes later.
RULES = {
    "expected": Rule(
        least_expected, lambda _: True, exact=False, rough=roughly_searched_from_candidates, budget=True, by_row=True
    ),
    "mode": Rule(most_likely, lambda cost: cost.uniform, exact=True, budget=True),
    "size": Rule(
        best_of_each_size,
        lambda cost: cost.affine_in_tp,
        exact=True,
        rough=roughly_best_of_each_size,
        budget=True,
    ),
    "gain": Rule(greatest_gain, lambda cost: cost.gain is not None, exact=True, budget=True),
    "top": Rule(greatest_expected_weight, lambda cost: cost.top is not None, exact=True, budget=True),
    "threshold": Rule(above_threshold, lambda cost: cost.threshold is not None, exact=True),
}
