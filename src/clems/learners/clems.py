"""CLEMS: cost-sensitive label embedding with multidimensional scaling."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from clems.candidates import choose_candidates
from clems.cost import Cost
from clems.counts import Floats, Labels
from clems.decoding import nearest
from clems.embedding import LabelEmbeddingClassifier
from clems.smacof import label_start, mirrored_smacof
from clems.validation import check_components

TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {"sqrt": np.sqrt, "identity": np.positive}
ROLES = ("mirrored", "swapped")
DTYPES = ("float32", "float64", np.float32, np.float64)


class CLEMS(LabelEmbeddingClassifier):
    """Multi-label classifier trained for the cost of your choice.

    Label vectors are embedded so that distances are square roots of costs; a regressor learns to predict the embedded
    point of a row's truth, and the nearest embedded prediction is the answer.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K.
    cost_transform : {"sqrt", "identity"} or callable, default="sqrt"
        Increasing function from costs to distances. The square root is what makes nearest-neighbour decoding minimise
        the expected cost.
    candidates : "observed", pair or array-like of shape (L, K), default="observed"
        Label vectors that may be predicted: those seen in training; a part of them, ``("subsample", size)``; these and
        random others, ``("augment", size)``, or given others, ``("extend", vectors)``; or just the rows of an array. A
        size is a number, or a share of the observed vectors as a float.
    roles : {"mirrored", "swapped"}, default="mirrored"
        "mirrored" regresses to the truth role and decodes among the prediction role. "swapped" does the opposite, as
        the paper's text has it: clearly worse for asymmetric costs, and here for comparison only.
    estimator : estimator, default=None
        Any scikit-learn regressor; one with a single output is fitted once per dimension. None is one forest for all
        dimensions, :func:`clems.forest.default_forest`.
    max_iter : int, default=500
        Most steps of the embedding.
    tol : float, default=1e-4
        The embedding stops when five steps lower its stress by less than this share.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the embedding; single takes half the time and memory.
    n_jobs : int, default=None
        Parallel jobs of the default forest, or of the fits of a single-output regressor.
    random_state : int, RandomState or None, default=None
        Seed of the embedding's start, of random candidates, and of the estimator where it has none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    candidates_ : CandidateSet
        `labels` (L, K), `frequency` (L,) and, for each training row, `index`.
    embedding_ : Embedding
        `truth` and `prediction` points (L, M), `stress` (0 is perfect, 1 is a single point), `n_iter`, `converged`,
        `history`.
    cost_ : Cost
        The cost trained for.
    estimator_ : estimator
        Fitted regressor.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_iter_ : int
        Steps of the embedding.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    References
    ----------
    Huang & Lin (2017), Cost-sensitive label embedding for multi-label classification, Machine Learning 106.

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CLEMS(cost="f1", random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape
    (100, 10)
    """

    cost_sensitive = True

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        n_components: int | float | None = None,
        cost_transform: str | Callable[[Floats], Floats] = "sqrt",
        candidates: Any = "observed",
        roles: str = "mirrored",
        estimator: Any = None,
        max_iter: int = 500,
        tol: float = 1e-4,
        dtype: Any = "float64",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_components = n_components
        self.cost_transform = cost_transform
        self.candidates = candidates
        self.roles = roles
        self.estimator = estimator
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def embedding_error(self) -> Floats:
        """Squared difference of distance and transformed cost for every pair of candidates.

        Returns
        -------
        ndarray of shape (L, L)
            Rows are truths, columns predictions, both in the order of ``candidates_.labels``.
        """
        check_is_fitted(self)
        wanted = self._dissimilarity()
        distance = euclidean_distances(self.embedding_.truth, self.embedding_.prediction)
        return np.asarray((distance - wanted) ** 2)

    def _fit_encode(self, Y: Labels, weight: NDArray[np.float64] | None, random_state: np.random.RandomState) -> Floats:
        if self.roles not in ROLES:
            raise ValueError(f"roles must be one of {', '.join(map(repr, ROLES))}; got {self.roles!r}.")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype must be 'float32' or 'float64'; got {self.dtype!r}.")
        self._fitted_transform, self._fitted_dtype = self._transform(), np.dtype(self.dtype)
        size = check_components(self.n_components, Y.shape[1])
        start = perf_counter()
        self.candidates_ = candidates = choose_candidates(Y, self.candidates, self.cost_, random_state, weight)
        dissimilarity = self._dissimilarity()
        self.embedding_ = embedding = mirrored_smacof(
            dissimilarity,
            label_start(candidates.labels, size, random_state),
            candidates.weight,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.n_iter_ = embedding.n_iter
        self._say(
            f"embedding: {len(candidates)} label vectors in {size} dimensions, "
            f"stress {embedding.stress:.2g} after {embedding.n_iter} steps in {perf_counter() - start:.1f} s"
        )
        roles = embedding.truth, embedding.prediction
        learned, self._decoded = roles if self.roles == "mirrored" else roles[::-1]
        return learned[candidates.index]

    def _decode(self, Z: Floats) -> NDArray[np.uint8]:
        return self.candidates_.labels[nearest(Z, self._decoded)]

    def _transform(self) -> Callable[[Floats], Floats]:
        if callable(self.cost_transform):
            return self.cost_transform
        if not isinstance(self.cost_transform, str) or self.cost_transform not in TRANSFORMS:
            names = ", ".join(map(repr, TRANSFORMS))
            raise ValueError(f"cost_transform must be one of {names} or a function; got {self.cost_transform!r}.")
        return TRANSFORMS[self.cost_transform]

    def _dissimilarity(self) -> Floats:
        """Transform the costs of all pairs of candidates, truth in rows."""
        labels, dtype = self.candidates_.labels, self._fitted_dtype
        costs = self.cost_.pairwise(labels, labels, dtype=dtype)
        dissimilarity = np.asarray(self._fitted_transform(costs), dtype)
        if dissimilarity.shape != costs.shape or not (dissimilarity.min() >= 0 and dissimilarity.max() < np.inf):
            raise ValueError(
                "cost_transform must turn an array of costs into finite distances of at least 0, one for one."
            )
        return dissimilarity
