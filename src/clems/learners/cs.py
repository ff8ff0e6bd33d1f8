"""CS: compressed sensing, random combinations of labels from which sparse label vectors are recovered."""

from __future__ import annotations

from typing import Any

import numpy as np

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_components, check_count
from clems.embedding.pursuit import matching_pursuit, random_code
from clems.embedding.ridge import scaled_rows
from clems.learners.base import Profile
from clems.learners.by_linear_code import LinearEmbedding, kept_in_turn, shares, without_constant
from clems.learners.by_threshold import AnyCost


class CS(LinearEmbedding):
    """Compressed sensing: random combinations of the labels are learned, and decoded to sparse label vectors.

    A code is the label vector times a random matrix. It takes few dimensions, about s · log K, to distinguish vectors
    with s labels, whatever the labels are. Predicted codes are decoded row by row: orthogonal matching pursuit selects
    the label whose column correlates most with the residual of the code, fits all labels selected so far by least
    squares, and repeats this until a row has its maximum number of labels. A label is predicted if its coefficient
    exceeds a threshold.

    Parameters
    ----------
    cost : str, Cost or callable, default=None
        What the threshold is chosen for: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a
        function of truths and predictions, see :func:`clems.get_cost`. None is no cost, or F1 with
        ``threshold="auto"``.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K. More
        than K are possible.
    n_nonzero : int or None, default=None
        Most labels of a row that the pursuit takes; None is the most that a training row has.
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
        Seed of the random matrix, and of the estimator where it has none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    components_ : ndarray of shape (M, K)
        The random matrix: codes of single labels. Columns of labels that never vary are 0.
    n_nonzero_ : int
        Most labels that the pursuit takes.
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
    The matrix is drawn uniformly from those with orthonormal rows, scaled, or orthonormal columns if M ≥ K, rather than
    with independent entries as in the paper: so at M = K nothing is lost, and below that sparse vectors are recovered
    at least as well. The pursuit is that of scikit-learn's ``orthogonal_mp``, for all rows at once. A label that all
    rows have is not embedded but always predicted.

    References
    ----------
    Hsu, Kakade, Langford & Zhang (2009), Multi-label prediction via compressed sensing, NeurIPS 22.

    Examples
    --------
    >>> from clems import CS
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CS(n_components=0.5, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.codes_.shape
    ((100, 10), (200, 5))
    """

    profile = Profile(
        "reduction",
        "nothing: a random code",
        "n s M, F; n K (M + s²) to decode",
        "n M",
    )

    def __init__(
        self,
        cost: AnyCost | None = None,
        *,
        n_components: int | float | None = None,
        n_nonzero: int | None = None,
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
        self.n_nonzero = n_nonzero
        self.threshold = threshold
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:  # noqa: ARG002
        size = check_components(self.n_components, Y.shape[1])
        labels, self._offset = without_constant(Y)
        most = int(labels.sum(axis=1).max()) or 1
        self.n_nonzero_ = most if self.n_nonzero is None else check_count(self.n_nonzero, "n_nonzero")
        varied = np.asarray(labels.sum(axis=0)) > 0
        code = self.components_ = random_code(size, Y.shape[1], random_state) * varied
        scaled = scaled_rows(labels, weight)
        products = (scaled.T @ scaled).toarray()
        kept = kept_in_turn(code @ products @ code.T, code @ products)
        self.explained_variance_ratio_ = shares(kept, products.trace())
        return np.asarray(labels @ code.T)

    def _decoded(self, Z: Floats) -> Floats:
        return matching_pursuit(Z, self.components_, self.n_nonzero_) + self._offset
