"""Tables, whose columns may be features or labels: CSV, TSV and Parquet, recognised by what a file holds."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import pandas as pd

from clems.datasets.columns import MissingLabels, Nominal
from clems.datasets.dataset import Dataset
from clems.datasets.formats.csv import ROWS, CSVText, append_csv, write_csv
from clems.datasets.formats.format import Format
from clems.datasets.formats.parquet import START, append_parquet, parquet_frame, parquet_pieces, write_parquet
from clems.datasets.frame import Roles, dataset_of
from clems.datasets.rows import Rows
from clems.datasets.text.records import check_marks
from clems.datasets.text.source import Limits, PathOrFile, Source, stem


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
    kinds: Mapping[str, str] | None = None,
    encode: bool | None = None,
    missing_labels: MissingLabels = "refuse",
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
        Name of the column that says which row is which, which is no feature then, and by which `pairs` calls the rows;
        None if it calls them by number, from 0.
    drop : str or sequence of str, default=()
        Names or patterns of columns to leave out.
    nominal : {"codes", "one-hot"} or None, default=None
        How words become numbers without an encoder: as the position of a word among the sorted words of its column, or
        one column per word. The words are those of this file, so another file may give other columns. Columns that say
        no or yes, false or true are 0 and 1 in any case.
    kinds : mapping of str to str or None, default=None
        What columns hold, by name, where that should not be found out: "numbers", "booleans", "dates", "words",
        "characters" or "text", see :class:`TableEncoder`.
    encode : bool or None, default=None
        Whether a :class:`TableEncoder` makes features of the columns: it takes words, text and dates, fills gaps, and
        leaves ids and constant columns out. The dataset keeps it as `encoder`, None if there was nothing to do. None
        encodes a table unless all of its columns hold numbers, which are taken as they are; False never does, so that
        words are refused unless there is `nominal`.
    missing_labels : {"refuse", "keep"}, default="refuse"
        What becomes of a label whose cell is empty, or as a missing feature is: "keep" makes it NaN, which `LEML` and
        `BCS` learn from; "refuse" says where it is. Of columns of labels only.
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
        A missing feature (nothing, NA, NaN, null, None or ?) is NaN, unless an encoder has filled it. Labels from tags
        or pairs are sparse.

    Raises
    ------
    DataError
        If the file is not what it should be; nothing is returned of it then.

    Examples
    --------
    >>> from clems.datasets import from_frame, read_table, write_table
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"length": [3.0, 8.0], "bug": [0, 1], "urgent": [1, 1]})
    >>> data = from_frame(frame, labels=["bug", "urgent"])
    >>> file = "tickets.csv"
    >>> write_table(data, file)
    >>> read = read_table(file, labels=["bug", "urgent"])
    >>> read.label_names, read.Y.tolist()
    (['bug', 'urgent'], [[0, 1], [1, 1]])
    """
    check_marks(delimiter, decimal)
    with Source(path, limits, encoding) as source:
        written = [column for column in (tags, row_id) if column is not None]
        words = [column for column, kind in (kinds or {}).items() if kind not in ("numbers", "booleans")]
        frame, rows = read_frame(source, written=written, words=words, delimiter=delimiter, decimal=decimal, drop=drop)
    if pairs is None or isinstance(pairs, pd.DataFrame):
        of_pairs = None if pairs is None else (pairs, Rows("pairs", limits))
    else:
        with Source(pairs, limits, encoding) as second:
            of_pairs = read_frame(second, written=None)
    roles = Roles(labels, tags, separator, of_pairs, row_id, drop, nominal, kinds, encode, missing_labels)
    return dataset_of(frame, rows, roles, name or stem(source.name), source.name)


def read_frame(
    source: Source,
    *,
    written: Collection[str] | None = (),
    words: Collection[str] = (),
    delimiter: str | None = None,
    decimal: str = ".",
    drop: str | Sequence[str] = (),
    any_length: bool = False,
) -> tuple[pd.DataFrame, Rows]:
    """Read a whole table.

    Parameters
    ----------
    source : Source
        The file.
    written : collection of str or None, default=()
        Names of columns of a CSV that are to be left as they are written; None for all.
    words : collection of str, default=()
        Names of columns of a CSV that hold words, whatever they look like.
    delimiter, decimal, drop
        As in `read_table`; columns that are dropped may be left empty.
    any_length : bool, default=False
        Whether it may be longer than the limits of the source.

    Returns
    -------
    frame : DataFrame
        Columns of numbers and booleans, NaN where one is missing; and of words where they hold anything else.
    rows : Rows
        How to call them where something is wrong.
    """
    chunks, is_parquet = _begun(source, any_length)
    if is_parquet:
        frame = parquet_frame(source.seekable(chunks, any_length), source, drop, any_length)
        return frame, Rows(source.name, source.limits)
    frame, line_of = CSVText(chunks, source, delimiter, decimal, written, words).whole()
    return frame, Rows(source.name, source.limits, line_of, decimal)


def read_pieces(
    source: Source,
    *,
    written: Collection[str] = (),
    words: Collection[str] = (),
    delimiter: str | None = None,
    decimal: str = ".",
    rows: int = ROWS,
) -> Iterator[pd.DataFrame]:
    """Read a table of any length in pieces.

    Parameters
    ----------
    source : Source
        The file.
    written : collection of str, default=()
        Names of columns of a CSV that are to be left as they are written.
    words : collection of str, default=()
        Names of columns of a CSV that hold words, whatever they look like; those that stand for a missing value are
        missing.
    delimiter, decimal
        As in `read_table`.
    rows : int, default=20,000
        Most rows of a piece.

    Returns
    -------
    iterator of DataFrame
        At least one, which may have no rows.
    """
    check_marks(delimiter, decimal)
    chunks, is_parquet = _begun(source, any_length=True)
    if is_parquet:
        return parquet_pieces(source.seekable(chunks, any_length=True), source, rows)
    return CSVText(chunks, source, delimiter, decimal, written, words, rows).pieces()


def _begun(source: Source, any_length: bool) -> tuple[Iterator[bytes], bool]:
    """Give what a file holds in chunks, and whether it is Parquet."""
    chunks = source.chunks(any_length)
    head = next(chunks, b"")
    return chain([head], chunks), head.startswith(START)


def write_table(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a CSV or Parquet file with the features, then the labels as columns of zeros and ones.

    Parameters
    ----------
    dataset : Dataset
        What to write.
    path : str or path
        The file: Parquet if it ends in ``.parquet``, tabs between columns if in ``.tsv``, else CSV; compressed if
        ``.gz``, ``.bz2`` or ``.xz`` follows.

    Examples
    --------
    >>> from clems.datasets import from_frame, read_table, write_table
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"length": [3.0, 8.0], "bug": [0, 1], "urgent": [1, 1]})
    >>> data = from_frame(frame, labels=["bug", "urgent"])
    >>> file = "tickets.csv"
    >>> write_table(data, file)
    >>> read = read_table(file, labels=["bug", "urgent"])
    >>> read.label_names, read.Y.tolist()
    (['bug', 'urgent'], [[0, 1], [1, 1]])
    """
    suffixes = {suffix.lower() for suffix in Path(path).suffixes}
    file_format = next((one for one in (PARQUET, TSV) if suffixes & {*one.suffixes}), CSV)
    file_format.write(dataset, path)  # type: ignore[misc]


_table = partial(Format, read=read_table, pieces=read_pieces)
CSV = _table(name="CSV", suffixes=(".csv",), write=write_csv, append=append_csv)
TSV = _table(
    name="TSV",
    suffixes=(".tsv",),
    write=partial(write_csv, delimiter="\t"),
    append=partial(append_csv, delimiter="\t"),
)
PARQUET = _table(name="Parquet", suffixes=(".parquet",), write=write_parquet, append=append_parquet)
