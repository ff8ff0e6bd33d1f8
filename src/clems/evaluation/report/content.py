"""What a report says: small frozen results, computed by pure functions from a model and labelled rows.

The map of the module: the results (`Content` and its parts); `make_content`, which asks the model once and calls the
functions below it in the order of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from clems.arrays import Bits, Floats
from clems.costs.cost import Cost
from clems.costs.criteria import CRITERIA, Criterion, get_criterion
from clems.costs.formulas import COSTS
from clems.decisions.decide import DECODERS, decide
from clems.decisions.rules import rule_for
from clems.evaluation.abstention import abstention_curve
from clems.evaluation.answers import Answers, answers_of, at_half
from clems.evaluation.bootstrap import Bootstrap, bootstrap
from clems.evaluation.evaluate import Evaluation, against_simple, evaluate_answers
from clems.evaluation.label_map import LabelMap, has_map, make_map, shown
from clems.evaluation.report.live import Live, make_live
from clems.evaluation.report.rows import (
    Places,
    Row,
    cells_of,
    chosen_rows,
    data_address,
    feature_names_of,
    labels_where,
    row_labels,
    row_names,
    unusual_features,
)
from clems.evaluation.savings import amount, best_constant
from clems.evaluation.sources import Sources, has_sources, question_about_forest, sources_of
from clems.labels.matrix import as_dense
from clems.learners.base import MultiLabelClassifier
from clems.learners.input import check_labels
from clems.posterior.distribution import Posterior
from clems.wording import plural

LEFT_OUT = ("f_beta",)  # one of many β, shown only to a model that is trained for it
EXAMPLES = 3  # rows shown under every cost
BY_THRESHOLDS = "it predicts the labels whose probability exceeds a threshold, chosen on rows held out in training"


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
        What "cost" stands for where costs of rows are shown, "1 − F1" for example.
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
        Labels, reliability, savings and what handing rows over is worth.
    unit : str
        What costs are counted in; may be empty.
    handing_over : str
        What handing rows over is worth, a sentence or two; empty without expected costs.
    mistakes, right : tuple of Row
        The most expensive rows, and some that came out right.
    live : Live or str
        What the page decides other prices by; a sentence of a model that it cannot decide for.
    sources : Sources or None
        What predictions rest on; None of a model without experts.
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
    unit: str
    handing_over: str
    mistakes: tuple[Row, ...]
    right: tuple[Row, ...]
    live: Live | str
    sources: Sources | None
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
    unit: str = "",
    abstain_at: float | None = None,
    columns: pd.DataFrame | None = None,
) -> Content:
    """Compute all that a report says; :func:`clems.evaluation.report.write_report` explains the parameters.

    `columns` are those that tell people what a row is, a line for each row, whose index names the rows.

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems.evaluation.report import make_content
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> content = make_content(model, X[150:], Y[150:])
    >>> content.evaluation.labels.shape[0]
    10
    """
    others = other_costs(model)
    truth = as_dense(check_labels(model, Y)).astype(np.uint8)
    check_consistent_length(X, truth)
    if images is not None and len(images) != len(truth):
        raise ValueError(f"There are {len(images)} images for {len(truth)} rows; give one per row.")
    answers = answers_of(
        model, X, paper=True, others=others, against=against_simple(model), further=question_about(model, truth)
    )
    evaluation = evaluate_answers(model, answers, Y, unit=unit, abstain_at=abstain_at)
    predicted, expected, further = answers.predicted, answers.expected, [*answers.further]
    marginals: Any = further.pop(0) if further else answers.marginals  # by which it decides, or all that there are
    of_truth = None if expected is None else further.pop(0)
    best = further.pop(0) if may_do_better(model) else None
    own = model.criterion_
    found, lacking = baselines(model, answers)
    criteria = [own, *(one for name, one in CRITERIA.items() if name not in (own.name, *LEFT_OUT))]
    comparison = bootstrap(found, truth, criteria)
    costs = model.cost_.of_rows(truth, predicted)
    worst, right = chosen_rows(costs, truth, predicted, n_mistakes)
    called, labels = row_names(X, columns), [*map(str, model.classes_)]

    def rows(places: Places) -> tuple[Row, ...]:
        names = feature_names_of(model, X, feature_names)
        features = unusual_features(X, places, names) if images is None else [()] * len(places)
        return tuple(
            Row(
                name=called(at),
                labels=row_labels(
                    labels,
                    truth[at],
                    predicted[at],
                    None if marginals is None else marginals[at],
                    model.cost_,
                ),
                cost=float(costs[at]),
                expected=None if expected is None else float(expected[at]),
                expected_truth=None if of_truth is None else float(of_truth[at]),
                better=None
                if best is None or (best[at] == predicted[at]).all()
                else shown(labels_where(model, best[at])),
                picture=None if images is None else data_address(images[at]),
                words=words,
                cells=cells,
                features=own_features,
            )
            for at, own_features, (words, cells) in zip(
                places.tolist(), features, cells_of(columns, places), strict=True
            )
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
        unit=unit,
        handing_over="" if expected is None else handing_over(expected, costs, abstain_at, unit),
        mistakes=rows(worst),
        right=rows(right),
        live=make_live(model, marginals, predicted, truth, called),
        sources=sources_of(model, predicted, marginals, further, truth) if has_sources(model) else None,
        what_if=what_if(model, called, answers, others, truth, images) if others else None,
        parameters=parameters_of(model),
    )


def question_about(model: Any, truth: Bits) -> Callable[[Posterior, slice], list[Any]]:
    """Return what a report asks besides: the marginals it decides by, what the truth is expected to cost, and more."""

    def question(posterior: Posterior, rows: slice) -> list[Any]:
        answers: list[Any] = [posterior.marginals]
        if model.criterion_.of_single_rows:
            answers.append(model.expected_of(posterior, None, truth[rows]))
        if may_do_better(model):
            answers.append(decide(posterior, model.cost_))
        return answers + (question_about_forest(model, posterior) if has_sources(model) else [])

    return question


def may_do_better(model: MultiLabelClassifier) -> bool:
    """Whether a model may predict other labels than those of least expected cost, though these can be found exactly."""
    chosen = getattr(model, "decoder_", "exact")
    return bool(chosen != "exact" and model.criterion_.of_single_rows and rule_for(model.cost_).exact)


def other_costs(model: MultiLabelClassifier) -> list[Cost]:
    """Costs other than its own that a model can decide for."""
    if not model.cost_at_predict:
        return []
    left_out = (model.criterion_.name, *LEFT_OUT)
    return [cost for name, cost in COSTS.items() if name not in left_out and type(model).supports(cost)]


def baselines(model: MultiLabelClassifier, answers: Answers) -> tuple[dict[str, Bits], tuple[str, ...]]:
    """Predictions that need no training, the model's own first, and sentences on those that it has no means for.

    Parameters
    ----------
    model : learner
        A fitted model.
    answers : Answers
        What it answered about the rows.
    """
    name, lacking, predicted = type(model).__name__, [], answers.predicted
    found = {name: predicted}
    if answers.nearest is not None:
        found["paper’s decoding"] = answers.nearest
    if answers.marginals is not None:
        found["each label at ½"] = at_half(answers.marginals)
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
    return found, tuple(lacking)


def how_it_decides(model: MultiLabelClassifier) -> str:
    """Say how a model comes to its decision."""
    name, own = type(model).__name__, model.criterion_
    if not hasattr(model, "decoder_"):
        idea = str(type(model).__doc__).split("\n")[0].rstrip(".")
        aim = f"It was trained for {own.title}." if model.cost_sensitive else "It takes no cost into account."
        return f"{name}. {idea}. {aim}"
    K = len(model.classes_)
    step = DECODERS[model.decoder_].how if own.of_single_rows else BY_THRESHOLDS
    step = step.format(sets=f"{2**K:,}" if K <= 20 else f"2^{K}")
    return f"{name}, trained for {own.title}, asks for each row how probable every label set is. Then {step}."


def price_of(cost: Cost) -> str:
    """Name of what a row costs: of a cost that is reported as a score, ``1 −`` the score."""
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
            f"could distinguish from chance (between {-least:.3f} worse and {most:.3f} better)."
        )
    right = float((truth == predicted).all(axis=1).mean())
    said.append(
        f"{right:.0%} of the rows come out entirely right. It predicts {predicted.sum(axis=1).mean():.2f} labels a row "
        f"where {truth.sum(axis=1).mean():.2f} are true."
    )
    if evaluation.savings is not None:
        said += [f"It {sentence}." for sentence in evaluation.savings.sentences[:2]]
    groups = evaluation.reliability
    if groups is not None:
        expected, realised = (
            float(np.average(groups[name], weights=groups["rows"])) for name in ("expected", "realised")
        )
        said.append(f"It expected to pay {expected:.3f} a row, in {price}, and paid {realised:.3f}.")
    return tuple(said)


def handing_over(expected: Floats, costs: Floats, price: float | None, unit: str) -> str:
    """Say what handing rows over is worth: at a price, or, without one, the half of the rows expected to cost most."""
    every = f"deciding every row costs {amount(float(costs.mean()), unit)} a row"
    if price is None and len(costs) < 2:
        return ""
    if price is None:
        half = abstention_curve(expected, costs, steps=2).iloc[1]
        known = "" if half["decided"] < costs.mean() else " On these rows the model does not tell which will cost much."
        return (
            f"The half of the rows that the model expects to cost least costs {amount(half['decided'], unit)} a row, "
            f"where {every}.{known} No price of handing a row over is given, so it costs nothing here."
        )
    over = expected > price
    mean = amount(float(np.where(over, price, costs).mean()), unit)
    return (
        f"At a price of {amount(price, unit)} a row, the rows that are expected to cost more are {over.mean():.0%} of "
        f"all; with these handed over a row costs {mean} in the mean, where {every}."
    )


def what_if(
    model: MultiLabelClassifier,
    called: Callable[[int], str],
    answers: Answers,
    others: Sequence[Cost],
    truth: Bits,
    images: Sequence[Any] | None,
) -> WhatIf:
    """Compare the decisions of the same model for other costs."""
    own, predicted = model.criterion_, answers.predicted
    criteria = [own, *map(get_criterion, others)]
    decisions = [predicted, *answers.for_others]
    decided = {criterion.title: labels for criterion, labels in zip(criteria, decisions, strict=True)}
    every = np.stack([*decided.values()])
    changed = (every != predicted).any(axis=2).mean(axis=1)
    distinct = np.array([len(np.unique(every[:, at], axis=0)) for at in range(len(truth))])
    most = np.argsort(-distinct, kind="stable")[:EXAMPLES]
    examples = tuple(
        Example(
            called(at),
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
    """Labels with the most true rows first, and of the highest price first where there are prices, and their places."""
    by = ["price", "support"] if "price" in evaluation.labels else ["support"]
    placed = evaluation.labels.assign(place=range(len(evaluation.labels)))
    return placed.sort_values(by, ascending=False, kind="stable").head(most)
