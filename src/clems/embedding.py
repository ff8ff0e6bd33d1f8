"""The spine of label embeddings: encode the labels, regress to the codes, decode what is predicted."""

from __future__ import annotations

from abc import abstractmethod
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from clems.classifier import MultiLabelClassifier, check_estimator, new_seed, seeded
from clems.counts import Floats, Labels
from clems.forest import default_forest


class LabelEmbeddingClassifier(MultiLabelClassifier):
    """A multi-label classifier made of an embedding of the label vectors and a regressor to the embedded space.

    A learner says how it encodes and decodes.
    """

    predictor = "regressor"

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
        Z = self._fit_encode(X, Y, weight, random_state)
        start = perf_counter()
        self.estimator_ = fit_regressor(regressor, X, Z, weight)
        self._say(f"regressor: {type(self.estimator_).__name__} in {perf_counter() - start:.1f} s")

    def _predict(self, X: Any) -> NDArray[np.uint8]:
        return self._decode(predict_codes(self.estimator_, X))

    def _regressor(self, random_state: np.random.RandomState) -> Any:
        if self.estimator is None:
            return default_forest(self.n_features_in_, n_jobs=self.n_jobs, random_state=new_seed(random_state))
        check_estimator(self.estimator, self.predictor)
        estimator = seeded(self.estimator, random_state)
        return (
            estimator
            if get_tags(estimator).target_tags.multi_output
            else MultiOutputRegressor(estimator, n_jobs=self.n_jobs)
        )


def fit_regressor(regressor: Any, X: Any, Z: Floats, weight: NDArray[np.float64] | None) -> Any:
    """Fit a regressor to codes; one with a single output gets them as the vector that it expects."""
    target = Z if Z.shape[1] > 1 or isinstance(regressor, MultiOutputRegressor) else Z.ravel()
    if weight is None:
        return regressor.fit(X, target)
    inner = regressor.estimator if isinstance(regressor, MultiOutputRegressor) else regressor
    if not has_fit_parameter(inner, "sample_weight"):
        raise ValueError(f"sample_weight was given, but {type(inner).__name__}.fit has no parameter sample_weight.")
    return regressor.fit(X, target, sample_weight=weight)


def predict_codes(regressor: Any, X: Any) -> Floats:
    """Codes that a regressor predicts, shape (n, M)."""
    Z: Floats = np.asarray(regressor.predict(X)).reshape(X.shape[0], -1)
    if not np.isfinite(Z).all():
        raise ValueError(f"The estimator {type(regressor).__name__} predicted values that are not finite.")
    return Z
