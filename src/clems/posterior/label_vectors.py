"""Label vectors of a posterior, in the forms in which shares are multiplied with them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Integers, Labels

SPARSE = 0.1  # share of ones below which label vectors are multiplied as a sparse matrix


class LabelVectors:
    """Label vectors, and what is derived of these alone: once, for all posteriors over them.

    Parameters
    ----------
    labels : ndarray or CSR array of shape (L, K)
        Zeros and ones.
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    @cached_property
    def as_floats(self) -> Any:
        """As matrix products take them, shape (L, K); sparse if `labels` are."""
        return self.labels.astype(np.float64)

    @cached_property
    def as_multiplied(self) -> Any:
        """The same as sparse shares are multiplied with: a CSR array if few entries are other than 0."""
        return multiplied(self.labels)

    @cached_property
    def sizes(self) -> Integers:
        """Number of labels of each, shape (L,)."""
        return np.asarray(self.labels.sum(axis=1, dtype=np.intp))

    @cached_property
    def by_size(self) -> tuple[Integers, Integers]:
        """Numbers of labels that there are, in rising order, shape (S,), and which of these each vector has."""
        values, size_index = np.unique(self.sizes, return_inverse=True)
        return values, size_index


def multiplied(labels: Labels) -> Any:
    """Return label vectors as floats, as sparse shares are multiplied with them: sparse if few entries are not 0."""
    few = sparse.issparse(labels) or labels.mean() < SPARSE
    return sparse.csr_array(labels, dtype=np.float64) if few else labels.astype(np.float64, copy=False)
