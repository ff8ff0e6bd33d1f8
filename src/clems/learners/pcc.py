"""PCC: the probabilistic classifier chain, which decides by least expected cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clems.arrays import Labels, Weights
from clems.checks import check_count
from clems.costs.cost import Cost
from clems.labels.matrix import as_dense
from clems.learners.by_chain import ChainClassifier
from clems.learners.by_posterior import PosteriorClassifier
from clems.posterior.chains import by_draws, by_likelihood, grow, row_offsets
from clems.posterior.distribution import Posterior

ENTRIES = 1 << 24  # of the features of all prefixes that are predicted together


class PCC(PosteriorClassifier, ChainClassifier):
    """Probabilistic classifier chain: a chain read as a distribution of label vectors, decided by least expected cost.

    The chain gives ``P(y | x) = Π_k P(y_k | x, y_1 … y_{k−1})``, from which vectors are drawn. For what was drawn the
    decision is exact for hamming, F-measures, rank loss, composition, price lists and subset accuracy. For other costs,
    yours included, it is the best of the drawn vectors and of the labels above each threshold, improved by changing
    single labels. One fit serves every cost.

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
        `order`, columns as they are predicted, and `estimators` in this order.
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

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        n_samples: int = 100,
        beam_width: int | None = None,
        order: Any = None,
        estimator: Any = None,
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
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        self._n_samples = check_count(self.n_samples, "n_samples", most=2**31 - 1)
        self._width = None if self.beam_width is None else check_count(self.beam_width, "beam_width")
        labels = as_dense(Y)
        order = self._chain_order(self.order, random_state)
        prototypes = self._prototypes(len(order), weight, random_state)
        self._seeds = random_state.randint(0, 2**64, len(order), dtype=np.uint64)
        self.chain_ = self._fit_chain(prototypes, X, labels, weight, order)

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
