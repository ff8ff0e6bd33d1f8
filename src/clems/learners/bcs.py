"""BCS: Bayesian compressed sensing, random combinations of labels with their uncertainty; labels may be missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clems.arrays import Labels, Weights
from clems.checks import check_components, check_count, check_number
from clems.costs.cost import Cost
from clems.embedding.bayesian_sensing import LEAST, label_probabilities, sense
from clems.embedding.pursuit import random_code
from clems.labels.matrix import as_dense, split_missing
from clems.learners.base import Profile
from clems.learners.by_linear_code import mean_of_known
from clems.learners.by_posterior import PosteriorClassifier
from clems.learners.depth_path import DepthPath
from clems.learners.regression import fit_regressor, make_regressor, predict_codes
from clems.model_selection import held_out
from clems.posterior.distribution import Posterior
from clems.posterior.independent import IndependentPosterior


class BCS(PosteriorClassifier, DepthPath):
    """Bayesian compressed sensing: random combinations of labels and their uncertainty; **labels may be missing**.

    As in CS, a regressor learns random combinations of the labels, but its predictions are treated as noisy
    measurements of Gaussian labels, each with its own variance. Labels that are rare, or that few combinations
    determine, are uncertain. Every label gets a probability, from which labels are decided for any cost. NaN in Y is an
    unknown label: it is inferred from the features and from the other labels of the row.

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
        By how many folds rows are held out to see how exact codes are predicted; None takes the regressor's own
        training rows, which forests predict far better than new ones.
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
        Mean squared errors of the predicted codes, and the noise.
    spread_ : ndarray of shape (K,)
        What remains of the variance of each label when codes are known.
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
    the Gaussian evidence of the codes is put together with the label's frequency to the probability of 1 against 0, and
    labels are taken for independent given these.

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
        "evidence of Gaussian labels",
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
        targets = as_dense(labels) - self.mean_
        noise = max(noise, LEAST)
        found = sense(X, targets, self.components_, known, weight, ridge=ridge, noise=noise, n_rounds=n_rounds)
        self.codes_, self.variances_ = found.codes, found.variance
        self.estimator_ = fit_regressor(regressor, X, self.codes_, weight)
        self._say(f"regressor: {type(self.estimator_).__name__} of {size} codes")
        squares = np.empty(self.codes_.shape)
        for others, part in held_out(X.shape[0], n_folds, random_state):
            fitted = self.estimator_
            if n_folds is not None and X.shape[0] > 1:
                own = None if weight is None else weight[others]
                fitted = fit_regressor(make_regressor(self, random_state), X[others], self.codes_[others], own)
            squares[part] = (self.codes_[part] - predict_codes(fitted, X[part])) ** 2
        errors = np.average(squares, axis=0, weights=weight)
        self.code_variances_ = errors + (noise if errors.max() > LEAST else LEAST)
        _, _, self.spread_ = label_probabilities(
            self.codes_[:1], self.components_, self.mean_, self.variances_, self.code_variances_
        )

    @property
    def depth_path(self) -> bool:  # type: ignore[override]
        """Whether the depth of trees is for you to choose: what is known of errors stays that of whole trees."""
        return True

    def _posterior(self, X: Any) -> Posterior:
        codes = predict_codes(self.estimator_, X)
        probability, _, _ = label_probabilities(
            codes, self.components_, self.mean_, self.variances_, self.code_variances_
        )
        return IndependentPosterior(np.round(probability, 9))

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.estimator_ = new(self.estimator_)
