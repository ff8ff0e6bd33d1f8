"""Random prices: a price list that is drawn for each label by its name, to try models before prices are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from clems.arrays import Floats, Labels
from clems.costs.cost import Cost
from clems.costs.formulas import PARAMETRISED, weighted_hamming


@dataclass(frozen=True, kw_only=True, repr=False)
class RandomPrices(Cost):
    """Prices that are drawn as soon as the labels are known.

    Attributes
    ----------
    false_negative, false_positive : float
        The greatest prices; the least is 1.
    """

    false_negative: float
    false_positive: float

    def for_labels(self, names: Iterable[Any], propensities: ArrayLike | None = None) -> Cost:  # noqa: ARG002
        """Draw the prices of labels by their names, the same ones at any time and place."""
        most = [self.false_negative, self.false_positive]
        drawn = [np.random.RandomState(crc32(str(name).encode())).uniform(1, most) for name in names]
        fn, fp = np.array(drawn).T
        return weighted_hamming(fn, fp, name=self.name)

    def bound(self, K: int) -> float | None:
        """Compute the cost of a row with a mistake in each label."""
        return self.for_labels(range(K)).bound(K)

    def of_rows(self, Y: Labels, P: Labels) -> NDArray[np.float64]:
        """Compute the cost of each row of checked labels, which have no names."""
        return self.for_labels(range(Y.shape[1])).of_rows(Y, P)

    def _pairwise_with(self, P: Labels, dtype: DTypeLike) -> Callable[[Labels], Floats]:
        return self.for_labels(range(P.shape[1]))._pairwise_with(P, dtype)


def random_prices(false_negative: float, false_positive: float) -> Cost:
    """Cost with random prices: uniform between 1 and a maximum, drawn for each label by its name.

    Use it to compare models under uneven prices, over many datasets, or before your own prices are known.

    Parameters
    ----------
    false_negative, false_positive : float
        Greatest price of a false negative and of a false positive, at least 1.

    Returns
    -------
    Cost
        A price list as :func:`clems.weighted_hamming` returns it, as soon as the names of labels are known.

    Examples
    --------
    >>> from clems import get_cost
    >>> prices = get_cost("random_prices(200, 5)").for_labels(["urgent", "bug"])
    >>> [round(price) for price in prices.false_negative], [round(price) for price in prices.false_positive]
    ([51, 103], [1, 4])
    """
    for kind, most in (("false_negative", false_negative), ("false_positive", false_positive)):
        if not (np.isfinite(most) and most >= 1):
            raise ValueError(f"The greatest {kind} of random_prices must be a number of at least 1; got {most!r}.")
    return RandomPrices(
        name=f"random_prices({false_negative:g}, {false_positive:g})",
        separating=True,
        false_negative=float(false_negative),
        false_positive=float(false_positive),
    )


PARAMETRISED["random_prices"] = random_prices
