"""Numbers in text are read exactly as float reads them, or not at all."""

import random
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clems.datasets.text.decimals import (
    _short_numbers,
    _short_pairs,
    dense_rows,
    in_order,
    is_number,
    number,
    sparse_rows,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    FLOATS.map(repr),
    FLOATS.map(lambda value: f"{value:.6f}"),
    st.floats(-1e300, 1e300).map(lambda value: f"{value:.3E}"),
    st.sampled_from(["5.", ".5", "+3", "-0", "-.5e3", "0.1", "1e-400", "00012"]),
)
FAULTS = st.sampled_from(
    [
        "",
        "1.2.3",
        "1-2",
        "1e",
        "--1",
        "nan",
        "inf",
        "1e999",
        "0x10",
        "1_0",
        "True",
        "x",
        ".",
        "-",
        "1 2",
        "1\t2",
        "'1'",
        "1?",
        "é",
    ]
)


def same(a, b):
    return np.array_equal(a, b) and np.array_equal(np.signbit(a), np.signbit(b))


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(NUMBERS, min_size=width, max_size=width), min_size=1)))
def test_dense_rows_are_what_float_reads(rows):
    text = "".join(",".join(row) + "\n" for row in rows).encode()
    assert same(dense_rows(text, len(rows[0])), np.array(rows, dtype=object).astype(float))


@given(st.lists(NUMBERS, min_size=1, max_size=4), FAULTS, st.data())
def test_a_dense_row_with_a_fault_is_left(row, fault, data):
    row.insert(data.draw(st.integers(0, len(row))), fault)
    if row != [""]:
        assert dense_rows((",".join(row) + "\n").encode(), len(row)) is None


def test_dense_rows_of_other_lengths_are_left():
    assert dense_rows(b"1,2\n3\n", 2) is None
    assert dense_rows(b"1,2\n3,4,5\n", 2) is None
    assert dense_rows(b"1\n2,3,4\n5,6\n", 2) is None


BLANKS = st.text(st.sampled_from(" \t"), max_size=2)


@given(st.lists(st.tuples(BLANKS, st.sampled_from(["", "+", "-"]), NUMBERS, BLANKS), min_size=1))
@example([("\t", "+", "6E+23", "")])
@example([("", "+", "0.98725920103301290087216557367355563", " ")])
def test_blanks_around_signs_change_nothing(cells):
    texts = [before + sign + number.lstrip("+-") + after for before, sign, number, after in cells]
    assert same(dense_rows(("\n".join(texts) + "\n").encode(), 1).ravel(), np.array([float(text) for text in texts]))


def test_missing_values_and_spaces():
    read = dense_rows(b"1, ?,\t3\n\n4,5 ,?\n", 3)
    assert np.array_equal(read, [[1, np.nan, 3], [4, 5, np.nan]], equal_nan=True)


WHOLE = st.integers(0, 10**8 - 1)
ROWS_OF_WHOLE = st.lists(st.lists(st.tuples(WHOLE, WHOLE), max_size=5), min_size=1)
ROWS_OF_NUMBERS = st.lists(st.lists(st.tuples(st.integers(0, 10**9), NUMBERS), max_size=5), min_size=1)


@given(st.one_of(ROWS_OF_WHOLE, ROWS_OF_NUMBERS))
def test_sparse_rows_are_what_float_reads(rows):
    lines = [",".join(f"{index} {value}" for index, value in row) for row in rows]
    text = "".join("{" + line + "}\n" for line in lines).encode()
    read = sparse_rows(text)
    pairs = [pair for row in rows for pair in row]
    if read is None:  # nine digits and only digits are left to others
        assert any(len(str(part)) > 8 for pair in pairs for part in pair)
        return
    assert read.lengths.tolist() == [len(row) for row in rows]
    assert read.indices.tolist() == [index for index, _ in pairs]
    assert same(read.values, np.array([float(value) for _, value in pairs]))


@pytest.mark.parametrize("end", ["", ",7 0.5"])
@pytest.mark.parametrize(
    "fault",
    ["3", "3 1,", ",3 1", "3 1,,4 1", "3 1 2", "3,1 4", " 3 1", "3 ", "3  1", "x 1", "3 x", "3 1.2.3", "3 1e", "3 1-2"],
)
def test_a_sparse_row_with_a_fault_is_left(fault, end):
    assert sparse_rows(f"{{1 1}}\n{{{fault}{end}}}\n{{2 2}}\n".encode()) is None


@pytest.mark.parametrize(
    "row", ["3 1", "{3 1", "{3 1,", "3 1}", "{{3 1}", "{3 1}}", "{3 1}{4 1}", "{3 {1}", "}{", "{3 1} ", "", "{3 1}x"]
)
@pytest.mark.parametrize("number", ["2", "2e0"])
def test_a_sparse_row_that_is_not_in_braces_is_left(row, number):
    for rows in ([row, "{2 2}"], ["{2 2}", row], ["{2 2}", row, "{2 2}"]):
        assert sparse_rows("".join(line + "\n" for line in rows).replace("2}", number + "}").encode()) is None


def test_sorting():
    rows = in_order(sparse_rows(b"{5 1,2 3}\n{}\n{4 4,1 1,3 3}\n"))
    assert rows.indices.tolist() == [2, 5, 1, 3, 4]
    assert rows.values.tolist() == [3, 1, 1, 3, 4]
    assert in_order(sparse_rows(b"{1 1}\n{1 1}\n")) is not None
    assert in_order(sparse_rows(b"{1 1,2 1,1 1}\n")) is None


@given(NUMBERS)
def test_one_number(text):
    assert same(number(text.encode()), float(text))


@given(FAULTS)
def test_no_number(text):
    assert number(text.encode()) is None


def edited(block, rng):
    """A block with a few characters changed, left out or put in."""
    text = bytearray(block)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        place = rng.randrange(len(text) + 1)
        text[place : place + rng.randrange(2)] = bytes(rng.choices(b"{} ,\n019/:.-\x00\xb0\xff", k=rng.randrange(2)))
    return bytes(text).removesuffix(b"\n") + b"\n"


def test_numbers_are_what_their_grammar_says():
    grammar = re.compile(r"[+-]?(?:[0-9]+|[0-9]+[.][0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?")
    for length in range(6):
        for letters in product("+-.e17x", repeat=length):
            text = "".join(letters)
            assert is_number(text) == (grammar.fullmatch(text) is not None)
    assert not is_number("١")  # a digit, but none that files hold


@pytest.mark.parametrize("text", ["{}x", "1.{}x", ".{}x", "1e{}x", "{}.{}e{}x"])
def test_a_long_number_with_a_fault_is_refused_at_once(text):
    """A quadratic search would take an hour."""
    text = text.replace("{}", "6" * 1_000_000)
    assert number(text.encode()) is None
    assert not is_number(text)


def test_edited_sparse_blocks_are_read_right_or_left():
    rng = random.Random(0)
    rows_of_pairs = re.compile(rb"(?:\{(?:\d+ \d+(?:,\d+ \d+)*)?\}\n)*")
    n_read = 0
    for _ in range(20_000):
        sizes = [[10 ** rng.randrange(1, 9) for _ in range(2 * rng.randrange(5))] for _ in range(rng.randrange(1, 4))]
        numbers = [[rng.randrange(size) for size in row] for row in sizes]
        pairs = [[f"{index} {value}" for index, value in zip(row[::2], row[1::2], strict=True)] for row in numbers]
        block = edited("".join(f"{{{','.join(row)}}}\n" for row in pairs).encode(), rng)
        if (read := _short_pairs(block)) is not None:
            n_read += 1
            assert rows_of_pairs.fullmatch(block), block
            expected = [[int(n) for n in re.findall(rb"\d+", line)] for line in block.split(b"\n")[:-1]]
            assert read.lengths.tolist() == [len(row) // 2 for row in expected], block
            assert [read.indices.tolist(), read.values.tolist()] == [
                [n for r in expected for n in r[s::2]] for s in (0, 1)
            ]
    assert n_read > 2000


def test_edited_dense_blocks_are_read_right_or_left():
    rng = random.Random(0)
    n_read = 0
    for _ in range(20_000):
        n_columns = rng.randrange(1, 4)
        digits = [str(rng.randrange(10 ** rng.randrange(1, 8))) for _ in range(n_columns * rng.randrange(1, 4))]
        numbers = [
            text[: (cut := rng.randrange(len(text) + 1))] + rng.choice(["", ".", "."]) + text[cut:] for text in digits
        ]
        rows = [numbers[start : start + n_columns] for start in range(0, len(numbers), n_columns)]
        block = edited("".join(",".join(row) + "\n" for row in rows).encode(), rng)
        if (read := _short_numbers(block, n_columns)) is not None:
            n_read += 1
            tokens = [line.split(b",") for line in block.split(b"\n")[:-1]]
            assert read.tolist() == [[number(token) for token in row] for row in tokens], block
    assert n_read > 2000
