"""Stratified splits against plain restatements of the published algorithm and of its measures."""

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold, StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsRegressor

import clems.model_selection
from clems import CLEMS
from clems.model_selection import (
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    SplitQuality,
    iterative_split,
    iterative_stratification,
    split_quality,
)

labels = st.tuples(st.integers(1, 40), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 1))
)
weights = st.lists(st.integers(1, 5), min_size=1, max_size=6)
seeds = st.integers(0, 2**32 - 1)
EYE = np.eye(20)
FORMS = [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, pd.DataFrame, np.ndarray.tolist]


def skewed(n, K, seed=0, empty=False):
    """Rows of about three labels, some labels much more frequent than others."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, K + 1)
    Y = np.zeros((n, K), np.uint8)
    for row in Y:
        size = rng.poisson(2) + (not empty)
        row[rng.choice(K, min(size, K), replace=False, p=popularity / popularity.sum())] = 1
    return Y


def shares(weights):
    return np.array(weights) / np.sum(weights)


def published(Y, weights):
    """The algorithm of Sechidis et al., row by row, in fractions; ties go to the first label and the first part."""
    n, K = Y.shape
    parts = range(len(weights))
    share = [Fraction(int(weight), int(np.sum(weights))) for weight in weights]
    wants_rows = [n * share[k] for k in parts]
    wants = [[int(Y[:, label].sum()) * share[k] for label in range(K)] for k in parts]
    part = {}
    while len(part) < n:
        left = [sum(row not in part for row in np.flatnonzero(Y[:, label])) for label in range(K)]
        rarest = min((label for label in range(K) if left[label]), key=lambda label: left[label], default=None)
        for row in range(n):
            if row in part or (rarest is not None and not Y[row, rarest]):
                continue
            most = max(parts, key=lambda k: (0 if rarest is None else wants[k][rarest], wants_rows[k], -k))
            part[row] = most
            wants_rows[most] -= 1
            for label in np.flatnonzero(Y[row]):
                wants[most][label] -= 1
    return np.array([part[row] for row in range(n)])


def chi_square(Y, part, sizes):
    """Distance of the counts of labels in the parts from the wanted ones, label by label."""
    distance = 0.0
    for label in np.flatnonzero(Y.any(axis=0)):
        for k, size in enumerate(sizes):
            wanted = Y[:, label].sum() * size / len(Y)
            distance += (Y[part == k, label].sum() - wanted) ** 2 / wanted
    return distance


@given(Y=labels, weights=weights)
def test_without_shuffling_it_is_the_published_algorithm(Y, weights):
    assert np.array_equal(iterative_stratification(Y, shares(weights), shuffle=False), published(Y, weights))


@given(Y=labels, weights=weights, seed=seeds)
def test_shuffling_is_a_random_order_of_rows_labels_and_parts(Y, weights, seed):
    part = iterative_stratification(Y, shares(weights), random_state=seed)
    rng = np.random.RandomState(seed)
    rows, columns, parts = (rng.permutation(length) for length in (*Y.shape, len(weights)))
    assert np.array_equal(part[rows], parts[published(Y[rows][:, columns], np.array(weights)[parts])])


def test_the_published_algorithm_by_hand():
    """Label 1 is rarer; its rows 2 and 4 go to parts 0 and 1, and those of label 0 fill up what these still want."""
    Y = [[1, 0], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0]]
    assert iterative_stratification(Y, [0.5, 0.5], shuffle=False).tolist() == [1, 0, 0, 1, 1, 0]


def test_ties_go_to_any_part():
    one = {int(iterative_stratification([[1], [0]], shares([1, 1, 1]), random_state=seed)[0]) for seed in range(40)}
    assert one == {0, 1, 2}


@given(Y=labels, weights=weights, exact=st.booleans(), seed=seeds)
def test_a_single_label_is_shared_out_to_within_a_row(Y, weights, exact, seed):
    Y = Y[:, :1]
    part = iterative_stratification(Y, shares(weights), exact_sizes=exact, random_state=seed)
    assert np.all(np.abs(np.bincount(part, Y[:, 0], len(weights)) - shares(weights) * Y.sum()) < 1)
    assert np.all(np.abs(np.bincount(part, minlength=len(weights)) - shares(weights) * len(Y)) < 2 - exact)


@given(Y=labels, weights=weights, exact=st.booleans(), seed=st.none() | seeds)
def test_the_form_of_the_labels_does_not_matter(Y, weights, exact, seed):
    first, *others = (
        iterative_stratification(
            form(Y), shares(weights), exact_sizes=exact, shuffle=seed is not None, random_state=seed
        )
        for form in FORMS
    )
    assert first.shape == (len(Y),)
    assert all(np.array_equal(first, other) for other in others)


@given(Y=labels, weights=weights, seed=st.none() | seeds)
def test_exact_sizes_are_rounded_shares_and_move_no_row_too_many(Y, weights, seed):
    before, after = (
        iterative_stratification(Y, shares(weights), exact_sizes=exact, shuffle=seed is not None, random_state=seed)
        for exact in (False, True)
    )
    wanted = [Fraction(len(Y) * weight, sum(weights)) for weight in weights]
    number, sizes = (np.bincount(part, minlength=len(weights)) for part in (before, after))
    assert all(floor(size) <= actual <= ceil(size) for size, actual in zip(wanted, sizes, strict=True))
    too_many = sum(max(0, actual - ceil(size)) for size, actual in zip(wanted, number, strict=True))
    too_few = sum(max(0, floor(size) - actual) for size, actual in zip(wanted, number, strict=True))
    assert np.sum(before != after) == max(too_many, too_few)


@given(Y=labels, data=st.data())
def test_the_row_that_is_moved_does_least_harm(Y, data):
    assume(len(Y) > 1)
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(Y), max_size=len(Y))))
    giver, taker = data.draw(st.permutations(range(3)))[:2]
    part[0] = giver
    sizes = np.bincount(part, minlength=3).astype(float)
    sizes[[giver, taker]] += -1, 1
    sizes = np.maximum(sizes, 1e-7)  # a part that wants nothing: no such part can be asked for
    moved = clems.model_selection._with_exact_sizes(sparse.csr_array(Y), part, sizes)
    distances = []
    for row in np.flatnonzero(part == giver):
        other = part.copy()
        other[row] = taker
        distances.append(chi_square(Y, other, sizes))
    assert np.sum(moved != part) == 1
    assert chi_square(Y, moved, sizes) == pytest.approx(min(distances), rel=1e-6)


@given(Y=labels, data=st.data())
def test_rows_move_one_by_one(Y, data):
    """Moving several rows is moving one row several times; the pool of rows only saves time."""
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(Y), max_size=len(Y))))
    count = data.draw(st.integers(0, np.sum(part == 0)))
    wanted = np.outer([0.5, 0.2, 0.3], np.maximum(Y.sum(axis=0), 1))
    results = []
    for pool, steps in ((100, [count]), (2, [count]), (100, [1] * count)):
        moved, counts = part.copy(), np.array([Y[part == k].sum(axis=0) for k in range(3)], float)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clems.model_selection, "POOL", pool)
            for step in steps:
                clems.model_selection._move(sparse.csr_array(Y).astype(float), moved, counts, wanted, 0, 2, step)
        assert np.sum(moved != part) == count
        assert np.array_equal(counts, [Y[moved == k].sum(axis=0) for k in range(3)])
        results.append(moved.tolist())
    assert results[0] == results[1] == results[2]


def test_whole_sizes_stay_whole():
    assert 0.07 * 100 > 7  # by an error of arithmetic
    proportions, crowded = [0.07, 0.465, 0.465], 0
    for seed in range(20):
        Y = np.random.default_rng(seed).random((100, 25)) < 0.05
        crowded += np.sum(iterative_stratification(Y, proportions, random_state=seed) == 0) > 7
        parts = iterative_split(Y, proportions, random_state=seed)
        assert len(parts[0]) == 7
        assert sorted(map(len, parts)) == [7, 46, 47]
    assert crowded > 2  # where labels alone would have put more rows there


@given(Y=labels, folds=st.integers(2, 6), shuffle=st.booleans())
def test_every_row_is_in_one_test_fold(Y, folds, shuffle):
    assume(len(Y) >= folds)
    splitter = IterativeStratifiedKFold(folds, shuffle=shuffle, random_state=0 if shuffle else None)
    splits = list(splitter.split(np.zeros(len(Y)), Y))
    assert len(splits) == splitter.get_n_splits() == folds
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(len(Y)))
    sizes = [len(test) for _, test in splits]
    assert sorted(sizes) == sorted(len(test) for _, test in KFold(folds).split(Y))
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(len(Y)))
        assert np.all(np.diff(train) > 0)
        assert np.all(np.diff(test) > 0)


def same(splits, others):
    return all(
        np.array_equal(one, other)
        for pair, other_pair in zip(splits, others, strict=True)
        for one, other in zip(pair, other_pair, strict=True)
    )


def test_seeds_are_honoured():
    Y = skewed(200, 10)
    for make in (
        lambda seed: IterativeStratifiedKFold(4, shuffle=True, random_state=seed),
        lambda seed: IterativeStratifiedShuffleSplit(4, test_size=0.3, random_state=seed),
    ):
        splits = list(make(0).split(Y, Y))
        assert same(splits, make(0).split(Y, Y))
        assert same(splits, make(np.random.RandomState(0)).split(Y, Y))
        assert not same(splits, make(1).split(Y, Y))
        drawing = make(np.random.RandomState(0))
        assert not same(drawing.split(Y, Y), drawing.split(Y, Y))
    assert same(IterativeStratifiedKFold(4).split(Y, Y), IterativeStratifiedKFold(4).split(Y, Y))
    splits = list(IterativeStratifiedShuffleSplit(2, random_state=0).split(Y, Y))
    assert not np.array_equal(splits[0][1], splits[1][1])
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    list(IterativeStratifiedShuffleSplit(2, random_state=0).split(Y, Y))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("test_size", [None, 0.25, 0.31, 7, 1])
@pytest.mark.parametrize("train_size", [None, 0.61, 0.2, 20])
def test_sizes_are_those_of_scikit_learn(test_size, train_size):
    Y = skewed(101, 6)
    sizes = {"test_size": test_size, "train_size": train_size, "random_state": 0}
    splits = list(IterativeStratifiedShuffleSplit(3, **sizes).split(Y, Y))
    theirs = list(StratifiedShuffleSplit(3, **sizes).split(Y, np.zeros(101)))
    for (train, test), (their_train, their_test) in zip(splits, theirs, strict=True):
        assert (len(train), len(test)) == (len(their_train), len(their_test))
        assert len({*train, *test}) == len(train) + len(test)
        assert np.all(np.diff(train) > 0)
        assert np.all(np.diff(test) > 0)


@pytest.mark.parametrize("sizes", [{"test_size": 1.5}, {"train_size": 200}, {"test_size": 60, "train_size": 60}])
def test_bad_sizes_get_the_error_of_scikit_learn(sizes):
    Y = skewed(100, 6)
    with pytest.raises(ValueError) as theirs:  # noqa: PT011
        next(StratifiedShuffleSplit(**sizes).split(Y, Y[:, 0]))
    with pytest.raises(ValueError) as ours:  # noqa: PT011
        next(IterativeStratifiedShuffleSplit(**sizes).split(Y, Y))
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(("n", "K"), [(300, 20), (1500, 50), (400, 300)])
def test_labels_are_spread_better_than_by_chance(n, K):
    Y = skewed(n, K)
    chance = split_quality(Y, [test for _, test in KFold(5, shuffle=True, random_state=0).split(Y)])
    for splitter in (IterativeStratifiedKFold(5), IterativeStratifiedKFold(5, shuffle=True, random_state=0)):
        ours = split_quality(Y, [test for _, test in splitter.split(Y, Y)])
        assert ours.label_distribution < 0.8 * chance.label_distribution
        assert ours.missing < chance.missing or chance.missing == 0
    proportions = (0.6, 0.3, 0.1)
    ours = split_quality(Y, iterative_split(Y, proportions, random_state=0), proportions)
    order = np.random.RandomState(0).permutation(n)
    cuts = np.cumsum([round(share * n) for share in proportions[:2]])
    chance = split_quality(Y, np.split(order, cuts), proportions)
    assert ours.label_distribution < 0.8 * chance.label_distribution


def test_exact_sizes_bring_labels_nearer_too():
    quality = np.zeros((2, 2))
    for seed in range(5):
        Y = skewed(1000, 30, seed)
        for exact in (False, True):
            for proportions in ([0.2] * 5, [0.75, 0.25]):
                part = iterative_stratification(Y, proportions, exact_sizes=exact, random_state=seed)
                parts = [np.flatnonzero(part == k) for k in range(len(proportions))]
                found = split_quality(Y, parts, proportions)
                quality[int(exact)] += found.label_distribution, found.example_distribution
    assert quality[1, 0] < 0.8 * quality[0, 0]
    assert quality[1, 1] == 0 < quality[0, 1]


@pytest.mark.parametrize(
    "Y",
    [np.zeros((20, 3)), np.ones((20, 3)), EYE, EYE[:, :1], EYE[:, :0], sparse.csr_array((20, 5))],
    ids=["never", "always", "once each", "one row", "no columns", "sparse"],
)
def test_unusual_labels_are_split_too(Y):
    for folds in (2, 7, 20):
        tests = [test for _, test in IterativeStratifiedKFold(folds).split(np.zeros(20), Y)]
        assert sorted(np.concatenate(tests)) == list(range(20))
        assert {len(test) for test in tests} <= {20 // folds, -(-20 // folds)}
    assert [len(rows) for rows in iterative_split(Y, (0.5, 0.25, 0.25), random_state=0)] == [10, 5, 5]


def test_many_labels_are_never_made_dense():
    n, K = 3000, 1_000_000
    rng = np.random.RandomState(0)
    columns = rng.choice([7, 70_000, 999_999, *rng.randint(0, K, 40)], 2 * n)
    Y = sparse.csr_array((np.ones(2 * n), (np.repeat(np.arange(n), 2), columns)), shape=(n, K)).astype(bool)
    train, test = next(IterativeStratifiedShuffleSplit(1, test_size=0.25, random_state=0).split(Y, Y))
    assert (len(train), len(test)) == (2250, 750)
    occurs = np.flatnonzero(Y.sum(axis=0))
    error = np.abs(Y[test].sum(axis=0) - 0.25 * Y.sum(axis=0))[occurs]
    assert np.mean(error < 1) > 0.9


def plain_quality(Y, parts, proportions):
    n, K = Y.shape
    error, labels, missing = 0.0, 0, 0
    for label in range(K):
        total = int(Y[:, label].sum())
        counts = [int(Y[part, label].sum()) for part in parts]
        missing += sum(count == 0 and total >= len(parts) for count in counts)
        if 0 < total < n:
            labels += 1
            for part, count in zip(parts, counts, strict=True):
                odds = count / (len(part) - count) if count < len(part) else 2 * count
                error += abs(odds - total / (n - total)) / len(parts)
    sizes = [abs(len(part) - share * n) for part, share in zip(parts, proportions, strict=True)]
    return error / max(labels, 1), sum(sizes) / len(parts), missing


@given(Y=labels, data=st.data(), form=st.sampled_from(FORMS))
def test_quality_is_what_it_says(Y, data, form):
    part = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(Y), max_size=len(Y))))
    parts = [np.flatnonzero(part == k) for k in np.unique(part)]
    proportions = shares(data.draw(st.lists(st.integers(1, 5), min_size=len(parts), max_size=len(parts))))
    found = split_quality(form(Y), parts, proportions)
    wanted = plain_quality(Y, parts, proportions)
    assert (found.label_distribution, found.example_distribution, found.missing) == pytest.approx(wanted)
    equal = split_quality(Y, parts).example_distribution
    assert equal == pytest.approx(np.mean([abs(len(rows) - len(Y) / len(parts)) for rows in parts]))


def test_quality_by_hand():
    Y = [[1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 1, 0], [0, 1, 1, 0]]
    assert split_quality(Y, [[0, 1], [2, 3]]) == SplitQuality(0.0, 0.0, 0)
    # Labels 0 and 1 have odds 1 in all; in part 0, where there is but one sort of rows, 2/½ and 0.
    assert split_quality(Y, [[0, 2], [1, 3]]) == SplitQuality(2.0, 0.0, 2)
    assert split_quality(Y, ([0, 1, 2], [3]), (0.5, 0.5)).example_distribution == 1.0


def test_in_cross_validation():
    rng = np.random.RandomState(0)
    Y = skewed(60, 5)
    X = Y + 0.1 * rng.standard_normal(Y.shape)
    model = CLEMS("f1", estimator=KNeighborsRegressor(1), random_state=0)
    for form in (np.asarray, pd.DataFrame):  # scikit-learn's function takes no sparse labels
        for splitter in (IterativeStratifiedKFold(3), IterativeStratifiedShuffleSplit(3, random_state=0)):
            scores = cross_val_score(model, X, form(Y), cv=splitter, error_score="raise")
            assert scores.shape == (3,)
            assert np.all(scores > 0.5)
    search = GridSearchCV(model, {"tol": [1e-3]}, cv=IterativeStratifiedKFold(2), error_score="raise").fit(X, Y)
    assert search.n_splits_ == 2


def test_splitters_print_as_they_are_made():
    assert repr(IterativeStratifiedKFold(3)).startswith("IterativeStratifiedKFold(n_splits=3, random_state=None")
    shuffled = IterativeStratifiedShuffleSplit(2, test_size=0.5, random_state=1)
    assert repr(shuffled).startswith("IterativeStratifiedShuffleSplit(n_splits=2, random_state=1, test_size=0.5")
    assert shuffled.get_n_splits() == 2


Y = skewed(30, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: IterativeStratifiedKFold(2.5), ValueError, "whole number; got n_splits=2.5"),
        (lambda: IterativeStratifiedKFold(1), ValueError, "two folds or more; got n_splits=1"),
        (lambda: IterativeStratifiedKFold(3, shuffle="yes"), TypeError, "shuffle must be True or False; got 'yes'"),
        (lambda: IterativeStratifiedKFold(3, random_state=0), ValueError, "shuffle is False"),
        (
            lambda: next(IterativeStratifiedKFold(31).split(Y, Y)),
            ValueError,
            "n_splits=31 greater than .* n_samples=30",
        ),
        (lambda: next(IterativeStratifiedKFold(3).split(Y, None)), ValueError, "IterativeStratifiedKFold requires y"),
        (lambda: next(IterativeStratifiedKFold(3).split(Y[:9], Y)), ValueError, "inconsistent numbers of samples"),
        (lambda: next(IterativeStratifiedKFold(3).split(Y, Y[:, 0])), ValueError, "y must be two-dimensional"),
        (lambda: next(IterativeStratifiedKFold(3).split(Y, 2 * Y)), ValueError, "y has the value 2 in row"),
        (lambda: next(IterativeStratifiedShuffleSplit().split(Y, None)), ValueError, "ShuffleSplit requires y"),
        (lambda: next(IterativeStratifiedShuffleSplit().split(Y[1:], Y)), ValueError, "inconsistent numbers"),
        (lambda: iterative_split(Y, [[0.5, 0.5]]), ValueError, r"one for each part; their shape is \(1, 2\)"),
        (lambda: iterative_split(Y, []), ValueError, r"one for each part; their shape is \(0,\)"),
        (lambda: iterative_split(Y, ["a"]), ValueError, r"proportions must be numbers, .*; got \['a'\]"),
        (lambda: iterative_split(Y, [0.5, 0.6, -0.1]), ValueError, "proportion of part 2 is -0.1; it must be"),
        (lambda: iterative_split(Y, [0.5, np.nan]), ValueError, "proportion of part 1 is nan"),
        (lambda: iterative_split(Y, [0.5, 0.25]), ValueError, "1 together; those given are 0.75"),
        (lambda: iterative_split(Y, [0.98, 0.01, 0.01]), ValueError, "Part [12] would be empty: 0.01 of 30 rows"),
        (lambda: split_quality(Y, []), ValueError, "parts is empty"),
        (lambda: split_quality(Y, np.zeros(30, int)), ValueError, "Part 0 is not an array of row numbers"),
        (lambda: split_quality(Y, [[0], [True]]), ValueError, "Part 1 is not an array of row numbers"),
        (lambda: split_quality(Y, [[0], []]), ValueError, "Part 1 is empty"),
        (lambda: split_quality(Y, [[0], [2, -1]]), ValueError, "Part 1 has the row number -1; rows are .* 0 to 29"),
        (lambda: split_quality(Y, [[30], [2]]), ValueError, "Part 0 has the row number 30"),
        (lambda: split_quality(Y, [[0], [1]], [1.0]), ValueError, "2 parts and 1 proportions"),
    ],
)
def test_errors_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_groups_are_ignored_with_a_warning():
    for splitter in (IterativeStratifiedKFold(3), IterativeStratifiedShuffleSplit()):
        with pytest.warns(UserWarning, match=f"groups parameter is ignored by {type(splitter).__name__}"):
            next(splitter.split(Y, Y, groups=np.zeros(30)))


def test_a_seed_without_shuffling_is_refused():
    with pytest.raises(ValueError, match="random_state has no effect"):
        iterative_stratification([[1], [0]], [0.5, 0.5], shuffle=False, random_state=3)
    with pytest.raises(TypeError, match="shuffle must be True or False"):
        iterative_stratification([[1], [0]], [0.5, 0.5], shuffle="no")
