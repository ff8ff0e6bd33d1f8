"""Decisions from marginals of independent labels: time per row, and beside xCOLUMNs where it is installed.

Usage: OMP_NUM_THREADS=1 python -m benchmarks.independent [--output FILE] [--rows 10000] [--labels 1000]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from clems import Posterior

TEXT = """\
# Independent labels

Made by `make bench-independent`: `Posterior.from_marginals(P).decide(cost)` for {labels:,} labels, one thread.
Milliseconds per row, of the processor and by the clock; the decision is exact over all 2^{labels} label vectors. *Few*:
marginals of a row add up to 5 (a Dirichlet distribution with parameter 0.3); *many*: uniform between 0 and 1.

| marginals | cost | rows | processor, ms per row | clock, ms per row | labels predicted |
|---|---|---|---|---|---|
"""
BESIDE = """
Beside xCOLUMNs {version} in the same run, {rows:,} rows: its block coordinate ascent for macro F1 of the transposed
matrix, which approximates F1 of rows by expected counts. Milliseconds of the processor; the expected cost is 1 − F1
under independent labels, computed exactly; "same" is the share of rows decided alike.

| marginals | clems, ms per row | xCOLUMNs, ms per row | ratio | clems, expected cost | xCOLUMNs, expected cost | same |
|---|---|---|---|---|---|---|
"""
ABSENT = "\nxCOLUMNs was not installed (`pip install xcolumns`), so nothing is compared.\n"
COSTS = {"f1": 1, "composition": 10, "accuracy": 50}  # and the part of the rows that each is timed on


def marginals(kind: str, n: int, K: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.random((n, K)) if kind == "many" else np.minimum(5 * rng.dirichlet(np.full(K, 0.3), n), 1)


def timed(call) -> tuple[object, float, float]:
    """Return what a call returns, and the seconds that it took, of the processor and by the clock."""
    processor, clock = process_time(), perf_counter()
    result = call()
    return result, process_time() - processor, perf_counter() - clock


def times(n: int, K: int) -> str:
    text = ""
    for kind in ("few", "many"):
        P = marginals(kind, n, K)
        for cost, part in COSTS.items():
            own = P[: max(1, n // part)]
            decided, processor, clock = timed(lambda own=own, cost=cost: Posterior.from_marginals(own).decide(cost))
            spent = f"{1000 * processor / len(own):.2f} | {1000 * clock / len(own):.2f}"
            text += f"| {kind} | {cost} | {len(own):,} | {spent} | {decided.sum(axis=1).mean():.0f} |\n"
            print(text.splitlines()[-1], flush=True)
    return text


def beside(n: int, K: int) -> str:
    try:
        from importlib.metadata import version

        from xcolumns.block_coordinate import predict_optimizing_macro_f1_score_using_bc as ascent
    except ImportError:
        return ABSENT
    text = BESIDE.format(version=version("xcolumns"), rows=n)
    for kind in ("few", "many"):
        P = marginals(kind, n, K)
        posterior, transposed = Posterior.from_marginals(P), np.ascontiguousarray(P.T)
        ascent(np.ascontiguousarray(P[:5, :50].T), 0, seed=0)
        exact, ours, _ = timed(lambda posterior=posterior: posterior.decide("f1"))
        found, theirs, _ = timed(lambda transposed=transposed: ascent(transposed, 0, seed=0).T.astype(np.uint8))
        costs = [posterior.expected_cost(own).mean() for own in (exact, found)]
        text += (
            f"| {kind} | {1000 * ours / n:.2f} | {1000 * theirs / n:.2f} | {ours / theirs:.2f} "
            f"| {costs[0]:.6f} | {costs[1]:.6f} | {(exact == found).all(axis=1).mean():.0%} |\n"
        )
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--labels", type=int, default=1_000)
    parser.add_argument("--output", type=Path, help="write the tables here too")
    arguments = parser.parse_args()
    n, K = arguments.rows, arguments.labels
    text = TEXT.format(labels=K) + times(n, K) + beside(max(1, n // 20), K)
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
