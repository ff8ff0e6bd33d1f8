"""What decisions for a cost are worth to classifiers that people have: CostSensitiveClassifier over the same at ½.

Ratios of costs of one run, measured side by side on the same rows with the same classifier. Every split is a line of
JSON, and a run goes on where it was.

Usage: python -m benchmarks.any_model [--records FILE] [--output FILE] [--datasets emotions,medical] [--seeds 100:105]
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.data import load, split
from clems import Cost, CostSensitiveClassifier, get_cost, weighted_hamming

DATASETS = ["emotions", "scene", "yeast", "medical", "enron", "slashdot"]
COSTS = ["f1", "rank", "accuracy", "composition", "prices"]
SEEDS = "100:105"  # those below 100 were used to choose
TEXT = """\
# Decisions for anyone's model

Made by `make any-model` (records in [any-model.jsonl](any-model.jsonl)): mean cost of test rows with
`CostSensitiveClassifier(estimator, cost)` over that of the same classifier, fitted to the same rows, at ½; below 1 is
better. Mean ± standard error of the ratio over {seeds} random halves of the data, seeds {range}, which had no part in
any choice. Prices are drawn anew for each split: a false negative 1 to 200, a false positive 1 to 5. The linear SVM has
at ½ the probabilities of a sigmoid that is fitted to held-out rows; the others have their own. Logistic regression is
`liblinear`'s, the random forest has 100 trees for all labels at once, boosting 30 rounds of trees of depth 4.

{verdict}

"""
HONEST = """
## What it expects, and what it pays

Mean realised cost over mean expected cost of the same predictions: 1 is honest, above it too hopeful. The bar is 0.9 to
1.1: {inside} of {total} cells are inside.

"""
CHOSEN = """
## What was chosen

Splits of {seeds} in which probabilities were calibrated, and in which label sets of training were taken instead of
independent labels.

"""


def logistic_regression() -> Any:
    return LogisticRegression(solver="liblinear")


def linear_svm() -> Any:
    return LinearSVC()


def random_forest() -> Any:
    return RandomForestClassifier(100)


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1)


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=30, max_depth=4, n_jobs=1, verbose=-1)


MODELS: dict[str, Callable[[], Any]] = {
    make.__name__: make for make in (logistic_regression, linear_svm, random_forest)
}
BOOSTING = {make.__name__: make for make in (xgboost, lightgbm)}  # the first that is installed


def models() -> dict[str, Callable[[], Any]]:
    boosting = [name for name in BOOSTING if find_spec(name)][:1]
    return MODELS | {name: BOOSTING[name] for name in boosting}


def random_prices(K: int, seed: int) -> Cost:
    rng = np.random.RandomState(seed)
    return weighted_hamming(rng.uniform(1, 200, K), rng.uniform(1, 5, K), name="prices")


def measured(dataset: str, estimator: str, seed: int) -> dict[str, Any]:
    """Costs of both ways on the test rows of one split."""
    X, Y = load(dataset)
    train, test = split(len(Y), seed)
    make = models()[estimator]
    costs = {name: random_prices(Y.shape[1], seed) if name == "prices" else get_cost(name) for name in COSTS}
    plain = "sigmoid" if estimator == "linear_svm" else None
    # For hamming, labels that are independent are predicted if their probability exceeds ½.
    half = CostSensitiveClassifier(make(), "hamming", calibration=plain, joint="independent", random_state=seed)
    at_half = half.fit(X[train], Y[train]).predict(X[test])
    model = CostSensitiveClassifier(make(), "f1", random_state=seed).fit(X[train], Y[train])
    record: dict[str, Any] = {"dataset": dataset, "estimator": estimator, "seed": seed}
    record["calibration"], record["log_loss"] = model.calibration_.method, model.calibration_.log_loss
    for name, cost in costs.items():
        fitted = model.with_cost(cost)
        record[name] = {
            "half": float(cost.rowwise(Y[test], at_half).mean()),
            "cost": float(cost.rowwise(Y[test], fitted.predict(X[test])).mean()),
            "expected": float(fitted.expected_cost(X[test]).mean()),
            "joint": fitted.joint_,
        }
    return record


def missing(records: list[dict[str, Any]], datasets: list[str], seeds: range) -> Iterator[tuple[str, str, int]]:
    done = {(one["dataset"], one["estimator"], one["seed"]) for one in records}
    return (key for key in product(datasets, models(), seeds) if key not in done)


def report(records: list[dict[str, Any]]) -> str:
    seeds = sorted({one["seed"] for one in records})
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in records:
        cells.setdefault((one["dataset"], one["estimator"]), []).append(one)
    ratios, honest, above = [], [], []
    for (dataset, estimator), own in cells.items():
        gains, truths = [], []
        for name in COSTS:
            values = np.array([one[name]["cost"] / one[name]["half"] for one in own])
            mean, error = values.mean(), values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
            gains.append(f"{mean:.3f} ± {error:.3f}")
            if mean - error > 1:
                above.append(f"{dataset}, {estimator}, {name}: {gains[-1]}")
            truths.append(np.mean([one[name]["cost"] for one in own]) / np.mean([one[name]["expected"] for one in own]))
        ratios.append([dataset, estimator.replace("_", " "), *gains])
        honest.append([dataset, estimator.replace("_", " "), truths])
    total = len(cells) * len(COSTS)
    verdict = f"Of {total} cells {len(above)} lie above 1 by more than a standard error" + (
        f": {'; '.join(above)}." if above else "."
    )
    inside = sum(0.9 <= value <= 1.1 for *_, truths in honest for value in truths)
    return (
        TEXT.format(
            seeds=len(seeds),
            range=f"{seeds[0]} to {seeds[-1]}",
            verdict=verdict,
        )
        + table(["data", "estimator", *COSTS], ratios)
        + HONEST.format(inside=inside, total=total)
        + table(["data", "estimator", *COSTS], [[*names, *(f"{x:.2f}" for x in truths)] for *names, truths in honest])
        + CHOSEN.format(seeds=len(seeds))
        + table(["data", "estimator", "calibrated", *COSTS], [chosen(*key, own) for key, own in cells.items()])
    )


def chosen(dataset: str, estimator: str, own: list[dict[str, Any]]) -> list[str]:
    calibrated = sum(one["calibration"] != "none" for one in own)
    observed = [str(sum(one[name]["joint"] == "observed" for one in own)) for name in COSTS]
    return [dataset, estimator.replace("_", " "), str(calibrated), *observed]


def table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, default=Path("benchmarks/results/any-model.jsonl"))
    parser.add_argument("--output", type=Path, help="write the table here too")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--seeds", default=SEEDS, help="first and end")
    arguments = parser.parse_args()
    threadpool_limits(1)
    warnings.simplefilter("ignore")  # of solvers that stop early
    datasets, seeds = arguments.datasets.split(","), range(*map(int, arguments.seeds.split(":")))
    text = arguments.records.read_text() if arguments.records.exists() else ""
    records = [json.loads(line) for line in text.splitlines()]
    for key in missing(records, datasets, seeds):
        records.append(measured(*key))
        with arguments.records.open("a") as file:
            file.write(json.dumps(records[-1]) + "\n")
        ratios = [f"{name} {records[-1][name]['cost'] / records[-1][name]['half']:.3f}" for name in COSTS]
        print(*key, *ratios, file=sys.stderr, flush=True)
    wanted = [one for one in records if one["dataset"] in datasets and one["seed"] in seeds]
    page = report(sorted(wanted, key=lambda one: DATASETS.index(one["dataset"]))) if wanted else ""
    sys.stdout.write(page)
    if arguments.output:
        arguments.output.write_text(page)


if __name__ == "__main__":
    main()
