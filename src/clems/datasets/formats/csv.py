"""CSV and TSV: read in pieces of whole records, a whole table as these one below the other, and written."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from clems.arrays import Floats
from clems.datasets.dataset import Dataset, check_distinct, dense_frames
from clems.datasets.text.cells import CELLS, Form, read_rows
from clems.datasets.text.decimals import is_number
from clems.datasets.text.records import Records, records_of
from clems.datasets.text.source import Source
from clems.files import replacing

BLOCKS = 100  # blocks of text that are held at most, whatever they hold
ROWS = 20_000  # rows of a piece at most: enough to make the share of Python's own work small

FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "＝",
    "＋",
    "－",
    "＠",
)  # how a cell begins that a spreadsheet runs


# Reading


class _Text(NamedTuple):
    """Some whole records: their text, how many they are, and the line that the first is on."""

    text: bytes
    n: int
    line: int

    def read(self, form: Form) -> pd.DataFrame:
        """Read the cells."""
        return read_rows(self.text if self.n else b"", self.n, form)


class CSVText:
    """The text of a CSV, to be read in pieces or as a whole.

    Parameters
    ----------
    chunks : iterator of bytes
        What the file holds, cut anywhere.
    source : Source
        Where it comes from.
    delimiter, decimal : str or None
        As in `read_table`.
    written : collection of str or None, default=()
        Names of columns that are to be left as they are written; None for all.
    words : collection of str, default=()
        Names of columns that hold words, whatever they look like; those that stand for a missing value are missing.
    rows : int, default=20,000
        Most rows of a piece.
    """

    def __init__(
        self,
        chunks: Iterator[bytes],
        source: Source,
        delimiter: str | None,
        decimal: str,
        written: Collection[str] | None = (),
        words: Collection[str] = (),
        rows: int = ROWS,
    ) -> None:
        self._records = Records(source.recoded(chunks), delimiter, source)
        names, delimiter = self._records.names, self._records.delimiter
        self._form = Form(names, delimiter, decimal, {*names} if written is None else {*written}, {*words})
        self._rows = max(1, min(rows, CELLS // len(names)))

    def pieces(self) -> Iterator[pd.DataFrame]:
        """Give DataFrames of some rows each; at least one, which may have no rows."""
        for position, text in enumerate(self._texts()):
            frame = text.read(self._form)
            for start in range(0, max(text.n, position == 0), self._rows):
                yield frame.iloc[start : start + self._rows].reset_index(drop=True)

    def whole(self) -> tuple[pd.DataFrame, Callable[[int], int]]:
        """Give all rows, and a function that finds the line that a row starts on."""
        texts, delimiter = list(self._texts()), self._form.delimiter

        def line_of(row: int) -> int:
            for text in texts:
                if row < text.n:
                    return next(islice(records_of(text.text, delimiter), row, None))[0] + text.line - 1
                row -= text.n
            raise IndexError(row)

        return _whole(texts, self._form), line_of

    def _texts(self) -> Iterator[_Text]:
        """Put blocks of records together until they are enough for a piece; there is at least one, perhaps empty."""
        records = self._records
        n, line, blocks, is_first = 0, records.line, list[bytes](), True
        for n_block, block in records:
            n += n_block
            blocks.append(block)
            if n >= self._rows or len(blocks) >= BLOCKS:
                yield _Text(b"".join(blocks), n, line)
                n, line, blocks, is_first = 0, records.line, [], False
        if n or is_first:
            yield _Text(b"".join(blocks), n, line)


def _whole(texts: list[_Text], form: Form) -> pd.DataFrame:
    """Read pieces into one table, each column as if it had been read at once.

    Numbers are put where they belong piece by piece, so that they are in memory only once.
    """
    if len(texts) == 1:
        return texts[0].read(form)
    stops = np.cumsum([text.n for text in texts])
    spans = [slice(int(stop) - text.n, int(stop)) for text, stop in zip(texts, stops, strict=True)]
    numbers = np.full((len(form.names), stops[-1]), np.nan)
    others: dict[int, list[pd.Series | None]] = {}  # pieces of columns that hold booleans or words in one of them
    known = form
    for which, (text, span) in enumerate(zip(texts, spans, strict=True)):
        frame = text.read(known)
        is_plain = np.array([dtype.kind in "iuf" for dtype in frame.dtypes])
        numbers[is_plain, span] = frame.iloc[:, np.flatnonzero(is_plain)].to_numpy(np.float64).T
        for position in np.flatnonzero(~is_plain).tolist():
            column = frame.iloc[:, position]
            kind = _kind(column)
            if kind is not None:
                others.setdefault(position, [None] * len(texts))[which] = column
            if kind == "words":  # which need not be tried as numbers from here on
                known = known._replace(words={*known.words, form.names[position]})
    mixed = [position for position, pieces in others.items() if _is_mixed(pieces, numbers[position], spans)]
    if mixed:
        as_words = form._replace(words={*form.words, *(form.names[position] for position in mixed)})
        for which, text in enumerate(texts):
            frame = text.read(as_words)
            for position in mixed:
                others[position][which] = frame.iloc[:, position]
    whole = pd.DataFrame(numbers.T, columns=pd.Index(form.names, dtype=object), copy=False)
    for position, pieces in others.items():
        whole.isetitem(position, _joined(pieces, spans))
    return whole


def _is_mixed(pieces: list[pd.Series | None], numbers: Floats, spans: list[slice]) -> bool:
    """Whether a column has words in one piece and booleans or numbers in another, so that all of it is words."""
    kinds = {_kind(piece) for piece in pieces if piece is not None}
    has_numbers = any(
        piece is None and not np.isnan(numbers[span]).all() for piece, span in zip(pieces, spans, strict=True)
    )
    return len(kinds) + has_numbers > 1


def _joined(pieces: list[pd.Series | None], spans: list[slice]) -> pd.Series:
    """Put the pieces of a column one below the other; what is None is missing."""
    columns = [
        pd.Series(np.nan, range(span.stop - span.start), dtype=object) if piece is None else piece
        for piece, span in zip(pieces, spans, strict=True)
    ]
    columns = [column for column in columns if len(column)]
    same = len({column.dtype for column in columns}) == 1
    return pd.concat(columns if same else [column.astype(object) for column in columns], ignore_index=True)


def _kind(column: pd.Series) -> str | None:
    """Say what a column that is not numbers holds: booleans or words; None if all is missing."""
    present = column.dropna()
    if not len(present):
        return None
    return "booleans" if isinstance(present.iloc[0], bool | np.bool_) else "words"


# Writing


def write_csv(dataset: Dataset, path: str | os.PathLike[str], delimiter: str = ",") -> None:
    """Write the features, then the labels as columns of zeros and ones."""
    check_distinct(dataset)
    names = [*dataset.feature_names, *dataset.label_names]
    for name in names:
        if name != name.strip(" \t\ufeff") or "\r" in name or not name:
            raise ValueError(f"A CSV cannot keep the name {name!r} as it is; rename it, or write Parquet.")
    with replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(names)
        for frame in dense_frames(dataset):
            frame.to_csv(text, header=False, index=False, sep=delimiter, lineterminator="\n")
        text.detach()


@contextmanager
def append_csv(
    file: IO[bytes], delimiter: str = ",", spreadsheet_safe: bool = False
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write DataFrames of the same columns one below the other.

    Parameters
    ----------
    file : binary file
        Where to; it is not closed.
    delimiter : str, default=","
        What is between two cells.
    spreadsheet_safe : bool, default=False
        Whether text that a spreadsheet would take for a formula gets an apostrophe before it.

    Yields
    ------
    callable
        Writes one of them.
    """
    header = True

    def append(frame: pd.DataFrame) -> None:
        nonlocal header
        quoting = csv.QUOTE_MINIMAL
        if spreadsheet_safe:
            frame, quoting = _harmless(frame), csv.QUOTE_NONNUMERIC
        text = frame.to_csv(header=header, index=False, sep=delimiter, lineterminator="\n", quoting=quoting)
        file.write(text.encode())
        header = False

    yield append


def _harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before names and text that a spreadsheet would take for a formula; numbers are none."""

    def cell(value: Any) -> Any:
        formula = isinstance(value, str) and value.startswith(FORMULA) and not is_number(value)
        return f"'{value}" if formula else value

    words = [position for position, kind in enumerate(frame.dtypes) if kind.kind not in "biuf"]
    safe = frame.copy()
    for position in words:
        safe.isetitem(position, frame.iloc[:, position].map(cell))
    return safe.set_axis([cell(name) for name in frame.columns], axis="columns")
