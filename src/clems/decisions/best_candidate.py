"""The candidate of least expected cost, and for which rows a search from there pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from clems.arrays import Bits, Floats, Integers, dense_if_full, row_blocks
from clems.costs.cost import Cost
from clems.costs.counts import Counts
from clems.decisions.search import GAIN, RARE, improved, improved_by_prefixes
from clems.labels.matrix import as_dense

if TYPE_CHECKING:
    from clems.posterior.distribution import Posterior

ALIKE = 0.25  # candidates for each row up to which rows are taken together


def best_candidate(posterior: Posterior, cost: Cost) -> tuple[Integers, Floats]:
    """Find the candidate of least expected cost for each row, and that cost; both of shape (n,).

    Of those that are equal up to rounding it is the first.
    """
    n, L = posterior.share.shape
    share = dense_if_full(posterior.share)
    best, least = np.zeros(n, np.intp), np.full(n, np.inf)
    for block in row_blocks(L, max(n, L), 1 << 22):
        expected = np.asarray(share @ cost.of_pairs(posterior.labels, posterior.labels[block]))
        value = expected.min(axis=1)
        first_least = (expected * GAIN <= value[:, None]).argmax(axis=1)
        better = value < least * GAIN
        best[better], least[better] = block.start + first_least[better], value[better]
    return best, least


def searched_from_candidates(posterior: Posterior, cost: Cost) -> Bits:
    """Predict the best candidate of each row, improved by search."""
    best, least = best_candidate(posterior, cost)
    decided = as_dense(posterior.labels[best])
    rows = improvable(posterior, cost, best, least, (prefixes_help, changes_help))
    decided[rows] = improved(posterior.rows(rows), cost, decided[rows], least[rows])
    return decided


def roughly_searched_from_candidates(posterior: Posterior, cost: Cost) -> Bits:
    """Predict the best candidate of each row; if the cost depends on counts alone, or the best prefix."""
    best, least = best_candidate(posterior, cost)
    decided = as_dense(posterior.labels[best])
    if cost.formula is not None:
        rows = improvable(posterior, cost, best, least, (prefixes_help,))
        decided[rows] = improved_by_prefixes(posterior.rows(rows), cost, decided[rows], least[rows])
    return decided


@dataclass(frozen=True)
class Alike:
    """A block of rows of which many start from the same candidate.

    Attributes
    ----------
    labels : ndarray of shape (L, K)
        The candidates.
    starts : ndarray of shape (S,)
        Candidates that rows start from.
    which : ndarray of shape (n,)
        Which of these each row starts from.
    share : ndarray of shape (n, L)
        How probable each candidate is.
    marginals : ndarray of shape (n, K)
        How probable each label is.
    wanted : ndarray of shape (n,)
        Expected costs that a search has to be below.
    """

    labels: Bits
    starts: Integers
    which: Integers
    share: Floats
    marginals: Floats
    wanted: Floats


Helps = Callable[[Cost, Alike], Any]


def improvable(posterior: Posterior, cost: Cost, best: Integers, least: Floats, ways: Sequence[Helps]) -> Integers:
    """Find the rows for which a search from their best candidate finds something.

    Rows that consider the same vector are taken together, so that its costs are computed once for all of them. Where
    few of them start from the same candidate, that does not pay: all rows are returned.

    Parameters
    ----------
    posterior : Posterior
        Of n rows.
    cost : Cost
        Any cost.
    best : ndarray of shape (n,)
        Candidate that each row starts from.
    least : ndarray of shape (n,)
        Their expected costs.
    ways : sequence of callable
        What is tried: `prefixes_help`, `changes_help`.

    Returns
    -------
    ndarray of shape (m,)
    """
    improvable_rows = np.zeros(len(best), bool)
    for rows in row_blocks(len(best), len(posterior.labels)):
        starts, which = np.unique(best[rows], return_inverse=True)
        if len(starts) > ALIKE * len(which):
            improvable_rows[rows] = True
            continue
        share = posterior.share[rows].toarray()
        block = Alike(posterior.labels, starts, which, share, posterior.marginals[rows], least[rows] * GAIN)
        for helps in ways:
            improvable_rows[rows] |= helps(cost, block)
    return np.flatnonzero(improvable_rows)


def prefixes_help(cost: Cost, block: Alike) -> Any:
    """Whether a prefix of its sorted labels costs a row less, shape (n,)."""
    n, K = block.marginals.shape
    helped = np.zeros(n, bool)
    names = np.random.default_rng(0).integers(2**62, size=(K,))  # sums of which name sets of labels
    order = np.argsort(-block.marginals, axis=1, kind="stable")
    prefixes, named, hits = np.zeros((n, K), np.uint8), np.zeros(n, np.int64), np.zeros(n)
    for size in range(1 + int((block.marginals > RARE).sum(axis=1).max(initial=0))):
        if size:
            label = order[:, size - 1]
            prefixes[np.arange(n), label] = 1
            named += names[label]
            hits += block.marginals[np.arange(n), label]
        floor, slope = least_line(cost.formula, K, size)
        able = floor + slope * hits < block.wanted  # a bound on the expected cost: E[tp] is the sum of marginals
        if not able.any():
            continue
        some: Any = slice(None) if able.mean() > 0.5 else np.flatnonzero(able)  # to pick most takes longer than all
        _, first, which_prefix = np.unique(named[some], return_index=True, return_inverse=True)
        costs = np.ascontiguousarray(cost.of_pairs(block.labels, prefixes[some][first]).T)
        helped[some] |= np.einsum("ij,ij->i", block.share[some], costs[which_prefix]) < block.wanted[some]
    return helped


def changes_help(cost: Cost, block: Alike) -> Any:
    """Whether a change of a single label of its candidate costs a row less, shape (n,)."""
    helped = np.zeros(len(block.which), bool)
    single = np.eye(block.labels.shape[1], dtype=np.uint8)
    for number, start in enumerate(block.starts):
        starting_here = np.flatnonzero(block.which == number)
        expected = block.share[starting_here] @ cost.of_pairs(block.labels, block.labels[start] ^ single)
        helped[starting_here] = expected.min(axis=1) < block.wanted[starting_here]
    return helped


@lru_cache(1024)
def least_line(formula: Callable[[Counts], Floats] | None, K: int, size: int) -> tuple[float, float]:
    """Numbers a and b such that so many predicted labels, tp of them true, cost at least ``a + b · tp``."""
    if formula is None:
        return 0.0, 0.0
    tp, true = np.ogrid[: size + 1.0, : K + 1.0]
    costs = formula(Counts(tp, true, np.array(float(size)), float(K)))
    least = np.where((tp <= true) & (true + size - tp <= K), costs, np.inf).min(axis=1)
    return float(least[0]), float(((least[1:] - least[0]) / np.arange(1, size + 1)).min(initial=0))
