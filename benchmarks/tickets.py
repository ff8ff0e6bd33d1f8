"""Tickets of free text with prices: who pays less, CLEMS or PCC, and why.

Generated tickets: a text of words that labels make likelier among common ones, a category, and a price list in which a
miss costs 1 to 200 and a false alarm 1 to 5. Words are TF-IDF features. Beside CLEMS and PCC stand classifiers that
differ from them in one thing each, so that the difference can be traced to the evidence, the probabilities or the
decision.

Usage: python -m benchmarks.tickets [--output FILE] [--rows 250,500] [--seeds 0:3]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from clems import BR, CLEMS, PCC, CostSensitiveClassifier, Posterior, random_prices

LABELS = ["billing", "bug", "crash", "feature", "login", "mobile", "performance", "refund", "security", "urgent"]
FREQUENCY = np.array([0.25, 0.3, 0.08, 0.15, 0.12, 0.18, 0.1, 0.05, 0.04, 0.1])
WORDS = 12  # that belong to each label
COMMON = 600  # that belong to none
TEST = 1000  # rows to test on
TEXT = """\
# Tickets of free text with prices

Made by `make tickets`: generated tickets of {labels} labels, {words} words of each among {common} common ones, and a
category, as TF-IDF features. Prices are `random_prices(200, 5)`. Mean cost of {test:,} test rows ± standard error over
{seeds} draws; what is paid over what was expected; mean log loss of a label of a row; and how blurred rare labels are,
which less than one row in ten has: the mean probability where such a label is not over that where it is (0 is best).

"""


def tickets(n: int, seed: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Draw texts, categories and labels."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, len(LABELS))) < FREQUENCY).astype(np.uint8)
    Y[:, 2] |= Y[:, 1] & (rng.random(n) < 0.2)  # a bug may be a crash
    Y[:, 9] |= Y[:, 8] & (rng.random(n) < 0.7)  # security is urgent
    Y[:, 7] &= Y[:, 0] | (rng.random(n) < 0.2)  # refunds are about billing
    common = 1 / np.arange(1, COMMON + 1)
    texts = []
    for row in Y:
        words = [f"common{which}" for which in rng.choice(COMMON, rng.poisson(25), p=common / common.sum())]
        for label in np.flatnonzero(row):
            words += [f"{LABELS[label]}{which}" for which in rng.integers(0, WORDS, rng.poisson(1.5))]
        words += [f"{LABELS[label]}{rng.integers(0, WORDS)}" for label in np.flatnonzero(rng.random(10) < 0.03)]
        texts.append(" ".join(rng.permutation(words)))
    category = np.where(Y[:, 0] & (rng.random(n) < 0.8), 0, np.where(Y[:, 1] & (rng.random(n) < 0.8), 1, 2))
    return texts, category, Y


def features(texts: list[str], category: np.ndarray, train: slice) -> Any:
    words = TfidfVectorizer(sublinear_tf=True).fit(texts[train]).transform(texts)
    return sparse.hstack([words, sparse.csr_array(np.eye(3)[category])]).tocsr()


def linear() -> Any:
    return LogisticRegression(solver="liblinear", C=10)


MODELS: dict[str, Callable[[Any, int], Any]] = {
    "CLEMS": lambda cost, seed: CLEMS(cost, random_state=seed),
    "PCC": lambda cost, seed: PCC(cost, random_state=seed),
    "PCC, calibrated": lambda cost, seed: PCC(cost, calibration="sigmoid", random_state=seed),
    "BR's forests, thresholds": lambda cost, seed: CostSensitiveClassifier(
        BR(), cost, joint="independent", calibration=None, random_state=seed
    ),
    "BR's forests, calibrated": lambda cost, seed: CostSensitiveClassifier(
        BR(), cost, joint="independent", random_state=seed
    ),
    "one forest for all labels, calibrated": lambda cost, seed: CostSensitiveClassifier(
        None, cost, joint="independent", random_state=seed
    ),
    "logistic regression, calibrated": lambda cost, seed: CostSensitiveClassifier(linear(), cost, random_state=seed),
    "PCC of logistic regression": lambda cost, seed: PCC(cost, estimator=linear(), random_state=seed),
}


def measured(n: int, seed: int) -> dict[str, list[float]]:
    """Cost, expected cost, log loss and blur of every model, and cost if probabilities were known."""
    texts, category, Y = tickets(n + TEST, seed)
    train, test = slice(0, n), slice(n, None)
    X = features(texts, category, train)
    cost = random_prices(200, 5).for_labels(LABELS)
    rare = Y[train].mean(axis=0) < 0.1
    result = {}
    for name, make in MODELS.items():
        model = make(cost, seed).fit(X[train], Y[train])
        posterior: Posterior = model.posterior(X[test])
        decided, P = posterior.decide(cost), np.clip(posterior.marginals, 1e-6, 1 - 1e-6)
        there = Y[test][:, rare] == 1
        result[name] = [
            float(cost.rowwise(Y[test], decided).mean()),
            float(posterior.expected_cost(decided, cost).mean()),
            float(-np.log(np.where(Y[test] == 1, P, 1 - P)).mean()),
            float(P[:, rare][~there].mean() / P[:, rare][there].mean()),
        ]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="250,500")
    parser.add_argument("--seeds", default="0:3", help="first and end")
    parser.add_argument("--output", type=Path, help="write the tables here too")
    arguments = parser.parse_args()
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    seeds = range(*map(int, arguments.seeds.split(":")))
    text = TEXT.format(labels=len(LABELS), words=WORDS, common=COMMON, test=TEST, seeds=len(seeds))
    for n in map(int, arguments.rows.split(",")):
        runs = [measured(n, seed) for seed in seeds]
        text += f"## Trained on {n:,} tickets\n\n"
        text += "| model | cost | paid over expected | log loss | blur of rare labels |\n|---|---|---|---|---|\n"
        for name in MODELS:
            paid, expected, loss, blur = np.array([run[name] for run in runs]).T
            error = paid.std(ddof=1) / len(paid) ** 0.5 if len(paid) > 1 else np.nan
            text += (
                f"| {name} | {paid.mean():.2f} ± {error:.2f} | {paid.mean() / expected.mean():.2f} "
                f"| {loss.mean():.4f} | {blur.mean():.2f} |\n"
            )
            print(text.splitlines()[-1], flush=True)
        text += "\n"
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
