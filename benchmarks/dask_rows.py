"""Rows beyond memory: a partitioned Parquet on two worker processes whose memory is limited, and the same in memory.

``python -m benchmarks.dask_rows --output benchmarks/results/dask_rows.md`` generates rows of dense features with the
label sets of `benchmarks.zipf`, of more than five times the memory that each process may have (RLIMIT_AS, which is
``ulimit -v``), the one that calls `clems.dask` too. It fits and predicts, does so again while a worker is killed in the
middle of each. Of fewer rows (``--beside``, as many if there is memory) it does the same in memory, without a limit.
Figures are F1 on test rows, times, and the peak of the largest process. The data is deleted at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from threading import Timer
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.zipf import zipf_rows

SETS, LABELS = 300, 20
TELLING = 0.05  # share of features that say anything of labels
NOISE = 2.0  # of a feature, over what a label adds
FOREST = 10_000  # test rows that are predicted by the forest alone, too
GIB = 2**30
WORKERS = 2


def write(folder: Path, which: int, Y: np.ndarray, d: int) -> None:
    """Write a partition; features are whole numbers, so that they are compressible."""
    codes = np.random.default_rng(1).standard_normal((LABELS, d)) * (np.arange(d) < TELLING * d)
    noise = np.random.default_rng((2, which)).standard_normal((len(Y), d))
    X = np.round(Y @ codes + NOISE * noise)
    names = [f"x{place}" for place in range(d)], [f"y{place}" for place in range(LABELS)]
    frame = pd.concat([pd.DataFrame(X, columns=names[0]), pd.DataFrame(Y, columns=names[1])], axis=1)
    frame.to_parquet(folder / f"{which:04}.parquet", compression="zstd", index=False)


def generate(folder: Path, n: int, d: int, partitions: int) -> None:
    """Write training rows, and a tenth as many test rows."""
    test = max(1, partitions // 10)
    Y = zipf_rows(n // partitions * (partitions + test), SETS, LABELS).toarray()
    parts = np.array_split(Y, partitions + test)
    with ProcessPoolExecutor(WORKERS) as pool:
        done = []
        for which, part in enumerate(parts):
            place = folder / ("train" if which < partitions else "test")
            place.mkdir(exist_ok=True)
            done.append(pool.submit(write, place, which, part, d))
        for one in done:
            one.result()


def limited(limit: float) -> None:
    """Limit the memory of this process."""
    size = int(limit * GIB)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


PRELOAD = """
import resource
def dask_setup(worker):
    resource.setrlimit(resource.RLIMIT_AS, ({size}, {size}))
"""


def peaks(dask_worker: Any = None) -> tuple[int, int]:
    """Peaks of virtual and of resident memory of this process, in KiB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmPeak"].split()[0]), int(lines["VmHWM"].split()[0])


def by_forest(model: Any, X: Any, Y: Any) -> float:
    """F1 of the forest without the expert."""
    from clems import decide, get_criterion

    return float(get_criterion("f1")(Y, decide(model.by_forest(model.posterior(X)), "f1")))


def on_dask(folder: Path, limit: float, trees: int, kill_after: list[float]) -> dict[str, Any]:
    """Fit and predict by two workers; a worker is killed after so many seconds of each, if they are given."""
    limited(limit)
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import clems.dask
    from clems import CLEMS, get_criterion

    dask.config.set({"dataframe.convert-string": False})
    preload = [PRELOAD.format(size=int(limit * GIB))]
    where: dict[str, Any] = {
        "n_workers": WORKERS,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "memory_limit": 0,
        "silence_logs": logging.CRITICAL,
    }
    found: dict[str, Any] = {}
    with LocalCluster(**where, preload=preload, local_directory=str(folder)) as cluster, Client(cluster) as client:

        def timed(name: str, work: Any, place: int) -> Any:
            pids = [*client.run(os.getpid).values()]
            timer = None
            if kill_after:
                timer = Timer(kill_after[place], os.kill, (pids[0], signal.SIGKILL))
                timer.start()
            start = perf_counter()
            result = work()
            found[f"{name}_seconds"] = perf_counter() - start
            if timer is not None:
                timer.cancel()
                found[f"{name}_killed"] = pids[0] not in client.run(os.getpid).values()
            return result

        rows = dd.read_parquet(folder / "train")
        names = [name for name in rows.columns if name[0] == "x"]
        labels = [name for name in rows.columns if name[0] == "y"]
        model = CLEMS("f1", n_trees=trees, random_state=0, verbose=1)
        timed("fit", lambda: clems.dask.fit(model, rows[names], rows[labels]), 0)
        test = dd.read_parquet(folder / "test")
        predicted = timed("predict", lambda: clems.dask.predict(model, test[names]).compute(), 1)
        truth = test[labels].compute()
        found["f1"] = get_criterion("f1")(truth, predicted)
        first = test[names].partitions[0].compute()
        found["forest"] = by_forest(model, first[:FOREST], truth[: len(first)][:FOREST])
        found["sha256"] = hashlib.sha256(predicted.to_numpy().tobytes()).hexdigest()
        found["peaks"] = [peaks(), *client.run(peaks).values()]
        found["rows"] = len(predicted)
        found["weight"], found["oob_cost"] = model.mixture_.weight, model.oob_cost_
    return found


def in_memory(folder: Path, trees: int) -> dict[str, Any]:
    """Fit and predict in memory."""
    from clems import CLEMS, get_criterion

    def read(part: str) -> tuple[np.ndarray, np.ndarray]:
        files = sorted((folder / part).glob("*.parquet"))
        X, Y = [], []
        for file in files:
            frame = pd.read_parquet(file)
            X.append(frame.iloc[:, :-LABELS].to_numpy(np.float32))  # whole numbers: nothing is lost
            Y.append(frame.iloc[:, -LABELS:].to_numpy())
        return np.concatenate(X), np.concatenate(Y)

    X, Y = read("train")
    start = perf_counter()
    model = CLEMS("f1", n_trees=trees, random_state=0, verbose=1, n_jobs=WORKERS).fit(X, Y)
    seconds = perf_counter() - start
    del X
    X, Y = read("test")
    start = perf_counter()
    predicted = model.predict(X)
    predict_seconds = perf_counter() - start
    rows = len(pd.read_parquet(min((folder / "test").glob("*.parquet")), columns=["y0"]))  # of the first partition
    return {
        "fit_seconds": seconds,
        "predict_seconds": predict_seconds,
        "f1": get_criterion("f1")(Y, predicted),
        "forest": by_forest(model, X[:rows][:FOREST], Y[:rows][:FOREST]),
        "peaks": [peaks()],
        "weight": model.mixture_.weight,
        "oob_cost": model.oob_cost_,
    }


def apart(options: argparse.Namespace, folder: Path, *more: str) -> dict[str, Any]:
    """Run a part in a process of its own."""
    # One thread for linear algebra and few arenas: others reserve addresses that they do not use.
    modest = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    own = {**os.environ, **modest, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-m", "benchmarks.dask_rows", "--folder", str(folder), "--part", *more]
    command += ["--trees", str(options.trees), "--limit", str(options.limit)]
    output = subprocess.run(command, env=own, text=True, stdout=subprocess.PIPE, check=True).stdout
    print(output, flush=True)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


HEAD = [
    "| | test F1 | forest alone | fit, s | predict, s | peak resident memory of a process, GiB | of addresses |",
    "|---|---|---|---|---|---|---|",
]


def line(name: str, of: dict[str, Any]) -> str:
    """Write a line of a table."""
    resident, addresses = (max(one[place] for one in of["peaks"]) / 2**20 for place in (1, 0))
    seconds = (f"{of[f'{what}_seconds']:.0f}" for what in ("fit", "predict"))
    own = f"{of['f1']:.4f}", f"{of['forest']:.4f}", *seconds, f"{resident:.2f}", f"{addresses:.2f}"
    return f"| {' | '.join((name, *own))} |"


def report(options: argparse.Namespace, size: int, calm: Any, killed: Any, beside: Any, whole: Any) -> str:
    """Write what was found as a page."""
    n, d, limit = options.rows, options.features, options.limit
    same = "the same" if calm["sha256"] == killed["sha256"] else "OTHERS"
    again = f"--rows {n} --features {d} --partitions {options.partitions} --trees {options.trees} --limit {limit:g}"
    return "\n".join(
        [
            "# Rows beyond memory, on Dask",
            "",
            f"`python -m benchmarks.dask_rows {again} --beside {options.beside}`:",
            f"{n:,} training rows of {d:,} features and {LABELS} labels, {n * d * 8 / GIB:.1f} GiB of numbers",
            f"({size / GIB:.2f} GiB of Parquet in {options.partitions} files), {n * d * 8 / GIB / limit:.1f} times the",
            f"{limit:g} GiB of addresses (`ulimit -v`) that each of {WORKERS} workers, and the process that calls",
            f"`clems.dask`, may have. {calm['rows']:,} test rows; {options.trees} trees.",
            "",
            *HEAD,
            line("two workers", calm),
            line("the same, a worker killed in mid-fit and in mid-predict", killed),
            "",
            f"Killed in mid-fit: {killed['fit_killed']}, in mid-predict: {killed['predict_killed']}. The predictions",
            f"after that are {same} (SHA-256 {killed['sha256'][:12]}).",
            "",
            f"The same data in memory, without a limit, of {options.beside:,} training rows:",
            "",
            *HEAD,
            line("two workers", beside),
            line("in memory, two threads", whole),
            "",
            f"F1 on Dask is {beside['f1'] / whole['f1']:.4f} of that in memory.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_010_000)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=253)
    parser.add_argument("--trees", type=int, default=8)
    parser.add_argument("--limit", type=float, default=1.5, help="GiB of each process")
    parser.add_argument("--beside", type=int, default=40_000, help="rows that are fitted in memory, too")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--folder", type=Path, help="where the data is, or is to be")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        kind, *seconds = options.part
        found = (
            in_memory(options.folder, options.trees)
            if kind == "memory"
            else on_dask(options.folder, options.limit, options.trees, [float(one) for one in seconds])
        )
        print(json.dumps(found))
        return
    found = {}
    for rows in {options.rows: 0, options.beside: 0}:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            generate(folder, rows, options.features, max(2, options.partitions * rows // options.rows))
            calm = apart(options, folder, "dask")
            if rows == options.rows:
                size = sum(file.stat().st_size for file in folder.glob("train/*"))
                middle = [f"{calm['fit_seconds'] / 2}", f"{calm['predict_seconds'] / 2}"]
                found |= {"calm": calm, "killed": apart(options, folder, "dask", *middle)}
            if rows == options.beside:
                found |= {"beside": calm, "whole": apart(options, folder, "memory")}
    text = report(options, size, **found)
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
