"""What learners save against plain ways to predict, over the repetitions of an experiment on one dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from clems.costs.at_k import propensities
from clems.costs.criteria import get_criterion
from clems.evaluation.answers import HALF
from clems.evaluation.savings import CONSTANT, amount, constant_of, simple_answers
from clems.experiments.analysis.naming import criterion_named
from clems.experiments.analysis.significance import corrected_interval
from clems.experiments.trial import criterion_of, parts_of
from clems.labels.matrix import as_dense

if TYPE_CHECKING:
    from clems.experiments.plan import Plan

BASELINE = "random forest at ½"  # scikit-learn's, of all labels together


def simple_values(plan: Plan) -> pd.DataFrame | None:
    """Measure what no learner is needed for, repetition by repetition, by the criterion of a plan with one.

    Returns
    -------
    DataFrame or None
        A line per repetition, a column per way: predicting nothing, everything, and the constant that is best on the
        rows that learners see before the test. None if single rows have no cost.
    """
    (name,), (dataset,) = plan.spec.criteria, plan.spec.datasets
    cost = plan.spec.own_costs().get(name)
    data = plan.spec.load(dataset)
    names, Y = data.whole.label_names, as_dense(data.whole.Y)
    lines = {}
    for repetition, parts in {one.trial.repetition: parts_of(one.trial, data) for one in plan.planned}.items():
        criterion = get_criterion(name) if cost is None else criterion_of(name, cost)
        if not criterion.of_single_rows:
            return None
        criterion = criterion.for_labels(names, propensities(Y[parts.train]))
        before = np.concatenate([parts.train, parts.validation])
        answers = simple_answers(len(names)) | {CONSTANT: constant_of(Y[before], criterion.cost)}
        lines[repetition] = {
            way: criterion.measure(Y[parts.test], np.broadcast_to(one, (len(parts.test), len(names))), None)
            for way, one in answers.items()
        }
    return pd.DataFrame.from_dict(lines, orient="index")


def saved(plan: Plan, results: pd.DataFrame) -> pd.DataFrame | None:
    """Compare each learner with plain ways to predict, per row.

    Parameters
    ----------
    plan : Plan
        Of one dataset and one criterion.
    results : DataFrame
        What came out of it.

    Returns
    -------
    DataFrame or None
        A line for each learner and way (`against`): what a row cost (`paid`) if predicted so, what the learner
        `saved` of that, and the ends `low` and `high` of a 95 % interval by the t-test that splits need. Means over
        the repetitions that both have. None if single rows have no cost.
    """
    simple = simple_values(plan)
    if simple is None:
        return None
    sign = criterion_named(plan.spec.criteria[0]).sign
    values = results.pivot(index="repetition", columns="learner", values="value")
    halves = results.pivot(index="repetition", columns="learner", values="half")
    ratio = float(results["test_ratio"].mean())
    lines: list[tuple[Any, ...]] = []
    for learner in values.columns:
        ways = {BASELINE: values[BASELINE]} if BASELINE in values and learner != BASELINE else {}
        for way, theirs in {**ways, HALF: halves[learner], **simple}.items():
            both = pd.DataFrame({"ours": values[learner], "theirs": theirs}).dropna()
            if len(both):
                differences = sign * (both["ours"] - both["theirs"])
                paid = (1 - both["theirs"] if sign > 0 else both["theirs"]).mean()
                lines.append((learner, way, paid, differences.mean(), *corrected_interval(differences, ratio)))
    columns = ["learner", "against", "paid", "saved", "low", "high"]
    return pd.DataFrame(lines, columns=columns).set_index(["learner", "against"])


def saved_in_words(table: pd.DataFrame, learner: str, unit: str) -> list[str]:
    """Say what a learner saves against each way, a sentence each."""
    said = []
    for way, one in table.loc[learner].iterrows() if learner in table.index.get_level_values(0) else ():
        low, high, value = one["low"], one["high"], one["saved"]
        if value < 0:
            text, low, high = f"{learner} costs {amount(-value, unit)} a row more than {way}", -high, -low
        else:
            text = f"{learner} saves {amount(value, unit)} a row against {way}"
        sure = "" if np.isnan(low) else f" (95 % interval {amount(low, unit)} to {amount(high, unit)})"
        said.append(f"{text}{sure}.")
    return said
