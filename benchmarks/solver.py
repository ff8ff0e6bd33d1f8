"""The embedding against the authors' procedure, side by side in one run, as ratios.

Usage: python -m benchmarks.solver [--output FILE] [--quick]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import authors
from benchmarks.data import load
from clems import COSTS, mirrored_smacof
from clems.embedding.smacof import Majoriser, label_start, quasi_newton
from clems.labels.distinct import distinct_rows

CASES = [(name, cost) for name in ("emotions", "yeast", "enron", "cal500") for cost in ("f1", "rank")]
GENERATED = [("generated", "f1"), ("generated", "rank")]
STARTS, STEPS = 8, 300

STEPS_TEXT = """\
Made by `make bench`: ratios of times measured in one run.

Time of one solver step over that of its three bare matrix products, at L = 1,615 and M = 412. The last column is the
share of the machine's matrix-product speed that a step reaches, without and with acceleration.

| | majorisation step | with acceleration | the products | speed of a step |
|---|---|---|---|---|
"""
SPEEDUPS_TEXT = """
Pair-wise f1 of 5,000 × 5,000 vectors of 400 labels in float32: {:.1f} times the time of the bare product.

Speed-up over the authors' procedure (`benchmarks/authors.py`: costs by double loop, eight random starts of 300 steps),
with our costs and start included: until their final stress is reached, and until full convergence, in double and in
single precision; evaluations in brackets. The column "costs" is the double loop over our pair-wise costs. Stress is a
share of the weighted sum of squared dissimilarities. On the generated set, of EUR-Lex(dc)'s size, one of their eight
starts was run and its time counted eight times.

| data | cost | L | costs | theirs | stress | to theirs | full | stress | to theirs, single | full | stress |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def eurlex_like(rows: int = 1615, K: int = 412, cardinality: float = 1.3, seed: int = 0):
    """Distinct label vectors of the size of EUR-Lex(dc): few labels each, some labels much more frequent."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, K + 1)
    Y = np.zeros((20_000, K), np.uint8)
    for row in Y:
        size = 1 + rng.poisson(cardinality - 1)
        row[rng.choice(K, min(size, K), replace=False, p=popularity / popularity.sum())] = 1
    labels, index = distinct_rows(Y)
    kept = np.sort(rng.permutation(len(labels))[:rows])
    return labels[kept], np.bincount(index)[kept]


def vectors(name: str):
    if name == "generated":
        return eurlex_like()
    labels, index = distinct_rows(load(name)[1])
    return labels, np.bincount(index)


def timed(function, *arguments, **settings):
    start = perf_counter()
    result = function(*arguments, **settings)
    return perf_counter() - start, result


def embed(cost: str, labels, frequency, dtype, max_iter=500):
    """All that CLEMS does before the regression: costs, start, solver."""
    dissimilarity = np.sqrt(COSTS[cost].pairwise(labels, labels, dtype=dtype))
    start = label_start(labels, labels.shape[1], np.random.RandomState(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mirrored_smacof(dissimilarity, start, frequency, max_iter=max_iter)


def compare(name: str, cost: str, starts: int) -> str:
    """One row of the table: the authors' procedure first, then ours in double and in single precision."""
    labels, frequency = vectors(name)
    loop, costs = timed(authors.cost_matrix, cost, labels)
    whole, (_, target) = timed(authors.embed, np.sqrt(costs), frequency, labels.shape[1], starts, STEPS)
    theirs = loop + whole * STARTS / starts
    pairwise = min(timed(COSTS[cost].pairwise, labels, labels)[0] for _ in range(5))
    cells = [name, cost, f"{len(labels)}", f"{loop / pairwise:,.0f}×", f"{theirs:,.1f} s", f"{target:.3g}"]
    for dtype in (np.float64, np.float32):
        result = embed(cost, labels, frequency, dtype)
        reached = np.flatnonzero(result.history <= target)
        if not len(reached):
            cells += ["never", "", f"{result.stress:.3g}"]
            continue
        needed = int(reached[0]) + 1
        until = np.median([timed(embed, cost, labels, frequency, dtype, needed)[0] for _ in range(5)])
        full = np.median([timed(embed, cost, labels, frequency, dtype)[0] for _ in range(3)])
        cells += [
            f"{theirs / until:,.0f}× ({needed})",
            f"{theirs / full:,.0f}× ({result.n_iter})",
            f"{result.stress:.3g}",
        ]
    return "| " + " | ".join(cells) + " |"


def step_ratios(dtype, L: int = 1615, M: int = 412, rounds: int = 9) -> tuple[float, float, float]:
    """Times of the majorisation step, alone and with the acceleration, over its three bare products; their GFLOP/s."""
    rng = np.random.default_rng(0)
    truth, prediction, dissimilarity = (rng.random(shape).astype(dtype) for shape in ((L, M), (L, M), (L, L)))
    product, tall = np.empty((L, L), dtype), np.empty((L, M), dtype)

    def bare():
        np.matmul(truth, prediction.T, out=product)
        np.matmul(product, prediction, out=tall)
        np.matmul(product.T, truth, out=tall)

    problem = Majoriser(dissimilarity)
    point = problem.join(truth, prediction)
    direction, residual, new_residual = basis = np.empty((3, *point.shape), dtype)
    trial = np.empty_like(point)
    problem(point, out=residual)
    first = residual.copy()

    def step():
        problem(point, out=new_residual)

    def accelerated():  # what one turn of the loop in mirrored_smacof does
        np.subtract(point, direction, out=trial)
        problem(trial, out=new_residual)
        coefficients = quasi_newton(direction, residual, new_residual)
        direction[:] = np.matmul(coefficients, basis.reshape(3, -1), out=trial.reshape(-1)).reshape(point.shape)

    def ten_times(function):
        direction[:] = first
        start = perf_counter()
        for _ in range(10):
            function()
        return (perf_counter() - start) / 10

    seconds = np.array([[ten_times(function) for function in (bare, step, accelerated)] for _ in range(rounds)])
    plain, full = np.median(seconds[:, 1:] / seconds[:, :1], axis=0)
    return float(plain), float(full), 6e-9 * L * L * M / float(np.median(seconds[:, 0]))


def pairwise_ratio(n: int = 5000, K: int = 400) -> float:
    """Time of the pair-wise f1 costs of 5,000 × 5,000 vectors over that of the bare product of their label matrices."""
    rng = np.random.default_rng(0)
    Y = (rng.random((n, K)) < 0.02).astype(np.uint8)
    Z = Y.astype(np.float32)
    ratios = [
        timed(COSTS["f1"].pairwise, Y, Y, dtype=np.float32)[0] / timed(np.matmul, Z, np.ascontiguousarray(Z.T))[0]
        for _ in range(7)
    ]
    return float(np.median(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="write the tables here too")
    parser.add_argument("--quick", action="store_true", help="emotions and yeast only")
    arguments = parser.parse_args()
    lines = STEPS_TEXT.splitlines()
    for dtype in (np.float64, np.float32):
        plain, full, speed = step_ratios(dtype)
        name = np.dtype(dtype).name
        lines.append(f"| {name} | {plain:.2f} | {full:.2f} | {speed:.0f} GFLOP/s | {1 / plain:.0%}, {1 / full:.0%} |")
    lines += SPEEDUPS_TEXT.format(pairwise_ratio()).splitlines()
    print("\n".join(lines), flush=True)
    for name, cost in CASES[:4] if arguments.quick else CASES + GENERATED:
        lines.append(compare(name, cost, 1 if name == "generated" else STARTS))
        print(lines[-1], flush=True)
        if arguments.output:
            arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
