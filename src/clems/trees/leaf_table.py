"""What the leaves of trees know: how the training rows in them share out among candidates.

`LeafCounts` holds the weight of the rows of each candidate in each leaf, for all depths. `LeafShares` is what it says
at one depth, as a table that new rows look up. A row of it is a node; nodes are numbered one tree after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed

from clems.arrays import Floats, Integers
from clems.trees.reading import Trees, ancestors, leaves_of, starts_of

ROUNDING = 1e-9  # what is left of a weight, as a share of it, that counts as nothing


@dataclass(frozen=True)
class LeafShares:
    """Shares of candidates in the nodes of trees.

    Attributes
    ----------
    trees : list
        The trees.
    ends : ndarray of shape (R,) or None
        At which node a row stops that falls into each node; None if it is the node itself.
    table : CSR array of shape (R, L)
        Share of each candidate in each node, divided by the number of trees.
    """

    trees: list[Any]
    ends: Integers | None
    table: Any

    def __call__(self, X: Any, n_jobs: int | None = None) -> Any:
        """Share of each candidate for each row, a CSR array of shape (n, L) whose rows sum to 1."""
        nodes = self.nodes(leaves_of(self.trees, X, n_jobs))
        return self.mean(nodes, np.ones(nodes.size), np.full(len(nodes), nodes.shape[1]))

    def nodes(self, leaves: Integers) -> Integers:
        """Node at which each row stops in each tree, shape (n, T), given its leaves, shape (T, n)."""
        nodes = (leaves + starts_of(self.trees)[:-1, None]).T
        return nodes if self.ends is None else self.ends[nodes]

    def mean(self, nodes: Integers, scale: Floats, numbers: Integers) -> Any:
        """Sum over the nodes of each row, of which there are `numbers`, of their rows of the table times a scale."""
        bounds = np.concatenate([[0], numbers.cumsum()]).astype(np.int32)
        members = sparse.csr_array((scale, nodes.ravel().astype(np.int32), bounds), (len(numbers), self.table.shape[0]))
        return members @ self.table


@dataclass(frozen=True)
class LeafCounts:
    """Weight of the training rows of each candidate in each leaf.

    Attributes
    ----------
    trees : list
        The trees.
    counts : CSR array of shape (R, L)
        The weights; those of a node are stored from the last candidate to the first.
    """

    trees: list[Any]
    counts: Any

    def at(self, depth: int | None) -> LeafShares:
        """Shares by trees that end at a depth; None is the full depth."""
        return self._normalised(*self._merged(depth))

    def held_out(
        self,
        depth: int | None,
        leaves: Integers,
        counted: NDArray[np.bool_],
        groups: Integers,
        weight: NDArray[np.float64],
    ) -> Any:
        """Shares for training rows at a depth, each row left out of what its leaves say.

        In a node of weight W that holds row i of weight w and candidate g, the share of a candidate is
        ``(count − w [candidate = g]) / (W − w)``; trees are averaged.

        Parameters
        ----------
        depth : int or None
            None is the full depth.
        leaves : ndarray of shape (T, m)
            Leaves of these rows.
        counted : ndarray of shape (T, m)
            Which trees have a say, for each row at least one. Their leaves hold other rows too.
        groups : ndarray of shape (m,)
            Candidate of each row.
        weight : ndarray of shape (T, m)
            Weight of each row in its leaf.
        """
        ends, merged = self._merged(depth)
        shares = self._normalised(ends, merged)
        nodes, counted, weight = shares.nodes(leaves), counted.T, weight.T
        total, numbers = np.asarray(merged[nodes.ravel()].sum(axis=1)).reshape(nodes.shape), counted.sum(axis=1)
        weight = np.where(weight < (1 - ROUNDING) * total, weight, 0)  # next to which all others are nothing
        others = np.where(counted, total - weight, np.inf)  # W − w, of trees that have a say
        # Shares are count / (W T): times T / (number that have a say) · W / (W − w) they are means of count / (W − w).
        scale = (counted.shape[1] / numbers)[:, None] * total / others
        share = shares.mean(nodes[counted], scale[counted], numbers)
        rows = np.arange(len(groups))
        of_candidate = np.asarray(share[rows, groups]).ravel()
        # Of the row's candidate: mean of (count − w) / (W − w).
        rest = of_candidate - (weight / others).sum(axis=1) / numbers
        taken = np.where(rest < ROUNDING * of_candidate, of_candidate, of_candidate - rest)
        return share - sparse.csr_array((taken, (rows, groups)), share.shape)

    def _merged(self, depth: int | None) -> tuple[Integers | None, Any]:
        """Nodes at which rows stop, and the counts of all leaves below each of them."""
        if depth is None:
            return None, self.counts
        ends = ancestors(self.trees, depth)
        size = len(ends)
        merge = sparse.csc_array((np.ones(size), ends.astype(np.int32), np.arange(size + 1)), (size, size))
        return ends, merge.tocsr() @ self.counts.sorted_indices()

    def _normalised(self, ends: Integers | None, counts: Any) -> LeafShares:
        """Divide counts by the weight of their node and the number of trees; one tree at a time takes little memory."""
        data = np.empty_like(counts.data)
        for first, last in pairwise(starts_of(self.trees)):
            bounds = counts.indptr[first : last + 1]
            entries = slice(bounds[0], bounds[-1])
            nodes = sparse.csr_array(
                (counts.data[entries], counts.indices[entries], bounds - bounds[0]), (last - first, counts.shape[1])
            )
            data[entries] = nodes.data / np.repeat(nodes.sum(axis=1) * len(self.trees), np.diff(bounds))
        return LeafShares(self.trees, ends, sparse.csr_array((data, counts.indices, counts.indptr), counts.shape))


def sort_into_leaves(
    trees: Trees, X: Any, groups: Integers, n_groups: int, rows: Integers, n_jobs: int | None = None
) -> tuple[LeafCounts, Integers]:
    """Sort the training rows into the leaves of their trees, one tree at a time.

    Beyond the result, memory does not grow with the number of trees.

    Parameters
    ----------
    trees : Trees
        Of n training rows.
    X : array or CSR array of shape (n, d)
        Features of these rows, see :func:`clems.trees.reading.as_rows`.
    groups : ndarray of shape (n,)
        Their candidates, from 0 to n_groups − 1.
    n_groups : int
        How many candidates there are.
    rows : ndarray of shape (m,)
        Rows whose leaves are wanted.
    n_jobs : int, default=None
        How many trees are read at a time.

    Returns
    -------
    LeafCounts
    leaves : ndarray of shape (T, m)
        Leaves of the rows.
    """
    n_trees, n = len(trees.trees), len(groups)
    starts = starts_of(trees.trees)
    integer = np.int32 if max(n_trees * n, int(starts[-1])) < 2**31 else np.int64
    # A tree has at most n entries: they are written where they may end up at the latest, then moved together.
    data, indices = np.empty(n_trees * n), np.empty(n_trees * n, integer)
    lengths = np.zeros(starts[-1] + 1, integer)  # of the nodes' rows of the table, later their bounds
    leaves: Any = np.empty((n_trees, len(rows)), np.int32)

    def sort(which: int) -> int:
        weight, leaf = trees.row_weight(which), trees.trees[which].tree_.apply(X)
        leaves[which] = leaf[rows]
        counted = slice(None) if weight.all() else np.flatnonzero(weight)
        size = starts[which + 1] - starts[which]
        entries = weight[counted], (leaf[counted].astype(np.int32), groups[counted].astype(np.int32))
        table = sparse.coo_array(entries, (size, n_groups)).tocsr()
        length = np.diff(table.indptr)
        from_last = np.repeat(table.indptr[:-1] + table.indptr[1:] - 1, length) - np.arange(table.nnz)
        target = slice(which * n, which * n + table.nnz)
        data[target], indices[target] = table.data[from_last], table.indices[from_last]
        lengths[starts[which] + 1 : starts[which + 1] + 1] = length
        return int(table.nnz)

    sizes = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(sort)(which) for which in range(n_trees))
    end = 0
    for which, size in enumerate(sizes):
        for array in (data, indices):
            array[end : end + size] = array[which * n : which * n + size]
        end += size
    data.resize(end, refcheck=False)
    indices.resize(end, refcheck=False)
    counts = sparse.csr_array((data, indices, np.cumsum(lengths, dtype=integer, out=lengths)), (starts[-1], n_groups))
    return LeafCounts(trees.trees, counts), leaves
