"""Where posteriors come from: what a source offers, and `SOURCES`, the registry of all kinds.

A *source* is made from a fitted regressor and its training rows. It answers three questions: the posterior of new rows
(`at`, a reader that a model keeps), the posterior of training rows by what has not seen them (`held_out`), and what
there is to choose on these (`options`). The last kind in `SOURCES` that reads a regressor is used, so that what
is entered later goes before what is general.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from clems.arrays import Floats, Integers, Labels, Weights
from clems.posterior.distribution import Posterior, stacked

HELD_OUT = 1000  # training rows at most that are held out
FOLDS = 3  # in which training rows are held out where a regressor has seen all of them


class Reader(Protocol):
    """Reads the posterior of new rows; it is what a fitted model keeps of a source."""

    def __call__(self, X: Any, n_jobs: int | None = None) -> Posterior:
        """Return the posterior of rows."""


class Source(Protocol):
    """Where posteriors come from.

    Attributes
    ----------
    options : sequence
        What there is to choose, the simplest first: depths of trees, variances.
    usual : object
        The option to take unless another is clearly better.
    rows : ndarray of shape (m,)
        Training rows that are held out.
    """

    @property
    def options(self) -> Sequence[Any]:
        """What there is to choose, the simplest first."""

    @property
    def usual(self) -> Any:
        """The option to take unless another is clearly better."""

    @property
    def rows(self) -> Integers:
        """Training rows that are held out."""

    def at(self, option: Any) -> Reader:
        """Return the reader of new rows with an option."""

    def held_out(self, option: Any) -> Posterior:
        """Return the posterior of the held-out rows, by what has not seen them in training."""


@dataclass(frozen=True)
class Training:
    """The rows that a regressor was trained on, and the candidates.

    Attributes
    ----------
    X : array or CSR array of shape (n, d)
        Features of the training rows.
    groups : ndarray of shape (n,)
        Candidate of each.
    weight : ndarray of shape (n,) or None
        Sample weights.
    labels : ndarray or CSR array of shape (L, K)
        Label vectors of the candidates.
    frequency : ndarray of shape (L,)
        How frequent each candidate is.
    points : ndarray of shape (L, M)
        Point of each candidate, which the regressor learned.
    embedded : ndarray of shape (L, M)
        Point of each candidate among which the nearest is searched.
    """

    X: Any
    groups: Integers
    weight: Weights
    labels: Labels
    frequency: Floats
    points: Floats
    embedded: Floats

    def part(self, rows: Integers) -> Training:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, X=self.X[rows], groups=self.groups[rows], weight=weight)


@dataclass(frozen=True)
class Settings:
    """How a source is read.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Training rows to hold out; a regressor that has seen all of them holds out none.
    depths : sequence of int or None
        Depths of trees to choose from, the smallest first; None is the full depth.
    n_jobs : int or None
        How many trees are read at a time.
    """

    rows: Integers
    depths: Sequence[int | None] = (None,)
    n_jobs: int | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of source.

    Attributes
    ----------
    reads : callable
        Function of a fitted regressor: whether it is of this kind.
    make : callable
        Function of the regressor, the `Training` rows and the `Settings`; returns a source.
    by_folds : bool
        Whether rows may be held out by training anew where the regressor has seen all of them.
    """

    reads: Callable[[Any], bool]
    make: Callable[[Any, Training, Settings], Source]
    by_folds: bool = True


SOURCES: dict[str, Kind] = {}  # each kind enters itself where it is defined


def kind_of(regressor: Any) -> Kind:
    """Return the kind of source that reads a fitted regressor."""
    return next(kind for kind in reversed(SOURCES.values()) if kind.reads(regressor))


def source_of(regressor: Any, training: Training, settings: Settings) -> Source:
    """Make the source of posteriors that a fitted regressor is."""
    return kind_of(regressor).make(regressor, training, settings)


@dataclass(frozen=True)
class Folded:
    """A source whose held-out rows are read by regressors that were trained on two thirds of the others.

    Attributes
    ----------
    whole : Source
        Of all training rows, which holds out none.
    parts : list of pair of source and rows
        For each third of the training rows the source that has not seen it, and those of its rows to hold out.
    X : array or CSR array of shape (n, d)
        Features of the training rows.
    """

    whole: Source
    parts: list[tuple[Source, Integers]]
    X: Any

    @property
    def options(self) -> Sequence[Any]:
        """What there is to choose, the simplest first."""
        return self.whole.options

    @property
    def usual(self) -> Any:
        """The option to take unless another is clearly better."""
        return self.whole.usual

    @property
    def rows(self) -> Integers:
        """Training rows that are held out."""
        return np.concatenate([rows for _, rows in self.parts])

    def at(self, option: Any) -> Reader:
        """Return the reader of new rows with an option."""
        return self.whole.at(option)

    def held_out(self, option: Any) -> Posterior:
        """Return the posterior of the held-out rows, each by the source that has not seen it."""
        return stacked([source.at(option)(self.X[rows]) for source, rows in self.parts])


def held_out_by_folds(
    source: Source,
    fit: Callable[[Training], Any],
    training: Training,
    settings: Settings,
    random_state: np.random.RandomState,
) -> Folded:
    """Hold out training rows by training anew: each row is read by a model of two thirds of the others.

    Parameters
    ----------
    source : Source
        Which holds out no row.
    fit : callable
        Function from training rows to a fitted regressor.
    training, settings
        As `source_of` takes them.
    random_state : RandomState
        By which rows are put into thirds.
    """
    n = len(training.groups)
    thirds = np.array_split(random_state.permutation(n), FOLDS)
    parts = []
    for third in thirds:
        others = training.part(np.setdiff1d(np.arange(n), third))
        without = replace(settings, rows=settings.rows[:0])
        parts.append((source_of(fit(others), others, without), np.intersect1d(third, settings.rows)))
    return Folded(source, parts, training.X)


def rows_to_hold_out(n: int, random_state: np.random.RandomState) -> Integers:
    """Return rows to hold out: all, or `HELD_OUT` of them at random, in order."""
    return np.arange(n) if n <= HELD_OUT else np.sort(random_state.choice(n, HELD_OUT, replace=False))
