"""Cells of a column as text, numbers or times, whatever type the column has."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

Texts = NDArray[Any]  # of str, "" where a cell is missing
Values = NDArray[np.float64]  # NaN where a cell is missing

BLANKS = " \t\n\r\v\f\0"  # and NUL, which numpy drops from the ends of text
ISO = "ISO8601"
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y")
DATES = (ISO, *(day + time for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S")))  # forms of dates, in text


def is_missing(cell: Any) -> bool:
    """Whether a cell of a frame holds nothing."""
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and cell != cell)


def float_of(cell: Any) -> float:
    """Make a float of a number or of a text that is one; NaN of what is missing, infinite what is too great."""
    try:
        return np.nan if is_missing(cell) else float(cell)
    except OverflowError:
        return np.inf


def numbers_of(column: pd.Series) -> Values | None:
    """Find the numbers of a column that holds numbers or booleans, NaN where one is missing.

    Objects that are all booleans, as pandas reads them beside what is missing, are words, as they are cell by cell.
    """
    if types.is_complex_dtype(column.dtype):
        return None
    if types.is_bool_dtype(column.dtype) or types.is_numeric_dtype(column.dtype):
        return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    if column.dtype != object or not all(isinstance(cell, Real | Decimal) or is_missing(cell) for cell in column):
        return None
    if {type(cell) for cell in column if not is_missing(cell)} == {bool}:
        return None
    return np.array([float_of(cell) for cell in column])


def without_categories(column: pd.Series) -> pd.Series:
    """Return a column of categories that are numbers as a column of numbers, any other as it is."""
    is_listed = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.dtype.kind in "biuf"
    return column.astype(np.float64) if is_listed else column


def texts_of(column: pd.Series) -> Texts:
    """Cells as text without blanks around it, NUL a space, "" where one is missing; whole numbers have no point."""
    gone = column.isna().to_numpy(bool)
    cells = ["" if is_gone else _text(cell) for cell, is_gone in zip(column, gone, strict=True)]
    return np.array(cells, object)


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e16:  # numpy's double is a float, too
        return str(int(cell))
    return str(cell).strip(BLANKS).replace("\0", " ")  # a piece of text may end anywhere


def times_of(column: pd.Series, form: str) -> pd.Series:
    """Cells as times in UTC, NaT where one is missing or is not of a form of `DATES`."""
    if types.is_datetime64_any_dtype(column.dtype):
        return pd.to_datetime(column, utc=True)
    return pd.to_datetime(pd.Series(texts_of(column), dtype=object), format=form, errors="coerce", utc=True)
