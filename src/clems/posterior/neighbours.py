"""Posteriors from the nearest training rows, weighted as a fitted KNeighborsRegressor weighs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import KNeighborsRegressor

from clems.arrays import Bits, Floats, Integers
from clems.posterior.distribution import Posterior
from clems.posterior.source import SOURCES, Kind, Settings, Training


@dataclass(frozen=True)
class ByNeighbours:
    """Reads the nearest training rows.

    Attributes
    ----------
    regressor : KNeighborsRegressor
        A fitted one.
    groups : ndarray of shape (n,)
        Candidate of each training row.
    labels, points, embedded : ndarray
        As in `Training`. The predicted point is the mean point of the candidates, ``Σ_i q_i z_i``.
    """

    regressor: Any
    groups: Integers
    labels: Bits
    points: Floats
    embedded: Floats

    def __call__(self, X: Any, n_jobs: int | None = None) -> Posterior:  # noqa: ARG002
        """Return the posterior of rows; None stands for all training rows, of which each is not its own neighbour."""
        distance, neighbour = self.regressor.kneighbors(X)
        weights = self.regressor.weights
        if callable(weights):
            weight = np.asarray(weights(distance), np.float64)
        elif weights == "distance":
            same = (distance == 0).any(axis=1, keepdims=True)  # rows that were seen count alone
            weight = np.where(same, distance == 0, 1 / np.where(distance == 0, 1, distance))
        else:
            weight = np.ones_like(distance)
        totals = weight.sum(axis=1, keepdims=True)
        if not (np.isfinite(totals).all() and (weight >= 0).all() and (totals > 0).all()):
            raise ValueError("The weights of KNeighborsRegressor must be finite, at least 0, and not all 0 for a row.")
        weight = weight / totals
        n, k = neighbour.shape
        entries = np.repeat(np.arange(n), k), self.groups[neighbour].ravel()
        share = sparse.coo_array((weight.ravel(), entries), (n, len(self.points))).tocsr()
        return Posterior(self.labels, share, points=lambda: share @ self.points, embedded=self.embedded)


@dataclass(frozen=True)
class NeighbourSource:
    """Neighbours as a source, with nothing to choose; a held-out row is not its own neighbour."""

    reader: ByNeighbours
    rows: Integers
    options: Sequence[None] = (None,)
    usual: None = None

    def at(self, option: None) -> ByNeighbours:  # noqa: ARG002
        """Return the reader."""
        return self.reader

    def held_out(self, option: None) -> Posterior:  # noqa: ARG002
        """Return the posterior of the held-out rows."""
        return self.reader(None).rows(self.rows)


def neighbour_source(regressor: Any, training: Training, settings: Settings) -> NeighbourSource:
    """Take the neighbours of a fitted regressor; where all rows are neighbours of each, none can be held out."""
    reader = ByNeighbours(regressor, training.groups, training.labels, training.points, training.embedded)
    enough = regressor.n_neighbors < len(training.groups)
    return NeighbourSource(reader, settings.rows if enough else settings.rows[:0])


SOURCES["neighbours"] = Kind(
    lambda regressor: isinstance(regressor, KNeighborsRegressor), neighbour_source, by_folds=False
)
