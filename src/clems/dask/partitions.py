"""Partitions of Dask's collections as tasks, and tasks that are computed without words about their size."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clems.wording import plural

FAN_IN = 2  # results of partitions that are added up together: the fewer, the fewer have to wait in memory


class Partition(NamedTuple):
    """Some rows as a task is given them, and what to call them.

    Attributes
    ----------
    name : str
        For sentences about what is wrong.
    rows : object or Delayed
        A `Recipe`, or a task that gives another function without parameters, or features and labels themselves.
    """

    name: str
    rows: Any


class Recipe:
    """A function that makes the features and labels of a partition, by tasks that serve no other.

    A task that is given it reads and works in one, so that no partition waits in memory for a worker that is free:
    beyond results, each worker has one partition a thread, whatever becomes of the others.

    Parameters
    ----------
    graph : mapping
        The tasks.
    keys : pair
        Of these the one that gives features, and the one that gives labels.
    """

    def __init__(self, graph: Mapping[Any, Any], keys: tuple[Any, Any]) -> None:
        self.graph, self.keys = dict(graph), keys

    def __call__(self) -> tuple[Any, Any]:
        """Make them."""
        X, Y = import_dask().get(self.graph, list(self.keys))
        return _pair(X, Y)


def rows_in(rows: Any) -> tuple[Any, Any]:
    """Features and labels of a partition, in a task that is given its `rows`."""
    X, Y = rows() if callable(rows) else rows
    return X, Y


def import_dask(module: str = "dask") -> Any:
    """Import a part of Dask, or say how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError("Partitions need Dask: pip install 'clems[dask]'.") from None


def is_frame(collection: Any) -> bool:
    """Whether a collection of Dask's is a DataFrame."""
    return hasattr(collection, "npartitions") and hasattr(collection, "columns")


def is_array(collection: Any) -> bool:
    """Whether a collection is an array of Dask's."""
    return hasattr(collection, "__dask_graph__") and hasattr(collection, "chunks")


def check_collection(collection: Any, name: str) -> Any:
    """Refuse what is no collection of Dask's; an array whose columns are cut is put together, block by block."""
    if is_frame(collection) and hasattr(collection, "__dask_graph__"):
        return collection
    if not is_array(collection):
        raise TypeError(
            f"{name} must be an array or DataFrame of Dask's; got {type(collection).__module__.partition('.')[0]}'s "
            f"{type(collection).__name__}. What fits into memory is fitted by model.fit."
        )
    if collection.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional, one row per example; its shape is {collection.shape}.")
    return collection if collection.numblocks[1] == 1 else collection.rechunk({1: -1})


def partitions_of(X: Any, Y: Any) -> list[Partition]:
    """Pair the partitions of features with those of labels."""
    blocks = [_blocks(check_collection(one, name)) for one, name in ((X, "X"), (Y, "Y"))]
    if len(blocks[0]) != len(blocks[1]):
        raise ValueError(
            f"X has {plural(len(blocks[0]), 'partition')} and Y has {len(blocks[1])}; their rows must be cut alike, "
            "as those of columns of one DataFrame are."
        )
    n = len(blocks[0])
    return [Partition(f"Partition {k} of {n}, from 0 on", rows) for k, rows in enumerate(_recipes(*blocks))]


def _blocks(collection: Any) -> list[Any]:
    delayed = collection.to_delayed()
    return [*delayed] if is_frame(collection) else [*delayed[:, 0]]


def _recipes(X: list[Any], Y: list[Any]) -> list[Any]:
    """Return a recipe for each partition; where partitions share tasks, or workers hold them, a task for each pair."""
    cull, delayed = import_dask("dask.optimization").cull, import_dask().delayed
    pairs = list(zip(X, Y, strict=True))
    distributed = sys.modules.get("distributed")
    if distributed is not None and distributed.futures_of(pairs):
        return [delayed(_pair)(x, y) for x, y in pairs]
    whole = {**dict(X[0].__dask_graph__()), **dict(Y[0].__dask_graph__())}
    graphs = [cull(whole, [x.key, y.key])[0] for x, y in pairs]
    if max(Counter(key for graph in graphs for key in graph).values()) > 1:
        return [delayed(_pair)(x, y) for x, y in pairs]
    return [Recipe(graph, (x.key, y.key)) for graph, (x, y) in zip(graphs, pairs, strict=True)]


def _pair(X: Any, Y: Any) -> tuple[Any, Any]:
    if isinstance(X, pd.DataFrame) and isinstance(Y, pd.DataFrame) and not X.index.equals(Y.index):
        raise ValueError("X and Y have rows of different names in their index; they must be rows of one DataFrame.")
    return X, Y


def constant(value: Any) -> Any:
    """Return a task that gives a value, which is sent to each worker once."""
    return import_dask().delayed(value, pure=False, traverse=False)


def added(parts: Sequence[Any], add: Callable[[list[Any]], Any]) -> Any:
    """Return a task that adds up what tasks give, some at a time, always in the same order."""
    delayed = import_dask().delayed
    level = [*parts]
    while len(level) > 1:
        level = [delayed(add)(level[first : first + FAN_IN]) for first in range(0, len(level), FAN_IN)]
    return level[0]


def part_of(pair: Any, position: int) -> Any:
    """Return a task that gives one of several things that a task gives."""
    return import_dask().delayed(_item)(pair, position)


def _item(pair: Any, position: int) -> Any:
    return pair[position]


def computed(*tasks: Any) -> tuple[Any, ...]:
    """Compute tasks by the scheduler that Dask is set to use."""
    with _quiet():
        return tuple(import_dask().compute(*tasks))


def kept(tasks: Sequence[Any]) -> tuple[Any, ...]:
    """Begin to compute tasks, and leave what they give with the workers; what is lost with a worker is done again."""
    with _quiet():
        return tuple(import_dask().persist(*tasks))


def _quiet() -> Any:
    """Keep a cluster, if there is one, from advising against sending a model, which has to be sent."""
    if "distributed" not in sys.modules:  # which would lose what it sets when it is imported after this
        return nullcontext()
    return import_dask().config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


def stacked(parts: Sequence[Any]) -> Any:
    """Put arrays or CSR arrays one below the other."""
    from scipy import sparse

    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
