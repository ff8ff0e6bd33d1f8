"""What if, live: what a report keeps of test rows, so that its page can decide them for other prices and costs.

The page decides as ``clems.decide(P, cost, at_most=…, abstain_at=…)`` does in Python, with P the probabilities that it
keeps, in full. For prices, Hamming and rank loss probabilities of labels are all that counts, whatever labels have to
do with each other; for F1 and accuracy, and for rank loss and Hamming within a budget, labels are taken to be
independent, as `decide` takes them. What rows are expected to cost by prices, which says whether they are handed over,
is multiplied by the `paid_over_expected` of a model for prices, as that model does it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clems.arrays import Bits, Floats
from clems.costs.cost import PriceCost
from clems.wording import plural

ENTRIES = 50_000  # probabilities in a page, eight bytes each
ROWS = 5_000
LABELS = 200  # with a line of prices for each
PRESETS = {"f1": "F1", "accuracy": "accuracy", "rank": "rank loss", "hamming": "Hamming"}


@dataclass(frozen=True, eq=False)
class Live:
    """What the page decides by.

    Attributes
    ----------
    names : tuple of str
        What the rows are called.
    labels : tuple of str
        What the labels are called.
    marginals : ndarray of shape (n, K)
        How probable each label is for each row.
    truth, decided : ndarray of shape (n, K)
        Labels of the rows, and what the model predicts.
    false_negative, false_positive : ndarray of shape (K,)
        Prices to begin with: the model's own, or 1.
    of_model : bool
        Whether these are the model's own.
    paid_over_expected : float
        What expected prices are multiplied by: what the model multiplies them by, or 1 if it is not for prices.
    n_rows : int
        How many test rows there are, of which these are all or drawn at random.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    marginals: Floats
    truth: Bits
    decided: Bits
    false_negative: Floats
    false_positive: Floats
    of_model: bool
    paid_over_expected: float
    n_rows: int


def make_live(
    model: Any, marginals: Floats | None, predicted: Bits, truth: Bits, names: Callable[[int], str]
) -> Live | str:
    """Choose what the page keeps; a sentence if it cannot decide.

    Parameters
    ----------
    model : learner
        A fitted model.
    marginals : ndarray of shape (n, K) or None
        How probable labels are, by what the model decides by.
    predicted, truth : ndarray of shape (n, K)
        What it predicts, and the labels of the rows.
    names : callable
        What the row of a number is called.
    """
    (n, K), cost = truth.shape, model.cost_
    if marginals is None:
        return (
            f"{type(model).__name__} has no probabilities of labels, so there is nothing to decide by for other prices."
        )
    if K > LABELS:
        return f"With {plural(K, 'label')} there are too many prices for a page; up to {LABELS} have a line each."
    most = min(ROWS, ENTRIES // K)
    rows = np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    priced = isinstance(cost, PriceCost)
    prices = (cost.false_negative, cost.false_positive) if isinstance(cost, PriceCost) else ((1.0,), (1.0,))
    fn, fp = (np.broadcast_to(np.array(part, np.float64), K) for part in prices)
    return Live(
        tuple(names(row) for row in rows.tolist()),
        tuple(map(str, model.classes_)),
        np.asarray(marginals, np.float64)[rows],
        truth[rows],
        predicted[rows],
        fn,
        fp,
        priced,
        float(model.paid_over_expected()) if priced and hasattr(model, "paid_over_expected") else 1.0,
        n,
    )


def live_data(live: Live, unit: str) -> dict[str, Any]:
    """Return what the page reads; probabilities as the bytes of 64-bit numbers, so that none is rounded."""
    return {
        "names": live.names,
        "labels": live.labels,
        "unit": unit,
        "paid_over_expected": live.paid_over_expected,
        "marginals": b64encode(live.marginals.astype("<f8").tobytes()).decode(),
        "truth": _bits(live.truth),
        "decided": _bits(live.decided),
    }


def _bits(labels: Bits) -> str:
    return b64encode(np.packbits(labels.astype(bool), bitorder="little").tobytes()).decode()
