"""Posteriors from distances in the embedded space: a normal distribution around the predicted point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import euclidean_distances

from clems.arrays import Bits, Floats, Integers
from clems.posterior.distribution import Posterior
from clems.posterior.source import SOURCES, Kind, Settings, Training
from clems.trees.reading import predictions_of

NEGLIGIBLE = 1e-6  # share, as a multiple of the greatest of a row, that counts as 0
VARIANCES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)  # around a predicted point, as multiples of that of all points
USUAL = 5  # place of the one to take unless another is clearly better


@dataclass(frozen=True)
class ByDistance:
    """Reads a normal distribution around the predicted point z.

    The share of a candidate at z_i is proportional to ``frequency_i · exp(−‖z − z_i‖² / (2 · variance))``.
    """

    regressor: Any
    labels: Bits
    points: Floats
    embedded: Floats
    frequency: Floats
    variance: float

    def __call__(self, X: Any, n_jobs: int | None = None) -> Posterior:  # noqa: ARG002
        """Return the posterior of rows."""
        Z = np.asarray(predictions_of(self.regressor, X), np.float64).reshape(X.shape[0], -1)
        if not np.isfinite(Z).all():
            raise ValueError(f"The estimator {type(self.regressor).__name__} predicted values that are not finite.")
        with np.errstate(divide="ignore"):
            log = np.log(self.frequency) - euclidean_distances(Z, self.points, squared=True) / (2 * self.variance)
        share = np.exp(log - log.max(axis=1, keepdims=True))
        share[share < NEGLIGIBLE] = 0
        share = sparse.csr_array(share / share.sum(axis=1, keepdims=True))
        return Posterior(self.labels, share, points=Z, embedded=self.embedded)


@dataclass(frozen=True)
class DistanceSource:
    """Any regressor as a source; the variance is to choose, and no row is held out, for it has seen all of them."""

    reader: ByDistance
    options: Sequence[float]
    rows: Integers

    @property
    def usual(self) -> float:
        """The variance to take unless another is clearly better."""
        return self.options[USUAL]

    def at(self, variance: float) -> ByDistance:
        """Return the reader with a variance."""
        return replace(self.reader, variance=variance)

    def held_out(self, variance: float) -> Posterior:
        """Refuse: rows of such a regressor are held out by folds."""
        raise NotImplementedError(f"No row is held out at the variance {variance}.")


def distance_source(regressor: Any, training: Training, settings: Settings) -> DistanceSource:
    """Take a fitted regressor of any kind."""
    spread = max(float(training.points.var(axis=0).mean()), np.finfo(np.float64).tiny)
    places = training.labels, training.points, training.embedded
    reader = ByDistance(regressor, *places, training.frequency, spread)
    return DistanceSource(reader, [spread * multiple for multiple in VARIANCES], settings.rows[:0])


SOURCES["distances"] = Kind(lambda _: True, distance_source)
