"""ARFF files of Weka, Mulan and MEKA, dense and sparse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from numbers import Integral
from os import PathLike
from pathlib import Path

from scipy import sparse

from clems.datasets.columns import (
    MissingLabels,
    Nominal,
    check_missing_labels,
    check_nominal,
    one_hot,
    pick,
    pick_labels,
)
from clems.datasets.dataset import Dataset, check_distinct
from clems.datasets.formats.arff_header import Header, read_header, unquoted
from clems.datasets.formats.arff_rows import Columns, read_rows, span
from clems.datasets.formats.format import Format
from clems.datasets.formats.mulan import labels_of_xml, xml_beside, xml_of
from clems.datasets.text.decimals import as_text, rows_as_text
from clems.datasets.text.source import Limits, PathOrFile, Source, stem
from clems.datasets.wanted import Wanted, selected
from clems.files import replacing
from clems.wording import names_in

PLAIN = re.compile(r"[A-Za-z0-9_.:+/-]+")
ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
MEKA = re.compile(r"-C\s+(-?\d+)")


def read_arff(
    path: PathOrFile,
    labels: str | PathLike[str] | int | Sequence[str] | None = None,
    *,
    nominal: Nominal = "codes",
    drop: str | Sequence[str] = (),
    missing_labels: MissingLabels = "refuse",
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
        How a nominal feature becomes numbers: the position of its value in the declaration, from 0; or one column per
        value. Features that say 0 or 1, false or true, no or yes are 0 and 1 either way.
    drop : str or sequence of str, default=()
        Names or patterns of attributes to leave out, for instance string and date attributes, which are refused
        otherwise.
    missing_labels : {"refuse", "keep"}, default="refuse"
        What becomes of a label that is ``?``: "keep" makes it NaN, which `LEML` and `BCS` learn from; then labels are
        dense. "refuse" says where it is.
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

    Examples
    --------
    >>> from clems.datasets import from_frame, read_arff, write_arff
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"length": [3.0, 8.0], "bug": [0, 1], "urgent": [1, 1]})
    >>> data = from_frame(frame, labels=["bug", "urgent"])
    >>> file = "tickets.arff"
    >>> write_arff(data, file)
    >>> read = read_arff(file)
    >>> read.label_names, read.Y.tolist()
    (['bug', 'urgent'], [[0, 1], [1, 1]])
    """
    check_nominal(nominal)
    check_missing_labels(missing_labels)
    with Source(path, limits, encoding) as source:
        header, blocks = read_header(source)
        found, dropped = _find_labels(labels, header, source), pick(drop, header.names, source)
        columns = Columns(header, found, dropped, source, keeps_gaps=missing_labels == "keep")
        X, Y = read_rows(blocks, columns)
        part = span(columns.features)
        names = header.names[part] if isinstance(part, slice) else [header.names[position] for position in part]
        if nominal == "one-hot":
            X, names = one_hot(X, names, [columns.kind(position).words for position in columns.features], source)
        label_names = [header.names[position] for position in columns.labels]
        return Dataset(X, Y, names, label_names, name or stem(source.name), source.name)


def _find_labels(labels: str | PathLike[str] | int | Sequence[str] | None, header: Header, source: Source) -> list[int]:
    """Positions of the labels among the attributes."""
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
    """Positions of the labels that an XML file names, perhaps with Weka's escapes."""
    wanted = {*labels}
    found = {name: position for position, name in enumerate(header.names) if name in wanted}
    if len(found) < len(wanted):
        positions = {name: position for position, name in enumerate(header.names)}
        for label in sorted(wanted - {*found}):
            if (position := positions.get(unquoted(label))) is None:
                raise source.fault(f"{xml} names the label {label!r}, which is no attribute here")
            found[label] = position
    return sorted({*found.values()})


def _read_wanted(
    path: str | PathLike[str], wanted: Wanted, encoding: str, limits: Limits | None
) -> tuple[Dataset, list[str]]:
    """Read rows for a model; attributes that are of no use, which may hold anything, are left out."""
    with Source(path, limits, encoding) as source:
        names = read_header(source)[0].names
        positions, extra = wanted.find(names, source)
        dropped = [names[position] for position in pick(wanted.drop, names, source)]
    known = {*names}
    labels = [name for name in wanted.labels if wanted.truth or name in known]
    # Words of a model that was not trained on one column per word are codes, as the file declares them.
    nominal: Nominal = "codes" if all(word is None for _, word in positions) else "one-hot"
    gaps: MissingLabels = "refuse" if wanted.truth else "keep"  # of labels that nobody asks for
    unused = [*extra, *dropped]
    data = read_arff(path, labels, nominal=nominal, drop=unused, missing_labels=gaps, encoding=encoding, limits=limits)
    return selected(data, data.feature_names if wanted.features is None else wanted.features, wanted), extra


def _parse_labels(text: str) -> str | int | list[str]:
    """Labels as text: the path of an XML file, their number, or names."""
    if text.lower().endswith(".xml"):
        return text
    try:
        return int(text)
    except ValueError:
        return names_in(text)


def write_arff(dataset: Dataset, path: str | PathLike[str]) -> None:
    """Write an ARFF file, and beside it the Mulan XML file that names the labels.

    Parameters
    ----------
    dataset : Dataset
        What to write; sparse rows if its features are sparse.
    path : str or path
        The ARFF file, compressed if it ends in ``.gz``, ``.bz2`` or ``.xz``. ``yeast.arff.xz`` gets ``yeast.xml``.

    Examples
    --------
    >>> from clems.datasets import from_frame, read_arff, write_arff
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"length": [3.0, 8.0], "bug": [0, 1], "urgent": [1, 1]})
    >>> data = from_frame(frame, labels=["bug", "urgent"])
    >>> file = "tickets.arff"
    >>> write_arff(data, file)
    >>> read = read_arff(file)
    >>> read.label_names, read.Y.tolist()
    (['bug', 'urgent'], [[0, 1], [1, 1]])
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
        Y = sparse.csr_array(dataset.Y)
        for row, (indices, values, labels) in enumerate(rows_as_text(dataset.X, Y)):
            pairs = [f"{index} {value}" for index, value in zip(indices, values, strict=True)]
            known = as_text(Y.data[Y.indptr[row] : Y.indptr[row + 1]])  # 1, or ? where it is missing
            pairs += [f"{d + label} {value}" for label, value in zip(labels, known, strict=True)]
            yield f"{{{','.join(pairs)}}}\n".encode()
    else:
        Y = dataset.Y.toarray() if sparse.issparse(dataset.Y) else dataset.Y
        for values, labels in zip(dataset.X, Y, strict=True):
            yield f"{','.join([*as_text(values), *as_text(labels)])}\n".encode()


def _quoted(name: str) -> str:
    return name if PLAIN.fullmatch(name) else f"'{name.translate(ESCAPES)}'"


def _check_xml(dataset: Dataset) -> None:
    for name in dataset.label_names:
        if re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", name):
            raise ValueError(f"The label {name!r} has a character that XML cannot hold; rename it.")


ARFF = Format(
    name="ARFF",
    suffixes=(".arff",),
    read=read_arff,
    write=write_arff,
    read_wanted=_read_wanted,
    parse_labels=_parse_labels,
    training={"nominal": "one-hot"},  # of the words that the file declares
    beside=lambda path: [xml for xml in [xml_beside(path)] if xml is not None],
)
