"""Parquet: read in pieces or whole, and written, all by pyarrow."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import pandas as pd

from clems.datasets.columns import check_names, pick
from clems.datasets.dataset import Dataset, check_distinct, dense_frames
from clems.datasets.text.cells import CELLS
from clems.datasets.text.source import DataError, Source
from clems.files import replacing

START = b"PAR1"  # how every Parquet file begins
INDEX = re.compile(r"__index_level_\d+__")  # where pandas keeps the index of a DataFrame


def import_parquet() -> tuple[Any, Any]:
    """Import pyarrow, or say how to get it."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'clems[parquet]'.") from None
    return pyarrow, parquet


@contextmanager
def _opened(file: IO[bytes], source: Source) -> Iterator[tuple[Any, list[str]]]:
    """Open a file; give it and the names of its columns, and say what is wrong while it is read."""
    pyarrow, parquet = import_parquet()
    try:
        table = parquet.ParquetFile(file)
        names = [name for name in table.schema_arrow.names if not INDEX.fullmatch(name)]
        check_names(names, source)
        _check_rows(table.metadata, source)
        yield table, names
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        reason = str(error).strip().split("\n")[0][:120].rstrip(".")
        raise source.fault(f"it is not a whole Parquet file ({reason})") from None


def _check_rows(metadata: Any, source: Source) -> None:
    """Refuse a file whose parts say that they have other rows than the whole: room for all of them would be made."""
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    if min(rows, default=0) < 0 or sum(rows) != metadata.num_rows:
        numbers = f"{metadata.num_rows} rows in all, and {sum(rows)} in its parts"
        raise source.fault(f"it is not a whole Parquet file ({numbers})")


def parquet_pieces(file: IO[bytes], source: Source, rows: int) -> Iterator[pd.DataFrame]:
    """Read a file in pieces, without reading all of it first; the first piece has no rows."""
    with _opened(file, source) as (table, names):
        size = max(1, min(rows, CELLS // max(1, len(names))))
        yield table.schema_arrow.empty_table().to_pandas(ignore_metadata=True)[names]
        for batch in table.iter_batches(batch_size=size, columns=names, row_groups=_groups(table, source)):
            yield batch.to_pandas(ignore_metadata=True)


def parquet_frame(
    file: IO[bytes], source: Source, drop: str | Sequence[str] = (), any_length: bool = False
) -> pd.DataFrame:
    """Read a whole file, whose size is checked before it is unpacked; columns that are dropped are left empty."""
    with _opened(file, source) as (table, names):
        dropped = {names[position] for position in pick(drop, names, source)}
        kept = [name for name in names if name not in dropped]
        groups = _groups(table, source)
        if not any_length:
            rows = sum(table.metadata.row_group(group).num_rows for group in groups)
            source.check_size(rows, max(len(kept), 1))
        return table.read_row_groups(groups, columns=kept).to_pandas(ignore_metadata=True).reindex(columns=names)


def _groups(table: Any, source: Source) -> list[int]:
    """List the groups of rows that are to be read."""
    return list(range(*(source.groups or (0, table.num_row_groups))))


def write_parquet(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write the features, then the labels as columns of zeros and ones."""
    check_distinct(dataset)
    with replacing(path) as file, append_parquet(file) as append:
        for frame in dense_frames(dataset):
            append(frame)


@contextmanager
def append_parquet(file: IO[bytes]) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write DataFrames of the same columns one below the other."""
    pyarrow, parquet = import_parquet()
    writer: Any = None
    with ExitStack() as stack:  # the writer is closed before the file, after an error too

        def append(frame: pd.DataFrame) -> None:
            nonlocal writer
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(file, _of_text_if_empty(table.schema)))
            writer.write_table(table.cast(writer.schema))

        yield append


def _of_text_if_empty(schema: Any) -> Any:
    """Take columns in which there is nothing yet for text: before pandas 3.0, text without rows has no type."""
    pyarrow, _ = import_parquet()
    fields = [field.with_type(pyarrow.string()) if pyarrow.types.is_null(field.type) else field for field in schema]
    return pyarrow.schema(fields, schema.metadata)
