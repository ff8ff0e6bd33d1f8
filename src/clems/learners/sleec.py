"""SLEEC: sparse local embeddings, decoded by the labels of near points and a threshold for the cost.

The map of the module: `_fit` calls `_encode` (clusters of rows, codes for the labels of each), fits a regressor in each
cluster and chooses the threshold; `_scores` is prediction; clusters are found by the functions below.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from clems.arrays import Bits, Floats, Integers, Labels, Weights
from clems.checks import check_components, check_count
from clems.costs.cost import Cost
from clems.decisions.score_threshold import above, best_threshold
from clems.embedding.factorisation import factorise
from clems.embedding.neighbours import neighbour_scores
from clems.embedding.ridge import REACH, doubled, exponent_of
from clems.labels.distinct import distinct_rows
from clems.learners.base import MultiLabelClassifier, Profile, new_seed
from clems.learners.regression import fit_regressor, make_regressor, predict_codes
from clems.model_selection import held_out

ROWS = 6000  # of a cluster, about
SINGLE_REACH = 50  # as REACH, for features in single precision


class SLEEC(MultiLabelClassifier):
    """Sparse local embeddings: points that preserve inner products of nearby label vectors, and a threshold.

    Rows are clustered by their features. In each cluster, label vectors are embedded so that the inner products of
    neighbours are preserved, and a regressor learns to map features to points. The score of a label is its share among
    the training rows whose predicted points are nearest. A label is predicted if its score exceeds a threshold, which
    is the same for all labels and has the least cost on the training rows. Nothing else depends on the cost, so one fit
    serves every cost.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K. A
        cluster uses at most as many as it has labels and distinct label vectors; more would be zero.
    n_neighbors : int, default=20
        How many training rows decide; a sample weight of 2 counts as two of them.
    n_graph_neighbors : int, default=15
        With how many others the inner products of a label vector are to be kept.
    n_clusters : int or None, default=None
        Into how many clusters rows are divided; None is one for each 6000 of them.
    n_folds : int or None, default=2
        The threshold is chosen by scores of training rows. Each row's point is predicted by a regressor trained on
        other parts, out of so many, and the row is not its own neighbour. None saves the time: the points are those
        that the regressor predicts for rows that it knows, which forests predict far better than new ones.
    max_iter : int, default=100
        Most steps of the factorisation.
    tol : float, default=1e-2
        The factorisation stops when a step lowers its error by less than this share.
    estimator : estimator, default=None
        Any scikit-learn regressor; one with a single output is fitted once per dimension. None is one forest for all
        dimensions, :func:`clems.trees.growing.default_forest`.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        Parallel jobs of the default forest, or of the fits of a single-output regressor.
    random_state : int, RandomState or None, default=None
        Seed of clusters and parts, and of the estimator where it has none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    codes_ : ndarray of shape (n, M)
        Codes of the training rows; those of different clusters have nothing to do with each other.
    label_codes_ : list of ndarray of shape (L, M)
        For each cluster, the codes of its distinct label vectors.
    labels_ : list of CSR array of shape (L, K)
        For each cluster, these label vectors.
    frequencies_ : list of ndarray of shape (L,)
        For each cluster, how many rows have each of them, or the sum of their weights.
    points_ : list of ndarray of shape (n, M)
        For each cluster, the points that the regressor predicts for its training rows: those among which the nearest
        are searched.
    centers_ : ndarray of shape (C, d)
        Centres of the clusters.
    estimators_ : list
        Fitted regressors, one for each cluster.
    n_iter_ : int
        How often the error of the factorisation was computed, the start and each step; the most of any cluster.
    histories_ : list of ndarray
        For each cluster, the error of the factorisation at the start and after each step: the share of the squared
        inner products of neighbours that is not kept.
    explained_share_ : float
        Share of these squares that is kept, over all clusters.
    threshold_ : float
        Score above which a label is predicted.
    reconstruction_error_ : float
        Share of the entries of the training labels that are wrong when codes are decoded by the nearest codes.
    cost_ : Cost
        The cost decided for.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    References
    ----------
    Bhatia, Jain, Kar, Varma & Jain (2015), Sparse local embeddings for extreme multi-label classification, NeurIPS.
    The threshold is that of Huang & Lin (2017), Cost-sensitive label embedding for multi-label classification, Machine
    Learning 106.

    Examples
    --------
    >>> from clems import SLEEC
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = SLEEC(cost="f1", random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.predict(X[200:], cost="rank").shape
    ((100, 10), (100, 10))
    """

    predictor = "regressor"
    takes_gaps = False  # it computes with features itself
    cost_sensitive = True
    cost_at_predict = True

    profile = Profile(
        "reduction",
        "inner products of near label vectors",
        "L² s + L M² per step, 3 F",
        "n M",
    )

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        n_components: int | float | None = None,
        n_neighbors: int = 20,
        n_graph_neighbors: int = 15,
        n_clusters: int | None = None,
        n_folds: int | None = 2,
        max_iter: int = 100,
        tol: float = 1e-2,
        estimator: Any = None,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_graph_neighbors = n_graph_neighbors
        self.n_clusters = n_clusters
        self.n_folds = n_folds
        self.max_iter = max_iter
        self.tol = tol
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any, cost: str | Cost | Callable[[Any, Any], Any] | None = None) -> Any:
        """Predict the labels of new rows.

        Rows are handled in blocks: beyond the result, memory does not grow with their number.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        cost : str, Cost or callable, default=None
            Use the threshold for this cost rather than for the model's own.

        Returns
        -------
        ndarray or CSR array of shape (n, K)
            Zeros and ones, of the type of the labels in training and sparse if they were; columns as in `classes_`.
        """
        if cost is None:
            return super().predict(X)
        check_is_fitted(self)
        threshold = best_threshold(self._resolved(cost).cost, *self._seen)
        return self._labels_by_blocks(lambda block: above(self._scores(block), threshold).toarray(), X)

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        n_folds = None if self.n_folds is None else check_count(self.n_folds, "n_folds", least=2)
        self._n_neighbors = check_count(self.n_neighbors, "n_neighbors")
        make_regressor(self, random_state)  # a bad one is refused before the work
        self.codes_, Y = self._encode(X, Y, weight, random_state), sparse.csr_array(Y)
        start = perf_counter()
        mass = np.ones(X.shape[0]) if weight is None else weight
        scores, self.estimators_, self.points_, self._neighbours = [], [], [], []
        for cluster, rows in enumerate(self._rows):
            local, target = X[rows], self.codes_[rows, : self.label_codes_[cluster].shape[1]]

            def fit(part: Any, local: Any = local, target: Floats = target, rows: Any = rows) -> Any:
                used = None if weight is None else weight[rows][part]
                return fit_regressor(make_regressor(self, random_state), local[part], target[part], used)

            self.estimators_.append(fit(slice(None)))
            self.points_.append(predict_codes(self.estimators_[-1], local))
            self._neighbours.append((mass[rows], Y[rows].astype(np.float64)))
            unseen = self.points_[-1].copy()
            for others, part in [] if n_folds is None else held_out(len(rows), n_folds, random_state):
                unseen[part] = predict_codes(fit(others), local[part])
            scores.append(self._scores_in(cluster, unseen, same_rows=True))
        self._say(f"regressors: {len(scores)} in {perf_counter() - start:.1f} s")
        start = perf_counter()
        # A row that is alone in its cluster has no neighbours to score it.
        order = np.concatenate([rows for rows in self._rows if len(rows) > 1] or [self._rows[0][:0]])
        together = sparse.vstack([part for part in scores if part.shape[0] > 1] or [Y[:0]], "csr")
        self._seen = Y[order], together, mass[order]
        del self._rows
        self.threshold_ = best_threshold(self.cost_, *self._seen)
        self.reconstruction_error_ = self._reconstruction_error()
        self._say(f"threshold: {self.threshold_:.3g} in {perf_counter() - start:.1f} s")

    def _encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:
        size = check_components(self.n_components, Y.shape[1])
        n_graph_neighbors = check_count(self.n_graph_neighbors, "n_graph_neighbors")
        start = perf_counter()
        self.centers_, which = clusters(X, self._number_of_clusters(X.shape[0]), weight, random_state)
        self._rows = [np.flatnonzero(which == cluster) for cluster in range(len(self.centers_))]
        self._say(f"clusters: {len(self._rows)} in {perf_counter() - start:.1f} s")
        start = perf_counter()
        codes = np.zeros((X.shape[0], min(size, Y.shape[1])))
        self.labels_, self.frequencies_, parts = [], [], []
        for rows in self._rows:
            vectors, which_vector = distinct_rows(Y[rows])
            self.labels_.append(sparse.csr_array(vectors, dtype=np.float64))
            self.frequencies_.append(
                np.bincount(which_vector, None if weight is None else weight[rows]).astype(np.float64)
            )
            part = factorise(
                self.labels_[-1],
                self.frequencies_[-1],
                size,
                random_state,
                n_neighbors=n_graph_neighbors,
                max_iter=self.max_iter,
                tol=self.tol,
            )
            codes[rows, : part.codes.shape[1]] = part.codes[which_vector]
            parts.append(part)
        self.label_codes_, self.histories_ = [part.codes for part in parts], [part.history for part in parts]
        self.n_iter_ = max(map(len, self.histories_))
        whole = sum(part.scale for part in parts)
        self.explained_share_ = 1 - sum(part.error * part.scale for part in parts) / (whole or 1)
        self._say(
            f"factorisation: {self.explained_share_:.4g} of the inner products of neighbours kept in "
            f"{perf_counter() - start:.1f} s"
        )
        return codes

    def _number_of_clusters(self, n: int) -> int:
        if self.n_clusters is None:
            return max(1, round(n / ROWS))
        return min(n, check_count(self.n_clusters, "n_clusters"))

    def _predict(self, X: Any) -> Bits:
        labels: Bits = above(self._scores(X), self.threshold_).toarray()
        return labels

    def _scores(self, X: Any) -> Any:
        """Scores of a block of checked rows, a CSR array of shape (n, K)."""
        which = nearest_centers(X, self.centers_)
        parts = [np.flatnonzero(which == cluster) for cluster in range(len(self.centers_))]
        scores = [
            self._scores_in(cluster, predict_codes(self.estimators_[cluster], X[rows]))
            for cluster, rows in enumerate(parts)
            if len(rows)
        ]
        return sparse.vstack(scores, "csr")[np.concatenate(parts).argsort()]

    def _scores_in(self, cluster: int, Z: Floats, same_rows: bool = False) -> Any:
        """Scores of points of a cluster; if they are those of its training rows, in order, no row scores itself."""
        return neighbour_scores(Z, self.points_[cluster], *self._neighbours[cluster], self._n_neighbors, same_rows)

    def _reconstruction_error(self) -> float:
        wrong, total = 0.0, 0.0
        for codes, labels, frequency in zip(self.label_codes_, self.labels_, self.frequencies_, strict=True):
            decoded = above(neighbour_scores(codes, codes, frequency, labels, self._n_neighbors), self.threshold_)
            wrong += float(frequency @ abs(labels - decoded).sum(axis=1))
            total += float(frequency.sum()) * labels.shape[1]
        return wrong / total


def clusters(X: Any, number: int, weight: Weights, random_state: np.random.RandomState) -> tuple[Floats, Integers]:
    """Centres of clusters of rows, none of them empty, and the cluster of each row."""
    if number == 1:
        return np.zeros((1, X.shape[1])), np.zeros(X.shape[0], np.intp)
    exponent = _exponent(X)
    if exponent:
        centers, which = clusters(doubled(X, exponent), number, weight, random_state)
        return doubled(centers, -exponent), which
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct rows than clusters, which is fine
        means = KMeans(number, n_init=1, random_state=new_seed(random_state)).fit(X, sample_weight=weight)
    used = np.unique(nearest_centers(X, means.cluster_centers_))
    centers = means.cluster_centers_[used]
    return centers, nearest_centers(X, centers)


def nearest_centers(X: Any, centers: Floats) -> Integers:
    """Return which centre is nearest to each row."""
    if len(centers) == 1:
        return np.zeros(X.shape[0], np.intp)
    exponent = min(_exponent(X), _exponent(centers))
    return np.asarray(pairwise_distances_argmin(doubled(X, exponent), doubled(centers, exponent)))


def _exponent(X: Any) -> int:
    """Power of two times which features have squares that neither overflow nor vanish; 0 where they do not anyway."""
    return exponent_of(X, SINGLE_REACH if X.dtype == np.float32 else REACH)
