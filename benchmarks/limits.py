"""What training takes beside what is estimated before it begins, by which `max_memory` refuses.

``python -m benchmarks.limits`` fits CLEMS to generated data of several shapes, each in a process of its own, and
compares the greatest memory of the process beyond the data with the estimate of `clems.learners.memory`. Features that
say nothing about labels are the worst case: trees grow until their leaves hold one or two rows.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.zipf import codes_of, words_of, zipf_rows

Data = tuple[Any, Any, dict[str, Any]]  # features, labels, and parameters of CLEMS


def noise(n: int, d: int, K: int, L: int, **settings: Any) -> Data:
    """Features that say nothing about labels, of which there are about L vectors."""
    rng = np.random.default_rng(0)
    vectors = np.unique((rng.random((4 * L, K)) < 0.15).astype(np.uint8), axis=0)[:L]
    return rng.standard_normal((n, d)), vectors[rng.permutation(np.arange(n) % len(vectors))], settings


def codes(n: int, d: int, K: int, L: int, **settings: Any) -> Data:
    """Dense features that depend on labels."""
    Y = zipf_rows(n, L, K)
    return codes_of(sparse.csr_array(Y), d), Y.toarray(), settings


def words(n: int, d: int, K: int, L: int, **settings: Any) -> Data:
    """Sparse features that depend on labels, which are sparse too."""
    Y = zipf_rows(n, L, K)
    return words_of(Y, d), Y, settings


SHAPES: dict[str, Callable[[], Data]] = {
    "2,000 × 100, K = 10, L = 100, 100 trees": lambda: noise(2000, 100, 10, 100),
    "40,000 × 50, K = 20, L = 200, 50 trees, no experts": lambda: noise(40_000, 50, 20, 200, n_trees=50, experts=None),
    "40,000 × 50, K = 20, L = 200, 50 trees": lambda: noise(40_000, 50, 20, 200, n_trees=50),
    "6,000 × 50, K = 200, L = 5,000, 10 trees": lambda: noise(6000, 50, 200, 5000, n_trees=10),
    "9,000 × 12,000 sparse, K = 50, L = 500, 10 trees": lambda: words(9000, 12_000, 50, 500, n_trees=10),
    "22,000 × 1,500 sparse, K = 1,000, L = 20,000, 10 trees": lambda: words(22_000, 1500, 1000, 20_000, n_trees=10),
    "100,000 × 50 with labels in them, K = 20, L = 500, 20 trees": lambda: codes(100_000, 50, 20, 500, n_trees=20),
}


def resident(which: str) -> int:
    """Bytes of memory of this process, now (VmRSS) or at its peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(which))


def forget_peak() -> int:
    """Let the peak be that from now on; return how much memory there is now."""
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def measure(shape: str) -> tuple[float, float, str]:
    """Fit in this process; return what it takes, what is estimated, and what takes the most by the estimate."""
    from clems import CLEMS
    from clems.learners import clems as module
    from clems.learners.memory import peak

    warnings.simplefilter("ignore")
    X, Y, settings = noise(200, 5, 4, 8)
    CLEMS(n_trees=2, random_state=0).fit(X, Y)  # imports
    X, Y, settings = SHAPES[shape]()
    gc.collect()
    sizes: list[Any] = []
    module.check_memory = lambda size, _: sizes.append(size)  # type: ignore[assignment]
    before = forget_peak()
    CLEMS(random_state=0, **settings).fit(X, Y)
    needed, parts = peak(sizes[0])
    return resident("VmHWM") - before, needed, max(parts, key=lambda name: parts[name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, help=argparse.SUPPRESS)  # measure in this process
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.shape:
        taken, needed, most = measure(options.shape)
        print(f"| {options.shape} | {taken / 2**20:.0f} | {needed / 2**20:.0f} | {needed / taken:.2f} | {most} |")
        return
    text = (
        "# Limits of memory\n\nMade by `make bench-limits`: memory of `fit` beyond the data, at its peak, and the "
        "estimate by which `max_memory` refuses.\n\n"
        "| rows × features, labels, label vectors | taken, MiB | estimated, MiB | ratio | most by the estimate for |\n"
        "|---|---|---|---|---|\n"
    )
    for shape in SHAPES:
        command = [sys.executable, "-m", "benchmarks.limits", "--shape", shape]
        text += subprocess.check_output(command, text=True)
        print(text.splitlines()[-1], flush=True)
        if options.output:
            options.output.write_text(text)


if __name__ == "__main__":
    main()
