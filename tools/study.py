"""CLEMS among the 28 methods of the largest published comparison, by its printed figures.

``python -m tools.study --output results/study/study.md`` fits CLEMS once to 60 % of the rows of each dataset, with five
seeds, decides for each criterion, and ranks the mean among the figures that Bogatinovski, Todorovski, Džeroski and
Kocev printed (2022, *Comprehensive comparative study of multi-label classification methods*), kept in
``experiments/study/published.csv``. Every fit is a record of ``results/study/records.jsonl``; those that are there are
not made again.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import metrics

from clems import CLEMS
from clems.datasets import load_dataset
from clems.labels.matrix import as_dense

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "experiments/study/published.csv"
RECORDS = ROOT / "results/study/records.jsonl"
SEEDS = range(9000, 9005)  # which had no part in any choice
TRAIN = 0.6


class Criterion(NamedTuple):
    """A criterion of the study.

    Attributes
    ----------
    measure : callable
        Function of truths and of predictions or marginals, as the study computes it.
    cost : str
        What is decided for.
    of_marginals : bool
        Whether it judges marginals, not predictions.
    lower : bool
        Whether lower is better.
    """

    measure: Callable[[Any, Any], float]
    cost: str
    of_marginals: bool = False
    lower: bool = False


def _jaccard(Y: Any, P: Any) -> float:
    both, either = (Y & P).sum(axis=1), (Y | P).sum(axis=1)
    return float(np.where(either > 0, both / np.maximum(either, 1), 1).mean())  # of two empty sets 1


def _f1(average: str) -> Callable[[Any, Any], float]:
    return lambda Y, P: float(metrics.f1_score(Y, P, average=average, zero_division=0))  # of two empty sets 0


CRITERIA = {
    "F1_example_based": Criterion(_f1("samples"), "f1"),
    "ACCURACY_example_based": Criterion(_jaccard, "accuracy"),
    "HAMMING_LOSS_example_based": Criterion(metrics.hamming_loss, "hamming", lower=True),
    "SUBSET_ACCURACY": Criterion(metrics.accuracy_score, "zero_one"),
    "MICRO_F1": Criterion(_f1("micro"), "micro_f1"),
    "MACRO_F1": Criterion(_f1("macro"), "macro_f1"),
    "LABEL_RANKING_LOSS": Criterion(metrics.label_ranking_loss, "rank", of_marginals=True, lower=True),
    "LABEL_RANKING_AVERAGE_PRECISION": Criterion(metrics.label_ranking_average_precision_score, "rank", True),
    "COVARAGE": Criterion(metrics.coverage_error, "rank", of_marginals=True, lower=True),
    "AUCROC_MICRO": Criterion(lambda Y, S: metrics.roc_auc_score(Y, S, average="micro"), "rank", True),
    "AUPRC_MICRO": Criterion(lambda Y, S: metrics.average_precision_score(Y, S, average="micro"), "rank", True),
}


def measured(name: str, seed: int) -> dict[str, float]:
    """Fit once, decide for each criterion, and measure on the other rows."""
    data = load_dataset(name)
    order = np.random.default_rng(seed).permutation(data.X.shape[0])
    cut = round(TRAIN * len(order))
    train, test = np.sort(order[:cut]), np.sort(order[cut:])
    model = CLEMS("f1", random_state=seed).fit(data.X[train], data.Y[train])
    X, Y = data.X[test], as_dense(data.Y[test]).astype(int)
    predicted = [one.cost for one in CRITERIA.values() if not one.of_marginals]
    answers = dict(zip(predicted, map(as_dense, model.predict_each(X, predicted)), strict=True))
    marginals = model.posterior(X, "rank").marginals
    return {
        key: float(one.measure(Y, marginals if one.of_marginals else answers[one.cost].astype(int)))
        for key, one in CRITERIA.items()
    }


def rank(value: float, others: list[float], lower: bool) -> float:
    """Return the place of a value among others, to the three digits that are printed; ties share their places."""
    own, sign = round(value, 3), 1 if lower else -1
    better = sum(sign * other < sign * own for other in others)
    return 1 + better + 0.5 * sum(other == own for other in others)


def report(records: dict[tuple[str, int], dict[str, float]]) -> str:
    """Write the table of ranks."""
    with PUBLISHED.open() as file:
        printed = {(row.pop("dataset"), row.pop("criterion")): row for row in csv.DictReader(file)}
    datasets = list(dict.fromkeys(name for name, _ in printed))
    methods = list(next(iter(printed.values())))
    lines = [
        f"# CLEMS among the {len(methods)} methods of the published study",
        "",
        "Made by `python -m tools.study --output results/study/study.md`. One fit of default CLEMS to 60 % of the",
        f"rows, mean over {len(SEEDS)} random splits; its rank among {len(methods)} printed figures and itself.",
        "",
        f"| criterion | mean rank | best of the others | {' | '.join(datasets)} |",
        "|---|" + "---|" * (len(datasets) + 2),
    ]
    ranks, all_others = [], []
    for key, criterion in CRITERIA.items():
        row, others_ranks = [], []
        for name in datasets:
            figures = {one: float(value) for one, value in printed[name, key].items()}
            own = float(np.mean([records[name, seed][key] for seed in SEEDS]))
            row.append(rank(own, [*figures.values()], criterion.lower))
            others_ranks.append(
                [
                    rank(value, [own, *(other for at, other in figures.items() if at != one)], criterion.lower)
                    for one, value in figures.items()
                ]
            )
        means = np.mean(others_ranks, axis=0)
        best = methods[int(np.argmin(means))]
        ranks.append(row)
        all_others.append(means)
        shown = " | ".join(f"{one:g}" for one in row)
        lines.append(f"| {key} | **{np.mean(row):.2f}** | {best} {means.min():.2f} | {shown} |")
    overall = np.mean(all_others, axis=0)
    first = sum(np.mean(row) < others.min() for row, others in zip(ranks, all_others, strict=True))
    lines += [
        f"| all | **{np.mean(ranks):.2f}** | {methods[int(np.argmin(overall))]} {overall.min():.2f} | "
        f"{' | '.join(f'{one:.1f}' for one in np.mean(ranks, axis=0))} |",
        "",
        f"CLEMS has the best mean rank under {first} of {len(CRITERIA)} criteria, and {np.mean(ranks):.2f} over all.",
        "",
        "## What can and what cannot be concluded",
        "",
        "- The figures of the other methods are as printed, on other splits of the same data: a mean rank over",
        "  datasets is meaningful, a difference on one dataset is not. On a set of 194 rows (flags) a split moves F1",
        "  by 0.03.",
        "- The others were tuned by three-fold cross-validation within twelve hours; CLEMS uses its defaults.",
        "- Methods that output scores were decided by **one threshold for all criteria**, set so that the number of",
        "  predicted labels matches that of the scored rows, probably the test rows. CLEMS decides for each",
        "  criterion from one fit, and does not know the test rows: part of its lead under F1, accuracy and Hamming",
        "  loss is the decision. Ranking loss, average precision, coverage, AUROC and AUPRC judge probabilities",
        "  alone.",
        "- Criteria are computed as in the study: F1 of two empty sets is 0, accuracy of two empty sets is 1.",
        "  Precision and recall are left out, because neither is useful alone, and so is the one-error, which is",
        "  unusable as printed.",
        "- The column CLEMS of the study itself is another program: a port with Hamming cost and ML-kNN, for all",
        "  criteria.",
        "- The study's tmc2007-500 differs from the public file and is not included.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    RECORDS.parent.mkdir(parents=True, exist_ok=True)
    lines = RECORDS.read_text().splitlines() if RECORDS.exists() else []
    records = {(one["dataset"], one["seed"]): one["test"] for one in map(json.loads, lines)}
    with PUBLISHED.open() as file:
        datasets = dict.fromkeys(row["dataset"] for row in csv.DictReader(file))
    with RECORDS.open("a") as file:
        for name in datasets:
            for seed in SEEDS:
                if (name, seed) not in records:
                    records[name, seed] = {key: round(value, 6) for key, value in measured(name, seed).items()}
                    file.write(json.dumps({"dataset": name, "seed": seed, "test": records[name, seed]}) + "\n")
                    file.flush()
                    print(name, seed, flush=True)
    text = report(records)
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
