"""ARFF files, as Weka, Mulan, MEKA and people write them."""

import io
import math

import arff as liac
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clems.datasets import DataError, read_arff
from clems.datasets.formats.arff_header import read_header
from clems.datasets.formats.arff_rows import (
    Columns,
    _any_dense_rows,
    _any_sparse_rows,
    _plain_dense_rows,
    _plain_sparse_rows,
)
from clems.datasets.text.source import Source


def read(text, labels=-1, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_arff(io.BytesIO(data), labels, **options)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


SMALL = """@relation small
@attribute a numeric
@attribute colour {red, 'dark blue', green}
@attribute y {0,1}
@data
1.5,'dark blue',1
?,red,0
-2e3,?,1
"""


def test_a_small_file():
    data = read(SMALL, name="small")
    assert repr(data) == "<Dataset small: 3 rows, 2 features, 1 label>"
    assert np.array_equal(data.X, [[1.5, 1], [np.nan, 0], [-2000, np.nan]], equal_nan=True)
    assert data.Y.tolist() == [[1], [0], [1]]
    assert (data.feature_names, data.label_names) == (["a", "colour"], ["y"])


def test_one_hot():
    data = read(SMALL, nominal="one-hot")
    assert data.feature_names == ["a", "colour=red", "colour=dark blue", "colour=green"]
    nan = np.nan
    assert np.array_equal(data.X[:, 1:], [[0, 1, 0], [1, 0, 0], [nan, nan, nan]], equal_nan=True)


def test_drop():
    data = read(SMALL, drop="col*")
    assert data.feature_names == ["a"]
    with pytest.raises(DataError, match="no label is left"):
        read(SMALL, drop=["y"])


LOOKS = {
    "a brace in a comment": SMALL.replace("{0,1}", "{0,1} % {0 or 1}"),
    "a comment after @data": SMALL.replace("@data", "@data % here"),
    "upper case": SMALL.replace("@relation", "@RELATION").replace("@attribute", "@Attribute").replace("@data", "@DATA"),
    "carriage returns": SMALL.replace("\n", "\r\n"),
    "old carriage returns": SMALL.replace("\n", "\r"),
    "comments": SMALL.replace("@data\n", "% a comment\n@data\n% another, with 'a quote\n").replace(
        "?,red", "\n%\n?,red"
    ),
    "no last line feed": SMALL.removesuffix("\n"),
    "spaces": SMALL.replace(",", " , ").replace("@attribute a", "  @attribute\t a"),
    "empty lines": SMALL.replace("\n", "\n\n   \n"),
    "double quotes": SMALL.replace("'", '"'),
    "byte order mark": "\ufeff" + SMALL,
    "quoted names": SMALL.replace("e a ", "e 'a' ").replace("colour", '"colour"'),
    "no space before the values": SMALL.replace("colour {", "colour{"),
    "other words for numbers": SMALL.replace("numeric", "Real"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_same_file_in_other_looks(look):
    expected, found = read(SMALL), read(LOOKS[look])
    assert np.array_equal(found.X, expected.X, equal_nan=True)
    assert np.array_equal(found.Y, expected.Y)
    assert (found.feature_names, found.label_names) == (expected.feature_names, expected.label_names)


def test_names_with_quotes_escapes_spaces_and_accents():
    text = (
        "@relation r\n@attribute TAG_m\\'usica {0,1}\n@attribute 'it\\'s 100\\%' real\n"
        '@attribute "tab\\there" real\n@attribute été real\n@data\n1,2,3,4\n'
    )
    data = read(text, labels=1)
    assert data.label_names == ["TAG_m'usica"]
    assert data.feature_names == ["it's 100%", "tab\there", "été"]


LINES = st.sampled_from(
    [
        "@attribute {} numeric",
        "@attribute {} {{0,1}}",
        "@ATTRIBUTE {} numeric",
        "@attribute\t{} real",
        "  @attribute {} real",
        "@attribute '{}' numeric",
        "@attribute {} {{u, v}}",
        "@attribute {} numeric % why",
        "@attribute {} integer",
    ]
)


@given(st.lists(st.tuples(LINES, st.sampled_from(["", "\n", "% a comment\n"])), min_size=1, max_size=12))
def test_attributes_keep_their_order_however_they_are_declared(lines):
    header = "".join(between + line.format(f"a{place}") + "\n" for place, (line, between) in enumerate(lines))
    columns = read_header(Source(io.BytesIO(f"@relation r\n{header}@data\n1\n".encode())))[0]
    assert columns.names == [f"a{place}" for place in range(len(lines))]
    for place, (line, _) in enumerate(lines):
        listed = ("0", "1") if "0,1" in line else ("u", "v") if "u, v" in line else None
        assert columns.kinds[columns.kind_of[place]].values == listed


def test_a_header_of_many_blocks():
    names = [f"attribute{place}" for place in range(60_000)]
    header = "".join(f"@attribute {name} {'real' if len(name) % 2 else '{0,1}'}\n" for name in names)
    data = read(f"@relation r\n{header}@data\n{{0 1,59999 1}}\n", [names[-1]])
    assert [*data.feature_names, *data.label_names] == names
    assert data.X.toarray()[0].nonzero()[0].tolist() == [0]
    assert data.Y.toarray().tolist() == [[1]]


def test_encodings():
    text = "@relation r\n@attribute été real\n@attribute y {0,1}\n@data\n4,1\n"
    with pytest.raises(DataError, match=r"line 2: the text is not utf-8.*encoding='latin-1'"):
        read(text.encode("latin-1"))
    assert read(text.encode("latin-1"), encoding="latin-1").feature_names == ["été"]
    assert read(text.encode("utf-16"), encoding="utf-16").feature_names == ["été"]
    with pytest.raises(ValueError, match="There is no encoding"):
        read(text, encoding="klingon")


SPARSE = """@relation 'r: -C 2'
@attribute y {0,1}
@attribute z {1,0}
@attribute a numeric
@attribute b {u,v,w}
@attribute c {no,yes}
@data
{0 1,2 0.5,3 w}
{}
{1 0, 4 yes}
{4 yes,3 v}
{2 ?}
"""


def test_what_a_sparse_row_omits_is_the_first_value():
    data = read(SPARSE, None)
    assert sparse.issparse(data.X)
    assert sparse.issparse(data.Y)
    assert data.label_names == ["y", "z"]
    assert data.Y.toarray().tolist() == [[1, 1], [0, 1], [0, 0], [0, 1], [0, 1]]
    expected = [[0.5, 2, 0], [0, 0, 0], [0, 0, 1], [0, 1, 1], [np.nan, 0, 0]]
    assert np.array_equal(data.X.toarray(), expected, equal_nan=True)
    hot = read(SPARSE, None, nominal="one-hot")
    assert hot.feature_names == ["a", "b=u", "b=v", "b=w", "c"]
    assert hot.X.toarray()[:, 1:4].tolist() == [[0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_a_missing_word_is_missing_in_all_its_columns():
    hot = read(SPARSE.replace("{2 ?}", "{3 ?}"), None, nominal="one-hot").X.toarray()
    assert np.isnan(hot[4, 1:4]).all()
    assert not np.isnan(hot[:4]).any()


def test_the_sign_of_c_says_which_end():
    text = "@relation 'r: -C {}'\n@attribute a {{0,1}}\n@attribute b {{0,1}}\n@attribute c {{0,1}}\n@data\n1,0,0\n"
    assert read(text.format(1), None).label_names == ["a"]
    assert read(text.format(-2), None).label_names == ["b", "c"]
    assert read(text.format(1), -1).label_names == ["c"]
    with pytest.raises(DataError, match="labels=4 does not fit 3 attributes"):
        read(text.format(4), None)
    filtered = text.format("1-weka.filters.unsupervised.attribute.Reorder-R2-last,1")
    with pytest.raises(DataError, match="changed by a filter afterwards"):
        read(filtered, None)
    with pytest.raises(DataError, match="nothing says which attributes are labels"):
        read(SMALL, None)


def test_labels_by_name_and_pattern():
    text = "@relation r\n@attribute tag_b {0,1}\n@attribute x real\n@attribute tag_a {false,TRUE}\n@data\n1,3,TRUE\n"
    assert read(text, "tag_*").label_names == ["tag_b", "tag_a"]
    assert read(text, ["tag_a", "tag_b"]).label_names == ["tag_a", "tag_b"]
    assert read(text, ["tag_a", "tag_b"]).Y.tolist() == [[1, 1]]
    with pytest.raises(DataError, match="there is no column 'tag_c'; did you mean 'tag_b'"):
        read(text, ["tag_c"])


def test_labels_of_an_xml_file_in_any_order(tmp_path):
    tmp_path.joinpath("r-train.arff").write_text(
        "@relation r\n@attribute b {0,1}\n@attribute x real\n@attribute m\\'a {0,1}\n@data\n1,2,0\n"
    )
    xml = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="m\\\'a"><label name="b"/></label></labels>'
    tmp_path.joinpath("r.xml").write_text(xml)
    tmp_path.joinpath("other.xml").write_text("no xml")
    data = read_arff(tmp_path / "r-train.arff")
    assert data.name == "r-train"
    assert data.label_names == ["b", "m'a"]
    assert read_arff(tmp_path / "r-train.arff", tmp_path / "r.xml").label_names == ["b", "m'a"]
    assert read_arff(tmp_path / "r-train.arff", str(tmp_path / "r.xml")).label_names == ["b", "m'a"]
    tmp_path.joinpath("r.xml").write_text(xml.replace('"b"', '"c"'))
    with pytest.raises(DataError, match=r"r.xml names the label 'c', which is no attribute here"):
        read_arff(tmp_path / "r-train.arff")


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<labels>", "not well-formed"),
        ("", "not well-formed"),
        ("<labels/>", "not a Mulan file"),
        ("<html><label name='a'/></html>", "not a Mulan file"),
        ("<labels><label/></labels>", "not a Mulan file"),
        ("<labels><label name='a'/><label name='a'/></labels>", "'a' twice"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><labels><label name="&a;"/></labels>', "refused for safety"),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd"><labels><label name="a"/></labels>', "refused for safety"),
    ],
)
def test_a_bad_xml_file(tmp_path, xml, message):
    tmp_path.joinpath("r.arff").write_text(SMALL)
    tmp_path.joinpath("r.xml").write_text(xml)
    with pytest.raises(DataError, match=message):
        read_arff(tmp_path / "r.arff")


HEADER = "@relation r\n@attribute a real\n@attribute b {u,v}\n@attribute y {0,1}\n@data\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no @data line"),
        ("@relation r\n@attribute a real\n", "there is no @data line"),
        ("hello\n", r"line 1: expected @relation, @attribute, @data or a % comment: 'hello'"),
        ("@relation r\n@data\n1\n", r"line 2: there is no @attribute before @data"),
        ("@attribute a\n@data\n1\n", r"line 1: an attribute needs a name and a type"),
        ("@attribute\n@data\n1\n", r"line 1: an attribute needs a name and a type"),
        ("@attribute a float\n@data\n1\n", r"line 1: attribute 'a' has an unknown type.*'float'"),
        ("@attribute a {u\n@data\n1\n", "unknown type"),
        ("@attribute a {u,'v}\n@data\n1\n", "unknown type"),
        ("@attribute a { }\n@data\n1\n", "attribute 'a' lists no values"),
        ("@attribute a {u,u}\n@data\n1\n", "lists the value 'u' twice"),
        ("@attribute a real\n@attribute a real\n@data\n1\n", "two attributes are called 'a'"),
        ("@attribute t string\n@attribute y {0,1}\n@data\nx,1\n", r"'t' is of type string.*drop=\['t'\]"),
        ("@attribute t date 'yyyy'\n@attribute y {0,1}\n@data\nx,1\n", r"'t' is of type date.*drop=\['t'\]"),
        ("@attribute x real\n@attribute y {a,b,c}\n@data\n1,a\n", "label 'y' is a, b or c; a label is 0 or 1"),
        (HEADER, "there are no rows"),
        (HEADER + "1,u\n", r"line 6: the row has 2 values; there are 3 attributes: '1,u'"),
        (HEADER + "1,u,0\n1,u,0,5\n", r"line 7: the row has 4 values"),
        (HEADER + "\n% comment\nx,u,0\n", r"line 8: attribute 'a' must be a finite number or \?: 'x'"),
        (HEADER + "1e999,u,0\n", "must be a finite number"),
        (HEADER + "nan,u,0\n", "must be a finite number"),
        (HEADER + "1,w,0\n", r"attribute 'b' must be u or v: 'w'"),
        (HEADER + "1,u,2\n", r"attribute 'y' must be 0 or 1: '2'"),
        (
            HEADER + "1,u,?\n",
            r"label 'y' is missing; a label is 0 or 1, or in training missing with missing_labels='keep': '\?'",
        ),
        (HEADER + "1,'u,0\n", "quoted value must end"),
        (HEADER + "1,u,0\n{0 1}\n", r"line 7: a sparse row among dense ones"),
        (HEADER + "{0 1}\n1,u,0\n", r"line 7: a sparse row is in braces: '1,u,0'"),
        (HEADER + "{0 1,3 1}\n", r"an index must be a whole number from 0 to 2: '3'"),
        (HEADER + "{-1 1}\n", "an index must be a whole number"),
        (HEADER + "{0 1,0 2}\n", "the row has index 0 twice"),
        (HEADER + "{0 1\n", "a sparse row is in braces"),
        (HEADER + "{0 1,}\n", "expected an index, a space and a value"),
        (HEADER + "{0}\n", "expected an index, a space and a value"),
        (HEADER + "{1 w}\n", "must be u or v"),
        (HEADER + "{2 ?}\n", "is missing"),
        (HEADER + "{0}\n{ 1}\n", "expected an index, a space and a value"),
        (HEADER + "{0 1.5,2}1\n", "a sparse row is in braces"),
        (HEADER + "{0 1,2 }1\n{0 1.5}\n", "a sparse row is in braces"),
        (HEADER + "{0.0 1.5}\n", "an index must be a whole number"),
        (HEADER.replace("@data", "@data 1,u,0"), "line 5: rows start on the line after @data"),
        (HEADER + "1,u     x',0\n", "quoted value must end"),
    ],
)
def test_a_fault_is_said_in_one_sentence(text, message):
    with pytest.raises(DataError, match=message) as caught:
        read(text)
    assert str(caught.value).startswith("data")
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_no_message_has_two_lines_or_moves_the_cursor():
    text = "@attribute 'a\\nb\x1b[2J' {'u\\tv',w}\n@attribute y {0,1}\n@data\nz,1\n"
    with pytest.raises(DataError) as caught:
        read(text)
    assert str(caught.value) == r"data, line 4: attribute 'a\nb\x1b[2J' must be u\tv or w: 'z'."


def test_wrong_arguments():
    with pytest.raises(ValueError, match="nominal must be 'codes' or 'one-hot'; got 'hot'"):
        read(SMALL, nominal="hot")
    with pytest.raises(FileNotFoundError):
        read_arff("nowhere.arff")


def test_long_runs_of_spaces_take_no_time():
    with pytest.raises(DataError, match="quoted value must end"):
        read(HEADER + "1," + " " * 20_000 + "x',0\n")  # a pattern that looks back would take hours
    with pytest.raises(DataError, match="unknown type"):
        read("@attribute a {p," + " " * 20_000 + "x'}\n@data\n")


def test_a_fault_after_many_blocks_names_its_line():
    rows = [f"{place},u,1" for place in range(200_000)]
    rows[150_000] = "oops,u,1"
    with pytest.raises(DataError, match="line 150006: attribute 'a' must be a finite number"):
        read(HEADER + "\n".join(rows))
    rows = ["{0 5,2 1}"] * 200_000
    rows[150_000] = "{7 5}"
    with pytest.raises(DataError, match="line 150006: an index must be"):
        read(HEADER + "\n".join(rows))


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
CELLS = st.one_of(st.floats(allow_infinity=False, width=32), st.integers(-5, 5), st.sampled_from([0, 1]))
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 5))


@st.composite
def tables(draw):
    """A header with numbers, switches and words; rows of values as written; and what they mean."""
    n, d = draw(SHAPES)
    words = ("u", "it's", "a, b", "%c", "{d}", "?e", " ")
    kinds = [draw(st.sampled_from(["number", "switch", "word"])) for _ in range(d)] + ["switch"]
    written, expected = [], []
    for _ in range(n):
        row, values = [], []
        for place, kind in enumerate(kinds):
            if kind != "switch" and draw(st.integers(0, 9)) == 0:
                row.append("?")
                values.append(math.nan)
            elif kind == "word":
                code = draw(st.integers(0, len(words) - 1))
                row.append("u" if code == 0 else "'" + words[code].replace("'", "\\'") + "'")
                values.append(code)
            else:
                value = draw(st.integers(0, 1) if kind == "switch" else CELLS.filter(lambda value: value == value))
                row.append(repr(value))
                values.append(value)
            del place
        written.append(row)
        expected.append(values)
    listed = ",".join("'" + word.replace("'", "\\'") + "'" for word in words)
    types = {"number": "numeric", "switch": "{0,1}", "word": f"{{{listed}}}"}
    header = "@relation r\n" + "".join(f"@attribute x{i} {types[kind]}\n" for i, kind in enumerate(kinds)) + "@data\n"
    return header, written, np.array(expected, float)


@given(tables(), st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n", "\n%\n"]), st.sampled_from([",", ", ", " ,"]))
def test_what_is_written_is_read(table, is_sparse, end, comma):
    header, written, expected = table
    if is_sparse:
        kept = [
            [f"{place} {value}" for place, value in enumerate(row) if codes[place] != 0]
            for row, codes in zip(written, expected, strict=True)
        ]
        rows = ["{" + comma.join(row) + "}" for row in kept]
    else:
        rows = [comma.join(row) for row in written]
    data = read(header + end.join(rows) + end)
    assert sparse.issparse(data.X) == is_sparse
    assert np.array_equal(dense(data.X), expected[:, :-1], equal_nan=True)
    assert np.array_equal(dense(data.Y), expected[:, -1:])


def columns_of(header):
    source = Source(io.BytesIO(header.encode()))
    return Columns(read_header(source)[0], [0], [], source)


PIECES = st.sampled_from([*"0123456789", ",", " ", "\n", "{", "}", "-", ".", "e", "?", "1", "0 1", "},\n{", "0,1,2\n"])


@given(st.lists(PIECES, max_size=30).map("".join), st.booleans())
def test_the_fast_way_reads_what_the_slow_way_reads(text, framed):
    """Where the fast way gives an answer, the slow way gives the same; it never lets a fault pass."""
    columns = columns_of("@attribute y {0,1}\n@attribute a real\n@attribute b real\n@data\n")
    if framed:
        text = "\n".join("{" + line + "}" for line in text.split("\n"))
    block = text.encode() + b"\n"
    fast, slow = _plain_dense_rows(block, columns), _any_dense_rows
    if fast is not None:
        assert np.array_equal(fast, slow(block, 1, columns), equal_nan=True)
    fast, slow = _plain_sparse_rows(block, columns), _any_sparse_rows
    if fast is not None:
        for one, other in zip(fast, slow(block, 1, columns), strict=True):
            assert np.array_equal(one, other)


@given(tables())
def test_liac_arff_reads_the_same(table):
    header, written, expected = table
    text = header + "\n".join(",".join(row) for row in written) + "\n"
    rows = liac.load(io.StringIO(text), encode_nominal=True)["data"]
    found = read(text)
    theirs = np.array([[math.nan if cell is None else cell for cell in row] for row in rows], float)
    assert np.array_equal(theirs, expected, equal_nan=True)
    assert np.array_equal(found.X, theirs[:, :-1], equal_nan=True)
    assert np.array_equal(found.Y, theirs[:, -1:])


@pytest.mark.parametrize("separator", ["\x1c", "\x1d", "\x1e", "\x1f", "\x85"], ids=repr)
def test_a_type_of_nothing_but_separators_is_unknown(separator, tmp_path):
    path = tmp_path / "own.arff"
    path.write_text(f"@relation r\n@attribute a {separator}\n@data\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: attribute 'a' has an unknown type"):
        read_arff(path, -1)
