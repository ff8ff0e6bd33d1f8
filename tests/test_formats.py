"""File formats: what each says of itself is true, and one from outside the package is one object and one entry."""

import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from clems.cli.app import main
from clems.cli.options import Data, Rows
from clems.datasets import DataError, Dataset, load_dataset, read_dataset
from clems.datasets.catalogue import CATALOGUE, Entry
from clems.datasets.formats import FORMATS, Format, find_format, format_of, formats_for, json_lines
from clems.datasets.new_rows import NewRows
from clems.datasets.wanted import Wanted, selected
from clems.experiments.loading import read_spec
from clems.experiments.spec import SpecError
from clems.persistence import load

# A format of one's own: a JSON object of features and labels by name.


def read_toy(path, labels=None, *, scale=1.0, name=None):
    held = json.loads(Path(path).read_text())
    sides = [pd.DataFrame(held[side]) for side in ("features", "labels")]
    X, Y = sides[0] * scale, sides[1] if labels is None else sides[1][list(labels)]
    return Dataset(X.to_numpy(float), Y.to_numpy(), list(X), list(Y), name or "toy", str(path))


def write_toy(dataset, path):
    sides = {"features": dataset.feature_frame(), "labels": dataset.label_frame()}
    Path(path).write_text(json.dumps({side: frame.to_dict("list") for side, frame in sides.items()}))


@contextmanager
def append_toy(file):
    yield lambda frame: file.write(frame.to_json(orient="split").encode() + b"\n")


TOY = Format(name="toy", suffixes=(".toy",), read=read_toy, write=write_toy, append=append_toy)


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """Register the format, go to an empty folder, and make a dataset."""
    monkeypatch.setitem(FORMATS, ".toy", TOY)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (60, 3)).astype(float)
    Y = (X[:, :2] + rng.normal(size=(60, 2)) > 2).astype(int)
    return Dataset(X, Y, ["a", "b", "c"], ["red", "blue"], "toy")


def ended(*arguments):
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    return end.value.code or 0


def test_a_format_from_outside_is_read_and_written(toy):
    format_of("some.toy", "write").write(toy, "some.toy")
    data = read_dataset("some.toy")
    assert (data.feature_names, data.label_names) == (toy.feature_names, toy.label_names)
    assert np.array_equal(data.X, toy.X)
    assert np.array_equal(data.Y, toy.Y)
    assert np.array_equal(read_dataset("some.toy", ["blue"], scale=2).X, 2 * toy.X)
    assert TOY.options == {"labels": None, "scale": 1.0}


def test_a_format_from_outside_holds_a_dataset_of_the_catalogue(toy, monkeypatch, tmp_path):
    monkeypatch.setitem(CATALOGUE, "own", Entry("own", 60, 3, 2, None, "", "", None, {}))
    folder = tmp_path / "own"
    folder.mkdir()
    write_toy(toy.take(slice(40)), folder / "own-train.toy")
    write_toy(toy.take(slice(40, None)), folder / "own-test.toy")
    assert load_dataset("own", "test", tmp_path).X.shape == (20, 3)
    assert np.array_equal(load_dataset("own", data_home=tmp_path).Y, toy.Y)


def test_a_format_from_outside_is_used_by_commands(toy, capfd):
    write_toy(toy.take(slice(40)), "train.toy")
    shuffled = Dataset(toy.X[40:, ::-1], toy.Y[40:, ::-1], ["c", "b", "a"], ["blue", "red"])
    wider = np.column_stack([shuffled.X, np.ones(20)])
    write_toy(Dataset(wider, shuffled.Y, ["c", "b", "a", "more"], ["blue", "red"]), "test.toy")
    assert ended("fit", "train.toy", "-o", "m.clems", "-q", "--set", "n_trees=5") == 0
    model = load("m.clems")
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert ended("predict", "m.clems", "test.toy", "-o", "out.toy") == 0
    assert "Ignored 1 column that is not a feature: more" in capfd.readouterr().err
    predicted = model.predict(toy.feature_frame()[40:])
    assert np.array_equal(json.loads(Path("out.toy").read_text())["data"], predicted)
    assert ended("evaluate", "m.clems", "test.toy", "--json") == 0
    assert json.loads(capfd.readouterr().out)["rows"] == 20
    assert ended("inspect", "test.toy", "--json") == 0
    assert json.loads(capfd.readouterr().out)["label_names"] == ["blue", "red"]
    assert ended("datasets", "fetch", "digit-scenes", "--subset", "test", "-o", "scenes.toy", "-q") == 0
    assert read_dataset("scenes.toy").X.shape == (1000, 121)
    write_toy(Dataset([[1.0]], [[1]], ["a"], ["red"]), "narrow.toy")
    assert ended("predict", "m.clems", "narrow.toy") == 1
    assert "narrow.toy: 2 features of the model are missing: 'b', 'c'" in capfd.readouterr().err
    assert ended("fit", "train.toy", "--drop", "a", "-o", "m.clems") == 1
    assert "--drop is for ARFF, CSV, TSV and Parquet files, which train.toy is not." in capfd.readouterr().err


def test_a_format_from_outside_is_used_by_experiments(toy):
    write_toy(toy, "some.toy")
    text = 'title = "t"\ndatasets = ["own"]\ncriteria = ["f1"]\n[learners.br]\n[data.own]\npath = "some.toy"\n'
    text += "options = {%s}\n"
    Path("own.toml").write_text(text % "scale = 2")
    assert read_spec("own.toml").data["own"].options == {"scale": 2}
    Path("own.toml").write_text(text % "drop = 'a'")
    with pytest.raises(SpecError, match="no option 'drop'; allowed are labels, scale"):
        read_spec("own.toml")


# What holds for every format.


def test_formats_are_found_by_suffix():
    for suffix, one in FORMATS.items():
        assert suffix in one.suffixes
        assert find_format(f"some{suffix.upper()}.gz", "read" if one.read else "append") is one
    assert find_format("some.data") is None
    with pytest.raises(DataError, match=r"some\.data: .*; it should end in \.arff, \.txt, \.svm, \.libsvm, \.csv, "):
        format_of("some.data")
    with pytest.raises(DataError, match=r"it should end in \.csv, \.tsv, \.jsonl, \.ndjson, \.parquet"):
        format_of("some.arff", "append")


def test_help_names_every_format():
    for text in (Rows.__metadata__[0].help, Data.__metadata__[0].help):
        assert all(one.name in text for one in formats_for("read").values())


def test_the_contributing_page_shows_a_real_format():
    page = Path(__file__).parents[1].joinpath("CONTRIBUTING.md").read_text()
    line = next(line for line in Path(json_lines.__file__).read_text().splitlines() if line.startswith("JSON_LINES = "))
    assert f"```python\n{line}\n```" in page


@pytest.mark.parametrize("suffix", formats_for("write"))
def test_new_rows_are_those_that_were_written(tmp_path, suffix):
    X, Y = np.array([[1.0, 2, 0], [0, 4, 5]]), np.array([[1, 0], [0, 1]])
    one = FORMATS[suffix]
    one.write(Dataset(X, Y, ["x0", "x1", "x2"], ["0", "1"]), tmp_path / f"some{suffix}")
    (piece,) = (
        piece
        for piece in NewRows(tmp_path / f"some{suffix}", Wanted(["x0", "x2"], 3, ["1", "0"], truth=True))
        if len(piece.kept)
    )
    sides = [side.toarray() if sparse.issparse(side) else side for side in (piece.X, piece.Y)]
    assert np.array_equal(sides[0], X[:, [0, 2]])
    assert np.array_equal(sides[1], Y[:, ::-1])


@pytest.mark.parametrize("suffix", formats_for("append"))
def test_rows_are_written_one_below_the_other(tmp_path, suffix):
    path = tmp_path / f"some{suffix}"
    frames = [pd.DataFrame({"id": ["a", "=b"], "y": [0, 1]}), pd.DataFrame({"id": ["c"], "y": [1]})]
    with path.open("wb") as file, FORMATS[suffix].appending(file) as append:
        for frame in frames:
            append(frame)
    read = {".csv": pd.read_csv, ".tsv": pd.read_table, ".parquet": pd.read_parquet}
    found = read[suffix](path) if suffix in read else pd.read_json(path, lines=True)
    pd.testing.assert_frame_equal(found, pd.concat(frames, ignore_index=True), check_dtype=False)


def test_a_feature_that_a_file_does_not_have_is_zero_even_if_another_is_missing():
    for X in (np.array([[np.nan, 2.0]]), sparse.csr_array([[np.nan, 2.0]])):
        data = selected(Dataset(X, [[1]], ["a", "b"], ["y"]), ["b", "none", "a"], Wanted(None, 3, ["y"]))
        found = data.X.toarray() if sparse.issparse(data.X) else data.X
        assert np.array_equal(found, [[2, 0, np.nan]], equal_nan=True)
