"""MOPLMS: landmark labels, the few of which all others are sparse combinations."""

from __future__ import annotations

from typing import Any

import numpy as np

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_components, check_number
from clems.embedding.column_subset import from_columns
from clems.embedding.group_lasso import choose_landmarks
from clems.embedding.ridge import scaled_rows
from clems.learners.base import Profile
from clems.learners.by_linear_code import LinearEmbedding, kept_in_turn, shares, without_constant
from clems.learners.by_threshold import AnyCost


class MOPLMS(LinearEmbedding):
    """Landmark labels: a regressor learns the few labels of which all others are sparse combinations.

    Landmarks are found by solving a convex problem, ``½ ‖Y − Y A‖² + λ₁ Σ_r ‖A_r‖₂ + λ₂ ‖A‖₁``: the penalty on whole
    rows of A leaves few non-zero rows, and these are the landmarks. λ₁ is the greatest one that leaves as many rows as
    there are dimensions. A code is the row's values of the landmarks; least squares turns predictions into values for
    all labels, and a label is predicted if its value exceeds a threshold.

    Parameters
    ----------
    cost : str, Cost or callable, default=None
        What the threshold is chosen for: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a
        function of truths and predictions, see :func:`clems.get_cost`. None is no cost, or F1 with
        ``threshold="auto"``.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K. There
        are no more than labels that are ever there.
    l1 : float, default=0.0
        λ₂, the penalty of single entries, as a share of the greatest number of rows that have a label: the larger, the
        fewer labels a landmark may stand for.
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
        What a unit of each landmark adds to each label.
    labels_ : ndarray of shape (M,)
        Columns of the labels that are landmarks.
    n_components_ : int
        Number of codes.
    explained_variance_ratio_ : ndarray of shape (M,)
        Share of the labels' sum of squares that each code keeps, beyond those before it; zeros if no label varies.
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
    The objective is from a summary of the paper. The weights A of the convex problem are shrunk by its penalties, so
    here they choose landmarks only, and labels are read by least squares on them; at M = K nothing is lost. A label
    that all rows have is not embedded but always predicted.

    References
    ----------
    Balasubramanian & Lebanon (2012), The landmark selection method for multiple output prediction, ICML 29.

    Examples
    --------
    >>> from clems import MOPLMS
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = MOPLMS(n_components=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.codes_.shape
    ((100, 10), (200, 5))
    """

    profile = Profile(
        "reduction",
        "squared error with a penalty on rows of weights",
        "K³ per step, F",
        "K²",
    )

    def __init__(
        self,
        cost: AnyCost | None = None,
        *,
        n_components: int | float | None = None,
        l1: float = 0.0,
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
        self.l1 = l1
        self.threshold = threshold
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:  # noqa: ARG002
        size = min(check_components(self.n_components, Y.shape[1]), Y.shape[1])
        l1 = check_number(self.l1, "l1")
        labels, self._offset = without_constant(Y)
        scaled = scaled_rows(labels, weight)
        products = (scaled.T @ scaled).toarray()
        self.labels_ = choose_landmarks(products, size, l1 * products.diagonal().max())
        self.components_ = from_columns(products, self.labels_)
        kept = kept_in_turn(products[np.ix_(self.labels_, self.labels_)], products[self.labels_])
        self.explained_variance_ratio_ = shares(kept, products.trace())
        return np.asarray(labels[:, self.labels_].toarray())
