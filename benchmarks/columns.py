"""Tickets as they come against columns that are encoded by hand: what a ticket costs.

Tickets of `examples/tickets.py`. "As it comes" is what `clems fit tickets.csv --tags tags --separator ";" --id id
--cost prices.csv` does; by hand, someone who knows which columns tell something writes a ColumnTransformer. Both train
on the same rows, the learner has the same seed, and all are tested on the same new tickets.

Usage: python -m benchmarks.columns [--output FILE] [--seeds 3001:3011,4001:4041] [--without COLUMNS] [--kinds ...]
"""

from __future__ import annotations

import argparse
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from clems import CLEMS, CostSensitiveClassifier, TableEncoder, weighted_hamming
from clems.cli.fit import make_learner

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "tickets.py"))
TAGS = sorted(EXAMPLE["TAGS"])
TRAIN, TEST = 800, 2000  # tickets
VERDICT = "3001:3011,4001:4041"  # seeds that had no part in any choice
LEARNERS: dict[str, dict[str, Any]] = {"clems": {}, "cost_sensitive": {"estimator": "logistic_regression"}}
TEXT = """\
# Columns as they come, and by hand

Made by `make bench-columns`: what a ticket costs, trained on {train:,} and tested on {test:,} new tickets of
`examples/tickets.py`, for seeds that had no part in any choice. *As it comes* is what
`clems fit tickets.csv --tags tags --separator ";" --id id --cost prices.csv` does with every column; *by hand* is a
`ColumnTransformer` of someone who knows which columns tell something, before the same learner (logistic regression as
people write it, `LogisticRegression(max_iter=1000)`). *Scikit-learn alone* has the columns by hand, logistic regression
for each tag, and the threshold of its prices, `fp / (fp + fn)`. A ratio is that of the means over all seeds, ± its
standard error over the seeds (of the mean of differences, as a share of the cost by hand); the worst seed is the
greatest ratio of a single one. The bar is 1.02.

Seeds 2001 to 2010 were a first verdict, which logistic regression missed (see the first version of this file): it
learned by heart the directions of customers' names, which tell nothing. Of these, those that hold fewer rows than ten
are left out since, chosen on seeds 1001 to 1010. Ten seeds leave the ratio of logistic regression uncertain by as much
as the bar is wide, so that forty more follow.

"""


def truths(frame: pd.DataFrame) -> pd.DataFrame:
    cells = frame["tags"].fillna("").str.split(";")
    return pd.DataFrame({tag: [int(tag in cell) for cell in cells] for tag in TAGS})


def by_hand() -> Any:
    """Columns as someone encodes them who knows that date and customer tell nothing."""
    return make_column_transformer(
        (TfidfVectorizer(min_df=2, sublinear_tf=True), "text"),
        (OneHotEncoder(handle_unknown="ignore"), ["category", "country", "vip"]),
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["hours"]),
    )


def measured(seed: int, encoder: TableEncoder) -> dict[str, float]:
    """Mean cost of a ticket of every model that is trained on the tickets of a seed."""
    train, test = EXAMPLE["tickets"](TRAIN, seed), EXAMPLE["tickets"](TEST, seed + 10_000)
    rows, Y, truth = train.drop(columns="tags"), truths(train), truths(test)
    listed = EXAMPLE["PRICES"].set_index("label").loc[TAGS]
    fn, fp = listed["false_negative"].to_numpy(), listed["false_positive"].to_numpy()
    prices = weighted_hamming(fn, fp, name="prices")

    def paid(predicted: Any) -> float:
        return float(prices.rowwise(truth.to_numpy(), np.asarray(predicted)).mean())

    hand: dict[str, Any] = {
        "clems": CLEMS(prices, random_state=0),
        "cost_sensitive": CostSensitiveClassifier(LogisticRegression(max_iter=1000), prices, random_state=0),
    }
    result = {}
    for name, settings in LEARNERS.items():
        learner = make_learner(name, None, dict(settings), 0, None).set_params(cost=prices)
        result[name] = paid(make_pipeline(encoder, learner).fit(rows, Y).predict(test))
        result[f"{name} by hand"] = paid(make_pipeline(by_hand(), hand[name]).fit(rows, Y).predict(test))
    alone = make_pipeline(by_hand(), MultiOutputClassifier(LogisticRegression(max_iter=1000))).fit(rows, Y)
    P = np.column_stack([one[:, 1] for one in alone.predict_proba(test)])
    result["alone"] = paid((fp / (fp + fn) < P).astype(np.uint8))
    return result


def table(seeds: range, encoder: TableEncoder) -> str:
    """Compare what tickets cost, over some seeds."""
    runs = []
    for seed in seeds:
        runs.append(measured(seed, encoder))
        print(seed, {name: round(value, 3) for name, value in runs[-1].items()}, flush=True)
    costs = pd.DataFrame(runs)
    text = f"## Seeds {seeds[0]} to {seeds[-1]}\n\n"
    text += "| learner | as it comes | by hand | ratio | worst seed | scikit-learn alone | ratio |\n"
    text += "|---|---|---|---|---|---|---|\n"
    alone = costs["alone"]
    for name in LEARNERS:
        ours, hand = costs[name], costs[f"{name} by hand"]
        text += (
            f"| {name} | {ours.mean():.3f} | {hand.mean():.3f} | {ours.mean() / hand.mean():.3f} ± "
            f"{(ours - hand).sem() / hand.mean():.3f} | {(ours / hand).max():.3f} | {alone.mean():.3f} "
            f"| {ours.mean() / alone.mean():.3f} |\n"
        )
    return f"{text}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default=VERDICT, help="first and end, of each table")
    parser.add_argument("--without", default="", help="columns to leave out, to see what each costs")
    parser.add_argument("--kinds", default="", help="kinds of columns, as in customer:words,created:words")
    parser.add_argument("--output", type=Path, help="write the table here too")
    arguments = parser.parse_args()
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    kinds = dict(one.split(":") for one in arguments.kinds.split(",") if one)
    encoder = TableEncoder(drop=["id", *filter(None, arguments.without.split(","))], kinds=kinds)
    text = TEXT.format(train=TRAIN, test=TEST)
    for ends in arguments.seeds.split(","):
        text += table(range(*map(int, ends.split(":"))), encoder)
    print(text)
    if arguments.output:
        arguments.output.write_text(f"{text.rstrip()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
