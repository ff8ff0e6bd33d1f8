"""How good a fitted model is on labelled rows: every criterion, each label, its costs, what it saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from clems.arrays import Bits, Floats, Labels
from clems.costs.cost import Cost, PriceCost
from clems.costs.counts import labelwise
from clems.costs.criteria import CRITERIA
from clems.decisions.handing_over import check_price
from clems.evaluation.abstention import abstention_curve
from clems.evaluation.answers import Answers, answers_of
from clems.evaluation.savings import Savings, savings_of, simple_answers
from clems.labels.matrix import as_label_pair
from clems.learners.base import MultiLabelClassifier
from clems.learners.input import check_labels
from clems.learners.pipeline import reach
from clems.wording import plural

BINS = 10


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Evaluation of a model on labelled rows.

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
    abstention : DataFrame or None
        What rows cost if some of those with the greatest expected cost are handed over, by their share, see
        :func:`clems.evaluation.abstention_curve`; None if the model has no `expected_cost`.
    savings : Savings or None
        What is saved against simple ways to predict; None of a criterion of all rows together.

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems.evaluation import evaluate
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> found = evaluate(model, X[150:], Y[150:])
    >>> found.labels[["tp", "fp", "fn", "tn"]].sum(axis=1).unique().tolist()
    [50]
    """

    criteria: dict[str, float]
    labels: pd.DataFrame
    reliability: pd.DataFrame | None
    abstention: pd.DataFrame | None
    savings: Savings | None

    def __repr__(self) -> str:
        n = int(self.labels[["tp", "fp", "fn", "tn"]].iloc[0].sum())
        head = [] if self.savings is None else [str(self.savings)]
        values = ", ".join(f"{name} {value:.3g}" for name, value in self.criteria.items())
        return "\n".join([*head, f"{plural(n, 'row')}, {plural(len(self.labels), 'label')}: {values}"])

    def _repr_html_(self) -> str:
        """Tables for notebooks: what is saved, criteria, labels."""
        criteria = pd.DataFrame({"value": self.criteria}).map("{:.3g}".format).to_html()
        saved = "" if self.savings is None else self.savings._repr_html_()
        return f"{saved}{criteria}{self.labels.round(3).to_html(max_rows=20)}"


def evaluate(model: Any, X: Any, Y: Any, *, unit: str = "", abstain_at: float | None = None) -> Evaluation:
    """Compare a model's predictions with the truth.

    Parameters
    ----------
    model : learner or Pipeline
        Any fitted learner, or scikit-learn's Pipeline that ends in one.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Features.
    Y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
        Their true labels.
    unit : str, default=""
        What costs are counted in, such as "€".
    abstain_at : float, default=None
        What handing a row over costs, in the same unit; None is 0.

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
    >>> list(found.criteria)[:3], found.labels.shape, int(found.reliability["rows"].sum())
    (['hamming', 'zero_one', 'f1'], (10, 9), 100)
    """
    learner, X, _ = reach(model, X, "evaluate")
    answers = answers_of(learner, X, against=against_simple(learner))
    return evaluate_answers(learner, answers, Y, unit=unit, abstain_at=abstain_at)


def against_simple(model: MultiLabelClassifier) -> dict[str, Bits] | None:
    """Name label vectors that a model's answers are compared with; None if single rows have no cost."""
    return simple_answers(len(model.classes_), model, model.cost_) if model.criterion_.of_single_rows else None


def evaluate_answers(
    model: MultiLabelClassifier, answers: Answers, Y: Any, *, unit: str = "", abstain_at: float | None = None
) -> Evaluation:
    """Compare what a model answered about rows with the truth; `evaluate` explains the parameters."""
    price = check_price(abstain_at) or 0.0
    given = check_labels(model, Y)
    check_consistent_length(answers.predicted, given)
    truth, prediction = as_label_pair(given, answers.predicted, rowwise=True)
    of_model = model.criterion_
    criteria = {**CRITERIA, **({} if of_model.name in CRITERIA else {of_model.name: of_model})}
    by_label = label_table(truth, prediction, model.classes_.tolist(), model.cost_)
    expected, realised = answers.expected, model.cost_.of_rows(truth, prediction)
    return Evaluation(
        criteria={name: one.measure(truth, prediction, None) for name, one in criteria.items()},
        labels=by_label,
        reliability=None if expected is None else reliability(expected, realised),
        abstention=None if expected is None else abstention_curve(expected, realised, price),
        savings=savings_of(model, answers, truth, unit) if answers.against else None,
    )


def label_table(truth: Labels, prediction: Labels, names: list[Any], cost: Cost) -> pd.DataFrame:
    """Count what happened to each label; `Evaluation` says what the columns are."""
    c = labelwise(truth, prediction)
    counts = {"support": c.truth, "predicted": c.predicted, "tp": c.tp, "fp": c.fp, "fn": c.fn, "tn": c.tn}
    table = pd.DataFrame(counts, index=pd.Index(map(str, names), name="label")).astype(np.int64)
    table["precision"] = table["tp"] / table["predicted"]
    table["recall"] = table["tp"] / table["support"]
    table["f1"] = (2 * table["tp"] / (table["support"] + table["predicted"])).fillna(0.0)
    if isinstance(cost, PriceCost):
        fn, fp = cost.prices(len(table))
        table["price"] = table["fn"] * fn + table["fp"] * fp
    return table


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
