"""New rows for a fitted model, from a file of any format: tables in pieces, other files whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clems.datasets.columns import binary
from clems.datasets.encoding.cells import numbers_of
from clems.datasets.formats import format_of
from clems.datasets.formats.csv import ROWS
from clems.datasets.formats.format import Format
from clems.datasets.formats.table import CSV
from clems.datasets.frame import indicated, labels_of, plain_numbers, tags_of
from clems.datasets.rows import Rows
from clems.datasets.text.source import DataError, Limits, Origin, Source
from clems.datasets.wanted import Positions, Wanted, columns_of_words


@dataclass(frozen=True)
class Piece:
    """Some rows of a file.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n, d)
        Features in the order of the model, none of them missing unless the model takes gaps.
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
        file_format = CSV if is_stream else format_of(self.path)  # type: ignore[arg-type]
        if file_format.is_table:
            return self._of_table(file_format)
        if self.wanted.encode is not None:
            raise ValueError(f"The model takes the columns of a table, a CSV or Parquet file; {self.path} is neither.")
        if self.wanted.beside:
            column = self.wanted.beside[0]
            raise ValueError(f"The column {column!r} must be in a CSV or Parquet file; {self.path} is neither.")
        return self._of_dataset(file_format)

    def _of_table(self, file_format: Format) -> Iterator[Piece]:
        assert file_format.pieces is not None
        with Source(self.path, self.limits, self.encoding) as source:
            wanted = self.wanted
            frames = file_format.pieces(
                source,
                written=[*wanted.beside, *wanted.keep_if_there],
                words={*wanted.words} if wanted.encode else columns_of_words(wanted.features or ()),
                delimiter=self.delimiter,
                decimal=self.decimal,
                rows=self.rows,
            )
            start, positions = 0, None
            for frame in frames:
                if positions is None:
                    positions, self.extra = self.wanted.find(list(map(str, frame.columns)), source)
                yield self._piece(frame, positions, _From(source, start, self.decimal))
                start += len(frame)
                self.done = source.done

    def _of_dataset(self, file_format: Format) -> Iterator[Piece]:
        data, self.extra = file_format.read_new(self.path, self.wanted, self.encoding, self.limits)
        n = data.X.shape[0]
        for start in range(0, n, self.rows):
            part = slice(start, min(start + self.rows, n))
            X, Y = data.X[part], data.Y[part] if self.wanted.truth else None
            _check_complete(X, data.feature_names, _From(Origin(data.source), start), self.wanted.gaps)
            yield Piece(X, Y, pd.DataFrame(index=range(*part.indices(n))))
            self.done = part.stop / n

    def _piece(self, frame: pd.DataFrame, positions: Positions, rows: Rows) -> Piece:
        X = self._features(frame, positions, rows) if self.wanted.encode is None else self._encoded(frame, rows)
        Y = self._labels(frame, rows) if self.wanted.truth else None
        there = [name for name in self.wanted.keep_if_there if name in frame.columns and name not in self.wanted.keep]
        return Piece(X, Y, frame[[*self.wanted.keep, *there]].fillna("").astype(str))

    def _encoded(self, frame: pd.DataFrame, rows: Rows) -> Any:
        """Make features of columns as a model with an encoder does."""
        assert self.wanted.encode is not None
        columns = {}
        for name in self.wanted.features or ():
            column = frame[name]
            is_number = name not in self.wanted.words
            columns[name] = _as_numbers(column, rows) if is_number else column.where(column.notna(), np.nan)
        table = pd.DataFrame(columns, index=frame.index)
        return self.wanted.encode(table, rows) if len(table) else np.empty((0, self.wanted.n_features))

    def _features(self, frame: pd.DataFrame, positions: Positions, rows: Rows) -> NDArray[np.float64]:
        X = np.empty((len(frame), len(positions)))
        plain = [(at, position) for at, (position, word) in enumerate(positions) if word is None]
        columns = [position for _, position in plain]
        values, others = plain_numbers(frame.iloc[:, columns])
        for position in others:
            values[:, position] = _as_numbers(frame.iloc[:, columns[position]], rows)
        X[:, [at for at, _ in plain]] = values
        words: dict[int, dict[str | None, int]] = {}
        for at, (position, word) in enumerate(positions):
            if word is not None:
                words.setdefault(position, {})[word] = at
        for position, of_column in words.items():
            self._put_words(X, frame.iloc[:, position], of_column)
        names = list(frame.columns)
        _check_complete(X, [str(names[position]) for position, _ in positions], rows, self.wanted.gaps)
        return X

    def _put_words(self, X: NDArray[np.float64], column: pd.Series, at: dict[str | None, int]) -> None:
        """Fill the features that say whether a word is there."""
        gone = column.isna().to_numpy(bool)
        cells = np.array(["" if is_gone else str(cell) for cell, is_gone in zip(column, gone, strict=True)], object)
        known = gone.copy()
        for word, position in at.items():
            known |= (hot := cells == word)
            X[:, position] = np.where(gone, np.nan, hot)
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


def _as_numbers(column: pd.Series, rows: Rows) -> NDArray[np.float64]:
    """Numbers of a column; texts that are numbers, and those that say no or yes, are numbers."""
    values = numbers_of(column)
    if values is not None:
        return values
    cells = ["" if gone else str(cell) for cell, gone in zip(column, column.isna(), strict=True)]
    texts = sorted({*cells} - {""})
    numbers: dict[str, float | None] = {**(binary(texts) or {text: rows.number(text) for text in texts}), "": np.nan}
    for row, cell in enumerate(cells):
        if numbers[cell] is None:
            raise rows.row_fault(f"column {column.name!r} must hold numbers, or yes and no, as in training", row, cell)
    return np.array([numbers[cell] for cell in cells], np.float64)


def _is_not_finite(values: Any) -> Any:
    return ~np.isfinite(values)


def _check_complete(X: Any, names: Sequence[str], rows: Rows, gaps: bool = False) -> None:
    """Refuse rows with features that are infinite, or missing where the model does not take that."""
    wrong = np.isinf if gaps and not sparse.issparse(X) else _is_not_finite
    if not wrong(X.data if sparse.issparse(X) else X).any():
        return
    dense = X.toarray() if sparse.issparse(X) else X
    row, position = np.argwhere(wrong(dense))[0]
    if np.isnan(dense[row, position]):
        raise rows.row_fault(f"the feature {names[position]!r} is missing", int(row))
    raise rows.row_fault(f"the feature {names[position]!r} must be a finite number", int(row), dense[row, position])
