"""CPLST: conditional principal label space transformation, which takes features into account."""

from __future__ import annotations

from typing import Any

import numpy as np

from clems.arrays import Floats, Weights
from clems.checks import check_number
from clems.embedding.ridge import ridge_smoother, roots, scaled_rows
from clems.learners.base import Profile
from clems.learners.by_linear_code import LabelProjection
from clems.learners.by_threshold import AnyCost


class CPLST(LabelProjection):
    """Conditional principal label space transformation: directions in which labels vary *as features predict it*.

    As in PLST, labels are projected and mapped back, but on the directions in which the fitted values of a ridge
    regression on the features vary most. A code is therefore both informative about the labels and easy to learn. Costs
    are not used in the embedding.

    Parameters
    ----------
    cost : str, Cost or callable, default=None
        What the threshold is chosen for: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a
        function of truths and predictions, see :func:`clems.get_cost`. None is no cost, or F1 with
        ``threshold="auto"``.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K. There
        are no more than K directions, so more than K counts as K.
    ridge : float, default=1.0
        Penalty of squared coefficients in the linear regression that the embedding uses, as `alpha` of scikit-learn's
        Ridge; the larger, the fewer directions of the features count. It does not change `estimator`.
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
    Chen & Lin (2012), Feature-aware label space dimension reduction for multi-label classification, NeurIPS 25.

    Examples
    --------
    >>> from clems import CPLST
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CPLST(n_components=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.codes_.shape
    ((100, 10), (200, 5))
    """

    takes_gaps = False  # it computes with features itself

    profile = Profile(
        "reduction",
        "variance of labels that a ridge regression fits",
        "n d min(n, d) + K³, F",
        "d² or n², K²",
    )

    def __init__(
        self,
        cost: AnyCost | None = None,
        *,
        n_components: int | float | None = None,
        ridge: float = 1.0,
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
        self.ridge = ridge
        self.threshold = threshold
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _scatter(self, X: Any, labels: Any, weight: Weights) -> Floats:
        ridge = check_number(self.ridge, "ridge")
        centred = scaled_rows(labels, weight).toarray()
        centred -= np.outer(roots(weight, len(centred)), self.mean_)
        return ridge_smoother(X, weight, ridge).products(centred)
