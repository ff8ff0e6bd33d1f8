"""Tables in pieces, so that a file of any length takes little memory."""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterator
from itertools import chain
from typing import IO, Any

import pandas as pd

from clems.datasets.cells import CELLS, Form, Records, check_marks, read_rows
from clems.datasets.dataset import first_repeated
from clems.datasets.source import DataError, Source
from clems.datasets.table import INDEX, import_parquet

BLOCKS = 100  # blocks of text that are held at most, whatever they hold
ROWS = 20_000  # rows of a piece at most: enough to make the share of Python's own work small


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
    check_marks(delimiter, decimal)
    chunks = source.chunks(any_length=True)
    head = next(chunks, b"")
    if head.startswith(b"PAR1"):
        yield from _parquet_pieces(head, chunks, rows, source)
        return
    records = Records(source.recoded(chain([head], chunks)), delimiter, source)
    form = Form(records.names, records.delimiter, decimal, written, words)
    size = max(1, min(rows, CELLS // len(form.names)))
    n, blocks, is_first = 0, list[bytes](), True
    for n_block, block in chain(records, [(0, None)]):
        n += n_block
        blocks += [block] if block and n_block else []
        if n >= size or block is None or len(blocks) >= BLOCKS:
            frame = read_rows(b"".join(blocks), n, form)
            for start in range(0, max(n, is_first), size):
                yield frame.iloc[start : start + size].reset_index(drop=True)
            n, blocks, is_first = 0, [], False


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


def _parquet_pieces(head: bytes, chunks: Iterator[bytes], rows: int, source: Source) -> Iterator[pd.DataFrame]:
    """Read a Parquet file from a stream, which has to be held as a whole."""
    most = source.limits.total
    data = bytearray(head)
    for chunk in chunks:
        data += chunk
        if len(data) > most:
            raise source.too_large()
    return parquet_pieces(io.BytesIO(data), source, rows)


def size_of(file: Any) -> int | None:
    """Size of a file in bytes; None of a stream."""
    try:
        return os.fstat(file.fileno()).st_size or None if file.seekable() else None
    except (AttributeError, OSError):
        return None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:120].rstrip(".")
