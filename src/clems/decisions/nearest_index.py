"""An index of many points, in which the nearest is found without looking at all of them; needs the extra `ann`.

Points are sorted into cells by faiss (`IndexIVFFlat`), and a search looks into the cells near the question. How many is
chosen on questions as they come: the fewest of a doubling grid that find the true nearest for `WANTED` of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from weakref import finalize

import numpy as np

from clems.arrays import Floats, Integers

LEAST = 50_000  # points from which on an index is made
CELLS = 1024
TRAINED = 64  # points for each cell from which cells are learned
WANTED = 0.99  # share of questions whose nearest point is to be found
SAMPLE = 200  # questions on which that is measured


@dataclass(frozen=True, eq=False)
class Index:
    """An index of points.

    Attributes
    ----------
    cells : object
        The index of faiss.
    recall : float
        Share of the first questions whose nearest point was found.
    """

    cells: Any
    recall: float

    def __call__(self, points: Floats) -> Integers:
        """Return the number of the point nearest to each question, shape (n,)."""
        return np.asarray(self.cells.search(np.ascontiguousarray(points, np.float32), 1)[1][:, 0], np.intp)


KNOWN: dict[int, Index] = {}  # by the array of points, as long as there is that


def index_of(among: Floats, questions: Floats, truth: Any) -> Index | None:
    """Return the index of points, made at the first call; None where they are few or faiss is not installed.

    Parameters
    ----------
    among : ndarray of shape (L, M)
        The points.
    questions : ndarray of shape (n, M)
        For which the nearest is asked first.
    truth : callable
        Function of questions; returns the numbers of their nearest points.
    """
    if len(among) < LEAST or not find_spec("faiss"):
        return None
    if id(among) not in KNOWN:
        KNOWN[id(among)] = made(among, questions[:: max(1, len(questions) // SAMPLE)][:SAMPLE], truth)
        finalize(among, KNOWN.pop, id(among), None)
    return KNOWN[id(among)]


def made(among: Floats, questions: Floats, truth: Any) -> Index:
    """Make an index and choose how many cells it looks into."""
    import faiss

    points = np.ascontiguousarray(among, np.float32)
    count = min(CELLS, max(1, len(points) // TRAINED))
    cells: Any = faiss.index_factory(points.shape[1], f"IVF{count},Flat")
    cells.cp.niter, cells.cp.seed = 5, 0
    some = np.random.RandomState(0).permutation(len(points))[: count * TRAINED]
    cells.train(points[some])
    cells.add(points)
    nearest, cells.nprobe, recall = truth(questions), 4, 0.0
    while True:
        found = Index(cells, recall)(questions)
        # Of several at the same distance any will do.
        distance, least = (np.linalg.norm(points[own] - questions, axis=1) for own in (found, nearest))
        recall = float(np.mean(distance <= least * (1 + 1e-5) + 1e-12))
        if recall >= WANTED or cells.nprobe >= count:
            return Index(cells, recall)
        cells.nprobe = min(2 * cells.nprobe, count)
