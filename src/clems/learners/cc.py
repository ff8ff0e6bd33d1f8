"""CC: classifier chains, one or an ensemble of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_count
from clems.labels.matrix import as_dense
from clems.learners.base import Profile
from clems.learners.by_chain import LabelByLabel, follow


class CC(LabelByLabel):
    """Classifier chain: each classifier sees the labels before its own, true ones in training, predicted ones later.

    Parameters
    ----------
    order : None, "random" or array-like of shape (K,) or (n_chains, K), default=None
        In which order labels are predicted, as names of `classes_`, numbers where they have no names. None is the order
        of the columns for one chain, and random orders for several. A table has a row for each chain.
    n_chains : int, default=1
        How many chains to train; of several, the mean probability of a label decides.
    estimator : estimator, default=None
        Any scikit-learn classifier; None is a forest, :func:`clems.trees.growing.default_classifier`.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        How many labels are trained at a time; in prediction, how many trees of the default forest work at a time.
    random_state : int, RandomState or None, default=None
        Seed of random orders, and of the classifiers where they have none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    chains_ : list of Chain
        Each with `order`, columns as they are predicted, and `estimators` in this order.
    cost_ : Cost
        What `score` measures: the learner takes no cost, so as in scikit-learn it is subset accuracy.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    References
    ----------
    Read, Pfahringer, Holmes & Frank (2011), Classifier chains for multi-label classification, Machine Learning 85.

    Examples
    --------
    >>> from clems import CC
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CC(order=range(9, -1, -1), random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape
    (100, 10)
    """

    profile = Profile(
        "none",
        "nothing together; labels see those before them",
        "K F",
        "n K",
    )

    def __init__(
        self,
        *,
        order: Any = None,
        n_chains: int = 1,
        estimator: Any = None,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.order = order
        self.n_chains = n_chains
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        n_chains = check_count(self.n_chains, "n_chains")
        labels = as_dense(Y)
        orders = [self._chain_order(order, random_state) for order in self._orders(n_chains)]
        self.chains_ = [
            self._fit_chain(self._prototypes(len(order), weight, random_state), X, labels, weight, order)
            for order in orders
        ]

    def _orders(self, n_chains: int) -> list[Any]:
        if self.order is None or isinstance(self.order, str):
            return [self.order if n_chains == 1 else self.order or "random"] * n_chains
        rows = list(self.order) if np.iterable(self.order) else []
        table = rows if rows and all(np.iterable(row) and not isinstance(row, str) for row in rows) else [self.order]
        if len(table) != n_chains:
            raise ValueError(f"n_chains={n_chains} needs as many orders, or 'random'; order lists {len(table)}.")
        return table

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.chains_ = [chain.replaced(new) for chain in self.chains_]

    def _probabilities(self, X: Any) -> Floats:
        return np.asarray(np.mean([follow(chain, X)[1] for chain in self.chains_], axis=0))
