"""Candidates: the distinct label vectors that are embedded and decoded to, and the ways to choose them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.arrays import Bits, Integers, Labels, Weights, row_blocks
from clems.costs.cost import Cost
from clems.labels.distinct import distinct_rows
from clems.labels.matrix import as_dense, as_labels, dense_if_small


@dataclass(frozen=True, eq=False)
class CandidateSet:
    """Distinct label vectors and the training rows that belong to them.

    Attributes
    ----------
    labels : ndarray or CSR array of shape (L, K)
        The vectors, zeros and ones, no two alike. They are sparse if the labels were, and too large to be dense.
    frequency : ndarray of shape (L,)
        Summed sample weight of the training rows of each vector; without weights, their number.
    index : ndarray of shape (n,)
        Which candidate each training row belongs to: its own vector, or the one of least cost where that was dropped.
        Rows of sample weight zero are left out.

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> candidates = CLEMS(n_trees=10, random_state=0).fit(X, Y).candidates_
    >>> candidates.labels.shape[1], int(candidates.frequency.sum()), candidates.index.shape
    (10, 200, (200,))
    """

    labels: Labels
    frequency: NDArray[np.float64]
    index: Integers

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    @property
    def weight(self) -> NDArray[np.float64]:
        """Frequencies for the solver: vectors that never occur weigh as little as the rarest that does."""
        smallest = self.frequency[self.frequency > 0].min()
        return np.asarray(np.maximum(self.frequency, smallest))


def choose_candidates(
    Y: Labels,
    how: Any,
    cost: Cost,
    random_state: np.random.RandomState,
    weight: Weights = None,
) -> CandidateSet:
    """Choose the candidates for a training set.

    Parameters
    ----------
    Y : array or CSR array of shape (n, K)
        Training labels.
    how : "observed", pair or array-like of shape (L, K)
        ``"observed"``: the distinct rows of Y. ``("subsample", size)``: so many of these at random.
        ``("augment", size)``: these and so many others, drawn at random from the unobserved vectors; all of them if
        there are no more. ``("extend", vectors)``: these and the given ones. An array: just its distinct rows. A size
        is a whole number of vectors, or a float as a share of the number of observed ones.
    cost : Cost
        Decides where a row goes whose vector is not a candidate.
    random_state : RandomState
        Used by "subsample" and "augment".
    weight : ndarray of shape (n,), default=None
        Sample weights.
    """
    observed, index = distinct_rows(Y)
    if isinstance(how, str) and how == "observed":
        labels = observed
    elif isinstance(how, (tuple, list)) and how and isinstance(how[0], str):
        if len(how) != 2 or how[0] not in WAYS:
            raise ValueError(f"Candidates {how!r} are unknown; {ALLOWED}")
        labels = WAYS[how[0]](observed, how[1], random_state)
    else:
        labels = _given(how, observed.shape[1])
    if labels is not observed:
        index = candidate_of_each(observed, labels, cost)[index]
    frequency = np.bincount(index, weight, minlength=labels.shape[0]).astype(np.float64)
    return CandidateSet(labels, frequency, index)


def _subsample(observed: Labels, size: Any, random_state: np.random.RandomState) -> Labels:
    L = observed.shape[0]
    return observed[np.sort(random_state.choice(L, min(max(1, _count(size, L)), L), replace=False))]


def _augment(given: Labels, size: Any, random_state: np.random.RandomState) -> Bits:
    observed = as_dense(given)
    K = observed.shape[1]
    wanted = len(observed) + _count(size, len(observed))
    if wanted > 2 ** min(K, 62) // 2:  # so many that drawing would keep hitting old ones, or not so many exist
        if K > 20:
            raise ValueError(f"Augmenting by {size} asks for more than half a million of vectors; ask for fewer.")
        every = np.unpackbits(np.arange(2**K, dtype=">u4").view(np.uint8).reshape(-1, 4), axis=1)[:, 32 - K :]
        labels = np.concatenate([observed, random_state.permutation(every)])
    else:
        labels = observed
        while len(labels) < wanted:
            drawn = random_state.randint(0, 2, (wanted - len(labels), K), dtype=np.uint8)
            labels = as_dense(_without_repeats(np.concatenate([labels, drawn])))
    return as_dense(_without_repeats(labels)[:wanted])


def _extend(observed: Labels, vectors: Any, _: np.random.RandomState) -> Labels:
    return _without_repeats(_stacked(observed, _given(vectors, observed.shape[1])))


WAYS: dict[str, Callable[[Labels, Any, np.random.RandomState], Labels]] = {
    "subsample": _subsample,
    "augment": _augment,
    "extend": _extend,
}
ALLOWED = (
    "they are 'observed', ('subsample', size), ('augment', size), ('extend', vectors) or an array of label vectors."
)


def _count(size: Any, observed: int) -> int:
    if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, float, np.integer, np.floating)):
        raise ValueError(f"A number of candidates is a whole number or a share of the observed ones; got {size!r}.")
    if not (np.isfinite(size) and size > 0):
        raise ValueError(f"A number of candidates must be positive; got {size!r}.")
    return int(size) if isinstance(size, (int, np.integer)) else round(size * observed)


def _stacked(some: Labels, others: Labels) -> Labels:
    if sparse.issparse(some) or sparse.issparse(others):
        return sparse.vstack([sparse.csr_array(some), sparse.csr_array(others)], "csr")
    return np.concatenate([some, others])


def _given(vectors: Any, K: int) -> Labels:
    if not sparse.issparse(vectors) and not isinstance(vectors, list) and np.ndim(vectors) != 2:
        raise ValueError(f"Candidates {vectors!r} are unknown; {ALLOWED}")
    labels = as_labels(vectors, "candidates")
    if labels.shape[0] == 0 or labels.shape[1] != K:
        raise ValueError(f"candidates must be one or more vectors of {K} labels; their shape is {labels.shape}.")
    return _without_repeats(dense_if_small(labels))


def _without_repeats(labels: Labels) -> Labels:
    """Drop later copies of a row, keeping the order."""
    distinct, index = distinct_rows(labels)
    L = labels.shape[0]
    first = np.full(distinct.shape[0], L)
    np.minimum.at(first, index, np.arange(L))
    return labels[np.sort(first)]


def candidate_of_each(observed: Labels, labels: Labels, cost: Cost) -> Integers:
    """For each observed vector its place among the candidates, or that of the candidate of least cost to it."""
    together, index = distinct_rows(_stacked(labels, observed))
    L = labels.shape[0]
    position = np.full(together.shape[0], -1, np.intp)
    position[index[:L]] = np.arange(L)
    nearest = position[index[L:]]
    for rows in row_blocks(observed.shape[0], L):
        missing = np.flatnonzero(nearest[rows] < 0) + rows.start
        if len(missing):
            nearest[missing] = cost.of_pairs(observed[missing], labels).argmin(axis=1)
    return nearest
