"""The spine of learners with a posterior: one distribution over label vectors, decided for any cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from clems.arrays import Bits, Floats
from clems.costs.cost import Cost
from clems.costs.criteria import Criterion
from clems.decisions.budget import allowed_sizes
from clems.decisions.decide import TopK, decide, expected_costs, top_k
from clems.decisions.handing_over import check_price, handed_over
from clems.learners.base import MultiLabelClassifier
from clems.posterior.distribution import AnyCost as AnyCost
from clems.posterior.distribution import Posterior, stacked


class PosteriorClassifier(MultiLabelClassifier):
    """A multi-label classifier that reads a posterior for each row and decides by least expected cost.

    A learner says how it fits, and what the posterior of a block of rows is.
    """

    cost_sensitive = True
    cost_at_predict = True

    @abstractmethod
    def _posterior(self, X: Any) -> Posterior:
        """Read the posterior of a block of checked rows."""

    def posterior_for(self, posterior: Posterior, cost: AnyCost | None) -> Posterior:  # noqa: ARG002
        """Return the posterior of rows by which the model decides for a cost; by default that of all costs."""
        return posterior

    def posterior(self, X: Any, cost: AnyCost | None = None) -> Posterior:
        """Read the distribution over label vectors of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features, at least one row.
        cost : str, Cost or callable, default=None
            Read what `predict` decides by for this cost rather than for the model's own; another distribution only if
            the model mixes several sources, as CLEMS does.

        Returns
        -------
        Posterior
            With `decide`, `expected_cost` and `top_k` for any cost, `marginals`, `labels` and `share`.
        """
        blocks = self._by_blocks(lambda block: self._posterior(block.copy()), X)  # which may be read later
        return self.posterior_for(stacked([*blocks]), cost)

    def decide(
        self,
        posterior: Posterior,
        cost: AnyCost | None = None,
        *,
        at_most: int | None = None,
        exactly: int | None = None,
        abstain_at: float | None = None,
    ) -> Any:
        """Decide for rows whose posterior has been read, as `predict` does.

        Parameters
        ----------
        posterior : Posterior
            What `posterior` returns for these rows.
        cost : str, Cost or callable, default=None
            A cost other than the model's own, as in `predict`.
        at_most, exactly, abstain_at
            A budget, and a price of handing rows over, as in `predict`.

        Returns
        -------
        ndarray of shape (n, K)
            With `abstain_at` a masked array, in which the rows that are handed over are masked.
        """
        check_is_fitted(self)
        posterior = self.posterior_for(posterior, cost)
        decided = self._decision_within(cost, at_most, exactly)(posterior)
        if (price := check_price(abstain_at)) is None:
            return decided
        return handed_over(decided, self.expected_of(posterior, cost, decided), price)

    def predict(
        self,
        X: Any,
        cost: AnyCost | None = None,
        *,
        at_most: int | None = None,
        exactly: int | None = None,
        abstain_at: float | None = None,
    ) -> NDArray[Any]:
        """Predict the labels of new rows.

        Rows are handled in blocks: beyond the result, memory does not grow with their number.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        cost : str, Cost or callable, default=None
            Decide for this cost rather than for the model's own: exactly if the cost has a rule for that, else by the
            least expected cost that a search finds.
        at_most, exactly : int, default=None
            Predict at most, or exactly, so many labels for each row: the vector of least expected cost of such a size,
            whatever the model's decoder. One or the other; not for criteria of all rows together.
        abstain_at : float, default=None
            Price of handing a row over, in the unit of the cost: rows whose prediction is expected to cost more are
            masked.

        Returns
        -------
        ndarray or CSR array of shape (n, K)
            Zeros and ones, of the type of the labels in training and sparse if they were; columns as in `classes_`.
            With `abstain_at` a masked array, never sparse, in which the rows that are handed over are masked.
        """
        check_is_fitted(self)
        decision = self._decision_within(cost, at_most, exactly)
        if (price := check_price(abstain_at)) is None:
            return self._labels_by_blocks(lambda block: decision(self._posterior_of(block, cost)), X)
        self._checked_row_cost(cost)

        def question(posterior: Posterior) -> list[Any]:
            posterior = self.posterior_for(posterior, cost)
            decided = decision(posterior)
            return [decided, self.expected_of(posterior, cost, decided)]

        decided, expected = self.ask(X, question)
        return handed_over(decided.astype(self._form_of_labels.dtype), expected, price)

    def predict_each(self, X: Any, costs: Sequence[AnyCost]) -> list[NDArray[Any]]:
        """Predict the labels of new rows for several costs; posteriors are read once for all of them.

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
        decisions = [(cost, self._decision(cost)) for cost in costs]

        def question(posterior: Posterior) -> list[Any]:
            return [decision(self.posterior_for(posterior, cost)) for cost, decision in decisions]

        return [self._in_form(decided) for decided in self.ask(X, question)]

    def predict_proba(self, X: Any) -> Floats:
        """Predict the marginals: how probable each label is by itself.

        Of CLEMS with experts they are those of the mixture of label vectors that held-out rows ask for by log loss,
        whatever the cost; `posterior` returns the mixture by which it decides.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n, K)
        """
        return np.asarray(self.ask(X, lambda one: [one.marginals])[0])

    def expected_cost(self, X: Any, cost: AnyCost | None = None) -> Floats:
        """Compute what the prediction for each row is expected to cost.

        That is the expectation by the row's posterior, times `paid_over_expected`, but no more than a row can cost.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        cost : str, Cost or callable, default=None
            A cost other than the model's own, as in `predict`.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        self._checked_row_cost(cost)
        decision = self._decision(cost)

        def question(posterior: Posterior) -> list[Any]:
            posterior = self.posterior_for(posterior, cost)
            return [self.expected_of(posterior, cost, decision(posterior))]

        return np.asarray(self.ask(X, question)[0])

    def top_k(self, X: Any, k: int, cost: AnyCost | None = None) -> TopK:
        """List label vectors for each row: the prediction, then others in rising order of expected cost.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        k : int
            How many: of CLEMS, at most as many as there are candidates; of PCC, and where labels are independent or
            taken apart, at most one more than labels.
        cost : str, Cost or callable, default=None
            A cost other than the model's own, as in `predict`.

        Returns
        -------
        TopK
            `labels` of shape (n, k, K), and `probability` and `expected_cost` of shape (n, k).
        """
        check_is_fitted(self)
        row_cost, decision = self._checked_row_cost(cost), self._decision(cost)

        def question(posterior: Posterior) -> TopK:
            posterior = self.posterior_for(posterior, cost)
            return top_k(posterior, row_cost, decision(posterior), k)

        found = TopK(*self.ask(X, question))
        return found._replace(expected_cost=self._honest(cost, found.expected_cost))

    def paid_over_expected(self, cost: AnyCost | None = None) -> float:  # noqa: ARG002
        """Return what expected costs are multiplied by, so that they are honest; decisions do not depend on it.

        Models that have held rows out while they were trained, CLEMS and CostSensitiveClassifier, know what these cost
        and what they were expected to cost: this is the square root of the ratio. Half of it on the scale of logarithms
        is taken, since rows are held out by fewer trees, or by classifiers of fewer rows, than predict a new row. Other
        models have 1.

        Parameters
        ----------
        cost : str, Cost or callable, default=None
            A cost other than the model's own, as in `predict`.
        """
        return 1.0

    def expected_of(self, posterior: Posterior, cost: AnyCost | None, predicted: Bits) -> Floats:
        """Compute what predictions are expected to cost, for rows whose posterior has been read for this cost.

        Parameters
        ----------
        posterior : Posterior
            What `posterior` returns for these rows and the cost.
        cost : str, Cost or callable, or None
            A cost other than the model's own, as in `predict`.
        predicted : ndarray of shape (n, K)
            Any predictions, zeros and ones.

        Returns
        -------
        ndarray of shape (n,)
        """
        row_cost = self._checked_row_cost(cost)
        return self._honest(cost, expected_costs(posterior, row_cost, predicted))

    def _honest(self, cost: AnyCost | None, expected: Floats) -> Floats:
        """Multiply what is expected by `paid_over_expected`, but to no more than a row can cost."""
        factor = self.paid_over_expected(cost)
        most = self._checked_row_cost(cost).bound(len(self.classes_)) if factor > 1 else None
        return np.minimum(factor * expected, np.inf if most is None else most)

    def ask(self, X: Any, question: Callable[[Posterior], Sequence[Any]]) -> list[Any]:
        """Answer several questions about rows in one pass, in which each row is read once.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Features.
        question : callable
            Function of the posterior of a block of rows; returns arrays with a row for each of these.

        Returns
        -------
        list of ndarray
            Each of the arrays for all rows.
        """
        answers = self._by_blocks(lambda block: question(self._posterior(block)), X)
        return [np.concatenate(parts) for parts in zip(*answers, strict=True)]

    def _predict(self, X: Any) -> Bits:
        return self._decision(None)(self._posterior_of(X, None))

    def _posterior_of(self, X: Any, cost: AnyCost | None) -> Posterior:
        """Read the posterior of a block of checked rows by which the model decides for a cost."""
        return self.posterior_for(self._posterior(X), cost)

    def _decision(self, cost: AnyCost | None) -> Callable[[Posterior], Bits]:
        """Return how to decide for a cost, or for the model's own."""
        return self._decision_by(self._criterion_for(cost))

    def _decision_by(self, criterion: Criterion) -> Callable[[Posterior], Bits]:
        """Return how to decide by a criterion; the model's own is `criterion_` itself."""
        return lambda posterior: decide(posterior, criterion.cost)

    def _decision_within(self, cost: AnyCost | None, at_most: Any, exactly: Any) -> Callable[[Posterior], Bits]:
        """Return how to decide for a cost, or for the model's own, with a budget if there is one."""
        sizes = allowed_sizes(at_most, exactly, len(self.classes_))
        if sizes is None:
            return self._decision(cost)
        criterion = self._criterion_for(cost)
        if not criterion.of_single_rows:
            raise ValueError(
                f"{criterion.name} is decided for all rows together, so no row has a budget; name a cost of single "
                "rows, such as cost='f1'."
            )
        return lambda posterior: decide(posterior, criterion.cost, sizes)

    def _criterion_for(self, cost: AnyCost | None) -> Criterion:
        """Resolve a cost; None is the model's own."""
        return self.criterion_ if cost is None else self._resolved(cost)

    def row_cost(self, cost: AnyCost | None = None) -> Cost | None:
        """Return what a single row costs: by a cost, or by the model's own; None if only all rows together have one."""
        criterion = self._criterion_for(cost)
        return criterion.cost if criterion.of_single_rows else None

    def _checked_row_cost(self, cost: AnyCost | None) -> Cost:
        row_cost = self.row_cost(cost)
        if row_cost is None:
            raise ValueError(
                f"{self._criterion_for(cost).name} is no cost of single rows; name one that is, such as cost='f1'."
            )
        return row_cost
