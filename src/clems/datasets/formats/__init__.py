"""File formats: an object for each, found by the suffix of a file's name in `FORMATS`. The one place to enter one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from clems.datasets.dataset import Dataset
from clems.datasets.formats.arff import ARFF
from clems.datasets.formats.format import Format
from clems.datasets.formats.json_lines import JSON_LINES
from clems.datasets.formats.libsvm import LIBSVM
from clems.datasets.formats.table import CSV, PARQUET, TSV
from clems.datasets.text.source import DataError

__all__ = [
    "ARFF",
    "CSV",
    "FORMATS",
    "JSON_LINES",
    "LIBSVM",
    "PARQUET",
    "TSV",
    "Format",
    "find_format",
    "format_of",
    "formats_for",
    "read_dataset",
]

Use = Literal["read", "write", "append"]

FORMATS: dict[str, Format] = {
    suffix: one for one in (ARFF, LIBSVM, CSV, TSV, JSON_LINES, PARQUET) for suffix in one.suffixes
}


def find_format(path: str | os.PathLike[str], use: Use = "read") -> Format | None:
    """Find the format of a file that can be put to a use by the suffix of its name, before that of a compressed one."""
    known = formats_for(use)
    return next((known[suffix] for suffix in map(str.lower, reversed(Path(path).suffixes)) if suffix in known), None)


def format_of(path: str | os.PathLike[str], use: Use = "read") -> Format:
    """Find the format of a file as `find_format` does, or say how its name should end."""
    if (found := find_format(path, use)) is not None:
        return found
    allowed = ", ".join(formats_for(use))
    raise DataError(f"{os.fspath(path)}: the format does not show in the name; it should end in {allowed}.")


def formats_for(use: Use) -> dict[str, Format]:
    """List the formats that can be put to a use, by suffix."""
    return {suffix: one for suffix, one in FORMATS.items() if getattr(one, use) is not None}


def read_dataset(path: str | os.PathLike[str], labels: str | Sequence[str] | None = None, **options: Any) -> Dataset:
    """Read a dataset from a file of any known format.

    Parameters
    ----------
    path : str or path
        The file: ``.arff``, libsvm (``.txt``, ``.svm``, ``.libsvm``), ``.csv``, ``.tsv`` or ``.parquet``, plain or
        compressed.
    labels : str, sequence of str or None, default=None
        Which columns are labels, as the reader takes it; None where the file itself says.
    **options
        Other options of the reader: :func:`read_arff`, :func:`read_libsvm` or :func:`read_table`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from clems.datasets import from_frame, read_dataset, write_arff
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"length": [3.0, 8.0], "bug": [0, 1], "urgent": [1, 1]})
    >>> data = from_frame(frame, labels=["bug", "urgent"])
    >>> file = "tickets.arff"
    >>> write_arff(data, file)
    >>> read = read_dataset(file)
    >>> read.label_names, read.Y.tolist()
    (['bug', 'urgent'], [[0, 1], [1, 1]])
    """
    read = format_of(path).read
    assert read is not None
    given = {"labels": labels} if labels is not None else {}
    return read(path, **given, **options)
