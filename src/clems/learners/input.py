"""What `fit`, `predict` and `score` are given, checked against the model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api import types
from scipy import sparse
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, assert_all_finite, get_tags
from sklearn.utils.validation import check_consistent_length, validate_data

from clems.arrays import Labels, Weights, canonical, with_short_indices
from clems.labels.forms import _from_sets, _is_label_sets, _names, _type_of_labels
from clems.labels.matrix import as_labels, as_labels_or_missing, as_weights, missing_in
from clems.wording import first_few

ONE_ROW = "There is a single training row"
LONG = 40  # characters of a cell that a sentence shows


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


def check_training(model: Any, X: Any, Y: Any, sample_weight: ArrayLike | None) -> tuple[Any, Labels, Weights]:
    """Check what `fit` was given, and note on the model what `predict` and `score` need to know of it.

    Rows of weight zero are left out, as if they had not been given.
    """
    X, labels, weight = read_training(model, X, Y, sample_weight)
    counts = labels.sum(axis=0) if labels.dtype.kind != "f" else np.nansum(labels, axis=0)  # some may be missing
    warn_of_too_little(labels.shape[0], np.asarray(counts).ravel(), model.classes_.tolist())
    return X, labels, weight


def read_training(model: Any, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> tuple[Any, Labels, Weights]:
    """Do as `check_training` does, without warnings: of a part of the training rows."""
    if Y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    X = _checked(model, X, reset=True)
    Y = list(Y) if isinstance(Y, Iterator) else Y
    model._given_as_sets = _is_label_sets(Y)
    if model._given_as_sets:
        labels, model.classes_ = _from_sets(Y)
    else:
        labels, model.classes_ = _checked_labels(model, Y), _names(Y)
    model._form_of_labels = labels[:0].astype(np.int64 if model._given_as_sets else _type_of_labels(Y))
    if sparse.issparse(Y) and not sparse.issparse(labels):  # some are missing
        model._form_of_labels = sparse.csr_array(model._form_of_labels)
    check_consistent_length(X, labels)
    if labels.shape[1] == 0:
        raise ValueError("Y has no labels; it must have at least one column.")
    if len(set(model.classes_.tolist())) < len(model.classes_):
        raise ValueError("Y has two columns of the same name; names of labels must differ.")
    weight = None if sample_weight is None else as_weights(sample_weight, labels.shape[0])
    if weight is not None and not (counted := weight > 0).all():
        X, labels, weight = X[counted], labels[counted], weight[counted]
    return X, labels, weight


def warn_of_too_little(n: int, counts: NDArray[Any], names: list[Any]) -> None:
    """Warn of n training rows, some of which have each label, from which labels cannot be learned."""
    if n == 1:
        warnings.warn(f"{ONE_ROW}: every prediction will be its labels.", UserWarning, stacklevel=4)
    never = [names[at] for at in np.flatnonzero(counts == 0)]
    if never:
        are = f"{len(never):,} of {len(names):,} labels" if len(names) > 1 else "The only label"
        warnings.warn(
            f"{are} never occur{'s' * (len(never) == 1)} in training, so that nothing is learned of "
            f"{'it' if len(never) == 1 else 'them'}: {first_few([str(name) for name in never])}.",
            UserWarning,
            stacklevel=4,
        )


def _checked_labels(model: Any, Y: Any) -> Labels:
    """Label matrix of zeros and ones; of floats, with NaN where labels are missing, if the model takes that."""
    missing = missing_in(Y)
    if missing is None:
        return as_labels(Y)
    if not model.takes_missing_labels:
        row, column = (int(place) for place in np.unravel_index(missing.argmax(), missing.shape))
        value = np.nan if sparse.issparse(Y) else np.asarray(Y)[row, column]
        raise ValueError(
            f"Y has the value {value} in row {row}, column {column}; labels must be 0 or 1, as {type(model).__name__} "
            "takes no missing labels; LEML and BCS do."
        )
    if missing.all():
        raise ValueError("Y has the value nan everywhere; some labels must be known.")
    return as_labels_or_missing(Y)


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
    given = X
    try:
        X = validate_data(model, X, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan", reset=reset)
    except (TypeError, ValueError):
        if advice := _advice(given):
            raise ValueError(advice) from None
        raise
    if X.dtype.kind not in "biuf":
        raise ValueError(_advice(given) or f"X holds values of type {X.dtype}; features must be numbers.")
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:  # more than double precision, which no estimator computes with
        with np.errstate(over="ignore"):
            X = X.astype(np.float64)
        assert_all_finite(X, input_name="X", allow_nan=True)
    if X.dtype.kind == "f":
        _check_gaps(model, X)
    if not sparse.issparse(X):
        return X
    X = canonical(X, "X")
    assert_all_finite(X, input_name="X")  # entries that are stored in parts may add up to infinity
    return with_short_indices(X)


def _advice(X: Any) -> str:
    """Name the first column of a DataFrame that holds no numbers, and say what to do with it; nothing without one."""
    if not isinstance(X, pd.DataFrame):
        return ""
    for position, name in enumerate(X.columns):
        if what := _other_than_numbers(X.iloc[:, position]):
            return (
                f"Column {str(name)!r} of X holds {what}; features must be numbers. TableEncoder makes them of words, "
                "text and dates: use make_pipeline(TableEncoder(), learner), or leave the column out."
            )
    return ""


def _other_than_numbers(column: pd.Series) -> str:
    """Say what a column holds if that is no numbers."""
    kind = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    if types.is_datetime64_any_dtype(kind) or isinstance(kind, pd.PeriodDtype):
        return "dates"
    if types.is_timedelta64_dtype(kind):
        return "lengths of time"
    if types.is_numeric_dtype(kind) or types.is_bool_dtype(kind):
        return ""
    for cell in column[column.notna()]:
        try:
            float(cell)
        except (TypeError, ValueError):
            shown = cell if len(cell := repr(cell)) <= LONG else f"{cell[:LONG]}…"
            return f"{'categories' if isinstance(column.dtype, pd.CategoricalDtype) else 'text or objects'}, {shown}"
    return ""


def _check_gaps(model: Any, X: Any) -> None:
    """Refuse features that are missing where the model does not take that."""
    if not np.isnan(X.data if sparse.issparse(X) else X).any():
        return
    if sparse.issparse(X):
        raise ValueError("X is sparse and contains NaN; only dense features may be missing.")
    if not get_tags(model).input_tags.allow_nan:
        built = getattr(model, "estimator", None)
        on = f" on {type(built).__name__}" if hasattr(built, "fit") else ""
        raise ValueError(
            f"X contains NaN, and {type(model).__name__}{on} takes no missing features; fill them in, for "
            "instance with scikit-learn's SimpleImputer in a Pipeline before it."
        )


def takes_missing(estimator: Any) -> bool:
    """Whether an estimator says that features may be NaN; the default forest, None, takes them."""
    if estimator is None:
        return True
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            if not takes_missing(step):
                return False
            if isinstance(step, SimpleImputer | KNNImputer):  # after which nothing is missing
                return True
        return True
    known = hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)
    return known and bool(get_tags(estimator).input_tags.allow_nan)


def multi_label_tags(tags: Tags) -> Tags:
    """Say that a classifier takes a matrix of labels, and sparse features."""
    tags.target_tags.single_output = False
    tags.target_tags.multi_output = True
    tags.classifier_tags.multi_label = True
    tags.classifier_tags.multi_class = False
    tags.input_tags.sparse = True
    return tags
