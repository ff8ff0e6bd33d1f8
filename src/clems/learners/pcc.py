"""PCC: the probabilistic classifier chain, which decides by least expected cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from clems.chain import ChainClassifier, by_draws, by_likelihood, grow, row_offsets
from clems.cost import Cost
from clems.counts import Floats, Labels, as_dense
from clems.decoding import Posterior, rule_for
from clems.division import Bits, Weights
from clems.validation import check_count

ENTRIES = 1 << 24  # of the features of all prefixes that are predicted together


class PCC(ChainClassifier):
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
        Any scikit-learn classifier with `predict_proba`; None is a forest, :func:`clems.forest.default_classifier`.
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

    cost_sensitive = True
    cost_at_predict = True
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

    def predict(self, X: Any, cost: str | Cost | Callable[[Any, Any], Any] | None = None) -> Any:
        """Predict the labels of new rows.

        Rows are handled in blocks: beyond the result, memory does not grow with their number.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        cost : str, Cost or callable, default=None
            Decide for this cost rather than for the model's own.

        Returns
        -------
        ndarray or CSR array of shape (n, K)
            Zeros and ones, of the type of the labels in training and sparse if they were; columns as in `classes_`.
        """
        if cost is None:
            return super().predict(X)
        check_is_fitted(self)
        other = self._checked_cost(cost)
        return self._labels_by_blocks(lambda block: rule_for(other).decide(other, self._posterior(block)), X)

    def predict_each(self, X: Any, costs: Sequence[Any]) -> list[Any]:
        """Predict the labels of new rows for several costs: label vectors are drawn once for all of them.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        costs : sequence of str, Cost or callable
            What to decide for.

        Returns
        -------
        list of ndarray or CSR array of shape (n, K)
            What `predict` returns for each of them.
        """
        check_is_fitted(self)
        meant = [self._checked_cost(cost) for cost in costs]

        def decide(block: Any) -> Bits:
            posterior = self._posterior(block)
            return np.stack([rule_for(cost).decide(cost, posterior) for cost in meant])

        decided = np.concatenate([*self._by_blocks(decide, X)], axis=1)
        return [self._in_form(labels) for labels in decided]

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        self._n_samples = check_count(self.n_samples, "n_samples", most=2**31 - 1)
        self._width = None if self.beam_width is None else check_count(self.beam_width, "beam_width")
        labels = as_dense(Y)
        order = self._chain_order(self.order, random_state)
        prototypes = self._prototypes(len(order), weight, random_state)
        self._seeds = random_state.randint(0, 2**64, len(order), dtype=np.uint64)
        self.chain_ = self._fit_chain(prototypes, X, labels, weight, order)

    def _predict(self, X: Any) -> Bits:
        return rule_for(self.cost_).decide(self.cost_, self._posterior(X))

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.chain_ = self.chain_.replaced(new)

    def _probabilities(self, X: Any) -> Floats:
        return self._posterior(X).marginals

    def _posterior(self, X: Any) -> Posterior:
        if self._width is None:
            return grow(self.chain_, X, self._n_samples, by_draws(row_offsets(X, self._seeds)))
        return grow(self.chain_, X, 1, by_likelihood(self._width))

    def _rows_at_a_time(self, X: Any) -> int:
        K = len(self.chain_.order)
        vectors = min(self._width or self._n_samples, 2 ** min(K, 30))
        features = X.nnz / max(1, X.shape[0]) if hasattr(X, "nnz") else X.shape[1]
        return max(1, min(super()._rows_at_a_time(X), int(ENTRIES / (vectors * (features + K)))))
