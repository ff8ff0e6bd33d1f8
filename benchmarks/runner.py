"""What it costs to run a trial, apart from the trial: time and memory, by backend.

``python -m benchmarks.runner --output benchmarks/results/runner.md``; about a minute.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clems.experiments.running import run
from clems.experiments.store import Store

TEXT = """\
# Running trials

Made by `python -m benchmarks.runner`: trials that do nothing, with {jobs} workers, on {datasets} datasets of
{size:.0f} MB that are loaded by the run and sent to each worker. Seconds include starting workers and writing records.
Memory is the most that the process of the run, or a worker, had at a time; with `serial` they are one process.

| backend | trials | seconds | trials per second | memory of the run | memory of a worker |
|---|---|---|---|---|---|"""
JOBS = 2
COUNTS = {"serial": (1_000, 10_000), "local": (1_000, 10_000), "dask": (100, 1_000)}
DATASETS = 4
ROWS = 500_000


@dataclass(frozen=True)
class Trial:
    dataset: str
    repetition: int
    kind: str = "br"
    cost: str | None = None
    parameters: str = "{}"

    @property
    def key(self) -> str:
        return f"{self.dataset}-{self.repetition:06d}"


def peak() -> float:
    """Most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def load(name: str) -> np.ndarray:
    return np.full(ROWS, float(name))


def work(trial: Trial, dataset: np.ndarray, costs: list[str]) -> dict:
    """Return a record of the usual size at once."""
    values = dict.fromkeys(costs, float(dataset[trial.repetition]))
    decisions = [{"cost": cost, "depth": None, "validation": values, "test": values} for cost in costs]
    return {"key": trial.key, "status": "done", "dataset": trial.dataset, "decisions": decisions, "memory": peak()}


def measure(backend: str, count: int) -> dict[str, float]:
    trials = [Trial(str(number * DATASETS // count), number) for number in range(count)]
    costs = [f"cost-{number}" for number in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(trials, Store(folder), work, load, costs, backend=backend, jobs=JOBS)
        own = peak()
        records = Store(folder).records()
    assert outcome.done == len(records) == count
    return {"seconds": outcome.seconds, "own": own, "worker": max(record["memory"] for record in records.values())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="also write the table to this file")
    parser.add_argument("--backends", default=",".join(COUNTS), help="such as serial,local")
    parser.add_argument("--measure", nargs=2, metavar=("BACKEND", "TRIALS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure[0], int(arguments.measure[1]))))
        return
    lines = [TEXT.format(jobs=JOBS, datasets=DATASETS, size=ROWS * 8 / 1e6)]
    for backend in arguments.backends.split(","):
        for count in COUNTS[backend]:
            command = [sys.executable, "-m", "benchmarks.runner", "--measure", backend, str(count)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            lines.append(
                f"| {backend} | {count:,} | {found['seconds']:.1f} s | {count / found['seconds']:,.0f} "
                f"| {found['own']:.0f} MB | {found['worker']:.0f} MB |"
            )
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
