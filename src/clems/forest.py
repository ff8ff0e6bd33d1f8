"""Forests: those that learners use when no estimator is given, and what the leaves of any forest know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import partial
from math import ceil, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from clems.counts import Floats
from clems.validation import check_count

FORESTS = (RandomForestRegressor, ExtraTreesRegressor, RandomForestClassifier, ExtraTreesClassifier)
SINGLE_TREES = (DecisionTreeRegressor, DecisionTreeClassifier)
WIDE = 16  # outputs from which on a tree is grown on so many random combinations of them
DENSE = 1 / 24  # share of entries other than 0 from which on trees take less time with dense features than with sparse

Nodes = NDArray[np.intp]


def default_forest(n_features: int, **settings: Any) -> ExtraTreesRegressor:
    """Forest for all dimensions of an embedding.

    One hundred extremely randomised trees. A split tries the square root of the number of features, but at least a
    tenth of them: where most features are zero for most rows, the root is too few. It was chosen by quality and time
    over five datasets, see ``docs/forest.md``.

    Parameters
    ----------
    n_features : int
        Number of features, which decides how many a split tries.
    **settings
        Parameters of scikit-learn's ExtraTreesRegressor that override these.
    """
    return ExtraTreesRegressor(**{**_shape(n_features), **settings})


def default_classifier(n_features: int, **settings: Any) -> ExtraTreesClassifier:
    """Forest for one label: like :func:`default_forest`, for classes.

    Parameters
    ----------
    n_features : int
        Number of features, which decides how many a split tries.
    **settings
        Parameters of scikit-learn's ExtraTreesClassifier that override these.
    """
    return ExtraTreesClassifier(**{**_shape(n_features), **settings})


def _shape(n_features: int) -> dict[str, Any]:
    return {"max_features": ceil(max(sqrt(n_features), n_features / 10)), "min_samples_split": 6}


@dataclass(frozen=True)
class Trees:
    """Fitted trees and how much each training row counts in each of them.

    Attributes
    ----------
    trees : list
        Trees of scikit-learn's.
    bags : ndarray of shape (T, n)
        Weight of each training row when a tree was grown; 0 where the tree has not seen it.
    weight : ndarray of shape (T, n)
        Weight of each training row in what its leaf says.
    """

    trees: list[Any]
    bags: NDArray[np.float64]
    weight: NDArray[np.float64]

    def leaves(self, X: Any, n_jobs: int | None = None) -> Nodes:
        """Leaf of each row in each tree, shape (T, n)."""
        return leaves_of(self.trees, X, n_jobs)


def grow_trees(
    X: Any,
    targets: list[Floats],
    groups: Nodes,
    weight: NDArray[np.float64] | None,
    random_state: np.random.RandomState,
    *,
    max_depth: int | None,
    n_trees: int = 100,
    n_jobs: int | None = None,
) -> Trees:
    """Grow extremely randomised trees on several targets in turn.

    Every other tree of a target is grown on all rows, the others on a bootstrap sample, so that rows are out of the bag
    of some trees. What a leaf says is read from all rows that fall into it, whether the tree has seen them or not.
    Of a target with more than `WIDE` columns a tree sees so many random combinations: the search for a split takes less
    time.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        Features.
    targets : list of ndarray of shape (L, M)
        What the trees are grown on, the same for all rows of a group.
    groups : ndarray of shape (n,)
        The group of each row, from 0 to L − 1.
    weight : ndarray of shape (n,) or None
        Sample weights.
    random_state : RandomState
        Source of a seed for each tree; they do not depend on `n_jobs`.
    max_depth : int or None
        How deep the trees grow.
    n_trees : int, default=100
        How many of them.
    n_jobs : int, default=None
        How many are grown at a time.
    """
    n, d = X.shape
    features = as_columns(X)
    settings = {
        "max_features": ceil(max(sqrt(d), min(d / 10, 200), min(d / 3, 64))),
        "min_samples_split": 3,
        "max_depth": max_depth,
    }

    rows = np.ones(n) if weight is None else weight

    def grow(seed: int, target: Floats, sampled: bool) -> tuple[Any, NDArray[np.float64]]:
        own = np.random.RandomState(seed)
        bag = rows.copy()
        if sampled:
            bag *= np.bincount(own.randint(0, n, n), minlength=n)
        if target.shape[1] > WIDE:
            target = target @ own.standard_normal((target.shape[1], WIDE))
        tree = ExtraTreeRegressor(**settings, random_state=own.randint(2**31 - 1))
        weighted = sampled or weight is not None  # weights are checked, which takes a tenth of the time of a small tree
        tree.fit(features, target[groups], sample_weight=bag if weighted else None, check_input=False)
        return tree, bag

    seeds = random_state.randint(2**31 - 1, size=n_trees).tolist()
    with config_context(skip_parameter_validation=True):  # which takes a tenth of the time of a small tree
        grown = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(grow)(seed, targets[which % len(targets)], which // len(targets) % 2 == 0)
            for which, seed in enumerate(seeds)
        )
    trees, bags = zip(*grown, strict=True)
    return Trees(list(trees), np.stack(bags), np.broadcast_to(rows, (n_trees, n)))


def as_columns(X: Any) -> Any:
    """Features by columns, as trees are grown on them: dense or sparse by their content, whatever they came as.

    A dense copy of sparse features is at most eight times as large.
    """
    entries = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    if entries < DENSE * X.shape[0] * X.shape[1]:
        return _in_single(partial(sparse.csc_array, X))
    return _in_single(partial(np.asfortranarray, X.toarray() if sparse.issparse(X) else X))


def _in_single(convert: Callable[..., Any]) -> Any:
    """Convert features to single precision, in which trees compare them."""
    with np.errstate(over="raise"):
        try:
            return convert(dtype=np.float32)
        except FloatingPointError:
            raise ValueError(TOO_LARGE) from None


MOST = float(np.finfo(np.float32).max)
TOO_LARGE = f"X holds a number beyond ±{MOST:.2g}, the most that trees take; scale it down."


def check_reach(estimator: Any, X: Any) -> None:
    """Refuse features that trees, if an estimator has any, cannot compare in single precision."""
    if not has_trees(estimator) or X.dtype.kind != "f" or X.dtype.itemsize <= 4:
        return
    values = X.data if sparse.issparse(X) else X
    if values.max(initial=0) > MOST or values.min(initial=0) < -MOST:
        raise ValueError(TOO_LARGE)


def has_trees(estimator: Any) -> bool:
    """Whether an estimator is a tree of scikit-learn's or a mean of such trees."""
    return isinstance(estimator, (*FORESTS, *SINGLE_TREES))


def trees_of(forest: Any, n: int, weight: NDArray[np.float64] | None) -> Trees:
    """Read the trees of a fitted forest, or a fitted tree, and the bags that they were trained on."""
    if isinstance(forest, SINGLE_TREES):
        trees, drawn = [forest], [np.arange(n)]
    elif forest.bootstrap:
        trees, drawn = forest.estimators_, forest.estimators_samples_
    else:
        trees, drawn = forest.estimators_, [np.arange(n)] * len(forest.estimators_)
    bags = np.stack([np.bincount(rows, minlength=n) for rows in drawn]).astype(np.float64)
    if weight is not None:
        # Some versions of scikit-learn weigh the rows that they drew, others draw rows by their weights.
        roots = np.array([tree.tree_.weighted_n_node_samples[0] for tree in trees])
        if (
            not getattr(forest, "bootstrap", False)
            or abs(bags @ weight - roots).sum() < abs(bags.sum(axis=1) - roots).sum()
        ):
            bags = bags * weight
    return Trees(list(trees), bags, bags)


def leaves_of(trees: list[Any], X: Any, n_jobs: int | None = None) -> Nodes:
    """Leaf of each row in each tree, shape (T, n)."""
    features = _in_single(partial(sparse.csr_array if sparse.issparse(X) else np.ascontiguousarray, X))

    def leaves(some: list[Any]) -> Nodes:
        return np.stack([tree.tree_.apply(features) for tree in some])  # without checks, a fifth of the time

    tens = [trees[first : first + 10] for first in range(0, len(trees), 10)]
    return np.concatenate(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(leaves)(some) for some in tens))


def ancestors(trees: list[Any], depth: int | None) -> Nodes:
    """For each node of all trees the node itself, or its ancestor at a depth if it lies deeper.

    A tree whose nodes are replaced so is the tree that would have been grown to that depth with the same splits.

    Parameters
    ----------
    trees : list
        Trees of scikit-learn's; their nodes are numbered one tree after the other.
    depth : int or None
        None is the full depth.

    Returns
    -------
    ndarray of shape (R,)
    """
    starts = starts_of(trees)
    found = np.arange(starts[-1])
    if depth is None:
        return found
    # All trees go down together, level by level; −1 stays below 0 as the child of a leaf.
    shift = np.repeat(starts[:-1], np.diff(starts))
    left, right = (
        np.where(children < 0, -1, children + shift)
        for children in (
            np.concatenate([tree.tree_.children_left for tree in trees]),
            np.concatenate([tree.tree_.children_right for tree in trees]),
        )
    )
    level, below = starts[:-1], 0
    while len(level := level[left[level] >= 0]):  # the nodes of a level that are split
        below += 1
        for children in (left[level], right[level]):
            found[children] = children if below <= depth else found[level]
        level = np.concatenate([left[level], right[level]])
    return found


def starts_of(trees: list[Any]) -> Nodes:
    """Where the nodes of each tree begin, all trees taken together; at the end, how many there are."""
    return np.concatenate([[0], np.cumsum([tree.tree_.node_count for tree in trees])])


def truncated(estimator: Any, depth: int) -> Any:
    """Copy of a fitted forest or tree whose trees end at a depth, as if they had been grown no further.

    Whatever has no trees is returned as it is.
    """
    if not has_trees(estimator):
        return estimator
    cut = copy(estimator)
    if isinstance(estimator, SINGLE_TREES):
        trees = [cut]
    else:
        trees = cut.estimators_ = [copy(tree) for tree in estimator.estimators_]
    for tree in trees:
        tree.tree_ = deepcopy(tree.tree_)  # all that changes; the rest is shared
    starts = starts_of(trees)
    beyond = ancestors(trees, depth) != np.arange(starts[-1])
    for tree, start in zip(trees, starts[:-1], strict=True):
        left, right = tree.tree_.children_left, tree.tree_.children_right  # views of what the tree itself reads
        split = np.flatnonzero(left >= 0)
        last = split[beyond[start + left[split]]]
        left[last] = right[last] = -1
    return cut


def depth_of(estimator: Any) -> int:
    """Depth to which a tree, or the deepest of a forest, was grown; 0 for whatever has no trees."""
    if isinstance(estimator, SINGLE_TREES):
        return int(estimator.get_depth())
    return max(map(depth_of, estimator.estimators_)) if has_trees(estimator) else 0


class DepthPath(ABC):
    """A learner whose fitted trees can be cut at any depth."""

    depth_path = True

    def at_depth(self, depth: int) -> Self:
        """Return the model as it is with trees that end at a depth, without training anew.

        A tree that ends at a depth is the tree that would have been grown to it, so one fit serves all depths: choose
        the best on validation data. Estimators that are neither trees nor forests of scikit-learn's stay as they are.

        Parameters
        ----------
        depth : int
            Where trees end.

        Returns
        -------
        DepthPath
            A fitted model of the same kind.
        """
        check_is_fitted(self)
        depth = check_count(depth, "depth")
        other = copy(self)
        other._replace_estimators(partial(truncated, depth=depth))
        return other

    def get_depth(self) -> int:
        """Return the depth to which its deepest tree was grown; 0 if it has no trees."""
        check_is_fitted(self)
        depths: list[int] = []
        copy(self)._replace_estimators(lambda estimator: depths.append(depth_of(estimator)))
        return max(depths)

    @abstractmethod
    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        """Put a function of each fitted estimator in its place."""


@dataclass(frozen=True)
class LeafShares:
    """What trees say about rows: how the training rows in their leaves share out among groups.

    Attributes
    ----------
    trees : list
        The trees.
    place : ndarray of shape (R,)
        Which row of `table` each node stands for; nodes are numbered one tree after the other.
    weight : ndarray of shape (R,)
        Weight of the training rows in each node.
    table : CSR array of shape (R, L)
        Share of each group in each node, divided by the number of trees.
    """

    trees: list[Any]
    place: Nodes
    weight: NDArray[np.float64]
    table: Any

    def __call__(self, X: Any, n_jobs: int | None = None) -> Any:
        """Share of each group for each row, a CSR array of shape (n, L) whose rows sum to 1."""
        return self.of_leaves(leaves_of(self.trees, X, n_jobs))

    def of_leaves(self, leaves: Nodes) -> Any:
        """Shares for rows whose leaves, shape (T, n), are known."""
        nodes = self._nodes(leaves)
        return self._mean(nodes, np.ones(nodes.size), np.full(len(nodes), nodes.shape[1]))

    def held_out(self, leaves: Nodes, counted: NDArray[np.bool_], groups: Nodes, weight: NDArray[np.float64]) -> Any:
        """Shares for training rows, each left out of what its leaves say.

        Parameters
        ----------
        leaves : ndarray of shape (T, n)
            Their leaves.
        counted : ndarray of shape (T, n)
            Which trees have a say, for each row at least one. Their leaves hold other rows too.
        groups : ndarray of shape (n,)
            Group of each row.
        weight : ndarray of shape (T, n)
            Weight of each row in its leaf.
        """
        nodes, counted, weight = self._nodes(leaves), counted.T, weight.T
        total, numbers = self.weight[nodes], counted.sum(axis=1)
        weight = np.where(weight < (1 - ROUNDING) * total, weight, 0)  # next to which all others are nothing
        others = np.where(counted, total - weight, np.inf)
        scale = (counted.shape[1] / numbers)[:, None] * total / others
        share = self._mean(nodes[counted], scale[counted], numbers)
        rows = np.arange(len(groups))
        own = np.asarray(share[rows, groups]).ravel()
        rest = own - (weight / others).sum(axis=1) / numbers
        taken = np.where(rest < ROUNDING * own, own, own - rest)
        return share - sparse.csr_array((taken, (rows, groups)), share.shape)

    def _nodes(self, leaves: Nodes) -> Nodes:
        return np.asarray(self.place[(leaves + starts_of(self.trees)[:-1, None]).T])

    def _mean(self, nodes: Nodes, scale: Floats, numbers: Nodes) -> Any:
        """Sum over the nodes of each row, of which there are `numbers`, of their rows of the table times a scale."""
        ends = np.concatenate([[0], numbers.cumsum()]).astype(np.int32)
        members = sparse.csr_array((scale, nodes.ravel().astype(np.int32), ends), (len(numbers), len(self.place)))
        return members @ self.table


ROUNDING = 1e-9  # what is left of a weight, as a share of it, that is taken for nothing


@dataclass(frozen=True)
class Leaves:
    """The training rows in the leaves of trees, by group.

    Attributes
    ----------
    trees : list
        The trees.
    counts : CSR array of shape (R, L)
        Weight of the rows of each group in each leaf; nodes are numbered one tree after the other.
    """

    trees: list[Any]
    counts: Any

    def at(self, depth: int | None) -> LeafShares:
        """Shares by trees that end at a depth; None is the full depth."""
        place = ancestors(self.trees, depth)
        size = len(place)
        merge = sparse.csc_array((np.ones(size), place.astype(np.int32), np.arange(size + 1)), (size, size))
        table = merge.tocsr() @ self.counts
        weight = np.asarray(table.sum(axis=1))
        table.data /= np.repeat(weight * len(self.trees), np.diff(table.indptr))
        return LeafShares(self.trees, place, weight, table)


def sort_leaves(trees: Trees, leaves: Nodes, groups: Nodes, n_groups: int) -> Leaves:
    """Sort the training rows into the leaves of their trees.

    Parameters
    ----------
    trees : Trees
        Of n training rows.
    leaves : ndarray of shape (T, n)
        Their leaves.
    groups : ndarray of shape (n,)
        Their groups, from 0 to n_groups − 1.
    n_groups : int
        How many groups there are.
    """
    starts = starts_of(trees.trees)
    tree, row = np.nonzero(trees.weight)
    node = (leaves + starts[:-1, None])[tree, row]
    counts = sparse.coo_array(
        (trees.weight[tree, row], (node.astype(np.int32), groups[row].astype(np.int32))),
        (starts[-1], n_groups),
    )
    return Leaves(trees.trees, counts.tocsr())
