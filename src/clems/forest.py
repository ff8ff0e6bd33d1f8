"""The forests that learners use when no estimator is given."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor


def default_forest(n_features: int, **settings: Any) -> ExtraTreesRegressor:
    """Forest for all dimensions of an embedding.

    One hundred extremely randomised trees. A split tries the square root of the number of features, but at least a
    tenth of them: where most features are zero for most rows, the root is too few. It was chosen by quality and time
    over five datasets, see ``docs/forest.md``.

    Parameters
    ----------
    n_features : int
        Number of features, which decides how many a split tries.
    **settings
        Parameters of scikit-learn's ExtraTreesRegressor that override these.
    """
    return ExtraTreesRegressor(**{**_shape(n_features), **settings})


def default_classifier(n_features: int, **settings: Any) -> ExtraTreesClassifier:
    """Forest for one label: like :func:`default_forest`, for classes.

    Parameters
    ----------
    n_features : int
        Number of features, which decides how many a split tries.
    **settings
        Parameters of scikit-learn's ExtraTreesClassifier that override these.
    """
    return ExtraTreesClassifier(**{**_shape(n_features), **settings})


def _shape(n_features: int) -> dict[str, Any]:
    return {"max_features": ceil(max(sqrt(n_features), n_features / 10)), "min_samples_split": 6}
