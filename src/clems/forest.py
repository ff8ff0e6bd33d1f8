"""The default regressor: one forest for all dimensions of the embedding."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

from sklearn.ensemble import ExtraTreesRegressor


def default_forest(n_features: int, **settings: Any) -> ExtraTreesRegressor:
    """Forest that learners use when no estimator is given.

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
    tried = ceil(max(sqrt(n_features), n_features / 10))
    return ExtraTreesRegressor(**{"max_features": tried, "min_samples_split": 6, **settings})
