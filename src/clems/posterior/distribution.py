"""The posterior: for each row a distribution over label vectors, and what can be asked of it.

The map of the module: `Posterior`, which is made (`from_…`), derives each thing once (`marginals`, `sizes`, …), becomes
another posterior (`rows`, `sharpened`) and is asked (`decide`, `expected_cost`, `top_k`); and the pure functions of
shares below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Bits, Floats, Integers, Labels
from clems.costs.cost import Cost
from clems.costs.formulas import get_cost
from clems.decisions.budget import allowed_sizes
from clems.decisions.by_row import MANY, WIDE, cut, labels_of, most_probable
from clems.decisions.by_size import by_size
from clems.decisions.decide import TopK, decide, summed_costs, top_k, top_of_own, top_of_shared
from clems.decisions.handing_over import check_price, handed_over
from clems.decisions.rules import RULES, Rule
from clems.labels.matrix import as_dense, as_labels
from clems.posterior.given import (
    as_candidates,
    as_marginals,
    shares_of_candidates,
    shares_of_label_sets,
    shares_of_samples,
)
from clems.posterior.label_vectors import LabelVectors

AnyCost = str | Cost | Callable[[Any, Any], Any]


class Posterior:
    """A distribution over label vectors for each of n rows.

    Training produces posteriors and decisions use them: a decision takes a posterior and a cost, and does not depend on
    where the posterior came from.

    Parameters
    ----------
    labels : ndarray or CSR array of shape (L, K)
        Label vectors, zeros and ones.
    share : CSR array of shape (n, L)
        How probable each vector is for each row; rows sum to 1.
    marginals : ndarray of shape (n, K), default=None
        How probable each label is for each row, if that is known better than by summing up shares.
    likelihood : ndarray of shape (share.nnz,), default=None
        Numbers by which the vectors of a row compare, one for each stored entry of `share`, if these are known better
        than by the shares, which may be counts of draws.
    shared : bool, default=True
        Whether the label vectors are candidates of every row, also where their share is 0. If not, a row has just those
        that are stored for it.
    points : ndarray of shape (n, M), or callable without parameters that returns it, default=None
        Predicted points in the embedded space, for decisions by the nearest point.
    embedded : ndarray of shape (L, M), default=None
        Points of the label vectors there.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from clems import Posterior
    >>> posterior = Posterior(np.array([[1, 0], [1, 1]], np.uint8), csr_array([[0.9, 0.1], [0.4, 0.6]]))
    >>> posterior.marginals
    array([[1. , 0.1],
           [1. , 0.6]])
    >>> posterior.decide("f1")
    array([[1, 0],
           [1, 1]], dtype=uint8)
    """

    names: Iterable[Any] | None = None  # of labels, where probabilities came with them
    _better_marginals = False  # than by summing up shares

    def __init__(
        self,
        labels: Labels,
        share: Any,
        *,
        marginals: Floats | None = None,
        likelihood: Floats | None = None,
        shared: bool = True,
        points: Floats | Callable[[], Floats] | None = None,
        embedded: Floats | None = None,
    ) -> None:
        self.labels = labels
        self.share = share
        self.shared = shared
        self.likelihood: Floats = share.data if likelihood is None else likelihood
        self.embedded = embedded
        self._points = points
        self._better_marginals = marginals is not None
        if marginals is not None:
            self.marginals = marginals

    @classmethod
    def from_marginals(cls, P: Any, *, candidates: Any = None, prior_power: float = 1.0) -> Posterior:
        """Make a posterior of the probabilities that a model of any kind gives to labels.

        Parameters
        ----------
        P : array-like, sparse matrix or DataFrame of shape (n, K), or list of K arrays of shape (n, 2)
            How probable each label is for each row. Lists are what the multi-output classifiers of scikit-learn give;
            tensors of torch are taken, too.
        candidates : array-like, sparse matrix or DataFrame of shape (L, K), default=None
            Label vectors that rows may have, such as those of training rows; vectors that are there more often weigh
            more. Columns of frames are matched by name. By default labels are independent, and any vector may be.
        prior_power : float, default=1.0
            Power γ of the frequency of candidates. With 1 it counts as it is; with 0 all candidates count alike.

        Returns
        -------
        Posterior
            With candidates, ``q_i ∝ frequency_i^γ Π_k p_k^{S_ik} (1 − p_k)^{1 − S_ik}``; without, a posterior whose
            decisions are exact over all 2^K label vectors for most costs, see
            :class:`~clems.posterior.independent.IndependentPosterior`.

        Examples
        --------
        >>> from clems import Posterior
        >>> P = [[0.6, 0.4], [0.2, 0.1]]
        >>> Posterior.from_marginals(P).decide("zero_one")
        array([[1, 0],
               [0, 0]], dtype=uint8)
        >>> Posterior.from_marginals(P, candidates=[[1, 1], [0, 0], [0, 0]]).decide("zero_one")  # [1, 0] never occurs
        array([[0, 0],
               [0, 0]], dtype=uint8)
        """
        from clems.posterior.independent import IndependentPosterior

        marginals, names = as_marginals(P)
        if candidates is None:
            if prior_power != 1:
                raise ValueError(
                    f"prior_power is the power of how often candidates occur; got {prior_power!r} and no candidates."
                )
            made: Posterior = IndependentPosterior(marginals)
        else:
            labels, frequency = as_candidates(candidates, marginals.shape[1], names)
            made = Posterior(labels, shares_of_candidates(marginals, labels, frequency, prior_power))
        made.names = getattr(candidates, "columns", None) if names is None else names
        return made

    @classmethod
    def from_samples(cls, S: Any) -> Posterior:
        """Make a posterior of samples of label vectors, by counting.

        Parameters
        ----------
        S : array-like of shape (n, m, K)
            For each row m label vectors, zeros and ones.

        Examples
        --------
        >>> from clems import Posterior
        >>> Posterior.from_samples([[[1, 0], [1, 1], [1, 0]]]).marginals.round(2)
        array([[1.  , 0.33]])
        """
        labels, share = shares_of_samples(S)
        return Posterior(labels, share, shared=False)

    @classmethod
    def from_label_sets(cls, labels: Any, shares: Any) -> Posterior:
        """Make a posterior of label vectors and their probabilities.

        Parameters
        ----------
        labels : array-like or sparse matrix of shape (L, K)
            Label vectors, zeros and ones.
        shares : array-like or sparse matrix of shape (n, L)
            How probable each vector is for each row; rows add up to 1.

        Examples
        --------
        >>> from clems import Posterior
        >>> Posterior.from_label_sets([[1, 0], [1, 1]], [[0.9, 0.1], [0.4, 0.6]]).decide("f1")
        array([[1, 0],
               [1, 1]], dtype=uint8)
        """
        return Posterior(*shares_of_label_sets(labels, shares))

    def __len__(self) -> int:
        return int(self.share.shape[0])

    def __repr__(self) -> str:
        L, K = self.labels.shape
        return f"Posterior of {len(self)} rows over {L} label vectors of {K} labels"

    @property
    def n_labels(self) -> int:
        """How many labels there are, K."""
        return int(self.labels.shape[1])

    @cached_property
    def marginals(self) -> Floats:
        """How probable each label is for each row, shape (n, K)."""
        return marginals_of(self.share, self.sparse_labels)

    @cached_property
    def vectors(self) -> LabelVectors:
        """What is derived of the label vectors alone."""
        return LabelVectors(self.labels)

    @property
    def float_labels(self) -> Any:
        """Label vectors as floats, as matrix products take them, shape (L, K); sparse if `labels` are."""
        return self.vectors.as_floats

    @property
    def sparse_labels(self) -> Any:
        """The same as sparse shares are multiplied with: a CSR array if few entries are other than 0."""
        return self.vectors.as_multiplied

    @property
    def sizes(self) -> Integers:
        """Number of labels of each label vector, shape (L,)."""
        return self.vectors.sizes

    @property
    def size_values(self) -> Integers:
        """Numbers of labels that label vectors may have, in rising order, shape (S,)."""
        return self.vectors.by_size[0]

    def by_size(self, rows: slice) -> tuple[Floats, Floats]:
        """Sum up the truths of each size, for some rows.

        Returns
        -------
        true : ndarray of shape (n, S, K)
            How probable each label is together with each of `size_values`.
        mass : ndarray of shape (n, S)
            How probable each size is.
        """
        values, size_index = self.vectors.by_size
        return by_size(self.share[rows], self.sparse_labels, size_index, len(values))

    @property
    def large(self) -> bool:
        """Whether there are so many label vectors or labels that each row is decided by those it has."""
        if not self.shared:
            return False
        L, K = self.labels.shape
        return bool(L > MANY or K > WIDE or sparse.issparse(self.labels))

    def own(self, row: int, more: Integers, least: int = 0) -> tuple[Posterior, Integers]:
        """Return the posterior of a row over its own label vectors and their labels, and which labels these are.

        Parameters
        ----------
        row : int
            Which row.
        more : ndarray of int
            Labels that take part whether a vector has them or not.
        least : int, default=0
            How many labels take part at least.
        """
        entries = slice(self.share.indptr[row], self.share.indptr[row + 1])
        kept = most_probable(self.share.data[entries])
        index, share = self.share.indices[entries][kept], self.share.data[entries][kept]
        vectors = self.labels[index]
        columns = labels_of(vectors, more, least)
        width = len(kept)
        part = sparse.csr_array((share / share.sum(), np.arange(width), np.array([0, width])), (1, width))
        marginals = self.marginals[row : row + 1, columns] if self._better_marginals else None
        return Posterior(cut(vectors, columns), part, marginals=marginals), columns

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Rules by which this kind of posterior is decided; the last that applies to a cost is used."""
        return RULES

    @cached_property
    def points(self) -> Floats:
        """Predicted points in the embedded space, shape (n, M)."""
        if self._points is None:
            raise ValueError("This posterior has no points in an embedded space.")
        return np.asarray(self._points() if callable(self._points) else self._points)

    def rows(self, rows: Any) -> Posterior:
        """Return the posterior of some rows, by their numbers or a slice."""
        likelihood = sparse.csr_array((self.likelihood, self.share.indices, self.share.indptr), self.share.shape)
        known = "marginals" in vars(self) or not self.large
        part = Posterior(
            self.labels,
            self.share[rows],
            marginals=self.marginals[rows] if known else None,
            likelihood=likelihood[rows].data,
            shared=self.shared,
            points=None if self._points is None else lambda: self.points[rows],
            embedded=self.embedded,
        )
        return self._alike(part)

    def _alike(self, other: Posterior) -> Posterior:
        """Hand over to a posterior of the same label vectors what is derived from these alone, and their names."""
        other.vectors, other.names = self.vectors, self.names
        return other

    def sharpened(self, power: float) -> Posterior:
        """Return the posterior whose shares are raised to a power and normalised: ``q_i ← q_i^a / Σ_j q_j^a``.

        A power above 1 makes it more certain, one below 1 less; points stay as they are.
        """
        sharper = Posterior(
            self.labels,
            sharpened(self.share, power),
            shared=self.shared,
            points=None if self._points is None else lambda: self.points,
            embedded=self.embedded,
        )
        return self._alike(sharper)

    def decide(
        self,
        cost: AnyCost = "f1",
        *,
        at_most: int | None = None,
        exactly: int | None = None,
        abstain_at: float | None = None,
    ) -> Any:
        """Predict the label vector of least expected cost for each row.

        Parameters
        ----------
        cost : str, Cost or callable, default="f1"
            As :func:`clems.get_cost` takes it.
        at_most, exactly : int, default=None
            Predict at most, or exactly, so many labels for each row: the best vector of such a size. One or the other.
        abstain_at : float, default=None
            Price of handing a row over, in the unit of the cost: rows whose decision is expected to cost more are
            masked.

        Returns
        -------
        ndarray of shape (n, K)
            With `abstain_at` a masked array, in which the rows that are handed over are masked.

        Examples
        --------
        >>> from clems import Posterior
        >>> posterior = Posterior.from_marginals([[0.9, 0.6, 0.5], [0.4, 0.5, 0.4]])
        >>> posterior.decide("f1", at_most=2)
        array([[1, 1, 0],
               [1, 1, 0]], dtype=uint8)
        >>> posterior.decide("f1", abstain_at=0.4).mask.all(axis=1)
        array([False,  True])
        """
        given, price = self._cost_in_order(cost), check_price(abstain_at)
        decided = decide(self, given, allowed_sizes(at_most, exactly, self.n_labels))
        return decided if price is None else handed_over(decided, self.expected_of(given, decided), price)

    def expected_cost(self, P: Any, cost: str | Cost | Callable[[Any, Any], Any] = "f1") -> Floats:
        """Compute what a prediction for each row is expected to cost: ``Σ_i q_i · cost(S_i, P)``.

        Parameters
        ----------
        P : array-like or sparse matrix of shape (n, K)
            Predictions, zeros and ones.
        cost : str, Cost or callable, default="f1"
            As :func:`clems.get_cost` takes it.

        Returns
        -------
        ndarray of shape (n,)
        """
        predicted = as_dense(as_labels(P, "the prediction"))
        if predicted.shape != (len(self), self.n_labels):
            raise ValueError(
                f"There must be a prediction of {self.n_labels} labels for each of {len(self)} rows; "
                f"their shape is {predicted.shape}."
            )
        return self.expected_of(self._cost_in_order(cost), predicted)

    def expected_of(self, cost: Cost, predicted: Bits) -> Floats:
        """Compute what `expected_cost` returns, for predictions that have been checked."""
        return summed_costs(self, cost, predicted)

    def top_k(self, k: int, cost: str | Cost | Callable[[Any, Any], Any] = "f1") -> TopK:
        """List label vectors for each row: the decision for the cost, then others in rising order of expected cost.

        Parameters
        ----------
        k : int
            How many: at most as many as there are candidates; where rows have label vectors of their own, K + 1.
        cost : str, Cost or callable, default="f1"
            As :func:`clems.get_cost` takes it.

        Returns
        -------
        TopK
        """
        given = self._cost_in_order(cost)
        return top_k(self, given, decide(self, given), k)

    def _cost_in_order(self, cost: AnyCost) -> Cost:
        """Resolve a cost, prices by name in the order of the labels."""
        return get_cost(cost).for_labels(range(self.n_labels) if self.names is None else self.names)

    @property
    def most_listed(self) -> int:
        """Most label vectors that `top_k` lists."""
        return int(self.labels.shape[0]) if self.shared else self.labels.shape[1] + 1

    def top_of(self, cost: Cost, predicted: Bits, k: int) -> TopK:
        """Compute what `top_k` returns, for predictions and a number that have been checked."""
        return (top_of_shared if self.shared else top_of_own)(self, cost, predicted, k)

    @classmethod
    def _joined(cls, parts: Sequence[Any]) -> Posterior:
        """Join the posteriors of blocks of rows, of which there is at least one."""
        first = parts[0]
        if first.shared:
            labels, share = first.labels, sparse.vstack([part.share for part in parts], "csr")
        else:
            labels = np.concatenate([part.labels for part in parts])
            share = sparse.block_diag([part.share for part in parts], "csr")
        return Posterior(
            labels,
            share,
            marginals=np.concatenate([part.marginals for part in parts]),
            likelihood=np.concatenate([part.likelihood for part in parts]),
            shared=first.shared,
            points=None if first.embedded is None else lambda: np.concatenate([part.points for part in parts]),
            embedded=first.embedded,
        )


def sharpened(share: Any, power: float) -> Any:
    """Raise shares, a CSR array without empty rows, to a power and let rows sum to 1 again."""
    if power == 1:
        return share
    lengths = np.diff(share.indptr)
    greatest = np.repeat(np.maximum.reduceat(share.data, share.indptr[:-1]), lengths)
    data = (share.data / greatest) ** power  # so that the greatest stays 1, whatever the power
    totals = np.repeat(np.add.reduceat(data, share.indptr[:-1]), lengths)
    return sparse.csr_array((data / totals, share.indices, share.indptr), share.shape)


def marginals_of(share: Any, labels: Labels) -> Floats:
    """Compute how probable each label is for each row: ``p_k = Σ_i q_i S_ik``, shape (n, K).

    Labels are as `LabelVectors.as_multiplied` are, shares dense or sparse.
    """
    return np.asarray(np.minimum(as_dense(share @ labels), 1))  # up to rounding they are at most 1


def stacked(parts: Sequence[Posterior]) -> Posterior:
    """Join the posteriors of blocks of rows, of which there is at least one, of the same source."""
    if len(parts) == 1:
        return parts[0]
    whole = parts[0]._joined(parts)
    whole.names = parts[0].names
    return whole
