"""Numbers in text, a block of lines at a time; None where a block is anything but plain numbers."""

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
WORD = 8  # bytes

_KEEP = np.array([(2**64 - 1) >> (8 * (WORD - n)) << (8 * (WORD - n)) for n in range(WORD + 1)], np.uint64)
_PRECISION: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)


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
    if block.translate(None, b"0123456789+-.eE,? \t\n"):
        return None
    if any(line.count(b",") != n_columns - 1 for line in block.split(b"\n") if line):
        return None
    values = _numbers(block, n_columns, np.float64, na_values=["?"], na_filter=b"?" in block, skipinitialspace=True)
    return None if values is None or np.isinf(values).any() else values


def sparse_rows(block: bytes) -> SparseRows | None:
    """Read lines of pairs such as ``3 1,17 0.5``: an index, a space, a number, and commas between pairs."""
    if not block.translate(None, b"0123456789, \n"):
        return _whole_pairs(block)
    skeleton = block.translate(None, b"0123456789+-.eE")
    if not {*skeleton.replace(b" ,", b"").split(b"\n")} <= {b" ", b""}:
        return None
    lengths = np.array([len(line) // 2 + (line != b"") for line in skeleton.split(b"\n")[:-1]], np.int64)
    pairs = _numbers(block.translate(bytes.maketrans(b" ,", b",\n")), 2, {0: np.int64, 1: np.float64})
    if pairs is None or len(pairs) != lengths.sum() or np.isinf(pairs[:, 1]).any():
        return None
    return SparseRows(lengths, pairs[:, 0].astype(np.int64), pairs[:, 1])


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


def _numbers(text: bytes, n_columns: int, dtype: Any, **options: Any) -> NDArray[np.float64] | None:
    if not text.strip():
        return np.empty((0, n_columns))
    options = {"na_filter": False, **options}
    try:
        frame = read_csv(
            text,
            header=None,
            names=list(range(n_columns)),
            dtype=dtype,
            quoting=csv.QUOTE_NONE,
            keep_default_na=False,
            **options,
        )
    except (ValueError, OverflowError):  # pandas' own parser errors are ValueErrors
        return None
    return np.asarray(frame.to_numpy(np.float64))


def _whole_pairs(block: bytes) -> SparseRows | None:
    """Read pairs of whole numbers of up to eight digits."""
    text = np.frombuffer(b"\0" * WORD + block, np.uint8)
    ends = np.flatnonzero(text[WORD:] < ord("0"))  # places of spaces, commas and line feeds: the rest are digits
    digits = np.diff(ends, prepend=-1) - 1
    kinds = text[WORD:][ends]
    stops = np.cumsum(digits > 0)[kinds == ord("\n")] // 2
    if (digits == 0).any():  # allowed where a line is empty
        empty = np.flatnonzero(digits == 0)
        if (kinds[empty] != ord("\n")).any() or (kinds[empty[empty > 0] - 1] != ord("\n")).any():
            return None
        ends, digits, kinds = (np.delete(part, empty) for part in (ends, digits, kinds))
    if len(ends) % 2 or (kinds[::2] != ord(" ")).any() or (kinds[1::2] == ord(" ")).any():
        return None
    if digits.max(initial=0) > WORD:
        return None
    words = np.ndarray((len(text) - WORD + 1,), "<u8", text, strides=(1,))
    indices, values = (_whole(words, ends[side::2], digits[side::2]) for side in (0, 1))
    return SparseRows(np.diff(stops, prepend=0), indices, values.astype(np.float64))


def _whole(words: NDArray[np.uint64], ends: NDArray[np.int64], digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Read runs of digits, each as one machine word whose bytes are added up in pairs, three times."""
    word = words[ends]
    word &= _KEEP[digits]
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
