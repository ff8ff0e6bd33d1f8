"""Cells of a CSV: read by pandas where that is safe, else one by one."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clems.datasets.text.decimals import dense_rows, number_in, read_csv
from clems.datasets.text.records import records_of

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"]
CELLS = 4_000_000  # cells that are worked on at a time, so that wide tables take no more memory than long ones
WIDE = 5_000  # columns from which on pandas takes longer than reading cells one by one
# What pandas reads in another way than float does: a sign before or after blanks is one unit off in the last place, a
# zero loses its sign in a column of whole numbers, some of which may be missing. It takes a quote after a tab for the
# start of a cell, and older versions take a NUL for the end of one.
PLUS = re.compile(rb"(?<![eE])\+")
BLANK = re.compile(rb'[ \t\v\f"]')
MINUS_ZERO = re.compile(rb"-0+(?![0-9.eE])")
TAB_BEFORE_QUOTE = re.compile(rb'\t *"')
ORDINARY = re.compile(r"[0-9+\-.eE \t\v\f]*")
MISSING_MARKS = {*MISSING}


class Form(NamedTuple):
    """How the lines of a CSV are to be read.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    delimiter, decimal : str
        As in `read_table`.
    written : collection of str, default=()
        Names of columns that are to be left as they are written.
    words : collection of str, default=()
        Names of columns that hold words, whatever they look like; those that stand for a missing value are missing.
    """

    names: list[str]
    delimiter: str
    decimal: str = "."
    written: Collection[str] = ()
    words: Collection[str] = ()


def read_rows(text: bytes, n_rows: int, form: Form) -> pd.DataFrame:
    """Read whole records, each of which has a value for every name.

    Parameters
    ----------
    text : bytes
        The records, with line feeds as line ends and without the line of names.
    n_rows : int
        How many there are.
    form : Form
        How to read them.

    Returns
    -------
    DataFrame
        Columns of numbers and booleans, NaN where one is missing; and of words where they hold anything else.
    """
    frame = _by_pandas(text, n_rows, form) if len(form.names) <= WIDE else None
    return _by_cells(text, n_rows, form) if frame is None else frame


def _by_pandas(text: bytes, n_rows: int, form: Form) -> pd.DataFrame | None:
    """Read by pandas; None where it might read anything in another way than cell by cell."""
    if (
        b"\0" in text
        or (b"+" in text and PLUS.search(text) and BLANK.search(text))
        or (b"\t" in text and b'"' in text and form.delimiter != "\t" and TAB_BEFORE_QUOTE.search(text))
    ):
        return None
    as_text = {*form.written, *form.words}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = read_csv(
                text,
                sep=form.delimiter,
                decimal=form.decimal,
                header=None,
                names=form.names,
                dtype={name: str for name in form.names if name in as_text},
                na_values={name: [] if name in form.written else MISSING for name in form.names}
                if form.written
                else MISSING,
                keep_default_na=False,
                skipinitialspace=True,
            )
    except (ValueError, OverflowError, pd.errors.ParserWarning):
        return None
    kinds = [dtype.kind for dtype in frame.dtypes]
    if len(frame) != n_rows:
        return None
    if b"-0" in text and MINUS_ZERO.search(text) and ({*kinds} & {*"iO"} or frame.isna().to_numpy().any()):
        return None
    odd = [name for name, kind in zip(form.names, kinds, strict=True) if kind == "O" and name not in as_text]
    if len(text) > 18 and any(_is_misread(frame[name]) for name in odd):
        return None
    return frame


def _is_misread(column: pd.Series) -> bool:
    """Whether pandas has met whole numbers from 2**63 on.

    It forgets what is missing then, reads 1_0 as 10, or takes a column of numbers for words.
    """
    if bool(column.isin(MISSING_MARKS).any()) or any(type(cell) is int for cell in column.dropna().iloc[:1]):
        return True
    return any(type(cell) is str and len(cell) > 18 and cell.strip().lstrip("+-").isdigit() for cell in column)


def _by_cells(text: bytes, n_rows: int, form: Form) -> pd.DataFrame:
    """Read cell by cell, numbers as float reads them."""
    width, names = len(form.names), pd.Index(form.names, dtype=object)  # strings of Arrow are slow one by one
    is_text = np.array([name in form.written or name in form.words for name in form.names])
    numbers = None if is_text.any() else _all_numbers(text, form)
    if numbers is None:
        numbers = np.full((n_rows, width), np.nan)
        records, start = (record for _, record in records_of(text, form.delimiter)), 0
        while batch := list(islice(records, max(1, CELLS // width))):
            for position, cells in enumerate(zip(*batch, strict=True)):
                if not is_text[position]:
                    values = _numbers(cells, form.decimal)
                    is_text[position] = values is None
                    numbers[start : start + len(batch), position] = np.nan if values is None else values
            start += len(batch)
    if not is_text.any():
        return pd.DataFrame(numbers, columns=names)
    positions = np.flatnonzero(is_text)
    words = np.empty((n_rows, len(positions)), object)
    gone = [{} if form.names[position] in form.written else dict.fromkeys(MISSING, np.nan) for position in positions]
    for row, (_, record) in enumerate(records_of(text, form.delimiter)):
        words[row] = [
            missing.get(record[position], record[position]) for position, missing in zip(positions, gone, strict=True)
        ]
    others = np.flatnonzero(~is_text)
    frames = [pd.DataFrame(numbers[:, others]), pd.DataFrame(words)]
    frame = pd.concat(frames, axis="columns", ignore_index=True)
    return frame.iloc[:, np.argsort(np.concatenate([others, positions]))].set_axis(names, axis="columns")


def _all_numbers(text: bytes, form: Form) -> NDArray[np.float64] | None:
    """Read records that hold nothing but numbers, or None."""
    if b'"' in text or form.delimiter not in ",;\t|" or form.decimal not in ".,":
        return None
    marks = {**dict.fromkeys(",.", "x"), form.delimiter: ",", form.decimal: "."}
    table = bytes.maketrans("".join(marks).encode(), "".join(marks.values()).encode())
    return dense_rows(text.translate(table), len(form.names))


def _numbers(cells: Sequence[str], decimal: str) -> list[float] | None:
    """Numbers of cells, NaN where one is missing; None if a cell is neither."""
    if decimal == "." and ORDINARY.fullmatch("".join(cells)):
        try:
            return list(map(float, cells))
        except ValueError:  # something is missing, perhaps
            pass
    values = [np.nan if cell in MISSING_MARKS else number_in(cell, decimal) for cell in cells]
    return None if None in values else values  # type: ignore[return-value]
