"""Linear embeddings: codes that a linear map decodes, and what they are computed from."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_components
from clems.embedding.ridge import scaled_rows
from clems.embedding.spectral import leading_directions
from clems.labels.matrix import as_dense
from clems.learners.by_code import CodeClassifier


class LinearEmbedding(CodeClassifier):
    """Codes of the label vectors and a regressor to them, decoded by a linear map.

    A learner says how it encodes.

    Attributes
    ----------
    components_ : ndarray of shape (M, K)
        What a unit of each code adds to each label.
    explained_variance_ratio_ : ndarray of shape (M,)
        Share of the labels' variation that each dimension keeps.
    """

    components_: Floats
    _offset: Floats  # what each label is when all codes are 0

    def _decoded(self, Z: Floats) -> Floats:
        """Scores of labels by codes: Z C + offset."""
        return np.asarray(Z @ self.components_ + self._offset)


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
