"""Rows of an ARFF file, dense and sparse: numbers all at once, and what is unusual value by value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.datasets.columns import TO_KEEP
from clems.datasets.formats.arff_header import QUOTED, SPACE, Header, Kind, decoded, split, unquoted
from clems.datasets.text.decimals import SparseRows, dense_rows, in_order, number, sparse_rows
from clems.datasets.text.source import Source
from clems.wording import all_of, plural

ITEM = re.compile(rf"\s*+([^\s,{{}}'\"]++)\s++({QUOTED}|(?:[^,'\"\\}}\s]|\\.)++)\s*+(,|$)", re.DOTALL | re.ASCII)
WHOLE = re.compile("[0-9]{1,18}")


class Columns:
    """Which columns are features and labels, and how a text becomes a number in each."""

    def __init__(
        self, header: Header, labels: list[int], dropped: list[int], source: Source, keeps_gaps: bool = False
    ) -> None:
        self.names, self.source, self.keeps_gaps = header.names, source, keeps_gaps
        self.kinds, self.kind_of = header.kinds, header.kind_of
        n = len(self.names)
        self.is_label, self.is_dropped = np.zeros(n, bool), np.zeros(n, bool)
        self.is_dropped[dropped] = True
        self.labels = [position for position in labels if not self.is_dropped[position]]
        self.is_label[self.labels] = True
        is_feature = ~(self.is_label | self.is_dropped)
        self.features = np.flatnonzero(is_feature)
        has_words = self._of_kinds([bool(kind.words) for kind in self.kinds])
        self._check(has_words, bool(labels))
        self.is_binary = self._of_kinds([kind.is_binary for kind in self.kinds]) & is_feature | self.is_label
        self.binary = np.flatnonzero(self.is_binary)
        self.words = np.flatnonzero(has_words & is_feature).tolist()
        self.is_plain = not self.words and not dropped
        self.omitted = self._of_kinds([kind.first for kind in self.kinds])
        self.position = np.zeros(n, np.int32)  # among the features, or among the labels
        self.position[self.features] = np.arange(len(self.features))
        self.position[self.labels] = np.arange(len(self.labels))

    def _of_kinds(self, facts: list[Any]) -> NDArray[Any]:
        """Spread facts about kinds over the attributes; thousands of attributes are of a few kinds."""
        return np.array(facts)[self.kind_of]

    def _check(self, has_words: NDArray[np.bool_], wanted: bool) -> None:
        if wanted and not self.labels:
            raise self.source.fault("no label is left; labels= and drop= must not name the same attributes")
        is_refused = self._of_kinds([bool(kind.refused) for kind in self.kinds]) & ~self.is_dropped
        for position in np.flatnonzero(is_refused):
            refused, name = self.kind(position).refused, self.names[position]
            raise self.source.fault(
                f"attribute {name!r} is of type {refused}, which is not a number; leave it out with drop=[{name!r}]"
            )
        for position in np.flatnonzero(has_words & self.is_label):
            listed = _some(self.kind(position).words or ())
            raise self.source.fault(f"label {self.names[position]!r} is {listed}; a label is 0 or 1")

    def kind(self, position: int | np.integer[Any]) -> Kind:
        """Say what an attribute holds."""
        return self.kinds[int(self.kind_of[position])]

    def value(self, position: int, text: str, line: int) -> float:
        """Read one value."""
        name, kind = self.names[position], self.kind(position)
        if self.is_dropped[position]:
            return 0.0
        if text == "?":
            if self.is_label[position] and not self.keeps_gaps:
                raise self.source.fault(f"label {name!r} is missing; a label is 0 or 1{TO_KEEP}", line, text)
            return np.nan
        plain = unquoted(text)
        if plain in kind.codes:
            return kind.codes[plain]
        value = number(plain.encode())
        if self.is_binary[position]:
            if value in (0, 1):
                return value
            raise self.source.fault(f"attribute {name!r} must be {_some(kind.values or ('0', '1'))}", line, text)
        if kind.values is not None:
            raise self.source.fault(f"attribute {name!r} must be {_some(kind.values)}", line, text)
        if value is None:
            raise self.source.fault(f"attribute {name!r} must be a finite number or ?", line, text)
        return value


def _some(values: Sequence[str]) -> str:
    return all_of(values if len(values) < 6 else (*values[:5], "…"), "or")


def read_rows(blocks: Iterator[tuple[int, bytes]], columns: Columns) -> tuple[Any, Any]:
    """Read features and labels; the first row says whether rows are sparse."""
    source = columns.source
    first = next((row for number, block in blocks if (row := _first_row(number, block, source))), None)
    if first is None:
        raise source.fault("there are no rows after @data")
    is_sparse = first[1].lstrip().startswith(b"{")
    read = _sparse_block if is_sparse else _dense_block
    parts = [read(block, line, columns) for line, block in chain([first], blocks)]
    features, labels = zip(*parts, strict=True)
    if not is_sparse:
        return np.concatenate(features), np.concatenate(labels)
    X, Y = _joined(features, columns, columns.features), _joined(labels, columns, columns.labels)
    if np.isnan(Y.data).any():
        source.check_size(Y.shape[0], Y.shape[1], 8)  # with gaps, labels are dense
    return X, Y


def _first_row(first: int, block: bytes, source: Source) -> tuple[int, bytes] | None:
    """Cut off what is before the first row of a block, if there is a row."""
    line = next(_lines(block, first, source), None)
    return line and (line[0], block.split(b"\n", line[0] - first)[-1])


def _dense_block(block: bytes, first: int, columns: Columns) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read features and labels of dense rows."""
    table = _plain_dense_rows(block, columns)
    if table is None:
        table = _any_dense_rows(block, first, columns)
    labels = table[:, columns.labels]
    return table[:, span(columns.features)], labels if np.isnan(labels).any() else labels.astype(np.uint8)


def span(positions: NDArray[np.int64]) -> Any:
    """Positions as a slice, if they follow one another, which is not copied."""
    follow = len(positions) > 0 and len(positions) == positions[-1] - positions[0] + 1
    return slice(int(positions[0]), int(positions[-1]) + 1) if follow else positions


def _sparse_block(block: bytes, first: int, columns: Columns) -> tuple[SparseRows, SparseRows]:
    """Read features and labels of sparse rows."""
    return _separated(_plain_sparse_rows(block, columns) or _any_sparse_rows(block, first, columns), columns)


def _plain_dense_rows(block: bytes, columns: Columns) -> NDArray[np.float64] | None:
    """Read rows of one value per attribute if there are no quotes and comments, or None; faults are left to others."""
    read = dense_rows(block, len(columns.names)) if columns.is_plain else _dense_rows_with_words(block, columns)
    if read is None:
        return None
    values = read[:, columns.binary]
    is_good = (values == 0) | (values == 1)
    if not is_good.all():
        is_good |= np.isnan(values) & (columns.keeps_gaps | ~columns.is_label[columns.binary])
    return read if is_good.all() else None


def _dense_rows_with_words(block: bytes, columns: Columns) -> NDArray[np.float64] | None:
    """Read numbers all at once, and words one by one."""
    if any(character in block for character in (b"'", b'"', b"\\", b"%", b"{")):
        return None
    n = len(columns.names)
    rows = [line.split(b",") for line in block.split(b"\n") if line.strip()]
    if any(len(row) != n for row in rows):
        return None
    words = {*columns.words}
    numbers = [position for position in range(n) if position not in words and not columns.is_dropped[position]]
    of_numbers = itemgetter(*numbers, numbers[0])  # one more, so that it is a tuple always
    read = dense_rows(b"".join(b",".join(of_numbers(row)) + b"\n" for row in rows), len(numbers) + 1)
    if read is None:
        return None
    table = np.zeros((len(rows), n))
    table[:, numbers] = read[:, :-1]
    for position in columns.words:
        codes = {value.encode(): code for value, code in columns.kind(position).codes.items()} | {b"?": np.nan}
        try:
            table[:, position] = [codes[row[position].strip()] for row in rows]
        except KeyError:
            return None
    return table


def _any_dense_rows(block: bytes, first: int, columns: Columns) -> NDArray[np.float64]:
    """Read rows of one value per attribute, value by value."""
    n, rows = len(columns.names), []
    for line, text in _lines(block, first, columns.source):
        if text.startswith("{"):
            raise columns.source.fault("a sparse row among dense ones", line, text)
        values = split(text, line, columns.source)
        if len(values) != n:
            raise columns.source.fault(
                f"the row has {plural(len(values), 'value')}; there are {plural(n, 'attribute')}", line, text
            )
        rows.append([columns.value(position, value, line) for position, value in enumerate(values)])
    return np.array(rows, np.float64).reshape(-1, n)


def _plain_sparse_rows(block: bytes, columns: Columns) -> SparseRows | None:
    """Read rows such as ``{0 1, 17 0.5}`` if there are only numbers, or None; faults are left to others."""
    if not columns.is_plain:
        return None
    rows = sparse_rows(block)
    if rows is None:  # perhaps for empty lines or spaces
        rows = sparse_rows(re.sub(rb"\n{2,}", b"\n", block.strip(b"\n") + b"\n").replace(b", ", b","))
    if rows is None:
        return None
    if not rows.indices.size:
        return rows
    if rows.indices.max() >= len(columns.names):
        return None
    unusual = np.flatnonzero(rows.values != 1)
    if ((rows.values[unusual] != 0) & columns.is_binary[rows.indices[unusual]]).any():
        return None
    return in_order(rows)


def _any_sparse_rows(block: bytes, first: int, columns: Columns) -> SparseRows:
    """Read rows such as ``{0 1, 17 'a b'}``, value by value."""
    n, source = len(columns.names), columns.source
    rows = []
    for line, text in _lines(block, first, source):
        if not (text.startswith("{") and text.endswith("}")):
            raise source.fault("a sparse row is in braces", line, text)
        row: dict[int, float] = {}
        for index, value in _items(text[1:-1], line, source):
            position = int(index) if WHOLE.fullmatch(index) else n
            if position >= n:
                raise source.fault(f"an index must be a whole number from 0 to {n - 1}", line, index)
            if position in row:
                raise source.fault(f"the row has index {index} twice", line, text)
            row[position] = columns.value(position, value, line)
        rows.append(sorted(pair for pair in row.items() if not columns.is_dropped[pair[0]]))
    return SparseRows.of(rows)


def _separated(rows: SparseRows, columns: Columns) -> tuple[SparseRows, SparseRows]:
    """Features and labels of sparse rows, their values counted from what an omitted one means."""
    values = rows.values - columns.omitted[rows.indices] if columns.omitted.any() else rows.values
    of_labels = columns.is_label[rows.indices]
    n_labels = _counts(rows.lengths, np.flatnonzero(of_labels))
    sides = []
    for kept, lengths in ((~of_labels, rows.lengths - n_labels), (of_labels, n_labels)):
        chosen = np.flatnonzero(kept)
        sides.append(SparseRows(lengths, columns.position.take(rows.indices.take(chosen)), values.take(chosen)))
    return sides[0], sides[1]


def _counts(lengths: NDArray[np.int64], positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of some entries are in each row."""
    rows = np.searchsorted(np.cumsum(lengths), positions, side="right")
    return np.bincount(rows, minlength=len(lengths))


def _joined(parts: Sequence[SparseRows], columns: Columns, positions: Any) -> Any:
    """CSR array of all blocks."""
    rows = SparseRows(*(np.concatenate(side) for side in zip(*parts, strict=True)))
    matrix = rows.csr(len(positions))
    omitted = columns.omitted[positions]
    if omitted.any():
        columns.source.check_size(matrix.shape[0], int(np.count_nonzero(omitted)), 16)
        matrix = matrix + sparse.csr_array(np.ones((matrix.shape[0], 1))) @ sparse.csr_array(omitted[None, :])
        matrix.eliminate_zeros()
    return matrix


def _lines(block: bytes, first: int, source: Source) -> Iterator[tuple[int, str]]:
    """Lines that are neither empty nor comments, with their numbers."""
    for line, raw in enumerate(block.split(b"\n"), first):
        stripped = raw.strip()
        if stripped and not stripped.startswith(b"%"):
            yield line, decoded(stripped, line, source)


def _items(text: str, line: int, source: Source) -> Iterator[tuple[str, str]]:
    """Find indices and values inside of a sparse row."""
    position = 0
    while position or text.strip(SPACE):
        match = ITEM.match(text, position)
        if not match:
            raise source.fault("expected an index, a space and a value, with commas between", line, text[position:])
        yield match[1], match[2]
        if not match[3]:
            return
        position = match.end()
