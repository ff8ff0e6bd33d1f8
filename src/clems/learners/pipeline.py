"""Pipelines that end in a learner: what comes before it makes its features, and the learner is reached through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline as AnyPipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clems.arrays import Floats
from clems.decisions.decide import TopK
from clems.learners.base import MultiLabelClassifier
from clems.posterior.distribution import AnyCost, Posterior


class Reached(NamedTuple):
    """A learner, its features, and their names where they are known."""

    learner: Any
    X: Any
    feature_names: list[str] | None


def ends_in_learner(model: Any) -> bool:
    """Whether a model is a learner of clems, or a pipeline that ends in one."""
    return isinstance(steps_of(model)[1], MultiLabelClassifier)


def steps_of(model: Any) -> tuple[list[Any], Any]:
    """Return the steps of a pipeline before the last, and the last; a model that is no pipeline is its own last."""
    before: list[Any] = []
    while isinstance(model, AnyPipeline) and model.steps:
        before += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    return before, model


def learner_of(model: Any, what: str = "This") -> MultiLabelClassifier:
    """Return the learner that a model is, or that a pipeline ends in.

    Parameters
    ----------
    model : learner or Pipeline
        A learner of clems, or scikit-learn's Pipeline that ends in one.
    what : str, default="This"
        What needs it, for the sentence that refuses anything else.
    """
    last = steps_of(model)[1]
    if isinstance(last, MultiLabelClassifier):
        return last
    held = "" if last is model else f" that ends in a {type(last).__name__}"
    raise TypeError(
        f"{what} needs a learner of clems, or a Pipeline of scikit-learn's that ends in one; got a "
        f"{type(model).__name__}{held}."
    )


def reach(model: Any, X: Any, what: str = "This") -> Reached:
    """Take rows to the learner of a model, through the steps before it if the model is a pipeline.

    Parameters
    ----------
    model : learner or Pipeline
        Fitted.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Rows, as the model takes them.
    what : str, default="This"
        What needs the learner.
    """
    learner = learner_of(model, what)
    check_is_fitted(learner)
    names = None
    while isinstance(model, AnyPipeline):
        if len(model.steps) > 1:
            before = model[:-1]
            X = before.transform(X)
            names = names_out(before)
        model = model.steps[-1][1]
    return Reached(learner, X, names)


def names_out(steps: Any) -> list[str] | None:
    """Name the features that fitted steps make, where they say so."""
    try:
        return [str(name) for name in steps.get_feature_names_out()]
    except (AttributeError, ValueError, NotImplementedError):  # of a step that does not name what it makes
        return None


def _has(name: str) -> Callable[[Any], bool]:
    return lambda pipeline: hasattr(pipeline._final_estimator, name)


class Pipeline(AnyPipeline):  # type: ignore[misc]
    """Scikit-learn's Pipeline with the further methods of learners: posteriors, expected costs, rankings.

    A fitted scikit-learn pipeline needs no second fit: ``Pipeline(fitted.steps)``.

    Parameters
    ----------
    steps : list of tuple of str and estimator
        Transformers, and a learner at the end.
    memory, verbose, transform_input
        As scikit-learn has them.

    Examples
    --------
    >>> import pandas as pd
    >>> from clems import CLEMS, Pipeline, TableEncoder
    >>> table = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": [1.5, 2.5, None, 0.5] * 10})
    >>> Y = pd.DataFrame({"warm": [1, 0] * 20, "large": [0, 1, 0, 0] * 10})
    >>> model = Pipeline([("columns", TableEncoder()), ("learner", CLEMS("hamming", n_trees=10, random_state=0))])
    >>> model.fit(table, Y).predict(table[:2]).tolist()
    [[1, 0], [0, 1]]
    >>> model.expected_cost(table[:2]).shape
    (2,)
    """

    if TYPE_CHECKING:  # inherited, with types

        @property
        def classes_(self) -> NDArray[Any]:
            """Names of the labels."""

        def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
            """Fit all steps."""

        def predict(self, X: Any, **params: Any) -> NDArray[Any]:
            """Predict the labels of rows."""

    @available_if(_has("posterior"))  # type: ignore[untyped-decorator]
    def posterior(self, X: Any) -> Posterior:
        """Read the distribution over label vectors of each row; as the learner's `posterior`."""
        learner, X, _ = reach(self, X)
        found: Posterior = learner.posterior(X)
        return found

    @available_if(_has("expected_cost"))  # type: ignore[untyped-decorator]
    def expected_cost(self, X: Any, cost: AnyCost | None = None) -> Floats:
        """Compute what the prediction for each row is expected to cost; as the learner's `expected_cost`."""
        learner, X, _ = reach(self, X)
        return np.asarray(learner.expected_cost(X, cost))

    @available_if(_has("top_k"))  # type: ignore[untyped-decorator]
    def top_k(self, X: Any, k: int, cost: AnyCost | None = None) -> TopK:
        """List label vectors for each row in rising order of expected cost; as the learner's `top_k`."""
        learner, X, _ = reach(self, X)
        found: TopK = learner.top_k(X, k, cost)
        return found

    @available_if(_has("predict_each"))  # type: ignore[untyped-decorator]
    def predict_each(self, X: Any, costs: Sequence[Any]) -> list[NDArray[Any]]:
        """Predict the labels of new rows for several costs; as the learner's `predict_each`."""
        learner, X, _ = reach(self, X)
        return [*learner.predict_each(X, costs)]
