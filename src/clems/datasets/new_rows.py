"""New rows for a fitted model, from any file: columns are found by name, tables are read in pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clems.datasets.arff import read_arff
from clems.datasets.attributes import read_header
from clems.datasets.columns import binary, pick, pick_one, plural
from clems.datasets.dataset import Dataset
from clems.datasets.frame import Rows, indicated, labels_of, numbers_of, plain_numbers, tags_of
from clems.datasets.libsvm import read_libsvm
from clems.datasets.pieces import ROWS, parquet_pieces, read_pieces, size_of
from clems.datasets.reading import reader_of
from clems.datasets.source import DataError, Limits, Origin, Source

Places = list[tuple[int, str | None]]  # of each feature the column, and the word if the feature says that it is there


@dataclass(frozen=True)
class Wanted:
    """What a model asks of a file.

    Attributes
    ----------
    features : sequence of str or None
        Names of its features. ``colour=red`` is the column of that name or, where there is none, says whether the
        column ``colour`` holds the word ``red``. None: all columns that are nothing else, in their order.
    n_features : int
        How many there are.
    labels : sequence of str
        Names of its labels, which are no features.
    truth : bool, default=False
        Whether labels are to be read too.
    tags, separator : str or None, default=None
        Where they are if they are in one column, as in `read_table`.
    keep : sequence of str, default=()
        Columns of a table to be given back as they are written.
    drop : str or sequence of str, default=()
        Names or patterns of columns that are of no use, so that they need not be noted.
    """

    features: Sequence[str] | None
    n_features: int
    labels: Sequence[str]
    truth: bool = False
    tags: str | None = None
    separator: str | None = None
    keep: Sequence[str] = ()
    drop: str | Sequence[str] = ()


@dataclass(frozen=True)
class Piece:
    """Some rows of a file.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n, d)
        Features in the order of the model, none of them missing.
    Y : ndarray or CSR array of shape (n, K), or None
        Labels in the order of the model, if they were asked for.
    kept : DataFrame
        The columns to keep, as text.
    """

    X: Any
    Y: Any
    kept: pd.DataFrame


class NewRows:
    """Rows of a file as a model takes them; iterate over it once, piece by piece.

    A CSV or Parquet file is never in memory as a whole; ARFF and libsvm files are.

    Parameters
    ----------
    path : str, path or binary file
        The file, as in `read_dataset`; a pipe or a binary file, such as standard input, holds a CSV.
    wanted : Wanted
        What the model asks for.
    delimiter, decimal, encoding
        As in `read_table`.
    rows : int, default=20,000
        Most rows of a piece.
    limits : Limits or None, default=None
        How long a line may be and, where the file is not read in pieces, how much may be read.

    Attributes
    ----------
    extra : list of str
        Columns that are of no use, known after the first piece.
    unseen : dict
        Columns that hold words that the model has not seen, each with one of them.
    done : float or None
        Share of the file that is read, where that is known.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | IO[bytes],
        wanted: Wanted,
        *,
        delimiter: str | None = None,
        decimal: str = ".",
        encoding: str = "utf-8",
        rows: int = ROWS,
        limits: Limits | None = None,
    ) -> None:
        self.path, self.wanted, self.rows, self.limits = path, wanted, rows, limits
        self.delimiter, self.decimal, self.encoding = delimiter, decimal, encoding
        self.extra: list[str] = []
        self.unseen: dict[str, str] = {}
        self.done: float | None = None

    def __iter__(self) -> Iterator[Piece]:
        is_stream = not isinstance(self.path, (str, os.PathLike)) or _is_pipe(self.path)
        reader: Any = None if is_stream else reader_of(self.path)  # type: ignore[arg-type]
        if reader not in (read_arff, read_libsvm):
            return self._of_table()
        if self.wanted.keep or self.wanted.tags:
            column = (*self.wanted.keep, self.wanted.tags)[0]
            raise ValueError(f"The column {column!r} must be in a CSV or Parquet file; {self.path} is neither.")
        return self._of_dataset(self._arff() if reader is read_arff else self._libsvm())

    def _of_table(self) -> Iterator[Piece]:
        wanted = self.wanted
        with ExitStack() as stack:
            is_path = isinstance(self.path, (str, os.PathLike))
            file: Any = stack.enter_context(Path(self.path).open("rb")) if is_path else self.path  # type: ignore[arg-type]
            size = size_of(file)
            source = Source(file, self.limits, self.encoding)
            if size and file.read(4) == b"PAR1":
                frames = parquet_pieces(file, source, self.rows)
            else:
                if size:
                    file.seek(0)
                frames = read_pieces(
                    source,
                    written=[*wanted.keep, *([wanted.tags] if wanted.tags else [])],
                    words=_before_words(wanted.features or ()),
                    delimiter=self.delimiter,
                    decimal=self.decimal,
                    rows=self.rows,
                )
            start, places = 0, None
            for frame in frames:
                if places is None:
                    places = self._find(list(map(str, frame.columns)), source)
                yield self._piece(frame, places, _From(source, start, self.decimal))
                start += len(frame)
                self.done = file.tell() / size if size else None

    def _of_dataset(self, data: Dataset) -> Iterator[Piece]:
        source = Origin(data.source)
        names = list(data.feature_names)
        if self.wanted.features is None:
            places: list[int | None] = [place for place, _ in self._find(names, source)]
        else:
            at = {name: place for place, name in enumerate(names)}
            places = [at.get(name) for name in self.wanted.features]
        X = data.X[:, [place or 0 for place in places]]
        if None in places:  # words that an ARFF file does not declare
            X = X * np.array([place is not None for place in places])
            X = sparse.csr_array(X) if sparse.issparse(X) else X
        for start in range(0, X.shape[0], self.rows):
            part = slice(start, min(start + self.rows, X.shape[0]))
            _check_complete(X[part], self.wanted.features or names, _From(source, start))
            yield Piece(
                X[part],
                data.Y[part] if self.wanted.truth else None,
                pd.DataFrame(index=range(*part.indices(X.shape[0]))),
            )
            self.done = part.stop / X.shape[0]

    def _arff(self) -> Dataset:
        assert isinstance(self.path, (str, os.PathLike))
        wanted = self.wanted
        with Source(self.path, self.limits, self.encoding) as source:
            names = list(read_header(source)[0].names)
        known = {*names}
        labels = [name for name in wanted.labels if wanted.truth or name in known]
        places = self._find(names, source)
        # Words of a model that was not trained on one column per word are codes, as the file declares them.
        nominal: Any = "codes" if all(word is None for _, word in places) else "one-hot"
        dropped = [names[place] for place in pick(wanted.drop, names, source)]
        return read_arff(
            self.path,
            labels,
            nominal=nominal,
            drop=[*self.extra, *dropped],
            encoding=self.encoding,
            limits=self.limits,
        )

    def _libsvm(self) -> Dataset:
        assert isinstance(self.path, (str, os.PathLike))
        wanted = self.wanted
        labels = list(wanted.labels) if wanted.truth else None
        if wanted.features is None:
            return read_libsvm(self.path, labels, n_features=wanted.n_features, limits=self.limits)
        first = next(iter(wanted.features), "")
        if first not in ("x0", "x1"):
            raise DataError(
                f"{os.fspath(self.path)}: libsvm files number their features; the model has names, {first!r}."
            )
        return read_libsvm(
            self.path, labels, n_features=wanted.n_features, zero_based=first == "x0", limits=self.limits
        )

    def _find(self, names: list[str], source: Origin) -> Places:
        """Find the column of each feature, and note those that are of no use."""
        wanted = self.wanted
        beside = [*wanted.keep, *([wanted.tags] if wanted.tags else [])]
        dropped = {*pick(wanted.drop, names, source)}
        taken = {pick_one(name, names, source) for name in beside} | dropped
        known, labels = {*names}, {*wanted.labels}
        if wanted.truth and not wanted.tags and (absent := [name for name in wanted.labels if name not in known]):
            raise source.fault(f"{plural(len(absent), 'label')} of the model {_are_missing(absent)}")
        taken |= {place for place, name in enumerate(names) if name in labels}
        left = [place for place in range(len(names)) if place not in taken]
        if wanted.features is None:
            if len(left) != wanted.n_features:
                raise source.fault(
                    f"the model has {plural(wanted.n_features, 'feature')} without names, and there are "
                    f"{plural(len(left), 'column')} that could be these"
                )
            return [(place, None) for place in left]
        places, missing = find_features(wanted.features, names)
        if missing:
            raise source.fault(f"{plural(len(missing), 'feature')} of the model {_are_missing(missing)}")
        used = {place for place, _ in places}
        if both := sorted(used & dropped):
            raise source.fault(f"the column {names[both[0]]!r} is a feature of the model; it cannot be dropped")
        self.extra = [names[place] for place in left if place not in used]
        return places

    def _piece(self, frame: pd.DataFrame, places: Places, rows: Rows) -> Piece:
        X = np.empty((len(frame), len(places)))
        plain = [(at, place) for at, (place, word) in enumerate(places) if word is None]
        columns = [place for _, place in plain]
        values, others = plain_numbers(frame.iloc[:, columns])
        for place in others:
            values[:, place] = _as_numbers(frame.iloc[:, columns[place]], rows)
        X[:, [at for at, _ in plain]] = values
        words: dict[int, dict[str | None, int]] = {}
        for at, (place, word) in enumerate(places):
            if word is not None:
                words.setdefault(place, {})[word] = at
        for place, of_column in words.items():
            self._put_words(X, frame.iloc[:, place], of_column)
        names = list(frame.columns)
        _check_complete(X, [str(names[place]) for place, _ in places], rows)
        Y = self._labels(frame, rows) if self.wanted.truth else None
        return Piece(X, Y, frame[list(self.wanted.keep)].fillna("").astype(str))

    def _put_words(self, X: NDArray[np.float64], column: pd.Series, at: dict[str | None, int]) -> None:
        """Fill the features that say whether a word is there."""
        gone = column.isna().to_numpy(bool)
        cells = np.array(["" if is_gone else str(cell) for cell, is_gone in zip(column, gone, strict=True)], object)
        known = gone.copy()
        for word, place in at.items():
            known |= (hot := cells == word)
            X[:, place] = np.where(gone, np.nan, hot)
        if not known.all():
            self.unseen.setdefault(str(column.name), str(cells[(~known).argmax()]))

    def _labels(self, frame: pd.DataFrame, rows: Rows) -> Any:
        wanted = self.wanted
        if wanted.tags is None:
            return labels_of(frame[list(wanted.labels)], rows)
        return indicated(tags_of(frame[wanted.tags], wanted.separator, rows), len(frame), wanted.labels, rows)[0]


def _is_pipe(path: str | os.PathLike[str]) -> bool:
    return Path(path).exists() and not Path(path).is_file()


class _From(Rows):
    """Rows of a piece, which faults call by their number in the whole file."""

    def __init__(self, source: Origin, start: int, decimal: str = ".") -> None:
        super().__init__(source.name, source.limits, decimal=decimal)
        self._start = start

    def row_fault(self, what: str, row: int, text: object = None) -> DataError:
        """Put a sentence about a row together."""
        shown = None if text is None else str(text)
        return self.fault(f"{what}, in row {self._start + row + 1:,} of the data", text=shown)


def find_features(features: Sequence[str], names: Sequence[str]) -> tuple[Places, list[str]]:
    """Find the column of each feature by name, and those that have none.

    Parameters
    ----------
    features : sequence of str
        Names of features.
    names : sequence of str
        Names of columns.

    Returns
    -------
    places : list of tuple of int and (str or None)
        The column of each that was found; and the word, if it says whether the column holds that word.
    missing : list of str
        Columns that are missing, each once.

    Examples
    --------
    >>> from clems.datasets.new_rows import find_features
    >>> find_features(["size", "colour=red", "age"], ["colour", "size"])
    ([(1, None), (0, 'red')], ['age'])
    """
    at = {name: place for place, name in enumerate(names)}
    places: Places = []
    missing: dict[str, None] = {}
    for feature in features:
        if feature in at:
            places.append((at[feature], None))
            continue
        parts = feature.split("=")
        cuts = [("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))]
        found = next(((at[column], word) for column, word in cuts if column in at), None)
        if found is None:
            missing[parts[0]] = None
        else:
            places.append(found)
    return places, list(missing)


def _before_words(features: Sequence[str]) -> set[str]:
    """Columns that may hold words, by the names of features."""
    parts = [feature.split("=") for feature in features if "=" in feature]
    return {"=".join(part[:cut]) for part in parts for cut in range(1, len(part))} - {*features}


def _as_numbers(column: pd.Series, rows: Rows) -> NDArray[np.float64]:
    """Numbers of a column; texts that are numbers, and those that say no or yes, are numbers."""
    values = numbers_of(column)
    if values is not None:
        return values
    cells = ["" if gone else str(cell) for cell, gone in zip(column, column.isna(), strict=True)]
    texts = sorted({*cells} - {""})
    meant: dict[str, float | None] = {**(binary(texts) or {text: rows.number(text) for text in texts}), "": np.nan}
    for row, cell in enumerate(cells):
        if meant[cell] is None:
            raise rows.row_fault(f"column {column.name!r} must hold numbers, as in training", row, cell)
    return np.array([meant[cell] for cell in cells], np.float64)


def _check_complete(X: Any, names: Sequence[str], rows: Rows) -> None:
    """Refuse rows with features that are missing or infinite, which no learner takes."""
    if np.isfinite(X.data if sparse.issparse(X) else X).all():
        return
    dense = X.toarray() if sparse.issparse(X) else X
    row, place = np.argwhere(~np.isfinite(dense))[0]
    if np.isnan(dense[row, place]):
        raise rows.row_fault(f"the feature {names[place]!r} is missing", int(row))
    raise rows.row_fault(f"the feature {names[place]!r} must be a finite number", int(row), dense[row, place])


def _are_missing(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
    return f"{'is' if len(names) == 1 else 'are'} missing: {shown}"
