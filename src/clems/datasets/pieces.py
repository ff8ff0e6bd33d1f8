"""Tables in pieces, so that a file of any length takes little memory."""

from __future__ import annotations

import codecs
import io
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from itertools import chain
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clems.datasets.columns import plural
from clems.datasets.dataset import first_repeated
from clems.datasets.decimals import PRECISION
from clems.datasets.source import BLOCK, NOT_ENCODED, DataError, Source
from clems.datasets.table import INDEX, MISSING, delimiter_of, import_parquet, records_of

ROWS = 20_000  # rows of a piece at most: enough to make the share of Python's own work small
CELLS = 4_000_000  # and cells, so that wide tables take no more memory than long ones
OPEN = 1 << 24  # bytes of a cell in quotes up to which lines are counted
LINE_END = re.compile(rb"\r\n?|\n")


def read_pieces(
    source: Source,
    *,
    written: Collection[str] = (),
    words: Collection[str] = (),
    delimiter: str | None = None,
    decimal: str = ".",
    rows: int = ROWS,
) -> Iterator[pd.DataFrame]:
    """Read a CSV or Parquet file in pieces.

    Parameters
    ----------
    source : Source
        The file.
    written : collection of str, default=()
        Names of columns that are to be left as they are written.
    words : collection of str, default=()
        Names of columns that hold words, whatever they look like; those that stand for a missing value are missing.
    delimiter, decimal
        As in `read_table`.
    rows : int, default=20,000
        Most rows of a piece.

    Yields
    ------
    DataFrame
        At least one, which may have no rows.
    """
    chunks = source.chunks()
    head = b""
    while len(LINE_END.findall(head)) < 2 and (chunk := next(chunks, b"")):
        head += chunk
        if head.startswith(b"PAR1"):
            yield from _parquet_pieces(b"".join([head, *chunks]), rows, source)
            return
    text = _Text(chain([head], chunks), source)
    yield from _csv_pieces(text, source, {*written}, {*words}, delimiter, decimal, rows)


def parquet_pieces(file: IO[bytes], source: Source, rows: int = ROWS) -> Iterator[pd.DataFrame]:
    """Read a Parquet file in pieces, without reading all of it first."""
    pyarrow, parquet = import_parquet()
    try:
        table = parquet.ParquetFile(file)
        names = [name for name in table.schema_arrow.names if not INDEX.fullmatch(name)]
        if (twice := first_repeated(names)) is not None:
            raise source.fault(f"two columns are called {twice!r}; names must differ")
        size = max(1, min(rows, CELLS // max(1, len(names))))
        yield table.schema_arrow.empty_table().to_pandas(ignore_metadata=True)[names]
        for batch in table.iter_batches(batch_size=size, columns=names):
            yield batch.to_pandas(ignore_metadata=True)
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise source.fault(f"it is not a whole Parquet file ({_first_line(error)})") from None


def _parquet_pieces(data: bytes, rows: int, source: Source) -> Iterator[pd.DataFrame]:
    return parquet_pieces(io.BytesIO(data), source, rows)


def _csv_pieces(
    text: _Text,
    source: Source,
    written: set[str],
    words: set[str],
    delimiter: str | None,
    decimal: str,
    rows: int,
) -> Iterator[pd.DataFrame]:
    lines = LINE_END.sub(b"\n", text.peek())
    if not lines.strip():
        raise source.fault("it is empty")
    delimiter = delimiter or delimiter_of(lines)
    names = [name.strip(" \t") for name in next(records_of(lines, delimiter))[1]]
    if (twice := first_repeated(names)) is not None:
        raise source.fault(f"two columns are called {twice!r}; names must differ")
    text.expect(_Lines(len(names), delimiter, source))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            reader = pd.read_csv(
                io.BufferedReader(text, BLOCK),
                sep=delimiter,
                decimal=decimal,
                header=0,
                names=names,
                index_col=False,
                dtype={name: str for name in names if name in written | words},
                na_values={name: [] if name in written else MISSING for name in names} if written else MISSING,
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                chunksize=max(1, min(rows, CELLS // len(names))),
                **PRECISION,
            )
        with closing(reader):
            while (piece := _next(reader)) is not None:
                yield piece
    except DataError:
        raise
    except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
        if text.error is not None:  # pandas says no more than that reading has failed
            raise text.error from None
        raise source.fault(f"it cannot be read as a table ({_first_line(error)})") from None


def _next(reader: Any) -> pd.DataFrame | None:
    """Next piece, lines of too many values being an error; filters are set here, since a generator may be left."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return next(reader, None)


class _Lines:
    """Counts the values of lines as they pass: pandas fills lines that are too short with missing values."""

    def __init__(self, columns: int, delimiter: str, source: Source) -> None:
        self._columns, self._delimiter, self._source = columns, delimiter, source
        self._line, self._rest, self._gave_up = 1, b"", False

    def __call__(self, piece: bytes) -> None:
        """See the next piece of a text, which is empty after the last."""
        if self._gave_up:
            return
        data = self._rest + piece
        # A return at the end may be half of a line end.
        end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1 if piece else len(data)
        if data.count(b'"', 0, end) % 2 and piece:  # within a cell
            self._rest, self._gave_up = data, len(data) > OPEN
            return
        self._rest, lines = data[end:], data[:end]
        if b"\r" in lines:
            lines = LINE_END.sub(b"\n", lines)
        if b'"' in lines or len(self._delimiter.encode()) > 1:
            for line, record in records_of(lines, self._delimiter):
                if len(record) != self._columns:
                    raise self._fault(line, len(record), self._delimiter.join(record))
        elif lines:
            self._count(np.frombuffer(lines if lines.endswith(b"\n") else lines + b"\n", np.uint8))
        self._line += lines.count(b"\n")

    def _count(self, text: NDArray[np.uint8]) -> None:
        ends = np.flatnonzero(text == ord("\n"))
        marks = np.searchsorted(np.flatnonzero(text == ord(self._delimiter)), ends)
        starts = np.concatenate([[0], ends[:-1] + 1])
        wrong = (np.diff(marks, prepend=0) != self._columns - 1) & (ends > starts)
        if wrong.any():
            line = int(wrong.argmax())
            shown = text[starts[line] : ends[line]].tobytes().decode()
            raise self._fault(line + 1, shown.count(self._delimiter) + 1, shown)

    def _fault(self, line: int, values: int, text: str) -> DataError:
        what = f"the line has {plural(values, 'value')}; there are {plural(self._columns, 'column')}"
        return self._source.fault(what, self._line - 1 + line, text)


class _Text(io.RawIOBase):
    """A stream of UTF-8 from chunks of any encoding; what went wrong with them is kept in `error`."""

    def __init__(self, chunks: Iterator[bytes], source: Source) -> None:
        super().__init__()
        self.error: DataError | None = None
        self._pieces = self._recoded(chunks, source)
        self._rest = next(self._pieces, b"").removeprefix(codecs.BOM_UTF8)
        self._look: Callable[[bytes], Any] = len

    def expect(self, look: Callable[[bytes], None]) -> None:
        """Have a function look at all that is read; what it refuses is an error."""
        self._look = look
        look(self._rest)

    def peek(self) -> bytes:
        """Look at the first chunk."""
        return self._rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            try:
                self._rest = next((piece for piece in self._pieces if piece), b"")
                self._look(self._rest)
            except DataError as error:
                self.error = error
                raise
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    @staticmethod
    def _recoded(chunks: Iterator[bytes], source: Source) -> Iterator[bytes]:
        decode = codecs.getincrementaldecoder(source.encoding)().decode
        lines = 1
        for chunk in chain(chunks, [None]):
            try:
                recoded = decode(chunk or b"", chunk is None).encode()
            except UnicodeError as error:
                at = getattr(error, "start", 0)
                wrong = (chunk or b"")[at : at + 20]
                line = lines + (chunk or b"").count(b"\n", 0, at)
                raise source.fault(NOT_ENCODED.format(source.encoding), line, wrong) from None
            lines += recoded.count(b"\n")
            yield recoded


def size_of(file: Any) -> int | None:
    """Size of a file in bytes; None of a stream."""
    try:
        return os.fstat(file.fileno()).st_size or None if file.seekable() else None
    except (AttributeError, OSError):
        return None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:120].rstrip(".")
