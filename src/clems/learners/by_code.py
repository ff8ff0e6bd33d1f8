"""The spine of embeddings: encode the labels, regress to the codes, decode what is predicted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from clems.arrays import Floats, Labels, Weights, row_blocks
from clems.labels.matrix import as_dense
from clems.learners.by_threshold import ThresholdClassifier, above_threshold
from clems.learners.regression import fit_regressor, make_regressor, predict_codes
from clems.model_selection import held_out


class CodeClassifier(ThresholdClassifier):
    """A multi-label classifier made of codes of the label vectors, a regressor to them, and scores of labels by codes.

    A learner says how it encodes and decodes.

    Attributes
    ----------
    codes_ : ndarray of shape (n, M)
        Codes of the training rows.
    n_components_ : int
        M, the number of codes.
    reconstruction_error_ : float
        Share of the training rows' label entries that come out wrong when their codes are decoded; weighted as the rows
        are. What is lost by the embedding alone, before any regression.
    """

    predictor = "regressor"
    codes_: Floats
    reconstruction_error_: float

    @abstractmethod
    def _encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:
        """Learn the embedding and return the code of each training row, shape (n, M)."""

    @abstractmethod
    def _decoded(self, Z: Floats) -> Floats:
        """Scores of labels by codes, shape (n, K)."""

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

    @property
    def n_components_(self) -> int:
        """Number of codes."""
        return int(self.codes_.shape[1])

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.estimator_ = new(self.estimator_)
