"""Costs at k: precision, recall, nDCG and propensity-scored precision of sets of labels of which k count.

A set has no order. These costs take its m labels in random order, and only the first k of them count: of tp true
positives, ``tp · min(1, k / m)`` on average. For fixed sizes all of them are affine in tp, or a sum over labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from clems.arrays import Bits, Floats, Labels
from clems.checks import check_count, check_number
from clems.costs.cost import Cost, CountCost, Top
from clems.costs.counts import Counts
from clems.costs.formulas import PARAMETRISED
from clems.costs.label_prices import Names, Numbers, as_numbers, nameless, places_of, split_names
from clems.labels.matrix import as_labels


@dataclass(frozen=True)
class PrecisionAt:
    """Formula ``1 − tp / max(m, k)`` for m predicted labels."""

    k: int

    def __call__(self, c: Counts) -> Floats:
        """Cost of counts."""
        return 1 - c.tp / np.maximum(c.predicted, self.k)


@dataclass(frozen=True)
class RecallAt:
    """Formula ``1 − tp · min(1, k / m) / s`` for m predicted and s true labels; 0 if s is 0."""

    k: int

    def __call__(self, c: Counts) -> Floats:
        """Cost of counts."""
        hits, most = c.tp * np.minimum(c.predicted, self.k), np.maximum(c.predicted, 1) * np.maximum(c.truth, 1)
        return np.where(c.truth > 0, 1 - hits / most, 0)


@dataclass(frozen=True)
class NdcgAt:
    """Formula ``1 − tp / m · D(m) / D(s)`` with ``D(j) = Σ_{i ≤ min(j, k)} 1 / log2(i + 1)``; 0 if s is 0."""

    k: int

    def __call__(self, c: Counts) -> Floats:
        """Cost of counts."""
        k = min(self.k, int(c.total))
        D = np.concatenate([[0], discounts(k).cumsum()])
        of_predicted, of_truth = (D[np.minimum(size, k).astype(np.intp)] for size in (c.predicted, c.truth))
        # Numerator and denominator are the same number where all is right, so that the cost is exactly 0.
        gain, best = c.tp * of_predicted, np.maximum(c.predicted, 1) * np.where(c.truth > 0, of_truth, 1)
        return np.where(c.truth > 0, np.maximum(1 - gain / best, 0), 0)


def discounts(k: int) -> Floats:
    """Compute what a hit at each of the first k places counts in nDCG: ``1 / log2(i + 1)`` for i from 1 on."""
    return 1 / np.log2(np.arange(2, k + 2))


def precision_at(k: int) -> Cost:
    """Cost ``1 − precision@k``: the share of k labels that are not true.

    With m predicted labels, tp of them true, it is ``1 − tp / max(m, k)``. Decisions have exactly the k most probable
    labels, or all labels if there are fewer than k.

    Parameters
    ----------
    k : int
        How many labels count.

    Examples
    --------
    >>> from clems import get_criterion, precision_at
    >>> precision_at(2).rowwise([[1, 1, 1, 0]], [[1, 0, 0, 1]])
    array([0.5])
    >>> get_criterion("precision_at(2)")([[1, 1, 1, 0]], [[1, 1, 0, 0]])
    1.0
    """
    k = check_count(k, "k of precision_at")
    return _at(k, "precision", PrecisionAt(k), Top(k))


def recall_at(k: int) -> Cost:
    """Cost ``1 − recall@k``: the share of true labels that are not among k predicted ones.

    With m predicted labels, tp of them true, and s true ones it is ``1 − tp · min(1, k / m) / s``; a row without true
    labels costs 0. Decisions have exactly k labels, or all if there are fewer.

    Parameters
    ----------
    k : int
        How many labels count.

    Examples
    --------
    >>> from clems import recall_at
    >>> recall_at(2).rowwise([[1, 1, 1, 0]], [[1, 0, 0, 1]]).round(3)
    array([0.667])
    """
    k = check_count(k, "k of recall_at")
    return _at(k, "recall", RecallAt(k), Top(k, by_size=True))


def ndcg_at(k: int) -> Cost:
    """Cost ``1 − nDCG@k``, normalised discounted cumulative gain of the first k labels of a set in random order.

    With m predicted labels, tp of them true, and s true ones it is ``1 − tp / m · D(m) / D(s)``, where ``D(j)`` is the
    sum of ``1 / log2(i + 1)`` over i from 1 to the smaller of j and k; a row without true labels costs 0. As an
    unlikely label may come first, decisions may have fewer than k labels.

    Parameters
    ----------
    k : int
        How many labels count.

    Examples
    --------
    >>> from clems import ndcg_at
    >>> ndcg_at(2).rowwise([[1, 1, 1, 0]], [[1, 0, 0, 1]])
    array([0.5])
    """
    k = check_count(k, "k of ndcg_at")
    return _at(k, "ndcg", NdcgAt(k), None)


def _at(k: int, what: str, formula: PrecisionAt | RecallAt | NdcgAt, top: Top | None) -> Cost:
    return CountCost(name=f"{what}_at({k})", formula=formula, affine_in_tp=True, as_score=True, top=top)


@dataclass(frozen=True, kw_only=True, repr=False)
class PropensityCost(Cost):
    """What propensity-scored precision@k falls short of the best that was possible for the row.

    Attributes
    ----------
    k : int
        How many labels count.
    weights : tuple of float or None
        What a hit of each label counts, one over its propensity; None until `for_labels` is given propensities.
    labels : tuple of str or None
        Names of the labels that weights belong to; None if they are in the order of the labels.
    """

    k: int
    weights: Numbers | None = None
    labels: Names | None = None

    def for_labels(self, names: Iterable[Any], propensities: ArrayLike | None = None) -> Cost:
        """Put weights by name in the order of the labels, or take them from propensities if there are none."""
        if self.weights is None:
            return self if propensities is None else psp_at(self.k, propensities)
        if self.labels is None:
            return self
        places = places_of(names, self.labels, self.name, "propensity")
        weights = tuple(self.weights[at] for at in places)
        return replace(self, labels=None, weights=weights, top=Top(self.k, weights))

    def of_rows(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        """Compute the cost of each row of checked labels."""
        weights = self.checked_weights(Y.shape[1])
        reached = ((Y * P) @ weights) * self._part_that_counts(P)
        return np.asarray(np.maximum(self._best(Y, weights) - reached, 0) / self.k)

    def bound(self, K: int) -> float:
        """Compute the cost of missing all labels where all are true."""
        return float(np.sort(self.checked_weights(K))[-self.k :].sum() / self.k)

    def of_independent(self, marginals: Floats, P: Bits) -> Floats:
        """Compute the expected cost of each row of P if labels are independent, exactly."""
        weights = self.checked_weights(P.shape[1])
        reached = ((marginals * P) @ weights) * self._part_that_counts(P)
        # E[B_k] = Σ_l w_l p_l P(fewer than k of the labels of greater weight are true)
        best = np.zeros(len(P))
        heavier = np.zeros((len(P), min(self.k, P.shape[1])))  # how probable it is that 0, 1, … k − 1 of these are true
        heavier[:, 0] = 1
        for label in np.argsort(-weights, kind="stable"):
            p = marginals[:, label]
            best += weights[label] * p * heavier.sum(axis=1)
            heavier[:, 1:] += p[:, None] * (heavier[:, :-1] - heavier[:, 1:])
            heavier[:, 0] *= 1 - p
        return np.asarray(np.maximum(best - reached, 0) / self.k)

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        weights = self.checked_weights(P.shape[1])
        part = self._part_that_counts(P)
        worth = (P * weights).T

        def costs_of(Y: Labels) -> Floats:
            reached = Y.astype(np.float64) @ worth
            dense = reached.toarray() if sparse.issparse(reached) else reached
            # (best_k(y) − min(1, k / m) Σ_l y_l p_l w_l) / k, at least 0 but for rounding
            result: Floats = np.maximum(self._best(Y, weights)[:, None] - dense * part, 0) / self.k
            return result.astype(dtype, copy=False)

        return costs_of

    def _part_that_counts(self, P: Labels) -> Floats:
        """Compute ``min(1, k / m)`` for predictions of m labels, shape (n,)."""
        return np.asarray(np.minimum(1, self.k / np.maximum(P.sum(axis=1, dtype=np.float64), 1)))

    def _best(self, Y: Labels, weights: Floats) -> Floats:
        """Sum up the k greatest weights of the true labels of each row, shape (n,)."""
        return greatest_sums(sparse.csr_array(Y), weights, [self.k])[:, 0]

    def checked_weights(self, K: int) -> NDArray[np.float64]:
        """Return what a hit of each of K labels counts; an error if that is not known in their order."""
        if self.weights is None:
            raise ValueError(
                f"{self.name} takes propensities from training labels, and here are none; "
                f"give them, psp_at({self.k}, propensities(Y_train))."
            )
        if self.labels is not None:
            raise nameless(self.labels, self.name)
        if len(self.weights) != K:
            raise ValueError(f"{self.name} has {len(self.weights)} propensities for {K} labels; give one per label.")
        return np.array(self.weights)


def weights_of_hits(propensities: Any, names: Iterable[Any], K: int) -> Floats:
    """Compute what a hit of each of K labels counts, one over its propensity, given by position or by name."""
    cost = psp_at(1, propensities).for_labels(names)
    assert isinstance(cost, PropensityCost)
    return cost.checked_weights(K)


def greatest_sums(Y: Any, weights: Floats, ks: Iterable[int]) -> Floats:
    """Sum up the k greatest weights of the labels of each row of a CSR array, for several k, shape (n, len(ks))."""
    n = Y.shape[0]
    row, weight = np.repeat(np.arange(n), np.diff(Y.indptr)), weights[Y.indices]
    order = np.lexsort((-weight, row))
    rank = np.arange(len(row)) - np.repeat(Y.indptr[:-1], np.diff(Y.indptr))  # within the row, greatest first
    return np.stack([np.bincount(row, weight[order] * (rank < k), n) for k in ks], axis=1)


def psp_at(k: int, propensities: Any = None) -> Cost:
    """Cost of propensity-scored precision@k: how far the hits fall short of the best possible for the row.

    A hit of label l counts ``w_l = 1 / p_l``, which is more for rare labels, because they are more often forgotten.
    With m predicted labels, a row costs ``(B_k − min(1, k / m) · Σ w_l) / k``, where the sum is over the true
    positives, and ``B_k`` is the sum over the k true labels of the greatest weight. Decisions have exactly k labels,
    those of the greatest probability times weight, or all labels if there are fewer than k.

    Parameters
    ----------
    k : int
        How many labels count.
    propensities : array-like of shape (K,), dict or Series, default=None
        How probable it is that each label is noted where it is true, above 0 and at most 1; arrays in the order of the
        labels, dicts and Series by name. None takes those of :func:`clems.propensities` for the labels that a model was
        trained with.

    Examples
    --------
    >>> from clems import psp_at
    >>> cost = psp_at(2, [1.0, 0.5, 0.25])
    >>> cost.rowwise([[1, 1, 1]] * 3, [[1, 1, 0], [0, 1, 1], [1, 1, 1]])
    array([1.5       , 0.        , 0.66666667])
    """
    k = check_count(k, "k of psp_at")
    name = f"psp_at({k})"
    if propensities is None:
        return PropensityCost(name=name, k=k)
    labels, given = split_names(propensities, f"propensities of {name}")
    values = as_numbers(given, labels, f"propensities of {name}", "propensity")
    if wrong := [value for value in values if not 0 < value <= 1]:
        raise ValueError(f"propensities of {name} must be above 0 and at most 1; one is {wrong[0]:g}.")
    weights = tuple(1 / value for value in values)
    return PropensityCost(name=name, k=k, weights=weights, labels=labels, top=None if labels else Top(k, weights))


def propensities(Y: Any, A: float = 0.55, B: float = 1.5) -> Any:
    """Estimate how probable it is that a true label is recorded, from how frequent the label is.

    Of N rows, ``N_l`` with label l, it is ``p_l = 1 / (1 + C · exp(−A · ln(N_l + B)))``, where ``C`` is
    ``(ln N − 1)(B + 1)^A``: the model of Jain, Prabhu and Varma (2016) by which tables of extreme classification are
    computed. For fewer than three rows, where C would be negative, all are 1.

    Parameters
    ----------
    Y : array-like, sparse matrix or DataFrame of shape (n, K)
        Labels of the training rows.
    A, B : float, default=0.55 and 1.5
        Parameters of the model. Usual ones are 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon.

    Returns
    -------
    ndarray of shape (K,), or Series by name if Y is a DataFrame

    Examples
    --------
    >>> from clems import propensities
    >>> propensities([[1, 0, 0]] * 90 + [[1, 1, 0]] * 10).round(2)
    array([0.68, 0.39, 0.17])
    """
    A, B = check_number(A, "A"), check_number(B, "B")
    labels = as_labels(Y)
    if not labels.shape[0]:
        raise ValueError("Propensities are estimated from at least one row of labels.")
    estimated = propensities_of(labels, A, B)
    if not hasattr(Y, "columns"):
        return estimated
    import pandas as pd

    return pd.Series(estimated, index=[*Y.columns], name="propensity")


def propensities_of(labels: Labels, A: float = 0.55, B: float = 1.5) -> Floats:
    """Compute what `propensities` estimates, of labels that have been checked."""
    return propensities_of_counts(np.asarray(labels.sum(axis=0, dtype=np.float64)), labels.shape[0], A, B)


def propensities_of_counts(count: Floats, n: int, A: float = 0.55, B: float = 1.5) -> Floats:
    """Compute the same of the number of rows that have each label, of n rows."""
    C = max(np.log(n) - 1, 0) * (B + 1) ** A
    return np.asarray(1 / (1 + C * (count + B) ** -A))


PARAMETRISED.update(precision_at=precision_at, recall_at=recall_at, ndcg_at=ndcg_at, psp_at=psp_at)
