"""From a predicted point to a label vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clems.counts import Floats, row_blocks


def nearest(points: Floats, among: Floats) -> NDArray[np.intp]:
    """Index of the row of `among` nearest to each point; the first of several.

    Parameters
    ----------
    points : ndarray of shape (n, M)
    among : ndarray of shape (L, M)

    Returns
    -------
    ndarray of shape (n,)
    """
    half = np.einsum("ij,ij->i", among, among) / 2
    index = np.empty(len(points), np.intp)
    for rows in row_blocks(len(points), len(among)):
        index[rows] = (half - points[rows] @ among.T).argmin(axis=1)  # ‖z − p‖² up to what does not depend on p
    return index
