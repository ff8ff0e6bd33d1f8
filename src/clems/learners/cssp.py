"""CSSP: column subset selection, a few labels from which all others follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_components
from clems.embedding.column_subset import draw_columns, from_columns
from clems.embedding.ridge import scaled_rows
from clems.embedding.spectral import leading_directions
from clems.learners.base import Profile
from clems.learners.by_linear_code import LinearEmbedding, kept_in_turn, shares, without_constant
from clems.learners.by_threshold import AnyCost

SAMPLINGS = ("determinantal", "leverage")


class CSSP(LinearEmbedding):
    """Column subset selection: a few labels are learned, and all others follow from them by least squares.

    As many labels as there are dimensions are drawn at random, with probabilities given by their leverage, that is,
    their part in the leading singular vectors of the label matrix. A code is the row's values of these labels, so a
    regressor learns labels and not mixtures of them. The least-squares map C⁺Y turns its predictions into values for
    all labels, and a label is predicted if its value exceeds a threshold.

    Parameters
    ----------
    cost : str, Cost or callable, default=None
        What the threshold is chosen for: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a
        function of truths and predictions, see :func:`clems.get_cost`. None is no cost, or F1 with
        ``threshold="auto"``.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K. There
        are no more than the rank of the labels, so more counts as that.
    sampling : {"determinantal", "leverage"}, default="determinantal"
        How labels are drawn. "leverage" draws one after the other by leverage alone, as published. "determinantal"
        draws them together, each still with the probability of its leverage, but never two that say the same.
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
        Seed of the draw of labels, and of the estimator where it has none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    components_ : ndarray of shape (M, K)
        What a unit of each learned label adds to each label.
    labels_ : ndarray of shape (M,)
        Columns of the labels that are learned.
    leverage_ : ndarray of shape (K,)
        Probability with which each label was drawn.
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
    Learned labels come out of least squares as they are unless some say the same, so at M = K nothing is lost. For
    "determinantal" the expected squared error of the labels is at most 1 + M (K − M) times the least of any code of M
    dimensions; for "leverage" there is no such bound: of two pairs of equal labels it draws one pair with positive
    probability and loses the other. A label that all rows have is not embedded but always predicted.

    References
    ----------
    Bi & Kwok (2013), Efficient multi-label classification with many labels, ICML 30. The determinantal draw and its
    bound: Belhadji, Bardenet & Chainais (2020), A determinantal point process for column subset selection, Journal of
    Machine Learning Research 21.

    Examples
    --------
    >>> from clems import CSSP
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CSSP(n_components=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.codes_.shape
    ((100, 10), (200, 5))
    """

    profile = Profile(
        "reduction",
        "leverage of the labels drawn",
        "n s² + K³, F",
        "K²",
    )

    def __init__(
        self,
        cost: AnyCost | None = None,
        *,
        n_components: int | float | None = None,
        sampling: str = "determinantal",
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
        self.sampling = sampling
        self.threshold = threshold
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:  # noqa: ARG002
        size = min(check_components(self.n_components, Y.shape[1]), Y.shape[1])
        if self.sampling not in SAMPLINGS:
            raise ValueError(f"sampling must be one of {', '.join(map(repr, SAMPLINGS))}; got {self.sampling!r}.")
        labels, self._offset = without_constant(Y)
        scaled = scaled_rows(labels, weight)
        products = (scaled.T @ scaled).toarray()
        rank = int(np.linalg.matrix_rank(products, hermitian=True)) or 1
        directions = leading_directions(products, min(size, rank))
        self.leverage_ = (directions**2).sum(axis=0)
        self.labels_ = draw_columns(directions, random_state, repel=self.sampling == "determinantal")
        self.components_ = from_columns(products, self.labels_)
        kept = kept_in_turn(products[np.ix_(self.labels_, self.labels_)], products[self.labels_])
        self.explained_variance_ratio_ = shares(kept, products.trace())
        return np.asarray(labels[:, self.labels_].toarray())
