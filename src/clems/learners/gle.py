"""GLE: generalised k-labelsets, classifiers of a few labels together whose weights are learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from clems.arrays import Bits, Floats, Integers, Labels, Weights
from clems.checks import check_components, check_count, check_number
from clems.costs.cost import Cost
from clems.embedding.label_groups import draw_labelsets, set_weights
from clems.labels.distinct import distinct_rows
from clems.labels.matrix import as_dense
from clems.learners.base import Profile
from clems.learners.by_division import DividedClassifier
from clems.learners.by_posterior import PosteriorClassifier
from clems.learners.ecc import Group, GroupProblem
from clems.model_selection import held_out
from clems.posterior.distribution import Posterior
from clems.posterior.independent import IndependentPosterior
from clems.trees.reading import check_reach, predictions_of


class _WhenAsked:
    """Whether training depends on the cost, by weights: of the class, no; of an object, if it was asked for."""

    def __get__(self, model: Any, kind: type) -> bool:
        return False if model is None else bool(model.cost_sensitive_labelsets)


class GLE(PosteriorClassifier, DividedClassifier):
    """Generalised k-labelsets: classifiers for small groups of labels, and weights that say how much each counts.

    Small random sets of labels are drawn, and for each set a classifier learns which combination of its labels a row
    has. The predictions for a label are averaged over the sets that contain it, with weights that are learned together
    for all sets, in closed form, so that errors on held-out rows are least. The averages are probabilities of labels,
    from which labels are decided for any cost.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`.
    n_components : int, float or None, default=None
        Number of labelsets: a number, or a multiple of the number of labels K as a float. None is 2 K. There are at
        least as many as it takes to cover all labels, and no more than there are different ones.
    labelset_size : int, default=3
        Labels of a set, k.
    cost_sensitive_labelsets : bool, default=False
        Whether classifiers and weights are trained for the cost: a combination costs what it would cost if all other
        labels were right, and rows count for a combination by what it saves. Needs a classifier that takes
        `sample_weight`. Probabilities are then those of costs, so other costs are served less well.
    ridge : float, default=1.0
        Penalty of weights that differ from equal ones.
    smooth : float, default=1.0
        Penalty of weights that differ between sets that share labels.
    n_folds : int or None, default=2
        By how many folds rows are held out to learn the weights; None takes the classifiers' own training rows.
    estimator : estimator, default=None
        Any scikit-learn classifier with `predict_proba`; None is a forest,
        :func:`clems.trees.growing.default_classifier`.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        How many labelsets are trained at a time; in prediction, how many trees of the default forest work at a time.
    random_state : int, RandomState or None, default=None
        Seed of labelsets and folds, and of the classifiers where they have none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    labelsets_ : list of Group
        `bits`, labels of each set, and their `combinations`, those that can be predicted.
    weights_ : ndarray of shape (m,)
        Weight of each set.
    estimators_ : list
        Fitted classifiers in this order.
    cost_ : Cost
        The cost decided for.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    Notes
    -----
    Published, what is combined are votes of ±1 and the hypergraph joins rows; here they are probabilities and it joins
    labelsets that share labels, which is smaller. The average of a label is normalised by the weights of its sets, so
    that what all of them are sure of is certain. Labels are taken for independent given these averages.

    References
    ----------
    Lo, Lin & Wang (2014), Generalized k-labelsets ensemble for multi-label and cost-sensitive classification, IEEE
    Transactions on Knowledge and Data Engineering 26; Lo, Wang, Wang & Lin (2011), Cost-sensitive multi-label learning
    for audio tag annotation and retrieval, IEEE Transactions on Multimedia 13. From memory, as far as the penalty is
    concerned.

    Examples
    --------
    >>> from clems import GLE
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = GLE("f1", n_trees=10, random_state=0).fit(X[:200], Y[:200])
    >>> len(model.labelsets_), model.predict(X[200:]).shape, model.predict(X[200:], cost="rank").shape
    (20, (100, 10), (100, 10))
    """

    cost_at_fit = _WhenAsked()
    needs_weights = _WhenAsked()
    needs_probabilities = True
    depth_path = False  # weights are those of trees as they are

    profile = Profile(
        "expansion",
        "squared error of weighted labelsets",
        "n K M, 4 K F",
        "n K",
    )

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        n_components: int | float | None = None,
        labelset_size: int = 3,
        cost_sensitive_labelsets: bool = False,
        ridge: float = 1.0,
        smooth: float = 1.0,
        n_folds: int | None = 2,
        estimator: Any = None,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_components = n_components
        self.labelset_size = labelset_size
        self.cost_sensitive_labelsets = cost_sensitive_labelsets
        self.ridge = ridge
        self.smooth = smooth
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def at_depth(self, depth: int) -> Self:
        """Refuse to cut trees: the weights of labelsets are those of trees as they are."""
        raise ValueError(f"at_depth({depth}) is not for GLE: its weights are those of trees as they are.")

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        labels, K = as_dense(Y), Y.shape[1]
        number = 2 * K if self.n_components is None else check_components(self.n_components, K)
        size = check_count(self.labelset_size, "labelset_size")
        ridge, smooth = check_number(self.ridge, "ridge"), check_number(self.smooth, "smooth")
        n_folds = None if self.n_folds is None else check_count(self.n_folds, "n_folds", least=2)
        if not isinstance(self.cost_sensitive_labelsets, (bool, np.bool_)):
            raise ValueError(f"cost_sensitive_labelsets must be True or False; got {self.cost_sensitive_labelsets!r}.")
        sets = draw_labelsets(K, size, number, random_state)
        self.labelsets_ = [Group(one, distinct_rows(labels[:, one])[0]) for one in sets]
        self._prototypes(1, weight, np.random.RandomState(0))  # a bad estimator is refused before the work
        self._say(f"labelsets: {len(sets)} of {size} labels")
        everything = np.arange(X.shape[0])
        self.estimators_ = self._fit_sets(X, labels, everything, weight, random_state)
        predicted = [np.empty((X.shape[0], len(one))) for one in sets]
        for others, part in held_out(X.shape[0], n_folds, random_state):
            whole = n_folds is None or X.shape[0] == 1
            fitted = self.estimators_ if whole else self._fit_sets(X, labels, everything[others], weight, random_state)
            for into, said in zip(predicted, self._said(fitted, X[part]), strict=True):
                into[part] = said
        mean = np.average(labels, axis=0, weights=weight)
        importance = np.ones(labels.shape) if weight is None else np.repeat(weight[:, None], K, axis=1)
        if self.cost_sensitive_labelsets:
            importance = importance * self._prices_of_entries(labels)
        about = [said - mean[one] for said, one in zip(predicted, sets, strict=True)]
        self.weights_ = set_weights(about, sets, labels - mean, importance, max(ridge, 1e-9), smooth)

    def _fit_sets(
        self, X: Any, labels: Bits, rows: Integers, weight: Weights, random_state: np.random.RandomState
    ) -> list[Any]:
        """Fit a classifier to each labelset, on some rows."""
        prototypes = self._prototypes(len(self.labelsets_), weight, random_state)
        own = None if weight is None else weight[rows]
        problems = []
        for one in self.labelsets_:
            which = numbers_of(labels[np.ix_(rows, one.bits)], one.combinations)
            if not self.cost_sensitive_labelsets:
                problems.append(GroupProblem(one.bits, np.empty((len(rows), 0), np.uint8), which, own))
                continue
            # A row counts for each combination by what it saves beside the dearest one.
            costs = self._costs_of_combinations(labels[rows], one)
            saved = costs.max(axis=1, keepdims=True) - costs
            saved = saved / (saved.mean() or 1.0) * (1.0 if own is None else own[:, None])
            at, combination = np.nonzero(saved > 0)
            if not len(at):
                at, combination, saved = np.arange(len(rows)), which, np.ones((len(rows), costs.shape[1]))
            problems.append(
                GroupProblem(one.bits, np.empty((len(at), 0), np.uint8), combination, saved[at, combination], at)
            )
        return self._fit_each(prototypes, X[rows], problems)

    def _costs_of_combinations(self, labels: Bits, one: Group) -> Floats:
        """Cost of each combination of a set if all other labels are right, shape (n, C)."""
        costs = np.empty((len(labels), len(one.combinations)))
        for at, combination in enumerate(one.combinations):
            changed = labels.copy()
            changed[:, one.bits] = combination
            costs[:, at] = self.cost_.of_rows(labels, changed)
        return costs

    def _prices_of_entries(self, labels: Bits) -> Floats:
        """Cost of each label if it alone is wrong, 1 on average, shape (n, K)."""
        prices = np.empty(labels.shape)
        for label in range(labels.shape[1]):
            changed = labels.copy()
            changed[:, label] ^= 1
            prices[:, label] = self.cost_.of_rows(labels, changed)
        return prices / (prices.mean() or 1.0)

    def _said(self, estimators: list[Any], X: Any) -> list[Floats]:
        """For each set, how probable its labels are, shape (n, k)."""
        return [
            probabilities_of(estimator, X, len(one.combinations)) @ one.combinations.astype(np.float64)
            for one, estimator in zip(self.labelsets_, estimators, strict=True)
        ]

    def _posterior(self, X: Any) -> Posterior:
        K = len(self.classes_)
        sums, totals = np.zeros((X.shape[0], K)), np.zeros(K)
        share = np.maximum(self.weights_, 1e-3 * np.abs(self.weights_).max() + 1e-300)  # every set says something
        for one, said, own in zip(self.labelsets_, self._said(self.estimators_, X), share, strict=True):
            sums[:, one.bits] += own * said
            totals[one.bits] += own
        return IndependentPosterior(np.clip(np.round(sums / totals, 12), 0, 1))

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.estimators_ = [new(estimator) for estimator in self.estimators_]


def numbers_of(labels: Bits, combinations: Bits) -> Integers:
    """Which combination each row has; all of them occur there."""
    powers = 1 << np.arange(labels.shape[1])[::-1]
    return np.searchsorted(combinations @ powers, labels @ powers).astype(np.intp)


def probabilities_of(estimator: Any, X: Any, number: int) -> Floats:
    """How probable each of so many combinations is; 0 of one that the classifier has not seen, shape (n, C)."""
    check_reach(estimator, X)
    of_classes = np.asarray(predictions_of(estimator, X, "predict_proba"))
    classes = np.asarray(estimator.classes_)
    if not np.isin(classes, np.arange(number)).all() or of_classes.shape != (X.shape[0], len(classes)):
        raise ValueError(f"The estimator {type(estimator).__name__} predicted classes that it was not trained on.")
    if not (of_classes.min(initial=0) >= 0 and of_classes.max(initial=0) <= 1 + 1e-9):
        raise ValueError(f"The estimator {type(estimator).__name__} predicted probabilities outside 0 to 1.")
    probabilities = np.zeros((X.shape[0], number))
    probabilities[:, classes.astype(np.intp)] = of_classes
    return probabilities
