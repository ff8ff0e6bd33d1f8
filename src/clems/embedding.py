"""The spine of label embeddings: encode the labels, regress to the codes, decode what is predicted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from clems.classifier import MultiLabelClassifier, check_estimator, new_seed, seeded
from clems.counts import Floats, Labels, as_dense, row_blocks
from clems.forest import DepthPath, check_reach, default_forest
from clems.ridge import scaled_rows
from clems.spectral import leading_directions
from clems.validation import check_components

HALF = 0.5 + 1e-9  # a value that exceeds one half by no more than rounding does not exceed it


class LabelEmbeddingClassifier(MultiLabelClassifier):
    """A multi-label classifier made of an embedding of the label vectors and a regressor to the embedded space.

    A learner says how it encodes and decodes.

    Attributes
    ----------
    codes_ : ndarray of shape (n, M)
        Codes of the training rows.
    reconstruction_error_ : float
        Share of the training rows' label entries that come out wrong when their codes are decoded; weighted as the rows
        are. What is lost by the embedding alone, before any regression.
    """

    predictor = "regressor"
    codes_: Floats
    reconstruction_error_: float

    @abstractmethod
    def _fit_encode(
        self, X: Any, Y: Labels, weight: NDArray[np.float64] | None, random_state: np.random.RandomState
    ) -> Floats:
        """Learn the embedding and return the code of each training row, shape (n, M)."""

    @abstractmethod
    def _decode(self, Z: Floats) -> NDArray[np.uint8]:
        """Label vectors of predicted codes, shape (n, K)."""

    def _fit(self, X: Any, Y: Labels, weight: NDArray[np.float64] | None, random_state: np.random.RandomState) -> None:
        regressor = self._regressor(random_state)
        start = perf_counter()
        self.codes_ = self._fit_encode(X, Y, weight, random_state)
        self.reconstruction_error_ = self._error_of(self.codes_, Y, weight)
        self._say(
            f"embedding: {self.codes_.shape[1]} dimensions, {self.reconstruction_error_:.2%} of label entries lost, in "
            f"{perf_counter() - start:.1f} s"
        )
        start = perf_counter()
        self.estimator_ = fit_regressor(regressor, X, self.codes_, weight)
        self._say(f"regressor: {type(self.estimator_).__name__} in {perf_counter() - start:.1f} s")

    def _predict(self, X: Any) -> NDArray[np.uint8]:
        return self._decode(predict_codes(self.estimator_, X))

    def _error_of(self, Z: Floats, Y: Labels, weight: NDArray[np.float64] | None) -> float:
        """Share of label entries that come out wrong when codes are decoded."""
        blocks = row_blocks(len(Z), max(Y.shape))
        wrong = np.concatenate([(self._decode(Z[rows]) != as_dense(Y[rows])).mean(axis=1) for rows in blocks])
        return float(np.average(wrong, weights=weight))

    def _regressor(self, random_state: np.random.RandomState) -> Any:
        if self.estimator is None:
            settings = {"n_estimators": self.n_trees, "n_jobs": self.n_jobs, "random_state": new_seed(random_state)}
            return default_forest(self.n_features_in_, **settings)
        check_estimator(self.estimator, self.predictor)
        estimator = seeded(self.estimator, random_state)
        return (
            estimator
            if get_tags(estimator).target_tags.multi_output
            else MultiOutputRegressor(estimator, n_jobs=self.n_jobs)
        )


class LinearEmbedding(DepthPath, LabelEmbeddingClassifier):
    """An embedding that is decoded by a linear map and rounding.

    Attributes
    ----------
    components_ : ndarray of shape (M, K)
        What a unit of each code adds to each label.
    n_components_ : int
        M, the number of codes.
    explained_variance_ratio_ : ndarray of shape (M,)
        Share of the labels' variation that each dimension keeps.
    """

    components_: Floats
    _offset: Floats  # what each label is when all codes are 0

    @property
    def n_components_(self) -> int:
        """Number of codes."""
        return len(self.components_)

    def _decode(self, Z: Floats) -> NDArray[np.uint8]:
        return (Z @ self.components_ + self._offset > HALF).astype(np.uint8)

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.estimator_ = new(self.estimator_)


class LabelProjection(LinearEmbedding):
    """A linear embedding that projects labels, their mean taken away, on orthogonal directions.

    A learner says of what matrix the directions are the leading eigenvectors.

    Attributes
    ----------
    mean_ : ndarray of shape (K,)
        Weighted mean of each label.
    """

    n_components: int | float | None
    mean_: Floats

    @abstractmethod
    def _scatter(self, X: Any, labels: Any, weight: NDArray[np.float64] | None) -> Floats:
        """Return the matrix, shape (K, K); labels are a CSR array of floats, `mean_` is set."""

    def _fit_encode(
        self,
        X: Any,
        Y: Labels,
        weight: NDArray[np.float64] | None,
        random_state: np.random.RandomState,  # noqa: ARG002
    ) -> Floats:
        size = min(check_components(self.n_components, Y.shape[1]), Y.shape[1])
        labels = sparse.csr_array(Y, dtype=np.float64)
        self._offset = self.mean_ = weighted_mean(labels, weight)
        self.components_ = leading_directions(self._scatter(X, labels, weight), size)
        variation = self._variation(labels, weight)
        kept = ((self.components_ @ variation) * self.components_).sum(axis=1)
        self.explained_variance_ratio_ = shares(kept, variation.trace())
        return np.asarray(labels @ self.components_.T - self.mean_ @ self.components_.T)

    def _variation(self, labels: Any, weight: NDArray[np.float64] | None) -> Floats:
        """Products of the labels, their mean taken away, summed over rows; shape (K, K)."""
        total = labels.shape[0] if weight is None else weight.sum()
        scaled = scaled_rows(labels, weight)
        return np.asarray((scaled.T @ scaled).toarray() - total * np.outer(self.mean_, self.mean_))


def weighted_mean(labels: Any, weight: NDArray[np.float64] | None) -> Floats:
    """Mean of each label; of one that all rows have exactly 1."""
    n = labels.shape[0]
    total = np.ones(n) if weight is None else weight
    mean = np.asarray(labels.T @ total) / total.sum()
    return np.where(np.asarray(labels.sum(axis=0)) == n, 1.0, mean)


def shares(parts: Floats, whole: float) -> Floats:
    """Parts as shares of the whole; zeros if that is zero."""
    return np.asarray(np.clip(parts, 0, None) / whole if whole > 0 else np.zeros(len(parts)))


def fit_regressor(regressor: Any, X: Any, Z: Floats, weight: NDArray[np.float64] | None) -> Any:
    """Fit a regressor to codes; one with a single output gets them as the vector that it expects."""
    check_reach(regressor, X)
    target = Z if Z.shape[1] > 1 or isinstance(regressor, MultiOutputRegressor) else Z.ravel()
    if weight is None:
        return regressor.fit(X, target)
    inner = regressor.estimator if isinstance(regressor, MultiOutputRegressor) else regressor
    if not has_fit_parameter(inner, "sample_weight"):
        raise ValueError(f"sample_weight was given, but {type(inner).__name__}.fit has no parameter sample_weight.")
    return regressor.fit(X, target, sample_weight=weight)


def predict_codes(regressor: Any, X: Any) -> Floats:
    """Codes that a regressor predicts, shape (n, M)."""
    check_reach(regressor, X)
    Z: Floats = np.asarray(regressor.predict(X)).reshape(X.shape[0], -1)
    if not np.isfinite(Z).all():
        raise ValueError(f"The estimator {type(regressor).__name__} predicted values that are not finite.")
    return Z
