"""CLEMS against its rivals and its own paper's decoding, all tuned over the depth of trees: eight datasets, four costs.

Usage: python -m benchmarks.decisions [--learners br,cc] [--datasets flags,birds] [--jobs 2]

Results are kept in benchmarks/results/decisions.csv, a line for each trial; what is there is not computed again, so a
run that was ended goes on where it was. The tables of benchmarks/results/decisions.md are made from it.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track

from benchmarks.data import load
from clems import BR, CC, CFT, CLEMS, COSTS, CPLST, ECC, PCC, PLST, SLEEC, FaIE
from clems.decoding import rule_for

CRITERIA = ["f1", "accuracy", "rank", "composition"]
DATASETS = ["flags", "emotions", "birds", "scene", "yeast", "medical", "enron", "cal500"]
LEARNERS = ["clems", "nearest", "br", "cc", "pcc", "cft", "plst", "cplst", "faie", "sleec", "ecc-rrep", "ecc-hamr"]
SPLITS = dict.fromkeys(DATASETS, 5) | {"flags": 20}  # of which a test quarter has 48 rows
ROUNDS = dict.fromkeys(DATASETS, 2) | {"flags": 8, "emotions": 8, "birds": 8}  # of CFT, whose default is 8
DEPTHS = [5, 10, 15, 20, 25, 30, 35]
RESULTS = Path(__file__).with_name("results")
COLUMNS = ["dataset", "learner", "split", "cost", "depth", "test"]

TEXT = """\
# Decisions

Made by `make decisions`. Mean test cost ± standard error over 5 random splits 50/25/25 (flags, the smallest: 20),
forests of 100 trees. CLEMS has full trees and chooses sharpness and decoder by itself, on rows of the training half
that are out of bag. For the others, and for CLEMS with the decoding of the paper (nearest), the depth is the one from
{{5, …, 35}} of least cost on the validation quarter, which CLEMS does not use; one fit serves all depths. Trees of
SLEEC have their full depth. All are the learners of this package with their defaults: M = K, and M = 4 K for codes;
but CFT has two rounds, not eight, on datasets other than flags, emotions and birds, where it would take hours.
Bold is the least mean of a row; a dagger marks a CLEMS that exceeds it by more than its standard error.

| | | {columns} |
|---|---|{rules}
"""


def parts(n: int, repetition: int) -> list[np.ndarray]:
    """Training half, validation quarter and test quarter of a random split."""
    order = np.random.RandomState(repetition).permutation(n)
    return [order[: n // 2], order[n // 2 : n - n // 4], order[n - n // 4 :]]


def trial(dataset: str, learner: str, repetition: int, costs: list[str]) -> list[tuple]:
    """Depth and test cost of one learner on one split for some costs."""
    X, Y = load(dataset)
    train, validation, test = parts(len(Y), repetition)

    def cost_of(cost: str, rows: np.ndarray, predicted) -> float:
        return float(COSTS[cost].rowwise(Y[rows], predicted).mean())

    def fit(model):
        return model.set_params(random_state=repetition).fit(X[train], Y[train])

    if learner == "clems":
        models = {cost: fit(CLEMS(cost=cost)) for cost in costs}
        return [(cost, 0, cost_of(cost, test, model.predict(X[test]))) for cost, model in models.items()]
    if learner == "sleec":
        model = fit(SLEEC())
        return [(cost, 0, cost_of(cost, test, model.predict(X[test], cost=cost))) for cost in costs]
    tuned: dict[str, list[tuple]] = {cost: [] for cost in costs}
    of_cost = {
        "nearest": lambda cost: CLEMS(cost=cost, decoder="nearest", depths=None),
        "cft": partial(CFT, n_rounds=ROUNDS[dataset]),
    }.get(learner)
    fitted = {cost: fit(of_cost(cost)) for cost in costs} if of_cost else dict.fromkeys(costs, fit(ANY_COST[learner]()))
    end = max(max(deepest(model) for model in fitted.values()), DEPTHS[0])
    for depth in [depth for depth in DEPTHS if depth - 5 < end]:
        for rows in (validation, test):
            predicted = at_depth(fitted, depth, X[rows])
            for cost in costs:
                tuned[cost].append((depth, cost_of(cost, rows, predicted[cost])))
    return [(cost, *best(own)) for cost, own in tuned.items()]


ANY_COST = {
    "br": BR,
    "cc": CC,
    "pcc": PCC,
    "plst": PLST,
    "cplst": CPLST,
    "faie": FaIE,
    "sleec": SLEEC,
    "ecc-rrep": partial(ECC, "rrep"),
    "ecc-hamr": partial(ECC, "hamr"),
}


def best(own: list[tuple]) -> tuple:
    """Depth of least validation cost, and its test cost; validation and test take turns."""
    return min((own[i][1], own[i][0], own[i + 1][1]) for i in range(0, len(own), 2))[1:]


def at_depth(fitted: dict, depth: int, X) -> dict:
    """Predictions for each cost by trees that end at a depth."""
    some = next(iter(fitted.values()))
    if len({id(model) for model in fitted.values()}) > 1:
        return {cost: model.at_depth(depth).predict(X) for cost, model in fitted.items()}
    model = some.at_depth(depth)
    if not isinstance(model, PCC):
        return dict.fromkeys(fitted, model.predict(X))
    decided = [
        [rule_for(COSTS[cost]).decide(COSTS[cost], posterior) for cost in fitted]
        for posterior in model._by_blocks(model._posterior, X)  # drawn once for all costs
    ]
    return dict(zip(fitted, map(np.concatenate, zip(*decided, strict=True)), strict=True))


def deepest(model) -> int:
    """Depth of the deepest tree of a model."""
    if isinstance(model, CLEMS):
        return max(tree.get_depth() for tree in model.estimator_)
    if isinstance(model, (BR, ECC)):
        forests = model.estimators_
    elif isinstance(model, (PLST, CPLST, FaIE)):
        forests = [model.estimator_]
    else:
        forests = [one for chain in getattr(model, "chains_", None) or [model.chain_] for one in chain.estimators]
    return max(tree.get_depth() for forest in forests for tree in getattr(forest, "estimators_", []))


def table(results: pd.DataFrame) -> str:
    """Write all results as tables."""
    text = TEXT.format(columns=" | ".join(LEARNERS), rules="---|" * len(LEARNERS))
    splits = results.groupby(["dataset", "learner", "cost"])["split"].transform("nunique")
    results = results[splits == results["dataset"].map(SPLITS)]  # a learner is shown once all of its trials are done
    groups = results.groupby(["dataset", "cost", "learner"])["test"]
    means, errors = groups.mean(), groups.sem()
    shown = [cell for cell in product(DATASETS, CRITERIA) if cell in {*means.index.droplevel(2)}]
    for dataset, cost in shown:
        own, error = means[dataset, cost], errors[dataset, cost]
        text += f"| {dataset} | {cost}"
        for learner in LEARNERS:
            if learner not in own:
                text += " | –"
                continue
            value = f"{own[learner]:.4g} ± {error[learner]:.2g}"
            late = learner == "clems" and not is_first(own, error, LEARNERS)
            text += f" | {f'**{value}**' if learner == own.idxmin() else value}{' †' if late else ''}"
        text += " |\n"
    for name, rivals in (("its own paper's decoding, BR and the chains", LEARNERS[:6]), ("all of them", LEARNERS)):
        first = [is_first(means[cell], errors[cell], rivals) for cell in shown if "clems" in means[cell]]
        count = f"{sum(first)} of {len(first)}"
        text += f"\nAgainst {name}, CLEMS is first, or within a standard error of the first, in {count} cells.\n"
    return text


def is_first(means: pd.Series, errors: pd.Series, rivals: list[str]) -> bool:
    """Whether CLEMS has the least mean of these, up to the standard error of the least."""
    best = means[means.index.isin(rivals)].idxmin()
    return bool(means["clems"] <= means[best] + errors[best])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--results", type=Path, default=RESULTS / "decisions.csv")
    arguments = parser.parse_args()
    file = arguments.results
    known = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=COLUMNS)
    done = {*known[["dataset", "learner", "split", "cost"]].itertuples(index=False, name=None)}
    wanted = product(arguments.datasets.split(","), arguments.learners.split(","))
    trials = []
    for dataset, learner, repetition in ((*one, split) for one in wanted for split in range(SPLITS[one[0]])):
        costs = [cost for cost in CRITERIA if (dataset, learner, repetition, cost) not in done]
        # Those that are trained for a cost are trials of their own, so that less is lost when a run ends early.
        bundles = [[cost] for cost in costs] if learner == "cft" else [costs] if costs else []
        trials += [(dataset, learner, repetition, bundle) for bundle in bundles]
    running = Parallel(n_jobs=arguments.jobs, return_as="generator")(delayed(trial)(*one) for one in trials)
    for one, rows in zip(trials, track(running, "trials", len(trials), console=Console(stderr=True)), strict=True):
        lines = [(*one[:3], cost, depth, test) for cost, depth, test in rows]
        pd.DataFrame(lines, columns=COLUMNS).to_csv(file, mode="a", header=not file.exists(), index=False)
    results = pd.read_csv(file).sort_values(COLUMNS[:4], ignore_index=True)
    results.to_csv(file, index=False)
    text = table(results)
    file.with_suffix(".md").write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
