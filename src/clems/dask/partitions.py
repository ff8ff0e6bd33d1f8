"""Partitions of Dask's collections as tasks, and tasks that are computed without words about their size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clems.wording import plural

FAN_IN = 4  # results of partitions that are added up together


class Partition(NamedTuple):
    """Some rows as a task is given them, and what to call them.

    Attributes
    ----------
    name : str
        For sentences about what is wrong.
    rows : Delayed
        Of a pair of features and labels.
    """

    name: str
    rows: Any


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
    delayed = import_dask().delayed
    blocks = [_blocks(check_collection(one, name)) for one, name in ((X, "X"), (Y, "Y"))]
    if len(blocks[0]) != len(blocks[1]):
        raise ValueError(
            f"X has {plural(len(blocks[0]), 'partition')} and Y has {len(blocks[1])}; their rows must be cut alike, "
            "as those of columns of one DataFrame are."
        )
    n = len(blocks[0])
    pairs = zip(*blocks, strict=True)
    return [Partition(f"Partition {k} of {n}, from 0 on", delayed(_pair)(x, y)) for k, (x, y) in enumerate(pairs)]


def _blocks(collection: Any) -> list[Any]:
    return collection.to_delayed() if is_frame(collection) else collection.to_delayed()[:, 0].tolist()


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
    """Keep Dask from advising against sending a model, which has to be sent."""
    return import_dask().config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


def stacked(parts: Sequence[Any]) -> Any:
    """Put arrays or CSR arrays one below the other."""
    from scipy import sparse

    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
