"""Reference pairs: bits of label vectors that say which of two others is the cheaper prediction, and by how much."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from clems.arrays import Bits, Floats, Integers, row_blocks
from clems.costs.cost import Cost
from clems.costs.formulas import COSTS

TIES = (0.1, 0.01)  # weights of bits, beside the mean, that Hamming loss decides, and of those that nothing does
SAME = 1e-12  # a difference of costs that is none


def reference_differences(cost: Cost, labels: Bits, pairs: Integers) -> Floats:
    """By how much the second of each pair is the cheaper prediction for each candidate, shape (L, T).

    Where the cost does not tell both apart, Hamming loss does with a tenth of the mean weight, and where that does not
    either, the first counts as cheaper with a hundredth of it: so every candidate has a bit for every pair.
    """
    used, place = np.unique(pairs, return_inverse=True)
    first, second = place.reshape(pairs.shape).T

    def differences(of: Cost) -> Floats:
        parts = [of.of_pairs(labels[rows], labels[used]) for rows in row_blocks(len(labels), len(labels))]
        costs = np.concatenate(parts)
        return np.asarray(costs[:, first] - costs[:, second], np.float64)

    own, alike = differences(cost), differences(COSTS["hamming"])
    told = np.abs(own) > SAME
    scale = float(np.abs(own[told]).mean()) if told.any() else 1.0
    tie = np.where(np.abs(alike) > SAME, TIES[0] * np.sign(alike), -TIES[1]) * scale
    return np.where(told, own, tie)


def draw_pairs(cost: Cost, labels: Bits, frequency: Floats, size: int, random_state: np.random.RandomState) -> Integers:
    """Draw pairs of candidates whose bits tell candidates apart.

    All pairs, if there are no more than wanted. Else the first half is drawn at random by frequency; then, as long as
    candidates have the same bits, the two most frequent of such a group become a pair, which tells them apart; the rest
    is drawn at random again.

    Parameters
    ----------
    cost : Cost
        What a mistake costs.
    labels : ndarray of shape (L, K)
        Candidates.
    frequency : ndarray of shape (L,)
        How often each candidate occurs.
    size : int
        How many pairs are wanted.
    random_state : RandomState

    Returns
    -------
    ndarray of shape (T, 2)
    """
    L = len(labels)
    if size >= L * (L - 1) // 2:
        return np.array([*combinations(range(L), 2)], np.intp).reshape(-1, 2)
    share = np.cumsum(frequency / frequency.sum())
    pairs: dict[tuple[int, int], None] = {}
    group = np.zeros(L, np.intp)
    while len(pairs) < size:
        pair = _of_a_group(group, frequency) if len(pairs) >= size // 2 else None
        if pair is None or pair in pairs:
            one, other = np.minimum(np.searchsorted(share, random_state.random_sample(2)), L - 1)
            if one == other:
                other = random_state.randint(L)
            pair = (int(min(one, other)), int(max(one, other)))
            if one == other or pair in pairs:
                continue
        pairs[pair] = None
        bit = reference_differences(cost, labels, np.array([pair]))[:, 0] > 0
        group = np.unique(2 * group + bit, return_inverse=True)[1].reshape(L)
    return np.array([*pairs], np.intp)


def _of_a_group(group: Integers, frequency: Floats) -> tuple[int, int] | None:
    """Return the two most frequent candidates of the most frequent group of more than one."""
    count = np.bincount(group)
    if count.max() == 1:
        return None
    mass = np.where(count > 1, np.bincount(group, frequency), -1)
    inside = np.flatnonzero(group == mass.argmax())
    first, second = inside[np.argsort(-frequency[inside], kind="stable")[:2]]
    return int(min(first, second)), int(max(first, second))
