"""Rows in a report: which ones, their text, what was true and predicted, what stands out in them, their pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from struct import pack
from typing import Any
from zlib import compress, crc32

import numpy as np
import pandas as pd
from scipy import sparse

from clems.arrays import Bits, Floats, Integers
from clems.costs.cost import Cost, PriceCost
from clems.costs.thresholds import PriceThreshold
from clems.datasets.encoding import TableEncoder
from clems.evaluation.label_map import names_of, shown
from clems.learners.base import MultiLabelClassifier
from clems.learners.pipeline import steps_of
from clems.wording import first_few, plural

RIGHT = 8  # rows shown that came out right
FEATURES = 6  # features shown of a row
SHORT = 40  # letters of a cell that stands in a line

Places = Integers
Cells = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RowLabel:
    """A label of a row: true, predicted, or both.

    Attributes
    ----------
    name : str
        What it is called.
    kind : str
        "hit" if it was predicted rightly, "missed" if it was not predicted though true, "alarm" if it was predicted
        though not true.
    probability : float or None
        How probable the model took it to be.
    price : float or None
        What this mistake costs, of a list of prices.
    threshold : float or None
        The probability above which it is predicted, of a list of prices.
    """

    name: str
    kind: str
    probability: float | None
    price: float | None
    threshold: float | None


@dataclass(frozen=True)
class Row:
    """A row, what was true and what was predicted.

    Attributes
    ----------
    name : str
        Its number, or its name in the index of a DataFrame.
    labels : tuple of RowLabel
        The labels that were predicted rightly, then those that were not predicted though true, then those that were
        predicted though not true.
    cost : float
        What the prediction costs; the true labels would have cost nothing.
    expected, expected_truth : float or None
        What it was expected to cost, and what the true labels were.
    better : str or None
        The labels of least expected cost, if the model predicted others.
    picture : str or None
        A picture as a data address.
    words, cells : tuple of pair of str
        Names of chosen columns, and what the row has there: in columns of text, and in others.
    features : tuple of pair of str
        Names and values of the features that are the furthest from the mean of all rows.
    """

    name: str
    labels: tuple[RowLabel, ...]
    cost: float
    expected: float | None
    expected_truth: float | None
    better: str | None
    picture: str | None
    words: tuple[tuple[str, str], ...]
    cells: tuple[tuple[str, str], ...]
    features: tuple[tuple[str, str], ...]

    @property
    def truth(self) -> str:
        """The true labels in a line."""
        return shown([label.name for label in self.labels if label.kind != "alarm"])

    @property
    def mistakes(self) -> list[RowLabel]:
        """The labels that came out wrong, the dearest first."""
        wrong = [label for label in self.labels if label.kind != "hit"]
        return sorted(wrong, key=lambda label: -(label.price or 0))

    @property
    def predicted(self) -> str:
        """The predicted labels in a line."""
        return shown([label.name for label in self.labels if label.kind != "missed"])


def row_labels(
    names: Sequence[str], truth: Bits, predicted: Bits, marginals: Floats | None, cost: Cost
) -> tuple[RowLabel, ...]:
    """Collect what was true or predicted of one row.

    Parameters
    ----------
    names : sequence of str
        Names of the labels.
    truth, predicted : ndarray of shape (K,)
        What is true and what was predicted.
    marginals : ndarray of shape (K,) or None
        How probable labels are.
    cost : Cost
        What the row costs.
    """
    prices, thresholds = {}, None
    if isinstance(cost, PriceCost):
        each = [np.broadcast_to(np.array(part), len(truth)) for part in (cost.false_negative, cost.false_positive)]
        prices = dict(zip(("missed", "alarm"), each, strict=True))
        thresholds = np.broadcast_to(PriceThreshold(cost.false_negative, cost.false_positive)(each[0]), len(truth))
    masks = {"hit": truth & predicted, "missed": truth > predicted, "alarm": truth < predicted}
    return tuple(
        RowLabel(
            names[k],
            kind,
            None if marginals is None else float(marginals[k]),
            float(prices[kind][k]) if kind in prices else None,
            None if thresholds is None else float(thresholds[k]),
        )
        for kind, mask in masks.items()
        for k in np.flatnonzero(mask).tolist()
    )


def shown_columns(model: Any, X: Any, show: Any, n: int) -> pd.DataFrame | None:
    """Choose the columns that tell people what a row is, as a table with a line for each row; None if there are none.

    Parameters
    ----------
    model : learner or Pipeline
        A fitted model.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Rows as the model takes them.
    show : DataFrame, str, sequence of str or None
        A table of n lines, whose index names the rows; or names of columns of X, which is a DataFrame then. None: of
        such a DataFrame, the columns that the model's `TableEncoder` took for text.
    n : int
        How many rows there are.
    """
    if isinstance(show, pd.DataFrame):
        if len(show) != n:
            raise ValueError(f"show has {plural(len(show), 'row')} for {plural(n, 'test row')}; give one for each.")
        return show.loc[:, ~show.columns.duplicated()]
    if not isinstance(X, pd.DataFrame):
        if show is not None:
            raise ValueError(
                "show names columns of X, which is no DataFrame; give the columns themselves as a DataFrame."
            )
        return None
    names = text_columns(model) if show is None else [show] if isinstance(show, str) else [*show]
    there = [name for name in names if name in X.columns]
    if show is not None and len(there) < len(names):
        gone = next(name for name in names if name not in X.columns)
        raise ValueError(f"show: there is no column {gone!r}; there are {first_few([*map(str, X.columns)], 10)}.")
    return X[[*dict.fromkeys(there)]]


def text_columns(model: Any) -> list[str]:
    """Columns that the `TableEncoder` at the beginning of a pipeline took for text."""
    before, _ = steps_of(model)
    return before[0].text_columns if before and isinstance(before[0], TableEncoder) else []


def chosen_rows(costs: Floats, truth: Bits, predicted: Bits, n_mistakes: int) -> tuple[Places, Places]:
    """Places of the most expensive mistakes, and of some rows that came out right, those of most labels first."""
    wrong = (truth != predicted).sum(axis=1)
    order = np.lexsort((-wrong, -costs))  # where all mistakes cost the same, those with the most wrong labels lead
    worst = order[(wrong[order] > 0)][:n_mistakes]
    right = np.flatnonzero((wrong == 0) & truth.any(axis=1))
    return worst, right[np.argsort(-truth[right].sum(axis=1), kind="stable")][:RIGHT]


def labels_where(model: MultiLabelClassifier, mask: Any) -> tuple[str, ...]:
    """Names of some labels."""
    return names_of(np.asarray(mask)[None], model.classes_)[0]


def feature_names_of(model: MultiLabelClassifier, X: Any, given: Sequence[str] | None) -> list[str]:
    """Names of the features: the given ones, else those of the data or the model, else numbers."""
    d = int(model.n_features_in_)
    names = given if given is not None else getattr(X, "columns", getattr(model, "feature_names_in_", None))
    if names is None:
        return [f"feature {place}" for place in range(d)]
    if len(names) != d:
        raise ValueError(f"There are {len(names)} names for {d} features; give one per feature.")
    return [*map(str, names)]


def unusual_features(X: Any, places: Places, names: Sequence[str]) -> list[tuple[tuple[str, str], ...]]:
    """For some rows the features that are the furthest from their mean, in standard deviations, and their values."""
    given = X if sparse.issparse(X) else np.asarray(X)
    if not sparse.issparse(given) and given.dtype.kind not in "biuf":
        return [()] * len(places)
    every: Any = sparse.csr_array(given) if sparse.issparse(given) else given.astype(np.float64)
    mean = np.asarray(every.mean(axis=0)).ravel()
    square = np.asarray((every.multiply(every) if sparse.issparse(every) else every**2).mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(square - mean**2, 0))
    rows = every[places].toarray() if sparse.issparse(every) else every[places]
    far = np.divide(np.abs(rows - mean), spread, out=np.zeros_like(rows, np.float64), where=spread > 1e-12)
    order = np.argsort(-np.nan_to_num(far), axis=1, kind="stable")[:, :FEATURES]
    return [
        tuple((names[k], f"{row[k]:.4g}") for k in own.tolist() if own_far[k] > 0)
        for row, own, own_far in zip(rows, order, far, strict=True)
    ]


def row_names(X: Any, columns: pd.DataFrame | None) -> Callable[[int], str]:
    """Return what rows are called: by the index of a DataFrame, else by their number, from 0."""
    table = columns if columns is not None else X
    return (lambda at: str(table.index[at])) if isinstance(table, pd.DataFrame) else str


def cells_of(columns: pd.DataFrame | None, places: Places) -> list[tuple[Cells, Cells]]:
    """For some rows the names and cells of columns that are not empty: those of text, and the others.

    Text is what has more than `SHORT` letters in one of the rows.
    """
    if columns is None or columns.shape[1] == 0:
        return [((), ())] * len(places)
    part = columns.iloc[places]
    text = part.astype(object).where(part.notna(), "").astype(str)
    long = [name for name in text.columns if text[name].str.len().max() > SHORT]

    def of_kind(row: Mapping[Any, str], is_long: bool) -> Cells:
        return tuple((str(name), cell) for name, cell in row.items() if cell.strip() and (name in long) == is_long)

    return [(of_kind(row, True), of_kind(row, False)) for row in text.to_dict("records")]


def data_address(picture: Any) -> str:
    """Turn a picture into an address that holds it; a string that is one already stays as it is.

    Parameters
    ----------
    picture : str or array-like of shape (h, w), or (h, w, 3)
        Numbers, shown from the least, black, to the greatest, white; bytes of colours are shown as they are.
    """
    if isinstance(picture, str):
        if not picture.startswith("data:image/"):
            raise ValueError(
                "An image must be an array or begin with 'data:image/', so that the report needs no network."
            )
        return picture
    pixels = np.asarray(picture)
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] != 3) or not pixels.size:
        raise ValueError(f"An image must have the shape (h, w) or (h, w, 3); got {pixels.shape}.")
    if pixels.dtype != np.uint8:
        pixels = np.nan_to_num(pixels.astype(np.float64))
        pixels = (255 * (pixels - pixels.min()) / max(np.ptp(pixels), 1e-300)).round().astype(np.uint8)
    return "data:image/png;base64," + b64encode(png(pixels)).decode()


def png(pixels: Bits) -> bytes:
    """Encode grey or coloured pixels as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))

    height, width = pixels.shape[:2]
    header = pack(">IIBBBBB", width, height, 8, 0 if pixels.ndim == 2 else 2, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)  # each line begins with the number of its filter
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", compress(lines, 9)) + chunk(b"IEND", b"")
