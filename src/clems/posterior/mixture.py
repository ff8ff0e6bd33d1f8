"""Mixtures: what a forest says of label vectors, times what experts say of labels.

With the forest's share ``F_i`` of candidate i, its frequency ``π_i`` among the training rows, the experts' probability
``p_k`` of label k and its frequency ``π_k``, the shares of a mixture are

    ``q_i ∝ ((1 − ε) F_i + ε π_i)^sharpness · Π_k (odds of p_k / odds of π_k)^(weight · S_ik)``

The second factor is the experts' evidence for the labels of the candidate, relative to what is known without features:
experts that know nothing change nothing. Its weight is below 1, as the forest has seen the same rows. A weight of 0 is
the forest alone, whose shares are raised to a power. Sharpness and weight are chosen on held-out rows.

Labels may also be taken *apart*, as if they were independent, so that any of the 2^K vectors may be:

    ``q(S) = Π_k r_k^{S_k} (1 − r_k)^{1 − S_k}``,  ``logit r_k = constant + sharpness · logit f_k + weight · logit p_k``

with the probability ``f_k`` of label k by the forest, ``(1 − ε) Σ_i F_i S_ik + ε π_k``. The three numbers come from a
logistic regression on held-out rows, in which no power is below 0. A mixture of label vectors takes a label that is in
few of them too near to 0; where a decision depends on nothing but how probable each label is, labels apart can be the
better. The experts alone, ``r_k = p_k``, are for label vectors that hardly ever repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from clems.arrays import Floats, Labels, row_blocks
from clems.posterior.distribution import Posterior, sharpened
from clems.posterior.independent import IndependentPosterior
from clems.posterior.label_vectors import multiplied

WEIGHTS = (0.15, 0.3, 0.5, 0.75)  # of experts to choose from, beside 0
PRIOR = 0.01  # ε
SURE = 1e-4  # probabilities of experts nearer to 0 or 1 count as if they were this far
ROOM = 0.1  # what those of all labels of a row that are so near may add up to
DIGITS = 20  # binary digits of evidence
NEGLIGIBLE = 1e-3  # most that shares of a row that are left out may add up to
MANY = 50_000  # candidates above which only those in the leaves of a row are mixed


@dataclass(frozen=True)
class Mixture:
    """How forest and experts are mixed.

    Attributes
    ----------
    sharpness : float
        Power of the forest's shares, or of its odds of labels.
    weight : float
        Power of the experts' evidence, or of their odds of labels; 0 is the forest alone.
    constant : float or None, default=None
        What is added to log odds of labels where these are taken apart; None where label vectors are mixed.
    """

    sharpness: float
    weight: float
    constant: float | None = None

    @property
    def apart(self) -> bool:
        """Whether labels are taken apart."""
        return self.constant is not None


EXPERTS_ALONE = Mixture(0.0, 1.0, 0.0)


def sure(K: int) -> float:
    """Return how near to 0 or 1 probabilities of K labels may be."""
    return min(SURE, ROOM / K)


def evidence_of(probabilities: Sequence[Floats], prior: Floats) -> Floats:
    """Mean evidence of experts: ``logit p_k − logit π_k`` for each label of each row, shape (n, K).

    It is rounded to `DIGITS` binary digits after the point: linear algebra rounds differently from one processor to the
    next, and what follows should not.
    """
    least = sure(len(prior))
    logits = [logit(np.clip(one, least, 1 - least)) for one in probabilities]
    evidence = np.mean(logits, axis=0) - logit(np.clip(prior, least, 1 - least))
    return np.asarray(np.ldexp(np.rint(np.ldexp(evidence, DIGITS)), -DIGITS))


def odds_apart(forest: Floats, evidence: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Return the log odds of labels by the forest and by the experts, each of shape (n, K).

    Parameters
    ----------
    forest, evidence : ndarray of shape (n, K)
        How probable labels are by the forest, and what experts say.
    prior : ndarray of shape (K,)
        How frequent labels are.
    """
    least = sure(len(prior))
    return logit(np.clip((1 - PRIOR) * forest + PRIOR * prior, least, 1 - least)), _odds_of(evidence, prior)


def probabilities_apart(forest: Callable[[], Floats], evidence: Floats, prior: Floats, mixture: Mixture) -> Floats:
    """Return how probable labels are that are taken apart, shape (n, K); without sharpness no forest is asked."""
    assert mixture.constant is not None
    if not mixture.sharpness:
        return np.asarray(expit(mixture.constant + mixture.weight * _odds_of(evidence, prior)))
    by_forest, by_experts = odds_apart(forest(), evidence, prior)
    return np.asarray(expit(mixture.constant + mixture.sharpness * by_forest + mixture.weight * by_experts))


def _odds_of(evidence: Floats, prior: Floats) -> Floats:
    """Return the log odds of labels that evidence stands for; of several experts, their mean."""
    least = sure(len(prior))
    return np.asarray(evidence + logit(np.clip(prior, least, 1 - least)))


def mixed(share: Any, labels: Labels, evidence: Floats | None, prior: Floats, mixture: Mixture) -> Any:
    """Mix the shares of a forest with the evidence of experts.

    Parameters
    ----------
    share : CSR array of shape (n, L)
        The forest's.
    labels : ndarray of shape (L, K)
        The candidates.
    evidence : ndarray of shape (n, K) or None
        The experts'; it may be None if they have no weight.
    prior : ndarray of shape (L,) or (n, L)
        How frequent candidates are; of more than `MANY` also a CSR array with an entry for each of `share`.
    mixture : Mixture
        Sharpness and weight.

    Returns
    -------
    CSR array of shape (n, L)
        Rows sum to 1; shares that are left out add up to at most `NEGLIGIBLE`.
    """
    if mixture.weight == 0 or evidence is None:
        return sharpened(share, mixture.sharpness)
    return sparse.csr_array(mixing_shares(*mixing_parts(share, labels, evidence, prior), mixture))


def mixing_parts(share: Any, labels: Labels, evidence: Floats, prior: Any) -> tuple[Any, Any]:
    """Compute what does not depend on sharpness and weight.

    Of more than `MANY` candidates both are CSR arrays with an entry for each of `share`.

    Returns
    -------
    forest : ndarray of shape (n, L)
        ``log((1 − ε) F_i + ε π_i)``; minus infinity where a candidate is neither in the leaves nor in training.
    experts : ndarray of shape (n, L)
        ``Σ_k S_ik (logit p_k − logit π_k)``.
    """
    if labels.shape[0] > MANY:
        own_prior = prior[share.indices] if prior.ndim == 1 else prior.data
        with np.errstate(divide="ignore"):
            own_forest = np.log((1 - PRIOR) * share.data + PRIOR * own_prior)
        return tuple(
            sparse.csr_array((data, share.indices, share.indptr), share.shape)
            for data in (own_forest, _evidence_for_entries(share, sparse.csr_array(labels), evidence))
        )
    with np.errstate(divide="ignore"):
        forest = np.log((1 - PRIOR) * share.toarray() + PRIOR * prior)
    vectors = multiplied(labels)
    return forest, np.asarray(vectors @ evidence.T).T if sparse.issparse(vectors) else evidence @ vectors.T


def _evidence_for_entries(share: Any, labels: Any, evidence: Floats) -> Floats:
    """Compute ``Σ_k S_ik evidence_k`` for each entry of shares, a block of rows at a time."""
    sums = np.empty(share.nnz)
    for rows in row_blocks(share.shape[0], max(1, share.nnz // max(1, share.shape[0]))):
        bounds = share.indptr[rows.start : rows.stop + 1]
        vectors = labels[share.indices[bounds[0] : bounds[-1]]]
        owner = np.repeat(np.arange(rows.start, rows.stop), np.diff(bounds))
        sizes = np.diff(vectors.indptr)
        of_labels = evidence[np.repeat(owner, sizes), vectors.indices]
        sums[bounds[0] : bounds[-1]] = np.bincount(np.repeat(np.arange(len(owner)), sizes), of_labels, len(owner))
    return sums


def mixing_shares(forest: Any, experts: Any, mixture: Mixture) -> Any:
    """Compute ``exp(sharpness · forest + weight · experts)``, normalised, without what is negligible, shape (n, L)."""
    if sparse.issparse(forest):
        return _mixing_entries(forest, experts, mixture)
    z = mixture.sharpness * forest + mixture.weight * experts
    z -= z.max(axis=1, keepdims=True)
    q = np.exp(z, out=z)
    q[q < NEGLIGIBLE / q.shape[1] * q.sum(axis=1, keepdims=True)] = 0
    q /= q.sum(axis=1, keepdims=True)
    return np.asarray(q)


def _mixing_entries(forest: Any, experts: Any, mixture: Mixture) -> Any:
    """Compute the same for the entries of CSR arrays that have rows of at least one."""
    starts, lengths = forest.indptr[:-1], np.diff(forest.indptr)
    z = mixture.sharpness * forest.data + mixture.weight * experts.data
    q = np.exp(z - np.repeat(np.maximum.reduceat(z, starts), lengths))
    q[q < NEGLIGIBLE * np.repeat(np.add.reduceat(q, starts) / lengths, lengths)] = 0
    q /= np.repeat(np.add.reduceat(q, starts), lengths)
    shares = sparse.csr_array((q, forest.indices.copy(), forest.indptr.copy()), forest.shape)
    shares.eliminate_zeros()
    return shares


class MixedPosterior(Posterior):
    """A posterior that is a mixture, which can be mixed in another way.

    Parameters
    ----------
    forest : Posterior
        What the forest says of n rows; points in the embedded space are its own.
    evidence : ndarray of shape (n, K), or callable without parameters that returns it
        What experts say, see :func:`evidence_of`; they are asked only where they have a weight.
    prior : ndarray of shape (L,) or (n, L)
        How frequent candidates are.
    mixture : Mixture
        How they are mixed, with no labels apart, see `remixed`.
    label_share : ndarray of shape (K,), default=None
        How frequent labels are, for labels apart.
    """

    def __init__(
        self,
        forest: Posterior,
        evidence: Floats | Callable[[], Floats],
        prior: Floats,
        mixture: Mixture,
        label_share: Floats | None = None,
    ) -> None:
        self.forest = forest
        self._evidence = evidence
        self.prior = prior
        self.mixture = mixture
        self.label_share = label_share
        self.labels, self.shared, self.embedded = forest.labels, forest.shared, forest.embedded
        self.vectors = forest.vectors
        self._points = None if forest._points is None else lambda: forest.points

    @cached_property
    def evidence(self) -> Floats:
        """What experts say, shape (n, K)."""
        return self._evidence() if callable(self._evidence) else self._evidence

    @cached_property
    def share(self) -> Any:
        """How probable each label vector is for each row, a CSR array of shape (n, L)."""
        evidence = self.evidence if self.mixture.weight else None
        return mixed(self.forest.share, self.sparse_labels, evidence, self.prior, self.mixture)

    @property
    def likelihood(self) -> Floats:  # type: ignore[override]
        """Numbers by which the vectors of a row compare: the stored shares."""
        return np.asarray(self.share.data)

    def __len__(self) -> int:
        return len(self.forest)

    def remixed(self, mixture: Mixture) -> Posterior:
        """Return the posterior of the same rows, mixed in another way."""
        if mixture == self.mixture:
            return self
        if mixture.apart:
            assert self.label_share is not None
            marginals = probabilities_apart(lambda: self.forest.marginals, self.evidence, self.label_share, mixture)
            apart = LabelsApart(marginals, mixture, lambda: self)
            apart.names = self.names
            return apart
        other = MixedPosterior(self.forest, lambda: self.evidence, self.prior, mixture, self.label_share)
        return self._alike(other)

    def rows(self, rows: Any) -> Posterior:
        """Return the posterior of some rows, by their numbers or a slice."""
        prior = self.prior if self.prior.ndim == 1 else self.prior[rows]
        forest, evidence = self.forest.rows(rows), lambda: self.evidence[rows]
        part = MixedPosterior(forest, evidence, prior, self.mixture, self.label_share)
        for name in ("share", "marginals"):  # what has been computed
            if name in vars(self):
                vars(part)[name] = vars(self)[name][rows]
        return self._alike(part)

    @classmethod
    def _joined(cls, parts: Sequence[Any]) -> Posterior:
        first = parts[0]
        forest = first.forest._joined([part.forest for part in parts])

        def evidence() -> Floats:
            return np.concatenate([part.evidence for part in parts])

        return cls(forest, evidence, first.prior, first.mixture, first.label_share)


class LabelsApart(IndependentPosterior):
    """Labels taken apart, which can be mixed with the forest's label vectors.

    Parameters
    ----------
    marginals : ndarray of shape (n, K)
        How probable labels are.
    mixture : Mixture
        Of which they come.
    mixed : callable
        Returns a mixture of label vectors for the same rows.
    """

    def __init__(self, marginals: Floats, mixture: Mixture, mixed: Callable[[], MixedPosterior]) -> None:
        super().__init__(marginals)
        self.mixture = mixture
        self._mixed = mixed

    def remixed(self, mixture: Mixture) -> Posterior:
        """Return the posterior of the same rows, mixed in another way."""
        return self if mixture == self.mixture else self._mixed().remixed(mixture)

    def moved(self) -> tuple[Floats, Floats]:
        """Return how far forest and experts take log odds from how frequent labels are, each of shape (n, K)."""
        mixed = self._mixed()
        assert mixed.label_share is not None
        by_forest, _ = odds_apart(mixed.forest.marginals, mixed.evidence, mixed.label_share)
        start = _odds_of(np.zeros_like(mixed.label_share), mixed.label_share)
        return self.mixture.sharpness * (by_forest - start), self.mixture.weight * mixed.evidence

    def rows(self, rows: Any) -> LabelsApart:
        """Return the posterior of some rows, by their numbers or a slice."""
        part = LabelsApart(self.marginals[rows], self.mixture, lambda: self._mixed().rows(rows))  # type: ignore[arg-type, return-value]
        part.names = self.names
        return part

    @classmethod
    def _joined(cls, parts: Sequence[Any]) -> LabelsApart:
        def mixed() -> Any:
            return MixedPosterior._joined([part._mixed() for part in parts])

        return cls(np.concatenate([part.marginals for part in parts]), parts[0].mixture, mixed)
