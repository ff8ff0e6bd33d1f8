"""ARFF files of Weka, Mulan and MEKA, dense and sparse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from numbers import Integral
from operator import itemgetter
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.datasets.attributes import QUOTED, SPACE, Header, Kind, decoded, read_header, split, unquoted
from clems.datasets.columns import Nominal, check_nominal, one_hot, pick, pick_labels, plural
from clems.datasets.dataset import Dataset
from clems.datasets.decimals import SparseRows, dense_rows, in_order, number, sparse_rows
from clems.datasets.mulan import labels_of_xml, xml_beside
from clems.datasets.source import Limits, PathOrFile, Source, stem

ITEM = re.compile(rf"\s*+([^\s,{{}}'\"]++)\s++({QUOTED}|(?:[^,'\"\\}}\s]|\\.)++)\s*+(,|$)", re.DOTALL | re.ASCII)
WHOLE = re.compile("[0-9]{1,18}")
MEKA = re.compile(r"-C\s+(-?\d+)")


def read_arff(
    path: PathOrFile,
    labels: str | PathLike[str] | int | Sequence[str] | None = None,
    *,
    nominal: Nominal = "codes",
    drop: str | Sequence[str] = (),
    name: str | None = None,
    encoding: str = "utf-8",
    limits: Limits | None = None,
) -> Dataset:
    """Read an ARFF file, dense or sparse, plain or compressed (gzip, bzip2, xz).

    Parameters
    ----------
    path : str, path or binary file
        The file.
    labels : path, int, str, sequence of str or None, default=None
        Which attributes are labels: the path of a Mulan XML file that names them; a number as in MEKA's ``-C n``, the
        first n attributes or, if negative, the last; or names and patterns such as ``"tag_*"``, an empty list if it has
        none. None looks for a Mulan XML file beside, named like the file (``yeast.xml`` for ``yeast-train.arff.xz``),
        then for ``-C n`` in the name of the relation.
    nominal : {"codes", "one-hot"}, default="codes"
        How a nominal feature becomes numbers: the place of its value in the declaration, from 0; or one column per
        value. Features that say 0 or 1, false or true, no or yes are 0 and 1 either way.
    drop : str or sequence of str, default=()
        Names or patterns of attributes to leave out, for instance string and date attributes, which are refused
        otherwise.
    name : str or None, default=None
        What to call the dataset; None for the name of the file.
    encoding : str, default="utf-8"
        Encoding of the text.
    limits : Limits or None, default=None
        How much may be read, and what a compressed file may grow to.

    Returns
    -------
    Dataset
        Features and labels in the order of the file (labels that were named, in the order of the names). A missing
        feature ``?`` is NaN. A sparse file gives CSR arrays; what a sparse row omits is 0, of a nominal attribute the
        first value.

    Raises
    ------
    DataError
        If the file is not what it should be; nothing is returned of it then.
    """
    check_nominal(nominal)
    with Source(path, limits, encoding) as source:
        header, blocks = read_header(source)
        columns = _Columns(header, _find_labels(labels, header, source), pick(drop, header.names, source), source)
        X, Y = _read_rows(blocks, columns)
        span = _span(columns.features)
        names = header.names[span] if isinstance(span, slice) else [header.names[place] for place in span]
        if nominal == "one-hot":
            X, names = one_hot(X, names, [columns.kind(place).words for place in columns.features], source)
        label_names = [header.names[place] for place in columns.labels]
        return Dataset(X, Y, names, label_names, name or stem(source.name), source.name)


def _find_labels(labels: str | PathLike[str] | int | Sequence[str] | None, header: Header, source: Source) -> list[int]:
    """Places of the labels among the attributes."""
    n = len(header.names)
    if isinstance(labels, Integral):
        size = int(labels)
        if isinstance(labels, bool) or not 0 < abs(size) <= n:
            raise source.fault(f"labels={labels!r} does not fit {n:,} attributes")
        return list(range(size) if size > 0 else range(n + size, n))
    if isinstance(labels, PathLike) or (isinstance(labels, str) and labels.lower().endswith(".xml")):
        return _find_named(labels_of_xml(labels, source.limits), header, str(labels), source)
    if isinstance(labels, list) and not labels:
        return []
    if labels is not None:
        return pick_labels(labels, header.names, source)
    if xml := xml_beside(source.path):
        return _find_named(labels_of_xml(xml, source.limits), header, xml.name, source)
    if meka := MEKA.search(header.relation):
        if "-weka.filters" in header.relation[meka.end() :]:
            raise source.fault(
                f"the relation says {meka[0]!r} but was changed by a filter afterwards, so its labels may be "
                "elsewhere; say which attributes they are by labels=..."
            )
        return _find_labels(int(meka[1]), header, source)
    raise source.fault(
        "nothing says which attributes are labels: pass labels= their names, a pattern, their number (negative: the "
        "last), or the path of a Mulan XML file"
    )


def _find_named(labels: Sequence[str], header: Header, xml: str, source: Source) -> list[int]:
    """Places of the labels that an XML file names, perhaps with Weka's escapes."""
    wanted = {*labels}
    found = {name: place for place, name in enumerate(header.names) if name in wanted}
    if len(found) < len(wanted):
        places = {name: place for place, name in enumerate(header.names)}
        for label in sorted(wanted - {*found}):
            if (place := places.get(unquoted(label))) is None:
                raise source.fault(f"{xml} names the label {label!r}, which is no attribute here")
            found[label] = place
    return sorted({*found.values()})


class _Columns:
    """Which columns are features and labels, and how a text becomes a number in each."""

    def __init__(self, header: Header, labels: list[int], dropped: list[int], source: Source) -> None:
        self.names, self.source = header.names, source
        self.kinds, self.kind_of = header.kinds, header.kind_of
        n = len(self.names)
        self.is_label, self.is_dropped = np.zeros(n, bool), np.zeros(n, bool)
        self.is_dropped[dropped] = True
        self.labels = [place for place in labels if not self.is_dropped[place]]
        self.is_label[self.labels] = True
        is_feature = ~(self.is_label | self.is_dropped)
        self.features = np.flatnonzero(is_feature)
        has_words = self._of_kinds([bool(kind.words) for kind in self.kinds])
        self._check(has_words, bool(labels))
        self.is_switch = self._of_kinds([kind.is_switch for kind in self.kinds]) & is_feature | self.is_label
        self.switches = np.flatnonzero(self.is_switch)
        self.words = np.flatnonzero(has_words & is_feature).tolist()
        self.is_plain = not self.words and not dropped
        self.omitted = self._of_kinds([kind.first for kind in self.kinds])
        self.place = np.zeros(n, np.int32)  # among the features, or among the labels
        self.place[self.features] = np.arange(len(self.features))
        self.place[self.labels] = np.arange(len(self.labels))

    def _of_kinds(self, facts: list[Any]) -> NDArray[Any]:
        """Spread facts about kinds over the attributes; thousands of attributes are of a few kinds."""
        return np.array(facts)[self.kind_of]

    def _check(self, has_words: NDArray[np.bool_], wanted: bool) -> None:
        if wanted and not self.labels:
            raise self.source.fault("no label is left; labels= and drop= must not name the same attributes")
        is_refused = self._of_kinds([bool(kind.refused) for kind in self.kinds]) & ~self.is_dropped
        for place in np.flatnonzero(is_refused):
            refused, name = self.kind(place).refused, self.names[place]
            raise self.source.fault(
                f"attribute {name!r} is of type {refused}, which is not a number; leave it out with drop=[{name!r}]"
            )
        for place in np.flatnonzero(has_words & self.is_label):
            listed = _some(self.kind(place).words or ())
            raise self.source.fault(f"label {self.names[place]!r} is {listed}; a label is 0 or 1")

    def kind(self, place: int | np.integer[Any]) -> Kind:
        """Say what an attribute holds."""
        return self.kinds[int(self.kind_of[place])]

    def value(self, place: int, text: str, line: int) -> float:
        """Read one value."""
        name, kind = self.names[place], self.kind(place)
        if self.is_dropped[place]:
            return 0.0
        if text == "?":
            if self.is_label[place]:
                raise self.source.fault(f"label {name!r} is missing; a label is 0 or 1", line, text)
            return np.nan
        plain = unquoted(text)
        if plain in kind.codes:
            return kind.codes[plain]
        value = number(plain.encode())
        if self.is_switch[place]:
            if value in (0, 1):
                return value
            raise self.source.fault(f"attribute {name!r} must be {_some(kind.values or ('0', '1'))}", line, text)
        if kind.values is not None:
            raise self.source.fault(f"attribute {name!r} must be {_some(kind.values)}", line, text)
        if value is None:
            raise self.source.fault(f"attribute {name!r} must be a finite number or ?", line, text)
        return value


def _some(values: Sequence[str]) -> str:
    *others, last = values if len(values) < 6 else (*values[:5], "…")
    return f"{', '.join(others)} or {last}" if others else last


def _read_rows(blocks: Iterator[tuple[int, bytes]], columns: _Columns) -> tuple[Any, Any]:
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
    return _joined(features, columns, columns.features), _joined(labels, columns, columns.labels)


def _first_row(first: int, block: bytes, source: Source) -> tuple[int, bytes] | None:
    """Cut off what is before the first row of a block, if there is a row."""
    line = next(_lines(block, first, source), None)
    return line and (line[0], block.split(b"\n", line[0] - first)[-1])


def _dense_block(block: bytes, first: int, columns: _Columns) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Read features and labels of dense rows."""
    table = _plain_dense_rows(block, columns)
    if table is None:
        table = _any_dense_rows(block, first, columns)
    return table[:, _span(columns.features)], table[:, columns.labels].astype(np.uint8)


def _span(places: NDArray[np.int64]) -> Any:
    """Places as a slice, if they follow one another, which is not copied."""
    follow = len(places) > 0 and len(places) == places[-1] - places[0] + 1
    return slice(int(places[0]), int(places[-1]) + 1) if follow else places


def _sparse_block(block: bytes, first: int, columns: _Columns) -> tuple[SparseRows, SparseRows]:
    """Read features and labels of sparse rows."""
    return _separated(_plain_sparse_rows(block, columns) or _any_sparse_rows(block, first, columns), columns)


def _plain_dense_rows(block: bytes, columns: _Columns) -> NDArray[np.float64] | None:
    """Read rows of one value per attribute if there are no quotes and comments, or None; faults are left to others."""
    read = dense_rows(block, len(columns.names)) if columns.is_plain else _dense_rows_with_words(block, columns)
    if read is None:
        return None
    switches = read[:, columns.switches]
    is_good = (switches == 0) | (switches == 1)
    if not is_good.all():
        is_good |= np.isnan(switches) & ~columns.is_label[columns.switches]
    return read if is_good.all() else None


def _dense_rows_with_words(block: bytes, columns: _Columns) -> NDArray[np.float64] | None:
    """Read numbers all at once, and words one by one."""
    if any(character in block for character in (b"'", b'"', b"\\", b"%", b"{")):
        return None
    n = len(columns.names)
    rows = [line.split(b",") for line in block.split(b"\n") if line.strip()]
    if any(len(row) != n for row in rows):
        return None
    words = {*columns.words}
    numbers = [place for place in range(n) if place not in words and not columns.is_dropped[place]]
    of_numbers = itemgetter(*numbers, numbers[0])  # one more, so that it is a tuple always
    read = dense_rows(b"".join(b",".join(of_numbers(row)) + b"\n" for row in rows), len(numbers) + 1)
    if read is None:
        return None
    table = np.zeros((len(rows), n))
    table[:, numbers] = read[:, :-1]
    for place in columns.words:
        codes = {value.encode(): code for value, code in columns.kind(place).codes.items()} | {b"?": np.nan}
        try:
            table[:, place] = [codes[row[place].strip()] for row in rows]
        except KeyError:
            return None
    return table


def _any_dense_rows(block: bytes, first: int, columns: _Columns) -> NDArray[np.float64]:
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
        rows.append([columns.value(place, value, line) for place, value in enumerate(values)])
    return np.array(rows, np.float64).reshape(-1, n)


def _plain_sparse_rows(block: bytes, columns: _Columns) -> SparseRows | None:
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
    if ((rows.values[unusual] != 0) & columns.is_switch[rows.indices[unusual]]).any():
        return None
    return in_order(rows)


def _any_sparse_rows(block: bytes, first: int, columns: _Columns) -> SparseRows:
    """Read rows such as ``{0 1, 17 'a b'}``, value by value."""
    n, source = len(columns.names), columns.source
    rows = []
    for line, text in _lines(block, first, source):
        if not (text.startswith("{") and text.endswith("}")):
            raise source.fault("a sparse row is in braces", line, text)
        row: dict[int, float] = {}
        for index, value in _items(text[1:-1], line, source):
            place = int(index) if WHOLE.fullmatch(index) else n
            if place >= n:
                raise source.fault(f"an index must be a whole number from 0 to {n - 1}", line, index)
            if place in row:
                raise source.fault(f"the row has index {index} twice", line, text)
            row[place] = columns.value(place, value, line)
        rows.append(sorted(pair for pair in row.items() if not columns.is_dropped[pair[0]]))
    return SparseRows.of(rows)


def _separated(rows: SparseRows, columns: _Columns) -> tuple[SparseRows, SparseRows]:
    """Features and labels of sparse rows, their values counted from what an omitted one means."""
    values = rows.values - columns.omitted[rows.indices] if columns.omitted.any() else rows.values
    of_labels = columns.is_label[rows.indices]
    n_labels = _counts(rows.lengths, np.flatnonzero(of_labels))
    sides = []
    for kept, lengths in ((~of_labels, rows.lengths - n_labels), (of_labels, n_labels)):
        chosen = np.flatnonzero(kept)
        sides.append(SparseRows(lengths, columns.place.take(rows.indices.take(chosen)), values.take(chosen)))
    return sides[0], sides[1]


def _counts(lengths: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of some entries are in each row."""
    rows = np.searchsorted(np.cumsum(lengths), places, side="right")
    return np.bincount(rows, minlength=len(lengths))


def _joined(parts: Sequence[SparseRows], columns: _Columns, places: Any) -> Any:
    """CSR array of all blocks."""
    rows = SparseRows(*(np.concatenate(side) for side in zip(*parts, strict=True)))
    matrix = rows.csr(len(places))
    omitted = columns.omitted[places]
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
    place = 0
    while place or text.strip(SPACE):
        match = ITEM.match(text, place)
        if not match:
            raise source.fault("expected an index, a space and a value, with commas between", line, text[place:])
        yield match[1], match[2]
        if not match[3]:
            return
        place = match.end()
