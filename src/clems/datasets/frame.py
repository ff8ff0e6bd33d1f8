"""DataFrames as datasets.

The map of the module: `from_frame`, for users; `Rows`, which knows where a row came from, and `Roles` of columns;
`dataset_of`, which joins labels (of columns, tags or pairs) and features (numbers, then words as codes).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from scipy import sparse

from clems.arrays import row_blocks
from clems.datasets.columns import (
    BINARY,
    TO_KEEP,
    MissingLabels,
    Nominal,
    binary,
    check_missing_labels,
    check_names,
    check_nominal,
    one_hot,
    pick,
    pick_labels,
    pick_one,
)
from clems.datasets.dataset import Dataset
from clems.datasets.encoding.cells import float_of, is_missing, numbers_of
from clems.datasets.encoding.encoder import TableEncoder
from clems.datasets.encoding.kinds import kind_of
from clems.datasets.rows import Rows
from clems.datasets.text.decimals import number_in
from clems.datasets.text.source import Limits
from clems.wording import first_few


def from_frame(
    frame: pd.DataFrame,
    labels: str | Sequence[str] | None = None,
    *,
    tags: str | None = None,
    separator: str | None = None,
    pairs: pd.DataFrame | None = None,
    row_id: str | None = None,
    drop: str | Sequence[str] = (),
    nominal: Nominal | None = None,
    kinds: Mapping[str, str] | None = None,
    encode: bool | None = None,
    missing_labels: MissingLabels = "refuse",
    name: str = "frame",
    limits: Limits | None = None,
) -> Dataset:
    """Make a dataset of a DataFrame.

    Parameters
    ----------
    frame : DataFrame
        One row per example. Categorical columns are words with known values; sparse columns stay sparse if all
        features, or all labels, are.
    labels, tags, separator, pairs, row_id, drop, nominal, kinds, encode, missing_labels, limits
        As in `read_table`; a column of tags may also hold lists or sets, which need no separator.
    name : str, default="frame"
        What to call the dataset.

    Returns
    -------
    Dataset
        Names are the columns' names as strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from clems.datasets import from_frame
    >>> frame = pd.DataFrame({"length": [3.5, 1.0], "tags": ["new; urgent", "urgent"]})
    >>> data = from_frame(frame, tags="tags", separator=";")
    >>> data.label_names
    ['new', 'urgent']
    >>> data.Y.toarray()
    array([[1, 1],
           [0, 1]], dtype=uint8)
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame must be a DataFrame; got {type(frame).__name__}.")
    rows = Rows(name, limits)
    frame = frame.set_axis([str(column) for column in frame.columns], axis="columns")
    check_names(list(frame.columns), rows)
    of_pairs = None if pairs is None else (pairs, Rows("pairs", limits))
    roles = Roles(labels, tags, separator, of_pairs, row_id, drop, nominal, kinds, encode, missing_labels)
    return dataset_of(frame, rows, roles, name)


class Roles(NamedTuple):
    """Which columns of a table are labels, features or neither, as in `read_table`; pairs come with their own rows."""

    labels: str | Sequence[str] | None
    tags: str | None
    separator: str | None
    pairs: tuple[pd.DataFrame, Rows] | None
    row_id: str | None
    drop: str | Sequence[str]
    nominal: Nominal | None
    kinds: Mapping[str, str] | None = None
    encode: bool | None = None
    missing_labels: MissingLabels = "refuse"

    def check(self) -> None:
        """Refuse what contradicts itself."""
        check_nominal(self.nominal)
        if self.nominal is not None and (self.kinds or self.encode):
            raise ValueError("nominal= encodes words only; leave it out where kinds= or encode= say what to do.")
        if self.encode is False and self.kinds:
            raise ValueError("kinds= says how columns are encoded; leave out encode=False.")
        if self.tags is not None and self.pairs is not None:
            raise ValueError("Labels are either in a column, tags=..., or in a table, pairs=...; not in both.")
        if self.labels is None and self.tags is None and self.pairs is None:
            raise ValueError("Say where the labels are: labels= names of columns, tags= a column, or pairs= a table.")
        check_missing_labels(self.missing_labels)
        if self.missing_labels == "keep" and (self.tags is not None or self.pairs is not None):
            raise ValueError("missing_labels= is for columns of labels; a row has all of its tags, or none of them.")
        if self.separator is not None and self.tags is None:
            raise ValueError("separator= is what is between two tags; it needs tags= the name of their column.")


def dataset_of(frame: pd.DataFrame, rows: Rows, roles: Roles, name: str, source: str = "") -> Dataset:
    """Make a dataset of a frame whose columns have different names."""
    roles.check()
    labels, tags, separator, pairs, row_id, drop, nominal, kinds, encode, missing_labels = roles
    columns = list(frame.columns)
    dropped = {*pick(drop, columns, rows)}
    vocabulary = [labels] if isinstance(labels, str) else labels
    if tags is not None:
        taken = [pick_one(tags, columns, rows)]
        found = tags_of(frame.iloc[:, taken[0]], separator, rows)
        Y, label_names = indicated(found, len(frame), vocabulary, rows)
    elif pairs is not None:
        taken = [] if row_id is None else [pick_one(row_id, columns, rows)]
        ids = frame.iloc[:, taken[0]] if taken else pd.Series(range(len(frame)))
        Y, label_names = indicated(_paired(ids, rows, *pairs), len(frame), vocabulary, rows)
    else:
        taken = [position for position in pick_labels(labels, columns, rows) if position not in dropped]
        if not taken:
            raise rows.fault("no label is left; labels= and drop= must not name the same columns")
        Y = labels_of(frame.iloc[:, taken], rows, missing_labels)
        label_names = [columns[position] for position in taken]
    if not len(frame):
        raise rows.fault("there are no rows")
    used = {*taken, *dropped, *([] if row_id is None else [pick_one(row_id, columns, rows)])}
    left = [position for position in range(len(columns)) if position not in used]
    if "" in (columns[position] for position in left):
        raise rows.fault("a column has no name, as the index of a DataFrame; name it, or leave it out with drop=['']")
    table = frame.iloc[:, left]
    if encode or kinds or (encode is None and nominal is None and _has_words(table, rows)):
        encoder = TableEncoder(kinds=kinds, decimal=rows.decimal).fit_rows(table, rows, row_id)
        if not encoder.is_plain:
            X, feature_names = encoder.transform_rows(table, rows), encoder.get_feature_names_out().tolist()
            return Dataset(X, Y, feature_names, label_names, name, source, encoder, table)
    X, feature_names = _features(table, nominal, rows)
    return Dataset(X, Y, feature_names, label_names, name, source)


def tags_of(column: pd.Series, separator: str | None, rows: Rows) -> list[tuple[int, str]]:
    """Find rows and labels in a column of tags."""
    found = []
    for row, cell in enumerate(column):
        if isinstance(cell, (list, tuple, set, frozenset, np.ndarray)):
            listed = [str(tag) for tag in cell if not is_missing(tag)]
        elif is_missing(cell) or not str(cell).strip():
            continue
        elif not separator:
            likely = _likely_separator(column) or ";"
            raise rows.row_fault(f"say what is between two tags, for instance separator={likely!r}", row, cell)
        else:
            listed = str(cell).split() if separator.isspace() else str(cell).split(separator)
        found += [(row, tag.strip()) for tag in listed if tag.strip()]
    if separator and not any(separator in cell for cell in column if isinstance(cell, str)):
        likely = _likely_separator(column)
        if likely:
            warnings.warn(
                f"{rows.name}: no cell of {column.name!r} has the separator {separator!r}, so that each is one tag; if "
                f"{likely!r} is between tags, say separator={likely!r}.",
                UserWarning,
                stacklevel=2,
            )
    return found


def _likely_separator(column: pd.Series) -> str:
    """Find the sign between tags that the most cells have; none if none has any."""
    cells = [cell for cell in column if isinstance(cell, str)]
    counts = {sign: sum(sign in cell for cell in cells) for sign in (";", "|", ",", "/")}
    return max(counts, key=lambda sign: counts[sign]) if any(counts.values()) else ""


def _paired(ids: pd.Series, rows: Rows, pairs: pd.DataFrame, of_pairs: Rows) -> list[tuple[int, str]]:
    """Find rows and labels in a table of pairs."""
    if pairs.shape[1] != 2:
        raise of_pairs.fault(f"a table of pairs has two columns, row and label; this has {pairs.shape[1]}")
    keys = ids.astype(str)
    positions = {key: row for row, key in enumerate(keys)}
    if len(positions) < len(keys):
        row = int(keys.duplicated().argmax())
        raise rows.row_fault(f"another row has the same {ids.name!r}", row, keys.iloc[row])
    if of_pairs.has_lines and str(pairs.columns[0]) in positions:
        raise of_pairs.fault("the first line names the columns, but it calls a row", 1, str(pairs.columns[0]))
    found = []
    for row, (key, label) in enumerate(pairs.itertuples(index=False, name=None)):
        if (position := positions.get(str(key))) is None:
            raise of_pairs.row_fault("no row is called so", row, key)
        if is_missing(label) or not str(label).strip():
            raise of_pairs.row_fault("the label is missing", row, "")
        found.append((position, str(label).strip()))
    return found


def _is_sparse(frame: pd.DataFrame) -> bool:
    """Whether all columns are sparse ones of numbers or booleans."""
    return all(isinstance(dtype, pd.SparseDtype) and dtype.subtype.kind in "biuf" for dtype in frame.dtypes)


def indicated(
    found: list[tuple[int, str]], n: int, vocabulary: Sequence[str] | None, rows: Rows
) -> tuple[Any, list[str]]:
    """Make sparse labels of rows and labels."""
    names = sorted({label for _, label in found}) if vocabulary is None else list(map(str, vocabulary))
    if not names:
        raise rows.fault("no row has a label")
    positions = {name: position for position, name in enumerate(names)}
    for row, label in found:
        if label not in positions:
            raise rows.row_fault(f"a tag is none of the labels ({first_few(names, 5, str)})", row, label)
    at = [row for row, _ in found], [positions[label] for _, label in found]
    Y = sparse.csr_array((np.ones(len(found)), at), shape=(n, len(names)))
    Y.data[:] = 1  # a label that a row has twice was added up
    return Y, names


def labels_of(frame: pd.DataFrame, rows: Rows, missing_labels: MissingLabels = "refuse") -> Any:
    """Make labels of columns of zeros and ones; floats with NaN where they are missing, if these are kept."""
    if _is_sparse(frame):
        values = _csr(frame)
        if (values.data == 1).all():
            return values
    values, others = plain_numbers(frame)
    for position in others:
        column = frame.iloc[:, position]
        read = numbers_of(column)
        if read is None:
            read = np.array([BINARY.get(str(cell).strip().lower(), np.nan) for cell in column], np.float64)
        values[:, position] = read
    is_wrong = (values != 0) & (values != 1)
    if not is_wrong.any():
        return values.astype(np.uint8)
    gaps = np.zeros(values.shape, bool)
    for position in np.flatnonzero(is_wrong.any(axis=0)).tolist():
        gaps[:, position] = [is_gap(cell) for cell in frame.iloc[:, position]]
    is_wrong &= ~gaps if missing_labels == "keep" else True
    if is_wrong.any():
        position = int(is_wrong.any(axis=0).argmax())
        row = int(is_wrong[:, position].argmax())
        advice = TO_KEEP if gaps[row, position] else ""
        raise rows.row_fault(
            f"label {frame.columns[position]!r} must be 0 or 1{advice}", row, _shown(frame.iloc[row, position])
        )
    return values


def is_gap(cell: Any) -> bool:
    """Whether a cell of a label says that it is missing."""
    return is_missing(cell) or (isinstance(cell, str) and cell.strip() in ("", "?"))


def _shown(cell: Any) -> object:
    """Show a cell as it was written, most likely: a whole number has no point, whatever the type of its column."""
    if isinstance(cell, str) and (number := number_in(cell)) is not None and np.isfinite(number):
        cell = number  # so that it is shown alike in a column of numbers and in one that holds words, too
    if not isinstance(cell, Real | Decimal):
        return "" if is_missing(cell) else cell
    value = float_of(cell)
    return "" if np.isnan(value) else int(value) if abs(value) < 1e16 and value == int(value) else value


def plain_numbers(frame: pd.DataFrame) -> tuple[NDArray[np.float64], list[int]]:
    """Numbers of the columns that are arrays of them, all at once, and the positions of other columns, left empty."""
    is_plain = np.array([isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes], bool)
    values = np.empty(frame.shape)
    plain = slice(None) if is_plain.all() else np.flatnonzero(is_plain)
    numbers = frame.iloc[:, plain]
    for rows in row_blocks(*frame.shape):  # so that there is no second copy of all of them
        values[rows, plain] = numbers.iloc[rows].to_numpy(np.float64)
    return values, np.flatnonzero(~is_plain).tolist()


def _has_words(frame: pd.DataFrame, rows: Rows) -> bool:
    """Whether a column holds words, text or dates, which are no numbers before they are encoded."""
    if _is_sparse(frame):
        return False
    _, others = plain_numbers(frame.iloc[:0])
    columns = [(str(frame.columns[position]), frame.iloc[:, position]) for position in others]
    kinds = [kind_of(name, column, rows).kind for name, column in columns]
    return not {*kinds} <= {"numbers", "booleans", "constant"}


def _features(frame: pd.DataFrame, nominal: Nominal | None, rows: Rows) -> tuple[Any, list[str]]:
    """Make numbers of columns."""
    names = list(frame.columns)
    if names and _is_sparse(frame):
        X = _csr(frame)
        for row, position in zip(*(abs(X) == np.inf).nonzero(), strict=True):
            raise rows.row_fault(f"column {names[position]!r} must be finite", int(row), "inf")
        return X, names
    words: list[Sequence[str] | None] = [None] * len(names)
    X, others = plain_numbers(frame)
    for position in others:
        column = frame.iloc[:, position]
        values = numbers_of(column)
        if values is None:
            values, words[position] = _coded(column, names[position], nominal, rows)
        X[:, position] = values
    if np.isinf(X).any():
        row, position = np.argwhere(np.isinf(X))[0]
        raise rows.row_fault(f"column {names[position]!r} must be finite", int(row), frame.iloc[row, position])
    return one_hot(X, names, words, rows) if nominal == "one-hot" else (X, names)


def _coded(
    column: pd.Series, name: str, nominal: Nominal | None, rows: Rows
) -> tuple[NDArray[np.float64], list[str] | None]:
    """Make numbers of a column of words, and say which words their codes stand for."""
    is_listed = isinstance(column.dtype, pd.CategoricalDtype)
    if not (is_listed or types.is_string_dtype(column.dtype) or column.dtype == object):
        raise rows.fault(f"column {name!r} holds {column.dtype}, which is no number; leave it out with drop=[{name!r}]")
    if is_listed and nominal is None and column.cat.categories.dtype.kind in "biuf":
        return np.array([float_of(cell) for cell in column]), None
    if is_listed:
        positions, listed = column.cat.codes.to_numpy(), [str(value) for value in column.cat.categories]
    else:
        gone = column.isna()
        for row, (cell, is_gone) in enumerate(zip(column, gone, strict=True) if column.dtype == object else ()):
            if not (is_gone or isinstance(cell, str | bytes | Real | Decimal)):
                what = f"column {name!r} holds a {type(cell).__name__}, which is neither number nor word"
                raise rows.row_fault(f"{what}; leave it out with drop=[{name!r}]", row, cell)
        cells = ["" if is_gone else str(cell) for cell, is_gone in zip(column, gone, strict=True)]
        listed = sorted({*cells} - {""})
        position_of = {word: position for position, word in enumerate(listed)}
        positions = np.array([position_of.get(cell, -1) for cell in cells], np.int64)
    if (values := binary(listed)) is not None:
        return _spread([values[word] for word in listed], positions), None
    if not is_listed:
        read = [rows.number(word) for word in listed]
        if None not in read:
            return _spread(read, positions), None
        if nominal is None or any(value is not None for value in read):
            row = int(np.isin(positions, [position for position, value in enumerate(read) if value is None]).argmax())
            advice = "or make numbers of its words with nominal='one-hot' or 'codes'"
            if any(value is not None for value in read):
                advice = "or correct what is not a number"
                advice += "; a CSV with decimal commas needs decimal=','" if rows.decimal == "." else ""
            what = f"column {name!r} must hold numbers; leave it out with drop=[{name!r}], {advice}"
            raise rows.row_fault(what, row, column.iloc[row])
    return _spread(range(len(listed)), positions), listed


def _spread(values: Sequence[float | None], positions: NDArray[Any]) -> NDArray[np.float64]:
    """Values at some positions, NaN where the position is negative: the last is put there."""
    return np.asarray(np.array([*values, np.nan], np.float64)[positions])


def _csr(frame: pd.DataFrame) -> Any:
    """Make a CSR array of sparse columns."""
    dense_ones = [name for name, dtype in frame.dtypes.items() if dtype.fill_value != 0]
    frame = frame.astype({name: pd.SparseDtype(frame[name].dtype.subtype, 0) for name in dense_ones})
    matrix = sparse.csr_array(frame.sparse.to_coo()).astype(np.float64)
    matrix.eliminate_zeros()
    return matrix
