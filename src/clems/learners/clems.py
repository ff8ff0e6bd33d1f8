"""CLEMS: cost-sensitive label embedding with multidimensional scaling.

The map of the module, in the order of the paper's two boxes: `_fit` calls `_embed` (candidates, costs, points), `_grow`
or `_regress` (from features to points), `_consult` (experts) and `_choose` (depth, mixture, decoder); `_posterior` and
`_decision_by` are prediction. What is before them is asked of a fitted model, what is after them checks parameters.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from clems.arrays import Bits, Floats, Labels, Weights, row_blocks, share_of_entries
from clems.checks import check_components, check_count
from clems.costs.cost import Cost
from clems.costs.criteria import Criterion, label_criteria, mean_of
from clems.decisions.decide import DECODERS
from clems.decisions.nearest import nearest
from clems.embedding.candidates import choose_candidates
from clems.embedding.landmarks import default_components, embed_by_landmarks, number_of_landmarks
from clems.embedding.smacof import label_start, mirrored_smacof
from clems.labels.matrix import as_dense, constant_labels, dense_if_small, is_large
from clems.learners.base import Profile
from clems.learners.by_posterior import AnyCost, PosteriorClassifier
from clems.learners.cost_sensitive import as_expert
from clems.learners.memory import Size, check_memory
from clems.learners.regression import fit_regressor, make_regressor
from clems.posterior.choosing import choose
from clems.posterior.distribution import Posterior
from clems.posterior.experts import EXPERTS, FitExpert, expert_for
from clems.posterior.held_out_rows import HeldOutRows, mixture_for, paid_over_expected
from clems.posterior.mixture import LabelsApart, MixedPosterior, Mixture, evidence_of
from clems.posterior.source import (
    FOLDS,
    Settings,
    Source,
    Training,
    held_out_by_folds,
    kind_of,
    rows_to_hold_out,
    source_of,
)
from clems.trees.growing import DENSE, as_columns, grow_trees
from clems.trees.reading import depth_of

TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {"sqrt": np.sqrt, "identity": np.positive}
ROLES = ("mirrored", "swapped")
ENTRIES = 1 << 23  # shares of candidates that are computed together
DTYPES = ("auto", "float32", "float64", np.float32, np.float64)
MOST_DOUBLE = 1000  # label vectors up to which the embedding is of double precision by default


class CLEMS(PosteriorClassifier):
    """Multi-label classifier that is trained for the cost of your choice and decides by least expected cost.

    Label vectors are embedded so that distances are square roots of costs, and a forest is grown on the embedded
    truths. The training rows that share leaves with a new row give the probability of each label vector, and an expert
    for single labels, linear or with a kernel, adds its evidence if that lowers the cost of held-out rows. The
    prediction is the label vector of least expected cost, exactly so for most costs. One fit serves every cost.
    ``decoder="nearest"`` is the algorithm of the paper, which predicts the label vector whose point is nearest to the
    regressed one.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`. Also "micro_f1" and "macro_f1", which are optimised by
        thresholds of the labels' probabilities.
    decoder : {"auto", "nearest", "expected", "exact"}, default="auto"
        How to decide. "nearest" is the paper's way. "expected" takes the least expected cost of the candidates and, for
        costs without an exact rule, of what a search from there finds. "exact" takes the least of all 2^K vectors, for
        costs that have such a rule: hamming, F-measures, rank, composition, zero_one, prices; of more than 400 labels
        those that are less probable than 0.001 are left out. "auto" takes "exact", or
        "expected" for costs without such a rule, unless another costs less on held-out rows by more than a standard
        error; of more than 1,000 label vectors or 400 labels no other is tried.
    experts : "auto", None or list, default="auto"
        Models of single labels whose evidence is mixed with the forest's, see :mod:`clems.posterior.mixture`. "auto" is
        one that suits the content of the features, see :mod:`clems.posterior.experts`, beside the default forest; None
        is the forest alone. A list holds names, "linear" or "gaussian", and classifiers of scikit-learn's form, each
        of which is trained as `CostSensitiveClassifier` trains it. How much they count is chosen on held-out rows by
        the cost, and again for another cost in `predict`: nothing, unless that is better by more than a standard error.
        For costs that are decided by how probable each label is (hamming, rank, prices) labels may also be taken
        apart, and of more than 400 labels or 5,000 label vectors experts may count alone, for all costs: any vector may
        then be predicted.
        ``decoder="nearest"`` consults none.
    depths : sequence of int or None, default=None
        Depths of trees to choose from, on held-out rows. None does not choose: trees end where they end, which has
        mostly been the better, as sharpness makes up for leaves of few rows.
    sharpness : "auto" or float, default="auto"
        Power to which probabilities of label vectors are raised: forests mix too many rows into a leaf, so that what
        they say is too smooth. "auto" chooses on held-out rows, 1 leaves probabilities as they are.
    landmarks : "auto", int or None, default="auto"
        How many label vectors the solver embeds where there are more; all others are placed against these, see
        :mod:`clems.embedding.landmarks`. "auto" is 1,000 where there are more than 5,000 label vectors; None solves all
        together, in time and memory that grow with the square of their number.
    n_components : int, float or None, default=None
        Dimension of the embedded space: a number, a multiple of the number of labels K as a float, or None for K, but
        at most 256 with landmarks or of more than 1,000 labels.
    cost_transform : {"sqrt", "identity"} or callable, default="sqrt"
        Increasing function from costs to distances. The square root is what makes nearest-neighbour decoding minimise
        the expected cost.
    candidates : "observed", pair or array-like of shape (L, K), default="observed"
        Label vectors that are embedded and have a probability: those seen in training; a part of them, ``("subsample",
        size)``; these and random others, ``("augment", size)``, or given others, ``("extend", vectors)``; or just the
        rows of an array. A size is a number, or a share of the observed vectors as a float. Only
        ``decoder="nearest"`` predicts no others.
    roles : {"mirrored", "swapped"}, default="mirrored"
        "mirrored" regresses to the truth role and decodes among the prediction role. "swapped" does the opposite, as
        the paper's text has it: clearly worse for asymmetric costs, and here for comparison only.
    estimator : estimator, default=None
        Any scikit-learn regressor; one with a single output is fitted once per dimension. None is one forest for all
        dimensions, :func:`clems.trees.growing.grow_trees`. Probabilities come from the leaves of trees and forests,
        from the neighbours of KNeighborsRegressor, and else from distances in the embedded space. Held-out rows are
        those out of a tree's bag; a regressor without bags is trained three more times, each time on two thirds of the
        rows, unless the decoder is "nearest".
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    max_iter : int, default=500
        Most steps of the embedding.
    tol : float, default=1e-2
        The embedding stops when five steps lower its stress by less than this share.
    dtype : {"auto", "float64", "float32"}, default="auto"
        Precision of the embedding; single takes half the time and memory. "auto" is single for more than 1,000 label
        vectors, else double. Landmarks are always single.
    n_jobs : int, default=None
        Parallel jobs of the default forest, of reading leaves, or of the fits of a single-output regressor.
    max_memory : "auto", int, str or None, default="auto"
        Most memory that training may take beyond the data: a number of bytes, or a text such as "4 GiB". "auto" is what
        the machine, its container or ``ulimit -v`` leaves to the process. It is compared with an estimate before
        anything is embedded, see ``docs/scale.md``; None sets no limit.
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
        `history`, `landmarks`. With landmarks the stress is that of all pairs, estimated on a sample.
    codes_ : ndarray of shape (n, M)
        Points of the training rows.
    reconstruction_error_ : float
        Share of the training rows' label entries that come out wrong when the nearest candidate of a row's own point is
        taken; of 1,000 rows at random where there are landmarks.
    cost_ : Cost
        The cost trained for; with "micro_f1" and "macro_f1" the one that labels are embedded for.
    decoder_ : str
        How it decides.
    depth_ : int or None
        Depth at which trees end; None if they end where they end, or if there are no trees.
    sharpness_ : float
        Power to which probabilities of the forest are raised.
    mixture_ : Mixture
        `sharpness`, and the `weight` of experts; 0 is the forest alone. If labels are taken apart, both are powers of
        the odds of labels, and there is a `constant`; else it is None.
    mixture_costs_ : dict of Mixture to float
        Mean cost of held-out rows with each mixture that was compared, the forest alone first, labels apart last; log
        loss for "micro_f1" and "macro_f1". Empty without experts.
    experts_ : dict of str to expert
        The experts that were consulted: functions from rows to probabilities of labels.
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

    predictor = "regressor"
    cost_at_fit = True
    label_based = True

    profile = Profile(
        "expansion",
        "distances of points as costs (stress)",
        "L² M per step, F",
        "L²",
    )

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        decoder: Literal["auto", "nearest", "expected", "exact"] = "auto",
        experts: Any = "auto",
        depths: Sequence[int] | None = None,
        sharpness: str | float = "auto",
        landmarks: Literal["auto"] | int | None = "auto",
        n_components: int | float | None = None,
        cost_transform: Literal["sqrt", "identity"] | Callable[[Floats], Floats] = "sqrt",
        candidates: Any = "observed",
        roles: Literal["mirrored", "swapped"] = "mirrored",
        estimator: Any = None,
        n_trees: int = 100,
        max_iter: int = 500,
        tol: float = 1e-2,
        dtype: Any = "auto",
        n_jobs: int | None = None,
        max_memory: Literal["auto"] | int | str | None = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.decoder = decoder
        self.experts = experts
        self.depths = depths
        self.sharpness = sharpness
        self.landmarks = landmarks
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
        self.max_memory = max_memory
        self.random_state = random_state
        self.verbose = verbose

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
        if not hasattr(self._reader, "at_depth"):
            raise ValueError(f"at_depth needs trees, which {type(self.estimator).__name__} does not have.")
        other = copy(self)
        other.depth_ = None if depth is None else check_count(depth, "depth")
        other._reader = self._reader.at_depth(other.depth_)
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
        check_decoder(decoder, self.cost_)
        other = copy(self)
        other.decoder_, other.criterion_ = decoder, mean_of(self.cost_)
        if self._held_out is not None and DECODERS[decoder].among_candidates(self.cost_):
            other._held_out = self._held_out.among_candidates()
            if self.mixture_.apart:
                other.mixture_ = mixture_for(other._held_out, other.criterion_)
                other.sharpness_ = other.mixture_.sharpness
        other.oob_cost_ = float(self.oob_costs_.get(decoder, np.nan))
        return other

    @property
    def mixture_costs_(self) -> dict[Mixture, float]:
        """Mean cost of held-out rows with each mixture that was compared; empty without experts."""
        there_are = () if self._held_out is None else self._held_out.mixtures
        return {mixture: cost for mixture, cost in self._mixture_costs if mixture in there_are}

    @property
    def depth_path(self) -> bool:  # type: ignore[override]
        """Whether the depth of its trees is for you to choose: if it decodes as the paper does, without sharpness."""
        return self.depths is None and self.decoder in DECODERS and DECODERS[self.decoder].by_points

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
        wanted = self._dissimilarity(self.candidates_.labels, self.candidates_.labels)
        distance = euclidean_distances(self.embedding_.truth, self.embedding_.prediction)
        return np.asarray((distance - wanted) ** 2)

    @property
    def codes_(self) -> Floats:
        """Points of the training rows, shape (n, M): those that the regressor is trained on."""
        return self._learned[self.candidates_.index]

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        decoders, depths, sharpness = self._decoders(), self._checked_depths(), self._checked_sharpness()
        experts = self._checked_experts(X)
        regressor = None if self.estimator is None else make_regressor(self, random_state)
        consulted = () if as_in_paper(decoders) else (*experts,)
        check = partial(self._check_memory, X, Y, consulted, regressor is None)
        self._embed(Y, weight, random_state, check)
        labels, groups, frequency = self.candidates_.labels, self.candidates_.index, self.candidates_.frequency
        training = Training(X, groups, weight, labels, frequency, self._learned, self._decoded)
        settings = Settings(rows_to_hold_out(len(groups), random_state), depths, self.n_jobs)
        if regressor is None:
            source = self._grow(training, settings, as_in_paper(decoders), random_state)
        else:
            source = self._regress(regressor, training, settings, decoders, random_state)
        evidence = self._consult({} if as_in_paper(decoders) else experts, source, X, Y, weight, random_state)
        self._choose(source, Y, weight, decoders, sharpness, evidence)

    def _check_memory(
        self, X: Any, Y: Labels, experts: Sequence[str], grows: bool, L: int, M: int, landmarks: int | None
    ) -> None:
        """Refuse what takes more memory than `max_memory`, before it is done."""
        share = share_of_entries(X)
        columns = share < DENSE and (sparse.issparse(X) or not np.isnan(X).any())
        size = Size(
            n=(n := X.shape[0]),
            d=(d := X.shape[1]),
            K=Y.shape[1],
            L=L,
            M=M,
            entries=int(share * n * d) if columns else None,
            landmarks=landmarks,
            itemsize=self._fitted_dtype.itemsize,
            n_trees=self.n_trees if grows else 0,
            jobs=effective_n_jobs(self.n_jobs),
            experts=len(experts),
            linear="linear" in experts,
            sparse_labels=Y.nnz if is_large(Y) else None,
        )
        check_memory(size, self.max_memory)

    def _embed(
        self,
        Y: Labels,
        weight: Weights,
        random_state: np.random.RandomState,
        check: Callable[[int, int, int | None], None] = lambda *_: None,
    ) -> None:
        """Embed the candidates: distances from truths to predictions are transformed costs.

        `check` is asked once it is known how many label vectors, dimensions and landmarks there are.
        """
        start = perf_counter()
        if self.roles not in ROLES:
            raise ValueError(f"roles must be one of {', '.join(map(repr, ROLES))}; got {self.roles!r}.")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype must be 'auto', 'float32' or 'float64'; got {self.dtype!r}.")
        self._fitted_transform = self._transform()
        size = check_components(self.n_components, Y.shape[1])
        stops: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        self.candidates_ = candidates = choose_candidates(Y, self.candidates, self.cost_, random_state, weight)
        labels, number = candidates.labels, number_of_landmarks(self.landmarks, len(candidates))
        usual = np.float64 if len(candidates) <= MOST_DOUBLE else np.float32
        self._fitted_dtype = np.dtype(usual if isinstance(self.dtype, str) and self.dtype == "auto" else self.dtype)
        if self.n_components is None:
            size = default_components(size, number)
        check(len(candidates), size, number)
        if number is None:
            wanted, first = self._dissimilarity(labels, labels), label_start(as_dense(labels), size, random_state)
            embedding = mirrored_smacof(wanted, first, candidates.weight, **stops)
        else:
            wanted_of, own = partial(self._dissimilarity, dtype=np.float32), candidates.weight
            embedding = embed_by_landmarks(
                labels, own, wanted_of, size, number, random_state, **stops, n_jobs=self.n_jobs
            )
        self.embedding_ = embedding
        self.n_iter_ = embedding.n_iter
        roles = embedding.truth, embedding.prediction
        self._learned, self._decoded = roles if self.roles == "mirrored" else roles[::-1]
        some = slice(None) if number is None else rows_to_hold_out(len(candidates.index), random_state)
        self.reconstruction_error_ = self._entries_lost(Y, weight, some)
        self._say(
            f"embedding: {len(candidates)} label vectors in {size} dimensions, "
            f"stress {embedding.stress:.2g} after {embedding.n_iter} steps in {perf_counter() - start:.1f} s"
        )

    def _grow(self, training: Training, settings: Settings, paper: bool, random_state: np.random.RandomState) -> Source:
        """Grow trees on points and labels in turn, and make their leaves the source of posteriors."""
        start = perf_counter()
        columns = as_columns(training.X)
        trees = grow_trees(
            columns,
            [self._learned, self._label_targets(paper)],
            training.groups,
            training.weight,
            random_state,
            max_depth=settings.depths[-1],
            n_trees=self.n_trees,
            n_jobs=self.n_jobs,
            bags="bootstrap" if paper else "thirds",
        )
        self.estimator_ = trees.trees
        # Leaves are found in the same copy of the features, unless trees want sparse ones by columns.
        source = source_of(trees, training if sparse.issparse(columns) else replace(training, X=columns), settings)
        self._say(f"trees: {self.n_trees} in {perf_counter() - start:.1f} s")
        return source

    def _regress(
        self,
        regressor: Any,
        training: Training,
        settings: Settings,
        decoders: Sequence[str],
        random_state: np.random.RandomState,
    ) -> Source:
        """Fit a regressor from features to points, and make it the source of posteriors."""
        start = perf_counter()

        def fit(training: Training) -> Any:
            return fit_regressor(clone(regressor), training.X, self._learned[training.groups], training.weight)

        self.estimator_ = fit(training)
        source = source_of(self.estimator_, training, settings)
        choice = not as_in_paper(decoders)
        if not len(source.rows) and choice and len(settings.rows) >= FOLDS and kind_of(self.estimator_).by_folds:
            source = held_out_by_folds(source, fit, training, settings, random_state)
        self._say(f"regressor: {type(regressor).__name__} in {perf_counter() - start:.1f} s")
        return source

    def _consult(
        self,
        experts: dict[str, FitExpert],
        source: Source,
        X: Any,
        Y: Labels,
        weight: Weights,
        random_state: np.random.RandomState,
    ) -> Floats | None:
        """Train experts; return their evidence for the held-out rows, shape (m, K), None without any."""
        self.experts_: dict[str, Any] = {}
        rows = source.rows
        if not experts or not len(rows):
            return None
        start, labels, held_out = perf_counter(), dense_if_small(Y), []
        if not np.isnan(constant_labels(labels)).any():
            return None
        for name, fit in experts.items():
            self.experts_[name], probable = fit(X, labels, weight, rows, random_state)
            held_out.append(probable)
        n = labels.shape[0]
        counted = np.ones(n) if weight is None else weight
        share = (
            counted @ labels / counted.sum() if sparse.issparse(labels) else np.average(labels, axis=0, weights=weight)
        )
        self._label_share = np.clip(share, 0.5 / n, 1 - 0.5 / n)
        self._prior = self.candidates_.frequency / self.candidates_.frequency.sum()
        self._say(f"experts: {', '.join(experts)} in {perf_counter() - start:.1f} s")
        return evidence_of(held_out, self._label_share)

    def _choose(
        self,
        source: Source,
        Y: Labels,
        weight: Weights,
        decoders: Sequence[str],
        sharpness: float | None,
        evidence: Floats | None,
    ) -> None:
        """Choose depth, mixture and decoder on held-out rows."""
        start = perf_counter()
        truth = as_dense(Y[source.rows])
        own_weight = None if weight is None else weight[source.rows]
        frequency, own = self.candidates_.frequency, self.candidates_.index[source.rows]

        def held_out_rows(posterior: Posterior) -> HeldOutRows:
            return HeldOutRows(
                posterior.labels, posterior.share, evidence, frequency, own, truth, own_weight, label_share=label_share
            )

        by_candidates = DECODERS[decoders[-1]].among_candidates(self.cost_)
        label_share = self._label_share if evidence is not None and not by_candidates else None
        kept = None if as_in_paper(decoders) else held_out_rows
        chosen = choose(source, truth, own_weight, self.criterion_, decoders, sharpness, kept)
        self._reader = source.at(chosen.option)
        self.depth_ = chosen.option if hasattr(self._reader, "at_depth") else None
        self.mixture_, self._held_out = chosen.mixture, chosen.rows
        self._mixture_costs = [*chosen.by_mixture.items()]  # pairs, since files of models have no such keys
        any_label_criterion = next(iter(label_criteria().values()))
        self._mixture_of_labels = (
            self.mixture_ if chosen.rows is None else mixture_for(chosen.rows, any_label_criterion)
        )
        self.sharpness_, self.decoder_ = chosen.mixture.sharpness, chosen.decoder
        self._thresholds, self.oob_costs_ = chosen.thresholds, chosen.costs
        self.oob_cost_ = float(chosen.costs[chosen.decoder])
        self._say(
            f"decoder {self.decoder_}, depth {self.depth_}, sharpness {self.sharpness_:g}, weight of experts "
            f"{self.mixture_.weight:g}, held-out cost "
            f"{self.oob_cost_:.4g} in {perf_counter() - start:.1f} s"
        )

    def _posterior(self, X: Any) -> Posterior:
        forest = self._reader(X, self.n_jobs)
        if not self.experts_:
            return forest.sharpened(self.sharpness_)

        def evidence() -> Floats:
            return evidence_of([expert(X) for expert in self.experts_.values()], self._label_share)

        alone = Mixture(self.sharpness_, 0.0)
        return MixedPosterior(forest, evidence, self._prior, alone, self._label_share).remixed(self._mixture_of_labels)

    def posterior_for(self, posterior: Posterior, cost: AnyCost | None) -> Posterior:
        """Return the posterior of rows by which the model decides for a cost: mixed as held-out rows ask for."""
        if not isinstance(posterior, (MixedPosterior, LabelsApart)):
            return posterior
        return posterior.remixed(self._mixture_for(self._criterion_for(cost)))

    def paid_over_expected(self, cost: AnyCost | None = None) -> float:
        """Return what expected costs are multiplied by, so that they are honest."""
        if self._held_out is None:
            return 1.0
        criterion = self._criterion_for(cost)
        return paid_over_expected(self._held_out, self._mixture_for(criterion), criterion.cost)

    def _mixture_for(self, criterion: Criterion) -> Mixture:
        """Return how forest and experts are mixed for a criterion: as held-out rows ask for."""
        if self._held_out is None or (criterion is self.criterion_ and criterion.of_single_rows):
            return self.mixture_
        if not criterion.of_single_rows:  # whose thresholds are of this mixture, whatever the decoder
            return self._mixture_of_labels
        return mixture_for(self._held_out, criterion)

    def by_forest(self, posterior: Posterior) -> Posterior:
        """Return the posterior of rows by the forest alone, as it was compared with mixtures on held-out rows.

        Parameters
        ----------
        posterior : Posterior
            What `posterior` returns for these rows.
        """
        if self._held_out is None or not isinstance(posterior, (MixedPosterior, LabelsApart)):
            return posterior
        return posterior.remixed(self._held_out.mixtures[0])

    def _rows_at_a_time(self, X: Any) -> int:
        return max(1, min(super()._rows_at_a_time(X), ENTRIES // len(self.candidates_)))

    def _decision_by(self, criterion: Criterion) -> Callable[[Posterior], Bits]:
        if not criterion.of_single_rows:
            if criterion.name not in self._thresholds:
                raise ValueError(f"The model was fitted before there was a criterion {criterion.name!r}; fit it again.")
            thresholds = self._thresholds[criterion.name]
            return lambda posterior: (posterior.marginals > thresholds).astype(np.uint8)
        if criterion is self.criterion_:
            return lambda posterior: DECODERS[self.decoder_].decide(posterior, self.cost_)
        return super()._decision_by(criterion)

    def _label_targets(self, paper: bool) -> Any:
        """Labels of the candidates, which every other tree is grown on: of one variance, so that rare ones count."""
        labels, frequency = self.candidates_.labels.astype(np.float64), self.candidates_.frequency
        large = sparse.issparse(labels)
        share = frequency @ labels / frequency.sum() if large else np.average(labels, axis=0, weights=frequency)
        varies = (share > 0) & (share < 1)
        deviation = np.sqrt(share * (1 - share), where=varies, out=np.ones_like(share))
        if large:
            return labels if paper else sparse.csr_array(labels.multiply(1 / deviation))
        return labels if paper else labels / deviation

    def _entries_lost(self, Y: Labels, weight: Weights, some: Any) -> float:
        """Share of label entries of some rows that come out wrong when each row's own point is decoded."""
        labels, own = self.candidates_.labels, self.candidates_.index[some]
        distinct, index = np.unique(own, return_inverse=True)
        decoded = nearest(self._learned[distinct], self._decoded)[index]
        blocks, truth = row_blocks(len(index), labels.shape[1]), Y[some]
        wrong = [(as_dense(truth[rows]) != as_dense(labels[decoded[rows]])).mean(axis=1) for rows in blocks]
        return float(np.average(np.concatenate(wrong), weights=None if weight is None else weight[some]))

    def _decoders(self) -> list[str]:
        """List the decoders to choose from, the usual last."""
        if self.decoder != "auto":
            check_decoder(self.decoder, self.cost_, "auto")
            if not self.criterion_.of_single_rows:
                raise ValueError(
                    f"cost={self.cost!r} is decided by thresholds; decoder must be 'auto', got {self.decoder!r}."
                )
            return [self.decoder]
        return [name for name, decoder in DECODERS.items() if decoder.applies(self.cost_)]

    def _checked_experts(self, X: Any) -> dict[str, FitExpert]:
        """Return how to train each expert, by name."""
        given = self.experts
        if given is None:
            return {}
        if isinstance(given, str) and given == "auto":
            return {} if self.estimator is not None else {(name := expert_for(X)): EXPERTS[name].fit}
        if isinstance(given, str) or not np.iterable(given):
            raise ValueError(f"experts must be 'auto', None or a list of names and classifiers; got {given!r}.")
        found: dict[str, FitExpert] = {}
        for one in given:
            if isinstance(one, str) and one not in EXPERTS:
                raise ValueError(
                    f"An expert must be a classifier or one of {', '.join(map(repr, EXPERTS))}; got {one!r}."
                )
            name, fit = (one, EXPERTS[one].fit) if isinstance(one, str) else (type(one).__name__, as_expert(one))
            found[name if name not in found else f"{name} {len(found)}"] = fit
        return found

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

    def _dissimilarity(self, truths: Labels, predictions: Labels, dtype: Any = None) -> Floats:
        """Transform the costs of all pairs of label vectors, truths in rows: ``D_ij = √cost(S_i, S_j)``."""
        costs = self.cost_.of_pairs(truths, predictions, dtype or self._fitted_dtype)
        dissimilarity = np.asarray(self._fitted_transform(costs), costs.dtype)
        if dissimilarity.shape != costs.shape or not (dissimilarity.min() >= 0 and dissimilarity.max() < np.inf):
            raise ValueError(
                "cost_transform must turn an array of costs into finite distances of at least 0, one for one."
            )
        return dissimilarity


def as_in_paper(decoders: Sequence[str]) -> bool:
    """Whether only points decide, so that nothing is chosen and no probability is needed."""
    return all(DECODERS[name].by_points for name in decoders)


def check_decoder(decoder: Any, cost: Cost, *others: str) -> None:
    """Refuse a decoder that is neither known, nor one of the other names, or that cannot decide for a cost."""
    known = isinstance(decoder, str) and decoder in (*others, *DECODERS)
    if not known:
        raise ValueError(f"decoder must be one of {', '.join(map(repr, (*others, *DECODERS)))}; got {decoder!r}.")
    if not DECODERS[decoder].applies(cost):
        raise ValueError(
            f"decoder={decoder!r} needs {DECODERS[decoder].needs}, which {cost.name!r} has not; try 'expected'."
        )
