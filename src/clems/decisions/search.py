"""Search for predictions of small expected cost, by prefixes and by changing single labels, for any cost.

A search starts from a prediction of known expected cost and considers, first, the *prefixes* of the row's labels sorted
by their marginals, then *changes* of single labels, as long as they help. Costs that depend on counts alone are
searched for a block of rows at once (`CountedBlock`), others row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clems.arrays import Bits, Floats, row_blocks
from clems.costs.cost import Cost
from clems.costs.counts import Counts

if TYPE_CHECKING:
    from clems.posterior.distribution import Posterior

GAIN = 1 - 1e-12  # a tie by another order of adding is no gain
RARE = 0.01  # labels less probable than this are not added by a search that counts
ENTRIES = 1 << 19  # of the padded label vectors of a block


def improved(posterior: Posterior, cost: Cost, start: Bits, least: Floats) -> Bits:
    """Improve predictions by search: by prefixes, then by changes of single labels.

    Parameters
    ----------
    posterior : Posterior
        Of n rows.
    cost : Cost
        Any cost.
    start : ndarray of shape (n, K)
        Predictions to begin with.
    least : ndarray of shape (n,)
        Their expected costs.
    """
    decided = start.copy()
    for rows in _blocks(posterior):
        if cost.formula is None:
            decided[rows] = _searched_by_pairs(posterior, cost, rows, decided[rows], least[rows].copy())
        else:
            block = CountedBlock.of(posterior, cost, rows)
            decided[rows] = block.changed(*block.by_prefixes(decided[rows], least[rows]))
    return decided


def improved_by_prefixes(posterior: Posterior, cost: Cost, start: Bits, least: Floats) -> Bits:
    """Improve predictions by prefixes alone, for costs that depend on counts alone; parameters as of `improved`."""
    decided = start.copy()
    for rows in _blocks(posterior):
        decided[rows] = CountedBlock.of(posterior, cost, rows).by_prefixes(decided[rows], least[rows])[0]
    return decided


def _blocks(posterior: Posterior) -> Any:
    widest = int(np.diff(posterior.share.indptr).max(initial=1))
    return row_blocks(len(posterior), widest * posterior.labels.shape[1], ENTRIES)


@dataclass(frozen=True)
class CountedBlock:
    """A block of rows with their label vectors, for costs that depend on counts alone.

    Attributes
    ----------
    cost : Cost
        With a formula.
    share : ndarray of shape (n, w)
        How probable each vector is; rows with fewer than w are filled up with shares of 0.
    truths : ndarray of shape (n, w, K)
        The vectors.
    size : ndarray of shape (n, w, 1)
        Their numbers of labels.
    marginals : ndarray of shape (n, K)
        How probable each label is.
    """

    cost: Cost
    share: Floats
    truths: Bits
    size: Floats
    marginals: Floats

    @classmethod
    def of(cls, posterior: Posterior, cost: Cost, rows: slice) -> CountedBlock:
        """Take some rows of a posterior."""
        starts = posterior.share.indptr[rows.start : rows.stop + 1]
        lengths = np.diff(starts)
        there = np.arange(lengths.max(initial=1)) < lengths[:, None]
        share, index = np.zeros(there.shape), np.zeros(there.shape, np.intp)
        share[there] = posterior.share.data[starts[0] : starts[-1]]
        index[there] = posterior.share.indices[starts[0] : starts[-1]]
        truths = posterior.labels[index]
        size = truths.sum(axis=2, dtype=np.float64)[:, :, None]
        return cls(cost, share, truths, size, posterior.marginals[rows])

    def expected(self, tp: Floats, predicted: Floats, rows: Any) -> Floats:
        """Compute ``Σ_i q_i · cost(tp_i, |S_i|, |P|)`` of several predictions for some rows, shape (rows, predictions).

        Parameters
        ----------
        tp : ndarray of shape (rows, w, predictions)
            True positives of each prediction under each vector.
        predicted : ndarray that broadcasts against it
            Numbers of predicted labels.
        rows : ndarray of int
            Which rows.
        """
        assert self.cost.formula is not None
        costs = self.cost.formula(Counts(tp, self.size[rows], predicted, float(self.truths.shape[2])))
        return np.asarray(np.matmul(self.share[rows][:, None, :], np.broadcast_to(costs, tp.shape))[:, 0, :])

    def by_prefixes(self, decided: Bits, least: Floats) -> tuple[Bits, Floats]:
        """Take the best prefix of each row where it costs less; return predictions and their expected costs."""
        n, K = decided.shape
        everyone = np.arange(n)
        order = np.argsort(-self.marginals, axis=1, kind="stable")
        common = (self.marginals > RARE).sum(axis=1)  # only labels that are not rare are added
        width = max(1, int(common.max(initial=0)))
        tp = np.zeros((n, self.truths.shape[1], width + 1))  # of prefixes of 0, 1, …, width labels
        sorted_truths = np.take_along_axis(self.truths, order[:, None, :width], axis=2)
        np.cumsum(sorted_truths, axis=2, dtype=np.float64, out=tp[:, :, 1:])
        costs = self.expected(tp, np.arange(width + 1.0), everyone)
        costs[np.arange(width + 1) > common[:, None]] = np.inf
        best = costs.argmin(axis=1)
        better = costs[everyone, best] < least * GAIN
        prefixes = np.zeros_like(decided)
        np.put_along_axis(prefixes, order, (np.arange(K) < best[:, None]).astype(np.uint8), axis=1)
        return np.where(better[:, None], prefixes, decided), np.where(better, costs[everyone, best], least)

    def changed(self, decided: Bits, least: Floats) -> Bits:
        """Change the label of each row that lowers its expected cost most, again and again until none does."""
        live = np.arange(len(decided))  # rows whose last change helped
        while len(live):
            open_to_change = (self.marginals[live] > RARE) | (decided[live] == 1)
            count = open_to_change.sum(axis=1)
            label = np.argsort(~open_to_change, axis=1, kind="stable")[:, : max(1, int(count.max(initial=0)))]
            step = 1.0 - 2.0 * np.take_along_axis(decided[live], label, axis=1)  # +1 adds the label, −1 removes it
            hit = (self.truths[live] * decided[live][:, None, :]).sum(axis=2, dtype=np.float64)[:, :, None]
            true = np.take_along_axis(self.truths[live], label[:, None, :], axis=2)
            predicted = (decided[live].sum(axis=1, dtype=np.float64)[:, None] + step)[:, None, :]
            costs = self.expected(hit + true * step[:, None, :], predicted, live)
            costs[np.arange(costs.shape[1]) >= count[:, None]] = np.inf
            best = costs.argmin(axis=1)
            value = costs[np.arange(len(live)), best]
            better = value < least[live] * GAIN
            live, chosen = live[better], label[better, best[better]]
            decided[live, chosen] ^= 1
            least[live] = value[better]
        return decided


def _searched_by_pairs(posterior: Posterior, cost: Cost, rows: slice, decided: Bits, least: Floats) -> Bits:
    """Search row by row, for costs of which nothing is known but the vectors they compare."""
    K = decided.shape[1]
    single, stairs = np.eye(K, dtype=np.uint8), np.tri(K + 1, K, -1, dtype=np.uint8)
    starts = posterior.share.indptr
    for number, row in enumerate(range(rows.start, rows.stop)):
        entries = slice(starts[row], starts[row + 1])
        share, truths = posterior.share.data[entries], posterior.labels[posterior.share.indices[entries]]
        tried = np.empty_like(stairs)  # all prefixes first, later all changes of one label
        tried[:, np.argsort(-posterior.marginals[row], kind="stable")] = stairs
        while True:
            expected = expected_of_each(cost, share, truths, tried)
            best = expected.argmin()
            if expected[best] < least[number] * GAIN:
                least[number], decided[number] = expected[best], tried[best]
            elif len(tried) == K:  # no change of a single label helps any more
                break
            tried = decided[number] ^ single
    return decided


def best_within(posterior: Posterior, cost: Cost, sizes: range) -> Bits:
    """Predict a vector of small expected cost and of an allowed size, row by row, for any cost.

    Tried are the row's own vectors and the prefixes that are of such a size; then, from the best of these, changes of a
    single label and exchanges of two, as long as they help.
    """
    n, K = posterior.marginals.shape
    decided = np.empty((n, K), np.uint8)
    starts = posterior.share.indptr
    stairs = np.tri(K + 1, K, -1, dtype=np.uint8)[sizes.start : sizes.stop]
    for row in range(n):
        entries = slice(starts[row], starts[row + 1])
        share, truths = posterior.share.data[entries], posterior.labels[posterior.share.indices[entries]]
        prefixes = np.empty_like(stairs)
        prefixes[:, np.argsort(-posterior.marginals[row], kind="stable")] = stairs
        tried = np.concatenate([truths[np.isin(truths.sum(axis=1), sizes)], prefixes])
        least = np.inf
        while len(tried):
            expected = expected_of_each(cost, share, truths, tried)
            best = expected.argmin()
            if not expected[best] < least * GAIN:
                break
            least, decided[row] = expected[best], tried[best]
            tried = _neighbours(decided[row], sizes)
    return decided


def _neighbours(vector: Bits, sizes: range) -> Bits:
    """Vectors of allowed sizes with one label changed, or one added and one removed."""
    single = np.eye(len(vector), dtype=np.uint8)
    there, absent = single[vector == 1], single[vector == 0]
    ways = [absent] * (len(there) + 1 in sizes) + [there] * (len(there) - 1 in sizes)
    ways.append((there[:, None] | absent).reshape(-1, len(vector)))
    return np.asarray(vector ^ np.concatenate(ways))


def most_probable_of(marginals: Floats, number: int) -> Bits:
    """Predict so many of the most probable labels of each row."""
    decided = np.zeros(marginals.shape, np.uint8)
    np.put_along_axis(decided, np.argsort(-marginals, axis=1, kind="stable")[:, :number], 1, axis=1)
    return decided


def expected_of_each(cost: Cost, share: Floats, truths: Bits, predictions: Bits) -> Floats:
    """Compute the expected cost of each of several predictions under one distribution, ``Σ_i q_i · cost(S_i, P_j)``."""
    blocks = row_blocks(predictions.shape[0], truths.shape[0])
    return np.concatenate([share @ cost.of_pairs(truths, predictions[block]) for block in blocks])
