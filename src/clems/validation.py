"""The checks of what a user passes to a learner, and its scikit-learn tags."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.validation import check_consistent_length, validate_data

from clems.counts import Labels, as_labels, as_weights, canonical


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
    """Check what `fit` was given, and note on the model what `predict` and `score` need to know of it.

    Rows of weight zero are left out, as if they had not been given.
    """
    if Y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    X = _checked(model, X, reset=True)
    Y = list(Y) if isinstance(Y, Iterator) else Y
    model._given_as_sets = _is_label_sets(Y)
    labels, model.classes_ = _from_sets(Y) if model._given_as_sets else (as_labels(Y), _names(Y))
    model._form_of_labels = labels[:0].astype(np.int64 if model._given_as_sets else _type_of_labels(Y))
    check_consistent_length(X, labels)
    if labels.shape[1] == 0:
        raise ValueError("Y has no labels; it must have at least one column.")
    if len(set(model.classes_.tolist())) < len(model.classes_):
        raise ValueError("Y has two columns of the same name; names of labels must differ.")
    if sample_weight is None:
        return X, labels, None
    weight = as_weights(sample_weight, labels.shape[0])
    counted = weight > 0
    return (X, labels, weight) if counted.all() else (X[counted], labels[counted], weight[counted])


def check_features(model: Any, X: Any) -> Any:
    """Check the features that `predict` was given against those of `fit`."""
    return _checked(model, X, reset=False)


def check_labels(model: Any, Y: Any) -> Labels:
    """Read labels to compare predictions with, in the form and in the order of those of `fit`."""
    Y = list(Y) if isinstance(Y, Iterator) else Y
    classes = model.classes_.tolist()
    if _is_label_sets(Y, lists=model._given_as_sets):
        return _from_sets(Y, classes)[0]
    labels = as_labels(Y)
    if labels.shape[1] != len(classes):
        raise ValueError(f"Y has {labels.shape[1]} labels; in training it had {len(classes)}.")
    names = _names(Y).tolist()
    if not hasattr(Y, "columns") or names == classes:
        return labels
    if {*names} == {*classes}:
        return labels[:, [names.index(name) for name in classes]]
    if classes == list(range(len(classes))):  # the labels of training had no names
        return labels
    unknown, missing = sorted({*names} - {*classes}, key=str), sorted({*classes} - {*names}, key=str)
    raise ValueError(f"Y has other labels than in training: {unknown} are new, {missing} are missing.")


def _checked(model: Any, X: Any, reset: bool) -> Any:
    """Features as an array, or as a CSR matrix in canonical form."""
    X = validate_data(model, X, accept_sparse="csr", dtype="numeric", reset=reset)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X holds values of type {X.dtype}; features must be numbers.")
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:  # more than double precision, which no estimator computes with
        with np.errstate(over="ignore"):
            X = X.astype(np.float64)
        assert_all_finite(X, input_name="X")
    if not sparse.issparse(X):
        return X
    X = canonical(X, "X")
    assert_all_finite(X, input_name="X")  # entries that are stored in parts may add up to infinity
    return _with_short_indices(X)


def _with_short_indices(X: Any) -> Any:
    """Sparse features with 32-bit indices where they suffice: scikit-learn's trees take no others."""
    if X.indices.dtype == np.int32 or max(*X.shape, X.nnz) > np.iinfo(np.int32).max:
        return X
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


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


def check_count(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Check a parameter that is a whole number, by default of at least 1."""
    is_count = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not is_count or int(value) < least or (most is not None and int(value) > most):
        limit = "" if most is None else f" and at most {most}"
        raise ValueError(f"{name} must be a whole number of at least {least}{limit}; got {value!r}.")
    return int(value)


def check_number(value: Any, name: str, instead: str = "") -> float:
    """Check a parameter that is a finite number of at least 0; `instead` names what else is allowed."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not np.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be {instead}a finite number of at least 0; got {value!r}.")
    return float(value)


def check_tol(tol: Any) -> None:
    """Check the change below which an iteration stops."""
    if not isinstance(tol, numbers.Real) or isinstance(tol, (bool, np.bool_)) or not float(tol) >= 0:
        raise ValueError(f"tol must be a number of at least 0; got {tol!r}.")


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
