"""Which macro F1 the paper's Table 3 prints, and which file of medical it was trained on.

Usage: python -m tools.printed_macro_f1 [--output FILE]
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from clems import BR, CLEMS, CRITERIA
from tools.paper import divided, printed

PAPER = printed("table3").unstack("learner")  # in lines of dataset and criterion
MACRO_F1 = """\
# Which macro F1 is printed

Made by `make printed-macro-f1`. BR, CLEMS as in the paper (nearest) for its three costs, and CLEMS trained for macro
F1, with our forests, next to the printed values: where micro F1 and subset accuracy agree, macro F1 should. It is
computed in three ways: as the mean of the labels' F1, as in scikit-learn, where labels that no row of the test file
has count as 0; as the mean over the others, the labels there; and as the F1 of mean precision and mean recall over
these. No threshold is chosen for that one, for it rewards nonsense: to predict some labels for all rows, which have
recall, and the others for their likeliest row alone, which have precision.

| | learner | micro F1 | printed | subset accuracy | printed | mean F1 | of the labels there | F1 of means | printed |
|---|---|---|---|---|---|---|---|---|---|
"""
ALIKE = """
Over the {rows} lines where micro F1 is within {near[0]} of print and subset accuracy within {near[1]}, the root of the
mean squared difference from the printed macro F1 is {mean:.3f} for mean F1, {there:.3f} for that of the labels there
and {of_means:.3f} for F1 of means.
"""
NEAR = 0.02, 0.03
MEDICAL = """
## Which file of medical is trained on

Micro F1 / subset accuracy on medical of the same learners with forests like those of the authors' code: scikit-learn's
random forests, a split of which tries the square root of the number of features; 100 trees, no deeper than 35. They
are trained on either file, or on three quarters of it as when the rest is for validation, and tested on the other
file; means over {seeds} seeds. The last line is the root of the mean squared difference from print.

| | {columns} | printed |
|---|{rules}---|
"""
SHARES = [1, 0.75]  # of a file
AS_PRINTED = {
    "br": BR(random_state=0),
    **{f"clems-{cost}": CLEMS(cost, decoder="nearest", random_state=0) for cost in ("f1", "accuracy", "rank")},
}
DIRECTLY = {"clems for macro_f1": CLEMS("macro_f1", random_state=0)}  # which is not printed


def macro_kinds(Y: np.ndarray, P: np.ndarray) -> list[float]:
    """Macro F1 in three ways; a label that is never predicted has precision 0."""
    there = Y.any(axis=0)
    true = (Y * P).sum(axis=0)[there]
    precision, recall = (np.mean(true / np.maximum(own.sum(axis=0)[there], 1)) for own in (P, Y))
    of_means = 2 * precision * recall / max(precision + recall, np.finfo(float).tiny)
    return [CRITERIA["macro_f1"](Y, P), CRITERIA["macro_f1"](Y[:, there], P[:, there]), of_means]


def as_printed(dataset: str, learner: str) -> list[float]:
    """A learner of the paper by micro F1, subset accuracy and three kinds of macro F1, next to what is printed."""
    X, Y, X_new, Y_new = divided(dataset)
    predicted = clone((AS_PRINTED | DIRECTLY)[learner]).fit(X, Y).predict(X_new)
    names = ["micro_f1", "zero_one", "macro_f1"]
    shown = [PAPER.loc[(dataset, name)].get(learner, np.nan) for name in names]
    micro, subset = (CRITERIA[name](Y_new, predicted) for name in names[:2])
    return [micro, shown[0], subset, shown[1], *macro_kinds(Y_new, predicted), shown[2]]


def macro_f1(datasets: list[str]) -> str:
    """Which macro F1 agrees with print."""
    slow = ("corel5k", "br")  # 374 forests
    cells = [cell for cell in product(datasets, AS_PRINTED | DIRECTLY) if cell != slow]
    values = np.array(Parallel(n_jobs=-1)(delayed(as_printed)(*one) for one in cells))
    lines = [
        [*cell, *("" if np.isnan(value) else f"{value:.3f}" for value in own)]
        for cell, own in zip(cells, values, strict=True)
    ]
    alike = values[(abs(values[:, [0, 2]] - values[:, [1, 3]]) <= NEAR).all(axis=1)]
    mean, there, of_means = np.sqrt(np.mean((alike[:, 4:7] - alike[:, 7:]) ** 2, axis=0))
    summary = ALIKE.format(rows=len(alike), near=NEAR, mean=mean, there=there, of_means=of_means)
    return MACRO_F1 + "".join(f"| {' | '.join(line)} |\n" for line in lines) + summary


def on_medical(learner: str, rows: int, seed: int) -> list[float]:
    """Micro F1 and subset accuracy of a learner of the paper, trained on some rows of the file that has so many."""
    X, Y, X_new, Y_new = divided("medical")
    if rows <= len(Y_new):
        X, Y, X_new, Y_new = X_new, Y_new, X, Y
    some = np.random.RandomState(seed).permutation(len(Y))[:rows]
    kind = RandomForestClassifier if learner == "br" else RandomForestRegressor
    forest = kind(100, max_features="sqrt", max_depth=35)
    model = clone(AS_PRINTED[learner]).set_params(estimator=forest, random_state=seed).fit(X[some], Y[some])
    predicted = model.predict(X_new)
    return [CRITERIA[name](Y_new, predicted) for name in ("micro_f1", "zero_one")]


def medical(seeds: int = 3) -> str:
    """Which file of medical the printed values come from."""
    _, Y, _, Y_new = divided("medical")
    sizes = [int(share * len(own)) for own in (Y, Y_new) for share in SHARES]
    trials = product(AS_PRINTED, sizes, range(seeds))
    values = np.array(Parallel(n_jobs=-1)(delayed(on_medical)(*one) for one in trials))
    values = values.reshape(len(AS_PRINTED), len(sizes), seeds, 2).mean(axis=2)
    shown = np.array([[PAPER.loc[("medical", name), own] for name in ("micro_f1", "zero_one")] for own in AS_PRINTED])
    columns = " | ".join(f"{size} rows" for size in sizes)
    text = MEDICAL.format(seeds=seeds, columns=columns, rules="---|" * len(sizes))
    for learner, own in zip(AS_PRINTED, np.concatenate([values, shown[:, None]], axis=1), strict=True):
        text += f"| {learner} | {' | '.join(f'{micro:.3f} / {subset:.3f}' for micro, subset in own)} |\n"
    difference = np.sqrt(((values - shown[:, None]) ** 2).mean(axis=(0, 2)))
    return text + f"| difference | {' | '.join(f'{own:.3f}' for own in difference)} | |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="write the table here too")
    arguments = parser.parse_args()
    datasets = ["emotions", "medical", "enron", "scene", "yeast", "corel5k"]
    text = macro_f1(datasets) + medical()
    sys.stdout.write(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
