"""Exact decisions where labels are independent: the best of the K + 1 prefixes of the labels sorted by probability.

Let the cost depend on counts alone, ``c(tp, s, m)`` for s labels in the truth and m predicted, and let a hit never
raise it: ``c(tp + 1, s, m) ≤ c(tp, s, m)``. Take a prediction with label a and without label b, ``p_a < p_b``, and
exchange them: m stays. If both are true, or neither is, the cost stays, too. With t hits and r true labels among the
others, only a is true with probability ``p_a (1 − p_b)``, which was a hit and is none now, and only b with
``(1 − p_a) p_b``, the other way round. The difference of the two is ``p_b − p_a``, so the expected cost changes by

    (p_b − p_a) · E[c(t + 1, r + 1, m) − c(t, r + 1, m)] ≤ 0.

Hence of all predictions of size m none is better than the m most probable labels, and the best of all 2^K vectors, or
of those of some sizes, is the best *prefix* of these sizes. No cost needs to be affine for that. What a prefix is
expected to cost is a sum over Poisson-binomial distributions (`clems.decisions.poisson_binomial`):

- ``c = α(s, m) + β(s, m) · tp``, as F-measures are: ``Σ_s P(|y| = s) α(s, m) + β(s, m) Σ_{k ≤ m} P(y_k = 1, |y| = s)``,
  for all prefixes of a row in O(K · S) operations if S sizes matter.
- Other costs: hits and misses are sums of different labels, so they are independent,
  ``Σ_{t, f} P(tp = t) P(fn = f) c(t, t + f, m)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clems.arrays import Bits, Floats, Integers, row_blocks
from clems.costs.cost import Cost
from clems.costs.counts import Counts
from clems.decisions.by_size import affine_coefficients, best_of_each_size, first_of
from clems.decisions.decide import TIE as DECIMALS
from clems.decisions.decide import TopK
from clems.decisions.greatest_gain import greatest_gain, most_of_gain
from clems.decisions.poisson_binomial import common_window, of_sums, windows, with_each_label
from clems.decisions.rules import Rule, above_threshold, least_expected
from clems.decisions.weighted_top import greatest_marginal_weight

if TYPE_CHECKING:
    from clems.posterior.independent import IndependentPosterior

ENTRIES = 1 << 18  # of the arrays of a block of rows: as much as a processor has at hand
COUNTED = 1 << 22  # of those for costs that are not affine, whose formula is evaluated once for a block
ALL_COUNTS = 64  # labels up to which a property of a formula is checked for all counts
TIE = 1e-12  # costs of prefixes that differ by less, relatively, are equal; the shortest is taken


def best_prefix(posterior: IndependentPosterior, cost: Cost, sizes: range | None = None) -> Bits:
    """Predict the vector of least expected cost of all 2^K, or of those of some sizes; for a cost with `hits_help`."""
    n, K = posterior.marginals.shape
    allowed = np.isin(np.arange(K + 1), range(K + 1) if sizes is None else sizes)
    decided = np.empty((n, K), np.uint8)
    for rows, order, p in _sorted_blocks(posterior.marginals, ENTRIES if cost.affine_in_tp else COUNTED):
        costs = np.where(allowed, prefix_costs(p, cost), np.inf)
        least = costs.min(axis=1, keepdims=True)
        size = (costs <= least + TIE * abs(least)).argmax(axis=1)
        in_block = np.empty((len(rows), K), np.uint8)
        np.put_along_axis(in_block, order, first_of(size, K), axis=1)
        decided[rows] = in_block
    return decided


def _sorted_blocks(marginals: Floats, entries: int) -> Iterator[tuple[Integers, Integers, Floats]]:
    """Yield blocks of rows of similar size: their numbers, the order of their labels, and the sorted marginals."""
    n, K = marginals.shape
    mean, variance = marginals.sum(axis=1), (marginals * (1 - marginals)).sum(axis=1)
    least, most = windows(mean, variance, K)
    by_size = np.argsort(mean, kind="stable")
    for block in row_blocks(n, K * int((most - least + 1).max(initial=1)), entries):
        rows = by_size[block]
        order = np.argsort(-marginals[rows], axis=1, kind="stable")
        yield rows, order, np.take_along_axis(marginals[rows], order, axis=1)


def prefix_costs(p: Floats, cost: Cost) -> Floats:
    """Compute the expected cost of the first m labels, for each m from 0 to K, shape (n, K + 1).

    Parameters
    ----------
    p : ndarray of shape (n, K)
        Marginals of independent labels, those of a row in falling order.
    cost : Cost
        With a formula.
    """
    return _affine_prefix_costs(p, cost) if cost.affine_in_tp else _counted_prefix_costs(p, cost)


def _affine_prefix_costs(p: Floats, cost: Cost) -> Floats:
    K = p.shape[1]
    first, width = common_window(p)
    intercept, slope = (coefficients[first : first + width] for coefficients in affine_coefficients(cost, K))
    sums = of_sums(p, first, width)
    hits = with_each_label(p, sums)
    np.cumsum(hits, axis=2, out=hits)  # E[tp of the first m labels; |y| = s]
    expected = sums @ intercept  # Σ_s P(|y| = s) α(s, m)
    expected[:, 1:] += np.einsum("sm,snm->nm", slope[:, 1:], hits)
    return expected


def _counted_prefix_costs(p: Floats, cost: Cost) -> Floats:
    assert cost.formula is not None
    n, K = p.shape
    expected = np.empty((n, K + 1))
    missed = [*_running_sums(p[:, ::-1])][::-1]  # of the labels after the first m
    for m, ((tp, of_tp), (fn, of_fn)) in enumerate(zip(_running_sums(p), missed, strict=True)):
        costs = cost.formula(Counts(tp[:, None], tp[:, None] + fn, np.array(float(m)), float(K)))
        expected[:, m] = ((of_tp @ np.broadcast_to(costs, (len(tp), len(fn)))) * of_fn).sum(axis=1)
    return expected


def _running_sums(p: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield for m from 0 to K the counts that matter of the first m labels, and their probabilities, shape (n, W)."""
    n, K = p.shape
    each_least, each_most = windows(np.cumsum(p, axis=1), np.cumsum(p * (1 - p), axis=1), K)
    # Of all rows of the block; a count that matters later on is kept from the beginning.
    least = np.minimum.accumulate(each_least.min(axis=0)[::-1])[::-1].tolist()
    most = np.minimum(each_most.max(axis=0), np.arange(1, K + 1)).tolist()
    sums = np.zeros((n, K + 2))  # column s + 1 is of the count s, the first one always 0
    sums[:, 1] = 1
    low = 0
    yield np.zeros(1), sums[:, 1:2].copy()
    for m in range(K):
        up = most[m]
        counts = slice(low + 1, up + 2)
        # P(s) ← (1 − p) P(s) + p P(s − 1)
        sums[:, counts] += p[:, m, None] * (sums[:, low : up + 1] - sums[:, counts])
        sums[:, low + 1 : least[m] + 1] = 0
        low = least[m]
        yield np.arange(low, up + 1.0), sums[:, low + 1 : up + 2].copy()


@lru_cache(256)
def hits_help(cost: Cost, K: int) -> bool:
    """Whether the cost depends on counts alone, and a hit more, with the same sizes, never raises it.

    It is computed for all counts of up to `ALL_COUNTS` labels; of more, for so many sizes of truth and of prediction.
    """
    if cost.formula is None:
        return False
    sizes = np.unique(np.linspace(0, K, min(K, ALL_COUNTS) + 1).round())
    m, s, tp = np.meshgrid(sizes, sizes, np.arange(K + 1.0), indexing="ij", sparse=True)
    possible = (tp + 1 <= np.minimum(s, m)) & (tp >= s + m - K)
    with np.errstate(all="ignore"):  # of counts that are not possible
        now, more = (np.broadcast_to(cost.formula(Counts(hit, s, m, float(K))), possible.shape) for hit in (tp, tp + 1))
    return bool(((more <= now + TIE * abs(now)) | ~possible).all())


def most_probable(posterior: IndependentPosterior, cost: Cost, sizes: range | None = None) -> Bits:  # noqa: ARG001
    """Predict the likeliest vector, or the likeliest of some sizes: a label gains by as much as it is above ½."""
    return most_of_gain(posterior.marginals - 0.5, sizes)


def over_vectors(posterior: IndependentPosterior, cost: Cost, sizes: range | None = None) -> Bits:
    """Predict a vector of small expected cost, for any cost: search over label vectors that stand for all."""
    decided = np.empty(posterior.marginals.shape, np.uint8)
    for rows in posterior.blocks():
        part = posterior.rows(rows).as_vectors()
        decided[rows] = least_expected(part, cost) if sizes is None else least_expected(part, cost, sizes)
    return decided


@lru_cache(64)
def independent_rules(K: int) -> dict[str, Rule]:
    """Rules for K independent labels; the last that applies is used."""
    hits = partial(hits_help, K=K)
    return {
        "expected": Rule(over_vectors, lambda _: True, exact=False, budget=True),
        "size": Rule(best_of_each_size, lambda cost: cost.affine_in_tp, exact=True, budget=True),
        "prefix": Rule(best_prefix, hits, exact=True, budget=True),
        "mode": Rule(most_probable, lambda cost: cost.uniform, exact=True, budget=True),
        "gain": Rule(greatest_gain, lambda cost: cost.gain is not None, exact=True, budget=True),
        "top": Rule(greatest_marginal_weight, lambda cost: cost.top is not None, exact=True, budget=True),
        "threshold": Rule(above_threshold, lambda cost: cost.threshold is not None, exact=True),
    }


def expected_independent(posterior: IndependentPosterior, cost: Cost, predicted: Bits) -> Floats:
    """Compute the expected cost of each row's prediction, shape (n,)."""
    if cost.gain is not None:  # a sum over labels is affine in each of them, so its expectation is its value there
        return cost.of_rows(posterior.marginals, predicted)
    if (known := cost.of_independent(posterior.marginals, predicted)) is not None:
        return known
    result = np.empty(len(predicted))
    if cost.formula is None:
        for rows in posterior.blocks():
            result[rows] = posterior.rows(rows).as_vectors().expected_of(cost, predicted[rows])
        return result
    K = predicted.shape[1]
    for rows in row_blocks(len(predicted), 1, max(1, ENTRIES // (K + 1))):
        p, predictions = posterior.marginals[rows], predicted[rows]
        hit, missed = p * predictions, p * (1.0 - predictions)
        (first_hit, hits), (first_missed, misses) = (common_window(part) for part in (hit, missed))
        of_tp, of_fn = of_sums(hit, first_hit, hits), of_sums(missed, first_missed, misses)
        tp, fn = first_hit + np.arange(hits), first_missed + np.arange(misses)
        for block in row_blocks(len(predictions), hits * misses, ENTRIES):
            size = predictions[block].sum(axis=1, dtype=np.float64)[:, None, None]
            result[rows][block] = _expected_counts(cost, of_tp[block], of_fn[block], tp, fn, size, K)
    return result


def _expected_counts(cost: Cost, of_tp: Floats, of_fn: Floats, tp: Any, fn: Any, size: Floats, K: int) -> Floats:
    """Compute ``Σ_{t, f} P(tp = t) P(fn = f) c(t, t + f, m)``; counts that the size rules out have no weight."""
    assert cost.formula is not None
    hits = np.minimum(tp[:, None], size)  # so that the formula is asked of possible counts alone
    misses = np.minimum(fn, K - size)
    costs = np.broadcast_to(cost.formula(Counts(hits, hits + misses, size, float(K))), (len(size), len(tp), len(fn)))
    return np.asarray(((of_tp[:, None, :] @ costs)[:, 0] * of_fn).sum(axis=1))


def top_independent(posterior: IndependentPosterior, cost: Cost, predicted: Bits, k: int) -> TopK:
    """List the prediction of each row, then others in rising order of expected cost.

    Others are the prefixes of the labels sorted by probability, and the prediction with a single label changed.
    """
    n, K = predicted.shape
    result = TopK(np.empty((n, k, K), np.uint8), np.empty((n, k)), np.empty((n, k)))
    for row in range(n):
        p = posterior.marginals[row]
        tried = _others(p, cost, predicted[row], k)
        expected = posterior.rows(np.full(len(tried), row)).expected_of(cost, tried)
        order = np.concatenate([[0], 1 + np.argsort(np.round(expected[1:], DECIMALS), kind="stable")])[:k]
        result.labels[row], result.expected_cost[row] = tried[order], expected[order]
        result.probability[row] = np.where(tried[order] == 1, p, 1 - p).prod(axis=1)
    return result


def _others(p: Floats, cost: Cost, predicted: Bits, k: int) -> Bits:
    """List the prediction, prefixes, and changes of one label, each once, where it comes first.

    Where a hit never raises the cost, of two labels to add the more probable is better, and of two to remove the less
    probable: then k of each are enough, and the k best prefixes.
    """
    K = len(p)
    order = np.argsort(-p, kind="stable")
    sizes, labels = np.arange(K + 1), np.arange(K)
    if hits_help(cost, K):
        sizes = np.argsort(prefix_costs(p[None, order], cost)[0], kind="stable")[: k + 1]
        there = predicted[order] == 1
        labels = np.concatenate([order[~there][:k], order[there][::-1][:k]])
    prefixes = np.zeros((len(sizes), K), np.uint8)
    prefixes[:, order] = first_of(sizes, K)
    tried = np.concatenate([predicted[None], prefixes, predicted ^ np.eye(K, dtype=np.uint8)[labels]])
    return np.asarray(tried[np.sort(np.unique(tried, axis=0, return_index=True)[1])])
