"""Trees: grown, cut at a depth, their bags and the rows in their leaves, against scikit-learn and definitions."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from clems.trees import growing
from clems.trees.growing import DIGITS, RARE, WIDE, as_columns, default_classifier, default_forest, grow_trees, rounded
from clems.trees.leaf_table import sort_into_leaves
from clems.trees.reading import ancestors, as_rows, has_trees, leaves_of, predictions_of, starts_of, trees_of, truncated

RNG = np.random.default_rng(0)
N, GROUPS = 90, 8
X, NEW = RNG.random((N, 5)), RNG.random((40, 5))
CLASS = (X[:, 0] + RNG.normal(0, 0.3, N) > 0.5) + 1 * (X[:, 1] > 0.7)
GROUP = RNG.integers(0, GROUPS, N)
EVERYONE = np.arange(N)
POINTS = RNG.normal(size=(GROUPS, 3))
COUNTS = RNG.integers(1, 6, N).astype(float)
BEYOND = 50  # deeper than any tree here

KINDS = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeRegressor(random_state=0),
    ExtraTreeRegressor(random_state=0),
    RandomForestClassifier(7, random_state=0),
    ExtraTreesClassifier(7, random_state=0),
    RandomForestRegressor(7, random_state=0),
    ExtraTreesRegressor(7, random_state=0),
]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)


def fitted(kind):
    return kind.fit(X, CLASS if hasattr(kind, "predict_proba") else POINTS[GROUP])


def answer(model, rows=NEW):
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)


def members(model):
    return [model] if hasattr(model, "tree_") else model.estimators_


def depths_of(tree):
    """Depth of each node that is reached from the root, by a walk."""
    found, open_ = {}, [(0, 0)]
    while open_:
        node, depth = open_.pop()
        found[node] = depth
        if tree.tree_.children_left[node] >= 0:
            open_ += [(tree.tree_.children_left[node], depth + 1), (tree.tree_.children_right[node], depth + 1)]
    return found


def grown(seed=0, X=X, targets=(POINTS,), groups=GROUP, weight=None, max_depth=None, **settings_):
    random_state = np.random.RandomState(seed)
    return grow_trees(as_columns(X), [*targets], groups, weight, random_state, max_depth=max_depth, **settings_)


def counts_in_leaves(trees, X=X):
    return sort_into_leaves(trees, as_rows(X), GROUP, GROUPS, EVERYONE[:0])[0]


def bags_of(trees):
    return np.stack([trees.bag(which) for which in range(len(trees.trees))])


def row_weights_of(trees):
    return np.stack([trees.row_weight(which) for which in range(len(trees.trees))])


# Ancestors


@st.composite
def some_trees(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    trees = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(1, 40))
        tree = ExtraTreeRegressor(max_depth=draw(st.sampled_from([None, 1, 3])), random_state=draw(st.integers(0, 99)))
        trees.append(tree.fit(rng.random((n, 2)), rng.random(n)))
    return trees


def by_parents(trees, depth):
    found = []
    for tree, start in zip(trees, starts_of(trees)[:-1], strict=True):
        parent = {}
        for node, pair in enumerate(zip(tree.tree_.children_left, tree.tree_.children_right, strict=True)):
            parent |= {child: node for child in pair if child >= 0}
        depths = depths_of(tree)
        for node in range(tree.tree_.node_count):
            while depths[node] > depth:
                node = parent[node]
            found.append(node + start)
    return found


@given(trees=some_trees(), depth=st.integers(1, 12))
def test_ancestors_are_found_from_node_to_parent(trees, depth):
    assert ancestors(trees, depth).tolist() == by_parents(trees, depth)


@given(trees=some_trees(), one=st.integers(1, 12), other=st.integers(1, 12))
def test_an_ancestor_of_an_ancestor_is_that_of_the_smaller_depth(trees, one, other):
    assert np.array_equal(ancestors(trees, one)[ancestors(trees, other)], ancestors(trees, min(one, other)))
    for full in (None, BEYOND):
        assert np.array_equal(ancestors(trees, full), np.arange(starts_of(trees)[-1]))


# Truncated forests


@kinds
def test_a_truncated_forest_ends_at_its_depth(kind):
    model = fitted(kind)
    before = answer(model)
    for depth in (1, 2, 4):
        short = truncated(model, depth)
        assert type(short) is type(model)
        assert max(max(depths_of(tree).values()) for tree in members(short)) == depth
        for tree in members(short):
            assert np.array_equal(tree.tree_.children_left < 0, tree.tree_.children_right < 0)
        assert not np.allclose(answer(short), before)
        assert np.array_equal(answer(truncated(short, 1)), answer(truncated(model, 1)))
    assert np.array_equal(answer(truncated(model, BEYOND)), before)
    assert np.array_equal(answer(model), before)


@kinds
def test_what_a_truncated_tree_says_is_the_mean_of_the_rows_that_reach_its_end(kind):
    model = fitted(kind)
    short = truncated(model, 3)
    for tree, whole in zip(members(short), members(model), strict=True):
        place = ancestors([whole], 3)
        assert np.array_equal(tree.apply(NEW), place[whole.apply(NEW)])
        value = whole.tree_.value[tree.apply(NEW)]
        np.testing.assert_allclose(answer(tree), value[:, 0] if hasattr(tree, "predict_proba") else value[:, :, 0])


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_a_truncated_tree_is_one_grown_to_that_depth(depth):
    """Where no two splits are equally good, as these may be chosen differently: one feature, or many rows to split."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        features, classes, numbers = rng.random((100, 4)), rng.integers(0, 3, 100), rng.normal(size=(100, 2))
        for make, rows, target in [
            (DecisionTreeClassifier, features[:, :1], classes),
            (DecisionTreeRegressor, features[:, :1], numbers),
            (DecisionTreeRegressor, features, numbers),
        ]:
            shape = {"random_state": 0, "min_samples_split": 10}
            short = truncated(make(**shape).fit(rows, target), depth)
            same = make(**shape, max_depth=depth).fit(rows, target)
            np.testing.assert_allclose(answer(short, rows), answer(same, rows), atol=1e-12)


@pytest.mark.parametrize("other", [Ridge(), LogisticRegression(), None], ids=repr)
def test_what_has_no_trees_is_not_truncated(other):
    assert not has_trees(other)
    assert truncated(other, 2) is other


def distinguished(one, other):
    """Squares of z-scores by which the means of two samples of trees differ, shape (rows, outputs)."""
    error = sum(sample.var(axis=0, ddof=1) / len(sample) for sample in (one, other))
    return (one.mean(axis=0) - other.mean(axis=0)) ** 2 / error


def check_samples(cut, grown_to, grown_further):
    squares = distinguished(cut, grown_to)
    assert 0.2 < squares.mean() < 2
    assert squares.max() < 5**2
    assert distinguished(cut, grown_further).mean() > 5


SPREAD = np.random.default_rng(1).normal(size=(300, 4))
CURVE = np.column_stack([np.sin(2 * SPREAD[:, 0]) + SPREAD[:, 1] ** 2, SPREAD[:, 2] * SPREAD[:, 3]])


def test_truncated_trees_are_distributed_as_grown_ones():
    shape = {"n_estimators": 300, "max_features": 2}

    def sample(depth, seed, cut=None):
        model = ExtraTreesRegressor(**shape, max_depth=depth, random_state=seed).fit(SPREAD[:200], CURVE[:200])
        model = model if cut is None else truncated(model, cut)
        return np.stack([tree.predict(SPREAD[200:]) for tree in model.estimators_])

    check_samples(sample(None, 0, cut=3), sample(3, 1), sample(5, 2))


def test_shares_at_a_depth_are_distributed_as_those_of_trees_grown_to_it():
    group, new = np.arange(200), SPREAD[200:]

    def sample(depth, seed, cut=None):
        random_state = np.random.RandomState(seed)
        trees = grow_trees(
            as_columns(SPREAD[:200]), [CURVE[:200]], group, None, random_state, max_depth=depth, n_trees=300
        )
        shares = sort_into_leaves(trees, as_rows(SPREAD[:200]), group, 200, group)[0].at(cut)
        value = len(trees.trees) * (shares.table @ CURVE[:200])
        return value[shares.nodes(leaves_of(trees.trees, new)).T]

    check_samples(sample(None, 0, cut=3), sample(3, 1), sample(5, 2))


# Grown trees


def same_trees(one, other, rows=None):
    rows = NEW if rows is None else rows  # with all features that the trees know: leaves are found without a check
    assert np.array_equal(one.drawn, other.drawn)
    assert np.array_equal(leaves_of(one.trees, rows), leaves_of(other.trees, rows))
    for tree, twin in zip(one.trees, other.trees, strict=True):
        assert np.array_equal(tree.tree_.threshold, twin.tree_.threshold)


def test_targets_are_rounded_by_less_than_a_millionth_of_the_greatest():
    targets = RNG.normal(size=(200, 4)) * 10.0 ** RNG.integers(-9, 9, 4)
    off = abs(rounded(targets) - targets)
    assert 0 < off.max() <= abs(targets).max() / 2**DIGITS
    assert np.array_equal(rounded(rounded(targets)), rounded(targets))
    assert np.array_equal(rounded(targets / 1024), rounded(targets) / 1024)
    assert not rounded(np.zeros((3, 2))).any()


@pytest.mark.parametrize("columns", [3, WIDE + 4])
def test_the_last_digits_of_targets_do_not_change_trees(columns):
    """Features are so alike that many splits are equally good, up to the last digits of the targets."""
    same, points = np.repeat(RNG.integers(0, 2, (N, 1)), 5, axis=1) + X.round(), RNG.normal(size=(GROUPS, columns))
    one, other = (
        grown(X=same, targets=[points * (1 + change)], n_trees=20)
        for change in (0, RNG.choice([-1e-15, 0, 1e-15], points.shape))
    )
    for a, b in zip(one.trees, other.trees, strict=True):
        for part in ("feature", "threshold", "children_left", "children_right"):
            assert np.array_equal(getattr(a.tree_, part), getattr(b.tree_, part))


def test_the_number_of_jobs_changes_nothing():
    same_trees(grown(n_jobs=1), grown(n_jobs=2))
    trees = grown()
    assert np.array_equal(leaves_of(trees.trees, NEW, 2), leaves_of(trees.trees, NEW))
    one, two = (sort_into_leaves(trees, as_rows(X), GROUP, GROUPS, EVERYONE[::3], n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one[0].counts.toarray(), two[0].counts.toarray())
    assert np.array_equal(one[1], two[1])


def test_seeds_decide_the_trees():
    same_trees(grown(), grown())
    assert not np.array_equal(grown(0).drawn, grown(1).drawn)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("least", [0.4, 0.98], ids=["dense", "sparse"])
def test_sparse_features_grow_the_same_trees(form, least):
    holes = X * (least < X)
    same_trees(grown(X=holes), grown(X=form(holes)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_content_decides_whether_columns_are_sparse(form):
    rows = np.zeros((24, 10))
    rows[0] = 1
    full = as_columns(form(rows))
    assert isinstance(full, np.ndarray)
    assert full.flags.f_contiguous
    rows[0, 0] = 0
    few = as_columns(form(rows))
    assert few.format == "csc"
    assert few.dtype == full.dtype == np.float32
    assert np.array_equal(few.toarray(), rows)
    few[0, 1] = 0  # entries that are stored count for nothing if they are 0
    assert as_columns(few).format == "csc"


def test_trees_of_few_entries_have_the_rows_in_their_leaves_that_they_count():
    holes = X * (X > 0.98)
    assert as_columns(holes).format == "csc"
    trees = grown(X=sparse.csr_array(holes))
    leaves = leaves_of(trees.trees, sparse.csr_array(holes))
    assert np.array_equal(leaves, leaves_of(trees.trees, holes))
    for tree, drawn, leaf in zip(trees.trees, trees.drawn, leaves, strict=True):
        reached = np.bincount(leaf[drawn > 0], minlength=tree.tree_.node_count)
        ends = tree.tree_.children_left < 0
        assert np.array_equal(reached, np.where(ends, tree.tree_.n_node_samples, 0))
    shares = counts_in_leaves(trees, sparse.csr_array(holes)).at(3)
    np.testing.assert_allclose(shares(sparse.csr_array(NEW)).sum(axis=1), 1)


def test_bags_are_drawn_with_replacement_for_every_other_tree_of_a_target():
    for targets, sampled in [((POINTS,), np.arange(400) % 2 == 0), ((POINTS, POINTS), np.arange(400) % 4 < 2)]:
        trees = grown(targets=targets, n_trees=400, bags="bootstrap")
        drawn = np.stack(trees.drawn)
        assert drawn.shape == row_weights_of(trees).shape == (400, N)
        assert (drawn[~sampled] == 1).all()
        assert (drawn[sampled].sum(axis=1) == N).all()
        assert (drawn[sampled] == 0).mean() == pytest.approx((1 - 1 / N) ** N, abs=0.01)
        assert np.array_equal(bags_of(trees), drawn)
        assert (row_weights_of(trees) == 1).all()


@pytest.mark.parametrize("targets", [(POINTS,), (POINTS, POINTS)], ids=["one target", "two targets"])
def test_every_row_is_left_out_by_a_third_of_the_trees_of_each_target(targets):
    shared = grown(targets=targets, n_trees=6 * len(targets)).drawn
    assert len({*map(id, shared)}) == 3  # memory does not grow with the number of trees
    drawn = np.stack(shared)
    assert set(np.unique(drawn)) == {0, 1}
    assert (drawn.sum(axis=1) == 2 * N // 3).all()
    for first in range(len(targets)):
        assert ((drawn[first :: len(targets)] == 0).sum(axis=0) == 2).all()
    few = grown(X=X[:11], groups=GROUP[:11], targets=targets, n_trees=8).drawn
    assert [drawn.sum() for drawn in few] == [11] * 8


def test_a_third_without_weight_is_no_bag():
    weight = np.zeros(N)
    weight[:2] = 1
    trees = grown(weight=weight, n_trees=12)
    assert (bags_of(trees).sum(axis=1) > 0).any()


def test_weights_multiply_the_bags():
    plain, weighted, doubled = (grown(weight=weight) for weight in (None, COUNTS, np.full(N, 2.0)))
    assert np.array_equal(weighted.drawn, plain.drawn)
    assert np.array_equal(bags_of(weighted), np.stack(plain.drawn) * COUNTS)
    assert (row_weights_of(weighted) == COUNTS).all()
    for tree, bag in zip(weighted.trees, bags_of(weighted), strict=True):
        assert tree.tree_.weighted_n_node_samples[0] == bag.sum()
    assert np.array_equal(bags_of(doubled), 2 * bags_of(plain))
    assert np.array_equal(leaves_of(doubled.trees, NEW), leaves_of(plain.trees, NEW))


@pytest.mark.parametrize("scale", [2.0**-150, 2.0**130])
def test_the_unit_of_weights_does_not_matter(scale):
    usual, other = (counts_in_leaves(grown(weight=weight)).at(None)(NEW) for weight in (COUNTS, scale * COUNTS))
    np.testing.assert_allclose(other.toarray(), usual.toarray())


@pytest.mark.parametrize("n_trees", [1, 7])
def test_trees_take_targets_in_turn_and_combinations_of_wide_ones(n_trees, monkeypatch):
    monkeypatch.setattr(growing, "finished", lambda tree, *_: tree)
    wide = RNG.normal(size=(GROUPS, WIDE + 4))
    trees = grown(targets=(POINTS, wide, wide[:, :WIDE]), n_trees=n_trees)
    assert [tree.n_outputs_ for tree in trees.trees] == ([3, WIDE, WIDE] * 3)[:n_trees]
    assert np.shape(trees.drawn) == (n_trees, N)


def test_grown_trees_find_the_same_leaves_without_what_they_predict(monkeypatch):
    few = grown()
    monkeypatch.setattr(growing, "finished", lambda tree, *_: tree)
    whole = grown()
    same_trees(few, whole)
    assert {tree.n_outputs_ for tree in whole.trees} == {POINTS.shape[1]}
    for tree in few.trees:
        assert tree.tree_.value.shape == (tree.tree_.node_count, 1, 1)
        assert np.isnan(tree.predict(NEW)).all()  # rather than an answer that is wrong


WORDS = sparse.random(N, 300, 0.02, "csr", random_state=np.random.RandomState(0))


@pytest.mark.parametrize("weight", [None, COUNTS], ids=["plain", "weighted"])
def test_trees_of_sparse_features_are_given_what_they_draw_and_are_the_same(weight, monkeypatch):
    monkeypatch.setattr(growing, "RARE", 0)  # so that no column is left out
    few = grown(X=WORDS, weight=weight)
    monkeypatch.setattr(growing, "part_of", lambda X, rows: (X, slice(None), np.arange(X.shape[1])))
    same_trees(few, grown(X=WORDS, weight=weight), as_rows(WORDS))


def test_trees_do_not_look_at_columns_with_entries_in_fewer_than_three_of_their_rows():
    trees = grown(X=WORDS, n_trees=12)
    entries = [np.diff(WORDS.tocsr()[bag > 0].tocsc().indptr) for bag in bags_of(trees)]
    looked_at = [tree.tree_.feature[tree.tree_.children_left >= 0] for tree in trees.trees]
    assert all((own[features] >= RARE).all() for own, features in zip(entries, looked_at, strict=True))
    assert any((own < RARE).any() for own in entries)
    assert max(features.max() for features in looked_at) >= 256  # numbers are those of all features
    assert leaves_of(trees.trees, as_rows(WORDS)).shape == (12, N)


def test_trees_of_columns_that_all_are_rare_look_at_the_fullest():
    rows = np.arange(N, dtype=np.int32)
    pairs = sparse.csr_array((np.ones(N), (rows, rows // 2)), (N, N))  # two entries in each column
    trees = grown(X=pairs, n_trees=3).trees
    assert min(tree.tree_.node_count for tree in trees) > 1
    assert grown(X=sparse.csr_array((N, 30)), n_trees=3).trees[0].tree_.node_count == 1


def test_grown_trees_stop_at_their_depth():
    assert max(tree.get_depth() for tree in grown(max_depth=2).trees) == 2
    assert max(tree.get_depth() for tree in grown().trees) > 2


@pytest.mark.parametrize("weight", [None, COUNTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("depth", [None, 1, 3, BEYOND])
def test_leaves_hold_all_rows(weight, depth):
    trees = grown(weight=weight, n_trees=20)
    held = counts_in_leaves(trees)
    assert np.array_equal(held.counts.sum(axis=0), 20 * np.bincount(GROUP, weight, GROUPS))
    shares = held.at(depth)
    total = shares.table.sum(axis=1)
    np.testing.assert_allclose(total[total > 0], 1 / 20)
    np.testing.assert_allclose(shares(NEW).sum(axis=1), 1)
    nodes = shares.nodes(leaves_of(trees.trees, NEW))
    assert np.array_equal(shares(NEW).toarray(), shares.mean(nodes, np.ones(nodes.size), np.full(40, 20)).toarray())
    one_by_one = sum(shares.table[own].toarray() for own in nodes.T)
    np.testing.assert_allclose(shares(NEW).toarray(), one_by_one, atol=1e-12)


@pytest.mark.parametrize("weight", [None, COUNTS], ids=["plain", "weighted"])
def test_each_tree_counts_its_rows_once(weight):
    forest = RandomForestRegressor(9, random_state=0).fit(X, POINTS[GROUP], sample_weight=weight)
    for trees in (grown(weight=weight, n_trees=9), trees_of(forest, N, weight)):
        counts, leaves = sort_into_leaves(trees, as_rows(X), GROUP, GROUPS, EVERYONE[::4])
        assert np.array_equal(leaves, leaves_of(trees.trees, X)[:, ::4])
        assert counts.counts.data.min() > 0  # nothing is stored of rows that do not count
        weights, everything = row_weights_of(trees), leaves_of(trees.trees, X)
        for which, (first, last) in enumerate(pairwise(starts_of(trees.trees))):
            wanted = np.zeros((last - first, GROUPS))
            np.add.at(wanted, (everything[which], GROUP), weights[which])
            np.testing.assert_allclose(counts.counts[first:last].toarray(), wanted, rtol=1e-12)
            all_rows = N if weight is None else weight.sum()
            total = bags_of(trees)[which].sum() if trees.by_bags else all_rows
            assert counts.counts[first:last].sum() == pytest.approx(total)


@pytest.mark.parametrize("depth", [None, 1, 3, BEYOND])
def test_shares_at_a_depth_are_those_of_all_rows_below_a_node(depth):
    trees = grown(weight=COUNTS, n_trees=5)
    shares = counts_in_leaves(trees).at(depth)
    seen, new = (shares.nodes(leaves_of(trees.trees, rows)) for rows in (X, NEW))
    for row, found in enumerate(shares(NEW).toarray()):
        together = [np.bincount(GROUP, COUNTS * (seen[:, tree] == new[row, tree]), GROUPS) for tree in range(5)]
        np.testing.assert_allclose(found, np.mean([own / own.sum() for own in together], axis=0), atol=1e-12)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31 - 1))
def test_trees_that_do_not_count_have_no_say(seed):
    trees = grown(n_trees=6)
    held, leaves = counts_in_leaves(trees), leaves_of(trees.trees, NEW)
    shares = held.at(4)
    counted = np.random.default_rng(seed).random(leaves.shape) < 0.5
    counted[0] |= ~counted.any(axis=0)
    alone = 6 * np.stack([shares.table[own].toarray() for own in shares.nodes(leaves).T])
    wanted = (alone * counted[:, :, None]).sum(axis=0) / counted.sum(axis=0)[:, None]
    new = np.zeros(len(NEW), np.intp), np.zeros(leaves.shape)  # which are not in their leaves
    np.testing.assert_allclose(held.held_out(4, leaves, counted, *new).toarray(), wanted, atol=1e-12)


# Trees of fitted forests

FRACTIONS = RNG.random(N)
FITTED = [
    RandomForestRegressor(9, random_state=0, min_samples_leaf=2),
    RandomForestRegressor(9, random_state=0, max_samples=0.4),
    RandomForestRegressor(9, random_state=0, bootstrap=False, max_features=2),
    ExtraTreesRegressor(9, random_state=0, min_samples_leaf=4),
    ExtraTreesRegressor(9, random_state=0, bootstrap=True),
    DecisionTreeRegressor(random_state=0, min_samples_leaf=3),
    ExtraTreeRegressor(random_state=0, min_samples_leaf=3),
]


def predicted_by_shares(kind, weight):
    """What a forest predicts, by itself and by the training rows in its leaves."""
    model = kind.fit(X, POINTS[GROUP], sample_weight=weight)
    return counts_in_leaves(trees_of(model, N, weight)).at(None)(NEW) @ POINTS, model.predict(NEW)


@pytest.mark.parametrize("weight", [None, COUNTS, FRACTIONS], ids=["plain", "counts", "fractions"])
@pytest.mark.parametrize("kind", FITTED, ids=repr)
def test_the_rows_in_the_leaves_of_a_forest_give_its_prediction(kind, weight):
    np.testing.assert_allclose(*predicted_by_shares(kind, weight), atol=1e-9)


@pytest.mark.parametrize("kind", [FITTED[3], FITTED[5]], ids=repr)
def test_weights_of_mean_one_count(kind):
    np.testing.assert_allclose(*predicted_by_shares(kind, FRACTIONS / FRACTIONS.mean()), atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@kinds
def test_jobs_divide_the_rows_of_a_forest_and_change_no_digit(kind, form):
    model = fitted(clone(kind))
    for method in ("predict", "predict_proba") if hasattr(kind, "predict_proba") else ("predict",):
        wanted = getattr(model, method)(form(NEW))
        for jobs in (None, 2, 3, 100) if hasattr(kind, "n_jobs") else (None,):
            model = model.set_params(n_jobs=jobs) if hasattr(kind, "n_jobs") else model
            np.testing.assert_array_equal(predictions_of(model, form(NEW), method), wanted)
            np.testing.assert_array_equal(predictions_of(model, form(NEW[:1]), method), wanted[:1])


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_jobs_change_no_digit_of_several_outputs_and_keep_their_form(kind):
    model = kind(7, random_state=0).fit(X, np.column_stack([CLASS, GROUP > 3]))
    wanted = model.predict_proba(NEW)
    for jobs in (2, 3):
        found = predictions_of(model.set_params(n_jobs=jobs), NEW, "predict_proba")
        assert isinstance(found, list)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_threads_never_add_up_trees(monkeypatch):
    model = fitted(ExtraTreesRegressor(7, random_state=0, n_jobs=2))
    monkeypatch.setattr(ExtraTreesRegressor, "predict", None)
    assert predictions_of(model, NEW).shape == (40, 3)


@pytest.mark.parametrize("kind", FITTED, ids=repr)
def test_bags_of_a_forest_are_the_samples_of_its_trees(kind):
    trees = trees_of(kind.fit(X, POINTS[GROUP]), N, None)
    drawn = kind.estimators_samples_ if getattr(kind, "bootstrap", False) else [np.arange(N)] * len(trees.trees)
    assert np.array_equal(trees.drawn, [np.bincount(rows, minlength=N) for rows in drawn])
    assert np.array_equal(row_weights_of(trees), bags_of(trees))


@pytest.mark.parametrize(("d", "tried"), [(1, 1), (9, 3), (100, 17), (400, 40), (3000, 200), (90_000, 300)])
def test_a_split_tries_the_root_of_the_features_but_at_least_a_tenth_or_sixth(d, tried):
    for make in (default_forest, default_classifier):
        assert make(d).max_features == tried
        assert (
            make(d, max_features=1, n_jobs=2).get_params() | {"max_features": tried, "n_jobs": None}
            == make(d).get_params()
        )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("share", [1, 0.01])
def test_what_single_precision_cannot_hold_is_refused(form, share):
    features = np.where(np.random.default_rng(0).random((50, 20)) < share, 1.0, 0.0)
    features[3, 4] = 1e39
    for use in (as_columns, partial(leaves_of, [])):
        with pytest.raises(ValueError, match=r"X holds a number beyond ±3.4e\+38, the most that trees take"):
            use(form(features))
