"""CostSensitiveClassifier: decisions for a cost from anyone's classifier, calibrated on held-out rows.

The map of the module: the estimator; then pure functions in the order in which `fit` calls them: folds, classifiers of
one label and of all labels, and what they say of labels that a fold does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, Self

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from clems.arrays import Bits, Floats, Integers, Labels, Weights
from clems.checks import check_count
from clems.costs.cost import Cost
from clems.costs.criteria import Criterion, label_criteria
from clems.labels.distinct import distinct_rows
from clems.labels.matrix import as_dense, constant_labels
from clems.learners.base import Profile, check_estimator, new_seed, seeded
from clems.learners.by_division import Problem, fit_problem
from clems.learners.by_posterior import AnyCost, PosteriorClassifier
from clems.model_selection import IterativeStratifiedKFold
from clems.posterior.calibration import Calibration, Unchanged, calibrate, methods_for
from clems.posterior.classifiers import Given, OfAllLabels, OfEachLabel, gives_scores
from clems.posterior.distribution import Posterior
from clems.posterior.experts import FitExpert
from clems.posterior.joint import HeldOut, Independent, Joint, choose_joint, paid_over_expected
from clems.posterior.source import rows_to_hold_out
from clems.trees.growing import default_classifier
from clems.trees.reading import check_reach

Split = tuple[Integers, Integers]

JOINTS = ("auto", "independent", "observed")
ENTRIES = 1 << 24  # shares of candidates that are computed together
FOLDS = 5  # in which the rows of a calibration set are put


class CostSensitiveClassifier(PosteriorClassifier):
    """Decide for a cost with the probabilities of any classifier, without changing the classifier.

    Training rows are held out in folds, so that each row has probabilities from a classifier that has not seen it.
    These probabilities are used for calibration, and for choosing the joint distribution of the labels: either labels
    are independent given the features, or only the label sets of training occur. Finally the classifier is fitted to
    all rows. One fit serves every cost.

    Parameters
    ----------
    estimator : estimator, callable or None, default=None
        A classifier of scikit-learn's form: a multi-label one is trained on all labels at once, one for a single label,
        such as ``LogisticRegression()``, once for each label, as `BR` does. It needs `predict_proba`, or
        `decision_function`, whose scores are turned into probabilities. None is a forest for all labels at once, see
        :func:`clems.trees.growing.default_classifier`: it needs neither scaled features nor tuning, and is trained
        about as fast for many labels as for one. With ``cv="prefit"`` a fitted classifier, a function from rows to
        probabilities of shape (n, K), or None if the rows are themselves probabilities.
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`; or "micro_f1" or "macro_f1".
    cv : int, splitter or "prefit", default=5
        How training rows are held out: so many folds by iterative stratification; a splitter of scikit-learn's, or an
        iterable of pairs of rows to train on and rows to hold out, that holds out no row twice; or "prefit": the
        estimator is used as it is, and `fit` takes rows that it has not seen.
    joint : {"auto", "independent", "observed"}, default="auto"
        What is assumed of labels together. "independent": given the features, labels are independent of each other.
        "observed": only label sets of training occur, see :mod:`clems.posterior.joint`. "auto": independent, which is
        the simpler one, as it has nothing to choose and leaves calibrated probabilities as they are, unless held-out
        rows cost less with observed label sets by more than a standard error. The choice is made for `cost`, and
        ``predict(X, cost=...)`` decides by the same distribution; `with_cost` chooses again.
    calibration : {"auto", "sigmoid", "isotonic"} or None, default="auto"
        How probabilities are calibrated, see :mod:`clems.posterior.calibration`. "auto" takes the simplest of None,
        "sigmoid" and "isotonic", unless the log loss of held-out rows is smaller with another by more than a standard
        error. With None and independent labels nothing is learned on held-out rows, and none are held out.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        How many classifiers are trained at a time, those of all folds and labels; in prediction, how many trees of the
        default forest work at a time.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of the classifiers where they have none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    estimator_ : estimator, callable, list of estimator or None
        What predicts: fitted to all rows, one classifier, or one for each label, for a label that was always the same
        one that says so; with ``cv="prefit"`` what was given.
    calibration_ : Calibration
        `method`, and `log_loss` of held-out rows before ("none") and after calibration by each method compared.
    joint_ : {"independent", "observed"}
        What is assumed of labels together.
    held_out_cost_ : float
        Mean cost of held-out rows, at most a thousand of them; NaN without such rows.
    held_out_costs_ : dict of str to float
        The same by each joint distribution that was compared. For "micro_f1" and "macro_f1", which single rows do not
        have, it is the log loss.
    cost_ : Cost
        The cost decided for.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from clems import CostSensitiveClassifier
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> linear = LogisticRegression(solver="liblinear")
    >>> model = CostSensitiveClassifier(linear, cost="rank", random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.predict(X[200:], cost="f1").shape
    ((100, 10), (100, 10))
    """

    predictor = "classifier"
    cost_at_fit = True
    cost_after_fit = True
    label_based = True
    needs_probabilities = True

    profile = Profile(
        "none",
        "log loss of held-out rows, by calibration",
        "5 K F",
        "n K",
    )

    def __init__(
        self,
        estimator: Any = None,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        cv: Any = 5,
        joint: Literal["auto", "independent", "observed"] = "auto",
        calibration: Literal["auto", "sigmoid", "isotonic"] | None = "auto",
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.cost = cost
        self.cv = cv
        self.joint = joint
        self.calibration = calibration
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def estimator_(self) -> Any:
        """What predicts: one classifier for all labels, a list with one for each, or what was given."""
        return self._classifier.fitted

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        if not isinstance(self.joint, str) or self.joint not in JOINTS:
            raise ValueError(f"joint must be one of {', '.join(map(repr, JOINTS))}; got {self.joint!r}.")
        labels, cv = as_dense(Y), check_folds(self.cv)
        prefit = cv == "prefit"
        estimator = self._checked_prefit() if prefit else self._checked_estimator(weight)
        self._are_scores = gives_scores(estimator)
        methods = self._methods(estimator)
        learns = methods != ["none"] or self.joint != "independent" or not self.criterion_.of_single_rows
        if prefit:
            self._constant = np.full(labels.shape[1], np.nan)  # what calibration rows lack may come
            self._classifier: Any = Given(estimator, labels.shape[1], getattr(self, "feature_names_in_", None))
            splits = splits_of(FOLDS, X, labels, random_state) if learns else []
            values = self._classifier(X)
        else:
            splits, values = self._fit_estimators(estimator, X, labels, weight, random_state, cv if learns else None)
        self._learn(values, labels, weight, splits, methods, random_state)

    def _fit_estimators(
        self,
        estimator: Any,
        X: Any,
        Y: Bits,
        weight: Weights,
        random_state: np.random.RandomState,
        cv: Any,
    ) -> tuple[list[Split], Floats]:
        """Fit the classifier to all rows and, if rows are held out by `cv`, to the others of each fold.

        Returns
        -------
        splits : list of pair of rows
            To train on and to hold out.
        values : ndarray of shape (n, K)
            Probabilities or scores of each row that is held out, by what has not seen it.
        """
        start = perf_counter()
        n, K = Y.shape
        at_once = takes_all_labels(estimator)
        self._constant = constant_labels(Y)
        whole = [seeded(estimator, random_state) for _ in range(1 if at_once else K)]
        splits = [] if cv is None else splits_of(cv, X, Y, random_state)
        parts: list[tuple[list[Any], Any]] = [(whole, None)]
        parts += [([seeded(estimator, random_state) for _ in whole], train) for train, _ in splits]
        if at_once:
            tasks = [delayed(fit_all_labels)(one[0], X, Y, weight, rows) for one, rows in parts]
        else:
            labels = [*zip(self.classes_.tolist(), Y.T, strict=True)]
            tasks = [
                delayed(fit_label)(one, X, name, label, weight, rows)
                for prototypes, rows in parts
                for one, (name, label) in zip(prototypes, labels, strict=True)
            ]
        classifiers = [*Parallel(n_jobs=self.n_jobs)(tasks)]
        if not at_once:
            starts = range(0, len(tasks), K)
            classifiers = [OfEachLabel(classifiers[start : start + K], self._are_scores) for start in starts]
        self._classifier = classifiers[0]
        if self.estimator is None and self.estimator_ is not None:  # folds are no longer trained beside it
            self.estimator_.set_params(n_jobs=self.n_jobs)
        values = np.full((n, K), np.nan)
        for (_, held_out), classifier in zip(splits, classifiers[1:], strict=True):
            values[held_out] = classifier(X[held_out])
        each = "all labels" if at_once else f"each of {K} labels"
        folds = f" and {len(splits)} folds" if splits else ""
        self._say(f"{type(estimator).__name__} for {each}, all rows{folds} in {perf_counter() - start:.1f} s")
        return splits, without_gaps(values, Y)

    def _learn(
        self,
        values: Floats,
        Y: Bits,
        weight: Weights,
        splits: list[Split],
        methods: list[str],
        random_state: np.random.RandomState,
    ) -> None:
        """Calibrate on held-out rows, and keep some of these to choose on what to assume of labels together."""
        start = perf_counter()
        self._calibrator: Any = Unchanged()
        self.calibration_ = Calibration("none", {})
        self._held_out: HeldOut | None = None
        if splits:
            rows, fold, marginals = self._calibrate(values, Y, weight, splits, methods)
            some = rows_to_hold_out(len(rows), random_state)
            chosen = rows[some]
            candidates, index = distinct_rows(Y)
            self._held_out = HeldOut(
                marginals[some],
                Y[chosen],
                None if weight is None else weight[chosen],
                fold[some],
                candidates,
                np.stack([frequencies(index, weight, len(candidates), train) for train, _ in splits]),
                frequencies(index, weight, len(candidates)),
            )
        self._joints = ("independent", "observed") if self.joint == "auto" else (self.joint,)
        self._choose()
        self._say(f"calibration {self.calibration_.method}, labels {self.joint_} in {perf_counter() - start:.1f} s")

    def _calibrate(
        self, values: Floats, Y: Bits, weight: Weights, splits: list[Split], methods: list[str]
    ) -> tuple[Integers, Integers, Floats]:
        """Calibrate on held-out rows; return these, their folds, and their calibrated marginals."""
        rows = np.concatenate([held_out for _, held_out in splits])
        fold = np.repeat(np.arange(len(splits)), [len(held_out) for _, held_out in splits])
        varied = np.isnan(self._constant)
        marginals = np.tile(np.nan_to_num(self._constant), (len(rows), 1))
        if varied.any():
            self._calibrator, marginals[:, varied], self.calibration_ = calibrate(
                values[np.ix_(rows, varied)],
                Y[np.ix_(rows, varied)],
                None if weight is None else weight[rows],
                fold,
                methods,
                self._are_scores,
            )
        return rows, fold, marginals

    def _choose(self) -> None:
        """Choose what to assume of labels together, for the criterion; independent without held-out rows."""
        self._joint: Joint = Independent()
        none_held_out = {} if self.criterion_.of_single_rows else dict.fromkeys(label_criteria(), np.array([0.5]))
        self._thresholds: dict[str, Floats] = none_held_out
        self.held_out_cost_ = np.nan
        self.held_out_costs_: dict[str, float] = {}
        if self._held_out is not None:
            found = choose_joint(self._held_out, self.criterion_, self._joints)
            self._joint, self.held_out_costs_, marginals = found
            self.held_out_cost_ = self.held_out_costs_[self._joint.name]
            self._thresholds = {
                name: one.thresholds(marginals, self._held_out.weight) for name, one in label_criteria().items()
            }
        self.joint_ = self._joint.name

    def with_cost(self, cost: AnyCost) -> Self:
        """Return the model as it is when it is fitted for another cost, without training anew.

        What is assumed of labels together is chosen again, on held-out rows that the model has kept: at most a
        thousand.

        Parameters
        ----------
        cost : str, Cost or callable
            As the parameter of that name.

        Returns
        -------
        CostSensitiveClassifier
            A fitted model that shares its classifiers with this one.
        """
        check_is_fitted(self)
        other = copy(self)
        other.cost, other.criterion_ = cost, self._resolved(cost)
        other._choose()
        return other

    def paid_over_expected(self, cost: AnyCost | None = None) -> float:
        """Return what expected costs are multiplied by, so that they are honest."""
        if self._held_out is None:
            return 1.0
        return paid_over_expected(self._held_out, self._joint, self._criterion_for(cost))

    def _posterior(self, X: Any) -> Posterior:
        return self._joint(self._marginals(X))

    def _marginals(self, X: Any) -> Floats:
        """Calibrated probabilities of the labels of a block of checked rows, shape (n, K)."""
        varied = np.isnan(self._constant)
        marginals = np.tile(np.nan_to_num(self._constant), (X.shape[0], 1))
        if varied.any():
            marginals[:, varied] = self._calibrator(self._classifier(X)[:, varied])
        return marginals

    def _fit_expert(
        self, X: Any, Y: Bits, weight: Weights, random_state: np.random.RandomState
    ) -> tuple[Integers, Floats]:
        """Train on checked rows for marginals alone; return the rows that were held out, and their marginals."""
        self.classes_, self.n_features_in_ = np.arange(Y.shape[1]), X.shape[1]
        estimator = self._checked_estimator(weight)
        self._are_scores, self._calibrator = gives_scores(estimator), Unchanged()
        splits, values = self._fit_estimators(estimator, X, Y, weight, random_state, check_folds(self.cv))
        rows, _, marginals = self._calibrate(values, Y, weight, splits, self._methods(estimator))
        return rows, marginals

    def _decision_by(self, criterion: Criterion) -> Callable[[Posterior], Bits]:
        if criterion.of_single_rows:
            return super()._decision_by(criterion)
        if criterion.name not in self._thresholds:
            raise ValueError(
                f"{criterion.name} is decided by thresholds that are learned on held-out rows, and none were held out; "
                f"fit with cost={criterion.name!r}."
            )
        thresholds = self._thresholds[criterion.name]
        return lambda posterior: (posterior.marginals > thresholds).astype(np.uint8)

    def _rows_at_a_time(self, X: Any) -> int:
        return max(1, min(super()._rows_at_a_time(X), ENTRIES // self._joint.width))

    def _checked_estimator(self, weight: Weights) -> Any:
        """Return the estimator to train, which is sure to have what is needed."""
        if self.estimator is None:
            return default_classifier(self.n_features_in_, n_estimators=self.n_trees)
        check_estimator(self.estimator, self.predictor)
        name = type(self.estimator).__name__
        if not hasattr(self.estimator, "predict_proba") and not gives_scores(self.estimator):
            raise ValueError(
                f"{type(self).__name__} needs an estimator with predict_proba, which {name} does not have; "
                "decision_function would do, too."
            )
        if weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"sample_weight was given, but {name}.fit has no parameter sample_weight.")
        return self.estimator

    def _checked_prefit(self) -> Any:
        """Return the estimator that was fitted elsewhere."""
        given = self.estimator
        answers = any(hasattr(given, name) for name in ("predict_proba", "decision_function", "__call__"))
        if given is not None and (isinstance(given, type) or not answers):
            raise ValueError(
                "With cv='prefit', estimator must be a fitted classifier with predict_proba or decision_function, a "
                f"function from rows to probabilities, or None if rows are probabilities; got {given!r}."
            )
        if hasattr(given, "get_params"):
            check_is_fitted(given)
        return given

    def _methods(self, estimator: Any) -> list[str]:
        """List the methods of calibration to choose from, the simplest first."""
        methods = methods_for(self.calibration)
        if methods == ["none"] and self._are_scores:
            raise ValueError(
                f"With calibration=None, {type(self).__name__} needs an estimator with predict_proba, which "
                f"{type(estimator).__name__} does not have; calibration='sigmoid' turns its scores into probabilities."
            )
        return [name for name in methods if name != "none" or not self._are_scores]


def check_folds(cv: Any) -> Any:
    """Check how rows are held out: a number of folds, a splitter, pairs of rows, or "prefit"."""
    if isinstance(cv, str) and cv == "prefit":
        return cv
    if hasattr(cv, "split") and not isinstance(cv, str):
        return cv
    if np.iterable(cv) and not isinstance(cv, str):
        return [*cv]  # a generator, which would be empty at the next fit
    try:
        return check_count(cv, "cv", least=2)
    except ValueError:
        raise ValueError(
            f"cv must be a whole number of folds of at least 2, a splitter, pairs of rows or 'prefit'; got {cv!r}."
        ) from None


def splits_of(cv: Any, X: Any, Y: Bits, random_state: np.random.RandomState) -> list[Split]:
    """Return pairs of rows to train on and rows to hold out; none if there is but one row.

    Parameters
    ----------
    cv : int, splitter or list of pair
        As `check_folds` returns it.
    X, Y : array
        Features and labels.
    random_state : RandomState
        By which rows are put into a number of folds.
    """
    n = len(Y)
    if isinstance(cv, int):
        folds = IterativeStratifiedKFold(min(cv, max(n, 2)), shuffle=True, random_state=new_seed(random_state))
        return [*folds.split(np.empty(n), Y)] if n > 1 else []
    every = np.arange(n)
    splits = [(every[train], every[held_out]) for train, held_out in check_cv(cv).split(X, Y)]
    times = np.bincount(np.concatenate([every[:0], *(held_out for _, held_out in splits)]), minlength=n)
    if not times.any():
        raise ValueError("cv holds out no row.")
    if times.max() > 1:
        raise ValueError(
            f"cv holds out row {times.argmax()} {times.max()} times; a row may be held out once, as KFold does."
        )
    if any(np.isin(held_out, train).any() for train, held_out in splits):
        raise ValueError("cv holds out rows that it trains on, so that probabilities would look better than they are.")
    return splits


def takes_all_labels(estimator: Any) -> bool:
    """Whether a classifier says that it learns a matrix of labels."""
    tags = get_tags(estimator)
    return bool(tags.target_tags.multi_output or (tags.classifier_tags and tags.classifier_tags.multi_label))


def frequencies(index: Integers, weight: Weights, size: int, rows: Any = slice(None)) -> Floats:
    """Sum up how often some rows, or all, have each candidate, shape (L,)."""
    return np.bincount(index[rows], None if weight is None else weight[rows], size).astype(np.float64)


def fit_label(estimator: Any, X: Any, name: Any, label: Bits, weight: Weights, rows: Any) -> Any:
    """Fit a classifier to one label of some rows; None is all of them."""
    some = slice(None) if rows is None else rows
    own_weight = None if weight is None else weight[some]
    return fit_problem(
        estimator, X, Problem(name, np.empty((len(label[some]), 0), np.uint8), label[some], own_weight, rows)
    )


def fit_all_labels(estimator: Any, X: Any, Y: Bits, weight: Weights, rows: Any) -> OfAllLabels:
    """Fit a classifier to all labels of some rows that vary among these; None is all rows."""
    some = slice(None) if rows is None else rows
    constant, are_scores = constant_labels(Y[some]), gives_scores(estimator)
    varied = np.isnan(constant)
    if not varied.any():
        return OfAllLabels(None, constant, are_scores)
    check_reach(estimator, X)
    target = Y[some][:, varied].astype(np.int64)  # scikit-learn's RidgeClassifier turns 0 into −1
    weights = {} if weight is None else {"sample_weight": weight[some]}
    fitted = estimator.fit(X[some], target[:, 0] if target.shape[1] == 1 else target, **weights)
    return OfAllLabels(fitted, constant, are_scores)


def without_gaps(values: Floats, Y: Bits) -> Floats:
    """Fill in scores of rows whose classifier had not seen both values of a label: the least, or greatest, of others.

    Parameters
    ----------
    values : ndarray of shape (n, K)
        Scores, or NaN.
    Y : ndarray of shape (n, K)
        Labels.

    Returns
    -------
    ndarray of shape (n, K)
    """
    gaps = np.isnan(values)
    if not gaps.any():
        return values
    known = np.where(gaps, np.inf, values).min(axis=0), np.where(gaps, -np.inf, values).max(axis=0)
    extreme = np.where(Y.mean(axis=0) < 0.5, *known)
    return np.where(gaps, np.where(np.isfinite(extreme), extreme, 0), values)


@dataclass(frozen=True, eq=False)
class ClassifierExpert:
    """A classifier that was trained and calibrated to be consulted.

    Attributes
    ----------
    model : CostSensitiveClassifier
        By which it was trained.
    """

    model: CostSensitiveClassifier

    def __call__(self, X: Any) -> Floats:
        """Return how probable labels are for rows, shape (n, K)."""
        return self.model._marginals(X)


def as_expert(estimator: Any) -> FitExpert:
    """Return how to train a classifier to be consulted beside a forest, see :mod:`clems.posterior.experts`."""

    def fit(
        X: Any, Y: Labels, weight: Weights, rows: Integers, random_state: np.random.RandomState
    ) -> tuple[ClassifierExpert, Floats]:
        model = CostSensitiveClassifier(estimator)
        held_out, marginals = model._fit_expert(X, as_dense(Y), weight, random_state)
        by_row = np.empty_like(marginals)
        by_row[held_out] = marginals
        return ClassifierExpert(model), by_row[rows]

    return fit
