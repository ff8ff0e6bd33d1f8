"""Regressors from features to the embedded space: made, fitted, and asked for codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from clems.arrays import Floats, Weights
from clems.learners.base import MultiLabelClassifier, check_estimator, new_seed, seeded
from clems.trees.growing import default_forest, rounded
from clems.trees.reading import check_reach, has_trees, predictions_of


def make_regressor(model: MultiLabelClassifier, random_state: np.random.RandomState) -> Any:
    """Return the unfitted, seeded regressor of a learner: its estimator for all dimensions, or the default forest."""
    if model.estimator is None:
        settings = {"n_estimators": model.n_trees, "n_jobs": model.n_jobs, "random_state": new_seed(random_state)}
        return default_forest(model.n_features_in_, **settings)
    check_estimator(model.estimator, model.predictor)
    estimator = seeded(model.estimator, random_state)
    several = get_tags(estimator).target_tags.multi_output
    return estimator if several else MultiOutputRegressor(estimator, n_jobs=model.n_jobs)


def fit_regressor(regressor: Any, X: Any, Z: Floats, weight: Weights) -> Any:
    """Fit a regressor to codes; one with a single output gets them as the vector that it expects."""
    check_reach(regressor, X)
    Z = rounded(Z) if has_trees(regressor) else Z
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
    Z: Floats = np.asarray(predictions_of(regressor, X)).reshape(X.shape[0], -1)
    if not np.isfinite(Z).all():
        raise ValueError(f"The estimator {type(regressor).__name__} predicted values that are not finite.")
    return Z
