"""CLEMS: cost-sensitive label embedding with multidimensional scaling."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from copy import copy
from difflib import get_close_matches
from functools import partial
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.validation import check_is_fitted

from clems.candidates import choose_candidates
from clems.cost import Cost
from clems.counts import Floats, Labels, as_dense
from clems.criteria import Criterion, get_criterion
from clems.decoding import (
    DECODERS,
    LABEL_BASED,
    Posterior,
    TopK,
    dense_if_full,
    expected_costs,
    marginals_of,
    nearest,
    ranked,
    rule_for,
)
from clems.embedding import LabelEmbeddingClassifier, fit_regressor
from clems.forest import depth_of, grow_trees
from clems.posterior import (
    FOLDS,
    Seen,
    Source,
    Training,
    Weights,
    choose_shape,
    held_out_by_folds,
    preferred,
    sharpened,
    some_rows,
    source_of,
    surprise,
)
from clems.smacof import label_start, mirrored_smacof
from clems.validation import check_components, check_count

Bits = NDArray[np.uint8]
Decision = Callable[[Seen, Posterior], Bits]
THRESHOLD = "threshold"  # name of the only decoder of criteria of all rows together
EMBEDDED = "f1"  # for which labels are embedded if rows have no cost
TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {"sqrt": np.sqrt, "identity": np.positive}
ROLES = ("mirrored", "swapped")
DTYPES = ("float32", "float64", np.float32, np.float64)


class CLEMS(LabelEmbeddingClassifier):
    """Multi-label classifier trained for the cost of your choice, which decides by least expected cost.

    Label vectors are embedded so that distances are square roots of costs; a forest is grown on the embedded truths.
    The training rows that share a new row's leaves tell how probable each label vector is; the answer is the vector of
    least expected cost, exactly so for most costs. One fit serves every cost. ``decoder="nearest"`` is the algorithm of
    the paper: the prediction whose point is nearest to the predicted one.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`. Also "micro_f1" and "macro_f1", which are optimised by
        thresholds of the labels' probabilities.
    decoder : {"auto", "nearest", "expected", "exact"}, default="auto"
        How to decide. "nearest" is the paper's way. "expected" takes the least expected cost of the candidates and, for
        costs without an exact rule, of what a search from there finds. "exact" takes the least of all 2^K vectors, for
        costs that have such a rule: hamming, F-measures, rank, composition, zero_one, prices. "auto" takes "exact", or
        "expected" for costs without such a rule, unless another costs less on held-out rows by more than a standard
        error.
    depths : sequence of int or None, default=None
        Depths of trees to choose from, on held-out rows. None does not choose: trees end where they end, which has
        mostly been the better, as sharpness makes up for leaves of few rows.
    sharpness : "auto" or float, default="auto"
        Power to which probabilities of label vectors are raised: forests mix too many rows into a leaf, so that what
        they say is too smooth. "auto" chooses on held-out rows, 1 leaves probabilities as they are.
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
        dimensions, :func:`clems.forest.grow_trees`. Probabilities come from the leaves of trees and forests, from the
        neighbours of KNeighborsRegressor, and else from distances in the embedded space. Held-out rows are those out of
        a tree's bag; a regressor without bags is trained three more times, each time on two thirds of the rows, unless
        the decoder is "nearest".
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    max_iter : int, default=500
        Most steps of the embedding.
    tol : float, default=1e-2
        The embedding stops when five steps lower its stress by less than this share.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the embedding; single takes half the time and memory.
    n_jobs : int, default=None
        Parallel jobs of the default forest, of reading leaves, or of the fits of a single-output regressor.
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
    codes_ : ndarray of shape (n, M)
        Points of the training rows.
    reconstruction_error_ : float
        Share of the training rows' label entries that come out wrong when the nearest candidate of a row's own point is
        taken.
    cost_ : Cost
        The cost trained for; with "micro_f1" and "macro_f1" the one that labels are embedded for.
    decoder_ : str
        How it decides.
    depth_ : int or None
        Depth at which trees end; None if they end where they end, or if there are no trees.
    sharpness_ : float
        Power to which probabilities are raised.
    oob_cost_ : float
        Mean cost of its decisions for training rows, by what has not seen them; nan if there are no such rows.
    oob_costs_ : dict
        The same for every decoder that was compared.
    estimator_ : estimator
        Fitted regressor; the default forest is a list of trees.
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
    cost_at_fit = True
    cost_at_predict = True
    label_based = True

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        decoder: str = "auto",
        depths: Sequence[int] | None = None,
        sharpness: str | float = "auto",
        n_components: int | float | None = None,
        cost_transform: str | Callable[[Floats], Floats] = "sqrt",
        candidates: Any = "observed",
        roles: str = "mirrored",
        estimator: Any = None,
        n_trees: int = 100,
        max_iter: int = 500,
        tol: float = 1e-2,
        dtype: Any = "float64",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.decoder = decoder
        self.depths = depths
        self.sharpness = sharpness
        self.n_components = n_components
        self.cost_transform = cost_transform
        self.candidates = candidates
        self.roles = roles
        self.estimator = estimator
        self.n_trees = n_trees
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any, cost: Any = None) -> Any:
        """Predict the labels of new rows.

        Rows are handled in blocks: beyond the result, memory does not grow with their number.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        cost : str, Cost or callable, default=None
            Decide for this cost rather than for the model's own: exactly if the cost has a rule for that, else by the
            least expected cost. "micro_f1" and "macro_f1" go too.

        Returns
        -------
        ndarray or CSR array of shape (n, K)
            Zeros and ones, of the type of the labels in training and sparse if they were; columns as in `classes_`.
        """
        if cost is None:
            return super().predict(X)
        check_is_fitted(self)
        decide = self._decision(cost)
        return self._labels_by_blocks(lambda block: decide(*self._look(block)), X)

    def predict_proba(self, X: Any) -> Floats:
        """Predict how probable each label is, whatever the others are.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n, K)
        """
        return np.concatenate([*self._by_blocks(lambda block: self._look(block)[1].marginals, X)])

    def expected_cost(self, X: Any, cost: Any = None) -> Floats:
        """Tell what the prediction for each row is expected to cost.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        cost : str, Cost or callable, default=None
            A cost other than the model's own, as in `predict`.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        meant, decide = self._row_cost(cost), self._decision(cost)

        def answer(block: Any) -> Floats:
            seen, posterior = self._look(block)
            return expected_costs(meant, posterior, decide(seen, posterior))

        return np.concatenate([*self._by_blocks(answer, X)])

    def top_k(self, X: Any, k: int, cost: Any = None) -> TopK:
        """List label vectors for each row: the prediction, then the candidates of least expected cost.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        k : int
            How many; at most as many as there are candidates.
        cost : str, Cost or callable, default=None
            A cost other than the model's own, as in `predict`.

        Returns
        -------
        TopK
            `labels` of shape (n, k, K), and `probability` and `expected_cost` of shape (n, k).
        """
        check_is_fitted(self)
        k = check_count(k, "k", most=len(self.candidates_))
        meant, decide = self._row_cost(cost), self._decision(cost)

        def answer(block: Any) -> TopK:
            seen, posterior = self._look(block)
            return ranked(meant, posterior, decide(seen, posterior), k)

        return TopK(*map(np.concatenate, zip(*self._by_blocks(answer, X), strict=True)))

    def at_depth(self, depth: int | None) -> Self:
        """Return the model as it is with trees that end at another depth, without training anew.

        Parameters
        ----------
        depth : int or None
            The depth; None is the full one. Sharpness, decoder and thresholds stay as they are.

        Returns
        -------
        CLEMS
            A fitted model that shares its trees with this one.
        """
        check_is_fitted(self)
        if not hasattr(self._see, "at_depth"):
            raise ValueError(f"at_depth needs trees, which {type(self.estimator).__name__} does not have.")
        other = copy(self)
        other.depth_ = None if depth is None else check_count(depth, "depth")
        other._see = self._see.at_depth(other.depth_)
        other.oob_cost_, other.oob_costs_ = np.nan, dict.fromkeys(self.oob_costs_, np.nan)
        return other

    def with_decoder(self, decoder: str) -> Self:
        """Return the model as it is with another way to decide, without training anew.

        Parameters
        ----------
        decoder : {"nearest", "expected", "exact"}
            The way, as in the parameter of that name; depth and sharpness stay as they are.

        Returns
        -------
        CLEMS
            A fitted model that shares all else with this one; trained for "micro_f1" or "macro_f1", it decides for
            `cost_`.
        """
        check_is_fitted(self)
        if decoder not in DECODERS:
            raise ValueError(f"decoder must be one of {', '.join(map(repr, DECODERS))}; got {decoder!r}.")
        if decoder == "exact" and not rule_for(self.cost_).exact:
            raise ValueError(
                f"decoder='exact' needs a cost with an exact rule, which {self.cost_.name!r} has not; try 'expected'."
            )
        other = copy(self)
        other.decoder_, other._own_label_based = decoder, None
        other.oob_cost_ = float(self.oob_costs_.get(decoder, np.nan))
        return other

    @property
    def depth_path(self) -> bool:  # type: ignore[override]
        """Whether the depth of its trees is for you to choose: if it decodes as the paper does, without sharpness."""
        return self.depths is None and self.decoder == "nearest"

    def get_depth(self) -> int:
        """Return the depth to which its deepest tree was grown; 0 if it has no trees."""
        check_is_fitted(self)
        return max(map(depth_of, self.estimator_ if self.estimator is None else [self.estimator_]))

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

    @property
    def codes_(self) -> Floats:  # type: ignore[override]
        """Points of the training rows, shape (n, M): those that the regressor is trained on."""
        return self._learned[self.candidates_.index]

    def _fit_encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:  # noqa: ARG002
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
        self._learned, self._decoded = roles if self.roles == "mirrored" else roles[::-1]
        return self._learned[candidates.index]

    def _decode(self, Z: Floats) -> Bits:
        return self.candidates_.labels[nearest(Z, self._decoded)]

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        if self.decoder not in ("auto", *DECODERS):
            names = ", ".join(map(repr, ("auto", *DECODERS)))
            raise ValueError(f"decoder must be one of {names}; got {self.decoder!r}.")
        self._own_label_based = label_based(self.cost)
        if self._own_label_based and self.decoder != "auto":
            raise ValueError(
                f"cost={self.cost!r} is decided by thresholds; decoder must be 'auto', got {self.decoder!r}."
            )
        if self.decoder == "exact" and not rule_for(self.cost_).exact:
            raise ValueError(
                f"decoder='exact' needs a cost with an exact rule, which {self.cost_.name!r} has not; try 'expected'."
            )
        depths, sharpness = self._checked_depths(), self._checked_sharpness()
        regressor = None if self.estimator is None else self._regressor(random_state)
        self._fit_encode(X, Y, weight, random_state)
        lost = as_dense(Y) != self._decode(self._learned)[self.candidates_.index]
        self.reconstruction_error_ = float(np.average(lost.mean(axis=1), weights=weight))
        start = perf_counter()
        source = self._source(X, weight, depths, random_state, regressor)
        name = "trees" if regressor is None else type(regressor).__name__
        self._say(f"regressor: {name} in {perf_counter() - start:.1f} s")
        start = perf_counter()
        self._choose(source, Y, weight, sharpness)
        self._say(
            f"decoder {self.decoder_}, depth {self.depth_}, sharpness {self.sharpness_:g}, held-out cost "
            f"{self.oob_cost_:.4g} in {perf_counter() - start:.1f} s"
        )

    def _source(
        self, X: Any, weight: Weights, depths: list[int | None], random_state: np.random.RandomState, regressor: Any
    ) -> Source:
        """Train the regressor, and find out where probabilities come from and what they are for held-out rows."""
        candidates = self.candidates_
        training = Training(X, candidates.index, weight, self._learned, candidates.frequency)
        rows = some_rows(len(candidates.index), random_state)
        if regressor is None:
            trees = grow_trees(
                X,
                [self._learned, self._label_targets()],
                candidates.index,
                weight,
                random_state,
                max_depth=depths[-1],
                n_trees=self.n_trees,
                n_jobs=self.n_jobs,
            )
            self.estimator_ = trees.trees
            return source_of(trees, training, depths, rows, self.n_jobs)

        def fit(training: Training) -> Any:
            return fit_regressor(clone(regressor), training.X, self._learned[training.groups], training.weight)

        self.estimator_ = fit(training)
        source = source_of(self.estimator_, training, depths, rows, self.n_jobs)
        few = len(rows) < FOLDS or isinstance(regressor, KNeighborsRegressor)  # fewer rows than neighbours
        if len(source.rows) or self.decoder == "nearest" or few:
            return source
        return held_out_by_folds(source, fit, training, depths, rows, random_state)

    def _label_targets(self) -> Floats:
        """Labels of the candidates; of one variance for macro F1, to which rare labels matter as much as others."""
        labels = self.candidates_.labels.astype(np.float64)
        if self._own_label_based != "macro_f1":
            return labels
        share = np.average(labels, axis=0, weights=self.candidates_.frequency)
        varies = (share > 0) & (share < 1)
        return labels / np.sqrt(share * (1 - share), where=varies, out=np.ones_like(share))

    def _choose(self, source: Source, Y: Labels, weight: Weights, sharpness: float | None) -> None:
        """Choose depth, sharpness and decoder by held-out rows."""
        exact = rule_for(self.cost_).exact
        names = [name for name in DECODERS if exact or name != "exact"] if self.decoder == "auto" else [self.decoder]
        names = [THRESHOLD] if self._own_label_based else names
        option, self.sharpness_, self.decoder_ = source.usual, sharpness or 1.0, names[-1]
        self.oob_costs_ = dict.fromkeys(names, np.nan)
        self._thresholds = dict.fromkeys(LABEL_BASED, np.array([0.5]))
        if len(source.rows):
            truth = as_dense(Y[source.rows])
            weight = None if weight is None else weight[source.rows]

            def surprises(seen: Seen, sharpness: float) -> Floats:
                return surprise(sharpened(seen.share, sharpness), self.candidates_.labels, truth)

            def costs(seen: Seen, sharpness: float) -> Floats:
                decide = self._decision(None, quickly=True)
                return self.cost_.rowwise(truth, decide(seen, self._posterior(seen, sharpness, quickly=True)))

            option, self.sharpness_, seen = choose_shape(
                source, surprises, None if self._own_label_based else costs, weight, sharpness
            )
            posterior = self._posterior(seen, self.sharpness_)
            self._thresholds = {name: find(posterior.marginals, weight) for name, find in LABEL_BASED.items()}
            if self._own_label_based:
                value = self._criterion()(truth, self._decision(None)(seen, posterior), weight)
                self.oob_costs_[THRESHOLD] = 1 - value
            else:
                decided = {name: self._decide(name, self.cost_, seen, posterior) for name in names}
                by_row = {name: self.cost_.rowwise(truth, predicted) for name, predicted in decided.items()}
                self.oob_costs_ = {name: float(np.average(own, weights=weight)) for name, own in by_row.items()}
                self.decoder_ = preferred(by_row, names[-1], weight)
        self.oob_cost_ = float(self.oob_costs_[self.decoder_])
        self.depth_ = option if isinstance(option, int) else None
        self._see = source.at(option)

    def _predict(self, X: Any) -> Bits:
        return self._decision(None)(*self._look(X))

    def _look(self, X: Any) -> tuple[Seen, Posterior]:
        seen = self._see(X, self.n_jobs)
        return seen, self._posterior(seen, self.sharpness_)

    def _posterior(self, seen: Seen, sharpness: float, *, quickly: bool = False) -> Posterior:
        share, labels = sharpened(seen.share, sharpness), self.candidates_.labels
        return Posterior(labels, share, marginals_of(dense_if_full(share) if quickly else share, labels), share.data)

    def _decision(self, cost: Any, *, quickly: bool = False) -> Decision:
        """How to decide for another cost, or for the model's own."""
        name = self._own_label_based if cost is None else label_based(cost)
        if name is not None:
            return partial(self._above, name)
        if cost is None:
            return partial(self._decide, self.decoder_, self.cost_, quickly=quickly)
        other = self._checked_cost(cost)
        return partial(self._decide, "exact" if rule_for(other).exact else "expected", other)

    def _decide(self, name: str, cost: Cost, seen: Seen, posterior: Posterior, *, quickly: bool = False) -> Bits:
        if name == "nearest":
            return self._decode(seen.points)
        return np.asarray(DECODERS[name](cost, posterior, quickly=quickly))

    def _above(self, name: str, seen: Seen, posterior: Posterior) -> Bits:  # noqa: ARG002
        return (posterior.marginals > self._thresholds[name]).astype(np.uint8)

    def _row_cost(self, cost: Any) -> Cost:
        name = self._own_label_based if cost is None else label_based(cost)
        if name is not None:
            raise ValueError(f"{name} is no cost of single rows; name one that is, such as cost='f1'.")
        return self.cost_ if cost is None else self._checked_cost(cost)

    def _checked_cost(self, cost: Any) -> Cost:
        if label_based(cost):
            return super()._checked_cost(EMBEDDED)
        if isinstance(cost, str) and (close := get_close_matches(cost, LABEL_BASED, n=1, cutoff=0.8)):
            raise ValueError(f"Unknown cost {cost!r}; did you mean {close[0]!r}?")
        return super()._checked_cost(cost)

    def _criterion(self) -> Criterion:
        return get_criterion(self._own_label_based or self.cost_)

    def _checked_depths(self) -> list[int | None]:
        if self.depths is None:
            return [None]
        depths = sorted({check_count(depth, "each of depths") for depth in np.atleast_1d(self.depths).tolist()})
        if not depths:
            raise ValueError("depths must hold at least one depth, or be None for no limit; got none.")
        return [*depths]

    def _checked_sharpness(self) -> float | None:
        if isinstance(self.sharpness, str) and self.sharpness == "auto":
            return None
        given = self.sharpness
        is_number = isinstance(given, numbers.Real) and not isinstance(given, (bool, np.bool_))
        if not is_number or not 0 < float(given) < np.inf:
            raise ValueError(f"sharpness must be 'auto' or a number above 0; got {given!r}.")
        return float(given)

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


def label_based(cost: Any) -> str | None:
    """Name of a criterion of all rows together, if it is one."""
    return cost if isinstance(cost, str) and cost in LABEL_BASED else None
