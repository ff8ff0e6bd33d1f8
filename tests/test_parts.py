"""Tables in parts: they add up to the whole, commands read them as they read one file, and say what is wrong."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clems import load
from clems.cli import on_dask
from clems.cli.app import main
from clems.datasets import DataError, digit_scenes
from clems.datasets.formats.table import read_frame
from clems.datasets.parts import is_pattern, parts_of
from clems.datasets.text.source import Source

CELLS = st.text(alphabet='ab,"\n é', max_size=8)


def read(path, **options):
    with Source(path) as source:
        return read_frame(source, **options)[0]


def joined(parts, **options):
    return pd.concat([read(part, **options) for part in parts], ignore_index=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parts")


@settings(max_examples=30)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30), st.integers(1, 60), st.sampled_from(["\n", "\r\n"]))
def test_parts_of_a_csv_are_its_records(folder, cells, size, end):
    """Wherever quotes and lines of their own are; each record is in one part, in order."""
    file = folder / "cells.csv"
    frame = pd.DataFrame(cells, columns=["first", "second, or not"]).assign(number=range(len(cells)))
    file.write_bytes(frame.to_csv(index=False, lineterminator=end).encode())
    parts = parts_of(str(file), delimiter=",", text=size)
    as_written = {"written": None, "delimiter": ","}
    pd.testing.assert_frame_equal(joined(parts, **as_written), read(file, **as_written))


def test_what_cannot_be_cut_is_one_part(tmp_path):
    frame = pd.DataFrame({"x": range(50), "text": "é"})
    for name, options in (("a.csv.gz", {}), ("b.csv", {"encoding": "utf-16"})):
        frame.to_csv(tmp_path / name, index=False, **options)
        (part,) = parts_of(str(tmp_path / name), text=10, **options)
        assert (part.name, part.span) == (str(tmp_path / name), None)
    (tmp_path / "c.csv").write_bytes(b"x,y\r1,2\r3,4\r")
    assert len(parts_of(str(tmp_path / "c.csv"), text=1)) == 1


def test_parts_of_parquet_are_groups_of_rows(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": np.arange(100.0), "word": [f"w{at}" for at in range(100)]})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=10, index=False)
    frame.to_parquet(tmp_path / "b.parquet", index=False)
    path = str(tmp_path / "a.parquet")
    whole = read(path)
    for size, n in ((1, 10), (700, 5), (10**6, 1)):
        parts = parts_of(path, numbers=size)
        assert len(parts) == n
        pd.testing.assert_frame_equal(joined(parts), whole)
    assert len(parts_of(str(tmp_path / "*.parquet"), numbers=1)) == 11
    assert [part.path for part in parts_of(str(tmp_path))] == [path, str(tmp_path / "b.parquet")]
    (tmp_path / "c.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"c\.parquet: it is not a whole Parquet file"):
        parts_of(str(tmp_path / "c.parquet"))


def test_a_pattern_is_told_from_a_file(tmp_path):
    (tmp_path / "data[1].csv").write_text("a,b\n1,2\n")
    assert not is_pattern(str(tmp_path / "data[1].csv"))
    assert is_pattern(str(tmp_path / "data*.csv"))
    assert is_pattern(str(tmp_path))
    assert not is_pattern(str(tmp_path / "missing.csv"))


# Commands, without a cluster: tasks are done as they are asked for.


@pytest.fixture
def here(monkeypatch):
    dask = pytest.importorskip("dask")
    client = SimpleNamespace(
        nthreads=lambda: {"here": 1}, compute=lambda task: SimpleNamespace(result=lambda: dask.compute(task)[0])
    )

    @contextlib.contextmanager
    def cluster(scheduler, workers):
        with dask.config.set(scheduler="synchronous"):
            yield client

    monkeypatch.setattr(on_dask, "cluster", cluster)
    monkeypatch.setitem(parts_of.__kwdefaults__, "text", 10_000)  # so that a CSV has several parts
    monkeypatch.setitem(parts_of.__kwdefaults__, "numbers", 6_000)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A table of numbers, words and gaps, in files and in one."""
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("tables")
    X, Y = digit_scenes(300, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X[:, :30], columns=[f"x{at}" for at in range(30)])
    frame["colour"] = np.where(Y[:, 0] == 1, "red", rng.choice(["blue", "green"], 300))
    frame["age"] = np.where(rng.random(300) < 0.1, np.nan, rng.normal(size=300))
    for at in range(3):
        frame[f"tag_{at}"] = Y[:, at].astype(int)
    frame["tags"] = [";".join(f"t{at}" for at in np.flatnonzero(row)) for row in Y[:, :3]]
    frame["id"] = range(300)
    (folder / "data").mkdir()
    for at in range(3):
        frame[at * 80 : (at + 1) * 80].to_parquet(folder / f"data/{at}.parquet", index=False)
    frame[240:].to_parquet(folder / "new.parquet", row_group_size=20, index=False)
    frame[:240].to_csv(folder / "all.csv", index=False)
    frame[240:].to_csv(folder / "new.csv", index=False)
    return folder


def run(capfd, *words):
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    out, err = capfd.readouterr()
    return ended.value.code, out, err


LABELS = ["--labels", "tag_*", "--drop", "tags", "--id", "id", "--set", "n_trees=6"]


def test_a_table_in_parts_is_fitted_and_predicted(here, tables, tmp_path, capfd):
    model, written = tmp_path / "model.clems", [tmp_path / "whole.csv", tmp_path / "parts.csv"]
    code, _, said = run(capfd, "fit", f"{tables}/data/*.parquet", *LABELS, "-o", model)
    assert code == 0
    assert "colour  words       3 words, one-hot" in said
    assert "CLEMS for f1 on 240 rows, " in said
    assert load(model)[-1].classes_.tolist() == ["tag_0", "tag_1", "tag_2"]
    assert run(capfd, "predict", model, tables / "new.parquet", "--proba", "-o", written[0])[0] == 0
    code, _, said = run(capfd, "predict", model, tables / "new.parquet", "--workers", 1, "--proba", "-o", written[1])
    assert (code, "60 rows predicted" in said) == (0, True)
    assert written[0].read_bytes() == written[1].read_bytes()
    assert written[0].read_text().count("\n") == 61


@pytest.mark.parametrize("roles", [LABELS, ["--tags", "tags", "--separator", ";", "--drop", "tag_*", *LABELS[4:]]])
def test_a_csv_in_parts_is_read_as_in_one(here, tables, tmp_path, capfd, roles):
    """The whole in one part is as the folder; labels are the union of all tags."""
    model = tmp_path / "model.clems"
    assert run(capfd, "fit", tables / "all.csv", "--workers", 1, *roles, "-o", model)[0] == 0
    assert len(load(model)[-1].classes_) == 3
    written = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    assert run(capfd, "predict", model, tables / "new.csv", "-o", written[0])[0] == 0
    assert run(capfd, "predict", model, tables / "new.csv", "--scheduler", "tcp://here:1", "-o", written[1])[0] == 0
    assert written[0].read_bytes() == written[1].read_bytes()


def test_what_is_wrong_with_parts_is_one_sentence(here, tables, tmp_path, capfd):
    frame = pd.read_parquet(tables / "data/0.parquet")
    for name, other in (("other", frame.drop(columns="x3")), ("two", frame.assign(tag_1=[0, 2] * 40))):
        (tmp_path / name).mkdir()
        frame.to_parquet(tmp_path / name / "a.parquet", index=False)
        other.to_parquet(tmp_path / name / "b.parquet", index=False)
    (tmp_path / "notes.arff").write_text("@relation a")
    out = ["-o", tmp_path / "model.clems"]
    for words, sentence in (
        ([f"{tmp_path}/none/*.csv", *LABELS], r"none/*.csv: no file matches; a pattern such as"),
        ([tmp_path / "other", *LABELS], r"b.parquet: it has other columns than "),
        ([tmp_path / "two", *LABELS], r"b.parquet: label 'tag_1' must be 0 or 1, in row 1: '2'."),
        (
            [tmp_path / "notes.arff", "--workers", 1, *LABELS],
            "notes.arff: only CSV and Parquet files are read in parts.",
        ),
        ([tables / "data", *LABELS[2:]], "Say where the labels are: "),
        ([tables / "data", *LABELS, "--learner", "br"], "Rows in partitions are for CLEMS; got BR."),
        ([tables / "data", *LABELS, "--missing-labels", "keep"], "--missing-labels is not for tables that are read in"),
    ):
        code, _, said = run(capfd, "fit", *words, *out)
        assert code == 1, words
        assert sentence in said
        assert said.count("\n") == 1, said
        assert not (tmp_path / "model.clems").exists()


def test_a_scheduler_has_workers_of_its_own(tables, tmp_path, capfd):
    code, _, said = run(
        capfd, "fit", tables / "data", *LABELS, "-o", tmp_path / "m", "--workers", 1, "--scheduler", "tcp://a:1"
    )
    assert (code, "--scheduler names a cluster, which has workers; leave out --workers." in said) == (1, True)
