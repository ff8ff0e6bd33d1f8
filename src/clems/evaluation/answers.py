"""What a fitted model answers about rows, in one pass: predictions, what they are expected to cost, probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clems.arrays import Bits, Floats
from clems.costs.cost import Cost
from clems.labels.matrix import as_dense
from clems.learners.base import MultiLabelClassifier
from clems.learners.by_posterior import PosteriorClassifier
from clems.posterior.distribution import Posterior

HALF = "½ thresholds"  # what is compared with the labels more probable than ½ is called so


class Alternative(NamedTuple):
    """Another way to predict the same rows.

    Attributes
    ----------
    predicted : ndarray of shape (n, K)
        What it predicts.
    expected : ndarray of shape (n,) or None
        What the model expects that to cost.
    """

    predicted: Bits
    expected: Floats | None


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model answers about n rows; None, or fewer entries, where it has no answer.

    Attributes
    ----------
    predicted : ndarray of shape (n, K)
        What it predicts.
    expected : ndarray of shape (n,) or None
        What each prediction is expected to cost. Criteria of all rows together have no cost of single rows.
    marginals : ndarray of shape (n, K) or None
        How probable each label is.
    nearest : ndarray of shape (n, K) or None
        What the paper's decoding predicts.
    for_others : list of ndarray of shape (n, K)
        What it predicts for each of the other costs that it was asked for.
    against : dict of str to Alternative
        Other ways to predict these rows, if it was asked for any: ½ thresholds, where it has probabilities, and those
        that were given.
    further : list of ndarray
        What the caller asked besides.
    """

    predicted: Bits
    expected: Floats | None
    marginals: Floats | None
    nearest: Bits | None
    for_others: list[Bits]
    against: dict[str, Alternative]
    further: list[Any]


def answers_of(
    model: MultiLabelClassifier,
    X: Any,
    cost: Any = None,
    *,
    expected: bool = True,
    marginals: bool = True,
    paper: bool = False,
    others: Sequence[Cost] = (),
    against: Mapping[str, Bits] | None = None,
    at_most: int | None = None,
    exactly: int | None = None,
    further: Callable[[Posterior, slice], list[Any]] | None = None,
) -> Answers:
    """Ask a model about rows; one with a posterior reads each row once.

    Parameters
    ----------
    model : learner
        A fitted learner.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Features.
    cost : str, Cost or callable, default=None
        A cost other than the model's own to decide for, of a learner that decides for any.
    expected : bool, default=True
        Whether to compute what predictions are expected to cost.
    marginals : bool, default=True
        Whether to compute how probable labels are.
    paper : bool, default=False
        Whether to decide as the paper does, too.
    others : sequence of Cost
        Further costs to decide for, of such a learner.
    against : mapping of str to ndarray of shape (K,) or (n, K), default=None
        Other predictions, for every row or for each, whose expected costs are wanted, and those of ½ thresholds with
        them, if `expected` and `marginals` are.
    at_most, exactly : int, default=None
        Predict at most, or exactly, so many labels for each row; of a learner with a posterior.
    further : callable, default=None
        A question about the posterior by which the model decides for some rows: a function of these and of which rows
        they are; returns arrays with a row for each. Of a learner with a posterior.
    """
    if not isinstance(model, PosteriorClassifier):
        predicted = as_dense(model.predict(X) if cost is None else model.predict_each(X, [cost])[0]).astype(np.uint8)
        probabilities = model.predict_proba(X) if marginals and hasattr(model, "predict_proba") else None
        return Answers(
            predicted,
            None,
            probabilities,
            None,
            [as_dense(decided).astype(np.uint8) for decided in (model.predict_each(X, others) if others else [])],
            _alternatives(against, predicted.shape, probabilities, []),
            [],
        )
    row_cost = model.row_cost(cost) if expected else None
    decoders = [model.with_decoder("nearest")] if paper and hasattr(model, "with_decoder") else []
    with_half = against is not None and marginals and row_cost is not None
    given = [] if against is None or row_cost is None else [*against.values()]
    done = 0  # rows before the block that is asked about

    def question(posterior: Posterior) -> list[Any]:
        nonlocal done
        rows, done = slice(done, done + len(posterior)), done + len(posterior)
        own = model.posterior_for(posterior, cost)
        predicted = model.decide(own, cost, at_most=at_most, exactly=exactly)
        answers: list[Any] = [predicted]
        answers += [model.expected_of(own, cost, predicted)] if row_cost is not None else []
        answers += [posterior.marginals] if marginals else []
        answers += [decoder.decide(posterior) for decoder in decoders]
        compared = [at_half(posterior.marginals)] if with_half else []
        compared += [np.broadcast_to(one if one.ndim == 1 else one[rows], predicted.shape) for one in given]
        answers += [model.expected_of(own, cost, labels) for labels in compared] if row_cost is not None else []
        answers += [model.decide(posterior, one) for one in others]
        return answers + (further(own, rows) if further is not None else [])

    predicted, *rest = model.ask(X, question)
    found_expected = rest.pop(0) if row_cost is not None else None
    probabilities = rest.pop(0) if marginals else None
    nearest = rest.pop(0) if decoders else None
    costs, rest = rest[: with_half + len(given)], rest[with_half + len(given) :]
    return Answers(
        predicted,
        found_expected,
        probabilities,
        nearest,
        rest[: len(others)],
        _alternatives(against, predicted.shape, probabilities, costs),
        rest[len(others) :],
    )


def at_half(marginals: Floats) -> Bits:
    """Predict the labels that are more probable than ½."""
    return (marginals > 0.5).astype(np.uint8)


def _alternatives(
    against: Mapping[str, Bits] | None, shape: tuple[int, ...], marginals: Floats | None, costs: list[Floats]
) -> dict[str, Alternative]:
    """Join other predictions and their expected costs, ½ thresholds first."""
    if against is None:
        return {}
    half = {} if marginals is None else {HALF: at_half(marginals)}
    labels = {**half, **{name: np.broadcast_to(one, shape) for name, one in against.items()}}
    return {
        name: Alternative(one, costs[position] if costs else None)
        for position, (name, one) in enumerate(labels.items())
    }
