"""The spine of linear embeddings: encode the labels, regress to the codes, decode what is predicted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Floats, Labels, Weights, row_blocks
from clems.checks import check_components
from clems.embedding.ridge import scaled_rows
from clems.embedding.spectral import leading_directions
from clems.labels.matrix import as_dense
from clems.learners.by_threshold import ThresholdClassifier, above_threshold
from clems.learners.regression import fit_regressor, make_regressor, predict_codes
from clems.model_selection import held_out


class LinearEmbedding(ThresholdClassifier):
    """A multi-label classifier made of codes of the label vectors and a regressor to them, decoded by a linear map.

    A learner says how it encodes.

    Attributes
    ----------
    codes_ : ndarray of shape (n, M)
        Codes of the training rows.
    components_ : ndarray of shape (M, K)
        What a unit of each code adds to each label.
    n_components_ : int
        M, the number of codes.
    explained_variance_ratio_ : ndarray of shape (M,)
        Share of the labels' variation that each dimension keeps.
    reconstruction_error_ : float
        Share of the training rows' label entries that come out wrong when their codes are decoded; weighted as the rows
        are. What is lost by the embedding alone, before any regression.
    """

    predictor = "regressor"
    codes_: Floats
    reconstruction_error_: float
    components_: Floats
    _offset: Floats  # what each label is when all codes are 0

    @abstractmethod
    def _encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:
        """Learn the embedding and return the code of each training row, shape (n, M)."""

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        self._check_threshold()
        regressor = make_regressor(self, random_state)
        start = perf_counter()
        self.codes_ = self._encode(X, Y, weight, random_state)
        self.reconstruction_error_ = self._error_of(self.codes_, Y, weight)
        self._say(
            f"embedding: {self.codes_.shape[1]} dimensions, {self.reconstruction_error_:.2%} of label entries lost, in "
            f"{perf_counter() - start:.1f} s"
        )
        start = perf_counter()
        self.estimator_ = fit_regressor(regressor, X, self.codes_, weight)
        self._say(f"regressor: {type(self.estimator_).__name__} in {perf_counter() - start:.1f} s")
        self._set_threshold(Y, lambda: self._decoded(self._predicted_codes(X, weight, random_state)), weight)

    def _predicted_codes(self, X: Any, weight: Weights, random_state: np.random.RandomState) -> Floats:
        """Codes that are predicted for the training rows, by regressors trained on other rows if there are folds."""
        if self.n_folds is None or X.shape[0] == 1:
            return predict_codes(self.estimator_, X)
        codes = np.empty_like(self.codes_)
        for others, part in held_out(X.shape[0], self.n_folds, random_state):
            used = None if weight is None else weight[others]
            fitted = fit_regressor(make_regressor(self, random_state), X[others], self.codes_[others], used)
            codes[part] = predict_codes(fitted, X[part])
        return codes

    def _scores(self, X: Any) -> Floats:
        return self._decoded(predict_codes(self.estimator_, X))

    def _error_of(self, Z: Floats, Y: Labels, weight: Weights) -> float:
        """Share of label entries that come out wrong when codes are decoded."""
        blocks = row_blocks(len(Z), max(Y.shape))
        decoded = (above_threshold(self._decoded(Z[rows]), 0.5) != as_dense(Y[rows]) for rows in blocks)
        wrong = np.concatenate([part.mean(axis=1) for part in decoded])
        return float(np.average(wrong, weights=weight))

    def _decoded(self, Z: Floats) -> Floats:
        """Scores of labels by codes: Z C + offset."""
        return np.asarray(Z @ self.components_ + self._offset)

    @property
    def n_components_(self) -> int:
        """Number of codes."""
        return len(self.components_)

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
    def _scatter(self, X: Any, labels: Any, weight: Weights) -> Floats:
        """Return the matrix, shape (K, K); labels are a CSR array of floats, `mean_` is set."""

    def _encode(
        self,
        X: Any,
        Y: Labels,
        weight: Weights,
        random_state: np.random.RandomState,  # noqa: ARG002
    ) -> Floats:
        size = min(check_components(self.n_components, Y.shape[1]), Y.shape[1])
        labels = sparse.csr_array(Y, dtype=np.float64)
        self._offset = self.mean_ = weighted_mean(labels, weight)
        self.components_ = leading_directions(self._scatter(X, labels, weight), size)
        variation = variation_of(labels, self.mean_, weight)
        kept = ((self.components_ @ variation) * self.components_).sum(axis=1)
        self.explained_variance_ratio_ = shares(kept, variation.trace())
        return np.asarray(labels @ self.components_.T - self.mean_ @ self.components_.T)


def variation_of(labels: Any, mean: Floats, weight: Weights) -> Floats:
    """Products of the labels, their mean taken away, summed over rows; shape (K, K)."""
    total = labels.shape[0] if weight is None else weight.sum()
    scaled = scaled_rows(labels, weight)
    return np.asarray((scaled.T @ scaled).toarray() - total * np.outer(mean, mean))


def without_constant(Y: Labels) -> tuple[Any, Floats]:
    """Labels as a CSR array of floats without those that all rows have, and these as an offset of shape (K,)."""
    labels = sparse.csr_array(Y, dtype=np.float64)
    offset = (np.asarray(labels.sum(axis=0)) == labels.shape[0]).astype(np.float64)
    labels = sparse.csr_array(labels * (1 - offset))
    labels.eliminate_zeros()
    return labels, offset


def kept_in_turn(codes: Floats, products: Floats) -> Floats:
    """Sum of squares of the labels that least squares on each code explains beyond the codes before it.

    Parameters
    ----------
    codes : ndarray of shape (M, M)
        Inner products of the codes.
    products : ndarray of shape (M, K)
        Inner products of codes and labels.
    """
    kept, codes, products = np.zeros(len(codes)), codes.copy(), products.copy()
    floor = 1e-10 * codes.trace()
    for j in range(len(codes)):
        if codes[j, j] <= floor:
            continue
        kept[j] = products[j] @ products[j] / codes[j, j]
        share = codes[j] / codes[j, j]  # what is left of later codes when this one is taken away
        products -= np.outer(share, products[j])
        codes -= np.outer(share, codes[j])
    return kept


def weighted_mean(labels: Any, weight: Weights) -> Floats:
    """Mean of each label; of one that all rows have exactly 1."""
    n = labels.shape[0]
    total = np.ones(n) if weight is None else weight
    mean = np.asarray(labels.T @ total) / total.sum()
    return np.where(np.asarray(labels.sum(axis=0)) == n, 1.0, mean)


def mean_of_known(labels: Any, known: Any, weight: Weights) -> Floats:
    """Weighted mean of each label over the rows that it is known of; 0 of a label that is known of none."""
    if known is None:
        return weighted_mean(sparse.csr_array(labels, dtype=np.float64), weight)
    rows = known * (1.0 if weight is None else weight[:, None])
    mean = (rows * as_dense(labels)).sum(axis=0) / np.maximum(rows.sum(axis=0), 1e-300)
    return np.where((as_dense(labels) == 1).sum(axis=0) == np.maximum(known.sum(axis=0), 1), 1.0, mean)


def shares(parts: Floats, whole: float) -> Floats:
    """Parts as shares of the whole; zeros if that is zero."""
    return np.asarray(np.clip(parts, 0, None) / whole if whole > 0 else np.zeros(len(parts)))
