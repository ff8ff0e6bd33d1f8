"""The command alone: a story from a CSV to predictions, every form of files, and what hurried users do wrong."""

import io
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import clems.__main__
from clems import CLEMS, LEARNERS, load, save
from clems.cli.app import app, main
from clems.cli.console import in_flags
from clems.cli.datasets import Part, complete_name
from clems.cli.estimators import ESTIMATORS
from clems.cli.experiment import Backend
from clems.cli.fit import LEARNER_NAMES
from clems.cli.options import EXITS, complete_cost
from clems.costs.criteria import CRITERIA
from clems.datasets import Dataset, list_datasets, read_dataset, read_table, write_arff, write_libsvm, write_table
from clems.datasets.catalogue import Subset
from clems.datasets.new_rows import NewRows
from clems.datasets.wanted import Wanted
from clems.evaluation.evaluate import evaluate
from clems.experiments.backends import BACKENDS
from clems.trees import leaf_table

LABELS = ["tag_bug", "tag new, or not", "tag_urgent"]
FEATURES = ["length", "words", "age", "calls"]
TREES = ["--set", "n_trees=10"]


def tickets(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(3)
    colour = rng.choice(["blue", "green", "red"], n)
    noise = rng.normal(scale=0.3, size=(n, 3))
    scores = np.column_stack([X[:, 0] + (colour == "red"), X[:, 1] - X[:, 2], X[:, 3] - 0.5])
    frame = pd.DataFrame(X, columns=FEATURES)
    frame.insert(0, "id", [f"T{row:03d}" for row in range(n)])
    frame.insert(3, "colour", colour)
    return pd.concat([frame, pd.DataFrame((scores + noise > 0).astype(int), columns=LABELS)], axis="columns")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with tables, prices, a model of numbers and one of words."""
    folder = tmp_path_factory.mktemp("tickets")
    train, test = tickets(150, 0), tickets(60, 1)
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    test.drop(columns=LABELS).to_csv(folder / "new.csv", index=False)
    lines = [f'"{label}",{price},1' for label, price in zip(LABELS, (10, 2, 5), strict=True)]
    folder.joinpath("prices.csv").write_text("\n".join(["label,false_negative,false_positive", *lines]))
    here = Path.cwd()
    os.chdir(folder)
    try:
        fit = ["fit", "train.csv", "--labels", "tag*", "--cost", "prices.csv", "--quiet", *TREES]
        assert ended(*fit, "--drop", "id,colour", "--output", "numbers.clems") == 0
        assert ended(*fit, "--id", "id", "--output", "words.clems") == 0
        blind = ["fit", "train.csv", "--labels", "tag*", "--learner", "br", "--quiet", *TREES]
        assert ended(*blind, "--drop", "id,colour", "--output", "blind.clems") == 0
        linear = ["fit", "train.csv", "--labels", "tag*", "--learner", "br", "--quiet"]
        linear += ["--estimator", "logistic_regression", "--drop", "id,colour", "--output", "linear.clems"]
        assert ended(*linear) == 0
    finally:
        os.chdir(here)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def ended(*arguments):
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    return end.value.code or 0


def run(capfd, *arguments):
    code = ended(*arguments)
    said = capfd.readouterr()
    return code, said.out, said.err


def predictions_of(text):
    return pd.read_csv(io.StringIO(text))


def expected(model="numbers.clems", data="test.csv", drop=("id", "colour"), **options):
    read = read_table(data, LABELS if "test" in data else (), drop=list(drop), **options)
    return load(model).predict(read.feature_frame()), read


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_classifier_by_its_name(estimator, here, tmp_path, capfd):
    fit = ["fit", "train.csv", "--labels", "tag*", "--drop", "id,colour", "--cost", "prices.csv", "--set", "cv=2"]
    options = ["--learner", "cost_sensitive", "--estimator", estimator, "--output", tmp_path / "m.clems"]
    code, _, said = run(capfd, *fit, *options)
    assert code == 0, said
    assert "CostSensitiveClassifier for prices.csv on" in said
    assert "; mean cost of held-out rows " in said
    fitted = load(tmp_path / "m.clems")
    assert type(fitted.estimator) is type(ESTIMATORS[estimator]())
    assert fitted.cv == 2
    assert run(capfd, "predict", tmp_path / "m.clems", "new.csv", "--expected-cost")[0] == 0


# The story, through the installed command: in processes of their own where streams are theirs, else in this one.


def command(*arguments, **options):
    installed = Path(sys.executable).with_name("clems")
    start = [str(installed)] if installed.exists() else [sys.executable, "-m", "clems"]
    return subprocess.run([*start, *arguments], capture_output=True, text=True, **options)


def test_a_story(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    train, test = tickets(150, 0), tickets(60, 1)
    train.drop(columns=["id", "colour"]).to_csv("tickets.csv", index=False)
    test.to_csv("test.csv", index=False)
    lines = [f'"{label}",10,1' for label in LABELS]
    Path("prices.csv").write_text("\n".join(["label,false_negative,false_positive", *lines]))
    fitted = command(
        "fit", "tickets.csv", "--labels", "tag*", "--cost", "prices.csv", *TREES, "--output", "model.clems"
    )
    assert (fitted.returncode, fitted.stdout) == (0, "")
    assert re.fullmatch(r"CLEMS for prices.csv on 150 rows, 4 features, 3 labels; .* saved to .*\n", fitted.stderr)
    code, found, _ = run(capfd, "evaluate", "model.clems", "test.csv", "--json")
    assert code == 0
    with Path("test.csv").open() as file:
        predicted = command("predict", "model.clems", "-", "--id", "id", "--quiet", stdin=file)
    assert (predicted.returncode, predicted.stderr) == (0, "")
    model = load("model.clems")
    table = predictions_of(predicted.stdout)
    assert list(table.columns) == ["id", *LABELS]
    assert table["id"].tolist() == test["id"].tolist()
    np.testing.assert_array_equal(table[LABELS], model.predict(test[model.feature_names_in_]))
    reported = run(capfd, "report", "model.clems", "test.csv", "--output", "report.html", "--quiet")
    assert reported == (0, "report.html\n", "")
    assert Path("report.html").read_text().startswith("<!DOCTYPE html>")
    paid = json.loads(found)["criteria"]["prices.csv"]
    assert paid == pytest.approx(model.cost_.rowwise(test[LABELS], table[LABELS]).mean())
    assert paid < model.cost_.rowwise(test[LABELS], np.zeros((60, 3), int)).mean()


def test_an_interruption_while_it_is_imported(monkeypatch, capfd):
    class Interrupted:
        def find_spec(self, name, *_):
            if name == "clems.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "clems.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as end:
        clems.__main__.main()
    assert (end.value.code, capfd.readouterr().err) == (130, "Interrupted; nothing was started.\n")


def test_help_does_not_wait_for_libraries():
    """No library of numbers is imported for help and completion, which must be there at once."""
    code = "import sys, clems.cli.app; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "sklearn", "pandas", "joblib", "pydantic"} & {*loaded}


def test_no_cores_are_wrong_usage(here, capfd):
    for arguments in (FIT, PREDICT):
        code, _, err = run(capfd, *arguments, "--jobs", "0")
        assert code == 2
        assert "give a number of cores, or -1 for all." in err


# What is predicted, in process.


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.jsonl", "out.parquet", "out.csv.gz", "out.jsonl.xz"])
def test_predictions_in_every_form_are_those_of_the_library(here, tmp_path, capfd, name):
    output = tmp_path / name
    code, out, err = run(capfd, "predict", "numbers.clems", "test.csv", "--output", output, "--id", "id,colour")
    assert (code, out) == (0, "")
    assert "60 rows predicted" in err
    form = {"csv": pd.read_csv, "tsv": pd.read_csv, "jsonl": pd.read_json, "parquet": pd.read_parquet}
    options = {"tsv": {"sep": "\t"}, "jsonl": {"lines": True}}
    kind = name.split(".")[1]
    table = form[kind](output, **options.get(kind, {}))
    assert list(table.columns) == ["id", "colour", *LABELS]
    np.testing.assert_array_equal(table[LABELS], expected()[0])
    assert table[["id", "colour"]].equals(tickets(60, 1)[["id", "colour"]])
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_columns_are_found_by_name(here, tmp_path, capfd):
    code, usual, err = run(capfd, "predict", "numbers.clems", "test.csv")
    assert (code, err) == (0, "Ignored 2 columns that are not features: id, colour\n")
    new = pd.read_csv("new.csv")
    new[list(reversed(new.columns))].assign(more="x").to_csv(tmp_path / "other.csv", index=False, sep=";")
    code, other, err = run(capfd, "predict", "numbers.clems", tmp_path / "other.csv", "--quiet")
    assert (code, other, err) == (0, usual, "")
    code, other, err = run(capfd, "predict", "numbers.clems", "new.csv", "--drop", "id,col*")
    assert (code, other, err) == (0, usual, "")


def test_words_are_encoded_as_in_training(here, tmp_path, capfd):
    test, model = pd.read_csv("test.csv"), load("words.clems")
    assert [name for name in model[0].get_feature_names_out() if "=" in name] == [
        "colour=blue",
        "colour=green",
        "colour=red",
    ]
    predicted = model.predict(test)
    _, out, _ = run(capfd, "predict", "words.clems", "test.csv")
    np.testing.assert_array_equal(predictions_of(out)[LABELS], predicted)
    new = pd.read_csv("new.csv")
    for colour in ("blue", "red"):  # a file that has not all words gives the same for its rows
        rows = (new["colour"] == colour).to_numpy()
        new[rows].to_csv(tmp_path / "some.csv", index=False)
        _, out, err = run(capfd, "predict", "words.clems", tmp_path / "some.csv", "--drop", "id")
        np.testing.assert_array_equal(predictions_of(out)[LABELS], predicted[rows])
        assert err == ""
    new.assign(colour="pink").to_csv(tmp_path / "pink.csv", index=False)
    code, out, err = run(capfd, "predict", "words.clems", tmp_path / "pink.csv", "--drop", "id")
    assert code == 0
    assert err == "The column colour has categories that the model has not seen, such as 'pink'.\n"
    blank = model[0].transform(test)
    blank[:, [name.startswith("colour=") for name in model[0].get_feature_names_out()]] = 0
    np.testing.assert_array_equal(predictions_of(out)[LABELS], model[1].predict(blank))


def test_probabilities_and_expected_costs(here, capfd):
    model, (_, data) = load("numbers.clems"), expected()
    code, out, _ = run(capfd, "predict", "numbers.clems", "test.csv", "--proba", "--expected-cost", "--json", "-q")
    assert code == 0
    table = pd.DataFrame([json.loads(line) for line in out.splitlines()])
    X = data.feature_frame()
    assert list(table.columns) == [*LABELS, *(f"{label}_proba" for label in LABELS), "expected_cost"]
    np.testing.assert_allclose(table.filter(like="_proba"), model.posterior(X).marginals, atol=1e-12)
    np.testing.assert_allclose(table["expected_cost"], model.expected_cost(X), atol=1e-12)
    _, out, _ = run(capfd, "predict", "numbers.clems", "test.csv", "--cost", "hamming", "--proba", "-q")
    table = predictions_of(out)
    np.testing.assert_array_equal(table[LABELS], model.predict(X, cost="hamming"))
    np.testing.assert_array_equal(table[LABELS], table.filter(like="_proba") > 0.5)  # they explain the labels


def test_each_row_is_read_once(here, tmp_path, capfd, monkeypatch):
    read, leaves_of = [], leaf_table.leaves_of
    monkeypatch.setattr(
        leaf_table, "leaves_of", lambda trees, X, *jobs: read.append(X.shape[0]) or leaves_of(trees, X, *jobs)
    )
    for command, *options in (
        ("predict", "--proba", "--expected-cost"),
        ("predict", "--proba", "--expected-cost", "--cost", "accuracy", "--abstain-at", 0.5, "--at-most", 2),
        ("evaluate", "--unit", "€", "--abstain-at", 2),
        ("report", "--abstain-at", 2, "--output", tmp_path / "report.html"),
    ):
        read.clear()
        assert run(capfd, command, "numbers.clems", "test.csv", "-q", *options)[0] == 0
        assert read == [60]


def test_budgets_and_rows_that_are_handed_over(here, tmp_path, capfd):
    model, (_, data) = load("numbers.clems"), expected()
    X = data.feature_frame()
    for option, budget in ((["--at-most", 1], {"at_most": 1}), (["--exactly", 2], {"exactly": 2})):
        code, out, err = run(capfd, "predict", "numbers.clems", "test.csv", *option, "-q")
        assert (code, err) == (0, "")
        np.testing.assert_array_equal(predictions_of(out), model.predict(X, **budget))
    price = float(np.median(model.expected_cost(X)))
    wanted = model.predict(X, abstain_at=price)
    over = wanted.mask.all(axis=1)
    assert 0 < over.sum() < 60
    given = ["predict", "numbers.clems", "test.csv", "--abstain-at", repr(price)]
    for name in ("out.csv", "out.jsonl", "out.parquet"):
        code, _, err = run(capfd, *given, "--output", tmp_path / name, "--expected-cost")
        assert code == 0
        assert f"{over.sum()} of 60 rows handed over, with empty labels: they are expected to cost more than" in err
    tables = (
        pd.read_csv(tmp_path / "out.csv"),
        pd.read_json(tmp_path / "out.jsonl", lines=True),
        pd.read_parquet(tmp_path / "out.parquet"),
    )
    for table in tables:
        assert table[LABELS].isna().to_numpy().tolist() == wanted.mask.tolist()
        assert np.array_equal(table[LABELS].to_numpy()[~over].astype(int), wanted.data[~over])
        np.testing.assert_allclose(table["expected_cost"], model.expected_cost(X), atol=1e-12)
    text = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert text[int(over.argmax())].startswith(",,,")
    assert {*text[int(over.argmin())][:5]} <= {*"01,"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at-most", 4], "at_most must be a whole number of at least 0 and at most 3; got 4."),
        (["--exactly", -1], "exactly must be a whole number of at least 0 and at most 3; got -1."),
        (["--at-most", 2, "--exactly", 1], "Give at_most or exactly, not both; got --at-most 2 and --exactly 1."),
        (["--abstain-at", "nan"], "abstain_at must be None or a finite number of at least 0; got nan."),
        (
            ["--abstain-at", 1, "--at-most", 1, "--cost", "macro_f1"],
            "macro_f1 is no cost of single rows; leave out --at-most and --abstain-at, or name another --cost",
        ),
    ],
)
def test_budgets_that_cannot_be(here, capfd, arguments, message):
    code, out, err = run(capfd, "predict", "numbers.clems", "test.csv", *arguments)
    assert (code, out) == (1, "")
    assert message in err


def test_from_parquet_to_parquet(here, tmp_path, capfd):
    pd.read_csv("new.csv").to_parquet(tmp_path / "new.parquet", index=False)
    arguments = ["predict", "words.clems", tmp_path / "new.parquet", "-o", tmp_path / "out.parquet", "--id", "id"]
    assert run(capfd, *arguments, "--proba", "--expected-cost")[0] == 0
    table = pd.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_array_equal(table[LABELS], load("words.clems").predict(pd.read_csv("new.csv")))
    assert table["id"].tolist() == tickets(60, 1)["id"].tolist()


def test_a_pipe_holds_a_csv(here, tmp_path, capfd):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(pipe.write_bytes, Path("new.csv").read_bytes())
        _, out, _ = run(capfd, "predict", "numbers.clems", pipe, "-q")
        writing.result()
    np.testing.assert_array_equal(predictions_of(out), expected()[0])


def test_no_rows_give_no_predictions(here, tmp_path, capfd):
    tmp_path.joinpath("none.csv").write_text(",".join(FEATURES) + "\n")
    code, out, _ = run(capfd, "predict", "numbers.clems", tmp_path / "none.csv")
    assert (code, predictions_of(out).shape, list(predictions_of(out))) == (0, (0, 3), LABELS)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arff", ".txt", ".csv.xz", ".arff.gz"])
def test_every_form_of_data_gives_the_same(tmp_path, monkeypatch, capfd, suffix):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (80, 4)).astype(float)
    Y = (X[:, :2] + rng.normal(size=(80, 2)) > 2).astype(int)
    data = Dataset(X, Y, ["x0", "x1", "x2", "x3"], ["0", "1"], "numbers")
    write = write_table if suffix.startswith((".csv", ".par")) else write_arff if "arff" in suffix else write_libsvm
    write(data.take(slice(50)), f"train{suffix}")
    write(data.take(slice(50, None)), f"test{suffix}")
    labels = [] if write is not write_table else ["--labels", "0,1"]
    assert run(capfd, "fit", f"train{suffix}", *labels, "-o", "m.clems", "-q", *TREES)[0] == 0
    model = load("m.clems")
    assert model.feature_names_in_.tolist() == data.feature_names
    code, out, err = run(capfd, "predict", "m.clems", f"test{suffix}")
    assert (code, err) == (0, "")
    predicted = model.predict(data.feature_frame()[50:])
    np.testing.assert_array_equal(predictions_of(out), predicted)
    code, out, _ = run(capfd, "evaluate", "m.clems", f"test{suffix}", "--json")
    assert code == 0
    assert json.loads(out)["criteria"] == pytest.approx(
        {name: criterion(Y[50:], predicted) for name, criterion in CRITERIA.items()}
    )


def test_an_arff_file_without_labels_and_with_fewer_words(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    rows = [(number / 7, "abc"[number % 3], int(number % 3 == 0)) for number in range(60)]
    head = "@relation r\n@attribute n numeric\n@attribute w {%s}\n"
    lines = "\n".join(f"{n},{w},{y}" for n, w, y in rows)
    Path("train.arff").write_text(head % "a,b,c" + "@attribute y {0,1}\n@data\n" + lines)
    some = [row for row in rows if row[1] != "b"]
    other = "@relation r\n@attribute w {c,a}\n@attribute s string\n@attribute n numeric\n@data\n"
    Path("new.arff").write_text(other + "\n".join(f"{w},x,{n}" for n, w, _ in some))
    assert run(capfd, "fit", "train.arff", "--labels", "-1", "-o", "m.clems", "-q", *TREES)[0] == 0
    code, out, err = run(capfd, "predict", "m.clems", "new.arff")
    assert (code, err) == (0, "Ignored 1 column that is not a feature: s\n")
    whole = load("m.clems").predict(read_dataset("train.arff", -1, nominal="one-hot").feature_frame())
    np.testing.assert_array_equal(predictions_of(out)["y"], whole[[w != "b" for _, w, _ in rows], 0])
    Path("gap.arff").write_text(other + "a,x,1\nc,x,?\n")
    assert run(capfd, "predict", "m.clems", "gap.arff", "-q")[0] == 0  # trees take it
    linear = ["--learner", "br", "--estimator", "logistic_regression"]
    assert run(capfd, "fit", "train.arff", "--labels", "-1", *linear, "-o", "linear.clems", "-q")[0] == 0
    code, _, err = run(capfd, "predict", "linear.clems", "gap.arff")
    assert (code, err) == (
        1,
        "Error: gap.arff: the feature 'n' is missing, in row 2 of the data.\n",
    )


def test_a_model_without_names_takes_columns_in_order(here, tmp_path, capfd):
    data = expected()[1]
    save(CLEMS(n_trees=5, random_state=0).fit(data.X, data.Y), tmp_path / "m.clems")
    pd.DataFrame(data.X).add_prefix("c").to_csv(tmp_path / "rows.csv", index=False)
    code, out, _ = run(capfd, "predict", tmp_path / "m.clems", tmp_path / "rows.csv")
    assert code == 0
    np.testing.assert_array_equal(predictions_of(out), load(tmp_path / "m.clems").predict(data.X))
    code, _, err = run(capfd, "predict", tmp_path / "m.clems", "new.csv")
    assert code == 1
    assert "the model has 4 features without names, and there are 6 columns that could be these" in err


@pytest.mark.parametrize("name", ["test.csv", "test.parquet"])
def test_pieces_do_not_change_the_rows(here, name):
    if name == "test.parquet":
        pd.read_csv("test.csv").to_parquet(name, index=False)
    hot = read_table("train.csv", LABELS, drop="id", nominal="one-hot").feature_names
    wanted = Wanted(hot, len(hot), LABELS, truth=True, keep=["id"])
    whole, parts = (list(NewRows(name, wanted, rows=rows)) for rows in (1000, 7))
    assert len(parts) >= 9
    data = read_table("test.csv", LABELS, drop="id", nominal="one-hot")
    for pieces in (whole, parts):
        X, Y = (np.concatenate([getattr(piece, side) for piece in pieces]) for side in "XY")
        np.testing.assert_array_equal(X, data.feature_frame()[hot])
        np.testing.assert_array_equal(Y, data.Y)
        assert [cell for piece in pieces for cell in piece.kept["id"]] == tickets(60, 1)["id"].tolist()


def test_tags(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    table = tickets(120, 0)
    table["tags"] = [";".join(np.array(["bug", "new", "urgent"])[row == 1]) for row in table[LABELS].to_numpy()]
    table[[*FEATURES, "tags"]].to_csv("tags.csv", index=False)
    table[["id", *FEATURES]].to_csv("rows.csv", index=False)
    table[["id", "tags"]].assign(tags=table["tags"].str.split(";")).explode("tags").query("tags != ''").to_csv(
        "pairs.csv", index=False
    )
    fit = ["fit", "-q", *TREES]
    assert run(capfd, *fit, "tags.csv", "--tags", "tags", "--separator", ";", "-o", "a.clems")[0] == 0
    assert run(capfd, *fit, "rows.csv", "--pairs", "pairs.csv", "--row-id", "id", "-o", "b.clems")[0] == 0
    X = table[FEATURES]
    np.testing.assert_array_equal(load("a.clems").predict(X), load("b.clems").predict(X))
    code, out, _ = run(capfd, "evaluate", "a.clems", "tags.csv", "--tags", "tags", "--separator", ";", "--json")
    assert code == 0
    assert json.loads(out)["criteria"] == pytest.approx(evaluate(load("a.clems"), X, table[LABELS].to_numpy()).criteria)


def test_evaluation_is_that_of_the_library(here, capfd):
    _, data = expected()
    found = evaluate(load("numbers.clems"), data.feature_frame(), data.label_frame())
    code, out, _ = run(capfd, "evaluate", "numbers.clems", "test.csv", "--json")
    assert code == 0
    shown = json.loads(out)
    assert shown["rows"] == 60
    assert shown["criteria"] == pytest.approx(found.criteria)
    pd.testing.assert_frame_equal(
        pd.DataFrame(shown["labels"]).T.astype(float), found.labels.astype(float), check_names=False
    )
    pd.testing.assert_frame_equal(pd.DataFrame(shown["reliability"]), found.reliability)
    code, out, _ = run(capfd, "evaluate", "numbers.clems", "test.csv")
    assert code == 0
    for word in ("prices.csv ↓", *LABELS, "precision", "realised"):
        assert word in out


def test_inspect(here, capfd):
    code, out, _ = run(capfd, "inspect", "numbers.clems", "--json")
    shown = json.loads(out)
    assert (code, shown["learner"], shown["cost"], shown["label_names"]) == (0, "CLEMS", "prices.csv", LABELS)
    assert shown["feature_names"] == FEATURES
    assert "prices.csv" in run(capfd, "inspect", "numbers.clems")[1]
    code, out, _ = run(capfd, "inspect", "train.csv", "--json")
    kinds = {column["column"]: column["holds"] for column in json.loads(out)["columns"]}
    assert kinds == {"id": "id", "colour": "words"} | dict.fromkeys(FEATURES, "numbers") | dict.fromkeys(
        LABELS, "0 and 1"
    )
    assert "tag_bug" in run(capfd, "inspect", "train.csv")[1]
    Path("comma.csv").write_text("length;words\n0,5;1\n1,5;2\n")
    for decimal, kind in ((",", "numbers"), (".", "numbers and others")):
        code, out, _ = run(capfd, "inspect", "comma.csv", "--delimiter", ";", "--decimal", decimal, "--json")
        assert [column["holds"] for column in json.loads(out)["columns"]] == [kind, "numbers"]
        out = run(capfd, "inspect", "comma.csv", "--delimiter", ";", "--decimal", decimal)[1]
        assert ("numbers and others, 2 values; fit refuses these, see --drop and --as" in out) == (kind != "numbers")
    code, out, _ = run(capfd, "inspect", "train.csv", "--labels", "tag*", "--drop", "id", "--json")
    shown = json.loads(out)
    assert (shown["rows"], shown["features"], shown["label_names"]) == (150, 5, LABELS)  # words are one feature


def test_datasets(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("CLEMS_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code, out, _ = run(capfd, "datasets", "list", "--json")
    assert (code, [one["name"] for one in json.loads(out)]) == (0, list(list_datasets().index))
    assert "digit-scenes" in run(capfd, "datasets", "list")[1]
    code, out, _ = run(capfd, "datasets", "describe", "digit-scenes", "--subset", "test", "--json")
    assert (code, json.loads(out)["rows"]) == (0, 1000)
    code, out, err = run(
        capfd, "datasets", "fetch", "digit-scenes", "--subset", "test", "-o", tmp_path / "test.parquet"
    )
    assert (code, out) == (0, "")
    assert read_table(tmp_path / "test.parquet", [str(digit) for digit in range(10)]).X.shape == (1000, 121)
    code, _, err = run(capfd, "datasets", "describe", "medical")
    assert code == 1
    assert err.startswith("Error: medical is not on this computer")


def test_a_cost_of_ones_own_needs_trust(here, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("our_costs.py").write_text("def off_by(Y, P):\n    return abs(Y - P).sum(axis=1) ** 2\n")
    fit = ["fit", here / "train.csv", "--labels", "tag*", "--drop", "id,colour", "-o", "own.clems", "-q", *TREES]
    assert run(capfd, *fit, "--cost", "our_costs:off_by")[0] == 0
    code, _, err = run(capfd, "predict", "own.clems", here / "test.csv", "-q")
    assert code == 1
    assert "which clems does not trust; if you know that to be harmless, pass --trust our_costs:off_by." in err
    code, out, _ = run(capfd, "predict", "own.clems", here / "test.csv", "-q", "--trust", "our_costs:off_by")
    assert (code, len(predictions_of(out))) == (0, 60)
    code, out, _ = run(capfd, "evaluate", "own.clems", here / "test.csv", "--json", "--trust", "our_costs:off_by")
    assert "off_by" in json.loads(out)["criteria"]


# What hurried users do wrong.

FIT = ["fit", "train.csv", "--labels", "tag*", "--drop", "id,colour", "--output", "{out}/model.clems"]
PREDICT = ["predict", "numbers.clems", "new.csv", "--output", "{out}/out.csv"]


def swapped(arguments, *pairs):
    return [dict(pairs).get(argument, argument) for argument in arguments]


WRONG = {
    "no file": (swapped(FIT, ("train.csv", "trian.csv")), "There is no file trian.csv."),
    "no format": (swapped(FIT, ("train.csv", "train")), "the format does not show in the name"),
    "no label": (swapped(FIT, ("tag*", "tags_*")), "train.csv: no column matches 'tags_*'; there are 'id', "),
    "no column": ([*FIT, "--tags", "tag_bgu"], "train.csv: there is no column 'tag_bgu'; did you mean 'tag_bug'?"),
    "no feature": (swapped(FIT, ("id,colour", "id,colour,length,words,age,calls")), "no column is left for features."),
    "no encoding": ([*FIT, "--encoding", "utf-9"], "There is no encoding 'utf-9'; there are utf-8,"),
    "cost as a parameter": ([*FIT, "--set", "cost=rank"], "The cost is set by --cost, not by --set."),
    "no beta": ([*FIT, "--cost", "f_beta(-1)"], "beta must be a positive number; got -1.0."),
    "a cost that fails": ([*FIT, "--cost", "json:dumps"], "The cost 'dumps' failed. TypeError: dumps() takes 1"),
    "feature dropped": (
        [*PREDICT, "--drop", "age"],
        "the column 'age' is a feature of the model; it cannot be dropped",
    ),
    "no dataset to describe": (
        ["datasets", "describe", "yaest"],
        "did you mean 'yeast'? 'clems datasets list' lists them all.",
    ),
    "no labels said": (["fit", "train.csv", "-o", "{out}/m.clems"], "Say where the labels are: --labels names"),
    "label of words": (swapped(FIT, ("tag*", "length")), "line 2: label 'length' must be 0 or 1"),
    "numbers with a comma": (
        swapped(FIT, ("train.csv", "{out}/../comma_train.csv")),
        "line 2: column 'age' must hold numbers; a CSV with decimal commas needs --decimal ',', leave it out with "
        "--drop 'age', take it as words with --as words=age, or correct what is not a number: '1,5'",
    ),
    "numbers of money": (
        swapped(FIT, ("train.csv", "{out}/../money_train.csv")),
        "line 2: column 'age' must hold numbers; write numbers without signs of money, units and marks between",
    ),
    "no kind": ([*FIT, "--as", "txt=length"], "There is no kind 'txt' of columns; did you mean 'text'?"),
    "no column of a kind": ([*FIT, "--as", "text=lenght"], "there is no column 'lenght'; did you mean 'length'?"),
    "not KIND=COLUMNS": ([*FIT, "--as", "text"], "--as takes KIND=COLUMNS, such as text=subject; got 'text'."),
    "two kinds": ([*FIT, "--as", "text=age", "--as", "words=age"], "two kinds, text and words."),
    "no cost": (
        [*FIT, "--cost", "f11"],
        "There is no cost 'f11', nor a file of prices of that name; did you mean 'f1'?",
    ),
    "price of an unknown label": ([*FIT, "--cost", "{out}/../bad_prices.csv"], "names 'tag_old', which is no label"),
    "no module": ([*FIT, "--cost", "nowhere:cost"], "No module named 'nowhere'"),
    "no parameter": ([*FIT, "--set", "trees=3"], "clems has no parameter 'trees'; it has candidates, cost,"),
    "wrong parameter": ([*FIT, "--set", "n_trees=none"], "n_trees must be a whole number"),
    "not NAME=VALUE": ([*FIT, "--set", "n_trees"], "--set takes NAME=VALUE"),
    "cost for a blind learner": (
        [*FIT, "--learner", "br", "--cost", "f1"],
        "br takes no cost; these learners do: bcs, c2ae, cca, ccaoc, cft, clems, cost_sensitive, cplst, cs, csrpe, "
        "cssp, faie, gle, leml, moplms, pcc, plst, sleec.",
    ),
    "classifier for a regressor's place": (
        [*FIT, "--estimator", "random_forest"],
        "clems is built on a regressor, not on a classifier; br, cc, ccaoc, cft, "
        "cost_sensitive, csrpe, ecc, gle, pcc are.",
    ),
    "no estimator": (
        [*FIT, "--learner", "br", "--set", "estimator=forest"],
        "There is no estimator 'forest'; did you mean 'random_forest'?",
    ),
    "no parameter of an estimator": (
        [*FIT, "--learner", "br", "--estimator", "SVC(c=1)"],
        "SVC has no parameter 'c'; did you mean 'C'?",
    ),
    "an estimator that is code": (
        [*FIT, "--learner", "br", "--estimator", "SVC(C=__import__('os'))"],
        "--estimator takes a name, perhaps with parameters: 'SVC(C=10)'; got",
    ),
    "a transformer as an estimator": (
        [*FIT, "--learner", "br", "--estimator", "PCA"],
        "There is no estimator 'PCA'",
    ),
    "a cost in capitals": (
        [*FIT, "--cost", "F1"],
        "There is no cost 'F1', nor a file of prices of that name; did you mean 'f1'?",
    ),
    "a cost by another name": ([*FIT, "--cost", "jaccard"], "did you mean 'accuracy'?"),
    "macro F1": ([*FIT, "--learner", "pcc", "--cost", "macro_f1"], "rows together; clems, cost_sensitive can"),
    "no folder": (swapped(FIT, ("{out}/model.clems", "{out}/no/model.clems")), "There is no folder"),
    "folder as file": (swapped(FIT, ("{out}/model.clems", "{out}")), "is a folder; give the name of a file."),
    "no model": (swapped(PREDICT, ("numbers.clems", "none.clems")), "There is no file none.clems."),
    "no model to inspect": (["inspect", "{out}/../junk.clems"], "cannot be loaded: it is damaged or no model"),
    "other cost for a blind learner": (
        swapped([*PREDICT, "--cost", "rank"], ("numbers.clems", "blind.clems")),
        "BR takes no cost.",
    ),
    "model from elsewhere": (swapped(PREDICT, ("numbers.clems", "train.csv")), "it is no file that clems has saved."),
    "trust without a function": ([*PREDICT, "--trust", "json"], "--trust takes MODULE:FUNCTION; got 'json'."),
    "no rows file": (swapped(PREDICT, ("new.csv", "nwe.csv")), "There is no file nwe.csv."),
    "features missing": (
        swapped(PREDICT, ("new.csv", "prices.csv")),
        "4 features of the model are missing: 'length', 'words', 'age', 'calls'",
    ),
    "no id": ([*PREDICT, "--id", "ticket"], "there is no column 'ticket'"),
    "output of no form": (
        swapped(PREDICT, ("{out}/out.csv", "{out}/out")),
        "the format does not show in the name; it should end in .csv",
    ),
    "output in no folder": (swapped(PREDICT, ("{out}/out.csv", "{out}/no/out.csv")), "There is no folder"),
    "full disk": (swapped(PREDICT, ("{out}/out.csv", "/dev/full")), "No space left on device."),
    "full disk for a model": ([*swapped(FIT, ("{out}/model.clems", "/dev/full")), *TREES], "No space left on device."),
    "labels missing": (
        ["evaluate", "numbers.clems", "new.csv"],
        "new.csv: 3 labels of the model are missing: 'tag_bug', 'tag new, or not'",
    ),
    "gap": (
        swapped(PREDICT, ("numbers.clems", "linear.clems"), ("new.csv", "{out}/../gap.csv")),
        "the feature 'age' is missing, in row 3 of the data.",
    ),
    "typing error": (
        swapped(PREDICT, ("new.csv", "{out}/../typo.csv")),
        "column 'age' must hold numbers, or yes and no, as in training, in row 3 of the data: '0.1.2'",
    ),
    "long line": (
        swapped(PREDICT, ("new.csv", "{out}/../long.csv")),
        "line 4: the line has 7 values; there are 6 columns",
    ),
    "short line": (
        swapped(PREDICT, ("new.csv", "{out}/../short.csv")),
        "line 4: the line has 5 values; there are 6 columns",
    ),
    "empty file": (swapped(PREDICT, ("new.csv", "{out}/../empty.csv")), "it is empty"),
    "not UTF-8": (
        swapped(PREDICT, ("new.csv", "{out}/../latin.csv")),
        "the text is not utf-8; say its encoding, for instance --encoding 'latin-1'",
    ),
    "column twice": (swapped(PREDICT, ("new.csv", "{out}/../twice.csv")), "two columns are called 'age'"),
    "no dataset": (["datasets", "fetch", "emotion"], "There is no dataset 'emotion'; did you mean 'emotions'?"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_sentence(here, tmp_path, capfd, case):
    arguments, said = WRONG[case]
    folder = tmp_path / "out"
    folder.mkdir()
    lines = Path("new.csv").read_text().splitlines()
    cells = lines[3].split(",")
    place = lines[0].split(",").index("age")
    for name, cell in (("gap", ""), ("typo", "0.1.2")):
        line = ",".join([*cells[:place], cell, *cells[place + 1 :]])
        tmp_path.joinpath(f"{name}.csv").write_text("\n".join([*lines[:3], line, *lines[4:]]))
    tmp_path.joinpath("long.csv").write_text("\n".join([*lines[:3], lines[3] + ",1", *lines[4:]]))
    tmp_path.joinpath("short.csv").write_text("\n".join([*lines[:3], lines[3].rpartition(",")[0], *lines[4:]]))
    tmp_path.joinpath("empty.csv").write_text("")
    tmp_path.joinpath("junk.clems").write_text("junk")
    tmp_path.joinpath("latin.csv").write_bytes("\n".join([*lines[:3], "é" + lines[3]]).encode("latin-1"))
    tmp_path.joinpath("twice.csv").write_text("age,age\n1,2\n")
    tmp_path.joinpath("bad_prices.csv").write_text(Path("prices.csv").read_text() + "\ntag_old,1,1\n")
    train = pd.read_csv("train.csv")
    train.assign(age="1,5").to_csv(tmp_path / "comma_train.csv", index=False)
    train.assign(age="€5.1").to_csv(tmp_path / "money_train.csv", index=False)
    before = {path.name for path in here.iterdir()}
    code, out, err = run(capfd, *(argument.format(out=folder) for argument in arguments))
    assert (code, out) == (1, "")
    assert re.fullmatch(r"Error: .*[.?]\n", err), err
    assert said in err
    assert not list(folder.iterdir())
    assert {path.name for path in here.iterdir()} == before
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize(
    "arguments", [["fit", "train.csv"], ["predict"], ["fit", "x.csv", "-o", "m", "--learner", "svm"], ["fits"]]
)
def test_wrong_usage_has_a_code_of_its_own(here, capfd, arguments):
    code, out, err = run(capfd, *arguments)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_advice_is_for_the_command_line():
    message = in_flags("x.csv: say it, for instance separator=';', or pass labels= their names, or by labels=....")
    assert message == "x.csv: say it, for instance --separator ';', or pass --labels their names, or by --labels ."


# Help and completion.


def test_names_for_completion_are_those_of_the_registries():
    assert sorted(LEARNERS) == LEARNER_NAMES
    assert {*complete_cost("")} == {*CRITERIA}
    assert complete_cost("f") == ["f1", "f_beta"]
    assert complete_name("") == list(list_datasets().index)
    assert [*Part] == [*get_args(Subset)]
    assert [*Backend] == [*BACKENDS]


def commands():
    names = [[info.name or info.callback.__name__] for info in app.registered_commands]
    for group in app.registered_groups:
        own = group.typer_instance.registered_commands
        names += [[group.name, info.name or info.callback.__name__] for info in own]
    return names


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_help_has_an_example(capfd, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(capfd, *words, "--help")
    assert code == 0
    assert f"clems {' '.join(words)} " in out or f"clems {' '.join(words)}\n" in re.sub(" +\n", "\n", out)
    if words[0] != "experiment":
        assert EXITS in " ".join(out.split())


def test_the_page_on_the_command_line_names_every_command_and_option(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    page = Path(__file__).parents[1].joinpath("docs/command-line.md").read_text()
    for words in commands():
        if words[0] == "experiment":
            continue
        assert f"clems {' '.join(words)} " in page, words
        _, out, _ = run(capfd, *words, "--help")
        for option in {*re.findall(r" (--[a-z-]+) ", out)} - {"--help", "--no-quiet"}:
            assert option in page, (words, option)
