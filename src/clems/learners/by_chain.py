"""The spine of chains: one classifier per label, fed the features and the labels before it."""

from __future__ import annotations

import reprlib
from abc import abstractmethod
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from clems.arrays import Bits, Floats, Integers, Weights, beside
from clems.learners.by_division import DividedClassifier, Problem
from clems.posterior.chains import Chain, probability


class ChainClassifier(DividedClassifier):
    """A multi-label classifier made of one binary classifier per label, each of which may see the labels before it.

    A learner says what each classifier is trained on and how labels are decided.
    """

    def _fit_chain(self, prototypes: list[Any], X: Any, Y: Bits, weight: Weights, order: Integers) -> Chain:
        """Fit a chain to the true labels."""
        Y = Y[:, order]
        names = self.classes_[order].tolist()
        problems = (Problem(name, Y[:, :j], Y[:, j], weight) for j, name in enumerate(names))
        return Chain(order, self._fit_each(prototypes, X, problems))

    def _chain_order(self, order: Any, random_state: np.random.RandomState) -> Integers:
        """Resolve the order of columns: as they come, at random, or as their names are listed."""
        K = len(self.classes_)
        if order is None:
            return np.arange(K)
        if isinstance(order, str) and order == "random":
            return random_state.permutation(K)
        column_of = {name: column for column, name in enumerate(self.classes_.tolist())}
        columns = []
        if hasattr(order, "__getitem__") and not isinstance(order, (str, bytes, dict)):  # a sequence, not a set
            with suppress(KeyError, TypeError):
                columns = [column_of[name] for name in order]
        if sorted(columns) != list(range(K)):
            names = ", ".join(map(repr, self.classes_.tolist()[:5])) + (", …" if K > 5 else "")
            raise ValueError(
                f"order must be None, 'random' or each of the {K} labels ({names}) once; got {reprlib.repr(order)}."
            )
        return np.array(columns)


def estimator_has_probabilities(model: Any) -> bool:
    """Whether the estimator of a model has `predict_proba`, or had it when the model was fitted."""
    fitted = getattr(model, "_fitted_with_probabilities", None)
    return model.estimator is None or hasattr(model.estimator, "predict_proba") if fitted is None else fitted


class LabelByLabel(ChainClassifier):
    """A chain that decides label by label: a label is predicted if it is more probable than not."""

    @available_if(estimator_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Predict how probable each label is.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n, K)
            BR: of each label alone. CC: of each label given the predicted labels before it, the mean over chains.
        """
        return np.concatenate([*self._by_blocks(self._probabilities, X)])

    @abstractmethod
    def _probabilities(self, X: Any) -> Floats:
        """How probable each label is, for a block of checked rows."""

    def _predict(self, X: Any) -> Bits:
        return (self._probabilities(X) > 0.5).astype(np.uint8)


def follow(chain: Chain, X: Any) -> tuple[Bits, Floats]:
    """Predict label by label, each one fed those before it.

    Returns
    -------
    labels : ndarray of shape (n, K)
    probabilities : ndarray of shape (n, K)
        Of each label given those predicted before it.
    """
    n, K = X.shape[0], len(chain.order)
    bits, probabilities = np.zeros((n, K), np.uint8), np.empty((n, K))
    for j, estimator in enumerate(chain.estimators):
        probabilities[:, j] = probability(estimator, beside(X, bits[:, :j]))
        bits[:, j] = probabilities[:, j] > 0.5
    columns = chain.order.argsort()
    return bits[:, columns], probabilities[:, columns]
