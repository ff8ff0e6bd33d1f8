"""Rows in a report: which ones, what was true and predicted, what stands out in them, and their pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from struct import pack
from typing import Any
from zlib import compress, crc32

import numpy as np
import pandas as pd
from scipy import sparse

from clems.arrays import Bits, Floats, Integers
from clems.evaluation.label_map import names_of, shown
from clems.learners.base import MultiLabelClassifier

RIGHT = 8  # rows shown that came out right
FEATURES = 6  # features shown of a row

Places = Integers


@dataclass(frozen=True)
class Row:
    """A row, what was true and what was predicted.

    Attributes
    ----------
    name : str
        Its number, or its name in the index of a DataFrame.
    true_positives, false_negatives, false_positives : tuple of str
        Labels that were predicted rightly, not predicted though true, and predicted though not true.
    cost : float
        What the prediction costs.
    expected : float or None
        What it was expected to cost.
    picture : str or None
        A picture as a data address.
    features : tuple of pair of str
        Names and values of the features that are the furthest from the mean of all rows.
    """

    name: str
    true_positives: tuple[str, ...]
    false_negatives: tuple[str, ...]
    false_positives: tuple[str, ...]
    cost: float
    expected: float | None
    picture: str | None
    features: tuple[tuple[str, str], ...]

    @property
    def truth(self) -> str:
        """The true labels in a line."""
        return shown([*self.true_positives, *self.false_negatives])

    @property
    def predicted(self) -> str:
        """The predicted labels in a line."""
        return shown([*self.true_positives, *self.false_positives])


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


def row_name(X: Any, at: int) -> str:
    """Name of a row in the index of a DataFrame, else its number, from 0."""
    return str(X.index[at]) if isinstance(X, pd.DataFrame) else str(at)


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
