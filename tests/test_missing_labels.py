"""Labels that are missing in files: kept on request, and what is done with them from there on."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from clems import BCS, CLEMS, LEML, load, save
from clems.datasets import Dataset, from_frame, read_dataset, write_arff, write_libsvm, write_table
from clems.evaluation import evaluate
from clems.evaluation.report import make_content
from clems.experiments import compare
from clems.model_selection import IterativeStratifiedKFold, iterative_split, split_quality

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 4)).round(3)
WHOLE = (X[:, :3] + X[:, 1:] > 0.3).astype(float)
GAPS = np.where(RNG.random(WHOLE.shape) < 0.2, np.nan, WHOLE)
NAMES = ["a", "b", "c"]
DATA = Dataset(X, GAPS, list("wxyz"), NAMES)
ADVICE = ", or in training missing with missing_labels='keep'"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arrays.arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.sampled_from([0, 1, np.nan])),
    st.sampled_from([".arff", ".csv", ".tsv", ".parquet"]),
    st.booleans(),
)
def test_what_is_written_is_read_again(tmp_path, labels, suffix, is_sparse):
    n, K = labels.shape
    features = np.arange(2.0 * n).reshape(n, 2) % 3
    form = sparse.csr_array if is_sparse else np.asarray
    data = Dataset(form(features), labels, ["x", "y"], [f"label {k}" for k in range(K)])
    file = tmp_path / f"data{suffix}"
    (write_arff if suffix == ".arff" else write_table)(data, file)
    options = {} if suffix == ".arff" else {"labels": "label *"}
    read = read_dataset(file, missing_labels="keep", **options)
    dense = read.Y.toarray() if sparse.issparse(read.Y) else read.Y
    np.testing.assert_array_equal(dense, labels)
    assert read.Y.dtype == (float if np.isnan(labels).any() else np.uint8)
    if np.isnan(labels).any():
        with pytest.raises(ValueError, match=re.escape(ADVICE)):
            read_dataset(file, **options)


@pytest.mark.parametrize("cell", ["", "?", "NA", None, np.nan, pd.NA])
@pytest.mark.parametrize("others", [[0, 1], ["0", "1"], ["no", "yes"], [False, True]])
def test_cells_that_are_missing(cell, others, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "a": pd.Series([others[0], cell, others[1]], dtype=object)})
    if cell != "NA" if isinstance(cell, str) else True:  # which in a frame is a word
        kept = from_frame(frame, "a", missing_labels="keep")
        np.testing.assert_array_equal(kept.Y, [[0], [np.nan], [1]])
        with pytest.raises(ValueError, match=f"^frame: label 'a' must be 0 or 1{ADVICE}, in row 1: "):
            from_frame(frame, "a")
    frame.to_csv(tmp_path / "data.csv", index=False)
    np.testing.assert_array_equal(
        read_dataset(tmp_path / "data.csv", "a", missing_labels="keep").Y, [[0], [np.nan], [1]]
    )


@pytest.mark.parametrize("missing_labels", ["refuse", "keep"])
@pytest.mark.parametrize("cell", [2, "maybe", 0.5, np.inf])
def test_what_is_wrong_is_not_missing(cell, missing_labels):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "a": pd.Series([0, np.nan, cell], dtype=object)})
    with pytest.raises(ValueError, match="label 'a' must be 0 or 1") as raised:
        from_frame(frame, "a", missing_labels=missing_labels)
    assert ("row 2" in str(raised.value)) == (missing_labels == "keep")
    assert (ADVICE in str(raised.value)) == (missing_labels == "refuse")


def test_where_nothing_can_be_missing():
    frame = pd.DataFrame({"x": [1.0, 2.0], "tags": ["a;b", ""]})
    with pytest.raises(ValueError, match=r"^missing_labels= is for columns of labels; a row has all of its tags"):
        from_frame(frame, tags="tags", separator=";", missing_labels="keep")
    with pytest.raises(ValueError, match=r"^missing_labels must be 'refuse' or 'keep'; got 'ignore'\.$"):
        from_frame(frame, "x", missing_labels="ignore")


def test_libsvm_cannot_hold_them(tmp_path):
    with pytest.raises(ValueError, match="A libsvm file cannot hold missing values"):
        write_libsvm(DATA, tmp_path / "data.txt")


def test_a_dataset_counts_them():
    summary = DATA.summary()
    assert summary.missing_labels == np.isnan(GAPS).sum()
    assert summary.cardinality == pytest.approx(np.nansum(GAPS, axis=1).mean())
    assert f"missing labels          {summary.missing_labels}" in str(summary)
    assert "missing labels" not in str(Dataset(X, WHOLE, list("wxyz"), NAMES).summary())
    np.testing.assert_array_equal(DATA.take(slice(5)).Y, GAPS[:5])
    assert DATA.to_frame()["a"].isna().sum() == np.isnan(GAPS[:, 0]).sum()


@pytest.mark.parametrize("learner", [LEML, BCS])
def test_a_learner_gets_them_from_a_dataset(learner):
    model = learner(n_trees=3, random_state=0).fit(DATA.feature_frame(), DATA.label_frame())
    plain = learner(n_trees=3, random_state=0).fit(X, GAPS)
    predicted = model.predict(DATA.feature_frame())
    assert predicted.dtype == np.int64
    assert np.array_equal(predicted, plain.predict(X))


@pytest.mark.parametrize("learner", [LEML, BCS])
def test_labels_that_never_occur_among_missing_ones_are_warned_of(learner):
    labels = GAPS.copy()
    labels[:, 1] = np.where(np.isnan(labels[:, 1]), np.nan, 0)
    with pytest.warns(
        UserWarning, match=r"^1 of 3 labels never occurs in training, .* nothing is learned of it: 'b'\.$"
    ):
        learner(n_trees=2).fit(X, pd.DataFrame(labels, columns=NAMES))
    labels[:, 2] = np.nan
    with pytest.warns(UserWarning, match=r"^2 of 3 labels never occur in training, .* learned of them: 'b', 'c'\.$"):
        learner(n_trees=2).fit(X, pd.DataFrame(labels, columns=NAMES))


def test_splits_count_them_as_not_there():
    filled = np.nan_to_num(GAPS)
    parts, wanted = (iterative_split(labels, (0.5, 0.5), random_state=0) for labels in (GAPS, filled))
    assert all(map(np.array_equal, parts, wanted))
    assert split_quality(GAPS, parts) == split_quality(filled, parts)
    folds, wanted = ([test for _, test in IterativeStratifiedKFold(3).split(X, labels)] for labels in (GAPS, filled))
    assert all(map(np.array_equal, folds, wanted))


def test_what_computes_a_cost_asks_for_all_labels():
    model = LEML("f1", n_trees=2, random_state=0).fit(X, GAPS)
    row, column = np.argwhere(np.isnan(GAPS))[0]
    said = f"has the value nan in row {row}, column {column}; labels must be 0 or 1"
    for call in (model.score, lambda X, Y: evaluate(model, X, Y), lambda X, Y: make_content(model, X, Y)):
        with pytest.raises(ValueError, match=said):
            call(X, GAPS)
    with pytest.raises(
        ValueError, match=r"^data: labels are missing; a comparison needs all of them, as a cost does\.$"
    ):
        compare(DATA, "f1")
    with pytest.raises(ValueError, match=r"as CLEMS takes no missing labels; LEML and BCS do\.$"):
        CLEMS().fit(DATA.X, DATA.Y)


@pytest.mark.parametrize("suffix", [".csv", ".arff"])
def test_from_the_command_to_predictions(suffix, tmp_path, forks):
    def run(*arguments):
        return forks.run(*arguments, cwd=tmp_path, text=True)

    file = f"data{suffix}"
    (write_arff if suffix == ".arff" else write_table)(DATA, tmp_path / file)
    labels = [] if suffix == ".arff" else ["--labels", "a,b,c"]
    fit = ["fit", file, *labels, "--output", "model.clems", "--set", "n_trees=3"]
    refused = run(*fit, "--learner", "leml")
    assert refused.returncode == 1
    assert "or in training missing with --missing-labels 'keep'" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    other = run(*fit, "--missing-labels", "keep")
    assert other.returncode == 1
    assert "CLEMS takes no missing labels; LEML and BCS do" in other.stderr
    done = run(*fit, "--missing-labels", "keep", "--learner", "leml")
    assert done.returncode == 0, done.stderr
    predicted = run("predict", "model.clems", file)
    assert predicted.returncode == 0, predicted.stderr
    rows = [line.split(",") for line in predicted.stdout.splitlines()]
    assert rows[0] == NAMES
    assert {cell for row in rows[1:] for cell in row} == {"0", "1"}
    judged = run("evaluate", "model.clems", file)
    assert judged.returncode == 1
    assert len(judged.stderr.strip().splitlines()) == 1
    shown = run("inspect", file, *labels, "--missing-labels", "keep")
    assert re.search(r"missing labels +\d+", shown.stdout)


def test_models_of_them_are_saved(tmp_path):
    rows = DATA.feature_frame()
    model = BCS(n_trees=2, random_state=0).fit(rows, DATA.label_frame())
    save(model, tmp_path / "model.clems")
    assert np.array_equal(load(tmp_path / "model.clems").predict(rows), model.predict(rows))
