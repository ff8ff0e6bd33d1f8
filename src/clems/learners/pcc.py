"""PCC: the probabilistic classifier chain, which decides by least expected cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from clems.arrays import Bits, Labels, Weights
from clems.checks import check_count
from clems.costs.cost import Cost
from clems.labels.matrix import as_dense
from clems.learners.base import Profile, new_seed
from clems.learners.by_chain import ChainClassifier
from clems.learners.by_posterior import PosteriorClassifier
from clems.model_selection import IterativeStratifiedKFold
from clems.posterior.calibration import Calibration, Calibrator, Unchanged, calibrate, methods_for
from clems.posterior.chains import by_draws, by_likelihood, grow, row_offsets
from clems.posterior.distribution import Posterior

FOLDS = 3  # in which rows are held out to calibrate on
ENTRIES = 1 << 24  # of the features of all prefixes that are predicted together


class PCC(PosteriorClassifier, ChainClassifier):
    """Probabilistic classifier chain: a chain read as a distribution over label vectors, decided by expected cost.

    The chain gives ``P(y | x) = Π_k P(y_k | x, y_1 … y_{k−1})``, from which label vectors are drawn. Given the draws,
    the decision is exact for hamming, F-measures, rank loss, composition, price lists and subset accuracy. For other
    costs, including your own functions, it is the best of the drawn vectors and of the labels above each threshold,
    improved by changing single labels. One fit serves every cost.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`.
    n_samples : int, default=100
        How many label vectors to draw for each row.
    beam_width : int or None, default=None
        Instead of drawing, keep so many of the likeliest prefixes: a beam search, which suits ``cost="zero_one"``, the
        search for the likeliest vector; for other costs a narrow beam is a poor picture of the distribution. With 2^K
        or more it is complete and nothing is left to chance.
    order : None, "random" or array-like of shape (K,), default=None
        In which order labels are predicted, as names of `classes_`, numbers where they have no names; None is the order
        of the columns.
    estimator : estimator, default=None
        Any scikit-learn classifier with `predict_proba`; None is a forest,
        :func:`clems.trees.growing.default_classifier`.
    calibration : {"auto", "sigmoid", "isotonic"} or None, default=None
        How the probability of each label, given those before it, is calibrated, see
        :mod:`clems.posterior.calibration`. For that rows are held out by three folds and the chain is fitted four times
        in all. "auto" takes the simplest of None, "sigmoid" and "isotonic", unless the log loss of held-out rows is
        smaller with another by more than a standard error. None is the chain of the paper; then what `expected_cost`
        says is as right as the estimator's probabilities, which those of forests are not.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        How many labels are trained at a time; in prediction, how many trees of the default forest work at a time.
    random_state : int, RandomState or None, default=None
        Seed of the draws, of a random order, and of the classifiers where they have none. Draws are settled when the
        model is fitted: the prediction for a row depends on nothing but the row.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    chain_ : Chain
        `order`, columns as they are predicted, and `estimators` and `calibrators` in this order.
    calibration_ : Calibration
        `method`, and `log_loss` of held-out rows before ("none") and after calibration by each method compared; empty
        if no rows were held out.
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
    Dembczyński, Cheng & Hüllermeier (2010), Bayes optimal multilabel classification via probabilistic classifier
    chains, ICML. Dembczyński, Waegeman, Cheng & Hüllermeier (2011), An exact algorithm for F-measure maximization,
    NeurIPS.

    Examples
    --------
    >>> from clems import PCC
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = PCC(cost="f1", random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.predict(X[200:], cost="rank").shape
    ((100, 10), (100, 10))
    """

    needs_probabilities = True

    profile = Profile(
        "none",
        "nothing together; read as a distribution",
        "K F",
        "n K",
    )

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        n_samples: int = 100,
        beam_width: int | None = None,
        order: Any = None,
        estimator: Any = None,
        calibration: Literal["auto", "sigmoid", "isotonic"] | None = None,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_samples = n_samples
        self.beam_width = beam_width
        self.order = order
        self.estimator = estimator
        self.calibration = calibration
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def depth_path(self) -> bool:  # type: ignore[override]
        """Whether the depth of trees is for you to choose; calibration is of one depth."""
        return self.calibration is None

    def at_depth(self, depth: int) -> Self:
        """Return the model with its trees cut at a depth; not of a chain that is calibrated."""
        if not self.depth_path:
            raise ValueError("at_depth is for calibration=None: probabilities are calibrated for trees as they are.")
        return super().at_depth(depth)

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        self._n_samples = check_count(self.n_samples, "n_samples", most=2**31 - 1)
        self._width = None if self.beam_width is None else check_count(self.beam_width, "beam_width")
        methods = methods_for(self.calibration)
        labels = as_dense(Y)
        order = self._chain_order(self.order, random_state)
        prototypes = self._prototypes(len(order), weight, random_state)
        self._seeds = random_state.randint(0, 2**64, len(order), dtype=np.uint64)
        self.chain_ = self._fit_chain(prototypes, X, labels, weight, order)
        self.calibration_ = Calibration("none", {})
        if methods != ["none"] and len(labels) > 1:
            self._calibrate(X, labels, weight, methods, random_state)

    def _calibrate(
        self, X: Any, Y: Bits, weight: Weights, methods: list[str], random_state: np.random.RandomState
    ) -> None:
        """Calibrate each probability of the chain, given the true labels before it, on rows that are held out."""
        order, n = self.chain_.order, len(Y)
        folds = IterativeStratifiedKFold(min(FOLDS, n), shuffle=True, random_state=new_seed(random_state))
        probabilities, fold = np.empty(Y.shape), np.empty(n, np.intp)
        for number, (train, held_out) in enumerate(folds.split(np.empty(n), Y)):
            own_weight = None if weight is None else weight[train]
            prototypes = self._prototypes(len(order), own_weight, random_state)
            chain = self._fit_chain(prototypes, X[train], Y[train], own_weight, order)
            fold[held_out] = number
            before = Y[held_out][:, order]
            for j in range(len(order)):
                probabilities[held_out, j] = chain.probability(j, X[held_out], before[:, :j])
        truth = Y[:, order]
        varied = np.flatnonzero(truth.min(axis=0) < truth.max(axis=0))
        calibrators: list[Calibrator] = [Unchanged()] * len(order)
        if len(varied):
            found, _, self.calibration_ = calibrate(
                probabilities[:, varied], truth[:, varied], weight, fold, methods, are_scores=False
            )
            for at, j in enumerate(varied.tolist()):
                calibrators[j] = found.of_label(at)
        self.chain_ = replace(self.chain_, calibrators=calibrators)

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.chain_ = self.chain_.replaced(new)

    def _posterior(self, X: Any) -> Posterior:
        if self._width is None:
            return grow(self.chain_, X, self._n_samples, by_draws(row_offsets(X, self._seeds)))
        return grow(self.chain_, X, 1, by_likelihood(self._width))

    def _rows_at_a_time(self, X: Any) -> int:
        K = len(self.chain_.order)
        vectors = min(self._width or self._n_samples, 2 ** min(K, 30))
        features = X.nnz / max(1, X.shape[0]) if hasattr(X, "nnz") else X.shape[1]
        return max(1, min(super()._rows_at_a_time(X), int(ENTRIES / (vectors * (features + K)))))
