"""Row numbers of the extreme classification repository, from files to a table, and labels ranked by their scores."""

import re

import numpy as np
import pytest
from scipy import sparse

from clems import BR, CLEMS, ECC, SLEEC, propensities
from clems.datasets import DataError, Dataset, digit_scenes, load_dataset, write_libsvm
from clems.datasets.catalogue import CATALOGUE, Entry, find_given_rows
from clems.datasets.given_rows import read_given_rows
from clems.evaluation import ranking_scores
from clems.evaluation.ranking import ranking_named, scores_of
from clems.experiments import Spec, SpecError, Store, make_plan, run, run_trial
from clems.experiments.analysis.selection import results
from clems.experiments.trial import parts_of

N, TRAIN = 60, 40


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder of a dataset as the repository packs it: one file of data, two of row numbers."""
    monkeypatch.setitem(CATALOGUE, "toy", Entry("toy", N, 121, 10, None, "", "http://toys.example", None, {}))
    monkeypatch.setenv("CLEMS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    X, Y = digit_scenes(N, random_state=0)
    own = tmp_path / "toy"
    own.mkdir()
    data = Dataset(sparse.csr_array(X), sparse.csr_array(Y), [f"x{j}" for j in range(121)], [*map(str, range(10))])
    write_libsvm(data, own / "Toy_data.txt")
    orders = [np.random.default_rng(column).permutation(N) + 1 for column in range(3)]
    put(own / "toy_trSplit.txt", [order[:TRAIN] for order in orders])
    put(own / "toy_tstSplit.txt", [order[TRAIN:] for order in orders])
    return own


def put(path, columns):
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in zip(*columns, strict=True)))


def spec(learners, criteria, repetitions=3):
    split = {"kind": "published", "validation": 0}
    given = {"datasets": ["toy"], "trees": 3, "depths": ["none"], "split": split, "repetitions": repetitions}
    return Spec(title="Toys", learners=learners, criteria=criteria, **given)


def test_each_repetition_has_its_column_of_rows(folder):
    whole = spec({"br": {}}, ["P@1"])
    data = whole.load("toy")
    assert data.whole.X.shape == (N, 121)
    for trial in make_plan(whole).trials:
        parts = parts_of(trial, data)
        order = np.random.default_rng(trial.repetition).permutation(N)
        assert sorted(parts.train) == sorted(parts.train_for_test) == sorted(order[:TRAIN])
        assert parts.test.tolist() == order[TRAIN:].tolist()
        assert not len(parts.validation)


def test_from_files_to_a_table_of_rankings(folder, tmp_path):
    criteria = ["P@1", "P@3", "nDCG@3", "R@3", "PSP@5", "f1"]
    whole = spec({"br": {}, "sleec": {"cost": "f1"}, "plst": {}, "clems": {"cost": "f1"}, "ecc": {}}, criteria, 2)
    plan, store = make_plan(whole), Store(tmp_path / "store")
    assert plan.without_rule == {("ecc", name) for name in criteria[:-1]}
    outcome = run(plan.trials, store, run_trial, whole.load, whole.own_costs(), backend="serial")
    assert (outcome.failed, outcome.left) == (0, 0)
    table = results(plan, store.records()).set_index(["learner", "criterion", "repetition"])["value"]
    assert table.notna().all()
    assert {name for learner, name, _ in table.index if learner == "ecc"} == {"f1"}
    X, Y = (part.toarray() for part in (load_dataset("toy").X, load_dataset("toy").Y))
    trial = next(one for one in plan.trials if one.kind == "br" and one.repetition == 1)
    parts = parts_of(trial, whole.load("toy"))
    model = BR(n_trees=3, random_state=trial.seed_for("br")).fit(sparse.csr_array(X)[parts.train], Y[parts.train])
    scores = model.predict_proba(sparse.csr_array(X)[parts.test])
    wanted = ranking_scores(Y[parts.test], scores, (1, 3, 5), propensities(Y[parts.train]))
    columns = {"P": "precision", "R": "recall", "nDCG": "ndcg", "PSP": "psp"}
    for name in criteria[:-1]:
        what, k = name.split("@")
        assert table["br", name, 1] == pytest.approx(wanted.loc[int(k), columns[what]], rel=1e-5)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ([[1, 2]], [[3, 61]], r"toy_tstSplit.txt, line 2: expected numbers of rows, from 1 to 60: '61'\.$"),
        ([[0, 2]], [[3, 4]], r"toy_trSplit.txt, line 1: expected numbers of rows, from 1 to 60: '0'\.$"),
        ([["a", 2]], [[3, 4]], r"line 1: expected numbers of rows, from 1 to 60: 'a'\.$"),
        ([[1, 2]], [[3, 2]], r"row 2 is in both parts of column 1, see .*toy_trSplit.txt\.$"),
        ([[1, 2], [5, 5]], [[3, 4], [7, 8]], r"row 5 is in column 2 twice\.$"),
        ([[1, 2], [5, 6]], [[3, 4]], r"toy_tstSplit.txt: 1 columns are there, and 2 in .*toy_trSplit.txt\.$"),
        ([], [[3, 4]], r"toy_trSplit.txt: there are no numbers of rows\.$"),
    ],
)
def test_wrong_numbers_are_said_in_a_sentence(folder, train, test, message):
    files = folder / "toy_trSplit.txt", folder / "toy_tstSplit.txt"
    for file, columns in zip(files, (train, test), strict=True):
        put(file, columns)
    with pytest.raises(DataError, match=message):
        read_given_rows(*files, N)


def test_lines_of_other_lengths_are_said(folder):
    file = folder / "toy_trSplit.txt"
    file.write_text("1 2\n3\n")
    with pytest.raises(DataError, match=r"line 2: 1 columns are there, and 2 in the lines before: '3'\.$"):
        read_given_rows(file, folder / "toy_tstSplit.txt", N)


def test_missing_files_are_named(folder):
    (folder / "toy_tstSplit.txt").rename(folder / "kept")
    with pytest.raises(FileNotFoundError, match=r"toy_trSplit.txt is there, and toy_tstSplit.txt .* not beside it\.$"):
        spec({"br": {}}, ["P@1"]).load("toy")
    (folder / "kept").rename(folder / "toy_tstSplit.txt")
    (folder / "Toy_data.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"has numbers of rows but no data, which is called toy_data.txt"):
        spec({"br": {}}, ["P@1"]).load("toy")
    for file in folder.iterdir():
        file.unlink()
    with pytest.raises(FileNotFoundError, match=re.escape("Get it from http://toys.example")):
        spec({"br": {}}, ["P@1"]).load("toy")


def test_more_repetitions_than_columns_are_refused(folder):
    with pytest.raises(SpecError, match=r"toy_trSplit.txt has 3 columns, each for one repetition; repetitions is 4\.$"):
        spec({"br": {}}, ["P@1"], repetitions=4).load("toy")


def test_training_and_test_files_come_first(folder):
    whole = load_dataset("toy")
    write_libsvm(whole.take(range(TRAIN)), folder / "toy_train.txt")
    write_libsvm(whole.take(range(TRAIN, N)), folder / "toy_test.txt")
    assert find_given_rows("toy") is None
    assert spec({"br": {}}, ["P@1"]).load("toy").n_train == TRAIN


def test_models_rank_labels_by_what_they_decide_by():
    X, Y = digit_scenes(80, random_state=0)
    model = SLEEC("f1", n_neighbors=5, n_trees=3, random_state=0).fit(X[:60], Y[:60])
    scores = scores_of(model, X[60:]).toarray()
    np.testing.assert_array_equal(scores > model.threshold_ + 1e-9, model.predict(X[60:]) == 1)
    model = CLEMS("f1", n_trees=3, random_state=0).fit(X[:60], Y[:60])
    np.testing.assert_array_equal(scores_of(model, X[60:]), model.predict_proba(X[60:]))
    assert scores_of(ECC(n_trees=3, random_state=0).fit(X[:60], Y[:60]), X[60:]) is None


@pytest.mark.parametrize("name", ["P@0", "P@", "p@1", "MAP@3", "P@1.5", "P@1 "])
def test_what_is_no_ranking_is_none(name):
    assert ranking_named(name) is None
    with pytest.raises(ValueError, match="there is no criterion"):
        Spec(title="Toys", datasets=["digit-scenes"], learners={"br": {}}, criteria=[name])


def test_rows_of_rankings_count_alike():
    with pytest.raises(ValueError, match=r"^P@1 takes no sample weights\.$"):
        ranking_named("P@1").measure([[1, 0]], [[0.2, 0.1]], np.ones(1))
