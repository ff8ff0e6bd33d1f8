"""CCA: canonical correlation analysis, the directions of the labels that features correlate with most."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_components, check_number
from clems.embedding.canonical import canonical_directions
from clems.embedding.ridge import ridge_smoother, roots, scaled_rows
from clems.embedding.spectral import signs
from clems.learners.base import Profile
from clems.learners.by_linear_code import LinearEmbedding, kept_in_turn, shares, variation_of, weighted_mean
from clems.learners.by_threshold import AnyCost


class CCA(LinearEmbedding):
    """Canonical correlation analysis: labels are projected on the directions that features correlate with most.

    Among all directions of the labels, scaled to variance 1, the first is the one whose best linear prediction from the
    features correlates with it most; the second is the best that is uncorrelated with the first, and so on. CPLST
    considers how much of the labels' total variance can be predicted, CCA the share of each direction's own variance,
    so rare labels count as much as frequent ones. A predicted code is mapped back by least squares, and a label is
    predicted if its value exceeds a threshold.

    Parameters
    ----------
    cost : str, Cost or callable, default=None
        What the threshold is chosen for: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a
        function of truths and predictions, see :func:`clems.get_cost`. None is no cost, or F1 with
        ``threshold="auto"``.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K. There
        are no more directions than the rank of the labels, so more counts as that.
    ridge : float, default=1.0
        Penalty of squared coefficients of the features, as `alpha` of scikit-learn's Ridge. It does not change
        `estimator`.
    label_ridge : float, default=1.0
        Penalty of squared coefficients of the labels: what is added to their sums of squares, so that a direction on
        labels of a few rows does not count as much as one on many.
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
        What a unit of each code adds to each label; the first of the largest entries of each row is positive.
    directions_ : ndarray of shape (K, M)
        Weights of the labels in each code.
    correlations_ : ndarray of shape (M,)
        Canonical correlations, greatest first; with penalties, what takes their place.
    mean_ : ndarray of shape (K,)
        Weighted mean of each label.
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
    Labels are read from codes by least squares on the training rows, which of all linear maps loses least. The
    pseudo-inverse of the directions, which is sometimes taken instead, is the same if there are as many codes as labels
    and loses more if there are fewer.

    References
    ----------
    Sun, Ji & Ye (2011), Canonical correlation analysis for multilabel classification: a least-squares formulation,
    extensions, and analysis, IEEE Transactions on Pattern Analysis and Machine Intelligence 33. There canonical
    variates of the features are the input of a classifier; here those of the labels are the target of a regressor.

    Examples
    --------
    >>> from clems import CCA
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CCA(n_components=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.codes_.shape
    ((100, 10), (200, 5))
    """

    takes_gaps = False  # it computes with features itself

    profile = Profile(
        "reduction",
        "correlation of labels and features",
        "n d min(n, d) + K³, F",
        "d² or n², K²",
    )

    def __init__(
        self,
        cost: AnyCost | None = None,
        *,
        n_components: int | float | None = None,
        ridge: float = 1.0,
        label_ridge: float = 1.0,
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
        self.label_ridge = label_ridge
        self.threshold = threshold
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _encode(
        self,
        X: Any,
        Y: Labels,
        weight: Weights,
        random_state: np.random.RandomState,  # noqa: ARG002
    ) -> Floats:
        size = min(check_components(self.n_components, Y.shape[1]), Y.shape[1])
        ridge, label_ridge = check_number(self.ridge, "ridge"), check_number(self.label_ridge, "label_ridge")
        labels = sparse.csr_array(Y, dtype=np.float64)
        self._offset = self.mean_ = weighted_mean(labels, weight)
        variation = variation_of(labels, self.mean_, weight)
        centred = scaled_rows(labels, weight).toarray() - np.outer(roots(weight, labels.shape[0]), self.mean_)
        fitted = ridge_smoother(X, weight, ridge).products(centred)
        self.correlations_, V = canonical_directions(fitted, variation, label_ridge, size)
        # Least squares of labels on codes: (Vᵀ C V)⁺ Vᵀ C
        codes, products = V.T @ variation @ V, V.T @ variation
        components = np.linalg.pinv(codes, hermitian=True) @ products
        sign = signs(components)
        self.components_, self.directions_ = sign[:, None] * components, V * sign
        self.explained_variance_ratio_ = shares(kept_in_turn(codes, products), variation.trace())
        return np.asarray(labels @ self.directions_ - self.mean_ @ self.directions_)
