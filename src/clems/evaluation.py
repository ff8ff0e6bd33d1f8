"""How good a fitted model is on labelled rows: every criterion, each label by itself, and whether it knows its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from clems.classifier import MultiLabelClassifier
from clems.cost import Cost, PriceCost
from clems.counts import Floats, Labels, as_label_pair, labelwise
from clems.criteria import CRITERIA
from clems.validation import check_labels

BINS = 10


@dataclass(frozen=True)
class Evaluation:
    """What a model does on labelled rows.

    Attributes
    ----------
    criteria : dict
        The value of each criterion of `CRITERIA` by name and, if that is none of them, the mean of the model's own
        cost.
    labels : DataFrame
        A row per label: `support` (rows that have it), `predicted`, `tp`, `fp`, `fn`, `tn`, `precision` and `recall`
        (NaN where nothing was predicted, or nothing was there), `f1` (0 there, so that their mean is macro F1) and, of
        a model for prices, `price`: what the mistakes with this label cost in all.
    reliability : DataFrame or None
        Rows in up to ten groups of rising expected cost: the mean `expected` and the mean `realised` cost of a group,
        and its number of `rows`. None if the model has no `expected_cost`.
    """

    criteria: dict[str, float]
    labels: pd.DataFrame
    reliability: pd.DataFrame | None


def evaluate(model: MultiLabelClassifier, X: Any, Y: Any) -> Evaluation:
    """Compare a model's predictions with the truth.

    Parameters
    ----------
    model : learner
        Any fitted learner.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Features.
    Y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
        Their true labels.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems.evaluation import evaluate
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> found = evaluate(CLEMS(cost="f1", random_state=0).fit(X[:200], Y[:200]), X[200:], Y[200:])
    >>> bool(found.criteria["f1"] > 0.4), list(found.reliability.columns)
    (True, ['expected', 'realised', 'rows'])
    """
    predicted = model.predict(X)
    given = check_labels(model, Y)
    check_consistent_length(predicted, given)
    truth, prediction = as_label_pair(given, predicted, rowwise=True)
    own = model._criterion()
    criteria = {**CRITERIA, **({} if own.name in CRITERIA else {own.name: own})}
    by_label = label_table(truth, prediction, model.classes_.tolist(), model.cost_)
    expected = expected_cost(model, X)
    groups = None if expected is None else reliability(expected, model.cost_.rowwise(truth, prediction))
    return Evaluation({name: criterion(truth, prediction) for name, criterion in criteria.items()}, by_label, groups)


def label_table(truth: Labels, prediction: Labels, names: list[Any], cost: Cost) -> pd.DataFrame:
    """Count what happened to each label; `Evaluation` says what the columns are."""
    c = labelwise(truth, prediction)
    counts = {"support": c.truth, "predicted": c.predicted, "tp": c.tp, "fp": c.fp, "fn": c.fn, "tn": c.tn}
    table = pd.DataFrame(counts, index=pd.Index(map(str, names), name="label")).astype(np.int64)
    table["precision"] = table["tp"] / table["predicted"]
    table["recall"] = table["tp"] / table["support"]
    table["f1"] = (2 * table["tp"] / (table["support"] + table["predicted"])).fillna(0.0)
    if isinstance(cost, PriceCost):
        table["price"] = table["fn"] * np.array(cost.false_negative) + table["fp"] * np.array(cost.false_positive)
    return table


def expected_cost(model: MultiLabelClassifier, X: Any) -> Floats | None:
    """Tell what each prediction is expected to cost; None of a model that cannot.

    Micro and macro F1 are no costs of single rows, so a model that is trained for them cannot either.
    """
    if not hasattr(model, "expected_cost") or model._criterion().name != model.cost_.name:
        return None
    return np.asarray(model.expected_cost(X))


def reliability(expected: Floats, realised: Floats, bins: int = BINS) -> pd.DataFrame:
    """Compare expected with realised costs in groups of about as many rows, rows of equal expectation together.

    Parameters
    ----------
    expected, realised : ndarray of shape (n,)
        Costs of the rows.
    bins : int, default=10
        Most groups.

    Returns
    -------
    DataFrame
        `expected` and `realised` means, and `rows`, in rising order of the expected cost.
    """
    rows = pd.DataFrame({"expected": expected, "realised": realised, "rows": 1})
    rank = rows["expected"].rank(method="min").to_numpy() - 1  # equal expectations have the same
    group = (rank * bins // max(1, len(rows))).astype(np.int64)
    return rows.groupby(group).agg({"expected": "mean", "realised": "mean", "rows": "sum"}).reset_index(drop=True)
