"""What classifiers say of labels: probabilities or scores, in all forms that classifiers return, as one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.dummy import DummyClassifier

from clems.arrays import Floats
from clems.posterior.chains import probability
from clems.trees.reading import check_reach, predictions_of


def gives_scores(estimator: Any) -> bool:
    """Whether a classifier has a `decision_function` and no `predict_proba`."""
    return hasattr(estimator, "decision_function") and not hasattr(estimator, "predict_proba")


def values_of(estimator: Any, X: Any, K: int) -> Floats:
    """Ask a classifier of all labels for the probability of each, or for scores if it has no `predict_proba`.

    Parameters
    ----------
    estimator : estimator or callable
        A fitted multi-label classifier, or a function from rows to probabilities.
    X : array, CSR array or DataFrame of shape (n, d)
        Rows.
    K : int
        Number of labels.

    Returns
    -------
    ndarray of shape (n, K)
    """
    name, n = getattr(estimator, "__name__", type(estimator).__name__), X.shape[0]
    if hasattr(X, "dtype"):
        check_reach(estimator, X)
    if hasattr(estimator, "predict_proba"):
        given = predictions_of(estimator, X, "predict_proba")
        if isinstance(given, list) and len(given) == K and all(np.ndim(one) == 2 for one in given):
            given = _columns(given, getattr(estimator, "classes_", None), name, n)
    else:
        given = estimator.decision_function(X) if hasattr(estimator, "decision_function") else estimator(X)
    try:
        values: NDArray[Any] = np.asarray(given.toarray() if hasattr(given, "toarray") else given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"The estimator {name} predicted something of type {type(given).__name__}, which is no array of numbers."
        ) from None
    if K == 1 and values.shape == (n, 2):  # both classes of the only label
        values = values[:, 1:]
    if K == 1 and values.shape == (n,):
        values = values[:, None]
    if values.shape != (n, K):
        raise ValueError(
            f"The estimator {name} predicted an array of shape {values.shape}; for {n} rows and {K} labels it must be "
            f"({n}, {K})."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"The estimator {name} predicted values that are no finite numbers.")
    if gives_scores(estimator):
        return values
    if values.min(initial=0) < -1e-6 or values.max(initial=0) > 1 + 1e-6:
        raise ValueError(
            f"The estimator {name} predicted probabilities outside 0 to 1, from {values.min():g} to {values.max():g}."
        )
    return np.asarray(np.clip(values, 0, 1))  # by rounding they may be a little outside


@dataclass(frozen=True, eq=False)
class OfAllLabels:
    """A classifier that was fitted to all labels at once.

    Attributes
    ----------
    fitted : estimator
        It was trained on the labels that vary among its rows; None if there are none.
    constant : ndarray of shape (K,)
        The value of each label that does not; NaN for the others.
    are_scores : bool
        Whether it gives scores; then those of a label that does not vary are NaN.
    """

    fitted: Any
    constant: Floats
    are_scores: bool

    def __call__(self, X: Any) -> Floats:
        """Return probabilities or scores of rows, shape (n, K)."""
        varied = np.isnan(self.constant)
        values = np.tile(np.full_like(self.constant, np.nan) if self.are_scores else self.constant, (X.shape[0], 1))
        if varied.any():
            values[:, varied] = values_of(self.fitted, X, int(varied.sum()))
        return values


@dataclass(frozen=True, eq=False)
class OfEachLabel:
    """A classifier for each label.

    Attributes
    ----------
    fitted : list of estimator
        In the order of labels; for a label that did not vary, a DummyClassifier.
    are_scores : bool
        Whether they give scores; then those of a label that did not vary are NaN.
    """

    fitted: list[Any]
    are_scores: bool

    def __call__(self, X: Any) -> Floats:
        """Return probabilities or scores of rows, shape (n, K)."""
        if not self.are_scores:
            return np.column_stack([probability(estimator, X) for estimator in self.fitted])
        unknown = np.full(X.shape[0], np.nan)
        return np.column_stack(
            [
                unknown if isinstance(estimator, DummyClassifier) else values_of(estimator, X, 1)[:, 0]
                for estimator in self.fitted
            ]
        )


@dataclass(frozen=True, eq=False)
class Given:
    """A classifier, or a function from rows to probabilities, that was fitted elsewhere.

    Attributes
    ----------
    fitted : estimator, callable or None
        None if rows are themselves probabilities.
    n_labels : int
        Number of labels.
    feature_names : ndarray of str or None
        Names of features; a classifier that was fitted to a DataFrame gets one with these.
    """

    fitted: Any
    n_labels: int
    feature_names: Any = None

    def __call__(self, X: Any) -> Floats:
        """Return probabilities or scores of rows, shape (n, K)."""
        if self.fitted is None:
            return self._rows_themselves(X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64))
        named = self.feature_names is not None and hasattr(self.fitted, "feature_names_in_") and not sparse.issparse(X)
        return values_of(self.fitted, pd.DataFrame(X, columns=self.feature_names) if named else X, self.n_labels)

    def _rows_themselves(self, X: Floats) -> Floats:
        if X.shape[1] != self.n_labels:
            raise ValueError(
                f"Without an estimator, X must hold the probabilities of {self.n_labels} labels; it has {X.shape[1]} "
                "columns."
            )
        if X.min() < 0 or X.max() > 1:
            raise ValueError(
                f"Without an estimator, X must hold probabilities; its values go from {X.min():g} to {X.max():g}."
            )
        return X


def _columns(given: list[Any], classes: Any, name: str, n: int) -> Floats:
    """Probability of the class 1 from an array (n, classes) for each label, some of which may know one class only."""
    columns = []
    for label, one in enumerate(given):
        values: NDArray[Any] = np.asarray(one, np.float64)
        known = [0, 1] if classes is None else list(classes[label])
        if values.shape != (n, len(known)) or not {*known} <= {0, 1}:
            raise ValueError(
                f"The estimator {name} predicted an array of shape {values.shape} for label {label} with the classes "
                f"{known}; it must have a column for each of the classes 0 and 1 that it was trained on."
            )
        columns.append(values[:, known.index(1)] if 1 in known else np.zeros(n))
    return np.column_stack(columns)
