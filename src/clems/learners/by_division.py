"""The spine of learners that divide their task: problems, and a classifier for each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from clems.arrays import Bits, Integers, Weights, beside
from clems.learners.base import MultiLabelClassifier, check_estimator, seeded
from clems.learners.depth_path import DepthPath
from clems.trees.growing import default_classifier
from clems.trees.reading import check_reach


@dataclass(frozen=True)
class Problem:
    """What one classifier is trained on.

    Attributes
    ----------
    name : object
        Name of the label.
    labels : ndarray of shape (m, j)
        Labels that it sees beside the features.
    target : ndarray of shape (m,)
        Classes: zeros and ones for a label.
    weight : ndarray of shape (m,) or None
        Sample weights.
    rows : ndarray of shape (m,) or None
        Which rows of the features belong to these; None for all.
    """

    name: Any
    labels: Bits
    target: NDArray[Any]
    weight: Weights = None
    rows: Integers | None = None

    def __str__(self) -> str:
        return f"the label {self.name!r}, which {self.target.sum()} of {len(self.target)} rows have"


class DividedClassifier(DepthPath, MultiLabelClassifier):
    """A multi-label classifier made of many classifiers, each of which learns one label or a few together.

    A learner says what each of them is trained on and how labels are decided.

    Attributes
    ----------
    needs_probabilities, needs_weights : bool
        Whether the estimator must have `predict_proba`, and whether its `fit` must take `sample_weight`.
    """

    predictor = "classifier"
    needs_probabilities = False
    needs_weights = False

    def _default(self) -> Any:
        """Classifier for when no estimator is given."""
        return default_classifier(self.n_features_in_, n_estimators=self.n_trees)

    def _prototypes(self, count: int, weight: Weights, random_state: np.random.RandomState) -> list[Any]:
        """Unfitted, seeded classifiers that are sure to have what the learner needs."""
        estimator = self._default() if self.estimator is None else self.estimator
        check_estimator(estimator, self.predictor)
        learner, name = type(self).__name__, type(estimator).__name__
        self._fitted_with_probabilities = hasattr(estimator, "predict_proba")
        if self.needs_probabilities and not self._fitted_with_probabilities:
            raise ValueError(
                f"{learner} needs an estimator with predict_proba, which {name} does not have; scikit-learn's "
                f"CalibratedClassifierCV({name}(...)) gives it."
            )
        if (self.needs_weights or weight is not None) and not has_fit_parameter(estimator, "sample_weight"):
            reason = f"{learner} trains with weights" if self.needs_weights else "sample_weight was given"
            raise ValueError(f"{reason}, but {name}.fit has no parameter sample_weight.")
        return [seeded(estimator, random_state) for _ in range(count)]

    def _fit_each(self, prototypes: list[Any], X: Any, problems: Iterable[Problem], stage: str = "") -> list[Any]:
        """Fit a classifier to each problem, `n_jobs` at a time."""
        start = perf_counter()
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_problem)(prototype, X, problem) for prototype, problem in zip(prototypes, problems, strict=True)
        )
        if self.estimator is None:  # it may predict in parallel, now that labels are no longer trained so
            for forest in fitted:
                if isinstance(forest, type(prototypes[0])):
                    forest.set_params(n_jobs=self.n_jobs)
        constant = sum(isinstance(estimator, DummyClassifier) for estimator in fitted)
        constants = f", {constant} of them constant" if constant else ""
        self._say(f"{stage}{len(prototypes)} classifiers{constants} in {perf_counter() - start:.1f} s")
        return list(fitted)


def fit_problem(estimator: Any, X: Any, problem: Problem) -> Any:
    """Fit a classifier to a problem; what is always the same needs none."""
    y = problem.target
    if (y == y[0]).all():
        return DummyClassifier(strategy="prior").fit([[0]], y[:1])
    check_reach(estimator, X)
    features = beside(X if problem.rows is None else X[problem.rows], problem.labels)
    weights = {} if problem.weight is None else {"sample_weight": problem.weight}
    try:
        return estimator.fit(features, y, **weights)
    except Exception as error:
        error.add_note(f"It happened while training {problem}.")
        raise
