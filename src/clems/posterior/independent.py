"""The posterior of independent labels: marginals are all there is to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Bits, Floats, Integers, Labels, row_blocks
from clems.costs.cost import Cost
from clems.decisions.decide import TopK
from clems.decisions.independent import expected_independent, independent_rules, top_independent
from clems.decisions.poisson_binomial import LEFT_OUT, of_sums, with_each_label
from clems.decisions.rules import Rule
from clems.labels.distinct import distinct_rows
from clems.posterior.distribution import Posterior

UNCERTAIN = 12  # labels whose 2^12 vectors are all enumerated
DRAWS = 1000  # vectors that are drawn where more labels are uncertain
ENTRIES = 1 << 24  # of the vectors of a block of rows


class IndependentPosterior(Posterior):
    """A distribution over label vectors in which labels are independent: ``q(S) = Π_k p_k^{S_k} (1 − p_k)^{1 − S_k}``.

    Decisions are exact over all 2^K vectors for every cost that depends on counts alone and that a hit never raises,
    and for prices; see `clems.decisions.independent`. For other costs, functions of yours for example, label vectors
    stand for all: every vector of the row if no more than 12 labels are uncertain, else 1,000 vectors that are drawn.
    These are `labels` and `share`, made when they are asked for.

    Parameters
    ----------
    marginals : ndarray of shape (n, K)
        How probable each label is for each row, from 0 to 1. :meth:`clems.Posterior.from_marginals` checks them.

    Examples
    --------
    >>> from clems import Posterior
    >>> posterior = Posterior.from_marginals([[0.9, 0.45, 0.4]])
    >>> posterior.decide("hamming"), posterior.decide("f1")
    (array([[1, 0, 0]], dtype=uint8), array([[1, 1, 1]], dtype=uint8))
    >>> posterior.expected_cost([[1, 0, 0]], "hamming").round(4)
    array([0.3167])
    """

    def __init__(self, marginals: Floats) -> None:
        self.marginals = marginals
        self.shared = False
        self.embedded = None
        self._points = None

    def __len__(self) -> int:
        return len(self.marginals)

    def __repr__(self) -> str:
        return f"IndependentPosterior of {len(self)} rows over {self.marginals.shape[1]} independent labels"

    @property
    def n_labels(self) -> int:
        """How many labels there are, K."""
        return int(self.marginals.shape[1])

    @cached_property
    def _vectors(self) -> Posterior:
        return self.as_vectors()

    @property
    def labels(self) -> Labels:
        """Label vectors that stand for all."""
        return self._vectors.labels

    @property
    def share(self) -> Any:
        """How probable each of these is for each row, a CSR array (n, L)."""
        return self._vectors.share

    @property
    def likelihood(self) -> Floats:  # type: ignore[override]
        """The same numbers, one for each stored entry."""
        return self._vectors.likelihood

    @property
    def size_values(self) -> Integers:
        """All numbers of labels, from 0 to K."""
        return np.arange(self.marginals.shape[1] + 1)

    def by_size(self, rows: slice) -> tuple[Floats, Floats]:
        """Compute how probable sizes are, and each label together with each size, for some rows."""
        order = np.argsort(-self.marginals[rows], axis=1, kind="stable")
        p = np.take_along_axis(self.marginals[rows], order, axis=1)
        mass = of_sums(p, 0, p.shape[1] + 1)
        joint = np.empty((len(p), p.shape[1] + 1, p.shape[1]))
        np.put_along_axis(joint, order[:, None, :], with_each_label(p, mass).transpose(1, 0, 2), axis=2)
        return joint, mass

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Rules for independent labels."""
        return independent_rules(self.marginals.shape[1])

    def rows(self, rows: Any) -> IndependentPosterior:
        """Return the posterior of some rows, by their numbers or a slice."""
        return self._with(self.marginals[rows])

    def sharpened(self, power: float) -> IndependentPosterior:
        """Return the posterior whose probabilities of vectors are raised to a power: ``p^a / (p^a + (1 − p)^a)``."""
        yes, no = self.marginals, 1 - self.marginals
        greater = np.maximum(yes, no)  # so that no power makes both 0
        yes, no = (yes / greater) ** power, (no / greater) ** power
        return self._with(yes / (yes + no))

    def _with(self, marginals: Floats) -> IndependentPosterior:
        """Return a posterior of the same labels with other marginals."""
        other = IndependentPosterior(marginals)
        other.names = self.names
        return other

    def expected_of(self, cost: Cost, predicted: Bits) -> Floats:
        """Compute what checked predictions are expected to cost."""
        return expected_independent(self, cost, predicted)

    @property
    def most_listed(self) -> int:
        """Most label vectors that `top_k` lists."""
        return int(self.marginals.shape[1]) + 1

    def top_of(self, cost: Cost, predicted: Bits, k: int) -> TopK:
        """List the prediction and others in rising order of expected cost."""
        return top_independent(self, cost, predicted, k)

    def blocks(self) -> Iterator[slice]:
        """Cut rows into blocks whose vectors fit into memory."""
        n, K = self.marginals.shape
        return row_blocks(n, K * 2 ** min(K, UNCERTAIN), ENTRIES)

    def as_vectors(self) -> Posterior:
        """Return label vectors that stand for all, as a posterior of which each row has its own.

        Labels that are certain but for a probability of 10⁻¹² together are taken for certain. If no more than 12
        others remain, all vectors are there with their probability; if more, 1,000 are drawn, for each label in equal
        parts over its distribution (a Latin hypercube), the same way for all rows: a row's vectors depend on nothing
        but its marginals.
        """
        parts = [_vectors_of(p) for p in self.marginals]
        starts = np.cumsum([0, *(len(share) for _, share in parts)])
        labels = np.concatenate([np.empty((0, self.marginals.shape[1]), np.uint8), *(vectors for vectors, _ in parts)])
        shares = np.concatenate([np.empty(0), *(share for _, share in parts)])
        share = sparse.csr_array((shares, np.arange(len(shares)), starts), (len(self), len(shares)))
        return Posterior(labels, share, marginals=self.marginals, shared=False)

    @classmethod
    def _joined(cls, parts: Sequence[Any]) -> IndependentPosterior:
        return cls(np.concatenate([part.marginals for part in parts]))


def _vectors_of(p: Floats) -> tuple[Bits, Floats]:
    """Label vectors of one row and their shares: all that are possible, or draws."""
    doubt = np.minimum(p, 1 - p)
    order = np.argsort(doubt, kind="stable")
    uncertain = np.sort(order[np.cumsum(doubt[order]) > LEFT_OUT])
    if len(uncertain) > UNCERTAIN:
        vectors, index = distinct_rows((_hypercube(len(p)) < p).astype(np.uint8))
        return vectors, np.bincount(index) / DRAWS
    share = np.ones(1)
    for probability in p[uncertain]:  # label j of the i-th vector is bit j of i
        share = np.concatenate([share * (1 - probability), share * probability])
    vectors = np.tile((p > 0.5).astype(np.uint8), (len(share), 1))
    vectors[:, uncertain] = np.arange(len(share))[:, None] >> np.arange(len(uncertain)) & 1
    return vectors, share / share.sum()


@lru_cache(8)
def _hypercube(K: int) -> Floats:
    """Points of the unit cube: for each label, one in each of equally many parts of the unit interval."""
    rng = np.random.default_rng(0)
    parts = rng.permuted(np.tile(np.arange(DRAWS)[:, None], (1, K)), axis=0)
    return np.asarray((parts + rng.random((DRAWS, K))) / DRAWS)
