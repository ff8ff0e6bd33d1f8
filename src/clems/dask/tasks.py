"""What Dask's tasks do with a partition, `look`, `grow` and `count`, and how what they give is added up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from clems.arrays import Floats, Integers, Labels
from clems.costs.cost import Cost
from clems.dask.partitions import rows_in, stacked
from clems.embedding.candidates import candidate_of_each
from clems.labels.distinct import distinct_rows
from clems.learners.clems import CLEMS
from clems.learners.input import read_training
from clems.posterior.experts import expert_for
from clems.posterior.ridge_expert import Description, ridge_sums
from clems.trees.growing import as_columns, grow_trees
from clems.trees.leaf_table import sort_into_leaves
from clems.trees.reading import Trees, as_rows


class Facts(NamedTuple):
    """What is known of a partition at first sight.

    Attributes
    ----------
    n : int
        Number of its rows.
    noted : dict
        What a model notes of its training data: names of features and labels, and the form of labels.
    width : float
        Mean number of entries of a row.
    expert : str
        The kind of expert that suits its features.
    per_label : ndarray of shape (K,)
        Number of its rows that have each label.
    """

    n: int
    noted: dict[str, Any]
    width: float
    expert: str
    per_label: Floats


class Counted(NamedTuple):
    """Label vectors and the number of rows that have each."""

    vectors: Labels
    frequency: Floats


class Forest(NamedTuple):
    """What all partitions have to know in order to grow trees.

    Attributes
    ----------
    labels : ndarray or CSR array of shape (L, K)
        The candidates.
    cost : Cost
        By which rows belong to a candidate whose own vector is none.
    targets : list of ndarray
        What trees are grown on in turn.
    max_depth : int or None
        How deep.
    bags : str
        Which rows a tree leaves out, see `grow_trees`.
    """

    labels: Labels
    cost: Cost
    targets: list[Any]
    max_depth: int | None
    bags: str

    def groups(self, Y: Labels) -> Integers:
        """Return the candidate of each row."""
        observed, index = distinct_rows(Y)
        return candidate_of_each(observed, self.labels, self.cost)[index]


class Share(NamedTuple):
    """What a partition contributes.

    Attributes
    ----------
    first, n_trees : int
        Number of the first of its trees, and how many there are.
    seed : int
        Of these trees.
    sampled : ndarray
        Rows that it gives to the sample.
    used : ndarray
        Rows of which experts learn that do not learn of all.
    """

    first: int
    n_trees: int
    seed: int
    sampled: Integers
    used: Integers


class Ridge(NamedTuple):
    """What all partitions have to know in order to add up what a ridge regression needs.

    Attributes
    ----------
    describe : Description
        How rows are described.
    varied : ndarray of shape (V,)
        Labels that vary.
    mean : ndarray of shape (V,)
        How frequent these are.
    of_all : bool
        Whether it learns of all rows, or of those that are drawn.
    """

    describe: Description
    varied: Integers
    mean: Floats
    of_all: bool


def look(name: str, rows: Any, learner: CLEMS) -> tuple[Facts, Counted | None]:
    """Note what features and labels are, and count label vectors."""
    noted: dict[str, Any] = {}
    X, labels = checked(name, rows, learner, noted)
    if X is None:
        return Facts(0, {}, 0.0, "", np.empty(0)), None
    n = X.shape[0]
    vectors, index = distinct_rows(labels)
    frequency = np.bincount(index).astype(np.float64)
    width = X.nnz / n if sparse.issparse(X) else X.shape[1]
    return Facts(n, noted, width, expert_for(X), frequency @ vectors), Counted(vectors, frequency)


def grow(name: str, rows: Any, learner: CLEMS, forest: Forest, share: Share) -> tuple[list[Any], Any, Any, Any]:
    """Grow trees on a partition; give its part of the sample, which trees have not drawn it, and rows for experts."""
    X, labels = checked(name, rows, learner)
    if X is None:
        return [], None, None, None
    sample, used = (None if not len(some) else (X[some], labels[some]) for some in (share.sampled, share.used))
    if not share.n_trees:
        return [], sample, None, used
    turned = share.first % len(forest.targets)  # the first tree is of another target in every other partition
    trees = grow_trees(
        as_columns(X),
        forest.targets[turned:] + forest.targets[:turned],
        forest.groups(labels),
        None,
        np.random.RandomState(share.seed),
        max_depth=forest.max_depth,
        n_trees=share.n_trees,
        bags=forest.bags,
    )
    left_out = np.stack([drawn[share.sampled] == 0 for drawn in trees.drawn])
    return trees.trees, sample, left_out, used


def count(name: str, rows: Any, learner: CLEMS, forest: Forest, trees: list[Any], ridges: list[Ridge]) -> Any:
    """Sort the rows of a partition into the leaves of all trees, and add up what experts of all rows need."""
    X, labels = checked(name, rows, learner)
    if X is None:
        return None
    n, L = X.shape[0], forest.labels.shape[0]
    every = Trees(trees, [np.ones(n, np.uint8)] * len(trees), None, by_bags=False)
    counts, _ = sort_into_leaves(every, as_rows(X), forest.groups(labels), L, np.empty(0, np.intp))
    table = counts.counts
    table.sum_duplicates()  # which puts entries in order, so that tables are added up fast
    return table, *_sums(X, labels, ridges)


def add_up(rows: list[tuple[Any, Labels] | None], ridges: list[Ridge]) -> Any:
    """Add up what experts need of drawn rows of some partitions."""
    there = [one for one in rows if one is not None]
    if not there or not ridges:
        return None if ridges else []
    return _sums(stacked([X for X, _ in there]), stacked([labels for _, labels in there]), ridges)


def _sums(X: Any, labels: Labels, ridges: list[Ridge]) -> list[tuple[Floats, Floats]]:
    n = X.shape[0]
    return [ridge_sums(one.describe, X, labels[:, one.varied], np.arange(n), one.mean, np.ones(n)) for one in ridges]


def checked(name: str, rows: Any, learner: CLEMS, noted: dict[str, Any] | None = None) -> tuple[Any, Labels]:
    """Check the rows of a partition; None if there are none."""
    X, Y = rows_in(rows)
    if not X.shape[0]:
        return None, None
    seen = clone(learner)
    before = {*vars(seen)}
    with naming(name):
        X, labels, _ = read_training(seen, X, Y)
    if noted is not None:
        noted.update({key: value for key, value in vars(seen).items() if key not in before})
    return X, labels


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say of which partition an error is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None


def add_vectors(parts: list[Counted | None]) -> Counted | None:
    """Add up the frequencies of label vectors."""
    found = [one for one in parts if one is not None]
    if not found:
        return None
    some_sparse = any(sparse.issparse(one.vectors) for one in found)
    vectors = [sparse.csr_array(one.vectors) if some_sparse else one.vectors for one in found]
    distinct, index = distinct_rows(stacked(vectors))
    frequency = np.bincount(index, np.concatenate([one.frequency for one in found]))
    return Counted(distinct, frequency.astype(np.float64))


def add_counts(parts: list[Any]) -> Any:
    """Add up the counts of leaves, and the sums of each expert."""
    found = [one for one in parts if one is not None]
    if not found:
        return None
    table = found[0][0]
    for other, *_ in found[1:]:
        table = table + other
    return table, *add_sums([sums for _, *sums in found])


def add_sums(parts: list[Any]) -> Any:
    """Add up the sums of each expert."""
    found = [one for one in parts if one is not None]
    if not found:
        return None
    first, *others = found
    total = [tuple(np.array(part) for part in one) for one in first]
    for other in others:
        for one, more in zip(total, other, strict=True):
            for part, also in zip(one, more, strict=True):
                part += also
    return total
