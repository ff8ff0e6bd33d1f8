"""Records of a CSV: text cut into blocks of whole records, wherever lines end and cells have lines of their own."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import numpy as np

from clems.datasets.columns import check_names
from clems.datasets.text.source import BLOCK, DataError, Source
from clems.wording import plural

EMPTY_LINES = re.compile(rb"(?:[ \t\v\f]*+\n)*+")


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
        with _faults_of_csv(source):
            self._record_block(next(self._blocks), first_only=True)
        check_names(self.names, source)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Give the number of records of each block, and its text with line feeds as line ends."""
        for block in self._blocks:
            if b'"' in block or self.delimiter == " ":
                with _faults_of_csv(self._source):
                    found = self._record_block(block)
            else:
                found = self._count(block), block
            self.line += found[1].count(b"\n")
            yield found

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


@contextmanager
def _faults_of_csv(source: Source) -> Iterator[None]:
    """Say what is wrong where the csv module cannot go on."""
    try:
        yield
    except csv.Error as error:
        raise source.fault(f"it cannot be read as a table ({error})") from None


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
