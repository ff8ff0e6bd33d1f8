"""From what a model predicts to label vectors: the nearest point, or the least expected cost under a distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.cost import Cost
from clems.counts import Counts, Floats, row_blocks

Vectors = NDArray[np.uint8]


def nearest(points: Floats, among: Floats) -> NDArray[np.intp]:
    """Index of the row of `among` nearest to each point; the first of several.

    Parameters
    ----------
    points : ndarray of shape (n, M)
    among : ndarray of shape (L, M)

    Returns
    -------
    ndarray of shape (n,)
    """
    half = np.einsum("ij,ij->i", among, among) / 2
    index = np.empty(len(points), np.intp)
    for rows in row_blocks(len(points), len(among)):
        index[rows] = (half - points[rows] @ among.T).argmin(axis=1)  # ‖z − p‖² up to what does not depend on p
    return index


@dataclass(frozen=True)
class Posterior:
    """For each row a distribution of label vectors.

    Attributes
    ----------
    labels : ndarray of shape (L, K)
        Label vectors, which rows may share or not.
    share : CSR array of shape (n, L)
        How probable each vector is for each row; rows sum to 1.
    marginals : ndarray of shape (n, K)
        How probable each label is for each row.
    likelihood : ndarray of shape (share.nnz,)
        Numbers by which the vectors of a row compare, one for each stored entry of `share`; the shares themselves, or
        what they estimate.
    """

    labels: Vectors
    share: Any
    marginals: Floats
    likelihood: Floats

    def part(self, rows: Any) -> Posterior:
        """Return the distributions of some rows, by their numbers or a slice."""
        likelihood = sparse.csr_array((self.likelihood, self.share.indices, self.share.indptr), self.share.shape)
        return Posterior(self.labels, self.share[rows], self.marginals[rows], likelihood[rows].data)


def dense_if_full(share: Any) -> Any:
    """Shares as they multiply fastest; sums may then depend, up to rounding, on the company of a row."""
    return share.toarray() if share.nnz > FULL * share.shape[0] * share.shape[1] else share


def marginals_of(share: Any, labels: Vectors) -> Floats:
    """How probable each label is for each row, where distributions are shares of common vectors, shape (n, K)."""
    few = sparse.issparse(share) and labels.mean() < SPARSE
    sums = (share @ sparse.csr_array(labels, dtype=np.float64)).toarray() if few else share @ labels.astype(np.float64)
    return np.asarray(np.minimum(sums, 1))  # up to rounding they are at most 1


FULL = 0.1  # share of numbers that are not zero above which a dense matrix multiplies faster
SPARSE = 0.1  # share of ones below which label vectors are multiplied as a sparse matrix


@dataclass(frozen=True)
class Rule:
    """A way to decide by least expected cost.

    Attributes
    ----------
    decide : callable
        Function of a cost and a posterior; returns label vectors, shape (n, K).
    applies : callable
        Function of a cost: whether the rule may be used for it.
    exact : bool
        Whether no label vector at all has a smaller expected cost than the one it returns.
    roughly : callable or None, default=None
        A quicker way to nearly the same decisions, where there is one.
    """

    decide: Callable[[Cost, Posterior], Vectors]
    applies: Callable[[Cost], bool]
    exact: bool
    roughly: Callable[[Cost, Posterior], Vectors] | None = None


def rule_for(cost: Cost) -> Rule:
    """Return the first rule of `RULES` that applies to a cost."""
    return next(rule for rule in RULES.values() if rule.applies(cost))


def above_threshold(cost: Cost, posterior: Posterior) -> Vectors:
    """Predict the labels whose marginal exceeds the cost's threshold."""
    assert cost.threshold is not None
    return (posterior.marginals > cost.threshold(posterior.marginals)).astype(np.uint8)


def best_of_each_size(cost: Cost, posterior: Posterior, *, quickly: bool = False) -> Vectors:
    """Exact decision for a cost that is affine in the true positives, over all 2^K vectors.

    With s labels in the truth and m predicted, the cost is α(s, m) + β(s, m) · tp. So among the predictions of size m
    the best one has the m labels of smallest ``Σ_i q_i β(|S_i|, m) S_ik``, and the best of those K + 1 is the best of
    all. For F-measures this is the general F-measure maximiser.

    Parameters
    ----------
    cost : Cost
        With `affine_in_tp`.
    posterior : Posterior
        Distribution of label vectors of n rows.
    quickly : bool, default=False
        Whether to take the m most probable labels instead, and to tell truths of similar size apart no more if there
        are many sizes: nearly as good, and less work by a factor of K.
    """
    n, K = posterior.marginals.shape
    sizes, place = np.unique(posterior.labels.sum(axis=1, dtype=np.intp), return_inverse=True)
    intercept, slope = (coefficients[sizes] for coefficients in affine_coefficients(cost, K))
    most, fewest = hits_within(sizes[:, None], np.arange(K + 1), K)
    lowest = intercept + np.minimum(slope * most, slope * fewest)  # with as many hits as suit the cost
    if quickly and len(sizes) > FEW:
        similar = np.arange(len(sizes)) * FEW // len(sizes)
        intercept, slope = (
            np.stack([own[similar == which].mean(axis=0) for which in range(FEW)]) for own in (intercept, slope)
        )
        sizes, place = sizes[:FEW], similar[place]
    labels = posterior.labels.astype(np.float64)
    decided = np.empty((n, K), np.uint8)
    for rows in row_blocks(n, (2 if quickly else K) * (K + 1 + len(sizes)), 1 << 20):
        true, mass = _by_size(posterior.share[rows], labels, place, len(sizes), quickly)
        expected = mass @ intercept
        if quickly:
            order = np.argsort(-posterior.marginals[rows], axis=1, kind="stable")
            hits = true[np.arange(len(mass))[:, None], :, order]
            np.cumsum(hits, axis=1, out=hits)
            expected[:, 1:] += np.einsum("sm,nms->nm", slope[:, 1:], hits)
            best = expected.argmin(axis=1)
        else:
            best = _best_size(expected, mass @ lowest, slope, true)
            order = np.einsum("sn,nsk->nk", slope[:, best], true).argsort(axis=1, kind="stable")
        np.put_along_axis(decided[rows], order, (np.arange(K) < best[:, None]).astype(np.uint8), axis=1)
    return decided


def _best_size(without: Floats, lowest: Floats, slope: Floats, true: Floats) -> NDArray[np.intp]:
    """Find the size of prediction of least expected cost, for each row of a block.

    Parameters
    ----------
    without : ndarray of shape (n, K + 1)
        Expected cost of each size but for the labels that are hit.
    lowest : ndarray of shape (n, K + 1)
        A bound: what it would be if of every truth as much were hit as the size lets it.
    slope : ndarray of shape (S, K + 1)
        What a hit adds to the cost, for each size of truth and of prediction.
    true : ndarray of shape (n, S, K)
        How probable labels are together with each size of truth.
    """
    expected = np.full_like(without, np.inf)
    for step in (STRIDE, 1):  # every so many sizes first; then no more than those whose bound is below what was found
        promising = (lowest * GAIN <= expected.min(axis=1, keepdims=True)).any(axis=0) & np.isinf(expected[0])
        sizes = np.flatnonzero(promising[::step]) * step
        added = slope[:, sizes].T @ true  # what a label adds to the cost of a prediction of each size
        for which, m in enumerate(sizes.tolist()):
            smallest = np.partition(added[:, which], max(m - 1, 0), axis=1)[:, :m]
            expected[:, m] = without[:, m] + smallest.sum(axis=1)
    return np.asarray(expected.argmin(axis=1))


def _by_size(share: Any, labels: Floats, place: NDArray[np.intp], count: int, quickly: bool) -> tuple[Floats, Floats]:
    """Sum up the truths of each size: how probable labels are with it, shape (n, count, K), and it is, (n, count)."""
    n, K = share.shape[0], labels.shape[1]
    dense = dense_if_full(share) if quickly else share
    if not sparse.issparse(dense):
        true = np.empty((n, count, K))
        for which in range(count):
            own = place == which
            true[:, which] = dense[:, own] @ labels[own]
        return true, dense @ np.eye(count)[place]
    entries = share.tocoo()
    # One row for each row and size of truth, so that one product sums up the truths of every size.
    apart = sparse.csr_array(
        (entries.data, (entries.row * count + place[entries.col], entries.col)), (n * count, len(labels))
    )
    return (apart @ labels).reshape(n, count, K), apart.sum(axis=1).reshape(n, count)


FEW = 8  # sizes of truths that a quick decision tells apart
STRIDE = 8  # of the sizes of predictions that are tried first


def hits_within(s: Any, m: Any, K: int) -> tuple[Any, Any]:
    """Return how many of s true labels a prediction of m labels hits at most, and at least, if there are K."""
    return np.minimum(s, m), np.maximum(s + m - K, 0)


@lru_cache(8)
def affine_coefficients(cost: Cost, K: int) -> tuple[Floats, Floats]:
    """Coefficients α and β of ``α(s, m) + β(s, m) · tp`` for s true and m predicted labels, shape (K + 1, K + 1)."""
    stairs = np.tri(K + 1, K, -1, dtype=np.uint8)  # row s holds the first s labels
    s, m = np.ogrid[: K + 1, : K + 1]
    most, fewest = hits_within(s, m, K)
    highest, lowest = cost.pairwise(stairs, stairs), cost.pairwise(stairs, stairs[:, ::-1])
    beta = (highest - lowest) / np.maximum(most - fewest, 1)
    return lowest - beta * fewest, beta


def most_likely(cost: Cost, posterior: Posterior) -> Vectors:  # noqa: ARG001
    """Predict the likeliest vector."""
    best = [start + posterior.likelihood[start:end].argmax() for start, end in pairwise(posterior.share.indptr)]
    return np.asarray(posterior.labels[posterior.share.indices[best]])


def least_expected(cost: Cost, posterior: Posterior) -> Vectors:
    """Predict a vector of small expected cost, for any cost.

    Considered are the vectors of the row's distribution and the prefixes of its labels sorted by their marginals; the
    best of these is then changed by one label at a time, as long as that helps.
    """
    starts = posterior.share.indptr
    start = np.empty(posterior.marginals.shape, np.uint8)
    least = np.empty(len(start))
    for row in range(len(start)):
        own = slice(starts[row], starts[row + 1])
        share, truths = posterior.share.data[own], posterior.labels[posterior.share.indices[own]]
        expected = _expected(cost, share, truths, truths)
        best = expected.argmin()
        start[row], least[row] = truths[best], expected[best]
    return improved(cost, posterior, start, least)


def best_candidate(cost: Cost, posterior: Posterior) -> tuple[NDArray[np.intp], Floats]:
    """Find the vector of least expected cost among all vectors that rows share, and that cost; both of shape (n,).

    Of those that are equal up to rounding it is the first.
    """
    n, L = posterior.share.shape
    share = dense_if_full(posterior.share)
    best, least = np.zeros(n, np.intp), np.full(n, np.inf)
    for block in row_blocks(L, max(n, L), 1 << 22):
        expected = np.asarray(share @ cost.pairwise(posterior.labels, posterior.labels[block]))
        value = expected.min(axis=1)
        own = (expected * GAIN <= value[:, None]).argmax(axis=1)
        better = value < least * GAIN
        best[better], least[better] = block.start + own[better], value[better]
    return best, least


def improvable(
    cost: Cost, posterior: Posterior, best: NDArray[np.intp], least: Floats, *, quickly: bool = False
) -> NDArray[np.intp]:
    """Find the rows for which a search from their best candidate finds something.

    Rows that consider the same vector are taken together, so that its costs are computed once for all of them. Where
    few of them start from the same candidate, that does not pay: all rows are returned.

    Parameters
    ----------
    cost : Cost
        Any cost.
    posterior : Posterior
        Distribution of label vectors of n rows.
    best : ndarray of shape (n,)
        Place of the candidate of each row.
    least : ndarray of shape (n,)
        Their expected costs.
    quickly : bool, default=False
        Whether only prefixes are considered.

    Returns
    -------
    ndarray of shape (m,)
    """
    labels, K = posterior.labels, posterior.labels.shape[1]
    found = np.zeros(len(best), bool)
    names = np.random.default_rng(0).integers(2**62, size=(K,))  # sums of which name sets of labels
    for rows in row_blocks(len(best), len(labels)):
        starts, which = np.unique(best[rows], return_inverse=True)
        if len(starts) > ALIKE * len(which):
            found[rows] = True
            continue
        share, marginals, wanted = posterior.share[rows].toarray(), posterior.marginals[rows], least[rows] * GAIN
        order = np.argsort(-marginals, axis=1, kind="stable")
        prefixes, named = np.zeros(marginals.shape, np.uint8), np.zeros(len(marginals), np.int64)
        hits = np.zeros(len(marginals))
        for size in range(1 + int((marginals > RARE).sum(axis=1).max(initial=0))):
            if size:
                label = order[:, size - 1]
                prefixes[np.arange(len(label)), label] = 1
                named += names[label]
                hits += marginals[np.arange(len(label)), label]
            floor, slope = least_line(cost.formula, K, size)
            able = floor + slope * hits < wanted
            if not able.any():
                continue
            some: Any = slice(None) if able.mean() > 0.5 else np.flatnonzero(able)  # to pick most takes longer than all
            _, first, place = np.unique(named[some], return_index=True, return_inverse=True)
            costs = np.ascontiguousarray(cost.pairwise(labels, prefixes[some][first]).T)
            found[rows][some] |= np.einsum("ij,ij->i", share[some], costs[place]) < wanted[some]
        for number, start in enumerate([] if quickly else starts):
            own = np.flatnonzero(which == number)
            expected = share[own] @ cost.pairwise(labels, labels[start] ^ np.eye(K, dtype=np.uint8))
            found[rows.start + own] |= expected.min(axis=1) < wanted[own]
    return np.flatnonzero(found)


@lru_cache(1024)
def least_line(formula: Callable[[Counts], Floats] | None, K: int, size: int) -> tuple[float, float]:
    """Numbers a and b such that so many predicted labels, tp of them true, cost at least ``a + b · tp``."""
    if formula is None:
        return 0.0, 0.0
    tp, true = np.ogrid[: size + 1.0, : K + 1.0]
    costs = formula(Counts(tp, true, np.array(float(size)), float(K)))
    least = np.where((tp <= true) & (true + size - tp <= K), costs, np.inf).min(axis=1)
    return float(least[0]), float(((least[1:] - least[0]) / np.arange(1, size + 1)).min(initial=0))


ALIKE = 0.25  # candidates for each row up to which rows are taken together


def improved(cost: Cost, posterior: Posterior, start: Vectors, least: Floats, *, quickly: bool = False) -> Vectors:
    """Improve predictions of known expected cost by search.

    Each is compared with the prefixes of the row's labels sorted by their marginals; the best of these is then changed
    by one label at a time, as long as that helps.

    Parameters
    ----------
    cost : Cost
        Any cost.
    posterior : Posterior
        Distribution of label vectors of n rows.
    start : ndarray of shape (n, K)
        Predictions to begin with.
    least : ndarray of shape (n,)
        Their expected costs.
    quickly : bool, default=False
        Whether to do only what is cheap: prefixes, and these only for costs that depend on nothing but counts.
    """
    if quickly and cost.formula is None:
        return start
    decided = start.copy()
    lengths = np.diff(posterior.share.indptr)
    for rows in row_blocks(len(start), int(lengths.max(initial=1)) * start.shape[1], 1 << 19):
        if cost.formula is None:
            decided[rows] = _search_by_pairs(cost, posterior, rows, decided[rows], least[rows].copy())
        else:
            decided[rows] = _search_by_counts(cost, posterior, rows, decided[rows], least[rows], quickly)
    return decided


GAIN = 1 - 1e-12  # a tie by another order of adding is no gain
RARE = 0.01  # labels less probable than this are not added by a search that counts


def _search_by_pairs(cost: Cost, posterior: Posterior, rows: slice, decided: Vectors, least: Floats) -> Vectors:
    """Search row by row, for costs of which nothing is known but the vectors they compare."""
    K = decided.shape[1]
    single, stairs = np.eye(K, dtype=np.uint8), np.tri(K + 1, K, -1, dtype=np.uint8)
    starts = posterior.share.indptr
    for place, row in enumerate(range(rows.start, rows.stop)):
        own = slice(starts[row], starts[row + 1])
        share, truths = posterior.share.data[own], posterior.labels[posterior.share.indices[own]]
        tried = np.empty_like(stairs)
        tried[:, np.argsort(-posterior.marginals[row], kind="stable")] = stairs
        while True:
            expected = _expected(cost, share, truths, tried)
            best = expected.argmin()
            if expected[best] < least[place] * GAIN:
                least[place], decided[place] = expected[best], tried[best]
            elif len(tried) == K:  # no change of a single label helps any more
                break
            tried = decided[place] ^ single
    return decided


def _expected(cost: Cost, share: Floats, truths: Vectors, predictions: Vectors) -> Floats:
    """Return the expected cost of each prediction under one distribution."""
    blocks = row_blocks(len(predictions), len(truths))
    return np.concatenate([share @ cost.pairwise(truths, predictions[block]) for block in blocks])


def _search_by_counts(
    cost: Cost, posterior: Posterior, rows: slice, decided: Vectors, least: Floats, prefixes_only: bool
) -> Vectors:
    """Search for all rows at once, for costs that depend on nothing but counts."""
    assert cost.formula is not None
    share, truths = _padded(posterior, rows)
    marginals = posterior.marginals[rows]
    n, K = decided.shape
    size = truths.sum(axis=2, dtype=np.float64)[:, :, None]
    order = np.argsort(-marginals, axis=1, kind="stable")
    common = (marginals > RARE).sum(axis=1)  # only labels that are not rare are added
    width = max(1, int(common.max(initial=0)))

    def expected(tp: Floats, predicted: Floats, live: Any) -> Floats:
        costs = cost.formula(Counts(tp, size[live], predicted, float(K)))  # type: ignore[misc]
        return np.asarray(np.matmul(share[live][:, None, :], np.broadcast_to(costs, tp.shape))[:, 0, :])

    everyone = np.arange(n)
    sorted_truths = np.take_along_axis(truths, order[:, None, :width], axis=2)
    tp = np.zeros((n, truths.shape[1], width + 1))
    np.cumsum(sorted_truths, axis=2, dtype=np.float64, out=tp[:, :, 1:])
    costs = expected(tp, np.arange(width + 1.0), everyone)
    costs[np.arange(width + 1) > common[:, None]] = np.inf
    best = costs.argmin(axis=1)
    better = costs[everyone, best] < least * GAIN
    prefixes = np.zeros_like(decided)
    np.put_along_axis(prefixes, order, (np.arange(K) < best[:, None]).astype(np.uint8), axis=1)
    decided = np.where(better[:, None], prefixes, decided)
    least = np.where(better, costs[everyone, best], least)

    live = everyone[:0] if prefixes_only else everyone
    while len(live):
        open_to_change = (marginals[live] > RARE) | (decided[live] == 1)
        count = open_to_change.sum(axis=1)
        changed = np.argsort(~open_to_change, axis=1, kind="stable")[:, : max(1, int(count.max(initial=0)))]
        bits = np.take_along_axis(decided[live], changed, axis=1)
        step = 1.0 - 2.0 * bits
        hit = (truths[live] * decided[live][:, None, :]).sum(axis=2, dtype=np.float64)[:, :, None]
        own = np.take_along_axis(truths[live], changed[:, None, :], axis=2)
        predicted = (decided[live].sum(axis=1, dtype=np.float64)[:, None] + step)[:, None, :]
        costs = expected(hit + own * step[:, None, :], predicted, live)
        costs[np.arange(costs.shape[1]) >= count[:, None]] = np.inf
        best = costs.argmin(axis=1)
        value = costs[np.arange(len(live)), best]
        better = value < least[live] * GAIN
        live, label = live[better], changed[better, best[better]]
        decided[live, label] ^= 1
        least[live] = value[better]
    return np.asarray(decided)


def _padded(posterior: Posterior, rows: slice) -> tuple[Floats, Vectors]:
    """Return shares (n, w) and vectors (n, w, K) of some rows; those with fewer have more, with shares of zero."""
    starts = posterior.share.indptr[rows.start : rows.stop + 1]
    lengths = np.diff(starts)
    there = np.arange(lengths.max(initial=1)) < lengths[:, None]
    share, index = np.zeros(there.shape), np.zeros(there.shape, np.intp)
    share[there] = posterior.share.data[starts[0] : starts[-1]]
    index[there] = posterior.share.indices[starts[0] : starts[-1]]
    return share, posterior.labels[index]


def expected_costs(cost: Cost, posterior: Posterior, predicted: Vectors) -> Floats:
    """Return the expected cost of each row's prediction under its distribution, shape (n,)."""
    lengths = np.diff(posterior.share.indptr)
    result = np.empty(len(predicted))
    for rows in row_blocks(len(predicted), int(lengths.max(initial=1)) * predicted.shape[1], 1 << 22):
        part = posterior.share[rows]
        owner = np.repeat(np.arange(part.shape[0]), lengths[rows])
        costs = cost.rowwise(posterior.labels[part.indices], predicted[rows][owner])
        result[rows] = np.bincount(owner, part.data * costs, part.shape[0])
    return result


# The first that applies is used, so the cheapest come first and the last one applies to all.
RULES = {
    "threshold": Rule(above_threshold, lambda cost: cost.threshold is not None, exact=True),
    "size": Rule(
        best_of_each_size,
        lambda cost: cost.affine_in_tp,
        exact=True,
        roughly=partial(best_of_each_size, quickly=True),
    ),
    "mode": Rule(most_likely, lambda cost: cost.uniform, exact=True),
    "expected": Rule(least_expected, lambda _: True, exact=False),
}


def over_candidates(cost: Cost, posterior: Posterior, *, quickly: bool = False) -> Vectors:
    """Predict the best of the vectors that rows share; for a cost without an exact rule, search from there."""
    best, least = best_candidate(cost, posterior)
    decided = posterior.labels[best]
    if not rule_for(cost).exact and not (quickly and cost.formula is None):
        rows = improvable(cost, posterior, best, least, quickly=quickly)
        decided[rows] = improved(cost, posterior.part(rows), decided[rows], least[rows], quickly=quickly)
    return decided


def by_rule(cost: Cost, posterior: Posterior, *, quickly: bool = False) -> Vectors:
    """Predict by the rule for the cost."""
    rule = rule_for(cost)
    decide = rule.roughly if quickly and rule.roughly else rule.decide
    return decide(cost, posterior)


# Ways to decide by a distribution of common vectors, the simpler first; "nearest" needs points instead.
DECODERS: dict[str, Any] = {"nearest": nearest, "expected": over_candidates, "exact": by_rule}


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

    labels: Vectors
    probability: Floats
    expected_cost: Floats


def ranked(cost: Cost, posterior: Posterior, predicted: Vectors, k: int) -> TopK:
    """Rank the vectors that rows share by expected cost, after the prediction; k of them in all."""
    n, L = posterior.share.shape
    K = predicted.shape[1]
    labels = np.empty((n, k, K), np.uint8)
    probability, costs = np.empty((n, k)), np.empty((n, k))
    between = cost.pairwise(posterior.labels, posterior.labels)
    for rows in row_blocks(n, L):
        part, own = posterior.part(rows), predicted[rows]
        share, count = part.share, len(own)
        expected = np.asarray(share @ between)
        same = np.array([(posterior.labels == vector).all(axis=1) for vector in own]).reshape(count, L)
        dense = share.toarray()
        labels[rows, 0], costs[rows, 0] = own, expected_costs(cost, part, own)
        probability[rows, 0] = (dense * same).sum(axis=1)
        order = np.argsort(np.where(same, np.inf, expected), axis=1, kind="stable")[:, : k - 1]
        labels[rows, 1:] = posterior.labels[order]
        costs[rows, 1:] = np.take_along_axis(expected, order, axis=1)
        probability[rows, 1:] = np.take_along_axis(dense, order, axis=1)
    return TopK(labels, probability, costs)


def common_threshold(marginals: Floats, weight: NDArray[np.float64] | None) -> Floats:
    """Threshold for all labels together under which micro F1 is greatest if probabilities are right, shape (1,)."""
    each = None if weight is None else np.repeat(weight, marginals.shape[1])
    return threshold_of_each_label(marginals.reshape(-1, 1), each)


def threshold_of_each_label(marginals: Floats, weight: NDArray[np.float64] | None) -> Floats:
    """Threshold for each label by which its F1, and so macro F1, is greatest if probabilities are right, shape (K,).

    Predicting the likeliest rows, their probabilities tell how many are true, and so the F1. The best threshold is half
    of the best of these: to add a row pays if it is true in more than that share of cases. A label that no row can have
    gets the common threshold of all labels; if that is the only one, ½.
    """
    rows = np.ones(len(marginals)) if weight is None else weight
    result = np.empty(marginals.shape[1])
    for label, p in enumerate(marginals.T):
        likeliest_first = np.argsort(-p, kind="stable")
        true, predicted = (rows * p)[likeliest_first].cumsum(), rows[likeliest_first].cumsum()
        result[label] = (true / (true[-1] + predicted)).max()
    impossible = result == 0
    if impossible.any():
        result[impossible] = 0.5 if len(result) == 1 else common_threshold(marginals, weight)[0]
    return result


# Criteria of all rows together that are optimised by thresholds of marginals, which held-out rows determine.
LABEL_BASED = {"micro_f1": common_threshold, "macro_f1": threshold_of_each_label}
