"""Labels of near points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Floats, row_blocks

TIE = 1e-9  # difference of squared distances that is rounding, as a share of the squares


def neighbour_scores(
    points: Floats,
    among: Floats,
    frequency: Floats,
    labels: Any,
    n_neighbors: int,
    same_rows: bool = False,
) -> Any:
    """Mean label vector of the training rows nearest to each point.

    Of rows that are equally far, where not all are wanted, each counts in part.

    Parameters
    ----------
    points : ndarray of shape (n, M)
    among : ndarray of shape (L, M)
        Points of training rows.
    frequency : ndarray of shape (L,)
        Sample weights, or how many rows each of them stands for.
    labels : CSR array of shape (L, K)
        Their labels.
    n_neighbors : int
        How many rows, or which weight of rows, to take; all if there are no more.
    same_rows : bool, default=False
        Whether points are those of the same rows, in order, which are not their own neighbours.

    Returns
    -------
    CSR array of shape (n, K)
    """
    L, total = len(among), frequency.sum()
    enough = min(L, int(np.searchsorted(np.sort(frequency).cumsum(), n_neighbors)) + 1)
    squares = np.einsum("ij,ij->i", among, among)
    blocks = [sparse.csr_array((0, labels.shape[1]))]
    for rows in row_blocks(len(points), L):
        here = points[rows]
        far = squares - 2 * here @ among.T  # ‖z − p‖² up to what does not depend on p
        wanted = np.full(len(here), min(n_neighbors, total))
        if same_rows:
            far[np.arange(len(here)), np.arange(rows.start, rows.stop)] = np.inf
            wanted = np.minimum(n_neighbors, total - frequency[rows])
        near = np.argpartition(far, enough - 1, axis=1)[:, :enough]
        near = np.take_along_axis(near, np.take_along_axis(far, near, axis=1).argsort(axis=1), axis=1)
        reached = frequency[near].cumsum(axis=1) >= (1 - TIE) * wanted[:, None]
        last = np.take_along_axis(near, reached.argmax(axis=1)[:, None], axis=1)
        rounding = TIE * (np.einsum("ij,ij->i", here, here) + squares.max())
        radius = np.where(wanted > 0, np.take_along_axis(far, last, axis=1)[:, 0], -np.inf)
        row, column = np.nonzero(far <= (radius + rounding)[:, None])
        mass = frequency[column]
        edge = far[row, column] >= (radius - rounding)[row]
        inside, on_edge = (np.bincount(row, mass * part, len(here)) for part in (~edge, edge))
        share = np.clip(np.divide(wanted - inside, on_edge, out=np.zeros(len(here)), where=on_edge > 0), 0, 1)
        mass = np.where(edge, mass * share[row], mass) / wanted[row]
        ends = np.concatenate([[0], np.bincount(row, minlength=len(here)).cumsum()])
        blocks.append(sparse.csr_array((mass, column, ends), (len(here), L)) @ labels)
    return sparse.vstack(blocks, "csr")
