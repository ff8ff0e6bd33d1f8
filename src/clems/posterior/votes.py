"""Posteriors over candidates from scores of candidates, and how much the scores count, chosen on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Floats, Integers, Weights

NEGLIGIBLE = 1e-15  # shares below this part of a row's greatest are 0
DIGITS = 9  # to which log scores are rounded, so that a row's shares do not depend on the rows around it


def shares_of_scores(scores: Floats) -> Any:
    """Shares of candidates by their log scores, ``q_i ∝ exp(score_i)``: a CSR array of shape (n, L)."""
    rounded = np.round(scores, DIGITS)
    share = np.exp(rounded - rounded.max(axis=1, keepdims=True))
    share[share < NEGLIGIBLE] = 0
    return sparse.csr_array(share / share.sum(axis=1, keepdims=True))


def log_losses(scores: Floats, truth: Integers) -> Floats:
    """Negative log share of the true candidate of each row."""
    greatest = scores.max(axis=1)
    total = np.log(np.exp(scores - greatest[:, None]).sum(axis=1)) + greatest
    return np.asarray(total - scores[np.arange(len(truth)), truth])


def choose_powers(
    evidence: Floats,
    prior: Floats,
    truth: Integers,
    weight: Weights,
    powers: Sequence[float],
    prior_powers: Sequence[float] = (1.0, 0.5, 0.0),
) -> tuple[float, float, float]:
    """Choose the powers of evidence and of prior that make the truth of held-out rows likeliest.

    Parameters
    ----------
    evidence : ndarray of shape (n, L)
        Log scores of candidates.
    prior : ndarray of shape (L,)
        Log frequencies of candidates.
    truth : ndarray of shape (n,)
        Which candidate each row has.
    weight : ndarray of shape (n,) or None
        Sample weights.
    powers, prior_powers : sequence of float
        What to choose from; of those that are equally good, the first.

    Returns
    -------
    power, prior_power, log_loss : float
    """
    tried = [
        (np.average(log_losses(power * evidence + own * prior, truth), weights=weight), power, own)
        for power, own in product(powers, prior_powers)
    ]
    losses = np.round([loss for loss, _, _ in tried], 9)
    loss, power, own = tried[int(losses.argmin())]
    return power, own, float(loss)
