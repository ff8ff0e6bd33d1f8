"""What a fitted model can be asked, as a type: for editors and type checkers, since a file may hold any learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from clems.arrays import Floats
from clems.decisions.decide import TopK
from clems.posterior.distribution import AnyCost, Posterior


class Model(Protocol):
    """A fitted learner, a pipeline that ends in one, or what makes a promise of one; `clems.load` returns one.

    Every model has `predict`, `classes_` (a GuaranteedCost that of its model) and `get_params`. Learners with
    probabilities have `predict_proba`, those with a posterior all of the rest.
    """

    @property
    def classes_(self) -> NDArray[Any]:
        """Names of the labels."""

    def predict(self, X: Any, **options: Any) -> NDArray[Any]:
        """Predict the labels of rows; of a learner with a posterior with ``cost=``, ``at_most=`` and others."""

    def predict_each(self, X: Any, costs: Sequence[AnyCost]) -> list[NDArray[Any]]:
        """Predict the labels of rows for several costs."""

    def predict_proba(self, X: Any) -> Floats:
        """How probable each label is."""

    def posterior(self, X: Any) -> Posterior:
        """Distribution over label vectors of each row."""

    def expected_cost(self, X: Any, cost: AnyCost | None = None) -> Floats:
        """Compute what the prediction for each row is expected to cost."""

    def top_k(self, X: Any, k: int, cost: AnyCost | None = None) -> TopK:
        """Label vectors for each row in rising order of expected cost."""

    def score(self, X: Any, y: Any) -> float:
        """Score predictions; greater is better."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
