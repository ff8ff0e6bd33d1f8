"""CLEMS as it is against CLEMS of another commit, on the same splits: costs, and seconds of processors.

``python -m tools.against 5f06c1f --output results/experts/before.md`` installs that commit beside the working tree,
lets its default CLEMS carry out the trials of ``experiments/choices/experts.toml``, for which CLEMS as it is has
records in ``results/experts``, and compares the two, trial by trial. Trials that have a record are not carried out
again.

``--times`` measures both anew, in turn and in processes of their own, on a few datasets: seconds of records come from
different hours.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from tools.same_as import ROOT, install

EXPERIMENT = ROOT / "experiments/choices/experts.toml"
RECORDS = ROOT / "results/experts/records.jsonl"
SECONDS = "## Seconds"
TIMED = {"flags": 9, "emotions": 9, "birds": 5, "scene": 5, "yeast": 5, "medical": 5, "enron": 5, "slashdot": 3}
TIMED |= {"corel5k": 3, "arts": 1}  # fits of each side, of which the fastest counts
ROWS = 40  # that are predicted one at a time


def run_then(revision: str, source: Path, store: Path) -> None:
    """Let the other commit carry out the trials of its default CLEMS."""
    text = re.sub(r"(?ms)^\[learners\..*\Z", "", EXPERIMENT.read_text()).replace('kind = "ratios"\n', "")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "before.toml")
        file.write_text(text + f'[learners.clems]\ntitle = "CLEMS of {revision}"\n')
        environment = {**os.environ, "PYTHONPATH": str(source)}
        command = [sys.executable, "-m", "clems", "experiment", "run", str(file), "--store", str(store)]
        subprocess.run(command, env=environment, check=True)


def trials(path: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Read the records of default CLEMS by dataset, criterion and repetition."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {
        (one["dataset"], one["cost"], one["repetition"]): one
        for one in records
        if one["status"] == "done" and one["kind"] == "clems" and one["parameters"] == {"n_trees": 100}
    }


def cost_of(record: dict[str, Any]) -> float:
    """Return what a trial's test rows cost by the criterion that it was trained for; of scores, 1 − score."""
    from clems.costs.criteria import get_criterion

    value = record["decisions"][0]["test"][record["cost"]]
    return float(get_criterion(record["cost"]).as_cost(value))


def compared(now: dict[Any, Any], then: dict[Any, Any], revision: str) -> list[str]:
    """Write the tables."""
    cells: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for dataset, criterion, repetition in sorted(now.keys() & then.keys()):
        key = dataset, criterion, repetition
        cells[dataset][criterion].append((cost_of(now[key]), cost_of(then[key])))
    criteria = list(dict.fromkeys(key[1] for key in now))
    lines = [
        f"# CLEMS as it is over CLEMS of {revision}",
        "",
        f"Made by `python -m tools.against {revision} --output results/experts/before.md`. Ratios of mean test costs",
        "on the same splits, of scores of 1 − score; below 1 the present one is better. t is paired, over repetitions.",
        "",
        f"| dataset | splits | {' | '.join(criteria)} | geometric mean |",
        "|---|---|" + "---|" * (len(criteria) + 1),
    ]
    ratios, worse = [], []
    for dataset in dict.fromkeys(key[0] for key in now):
        row = []
        for criterion in criteria:
            pairs = np.array(cells[dataset][criterion])
            if len(pairs) < 2:
                row.append(np.nan)
                continue
            difference = pairs[:, 0] - pairs[:, 1]
            row.append(pairs[:, 0].mean() / pairs[:, 1].mean())
            error = difference.std(ddof=1) / np.sqrt(len(pairs))
            t = difference.mean() / error if error > 0 else 0.0
            if row[-1] > 1.02 and t > 2:
                worse.append(f"{dataset} {criterion} {row[-1]:.3f} (t {t:.1f})")
        if np.isnan(row).any():
            continue
        ratios.append(row)
        splits = min(len(own) for own in cells[dataset].values())
        mean = np.exp(np.log(row).mean())
        lines.append(f"| {dataset} | {splits} | {' | '.join(f'{one:.3f}' for one in row)} | {mean:.3f} |")
    lines += [
        "",
        f"Geometric mean over {np.size(ratios)} cells: **{np.exp(np.log(ratios).mean()):.3f}**. Cells above 1.02 with "
        f"t above 2: {', '.join(worse) or 'none'}.",
    ]
    return lines


def fastest(name: str, times: int) -> tuple[float, float, float]:
    """Return the least seconds of processors, of so many: of fit, of predict, and the median of one row at a time."""
    import time

    from clems import CLEMS
    from clems.datasets import load_dataset

    data = load_dataset(name)
    order = np.random.default_rng(0).permutation(data.X.shape[0])
    train, test = np.sort(order[: len(order) // 2]), np.sort(order[3 * len(order) // 4 :])
    X, Y, new = data.X[train], data.Y[train], data.X[test]
    fits, predictions, singly = [], [], []
    for _ in range(times):
        start = time.process_time()
        model = CLEMS("f1", random_state=0).fit(X, Y)
        fits.append(time.process_time() - start)
        start = time.process_time()
        model.predict(new)
        predictions.append(time.process_time() - start)
        rows = []
        for row in range(ROWS):
            start = time.process_time()
            model.predict(new[row : row + 1])
            rows.append(time.process_time() - start)
        singly.append(float(np.median(rows)))
    return min(fits), min(predictions), min(singly)


def timed(source: Path, revision: str) -> list[str]:
    """Measure both sides in turn, twice each, and write the table."""
    lines = [
        "",
        SECONDS,
        "",
        f"Made by `python -m tools.against {revision} --times`. Seconds of processors of CLEMS for F1 with 100 trees",
        f"on one thread, on half the rows, predicting a quarter, and {ROWS} rows one at a time (median); the least of",
        "several, both sides in turn.",
        "",
        "| dataset | fit, s | over before | predict, s | over before | one row, ms | over before |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, times in TIMED.items():
        best = {}
        for side in (ROOT / "src", source, ROOT / "src", source):
            environment = {**os.environ, "PYTHONPATH": f"{side}{os.pathsep}{ROOT}"}
            environment |= dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
            command = [sys.executable, "-m", "tools.against", revision, "--measure", name, str(times)]
            ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=ROOT)
            found = np.array(json.loads(ran.stdout.splitlines()[-1]))
            best[side] = np.minimum(found, best.get(side, np.inf))
        now, ratio = best[ROOT / "src"], best[ROOT / "src"] / best[source]
        cells = f"{now[0]:.2f}", f"{ratio[0]:.2f}", f"{now[1]:.3f}", f"{ratio[1]:.2f}", f"{1e3 * now[2]:.2f}"
        lines.append(f"| {name} | {' | '.join(cells)} | {ratio[2]:.2f} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("revision")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(fastest(options.measure[0], int(options.measure[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        source = install(options.revision, Path(folder))
        if options.times:
            lines = timed(source, options.revision)
        else:
            store = RECORDS.parent / "before"
            run_then(options.revision, source, store)
            lines = compared(trials(RECORDS), trials(store / "records.jsonl"), options.revision)
    text = "\n".join(lines).strip() + "\n"
    print(text)
    if options.output:  # each way of running writes its part, and leaves the other
        there = options.output.read_text() if options.output.exists() else ""
        costs, seconds = (part.strip() for part in (there + SECONDS).split(SECONDS)[:2])
        costs, seconds = (costs, text.removeprefix(SECONDS).strip()) if options.times else (text.strip(), seconds)
        options.output.write_text(f"{costs}\n\n{SECONDS}\n\n{seconds}".strip() + "\n")


if __name__ == "__main__":
    main()
