"""Reading fitted trees: the rows that they drew, leaves and answers of rows, ancestors at a depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.parallel import Parallel, delayed

from clems.arrays import Integers, Weights

FORESTS = (RandomForestRegressor, ExtraTreesRegressor, RandomForestClassifier, ExtraTreesClassifier)
SINGLE_TREES = (DecisionTreeRegressor, DecisionTreeClassifier)
MOST = float(np.finfo(np.float32).max)
TOO_LARGE = f"X holds a number beyond ±{MOST:.2g}, the most that trees take; scale it down."


def has_trees(estimator: Any) -> bool:
    """Whether an estimator is a tree of scikit-learn's or a mean of such trees."""
    return isinstance(estimator, (*FORESTS, *SINGLE_TREES))


@dataclass(frozen=True)
class Trees:
    """Fitted trees and the training rows that each of them drew.

    Attributes
    ----------
    trees : list
        Trees of scikit-learn's.
    drawn : sequence of ndarray of shape (n,)
        For each tree how often it drew each training row; 0 where it has not seen the row. Trees may share an array.
    weight : ndarray of shape (n,) or None
        Sample weights.
    by_bags : bool
        Whether a leaf is read by the rows that its tree drew, as often as it drew them, or by all that fall into it.
    """

    trees: list[Any]
    drawn: Sequence[NDArray[np.integer[Any]]]
    weight: Weights
    by_bags: bool

    def bag(self, tree: int) -> NDArray[np.float64]:
        """Weight of each training row when a tree was grown, shape (n,)."""
        drawn = self.drawn[tree].astype(np.float64)
        return drawn if self.weight is None else np.asarray(drawn * self.weight)

    def row_weight(self, tree: int) -> NDArray[np.float64]:
        """Weight of each training row in its leaf, shape (n,)."""
        if self.by_bags:
            return self.bag(tree)
        return np.ones(len(self.drawn[tree])) if self.weight is None else self.weight


def trees_of(forest: Any, n: int, weight: Weights) -> Trees:
    """Read the trees of a fitted forest, or a fitted tree, and the rows that they were trained on."""
    if isinstance(forest, SINGLE_TREES):
        trees, samples = [forest], [np.arange(n)]
    elif forest.bootstrap:
        trees, samples = forest.estimators_, forest.estimators_samples_
    else:
        trees, samples = forest.estimators_, [np.arange(n)] * len(forest.estimators_)
    drawn = [counts_of(rows, n) for rows in samples]
    if weight is not None and getattr(forest, "bootstrap", False):
        # Some versions of scikit-learn weigh the rows that they drew, others draw rows by their weights.
        roots = np.array([tree.tree_.weighted_n_node_samples[0] for tree in trees])
        weighed = np.array([rows @ weight for rows in drawn])
        counted = np.array([rows.sum(dtype=np.float64) for rows in drawn])
        if abs(weighed - roots).sum() >= abs(counted - roots).sum():
            weight = None
    return Trees(list(trees), drawn, weight, by_bags=True)


def counts_of(rows: Integers, n: int) -> NDArray[np.integer[Any]]:
    """How often each of n rows occurs, in as few bytes as that takes."""
    counts = np.bincount(rows, minlength=n)
    return counts.astype(np.uint8 if counts.max(initial=0) < 256 else np.uint32)


def leaves_of(trees: list[Any], X: Any, n_jobs: int | None = None) -> Integers:
    """Leaf of each row in each tree, shape (T, n)."""
    features = as_rows(X)

    def leaves(some: list[Any]) -> Integers:
        return np.stack([tree.tree_.apply(features) for tree in some])  # without checks, a fifth of the time

    if effective_n_jobs(n_jobs) == 1:  # a single row takes longer through joblib than in the trees
        return leaves(trees)
    tens = [trees[first : first + 10] for first in range(0, len(trees), 10)]
    return np.concatenate(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(leaves)(some) for some in tens))


def predictions_of(estimator: Any, X: Any, method: str = "predict") -> Any:
    """Ask an estimator for predictions; a forest divides the rows, not its trees, among `n_jobs` threads.

    scikit-learn divides the trees, and adds up what they say in the order in which threads are done: the last digits,
    and with them which of two classes is the likelier, are others from one call to the next. Here a row's sum is always
    in the order of the trees, as with a single thread.

    Parameters
    ----------
    estimator : estimator
        Fitted; a forest that is asked for classes, not for probabilities, has a single output.
    X : array, CSR array or DataFrame of shape (n, d)
        Features.
    method : {"predict", "predict_proba"}
        What is asked for.

    Returns
    -------
    ndarray, or list of ndarray
        As the estimator returns it: probabilities of several outputs in a list.
    """
    jobs = effective_n_jobs(estimator.n_jobs) if isinstance(estimator, FORESTS) else 1
    if jobs == 1:
        return getattr(estimator, method)(X)
    features, of_tree = as_rows(X), "predict_proba" if is_classifier(estimator) else "predict"

    def means(rows: slice) -> list[Any]:  # of each output
        values = (getattr(tree, of_tree)(features[rows], check_input=False) for tree in estimator.estimators_)
        outputs = zip(*(one if isinstance(one, list) else [one] for one in values), strict=True)
        return [sum(output) / len(estimator.estimators_) for output in outputs]

    ends = np.linspace(0, X.shape[0], min(jobs, X.shape[0]) + 1).astype(int)
    slices = map(slice, ends[:-1], ends[1:])
    parts = Parallel(n_jobs=jobs, prefer="threads")(delayed(means)(rows) for rows in slices)
    joined = [np.concatenate(output) for output in zip(*parts, strict=True)]
    if method != of_tree:
        return estimator.classes_[joined[0].argmax(axis=1)]
    return joined if is_classifier(estimator) and estimator.n_outputs_ > 1 else joined[0]


def as_rows(X: Any) -> Any:
    """Features as trees take them to find leaves: in single precision, dense in any order, or sparse by rows."""
    return in_single(partial(sparse.csr_array if sparse.issparse(X) else np.asarray, X))


def in_single(convert: Callable[..., Any]) -> Any:
    """Convert features to single precision, in which trees compare them."""
    with np.errstate(over="raise"):
        try:
            return convert(dtype=np.float32)
        except FloatingPointError:
            raise ValueError(TOO_LARGE) from None


def check_reach(estimator: Any, X: Any) -> None:
    """Refuse features that trees, if an estimator has any, cannot compare in single precision."""
    if not has_trees(estimator) or X.dtype.kind != "f" or X.dtype.itemsize <= 4:
        return
    values = X.data if sparse.issparse(X) else X
    if np.fmax.reduce(values, None, initial=0) > MOST or np.fmin.reduce(values, None, initial=0) < -MOST:
        raise ValueError(TOO_LARGE)


def ancestors(trees: list[Any], depth: int | None) -> Integers:
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
    ends = np.arange(starts[-1])
    if depth is None:
        return ends
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
            ends[children] = children if below <= depth else ends[level]
        level = np.concatenate([left[level], right[level]])
    return ends


def starts_of(trees: list[Any]) -> Integers:
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
