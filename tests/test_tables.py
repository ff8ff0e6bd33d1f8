"""Tables: CSV, Parquet and DataFrames."""

import csv
import io
import re
import tracemalloc
from datetime import date
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from clems.datasets import DataError, Limits, from_frame, read_table
from clems.datasets.formats.table import read_frame
from clems.datasets.new_rows import NewRows
from clems.datasets.text.records import Records, records_of
from clems.datasets.text.source import Source
from clems.datasets.wanted import Wanted


def read(text, *args, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_table(io.BytesIO(data), *args, **options)


def test_label_columns_by_name_pattern_and_prefix():
    text = "tag_b,x,tag_a,y\n1,2.5,0,yes\n0,,1,no\n"
    by_pattern = read(text, "tag_*")
    assert by_pattern.label_names == ["tag_b", "tag_a"]
    assert by_pattern.feature_names == ["x", "y"]
    assert np.array_equal(by_pattern.X, [[2.5, 1], [np.nan, 0]], equal_nan=True)
    assert by_pattern.Y.tolist() == [[1, 0], [0, 1]]
    by_name = read(text, ["tag_a", "y", "tag_b"], drop="x")
    assert by_name.Y.tolist() == [[0, 1, 1], [1, 0, 0]]
    assert by_name.X.shape == (2, 0)


def test_a_name_goes_before_a_pattern():
    assert read("a*,ab\n1,2\n", "a*").label_names == ["a*"]


def test_a_column_of_tags():
    data = read('x;tags\n1;"red| blue"\n2;\n3;NA|red|red|\n', tags="tags", separator="|")
    assert data.label_names == ["NA", "blue", "red"]  # NA is a tag like others
    assert sparse.issparse(data.Y)
    assert data.Y.toarray().tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 1]]
    assert data.feature_names == ["x"]
    spaced = read("x,tags\n1,a  b\n", tags="tags", separator=" ")
    assert spaced.label_names == ["a", "b"]
    with pytest.raises(ValueError, match="say what is between two tags"):
        read("x,tags\n1,a\n", tags="tags")


def test_labels_of_training_are_the_labels_of_a_test_file():
    text = "x,tags\n1,a\n2,b;a\n"
    data = read(text, ["b", "c", "a"], tags="tags", separator=";")
    assert data.Y.toarray().tolist() == [[0, 0, 1], [1, 0, 1]]
    numbered = read("x,tags\n1,7\n2,8;7\n", [7, 8], tags="tags", separator=";")
    assert numbered.Y.toarray().tolist() == [[1, 0], [1, 1]]
    with pytest.raises(DataError, match=r"line 3: a tag is none of the labels \(a\): 'b'"):
        read(text, ["a"], tags="tags", separator=";")


def test_a_second_file_of_rows_and_labels():
    pairs = "row,label\nu,red\nv,blue\nu,blue\nu,red\n"
    data = read("id,x\nu,1\nw,3\nv,2\n", pairs=io.BytesIO(pairs.encode()), row_id="id")
    assert data.label_names == ["blue", "red"]
    assert data.Y.toarray().tolist() == [[1, 1], [0, 0], [1, 0]]
    assert data.feature_names == ["x"]
    numbered = read("x\n1\n2\n", pairs=pd.DataFrame({"row": [1], "label": ["red"]}))
    assert numbered.Y.toarray().tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("table", "pairs", "message"),
    [
        ("id,x\nu,1\n", "row,label\nu,red\nz,red\n", "pairs.csv, line 3: no row is called so: 'z'"),
        ("id,x\nu,1\n", "row,label\nu,\n", "pairs.csv, line 2: the label is missing"),
        ("id,x\nu,1\nu,2\n", "row,label\nu,a\n", "table.csv, line 3: another row has the same 'id': 'u'"),
        ("id,x\nu,1\n", "row,label,more\nu,a,b\n", "pairs.csv: a table of pairs has two columns"),
        ("id,x\nu,1\n", "row,label\n", "no row has a label"),
        (
            "id,x\nu,1\nv,1\n",
            "u,a\nv,b\n",
            "pairs.csv, line 1: the first line names the columns, but it calls a row: 'u'",
        ),
    ],
)
def test_faults_of_pairs(tmp_path, table, pairs, message):
    tmp_path.joinpath("table.csv").write_text(table)
    tmp_path.joinpath("pairs.csv").write_text(pairs)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "table.csv", pairs=tmp_path / "pairs.csv", row_id="id")


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [("x,y\n1,1\n", ","), ("x;y\n1;1\n", ";"), ("x\ty\n1\t1\n", "\t"), ("x|y\n1|1\n", "|"), ('"x,;";y\n1;1\n', ";")],
)
def test_the_first_line_shows_the_delimiter(text, delimiter):
    assert read(text, "y").X.tolist() == [[1]]
    assert read(text, "y", delimiter=delimiter).X.tolist() == [[1]]


def test_decimal_commas():
    assert read("x;y\n1,5;1\n-2;0\n", "y", decimal=",").X.tolist() == [[1.5], [-2]]
    for cell in ("1.500", "1.000,5"):  # where a point may part thousands
        with pytest.raises(
            DataError, match=r"line 2: column 'x' must hold numbers; .*, or correct what is not a number:"
        ):
            read(f"x;y\n{cell};1\n-2,5;0\n", "y", decimal=",")
    with pytest.raises(DataError, match=r"line 2: column 'x' must hold numbers.*: '1,5'"):
        read("x;y\n1,5;1\n", "y")


def same(a, b):
    """Whether numbers are equal to the last bit, the sign of zero included."""
    return np.asarray(a, np.float64).tobytes() == np.asarray(b, np.float64).tobytes()


NUMBERS = ["0.9465724218669327", "6E+23", "956755259049838137e-155", "0.98725920103301290087216557367355563", "7"]


@pytest.mark.parametrize("after", ["", " ", "\t"])
@pytest.mark.parametrize("before", ["", "+", "-", " +", "\t+", " -", "\t", "\t -"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_numbers_with_signs_and_blanks_are_what_float_reads(before, after, decimal):
    cells = [before + number.replace(".", decimal) + after for number in NUMBERS]
    expected = [[float(cell.replace(decimal, "."))] for cell in cells]
    for quoted in ("{}", '"{}"'):
        text = "x;y\n" + "".join(f"{quoted.format(cell)};1\n" for cell in cells)
        assert same(read(text, "y", decimal=decimal).X, expected), text
        pieces = NewRows(io.BytesIO(text.encode()), Wanted(["x"], 1, ["y"]), decimal=decimal)
        assert same(np.concatenate([piece.X for piece in pieces]), expected), text


@pytest.mark.parametrize("others", [[], ["3"], ["99999999999999999999"], ["0.5"], [""]])
@pytest.mark.parametrize("zero", ["-0", "-000", "-0 ", '"-0"', "-0e5"])
@pytest.mark.parametrize("label", ["1", "?"])  # pandas reads whole numbers beside missing ones as such, too
def test_the_sign_of_zero_is_kept(zero, others, label):
    text = "x,y\n" + "".join(f"{cell},{label}\n" for cell in [zero, *others])
    assert same(read(text, "y", missing_labels="keep").X[0], [-0.0])


@pytest.mark.parametrize("great", [2**63, 2**64 - 1, 2**63 - 1, 2**64, 10**25])
@pytest.mark.parametrize("others", [[], ["NA", "-1"], [""], ["1.5", "?"], ["-1"], ["True"]])
def test_great_whole_numbers_beside_missing_ones(great, others):
    text = "x,y\n" + "".join(f"{cell},1\n" for cell in [great, *others])
    if others == ["True"]:
        with pytest.raises(
            DataError, match=r"line 3: column 'x' must hold numbers.*correct what is not a number.*: 'True'"
        ):
            read(text, "y")
        return
    with pytest.raises(DataError, match=r"column 'x' must hold numbers.*: '1_0'"):
        read(f"{text}1_0,1\n", "y")
    expected = [float(cell) if cell not in ("NA", "", "?") else np.nan for cell in [great, *others]]
    assert np.array_equal(read(text, "y").X.ravel(), expected, equal_nan=True)


@pytest.mark.parametrize("great", [2**63, 2**64 - 1, 10**25])
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_great_whole_numbers_of_frames(great, missing):
    columns = [pd.Series([great, missing, 3], dtype=object)]
    columns += [pd.Series([great, missing, 3], dtype="UInt64")] if great < 2**64 else []
    columns += [pd.Series([great, None, 3], dtype="uint64[pyarrow]")] if great < 2**64 else []
    for column in columns:
        frame = pd.DataFrame({"x": column, "y": [0, 1, 0]})
        assert np.array_equal(from_frame(frame, "y").X.ravel(), [float(great), np.nan, 3], equal_nan=True)
        if great < 2**64 and column.dtype != object:
            buffer = io.BytesIO()
            frame.to_parquet(buffer)
            data = read(buffer.getvalue(), "y")
            assert np.array_equal(data.X.ravel(), [float(great), np.nan, 3], equal_nan=True)


def outcome(*args, **options):
    try:
        data = read(*args, **options)
    except DataError as error:
        return str(error)
    return (
        (data.X.toarray() if sparse.issparse(data.X) else data.X).tobytes(),
        list(data.feature_names),
        np.asarray(data.Y.todense() if sparse.issparse(data.Y) else data.Y).tolist(),
    )


def test_wide_tables_are_not_left_to_pandas(monkeypatch):
    monkeypatch.setattr("clems.datasets.text.cells.read_csv", lambda *_, **__: pytest.fail("pandas is asked"))
    names = [f"x{place}" for place in range(6000)]
    for cells in (["1.5"] * 6000, ["+0.5", ""] * 3000, ["1"] * 5990 + ["word"] * 10):
        text = ",".join([*names, "y"]) + "\n" + 2 * (",".join([*cells, "1"]) + "\n")
        data = read(text, "y", nominal="codes")
        assert data.feature_names == names
        row = [{"": np.nan, "word": 0.0}.get(cell, cell) for cell in cells]
        assert np.array_equal(data.X, np.array([row, row], np.float64), equal_nan=True)


def test_wide_tables_take_memory_as_long_ones_do():
    for n in (6000, 20_000):
        text = ",".join([*(f"x{place}" for place in range(n)), "y"]) + "\n" + 2 * ("1.5," * n + "1\n")
        tracemalloc.start()
        try:
            data = read(text, "y")
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert np.array_equal(data.X, np.full((2, n), 1.5))
        assert most < 60 * len(text), "a column takes thousands of bytes"


UNUSUAL = [
    *["", " ", "1", "-0", "+1", " +0.1", "1 ", "x", "NA", "NA ", "nan", "NAN", "True", "false", "yes", "no", "inf"],
    *["1e999", "1_0", "0x1", '"1"', '" 1"', '\t"1"', '"a""b"', 'a"b', "18446744073709551615", "9" * 30, "1,5", "1.5"],
    *["é", "\t", "1\v", "1e", "-", ".", "\u0663", "\0"],
]
OF_UNUSUAL_CELLS = (
    st.lists(st.lists(st.sampled_from(UNUSUAL), min_size=2, max_size=2), min_size=1, max_size=5),
    st.sampled_from([None, "codes", "one-hot"]),
    st.sampled_from(".,"),
)


@example([["", "\0"]], None, ".")  # the end of a cell, to pandas 2.2
@example([["", "x"], ["True", ""]], None, ".")  # true, to pandas
@example([["", "9" * 30], ["", "1e999"]], None, ".")  # words, to pandas
@given(*OF_UNUSUAL_CELLS)
@settings(deadline=None, max_examples=150)
def test_pandas_changes_nothing(rows, nominal, decimal):
    text = "x;z;y\n" + "".join(";".join(row) + ";1\n" for row in rows)
    fast = outcome(text, "y", nominal=nominal, decimal=decimal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clems.datasets.text.cells._by_pandas", lambda *_: None)
        assert outcome(text, "y", nominal=nominal, decimal=decimal) == fast
        patch.setattr("clems.datasets.text.cells._all_numbers", lambda *_: None)
        assert outcome(text, "y", nominal=nominal, decimal=decimal) == fast


@given(*OF_UNUSUAL_CELLS)
@settings(deadline=None, max_examples=150)
def test_a_table_is_the_same_in_however_many_pieces_it_is_read(rows, nominal, decimal):
    text = "x;z;y\n" + "".join(";".join(row) + ";1\n" for row in rows)
    at_once = outcome(text, "y", nominal=nominal, decimal=decimal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clems.datasets.text.source.BLOCK", 7)
        patch.setattr("clems.datasets.formats.csv.CELLS", 1)
        assert outcome(text, "y", nominal=nominal, decimal=decimal) == at_once


def test_a_column_that_holds_words_late_holds_words_throughout(monkeypatch):
    monkeypatch.setattr("clems.datasets.text.source.BLOCK", 7)
    monkeypatch.setattr("clems.datasets.formats.csv.CELLS", 1)
    text = "code,flag,y\n" + "".join(f"00{row},{'True' if row < 5 else ''},1\n" for row in range(10)) + "AB1,False,0\n"
    frame, rows = read_frame(Source(io.BytesIO(text.encode())))
    assert frame["code"].tolist() == [*(f"00{row}" for row in range(10)), "AB1"]
    assert frame["flag"].tolist()[:5] == [True] * 5
    assert frame["flag"].isna().sum() == 5
    assert str(rows.row_fault("what", 10)) == "data, line 12: what."


@pytest.mark.parametrize("end", ["\r", "\n\r", "\r\n"])
def test_line_ends_of_every_kind(end):
    data = read(f"a,l,b{end}5,1,6{end}{end},0,1{end}", "l")
    assert np.array_equal(data.X, [[5, 6], [np.nan, 1]], equal_nan=True)
    assert data.Y.tolist() == [[1], [0]]


def test_the_second_line_helps_to_find_the_delimiter():
    assert read("a (x;y;z),l\n1,0\n", "l").feature_names == ["a (x;y;z)"]


def test_a_column_of_tags_is_one_column():
    with pytest.raises(DataError, match=r"there is no column 't\*'"):
        read("a,t1,t2\n5,x,7\n", tags="t*", separator=";")
    with pytest.raises(DataError, match=r"there is no column 'i\*'"):
        read("id,ix,a\n1,5,7\n", pairs=pd.DataFrame({"row": ["1"], "label": ["x"]}), row_id="i*")


def test_one_typo_does_not_turn_numbers_into_codes():
    text = "a,l\n1.5,0\n2.5,1\noops,1\n"
    for nominal in (None, "codes", "one-hot"):
        with pytest.raises(
            DataError, match=r"line 4: column 'a' must hold numbers.*correct what is not a number.*: 'oops'"
        ):
            read(text, "l", nominal=nominal)
    great = read("a,l\n-5,0\n18446744073709551615,1\n70,1\n", "l", nominal="codes")
    assert great.X.ravel().tolist() == [-5, 2.0**64, 70]


def test_a_column_without_a_name_is_refused():
    frame = pd.DataFrame({"x": [1.5, 2], "l": [0, 1]})
    with pytest.raises(DataError, match=r"a column has no name.*drop=\[''\]"):
        read(frame.to_csv(), "l")
    assert read(frame.to_csv(), "l", drop="").feature_names == ["x"]
    buffer = io.BytesIO()
    frame.sample(frac=1, random_state=0).to_parquet(buffer)
    assert read(buffer.getvalue(), "l").feature_names == ["x"]


def test_long_cells():
    assert read("x,text,l\n1," + "a" * 200_000 + ",1\n", "l", drop="text").X.tolist() == [[1]]


def test_words():
    text = "city,x,y\nRome,1,0\nOslo,2,1\n,3,1\n"
    with pytest.raises(DataError, match=r"line 2: column 'city' must hold numbers.*drop=\['city'\].*one-hot.*: 'Rome'"):
        read(text, "y", encode=False)
    hot = read(text, "y", nominal="one-hot")
    assert hot.feature_names == ["city=Oslo", "city=Rome", "x"]
    assert np.array_equal(hot.X[:, :2], [[0, 1], [1, 0], [np.nan, np.nan]], equal_nan=True)
    assert np.array_equal(read(text, "y", nominal="codes").X[:, 0], [1, 0, np.nan], equal_nan=True)
    assert read(text, "y", drop="city").feature_names == ["x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data: it is empty"),
        ("\n \n", "it is empty"),
        ("x,y\n", "there are no rows"),
        ("x,y,y\n1,1,1\n", "two columns are called 'y'"),
        ("x,y\n1,1\n1\n", "line 3: the line has 1 value; there are 2 columns: '1'"),
        ("x,y\n1,1,1\n", "line 2: the line has 3 values; there are 2 columns: '1,1,1'"),
        ("x,z\n1,1\n", "there is no column 'y'; there are 'x', 'z'"),
        ("x,y\n1,2\n", "line 2: label 'y' must be 0 or 1: '2'"),
        ("x,y\n1,1\n\n1,\n", "line 4: label 'y' must be 0 or 1, or in training missing with missing_labels='keep': ''"),
        ("x,y\n1,maybe\n", "line 2: label 'y' must be 0 or 1: 'maybe'"),
        ("x,y\ninf,1\n", "line 2: column 'x' must be finite"),
        ('x,y\n"a\nb",1\nc,1\n', r"line 2: column 'x' must hold numbers.*: 'a\\nb'"),
        ('z,x,y\n"a\nb",1,1\nb,q,1\n', r"line 4: column 'x' must hold numbers.*: 'q'"),
        (b"x,y\n1,1\n\xff,0\n", "line 3: the text is not utf-8"),
        ('x,y\n"1,1\n', "the line has 1 value|cannot be read as a table"),
    ],
)
def test_a_fault_is_said_in_one_sentence(text, message):
    with pytest.raises(DataError, match=message) as caught:
        read(text, "y", drop="z*" if text[0:1] == "z" else (), encode=False)
    assert "\n" not in str(caught.value)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="Say where the labels are"):
        read("x,y\n1,1\n")
    with pytest.raises(ValueError, match="not in both"):
        read("x,y\n1,1\n", tags="y", separator=";", pairs=pd.DataFrame())
    with pytest.raises(ValueError, match="it needs tags="):
        read("x,y\n1,1\n", "y", separator=";")
    with pytest.raises(ValueError, match="leave it out where kinds= or encode="):
        read("x,y\n1,1\n", "y", nominal="codes", encode=True)
    with pytest.raises(ValueError, match="leave out encode=False"):
        read("x,y\n1,1\n", "y", kinds={"x": "words"}, encode=False)
    with pytest.raises(ValueError, match="nominal must be"):
        read("x,y\n1,1\n", "y", nominal="hot")
    with pytest.raises(ValueError, match=r"delimiter must be one character; got '\|\|'"):
        read("x,y\n1,1\n", "y", delimiter="||")
    for nothing in ([], "", ()):
        with pytest.raises(ValueError, match="names no label"):
            read("x,y\n1,1\n", nothing)
    with pytest.raises(TypeError, match="labels must be names or patterns of columns; got 1"):
        read("x,y\n1,1\n", 1)
    with pytest.raises(TypeError, match="binary mode"):
        read_table(io.StringIO("x,y\n1,1\n"), "y")
    with pytest.raises(TypeError, match="frame must be a DataFrame; got list"):
        from_frame([[1, 0]], "y")
    with pytest.raises(DataError, match="compressed by zip"):
        read(b"PK\x03\x04 and so on", "y")
    with pytest.raises(ValueError, match="Limits must be positive"):
        Limits(total=-1)


def test_frames():
    frame = pd.DataFrame(
        {
            1: [1, 2],
            "small": pd.array([1, None], dtype="Int64"),
            "truth": pd.array([True, None], dtype="boolean"),
            "kind": pd.Categorical(["v", "u"], categories=["u", "v", "w"]),
            "object": pd.Series([1, 2.5], dtype=object),
            "y": [True, False],
        }
    )
    data = from_frame(frame, "y", encode=False, name="mine")
    assert data.feature_names == ["1", "small", "truth", "kind", "object"]
    expected = [[1, 1, 1, 1, 1], [2, np.nan, np.nan, 0, 2.5]]
    assert np.array_equal(data.X, expected, equal_nan=True)
    assert data.Y.tolist() == [[1], [0]]
    assert from_frame(frame, "y", nominal="one-hot").feature_names[3:6] == ["kind=u", "kind=v", "kind=w"]
    assert 1 in frame.columns  # what was given is left alone


def test_frames_with_lists_of_tags():
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "tags": [["a", "b"], {"b"}, None, "a;b"]})
    with pytest.raises(DataError, match=r"frame: say what is between two tags, for instance separator=';', in row 3"):
        from_frame(frame, tags="tags")
    assert from_frame(frame, tags="tags", separator=";").Y.toarray().tolist() == [[1, 1], [0, 1], [0, 0], [1, 1]]


def test_names_as_an_index_an_array_or_numbers():
    frame = pd.DataFrame([[1.5, 0, 1], [2, 1, 0]], columns=["x", 1, 2])
    for labels in (frame.columns[1:], np.array([1, 2]), [1, 2], ["1", "2"]):
        assert from_frame(frame, labels).label_names == ["1", "2"]
    assert from_frame(frame, [1], drop=frame.columns[2:]).feature_names == ["x"]


def test_numbers_of_every_kind():
    cells = pd.Series([Decimal("1.5"), 2, None, True], dtype=object)
    frame = pd.DataFrame({"x": cells, "c": pd.Categorical([10, 20, 10, 20]), "y": [0, 1, 0, 1]})
    expected = [[1.5, 10], [2, 20], [np.nan, 10], [1, 20]]
    assert np.array_equal(from_frame(frame, "y").X, expected, equal_nan=True)
    for great in (10**400, np.inf):
        with pytest.raises(DataError, match="column 'x' must be finite"):
            from_frame(pd.DataFrame({"x": pd.Series([great], dtype=object), "y": [1]}), "y")
    with pytest.raises(DataError, match="column 'x' must be finite, in row 1"):
        from_frame(pd.DataFrame({"x": pd.arrays.SparseArray([0.0, -np.inf]), "y": [1, 0]}), "y")


def test_words_of_every_kind():
    frame = pd.DataFrame(
        {
            "b": pd.Categorical([b"u", b"v", None], categories=[b"v", b"u"]),
            "o": pd.Series(["u", None, "v"], dtype=object),
            "s": pd.Series(["", "u", None], dtype="string"),
            "y": [0, 1, 0],
        }
    )
    codes = from_frame(frame, "y", nominal="codes")
    nan = np.nan
    assert np.array_equal(codes.X, [[1, 0, nan], [0, nan, 0], [nan, 1, nan]], equal_nan=True)
    assert from_frame(frame, "y", nominal="one-hot").feature_names == ["b=b'v'", "b=b'u'", "o=u", "o=v", "s=u"]


def test_missing_tags_are_no_tags():
    assert from_frame(pd.DataFrame({"x": [1], "t": [["a", None, np.nan]]}), tags="t").label_names == ["a"]


def test_faults_of_frames():
    with pytest.raises(DataError, match="two columns are called 'x'"):
        from_frame(pd.DataFrame([[1, 1]], columns=["x", "x"]), "x")
    with pytest.raises(DataError, match=r"'when' holds datetime64.*drop=\['when'\]"):
        from_frame(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"]), "y": [1]}), "y")
    with pytest.raises(DataError, match=r"label 'y' must be 0 or 1, in row 1: '3'"):
        from_frame(pd.DataFrame({"x": [1, 2], "y": [1, 3]}), "y")
    with pytest.raises(DataError, match="one-hot encoding makes two features called 'a=b'"):
        from_frame(pd.DataFrame({"a=b": [1, 2], "a": ["b", "c"], "y": [1, 0]}), "y", nominal="one-hot")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (pd.Series([[1], [2]], dtype=object), r"column 'x' holds a list, which is neither.*drop=\['x'\], in row 0"),
        (pd.Series([{"a": 1}, None], dtype=object), "column 'x' holds a dict"),
        (pd.Series([None, date(2020, 1, 1)], dtype=object), "column 'x' holds a date, .*, in row 1: '2020-01-01'"),
        (pd.arrays.SparseArray(np.array(["a", "b"], object)), "column 'x' holds Sparse"),
    ],
)
def test_what_is_neither_number_nor_word_is_refused(cells, message):
    frame = pd.DataFrame({"x": cells, "y": [0, 1]})
    with pytest.raises(DataError, match=message):
        from_frame(frame, "y", nominal="codes")
    with pytest.raises(DataError, match=r"label 'x' must be 0 or 1.*, in row 0"):
        from_frame(frame, "x")


def test_missing_values_of_every_kind():
    gone = [None, np.nan, pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN")]
    frame = pd.DataFrame({"x": pd.Series([1.5, *gone], dtype=object), "y": [1] * 7})
    assert np.array_equal(from_frame(frame, "y").X.ravel(), [1.5, *[np.nan] * 6], equal_nan=True)
    assert from_frame(pd.DataFrame({"x": pd.Categorical([1j, 2]), "y": [0, 1]}), "y", encode=False).X.tolist() == [
        [0],
        [1],
    ]


def test_sparse_frames_stay_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_array([[0, 2.5, 1], [0, 0, 0]]), columns=["a", "b", "y"])
    data = from_frame(frame, "y")
    assert sparse.issparse(data.X)
    assert sparse.issparse(data.Y)
    assert data.X.toarray().tolist() == [[0, 2.5], [0, 0]]
    assert data.Y.toarray().tolist() == [[1], [0]]
    with pytest.raises(DataError, match=r"label 'b' must be 0 or 1, in row 0: '2.5'"):
        from_frame(frame, "b")


def test_one_hot_is_limited():
    text = "x,y\n" + "".join(f"w{place},1\n" for place in range(3000))
    with pytest.raises(DataError, match=r"3,000 rows of 3,000 columns would take 69 MiB; limits=Limits\(total=...\)"):
        read(text, "y", nominal="one-hot", limits=Limits(total=1 << 20))


def test_parquet_whose_parts_have_other_rows_than_the_whole(tmp_path):
    """Room for all rows of a part would be made: such a file of 2,626 bytes took 15 GiB."""
    path, messages = tmp_path / "table.parquet", set()
    pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0, 1, 1]}).to_parquet(path)
    whole = path.read_bytes()
    for place in (one.start() for one in re.finditer(rb"\x16\x06", whole)):  # numbers of 64 bits that are 3
        path.write_bytes(whole[: place + 1] + b"\x0c" + whole[place + 2 :])
        try:
            read_table(path, "y")
        except DataError as error:
            messages.add(str(error).partition("(")[2])
    assert {"3 rows in all, and 6 in its parts).", "6 rows in all, and 3 in its parts)."} <= messages


def test_parquet(tmp_path):
    frame = pd.DataFrame({"x": [1.5, None], "kind": pd.Categorical(["u", "v"]), "y": [True, False], "t": [["a"], []]})
    frame.to_parquet(tmp_path / "table.parquet")
    data = read_table(tmp_path / "table.parquet", "y", drop="t", encode=False)
    assert np.array_equal(data.X, [[1.5, 0], [np.nan, 1]], equal_nan=True)
    assert read_table(tmp_path / "table.parquet", tags="t").label_names == ["a"]
    whole = tmp_path.joinpath("table.parquet").read_bytes()
    with pytest.raises(DataError, match="it is not a whole Parquet file"):
        read(whole[: len(whole) // 2], "y")
    with pytest.raises(DataError, match=r"more than 10 bytes.*limits=Limits\(total=...\)"):
        read(whole, "y", limits=Limits(total=10))
    pd.DataFrame({"x": np.zeros(10**6), "y": np.ones(10**6, bool)}).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(DataError, match="1,000,000 rows of 2 columns would take 15 MiB"):
        read_table(tmp_path / "table.parquet", "y", limits=Limits(total=1 << 20))


CELLS = st.text(st.sampled_from('a1 ,;"\n\r\té'), max_size=4)


@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.booleans(),
    st.lists(st.integers(0, 60), max_size=4),
)
@settings(deadline=None)
def test_records_are_those_of_the_csv_module_wherever_the_text_is_cut(rows, end, quoting, ends, cuts):
    if quoting == csv.QUOTE_MINIMAL:  # of plain cells, as most files have them
        rows = [[re.sub(r'[,"\n\r\t ]', "", cell) or "0" for cell in row] for row in rows]
    written = io.StringIO()
    csv.writer(written, lineterminator=end, quoting=quoting).writerows([["a", "b", "c"], *rows])
    text = written.getvalue().removesuffix("" if ends else end).encode()
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    expected, line = [], 1
    reader = csv.reader(io.StringIO(text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode(), newline=""))
    for record in reader:
        if record and len(record) != 3:
            expected = f"line {line}: the line has {len(record)} value"
            break
        expected += [record] if record else []
        line = reader.line_num + 1
    records = Records((text[start:stop] for start, stop in pairwise(places)), ",", Source(io.BytesIO()))
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            list(records)
        return
    blocks = list(records)
    found = [record for _, block in blocks for _, record in records_of(block, ",")]
    assert sum(n for n, _ in blocks) == len(found)
    assert [records.names, *found] == expected


@pytest.mark.parametrize("below", ["1", "yes"], ids=["numbers", "words"])
def test_a_wrong_label_is_shown_alike_however_its_column_was_read(below, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(f"x,a,b\n1,0,999999999999999999991\n2,1,{below}\n")
    with pytest.raises(DataError, match=r"line 2: label 'b' must be 0 or 1: '1e\+21'\.$"):
        read_table(path, ["a", "b"])


def test_a_separator_that_is_not_there_is_noticed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("size,tags\n1,\n2,a|b\n3,b\n4,a\n")
    with pytest.raises(DataError, match=r"line 3: say what is between two tags, for instance separator='\|': 'a\|b'"):
        read_table(path, tags="tags")
    said = r"no cell of 'tags' has the separator ';', so that each is one tag; .* say separator='\|'"
    with pytest.warns(UserWarning, match=said):
        assert read_table(path, tags="tags", separator=";").label_names == ["a", "a|b", "b"]
    assert read_table(path, tags="tags", separator="|").label_names == ["a", "b"]
    path.write_text("size,tags\n1,a\n2,b\n")
    assert read_table(path, tags="tags", separator=";").label_names == ["a", "b"]  # where nothing else is between them


def test_text_of_windows_is_not_taken_for_latin_1(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe,tag\n1,0\n2 €,1\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"line 1: the text is not utf-8; .* encoding='latin-1'"):
        read_table(path, "tag")
    with pytest.raises(DataError, match=r"line 3: the text is not latin-1; .* encoding='cp1252': '€,1"):
        read_table(path, "tag", encoding="latin-1")
    path.write_bytes("€,tag\n1,0\n2,1\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"line 1: the text is not utf-8; .* encoding='cp1252'"):
        read_table(path, "tag")
    assert read_table(path, "tag", encoding="cp1252").feature_names == ["€"]
    path.write_bytes("größe,tag\n1,0\n2,1\n".encode("latin-1"))
    assert read_table(path, "tag", encoding="latin-1").feature_names == ["größe"]
