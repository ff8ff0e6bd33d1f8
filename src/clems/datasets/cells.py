"""Cells of a CSV: cut into whole records, and read by pandas where that is safe, else one by one."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clems.datasets.columns import plural
from clems.datasets.dataset import first_repeated
from clems.datasets.decimals import dense_rows, number_in, read_csv
from clems.datasets.source import BLOCK, DataError, Source

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"]
CELLS = 4_000_000  # cells that are worked on at a time, so that wide tables take no more memory than long ones
WIDE = 5_000  # columns from which on pandas takes longer than reading cells one by one
EMPTY_LINES = re.compile(rb"(?:[ \t\v\f]*+\n)*+")
# What pandas reads in another way than float does: a sign before or after blanks is one unit off in the last place, a
# whole number loses the sign of its zero. And it takes a quote after a tab for the start of a cell.
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


def check_marks(delimiter: str | None, decimal: str) -> None:
    """Refuse a delimiter and a decimal point that are not one character each."""
    for what, mark in (("delimiter", delimiter), ("decimal", decimal)):
        if mark is not None and not (
            isinstance(mark, str) and len(mark) == 1 and mark.isascii() and mark not in '"\r\n'
        ):
            raise ValueError(f"{what} must be one character; got {mark!r}.")


def delimiter_of(text: bytes) -> str:
    """Find the mark that is most frequent in the first line, of those that are as frequent in the second."""
    lines = [re.sub(rb'"[^"]*"', b"", line) for line in text.lstrip().split(b"\n", 2)[:2]]
    counts = {mark: [line.count(mark.encode()) for line in lines] for mark in ",;\t|"}
    return max(counts, key=lambda mark: (counts[mark][0] > 0 and counts[mark][0] == counts[mark][-1], counts[mark][0]))


def records_of(text: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Lines of a CSV that are not empty, with the number of the line each starts on."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a cell may be as long as the file
    reader = csv.reader(
        io.TextIOWrapper(io.BytesIO(text), "utf-8", newline=""), delimiter=delimiter, skipinitialspace=True
    )
    line = 1
    for record in reader:
        if record:
            yield line, record
        line = reader.line_num + 1


class Records:
    """The records of a CSV, in blocks that are whole: what is held at a time is bounded by the length of a record.

    Parameters
    ----------
    chunks : iterator of bytes
        The text in UTF-8, with line ends of any kind, cut anywhere.
    delimiter : str or None
        What is between two columns; None finds out from the first two lines.
    source : Source
        Where it comes from; its limits apply to a record.

    Attributes
    ----------
    names : list of str
        What the first record says, without blanks around.
    delimiter : str
        What is between two columns.
    line : int
        Number of the line that the next record starts on.
    """

    def __init__(self, chunks: Iterator[bytes], delimiter: str | None, source: Source) -> None:
        self._source = source
        self.line = 1
        lines = _whole_lines(chunks, source)
        start = b""
        for block in lines:
            empty = EMPTY_LINES.match(block).end() if not start else 0  # type: ignore[union-attr]
            self.line += block.count(b"\n", 0, empty)
            start += block[empty:]
            if start.count(b"\n") > 1:
                break
        if not start:
            raise source.fault("it is empty")
        self.delimiter = delimiter or delimiter_of(start)
        self._blocks = chain([start], lines)
        self.names: list[str] = []
        with self._saying_what_is_wrong():
            self._record_block(next(self._blocks), first_only=True)
        if (twice := first_repeated(self.names)) is not None:
            raise source.fault(f"two columns are called {twice!r}; names must differ")

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Give the number of records of each block, and its text with line feeds as line ends."""
        for block in self._blocks:
            if b'"' in block or self.delimiter == " ":
                with self._saying_what_is_wrong():
                    found = self._record_block(block)
            else:
                found = self._count(block), block
            self.line += found[1].count(b"\n")
            yield found

    def _saying_what_is_wrong(self) -> _Refusing:
        return _Refusing(self._source)

    def _record_block(self, block: bytes, first_only: bool = False) -> tuple[int, bytes]:
        """Find the records of a block, and of those after it what the last record takes; the rest is put back."""
        limit = self._source.limits.line
        csv.field_size_limit(max(csv.field_size_limit(), limit))
        lines = deque(block.splitlines(keepends=True))
        taken: list[bytes] = []
        open_size = 0

        def feed() -> Iterator[str]:
            nonlocal open_size
            while True:
                while lines:
                    taken.append(lines.popleft())
                    open_size += len(taken[-1])
                    yield taken[-1].decode()
                more = next(self._blocks, None)
                if more is None:
                    return
                if open_size > limit:
                    raise self._source.endless(self.line)
                lines.extend(more.splitlines(keepends=True))

        reader = csv.reader(feed(), delimiter=self.delimiter, skipinitialspace=True)
        n, start, size = 0, 0, 0
        for record in reader:
            if first_only and record:
                self.names = [name.strip(" \t") for name in record]
                self.line += reader.line_num
                break
            if record and len(record) != len(self.names):
                raise self._fault(start, len(record), self.delimiter.join(record))
            n += bool(record)
            start = reader.line_num
            size, open_size = size + open_size, 0
            if not lines or size >= max(BLOCK, len(block)):
                break
        if lines:
            self._blocks = chain([b"".join(lines)], self._blocks)
        return n, b"".join(taken)

    def _count(self, block: bytes) -> int:
        """Count records without quotes, and their values."""
        text = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(text == ord("\n"))
        marks = np.searchsorted(np.flatnonzero(text == ord(self.delimiter)), ends)
        starts = np.concatenate([[0], ends[:-1] + 1])
        is_record = ends > starts
        wrong = (np.diff(marks, prepend=0) != len(self.names) - 1) & is_record
        if wrong.any():
            line = int(wrong.argmax())
            shown = block[starts[line] : ends[line]].decode()
            raise self._fault(line, shown.count(self.delimiter) + 1, shown)
        return int(is_record.sum())

    def _fault(self, line: int, values: int, text: str) -> DataError:
        what = f"the line has {plural(values, 'value')}; there are {plural(len(self.names), 'column')}"
        return self._source.fault(what, self.line + line, text)


class _Refusing:
    """Says what is wrong where the csv module cannot go on."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, csv.Error):
            raise self._source.fault(f"it cannot be read as a table ({error})") from None


def _whole_lines(chunks: Iterator[bytes], source: Source) -> Iterator[bytes]:
    """Cut text into blocks of whole lines that end with a line feed; line ends of any kind become line feeds."""
    pieces: list[bytes] = []
    size, line, half = 0, 1, b""
    for chunk in chunks:
        text = half + chunk
        half = b"\r" if text.endswith(b"\r") else b""  # perhaps half of a line end
        text = text.removesuffix(half)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = text.rfind(b"\n") + 1
        pieces.append(text[:end] or text)
        size += len(pieces[-1])
        if end:
            yield b"".join(pieces)
            line += text.count(b"\n")
            pieces, size = [text[end:]], len(text) - end
        elif size > source.limits.line:
            raise source.endless(line)
    if last := b"".join(pieces) + half.replace(b"\r", b"\n"):
        yield last if last.endswith(b"\n") else last + b"\n"


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
        Columns of numbers and truths, NaN where one is missing; and of words where they hold anything else.
    """
    frame = _by_pandas(text, n_rows, form) if len(form.names) <= WIDE else None
    return _by_cells(text, n_rows, form) if frame is None else frame


def _by_pandas(text: bytes, n_rows: int, form: Form) -> pd.DataFrame | None:
    """Read by pandas; None where it might read anything in another way than cell by cell."""
    if (b"+" in text and PLUS.search(text) and BLANK.search(text)) or (
        b"\t" in text and b'"' in text and form.delimiter != "\t" and TAB_BEFORE_QUOTE.search(text)
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
    if len(frame) != n_rows or ({*kinds} & {*"iO"} and b"-0" in text and MINUS_ZERO.search(text)):
        return None
    if len(text) > 18 and any(
        frame[name].isin(MISSING_MARKS).any()  # pandas forgets what is missing beside whole numbers from 2**63 on
        for name, kind in zip(form.names, kinds, strict=True)
        if kind == "O" and name not in as_text
    ):
        return None
    return frame


def _by_cells(text: bytes, n_rows: int, form: Form) -> pd.DataFrame:
    """Read cell by cell, numbers as float reads them."""
    width, names = len(form.names), pd.Index(form.names, dtype=object)  # strings of Arrow are slow one by one
    is_text = np.array([name in form.written or name in form.words for name in form.names])
    numbers = None if is_text.any() else _all_numbers(text, form)
    if numbers is None:
        numbers = np.full((n_rows, width), np.nan)
        records, start = (record for _, record in records_of(text, form.delimiter)), 0
        while batch := list(islice(records, max(1, CELLS // width))):
            for place, cells in enumerate(zip(*batch, strict=True)):
                if not is_text[place]:
                    values = _numbers(cells, form.decimal)
                    is_text[place] = values is None
                    numbers[start : start + len(batch), place] = np.nan if values is None else values
            start += len(batch)
    if not is_text.any():
        return pd.DataFrame(numbers, columns=names)
    places = np.flatnonzero(is_text)
    words = np.empty((n_rows, len(places)), object)
    gone = [{} if form.names[place] in form.written else dict.fromkeys(MISSING, np.nan) for place in places]
    for row, (_, record) in enumerate(records_of(text, form.delimiter)):
        words[row] = [missing.get(record[place], record[place]) for place, missing in zip(places, gone, strict=True)]
    others = np.flatnonzero(~is_text)
    frames = [pd.DataFrame(numbers[:, others]), pd.DataFrame(words)]
    frame = pd.concat(frames, axis="columns", ignore_index=True)
    return frame.iloc[:, np.argsort(np.concatenate([others, places]))].set_axis(names, axis="columns")


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
