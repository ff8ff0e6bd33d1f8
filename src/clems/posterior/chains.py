"""Posteriors from classifier chains: label vectors drawn, or searched, label by label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.arrays import Bits, Floats, Integers, beside
from clems.posterior.distribution import Posterior
from clems.trees.reading import check_reach, predictions_of

if TYPE_CHECKING:
    from clems.posterior.calibration import Calibrator


@dataclass(frozen=True)
class Chain:
    """Fitted classifiers, one per label.

    Attributes
    ----------
    order : ndarray of shape (K,)
        Columns of the label matrix in the order in which they are predicted.
    estimators : list
        Classifiers in this order; the j-th takes the features and, beside them, the j labels before it.
    calibrators : list of Calibrator or None, default=None
        In this order, what is made of the probabilities of each; None leaves them as they are.
    """

    order: Integers
    estimators: list[Any]
    calibrators: list[Calibrator] | None = None

    def replaced(self, new: Callable[[Any], Any]) -> Chain:
        """Chain with a function of each classifier in its place."""
        return replace(self, estimators=[new(estimator) for estimator in self.estimators])

    def probability(self, j: int, X: Any, before: Bits) -> Floats:
        """How probable the j-th label is for each row, given the labels before it, shape (n, j)."""
        p = probability(self.estimators[j], beside(X, before))
        return p if self.calibrators is None else self.calibrators[j](p[:, None])[:, 0]


def probability(estimator: Any, X: Any) -> Floats:
    """Probability that the label is there, for each row; of a classifier that knows none, its zeros and ones."""
    name = type(estimator).__name__
    check_reach(estimator, X)
    if hasattr(estimator, "predict_proba"):
        classes = list(getattr(estimator, "classes_", (0, 1)))
        of_classes = np.asarray(predictions_of(estimator, X, "predict_proba"))
        if not {*classes} <= {0, 1} or of_classes.shape != (X.shape[0], len(classes)):
            raise ValueError(
                f"The estimator {name} must give a column of probabilities for each of the classes 0 and 1 that it was "
                f"trained on; it has the classes {classes} and gave an array of shape {of_classes.shape}."
            )
        values = of_classes[:, classes.index(1)] if 1 in classes else np.zeros(X.shape[0])
        if not (values.min(initial=0) >= 0 and values.max(initial=0) <= 1 + 1e-9):
            raise ValueError(f"The estimator {name} predicted probabilities outside 0 to 1.")
        return np.minimum(values, 1)
    values = np.asarray(predictions_of(estimator, X), np.float64)
    if not np.isin(values, (0, 1)).all():
        raise ValueError(f"The estimator {name} was trained on zeros and ones but predicted other values.")
    return values


# How a chain's distribution is cut down to few vectors. For label j the rows, masses and probabilities of some prefixes
# are given; returned is the mass of each prefix continued by 0 and by 1, shape (m, 2), zero for one that is dropped.
Branch = Callable[[int, Integers, Floats, Floats], Floats]


def grow(chain: Chain, X: Any, mass: float, branch: Branch) -> Posterior:
    """Grow the tree of each row's label vectors, label by label, every distinct prefix once.

    Marginals are taken from the probabilities rather than from the branches that were kept, which has less noise.

    Parameters
    ----------
    chain : Chain
        With estimators that have `predict_proba`.
    X : array or CSR array of shape (n, d)
        Features.
    mass : float
        Mass of each row to begin with.
    branch : callable
        How it divides.
    """
    n, K = X.shape[0], len(chain.order)
    row, masses, log_likelihood = np.arange(n), np.full(n, mass), np.zeros(n)
    bits, marginals = np.zeros((n, K), np.uint8), np.empty((n, K))
    for j in range(K):
        p = chain.probability(j, X[row], bits[:, :j])
        marginals[:, j] = np.bincount(row, masses * p, n) / np.bincount(row, masses, n)
        branches = branch(j, row, masses, p).ravel()  # 0 and 1 side by side keep the vectors of a row in order
        with np.errstate(divide="ignore"):
            likelihoods = log_likelihood[:, None] + np.log(np.column_stack([1 - p, p]))
        kept = np.flatnonzero(branches)
        row, masses, log_likelihood = row[kept // 2], branches[kept], likelihoods.ravel()[kept]
        bits = bits[kept // 2]
        bits[:, j] = kept % 2
    total = np.bincount(row, masses, n)
    columns = chain.order.argsort()
    share = sparse.csr_array(
        (masses / total[row], np.arange(len(row)), np.concatenate([[0], np.bincount(row, minlength=n).cumsum()])),
        (n, len(row)),
    )
    return Posterior(bits[:, columns], share, marginals=marginals[:, columns], likelihood=log_likelihood, shared=False)


def by_draws(offsets: NDArray[np.int64]) -> Branch:
    """Draw vectors label by label (ancestral sampling); the mass of a prefix is how many of the draws begin with it.

    Of a row's draws, as many get label j as the probabilities of their prefixes add up to, rounded by the row's j-th
    offset, and the prefixes get them in turn (systematic sampling). For uniform offsets the expected number of draws of
    a vector is its probability times the number of draws, as if they were independent, with less variance.

    Parameters
    ----------
    offsets : ndarray of shape (n, K)
        Whole numbers from 0 to 2^32 − 1, see :func:`row_offsets`.
    """

    def branch(j: int, row: Integers, masses: Floats, p: Floats) -> Floats:
        # Sums of whole numbers depend neither on their order nor on the rows before.
        wanted = np.rint(masses * p * UNIT).astype(np.int64)
        first = np.flatnonzero(np.diff(row, prepend=-1))
        before = wanted.cumsum() - wanted
        before += np.repeat(offsets[row[first], j] - before[first], np.diff(first, append=len(row)))
        ones = (before + wanted) // UNIT - before // UNIT
        return np.column_stack([masses - ones, ones])

    return branch


UNIT = 1 << 32


def row_offsets(X: Any, seeds: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Random numbers for each row and seed that depend on nothing but the row's features and the seed.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        Features; zeros that are stored count like those that are not.
    seeds : ndarray of shape (K,)

    Returns
    -------
    ndarray of shape (n, K)
        Whole numbers from 0 to 2^32 − 1.
    """
    factors = _mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    values = (X.data if sparse.issparse(X) else X) + 0.0  # which makes −0 a plain 0
    bits = _mixed(values.astype(np.float64).view(np.uint64))  # those of 0 are 0
    if sparse.issparse(X):
        sums = np.concatenate([np.zeros(1, np.uint64), (bits * factors[X.indices]).cumsum(dtype=np.uint64)])
        keys = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    else:
        keys = (bits * factors).sum(axis=1, dtype=np.uint64)
    return (_mixed(_mixed(keys)[:, None] ^ seeds) >> np.uint64(32)).astype(np.int64)


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread each of some whole numbers over all 64 bits (the finaliser of splitmix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def by_likelihood(width: int) -> Branch:
    """Keep the likeliest prefixes of each row, at most `width` (beam search); their mass is their probability."""

    def branch(j: int, row: Integers, masses: Floats, p: Floats) -> Floats:  # noqa: ARG001
        both = np.column_stack([masses * (1 - p), masses * p]).ravel()
        rows = np.repeat(row, 2)
        likeliest_first = np.lexsort((-both, rows))
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        rank = np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))
        both[likeliest_first[rank >= width]] = 0
        return (both / np.bincount(rows, both)[rows]).reshape(-1, 2)

    return branch
