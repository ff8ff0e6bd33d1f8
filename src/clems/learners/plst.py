"""PLST: principal label space transformation, the principal components of the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from clems.arrays import Floats, Weights
from clems.learners.base import Profile
from clems.learners.by_linear_code import LabelProjection, variation_of
from clems.learners.by_threshold import AnyCost


class PLST(LabelProjection):
    """Principal label space transformation: labels are projected on the directions in which they vary most.

    Among all linear codes with M dimensions, these lose the least of the labels, as a sum of squares. A predicted code
    is mapped back, and a label is predicted if its value exceeds ½. Features and costs are not used in the embedding.

    Parameters
    ----------
    cost : str, Cost or callable, default=None
        What the threshold is chosen for: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a
        function of truths and predictions, see :func:`clems.get_cost`. None is no cost, or F1 with
        ``threshold="auto"``.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K. There
        are no more than K directions, so more than K counts as K.
    threshold : float, "auto" or None, default=None
        Score above which a label is predicted. "auto" is that of least cost for the training rows, which then can be
        had for any cost in `predict`. None is ½, or "auto" if a cost is given.
    n_folds : int or None, default=2
        A threshold is chosen by scores of training rows, each predicted by a regressor that was trained on other parts,
        out of so many. None saves the time: scores are those of rows that the regressor knows.
    estimator : estimator, default=None
        Any scikit-learn regressor; one with a single output is fitted once per dimension. None is a forest,
        :func:`clems.trees.growing.default_forest`.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        Parallel jobs of the default forest, or of the fits of a single-output regressor.
    random_state : int, RandomState or None, default=None
        Seed of the estimator where it has none; the embedding itself is not random.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    components_ : ndarray of shape (M, K)
        Directions, orthonormal, the most important first; the first of the largest entries of each is positive.
    mean_ : ndarray of shape (K,)
        Weighted mean of each label.
    n_components_ : int
        Number of directions.
    explained_variance_ratio_ : ndarray of shape (M,)
        Share of the labels' variance along each direction; zeros if no label varies.
    codes_ : ndarray of shape (n, M)
        Codes of the training rows.
    reconstruction_error_ : float
        Share of the training rows' label entries that come out wrong when their codes are decoded.
    estimator_ : estimator
        Fitted regressor.
    threshold_ : float
        Score above which a label is predicted.
    cost_ : Cost
        What the threshold is chosen for, and what `score` measures; without a cost that is subset accuracy, as in
        scikit-learn.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    References
    ----------
    Tai & Lin (2012), Multilabel classification with principal label space transformation, Neural Computation 24.

    Examples
    --------
    >>> from clems import PLST
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = PLST(n_components=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.codes_.shape
    ((100, 10), (200, 5))
    """

    profile = Profile(
        "reduction",
        "variance of labels that is kept",
        "n s² + K³, F",
        "K²",
    )

    def __init__(
        self,
        cost: AnyCost | None = None,
        *,
        n_components: int | float | None = None,
        threshold: float | str | None = None,
        n_folds: int | None = 2,
        estimator: Any = None,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_components = n_components
        self.threshold = threshold
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _scatter(self, X: Any, labels: Any, weight: Weights) -> Floats:  # noqa: ARG002
        return variation_of(labels, self.mean_, weight)
