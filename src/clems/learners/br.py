"""BR: binary relevance, one classifier per label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clems.arrays import Labels, Weights
from clems.labels.matrix import as_dense
from clems.learners.base import Profile
from clems.learners.by_chain import LabelByLabel
from clems.learners.by_division import Problem
from clems.posterior.chains import probability


class BR(LabelByLabel):
    """Binary relevance: a separate classifier for each label, trained independently of the others.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier; None is a forest, :func:`clems.trees.growing.default_classifier`.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        How many labels are trained at a time; in prediction, how many trees of the default forest work at a time.
    random_state : int, RandomState or None, default=None
        Seed of the classifiers where they have none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    estimators_ : list
        Fitted classifiers in the order of `classes_`; for a label that was always the same, one that says so.
    cost_ : Cost
        What `score` measures: the learner takes no cost, so as in scikit-learn it is subset accuracy.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    Examples
    --------
    >>> from clems import BR
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = BR(random_state=0).fit(X[:200], Y[:200])
    >>> model.predict_proba(X[200:]).shape
    (100, 10)
    """

    profile = Profile(
        "none",
        "nothing together",
        "K F",
        "n K",
    )

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        labels = as_dense(Y)
        prototypes = self._prototypes(labels.shape[1], weight, random_state)
        problems = (
            Problem(name, labels[:, :0], label, weight)
            for name, label in zip(self.classes_.tolist(), labels.T, strict=True)
        )
        self.estimators_ = self._fit_each(prototypes, X, problems)

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.estimators_ = [new(estimator) for estimator in self.estimators_]

    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        return np.column_stack([probability(estimator, X) for estimator in self.estimators_])
