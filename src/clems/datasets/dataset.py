"""A multi-label dataset: features, labels, and what they are called.

The map of the module: `Dataset` and its `Summary`, and functions of whole datasets: joined, as frames, checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from clems.arrays import Labels
from clems.labels.matrix import as_labels_or_missing, split_missing
from clems.wording import plural

ROWS = 1000  # rows that are made dense at a time


@dataclass(frozen=True)
class Numbered(Sequence[str]):
    """Names that are a prefix and a number, made when asked for: a file may have millions of columns."""

    prefix: str
    numbers: range

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, position: int) -> str: ...

    @overload
    def __getitem__(self, position: slice) -> Numbered: ...

    def __getitem__(self, position: int | slice) -> str | Numbered:
        if isinstance(position, slice):
            return Numbered(self.prefix, self.numbers[position])
        return f"{self.prefix}{self.numbers[position]}"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and labels of the same rows, with their names.

    Data from a dense file is stored in arrays, and data from a sparse file in CSR matrices; lists of labels, such as a
    column of tags, become sparse labels.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        Features, in single or double precision; NaN where one is missing.
    Y : ndarray or CSR array of shape (n, K)
        Labels, zeros and ones; an array of floats with NaN where some are missing, which `LEML` and `BCS` take.
    feature_names, label_names : sequence of str
        Names of the columns, each once.
    name : str, default="data"
        What to call it.
    source : str, default=""
        Where it came from.
    encoder : TableEncoder or None, default=None
        What made features of the columns of a table, and makes them of new rows; None if they are the columns.
    table : DataFrame or None, default=None
        The columns from which it made them, as they came, for pipelines that encode columns themselves.

    Examples
    --------
    >>> from clems.datasets import Dataset
    >>> pets = Dataset([[4.1], [0.3], [9.0]], [[1, 0], [0, 1], [1, 1]], ["kilograms"], ["furry", "sings"], "pets")
    >>> pets
    <Dataset pets: 3 rows, 1 feature, 2 labels>
    >>> pets.to_frame()
       kilograms  furry  sings
    0        4.1      1      0
    1        0.3      0      1
    2        9.0      1      1
    """

    X: Any
    Y: Labels
    feature_names: Sequence[str]
    label_names: Sequence[str]
    name: str = "data"
    source: str = ""
    encoder: Any = None
    table: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        X = _canonical(self.X) if sparse.issparse(self.X) else np.asarray(self.X)
        Y = as_labels_or_missing(self.Y)
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(f"X must be a matrix of numbers; its shape is {X.shape}, its type {X.dtype}.")
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        if np.isinf(X.data if sparse.issparse(X) else X).any():
            raise ValueError("X holds an infinite number; features are finite, or NaN where they are missing.")
        if X.shape[0] != Y.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and Y has {Y.shape[0]}; they must have equally many.")
        for kind, matrix, names in (("feature", X, self.feature_names), ("label", Y, self.label_names)):
            if len(names) != matrix.shape[1]:
                raise ValueError(f"There are {matrix.shape[1]} {kind}s but {len(names)} {kind} names.")
            if not isinstance(names, Numbered):
                listed = list(map(str, names))
                if (twice := first_repeated(listed)) is not None:
                    raise ValueError(f"Two {kind}s are called {twice!r}; names must differ.")
                object.__setattr__(self, f"{kind}_names", listed)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "Y", Y)

    def __repr__(self) -> str:
        (n, d), K = self.X.shape, self.Y.shape[1]
        return f"<Dataset {self.name}: {plural(n, 'row')}, {plural(d, 'feature')}, {plural(K, 'label')}>"

    def __str__(self) -> str:
        return f"{self.name}\n{self.summary()}"

    def _repr_html_(self) -> str:
        """Name and counts, for notebooks."""
        return f"<strong>{escape(self.name)}</strong>{self.summary()._repr_html_()}"

    def take(self, rows: ArrayLike | slice, name: str | None = None) -> Dataset:
        """Make a dataset of some rows: their numbers, a slice or a mask."""
        table = None if self.table is None else self.table.iloc[rows]
        return replace(self, X=self.X[rows], Y=self.Y[rows], name=name or self.name, table=table)

    def to_frame(self) -> pd.DataFrame:
        """Put features and labels side by side in a DataFrame, sparse columns where they are sparse."""
        check_distinct(self)
        return pd.concat([self.feature_frame(), self.label_frame()], axis="columns")

    def feature_frame(self) -> pd.DataFrame:
        """Put the features into a DataFrame, from which learners take their names."""
        return _frame(self.X, self.feature_names)

    def label_frame(self) -> pd.DataFrame:
        """Put the labels into a DataFrame, from which learners take their names too."""
        return _label_frame(self.Y, self.label_names)

    def summary(self) -> Summary:
        """Count what there is."""
        n, d = self.X.shape
        K = self.Y.shape[1]
        labels, missing = split_missing(self.Y)
        Y = sparse.csr_array(labels)
        frequency = np.bincount(Y.indices, minlength=K)
        sizes = np.diff(Y.indptr)
        occurring = np.flatnonzero(frequency)
        rarest = int(occurring[frequency[occurring].argmin()]) if occurring.size else 0
        commonest = int(frequency.argmax()) if K else 0
        vectors = {Y.indices[start:stop].tobytes() for start, stop in zip(Y.indptr, Y.indptr[1:], strict=False)}
        return Summary(
            rows=n,
            features=d,
            labels=K,
            cardinality=float(sizes.mean()) if n else 0.0,
            density=float(sizes.mean() / K) if n and K else 0.0,
            distinct=len(vectors),
            unlabelled=int((sizes == 0).sum()),
            never=K - len(occurring),
            rarest=(self.label_names[rarest], int(frequency[rarest])) if K else ("", 0),
            commonest=(self.label_names[commonest], int(frequency[commonest])) if K else ("", 0),
            imbalance=float((frequency.max() / frequency[occurring]).mean()) if occurring.size else 1.0,
            constant=int(_is_constant(self.X).sum()) if n else 0,
            missing=int(np.isnan(self.X.data if sparse.issparse(self.X) else self.X).sum()),
            missing_labels=0 if missing is None else int(missing.sum()),
        )


@dataclass(frozen=True)
class Summary:
    """Summary of a dataset; `print` shows it as a table.

    Attributes
    ----------
    rows, features, labels : int
        N, d and K.
    cardinality : float
        Labels of a row, on average.
    density : float
        Cardinality as a share of K.
    distinct : int
        Distinct label vectors.
    unlabelled : int
        Rows without a label.
    never : int
        Labels that no row has.
    rarest, commonest : tuple of str and int
        The label with the fewest rows, of those that have any, and that with the most, each with its rows.
    imbalance : float
        How many times more rows the most frequent label has than another, averaged over the labels that occur
        (mean IRLbl).
    constant : int
        Features that have one value in all rows.
    missing : int
        Missing feature values.
    missing_labels : int
        Missing labels, which count as not there in all else; not shown if there are none.

    Examples
    --------
    >>> from clems.datasets import load_dataset
    >>> summary = load_dataset("digit-scenes", "train").summary()
    >>> summary.rows, summary.features, summary.labels
    (3000, 121, 10)
    """

    rows: int
    features: int
    labels: int
    cardinality: float
    density: float
    distinct: int
    unlabelled: int
    never: int
    rarest: tuple[str, int]
    commonest: tuple[str, int]
    imbalance: float
    constant: int
    missing: int
    missing_labels: int = 0

    def __str__(self) -> str:
        return "\n".join(f"{what:<24}{shown}" for what, shown in self._lines())

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        lines = "".join(f"<tr><th>{what}</th><td>{escape(shown)}</td></tr>" for what, shown in self._lines())
        return f"<table><tbody>{lines}</tbody></table>"

    def _lines(self) -> list[tuple[str, str]]:
        """List what is counted, in words, and how it is written."""
        words = {
            "cardinality": "labels per row",
            "density": "share of labels per row",
            "distinct": "distinct label vectors",
            "unlabelled": "rows without label",
            "never": "labels without row",
            "rarest": "rarest label",
            "commonest": "most frequent label",
            "imbalance": "mean imbalance",
            "constant": "constant features",
            "missing": "missing values",
            "missing_labels": "missing labels",
        }
        lines = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "missing_labels" and not value:
                continue
            match value:
                case (label, rows):
                    shown = f"{label} ({plural(rows, 'row')})"
                case int():
                    shown = f"{value:,}"
                case _:
                    shown = f"{value:,.3f}"
            lines.append((words.get(field.name, field.name), shown))
        return lines


def stack(first: Dataset, second: Dataset) -> Dataset:
    """Put the rows of the second below those of the first; both have the same columns."""
    X, Y = (
        sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
        for parts in ((first.X, second.X), (first.Y, second.Y))
    )
    return replace(first, X=X, Y=Y, table=None)


def dense_frames(dataset: Dataset) -> Iterator[pd.DataFrame]:
    """Give features and labels side by side, some rows at a time, so that sparse ones are never dense as a whole."""
    for start in range(0, max(dataset.X.shape[0], 1), ROWS):
        X, Y = (
            side[start : start + ROWS].toarray() if sparse.issparse(side) else side[start : start + ROWS]
            for side in (dataset.X, dataset.Y)
        )
        features = pd.DataFrame(X, columns=list(dataset.feature_names))
        yield pd.concat([features, _label_frame(Y, list(dataset.label_names))], axis=1)


def first_repeated(names: Sequence[str]) -> str | None:
    """Find the first name that is there already, if any."""
    if len(set(names)) == len(names):
        return None
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def check_distinct(dataset: Dataset) -> None:
    """Refuse to put features and labels side by side if one of each has the same name."""
    if shared := {*dataset.feature_names} & {*dataset.label_names}:
        raise ValueError(f"A feature and a label are both called {min(shared)!r}; rename one of them.")


def check_complete(dataset: Dataset) -> Dataset:
    """Refuse a dataset with missing features; return it otherwise."""
    X, names = dataset.X, dataset.feature_names
    values = X.data if sparse.issparse(X) else X.ravel()
    missing = np.isnan(values)
    if not missing.any():
        return dataset
    at = int(missing.argmax())
    row, position = (
        (int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at]))
        if sparse.issparse(X)
        else divmod(at, X.shape[1])
    )
    column = names[position].partition("=")[0]
    words = sum(name.startswith(f"{column}=") for name in names) > 1  # of which each is a feature
    column = column if words else names[position]
    raise ValueError(
        f"{dataset.source or dataset.name}: the feature {column!r} is missing in row {row + 1:,} of the data; "
        f"fill it in, or leave the column out with drop={[column]!r}."
    )


def _label_frame(Y: Any, names: Sequence[str]) -> pd.DataFrame:
    """Labels in a frame: whole numbers, NA where some are missing."""
    frame = _frame(Y, names)
    return frame.astype("UInt8") if Y.dtype.kind == "f" else frame


def _frame(matrix: Any, names: Sequence[str]) -> pd.DataFrame:
    if sparse.issparse(matrix):
        return pd.DataFrame.sparse.from_spmatrix(matrix, columns=names)
    return pd.DataFrame(matrix, columns=names)


def _canonical(X: Any) -> Any:
    """CSR array whose rows have each column once, in order; a copy where it is not."""
    matrix = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _is_constant(X: Any) -> NDArray[np.bool_]:
    """Whether a column has one value, missing ones aside."""
    if not sparse.issparse(X):
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        return (low == high) | np.isnan(low)  # type: ignore[no-any-return]
    columns = X.tocsc()
    stored = np.diff(columns.indptr)
    low, high = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    some = np.flatnonzero(stored)
    if some.size:
        low[some] = np.fmin.reduceat(columns.data, columns.indptr[some])
        high[some] = np.fmax.reduceat(columns.data, columns.indptr[some])
    implicit = stored < X.shape[0]
    low[implicit], high[implicit] = np.fmin(low[implicit], 0), np.fmax(high[implicit], 0)
    return (low == high) | np.isnan(low)  # type: ignore[no-any-return]
