"""The spine of learners that score labels: a label is predicted above a threshold, one half or the best for a cost."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from clems.arrays import Bits, Floats, Labels, Weights, row_blocks
from clems.checks import check_count
from clems.costs.cost import Cost
from clems.decisions.score_threshold import best_threshold
from clems.learners.base import WITHOUT_COST, MultiLabelClassifier
from clems.learners.depth_path import DepthPath

AnyCost = str | Cost | Callable[[Any, Any], Any]
ROUNDING = 1e-9  # a score that exceeds a threshold by no more than this does not exceed it
USUAL = "f1"  # what a threshold is chosen for if nothing is said


class _WithThreshold:
    """Whether a learner uses a cost: of the class, whether it can; of an object, whether its threshold is chosen."""

    def __get__(self, model: Any, kind: type) -> bool:
        return True if model is None else bool(model._chooses)


class ScoringClassifier(MultiLabelClassifier):
    """A multi-label classifier that scores labels."""

    @abstractmethod
    def _scores(self, X: Any) -> Floats:
        """Scores of a block of checked rows, shape (n, K): about 1 for labels that are there, 0 for others."""

    def predict_scores(self, X: Any) -> Any:
        """Score the labels of new rows: those above `threshold_` are predicted, and labels are ranked by them.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.

        Returns
        -------
        ndarray or CSR array of shape (n, K)
            Greater where a label is likelier; no probabilities.
        """
        scores = [*self._by_blocks(self._scores, X)]
        return sparse.vstack(scores, "csr") if sparse.issparse(scores[0]) else np.concatenate(scores)


class ThresholdClassifier(DepthPath, ScoringClassifier):
    """A multi-label classifier that scores labels and predicts those above a threshold, one for all labels.

    A learner says how it fits, and what the scores of a block of rows are. It has the parameters `cost`, `threshold`
    and `n_folds`. The threshold is all that depends on the cost, so one fit serves every cost.

    Attributes
    ----------
    threshold_ : float
        Score above which a label is predicted.
    """

    cost_sensitive = _WithThreshold()
    cost_at_predict = _WithThreshold()

    cost: AnyCost | None
    threshold: float | str | None
    n_folds: int | None
    threshold_: float

    @property
    def _chooses(self) -> bool:
        """Whether the threshold is chosen for a cost."""
        if self.threshold is None:
            return self.cost is not None
        return isinstance(self.threshold, str) and self.threshold == "auto"

    def _own_cost(self) -> Any:
        if not self._chooses:
            return WITHOUT_COST
        return USUAL if self.cost is None else self.cost

    def _check_threshold(self) -> None:
        """Refuse a threshold that is none, or one beside a cost for which none is left to choose."""
        if not self._chooses and self.threshold is not None:
            value: Any = self.threshold
            is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
            if not is_number or not 0 <= value < 1:
                raise ValueError(f"threshold must be None, 'auto' or a number from 0 to below 1; got {value!r}.")
            if self.cost is not None:
                raise ValueError(
                    f"The threshold is all that depends on the cost; give cost={self.cost!r} or "
                    f"threshold={value!r}, not both."
                )
        if self.n_folds is not None:
            check_count(self.n_folds, "n_folds", least=2)

    def _set_threshold(self, Y: Labels, scores: Callable[[], Any], weight: Weights) -> None:
        """Set the threshold; scores of the training rows, shape (n, K), are asked for if it is chosen by them."""
        if not self._chooses:
            self._seen = None
            self.threshold_ = 0.5 if self.threshold is None else float(self.threshold)
            return
        self._seen = sparse.csr_array(Y), as_scores(scores()), weight
        self.threshold_ = best_threshold(self.cost_, *self._seen)
        self._say(f"threshold: {self.threshold_:.3g}")

    def _predict(self, X: Any) -> Bits:
        return above_threshold(self._scores(X), self.threshold_)

    def predict(self, X: Any, cost: AnyCost | None = None) -> Any:
        """Predict the labels of new rows.

        Rows are handled in blocks: beyond the result, memory does not grow with their number.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        cost : str, Cost or callable, default=None
            Use the threshold for this cost rather than for the model's own. The model must have been fitted with a
            cost, or with ``threshold="auto"``.

        Returns
        -------
        ndarray or CSR array of shape (n, K)
            Zeros and ones, of the type of the labels in training and sparse if they were; columns as in `classes_`.
        """
        if cost is None:
            return super().predict(X)
        check_is_fitted(self)
        if self._seen is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted with a threshold of {self.threshold_:g} for every cost; fit it "
                "with threshold='auto' to predict for a cost."
            )
        threshold = best_threshold(self._resolved(cost).cost, *self._seen)
        return self._labels_by_blocks(lambda block: above_threshold(self._scores(block), threshold), X)

    @property
    def depth_path(self) -> bool:  # type: ignore[override]
        """Whether the depth of trees is for you to choose; a threshold is chosen for trees as they are."""
        return not self._chooses

    def at_depth(self, depth: int) -> Self:
        """Return the model with its trees cut at a depth; not of one whose threshold was chosen."""
        check_is_fitted(self)
        if self._seen is not None:
            raise ValueError("at_depth is for a fixed threshold: this one was chosen for trees as they are.")
        return super().at_depth(depth)


def above_threshold(scores: Floats, threshold: float) -> Bits:
    """Labels that score above a threshold, and not only by rounding."""
    return (scores > threshold + ROUNDING).astype(np.uint8)


def as_scores(scores: Floats) -> Any:
    """Scores as a CSR array of numbers from 0 to 1, in blocks so that no second dense array is made."""
    parts = [sparse.csr_array(np.clip(scores[rows], 0, 1)) for rows in row_blocks(*scores.shape)]
    return sparse.vstack(parts, "csr")
