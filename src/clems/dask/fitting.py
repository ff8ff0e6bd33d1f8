"""CLEMS of rows in partitions: each is read three times, and only sums, trees and a sample of rows leave it.

`fit_partitions` is the plan of tasks, which :mod:`clems.dask.tasks` has: `look` counts the label vectors of a
partition, `grow` grows trees on it and takes its share of the sample, `count` sorts its rows into the leaves of all
trees and adds up what experts need; what they give is added up by `add_vectors` and `add_counts`. All else happens
where `fit` is called, on the sample: the choice of depth, mixture and decoder is that of `CLEMS.fit`, by the same code.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from clems.arrays import Floats, Integers, Labels
from clems.checks import check_count
from clems.costs.at_k import propensities_of_counts
from clems.dask.partitions import (
    Partition,
    added,
    computed,
    constant,
    import_dask,
    kept,
    part_of,
    partitions_of,
    stacked,
)
from clems.dask.tasks import Facts, Forest, Ridge, Share, add_counts, add_sums, add_up, add_vectors, count, grow, look
from clems.labels.matrix import as_dense, constant_labels
from clems.learners.base import new_seed
from clems.learners.clems import CLEMS, as_in_paper
from clems.learners.input import all_or_nothing, warn_of_too_little
from clems.posterior.calibration import fit_sigmoid
from clems.posterior.experts import EXPERTS, Expert
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
)
from clems.posterior.source import HELD_OUT, Training
from clems.trees.leaf_table import LeafCounts
from clems.trees.reading import leaves_of
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
