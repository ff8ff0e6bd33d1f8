"""Probabilities of label vectors, decisions by them, and what CLEMS makes of both."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from clems import CLEMS, COSTS, f_beta, get_cost, get_criterion, weighted_hamming
from clems.datasets import digit_scenes
from clems.decoding import (
    DECODERS,
    RARE,
    Posterior,
    best_candidate,
    common_threshold,
    expected_costs,
    improvable,
    improved,
    marginals_of,
    nearest,
    over_candidates,
    ranked,
    rule_for,
    threshold_of_each_label,
)
from clems.forest import grow_trees, trees_of
from clems.posterior import (
    HELD_OUT,
    LEAST,
    NEGLIGIBLE,
    SHARPNESS,
    ByDistance,
    ByNeighbours,
    Seen,
    Source,
    Training,
    choose_shape,
    held_out_by_folds,
    preferred,
    sharpened,
    some_rows,
    source_of,
    surprise,
)

RNG = np.random.default_rng(0)
N, L = 60, 7
FEATURES, NEW = RNG.random((N, 4)), RNG.random((30, 4))
GROUP = RNG.permutation(np.arange(N) % L)
POINTS = RNG.normal(size=(L, 3))
WEIGHT = RNG.integers(1, 5, N).astype(float)
EVERYONE = np.arange(N)


def training(groups=GROUP, weight=None):
    return Training(FEATURES, groups, weight, POINTS, np.bincount(groups, weight, L).astype(float))


def state():
    return np.random.RandomState(0)


def all_pass(rows):
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert rows.min() >= 0


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
    yield grow_trees(FEATURES, [POINTS], GROUP, weight, state(), max_depth=None, n_trees=8)
    yield trees_of(RandomForestRegressor(8, random_state=0).fit(FEATURES, POINTS[GROUP], weight), N, weight)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_held_out_rows_are_seen_by_trees_that_have_not_seen_them(weight):
    for trees in forests(weight):
        source = source_of(trees, training(weight=weight), [1, 3, 50], EVERYONE)
        assert source.options == [1, 3, 50]
        assert np.array_equal(source.rows, np.flatnonzero((trees.bags == 0).any(axis=0)))
        assert len(source.rows) > 40
        for depth in source.options:
            wanted, all_trees = np.zeros((N, L)), np.zeros((N, L))
            for tree, bag, count in zip(trees.trees, trees.bags, trees.weight, strict=True):
                node = np.array([node_at(tree, row, depth) for row in FEATURES])
                shares = np.stack([np.bincount(GROUP, count * (node == own), L) for own in node])
                all_trees += shares / shares.sum(axis=1, keepdims=True) / len(trees.trees)
                unseen = np.flatnonzero(bag == 0)
                others = [count * (node == node[row]) * (row != EVERYONE) for row in unseen]
                shares = np.array([np.bincount(GROUP, own, L) / own.sum() for own in others]).reshape(-1, L)
                wanted[unseen] += shares / (trees.bags[:, unseen] == 0).sum(axis=0)[:, None]
            seen = source.held_out(depth)
            np.testing.assert_allclose(seen.share.toarray(), wanted[source.rows], atol=1e-12)
            np.testing.assert_allclose(seen.points, wanted[source.rows] @ POINTS, atol=1e-12)
            np.testing.assert_allclose(source.at(depth)(FEATURES).share.toarray(), all_trees, atol=1e-12)


@given(row=st.integers(0, N - 1), other=st.integers(1, L - 1), depth=st.sampled_from([1, 2, 4, 50]))
def test_what_a_held_out_row_is_does_not_show_in_what_is_seen_of_it(row, other, depth):
    trees = grown()
    changed = GROUP.copy()
    changed[row] = (GROUP[row] + other) % L
    truth, lie = (source_of(trees, training(groups), [depth], EVERYONE) for groups in (GROUP, changed))
    place = np.flatnonzero(truth.rows == row)
    assume(len(place))
    one, same = (source.held_out(depth).share[place].toarray() for source in (truth, lie))
    np.testing.assert_allclose(one, same, atol=1e-12)
    assert np.array_equal(one == 0, same == 0)
    one, same = (source.at(depth)(FEATURES[[row]]).share.toarray() for source in (truth, lie))
    assert not np.allclose(one, same, atol=1e-3)


def test_a_row_that_outweighs_all_others_is_not_divided_by_nothing():
    weight = np.where(EVERYONE == 5, 1.0, 1e-12)
    trees = grow_trees(FEATURES, [POINTS], GROUP, weight, state(), max_depth=None, n_trees=8)
    source = source_of(trees, training(weight=weight), [2, None], EVERYONE)
    for depth in source.options:
        all_pass(source.held_out(depth).share.toarray())


@cache
def grown():
    return grow_trees(FEATURES, [POINTS], GROUP, None, state(), max_depth=None, n_trees=8)


def test_depths_that_make_no_difference_are_not_compared():
    deepest = max(tree.get_depth() for tree in grown().trees)
    for depths, wanted in [
        ([2, deepest - 1, deepest, deepest + 1], [2, deepest - 1, deepest]),
        ([2, deepest + 1, 99], [2, deepest + 1]),
        ([99], [99]),
        ([None], [None]),
        ([2], [2]),
    ]:
        assert source_of(grown(), training(), depths, EVERYONE).options == wanted


def test_rows_to_hold_out_are_all_or_some():
    assert np.array_equal(some_rows(HELD_OUT, state()), np.arange(HELD_OUT))
    some = some_rows(3 * HELD_OUT, state())
    assert len(some) == len({*some.tolist()}) == HELD_OUT
    assert (np.diff(some) > 0).all()
    assert some.max() < 5000


# Neighbours


def gaussian(distance):
    return np.exp(-(distance**2))


def neighbours(weights="uniform", k=5, rows=EVERYONE):
    return KNeighborsRegressor(k, weights=weights, algorithm="kd_tree").fit(FEATURES[rows], POINTS[GROUP[rows]])


@pytest.mark.parametrize("weights", ["uniform", "distance", gaussian])
def test_neighbours_share_out_as_the_regressor_weighs_them(weights):
    regressor = neighbours(weights)
    sees = ByNeighbours(regressor, GROUP, POINTS)
    for rows in (NEW, FEATURES, NEW[:1]):
        seen = sees(rows)
        np.testing.assert_allclose(seen.share @ POINTS, regressor.predict(rows), atol=1e-12)
        np.testing.assert_allclose(seen.points, regressor.predict(rows), atol=1e-12)
        all_pass(seen.share.toarray())


@pytest.mark.parametrize("weights", ["uniform", "distance", gaussian])
def test_a_held_out_row_is_no_neighbour_of_its_own(weights):
    rows = np.array([3, 10, 59])
    source = source_of(neighbours(weights), training(), [5], rows)
    assert np.array_equal(source.rows, rows)
    points = source.held_out(source.options[0]).points
    for row, found in zip(rows, points, strict=True):
        others = np.delete(EVERYONE, row)
        np.testing.assert_allclose(found, neighbours(weights, rows=others).predict(FEATURES[[row]])[0], atol=1e-12)


def test_where_all_rows_are_neighbours_none_is_held_out():
    assert len(source_of(neighbours(k=N), training(), [5], EVERYONE).rows) == 0


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


@given(cloud=clouds(), variance=st.sampled_from([1e-3, 0.1, 1, 30]))
def test_distances_give_a_normal_distribution(cloud, variance):
    Z, points, frequency = cloud
    seen = ByDistance(Given(Z), points, frequency, variance)(Z)
    assert np.array_equal(seen.points, Z)
    all_pass(seen.share.toarray())
    assert (seen.share.toarray()[:, frequency == 0] == 0).all()
    for row, z in zip(seen.share.toarray(), Z, strict=True):
        exponent = np.array([-np.sum((z - p) ** 2) / (2 * variance) for p in points])
        exponent[frequency == 0] = -np.inf
        wanted = frequency * np.exp(exponent - exponent.max())
        wanted[wanted < NEGLIGIBLE * wanted.max()] = 0
        np.testing.assert_allclose(row, wanted / wanted.sum(), atol=3 * NEGLIGIBLE)


@given(cloud=clouds())
def test_without_variance_the_nearest_point_is_certain(cloud):
    Z, points, frequency = cloud
    seen = ByDistance(Given(Z), points, frequency + 1, 1e-9)(Z)
    assert np.array_equal(seen.share.toarray(), np.eye(len(points))[nearest(Z, points)])


def test_predictions_that_are_not_finite_are_told():
    with pytest.raises(ValueError, match="The estimator Given predicted values that are not finite"):
        ByDistance(Given(np.full((2, 3), np.nan)), POINTS, np.ones(L), 1.0)(NEW[:2])


# What is held out, and what is chosen by it


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
    nothing = source_of(Memory(FEATURES), data, [5], rows)
    assert len(nothing.rows) == 0
    source = held_out_by_folds(nothing, fit, data, [5], rows, state())
    assert len(models) == 3
    assert np.array_equal(np.sort(source.rows), rows)
    assert source.options == nothing.options
    for option in source.options:
        seen = source.held_out(option)
        assert np.array_equal(seen.points, FEATURES[source.rows][:, :3] * 2)
        assert seen.share.shape == (len(rows), L)
        all_pass(seen.share.toarray())


def test_folds_of_trees_see_by_leaves_at_each_depth():
    def fit(part):
        return DecisionTreeRegressor(random_state=0).fit(part.X, POINTS[part.groups])

    nothing = source_of(fit(training()), training(), [1, 3, 50], EVERYONE)
    assert len(nothing.rows) == 0
    source = held_out_by_folds(nothing, fit, training(), [1, 3, 50], EVERYONE, state())
    widths = []
    for depth in source.options:
        share = source.held_out(depth).share.toarray()
        all_pass(share)
        widths.append((share > 0).sum())
    assert widths[0] > widths[1] > widths[2]


@st.composite
def shares(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = rng.dirichlet(np.full(draw(st.integers(1, 9)), draw(st.sampled_from([0.3, 3]))), draw(st.integers(1, 5)))
    dense[dense < 1e-9] = 0
    return sparse.csr_array(dense / dense.sum(axis=1, keepdims=True))


@given(share=shares(), power=st.floats(0.1, 5))
def test_sharpened_shares_are_powers(share, power):
    found = sharpened(share, power).toarray()
    wanted = share.toarray() ** power
    np.testing.assert_allclose(found, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-9)
    all_pass(found)
    for before, after in zip(share.toarray(), found, strict=True):
        assert (np.diff(after[np.argsort(before)]) >= 0).all()
    assert np.array_equal(sharpened(share, 1.0).toarray(), share.toarray())


@given(share=shares(), one=st.floats(0.3, 3), other=st.floats(0.3, 3))
def test_sharpness_multiplies(share, one, other):
    twice = sharpened(sharpened(share, one), other)
    np.testing.assert_allclose(twice.toarray(), sharpened(share, one * other).toarray(), rtol=1e-9)


def test_the_greatest_sharpness_leaves_the_likeliest():
    share = sparse.csr_array(np.array([[0.5, 0.3, 0.2], [0.0, 0.2, 0.8]]))
    assert sharpened(share, 1e5).toarray().tolist() == [[1, 0, 0], [0, 0, 1]]


def looked_up(table):
    """Loss of each row by a table of shape (options, sharpness, rows)."""
    return lambda seen, sharpness: table[seen.points, SHARPNESS.index(sharpness)]


def choose(surprises, costs, *others):
    options = [*range(len(surprises))]
    source = Source(None, options, options[-1], EVERYONE, lambda option: Seen(None, option))
    costs = None if costs is None else looked_up(costs)
    option, sharpness, seen = choose_shape(source, looked_up(surprises), costs, *others)
    assert seen.points == option
    return option, SHARPNESS.index(sharpness)


@given(seed=st.integers(0, 2**32 - 1))
def test_no_sharpness_beside_the_chosen_one_is_less_surprising(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (rng.integers(1, 5), len(SHARPNESS), rng.integers(1, 7))).astype(float)
    option, place = choose(table, None, None)
    mean = table[option].mean(axis=1)
    assert mean[place] == mean[max(place - 1, 0) : place + 2].min()


def without_mean(noise, weight):
    return noise - np.average(noise, axis=-1, weights=weight)[..., None]


def lead(usual, other, weight):
    gain = np.average(usual - other, weights=weight)
    return gain - np.sqrt(np.average((usual - other - gain) ** 2, weights=weight) / len(usual))


@given(seed=st.integers(0, 2**32 - 1))
def test_a_sharpness_that_is_given_stays_and_an_option_has_to_be_better_beyond_chance(seed):
    rng = np.random.default_rng(seed)
    table, place = rng.normal(size=(4, len(SHARPNESS), 20)), rng.integers(len(SHARPNESS))
    weight = rng.integers(1, 4, 20).astype(float)
    leads = [lead(table[-1, place], own, weight) for own in table[:, place]]
    wanted = int(np.argmax(leads)) if max(leads) > 0 else 3
    for costs in (None, rng.normal(size=table.shape)):
        assert choose(table, costs, weight, SHARPNESS[place]) == (wanted, place)


@st.composite
def valleys(draw):
    """Mean losses of options by sharpness, each with a single valley, and where that is."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bottom = rng.integers(len(SHARPNESS), size=3)
    along = np.abs(np.arange(len(SHARPNESS)) - bottom[:, None]) * rng.uniform(0.5, 2)
    return rng.uniform(0, 1, 3)[:, None] + along, bottom


@given(surprising=valleys(), costly=valleys(), seed=st.integers(0, 99))
def test_options_and_sharpness_are_left_for_others_only_beyond_chance(surprising, costly, seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, 20).astype(float)
    noise = without_mean(rng.normal(0, rng.choice([0.1, 1, 10]), (3, len(SHARPNESS), 20)), weight)
    surprises, costs = surprising[0][:, :, None] + noise, costly[0][:, :, None] + noise
    least = [surprises[option, place] for option, place in enumerate(surprising[1])]
    leads = [lead(least[-1], own, weight) for own in least]
    option = int(np.argmax(leads)) if max(leads) > 0 else 2
    usual, cheap = surprising[1][option], costly[1][option]
    assert choose(surprises, None, weight) == (option, usual)
    better = lead(costs[option, usual], costs[option, cheap], weight) > 0
    assert choose(surprises, costs, weight) == (option, cheap if better else usual)


@given(share=shares(), seed=st.integers(0, 99))
def test_surprise_is_minus_the_logarithm_of_the_probability_of_each_label(share, seed):
    n, size = share.shape
    labels, truth = np.random.default_rng(seed).integers(0, 2, (2, max(n, size), 5)).astype(np.uint8)
    labels, truth = labels[:size], truth[:n]
    for row, found in enumerate(surprise(share, labels, truth)):
        wanted = 0
        for label in range(5):
            p = sum(
                q for q, vector in zip(share.toarray()[row], labels, strict=True) if vector[label] == truth[row, label]
            )
            wanted -= np.log(min(max(p, LEAST), 1 - LEAST))
        assert found == pytest.approx(wanted)


# Decisions


def every_vector(K):
    return (np.arange(2**K)[:, None] >> np.arange(K) & 1).astype(np.uint8)


def posterior_of(labels, share):
    kept = sparse.csr_array(share)
    return Posterior(labels, kept, kept @ labels.astype(float), kept.data)


@st.composite
def posteriors(draw, whole=False):
    """Distributions over a few vectors or, if whole, over all of them and without ties."""
    K, n = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = rng.permutation(every_vector(K))[: 2**K if whole else draw(st.integers(1, 2**K))]
    if whole or draw(st.booleans()):
        return posterior_of(labels, rng.dirichlet(np.full(len(labels), draw(st.sampled_from([0.1, 0.5, 3]))), n))
    counts = rng.multinomial(draw(st.integers(1, 12)), np.full(len(labels), 1 / len(labels)), n)
    return posterior_of(labels, counts / counts.sum(axis=1, keepdims=True))


def own_cost(Y, P):
    """Root of prices that grow along the labels; misses cost twice."""
    price = np.arange(1, Y.shape[1] + 1)
    return np.sqrt((2 * (Y > P) + (Y < P)) @ price)


def jaccard(Y, P):
    union = (Y | P).sum(axis=1)
    return 1 - np.where(union > 0, (Y & P).sum(axis=1) / np.maximum(union, 1), 1)


SEARCHED = [COSTS["accuracy"], get_cost(own_cost), get_cost(jaccard)]
ALL_COSTS = [*COSTS.values(), f_beta(3), weighted_hamming(3, 1), *SEARCHED[1:]]


def brute(cost, posterior):
    """Expected cost of all vectors for all rows, and the function that looks up what a prediction costs."""
    every = every_vector(posterior.labels.shape[1])
    table = np.zeros((len(posterior.marginals), len(every)))
    for truth, share in zip(posterior.labels, posterior.share.toarray().T, strict=True):
        table += np.outer(share, cost.rowwise(np.broadcast_to(truth, every.shape), every))

    def of(predicted):
        return table[np.arange(len(table)), predicted.astype(int) @ (1 << np.arange(every.shape[1]))]

    return table, of


@settings(max_examples=50)
@given(posterior=posteriors())
def test_expected_costs_are_summed_over_the_distribution(posterior):
    rng = np.random.default_rng(0)
    for cost in ALL_COSTS:
        predicted = rng.integers(0, 2, posterior.marginals.shape).astype(np.uint8)
        _, of = brute(cost, posterior)
        np.testing.assert_allclose(expected_costs(cost, posterior, predicted), of(predicted), atol=1e-12)


@settings(max_examples=50)
@given(posterior=posteriors())
def test_the_best_candidate_is_found(posterior):
    for cost in ALL_COSTS:
        best, least = best_candidate(cost, posterior)
        _, of = brute(cost, posterior)
        of_all = np.column_stack([of(np.tile(vector, (len(best), 1))) for vector in posterior.labels])
        np.testing.assert_allclose(least, of_all.min(axis=1), atol=1e-12)
        np.testing.assert_allclose(of_all[np.arange(len(best)), best], least, atol=1e-12)


@pytest.mark.parametrize("cost", SEARCHED, ids=lambda cost: cost.name)
@pytest.mark.parametrize("quickly", [False, True], ids=["slowly", "quickly"])
@given(posterior=posteriors(), seed=st.integers(0, 99))
def test_a_search_only_improves_and_ends_where_nothing_near_is_better(cost, quickly, posterior, seed):
    n, K = posterior.marginals.shape
    start = np.random.default_rng(seed).integers(0, 2, (n, K)).astype(np.uint8)
    before = start.copy()
    _, of = brute(cost, posterior)
    found = improved(cost, posterior, start, of(start), quickly=quickly)
    assert np.array_equal(start, before)
    reached = of(found)
    assert (reached <= of(start) + 1e-12).all()
    if quickly and cost.formula is None:
        assert np.array_equal(found, start)
        return
    order = np.argsort(-posterior.marginals, axis=1, kind="stable")
    usual = np.take_along_axis(posterior.marginals, order, axis=1) > RARE
    for size in range(K + 1):
        prefix = np.zeros((n, K), np.uint8)
        np.put_along_axis(prefix, order[:, :size], 1, axis=1)
        considered = usual[:, :size].all(axis=1)
        assert (reached <= of(prefix) + 1e-12)[considered].all()
    for label in range(0 if quickly else K):
        flipped = found.copy()
        flipped[:, label] ^= 1
        considered = (posterior.marginals[:, label] > RARE) | (found[:, label] == 1)
        assert (reached <= of(flipped) + 1e-12)[considered].all()


@given(posterior=posteriors(whole=True), seed=st.integers(0, 99))
def test_searches_by_counts_and_by_pairs_agree(posterior, seed):
    assume((posterior.marginals > RARE).all())
    start = np.random.default_rng(seed).integers(0, 2, posterior.marginals.shape).astype(np.uint8)
    by_counts, by_pairs = COSTS["accuracy"], get_cost(jaccard)
    _, of = brute(by_counts, posterior)
    one, other = (improved(cost, posterior, start, of(start)) for cost in (by_counts, by_pairs))
    np.testing.assert_allclose(of(one), of(other), atol=1e-12)


@settings(max_examples=50)
@given(posterior=posteriors())
def test_candidates_are_where_a_search_starts(posterior):
    for cost in ALL_COSTS:
        best, least = best_candidate(cost, posterior)
        _, of = brute(cost, posterior)
        for quickly in (False, True):
            found = over_candidates(cost, posterior, quickly=quickly)
            start = posterior.labels[best]
            searched = start if rule_for(cost).exact else improved(cost, posterior, start, least, quickly=quickly)
            assert np.array_equal(found, searched)
            assert (of(found) <= least + 1e-12).all()


@pytest.mark.parametrize("cost", [COSTS["accuracy"], get_cost(jaccard)], ids=lambda cost: cost.name)
@pytest.mark.parametrize("spread", [0.02, 0.3, 3])
def test_rows_that_start_alike_are_searched_as_each_alone(cost, spread):
    labels = RNG.permutation(every_vector(7))[:12]
    posterior = posterior_of(labels, RNG.dirichlet(np.full(12, spread), 300))
    best, least = best_candidate(cost, posterior)
    rows = improvable(cost, posterior, best, least)
    assert 0 < len(rows) < 300
    searched = improved(cost, posterior, labels[best], least)
    assert {*np.flatnonzero((searched != labels[best]).any(axis=1))} <= {*rows}
    assert np.array_equal(over_candidates(cost, posterior), searched)


def test_a_row_is_searched_alike_in_any_company():
    K = 300
    single = np.eye(K, dtype=np.uint8)
    labels = np.vstack([single | np.roll(single, 1, axis=1), np.arange(K) < 40]).astype(np.uint8)
    share = np.zeros((2, K + 1))
    share[0, :K], share[1, K] = RNG.dirichlet(np.full(K, 50)), 1
    together = over_candidates(COSTS["accuracy"], posterior_of(labels, share))
    alone = over_candidates(COSTS["accuracy"], posterior_of(labels, share[:1]))
    assert np.array_equal(together[:1], alone)


@given(posterior=posteriors(), seed=st.integers(0, 99))
def test_candidates_are_ranked_after_the_prediction(posterior, seed):
    rng = np.random.default_rng(seed)
    n, K = posterior.marginals.shape
    drawn = rng.integers(0, 2, (n, K)).astype(np.uint8)
    candidates = [*map(bytes, posterior.labels)]
    for cost in (COSTS["f1"], get_cost(own_cost)):
        _, of = brute(cost, posterior)
        for predicted in (drawn, posterior.labels[best_candidate(cost, posterior)[0]]):
            k = int(rng.integers(1, len(candidates) + 1))
            top = ranked(cost, posterior, predicted, k)
            assert top.labels.shape == (n, k, K)
            assert top.probability.shape == top.expected_cost.shape == (n, k)
            assert np.array_equal(top.labels[:, 0], predicted)
            for place in range(k):
                np.testing.assert_allclose(top.expected_cost[:, place], of(top.labels[:, place]), atol=1e-12)
            assert (np.diff(top.expected_cost[:, 1:], axis=1) >= 0).all()
            for row in range(n):
                probable = dict(zip(candidates, posterior.share.toarray()[row], strict=True))
                listed = [*map(bytes, top.labels[row])]
                assert len({*listed}) == k
                assert [probable.get(vector, 0) for vector in listed] == top.probability[row].tolist()
                left = [vector for vector in posterior.labels if bytes(vector) not in listed]
                for vector in left if k > 1 else []:
                    assert of(np.tile(vector, (n, 1)))[row] >= top.expected_cost[row, -1] - 1e-12


@given(posterior=posteriors())
def test_marginals_are_summed_over_the_distribution(posterior):
    wide = np.hstack([posterior.labels, np.zeros((len(posterior.labels), 60), np.uint8)])
    for labels in (posterior.labels, wide):
        np.testing.assert_allclose(
            marginals_of(posterior.share, labels), posterior.share.toarray() @ labels, atol=1e-12
        )


def test_another_than_the_usual_one_has_to_be_better_beyond_chance():
    rng = np.random.default_rng(0)
    usual, noise = rng.random(400), without_mean(rng.normal(size=400), None)
    error = noise.std() / np.sqrt(400)

    def better(other, weight=None):
        return preferred({"other": other, "usual": usual}, "usual", weight) == "other"

    assert better(usual + noise - 1.01 * error)
    assert not better(usual + noise - 0.99 * error)
    assert not better(usual)
    only_first = (np.arange(400) < 1).astype(float)
    assert not better(usual + 0.1 - only_first)
    assert better(usual + 0.1 - only_first, only_first)


# Thresholds


def f1_at(threshold, marginals, Y, weight=None):
    weight = np.ones(len(Y)) if weight is None else weight
    chosen = marginals > threshold
    return 2 * (weight @ (chosen * Y)) / np.maximum(weight @ chosen + weight @ Y, 1e-300)


def calibrated(n, seed=0):
    rng = np.random.default_rng(seed)
    marginals = rng.beta([0.5, 1, 0.5], [2, 1, 4], (n, 3))
    return marginals, (rng.random((n, 3)) < marginals).astype(np.uint8)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60))
def test_a_threshold_is_half_of_the_f1_that_it_reaches_and_no_other_reaches_more(seed, n):
    """F1 is judged by the probabilities themselves, which have no noise; rounding makes ties."""
    marginals = calibrated(n, seed)[0].round(1)
    for find, p in [(threshold_of_each_label, marginals), (common_threshold, marginals.reshape(-1, 1))]:
        found, possible = find(marginals, None), p.any(axis=0)
        best = np.max([f1_at(cut, p, p) for cut in [-1, *np.unique(p)]], axis=0)
        np.testing.assert_allclose(found[possible], best[possible] / 2)
        np.testing.assert_allclose(f1_at(found - 1e-12, p, p)[possible], best[possible])
        assert (found[~possible] == (common_threshold(marginals, None) if marginals.any() else 0.5)).all()


def test_thresholds_of_true_probabilities_are_best_for_what_is_drawn_from_them():
    marginals, Y = calibrated(20_000)
    each, common = threshold_of_each_label(marginals, None), common_threshold(marginals, None)
    for name, threshold in [("macro_f1", each), ("micro_f1", common)]:
        criterion = get_criterion(name)
        reached = criterion(Y, marginals > threshold)
        assert reached > max(criterion(Y, marginals > factor * threshold) for factor in (0.5, 0.7, 1.4, 2))


@pytest.mark.parametrize("find", [threshold_of_each_label, common_threshold])
def test_a_weight_is_a_number_of_equal_rows_to_a_threshold(find):
    marginals, _ = calibrated(200)
    weight = np.random.default_rng(1).integers(1, 4, 200)
    repeated = find(np.repeat(marginals, weight, axis=0), None)
    np.testing.assert_allclose(find(marginals, weight.astype(float)), repeated, rtol=1e-12)


def test_where_no_label_is_possible_a_threshold_is_one_half():
    assert threshold_of_each_label(np.zeros((9, 3)), None).tolist() == [0.5] * 3
    assert common_threshold(np.zeros((9, 3)), None).tolist() == [0.5]


# CLEMS

X, Y = digit_scenes(260, random_state=0)
TRAIN, TEST = slice(0, 140), slice(140, 260)
KINDS = {
    "default": None,
    "forest": RandomForestRegressor(15, random_state=0),
    "extra": ExtraTreesRegressor(15, random_state=0),
    "tree": DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
    "neighbours": KNeighborsRegressor(5, weights="distance", algorithm="kd_tree"),
    "ridge": Ridge(10),
    "pipeline": make_pipeline(StandardScaler(), Ridge(10)),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@cache
def model(kind="forest", /, **settings_):
    return CLEMS(estimator=KINDS[kind], random_state=0, **settings_).fit(X[TRAIN], Y[TRAIN])


@kinds
@pytest.mark.parametrize("cost", ["f1", "accuracy", "macro_f1"])
def test_all_kinds_of_estimators_give_probabilities_and_held_out_costs(kind, cost):
    fitted = model(kind, cost=cost)
    probabilities = fitted.predict_proba(X[TEST])
    assert probabilities.shape == (120, 10)
    assert probabilities.min() >= -1e-12
    assert probabilities.max() <= 1 + 1e-12
    names = {"f1": [*DECODERS], "accuracy": ["nearest", "expected"], "macro_f1": ["threshold"]}[cost]
    assert [*fitted.oob_costs_] == names
    assert np.isfinite([*fitted.oob_costs_.values()]).all()
    assert fitted.oob_cost_ == fitted.oob_costs_[fitted.decoder_]
    assert fitted.sharpness_ in SHARPNESS


def test_probabilities_are_no_more_than_one():
    labels = np.hstack([Y[TRAIN], np.ones((140, 1), np.uint8)])
    fitted = [CLEMS(estimator=kind, random_state=0).fit(X[TRAIN], labels) for kind in KINDS.values()]
    assert max(one.predict_proba(X[TEST]).max() for one in fitted) <= 1


@kinds
@pytest.mark.parametrize("roles", ["mirrored", "swapped"])
def test_the_nearest_point_is_that_of_what_the_estimator_predicts(kind, roles):
    if kind == "default":
        pytest.skip("it has no predict")
    fitted = model(kind, cost="rank", decoder="nearest", depths=None, roles=roles)
    embedding = fitted.embedding_
    among = embedding.prediction if roles == "mirrored" else embedding.truth
    wanted = nearest(fitted.estimator_.predict(X[TEST]), among)
    assert np.array_equal(fitted.predict(X[TEST]), fitted.candidates_.labels[wanted])


@pytest.mark.parametrize("cost", ["hamming", "f1", "f_beta(0.5)", "rank", "composition", "zero_one", "prices"])
@pytest.mark.parametrize("kind", ["forest", "ridge"])
def test_exact_decisions_are_the_best_of_all_vectors(kind, cost):
    meant = weighted_hamming([1, 2, 3, 4, 5, 6], [6, 1, 2, 1, 1, 2]) if cost == "prices" else get_cost(cost)
    labels = Y[:, :6]
    fitted = CLEMS(meant, decoder="exact", estimator=KINDS[kind], random_state=0).fit(X[TRAIN], labels[TRAIN])
    _, posterior = fitted._look(X[TEST])
    table, of = brute(meant, posterior)
    np.testing.assert_allclose(of(fitted.predict(X[TEST])), table.min(axis=1), atol=1e-12)
    np.testing.assert_allclose(fitted.expected_cost(X[TEST]), table.min(axis=1), atol=1e-12)


def test_decoders_get_better_by_their_own_probabilities():
    """For the same trees and shape, the more a decoder considers, the less it expects to pay."""
    costs = [
        model(cost="f1", decoder=decoder, depths=(5,), sharpness=1).expected_cost(X[TEST])
        for decoder in ("nearest", "expected", "exact")
    ]
    assert (costs[1] <= costs[0] + 1e-12).all()
    assert (costs[2] <= costs[1] + 1e-12).all()
    assert costs[2].mean() < costs[1].mean() < costs[0].mean()


@kinds
def test_one_fit_decides_for_every_cost(kind):
    fitted = model(kind, cost="accuracy")
    probabilities = fitted.predict_proba(X[TEST])
    assert np.array_equal(fitted.predict(X[TEST], cost="hamming"), probabilities > 0.5)
    dear = weighted_hamming(3, 1)
    assert np.array_equal(fitted.predict(X[TEST], cost=dear), probabilities > 0.25)
    _, posterior = fitted._look(X[TEST])
    for cost in (f_beta(2), get_cost(own_cost)):
        decide = rule_for(cost).decide if rule_for(cost).exact else over_candidates
        assert np.array_equal(fitted.predict(X[TEST], cost=cost), decide(cost, posterior))


def test_expected_costs_follow_from_probabilities():
    fitted = model()
    probabilities = fitted.predict_proba(X[TEST])
    wrong = np.abs(fitted.predict(X[TEST], cost="hamming") - probabilities)
    np.testing.assert_allclose(fitted.expected_cost(X[TEST], cost="hamming"), wrong.mean(axis=1), atol=1e-12)
    likeliest = fitted.top_k(X[TEST], 1, cost="zero_one").probability[:, 0]
    np.testing.assert_allclose(fitted.expected_cost(X[TEST], cost="zero_one"), 1 - likeliest, atol=1e-12)
    _, posterior = fitted._look(X[TEST])
    costs = COSTS["f1"].pairwise(posterior.labels, fitted.predict(X[TEST]))
    np.testing.assert_allclose(
        fitted.expected_cost(X[TEST]), (posterior.share.toarray() * costs.T).sum(axis=1), atol=1e-12
    )


@pytest.mark.parametrize("cost", [None, "accuracy", "zero_one", own_cost])
@pytest.mark.parametrize("decoder", ["auto", "nearest", "exact"])
def test_the_first_of_the_best_is_the_prediction(decoder, cost):
    fitted = model(decoder=decoder)
    top = fitted.top_k(X[TEST], 4, cost=cost)
    assert np.array_equal(top.labels[:, 0], fitted.predict(X[TEST], cost=cost))
    np.testing.assert_allclose(top.expected_cost[:, 0], fitted.expected_cost(X[TEST], cost=cost), atol=1e-12)
    assert (np.diff(top.expected_cost[:, 1:], axis=1) >= 0).all()
    whole = fitted.top_k(X[TEST], len(fitted.candidates_), cost=cost)
    for part, all_ in zip(top, whole, strict=True):
        assert np.array_equal(part, all_[:, :4])
    assert (whole.probability.sum(axis=1) <= 1 + 1e-9).all()


@pytest.mark.parametrize("name", ["micro_f1", "macro_f1"])
@pytest.mark.parametrize("kind", ["forest", "ridge"])
def test_criteria_of_all_rows_are_decided_by_thresholds(kind, name):
    fitted = model(kind, cost=name)
    probabilities = fitted.predict_proba(X[TEST])
    threshold = fitted._thresholds[name]
    assert threshold.shape == ((1,) if name == "micro_f1" else (10,))
    assert np.array_equal(fitted.predict(X[TEST]), probabilities > threshold)
    assert fitted.score(X[TEST], Y[TEST]) == get_criterion(name)(Y[TEST], fitted.predict(X[TEST]))
    assert fitted.decoder_ == "threshold"
    assert 0 < fitted.oob_cost_ < 1
    other = model(kind, cost="hamming")
    assert np.array_equal(other.predict(X[TEST], cost=name), other.predict_proba(X[TEST]) > other._thresholds[name])
    for ask in (fitted.expected_cost, lambda rows: fitted.top_k(rows, 1), lambda rows: other.expected_cost(rows, name)):
        with pytest.raises(ValueError, match=rf"^{name} is no cost of single rows; name one that is, such as .*\.$"):
            ask(X[TEST])
    np.testing.assert_allclose(
        fitted.expected_cost(X[TEST], cost="hamming"),
        np.minimum(probabilities, 1 - probabilities).mean(axis=1),
        atol=1e-12,
    )


@pytest.mark.parametrize("weight", [None, "some"])
def test_for_macro_f1_trees_see_labels_of_one_variance(weight):
    labels = np.column_stack([Y[TRAIN], np.ones(len(Y[TRAIN]), int), np.zeros(len(Y[TRAIN]), int)])
    weight = None if weight is None else RNG.integers(1, 4, len(labels)).astype(float)
    for name in ("macro_f1", "micro_f1", "f1"):
        fitted = CLEMS(name, n_trees=2, random_state=0).fit(X[TRAIN], labels, sample_weight=weight)
        targets = fitted._label_targets()[fitted.candidates_.index]
        if name == "macro_f1":
            variance = np.cov(targets.T, ddof=0, aweights=weight).diagonal()
            np.testing.assert_allclose(variance, [1] * 10 + [0, 0], atol=1e-12)
        assert np.array_equal(targets > 0, labels > 0)
        assert np.array_equal(targets, labels) == (name != "macro_f1")


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"cost": "accuracy", "decoder": "exact"}, "decoder='exact' needs a cost with an exact rule, which 'accuracy'"),
        ({"cost": own_cost, "decoder": "exact"}, "decoder='exact' needs a cost with an exact rule, which 'own_cost'"),
        ({"cost": "micro_f1", "decoder": "nearest"}, "cost='micro_f1' is decided by thresholds; decoder must be"),
        ({"decoder": "best"}, "decoder must be one of 'auto', 'nearest', 'expected', 'exact'; got 'best'"),
        ({"depths": []}, "depths must hold at least one depth"),
        ({"depths": [3, 0]}, "each of depths must be a whole number of at least 1; got 0"),
        ({"depths": [2.5]}, "each of depths must be a whole number of at least 1; got 2.5"),
        ({"sharpness": 0}, "sharpness must be 'auto' or a number above 0; got 0"),
        ({"sharpness": np.inf}, "sharpness must be 'auto' or a number above 0; got inf"),
        ({"sharpness": np.nan}, "sharpness must be 'auto' or a number above 0; got nan"),
        ({"sharpness": True}, "sharpness must be 'auto' or a number above 0; got True"),
        ({"sharpness": "sharp"}, "sharpness must be 'auto' or a number above 0; got 'sharp'"),
    ],
)
def test_bad_settings_are_told_in_one_sentence(settings_, message):
    fresh = CLEMS(random_state=0, **settings_)
    before = {*vars(fresh)}
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        fresh.fit(X[TRAIN], Y[TRAIN])
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert {*vars(fresh)} == before


def test_bad_questions_are_told_in_one_sentence():
    fitted = model()
    size = len(fitted.candidates_)
    for k in (0, size + 1, 1.5):
        with pytest.raises(
            ValueError, match=rf"^k must be a whole number of at least 1 and at most {size}; got {k}\.$"
        ):
            fitted.top_k(X[TEST], k)
    for depth in (0, 2.5, "deep"):
        with pytest.raises(ValueError, match=r"^depth must be a whole number of at least 1; got "):
            fitted.at_depth(depth)


@pytest.mark.parametrize("kind", ["ridge", "neighbours", "pipeline"])
def test_only_trees_have_a_depth(kind):
    with pytest.raises(ValueError, match=r"^at_depth needs trees, which \w+ does not have\.$"):
        model(kind).at_depth(3)


@pytest.mark.parametrize("kind", ["default", "forest", "extra", "tree"])
def test_another_depth_is_another_model(kind):
    fitted = model(kind, depths=(3, 6), sharpness=1)
    before = fitted.predict_proba(X[TEST])
    shallow, full = fitted.at_depth(1), fitted.at_depth(None)
    assert (shallow.depth_, full.depth_) == (1, None)
    assert fitted.depth_ in (3, 6)
    assert not np.array_equal(shallow.predict_proba(X[TEST]), before)
    assert np.array_equal(fitted.predict_proba(X[TEST]), before)
    assert np.array_equal(shallow.at_depth(fitted.depth_).predict_proba(X[TEST]), before)
    assert shallow.estimator_ is fitted.estimator_
    assert np.isnan(shallow.oob_cost_)
    assert [*shallow.oob_costs_] == [*fitted.oob_costs_]
    assert np.isfinite(fitted.oob_cost_)


def test_a_depth_chosen_later_is_that_of_training():
    later = model(depths=None, sharpness=1, decoder="exact").at_depth(3)
    at_once = model(depths=(3,), sharpness=1, decoder="exact")
    assert at_once.depth_ == 3
    assert np.array_equal(later.predict_proba(X[TEST]), at_once.predict_proba(X[TEST]))
    assert np.array_equal(later.predict(X[TEST]), at_once.predict(X[TEST]))


@pytest.mark.parametrize("cost", ["f1", "accuracy", "macro_f1"])
def test_jobs_and_sparse_features_change_nothing(cost):
    fitted = model("default", cost=cost)
    probabilities, predicted = fitted.predict_proba(X[TEST]), fitted.predict(X[TEST])
    parallel = CLEMS(cost, n_jobs=2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    thin = CLEMS(cost, random_state=0).fit(sparse.csr_array(X[TRAIN]), Y[TRAIN])
    for other, rows in [(parallel, X[TEST]), (thin, sparse.csr_array(X[TEST])), (fitted, sparse.csr_matrix(X[TEST]))]:
        assert other.oob_costs_ == fitted.oob_costs_
        assert np.array_equal(other.predict_proba(rows), probabilities)
        assert np.array_equal(other.predict(rows), predicted)


@pytest.mark.parametrize("kind", ["default", "extra", "neighbours", "ridge"])
def test_held_out_costs_are_honest(kind):
    """Labels that have nothing to do with the features cost as much on training rows as on others."""
    rng = np.random.default_rng(0)
    features, labels = rng.random((400, 5)), rng.integers(0, 2, (400, 3))
    fitted = CLEMS("hamming", estimator=KINDS[kind], random_state=0).fit(features[:200], labels[:200])
    wrong = (fitted.predict(features[200:]) != labels[200:]).mean()
    for cost in fitted.oob_costs_.values():
        assert cost == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(600))
    assert wrong == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(600))


@kinds
@pytest.mark.parametrize("cost", ["f1", "macro_f1"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_rows_suffice(kind, cost, n):
    estimator = KNeighborsRegressor(1, algorithm="kd_tree") if kind == "neighbours" else KINDS[kind]
    fitted = CLEMS(cost, estimator=estimator, random_state=0).fit(X[:n], Y[:n])
    assert np.isfinite(fitted.predict_proba(X[TEST])).all()
    assert fitted.predict(X[TEST]).shape == (120, 10)
    if n == 1:
        assert np.isnan(fitted.oob_cost_)
        assert (fitted.predict(X[TEST]) == Y[0]).all()


def test_neighbours_may_be_all_rows():
    fitted = CLEMS(estimator=KNeighborsRegressor(5), random_state=0).fit(X[:5], Y[:5])
    np.testing.assert_allclose(fitted.predict_proba(X[TEST]), np.tile(Y[:5].mean(axis=0), (120, 1)))


@kinds
@pytest.mark.parametrize("cost", ["accuracy", "micro_f1"])
def test_one_label_and_constant_labels(kind, cost):
    for labels in (Y[:40, :1], np.zeros((40, 1), int), np.eye(4, dtype=int)[[1] * 40]):
        fitted = CLEMS(cost, estimator=KINDS[kind], random_state=0).fit(X[:40], labels)
        predicted = fitted.predict(X[TEST])
        assert predicted.shape == (120, labels.shape[1])
        if len(np.unique(labels, axis=0)) == 1:
            assert (predicted == labels[0]).all()
            assert fitted.oob_cost_ == pytest.approx(float(cost == "micro_f1" and not labels.any()))


def test_weights_count_in_held_out_costs():
    rng = np.random.default_rng(0)
    features, noise = rng.integers(0, 2, (2, 200, 3))
    noisy = np.arange(200) < 100
    labels = np.where(noisy[:, None], noise, features)
    for kind in ("ridge", "forest", "extra"):
        fitted = CLEMS("hamming", estimator=KINDS[kind], random_state=0)
        assert fitted.fit(features, labels).oob_cost_ > 0.2
        assert fitted.fit(features, labels, np.where(noisy, 1e-3, 1)).oob_cost_ < 0.01


@pytest.mark.parametrize("weights", [lambda d: 1 / (d - d), lambda d: d < 0, lambda d: -d])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_weights_of_neighbours_that_are_none_are_refused(weights):
    model = CLEMS(estimator=KNeighborsRegressor(3, weights=weights), random_state=0)
    with pytest.raises(ValueError, match="The weights of KNeighborsRegressor must be finite, at least 0, and not all"):
        model.fit(X[TRAIN], Y[TRAIN])


@dataclass
class Unhashable:
    price: float = 2.0

    def __call__(self, truth, predicted):
        return self.price * abs(truth - predicted).sum(axis=1)


def test_a_cost_need_not_be_hashable():
    with pytest.raises(TypeError):
        hash(Unhashable())
    fitted = CLEMS(Unhashable(), random_state=0, n_trees=10).fit(X[TRAIN], Y[TRAIN])
    same = fitted.predict(X, cost=get_cost(lambda Y, P: 2.0 * abs(Y - P).sum(axis=1)))
    assert np.array_equal(fitted.predict(X), same)


@pytest.mark.parametrize("name", ["micro_f2", "macrof1", "micro-f1"])
def test_a_misspelt_criterion_is_recognised(name):
    with pytest.raises(ValueError, match=f"Unknown cost '{name}'; did you mean 'm[ai]cro_f1'"):
        CLEMS(name).fit(X[TRAIN], Y[TRAIN])
