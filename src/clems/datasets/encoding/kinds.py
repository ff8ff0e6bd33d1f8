"""What a column holds: numbers, yes or no, dates, words, strings or text; and which columns say nothing of a row."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from clems.datasets.columns import binary
from clems.datasets.encoding.cells import (
    DATES,
    Texts,
    Values,
    is_missing,
    numbers_of,
    texts_of,
    times_of,
    without_categories,
)
from clems.datasets.rows import Rows

KINDS = ("numbers", "booleans", "dates", "words", "characters", "text")

ONE_HOT = 40  # distinct values up to which words have a feature each
TIMES = 2  # how often such a value occurs, on average
TOKENS = 3  # words of a cell above which it is text, on average
ID_ROWS = 20  # rows from which on values that are all different, and in order, are taken for an id
SHARE = 0.5  # of cells that are numbers, or dates, from which on the others are faults
SOME = 200  # cells by which dates are distinguished from other text, before all of them are read

ID_NAME = re.compile(r"(?:^|[_\W])(?:id|uuid|guid|key|index|nr)$", re.IGNORECASE)
CAMEL_ID = re.compile(r"[a-z]I[dD]$")
LIKE_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[ T].*)?")
# Numbers with decimal commas, thousands in groups, signs of money, or a unit: what people write, and float refuses.
LIKE_NUMBER = re.compile(
    r"[€$£¥]?\s*[+−-]?(?:\d+|\d{1,3}(?:[.,'’\s]\d{3})+)(?:[.,]\d+)?(?:\s*[€$£¥%]|\s+[A-Za-z]{2,3})?"
)
COMMA = re.compile(r"[+-]?\d+,\d+")


class Guess(NamedTuple):
    """What a column holds: a kind of `KINDS`, or "id" or "constant"; and why, or in which form."""

    kind: str
    detail: str = ""


def kind_of(name: str, column: pd.Series, rows: Rows) -> Guess:
    """Tell what a column holds; a column of numbers with something else in it is refused.

    Parameters
    ----------
    name : str
        Its name: one that ends in "id" is an id if all values differ.
    column : Series
        Its cells.
    rows : Rows
        By which faults call a row, and the decimal point of texts.
    """
    if types.is_datetime64_any_dtype(column.dtype):
        return _unless_constant(Guess("dates"), column.to_numpy(), column.isna().to_numpy(bool))
    values = numbers_of(column := without_categories(column))
    if values is not None:
        kind = "booleans" if types.is_bool_dtype(column.dtype) else "numbers"
        if kind == "numbers" and _is_whole_id(name, values):
            return Guess("id", "another number in every row")
        return _unless_constant(Guess(kind), values, np.isnan(values))
    check_cells(name, column, rows)
    texts = texts_of(column)
    return _unless_constant(_of_texts(name, texts, column, rows), texts, texts == "")


def _of_texts(name: str, texts: Texts, column: pd.Series, rows: Rows) -> Guess:
    given = texts[texts != ""]
    distinct, counts = np.unique(given.astype(str), return_counts=True)
    if isinstance(column.dtype, pd.CategoricalDtype) or not len(given):
        return Guess("words")
    if binary(distinct.tolist()) is not None:
        return Guess("booleans")
    if (form := date_form(name, texts, rows)) is not None:
        return Guess("dates", form)
    if _are_numbers(name, texts, distinct, counts, rows):
        return Guess("numbers")
    if len(distinct) == len(texts) and _is_id(name, given):
        return Guess("id", "another value in every row")
    if len(distinct) <= ONE_HOT and len(given) >= TIMES * len(distinct):
        return Guess("words")
    tokens = np.mean([len(cell.split()) for cell in given])
    return Guess("text" if tokens > TOKENS else "characters")


def check_cells(name: str, column: pd.Series, rows: Rows) -> None:
    """Refuse cells that are neither numbers nor words, such as lists."""
    is_text = isinstance(column.dtype, pd.CategoricalDtype) or types.is_string_dtype(column.dtype)
    if not (is_text or column.dtype == object):
        raise rows.fault(f"column {name!r} holds {column.dtype}, which is no number; leave it out with drop=[{name!r}]")
    for row, cell in enumerate(column if column.dtype == object else ()):
        if not (is_missing(cell) or isinstance(cell, str | bytes | Real | Decimal | date)):
            what = f"column {name!r} holds a {type(cell).__name__}, which is neither number nor word"
            raise rows.row_fault(f"{what}; leave it out with drop=[{name!r}]", row, cell)


def date_form(name: str, texts: Texts, rows: Rows) -> str | None:
    """Find the form of dates of `DATES` that a column of text is written in; None if it holds something else."""
    given = texts[texts != ""]
    some = given[:SOME]
    if sum(LIKE_DATE.fullmatch(cell) is not None for cell in some) < SHARE * len(some):
        return None
    read = {form: times_of(pd.Series(given, dtype=object), form).notna().to_numpy(bool) for form in DATES}
    form = max(read, key=lambda one: read[one].sum())  # the first of the best
    if read[form].sum() < SHARE * len(given):
        return None
    if not read[form].all():
        row = int(np.flatnonzero(texts != "")[(~read[form]).argmax()])
        raise date_fault(name, row, texts[row], form, rows)
    return form


def date_fault(name: str, row: int, text: str, form: str, rows: Rows) -> Exception:
    """Put a sentence about a cell that is no date together."""
    advice = f"leave it out with drop=[{name!r}], take it as text with kinds={{{name!r}: 'text'}}, or correct the date"
    return rows.row_fault(f"column {name!r} must hold dates written {shown_form(form)}; {advice}", row, text)


def shown_form(form: str) -> str:
    """Name a form of dates as people write it."""
    names = {"%Y": "year", "%y": "year", "%m": "month", "%d": "day", "%H": "hour", "%M": "minute", "%S": "second"}
    return "year-month-day" if form not in DATES[1:] else re.sub(r"%\w", lambda mark: names[mark[0]], form)


def number_fault(name: str, row: int, text: str, rows: Rows) -> Exception:
    """Put a sentence about a cell that is no number together, with what helps."""
    ways = [f"leave it out with drop=[{name!r}]", f"take it as words with kinds={{{name!r}: 'words'}}"]
    if COMMA.fullmatch(text) and rows.decimal == ".":
        ways.insert(0, "a CSV with decimal commas needs decimal=','")
    elif LIKE_NUMBER.fullmatch(text):
        ways.insert(0, "write numbers without signs of money, units and marks between thousands")
    advice = ", ".join(ways)
    return rows.row_fault(f"column {name!r} must hold numbers; {advice}, or correct what is not a number", row, text)


def _are_numbers(name: str, texts: Texts, distinct: NDArray[Any], counts: NDArray[Any], rows: Rows) -> bool:
    """Whether all cells are numbers; if most are, or look like some, the first that is none is a fault."""
    is_number = np.array([rows.number(cell) is not None for cell in distinct])
    if is_number.all():
        return True
    is_like = is_number | [LIKE_NUMBER.fullmatch(cell) is not None for cell in distinct]
    if counts[is_like].sum() < SHARE * counts.sum():
        return False
    wrong = {*distinct[~is_number].tolist()}
    row = next(row for row, cell in enumerate(texts) if cell in wrong)
    raise number_fault(name, row, texts[row], rows)


def _unless_constant(guess: Guess, cells: NDArray[Any], gone: NDArray[np.bool_]) -> Guess:
    if gone.all():
        return Guess("constant", "it is empty")
    is_one = not gone.any() and bool((cells == cells[0]).all())
    return Guess("constant", "one value in all rows") if is_one else guess


def _is_whole_id(name: str, values: Values) -> bool:
    if len(values) < 2 or not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    if _says_id(name) and len(np.unique(values)) == len(values):
        return True
    return len(values) >= ID_ROWS and bool((np.diff(values) > 0).all())


def _is_id(name: str, given: Texts) -> bool:
    """Whether strings that all differ are ids: single words, with a digit each or under a name that says so."""
    if any(len(cell.split()) > 1 for cell in given):
        return False
    return _says_id(name) or (len(given) >= ID_ROWS and all(any(map(str.isdigit, cell)) for cell in given))


def _says_id(name: str) -> bool:
    return ID_NAME.search(name) is not None or CAMEL_ID.search(name) is not None
