"""CLEMS of rows in partitions: each is read three times, and only sums, trees and a sample of rows leave it.

The map of the module: `fit_partitions` is the plan. `look` counts the label vectors of a partition, `grow` grows trees
on it and takes its share of the sample, `count` sorts its rows into the leaves of all trees and adds up what experts
need; what they give is added up by `add_vectors` and `add_counts`. All else happens where `fit` is called, on the
sample: the choice of depth, mixture and decoder is that of `CLEMS.fit`, by the same code.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from clems.arrays import Floats, Integers, Labels
from clems.checks import check_count
from clems.costs.at_k import propensities_of_counts
from clems.costs.cost import Cost
from clems.dask.partitions import (
    Partition,
    added,
    computed,
    constant,
    import_dask,
    kept,
    part_of,
    partitions_of,
    rows_in,
    stacked,
)
from clems.embedding.candidates import candidate_of_each
from clems.labels.distinct import distinct_rows
from clems.labels.matrix import as_dense, constant_labels
from clems.learners.base import new_seed
from clems.learners.clems import CLEMS, as_in_paper
from clems.learners.input import all_or_nothing, read_training, warn_of_too_little
from clems.posterior.calibration import fit_sigmoid
from clems.posterior.experts import EXPERTS, Expert, expert_for
from clems.posterior.leaves import LeafSource, differing
from clems.posterior.mixture import evidence_of
from clems.posterior.ridge_expert import (
    LANDMARKS,
    MOST_TRAINED,
    SAMPLE,
    Description,
    best_fit,
    first_penalty,
    fit_by_sums,
    has_few_features,
    ridge_sums,
)
from clems.posterior.source import HELD_OUT, Training
from clems.trees.growing import as_columns, grow_trees
from clems.trees.leaf_table import LeafCounts, sort_into_leaves
from clems.trees.reading import Trees, as_rows, leaves_of
from clems.wording import first_few

SAMPLED = 4_000  # rows at most that leave their partitions, to learn scales, landmarks and calibration from
ORDERED = 0.1  # of the variance of labels; random partitions explain nothing beyond chance
ENTRIES = 1 << 24  # features of these at most, 128 MiB, if that leaves as many rows as there are landmarks


def fit(model: CLEMS, X: Any, Y: Any) -> CLEMS:
    """Train CLEMS on rows that lie in partitions and never come together in one place.

    Trees are grown where partitions are: each on the rows of one, in proportion to their number. Leaves are read by the
    rows of all partitions, whose counts are added up; so are the sums of the experts. Depth, mixture and decoder are
    chosen on a sample of rows that is held out, as in `CLEMS.fit`. Rows should be in partitions at random: a tree
    that has seen rows of one kind only is a poor one. A warning says so if labels differ much from one partition to the
    next. It does not depend on the scheduler or the number of workers what comes out; if a worker dies, Dask repeats
    what is lost.

    Parameters
    ----------
    model : CLEMS
        Without an `estimator`, and with `experts` by name, such as the usual ones.
    X : dask array or dask DataFrame of shape (n, d)
        Features. A partition has to fit into the memory of a worker about four times.
    Y : dask array or dask DataFrame of shape (n, K)
        Labels, zeros and ones, cut into partitions as the features are.

    Returns
    -------
    CLEMS
        The model, fitted: it predicts, saves and loads as any other. Its ``candidates_.index``, and with it `codes_`,
        is of the rows of the sample only.

    Examples
    --------
    >>> import clems.dask
    >>> import dask.array as da
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> rows = da.from_array(X[:200], chunks=(50, -1)), da.from_array(Y[:200], chunks=(50, -1))
    >>> model = clems.dask.fit(CLEMS("f1", n_trees=20, random_state=0), *rows)
    >>> model.predict(X[200:]).shape
    (100, 10)
    """
    return fit_partitions(model, partitions_of(X, Y))


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


def fit_partitions(model: Any, partitions: list[Partition]) -> CLEMS:
    """Train CLEMS on partitions, as `fit` does."""
    check_model(model)
    with all_or_nothing(model):
        _fit(model, partitions, check_random_state(model.random_state))
    fitted: CLEMS = model
    return fitted


def check_model(model: Any) -> None:
    """Refuse a model that is not fitted to rows in partitions."""
    if not isinstance(model, CLEMS):
        raise ValueError(f"Rows in partitions are for CLEMS; got {type(model).__name__}.")
    if model.estimator is not None:
        raise ValueError("CLEMS grows trees of its own on rows in partitions; leave out estimator=.")


def _fit(model: Any, partitions: list[Partition], random_state: np.random.RandomState) -> None:
    delayed, learner = import_dask().delayed, constant(clone(model))
    check_count(model.n_trees, "n_trees")
    depths, sharpness = model._checked_depths(), model._checked_sharpness()

    looks = [delayed(look)(one.name, one.rows, learner) for one in partitions]
    facts, counted = computed(
        [part_of(one, 0) for one in looks], added([part_of(one, 1) for one in looks], add_vectors)
    )
    known = _checked_facts(facts, partitions)
    sizes, n, vectors = np.array([one.n for one in facts]), sum(one.n for one in facts), counted.vectors
    vars(model).update(known.noted)
    per_label = np.asarray(counted.frequency @ vectors)
    warn_of_too_little(n, per_label, model.classes_.tolist())
    _warn_of_order([one for one in facts if one.n])
    model._propensities = propensities_of_counts(per_label, n)
    model.criterion_ = model._resolved(model._own_cost())
    decoders, constants = model._decoders(), constant_labels(vectors)
    names = [] if as_in_paper(decoders) or not np.isnan(constants).any() else _experts(model, facts)
    model._embed(vectors, counted.frequency, random_state)

    sampled = _drawn(n, max(LANDMARKS, min(SAMPLED, int(ENTRIES / max(known.width, 1)))), random_state)
    all_sampled = len(sampled) == n  # so that experts are fitted to the sample
    by_all = {name: has_few_features(_kernel(name), n, known.noted["n_features_in_"]) for name in names}
    used = np.union1d(_drawn(n, MOST_TRAINED, random_state), sampled)
    if all_sampled or all(by_all.values()):
        used = used[:0]
    held_out = _drawn(len(sampled), HELD_OUT, random_state)
    shares = _shares(sizes, model.n_trees, sampled, used, random_state)
    paper = as_in_paper(decoders)
    targets = [model._learned, model._label_targets(paper)]
    forest = Forest(model.candidates_.labels, model.cost_, targets, depths[-1], "bootstrap" if paper else "thirds")
    sent, start = constant(forest), perf_counter()
    grown = kept([delayed(grow)(*one, learner, sent, share) for one, share in zip(partitions, shares, strict=True)])
    trees = delayed(sum)([part_of(one, 0) for one in grown], [])
    samples, unseen = computed([part_of(one, 1) for one in grown], [part_of(one, 2) for one in grown])
    X, Y = (stacked([one[which] for one in samples if one is not None]) for which in (0, 1))
    unseen = _unseen(unseen, shares, len(sampled))
    model._say(f"trees: {model.n_trees} in {len(partitions)} partitions, {perf_counter() - start:.1f} s")

    start, mean = perf_counter(), per_label / n
    varied = np.flatnonzero(np.isnan(constants))
    ridges = [] if all_sampled else [_ridge(name, X, by_all[name], varied, mean, random_state) for name in names]
    few = _drawn(len(sampled), SAMPLE, random_state)
    of_all, of_drawn = (constant([one for one in ridges if one.of_all == kind]) for kind in (True, False))
    counts = [delayed(count)(*one, learner, sent, trees, of_all) for one in partitions]
    rows_used, together = [part_of(one, 3) for one in grown], -(-len(grown) * LANDMARKS // max(len(used), 1))
    blocks = [rows_used[first : first + together] for first in range(0, len(grown), together)]
    drawn = added([delayed(add_up)(block, of_drawn) for block in blocks], add_sums)
    model.estimator_, (table, *sums), more = computed(trees, added(counts, add_counts), drawn)
    found = {True: iter(sums), False: iter(more)}
    model._say(f"leaves of {n:,} rows in {perf_counter() - start:.1f} s")

    groups, candidates = forest.groups(Y), model.candidates_
    model.candidates_ = replace(candidates, index=groups)
    rows = held_out[unseen[:, held_out].any(axis=0)]
    training = Training(X, groups, None, candidates.labels, candidates.frequency, model._learned, model._decoded)
    source = LeafSource(
        training,
        LeafCounts(model.estimator_, from_the_last(table)),
        differing(depths, model.estimator_),
        rows,
        leaves_of(model.estimator_, X[rows], model.n_jobs),
        unseen[:, rows],
        np.ones((model.n_trees, len(rows))),
    )
    model.experts_, held = {}, []
    for place, name in enumerate(names):
        if all_sampled:
            model.experts_[name], probable = EXPERTS[name].fit(X, Y, None, rows, random_state)
        else:
            ridge, total = ridges[place], float(n if ridges[place].of_all else len(used))
            model.experts_[name], probable = _expert(
                ridge, next(found[ridge.of_all]), total, constants, X, Y, rows, few
            )
        held.append(probable)
    evidence = None
    if held:
        model._label_share = np.clip(mean, 0.5 / n, 1 - 0.5 / n)
        model._prior = candidates.frequency / candidates.frequency.sum()
        evidence = evidence_of(held, model._label_share)
    model._choose(source, Y, None, decoders, sharpness, evidence)


def _expert(
    ridge: Ridge,
    sums: tuple[Floats, Floats],
    total: float,
    constants: Floats,
    X: Any,
    Y: Labels,
    rows: Integers,
    few: Integers,
) -> tuple[Expert, Floats]:
    """Fit a ridge regression to sums over all partitions, and predict rows of the sample, each by all others.

    Parameters
    ----------
    ridge : Ridge
        Of which the sums are.
    sums : pair of ndarray
        As `ridge_sums` returns them.
    total : float
        Number of rows that are in them.
    constants : ndarray of shape (K,)
        Value of each label that does not vary, NaN for the others.
    X, Y
        The sample, which is in the sums.
    rows : ndarray
        Rows of the sample that are to be predicted.
    few : ndarray
        Rows of the sample on which the search for a penalty begins.
    """
    labels = as_dense(Y[:, ridge.varied])
    residual = labels - ridge.mean
    begin = first_penalty(ridge.describe.kernel, X[few], residual[few])
    fit = fit_by_sums(*sums, total, ridge.describe(X), residual, np.ones(len(residual)))
    coefficients, left_out = best_fit(fit, begin)
    scores = labels - left_out
    sigmoid = fit_sigmoid(scores, labels, None, are_scores=True)
    expert = Expert(ridge.describe.scores(coefficients, ridge.mean), sigmoid, constants)
    return expert, expert.of_scores(scores[rows])


# What is done with a partition, by a worker.


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


# What they give is added up.


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


# What is done where `fit` is called.


def from_the_last(table: Any) -> Any:
    """Store the entries of each row from the last column to the first, as `LeafCounts` has them."""
    table = table.sorted_indices()
    bounds = table.indptr
    backwards = np.repeat(bounds[:-1] + bounds[1:] - 1, np.diff(bounds)) - np.arange(table.nnz)
    return sparse.csr_array((table.data[backwards], table.indices[backwards], bounds), table.shape)


def _checked_facts(facts: list[Facts], partitions: list[Partition]) -> Facts:
    """Return what is known of the first partition, which all others must agree with."""
    there = [(one, partition.name) for one, partition in zip(facts, partitions, strict=True) if one.n]
    if not there:
        raise ValueError("There are no rows in any partition.")
    (first, name), *others = there
    for what, key in (("features", "n_features_in_"), ("features", "feature_names_in_"), ("labels", "classes_")):
        known: Any = first.noted.get(key)
        for one, other in others:
            own: Any = one.noted.get(key)
            if not np.array_equal(own, known):
                raise ValueError(f"{other}, has other {what} than {name}: {_shown(own)} and {_shown(known)}.")
    return first


def _warn_of_order(facts: list[Facts]) -> None:
    """Warn of partitions that differ in their labels, as those of sorted rows do: each tree sees one of them only."""
    n, per_label = (np.array([getattr(one, name) for one in facts], float) for name in ("n", "per_label"))
    share, mean = per_label / n[:, None], per_label.sum(axis=0) / n.sum()
    among, within = n @ ((share - mean) ** 2).sum(axis=1), n.sum() * (mean * (1 - mean)).sum()
    by_chance = (len(facts) - 1) / n.sum()
    if within > 0 and (explained := among / within - by_chance) > ORDERED:
        warnings.warn(
            f"Partitions differ in their labels: which one a row is in explains {explained:.0%} of the variance. Each "
            "tree is grown on one partition, so that rows should be in partitions at random; shuffle them first.",
            stacklevel=4,
        )


def _shown(names: Any) -> str:
    return first_few(names.tolist(), show=repr) if isinstance(names, np.ndarray) else str(names)


def _experts(model: Any, facts: list[Facts]) -> list[str]:
    """Name the experts to fit; "auto" is the one that suits the features of most rows."""
    if isinstance(model.experts, str) and model.experts == "auto":
        votes: dict[str, int] = {}
        for one in facts:
            votes[one.expert] = votes.get(one.expert, 0) + one.n
        return [max(votes, key=lambda name: votes[name])]
    given = model._checked_experts(None)
    able = [name for name, kind in EXPERTS.items() if kind.kernel is not None]
    for name in given:
        if name not in able:
            raise ValueError(f"Rows in partitions have the experts {', '.join(map(repr, able))}; got {name}.")
    return [*given]


def _drawn(n: int, most: int, random_state: np.random.RandomState) -> Integers:
    """Draw so many of n rows, in order; all if there are no more."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(new_seed(random_state)).choice(n, most, replace=False))


def _shares(
    sizes: Integers, n_trees: int, sampled: Integers, used: Integers, random_state: np.random.RandomState
) -> list[Share]:
    """Divide trees among partitions in proportion to their rows, and drawn rows by where they are."""
    ends = sizes.cumsum()
    owner = np.searchsorted(ends, (np.arange(n_trees) + 0.5) / n_trees * ends[-1], side="right")
    firsts = np.searchsorted(owner, np.arange(len(sizes) + 1))

    def own(rows: Integers) -> list[Integers]:
        return [
            part - start
            for part, start in zip(np.split(rows, np.searchsorted(rows, ends[:-1])), ends - sizes, strict=True)
        ]

    seeds = [new_seed(random_state) for _ in sizes]
    numbers = zip(firsts[:-1].tolist(), np.diff(firsts).tolist(), seeds, own(sampled), own(used), strict=True)
    return [Share(*one) for one in numbers]


def _unseen(parts: list[Any], shares: list[Share], m: int) -> NDArray[np.bool_]:
    """Whether each tree has not drawn each row of the sample: it has not those of other partitions."""
    unseen, first = np.ones((sum(share.n_trees for share in shares), m), bool), 0
    for part, share in zip(parts, shares, strict=True):
        last = first + len(share.sampled)
        if part is not None:
            unseen[share.first : share.first + share.n_trees, first:last] = part
        first = last
    return unseen


def _kernel(name: str) -> Any:
    return EXPERTS[name].kernel


def _ridge(
    name: str, X: Any, of_all: bool, varied: Integers, mean: Floats, random_state: np.random.RandomState
) -> Ridge:
    """Learn from the sample how an expert describes rows."""
    kernel = _kernel(name).of(X)
    landmarks = _drawn(X.shape[0], LANDMARKS, random_state)
    describe = Description(kernel) if of_all else Description.by_landmarks(kernel, X[landmarks])
    return Ridge(describe, varied, mean[varied], of_all)
