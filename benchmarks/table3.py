"""Micro and macro F1 trained directly, next to the paper's Table 3, on the files that come divided.

Usage: python -m benchmarks.table3 [--output FILE] [--seeds 5]
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from benchmarks.data import load
from clems import CLEMS, CRITERIA

PAPER = pd.read_csv(Path(__file__).with_name("paper_table3.csv"))
NAMES = ["micro_f1", "macro_f1"]
TEXT = """\
# Micro and macro F1

Made by `make table3`. CLEMS trained directly for the criterion on the training file, scored on the test file, mean ±
standard deviation over {seeds} seeds, next to the paper's Table 3: its CLEMS for other costs, and the best of all its
columns. Greater is better; bold is ahead of every column that is printed.

| | | trained directly | paper's CLEMS | paper's best |
|---|---|---|---|---|
"""


def trial(dataset: str, seed: int) -> list[float]:
    X, Y = load(dataset, "train")
    X_new, Y_new = load(dataset, "test")
    model = CLEMS(cost="micro_f1", random_state=seed).fit(X, Y)  # which learns the thresholds of both
    return [CRITERIA[criterion](Y_new, model.predict(X_new, cost=criterion)) for criterion in NAMES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the table here too")
    arguments = parser.parse_args()
    PAPER["dataset"] = PAPER["dataset"].str.lower()
    datasets = [*dict.fromkeys(PAPER["dataset"])]
    trials = [*product(datasets, range(arguments.seeds))]
    scores = Parallel(n_jobs=-1)(delayed(trial)(*one) for one in trials)
    scores = np.array(scores).reshape(len(datasets), arguments.seeds, len(NAMES))
    text, ahead = TEXT.format(seeds=arguments.seeds), dict.fromkeys(NAMES, 0)
    for (place, dataset), (which, criterion) in product(enumerate(datasets), enumerate(NAMES)):
        printed = PAPER[(PAPER["dataset"] == dataset) & (PAPER["criterion"] == criterion)]
        best, own = printed["value"].max(), printed[printed["algorithm"].str.startswith("CLEMS")]["value"].max()
        direct = scores[place, :, which]
        value = f"{direct.mean():.3f} ± {direct.std():.3f}"
        ahead[criterion] += direct.mean() > best
        value = f"**{value}**" if direct.mean() > best else value
        text += f"| {dataset} | {criterion} | {value} | {own:.3f} | {best:.3f} |\n"
    text += "".join(f"\n{name}: ahead of every column on {n} of {len(datasets)} datasets." for name, n in ahead.items())
    sys.stdout.write(text + "\n")
    if arguments.output:
        arguments.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
