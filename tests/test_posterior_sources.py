"""Where posteriors come from: leaves, neighbours, distances, and rows held out by folds."""

from functools import cache

import numpy as np
import pytest
from distributions import every_vector
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from clems.decisions.nearest import nearest
from clems.posterior.distances import NEGLIGIBLE, ByDistance
from clems.posterior.neighbours import ByNeighbours
from clems.posterior.source import (
    HELD_OUT,
    SOURCES,
    Settings,
    Training,
    held_out_by_folds,
    kind_of,
    rows_to_hold_out,
    source_of,
)
from clems.trees.growing import as_columns, grow_trees
from clems.trees.reading import trees_of

RNG = np.random.default_rng(0)
N, L = 60, 7
FEATURES, NEW = RNG.random((N, 4)), RNG.random((30, 4))
GROUP = RNG.permutation(np.arange(N) % L)
LABELS = every_vector(3)[1:]
POINTS, EMBEDDED = RNG.normal(size=(2, L, 3))
WEIGHT = RNG.integers(1, 5, N).astype(float)
EVERYONE = np.arange(N)


def training(groups=GROUP, weight=None):
    frequency = np.bincount(groups, weight, L).astype(float)
    return Training(FEATURES, groups, weight, LABELS, frequency, POINTS, EMBEDDED)


def settings_of(depths=(None,), rows=EVERYONE):
    return Settings(rows, depths)


def state():
    return np.random.RandomState(0)


def check(posterior, n, embedded=EMBEDDED):
    """A distribution over the candidates for each of n rows, with the points of these."""
    share = posterior.share.toarray()
    assert share.shape == (n, len(posterior.labels))
    np.testing.assert_allclose(share.sum(axis=1), 1)
    assert share.min() >= 0
    assert posterior.shared
    assert np.array_equal(posterior.labels, LABELS)
    assert posterior.embedded is embedded


@pytest.mark.parametrize(
    ("regressor", "name"),
    [
        (DecisionTreeRegressor(), "leaves"),
        (RandomForestRegressor(), "leaves"),
        (ExtraTreesClassifier(), "leaves"),
        (KNeighborsRegressor(), "neighbours"),
        (Ridge(), "distances"),
        (object(), "distances"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_every_regressor_is_of_one_kind(regressor, name):
    assert kind_of(regressor) is SOURCES[name]


def test_rows_to_hold_out_are_all_or_some():
    assert np.array_equal(rows_to_hold_out(HELD_OUT, state()), np.arange(HELD_OUT))
    some = rows_to_hold_out(3 * HELD_OUT, state())
    assert len(some) == len({*some.tolist()}) == HELD_OUT
    assert (np.diff(some) > 0).all()
    assert some.max() < 5000


# Leaves


def node_at(tree, row, depth):
    """Walk down a tree from its root."""
    node, own = 0, tree.tree_
    for _ in range(depth):
        if own.children_left[node] < 0:
            break
        goes_left = np.float32(row[own.feature[node]]) <= own.threshold[node]
        node = (own.children_left if goes_left else own.children_right)[node]
    return node


def forests(weight):
    yield grow_trees(as_columns(FEATURES), [POINTS], GROUP, weight, state(), max_depth=None, n_trees=8)
    yield trees_of(RandomForestRegressor(8, random_state=0).fit(FEATURES, POINTS[GROUP], weight), N, weight)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_held_out_rows_are_seen_by_trees_that_have_not_seen_them(weight):
    for trees in forests(weight):
        source = source_of(trees, training(weight=weight), settings_of([1, 3, 50]))
        assert source.options == [1, 3, 50]
        assert np.array_equal(source.rows, np.flatnonzero((np.stack(trees.drawn) == 0).any(axis=0)))
        assert len(source.rows) > 40
        for depth in source.options:
            wanted, all_trees = np.zeros((N, L)), np.zeros((N, L))
            for which, (tree, drawn) in enumerate(zip(trees.trees, trees.drawn, strict=True)):
                count = trees.row_weight(which)
                node = np.array([node_at(tree, row, depth) for row in FEATURES])
                shares = np.stack([np.bincount(GROUP, count * (node == own), L) for own in node])
                all_trees += shares / shares.sum(axis=1, keepdims=True) / len(trees.trees)
                unseen = np.flatnonzero(drawn == 0)
                others = [count * (node == node[row]) * (row != EVERYONE) for row in unseen]
                shares = np.array([np.bincount(GROUP, own, L) / own.sum() for own in others]).reshape(-1, L)
                wanted[unseen] += shares / (np.stack(trees.drawn)[:, unseen] == 0).sum(axis=0)[:, None]
            unseen, seen = source.held_out(depth), source.at(depth)(FEATURES)
            for posterior, share in ((unseen, wanted[source.rows]), (seen, all_trees)):
                check(posterior, len(share))
                np.testing.assert_allclose(posterior.share.toarray(), share, atol=1e-12)
                np.testing.assert_allclose(posterior.points, share @ POINTS, atol=1e-12)


def test_the_full_depth_is_any_beyond_the_deepest_tree():
    for weight in (None, WEIGHT):
        for trees in forests(weight):
            source = source_of(trees, training(weight=weight), settings_of())
            deepest = max(tree.get_depth() for tree in trees.trees)
            unseen, seen = source.held_out(None).share.toarray(), source.at(None)(NEW).share.toarray()
            for depth in (deepest, deepest + 1, 10**6):
                np.testing.assert_allclose(source.held_out(depth).share.toarray(), unseen, atol=1e-12)
                np.testing.assert_allclose(source.at(depth)(NEW).share.toarray(), seen, atol=1e-12)
            shallow = source.held_out(2).share.toarray()
            assert not np.allclose(shallow, unseen, atol=1e-3)


def test_a_reader_goes_to_another_depth_as_its_source_does():
    source = source_of(grown(), training(), settings_of([1, 3, None]))
    for depth in (1, 2, None):
        one, other = source.at(3).at_depth(depth)(NEW), source.at(depth)(NEW)
        assert np.array_equal(one.share.toarray(), other.share.toarray())


@given(row=st.integers(0, N - 1), other=st.integers(1, L - 1), depth=st.sampled_from([1, 2, 4, 50]))
def test_what_a_held_out_row_is_does_not_show_in_what_is_seen_of_it(row, other, depth):
    trees = grown()
    changed = GROUP.copy()
    changed[row] = (GROUP[row] + other) % L
    truth, lie = (source_of(trees, training(groups), settings_of([depth])) for groups in (GROUP, changed))
    place = np.flatnonzero(truth.rows == row)
    assume(len(place))
    one, same = (source.held_out(depth).share[place].toarray() for source in (truth, lie))
    np.testing.assert_allclose(one, same, atol=1e-12)
    assert np.array_equal(one == 0, same == 0)
    one, same = (source.at(depth)(FEATURES[[row]]).share.toarray() for source in (truth, lie))
    assert not np.allclose(one, same, atol=1e-3)


def test_a_row_that_outweighs_all_others_is_not_divided_by_nothing():
    weight = np.where(EVERYONE == 5, 1.0, 1e-12)
    trees = grow_trees(as_columns(FEATURES), [POINTS], GROUP, weight, state(), max_depth=None, n_trees=8)
    source = source_of(trees, training(weight=weight), settings_of([2, None]))
    for depth in source.options:
        check(source.held_out(depth), len(source.rows))


@cache
def grown():
    return grow_trees(as_columns(FEATURES), [POINTS], GROUP, None, state(), max_depth=None, n_trees=8)


def test_depths_that_make_no_difference_are_not_compared():
    deepest = max(tree.get_depth() for tree in grown().trees)
    for depths, wanted in [
        ([2, deepest - 1, deepest, deepest + 1], [2, deepest - 1, deepest]),
        ([2, deepest + 1, 99], [2, deepest + 1]),
        ([99], [99]),
        ([None], [None]),
        ([2], [2]),
    ]:
        source = source_of(grown(), training(), settings_of(depths))
        assert source.options == wanted
        assert source.usual == wanted[-1]


# Neighbours


def gaussian(distance):
    return np.exp(-(distance**2))


def neighbours(weights="uniform", k=5, rows=EVERYONE):
    return KNeighborsRegressor(k, weights=weights, algorithm="kd_tree").fit(FEATURES[rows], POINTS[GROUP[rows]])


@pytest.mark.parametrize("weights", ["uniform", "distance", gaussian])
def test_neighbours_share_out_as_the_regressor_weighs_them(weights):
    regressor = neighbours(weights)
    read = ByNeighbours(regressor, GROUP, LABELS, POINTS, EMBEDDED)
    for rows in (NEW, FEATURES, NEW[:1]):
        posterior = read(rows)
        np.testing.assert_allclose(posterior.share @ POINTS, regressor.predict(rows), atol=1e-12)
        np.testing.assert_allclose(posterior.points, regressor.predict(rows), atol=1e-12)
        check(posterior, len(rows))


@pytest.mark.parametrize("weights", ["uniform", "distance", gaussian])
def test_a_held_out_row_is_no_neighbour_of_its_own(weights):
    rows = np.array([3, 10, 59])
    source = source_of(neighbours(weights), training(), settings_of(rows=rows))
    assert np.array_equal(source.rows, rows)
    assert [*source.options] == [source.usual]
    posterior = source.held_out(source.usual)
    check(posterior, 3)
    points = posterior.points
    for row, found in zip(rows, points, strict=True):
        others = np.delete(EVERYONE, row)
        np.testing.assert_allclose(found, neighbours(weights, rows=others).predict(FEATURES[[row]])[0], atol=1e-12)


def test_where_all_rows_are_neighbours_none_is_held_out():
    assert len(source_of(neighbours(k=N), training(), settings_of()).rows) == 0


# Distances


class Given:
    """A regressor that predicts what it is given."""

    def __init__(self, Z):
        self.Z = Z

    def predict(self, X):
        return self.Z[: len(X)]


@st.composite
def clouds(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, size, M = draw(st.integers(1, 5)), draw(st.integers(1, 8)), draw(st.integers(1, 4))
    frequency = rng.integers(0, 4, size).astype(float)
    frequency[rng.integers(size)] = 1
    return rng.normal(size=(n, M)), rng.normal(size=(size, M)), frequency


def by_distance(Z, points, frequency, variance):
    return ByDistance(Given(Z), every_vector(3)[: len(points)], points, points, frequency, variance)


@given(cloud=clouds(), variance=st.sampled_from([1e-3, 0.1, 1, 30]))
def test_distances_give_a_normal_distribution(cloud, variance):
    Z, points, frequency = cloud
    posterior = by_distance(Z, points, frequency, variance)(Z)
    assert np.array_equal(posterior.points, Z)
    assert posterior.embedded is points
    share = posterior.share.toarray()
    np.testing.assert_allclose(share.sum(axis=1), 1)
    assert share.min() >= 0
    assert (share[:, frequency == 0] == 0).all()
    for row, z in zip(share, Z, strict=True):
        exponent = np.array([-np.sum((z - p) ** 2) / (2 * variance) for p in points])
        exponent[frequency == 0] = -np.inf
        wanted = frequency * np.exp(exponent - exponent.max())
        wanted[wanted < NEGLIGIBLE * wanted.max()] = 0
        np.testing.assert_allclose(row, wanted / wanted.sum(), atol=3 * NEGLIGIBLE)


@given(cloud=clouds())
def test_without_variance_the_nearest_point_is_certain(cloud):
    Z, points, frequency = cloud
    share = by_distance(Z, points, frequency + 1, 1e-9)(Z).share.toarray()
    assert np.array_equal(share, np.eye(len(points))[nearest(Z, points)])


def test_predictions_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="The estimator Given predicted values that are not finite"):
        by_distance(np.full((2, 3), np.nan), POINTS, np.ones(L), 1.0)(NEW[:2])


def test_variances_are_multiples_of_that_of_all_points():
    source = source_of(Given(NEW[:, :3]), training(), settings_of())
    spread = POINTS.var(axis=0).mean()
    np.testing.assert_allclose(np.array(source.options) / spread, [30, 10, 3, 1, 0.3, 0.1, 0.03, 0.01])
    assert source.usual == source.options[5]
    assert len(source.rows) == 0
    widths = [(source.at(option)(NEW).share > 0.01).sum() for option in source.options]
    assert (np.diff(widths) <= 0).all()
    for option in source.options:
        check(source.at(option)(NEW), len(NEW))
    with pytest.raises(NotImplementedError, match="No row is held out"):
        source.held_out(source.usual)


# Folds


class Memory(Given):
    """A regressor that remembers its training rows, and refuses to be asked about them."""

    def __init__(self, seen):
        self.seen = {*map(bytes, seen)}

    def predict(self, X):
        assert not self.seen & {*map(bytes, X)}
        return X[:, :3] * 2


@pytest.mark.parametrize("rows", [EVERYONE, EVERYONE[::7]], ids=["all", "some"])
def test_folds_hold_every_row_out_once(rows):
    models = []

    def fit(part):
        models.append(Memory(part.X))
        assert len(part.X) == len(part.groups) == len(part.weight) == N * 2 // 3
        place = [int(np.flatnonzero((row == FEATURES).all(axis=1))[0]) for row in part.X]
        assert np.array_equal(part.groups, GROUP[place])
        assert np.array_equal(part.weight, WEIGHT[place])
        return models[-1]

    data = training(weight=WEIGHT)
    nothing = source_of(Memory(FEATURES), data, settings_of([5], rows))
    assert len(nothing.rows) == 0
    source = held_out_by_folds(nothing, fit, data, settings_of([5], rows), state())
    assert len(models) == 3
    assert np.array_equal(np.sort(source.rows), rows)
    assert source.options == nothing.options
    assert source.usual == nothing.usual
    for option in source.options:
        posterior = source.held_out(option)
        assert np.array_equal(posterior.points, FEATURES[source.rows][:, :3] * 2)
        check(posterior, len(rows))
        assert source.at(option) == nothing.at(option)


def test_folds_of_trees_are_read_by_leaves_at_each_depth():
    def fit(part):
        return DecisionTreeRegressor(random_state=0).fit(part.X, POINTS[part.groups])

    nothing = source_of(fit(training()), training(), settings_of([1, 3, 50]))
    assert len(nothing.rows) == 0
    source = held_out_by_folds(nothing, fit, training(), settings_of([1, 3, 50]), state())
    widths = []
    for depth in source.options:
        posterior = source.held_out(depth)
        check(posterior, N)
        widths.append(posterior.share.nnz)
    assert widths[0] > widths[1] > widths[2]
