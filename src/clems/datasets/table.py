"""Tables in files: CSV and Parquet."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

import pandas as pd

from clems.datasets.cells import Form, Records, check_marks, read_rows, records_of
from clems.datasets.columns import Nominal, pick
from clems.datasets.dataset import Dataset, first_repeated
from clems.datasets.frame import Rows, dataset_of
from clems.datasets.source import DataError, Limits, PathOrFile, Source, joined, stem

INDEX = re.compile(r"__index_level_\d+__")  # where pandas keeps the index of a DataFrame


def read_table(
    path: PathOrFile,
    labels: str | Sequence[str] | None = None,
    *,
    tags: str | None = None,
    separator: str | None = None,
    pairs: PathOrFile | pd.DataFrame | None = None,
    row_id: str | None = None,
    drop: str | Sequence[str] = (),
    nominal: Nominal | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    name: str | None = None,
    encoding: str = "utf-8",
    limits: Limits | None = None,
) -> Dataset:
    """Read a CSV or Parquet file, plain or compressed (gzip, bzip2, xz).

    The labels are columns of zeros and ones (`labels`), or in one column of tags (`tags` and `separator`), or in a
    second file of row and label (`pairs`). All other columns are features.

    Parameters
    ----------
    path : str, path or binary file
        The file; whether it is Parquet shows in its first bytes. The first line of a CSV names the columns.
    labels : str, sequence of str or None, default=None
        Names of label columns, or patterns: ``"tag_*"`` takes all columns that start with ``tag_``. With `tags` or
        `pairs`: the labels that there are, in order, as in training; others are refused.
    tags : str or None, default=None
        Name of a column that holds the labels of each row.
    separator : str or None, default=None
        What is between two tags in that column, for instance ``";"``; not needed where Parquet holds lists.
    pairs : path, binary file, DataFrame or None, default=None
        A table with two columns, row and label, and a line for each label that a row has. The first line of a CSV
        names the columns.
    row_id : str or None, default=None
        Name of the column by which `pairs` calls the rows, which is not a feature then; None if it calls them by
        number, from 0.
    drop : str or sequence of str, default=()
        Names or patterns of columns to leave out.
    nominal : {"codes", "one-hot"} or None, default=None
        How words become numbers: as the place of a word among the sorted words of its column, or one column per word.
        The words are those of this file, so another file may give other columns. None refuses words. Columns that say
        no or yes, false or true are 0 and 1 in any case.
    delimiter : str or None, default=None
        What is between two columns of a CSV; None finds out from the first lines, of comma, semicolon, tab and bar.
    decimal : str, default="."
        The point in numbers of a CSV, for instance ``","``.
    name : str or None, default=None
        What to call the dataset; None for the name of the file.
    encoding : str, default="utf-8"
        Encoding of a CSV.
    limits : Limits or None, default=None
        How much may be read, and what a compressed file may grow to.

    Returns
    -------
    Dataset
        A missing feature (nothing, NA, NaN, null, None or ?) is NaN. Labels from tags or pairs are sparse.

    Raises
    ------
    DataError
        If the file is not what it should be; nothing is returned of it then.
    """
    check_marks(delimiter, decimal)
    with Source(path, limits, encoding) as source:
        as_written = [column for column in (tags, row_id) if column is not None]
        frame, rows = read_frame(source, delimiter, as_written, decimal, drop)
    if pairs is None or isinstance(pairs, pd.DataFrame):
        of_pairs = None if pairs is None else (pairs, Rows("pairs", limits))
    else:
        with Source(pairs, limits, encoding) as second:
            of_pairs = read_frame(second, None, None)
    return dataset_of(
        frame,
        rows,
        labels=labels,
        tags=tags,
        separator=separator,
        pairs=of_pairs,
        row_id=row_id,
        drop=drop,
        nominal=nominal,
        name=name or stem(source.name),
        source=source.name,
    )


def read_frame(
    source: Source,
    delimiter: str | None,
    as_written: list[str] | None,
    decimal: str = ".",
    drop: str | Sequence[str] = (),
) -> tuple[pd.DataFrame, Rows]:
    """Read a table; columns to be left as they are written are given, None for all."""
    chunks = source.chunks()
    head = next(chunks, b"")
    if head.startswith(b"PAR1"):
        return _read_parquet(joined(chain([head], chunks)), drop, source), Rows(source.name, source.limits)
    records = Records(source.recoded(chain([head], chunks)), delimiter, source)
    n_rows, first, text = 0, records.line, io.BytesIO()
    for n, block in records:
        n_rows += n
        text.write(block)
    kept = records.names if as_written is None else as_written
    form = Form(records.names, records.delimiter, decimal, written={*kept})
    frame = read_rows(text.getvalue(), n_rows, form)
    return frame, Rows(
        source.name, source.limits, lambda row: _line_of(row, text.getvalue(), records.delimiter, first), decimal
    )


def _line_of(row: int, text: bytes, delimiter: str, first: int) -> int:
    """Line that a row starts on, where the text starts on another than the first."""
    return next(islice(records_of(text, delimiter), row, None))[0] + first - 1


def import_parquet() -> tuple[Any, Any]:
    """Import pyarrow, or say how to get it."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'clems[parquet]'.") from None
    return pyarrow, parquet


def _read_parquet(data: bytes, drop: str | Sequence[str], source: Source) -> pd.DataFrame:
    """Read a Parquet file, whose size is checked before it is unpacked; columns that are dropped are left empty."""
    pyarrow, parquet = import_parquet()
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        names = [name for name in file.schema_arrow.names if not INDEX.fullmatch(name)]
        dropped = {names[place] for place in pick(drop, names, source)}
        kept = [name for name in names if name not in dropped]
        source.check_size(file.metadata.num_rows, max(len(kept), 1))
        frame = file.read(columns=kept).to_pandas(ignore_metadata=True)
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise source.fault(f"it is not a whole Parquet file ({str(error).splitlines()[0][:100]})") from None
    if (twice := first_repeated(names)) is not None:
        raise source.fault(f"two columns are called {twice!r}; names must differ")
    return frame.reindex(columns=names)
