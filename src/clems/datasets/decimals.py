"""Numbers in text, a block of lines at a time; None where a block holds anything but numbers."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
WORD = 8  # bytes, and so the digits that are read at once
EXACT = (
    15  # so many digits are a whole number without rounding; dividing it by a power of ten rounds once, as float does
)

_KEEP = np.array([(2**64 - 1) >> (8 * (WORD - n)) << (8 * (WORD - n)) for n in range(WORD + 1)], np.uint64)
_TENS = 10.0 ** np.arange(WORD + 1)
_PRECISION: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)

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


def number(text: bytes) -> float | None:
    """Read one finite number, or None."""
    value = float(text) if NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def read_csv(text: bytes, **options: Any) -> pd.DataFrame:
    """Read a CSV by pandas, numbers exactly as `float` reads them."""
    return pd.read_csv(io.BytesIO(text), index_col=False, low_memory=False, **_PRECISION, **options)


def dense_rows(block: bytes, n_columns: int) -> NDArray[np.float64] | None:
    """Read lines of numbers with commas between them and ``?`` where one is missing."""
    tokens = _tokens(block, b",\n")
    if tokens is not None and tokens.digits.all():
        line_ends = np.flatnonzero(tokens.delimiters == ord("\n"))
        is_whole = np.array_equal(line_ends, np.arange(n_columns - 1, len(tokens.ends), n_columns))
        return tokens.values().astype(np.float64, copy=False).reshape(-1, n_columns) if is_whole else None
    if block.translate(None, b"0123456789+-.eE,? \t\n"):
        return None
    lines = [line for line in block.split(b"\n") if line.strip()]
    if any(line.count(b",") != n_columns - 1 for line in lines):
        return None
    column = _by_pandas(block.replace(b",", b"\n"))
    return column.reshape(-1, n_columns) if column is not None and len(column) == len(lines) * n_columns else None


def sparse_rows(block: bytes) -> SparseRows | None:
    """Read lines of pairs such as ``{3 1,17 0.5}``: an index, a space, a number, and commas between pairs."""
    tokens = _tokens(block, b"{ ,}\n")
    if tokens is None:
        return _sparse_rows_by_pandas(block)
    delimiters = tokens.delimiters
    empty = np.flatnonzero(tokens.digits == 0)  # nothing is before a brace that opens, in an empty row, at a line's end
    kinds, before = delimiters[empty], delimiters[empty - 1]  # what is before the first is the last, a line feed
    allowed = (kinds == ord("{")) & (before == ord("\n"))
    allowed |= (kinds == ord("}")) & (before == ord("{"))
    allowed |= (kinds == ord("\n")) & (before == ord("}"))
    first = np.flatnonzero(delimiters == ord(" "))  # the index of a pair
    second = first + 1
    after = delimiters[second]
    ended = ((after == ord(",")) | (after == ord("}"))).all() and delimiters[0] == ord("{")
    if not (allowed.all() and ended and len(delimiters) == 2 * len(first) + len(empty)):
        return None
    closing = np.flatnonzero(delimiters == ord("}"))
    if len(closing) != np.count_nonzero(kinds == ord("{")):
        return None
    indices, values = tokens.values(first), tokens.values(second)
    if indices.dtype != np.int64 and (indices != np.floor(indices)).any():
        return None
    lengths = np.diff(np.searchsorted(first, closing), prepend=0)
    return SparseRows(lengths, indices.astype(np.int64, copy=False), values.astype(np.float64, copy=False))


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


class _Tokens(NamedTuple):
    """What is between the delimiters of a block, each a plain decimal or nothing."""

    text: NDArray[np.uint8]
    delimiters: NDArray[np.uint8]  # after each token
    digits: NDArray[np.uint8]  # of each token
    ends: NDArray[np.int64]  # where each token ends
    fraction: NDArray[np.uint8] | None  # digits after the point, if there is a point anywhere
    point: NDArray[np.int64] | None  # where the digits before the point end
    negative: NDArray[np.bool_] | None

    def values(self, chosen: Any = slice(None)) -> NDArray[Any]:
        """Read numbers: whole ones if no token has a point or a sign, else floats."""
        digits, ends = self.digits[chosen], self.ends[chosen]
        if self.fraction is None or self.point is None:
            return _whole(self.text, ends, digits)
        fraction = self.fraction[chosen]
        scale = _TENS.take(fraction, mode="clip")
        values: NDArray[np.float64] = _whole(self.text, self.point[chosen], digits - fraction) * scale
        values += _whole(self.text, ends, fraction)
        values /= scale
        if self.negative is not None:
            negative = np.flatnonzero(self.negative[chosen])
            values[negative] = -values[negative]
        return values


def _tokens(block: bytes, delimiters: bytes) -> _Tokens | None:
    """Find the tokens of a block that ends with a line feed, if all are decimals of few digits without exponent."""
    text = np.frombuffer(b"\0" * WORD + b"\n" + block, np.uint8)
    marks = np.flatnonzero(text[WORD:] - ord("0") > 9)  # what is below "0" wraps to large numbers
    kinds = text[WORD:][marks]
    is_end = np.zeros(len(kinds), bool)
    for delimiter in delimiters:
        is_end |= kinds == delimiter
    if is_end.all():
        ends = marks[1:]  # the first is the line feed put before the block
        digits = _few(ends - marks[:-1] - 1)
        return None if digits is None else _Tokens(text, kinds[1:], digits, ends, None, None, None)
    is_point, is_minus = kinds == ord("."), kinds == ord("-")
    points, signs, last = np.flatnonzero(is_point), np.flatnonzero(is_minus), np.flatnonzero(is_end)[1:]
    if len(points) + len(signs) + len(last) + 1 < len(kinds) or is_point[points - 1].any():
        return None
    if not is_end[signs - 1].all() or (marks[signs] - marks[signs - 1] > 1).any():  # a sign follows a delimiter at once
        return None
    before = last - 1
    has_point = is_point[before]
    ends, point = marks[last], marks[before]
    first = before - has_point
    np.copyto(point, ends, where=~has_point)
    fraction, whole = _few(ends - point - has_point), _few(point - marks[first] - 1)
    if fraction is None or whole is None:
        return None
    digits = whole + fraction
    none = np.flatnonzero(digits == 0)  # not allowed where there is a point or a sign
    if digits.max(initial=0) > EXACT or not is_end[before[none]].all():
        return None
    return _Tokens(text, kinds[last], digits, ends, fraction, point, is_minus[first] if signs.size else None)


def _few(digits: NDArray[np.int64]) -> NDArray[np.uint8] | None:
    """Numbers of digits, if they fit into machine words."""
    return digits.astype(np.uint8) if digits.max(initial=0) <= WORD else None


def _whole(text: NDArray[np.uint8], ends: NDArray[np.int64], digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Read the digits before some places: one by one where most are single, else a machine word at a time."""
    is_long = digits > 1
    if 2 * np.count_nonzero(is_long) > len(digits):
        return _words(text, ends, digits)
    single = text[WORD - 1 :][ends]
    single -= ord("0")
    if not digits.all():
        single *= digits > 0
    values = single.astype(np.int64)
    long = np.flatnonzero(is_long)
    values[long] = _words(text, ends[long], digits[long])
    return values


def _words(text: NDArray[np.uint8], ends: NDArray[np.int64], digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Read up to eight digits as one machine word, whose bytes are added up in pairs, three times."""
    word = np.ndarray((len(text) - WORD + 1,), "<u8", text, strides=(1,)).take(ends, mode="clip")
    word &= _KEEP.take(digits, mode="clip")
    word &= np.uint64(0x0F0F0F0F0F0F0F0F)
    word *= np.uint64(10 * 2**8 + 1)
    word >>= np.uint64(8)
    word &= np.uint64(0x00FF00FF00FF00FF)
    word *= np.uint64(100 * 2**16 + 1)
    word >>= np.uint64(16)
    word &= np.uint64(0x0000FFFF0000FFFF)
    word *= np.uint64(10_000 * 2**32 + 1)
    word >>= np.uint64(32)
    return word.view(np.int64)


def _sparse_rows_by_pandas(block: bytes) -> SparseRows | None:
    """Read pairs whose numbers have exponents or many digits."""
    skeleton = block.translate(None, b"0123456789+-.eE")
    if not {*skeleton.replace(b" ,", b"").split(b"\n")[:-1]} <= {b"{ }", b"{}"}:
        return None
    lengths = np.array([len(line) // 2 - (line == b"{}") for line in skeleton.split(b"\n")[:-1]], np.int64)
    numbers = _by_pandas(block.translate(bytes.maketrans(b"{ ,}", b"\n\n\n\n")))
    if numbers is None or len(numbers) != 2 * lengths.sum() or np.isnan(numbers).any():
        return None
    indices = numbers[::2]
    if (np.abs(indices) > 2**53).any() or (indices != np.floor(indices)).any():
        return None
    return SparseRows(lengths, indices.astype(np.int64), numbers[1::2].copy())


def _by_pandas(text: bytes) -> NDArray[np.float64] | None:
    """Read numbers or ``?``, one in a line; empty lines are skipped."""
    if not text.strip():
        return np.empty(0)
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
