"""What `clems predict` takes for a large CSV: peak memory, and rows per second against a forest's `predict` in memory.

Usage: python -m benchmarks.commands [--rows 1000000] [--output FILE]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from benchmarks.data import load
from clems.datasets import load_dataset

TEXT = """\
# Commands on large files

Made by `make bench-commands`{how}: `clems predict` with a model of emotions, 100 trees trained
for F1 by `clems fit`, on CSVs of 72 features, made of the rows of emotions with noise; one job. Its time is that of the
whole command, start included. The forest is scikit-learn's RandomForestClassifier of 100 trees on the label matrix,
which predicts the same rows in memory; reading is `pandas.read_csv` of the whole file. Memory is the most that the
command had at a time; it is to stay below 1,024 MiB.

| rows | file | peak memory | rows per second | command / forest | command / (reading + forest) |
|---|---|---|---|---|---|
"""
ROWS = 1_000_000
PART = 50_000
HELP = """
`clems --help` takes {help:.2f} s where Python itself takes {python:.2f} s (least of five runs).
"""


def write(path: Path, X: np.ndarray, names: list[str], n: int) -> None:
    """A CSV of rows that are drawn from X, with noise."""
    rng = np.random.default_rng(0)
    for start in range(0, n, PART):
        rows = X[rng.integers(0, len(X), min(PART, n - start))]
        noisy = rows + rng.normal(scale=0.05, size=rows.shape) * X.std(axis=0)
        frame = pd.DataFrame(noisy.round(6), columns=names)
        frame.to_csv(path, mode="a", header=start == 0, index=False)


# A process counts as its own the memory of that which started it, so a small one starts the command.
LAUNCH = """\
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run([sys.executable, "-m", "clems", *sys.argv[1:]], check=True)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def run(*arguments: str) -> tuple[float, float]:
    """Seconds and peak memory in MiB of the command."""
    command = [sys.executable, "-c", LAUNCH, *arguments]
    seconds, peak = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return float(seconds), float(peak)


def least(*command: str) -> float:
    """Least seconds of five runs."""
    seconds = []
    for _ in range(5):
        start = perf_counter()
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        seconds.append(perf_counter() - start)
    return min(seconds)


def measure(n: int) -> str:
    X, Y = load("emotions")
    data = load_dataset("emotions")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train, new, model, output = (str(folder / file) for file in ("train.csv", "new.csv", "m.clems", "out.csv"))
        data.to_frame().to_csv(train, index=False)
        labels = ",".join(data.label_names)
        run("fit", train, "--labels", labels, "--cost", "f1", "--output", model, "--quiet")
        forest = RandomForestClassifier(100, random_state=0).fit(X, Y)
        small = n // 10
        lines = []
        for size in (small, n):
            Path(new).unlink(missing_ok=True)
            write(Path(new), X, list(data.feature_names), size)
            start = perf_counter()
            rows = pd.read_csv(new).to_numpy()
            read = perf_counter() - start
            start = perf_counter()
            forest.predict(rows)
            predicted = perf_counter() - start
            del rows
            seconds, peak = run("predict", model, new, "--output", output, "--quiet")
            assert len(pd.read_csv(output)) == size
            lines.append(
                f"| {size:,} | {Path(new).stat().st_size / 1e6:.0f} MB | {peak:,.0f} MiB | {size / seconds:,.0f} "
                f"| {seconds / predicted:.2f} | {seconds / (read + predicted):.2f} |\n"
            )
            print(lines[-1], end="", flush=True)
    how = "" if n == ROWS else f", the module with `--rows {n}`"
    started = HELP.format(help=least("-m", "clems", "--help"), python=least("-c", "pass"))
    return TEXT.format(how=how) + "".join(lines) + started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--output", type=Path, help="write the table here too")
    arguments = parser.parse_args()
    text = measure(arguments.rows)
    sys.stdout.write(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
