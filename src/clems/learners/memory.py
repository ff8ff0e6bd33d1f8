"""Memory that training CLEMS takes: an estimate of its peak by formula, and a limit that it must not exceed.

`stages` says what each stage of `fit` holds at its peak, in the order of `fit`; ``python -m benchmarks.limits``
compares the greatest of them with what fits take. Trees are taken for as large as they can be, those of features that
say nothing about labels: with others fits take less.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from clems.posterior import experts, ridge_expert
from clems.posterior.mixture import MANY
from clems.posterior.source import HELD_OUT
from clems.trees.growing import WIDE

BASES = (("ib", 1024.0), ("b", 1000.0))
UNITS = {"b": 1.0} | {f"{letter}{end}": base**power for power, letter in enumerate("kmgt", 1) for end, base in BASES}
CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # where their limits are
NODE = 72  # bytes of a node of a tree without what it predicts
NODES = 1.0  # of a tree for each row that it is grown on, at most


@dataclass(frozen=True)
class Size:
    """What the memory of training depends on.

    Attributes
    ----------
    n, d, K, L, M : int
        Rows, features, labels, distinct label vectors, and dimensions they are embedded in.
    entries : int or None
        Entries of features that trees read by columns in sparse form; None if they read them dense.
    landmarks : int or None
        Label vectors that the solver embeds; None if all are solved together.
    itemsize : int
        Bytes of a number of the embedding.
    n_trees, jobs : int
        Trees, and how many are grown at a time; 0 trees of an estimator of the user's, of which nothing is known.
    experts : int
        How many experts are consulted.
    linear : bool
        Whether these are linear.
    sparse_labels : int or None
        Entries of labels that stay sparse; None if they are dense.
    """

    n: int
    d: int
    K: int
    L: int
    M: int
    entries: int | None = None
    landmarks: int | None = None
    itemsize: int = 8
    n_trees: int = 100
    jobs: int = 1
    experts: int = 1
    linear: bool = False
    sparse_labels: int | None = None


Parts = dict[str, float]  # bytes by what takes them


def stages(of: Size) -> list[Parts]:
    """Estimate what is in memory at the peak of each stage of training, beyond the data.

    Examples
    --------
    >>> from clems.learners.memory import Size, stages
    >>> embedding, *_ = stages(Size(n=40_000, d=100, K=100, L=30_000, M=100))
    >>> {name: round(size / 2**30, 1) for name, size in embedding.items()}
    {'label vectors': 0.0, 'distances of all label vectors': 13.9}
    """
    n, K, L, M = of.n, of.K, of.L, of.M
    labels = 8 * n + (L * K if of.sparse_labels is None else 10 * of.sparse_labels)
    points = 2 * L * M * (of.itemsize if of.landmarks is None else 4)
    kept: Parts = {"label vectors": labels}
    if of.landmarks is None:
        embedding = {"distances of all label vectors": L * (2 * of.itemsize * L + 8 * (8 * K + 14 * M))}
    else:
        embedding = {"points of label vectors": 2 * points + 24 * of.landmarks**2 + 2**28}
    found = [kept | embedding]

    # Features by columns, in single precision; targets in double precision.
    columns = 4 * n * of.d if of.entries is None else 8 * of.entries
    float_labels = 16 * L * K if of.sparse_labels is None else 24 * of.sparse_labels
    kept = kept | {"points of label vectors": points}
    if of.n_trees:
        nodes, width = NODES * n, min(WIDE, max(K, M))
        growing = of.jobs * (n * (8 * width + 60) + 1.5 * nodes * (64 + 8 * width))
        growing += 0 if of.entries is None else 4 / 3 * columns  # two copies of two thirds of the rows
        kept = kept | {"features by columns": columns}
        whole = of.n_trees * nodes * NODE
        found.append(kept | {"trees": whole + growing + float_labels})
        table = of.n_trees * (20 * n + 8 * nodes)
        kept = kept | {"trees": whole, "leaves of trees": table}
        found.append(kept | {"leaves of trees": table + of.jobs * 80 * n})
    if of.experts:
        found.append(kept | {"experts": of.experts * _expert(of)})
        rows = min(n, HELD_OUT)
        wide = L if L <= MANY else 0
        found.append(kept | {"mixtures for held-out rows": 8.0 * rows * (10 * wide + 4 * K)})
    return found


def _expert(of: Size) -> float:
    """Estimate what an expert takes while it is trained."""
    n, d, K = of.n, of.d, of.K
    most = n if n <= ridge_expert.MOST_ROWS else ridge_expert.MOST_FEATURES
    held_out = min(n, max(HELD_OUT, experts.rows_to_calibrate(K)))
    of_rows = 8.0 * held_out * 6 * K + (24 * of.entries if of.linear and of.entries else 0)
    of_rows += 2 * n * K if of.sparse_labels is None else 8 * of.sparse_labels
    if of.linear and d <= min(n, most):
        unknowns = d
    elif n <= ridge_expert.MOST_ROWS:
        return of_rows + 8.0 * n * (4 * n + 3 * K)
    else:
        unknowns = ridge_expert.LANDMARKS
    wide = unknowns if of.linear and of.entries else max(d, unknowns)
    block = max(2 * min(ridge_expert.HELD, held_out * unknowns), 5 * min(ridge_expert.ENTRIES, n * wide))
    return of_rows + 8.0 * (block + unknowns * (5 * unknowns + held_out + 3 * K))


def peak(of: Size) -> tuple[float, Parts]:
    """Return the greatest sum of a stage, and its parts."""
    parts = max(stages(of), key=lambda stage: sum(stage.values()))
    return sum(parts.values()), parts


ADVICE = {
    "distances of all label vectors": "landmarks=1000",
    "points of label vectors": "a smaller n_components",
    "features by columns": "fewer features",
    "label vectors": "labels as a sparse matrix",
    "trees": "a smaller n_trees, or a depth in depths",
    "leaves of trees": "a smaller n_trees",
    "experts": "experts=None",
    "mixtures for held-out rows": "experts=None",
}


def check_memory(of: Size, max_memory: Any) -> None:
    """Refuse training that takes more memory than it may, with a sentence that says what takes it."""
    limit = as_bytes(max_memory)
    needed, parts = peak(of)
    if needed <= limit:
        return
    first, *others = sorted(parts, key=lambda name: -parts[name])
    here = f", {_size(limit)} here" if max_memory == "auto" else ""
    rest = f", {_size(parts[others[0]])} for {others[0]}" if others else ""
    raise ValueError(
        f"Training would take up to {_size(needed)} beyond the data, more than max_memory={max_memory!r} allows"
        f"{here}: {_size(parts[first])} for {first}{rest}. With {ADVICE[first]} it takes less; max_memory=None sets no "
        "limit."
    )


def as_bytes(max_memory: Any) -> float:
    """Read a limit of memory as a number of bytes; infinity for None.

    Examples
    --------
    >>> from clems.learners.memory import as_bytes
    >>> as_bytes("4 GiB"), as_bytes(10**9), as_bytes("1.5 MB")
    (4294967296.0, 1000000000.0, 1500000.0)
    """
    if max_memory is None:
        return inf
    if isinstance(max_memory, str):
        if max_memory == "auto":
            return memory_here()
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", max_memory, re.IGNORECASE)
        value = float(match[1]) * UNITS.get(match[2].lower(), 0.0) if match else 0.0
    else:
        number = isinstance(max_memory, (int, float)) and not isinstance(max_memory, bool)
        value = float(max_memory) if number else 0.0
    if not value > 0:
        raise ValueError(
            f"max_memory must be 'auto', None, a number of bytes above 0 or a text such as '4 GiB'; got {max_memory!r}."
        )
    return value


def memory_here() -> float:
    """Return the memory that this process may still take: the machine's, its container's or that of ``ulimit -v``."""
    limits = []
    taken, address_space = _taken()
    if hasattr(os, "sysconf") and {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= os.sysconf_names.keys():
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") - taken)
    given = [Path(place).read_text().strip() for place in CONTAINERS if Path(place).exists()]
    limits += [int(text) - taken for text in given if text.isdigit()]
    try:
        import resource
    except ImportError:  # on Windows
        pass
    else:
        if (most := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY:
            limits.append(most - address_space)
    return float(max(1, min(limits))) if limits else inf


def _taken() -> tuple[int, int]:
    """Bytes of memory, and of addresses, that this process has; 0 where that is not known."""
    try:
        size, resident, *_ = map(int, Path("/proc/self/statm").read_text().split())
    except (OSError, ValueError):
        return 0, 0
    page = os.sysconf("SC_PAGE_SIZE")
    return resident * page, size * page


def _size(size: float) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 / 10 else f"{size / 2**20:.1f} MiB"
