"""Rows in partitions: sums are those of the whole, nothing is computed early, and no scheduler or death shows."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from stand_in import DeadlyRows

import clems
from clems import CLEMS
from clems.datasets import digit_scenes
from clems.embedding.candidates import choose_candidates, distinct_rows
from clems.evaluation import evaluate
from clems.posterior import ridge_expert
from clems.posterior.experts import EXPERTS
from clems.posterior.leaves import leaf_source
from clems.posterior.source import Settings, Training
from clems.trees.growing import as_columns, grow_trees
from clems.trees.leaf_table import sort_into_leaves
from clems.trees.reading import Trees, as_rows

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

import clems.dask  # noqa: E402
from clems.dask import fitting, tasks  # noqa: E402
from clems.dask.partitions import added, partitions_of, rows_in  # noqa: E402

N, K = 360, 10


@pytest.fixture(scope="module")
def rows():
    X, Y = digit_scenes(N + 200, random_state=0)
    return X[:N], Y[:N], X[N:], Y[N:]


@pytest.fixture(autouse=True)
def in_order():
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(*arrays, sizes=(100, 40, 120, 100)):
    return [da.from_array(one, chunks=(sizes, -1)) for one in arrays]


def model(**settings):
    return CLEMS("f1", **{"n_trees": 12, "random_state": 0} | settings)


@pytest.fixture(scope="module")
def fitted(rows):
    with dask.config.set(scheduler="synchronous"):
        return clems.dask.fit(model(), *cut(*rows[:2]))


def same(one, other, X):
    """Whether two models are the same: points, trees, what leaves hold, and decisions."""
    arrays = [
        (a.embedding_.truth, a.candidates_.labels, a._reader.counts.counts.toarray(), a.predict_proba(X), a.predict(X))
        for a in (one, other)
    ]
    return all(np.array_equal(a, b) for a, b in zip(*arrays, strict=True))


# What is added up is what the whole has.


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_candidates_are_those_of_all_rows_together(rows, form):
    _, Y, *_ = rows
    parts = [tasks.Counted(*counts) for part in np.array_split(np.arange(N), 7) if (counts := counted(form(Y[part])))]
    found = dask.compute(added([*parts[:3], None, *parts[3:]], tasks.add_vectors))[0]
    whole = choose_candidates(Y, "observed", clems.COSTS["f1"], np.random.RandomState(0))
    assert np.array_equal(found.vectors, whole.labels)
    assert np.array_equal(found.frequency, whole.frequency)


def counted(Y):
    vectors, index = distinct_rows(Y)
    return vectors, np.bincount(index).astype(float)


def test_large_sparse_labels_stay_sparse(monkeypatch, rows):
    monkeypatch.setattr("clems.labels.matrix.SMALL", 100)
    _, Y, *_ = rows
    parts = [tasks.Counted(*counted(sparse.csr_array(Y[part]))) for part in np.array_split(np.arange(N), 3)]
    found = tasks.add_vectors(parts)
    assert sparse.issparse(found.vectors)
    whole = {vector.tobytes(): n for vector, n in zip(*np.unique(Y, axis=0, return_counts=True), strict=True)}
    dense = found.vectors.toarray().astype(Y.dtype)
    assert {vector.tobytes(): n for vector, n in zip(dense, found.frequency, strict=True)} == whole


def test_leaves_of_partitions_add_up_to_those_of_all_rows(fitted, rows):
    X, Y, *_ = rows
    _, index = distinct_rows(Y)
    L = len(fitted.candidates_)
    every = Trees(fitted.estimator_, np.ones((12, N), np.uint8), None, by_bags=False)
    whole, _ = sort_into_leaves(every, as_rows(X), index, L, np.empty(0, np.intp))
    counts = fitted._reader.counts.counts
    assert counts.data.sum() == 12 * N
    for name in ("indptr", "indices", "data"):  # in the same order, too
        assert np.array_equal(getattr(counts, name), getattr(whole.counts, name))


def test_a_tree_is_one_of_its_partition(fitted, rows, monkeypatch):
    """The first partition has the first trees, by its rows alone and targets in turn."""
    X, Y, *_ = rows
    forest = tasks.Forest(
        fitted.candidates_.labels, fitted.cost_, [fitted._learned, fitted._label_targets(False)], None, "thirds"
    )
    shares = fitting._shares(np.array([100, 40, 120, 100]), 12, np.arange(N), np.arange(N), np.random.RandomState(0))
    assert [share.n_trees for share in shares] == [3, 2, 4, 3]  # in proportion to rows
    second = tasks.grow("second", (X[100:140], Y[100:140]), model(), forest, shares[1]._replace(seed=5))
    alone = grow_trees(
        as_columns(X[100:140]),
        forest.targets[::-1],
        forest.groups(Y[100:140]),
        None,
        np.random.RandomState(5),
        max_depth=None,
        n_trees=2,
    )
    for tree, other in zip(second[0], alone.trees, strict=True):
        assert np.array_equal(tree.tree_.threshold, other.tree_.threshold)
    assert np.array_equal(second[2], np.stack(alone.drawn) == 0)


def test_held_out_rows_are_unseen_by_trees_of_other_partitions(rows):
    shares = fitting._shares(np.array([5, 0, 7]), 4, np.array([1, 3, 5, 11]), np.arange(12), np.random.RandomState(0))
    assert [share.sampled.tolist() for share in shares] == [[1, 3], [], [0, 6]]
    own = np.array([[True, False], [False, False]])
    unseen = fitting._unseen([own, None, ~own], shares, 4)
    assert np.array_equal(unseen, np.block([[own, np.ones((2, 2), bool)], [np.ones((2, 2), bool), ~own]]))


@pytest.mark.parametrize(("name", "d"), [("linear", 20), ("linear", 300), ("gaussian", 20)])
def test_an_expert_of_partitions_is_that_of_all_rows(name, d, monkeypatch):
    """Where landmarks are the same rows; with few linear features there are none."""
    for module in (ridge_expert, fitting):
        monkeypatch.setattr(module, "LANDMARKS", 10**6)
    monkeypatch.setattr(ridge_expert, "MOST_ROWS", 100)
    monkeypatch.setattr(ridge_expert, "SAMPLE", 10**6)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, d)) * (rng.random((240, d)) < 0.2)
    Y = (X[:, :5] + rng.normal(size=(240, 5)) > 0.5).astype(np.uint8)
    Y[:, 3] = 1
    rows, random, varied = np.arange(50), np.random.RandomState(0), np.array([0, 1, 2, 4])
    ridge = fitting._ridge(name, X, d == 20 and name == "linear", varied, Y.mean(axis=0), random)
    parts = [tasks.add_up([(X[p], Y[p])], [ridge]) for p in np.array_split(np.arange(240), 5)]
    sums = tasks.add_sums([*parts[:2], None, *parts[2:]])
    assert np.allclose(sums[0][0], tasks.add_up([(X, Y), None], [ridge])[0][0])
    constants = np.array([np.nan, np.nan, np.nan, 1, np.nan])
    expert, held_out = fitting._expert(ridge, sums[0], 240.0, constants, X, Y, rows, np.arange(240))

    def landmarks_of_all(n, size, replace):
        return np.arange(n)[:size]

    whole, of_whole = EXPERTS[name].fit(X, Y, None, rows, SimpleNamespace(choice=landmarks_of_all))
    assert ridge.of_all == (d == 20 and name == "linear")
    assert np.allclose(held_out, of_whole, atol=1e-6)
    assert np.allclose(expert(X), whole(X), atol=1e-6)
    assert (expert(X)[:, 3] == 1).all()


# What comes out.


def test_neither_scheduler_nor_form_shows(fitted, rows, monkeypatch):
    X, Y, X_new, _ = rows
    with dask.config.set(scheduler="threads"):
        assert same(fitted, clems.dask.fit(model(), *cut(X, Y)), X_new)
    frames = [
        pd.DataFrame(one, columns=[f"{name}{at}" for at in range(one.shape[1])]) for name, one in (("x", X), ("y", Y))
    ]
    parts = [dd.from_pandas(one, sort=False, chunksize=90) for one in frames]
    of_frames = clems.dask.fit(model(), *parts)
    assert of_frames.classes_.tolist() == [f"y{at}" for at in range(K)]
    even = clems.dask.fit(model(), *cut(X, Y, sizes=(90,) * 4))
    assert np.array_equal(of_frames.predict(frames[0].set_axis(of_frames.feature_names_in_, axis=1)), even.predict(X))


def test_it_is_as_good_as_in_memory(rows):
    """Whether experts are fitted to sums over partitions or, as there are few rows, to the sample."""
    X, Y, X_new, Y_new = rows
    whole = model(n_trees=40).fit(X, Y).score(X_new, Y_new)
    assert clems.dask.fit(model(n_trees=40), *cut(X, Y)).score(X_new, Y_new) > 0.9 * whole


def test_experts_of_many_rows_are_fitted_to_sums(fitted, rows, monkeypatch):
    X, Y, X_new, Y_new = rows
    for name, size in (("SAMPLED", 150), ("LANDMARKS", 120), ("HELD_OUT", 100), ("MOST_TRAINED", 200)):
        monkeypatch.setattr(fitting, name, size)
    found = clems.dask.fit(model(), *cut(X, Y))
    assert len(found.candidates_.index) == 150
    assert [*found.experts_] == ["gaussian"]
    assert found.experts_["gaussian"].scores.landmarks.shape[0] == 120
    assert found.score(X_new, Y_new) > 0.7 * fitted.score(X_new, Y_new)
    with dask.config.set(scheduler="threads"):
        assert same(found, clems.dask.fit(model(), *cut(X, Y)), X_new)


def test_a_held_out_row_is_left_out_of_its_leaves(rows):
    """With one partition the source is that of the same trees in memory."""
    X, Y, *_ = rows
    found = clems.dask.fit(model(experts=None), *cut(X, Y, sizes=(N,)))
    seen = []
    original = fitting.LeafSource

    def noted(*given):
        seen.append(original(*given))
        return seen[-1]

    fitting.LeafSource, before = noted, fitting.LeafSource
    drawn = []
    grown = tasks.grow_trees

    def kept(*given, **options):
        drawn.append(grown(*given, **options))
        return drawn[-1]

    tasks.grow_trees = kept
    try:
        clems.dask.fit(model(experts=None), *cut(X, Y, sizes=(N,)))
    finally:
        fitting.LeafSource, tasks.grow_trees = before, grown
    groups, candidates = found.candidates_.index, found.candidates_
    training = Training(X, groups, None, candidates.labels, candidates.frequency, found._learned, found._decoded)
    whole = leaf_source(drawn[0], training, Settings(np.arange(N)))
    assert np.array_equal(seen[0].rows, whole.rows)
    assert np.array_equal(seen[0].held_out(None).share.toarray(), whole.held_out(None).share.toarray())


def test_it_saves_and_loads(fitted, rows, tmp_path):
    clems.save(fitted, tmp_path / "model.clems")
    loaded = clems.load(tmp_path / "model.clems")
    assert np.array_equal(loaded.predict(rows[2]), fitted.predict(rows[2]))
    assert np.array_equal(loaded.predict(rows[2], cost="rank"), fitted.predict(rows[2], cost="rank"))


@pytest.mark.parametrize(
    "settings",
    [{"decoder": "nearest"}, {"depths": [2, 5]}, {"cost": "macro_f1"}, {"cost": "accuracy", "experts": ["linear"]}],
)
def test_other_ways_to_decide(settings, rows):
    X, Y, X_new, _ = rows
    found = clems.dask.fit(CLEMS(**{"n_trees": 8, "random_state": 0} | settings), *cut(X, Y))
    assert found.predict(X_new).shape == (200, K)
    assert found.depth_ in settings.get("depths", [None])


def test_sparse_rows_in_partitions(rows):
    X, Y, X_new, _ = rows
    csr = {"dtype": float, "meta": sparse.csr_array((0, 0))}
    blocks = [one.map_blocks(sparse.csr_array, **csr) for one in cut(X, Y, sizes=(120,) * 3)]
    found = clems.dask.fit(model(), *blocks)
    dense = clems.dask.fit(model(), *cut(X, Y, sizes=(120,) * 3))
    assert np.array_equal(found.predict(X_new).toarray(), dense.predict(X_new))
    new = da.from_array(X_new, chunks=(70, -1))
    assert (clems.dask.predict(found, new).compute() != found.predict(X_new)).nnz == 0


# Answers.


def test_answers_are_those_of_the_model_and_nothing_is_computed_before_they_are_asked_for(fitted, rows):
    *_, X_new, Y_new = rows
    read = []

    def block(part):
        read.append(len(part))
        return part

    lazy = da.from_array(X_new, chunks=(70, -1)).map_blocks(block, dtype=X_new.dtype, meta=X_new[:0])
    truth = da.from_array(Y_new, chunks=(70, -1))
    predicted = clems.dask.predict(fitted, lazy)
    for_rank = clems.dask.predict(fitted, lazy, cost="rank")
    probable = clems.dask.predict_proba(fitted, lazy)
    evaluation = clems.dask.evaluate(fitted, lazy, truth, unit="€")
    assert read == []
    assert (predicted.dtype, predicted.chunks) == (Y_new.dtype, ((70, 70, 60), (K,)))
    assert np.array_equal(predicted.compute(), fitted.predict(X_new))
    assert sorted(read) == [60, 70, 70]
    assert np.array_equal(for_rank.compute(), fitted.predict(X_new, cost="rank"))
    assert np.array_equal(probable.compute(), fitted.predict_proba(X_new))
    found, whole = evaluation.compute(), evaluate(fitted, X_new, Y_new, unit="€")
    assert found.criteria == whole.criteria
    for name in ("labels", "reliability", "abstention"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(whole, name))
    pd.testing.assert_frame_equal(found.savings.table, whole.savings.table)


def test_of_frames_frames_with_names(rows):
    X, Y, X_new, _ = rows
    names = [f"x{at}" for at in range(X.shape[1])]
    found = model(n_trees=4).fit(pd.DataFrame(X, columns=names), pd.DataFrame(Y, columns=[*"abcdefghij"]))
    new = pd.DataFrame(X_new, columns=names, index=np.arange(200) * 3)
    whole = pd.DataFrame(found.predict(new), columns=found.classes_, index=new.index)
    others = dd.from_pandas(new.assign(more="text")[["more", *names[::-1]]], npartitions=3)
    lazy = clems.dask.predict(found, others)
    assert lazy.columns.tolist() == [*"abcdefghij"]
    pd.testing.assert_frame_equal(lazy.compute(), whole, check_column_type=False)
    pd.testing.assert_frame_equal(lazy.partitions[1].compute(), whole.iloc[67:134], check_column_type=False)
    few = lazy[lazy.a == 1].compute()
    pd.testing.assert_frame_equal(few, whole[whole.a == 1], check_column_type=False)
    with pytest.raises(ValueError, match=r"X lacks 2 columns of the model: 'x0', 'x1'\."):
        clems.dask.predict(found, others.drop(columns=["x0", "x1"]))


def test_partitions_without_rows_change_nothing(rows):
    X, Y, X_new, _ = rows
    names = [f"x{at}" for at in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(
        kind=np.repeat([0, 1, 2], N // 3), **dict(zip("abcdefghij", Y.T, strict=True))
    )
    table = dd.from_pandas(frame, npartitions=3)
    some = table[table.kind != 1]
    found = clems.dask.fit(model(), some[names], some[[*"abcdefghij"]])
    kept = frame[frame.kind != 1]
    without = clems.dask.fit(model(), *cut(kept[names].to_numpy(), kept[[*"abcdefghij"]].to_numpy(), sizes=(120, 120)))
    new = pd.DataFrame(X_new, columns=names)
    assert np.array_equal(
        found.experts_["gaussian"].scores.coefficients, without.experts_["gaussian"].scores.coefficients
    )
    assert len(clems.dask.predict(found, some).compute()) == 240
    assert (
        clems.dask.evaluate(found, some[names], some[[*"abcdefghij"]]).compute().labels["support"].sum()
        == kept[[*"abcdefghij"]].sum().sum()
    )
    assert found.predict(new).shape == (200, K)
    nothing = table[table.kind == 7]
    with pytest.raises(ValueError, match="There are no rows in any partition"):
        clems.dask.fit(model(), nothing[names], nothing[[*"abcdefghij"]])


# What is refused.


def test_partitions_of_sorted_rows_are_warned_of(rows):
    X, Y = rows[:2]
    order = np.lexsort(Y.T)
    with pytest.warns(UserWarning, match="Partitions differ in their labels.*explains 38% .* shuffle them first"):
        clems.dask.fit(model(), *cut(X[order], Y[order], sizes=(30,) * 12))


@given(seed=st.integers(0, 1000), sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_what_partitions_explain_is_what_regression_on_them_explains(seed, sizes):
    random = np.random.default_rng(seed)
    Y = random.random((sum(sizes), 3)) < random.random(3)
    where = np.repeat(np.arange(len(sizes)), sizes)
    of_each = LinearRegression(fit_intercept=False).fit(np.eye(len(sizes))[where], Y).predict(np.eye(len(sizes)))
    residual, total = ((Y - other) ** 2 for other in (of_each[where], Y.mean(axis=0)))
    explained = 1 - residual.sum() / total.sum() - (len(sizes) - 1) / len(Y) if total.any() else 0.0
    facts = [
        tasks.Facts(n, {}, 0.0, "", part.sum(axis=0).astype(float))
        for n, part in zip(sizes, np.split(Y, np.cumsum(sizes)[:-1]), strict=True)
    ]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        fitting._warn_of_order(facts)
    assert bool(heard) == (explained > fitting.ORDERED + 1e-12)
    assert all(f"explains {explained:.0%} " in str(one.message) for one in heard)


def test_what_is_wrong_is_said_with_its_partition(rows):
    X, Y, *_ = rows
    wrong = Y.astype(int)
    wrong[145, 3] = 2
    said = r"Partition 2 of 4, from 0 on: Y has the value 2 in row 5, column 3; labels must be 0 or 1\."
    before = model()
    with pytest.raises(ValueError, match=said):
        clems.dask.fit(before, *cut(X, wrong))
    assert not hasattr(before, "classes_")
    with pytest.raises(ValueError, match=r"X has 4 partitions and Y has 2; their rows must be cut alike"):
        clems.dask.fit(model(), cut(X)[0], da.from_array(Y, chunks=(180, -1)))
    with pytest.raises(ValueError, match=r"Partition [0-3] of 4, from 0 on: Found input variables with inconsistent"):
        clems.dask.fit(model(), cut(X)[0], da.from_array(Y, chunks=(90, -1)))
    with pytest.raises(TypeError, match=r"X must be an array or DataFrame of Dask's; got numpy's ndarray\."):
        clems.dask.fit(model(), X, Y)
    with pytest.raises(ValueError, match=r"two-dimensional, one row per example; its shape is \(360,\)"):
        clems.dask.fit(model(), da.from_array(X[:, 0], chunks=90), da.from_array(Y, chunks=(90, -1)))
    with pytest.raises(ValueError, match=r"Rows in partitions are for CLEMS; got BR\."):
        clems.dask.fit(clems.BR(), *cut(X, Y))
    with pytest.raises(ValueError, match="trees of its own on rows in partitions; leave out estimator="):
        clems.dask.fit(model(estimator=Ridge()), *cut(X, Y))
    with pytest.raises(ValueError, match=r"have the experts 'linear', 'gaussian'; got LogisticRegression\."):
        clems.dask.fit(model(experts=[LogisticRegression()]), *cut(X, Y))
    first, second = (pd.DataFrame(X[:180], columns=range(121)), pd.DataFrame(X[180:], columns=range(121)))
    mixed = [
        dask.delayed(first.set_axis([f"a{at}" for at in range(121)], axis=1)),
        dask.delayed(second.set_axis([f"b{at}" for at in range(121)], axis=1)),
    ]
    parts = [
        fitting.Partition(f"part {at}", dask.delayed(tuple)([x, y]))
        for at, (x, y) in enumerate(zip(mixed, (Y[:180], Y[180:]), strict=True))
    ]
    with pytest.raises(ValueError, match=r"part 1, has other features than part 0: 'b0', .* and 'a0', "):
        fitting.fit_partitions(model(), parts)


def test_predictions_refuse_other_numbers_of_features(fitted, rows):
    with pytest.raises(ValueError, match=r"X has 7 features; in training it had 121\."):
        clems.dask.predict(fitted, cut(rows[0][:, :7])[0])
    plain = clems.LEARNERS["plst"](n_trees=2, random_state=0).fit(*rows[:2])
    with pytest.raises(ValueError, match="no probabilities"):
        clems.dask.predict_proba(plain, cut(rows[0])[0])


def test_without_dask_the_way_to_install_it_is_said(monkeypatch, fitted, rows):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"pip install 'clems\[dask\]'"):
        clems.dask.fit(model(), *cut(*rows[:2]))


# Workers.


def test_a_partition_is_read_and_used_in_one_task(tmp_path):
    """So that none waits in memory; unless partitions share tasks, or workers hold them already."""
    pytest.importorskip("pyarrow")
    for at in range(3):
        pd.DataFrame({"x": np.arange(4.0) + at, "y": [0, 1, 1, 0]}).to_parquet(tmp_path / f"{at}.parquet")
    table = dd.read_parquet(tmp_path)
    parts = partitions_of(table[["x"]], table[["y"]])
    assert [rows_in(part.rows)[0]["x"].tolist()[0] for part in parts] == [0, 1, 2]
    shared = table.shuffle("y", npartitions=3)
    parts = partitions_of(shared[["x"]], shared[["y"]])
    assert not any(callable(part.rows) and not hasattr(part.rows, "dask") for part in parts)


def test_a_worker_that_dies_changes_nothing(fitted, rows, tmp_path):
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("fcntl", reason="workers are killed by signals")
    from clems.experiments.backends.dask_cluster import local_cluster

    X, Y, X_new, _ = rows
    deadly = DeadlyRows(tmp_path)
    X_parts, Y_parts = cut(X, Y)
    new = da.from_array(X_new, chunks=(50, -1)).map_blocks(deadly, dtype=X.dtype, meta=X[:0])
    with local_cluster(distributed, 2) as cluster, distributed.Client(cluster), dask.config.set(scheduler=None):
        (tmp_path / "armed").touch()
        found = clems.dask.fit(model(), X_parts.map_blocks(deadly, dtype=X.dtype, meta=X[:0]), Y_parts)
        assert (tmp_path / "killed").exists()
        assert same(found, fitted, X_new)
        (tmp_path / "killed").unlink()
        predicted = clems.dask.predict(found, new).compute()
        assert (tmp_path / "killed").exists()
        assert np.array_equal(predicted, fitted.predict(X_new))
