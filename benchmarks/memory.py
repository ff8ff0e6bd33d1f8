"""Memory of `fit` beyond features and trees, per training row, beside that of another commit.

``python -m benchmarks.memory --revision 1e78cbe`` fits CLEMS with 100 trees to generated rows of 128 features (1 KiB
each) that say nothing about labels, of which there are 200 distinct vectors: the worst case, in which trees grow until
their leaves hold one or two rows. Allocations of numpy are counted (tracemalloc); those of scikit-learn's trees are
not, and features are there before the count begins. The slope between two numbers of rows leaves out what does not
grow with them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tools.same_as import ROOT, install

ROWS = 10_000, 20_000
FEATURES, LABELS, VECTORS, TREES = 128, 20, 200, 100


def made(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate features, and labels that do not depend on them."""
    rng = np.random.default_rng(0)
    vectors = np.unique((rng.random((2 * VECTORS, LABELS)) < 0.15).astype(np.uint8), axis=0)[:VECTORS]
    Y = vectors[rng.integers(len(vectors), size=n)]
    return rng.standard_normal((n, FEATURES)), Y


def peak(n: int) -> int:
    """Bytes that a fit allocates at its peak."""
    import tracemalloc

    from clems import CLEMS

    X, Y = made(n)
    model = CLEMS(n_trees=TREES, random_state=0)
    CLEMS(n_trees=2, random_state=0).fit(X[:200], Y[:200])  # imports
    tracemalloc.start()
    model.fit(X, Y)
    return tracemalloc.get_traced_memory()[1]


def measured(source: Path) -> list[int]:
    """Peaks for both numbers of rows, each in a process of its own that imports clems from a folder."""
    own = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.memory", "--rows"]
    return [int(subprocess.check_output([*command, str(n)], env=own, text=True, cwd=source)) for n in ROWS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)  # measure in this process
    parser.add_argument("--revision", help="a commit to measure, too")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.rows:
        print(peak(options.rows))
        return
    with tempfile.TemporaryDirectory() as folder:
        sides = {"this commit": ROOT / "src"}
        if options.revision:
            sides[options.revision] = install(options.revision, Path(folder))
        found = {name: measured(source) for name, source in sides.items()}
    again = f" --revision {options.revision}" if options.revision else ""
    lines = [
        "# Memory of fit",
        "",
        f"`python -m benchmarks.memory{again}`: CLEMS with {TREES} trees on {FEATURES} features (1 KiB a row), beyond",
        "features and trees.",
        "",
        f"| | {ROWS[0]:,} rows, MiB | {ROWS[1]:,} rows, MiB | KiB per further row |",
        "|---|---|---|---|",
    ]
    for name, (few, many) in found.items():
        slope = (many - few) / (ROWS[1] - ROWS[0]) / 2**10
        lines.append(f"| {name} | {few / 2**20:.1f} | {many / 2**20:.1f} | {slope:.2f} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
