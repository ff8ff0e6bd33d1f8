"""Decisions: label vectors of least expected cost, what they are expected to cost, and the ways that CLEMS decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from clems.arrays import Bits, Floats, row_blocks
from clems.checks import check_count
from clems.costs.cost import Cost
from clems.decisions.best_candidate import best_candidate
from clems.decisions.by_row import decided_by_row, own_parts
from clems.decisions.nearest import nearest_candidate
from clems.decisions.rules import Decide, rule_for
from clems.decisions.search import expected_of_each
from clems.labels.matrix import as_dense

if TYPE_CHECKING:
    from clems.posterior.distribution import Posterior


TIE = 12  # decimals beyond which expected costs are taken for equal


def decide(posterior: Posterior, cost: Cost, sizes: range | None = None) -> Bits:
    """Predict the label vector of least expected cost for each row, by the rule for the cost.

    Parameters
    ----------
    posterior : Posterior
        Of n rows.
    cost : Cost
        Any cost.
    sizes : range or None, default=None
        Numbers of labels that a prediction may have; any by default.

    Returns
    -------
    ndarray of shape (n, K)
    """
    rule = rule_for(cost, posterior.rules, budget=sizes is not None)
    if rule.by_row and posterior.large:
        return decided_by_row(posterior, cost, rule.decide, sizes)
    return rule.decide(posterior, cost) if sizes is None else rule.decide(posterior, cost, sizes)


def roughly_decide(posterior: Posterior, cost: Cost) -> Bits:
    """Predict nearly the same in less time, where the rule for the cost has a way to."""
    rule = rule_for(cost, posterior.rules)
    if not rule.exact and rule.by_row and posterior.large:
        return decided_by_row(posterior, cost, rule.rough or rule.decide)
    return (rule.rough or rule.decide)(posterior, cost)


def best_of_candidates(posterior: Posterior, cost: Cost) -> Bits:
    """Predict the candidate of least expected cost; for a cost without an exact rule, search from there."""
    if not rule_for(cost).exact:
        return decide(posterior, cost)
    if posterior.large:
        return decided_by_row(posterior, cost, _best_of_candidates)
    return _best_of_candidates(posterior, cost)


def _best_of_candidates(posterior: Posterior, cost: Cost) -> Bits:
    return np.asarray(posterior.labels[best_candidate(posterior, cost)[0]])


def roughly_best_of_candidates(posterior: Posterior, cost: Cost) -> Bits:
    """Predict nearly the same in less time."""
    return best_of_candidates(posterior, cost) if rule_for(cost).exact else roughly_decide(posterior, cost)


@dataclass(frozen=True)
class Decoder:
    """A way of CLEMS to decide.

    Attributes
    ----------
    decide : callable
        Function of a posterior and a cost; returns label vectors, shape (n, K).
    rough : callable
        A quicker way to nearly the same decisions; the same function if there is none.
    applies : callable
        Function of a cost: whether it can be decided so.
    among_candidates : callable
        Function of a cost: whether it decides for label vectors of the posterior alone.
    by_points : bool
        Whether it decides by predicted points alone, so that there is no probability to choose the sharpness of.
    needs : str
        What costs that it does not apply to lack.
    how : str
        What it does, for a report: how a sentence goes on that began with "Then". ``{sets}`` stands for 2^K.
    """

    decide: Decide
    rough: Decide
    applies: Callable[[Cost], bool] = lambda _: True
    among_candidates: Callable[[Cost], bool] = lambda _: False
    by_points: bool = False
    needs: str = "another cost"
    how: str = "it decides in a way of its own"


# The simpler first; the last that applies is the usual one.
DECODERS: dict[str, Decoder] = {
    "nearest": Decoder(
        nearest_candidate,
        nearest_candidate,
        among_candidates=lambda _: True,
        by_points=True,
        how="it predicts a point of the embedded space and takes the label set nearest to it, as the paper does",
    ),
    "expected": Decoder(
        best_of_candidates,
        roughly_best_of_candidates,
        among_candidates=lambda cost: rule_for(cost).exact,
        how="it predicts the label set that it expects to cost least, of those seen in training and of what a search "
        "finds from there",
    ),
    "exact": Decoder(
        decide,
        roughly_decide,
        lambda cost: rule_for(cost).exact,
        needs="a cost with an exact rule",
        how="of all {sets} label sets it predicts the one that it expects to cost least",
    ),
}


def expected_costs(posterior: Posterior, cost: Cost, predicted: Bits) -> Floats:
    """Compute the expected cost of each row's prediction, shape (n,), in the way of the posterior."""
    return posterior.expected_of(cost, predicted)


def summed_costs(posterior: Posterior, cost: Cost, predicted: Bits) -> Floats:
    """Compute the expected cost of each row's prediction, ``Σ_i q_i · cost(S_i, P)``, shape (n,).

    A sum over labels is affine in the truth of each, so its expectation is its value at the marginals.
    """
    if cost.gain is not None:
        return cost.of_rows(posterior.marginals, predicted)
    lengths = np.diff(posterior.share.indptr)
    # Like the label vectors: both sparse, or both dense.
    given: Any = sparse.csr_array(predicted) if sparse.issparse(posterior.labels) else predicted
    result = np.empty(len(predicted))
    for rows in row_blocks(len(predicted), int(lengths.max(initial=1)) * predicted.shape[1], 1 << 22):
        part = posterior.share[rows]
        owner = np.repeat(np.arange(part.shape[0]), lengths[rows])
        costs = cost.of_rows(posterior.labels[part.indices], given[rows][owner])
        result[rows] = np.bincount(owner, part.data * costs, part.shape[0])
    return result


class TopK(NamedTuple):
    """The best label vectors of each row.

    Attributes
    ----------
    labels : ndarray of shape (n, k, K)
        The vectors, the prediction first.
    probability : ndarray of shape (n, k)
        How probable each is.
    expected_cost : ndarray of shape (n, k)
        What each is expected to cost.
    """

    labels: Bits
    probability: Floats
    expected_cost: Floats


def top_k(posterior: Posterior, cost: Cost, predicted: Bits, k: int) -> TopK:
    """List label vectors for each row: the prediction, then others in rising order of expected cost.

    Others are what the posterior offers: the candidates that rows share; where rows have vectors of their own, these,
    and the prediction with a single label changed, so that there are always enough; where labels are independent, the
    prefixes of the labels sorted by probability, and the prediction with a single label changed.

    Parameters
    ----------
    posterior : Posterior
        Of n rows.
    cost : Cost
        Any cost.
    predicted : ndarray of shape (n, K)
        Predictions.
    k : int
        How many; at most as many as there are candidates, or K + 1 where rows have vectors of their own.
    """
    return posterior.top_of(cost, predicted, check_count(k, "k", most=posterior.most_listed))


def top_of_shared(posterior: Posterior, cost: Cost, predicted: Bits, k: int) -> TopK:
    """List the prediction and the best of the candidates that rows share."""
    if posterior.large:
        return top_of_many(posterior, cost, predicted, k)
    n, L = posterior.share.shape
    result = TopK(np.empty((n, k, predicted.shape[1]), np.uint8), np.empty((n, k)), np.empty((n, k)))
    labels = posterior.labels
    between = cost.of_pairs(labels, labels) if cost.gain is None else None
    for rows in row_blocks(n, L):
        part, predictions = posterior.rows(rows), predicted[rows]
        share = part.share.toarray()
        # As in `summed_costs`, of a sum over labels.
        expected = np.asarray(part.share @ between) if cost.gain is None else cost.of_pairs(part.marginals, labels)
        same = np.array([(posterior.labels == vector).all(axis=1) for vector in predictions]).reshape(
            len(predictions), L
        )
        order = np.argsort(np.where(same, np.inf, expected), axis=1, kind="stable")[:, : k - 1]
        result.labels[rows, 0], result.labels[rows, 1:] = predictions, posterior.labels[order]
        result.probability[rows, 0] = (share * same).sum(axis=1)
        result.probability[rows, 1:] = np.take_along_axis(share, order, axis=1)
        result.expected_cost[rows, 0] = expected_costs(part, cost, predictions)
        result.expected_cost[rows, 1:] = np.take_along_axis(expected, order, axis=1)
    return result


def top_of_many(posterior: Posterior, cost: Cost, predicted: Bits, k: int) -> TopK:
    """List the prediction and the best of each row's own candidates, or of all where it has fewer than so many."""
    n, K = predicted.shape
    result = TopK(np.zeros((n, k, K), np.uint8), np.empty((n, k)), np.empty((n, k)))
    for row, own, columns in own_parts(posterior, predicted):
        part = posterior.share[[row]]
        truths, probability = posterior.labels[part.indices], part.data
        if len(own.labels) > k:
            candidates, expected = (
                own.labels,
                expected_of_each(cost.among(columns, K), own.share.data, own.labels, own.labels),
            )
        else:
            columns, candidates = np.arange(K), posterior.labels
            expected = expected_of_each(cost, probability, truths, candidates)
        same = _is(candidates, predicted[row, columns])
        order = np.argsort(np.where(same, np.inf, expected), kind="stable")[: k - 1]
        listed = result.labels[row]
        listed[0], listed[1:][:, columns] = predicted[row], as_dense(candidates[order])
        result.probability[row] = [probability[_is(truths, vector)].sum() for vector in listed]
        result.expected_cost[row] = expected_of_each(cost, probability, truths, listed)
    return result


def _is(labels: Any, vector: Bits) -> Any:
    """Whether each of several label vectors is a given one, shape (L,)."""
    hit, size = labels @ vector.astype(np.float64), labels.sum(axis=1, dtype=np.float64)
    return (hit == size) & (size == vector.sum())


def top_of_own(posterior: Posterior, cost: Cost, predicted: Bits, k: int) -> TopK:
    """List the prediction and the best of the row's own vectors and of changes of a single label."""
    (n, K), starts = predicted.shape, posterior.share.indptr
    result = TopK(np.empty((n, k, K), np.uint8), np.empty((n, k)), np.empty((n, k)))
    single = np.eye(K, dtype=np.uint8)
    for row in range(n):
        entries = slice(starts[row], starts[row + 1])
        share, truths = posterior.share.data[entries], posterior.labels[posterior.share.indices[entries]]
        # The prediction, vectors of the row, changes of one label: each once, where it comes first.
        tried = np.concatenate([predicted[row : row + 1], truths, predicted[row] ^ single])
        tried = tried[np.sort(np.unique(tried, axis=0, return_index=True)[1])]
        if cost.gain is None:
            expected = expected_of_each(cost, share, truths, tried)
        else:  # as in `summed_costs`, of a sum over labels
            expected = cost.of_pairs(posterior.marginals[[row]], tried)[0]
        order = np.concatenate([[0], 1 + np.argsort(np.round(expected[1:], TIE), kind="stable")])[:k]
        result.labels[row], result.expected_cost[row] = tried[order], expected[order]
        result.probability[row] = (tried[order][:, None] == truths).all(axis=2) @ share
    return result
