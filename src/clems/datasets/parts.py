"""Parts of tables in files, none of which is larger than it has to be: groups of rows of Parquet, records of CSV."""

from __future__ import annotations

import csv
import os
from collections import deque
from collections.abc import Iterator
from glob import glob, has_magic
from pathlib import Path
from typing import IO

from clems.datasets.formats import PARQUET, find_format
from clems.datasets.formats.parquet import import_parquet
from clems.datasets.text.records import delimiter_of
from clems.datasets.text.source import BLOCK, OPENERS, DataError, Limits, Part

NUMBERS = 64 << 20  # bytes of a part of Parquet as numbers of eight bytes, if its groups of rows are not larger
TEXT = 16 << 20  # bytes of a part of a CSV, which take about five times as much as a table


def is_pattern(path: str) -> bool:
    """Whether a path names a folder, or a pattern such as ``data/*.parquet``, rather than a file."""
    return Path(path).is_dir() or (has_magic(path) and not Path(path).exists())


def parts_of(
    path: str, *, delimiter: str | None = None, encoding: str = "utf-8", numbers: int = NUMBERS, text: int = TEXT
) -> list[Part]:
    """Cut the tables that a path names into parts.

    Parameters
    ----------
    path : str
        A CSV or Parquet file, a pattern such as ``data/*.parquet``, or a folder of such files.
    delimiter : str or None, default=None
        What is between two columns of a CSV; None finds out from the first lines of each.
    encoding : str, default="utf-8"
        Encoding of a CSV; one that writes ASCII otherwise leaves a file whole, as compression does.
    numbers, text : int
        How many bytes a part is to have, as numbers in memory or as text.

    Returns
    -------
    list of Part
        In the order of names, and of rows in them. Groups of rows of Parquet are never cut.

    Examples
    --------
    >>> import pandas as pd
    >>> from clems.datasets.parts import parts_of
    >>> pd.DataFrame({"size": range(100), "bug": [0, 1] * 50}).to_csv("bugs.csv", index=False)
    >>> [part.name for part in parts_of("bugs.csv", text=200)]
    ['bugs.csv from byte 9 on', 'bugs.csv from byte 409 on']
    """
    files = _files(path)
    if not files:
        raise DataError(f"{path}: no file matches; a pattern such as 'data/*.parquet' names CSV or Parquet files.")
    parts: list[Part] = []
    for file in files:
        file_format = find_format(file)
        if file_format is None or not file_format.is_table:
            raise DataError(f"{file}: only CSV and Parquet files are read in parts.")
        parts += _of_parquet(file, numbers) if file_format is PARQUET else _of_csv(file, delimiter, encoding, text)
    return parts


def _files(path: str) -> list[str]:
    """List the files that a path names; of a folder those of tables, in all folders below."""
    if Path(path).is_dir():
        tables = (one for one in sorted(Path(path).rglob("*")) if one.is_file() and one.name[0] not in "._")
        return [os.fspath(one) for one in tables if (known := find_format(one)) is not None and known.is_table]
    if Path(path).exists():
        return [path]
    return sorted(one for one in glob(path, recursive=True) if Path(one).is_file())  # noqa: PTH207, of any root


def _of_parquet(path: str, size: int) -> list[Part]:
    """Put groups of rows together until they are enough for a part."""
    pyarrow, parquet = import_parquet()
    try:
        metadata = parquet.ParquetFile(path).metadata
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{path}: it is not a whole Parquet file ({str(error).strip().partition(chr(10))[0]})."
        ) from None
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    parts, first, held = [], 0, 0
    for place, group in enumerate(groups, 1):
        held += max(group.num_rows * group.num_columns * 8, group.total_byte_size)
        following = groups[place] if place < len(groups) else None
        ahead = (
            0 if following is None else max(following.num_rows * following.num_columns * 8, following.total_byte_size)
        )
        if following is None or held + ahead > size:
            parts.append((first, place))
            first, held = place, 0
    if len(parts) <= 1:
        return [Part(path, path)]
    return [Part(path, f"{path} from group of rows {start} on", groups=(start, stop)) for start, stop in parts]


def _of_csv(path: str, delimiter: str | None, encoding: str, size: int) -> list[Part]:
    """Cut a CSV between records, each part with the header before it."""
    with Path(path).open("rb") as file:
        packed = file.read(6).startswith((*OPENERS,))
        file.seek(0)
        start = file.read(BLOCK)
        file.seek(0)
        if packed or ',"\n'.encode(encoding) != b',"\n' or b"\r" in start.replace(b"\r\n", b""):
            return [Part(path, path)]
        try:
            ends = list(_ends(file, delimiter or delimiter_of(start), size))
        except csv.Error:  # which reading it will explain
            return [Part(path, path)]
    if len(ends) <= 2:  # the header, and all else
        return [Part(path, path)]
    header, *stops = ends
    starts = [header, *stops[:-1]]
    return [
        Part(path, f"{path} from byte {start} on", span=(start, stop), header=header)
        for start, stop in zip(starts, stops, strict=True)
    ]


def _ends(file: IO[bytes], delimiter: str, size: int) -> Iterator[int]:
    """Give places at which a record ends: the header, then one every so many bytes, and the end."""
    csv.field_size_limit(max(csv.field_size_limit(), Limits().line))
    lines: deque[bytes] = deque()
    done = 0

    def more() -> bool:
        """Read some whole lines."""
        block = file.read(min(BLOCK, size)) + file.readline()
        lines.extend(block.splitlines(keepends=True))
        return bool(block)

    def feed() -> Iterator[str]:
        nonlocal done
        while lines or more():
            line = lines.popleft()
            done += len(line)
            yield line.decode("latin-1")  # in which each byte is a character

    for record in csv.reader(feed(), delimiter=delimiter, skipinitialspace=True):
        if record:
            break
    yield (last := done)
    while lines or more():
        if any(b'"' in line for line in lines):  # whose records may have several lines
            for _ in csv.reader(feed(), delimiter=delimiter, skipinitialspace=True):
                if not lines:
                    break
        else:
            done += sum(map(len, lines))
            lines.clear()
        if done - last >= size:
            yield (last := done)
    if done > last:
        yield done
