"""LEML: low-rank regression of labels on features, where labels may be missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_components, check_count, check_number
from clems.embedding.low_rank import low_rank_regression
from clems.embedding.ridge import doubled, exponent_of
from clems.embedding.spectral import leading_directions
from clems.labels.matrix import as_dense, split_missing
from clems.learners.base import Profile
from clems.learners.by_linear_code import LinearEmbedding, mean_of_known, shares
from clems.learners.by_threshold import AnyCost

LITTLE = 1e-6  # share of the labels' own variation that orders directions which the fit says nothing of


class LEML(LinearEmbedding):
    """Low-rank regression of labels on features gives the directions of the embedding; **labels may be missing**.

    Labels are fitted by a linear model whose weights are a product of two thin matrices, ``X W Hᵀ``, both penalised, so
    that only directions of the labels remain that features can predict. Labels are projected on the directions in which
    these fitted values vary most, a regressor learns the projections, and a label is predicted if its value exceeds a
    threshold. Only known labels count in the fit: NaN in Y is an unknown label, and its fitted value takes its place.

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
        Penalty of squared entries of both factors, λ; the published default is 0.1. It does not change `estimator`.
    n_rounds : int, default=10
        How often the factors are improved in turn.
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
        Weighted mean of each label, of the rows that it is known of.
    coef_ : ndarray of shape (d, K)
        Weights of the low-rank regression itself, ``W Hᵀ``: ``X @ coef_ + intercept_`` are the scores that are
        published as LEML.
    intercept_ : ndarray of shape (K,)
        Their offset.
    objective_ : ndarray of shape (2 n_rounds + 1,)
        What is minimised, at the start and after each half step.
    n_components_ : int
        Number of codes.
    explained_variance_ratio_ : ndarray of shape (M,)
        Share of the labels' variance that each code keeps, beyond those before it; zeros if no label varies.
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

    Notes
    -----
    Published, the linear model predicts; here any regressor learns the codes, so that embeddings can be compared with
    the same regressor. The loss is the squared one; the logistic one of the paper is not there.

    As ``min ½ (‖W‖² + ‖H‖²)`` over ``W Hᵀ = B`` is the trace norm of B, at M = K the fit is the regression with a
    trace-norm penalty, not ridge regression, as is sometimes said; for features with orthonormal columns its singular
    values are those of least squares, each less λ. With H fixed at the identity it is ridge regression.

    References
    ----------
    Yu, Jain, Kar & Dhillon (2014), Large-scale multi-label learning with missing labels, ICML 31.

    Examples
    --------
    >>> from clems import LEML
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = LEML(n_components=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.codes_.shape
    ((100, 10), (200, 5))
    """

    takes_gaps = False  # it computes with features itself
    takes_missing_labels = True

    profile = Profile(
        "reduction",
        "squared error of known labels, with a trace norm",
        "200 n d M + K³, F",
        "n K",
    )

    def __init__(
        self,
        cost: AnyCost | None = None,
        *,
        n_components: int | float | None = None,
        ridge: float = 1.0,
        n_rounds: int = 10,
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
        self.n_rounds = n_rounds
        self.threshold = threshold
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        self._check_threshold()
        size = min(check_components(self.n_components, Y.shape[1]), Y.shape[1])
        ridge, n_rounds = check_number(self.ridge, "ridge"), check_count(self.n_rounds, "n_rounds")
        labels, missing = split_missing(Y)
        known = None if missing is None else ~missing
        self._offset = self.mean_ = mean_of_known(labels, known, weight)
        targets = as_dense(labels) - self.mean_
        if known is not None:
            targets[~known] = 0
        own = weighted_products(targets, weight)
        fit = low_rank_regression(
            X,
            targets,
            size,
            max(ridge, 1e-10),
            known=known,
            weight=weight,
            start=leading_directions(own, size).T,
            n_rounds=n_rounds,
        )
        rows, exponent = np.ones(X.shape[0]) if weight is None else weight, exponent_of(X)
        coefficients = fit.features @ fit.labels.T  # of features whose greatest is about 1
        center = np.asarray(doubled(X, exponent).T @ rows, np.float64) / rows.sum()
        self.intercept_ = self.mean_ - center @ coefficients
        with np.errstate(over="ignore"):  # of features of 1e-308 they may be infinite
            self.coef_ = np.ldexp(coefficients, exponent)
        self.objective_ = np.array(fit.history)
        said = fit.codes @ fit.labels.T
        if known is not None:
            targets[~known] = said[~known]
            own = weighted_products(targets, weight)
        # Directions in which the fit varies most; where it says nothing, those in which the labels do.
        self.components_ = leading_directions(weighted_products(said, weight) + LITTLE * own, size)
        kept = ((self.components_ @ own) * self.components_).sum(axis=1)
        self.explained_variance_ratio_ = shares(kept, own.trace())
        self._targets = targets
        filled = labels if known is None else (targets + self.mean_ > 0.5).astype(np.uint8)
        super()._fit(X, filled, weight, random_state)
        del self._targets

    def _encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:  # noqa: ARG002
        return np.asarray(self._targets @ self.components_.T)


def weighted_products(targets: Floats, weight: Weights) -> Floats:
    """Inner products of targets over rows, shape (K, K)."""
    return np.asarray(targets.T @ (targets if weight is None else weight[:, None] * targets))
