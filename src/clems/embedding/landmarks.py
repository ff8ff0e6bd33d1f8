"""Landmarks: some label vectors are embedded by the solver, all others are placed against these, in time linear in L.

With the prediction points ``P_j`` of m landmarks fixed, the truth points of all other vectors separate: each is a
problem of its own, ``min_t Σ_j b_j (‖t − P_j‖ − D_ij)²``, and likewise for prediction points with the weights of
truths. A point starts where a linear map from labels, learned from the landmarks, puts it, at the distance from their
centre that its dissimilarities ask for; that is mostly nearly the place. A few steps of majorisation follow,
``t ← t − α (t − t')`` with ``t' = Σ_j b_j (P_j + D_ij (t − P_j) / ‖t − P_j‖)``, with the length α of Barzilai and
Borwein for each point. The stress of all pairs is estimated on a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from clems.arrays import Floats, Integers, Labels, row_blocks
from clems.embedding.smacof import Embedding, label_start, mirrored_smacof
from clems.labels.matrix import as_dense

MOST_SOLVED = 5000  # label vectors up to which "auto" needs no landmarks
LANDMARKS = 1000  # of "auto" where there are more
MOST_COMPONENTS = 256  # dimensions by default with landmarks, or of more labels than these:
MANY_LABELS = 1000
STEPS = 3  # of each point
LONGEST = 30.0  # length α of a step, at most; 1 is plain majorisation, which never raises the stress
RIDGE = 0.1  # penalty of the linear map, in units of a label
ENTRIES = 1 << 19  # dissimilarities that are computed together
SAMPLE = 2000  # truths, and predictions, whose pairs estimate the stress

Dissimilarity = Callable[[Labels, Labels], Floats]  # of truths, shape (n, K), to predictions, shape (m, K)


def number_of_landmarks(given: Any, L: int) -> int | None:
    """Return how many landmarks L label vectors are embedded by; None if all are solved together.

    Parameters
    ----------
    given : "auto", int or None
        The parameter of CLEMS.
    L : int
        How many label vectors there are.
    """
    if given is None:
        return None
    if isinstance(given, str) and given == "auto":
        return LANDMARKS if L > MOST_SOLVED else None
    whole = isinstance(given, (int, np.integer)) and not isinstance(given, (bool, np.bool_))
    if not whole or given < 2:
        raise ValueError(f"landmarks must be 'auto', None or a whole number of at least 2; got {given!r}.")
    return int(given) if given < L else None


def default_components(K: int, n_landmarks: int | None) -> int:
    """Return the dimension by default: the number of labels, capped where there are landmarks or many labels."""
    return K if n_landmarks is None and K <= MANY_LABELS else min(K, MOST_COMPONENTS)


def embed_by_landmarks(
    labels: Labels,
    weight: Floats,
    dissimilarity: Dissimilarity,
    n_components: int,
    n_landmarks: int,
    random_state: np.random.RandomState,
    *,
    max_iter: int = 500,
    tol: float = 1e-2,
    n_jobs: int | None = None,
) -> Embedding:
    """Embed landmarks by the solver, and place all other label vectors against them.

    Time and memory are linear in the number of label vectors. Points are of single precision.

    Parameters
    ----------
    labels : array or CSR array of shape (L, K)
        Label vectors.
    weight : ndarray of shape (L,)
        Positive weights of them as truths.
    dissimilarity : callable
        Function of truths and predictions; returns the wanted distances of all pairs.
    n_components : int
        Dimension M of the points.
    n_landmarks : int
        How many landmarks.
    random_state : RandomState
        By which landmarks and the sample of pairs are drawn, and the solver starts.
    max_iter, tol
        Of the solver, see :func:`mirrored_smacof`.
    n_jobs : int, default=None
        Blocks of label vectors that are placed at a time.

    Returns
    -------
    Embedding
        Its stress is that of all pairs, estimated on a sample; steps and history are those of the landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from clems import COSTS
    >>> labels = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    >>> found = embed_by_landmarks(
    ...     labels, np.ones(256), lambda a, b: np.sqrt(COSTS["hamming"].of_pairs(a, b)), 8, 64, np.random.RandomState(0)
    ... )
    >>> found.truth.shape, len(found.landmarks), found.stress < 0.01
    ((256, 8), 64, True)
    """
    chosen, share = choose_landmarks(weight, n_landmarks, random_state)
    known = labels[chosen]
    between = np.asarray(dissimilarity(known, known), np.float32)
    start = label_start(as_dense(known), n_components, random_state)
    solved = mirrored_smacof(between, start, share, max_iter=max_iter, tol=tol)
    even = np.full(len(chosen), 1 / len(chosen))
    maps = [_linear_map(known, points) for points in (solved.truth, solved.prediction)]
    unseen = np.flatnonzero(np.asarray(known.sum(axis=0)).ravel() == 0)  # of which landmarks say nothing
    anywhere = random_state.standard_normal((len(unseen), n_components)) / np.sqrt(n_components)
    for one in maps:
        one[unseen] = anywhere * np.sqrt(np.square(one).sum() / (labels.shape[1] - len(unseen)))

    def place(rows: slice) -> tuple[Floats, Floats]:
        block = labels[rows]
        truth = placed(block @ maps[0], solved.prediction, dissimilarity(block, known), even)
        return truth, placed(block @ maps[1], solved.truth, dissimilarity(known, block).T, share)

    shape = labels.shape[0], n_components
    points = np.empty(shape, np.float32), np.empty(shape, np.float32)

    def fill(rows: slice) -> None:
        for all_points, block in zip(points, place(rows), strict=True):
            all_points[rows] = block

    blocks = row_blocks(shape[0], len(chosen), ENTRIES)
    Parallel(n_jobs=n_jobs, prefer="threads")(delayed(fill)(rows) for rows in blocks)
    points[0][chosen], points[1][chosen] = solved.truth, solved.prediction
    stress = sampled_stress(labels, weight, dissimilarity, *points, random_state)
    return Embedding(*points, stress, solved.n_iter, solved.converged, solved.history, chosen)


def choose_landmarks(weight: Floats, number: int, random_state: np.random.RandomState) -> tuple[Integers, Floats]:
    """Choose landmarks and the share of all weight that each stands for, which add up to 1.

    Vectors that have a share of ``1 / number`` by themselves are landmarks, half of them at most, and stand for
    themselves. The others are drawn at random and stand for all the rest.
    """
    share = weight / weight.sum()
    by_share = np.argsort(-share, kind="stable")[: number // 2]
    heavy = by_share[share[by_share] >= 1 / number]
    rest = np.setdiff1d(np.arange(len(share)), heavy)
    drawn = random_state.choice(rest, number - len(heavy), replace=False)
    of_drawn = share[drawn] / share[drawn].sum() * (1 - share[heavy].sum())
    chosen = np.concatenate([heavy, drawn])
    order = np.argsort(chosen)
    return chosen[order], np.concatenate([share[heavy], of_drawn])[order]


def _linear_map(labels: Labels, points: Floats) -> Floats:
    """Ridge regression from label vectors to their points less the mean: ``Sᵀ (S Sᵀ + λ I)⁻¹ Z``, shape (K, M)."""
    floats = labels.astype(np.float64)
    product = floats @ floats.T
    coefficients = np.linalg.solve(as_dense(product) + RIDGE * np.eye(len(points)), points - points.mean(axis=0))
    return np.asarray(floats.T @ coefficients, np.float32)


def placed(offset: Any, landmarks: Floats, wanted: Floats, share: Floats) -> Floats:
    """Place points so that their distances to landmarks are about the wanted ones.

    Parameters
    ----------
    offset : ndarray of shape (n, M)
        In which direction from the centre of the landmarks each point starts.
    landmarks : ndarray of shape (m, M)
        Fixed points.
    wanted : ndarray of shape (n, m)
        Wanted distances.
    share : ndarray of shape (m,)
        Weights of the landmarks, which add up to 1.

    Returns
    -------
    ndarray of shape (n, M), float32
    """
    b: Any = share.astype(np.float32)
    fixed: Any = landmarks.astype(np.float32)
    wanted = np.ascontiguousarray(wanted, np.float32)
    centre = b @ fixed
    fixed = fixed - centre
    squares = np.einsum("ij,ij->i", fixed, fixed)
    # Σ_j b_j D_ij² = ‖t‖² + Σ_j b_j ‖P_j‖² if distances are as wanted, and P is centred
    mean_square = np.square(wanted) @ b
    radius = np.sqrt(np.maximum(mean_square - b @ squares, 0))
    offset = np.asarray(offset, np.float32)
    length = np.sqrt(np.einsum("ij,ij->i", offset, offset))
    point = offset * (radius / np.where(length > 0, length, 1))[:, None]
    least = np.finfo(np.float32).eps * (squares.max(initial=0) + float(mean_square.max(initial=0)) + 1e-30)

    def evaluate(point: Floats) -> tuple[Floats, Floats]:
        """Squared errors of points, and what plain majorisation would subtract from each, ``t − t'``."""
        distance: Any = (-2 * point) @ fixed.T
        distance += np.einsum("ij,ij->i", point, point)[:, None]
        distance += squares
        np.sqrt(np.maximum(distance, least, out=distance), out=distance)
        ratio = wanted / distance
        distance -= wanted
        error = np.square(distance, out=distance) @ b
        ratio *= b
        return error, point - ratio.sum(axis=1)[:, None] * point + ratio @ fixed

    error, step = evaluate(point)
    direction = step
    for _ in range(STEPS):
        trial = point - direction
        new_error, new_step = evaluate(trial)
        worse = new_error >= error
        # α = ‖Δt‖² / ⟨Δt, Δ(t − t')⟩: the inverse curvature along the last step of each point
        curvature = np.einsum("ij,ij->i", direction, step - new_step)
        length = np.einsum("ij,ij->i", direction, direction)
        alpha = np.clip(length / np.maximum(curvature, length / LONGEST + 1e-30), 1, LONGEST)
        alpha[worse] = 1
        trial[worse], new_step[worse] = point[worse], step[worse]
        point, step, error = trial, new_step, np.minimum(error, new_error)
        direction = alpha[:, None] * step
    return np.asarray(point + centre)


def sampled_stress(
    labels: Labels,
    weight: Floats,
    dissimilarity: Dissimilarity,
    truth: Floats,
    prediction: Floats,
    random_state: np.random.RandomState,
) -> float:
    """Estimate the stress of all pairs, ``Σ a_i (d_ij − D_ij)² / Σ a_i D_ij²``, on a sample of these."""
    L = len(truth)
    # Truths are drawn by their weight, so that each pair of the sample counts the same.
    rows = random_state.choice(L, SAMPLE, p=weight / weight.sum())
    columns = random_state.choice(L, min(SAMPLE, L), replace=False)
    wanted = np.asarray(dissimilarity(labels[rows], labels[columns]), np.float64)
    left, right = truth[rows].astype(np.float64), prediction[columns].astype(np.float64)
    squares = np.einsum("ij,ij->i", left, left)[:, None] + np.einsum("ij,ij->i", right, right) - 2 * left @ right.T
    scale = float(np.square(wanted).sum())
    return float(np.square(np.sqrt(np.maximum(squares, 0)) - wanted).sum()) / scale if scale else 0.0
