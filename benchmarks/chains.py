"""BR and CC against scikit-learn, PCC's prediction and CFT's memory against CC's, as ratios of one run.

Usage: python -m benchmarks.chains [--output FILE] [--runs 9]
"""

from __future__ import annotations

import argparse
import multiprocessing
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from benchmarks.data import load, split
from clems import BR, CC, CFT, PCC, get_cost
from clems.decisions.rules import RULES, rule_for
from clems.trees.growing import default_classifier

FORESTS = {
    "random forest": RandomForestClassifier(20, random_state=0),
    "extra trees": ExtraTreesClassifier(20, random_state=0),
}
TEXT = """\
# Chains

Made by `make bench-chains`: ratios of times, each the median over runs taken in turns, trained on half of the data.

Time of `fit`, {runs} runs, over that of scikit-learn's counterpart with the same forest of 20 trees: BR over
MultiOutputClassifier, CC over ClassifierChain, one job and two. "Same" says that predictions for test rows are equal.

| data | forest | jobs | BR | same | CC | same |
|---|---|---|---|---|---|---|
"""
PREDICTION = """
Time of `predict` on a quarter of the data, {runs} runs, default forest of 100 trees, PCC with 100 samples,
over that of CC: for a cost of every rule, and for marginals alone. Prefixes: how many a row has on average for a label,
each predicted once.

| data | {columns} | predict_proba | prefixes |
|---|{rules}---|---|
"""
MEMORY = """
Growth of the peak memory while fitting on half of enron, default forest of 50 trees, each in a process of its own: CC
{cc:.0f} MB, CFT (F1, {rounds} rounds) {cft:.0f} MB, ratio {ratio:.2f}.
"""


def times(runs: int, *calls) -> np.ndarray:
    """Seconds of each call in each run; calls take turns, every other run in reverse, so that drift hits all alike."""
    seconds = np.empty((runs, len(calls)))
    for run in range(runs):
        for which in range(len(calls))[:: 1 if run % 2 else -1]:
            start = perf_counter()
            calls[which]()
            seconds[run, which] = perf_counter() - start
    return seconds


def ratios(runs: int, call, *others) -> list[float]:
    """Time of each of the others over that of the first: the median over runs."""
    seconds = times(runs, call, *others)
    return np.median(seconds[:, 1:] / seconds[:, :1], axis=0).tolist()


def fits(runs: int) -> str:
    rows = ""
    for name in ("yeast", "medical"):
        X, Y = load(name)
        train, test = split(len(Y), 0)
        Y = Y[:, Y[train].any(axis=0) & ~Y[train].all(axis=0)]  # a chain of scikit-learn's takes no constant label
        for kind, forest in FORESTS.items():
            for jobs in (1, 2):
                pairs = [
                    (BR(forest, n_jobs=jobs), MultiOutputClassifier(forest, n_jobs=jobs)),
                    (CC(estimator=forest), ClassifierChain(forest)),
                ]
                cells = []
                for ours, theirs in pairs[: 2 if jobs == 1 else 1]:
                    [ratio] = ratios(runs, *(partial(model.fit, X[train], Y[train]) for model in (theirs, ours)))
                    same = np.array_equal(ours.predict(X[test]), theirs.predict(X[test]))
                    cells += [f"{ratio:.2f}", "yes" if same else "no"]
                rows += f"| {name} | {kind} | {jobs} | {' | '.join(cells + ['–', '–'] * (2 - len(cells) // 2))} |\n"
    return rows


def predictions(runs: int) -> str:
    costs = {next(name for name in RULES if RULES[name] is rule_for(cost)): cost for cost in map(get_cost, COSTS)}
    text = PREDICTION.format(
        runs=runs,
        columns=" | ".join(f"{cost.name} ({rule})" for rule, cost in costs.items()),
        rules="---|" * len(costs),
    )
    for name in ("emotions", "yeast", "medical"):
        X, Y = load(name)
        train, test = split(len(Y), 0)
        chain, sampled = (learner(random_state=0).fit(X[train], Y[train]) for learner in (CC, PCC))
        calls = [partial(sampled.predict, X[test], cost) for cost in costs.values()]
        cells = ratios(runs, partial(chain.predict, X[test]), *calls, partial(sampled.predict_proba, X[test]))
        prefixes = prefixes_of(sampled, X[test])
        text += f"| {name} | {' | '.join(f'{ratio:.1f}' for ratio in cells)} | {prefixes:.1f} |\n"
    return text


COSTS = ["rank", "f1", "zero_one", "accuracy"]


def prefixes_of(model: PCC, X) -> float:
    """Mean number of distinct prefixes of a row's draws, over the labels."""
    posterior = model.posterior(X)
    counts = []
    for label in range(len(model.chain_.order)):
        bits = posterior.labels[:, model.chain_.order[:label]]
        row = np.repeat(np.arange(X.shape[0]), np.diff(posterior.share.indptr))
        counts.append(len(np.unique(np.column_stack([row, bits]), axis=0)) / X.shape[0])
    return float(np.mean(counts))


def _growth(learner: str, X, Y, queue) -> None:
    model = {"cc": CC, "cft": CFT}[learner](estimator=default_classifier(X.shape[1], n_estimators=50), random_state=0)
    queue.put(peak_growth(model.fit, X, Y))


def peak_growth(call, *arguments) -> float:
    """Growth of this process's peak memory during a call, in MB."""
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak begins anew, whatever was before
    before = _peak()
    call(*arguments)
    return _peak() - before


def _peak() -> float:
    """Peak memory of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def memory() -> str:
    X, Y = load("enron")
    train, _ = split(len(Y), 0)
    context = multiprocessing.get_context("spawn")
    grown = {}
    for learner in ("cc", "cft"):
        queue = context.Queue()
        process = context.Process(target=_growth, args=(learner, X[train], Y[train], queue))
        process.start()
        grown[learner] = queue.get()
        process.join()
    return MEMORY.format(**grown, ratio=grown["cft"] / grown["cc"], rounds=CFT().n_rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--output", type=Path, help="write the tables here too")
    arguments = parser.parse_args()
    text = TEXT.format(runs=arguments.runs) + fits(arguments.runs) + predictions(3) + memory()
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
