"""The label map: the embedding's points in two dimensions, and which label sets the cost takes to be similar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from clems.arrays import Floats, Integers
from clems.labels.matrix import as_dense

MOST = 400  # label sets on a map, more than which nobody can distinguish
NEAREST = 3
CELLS = 20  # of a map, each way: what is in the same one looks like one point


@dataclass(frozen=True, eq=False)
class Neighbours:
    """For each label set the others of least cost, nearest first.

    Attributes
    ----------
    index : ndarray of shape (m, 3)
        Which they are, as places in the map; fewer columns if there are fewer others.
    cost : ndarray of shape (m, 3)
        What it costs to take one for the other.
    """

    index: Integers
    cost: Floats


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Candidates in the plane, the most frequent first.

    Attributes
    ----------
    sets : tuple of tuple of str
        Names of the labels of each candidate.
    frequency : ndarray of shape (m,)
        Summed weight of its training rows.
    total : float
        Summed weight of all training rows.
    n_candidates : int
        How many candidates the model has, of which the most frequent are here.
    truth, prediction : ndarray of shape (m, 2)
        Points of both roles on the two leading principal axes of all these points together.
    share : float
        Part of the points' variation that the two axes show.
    predictions, truths : Neighbours
        For each candidate as the truth the predictions of least cost, and as a prediction the truths of least cost.
    """

    sets: tuple[tuple[str, ...], ...]
    frequency: Floats
    total: float
    n_candidates: int
    truth: Floats
    prediction: Floats
    share: float
    predictions: Neighbours
    truths: Neighbours

    @property
    def n_places(self) -> int:
        """How many places truths are at, those that share one of `CELLS` × `CELLS` cells of the map being at one."""
        lowest, span = self.truth.min(axis=0), max(float(np.ptp(self.truth, axis=0).max()), 1e-12)
        return len(np.unique(np.floor((self.truth - lowest) / span * CELLS), axis=0))


def has_map(model: Any) -> bool:
    """Whether a fitted model has candidates that are embedded as truths and as predictions."""
    return hasattr(model, "candidates_") and hasattr(model, "embedding_")


def make_map(model: Any, most: int = MOST) -> LabelMap:
    """Project a model's embedding to two dimensions.

    Parameters
    ----------
    model : CLEMS
        A fitted model.
    most : int, default=400
        How many label sets; the most frequent ones are taken.

    Returns
    -------
    LabelMap

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems.evaluation.label_map import make_map
    >>> X, Y = digit_scenes(100, random_state=0)
    >>> found = make_map(CLEMS(random_state=0, n_trees=5).fit(X, Y), most=20)
    >>> found.truth.shape, found.predictions.index.shape
    ((20, 2), (20, 3))
    """
    check_is_fitted(model)
    if not has_map(model):
        raise ValueError(
            f"A label map needs embedded candidates, which {type(model).__name__} does not have; try CLEMS."
        )
    candidates, embedding = model.candidates_, model.embedding_
    order = np.argsort(-candidates.frequency, kind="stable")[:most]
    labels = as_dense(candidates.labels[order])
    points = np.concatenate([embedding.truth[order], embedding.prediction[order]]).astype(np.float64)
    flat, share = principal_plane(points)
    costs = model.cost_.of_pairs(labels, labels)
    return LabelMap(
        tuple(names_of(labels, model.classes_)),
        candidates.frequency[order],
        float(candidates.frequency.sum()),
        len(candidates),
        flat[: len(order)],
        flat[len(order) :],
        share,
        _nearest(costs),
        _nearest(costs.T),
    )


def principal_plane(points: Floats) -> tuple[Floats, float]:
    """Coordinates of points on their two leading principal axes, and the part of their variation that is seen there."""
    centred = points - points.mean(axis=0)
    left, scale, right = np.linalg.svd(centred, full_matrices=False)
    flat = np.zeros((len(points), 2))
    flat[:, : len(scale)] = (left * scale)[:, :2]
    # An axis has no direction of its own; the largest weight of each is made positive, so that maps can be compared.
    for axis, weights in enumerate(right[:2]):
        flat[:, axis] *= np.sign(weights[np.abs(weights).argmax()]) or 1.0
    total = float((scale**2).sum())
    return flat, float((scale[:2] ** 2).sum()) / total if total > 0 else 1.0


def names_of(labels: NDArray[Any], classes: Iterable[Any]) -> list[tuple[str, ...]]:
    """Names of the labels in each row of zeros and ones."""
    names = [*map(str, classes)]
    return [tuple(names[k] for k in np.flatnonzero(row)) for row in labels]


def shown(names: Sequence[str], longest: int | None = None) -> str:
    """Write a label set, shortened if asked for."""
    text = ", ".join(names) or "no label"
    return text if longest is None or len(text) <= longest else text[: longest - 1].rstrip(" ,") + "…"


def _nearest(costs: Floats) -> Neighbours:
    other = costs.copy()
    np.fill_diagonal(other, np.inf)
    nearest = np.argsort(other, axis=1, kind="stable")[:, : min(NEAREST, len(costs) - 1)]
    return Neighbours(nearest, np.take_along_axis(costs, nearest, axis=1))
