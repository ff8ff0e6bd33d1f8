"""Multi-label libsvm files, and those of the extreme classification repository."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.datasets.dataset import Dataset, Numbered
from clems.datasets.formats.format import Format
from clems.datasets.text.decimals import SparseRows, in_order, number, rows_as_text, sparse_rows
from clems.datasets.text.source import DataError, Limits, Origin, PathOrFile, Source, stem
from clems.datasets.wanted import Wanted, selected
from clems.files import replacing

SIZES = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*")
LABEL = re.compile(rb"[+-]?\d{1,18}")

Lines = list[tuple[int, bytes]]


def read_libsvm(
    path: PathOrFile,
    labels: Sequence[str] | None = None,
    *,
    n_features: int | None = None,
    zero_based: bool | None = None,
    name: str | None = None,
    limits: Limits | None = None,
) -> Dataset:
    """Read a libsvm file with several labels a row, plain or compressed (gzip, bzip2, xz).

    A row is ``3,17 12:0.5 40:1``: labels separated by commas, then features as index and value. A row without labels
    starts with a space or with its first feature, so a line with a single space is a row with neither. Empty lines are
    not rows, unless the first line says how many rows there are. The format of the extreme classification repository
    has a first line with the number of rows, features and labels, and counts features from 0.

    Parameters
    ----------
    path : str, path or binary file
        The file.
    labels : sequence of str or None, default=None
        The labels that there are, in order; give those of the training data when reading test data. None takes all
        that the first line announces or, without one, those that occur.
    n_features : int or None, default=None
        How many features there are; None takes what the first line announces or, without one, the greatest index.
    zero_based : bool or None, default=None
        Whether the first feature has index 0. None: yes if the file announces its size or uses index 0, else no.
    name : str or None, default=None
        What to call the dataset; None for the name of the file.
    limits : Limits or None, default=None
        How much may be read, what a compressed file may grow to, and how many columns there may be.

    Returns
    -------
    Dataset
        With CSR arrays; features are called ``x`` and their index, labels by their number.

    Raises
    ------
    DataError
        If the file is not what it should be; nothing is returned of it then.

    Examples
    --------
    >>> from clems.datasets import from_frame, read_libsvm, write_libsvm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"length": [3.0, 8.0], "bug": [0, 1], "urgent": [1, 1]})
    >>> data = from_frame(frame, labels=["bug", "urgent"])
    >>> file = "tickets.txt"
    >>> write_libsvm(data, file)
    >>> read = read_libsvm(file)
    >>> read.Y.toarray().tolist()
    [[0, 1], [1, 1]]
    """
    if isinstance(labels, str) or (labels is not None and len({*map(str, labels)}) < len(labels)):
        raise ValueError(f"labels must be a list of different labels; got {labels!r}.")
    if n_features is not None and (not isinstance(n_features, Integral) or n_features < 0):
        raise ValueError(f"n_features must be a whole number; got {n_features!r}.")
    if zero_based not in (None, False, True):
        raise ValueError(f"zero_based must be True, False or None; got {zero_based!r}.")
    with Source(path, limits) as source:
        announced, blocks = _announced(source)
        expected = _Expected(announced, labels, n_features, zero_based, source.limits.columns)
        parts, n_rows = [], 0
        for block in blocks:
            rows = block
            if not all(text for _, text in block) or announced:  # empty lines are rows only where rows are counted
                rows = [
                    (line, text)
                    for position, (line, text) in enumerate(block, n_rows)
                    if text.strip() or (position < expected.rows if announced else text)
                ]
            n_rows += len(rows)
            if rows:
                parts.append(_plain_rows(rows, expected) or _any_rows(rows, expected, source))
        if announced and n_rows != expected.rows:
            raise source.fault(f"{expected.rows:,} rows are announced, and {n_rows:,} are there")
        if not n_rows:
            raise source.fault("there are no rows")
        X, start = _features([features for features, _ in parts], expected, source)
        Y, label_names = _labels([of_block for _, of_block in parts], expected, source)
        feature_names = Numbered("x", range(start, start + X.shape[1]))
        return Dataset(X, Y, feature_names, label_names, name or stem(source.name), source.name)


class _Expected:
    """What is known of rows and columns before they are read."""

    def __init__(
        self,
        announced: tuple[int, int, int] | None,
        labels: Sequence[str] | None,
        n_features: int | None,
        zero_based: bool | None,
        columns: int,
    ) -> None:
        d: int | None
        self.n_labels: int | None
        self.rows, d, self.n_labels = announced or (0, None, None)
        self.n_features = d if n_features is None else n_features
        self.zero_based = True if zero_based is None and announced else zero_based
        self.labels = None if labels is None else {str(label): position for position, label in enumerate(labels)}
        self.least = 1 if self.zero_based is False else 0
        last = (columns if self.n_features is None else self.n_features) - 1
        self.greatest = last if self.zero_based else last + 1

    def is_label(self, label: int) -> bool:
        """Whether a label may occur."""
        if self.labels is not None:
            return str(label) in self.labels
        return self.n_labels is None or 0 <= label < self.n_labels


class _Labels(NamedTuple):
    """How many labels each row has, and which."""

    lengths: NDArray[np.int64]
    numbers: NDArray[np.int64]


def _announced(source: Source) -> tuple[tuple[int, int, int] | None, Iterator[Lines]]:
    """Sizes in the first line, if they are there, and the blocks of lines after it."""
    blocks = (_lines(first, block) for first, block in source.blocks())
    before: list[Lines] = []  # rows of nothing
    for block in blocks:
        position = next((position for position, (_, text) in enumerate(block) if text.strip()), None)
        if position is None:
            before.append([(line, text) for line, text in block if text])
            continue
        line, text = block[position]
        if not (match := SIZES.fullmatch(text)):
            return None, chain(before, [block], blocks)
        n, d, K = (int(size) for size in match.groups())
        if max(d, K) > source.limits.columns:
            allowed = f"limits=Limits(columns=...) allows {source.limits.columns:,}"
            raise source.fault(f"too many columns are announced, {allowed}", line, text)
        return (n, d, K), chain([block[position + 1 :]], blocks)
    return None, iter(before)


def _lines(first: int, block: bytes) -> Lines:
    """Numbered lines without comments."""
    lines = list(enumerate(block.split(b"\n")[:-1], first))
    if b"#" in block:
        lines = [(line, text.partition(b"#")[0]) for line, text in lines if not text.lstrip().startswith(b"#")]
    return lines


def _parts(line: bytes) -> tuple[bytes, bytes]:
    """Labels and features of a row."""
    if line[:1].isspace():
        return b"", line.strip()
    labels, *features = line.split(None, 1) or [b""]
    return (b"", line.strip()) if b":" in labels else (labels, b"".join(features).rstrip())


def _plain_rows(lines: Lines, expected: _Expected) -> tuple[SparseRows, _Labels] | None:
    """Read rows if nothing is unusual in them, or None; faults are left to others."""
    label_texts, feature_texts = zip(*(_parts(text) for _, text in lines), strict=True)
    joined = b",".join(filter(None, label_texts))
    text = b"{" + b"}\n{".join(feature_texts) + b"}\n"
    if joined.translate(None, b"0123456789,") or b"," in text:
        return None
    rows = sparse_rows(text.translate(bytes.maketrans(b" :", b", ")))
    rows = in_order(rows) if rows else None
    labels = joined.split(b",") if joined else []
    if not all(map(LABEL.fullmatch, labels)):
        return None
    numbers = np.array(list(map(int, labels)), np.int64)
    if rows is None or not all(map(expected.is_label, np.unique(numbers).tolist())):
        return None
    if rows.indices.size and not expected.least <= rows.indices.min() <= rows.indices.max() <= expected.greatest:
        return None
    return rows, _Labels(np.array([text.count(b",") + (text != b"") for text in label_texts], np.int64), numbers)


def _any_rows(lines: Lines, expected: _Expected, source: Source) -> tuple[SparseRows, _Labels]:
    """Read rows number by number."""
    labels, rows = [], []
    for line, text in lines:
        label_text, feature_text = _parts(text)
        of_row = label_text.split(b",") if label_text else []
        for label in of_row:
            if not LABEL.fullmatch(label):
                raise source.fault("labels must be whole numbers with commas between", line, label)
            if not expected.is_label(int(label)):
                allowed = (
                    "labels=..." if expected.labels is not None else f"the {expected.n_labels:,} announced, from 0"
                )
                raise source.fault(f"a label is not among {allowed}", line, label)
        row: dict[int, float] = {}
        for pair in feature_text.split():
            index, _, text_of_value = pair.partition(b":")
            value = number(text_of_value)
            if not re.fullmatch(rb"\d{1,18}", index) or value is None:
                raise source.fault("expected an index, a colon and a finite number", line, pair)
            if not expected.least <= int(index) <= expected.greatest:
                raise source.fault(f"an index must be from {expected.least} to {expected.greatest:,}", line, pair)
            if int(index) in row:
                raise source.fault(f"the row has index {int(index)} twice", line, text)
            row[int(index)] = value
        labels.append([int(label) for label in of_row])
        rows.append(sorted(row.items()))
    return SparseRows.of(rows), _Labels(
        np.array([len(row) for row in labels], np.int64), np.array([k for row in labels for k in row], np.int64)
    )


def _features(parts: list[SparseRows], expected: _Expected, source: Source) -> tuple[Any, int]:
    """Features of all rows, and the index of the first."""
    lengths, indices, values = (np.concatenate(side) for side in zip(*parts, strict=True))
    start = int(indices.all()) if expected.zero_based is None else int(not expected.zero_based)
    greatest = int(indices.max(initial=start - 1))
    d = greatest - start + 1 if expected.n_features is None else expected.n_features
    if greatest - start >= d:
        raise source.fault(f"index {greatest} is used, but n_features={d} and the first index is {start}")
    return SparseRows(lengths, indices - start, values).csr(d), start


def _labels(parts: list[_Labels], expected: _Expected, source: Source) -> tuple[Any, Sequence[str]]:
    """Labels of all rows, and what they are called."""
    lengths, numbers = (np.concatenate(side) for side in zip(*parts, strict=True))
    names: Sequence[str]
    if expected.n_labels is not None and expected.labels is None:
        positions, names = numbers, Numbered("", range(expected.n_labels))
    else:
        distinct, positions = np.unique(numbers, return_inverse=True)
        names = [str(label) for label in distinct.tolist()]
        if expected.labels is not None:
            positions = np.array([expected.labels[label] for label in names], np.int64)[positions]
            names = list(expected.labels)
    if not names:
        raise source.fault("no row has a label")
    Y = SparseRows(lengths, positions, np.ones(len(positions))).csr(len(names))
    Y.data[:] = 1  # a label that a row has twice was added up
    return Y, names


def _read_wanted(
    path: str | os.PathLike[str], wanted: Wanted, _: str, limits: Limits | None
) -> tuple[Dataset, list[str]]:
    """Read rows for a model, whose names of features say whether the first has index 0."""
    labels = list(wanted.labels) if wanted.truth else None
    if wanted.features is None:
        data = read_libsvm(path, labels, n_features=wanted.n_features, limits=limits)
        wanted.find(data.feature_names, Origin(data.source, limits))
        return data, []
    first = next(iter(wanted.features), "")
    if first not in ("x0", "x1"):
        raise DataError(f"{os.fspath(path)}: libsvm files number their features; the model has names, {first!r}.")
    data = read_libsvm(path, labels, n_features=wanted.n_features, zero_based=first == "x0", limits=limits)
    return selected(data, wanted.features, wanted), []


def write_libsvm(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a libsvm file in the format of the extreme classification repository; names are not kept.

    Parameters
    ----------
    dataset : Dataset
        What to write; it may have no missing values.
    path : str or path
        The file, compressed if it ends in ``.gz``, ``.bz2`` or ``.xz``.

    Examples
    --------
    >>> from clems.datasets import from_frame, read_libsvm, write_libsvm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"length": [3.0, 8.0], "bug": [0, 1], "urgent": [1, 1]})
    >>> data = from_frame(frame, labels=["bug", "urgent"])
    >>> file = "tickets.txt"
    >>> write_libsvm(data, file)
    >>> read = read_libsvm(file)
    >>> read.Y.toarray().tolist()
    [[0, 1], [1, 1]]
    """
    X, Y = sparse.csr_array(dataset.X), sparse.csr_array(dataset.Y)
    if np.isnan(X.data).any() or np.isnan(Y.data).any():
        raise ValueError("A libsvm file cannot hold missing values; fill them in or write another format.")
    with replacing(path) as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n".encode())
        for indices, values, labels in rows_as_text(X, Y):
            features = " ".join(f"{index}:{value}" for index, value in zip(indices, values, strict=True))
            file.write(f"{','.join(map(str, labels))} {features}\n".encode())


LIBSVM = Format(
    name="libsvm",
    suffixes=(".txt", ".svm", ".libsvm"),
    read=read_libsvm,
    write=write_libsvm,
    read_wanted=_read_wanted,
)
