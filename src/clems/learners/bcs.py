"""BCS: Bayesian compressed sensing, random combinations of labels with their uncertainty; labels may be missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_components, check_count, check_number
from clems.costs.cost import Cost
from clems.embedding.bayesian_sensing import LEAST, read_labels, sense
from clems.embedding.pursuit import random_code
from clems.labels.matrix import as_dense, split_missing
from clems.learners.base import Profile
from clems.learners.by_linear_code import mean_of_known
from clems.learners.by_posterior import PosteriorClassifier
from clems.learners.depth_path import DepthPath
from clems.learners.regression import fit_regressor, make_regressor, predict_codes
from clems.model_selection import held_out
from clems.posterior.calibration import Calibrator, Unchanged, calibrate_each, calibrated
from clems.posterior.distribution import Posterior
from clems.posterior.independent import IndependentPosterior

DIGITS = 5  # of expected labels: trees keep codes with about seven
METHODS = ("sigmoid", "isotonic")  # of calibration: expectations that are cut off are no probabilities yet


class BCS(PosteriorClassifier, DepthPath):
    """Bayesian compressed sensing: random combinations of labels with their uncertainty; **labels may be missing**.

    As in CS a regressor learns random combinations of the labels, but what it predicts is read by a model in which
    labels are Gaussian, each with its own variance. The labels that it expects become probabilities, by a calibration
    learned on held-out rows, and labels are decided from these for any cost. NaN in Y is a label that nobody has looked
    at: it is inferred from the features and the labels beside it.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K. More
        than K are possible.
    ridge : float, default=1.0
        Penalty of the linear map from features to codes by which missing labels are inferred. It does not change
        `estimator`.
    noise : float, default=0.01
        Variance χ² with which codes follow from labels.
    n_rounds : int, default=10
        Most turns of the inference of missing labels.
    n_folds : int or None, default=2
        By how many folds rows are held out to see how exact codes are predicted and to calibrate probabilities. None
        calibrates nothing: expected labels, cut off at 0 and 1, are the probabilities.
    estimator : estimator, default=None
        Any scikit-learn regressor; one with a single output is fitted once per dimension. None is a forest,
        :func:`clems.trees.growing.default_forest`.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        Parallel jobs of the default forest, or of the fits of a single-output regressor.
    random_state : int, RandomState or None, default=None
        Seed of the random matrix and folds, and of the estimator where it has none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    components_ : ndarray of shape (M, K)
        The random matrix: codes of single labels.
    mean_ : ndarray of shape (K,)
        Weighted mean of each label, of the rows that it is known of.
    codes_ : ndarray of shape (n, M)
        Expected codes of the training rows.
    variances_ : ndarray of shape (K,)
        1 / E[α], the variance of each label.
    code_variances_ : ndarray of shape (M,)
        Mean squared errors of the predicted codes.
    spread_ : ndarray of shape (K,)
        What remains of the variance of each label when codes are predicted.
    calibrators_ : list
        What makes probabilities of the expected labels, one for each label.
    estimator_ : estimator
        Fitted regressor.
    cost_ : Cost
        The cost decided for.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    Notes
    -----
    From memory of the paper. Published, every row has precisions α of its own, which makes its labels sparse and takes
    a matrix inverse for each row and turn; here a label has one for all rows, learned from how often it is there, and
    labels are taken about their mean. Published, a label is predicted where its expectation exceeds a threshold; here
    expectations are calibrated by :mod:`clems.posterior.calibration`: a sigmoid for each label, or a rising function if
    held-out rows are clearly for it. Labels are taken for independent given these probabilities.

    References
    ----------
    Kapoor, Viswanathan & Jain (2012), Multilabel classification using Bayesian compressed sensing, NeurIPS 25.

    Examples
    --------
    >>> from clems import BCS
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = BCS("f1", n_components=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.predict_proba(X[200:]).shape, model.codes_.shape
    ((100, 10), (100, 10), (200, 5))
    """

    predictor = "regressor"
    takes_gaps = False  # it computes with features itself
    takes_missing_labels = True

    profile = Profile(
        "reduction",
        "expectation of Gaussian labels",
        "n K M + M³, 2 F",
        "n K",
    )

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        n_components: int | float | None = None,
        ridge: float = 1.0,
        noise: float = 0.01,
        n_rounds: int = 10,
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
        self.noise = noise
        self.n_rounds = n_rounds
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        size = check_components(self.n_components, Y.shape[1])
        ridge, noise = check_number(self.ridge, "ridge"), check_number(self.noise, "noise")
        n_rounds = check_count(self.n_rounds, "n_rounds")
        n_folds = None if self.n_folds is None else check_count(self.n_folds, "n_folds", least=2)
        regressor = make_regressor(self, random_state)
        labels, missing = split_missing(Y)
        known = None if missing is None else ~missing
        self.mean_ = mean_of_known(labels, known, weight)
        self.components_ = random_code(size, Y.shape[1], random_state)
        dense = as_dense(labels)
        noise = max(noise, LEAST)
        found = sense(
            X, dense - self.mean_, self.components_, known, weight, ridge=ridge, noise=noise, n_rounds=n_rounds
        )
        self.codes_, self.variances_ = found.codes, found.variance
        self.estimator_ = fit_regressor(regressor, X, self.codes_, weight)
        self._say(f"regressor: {type(self.estimator_).__name__} of {size} codes")
        predicted, fold = np.empty(self.codes_.shape), np.empty(X.shape[0], np.intp)
        whole = n_folds is None or X.shape[0] == 1
        for number, (others, part) in enumerate(held_out(X.shape[0], n_folds, random_state)):
            fitted = self.estimator_
            if not whole:
                own = None if weight is None else weight[others]
                fitted = fit_regressor(make_regressor(self, random_state), X[others], self.codes_[others], own)
            predicted[part], fold[part] = predict_codes(fitted, X[part]), number
        errors = self.codes_ - predicted
        rows = np.ones(len(errors)) if weight is None else weight
        covariance = (errors * rows[:, None]).T @ errors / rows.sum()
        self.code_variances_ = covariance.diagonal()
        noise = noise if self.code_variances_.max() > LEAST else LEAST  # codes that are exact are read exactly
        self._gain, self.spread_ = read_labels(self.components_, self.variances_, noise, covariance)
        self.calibrators_: list[Calibrator] = [Unchanged()] * len(self.mean_)
        if not whole:
            self.calibrators_ = calibrate_each(self._expected(predicted), dense, weight, fold, METHODS, known)

    @property
    def depth_path(self) -> bool:  # type: ignore[override]
        """Whether the depth of trees is for you to choose; calibration is of one depth."""
        return self.n_folds is None

    def at_depth(self, depth: int) -> Self:
        """Return the model with its trees cut at a depth; not of one that is calibrated."""
        if not self.depth_path:
            raise ValueError("at_depth is for n_folds=None: probabilities are calibrated for trees as they are.")
        return super().at_depth(depth)

    def _expected(self, codes: Floats) -> Floats:
        """Return the labels that predicted codes let expect, cut off at 0 and 1, shape (n, K)."""
        return np.clip(np.round(codes @ self._gain + self.mean_, DIGITS), 0, 1)

    def _posterior(self, X: Any) -> Posterior:
        expected = self._expected(predict_codes(self.estimator_, X))
        return IndependentPosterior(np.round(calibrated(expected, self.calibrators_), 9))

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.estimator_ = new(self.estimator_)
