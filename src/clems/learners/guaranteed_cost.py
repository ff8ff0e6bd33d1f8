"""A promise on the mean cost: rows are decided from the least expected cost upwards, the others are handed over.

The map of the module: the estimator, and below it the test by which a threshold is chosen: `greatest_threshold` tries
`thresholds_between`, and `is_below` says with which confidence a mean is below a level.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from clems.arrays import Bits, Floats, row_blocks
from clems.checks import check_number
from clems.costs.cost import Cost
from clems.costs.criteria import mean_of
from clems.costs.formulas import get_cost
from clems.decisions.handing_over import handed_over
from clems.labels.matrix import as_dense, as_labels
from clems.learners.base import MultiLabelClassifier
from clems.learners.by_posterior import PosteriorClassifier
from clems.learners.input import all_or_nothing, check_labels
from clems.posterior.distribution import Posterior
from clems.wording import plural

FINEST = 20  # halvings of the greatest cost down to the least threshold above 0
STEPS = 128  # thresholds from one to its double


class GuaranteedCost(BaseEstimator):  # type: ignore[misc]
    """Decide as many rows as a guarantee on the mean cost allows, and hand the others over.

    Rows whose expected cost is at most a threshold λ are decided by the model; the others are handed over, to a person
    for example, at a fixed price each. A row then costs ``L(λ) = cost(truth, prediction)`` if it is decided and
    ``L(λ) = price`` if not, and ``R(λ) = E[L(λ)]`` is the mean cost per row, over all rows. `fit` chooses the greatest
    λ for which it can guarantee ``R(λ) ≤ level``: among calibration sets drawn from the distribution of future rows, at
    most a share ``1 − confidence`` leads to a λ with a greater mean cost. This holds for every bounded cost, every
    distribution and every model, however wrong its expected costs are; with worse ones, more rows are handed over.

    Parameters
    ----------
    model : learner
        A fitted model with `predict` and `expected_cost`, such as CLEMS or PCC. It must not have seen the calibration
        rows. ``clone`` forgets what a model has learned, as everywhere in scikit-learn; one that is wrapped in
        scikit-learn's `FrozenEstimator` stays fitted.
    level : float, default=0.2
        The mean cost per row that is promised, in units of the cost.
    confidence : float, default=0.9
        How probable it is that the promise holds, above 0 and below 1.
    price : float, default=0.0
        What handing a row over costs.
    cost : str, Cost or callable, default=None
        What rows cost, and what the model decides for; None is the model's own. It must be given if the model is no
        learner of clems; it is then only what predictions are judged by.
    bound : float, default=None
        The greatest cost that a row can have. Of named costs and prices it is known, of a function of yours it must be
        given.

    Attributes
    ----------
    threshold_ : float
        λ: rows of a greater expected cost are handed over; −∞ if all are, ∞ if none is.
    share_handed_over_ : float
        Share of the calibration rows that are handed over.
    calibration_cost_ : float
        Mean cost per calibration row, with the price of those handed over.
    n_calibration_ : int
        Number of calibration rows.
    bound_ : float
        The greatest cost that a row can have.
    criterion_ : Criterion
        What the promise is about.

    Notes
    -----
    *Why it holds.* This is Learn-then-Test [1]_ with fixed-sequence testing. The thresholds are fixed numbers,
    ``price`` and ``bound · 2^(−j/128)`` above it, which depend on no data. For each of them, ``R(λ) ≥ level`` is a null
    hypothesis about the mean of ``L(λ)``, which for a fixed λ and a fixed model is independent and identically
    distributed over the calibration rows. Hypotheses are tested one after another from the least λ upwards, each at
    ``1 − confidence``, until one is not rejected; λ is the last that was. If it breaks the promise, then the first
    true hypothesis of the sequence, which is one and the same for all calibration sets, was rejected; that has a
    probability of at most ``1 − confidence``, so that a fine grid takes nothing from the confidence, and it is not
    needed that R rises with λ. No threshold lies below the price because handing over a row that is expected to cost
    less does not pay; R is least near there.

    *The test* is a bet [2]_: with losses and level divided by the greatest cost, a capital of 1 is multiplied by
    ``1 + ν_i · (level − L_i)`` at row i, where ``0 ≤ ν_i ≤ 1`` depends on the rows before it only. If the hypothesis is
    true, the expected capital never grows, so that by Ville's inequality it ever reaches ``1 / (1 − confidence)`` with
    a probability of at most ``1 − confidence``. Bets grow as the variance of the losses falls; the Hoeffding–Bentkus
    bound of [1]_ does not look at the variance, and in its place handed over more rows for each of four costs
    (``make bench-guarantee``). Rows are shuffled by a fixed seed first: bets depend on their order, and in
    a file that is sorted by label they would not be identically distributed.

    *What cannot be promised.* Even if no calibration row costs anything, at least
    ``log(1 / (1 − confidence)) / log(1 + level / bound)`` of them are needed. If nothing can be promised, all rows are
    handed over, with a warning, where their price is within the level; else `fit` raises an error. A level that is
    changed after looking at the result needs fresh calibration rows.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei: Learn then Test: Calibrating Predictive
       Algorithms to Achieve Risk Control. The Annals of Applied Statistics, 2025.
    .. [2] I. Waudby-Smith, A. Ramdas: Estimating Means of Bounded Random Variables by Betting. Journal of the Royal
       Statistical Society B, 2024.

    Examples
    --------
    >>> from clems import CLEMS, GuaranteedCost
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(700, random_state=0)
    >>> model = CLEMS("f1", n_trees=20, random_state=0).fit(X[:300], Y[:300])
    >>> safe = GuaranteedCost(model, level=0.15, confidence=0.9).fit(X[300:600], Y[300:600])
    >>> predicted = safe.predict(X[600:])
    >>> predicted.shape, bool(0 < predicted.mask[:, 0].mean() < 1)
    ((100, 10), True)
    """

    def __init__(
        self,
        model: Any,
        level: float = 0.2,
        *,
        confidence: float = 0.9,
        price: float = 0.0,
        cost: str | Cost | Callable[[Any, Any], Any] | None = None,
        bound: float | None = None,
    ) -> None:
        self.model = model
        self.level = level
        self.confidence = confidence
        self.price = price
        self.cost = cost
        self.bound = bound

    cost_sensitive = True

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the threshold by rows that the model has not seen.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features of calibration rows: drawn as those to come are, and no part of the training of the model.
        y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
            Their labels.

        Returns
        -------
        self
        """
        level, price = check_number(self.level, "level"), check_number(self.price, "price")
        confidence = check_number(self.confidence, "confidence")
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must be above 0 and below 1, such as 0.9; got {self.confidence!r}.")
        with all_or_nothing(self):
            self.criterion_ = mean_of(self._row_cost(y))
            predicted, expected = self._answers(X)
            truth = as_dense(check_labels(self._given, y) if self._is_learner else as_labels(y))
            check_consistent_length(predicted, truth)
            cost = self.criterion_.cost
            costs = cost.rowwise(truth, as_dense(predicted))
            self.bound_ = self._checked_bound(cost, costs, truth.shape[1])
            self.n_calibration_ = len(costs)
            threshold = greatest_threshold(
                expected, costs, level=level, confidence=confidence, price=price, bound=self.bound_
            )
            if threshold is None and price > level:
                raise ValueError(self._not_promised(costs))
            self.threshold_ = -np.inf if threshold is None else threshold
            decided = expected <= self.threshold_
            self.share_handed_over_ = float(1 - decided.mean())
            self.calibration_cost_ = float(np.where(decided, costs, price).mean())
        if threshold is None:
            warnings.warn(f"{self._not_promised(costs)} All rows are handed over.", UserWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the labels of new rows as far as the promise allows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.

        Returns
        -------
        masked array of shape (n, K)
            What the model predicts, zeros and ones; rows that are handed over are masked. It is dense, also where the
            model predicts sparse labels.
        """
        check_is_fitted(self)
        predicted, expected = self._answers(X)
        labels = as_dense(predicted)
        if self._is_learner:
            labels = labels.astype(self._given._form_of_labels.dtype)
        return handed_over(labels, expected, self.threshold_)

    @property
    def cost_(self) -> Cost:
        """What a single row costs."""
        return self.criterion_.cost

    @property
    def classes_(self) -> NDArray[Any]:
        """Names of the labels."""
        return np.asarray(self.model.classes_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if the model was fitted on features with names."""
        return np.asarray(self.model.feature_names_in_)

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.model.n_features_in_)

    @property
    def _given(self) -> Any:
        """The model, without the wrapper that keeps it fitted."""
        return self.model.estimator if isinstance(self.model, FrozenEstimator) else self.model

    @property
    def _is_learner(self) -> bool:
        return isinstance(self._given, MultiLabelClassifier)

    def _row_cost(self, y: Any) -> Cost:
        """Resolve what a row with labels such as y costs; a model that cannot be asked what it expects is refused."""
        model = self._given
        name = type(model).__name__
        if isinstance(model, type) or not (hasattr(model, "predict") and hasattr(model, "expected_cost")):
            raise ValueError(
                f"model must be a fitted model with predict and expected_cost, such as CLEMS or PCC; got {name}."
            )
        try:
            if isinstance(model, BaseEstimator):  # others need not have scikit-learn's conventions
                check_is_fitted(model)
        except NotFittedError:
            raise NotFittedError(
                f"The model of GuaranteedCost, {name}, is not fitted; fit it first, on other rows than those that "
                "calibrate the promise. A clone is never fitted, unless the model is wrapped in FrozenEstimator."
            ) from None
        if not isinstance(model, PosteriorClassifier):
            if self.cost is None:
                raise ValueError(f"{name} is no learner of clems, so cost must be given: what a row costs.")
            cost = get_cost(self.cost)
            return cost.for_labels(y.columns) if hasattr(y, "columns") else cost
        row_cost = model.row_cost(self.cost)
        if row_cost is None:
            raise ValueError(
                f"{self.cost or model.criterion_.name} is no cost of single rows, so nothing can be promised of it; "
                "name one that is, such as cost='f1'."
            )
        return row_cost

    def _answers(self, X: Any) -> tuple[Any, Floats]:
        """Return predictions and what they are expected to cost; a learner of clems reads each row once."""
        model = self._given
        if not isinstance(model, PosteriorClassifier):
            predicted, expected = as_labels(model.predict(X)), np.asarray(model.expected_cost(X), np.float64)
            if expected.shape != (predicted.shape[0],) or not np.isfinite(expected).all():
                raise ValueError(f"expected_cost of {type(model).__name__} must return a finite number for each row.")
            return predicted, expected

        def question(posterior: Posterior) -> tuple[Bits, Floats]:
            posterior = model.posterior_for(posterior, self.cost)
            predicted = model.decide(posterior, self.cost)
            return predicted, model.expected_of(posterior, self.cost, predicted)

        predicted, expected = model.ask(X, question)
        return predicted, expected

    def _checked_bound(self, cost: Cost, costs: Floats, K: int) -> float:
        bound = cost.bound(K) if self.bound is None else check_number(self.bound, "bound")
        if bound is None:
            raise ValueError(
                f"The greatest cost that a row can have is not known of {cost.name!r}; give it as bound=, since the "
                "promise depends on it."
            )
        if len(costs) and costs.max() > bound * (1 + 1e-9):
            raise ValueError(
                f"Calibration row {int(costs.argmax())} costs {costs.max():g}, more than the bound of {bound:g}; give "
                "bound= a number that no row can exceed."
            )
        return bound

    def _not_promised(self, costs: Floats) -> str:
        scale = max(self.bound_, self.price)
        needed = np.log(1 / (1 - self.confidence)) / np.log1p(self.level / scale) if self.level else np.inf
        if np.isinf(needed):
            few = " No number of rows is enough for a level of 0."
        elif needed > len(costs):
            few = f" At least {int(np.ceil(needed)):,} are needed, even if no row costs anything."
        else:
            few = ""
        return (
            f"A mean {self.criterion_.cost.name} of at most {self.level:g} per row cannot be promised with a "
            f"confidence of {self.confidence:g} by {plural(len(costs), 'calibration row')}, whichever rows are handed "
            f"over at a price of {self.price:g}.{few}"
        )


def greatest_threshold(
    expected: Floats, costs: Floats, *, level: float, confidence: float, price: float, bound: float
) -> float | None:
    """Return the greatest threshold of the expected cost with which the mean cost is at most a level.

    Parameters
    ----------
    expected, costs : ndarray of shape (n,)
        Expected and true costs of calibration rows.
    level, confidence, price, bound : float
        As in :class:`GuaranteedCost`.

    Returns
    -------
    float or None
        None if not even the least threshold can be promised.
    """
    scale = max(bound, price)
    if level >= scale:  # no row can cost more
        return np.inf
    if not level:  # which no bet can reach
        return None
    shuffled = np.random.default_rng(0).permutation(len(costs))
    expected, losses = expected[shuffled], np.minimum(costs[shuffled] / scale, 1)
    thresholds = thresholds_between(price, bound)
    n_decided = np.searchsorted(np.sort(expected), thresholds, side="right")
    # Thresholds that decide the same rows have the same test: only the last of each such run is computed.
    tested = thresholds[np.diff(n_decided, append=-1) != 0]
    promised = None
    for block in row_blocks(len(tested), len(costs)):
        decided = expected[:, None] <= tested[block]
        rejected = is_below(np.where(decided, losses[:, None], price / scale), level / scale, confidence)
        if not rejected.all():
            first = int(rejected.argmin())
            return float(tested[block][first - 1]) if first else promised
        promised = float(tested[block][-1])
    return promised


def thresholds_between(price: float, bound: float) -> Floats:
    """List the thresholds that are tested, rising: the price, above it ``bound · 2^(−j/128)``, and ∞."""
    above = bound * 2.0 ** -(np.arange(FINEST * STEPS + 1) / STEPS)[::-1]
    return np.concatenate([[price], above[above > price], [np.inf]])


def is_below(losses: Floats, level: float, confidence: float) -> NDArray[np.bool_]:
    """Whether the mean of losses is below a level, with a confidence: a test by betting.

    Parameters
    ----------
    losses : ndarray of shape (n, m)
        Values between 0 and 1, in each column independent and identically distributed.
    level, confidence : float
        Below 1.

    Returns
    -------
    ndarray of shape (m,)
        True where the hypothesis that the mean is at least the level is rejected.
    """
    n, log_goal = len(losses), np.log(1 / (1 - confidence))
    t = np.arange(1, n + 1)[:, None]
    # Estimates from the rows up to t: μ_t = (½ + Σ L_i) / (t + 1),  σ²_t = (¼ + Σ (L_i − μ_i)²) / (t + 1).
    mean = (0.5 + np.cumsum(losses, axis=0)) / (t + 1)
    variance = (0.25 + np.cumsum((losses - mean) ** 2, axis=0)) / (t + 1)
    before = np.concatenate([np.full((1, losses.shape[1]), 0.25), variance[:-1]])
    # The bet on row t knows only the rows before it: ν_t = min(1, √(2 log(1/δ) / (n σ²_{t−1}))).
    bet = np.minimum(1, np.sqrt(2 * log_goal / (n * before)))
    # Capital after row t, as a logarithm: Σ log(1 + ν_i (level − L_i)); its greatest value decides, by Ville.
    capital = np.cumsum(np.log1p(bet * (level - losses)), axis=0)
    return np.asarray(capital.max(axis=0, initial=-np.inf) >= log_goal)
