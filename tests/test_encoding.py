"""Columns as they come: what they hold, what becomes of them, and what new rows may be like."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from clems import CLEMS, Pipeline, TableEncoder
from clems.datasets import DataError, from_frame, read_table
from clems.datasets.encoding.encodings import ENCODINGS
from clems.datasets.encoding.kinds import KINDS, kind_of
from clems.datasets.rows import Rows

ROWS = Rows("table", None)
N = 60
RNG = np.random.default_rng(0)
WORDS = ["refund", "printer", "vpn", "login", "slow", "mail", "größe", "rechnung"]
TEXTS = [" ".join(RNG.choice(WORDS, 6)) + f" nr{row}" for row in range(N)]
DAYS = pd.Timestamp("2024-01-31") + pd.to_timedelta(RNG.integers(0, 9000, N), "h")


def kind(cells, name="x", **options):
    return kind_of(name, pd.Series(cells, **options), ROWS).kind


COLUMNS = {
    "numbers": [[1.5, None, 2], ["1.5", "", "2", "3"], [1, 2, 3], pd.Categorical([10, 20, 10])],
    "booleans": [[True, False], ["yes", "no", ""], ["True", "false", "True"], pd.array([True, None, False], "boolean")],
    "dates": [
        ["2024-01-31", "", "2023-12-01"],
        ["2024-01-31T10:00:00Z", "2024-01-31T11:00:00+02:00"],
        ["31.1.2024", "01.02.2024"],
        ["31/01/2024 10:30", "01/02/2024 09:00"],
        ["01/31/2024", "02/01/2024"],
        pd.to_datetime(["2024-01-31", None, "2024-02-01"]),
    ],
    "words": [["red", "blue"] * 3, ["DE", "", "AT", "DE", "AT"], pd.Categorical(["u", "v", "w"]), ["A4", "A3"] * 2],
    "characters": [[f"{name} {row}" for row, name in enumerate(["Müller GmbH", "Muller AG"] * 20)], ["ab", "cd", "ef"]],
    "text": [TEXTS],
    "id": [np.arange(30), [f"T-{row:04d}" for row in range(30)], np.array([5, 7, 8, *range(10, 40)])],
    "constant": [[1, 1], ["a", "a"], [None, None], ["", ""], [np.nan, np.nan], ["yes", "yes"]],
}


@pytest.mark.parametrize(("expected", "cells"), [(key, cells) for key, many in COLUMNS.items() for cells in many])
def test_kinds(expected, cells):
    assert kind(cells) == expected


def test_names_say_that_a_column_is_an_id():
    shuffled = RNG.permutation(10)
    assert kind(shuffled) == "numbers"
    for name in ("id", "ticket_id", "ID", "customer-key", "ticketId", "Beleg Nr"):
        assert kind(shuffled, name) == "id", name
        assert kind([*shuffled, 3], name) == "numbers", name  # which is there twice
    for name in ("paid", "grid", "valid", "monkey", "avoid"):
        assert kind(shuffled, name) == "numbers", name


@pytest.mark.parametrize(
    ("cells", "row", "advice"),
    [
        (["1,5", "2,5", "3"], 0, "a CSV with decimal commas needs decimal=','"),
        (["1.5", "2.5", "3,5"], 2, "a CSV with decimal commas needs decimal=','"),
        (["€5.1", "€7", "€8.25"], 0, "without signs of money, units and marks between thousands"),
        (["5.1", "€5.1", "7", "8"], 1, "without signs of money"),
        (["1.000,50", "12"], 0, "without signs of money"),
        (["12 kg", "13 kg"], 0, "units"),
        (["50 %", "60%"], 0, "units"),
        (["1", "2", "oops"], 2, r"take it as words with kinds=\{'size': 'words'\}, or correct"),
    ],
)
def test_numbers_that_are_written_in_another_way_are_refused_with_advice(cells, row, advice):
    with pytest.raises(
        DataError, match=rf"column 'size' must hold numbers; .*{advice}.*, in row {row}: '{cells[row]}'"
    ):
        TableEncoder().fit(pd.DataFrame({"size": cells}))
    as_words = TableEncoder(kinds={"size": "words"}).fit(pd.DataFrame({"size": cells}))
    assert as_words.get_feature_names_out().tolist() == sorted(f"size={cell}" for cell in cells)


def test_dates_that_are_none_are_refused():
    with pytest.raises(
        DataError, match=r"column 'when' must hold dates written day.month.year; .*, in row 2: '31.2.2024'"
    ):
        TableEncoder().fit(pd.DataFrame({"when": ["1.1.2024", "", "31.2.2024"]}))
    encoder = TableEncoder().fit(pd.DataFrame({"when": ["1.1.2024", "2.2.2024"]}))
    with pytest.raises(DataError, match=r"written day.month.year, as in training, in row 1: '2024-01-01'"):
        encoder.transform(pd.DataFrame({"when": ["", "2024-01-01"]}))


def test_parts_of_dates_are_those_of_pandas():
    frame = pd.DataFrame({"when": DAYS.strftime("%d.%m.%Y %H:%M")})
    encoder = TableEncoder().fit(frame)
    found = pd.DataFrame(encoder.transform(frame), columns=encoder.get_feature_names_out())
    (dates,) = encoder._encodings
    found = (found * dates.scale + dates.fill).round(6)
    for part in ("year", "month", "day", "weekday", "hour"):
        assert found[f"when: {part}"].tolist() == getattr(DAYS, {"weekday": "day_of_week"}.get(part, part)).tolist()
    assert (np.diff(found["when: time"]) * 24).round().tolist() == (np.diff(DAYS) / pd.Timedelta(hours=1)).tolist()
    as_times = TableEncoder().fit(pd.DataFrame({"when": DAYS}))
    np.testing.assert_allclose(as_times.transform(pd.DataFrame({"when": DAYS})), encoder.transform(frame))


def test_text_and_words_are_those_of_scikit_learn():
    frame = pd.DataFrame({"text": TEXTS, "name": [f"{text[:5]} {row % 45}" for row, text in enumerate(TEXTS)]})
    frame["word"] = RNG.choice(["a", "b", "c"], N)
    frame = pd.concat([frame] * 4, ignore_index=True)
    encoder = TableEncoder().fit(frame)
    assert [column.kind for column in encoder.columns_] == ["text", "characters", "words"]
    pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=2, sublinear_tf=True)
    every = TruncatedSVD(30, random_state=0).fit(pieces.fit_transform(frame["name"]))
    held = int((every.singular_values_**2 >= 10).sum())  # directions that hold as many rows
    assert 3 <= held < 30
    theirs = make_column_transformer(
        (TfidfVectorizer(min_df=2, sublinear_tf=True), "text"),
        (make_pipeline(pieces, TruncatedSVD(30, random_state=0), FunctionTransformer(lambda X: X[:, :held])), "name"),
        (OneHotEncoder(), ["word"]),
        sparse_threshold=1,
    ).fit(frame)
    other = frame.sample(frac=0.5, random_state=0)
    for rows in (frame, other):
        ours = encoder.transform(rows)
        assert sparse.issparse(ours)
        np.testing.assert_allclose(ours.toarray(), theirs.transform(rows).toarray(), atol=1e-8)


CELLS = st.text("k1 \0\x01", min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(st.lists(CELLS, min_size=4, max_size=12), st.sampled_from(["characters", "words", "text"]))
def test_nul_in_text_is_a_space(cells, kind):
    column = pd.DataFrame({"x": [*cells, "one kk", "two kk"]})
    plain = pd.DataFrame({"x": [cell.replace("\0", " ") for cell in column.x]})
    encoder, other = (TableEncoder(kinds={"x": kind}).fit(frame) for frame in (column, plain))
    assert encoder.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    features, expected = (sparse.csr_array(encoder.transform(frame)).toarray() for frame in (column, plain))
    assert_array_equal(features, expected)


def test_gaps_are_filled_and_told():
    frame = pd.DataFrame({"x": [1.0, None, 5.0, 2.0], "y": [1.0, 2.0, 3.0, 9.0], "w": ["a", "", "a", "b"]})
    encoder = TableEncoder(kinds={"w": "words"}).fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["x", "x is missing", "y", "w=a", "w=b", "w is missing"]
    x, y = np.array([1, 2, 5, 2]) - 2.0, np.array([1, 2, 3, 9]) - 2.5  # less the median
    expected = [[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    expected = np.column_stack([x / np.std([1, 5, 2]), [0, 1, 0, 0], y / np.std([1, 2, 3, 9]), expected])
    np.testing.assert_allclose(encoder.transform(frame), expected)
    new = pd.DataFrame({"w": ["c"], "y": [None], "x": [None], "more": ["?"]})
    np.testing.assert_array_equal(encoder.transform(new), [[0, 1, 0, 0, 0, 0]])
    assert encoder.unseen(new) == {"w": "c"}


def test_new_rows_must_have_the_columns():
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}))
    with pytest.raises(DataError, match="1 column of the model is missing: 'y'; where nothing is known, add an empty"):
        encoder.transform(pd.DataFrame({"x": [1.0]}))
    with pytest.raises(DataError, match="column 'x' must hold numbers"):
        encoder.transform(pd.DataFrame({"x": ["much"], "y": [1]}))
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"y": ["1.5"], "x": [""]})), [[0, -4]])


def test_every_kind_can_be_asked_for():
    assert {*ENCODINGS} == {*KINDS}
    frame = pd.DataFrame({"x": ["1", "0", "1", "0"]})
    for kind in {*KINDS} - {"dates", "text"}:
        encoder = TableEncoder(kinds={"x": kind}).fit(frame)
        assert encoder.columns_[0].kind == kind
        assert np.isfinite(encoder.transform(frame).sum())
    assert TableEncoder(kinds={"id": "numbers"}).fit(pd.DataFrame({"id": range(30)})).columns_[0].kind == "numbers"
    for kinds, message in (({"x": "words!"}, "There is no kind 'words!'"), ({"y": "words"}, "there is no column 'y'")):
        with pytest.raises(ValueError, match=message):
            TableEncoder(kinds=kinds).fit(frame)
    with pytest.raises(DataError, match="column 'x' must hold dates"):
        TableEncoder(kinds={"x": "dates"}).fit(frame)


def test_codes_with_leading_zeros_are_kept_if_they_are_words():
    text = "code,y\n" + "".join(f"{code},{code[-1]}\n" for code in ("001", "0010", "1", "001", "0010", "1"))
    data = read_table(io.BytesIO(text.encode()), "y", kinds={"code": "words"})
    assert data.feature_names == ["code=001", "code=0010", "code=1"]


def test_a_table_of_numbers_stays_as_it_is_unless_asked():
    text = "id,a,b,y\n" + "".join(f"{row},{row % 7},,{row % 2}\n" for row in range(30))
    plain = read_table(io.BytesIO(text.encode()), "y")
    assert (plain.encoder, plain.feature_names) == (None, ["id", "a", "b"])
    assert np.isnan(plain.X[:, 2]).all()
    encoded = read_table(io.BytesIO(text.encode()), "y", encode=True)
    assert [(column.name, column.kind) for column in encoded.encoder.columns_] == [
        ("id", "id"),
        ("a", "numbers"),
        ("b", "constant"),
    ]
    assert encoded.feature_names == ["a"]
    assert encoded.take([0, 1]).encoder is encoded.encoder
    with_id = read_table(io.BytesIO(text.encode()), "y", row_id="id", drop="b", encode=True)
    assert (with_id.encoder, with_id.feature_names) == (None, ["a"])
    nothing_to_do = read_table(io.BytesIO(text.encode()), "y", drop=["id", "b"], encode=True)
    assert (nothing_to_do.encoder, nothing_to_do.feature_names) == (None, ["a"])


def test_labels_are_not_looked_at():
    frame = pd.DataFrame({"text": TEXTS, "word": RNG.choice(["a", "b"], N), "y": RNG.integers(0, 2, N)})
    one, other = from_frame(frame, "y"), from_frame(frame.assign(y=1 - frame["y"]), "y")
    assert (one.X != other.X).nnz == 0


def test_it_is_a_citizen_of_scikit_learn():
    frame = pd.DataFrame({"text": TEXTS, "size": RNG.random(N)})
    Y = pd.DataFrame({"vpn": [int("vpn" in text) for text in TEXTS], "large": (frame["size"] > 0.5).astype(int)})
    model = Pipeline([("columns", TableEncoder()), ("learner", CLEMS("hamming", n_trees=30, random_state=0))])
    model = clone(model).fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["text", "size"]
    assert (model.predict(frame) == Y).to_numpy().mean() > 0.95
    with pytest.raises(TypeError, match="TableEncoder takes a DataFrame; got ndarray"):
        TableEncoder().fit(np.ones((3, 2)))
