"""Files of libsvm and of the extreme classification repository."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from clems.datasets import DataError, Limits, read_libsvm


def read(text, **options):
    return read_libsvm(io.BytesIO(text.encode()), **options)


def test_libsvm():
    data = read("3,17 1:0.5 4:1\n 2:1\n2:7 3:1\n3 1:2 # a comment\n\n# another\n", name="small")
    assert repr(data) == "<Dataset small: 4 rows, 4 features, 2 labels>"
    assert data.X.toarray().tolist() == [[0.5, 0, 0, 1], [0, 1, 0, 0], [0, 7, 1, 0], [2, 0, 0, 0]]
    assert data.Y.toarray().tolist() == [[1, 1], [0, 0], [0, 0], [1, 0]]
    assert list(data.feature_names) == ["x1", "x2", "x3", "x4"]
    assert data.label_names == ["3", "17"]


def test_a_feature_numbered_zero_makes_all_count_from_zero():
    assert list(read("1 0:1 2:1\n").feature_names) == ["x0", "x1", "x2"]
    assert list(read("1 1:1 2:1\n").feature_names) == ["x1", "x2"]
    assert list(read("1 1:1 2:1\n", zero_based=True).feature_names) == ["x0", "x1", "x2"]
    with pytest.raises(DataError, match="line 1: an index must be from 1 to"):
        read("1 0:1 2:1\n", zero_based=False)


def test_announced_sizes():
    data = read("3 5 4\n0,2 0:1 4:2\n\n 1:3\n\n\n")
    assert data.X.shape == (3, 5)
    assert data.Y.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert list(data.label_names) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("block", [7, 1 << 19])
def test_a_line_of_one_space_is_a_row_of_nothing(monkeypatch, block):
    monkeypatch.setattr("clems.datasets.text.source.BLOCK", block)
    data = read(" \n" * 9 + "3 1:2\n \n\n# a comment\n  # another\n5 2:1\n \n")
    expected = [[0, 0]] * 9 + [[2, 0], [0, 0], [0, 1], [0, 0]]
    assert data.X.toarray().tolist() == expected
    assert data.Y.toarray().tolist() == [[0, 0]] * 9 + [[1, 0], [0, 0], [0, 1], [0, 0]]
    assert read("2 2 1\n \n0 0:1\n \n").X.toarray().tolist() == [[0, 0], [1, 0]]


def test_test_data_get_the_columns_of_training_data():
    data = read("7 1:1\n2 2:1\n", labels=["2", "9", "7"], n_features=4)
    assert data.X.shape == (2, 4)
    assert data.Y.toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(DataError, match=r"line 2: a label is not among labels=...: '2'"):
        read("7 1:1\n2 2:1\n", labels=["7"])
    with pytest.raises(DataError, match=r"line 2: an index must be from 0 to 1: '2:1'"):
        read("7 1:1\n2 2:1\n", n_features=1)
    with pytest.raises(DataError, match="index 2 is used, but n_features=2 and the first index is 0"):
        read("7 0:1\n2 2:1\n", n_features=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no rows"),
        ("# nothing\n\n", "there are no rows"),
        (" 1:1\n", "no row has a label"),
        ("2 5 4\n0 0:1\n", "2 rows are announced, and 1 are there"),
        ("1 5 4\n0 0:1\n1 0:1\n", "1 rows are announced, and 2 are there"),
        ("1 5 4\n4 0:1\n", "line 2: a label is not among the 4 announced, from 0: '4'"),
        ("1 5 4\n0 5:1\n", "line 2: an index must be from 0 to 4: '5:1'"),
        ("1 99999999999 4\n0 5:1\n", "line 1: too many columns are announced"),
        ("0 99999999999:1\n", "line 1: an index must be from 0 to 10,000,000"),
        ("0 99999999999999999999999:1\n", "expected an index, a colon and a finite number"),
        ("0 1:1 1:2\n", "line 1: the row has index 1 twice"),
        ("0 1:x\n", "line 1: expected an index, a colon and a finite number: '1:x'"),
        ("0 1:inf\n", "finite number"),
        ("0 1\n", "expected an index, a colon"),
        ("0 1:2,3:4\n", "expected an index, a colon"),
        ("0 qid:3 1:1\n", "expected an index, a colon"),
        ("a 1:1\n", "labels must be whole numbers with commas between: 'a'"),
        ("1,,2 1:1\n", "labels must be whole numbers"),
        ("1.5 1:1\n", "labels must be whole numbers"),
    ],
)
def test_a_fault_is_said_in_one_sentence(text, message):
    with pytest.raises(DataError, match=message):
        read(text)


def test_a_comment_is_no_row():
    with pytest.raises(DataError, match="2 rows are announced, and 1 are there"):
        read("2 5 2\n# a comment\n0 1:1\n")


@pytest.mark.parametrize("text", ["0 5\n1 :1\n", "0 1:2:3 4\n", "0 3\n1 :2 5:1.5\n", "1 1.0:2\n", "1 +1:2.5\n"])
def test_what_is_missing_in_one_pair_is_not_taken_from_another(text):
    with pytest.raises(DataError, match="expected an index, a colon and a finite number"):
        read(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["1", "2", "1"]}, "labels must be a list of different labels"),
        ({"labels": "12"}, "labels must be a list of different labels"),
        ({"n_features": -1}, "n_features must be a whole number; got -1"),
        ({"zero_based": "yes"}, "zero_based must be True, False or None"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        read("1 1:2\n2 1:3\n", **options)


def test_labels_may_be_numbers():
    assert read("1 1:2\n2 1:3\n", labels=[2, 1]).label_names == ["2", "1"]


def test_columns_are_limited_but_adjustable():
    assert read("0 50000000:1\n", limits=Limits(columns=10**8)).X.shape == (1, 50_000_000)


ROWS = st.lists(
    st.tuples(
        st.sets(st.integers(0, 6), max_size=3),
        st.dictionaries(st.integers(1, 9), st.floats(-1e6, 1e6).filter(bool), max_size=4),
    ),
    min_size=1,
).filter(lambda rows: any(labels for labels, _ in rows) and any(features for _, features in rows))


@given(ROWS)
def test_scikit_learn_reads_the_same(rows):
    lines = [
        ",".join(map(str, sorted(labels))) + " " + " ".join(f"{i}:{v!r}" for i, v in sorted(features.items()))
        for labels, features in rows
        if labels or features  # scikit-learn skips rows of nothing
    ]
    text = "\n".join(lines) + "\n"
    X, labels = load_svmlight_file(io.BytesIO(text.encode()), multilabel=True, zero_based=False)
    data = read(text)
    assert np.array_equal(data.X.toarray(), X.toarray())
    found = [tuple(float(data.label_names[k]) for k in np.flatnonzero(row)) for row in data.Y.toarray()]
    assert found == labels


def test_what_scikit_learn_writes_is_read(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 5)), rng.integers(0, 2, size=(20, 3))
    dump_svmlight_file(X, Y, str(tmp_path / "data.svm"), multilabel=True, zero_based=True)
    data = read_libsvm(tmp_path / "data.svm")
    assert np.allclose(data.X.toarray(), X, rtol=1e-15)
    assert np.array_equal(data.Y.toarray(), Y)
    assert data.name == "data"
