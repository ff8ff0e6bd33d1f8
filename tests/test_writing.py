"""What is written is read again as it was, in every format."""

import gc
import io
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from clems.datasets import (
    DataError,
    Dataset,
    read_arff,
    read_libsvm,
    read_table,
    write_arff,
    write_libsvm,
    write_table,
)
from clems.datasets.formats.parquet import append_parquet
from clems.files import replacing

anew = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # each example overwrites the file

CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff")
NAMES = st.text(CHARACTERS, min_size=1, max_size=6).filter(lambda name: name == name.strip(" \t"))
ENDINGS = st.sampled_from(["", ".gz", ".bz2", ".xz"])


@st.composite
def datasets(draw, missing=True, names=NAMES):
    n, d, K = (draw(st.integers(1, 5)) for _ in range(3))
    values = st.floats(allow_nan=missing, allow_infinity=False) | st.integers(-3, 3).map(float)
    X = draw(arrays.arrays(np.float64, (n, d), elements=values))
    Y = draw(arrays.arrays(np.uint8, (n, K), elements=st.integers(0, 1)))
    called = draw(st.lists(names, min_size=d + K, max_size=d + K, unique=True))
    as_x, as_y = (sparse.csr_array if draw(st.booleans()) else np.asarray for _ in range(2))
    return Dataset(as_x(X), as_y(Y), called[:d], called[d:], "some")


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def assert_equal(found, expected, named=True):
    assert np.array_equal(dense(found.X), dense(expected.X), equal_nan=True)
    assert np.array_equal(dense(found.Y), dense(expected.Y))
    if named:
        assert found.feature_names == expected.feature_names
        assert found.label_names == expected.label_names


@anew
@given(dataset=datasets(), ending=ENDINGS)
def test_arff(tmp_path, dataset, ending):
    write_arff(dataset, tmp_path / f"some.arff{ending}")
    found = read_arff(tmp_path / f"some.arff{ending}")
    assert_equal(found, dataset)
    assert sparse.issparse(found.X) == sparse.issparse(dataset.X)


@anew
@given(dataset=datasets(missing=False), ending=ENDINGS)
def test_libsvm(tmp_path, dataset, ending):
    write_libsvm(dataset, tmp_path / f"some.txt{ending}")
    assert_equal(read_libsvm(tmp_path / f"some.txt{ending}"), dataset, named=False)


@anew
@given(dataset=datasets(), ending=ENDINGS)
def test_csv(tmp_path, dataset, ending):
    write_table(dataset, tmp_path / f"some.csv{ending}")
    assert_equal(read_table(tmp_path / f"some.csv{ending}", dataset.label_names), dataset)


@anew
@given(dataset=datasets(), ending=ENDINGS)
def test_tsv(tmp_path, dataset, ending):
    path = tmp_path / f"some.tsv{ending}"
    write_table(dataset, path)
    assert_equal(read_table(path, dataset.label_names, delimiter="\t"), dataset)


@anew
@given(dataset=datasets())
def test_parquet(tmp_path, dataset):
    write_table(dataset, tmp_path / "some.parquet")
    assert_equal(read_table(tmp_path / "some.parquet", dataset.label_names), dataset)


def test_text_in_parquet_may_begin_without_rows():
    file = io.BytesIO()
    with append_parquet(file) as append:
        for ids in ([], ["7", "x"], ["8"]):
            append(pd.DataFrame({"id": ids, "red": np.zeros(len(ids), np.uint8)}).astype({"id": str}))
    table = pd.read_parquet(file)
    assert table["id"].tolist() == ["7", "x", "8"]
    assert table["red"].dtype == np.uint8


def test_a_parquet_file_that_is_given_up_is_closed_in_order():
    """A writer that is left open would write to the closed file when it is collected, and complain."""

    def give_up():
        with io.BytesIO() as file, append_parquet(file) as append:
            append(pd.DataFrame({"red": [1]}))
            raise KeyError

    with pytest.raises(KeyError):
        give_up()
    gc.collect()


def test_more_rows_than_are_written_at_a_time(tmp_path):
    rng = np.random.default_rng(0)
    dataset = Dataset(
        sparse.csr_array(rng.normal(size=(2500, 3)) * (rng.random((2500, 3)) < 0.3)),
        sparse.csr_array(rng.integers(0, 2, (2500, 2))),
        ["a", "b", "c"],
        ["y", "z"],
    )
    for name in ("some.csv", "some.parquet"):
        write_table(dataset, tmp_path / name)
        assert_equal(read_table(tmp_path / name, ["y", "z"]), dataset)


DATASET = Dataset([[1.0], [np.nan]], [[1], [0]], ["a"], ["y"])


@pytest.mark.parametrize(("write", "name"), [(write_arff, "some.arff.xz"), (write_table, "some.csv")])
def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch, write, name):
    write(DATASET, tmp_path / name)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("clems.datasets.formats.arff.as_text", fail)
    monkeypatch.setattr("clems.datasets.formats.csv.dense_frames", fail)
    with pytest.raises(KeyboardInterrupt):
        write(DATASET, tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_cannot_be_written_is_said(tmp_path):
    with pytest.raises(ValueError, match="libsvm file cannot hold missing values"):
        write_libsvm(DATASET, tmp_path / "some.txt")
    with pytest.raises(ValueError, match=r"ends in .arff or .arff.xz and the like; got 'some.csv'"):
        write_arff(DATASET, tmp_path / "some.csv")
    twin = Dataset([[1.0]], [[1]], ["a"], ["a"])
    for write, name in ((write_arff, "some.arff"), (write_table, "some.csv")):
        with pytest.raises(ValueError, match="A feature and a label are both called 'a'"):
            write(twin, tmp_path / name)
    with pytest.raises(ValueError, match="A CSV cannot keep the name ' a' as it is"):
        write_table(Dataset([[1.0]], [[1]], [" a"], ["y"]), tmp_path / "some.csv")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*nowhere to write some.arff into"):
        write_arff(DATASET, tmp_path / "nowhere" / "some.arff")
    with pytest.raises(ValueError, match="XML cannot hold"):
        write_arff(Dataset([[1.0]], [[1]], ["a"], ["\x01"]), tmp_path / "some.arff")
    assert list(tmp_path.iterdir()) == []


def test_a_mulan_pair_is_complete(tmp_path):
    write_arff(DATASET, tmp_path / "some.arff")
    tmp_path.joinpath("some.xml").unlink()
    with pytest.raises(DataError, match="nothing says which attributes are labels"):
        read_arff(tmp_path / "some.arff")


def test_a_file_keeps_the_permissions_of_the_one_that_it_replaces(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("old")
    path.chmod(0o640)
    with replacing(path) as file:
        assert {one.stat().st_mode & 0o077 for one in tmp_path.iterdir() if one != path} <= {0o040}
        file.write(b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_what_a_link_points_to_is_replaced(tmp_path):
    folder = tmp_path / "real"
    folder.mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to(folder / "rows.csv")
    for text in (b"first", b"second"):  # the first time the link points to nothing yet
        with replacing(link) as file:
            file.write(text)
        assert link.is_symlink()
        assert folder.joinpath("rows.csv").read_bytes() == text
    assert [path.name for path in folder.iterdir()] == ["rows.csv"]
    circle = tmp_path / "circle.csv"
    circle.symlink_to(circle)
    with pytest.raises(OSError, match=r"leads nowhere"), replacing(circle):
        pass
    assert circle.is_symlink()


def test_all_is_on_the_disk_before_it_takes_the_place_of_another(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: done.append(os.fstat(number).st_size) or fsync(number))
    monkeypatch.setattr(os, "replace", lambda *paths: done.append("replace") or replace(*paths))
    with replacing(tmp_path / "rows.csv") as file:
        file.write(b"1234")
    assert done == [4, "replace"]


def test_a_pipe_is_written_to_as_it_is(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    with ThreadPoolExecutor() as other:
        read = other.submit(path.read_bytes)
        with replacing(path) as file:
            file.write(b"rows")
        assert read.result() == b"rows"
    assert path.is_fifo()


def test_of_two_who_write_at_once_one_wins_and_the_file_is_whole(tmp_path):
    path = tmp_path / "rows.csv"

    def write(letter):
        for _ in range(20):
            with replacing(path) as file:
                for _ in range(10):
                    file.write(letter * 10_000)

    with ThreadPoolExecutor() as both:
        list(both.map(write, (b"a", b"b")))
    assert path.read_bytes() in (b"a" * 100_000, b"b" * 100_000)
    assert list(tmp_path.iterdir()) == [path]


def test_where_no_file_can_be_made_the_one_that_was_asked_for_is_named(tmp_path, monkeypatch):
    def refused(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("clems.files._created", refused)
    path = tmp_path / "x.csv"
    with pytest.raises(PermissionError) as error, replacing(path):
        pass
    assert str(error.value) == f"{path}: no file can be made here (Permission denied)."
