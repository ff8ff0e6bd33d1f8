"""Any file of data by its name: which reader it is for shows in its suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clems.datasets.arff import read_arff
from clems.datasets.dataset import Dataset
from clems.datasets.libsvm import read_libsvm
from clems.datasets.source import DataError
from clems.datasets.table import read_table

READERS: dict[str, Callable[..., Dataset]] = {
    ".arff": read_arff,
    ".txt": read_libsvm,
    ".svm": read_libsvm,
    ".libsvm": read_libsvm,
    ".csv": read_table,
    ".tsv": read_table,
    ".parquet": read_table,
}


def read_dataset(path: str | os.PathLike[str], labels: str | Sequence[str] | None = None, **options: Any) -> Dataset:
    """Read a dataset from a file of any known form.

    Parameters
    ----------
    path : str or path
        The file: ``.arff``, libsvm (``.txt``, ``.svm``, ``.libsvm``), ``.csv``, ``.tsv`` or ``.parquet``, plain or
        compressed.
    labels : str, sequence of str or None, default=None
        Which columns are labels, as the reader takes it; None where the file itself tells.
    **options
        Other options of the reader: :func:`read_arff`, :func:`read_libsvm` or :func:`read_table`.

    Returns
    -------
    Dataset
    """
    reader = reader_of(path)
    given = {"labels": labels} if labels is not None else {}
    return reader(path, **given, **options)


def reader_of(path: str | os.PathLike[str]) -> Callable[..., Dataset]:
    """Find the reader of a file by the suffix of its name, before that of a compressed one."""
    for suffix in reversed(Path(path).suffixes):
        if suffix.lower() in READERS:
            return READERS[suffix.lower()]
    raise DataError(f"{os.fspath(path)}: the name does not tell the format; it should end in {', '.join(READERS)}.")
