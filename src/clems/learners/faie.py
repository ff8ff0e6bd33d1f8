"""FaIE: feature-aware implicit encoding, codes from which labels follow and which follow from features."""

from __future__ import annotations

from typing import Any

import numpy as np

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_components, check_number
from clems.embedding.implicit import implicit_codes
from clems.embedding.ridge import ridge_smoother, scaled_rows, sum_of_squares
from clems.labels.matrix import as_dense
from clems.learners.base import Profile
from clems.learners.by_linear_code import LinearEmbedding, shares, without_constant
from clems.learners.by_threshold import AnyCost, above_threshold
from clems.posterior.chains import row_offsets

GRID = (0.0, 0.01, 0.1, 1.0)  # values of alpha to choose from, in units of the mean eigenvalue of the labels
ROWS = 1500  # about how many rows they are compared on
HELD_OUT = 1 / 3  # share of these that is predicted


class FaIE(LinearEmbedding):
    """Feature-aware implicit encoding: orthogonal codes that features predict and from which labels can be decoded.

    Codes are the leading eigenvectors of ``Y Yᵀ + alpha · H``, where H maps targets to the fitted values of a ridge
    regression on the features. The first term asks that labels be a linear function of the codes, the second that codes
    be a linear function of the features. Labels are decoded by least squares and predicted if the value exceeds ½.
    Costs are not used in the embedding.

    Parameters
    ----------
    cost : str, Cost or callable, default=None
        What the threshold is chosen for: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a
        function of truths and predictions, see :func:`clems.get_cost`. None is no cost, or F1 with
        ``threshold="auto"``.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K. If
        fewer dimensions have anything to do with labels, these are all: with ``alpha=0`` the rank of the labels, never
        more than there are rows.
    alpha : "auto" or float, default="auto"
        How much it counts that codes follow from features. "auto" chooses among 0, 0.01, 0.1 and 1 times the mean
        eigenvalue of the labels' inner products: ridge regression to the codes is trained on two thirds of the rows, of
        some of them if they are many, and the least Hamming loss on the others decides, for the learner knows no cost.
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
        Seed of the choice of alpha, and of the estimator where it has none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    alpha_ : float
        The value used.
    components_ : ndarray of shape (M, K)
        Map from codes to labels; the first of the largest entries of each row is positive.
    n_components_ : int
        Number of codes.
    explained_variance_ratio_ : ndarray of shape (M,)
        Share of the labels' sum of squares that each code keeps. It is not taken about the mean, and labels that all
        rows have are left out.
    codes_ : ndarray of shape (n, M)
        Codes of the training rows, of mean square 1 and uncorrelated, in the order of eigenvalues.
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
    The paper has codes of length 1; here each has a mean square of 1, so that a regressor sees the same numbers however
    many rows there are. A label that all rows have is not embedded but always predicted.

    References
    ----------
    Lin, Ding, Hu & Wang (2014), Multi-label classification via feature-aware implicit label space encoding, ICML 31.

    Examples
    --------
    >>> from clems import FaIE
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = FaIE(n_components=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.codes_.shape
    ((100, 10), (200, 5))
    """

    takes_gaps = False  # it computes with features itself

    profile = Profile(
        "reduction",
        "labels from codes and codes from features",
        "n d min(n, d) + n K M, F",
        "d² or n², n M",
    )

    def __init__(
        self,
        cost: AnyCost | None = None,
        *,
        n_components: int | float | None = None,
        alpha: str | float = "auto",
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
        self.alpha = alpha
        self.ridge = ridge
        self.threshold = threshold
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:
        size, ridge = check_components(self.n_components, Y.shape[1]), check_number(self.ridge, "ridge")
        auto = isinstance(self.alpha, str) and self.alpha == "auto"
        share = None if auto else check_number(self.alpha, "alpha", "'auto' or ")
        labels, self._offset = without_constant(Y)
        if share is None:
            share = choose_alpha(X, labels, weight, size, ridge, random_state) * mean_eigenvalue(labels, weight)
        self.alpha_ = share
        smooth = ridge_smoother(X, weight, ridge) if share else None
        codes, self.components_ = implicit_codes(labels, weight, smooth, share, size)
        total = labels.shape[0] if weight is None else weight.sum()
        kept = total * (self.components_**2).sum(axis=1)
        self.explained_variance_ratio_ = shares(kept, sum_of_squares(scaled_rows(labels, weight)))
        return codes


def mean_eigenvalue(labels: Any, weight: Weights) -> float:
    """Mean eigenvalue of the labels' K × K inner products."""
    return sum_of_squares(scaled_rows(labels, weight)) / int(labels.shape[1])


def choose_alpha(
    X: Any,
    labels: Any,
    weight: Weights,
    size: int,
    ridge: float,
    random_state: np.random.RandomState,
) -> float:
    """Choose the value of `GRID` of least Hamming loss on held-out rows; the least of several that are equal.

    Rows are drawn by their features, so that equal rows are on the same side, and a weight of two is two rows.
    """
    seed = random_state.randint(2**31 - 1, size=1).astype(np.uint64)
    draw = row_offsets(X, seed)[:, 0] / 2**32 / min(1.0, ROWS / X.shape[0])
    held, trained = draw < HELD_OUT, (draw >= HELD_OUT) & (draw < 1)
    if not held.any() or not trained.any():
        return GRID[0]
    in_training, others = (None, None) if weight is None else (weight[trained], weight[held])
    known, truth = labels[trained], as_dense(labels[held])
    smooth = ridge_smoother(X[trained], in_training, ridge)
    losses = []
    for share in GRID:
        codes, components = implicit_codes(
            known, in_training, smooth, share * mean_eigenvalue(known, in_training), size
        )
        wrong = above_threshold(smooth.predict(X[held], codes) @ components, 0.5) != truth
        losses.append(np.average(wrong.mean(axis=1), weights=others))
    return GRID[int(np.argmin(np.round(losses, 12)))]
