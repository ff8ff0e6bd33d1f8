"""The Poisson-binomial distribution: how many of several independent labels are there.

Sums are cut to a window of sizes: by Bernstein's inequality the sum of independent labels with mean μ and variance σ²
is farther than ``t`` from μ with probability at most ``2 exp(−t² / 2(σ² + t/3))``, which is `LEFT_OUT` for

    t = l/3 + √(l²/9 + 2 l σ²),   l = ln(2 / LEFT_OUT),

so a window has about 15 σ + 20 sizes whatever the number of labels. An expectation under the cut distribution is wrong
by at most `LEFT_OUT` times the range of what is expected, plus rounding.
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from clems.arrays import Floats, Integers

LEFT_OUT = 1e-12  # probability of all sizes outside a window
GROUP = 32  # labels whose sum is computed label by label; sums of groups are combined by Fourier transforms


def windows(mean: Floats, variance: Floats, K: int) -> tuple[Integers, Integers]:
    """Return the least and the greatest size that matter, where sums have such means and variances."""
    log = np.log(2 / LEFT_OUT)
    t = log / 3 + np.sqrt(log**2 / 9 + 2 * log * variance)
    return np.maximum(np.floor(mean - t), 0).astype(np.intp), np.minimum(np.ceil(mean + t), K).astype(np.intp)


def common_window(p: Floats) -> tuple[int, int]:
    """Return the first size and the number of sizes that matter to at least one of the rows of marginals (n, K)."""
    least, most = windows(p.sum(axis=1), (p * (1 - p)).sum(axis=1), p.shape[1])
    return int(least.min()), int(most.max() - least.min() + 1)


def of_sums(p: Floats, first: int, width: int) -> Floats:
    """Compute how probable each number of labels is, ``P(Σ_k y_k = first + j)`` for j < width, shape (n, width).

    Parameters
    ----------
    p : ndarray of shape (n, K)
        Marginals of independent labels.
    first, width : int
        Sizes that are asked for; they include the window of each row.
    """
    n, K = p.shape
    groups = -(-K // GROUP)
    padded = np.zeros((n, groups * GROUP))
    padded[:, :K] = p
    each = padded.reshape(n, groups, GROUP)
    sums = np.zeros((n, groups, GROUP + 1))
    sums[:, :, 0] = 1
    for label in range(GROUP):  # P(s) ← (1 − p) P(s) + p P(s − 1)
        true = sums[:, :, : label + 1] * each[:, :, label, None]
        sums[:, :, : label + 1] -= true
        sums[:, :, 1 : label + 2] += true
    if groups > 1:
        # The transform of a sum is the product of transforms. It is periodic: sizes outside the window, which is no
        # longer than the period, fall on others and add at most LEFT_OUT there.
        period = fft.next_fast_len(max(width, GROUP + 1), real=True)
        whole = fft.irfft(np.prod(fft.rfft(sums, period, axis=2), axis=1), period, axis=1)
        whole = np.maximum(np.roll(whole, -first, axis=1), 0)  # differences of rounding may be negative
    else:
        whole = sums[:, 0, first:]
    result = np.zeros((n, width))
    filled = min(width, whole.shape[1])
    result[:, :filled] = whole[:, :filled]
    return result


def with_each_label(p: Floats, sums: Floats) -> Floats:
    """Compute how probable it is that a label is there and so many are, ``P(y_k = 1, Σ_i y_i = first + j)``.

    A label is divided out of the distribution of the sum. With ``u(s) = P(y_k = 0, Σ = s)`` and
    ``z(s) = P(y_k = 1, Σ = s)`` it is ``z(s) = p/(1 − p) · u(s − 1)`` and ``u(s) + z(s) = P(Σ = s)``. From small sizes
    to large ones each step multiplies errors by ``p/(1 − p)``, from large ones to small ones by ``(1 − p)/p``: of the
    two, the one that is at most 1 is taken.

    Parameters
    ----------
    p : ndarray of shape (n, K)
        Marginals, those of a row in falling order.
    sums : ndarray of shape (n, W)
        What `of_sums` returns.

    Returns
    -------
    ndarray of shape (W, n, K)
    """
    n, K = p.shape
    width = sums.shape[1]
    likely = (p > 0.5).sum(axis=1)
    some, all_ = int(likely.max(initial=0)), int(likely.min(initial=K))  # columns before `some` may be above ½
    joint = np.empty((width, n, K))
    down = p[:, :some]
    ratio = np.minimum((1 - down) / np.maximum(down, 0.5), 1)
    later = np.zeros_like(ratio)
    for j in range(width - 1, -1, -1):  # z(s) = P(s) − (1 − p)/p · z(s + 1)
        later *= ratio
        np.subtract(sums[:, j, None], later, out=later)
        joint[j, :, :some] = later
    up = p[:, all_:]
    ratio = np.minimum(up / np.maximum(1 - up, 0.5), 1)
    keep = np.arange(all_, some) < likely[:, None]  # columns of some rows only: those above ½ are done
    without, there = np.zeros_like(ratio), np.empty_like(ratio)
    for j in range(width):  # z(s) = p/(1 − p) · u(s − 1), u(s) = P(s) − z(s)
        np.multiply(ratio, without, out=there)
        np.subtract(sums[:, j, None], there, out=without)
        joint[j, :, some:] = there[:, some - all_ :]
        np.copyto(joint[j, :, all_:some], there[:, : some - all_], where=~keep)
    return joint
