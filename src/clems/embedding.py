"""The spine of label embeddings: encode the labels, regress to the codes, decode what is predicted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from clems.cost import Cost
from clems.counts import Floats, Labels, row_blocks
from clems.criteria import get_criterion
from clems.forest import default_forest
from clems.validation import all_or_nothing, check_features, check_labels, check_training, multi_label_tags


class LabelEmbeddingClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A multi-label classifier made of an embedding of the label vectors and a regressor to the embedded space.

    A learner says how it encodes and decodes, and has the parameters `estimator`, `n_jobs`, `random_state` and
    `verbose`.
    """

    cost_sensitive = False
    predictor = "regressor"

    estimator: Any
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int
    cost_: Cost

    @abstractmethod
    def _fit_encode(self, Y: Labels, weight: NDArray[np.float64] | None, random_state: np.random.RandomState) -> Floats:
        """Learn the embedding, set `cost_`, and return the code of each training row, shape (n, M)."""

    @abstractmethod
    def _decode(self, Z: Floats) -> NDArray[np.uint8]:
        """Label vectors of predicted codes, shape (n, K)."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on features and labels.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
            Labels, zeros and ones; names of columns are kept in `classes_`.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts, in the embedding and for the regressor.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            X, labels, weight = check_training(self, X, y, sample_weight)
            random_state = check_random_state(self.random_state)
            regressor = self._regressor(random_state)
            Z = self._fit_encode(labels, weight, random_state)
            start = perf_counter()
            self.estimator_ = fit_regressor(regressor, X, Z, weight)
            self._say(f"regressor: {type(self.estimator_).__name__} in {perf_counter() - start:.1f} s")
        return self

    def predict(self, X: Any) -> Any:
        """Predict the labels of new rows.

        Rows are handled in blocks: beyond the result, memory does not grow with their number.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.

        Returns
        -------
        ndarray or CSR array of shape (n, K)
            Zeros and ones, of the type of the labels in training and sparse if they were; columns as in `classes_`.
        """
        check_is_fitted(self)
        X = check_features(self, X)
        form = self._form_of_labels
        as_given = sparse.csr_array if sparse.issparse(form) else np.asarray
        blocks = [
            form,
            *(as_given(self._predict(X[rows]).astype(form.dtype)) for rows in row_blocks(X.shape[0], 1, BLOCK)),
        ]
        return sparse.vstack(blocks, "csr") if sparse.issparse(form) else np.concatenate(blocks)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Score predictions for X against the labels y by the learner's own cost; greater is better.

        It is ``1 − cost`` where people report that (F1, accuracy, subset accuracy), else the negative cost.
        """
        predicted = self.predict(X)
        labels = check_labels(self, y)
        check_consistent_length(predicted, labels)
        criterion = get_criterion(self.cost_)
        return criterion.sign * criterion(labels, predicted, sample_weight)

    def _predict(self, X: Any) -> NDArray[np.uint8]:
        Z = np.asarray(self.estimator_.predict(X)).reshape(X.shape[0], -1)
        if not np.isfinite(Z).all():
            raise ValueError(f"The estimator {type(self.estimator_).__name__} predicted values that are not finite.")
        return self._decode(Z)

    def _regressor(self, random_state: np.random.RandomState) -> Any:
        if self.estimator is None:
            return default_forest(self.n_features_in_, n_jobs=self.n_jobs, random_state=random_state.randint(2**31 - 1))
        is_fit = hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")
        if not is_fit or get_tags(self.estimator).estimator_type not in ("regressor", None):
            raise ValueError(f"estimator must be a regressor with fit and predict; got {self.estimator!r}.")
        estimator = clone(self.estimator)
        unset = [key for key, value in sorted(estimator.get_params().items()) if _is_seed(key) and value is None]
        estimator.set_params(**{key: random_state.randint(2**31 - 1) for key in unset})
        return (
            estimator
            if get_tags(estimator).target_tags.multi_output
            else MultiOutputRegressor(estimator, n_jobs=self.n_jobs)
        )

    def _say(self, text: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {text}", flush=True)

    def __sklearn_tags__(self) -> Tags:
        return multi_label_tags(super().__sklearn_tags__())


BLOCK = 4096  # rows predicted at a time


def fit_regressor(regressor: Any, X: Any, Z: Floats, weight: NDArray[np.float64] | None) -> Any:
    """Fit a regressor to codes; one with a single output gets them as the vector that it expects."""
    target = Z if Z.shape[1] > 1 or isinstance(regressor, MultiOutputRegressor) else Z.ravel()
    if weight is None:
        return regressor.fit(X, target)
    inner = regressor.estimator if isinstance(regressor, MultiOutputRegressor) else regressor
    if not has_fit_parameter(inner, "sample_weight"):
        raise ValueError(f"sample_weight was given, but {type(inner).__name__}.fit does not take it.")
    return regressor.fit(X, target, sample_weight=weight)


def _is_seed(key: str) -> bool:
    return key == "random_state" or key.endswith("__random_state")
