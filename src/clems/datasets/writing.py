"""Writing datasets to files, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clems.datasets.dataset import Dataset, check_distinct
from clems.datasets.mulan import xml_of
from clems.datasets.table import import_parquet
from clems.files import replacing

PLAIN = re.compile(r"[A-Za-z0-9_.:+/-]+")
ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
ROWS = 1000  # rows written at a time, so that a sparse dataset is never dense as a whole


def write_arff(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write an ARFF file, and beside it the Mulan XML file that names the labels.

    Parameters
    ----------
    dataset : Dataset
        What to write; sparse rows if its features are sparse.
    path : str or path
        The ARFF file, compressed if it ends in ``.gz``, ``.bz2`` or ``.xz``. ``yeast.arff.xz`` gets ``yeast.xml``.
    """
    check_distinct(dataset)
    arff = Path(path)
    if ".arff" not in arff.name.lower():
        raise ValueError(f"The name of an ARFF file ends in .arff or .arff.xz and the like; got {arff.name!r}.")
    xml = arff.with_name(re.split(r"\.arff", arff.name, flags=re.IGNORECASE)[0] + ".xml")
    _check_xml(dataset)
    with replacing(arff) as rows, replacing(xml) as names:  # the XML file is there first
        rows.writelines(_arff(dataset))
        names.write(xml_of(list(dataset.label_names)).encode())


def write_libsvm(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a libsvm file in the form of the extreme classification repository; names are not kept.

    Parameters
    ----------
    dataset : Dataset
        What to write; it may have no missing values.
    path : str or path
        The file, compressed if it ends in ``.gz``, ``.bz2`` or ``.xz``.
    """
    X, Y = sparse.csr_array(dataset.X), sparse.csr_array(dataset.Y)
    if np.isnan(X.data).any():
        raise ValueError("A libsvm file cannot hold missing values; fill them in or write another format.")
    with replacing(path) as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
        for indices, values, labels in _sparse_rows(X, Y):
            features = " ".join(f"{index}:{value}" for index, value in zip(indices, values, strict=True))
            file.write(f"{','.join(map(str, labels))} {features}\n".encode())


def write_table(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a CSV or Parquet file with the features, then the labels as columns of zeros and ones.

    Parameters
    ----------
    dataset : Dataset
        What to write.
    path : str or path
        The file: Parquet if it ends in ``.parquet``, else CSV, compressed if it ends in ``.gz``, ``.bz2`` or ``.xz``.
    """
    check_distinct(dataset)
    is_parquet = Path(path).suffix.lower() == ".parquet"
    for name in (*dataset.feature_names, *dataset.label_names):
        if not is_parquet and (name != name.strip(" \t\ufeff") or "\r" in name or not name):
            raise ValueError(f"A CSV cannot keep the name {name!r} as it is; rename it, or write Parquet.")
    with replacing(path) as file:
        if is_parquet:
            _write_parquet(dataset, file)
            return
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow([*dataset.feature_names, *dataset.label_names])
        for part in _dense_parts(dataset):
            part.to_csv(text, header=False, index=False, lineterminator="\n")
        text.detach()


SHEETS = {"csv": ",", "tsv": "\t"}  # forms that spreadsheets open, and what is between two cells
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # how a cell begins that they would run
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
FORMS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


def form_of(path: str | os.PathLike[str]) -> str:
    """Find the form in which rows are written to a file by the suffix of its name, before that of a compressed one."""
    for suffix in reversed(Path(path).suffixes):
        if suffix.lower() in FORMS:
            return FORMS[suffix.lower()]
    raise ValueError(f"{os.fspath(path)}: the name does not tell the format; it should end in {', '.join(FORMS)}.")


@contextmanager
def appending(file: IO[bytes], form: str, spreadsheet_safe: bool = False) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write DataFrames of the same columns one below the other.

    Parameters
    ----------
    file : binary file
        Where to; it is not closed.
    form : {"csv", "tsv", "jsonl", "parquet"}
        How.
    spreadsheet_safe : bool, default=False
        Whether text in CSV and TSV that a spreadsheet would take for a formula gets an apostrophe before it.

    Yields
    ------
    callable
        Writes one of them.
    """
    if spreadsheet_safe and form not in SHEETS:
        raise ValueError(f"spreadsheet_safe= is for CSV and TSV, not for {form}, which has no formulas.")
    writer: Any = None

    def append(frame: pd.DataFrame) -> None:
        nonlocal writer
        if form == "jsonl":
            if len(frame):
                lines = frame.to_json(orient="records", lines=True, force_ascii=False, double_precision=15)
                file.write(lines.encode())
        elif form == "parquet":
            pyarrow, parquet = import_parquet()
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            writer = writer or parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
        else:
            quoting = csv.QUOTE_MINIMAL
            if spreadsheet_safe:
                frame, quoting = _harmless(frame), csv.QUOTE_NONNUMERIC
            text = frame.to_csv(
                header=writer is None, index=False, sep=SHEETS[form], lineterminator="\n", quoting=quoting
            )
            file.write(text.encode())
            writer = writer or True

    yield append
    if form == "parquet" and writer:
        writer.close()


def _harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before names and text that a spreadsheet would take for a formula; numbers are none."""

    def cell(value: Any) -> Any:
        formula = isinstance(value, str) and value.startswith(FORMULA) and not NUMBER.fullmatch(value)
        return f"'{value}" if formula else value

    words = [place for place, kind in enumerate(frame.dtypes) if kind.kind not in "biuf"]
    safe = frame.copy()
    for place in words:
        safe.isetitem(place, frame.iloc[:, place].map(cell))
    return safe.set_axis([cell(name) for name in frame.columns], axis="columns")


def _arff(dataset: Dataset) -> Iterator[bytes]:
    """Lines of an ARFF file."""
    yield f"@relation {_quoted(dataset.name)}\n\n".encode()
    for name in dataset.feature_names:
        yield f"@attribute {_quoted(name)} numeric\n".encode()
    for name in dataset.label_names:
        yield f"@attribute {_quoted(name)} {{0,1}}\n".encode()
    yield b"\n@data\n"
    if sparse.issparse(dataset.X):
        d = dataset.X.shape[1]
        for indices, values, labels in _sparse_rows(dataset.X, sparse.csr_array(dataset.Y)):
            pairs = [f"{index} {value}" for index, value in zip(indices, values, strict=True)]
            yield f"{{{','.join([*pairs, *(f'{d + label} 1' for label in labels)])}}}\n".encode()
    else:
        Y = dataset.Y.toarray() if sparse.issparse(dataset.Y) else dataset.Y
        for values, labels in zip(dataset.X, Y.tolist(), strict=True):
            yield f"{','.join([*_written(values), *map(str, labels)])}\n".encode()


def _sparse_rows(X: Any, Y: Any) -> Iterator[tuple[list[int], list[str], list[int]]]:
    """Yield indices, values and labels of each row."""
    for row in range(X.shape[0]):
        start, stop = X.indptr[row], X.indptr[row + 1]
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()
        yield X.indices[start:stop].tolist(), _written(X.data[start:stop]), sorted(labels)


def _written(values: NDArray[Any]) -> list[str]:
    """Numbers as text that reads as the same numbers."""
    return ["?" if value != value else repr(value).removesuffix(".0") for value in values.tolist()]


def _quoted(name: str) -> str:
    return name if PLAIN.fullmatch(name) else f"'{name.translate(ESCAPES)}'"


def _check_xml(dataset: Dataset) -> None:
    for name in dataset.label_names:
        if re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", name):
            raise ValueError(f"The label {name!r} has a character that XML cannot hold; rename it.")


def _dense_parts(dataset: Dataset) -> Iterable[pd.DataFrame]:
    for start in range(0, max(dataset.X.shape[0], 1), ROWS):
        sides = [side[start : start + ROWS] for side in (dataset.X, dataset.Y)]
        dense = [side.toarray() if sparse.issparse(side) else side for side in sides]
        names = (dataset.feature_names, dataset.label_names)
        yield pd.concat([pd.DataFrame(side, columns=list(n)) for side, n in zip(dense, names, strict=True)], axis=1)


def _write_parquet(dataset: Dataset, file: IO[bytes]) -> None:
    pyarrow, parquet = import_parquet()
    writer = None
    for part in _dense_parts(dataset):
        table = pyarrow.Table.from_pandas(part, preserve_index=False)
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer:
        writer.close()
