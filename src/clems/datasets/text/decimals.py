"""Numbers in text: read a block of lines at a time, None where it holds anything but numbers; and written."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

BLANKS = " \t\v\f"
NUMBER = re.compile(rb"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+")  # no digit is looked at twice
INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE | re.ASCII)
PAIR = rb"\d{1,18}+ [\d+.eE-]++"
ROWS_OF_PAIRS = re.compile(rb"(?:\{(?:%b(?:,%b)*+)?+\}\n)*+" % (PAIR, PAIR))
PLUS = re.compile(rb"(?m)^[ \t]*\+(?=[0-9.])")
PRECISION: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)

# Short numbers are read as machine words of eight characters, the first of them in the lowest byte.
Words = NDArray[np.uint64]
WORD = 8
_LAST = np.array([(2**64 - 1) >> (8 * (WORD - n)) << (8 * (WORD - n)) for n in range(WORD + 1)], np.uint64)  # n bytes
_TENS = 10.0 ** np.arange(WORD + 1)
_AFTER = np.array([7 - bits // 8 if bits < 64 else 0 for bits in range(65)])  # bytes after the one above so many bits
_ZEROS, _DOTS, _HIGH = (np.uint64(byte * 0x0101010101010101) for byte in (ord("0"), ord("."), 0x80))

# The C library hands freed memory back and asks for it anew, block after block, until it has seen a large piece freed:
# a quarter of the reading time.
np.empty(16 << 20, np.uint8)


class SparseRows(NamedTuple):
    """Rows of (index, value) pairs: how many each row has, and all of them in order."""

    lengths: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, rows: list[list[tuple[int, float]]]) -> Self:
        """Put rows of pairs together."""
        pairs = [pair for row in rows for pair in row]
        return cls(
            np.array([len(row) for row in rows], np.int64),
            np.array([index for index, _ in pairs], np.int64),
            np.array([value for _, value in pairs], np.float64),
        )

    def csr(self, n_columns: int) -> Any:
        """Make a CSR array, with short indices where they suffice; what a row has twice is added up."""
        stops = np.cumsum(self.lengths)
        small = max(n_columns, len(self.values)) <= np.iinfo(np.int32).max
        dtype = np.int32 if small else np.int64
        indptr = np.concatenate([[0], stops]).astype(dtype)
        parts = (self.values, self.indices.astype(dtype, copy=False), indptr)
        matrix = sparse.csr_array(parts, shape=(len(stops), n_columns))
        matrix.sum_duplicates()
        if not matrix.data.all():
            matrix.eliminate_zeros()
        return matrix


def number(text: bytes) -> float | None:
    """Read one finite number, or None."""
    value = float(text) if NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def is_number(text: str) -> bool:
    """Whether a text is a number in the digits of ASCII, however great."""
    return text.isascii() and NUMBER.fullmatch(text.encode()) is not None


def number_in(text: str, decimal: str = ".") -> float | None:
    """Read a number with blanks around it, infinite ones too, or None.

    Where another mark is the decimal point, a point may part thousands, so what has one is no number.
    """
    text = text.strip(BLANKS)
    if decimal != ".":
        if "." in text:
            return None
        text = text.replace(decimal, ".")
    return float(text) if is_number(text) or INFINITE.fullmatch(text) else None


def read_csv(text: bytes, **options: Any) -> pd.DataFrame:
    """Read a CSV by pandas, numbers exactly as `float` reads them."""
    return pd.read_csv(io.BytesIO(text), index_col=False, low_memory=False, **PRECISION, **options)


def dense_rows(block: bytes, n_columns: int) -> NDArray[np.float64] | None:
    """Read lines of numbers with commas between them and ``?`` where one is missing."""
    values = _short_numbers(block, n_columns)
    if values is not None:
        return values
    if block.translate(None, b"0123456789+-.eE,? \t\n"):
        return None
    lines = [line for line in block.split(b"\n") if line.strip()]
    if any(line.count(b",") != n_columns - 1 for line in lines):
        return None
    column = _by_pandas(block.replace(b",", b"\n"))
    return column.reshape(-1, n_columns) if column is not None and len(column) == len(lines) * n_columns else None


def sparse_rows(block: bytes) -> SparseRows | None:
    """Read lines of pairs such as ``{3 1,17 0.5}``: an index, a space, a number, and commas between pairs."""
    return _short_pairs(block) or _sparse_rows_by_pandas(block)


def in_order(rows: SparseRows) -> SparseRows | None:
    """Sort the pairs of each row by index; None if a row has an index twice."""
    if _ascends(rows):
        return rows
    order = np.lexsort((rows.indices, np.repeat(np.arange(len(rows.lengths)), rows.lengths)))
    rows = SparseRows(rows.lengths, rows.indices[order], rows.values[order])
    return rows if _ascends(rows) else None


def _ascends(rows: SparseRows) -> bool:
    rises = np.diff(rows.indices) > 0
    starts = np.cumsum(rows.lengths)[:-1]
    rises[starts[(starts > 0) & (starts < len(rows.indices))] - 1] = True
    return bool(rises.all())


def rows_as_text(X: Any, Y: Any) -> Iterator[tuple[list[int], list[str], list[int]]]:
    """Give the indices, the values as text, and the labels of each row of CSR arrays."""
    for row in range(X.shape[0]):
        start, stop = X.indptr[row], X.indptr[row + 1]
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()
        yield X.indices[start:stop].tolist(), as_text(X.data[start:stop]), sorted(labels)


def as_text(values: NDArray[Any]) -> list[str]:
    """Numbers as text that reads as the same numbers."""
    return ["?" if value != value else repr(value).removesuffix(".0") for value in values.tolist()]


def _short_numbers(block: bytes, n_columns: int) -> NDArray[np.float64] | None:
    """Read rows of decimals of up to eight characters, without signs."""
    text, words = _words(block)
    ends = np.flatnonzero((text == ord(",")) | (text == ord("\n")))
    lengths = np.diff(ends, prepend=WORD - 1) - 1
    lines = np.flatnonzero(text[ends] == ord("\n"))
    if not np.array_equal(lines, np.arange(n_columns - 1, len(ends), n_columns)):
        return None
    if lengths.max(initial=0) > WORD or lengths.min(initial=1) < 1:
        return None
    word = words.take(ends - WORD) & _LAST.take(lengths)
    points = _bytes_equal(word, _DOTS)
    word ^= _ZEROS & _LAST.take(lengths)
    n_points = np.bitwise_count(points)
    if (_bytes_above_nine(word) != points).any() or (n_points >= lengths).any() or n_points.max(initial=0) > 1:
        return None
    before = word & ((points >> np.uint64(7)) - np.uint64(1))  # all of it if there is no point
    word &= ~((points << np.uint64(1)) - np.uint64(1))
    word |= before << (n_points * np.uint64(8))
    values = _whole(word).astype(np.float64)
    values /= _TENS.take(_AFTER.take(np.bitwise_count(points - np.uint64(1))))
    return values.reshape(-1, n_columns)


def _short_pairs(block: bytes) -> SparseRows | None:
    """Read rows of pairs of whole numbers of up to seven digits."""
    padded, words = _words(block)
    text = padded[WORD:]  # positions are those in the block
    spaces = np.flatnonzero(text == ord(" "))
    if not spaces.size or not block.startswith(b"{"):
        return None
    word = words.take(spaces) ^ _ZEROS  # the word before each space
    n_digits = 7 - _last_byte(_bytes_above_nine(word))
    starts = spaces - n_digits
    indices = _whole(word & _LAST.take(n_digits))
    digit = text[1:].take(spaces) - ord("0")  # most values have one
    values, ends = digit.astype(np.float64), spaces + 2
    more = np.flatnonzero(text.take(ends) - ord("0") <= 9)
    word = words[WORD - 1 :].take(ends[more]) ^ _ZEROS
    odd = _bytes_above_nine(word)
    n_more = np.bitwise_count((odd & -odd) - np.uint64(1)).astype(np.int64) >> 3
    values[more] = _whole(word << (8 * (WORD - n_more).astype(np.uint64)))
    ends[more] += n_more - 1
    after = text.take(ends)
    closing = after == ord("}")
    last = np.flatnonzero(closing)
    is_sound = (
        (n_digits > 0).all()
        and (digit <= 9).all()
        and starts[0] == 1
        and ends[-1] == len(block) - 2
        and closing[-1]
        and (closing | (after == ord(","))).all()
        and (starts[1:] - ends[:-1] - 2 * closing[:-1] == 1).all()  # a comma, or a brace, a line feed and a brace
        and (text[ends[last] + 1] == ord("\n")).all()
        and (text[ends[last[:-1]] + 2] == ord("{")).all()
    )
    return SparseRows(np.diff(last + 1, prepend=0), indices, values) if is_sound else None


def _last_byte(marks: Words) -> NDArray[np.int64]:
    """Find the last byte that is marked by its highest bit, or -1: it shows in the exponent of a float."""
    exponents = marks.astype(np.float64).view(np.int64)
    exponents >>= 52
    exponents -= 1023
    exponents >>= 3
    return np.maximum(exponents, -1, out=exponents)


def _words(block: bytes) -> tuple[NDArray[np.uint8], Words]:
    """Text with a word of nothing before and after it, and the word that starts at each character."""
    text = np.frombuffer(b"\0" * WORD + block + b"\0" * WORD, np.uint8)
    return text, np.ndarray((len(text) - WORD + 1,), "<u8", text, strides=(1,))


def _bytes_above_nine(word: Words) -> Words:
    """Mark each byte above nine by its highest bit."""
    return (((word & ~_HIGH) + np.uint64(0x7676767676767676)) | word) & _HIGH


def _bytes_equal(word: Words, same: np.uint64) -> Words:
    """Mark each byte that equals that of a word of the same bytes, by its highest bit."""
    word = word ^ same
    return ~(((word & ~_HIGH) + ~_HIGH) | word) & _HIGH


def _whole(word: Words) -> NDArray[np.int64]:
    """Read eight digits: add up neighbours, then neighbours of those, then of those."""
    for bits, ten, keep in ((8, 10, 0x00FF00FF00FF00FF), (16, 100, 0x0000FFFF0000FFFF), (32, 10_000, 0xFFFFFFFF)):
        word = word * np.uint64(ten * 2**bits + 1)
        word >>= np.uint64(bits)
        word &= np.uint64(keep)
    return word.view(np.int64)


def _sparse_rows_by_pandas(block: bytes) -> SparseRows | None:
    """Read pairs whose numbers have exponents or many digits."""
    if not ROWS_OF_PAIRS.fullmatch(block):
        return None
    lengths = np.array([line.count(b" ") for line in block.split(b"\n")[:-1]], np.int64)
    numbers = _by_pandas(block.translate(bytes.maketrans(b"{ ,}", b"\n\n\n\n")))
    if numbers is None or len(numbers) != 2 * lengths.sum() or np.isnan(numbers).any():
        return None
    if (numbers[::2] > 2**53).any():
        return None
    return SparseRows(lengths, numbers[::2].astype(np.int64), numbers[1::2].copy())


def _by_pandas(text: bytes) -> NDArray[np.float64] | None:
    """Read numbers or ``?``, one in a line; empty lines are skipped."""
    if not text.strip():
        return np.empty(0)
    if b"+" in text:  # pandas is one unit off in the last place if there are blanks, too
        text = PLUS.sub(b"", text)
    try:
        frame = read_csv(
            text,
            header=None,
            names=[0],
            dtype=np.float64,
            na_values=["?"],
            keep_default_na=False,
            na_filter=b"?" in text,
            quoting=csv.QUOTE_NONE,
            skipinitialspace=True,
        )
    except (ValueError, OverflowError):  # pandas' own parser errors are ValueErrors
        return None
    numbers = np.asarray(frame[0].to_numpy())
    return None if np.isinf(numbers).any() else numbers
