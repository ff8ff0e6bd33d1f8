"""Growing trees: the default forests, and the trees of CLEMS, each of which leaves some rows out."""

from __future__ import annotations

from functools import partial
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.tree import ExtraTreeRegressor
from sklearn.tree._tree import Tree
from sklearn.utils.parallel import Parallel, delayed

from clems.arrays import Floats, Integers, Weights, share_of_entries
from clems.trees.reading import Trees, counts_of, in_single

WIDE = 16  # outputs from which on a tree is grown on so many random combinations of them
DIGITS = 20  # binary digits of the targets of trees
RARE = 3  # rows that have to have an entry in a column of sparse features for a tree to look at it
LEAST = 12  # rows from which on trees leave thirds of them out
DENSE = 1 / 24  # share of entries other than 0 from which on trees take less time with dense features than with sparse


def tree_shape(n_features: int) -> dict[str, Any]:
    """Shape of the trees of every default forest: features that a split tries, and rows that it needs.

    A split tries the square root of the number of features d, but at least a tenth of them, up to 200, and a sixth of
    them, up to 32: where features are few, or zero for most rows, the root is too few. It was chosen by quality and
    time, see ``docs/forest.md``.
    """
    d = n_features
    return {"max_features": ceil(max(sqrt(d), min(d / 10, 200), min(d / 6, 32))), "min_samples_split": 3}


def default_forest(n_features: int, **settings: Any) -> ExtraTreesRegressor:
    """Forest for all dimensions of an embedding: one hundred extremely randomised trees, see :func:`tree_shape`.

    Parameters
    ----------
    n_features : int
        Number of features, which decides how many a split tries.
    **settings
        Parameters of scikit-learn's ExtraTreesRegressor that override these.
    """
    return ExtraTreesRegressor(**{**tree_shape(n_features), **settings})


def default_classifier(n_features: int, **settings: Any) -> ExtraTreesClassifier:
    """Forest for one label: like :func:`default_forest`, for classes.

    Parameters
    ----------
    n_features : int
        Number of features, which decides how many a split tries.
    **settings
        Parameters of scikit-learn's ExtraTreesClassifier that override these.
    """
    return ExtraTreesClassifier(**{**tree_shape(n_features), **settings})


def grow_trees(
    X: Any,
    targets: list[Floats],
    groups: Integers,
    weight: Weights,
    random_state: np.random.RandomState,
    *,
    max_depth: int | None,
    n_trees: int = 100,
    n_jobs: int | None = None,
    bags: str = "thirds",
) -> Trees:
    """Grow extremely randomised trees on several targets in turn.

    Each tree leaves a third of the rows out, the same thirds in turn, so that every row is held out by a third of the
    trees: enough for held-out rows to cost about what new rows will. What a leaf says is read from all rows that fall
    into it, whether the tree has seen them or not.
    Of a target with more than `WIDE` columns a tree sees so many random combinations, and of sparse features those
    columns in which at least `RARE` of its rows have an entry: the search for a split takes less time. What its nodes
    would predict is not kept.

    Parameters
    ----------
    X : array or CSC array of shape (n, d)
        Features by columns, see :func:`as_columns`; NaN where one of an array is missing.
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
    bags : {"thirds", "bootstrap"}, default="thirds"
        With "bootstrap" every other tree of a target is grown on all rows, the others on a bootstrap sample; so are
        those of fewer than `LEAST` rows.
    """
    n, d = X.shape
    missing = None if sparse.issparse(X) else np.isnan(X).any(axis=0)
    missing = missing if missing is not None and missing.any() else None
    settings = {**tree_shape(d), "max_depth": max_depth}

    seeds = random_state.randint(2**31 - 1, size=n_trees).tolist()
    third = random_state.permutation(n) % 3 if bags == "thirds" and n >= LEAST else None
    # Trees that leave out the same third share its array; none does where all other rows weigh nothing.
    thirds = [] if third is None else [np.asarray(third != turn, np.uint8) for turn in range(3)]
    weighs = [weight is None or weight[drawn > 0].any() for drawn in thirds]

    def draw(turn: int, random: np.random.RandomState) -> NDArray[Any]:
        """How often a tree draws each row, in its turn among the trees of its target."""
        if thirds and weighs[turn % 3]:
            return thirds[turn % 3]
        return counts_of(random.randint(0, n, n), n) if turn % 2 == 0 else np.ones(n, np.uint8)

    # Trees of sparse features are given no more than what they draw, since they would look at the rest in vain.
    turns = np.arange(n_trees) // len(targets) % 3
    apart = [turn for turn in range(3) if thirds and weighs[turn] and sparse.issparse(X)]
    batches: list[tuple[Integers, Any]] = [(np.flatnonzero(turns == turn), thirds[turn] > 0) for turn in apart]
    batches.append((np.flatnonzero(~np.isin(turns, apart)), slice(None)))

    def grow(which: int, X: Any, rows: Any, columns: Integers) -> tuple[Any, Any]:
        """Grow one of the trees, on some rows, among which are all that it draws, and some columns."""
        target, turn = targets[which % len(targets)], which // len(targets)
        random = np.random.RandomState(seeds[which])
        drawn = draw(turn, random)
        if target.shape[1] > WIDE:  # Z R with R of shape (M, WIDE), standard normal
            target = target @ random.standard_normal((target.shape[1], WIDE))
        target = rounded(target)
        bag = drawn[rows] if weight is None else (drawn * weight)[rows]
        tree = ExtraTreeRegressor(**settings, random_state=random.randint(2**31 - 1))
        weighted = weight is not None or (bag != 1).any()  # whose check takes a tenth of a small tree's time
        tree._fit(  # which is fit without checks, and takes where features are missing, as forests call their trees
            X,
            target[groups[rows]],
            sample_weight=bag.astype(np.float64) if weighted else None,
            check_input=False,
            missing_values_in_feature_mask=missing,
        )
        return finished(tree, columns, d), drawn

    trees: list[Any] = [None] * n_trees
    with config_context(skip_parameter_validation=True):  # which takes a tenth of the time of a small tree
        for some, rows in batches:
            part = (X, slice(None), np.arange(d)) if isinstance(rows, slice) else part_of(X, rows)
            grown = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(grow)(which, *part) for which in some)
            for which, one in zip(some, grown, strict=True):
                trees[which] = one
    return Trees([tree for tree, _ in trees], [drawn for _, drawn in trees], weight, by_bags=False)


def part_of(X: Any, rows: NDArray[np.bool_]) -> tuple[Any, NDArray[np.bool_], Integers]:
    """Take some rows of a CSC array, and the columns in which enough of them have an entry; return all three."""
    part = X[np.flatnonzero(rows)]
    entries = np.diff(part.indptr)
    columns = np.flatnonzero(entries >= min(RARE, entries.max(initial=0)))
    return in_single(partial(sparse.csc_array, part[:, columns])), rows, columns


def finished(tree: ExtraTreeRegressor, columns: Integers, n_features: int) -> ExtraTreeRegressor:
    """Let a tree that was grown on some columns read all features, and take from it what its nodes predict.

    That is two thirds of its memory, which leaves are found without; what the tree predicts is NaN from then on.
    """
    grown, single = tree.tree_, Tree(n_features, np.ones(1, np.intp), 1)
    state = {**grown.__getstate__(), "values": np.full((grown.node_count, 1, 1), np.nan)}
    inner = state["nodes"]["left_child"] >= 0
    state["nodes"]["feature"][inner] = columns[state["nodes"]["feature"][inner]]
    single.__setstate__(state)
    tree.tree_, tree.n_outputs_, tree.n_features_in_ = single, 1, n_features
    return tree


def rounded(targets: Floats) -> Floats:
    """Round targets to multiples of 2^-20 of the power of two above the greatest of them.

    Linear algebra rounds differently from one processor to the next, and a tree makes another split for the last digit
    of a target. With so many digits fewer, far more than trees can use, the same trees are grown everywhere.
    """
    unit = DIGITS - np.frexp(abs(targets).max(initial=0))[1]
    return np.asarray(np.ldexp(np.rint(np.ldexp(targets, unit)), -unit))


def as_columns(X: Any) -> Any:
    """Features by columns, as trees are grown on them: dense or sparse by their content, whatever they came as.

    A dense copy of sparse features is at most eight times as large. Features that are missing stay dense, since trees
    know them only there.
    """
    if share_of_entries(X) < DENSE and (sparse.issparse(X) or not np.isnan(X).any()):
        return in_single(partial(sparse.csc_array, X))
    return in_single(partial(np.asfortranarray, X.toarray() if sparse.issparse(X) else X))
