"""Classifiers that `--estimator` names: each is made by a function, which imports what it needs when it is called.

Linear ones have their features scaled to at most 1, which keeps zeros and so sparse features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def logistic_regression() -> Any:
    """Logistic regression on scaled features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))


def linear_svm() -> Any:
    """Linear support vector machine on scaled features, which gives scores."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler
    from sklearn.svm import LinearSVC

    return make_pipeline(MaxAbsScaler(), LinearSVC())


def random_forest() -> Any:
    """Random forest of a hundred trees."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier()


def extra_trees() -> Any:
    """Forest of a hundred extremely randomised trees."""
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier()


def gradient_boosting() -> Any:
    """Gradient boosting on binned features, which are dense."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier()


def nearest_neighbors() -> Any:
    """Shares of labels among the ten nearest training rows, on scaled features."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), KNeighborsClassifier(10))


ESTIMATORS: dict[str, Callable[[], Any]] = {
    make.__name__: make
    for make in (logistic_regression, linear_svm, random_forest, extra_trees, gradient_boosting, nearest_neighbors)
}
