"""Labels as they are given: matrices, frames and label sets, their names and types."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from clems.arrays import Labels


def _names(Y: Any) -> NDArray[Any]:
    """Names of a frame's columns; other columns are numbered."""
    return np.asarray(Y.columns) if hasattr(Y, "columns") else np.arange(np.shape(Y)[1])


def _type_of_labels(Y: Any) -> Any:
    """Type in which predictions are returned: that of the labels where it is a type of numbers, else int64."""
    if hasattr(Y, "dtypes"):
        kinds = {*Y.dtypes}
        dtype = np.result_type(*kinds) if all(isinstance(kind, np.dtype) for kind in kinds) else None
    else:
        dtype = getattr(Y, "dtype", None) or np.asarray(Y).dtype
    return dtype if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else np.dtype(np.int64)


def _from_sets(Y: Any, classes: list[Any] | None = None) -> tuple[Labels, NDArray[Any]]:
    """Label matrix of label sets, made by scikit-learn's MultiLabelBinarizer, and the names of its columns."""
    sets = [tuple(labels) for labels in Y]
    for row, labels in enumerate(sets):
        if len(set(labels)) < len(labels):
            raise ValueError(
                f"Row {row} of Y is {list(labels)!r}, which holds a label twice. A list of lists counts as label sets "
                "if it holds strings or its rows differ in length; a matrix has rows of equally many zeros and ones."
            )
    if classes is not None and (
        unknown := sorted({label for labels in sets for label in labels} - {*classes}, key=str)
    ):
        raise ValueError(
            f"Y has labels that were not there in training: {unknown}. To split data whose labels may be missing "
            "from a part, turn label sets into a matrix with MultiLabelBinarizer first."
        )
    binarizer = MultiLabelBinarizer(classes=classes)
    try:
        return binarizer.fit_transform(sets).astype(np.uint8), np.asarray(binarizer.classes_)
    except TypeError:
        raise ValueError("Names of labels must be all strings or all numbers.") from None


def _is_label_sets(Y: Any, lists: bool = False) -> bool:
    """Whether Y is a sequence of label sets rather than a matrix.

    Sets are; lists and tuples are if they hold strings, or if they differ in length and hold more than zeros and ones,
    or if `lists` says so.
    """
    if isinstance(Y, (str, bytes)) or sparse.issparse(Y) or getattr(Y, "ndim", 1) != 1 or not hasattr(Y, "__iter__"):
        return False
    rows = list(Y)
    if not rows or not all(isinstance(row, (set, frozenset, list, tuple)) for row in rows):
        return False
    if lists or any(isinstance(row, (set, frozenset)) for row in rows):
        return True
    members = {member for row in rows for member in row if isinstance(member, Hashable)}
    ragged = len({len(row) for row in rows}) > 1
    return any(isinstance(member, str) for member in members) or (ragged and not members <= {0, 1})
