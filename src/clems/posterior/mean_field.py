"""Mean field: probabilities of labels that agree with classifiers of each and with what is known of combinations."""

from __future__ import annotations

import numpy as np

from clems.arrays import Floats

LEAST = 1e-12  # probabilities are kept this far from 0 and 1, unless a classifier is certain
SWEEPS = 100  # most sweeps over the labels
TOL = 1e-12  # change of a probability that is none


def mean_field(p: Floats, values: Floats, directions: Floats, precision: Floats, tol: float = TOL) -> Floats:
    """Marginals q of the product distribution nearest to ``Π p_j^{y_j} (1 − p_j)^{1 − y_j} Π_k N(v_kᵀy; m_k, s_k²)``.

    Label by label, ``logit q_j ← logit p_j − ½ Σ_k s_k⁻² [v_kj² + 2 v_kj (Σ_{i≠j} v_ki q_i − m_k)]``, which is the best
    q_j for the others as they are; so no step lowers the bound of :func:`evidence_bound`.

    Parameters
    ----------
    p : ndarray of shape (n, K)
        Probabilities of labels by themselves. Those that are exactly 0 or 1 stay.
    values : ndarray of shape (n, d)
        Predicted combinations m.
    directions : ndarray of shape (d, K)
        Weights v of the labels in each.
    precision : ndarray of shape (d,)
        s⁻², how sure each prediction is.
    tol : float
        Change of a probability that is none.

    Returns
    -------
    ndarray of shape (n, K)
    """
    certain = (p == 0) | (p == 1)
    q = np.where(certain, p, np.clip(p, LEAST, 1 - LEAST))
    logit = np.log(np.clip(p, LEAST, 1)) - np.log(np.clip(1 - p, LEAST, 1))
    # −½ Σ_k s_k⁻² (v_kᵀy − m_k)² is, but for a constant, Σ_j y_j b_j − ½ Σ_ij y_i y_j J_ij
    scaled = precision[:, None] * directions
    J, field = directions.T @ scaled, logit + values @ scaled  # field_j = logit p_j + b_j
    diagonal = J.diagonal().copy()
    J[np.diag_indices(len(J))] = 0
    active = np.arange(len(p))  # rows that still change, each until it does not, whatever the others do
    for _ in range(SWEEPS):
        own, fixed, said = q[active], certain[active], field[active]
        largest = np.zeros(len(active))
        for j in range(p.shape[1]):
            # logit q_j ← field_j − ½ J_jj − Σ_{i≠j} J_ij q_i
            logit_q = said[:, j] - 0.5 * diagonal[j] - own @ J[:, j]
            new = np.where(fixed[:, j], own[:, j], 1 / (1 + np.exp(-np.clip(logit_q, -500, 500))))
            largest = np.maximum(largest, np.abs(new - own[:, j]))
            own[:, j] = new
        q[active] = own
        active = active[largest > tol]
        if not len(active):
            break
    return np.asarray(q)


def evidence_bound(q: Floats, p: Floats, values: Floats, directions: Floats, precision: Floats) -> Floats:
    """Lower bound of the log evidence that mean field raises: expected log density plus entropy of q, shape (n,)."""
    p, inside = np.clip(p, LEAST, 1 - LEAST), np.clip(q, LEAST, 1 - LEAST)
    labels = (q * np.log(p) + (1 - q) * np.log(1 - p)).sum(axis=1)
    spread = (q * (1 - q)) @ (directions**2).T  # variance of v_kᵀy
    combinations = -0.5 * (((q @ directions.T - values) ** 2 + spread) @ precision)
    entropy = -(inside * np.log(inside) + (1 - inside) * np.log(1 - inside)).sum(axis=1)
    return np.asarray(labels + combinations + entropy)
