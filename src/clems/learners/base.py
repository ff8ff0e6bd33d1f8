"""What all learners share: checked input, prediction in blocks of rows, a score, and seeds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from clems.arrays import Bits, Labels, Weights, row_blocks
from clems.checks import check_count
from clems.costs.at_k import propensities_of
from clems.costs.cost import Cost
from clems.costs.criteria import Criterion, label_criteria, mean_of
from clems.costs.formulas import get_cost
from clems.learners.input import (
    all_or_nothing,
    check_features,
    check_labels,
    check_training,
    multi_label_tags,
    takes_missing,
)

BLOCK = 4096  # rows predicted at a time
WITHOUT_COST = "zero_one"  # what a learner that takes no cost is scored by, as scikit-learn scores labels


class Profile(NamedTuple):
    """What the table of learners tells of one.

    Attributes
    ----------
    code : str
        "reduction" if label vectors become fewer numbers than labels, or can, "expansion" if more, "none" if labels are
        learned as they are.
    optimises : str
        What training optimises beyond the loss of its estimators.
    time, memory : str
        Their order beyond the estimators: n rows, d features, K labels, M codes, L distinct label vectors, s labels of
        a row; F is one fit of the estimator.
    """

    code: str
    optimises: str
    time: str
    memory: str


class MultiLabelClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A multi-label classifier built on an estimator.

    A learner says how it fits and predicts, and has the parameters `estimator`, `n_trees`, `n_jobs`, `random_state` and
    `verbose`.

    Attributes
    ----------
    cost_sensitive : bool
        Whether training or decision depend on a cost, the parameter `cost`.
    cost_at_fit : bool
        Whether training depends on it.
    cost_at_predict : bool
        Whether `predict` takes another cost, so that one fit serves all of them.
    cost_after_fit : bool
        Whether `with_cost` makes of a fitted model the one of another cost, without training anew.
    label_based : bool
        Whether the cost may be a criterion of all rows together, "micro_f1" or "macro_f1".
    depth_path : bool
        Whether the depth of its trees is for you to choose, by `at_depth`, as experiments do.
    takes_gaps : bool
        Whether features may be missing (NaN), if the estimator takes that, as forests do.
    takes_missing_labels : bool
        Whether labels may be missing in training: NaN where nobody has looked.
    needs : tuple of str
        Packages beyond the usual ones that training imports.
    predictor : {"regressor", "classifier"}
        What kind of estimator it is built on.
    """

    cost_sensitive = False
    cost_at_fit = False
    cost_at_predict = False
    cost_after_fit = False
    label_based = False
    depth_path = False
    takes_gaps = True
    takes_missing_labels = False
    needs: ClassVar[tuple[str, ...]] = ()
    predictor: str
    profile: ClassVar[Profile]

    estimator: Any
    n_trees: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int
    criterion_: Criterion
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @property
    def cost_(self) -> Cost:
        """What a single row costs; with "micro_f1" and "macro_f1" the cost that labels are embedded for."""
        return self.criterion_.cost

    @classmethod
    def supports(cls, cost: Cost) -> bool:  # noqa: ARG003
        """Whether the learner has an answer for a cost: by default for any, even if it is the same for all."""
        return True

    @classmethod
    def is_installed(cls) -> bool:
        """Whether all is installed that training needs."""
        return all(find_spec(package) is not None for package in cls.needs)

    @abstractmethod
    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        """Train on checked features, labels and weights; `criterion_` is set."""

    @abstractmethod
    def _predict(self, X: Any) -> Bits:
        """Label vectors of a block of checked rows, shape (n, K)."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on features and labels.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features; NaN where one is missing, if the estimator takes that, as forests do.
        y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
            Labels, zeros and ones; names of columns are kept in `classes_`.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_count(self.n_trees, "n_trees")
            X, labels, weight = check_training(self, X, y, sample_weight)
            self._propensities = propensities_of(np.nan_to_num(labels) if labels.dtype.kind == "f" else labels)
            self.criterion_ = self._resolved(self._own_cost())
            try:
                self._fit(X, labels, weight, check_random_state(self.random_state))
            except MemoryError as error:
                size = f"{X.shape[0]:,} rows, {X.shape[1]:,} features and {labels.shape[1]:,} labels"
                raise ValueError(
                    f"Training ran out of memory with {size}: {error or 'no more was to be had'}."
                ) from None
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the labels of new rows.

        Rows are handled in blocks: beyond the result, memory does not grow with their number.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.

        Returns
        -------
        ndarray or CSR array of shape (n, K)
            Zeros and ones, of the type of the labels in training and sparse if they were; columns as in `classes_`.
        """
        return self._labels_by_blocks(self._predict, X)

    def predict_each(self, X: Any, costs: Sequence[Any]) -> list[NDArray[Any]]:
        """Predict the labels of new rows for several costs; of a learner whose `predict` takes a cost.

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
        predict: Callable[..., Any] = self.predict
        return [predict(X, cost=cost) for cost in costs]

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Score predictions for X against the labels y by the learner's own cost; greater is better.

        It is ``1 − cost`` where people report that (F1, accuracy, subset accuracy), else the negative cost. A learner
        that has no cost is scored by subset accuracy, as scikit-learn's multi-label classifiers are.
        """
        predicted = self.predict(X)
        labels = check_labels(self, y)
        check_consistent_length(predicted, labels)
        return self.criterion_.sign * self.criterion_(labels, predicted, sample_weight)

    def _own_cost(self) -> Any:
        """Return the cost that the model is fitted for; what it is scored by if it takes none."""
        return self.cost if self.cost_sensitive else WITHOUT_COST

    def _resolved(self, cost: Any) -> Criterion:
        """Resolve what to train or decide for; a cost that cannot be computed for these labels is refused here."""
        if self.label_based and isinstance(cost, str):
            together = label_criteria()
            if cost in together:
                return together[cost]
            if close := get_close_matches(cost, together, n=1, cutoff=0.8):
                raise ValueError(f"Unknown cost {cost!r}; did you mean {close[0]!r}?")
        resolved = get_cost(cost).for_labels(self.classes_.tolist(), self._propensities)
        none_and_all = np.repeat(np.array([[0], [1]], np.uint8), len(self.classes_), axis=1)
        resolved.of_pairs(none_and_all, none_and_all)
        return mean_of(resolved)

    def _labels_by_blocks(self, predict: Callable[[Any], Bits], X: Any) -> NDArray[Any]:
        """Predictions of all rows in the form of the labels of training."""
        check_is_fitted(self)
        form = self._form_of_labels
        blocks = [form, *self._by_blocks(lambda block: self._in_form(predict(block)), X)]
        return sparse.vstack(blocks, "csr") if sparse.issparse(form) else np.concatenate(blocks)

    def _in_form(self, labels: Bits) -> Any:
        """Labels as they were given in training: sparse or dense, and of that type."""
        as_given = sparse.csr_array if sparse.issparse(self._form_of_labels) else np.asarray
        return as_given(labels.astype(self._form_of_labels.dtype))

    def _by_blocks(self, answer: Callable[[Any], Any], X: Any) -> Iterator[Any]:
        """Answers for blocks of rows, in order."""
        check_is_fitted(self)
        X = check_features(self, X)
        return (answer(X[rows]) for rows in row_blocks(X.shape[0], 1, self._rows_at_a_time(X)))

    def _rows_at_a_time(self, X: Any) -> int:  # noqa: ARG002
        """Rows that are predicted together."""
        return BLOCK

    def _say(self, text: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {text}", flush=True)

    def __sklearn_tags__(self) -> Tags:
        tags = multi_label_tags(super().__sklearn_tags__())
        tags.input_tags.allow_nan = self.takes_gaps and takes_missing(self.estimator)
        return tags


def check_estimator(estimator: Any, kind: str) -> None:
    """Refuse what is no estimator, or an estimator of another kind than the learner is built on."""
    needed = all(hasattr(estimator, name) for name in ("fit", "predict", "get_params", "__sklearn_tags__"))
    if not needed or isinstance(estimator, type) or get_tags(estimator).estimator_type not in (kind, None):
        raise ValueError(
            f"estimator must be a {kind} as scikit-learn has them, with fit and predict; got {estimator!r}."
        )


def seeded(estimator: Any, random_state: np.random.RandomState) -> Any:
    """Return an unfitted copy of an estimator with seeds where it has none."""
    copy = clone(estimator)
    unset = [key for key, value in sorted(copy.get_params().items()) if _is_seed(key) and value is None]
    return copy.set_params(**{key: new_seed(random_state) for key in unset})


def new_seed(random_state: np.random.RandomState) -> int:
    """Draw a seed."""
    return int(random_state.randint(2**31 - 1))


def _is_seed(key: str) -> bool:
    return key == "random_state" or key.endswith("__random_state")
