"""Labelsets: small random groups of labels that cover all of them, and the weights of what is predicted for each."""

from __future__ import annotations

import numpy as np

from clems.arrays import Floats, Integers


def draw_labelsets(K: int, size: int, number: int, random_state: np.random.RandomState) -> list[Integers]:
    """Draw distinct sets of labels that cover all labels as evenly as possible.

    Labels are dealt from one random order after the other, so that no label is in two sets more than another.

    Parameters
    ----------
    K : int
        Number of labels.
    size : int
        Labels of a set.
    number : int
        Sets wanted, if there are so many; at least as many as it takes to cover all labels.
    random_state : RandomState

    Returns
    -------
    list of ndarray
        Each in rising order.
    """
    size = min(size, K)
    sets: dict[tuple[int, ...], None] = {}
    dealt: list[int] = []
    for _ in range(20 * number + 20):
        while len({*dealt}) < size:
            dealt += random_state.permutation(K).tolist()
        chosen: list[int] = []
        for label in dealt:
            if label not in chosen and len(chosen) < size:
                chosen.append(label)
        for label in chosen:
            dealt.remove(label)
        sets[tuple(sorted(chosen))] = None
        covered = {label for one in sets for label in one}
        if len(sets) >= number and len(covered) == K:
            break
    return [np.array(one, np.intp) for one in sets]


def set_laplacian(sets: list[Integers], K: int) -> Floats:
    """Laplacian of the hypergraph whose vertices are labelsets and whose edges are labels, shape (m, m).

    ``I − D^{-1/2} B E⁻¹ Bᵀ D^{-1/2}``, where B says which set has which label, D how many labels a set has and E how
    many sets a label is in. It is small for weights that are alike for sets that share labels.
    """
    member = np.zeros((len(sets), K))
    for at, one in enumerate(sets):
        member[at, one] = 1
    scaled = member / np.sqrt(member.sum(axis=1, keepdims=True))
    edges = member.sum(axis=0)
    return np.asarray(np.eye(len(sets)) - (scaled / np.where(edges > 0, edges, 1)) @ scaled.T)


def set_weights(
    predicted: list[Floats], sets: list[Integers], truth: Floats, importance: Floats, ridge: float, smooth: float
) -> Floats:
    """Weights β of labelsets: minimise ``Σ w_il (y_il − Σ_j β_j h_jl(x_i))² + ridge ‖β − 1/c‖² + smooth βᵀ L β``.

    Parameters
    ----------
    predicted : list of ndarray of shape (n, k)
        For each set what is predicted for its labels, about their mean.
    sets : list of ndarray of shape (k,)
        Labels of each set.
    truth : ndarray of shape (n, K)
        Labels about their mean.
    importance : ndarray of shape (n, K)
        How much each entry counts.
    ridge : float
        Penalty of what differs from equal weights, 1 over the mean number c of sets that a label is in.
    smooth : float
        Penalty of what differs between sets that share labels, by `set_laplacian`.

    Returns
    -------
    ndarray of shape (m,)
    """
    m, K = len(sets), truth.shape[1]
    gram, right = np.zeros((m, m)), np.zeros(m)
    for label in range(K):  # sets meet at labels: all sums go label by label
        inside = [j for j in range(m) if label in sets[j]]
        columns = np.column_stack([predicted[j][:, np.flatnonzero(sets[j] == label)[0]] for j in inside])
        weighted = importance[:, label, None] * columns
        gram[np.ix_(inside, inside)] += weighted.T @ columns
        right[inside] += weighted.T @ truth[:, label]
    equal = K / max(sum(len(one) for one in sets), 1)
    matrix = gram + ridge * np.eye(m) + smooth * set_laplacian(sets, K)
    return np.asarray(np.linalg.solve(matrix, right + ridge * equal), np.float64)
