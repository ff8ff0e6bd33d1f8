"""What a dataset knows of itself."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from clems import CLEMS
from clems.datasets import Dataset, from_frame, load_dataset, read_libsvm, write_libsvm

X = np.array([[1.0, 5, 0], [2, 5, np.nan], [3, 5, 0], [4, 5, 0]])
Y = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
PETS = Dataset(X, Y, ["a", "b", "c"], ["u", "v", "w", "z"], "pets")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_summary(form):
    data = Dataset(form(X), form(Y), PETS.feature_names, PETS.label_names, "pets")
    summary = data.summary()
    assert (summary.rows, summary.features, summary.labels) == (4, 3, 4)
    assert summary.cardinality == 5 / 4
    assert summary.density == 5 / 16
    assert summary.distinct == 3
    assert (summary.unlabelled, summary.never, summary.missing) == (1, 2, 1)
    assert (summary.rarest, summary.commonest) == (("v", 2), ("u", 3))
    assert summary.imbalance == (1 + 3 / 2) / 2
    assert summary.constant == 2
    assert "most frequent label     u (3 rows)" in str(data)
    assert repr(data) == "<Dataset pets: 4 rows, 3 features, 4 labels>"


@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.sampled_from([0, 1, 2, np.nan])
    ),
    st.data(),
)
def test_summaries_of_dense_and_sparse_agree_with_pandas(X, data):
    Y = data.draw(arrays.arrays(np.uint8, (len(X), 3), elements=st.integers(0, 1)))
    names = [f"x{place}" for place in range(X.shape[1])], ["u", "v", "w"]
    one, other = (Dataset(form(X), form(Y), *names).summary() for form in (np.asarray, sparse.csr_array))
    assert one == other
    assert one.constant == (pd.DataFrame(X).nunique() <= 1).sum()
    assert one.distinct == len(pd.DataFrame(Y).drop_duplicates())
    assert one.missing == pd.DataFrame(X).isna().sum().sum()


def test_the_summary_of_nothing():
    nothing = Dataset(np.empty((0, 2)), np.empty((0, 1)), ["a", "b"], ["y"])
    assert (nothing.summary().rows, nothing.summary().distinct, nothing.summary().imbalance) == (0, 0, 1.0)
    assert "rarest label" in str(nothing)


def test_frames_there_and_back():
    for form in (np.asarray, sparse.csr_array):
        data = Dataset(form(X), form(Y), PETS.feature_names, PETS.label_names)
        frame = data.to_frame()
        assert list(frame.columns) == ["a", "b", "c", "u", "v", "w", "z"]
        back = from_frame(frame, data.label_names)
        assert sparse.issparse(back.X) == sparse.issparse(data.X)
        assert np.array_equal(back.to_frame().to_numpy(float), np.hstack([X, Y]), equal_nan=True)


def test_learners_take_the_names_of_a_frame():
    data = load_dataset("digit-scenes").take(slice(60))
    model = CLEMS(random_state=0).fit(data.X, data.label_frame())
    assert model.classes_.tolist() == list("0123456789")


def test_rows_are_taken():
    some = PETS.take([2, 0])
    assert some.X[:, 0].tolist() == [3, 1]
    assert some.Y.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]
    assert PETS.take(np.array([True, False, False, True])).X.shape == (2, 3)


def test_names_by_number_are_made_when_asked_for(tmp_path):
    write_libsvm(PETS.take([0, 2]), tmp_path / "pets.txt")
    names = read_libsvm(tmp_path / "pets.txt").feature_names
    assert list(names) == ["x0", "x1", "x2"]
    assert (names[-1], list(names[1:])) == ("x2", ["x1", "x2"])
    assert len(names) == 3
    with pytest.raises(IndexError):
        names[3]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"X": X[:3]}, "X has 3 rows and Y has 4"),
        ({"X": X[0]}, "X must be a matrix of numbers"),
        ({"X": [["a"]] * 4}, "X must be a matrix of numbers"),
        ({"X": np.where(np.isnan(X), np.inf, X)}, "X holds an infinite number"),
        ({"Y": Y + 1}, "Y has the value 2 in row 0, column 0; labels must be 0 or 1"),
        ({"feature_names": ["a"]}, "There are 3 features but 1 feature names"),
        ({"label_names": ["u", "v", "w", "u"]}, "Two labels are called 'u'; names must differ"),
    ],
)
def test_what_does_not_fit_is_said(wrong, message):
    right = {"X": X, "Y": Y, "feature_names": PETS.feature_names, "label_names": PETS.label_names}
    with pytest.raises(ValueError, match=message):
        Dataset(**(right | wrong))


def test_features_take_one_of_two_types_and_one_form():
    for dtype in (bool, int, np.float16, np.longdouble):
        assert Dataset(np.ones((1, 1), dtype), [[1]], ["a"], ["y"]).X.dtype == np.float64
    assert Dataset(np.ones((1, 1), np.float32), [[1]], ["a"], ["y"]).X.dtype == np.float32
    twice = sparse.csr_array((np.ones(2), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    data = Dataset(twice, [[1]], ["a"], ["y"])
    assert (data.X.nnz, data.X.toarray().tolist(), twice.nnz) == (1, [[2.0]], 2)
    assert Dataset([[1.0]], [[1]], [7], [8]).label_names == ["8"]


def test_names_of_features_and_labels_differ_in_a_frame():
    with pytest.raises(ValueError, match="A feature and a label are both called 'a'"):
        Dataset([[1.0]], [[1]], ["a"], ["a"]).to_frame()
