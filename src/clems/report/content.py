"""What a report says: small frozen results, computed by pure functions from a model and labelled rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clems.bootstrap import Bootstrap, bootstrap
from clems.classifier import MultiLabelClassifier
from clems.cost import Cost
from clems.costs import COSTS
from clems.counts import Floats, as_dense
from clems.criteria import CRITERIA, Criterion, get_criterion
from clems.datasets.columns import plural
from clems.decoding import LABEL_BASED
from clems.evaluation import Evaluation, evaluate, expected_cost
from clems.label_map import LabelMap, has_map, make_map, shown
from clems.report.rows import (
    Bits,
    Places,
    Row,
    chosen_rows,
    data_address,
    feature_names_of,
    labels_where,
    row_name,
    unusual_features,
)
from clems.validation import check_labels

LEFT_OUT = ("f_beta",)  # one of many β, shown only to a model that is trained for it
EXAMPLES = 3  # rows shown under every cost
HOW = {
    "exact": "of all {sets} label sets it predicts the one that it expects to cost least",
    "expected": "it predicts the label set that it expects to cost least, of those seen in training and of what a "
    "search finds from there",
    "nearest": "it predicts a point of the embedded space and takes the label set nearest to it, as the paper does",
    "threshold": "it predicts the labels whose probability exceeds a threshold, chosen on rows held out in training",
}


@dataclass(frozen=True)
class Example:
    """A row that different costs decide differently: its true labels and the decision for each cost."""

    name: str
    truth: str
    decisions: tuple[tuple[str, str], ...]
    picture: str | None


@dataclass(frozen=True, eq=False)
class WhatIf:
    """The same model, deciding for other costs.

    Attributes
    ----------
    costs : tuple of str
        Titles of the costs decided for, the model's own first.
    comparison : Bootstrap
        What these decisions are worth under each of the costs.
    labels : ndarray
        Predicted labels per row.
    changed : ndarray
        Part of the rows that are decided otherwise than for the model's own cost.
    examples : tuple of Example
        Rows with the most different decisions.
    """

    costs: tuple[str, ...]
    comparison: Bootstrap
    labels: Floats
    changed: Floats
    examples: tuple[Example, ...]


@dataclass(frozen=True, eq=False)
class Content:
    """All that a report says.

    Attributes
    ----------
    learner : str
        Name of the model's class.
    trained : bool
        Whether it was trained for a cost.
    own : Criterion
        By what it is scored.
    cost : Cost
        What single rows cost.
    price : str
        What "cost" stands for where numbers of rows are told, "1 − F1" for example.
    n_rows, n_labels, n_features : int
        Size of the test data.
    how : str
        How the model decides, a sentence or two.
    findings : tuple of str
        What came out, sentences in plain words.
    comparison : Bootstrap
        The model, first, and baselines under criteria, its own first.
    lacking : tuple of str
        Why some baselines are left out.
    map : LabelMap or None
        The label map; None without an embedding.
    evaluation : Evaluation
        Labels and reliability.
    mistakes, right : tuple of Row
        The most expensive rows, and some that came out right.
    what_if : WhatIf or None
        None of a model that decides for one cost only.
    parameters : tuple of pair of str
        The model's parameters that are not the default.
    """

    learner: str
    trained: bool
    own: Criterion
    cost: Cost
    price: str
    n_rows: int
    n_labels: int
    n_features: int
    how: str
    findings: tuple[str, ...]
    comparison: Bootstrap
    lacking: tuple[str, ...]
    map: LabelMap | None
    evaluation: Evaluation
    mistakes: tuple[Row, ...]
    right: tuple[Row, ...]
    what_if: WhatIf | None
    parameters: tuple[tuple[str, str], ...]


def make_content(
    model: MultiLabelClassifier,
    X: Any,
    Y: Any,
    *,
    feature_names: Sequence[str] | None = None,
    images: Sequence[Any] | None = None,
    n_mistakes: int = 20,
) -> Content:
    """Compute all that a report says; :func:`clems.report.write_report` explains the parameters."""
    evaluation = evaluate(model, X, Y)
    truth = as_dense(check_labels(model, Y)).astype(np.uint8)
    predicted = as_dense(model.predict(X)).astype(np.uint8)
    if images is not None and len(images) != len(truth):
        raise ValueError(f"There are {len(images)} images for {len(truth)} rows; give one per row.")
    own = model._criterion()
    found, lacking = baselines(model, X, predicted)
    criteria = [own.name if own.name in LABEL_BASED else model.cost_]
    criteria += [name for name in CRITERIA if name not in (own.name, *LEFT_OUT)]
    comparison = bootstrap(found, truth, criteria)
    costs, expected = model.cost_.rowwise(truth, predicted), expected_cost(model, X)
    worst, right = chosen_rows(costs, truth, predicted, n_mistakes)

    def rows(places: Places) -> tuple[Row, ...]:
        names = feature_names_of(model, X, feature_names)
        features = unusual_features(X, places, names) if images is None else [()] * len(places)
        return tuple(
            Row(
                name=row_name(X, at),
                hit=labels_where(model, truth[at] & predicted[at]),
                missed=labels_where(model, truth[at] > predicted[at]),
                in_vain=labels_where(model, truth[at] < predicted[at]),
                cost=float(costs[at]),
                expected=None if expected is None else float(expected[at]),
                picture=None if images is None else data_address(images[at]),
                features=own_features,
            )
            for at, own_features in zip(places.tolist(), features, strict=True)
        )

    return Content(
        learner=type(model).__name__,
        trained=model.cost_sensitive,
        own=own,
        cost=model.cost_,
        price=price_of(model.cost_),
        n_rows=len(truth),
        n_labels=truth.shape[1],
        n_features=int(model.n_features_in_),
        how=how_it_decides(model),
        findings=findings(comparison, evaluation, truth, predicted, price_of(model.cost_)),
        comparison=comparison,
        lacking=lacking,
        map=make_map(model) if has_map(model) else None,
        evaluation=evaluation,
        mistakes=rows(worst),
        right=rows(right),
        what_if=what_if(model, X, truth, predicted, images) if model.cost_at_predict else None,
        parameters=parameters_of(model),
    )


def baselines(model: MultiLabelClassifier, X: Any, predicted: Bits) -> tuple[dict[str, Bits], tuple[str, ...]]:
    """Predictions that need no training, the model's own first, and sentences on those that it has no means for.

    Parameters
    ----------
    model : learner
        A fitted model.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Features.
    predicted : ndarray of shape (n, K)
        What the model predicts for them.
    """
    name, lacking = type(model).__name__, []
    found = {name: predicted}
    if hasattr(model, "with_decoder"):
        found["paper’s decoding"] = as_dense(model.with_decoder("nearest").predict(X))
    if hasattr(model, "predict_proba"):
        found["each label at ½"] = (model.predict_proba(X) > 0.5).astype(np.uint8)
    else:
        lacking.append(f"{name} has no probabilities of labels, so there is no line for labels at ½.")
    if hasattr(model, "candidates_"):
        labels, frequency = model.candidates_.labels, model.candidates_.frequency
        found["best constant"] = np.tile(best_constant(model.cost_, labels, frequency), (len(predicted), 1))
        majority = (frequency @ labels > frequency.sum() / 2).astype(np.uint8)
        found["majority of each label"] = np.tile(majority, (len(predicted), 1))
    else:
        lacking.append(
            f"{name} does not keep how frequent label sets were in training, so there are no constant answers."
        )
    return {title: labels.astype(np.uint8) for title, labels in found.items()}, tuple(lacking)


def best_constant(cost: Cost, labels: Bits, frequency: Floats) -> Bits:
    """Label vector, one of these, of the least mean cost if truths are as frequent as given."""
    seen = frequency > 0
    return np.asarray(labels[(frequency[seen] @ cost.pairwise(labels[seen], labels)).argmin()])


def how_it_decides(model: MultiLabelClassifier) -> str:
    """Say how a model comes to its decision."""
    name, own = type(model).__name__, model._criterion()
    if not hasattr(model, "decoder_"):
        idea = str(type(model).__doc__).split("\n")[0].rstrip(".")
        aim = f"It was trained for {own.title}." if model.cost_sensitive else "It takes no cost into account."
        return f"{name}. {idea}. {aim}"
    K = len(model.classes_)
    step = HOW[model.decoder_].format(sets=f"{2**K:,}" if K <= 20 else f"2^{K}")
    return f"{name}, trained for {own.title}, asks for each row how probable every label set is. Then {step}."


def price_of(cost: Cost) -> str:
    """Name of what a row costs: of a cost that is told as a score, what that lacks of 1."""
    title = get_criterion(cost).title
    return f"1 − {title}" if cost.as_score else title


def findings(
    comparison: Bootstrap, evaluation: Evaluation, truth: Bits, predicted: Bits, price: str
) -> tuple[str, ...]:
    """Say what came out, in plain words."""
    own, value = comparison.criteria[0], comparison.value[:, 0]
    low, high = comparison.low[0, 0], comparison.high[0, 0]
    said = [
        f"On {plural(len(truth), 'test row')} its {'' if own.greater_is_better else 'mean '}{own.title} is "
        f"{value[0]:.3f} (95 % interval {low:.3f} to {high:.3f})."
    ]
    if len(comparison.models) > 1:
        best = 1 + int((own.sign * value[1:]).argmax())
        lead, least, most = comparison.lead(0, best, 0)
        name = comparison.models[best]
        known = "better" if least > 0 else "worse" if most < 0 else ""
        said.append(
            f"The best of the simple answers, “{name}”, comes to {value[best]:.3f}: the model is {known} by "
            f"{abs(lead):.3f} ({min(abs(least), abs(most)):.3f} to {max(abs(least), abs(most)):.3f})."
            if known
            else f"The best of the simple answers, “{name}”, comes to {value[best]:.3f}: no difference that these rows "
            f"could tell from chance (between {-least:.3f} worse and {most:.3f} better)."
        )
    right = float((truth == predicted).all(axis=1).mean())
    said.append(
        f"{right:.0%} of the rows come out entirely right. It predicts {predicted.sum(axis=1).mean():.2f} labels a row "
        f"where {truth.sum(axis=1).mean():.2f} are true."
    )
    groups = evaluation.reliability
    if groups is not None:
        expected, realised = (
            float(np.average(groups[name], weights=groups["rows"])) for name in ("expected", "realised")
        )
        said.append(f"It expected to pay {expected:.3f} a row, in {price}, and paid {realised:.3f}.")
    return tuple(said)


def what_if(
    model: MultiLabelClassifier, X: Any, truth: Bits, predicted: Bits, images: Sequence[Any] | None
) -> WhatIf | None:
    """Decide for other costs by the same model; None if it has no answer for any other."""
    own = model._criterion()
    others = [cost for name, cost in COSTS.items() if name not in (own.name, *LEFT_OUT) and type(model).supports(cost)]
    if not others:
        return None
    decided = {own.title: predicted}
    answers = model.predict_each(X, others)
    for cost, answer in zip(others, answers, strict=True):
        decided[get_criterion(cost).title] = as_dense(answer).astype(np.uint8)
    criteria = [own.name if own.name in LABEL_BASED else model.cost_, *others]
    every = np.stack([*decided.values()])
    changed = (every != predicted).any(axis=2).mean(axis=1)
    distinct = np.array([len(np.unique(every[:, at], axis=0)) for at in range(len(truth))])
    most = np.argsort(-distinct, kind="stable")[:EXAMPLES]
    examples = tuple(
        Example(
            row_name(X, at),
            shown(labels_where(model, truth[at])),
            tuple((title, shown(labels_where(model, answer[at]))) for title, answer in decided.items()),
            None if images is None else data_address(images[at]),
        )
        for at in most[distinct[most] > 1].tolist()
    )
    return WhatIf(
        tuple(decided), bootstrap(decided, truth, criteria), every.sum(axis=2).mean(axis=1), changed, examples
    )


def parameters_of(model: MultiLabelClassifier) -> tuple[tuple[str, str], ...]:
    """Parameters of a model that are not the default, as text."""
    usual: Mapping[str, Any] = type(model)().get_params(deep=False)
    own = model.get_params(deep=False)
    said = {name: value.name if isinstance(value, Cost) else repr(value) for name, value in own.items()}
    return tuple((name, said[name]) for name in sorted(own) if said[name] != repr(usual[name]))


def labels_of(evaluation: Evaluation, most: int) -> pd.DataFrame:
    """Labels with the most true rows first, and of the highest price first where there are prices."""
    by = ["price", "support"] if "price" in evaluation.labels else ["support"]
    return evaluation.labels.sort_values(by, ascending=False, kind="stable").head(most)
