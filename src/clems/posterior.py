"""How probable each candidate is for a row: read from the leaves of trees, from neighbours, or from distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import KNeighborsRegressor

from clems.counts import Floats
from clems.decoding import dense_if_full, marginals_of
from clems.forest import LeafShares, Leaves, Trees, has_trees, sort_leaves, trees_of

Rows = NDArray[np.intp]
Weights = NDArray[np.float64] | None

HELD_OUT = 1000  # training rows at most by which is chosen
FOLDS = 3  # in which training rows are held out where trees have no bags
SHARPNESS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5)
USUAL = 4  # place of the one from which the search begins
LEAST = 1e-3  # probabilities nearer to 0 or 1 are judged as if they were this far
NEGLIGIBLE = 1e-6  # share, as a multiple of the greatest of a row, that is taken for nothing
VARIANCES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)  # around a predicted point, as multiples of that of all points


@dataclass(frozen=True)
class Seen:
    """What is seen of some rows.

    Attributes
    ----------
    share : CSR array of shape (n, L)
        How probable each candidate is, as the source has it.
    place : ndarray of shape (n, M) or callable
        Predicted points in the embedded space, or a function that computes them, since few decisions need them.
    """

    share: Any
    place: Any

    @property
    def points(self) -> Floats:
        """Predicted points in the embedded space, shape (n, M)."""
        return np.asarray(self.place() if callable(self.place) else self.place)


@dataclass(frozen=True)
class Source:
    """Where probabilities come from, with something to choose: the depth of trees, or how far points scatter.

    Attributes
    ----------
    at : callable
        Function of an option; returns a function of features and a number of jobs that returns what is `Seen`.
    options : list
        The simplest first.
    usual : object
        The option to take unless another is clearly better.
    rows : ndarray of shape (m,)
        Training rows that are held out.
    held_out : callable
        Function of an option; returns what is seen of these rows by what has not seen them in training.
    """

    at: Callable[[Any], Callable[..., Seen]]
    options: list[Any]
    usual: Any
    rows: Rows
    held_out: Callable[[Any], Seen]


@dataclass(frozen=True)
class ByLeaves:
    """Sees what shares a row's leaves."""

    leaves: Leaves
    shares: LeafShares
    points: Floats

    def at_depth(self, depth: int | None) -> ByLeaves:
        """See by trees that end at another depth."""
        return replace(self, shares=self.leaves.at(depth))

    def __call__(self, X: Any, n_jobs: int | None = None) -> Seen:
        """See rows."""
        return self.of_share(self.shares(X, n_jobs))

    def of_share(self, share: Any) -> Seen:
        """See rows whose shares are known."""
        return Seen(share, lambda: share @ self.points)


@dataclass(frozen=True)
class ByNeighbours:
    """Sees the nearest training rows, weighted as the fitted regressor weighs them."""

    regressor: Any
    groups: Rows
    points: Floats

    def __call__(self, X: Any, n_jobs: int | None = None) -> Seen:  # noqa: ARG002
        """See rows; None stands for all training rows, of which each is not its own neighbour."""
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
        place = np.repeat(np.arange(n), k), self.groups[neighbour].ravel()
        share = sparse.coo_array((weight.ravel(), place), (n, len(self.points))).tocsr()
        return Seen(share, lambda: share @ self.points)


@dataclass(frozen=True)
class ByDistance:
    """Sees a normal distribution around the predicted point.

    The share of a candidate is its frequency times ``exp(−distance² / (2 · variance))``.
    """

    regressor: Any
    points: Floats
    frequency: Floats
    variance: float

    def __call__(self, X: Any, n_jobs: int | None = None) -> Seen:  # noqa: ARG002
        """See rows."""
        Z = np.asarray(self.regressor.predict(X), np.float64).reshape(X.shape[0], -1)
        if not np.isfinite(Z).all():
            raise ValueError(f"The estimator {type(self.regressor).__name__} predicted values that are not finite.")
        with np.errstate(divide="ignore"):
            log = np.log(self.frequency) - euclidean_distances(Z, self.points, squared=True) / (2 * self.variance)
        share = np.exp(log - log.max(axis=1, keepdims=True))
        share[share < NEGLIGIBLE] = 0
        return Seen(sparse.csr_array(share / share.sum(axis=1, keepdims=True)), Z)


@dataclass(frozen=True)
class Training:
    """What probabilities are read with.

    Attributes
    ----------
    X : array or CSR array of shape (n, d)
        Features of the training rows.
    groups : ndarray of shape (n,)
        Candidate of each.
    weight : ndarray of shape (n,) or None
        Sample weights.
    points : ndarray of shape (L, M)
        Point of each candidate, which the regressor learned.
    frequency : ndarray of shape (L,)
        How frequent each candidate is.
    """

    X: Any
    groups: Rows
    weight: Weights
    points: Floats
    frequency: Floats

    def part(self, rows: Rows) -> Training:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, X=self.X[rows], groups=self.groups[rows], weight=weight)


def source_of(
    model: Any, training: Training, depths: Sequence[int | None], rows: Rows, n_jobs: int | None = None
) -> Source:
    """Find out where probabilities come from: leaves, neighbours or distances.

    Parameters
    ----------
    model : Trees or fitted regressor
        Trained on these rows.
    training : Training
        The rows.
    depths : sequence of int or None
        Depths of trees to choose from, the smallest first; None is the full depth.
    rows : ndarray of shape (m,)
        Rows to hold out. What has seen all of them in training holds out none.
    n_jobs : int, default=None
        How many trees are read at a time.
    """
    n, L = len(training.groups), len(training.points)
    if isinstance(model, KNeighborsRegressor):
        neighbours = ByNeighbours(model, training.groups, training.points)

        def without_itself(_: None) -> Seen:
            seen = neighbours(None)
            return Seen(seen.share[rows], seen.points[rows])

        return Source(lambda _: neighbours, [None], None, rows if model.n_neighbors < n else rows[:0], without_itself)
    if not isinstance(model, Trees) and not has_trees(model):
        spread = max(float(training.points.var(axis=0).mean()), np.finfo(np.float64).tiny)
        by_distance = ByDistance(model, training.points, training.frequency, spread)
        variances = [spread * multiple for multiple in VARIANCES]
        return Source(lambda own: replace(by_distance, variance=own), variances, variances[5], rows[:0], _nothing)
    trees = model if isinstance(model, Trees) else trees_of(model, n, training.weight)
    leaves = trees.leaves(training.X, n_jobs)
    content = sort_leaves(trees, leaves, training.groups, L)
    deepest = max(tree.get_depth() for tree in trees.trees)
    differing: list[int | None] = [depth for depth in depths if depth is not None and depth < deepest]
    differing += [depth for depth in depths if depth is None or depth >= deepest][:1]
    unseen = trees.bags[:, rows] == 0
    rows, unseen = rows[unseen.any(axis=0)], unseen[:, unseen.any(axis=0)]

    def at(depth: int | None) -> ByLeaves:
        return ByLeaves(content, content.at(depth), training.points)

    def held_out(depth: int | None) -> Seen:
        by_leaves = at(depth)
        own = leaves[:, rows], unseen, training.groups[rows], trees.weight[:, rows]
        return by_leaves.of_share(by_leaves.shares.held_out(*own))

    return Source(at, differing, differing[-1], rows, held_out)


def _nothing(option: Any) -> Seen:
    raise AssertionError(f"No row is held out at {option}.")


def held_out_by_folds(
    source: Source,
    fit: Callable[[Training], Any],
    training: Training,
    depths: Sequence[int | None],
    rows: Rows,
    random_state: np.random.RandomState,
) -> Source:
    """Hold out training rows by training anew: each row is seen by a model of two thirds of the others.

    Parameters
    ----------
    source : Source
        Which holds out no row.
    fit : callable
        Function from training rows to a fitted regressor.
    training, depths, rows
        As in :func:`source_of`.
    random_state : RandomState
        By which rows are put into thirds.
    """
    thirds = np.array_split(random_state.permutation(len(training.groups)), FOLDS)
    parts = [np.intersect1d(third, rows) for third in thirds]
    sources = []
    for third in thirds:
        others = training.part(np.setdiff1d(np.arange(len(training.groups)), third))
        sources.append(source_of(fit(others), others, depths, rows[:0]))

    def held_out(option: Any) -> Seen:
        seen = [own.at(option)(training.X[part]) for own, part in zip(sources, parts, strict=True)]
        return Seen(sparse.vstack([one.share for one in seen], "csr"), np.concatenate([one.points for one in seen]))

    return replace(source, rows=np.concatenate(parts), held_out=held_out)


def some_rows(n: int, random_state: np.random.RandomState) -> Rows:
    """Return rows to hold out: all, or `HELD_OUT` of them at random, in order."""
    return np.arange(n) if n <= HELD_OUT else np.sort(random_state.choice(n, HELD_OUT, replace=False))


def sharpened(share: Any, sharpness: float) -> Any:
    """Raise shares to a power and let rows sum to 1 again: above 1 the likelier gain, below 1 the others."""
    if sharpness == 1:
        return share
    lengths = np.diff(share.indptr)
    data = (share.data / np.repeat(np.maximum.reduceat(share.data, share.indptr[:-1]), lengths)) ** sharpness
    totals = np.add.reduceat(data, share.indptr[:-1])  # no row is empty
    return sparse.csr_array((data / np.repeat(totals, lengths), share.indices, share.indptr), share.shape)


def surprise(share: Any, labels: NDArray[np.uint8], Y: NDArray[np.uint8]) -> Floats:
    """How surprising the labels of each row are, each label by itself: minus the logarithm of its probability."""
    p = np.clip(marginals_of(dense_if_full(share), labels), LEAST, 1 - LEAST)
    return np.asarray(-np.log(np.where(Y == 1, p, 1 - p)).sum(axis=1))


def mean_and_error(values: Floats, weight: Weights) -> tuple[float, float]:
    """Mean of the values of rows and its standard error."""
    mean = float(np.average(values, weights=weight))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=weight) / len(values)))


def preferred(losses: dict[Any, Floats], usual: Any, weight: Weights) -> Any:
    """Key of the least losses; the usual one, unless another loses less by more than a standard error.

    Parameters
    ----------
    losses : dict
        Losses of the held-out rows.
    usual : object
        One of its keys.
    weight : ndarray or None
        Sample weights of these rows.
    """

    def lead(key: Any) -> float:
        gain, error = mean_and_error(losses[usual] - losses[key], weight)
        return gain - error

    best = max(losses, key=lead)
    return best if lead(best) > 0 else usual


def choose_shape(
    source: Source,
    surprises: Callable[[Seen, float], Floats],
    costs: Callable[[Seen, float], Floats] | None,
    weight: Weights,
    sharpness: float | None = None,
) -> tuple[Any, float, Seen]:
    """Choose an option and a sharpness by held-out rows; return them and what is then seen of these rows.

    The option is the usual one, unless their labels are less surprising under another by more than a standard error.
    The sharpness is the one under which they are the least surprising, which suits every cost, unless with another they
    cost less by more than a standard error.

    Parameters
    ----------
    source : Source
        Which holds out m rows.
    surprises, costs : callable
        Function of what is seen of these rows, and of a sharpness; returns a number for each row. Costs may be None
        where no single row has one.
    weight : ndarray of shape (m,) or None
        Sample weights of these rows.
    sharpness : float or None
        If given, it is not chosen.
    """
    grid = SHARPNESS if sharpness is None else (sharpness,)
    seen = {option: source.held_out(option) for option in source.options}
    found, power = {}, grid[min(USUAL, len(grid) - 1)]
    for option, own in seen.items():  # the best power of one is near that of the next
        found[option] = power, _ = valley(partial(surprises, own), grid, power, weight)
    option = preferred({option: losses[power] for option, (power, losses) in found.items()}, source.usual, weight)
    power = found[option][0]
    if costs is not None and sharpness is None:
        cheap, losses = valley(partial(costs, seen[option]), grid, power, weight)
        power = preferred({own: losses[own] for own in (power, cheap)}, power, weight)
    return option, power, seen[option]


def valley(
    loss: Callable[[float], Floats], grid: Sequence[float], start: float, weight: Weights
) -> tuple[float, dict[float, Floats]]:
    """Go up or down a grid as long as the mean loss gets less; return where that ends, and all losses on the way.

    Parameters
    ----------
    loss : callable
        Function of a number of the grid; returns the losses of rows.
    grid : sequence of float
        Numbers in order.
    start : float
        One of them.
    weight : ndarray or None
        Sample weights of the rows.
    """
    losses: dict[float, Floats] = {}

    def mean(place: int) -> float:
        losses[grid[place]] = own = loss(grid[place])
        return float(np.average(own, weights=weight))

    best = first = grid.index(start)
    least = mean(first)
    for step in (-1, 1):
        while 0 <= best + step < len(grid) and (value := mean(best + step)) < least:
            best, least = best + step, value
        if best != first:
            break
    return grid[best], losses
