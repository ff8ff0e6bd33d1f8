"""Laws of the store: what was appended is there, whatever happened to the process or the end of the file."""

import json
import math
import os
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clems.experiments.store import Store, StoreError, plain

numbers = st.floats() | st.integers(-(10**20), 10**20)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3),
    max_leaves=4,
)
records = st.builds(
    lambda key, status, value: {"key": key, "status": status, "value": value},
    st.sampled_from("abcd"),
    st.sampled_from(["done", "failed"]),
    values,
)


def latest(appended):
    """What a store has to hold, said in another way."""
    held = {}
    for key in {record["key"] for record in appended}:
        own = [record for record in appended if record["key"] == key]
        held[key] = plain(([record for record in own if record["status"] == "done"] or own)[-1])
    return held


@given(st.lists(records, max_size=5), st.lists(records, max_size=2), st.data())
def test_a_file_cut_anywhere_holds_a_prefix_and_goes_on(before, after, data):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        ends = [0]
        with store:
            for record in before:
                store.append(record)
                ends.append(store.path.stat().st_size)
        cut = data.draw(st.integers(0, ends[-1]))
        os.truncate(store.path, cut)
        whole = sum(end <= cut for end in ends) - 1
        assert Store(folder).records() == latest(before[:whole])
        with store:
            for record in after:
                store.append(record)
        assert Store(folder).records() == latest(before[:whole] + after)
        assert len(store.path.read_text().splitlines()) == whole + len(after)


@given(values)
def test_what_is_plain_survives_json(value):
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == plain(value)


def test_numbers_are_kept_exactly_and_nan_becomes_none(tmp_path):
    test = {"f1": np.float64(0.1) + 0.2, "rank": np.float32(0.5), "n": np.int64(3), "nan": math.nan, "inf": -math.inf}
    Store(tmp_path).append({"key": "a", "status": "done", "test": test, "depths": np.array([1, 2])})
    record = Store(tmp_path).records()["a"]
    assert record["test"] == {"f1": 0.1 + 0.2, "rank": 0.5, "n": 3, "nan": None, "inf": None}
    assert record["depths"] == [1, 2]


def test_a_store_that_does_not_exist_holds_nothing_and_is_not_made_by_reading(tmp_path):
    assert Store(tmp_path / "none").records() == {}
    assert not (tmp_path / "none").exists()


def test_a_failure_replaces_a_failure_but_no_result(tmp_path):
    store = Store(tmp_path / "deep" / "folder")
    for number, status in enumerate(["failed", "failed", "done", "failed"]):
        store.append({"key": "a", "status": status, "number": number})
        assert store.records()["a"]["number"] == min(number, 2)


@pytest.mark.parametrize("end", [b'{"key": "c", "status"', b"\0\0\0\n", b'{"key": "c"\n', b'\0\n{"k', b"\xff\xfe\n"])
def test_a_torn_end_is_ignored_and_never_glued_to(tmp_path, end):
    store = Store(tmp_path)
    long = {"key": "a", "status": "done", "text": "x" * 200_000}  # longer than what is read at once from the end
    store.append(long)
    for added in "bc":
        with store.path.open("ab") as file:
            file.write(end)
        assert "a" in store.records()
        store.append({"key": added, "status": "done"})
    assert list(store.records()) == ["a", "b", "c"]
    assert store.records()["a"] == long


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"key": "a", "status": "done", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ("[1]", "not an object"),
        ('{"key": 1}', "no key"),
        ('{"key": "a"}', "status"),
    ],
)
def test_a_broken_line_in_the_middle_is_said_with_its_number(tmp_path, line, fault):
    store = Store(tmp_path)
    store.append({"key": "a", "status": "done"})
    with store.path.open("a") as file:
        file.write(line + "\n")
    with store.path.open("a") as file:
        file.write('{"key": "b", "status": "done"}\n')
    with pytest.raises(StoreError, match=rf"records.jsonl, line 2: .*{fault}"):
        store.records()


def test_a_second_writer_is_refused_and_readers_are_not(tmp_path):
    with Store(tmp_path) as store:
        store.append({"key": "a", "status": "done"})
        with pytest.raises(StoreError, match=r"Another run is writing to .*; wait"), Store(tmp_path):
            pass
        with pytest.raises(StoreError, match=r"Another run is writing"):
            Store(tmp_path).append({"key": "b", "status": "done"})
        assert list(Store(tmp_path).records()) == ["a"]
    Store(tmp_path).append({"key": "b", "status": "done"})
    assert list(Store(tmp_path).records()) == ["a", "b"]


def test_what_is_no_record_is_refused_and_nothing_is_written(tmp_path):
    store = Store(tmp_path)
    for record in [{"status": "done"}, {"key": "a"}, {"key": "a", "status": "half"}]:
        with pytest.raises(StoreError, match=r"takes no such record"):
            store.append(record)
    with pytest.raises(TypeError, match=r"what JSON knows.*object\."):
        store.append({"key": "a", "status": "done", "value": object()})
    assert store.records() == {}


def test_a_full_disk_leaves_no_torn_line(tmp_path, monkeypatch):
    write = os.write

    def full(file, line):
        monkeypatch.setattr(os, "write", refused)
        return write(file, line[: len(line) // 2])

    def refused(file, line):
        raise OSError(28, "No space left on device")

    with Store(tmp_path) as store:
        store.append({"key": "a", "status": "done"})
        before = store.path.read_bytes()
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match=r"No space"):
            store.append({"key": "b", "status": "done"})
        assert store.path.read_bytes() == before
        monkeypatch.setattr(os, "write", write)
        store.append({"key": "c", "status": "done"})
    assert list(store.records()) == ["a", "c"]


def test_a_signal_after_all_is_written_keeps_the_record(tmp_path, monkeypatch):
    write = os.write

    def ended(file, line):
        write(file, line)
        raise KeyboardInterrupt

    with Store(tmp_path) as store:
        monkeypatch.setattr(os, "write", ended)
        with pytest.raises(KeyboardInterrupt):
            store.append({"key": "a", "status": "done"})
        monkeypatch.setattr(os, "write", write)
    assert list(store.records()) == ["a"]
