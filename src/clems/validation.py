"""The checks of what a user passes to a learner, and its scikit-learn tags."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, validate_data

from clems.counts import Labels, as_labels


@contextmanager
def all_or_nothing(model: Any) -> Iterator[None]:
    """Leave a model as it was if anything goes wrong inside."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def check_training(
    model: Any, X: Any, Y: Any, sample_weight: ArrayLike | None
) -> tuple[Any, Labels, NDArray[np.float64] | None]:
    """Check what `fit` was given; note names of features and labels on the model.

    Rows of weight zero are left out, as if they had not been given.
    """
    if Y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    X = validate_data(model, X, accept_sparse="csr", dtype="numeric")
    labels, model.classes_ = as_named_labels(Y)
    check_consistent_length(X, labels)
    if labels.shape[1] == 0:
        raise ValueError("Y has no labels; it must have at least one column.")
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weight < 0).any():
            row = int((weight < 0).argmax())
            raise ValueError(f"sample_weight is {weight[row]} in row {row}; weights must not be negative.")
        if not weight.any():
            raise ValueError("sample_weight is zero everywhere; at least one row needs a positive weight.")
        if not weight.all():
            X, labels, weight = X[weight > 0], labels[weight > 0], weight[weight > 0]
    return X, labels, weight


def check_features(model: Any, X: Any) -> Any:
    """Check the features that `predict` was given against those of `fit`."""
    return validate_data(model, X, accept_sparse="csr", dtype="numeric", reset=False)


def as_named_labels(Y: Any, classes: NDArray[Any] | None = None) -> tuple[Labels, NDArray[Any]]:
    """Return a label matrix and the names of its columns.

    Parameters
    ----------
    Y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
        Label sets are sets, or lists or tuples that hold names; they become columns through scikit-learn's
        MultiLabelBinarizer. Columns of a DataFrame are named by it, others are numbered.
    classes : ndarray of shape (K,), default=None
        Names of labels known from training, which Y must not go beyond; columns of these names are put in their order.
    """
    if _is_label_sets(Y):
        sets = [tuple(labels) for labels in Y]
        if classes is not None:
            unknown = {label for labels in sets for label in labels} - set(classes.tolist())
            if unknown:
                raise ValueError(f"Y has labels that were not there in training: {sorted(map(str, unknown))}.")
        binarizer = MultiLabelBinarizer(classes=None if classes is None else classes.tolist())
        return binarizer.fit_transform(sets).astype(np.uint8), binarizer.classes_
    labels = as_labels(Y)
    names = np.asarray(Y.columns) if hasattr(Y, "columns") else np.arange(labels.shape[1])
    if classes is None:
        return labels, names
    if labels.shape[1] != len(classes):
        raise ValueError(f"Y has {labels.shape[1]} labels; in training it had {len(classes)}.")
    if hasattr(Y, "columns") and set(names) == set(classes):
        labels = labels[:, [names.tolist().index(name) for name in classes.tolist()]]
    return labels, classes


def type_of_labels(Y: Any) -> Any:
    """Type in which predictions are returned: that of the labels where it is a type of numbers, else int64."""
    dtype = getattr(Y, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else np.dtype(np.int64)


def _is_label_sets(Y: Any) -> bool:
    if isinstance(Y, (str, bytes)) or sparse.issparse(Y) or getattr(Y, "ndim", 1) != 1:
        return False
    rows = list(Y) if hasattr(Y, "__iter__") else []
    if any(isinstance(row, (set, frozenset)) for row in rows):
        return all(isinstance(row, (set, frozenset, list, tuple)) for row in rows)
    if not rows or not all(isinstance(row, (list, tuple)) for row in rows):
        return False
    ragged = len({len(row) for row in rows}) > 1
    return ragged or any(isinstance(label, str) for row in rows for label in row)


def check_components(n_components: int | float | None, K: int) -> int:
    """Resolve the embedded dimension: a number, a multiple of the number of labels, or None for that number."""
    if n_components is None:
        return K
    is_number = isinstance(n_components, numbers.Real) and not isinstance(n_components, (bool, np.bool_))
    if not is_number or not np.isfinite(n_components):
        raise ValueError(
            f"n_components must be a whole number, a multiple of K as a float, or None; got {n_components!r}."
        )
    size = int(n_components) if isinstance(n_components, numbers.Integral) else round(float(n_components) * K)
    if n_components <= 0 or (isinstance(n_components, numbers.Integral) and size < 1):
        raise ValueError(f"n_components must be at least 1, or a positive multiple of K; got {n_components!r}.")
    return max(1, size)


def multi_label_tags(tags: Tags) -> Tags:
    """Say that a classifier takes a matrix of labels, and sparse features."""
    tags.target_tags.single_output = False
    tags.target_tags.multi_output = True
    tags.classifier_tags.multi_label = True
    tags.classifier_tags.multi_class = False
    tags.input_tags.sparse = True
    return tags
