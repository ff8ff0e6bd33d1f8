"""Posteriors from the leaves of trees: the training rows that share a row's leaves say how probable candidates are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.arrays import Floats, Integers, Labels
from clems.posterior.distribution import Posterior
from clems.posterior.label_vectors import LabelVectors
from clems.posterior.one_standard_error import once
from clems.posterior.source import SOURCES, Kind, Settings, Training
from clems.trees.leaf_table import LeafCounts, LeafShares, sort_into_leaves
from clems.trees.reading import Trees, as_rows, has_trees, trees_of


@dataclass(frozen=True, eq=False)
class ByLeaves:
    """Reads the shares of candidates among the training rows in a row's leaves.

    Attributes
    ----------
    counts : LeafCounts
        What leaves hold, for all depths.
    shares : LeafShares
        What they say at the depth at which trees end.
    labels, points, embedded : ndarray
        As in `Training`. The predicted point is the mean point of the candidates, ``Σ_i q_i z_i``.
    """

    counts: LeafCounts
    shares: LeafShares
    labels: Labels
    points: Floats
    embedded: Floats

    def at_depth(self, depth: int | None) -> ByLeaves:
        """Read by trees that end at another depth."""
        return replace(self, shares=self.counts.at(depth))

    def __call__(self, X: Any, n_jobs: int | None = None) -> Posterior:
        """Return the posterior of rows."""
        return self.of(self.shares(X, n_jobs))

    def of(self, share: Any) -> Posterior:
        """Return the posterior of given shares."""
        posterior = Posterior(self.labels, share, points=lambda: share @ self.points, embedded=self.embedded)
        if not sparse.issparse(self.labels):  # for each row alone that would take longer than all else
            posterior.vectors = once(self, "vectors", lambda: LabelVectors(self.labels))
        return posterior


@dataclass(frozen=True)
class LeafSource:
    """Trees as a source; held-out rows are read by the trees that did not draw them.

    Attributes
    ----------
    training : Training
        The rows.
    counts : LeafCounts
        What leaves hold.
    options : list
        Depths that differ, the smallest first.
    rows : ndarray of shape (m,)
        Rows that some tree did not draw.
    leaves : ndarray of shape (T, m)
        Their leaves.
    unseen : ndarray of shape (T, m)
        Whether each tree did not draw them.
    weight : ndarray of shape (T, m)
        Their weights in their leaves.
    """

    training: Training
    counts: LeafCounts
    options: Sequence[int | None]
    rows: Integers
    leaves: Integers
    unseen: NDArray[np.bool_]
    weight: NDArray[np.float64]

    @property
    def usual(self) -> int | None:
        """The greatest depth."""
        return self.options[-1]

    def at(self, depth: int | None) -> ByLeaves:
        """Return the reader by trees that end at a depth."""
        shares = self.counts.at(depth)
        return ByLeaves(self.counts, shares, self.training.labels, self.training.points, self.training.embedded)

    def held_out(self, depth: int | None) -> Posterior:
        """Return the posterior of the held-out rows at a depth, each left out of what its leaves say."""
        groups = self.training.groups[self.rows]
        share = self.counts.held_out(depth, self.leaves, self.unseen, groups, self.weight)
        points = self.training.points
        return Posterior(self.training.labels, share, points=lambda: share @ points, embedded=self.training.embedded)


def leaf_source(regressor: Any, training: Training, settings: Settings) -> LeafSource:
    """Sort the training rows into the leaves of trees: of grown `Trees`, or of a forest or tree of scikit-learn's."""
    n, L = len(training.groups), training.labels.shape[0]
    trees = regressor if isinstance(regressor, Trees) else trees_of(regressor, n, training.weight)
    unseen = np.stack([drawn[settings.rows] == 0 for drawn in trees.drawn])
    rows, unseen = settings.rows[unseen.any(axis=0)], unseen[:, unseen.any(axis=0)]
    counts, leaves = sort_into_leaves(trees, as_rows(training.X), training.groups, L, rows, settings.n_jobs)
    weight = np.stack([trees.row_weight(which)[rows] for which in range(len(trees.trees))])
    return LeafSource(training, counts, differing(settings.depths, trees.trees), rows, leaves, unseen, weight)


def differing(depths: Sequence[int | None], trees: Sequence[Any]) -> list[int | None]:
    """List the depths at which trees differ: those that they reach, and one of all beyond."""
    deepest = max(tree.get_depth() for tree in trees)
    reached: list[int | None] = [depth for depth in depths if depth is not None and depth < deepest]
    return reached + [depth for depth in depths if depth is None or depth >= deepest][:1]


SOURCES["leaves"] = Kind(lambda regressor: isinstance(regressor, Trees) or has_trees(regressor), leaf_source)
