"""A trial: one learner trained on one split of one dataset, and all that is measured of it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.costs.at_k import propensities
from clems.costs.cost import Cost
from clems.costs.criteria import CRITERIA, Criterion, get_criterion, known_criterion
from clems.costs.text import function_of
from clems.datasets import Dataset
from clems.experiments.environment import blas, versions
from clems.experiments.identity import digest
from clems.learners import LEARNERS
from clems.learners.by_posterior import PosteriorClassifier
from clems.posterior.distribution import Posterior

Rows = NDArray[np.intp]
Values = dict[str, float]
TRAINING_FILE = "training file"  # ends the kind of a split that divides that file alone


@dataclass(frozen=True)
class Data:
    """A dataset as trials get it.

    Attributes
    ----------
    whole : Dataset
        All rows.
    n_train : int or None
        How many of them, the first, are the training rows of a published split; None if it comes without one.
    """

    whole: Dataset
    n_train: int | None = None


@dataclass(frozen=True)
class Trial:
    """One learner trained on one split of one dataset.

    Attributes
    ----------
    dataset : str
        Its name.
    repetition : int
        Number of the split.
    kind : str
        Key of `LEARNERS`.
    cost : str or None
        The cost that training depends on, if it does.
    costs : tuple of str
        Costs to decide for; none if the learner is blind to costs.
    parameters : str
        Parameters of the learner in JSON, keys in order.
    depths : tuple of int
        Depths of trees to evaluate; none if it has none, or chooses for itself.
    split : tuple
        Kind of the split, and shares of training, validation and test rows.
    seed : int
        From which the seeds of split and learner come, together with the names of dataset and learner.
    fingerprint : str
        Checksum of data and costs of the user.
    """

    dataset: str
    repetition: int
    kind: str
    cost: str | None
    costs: tuple[str, ...]
    parameters: str
    depths: tuple[int, ...]
    split: tuple[str, float, float, float]
    seed: int
    fingerprint: str = ""

    @property
    def key(self) -> str:
        """Name of its record: a checksum of all that changes the numbers."""
        return digest(asdict(self))[:16]

    @property
    def decides_for_others(self) -> bool:
        """Whether it decides for other costs than the one that it is trained for."""
        return self.costs not in ((), (self.cost,))

    def seed_for(self, what: str) -> int:
        """Seed from named axes, never from the order in which trials run."""
        return int(digest([self.seed, self.dataset, self.repetition, what])[:8], 16) % (2**31 - 1)


@dataclass(frozen=True)
class Parts:
    """Rows of a trial.

    Attributes
    ----------
    train, validation, test : ndarray
        Rows to train on, to choose by and to test on.
    train_for_test : ndarray
        Rows to train on before the test: these too, or more.
    """

    train: Rows
    validation: Rows
    test: Rows
    train_for_test: Rows


def parts_of(trial: Trial, data: Data) -> Parts:
    """Divide the rows of a dataset."""
    kind, train, validation, test = trial.split
    n = data.whole.X.shape[0]
    known = n if kind == "random" or data.n_train is None else data.n_train
    order = np.random.RandomState(trial.seed_for("split")).permutation(known)
    if kind.endswith(TRAINING_FILE):
        n = known
    if known < n:
        cut = known - int(validation * known)
        return Parts(order[:cut], order[cut:], np.arange(known, n), order)
    first, second = int(train * n), int((train + validation) * n + 1e-9)
    third = second + int(test * n + 1e-9) if train + validation + test < 1 - 1e-9 else n
    return Parts(order[:first], order[first:second], order[second:third], order[:first])


def run_trial(trial: Trial, data: Data, costs: Mapping[str, Cost]) -> dict[str, Any]:
    """Train, decide and measure.

    Parameters
    ----------
    trial : Trial
        What to do.
    data : Data
        The dataset that it names.
    costs : mapping of str to Cost
        Costs of the user; those of the package go by their names.

    Returns
    -------
    dict
        The record, ready for JSON: every criterion on validation and test rows, for each cost and depth; and of
        learners with a posterior what the predictions for test rows were expected to cost. Seconds are of processor
        time, which does not depend on what else the machine is doing: of the fit, of one prediction of the test rows,
        and of the trial as a whole.
    """
    start = process_time()
    X, Y = data.whole.X, data.whole.Y
    Y = Y.toarray() if sparse.issparse(Y) else Y
    parts = parts_of(trial, data)
    costs = {
        name: cost.for_labels(data.whole.label_names, propensities(Y[parts.train])) for name, cost in costs.items()
    }
    criteria = {**CRITERIA, **{name: _criterion(name, cost) for name, cost in costs.items()}}
    others = [costs.get(cost, cost) for cost in trial.costs] if trial.decides_for_others else []

    def fit(rows: Rows) -> tuple[Any, float]:
        model = learner_of(trial, costs, Y[parts.test])
        begin = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about rare labels and the like, which a table of means cannot show
            model.fit(X[rows], Y[rows])
        return model, process_time() - begin

    model, fit_seconds = fit(parts.train)
    final = model
    if len(parts.train_for_test) > len(parts.train):
        final, fit_seconds = fit(parts.train_for_test)
    depths = depths_of(trial, [model, final])
    decisions, predict_seconds = [], 0.0
    for depth in depths:
        chosen = _at(model, depth)
        validation, *_ = _measured(chosen, X, Y, parts.validation, others, criteria)
        begin = process_time()
        test, expected, aside = _measured(
            chosen if final is model else _at(final, depth), X, Y, parts.test, others, criteria
        )
        predict_seconds += process_time() - begin - aside
        decisions += [
            {"cost": cost, "depth": depth, "validation": on_validation, "test": on_test}
            | ({} if of_cost is None else {"expected": of_cost})
            for cost, on_validation, on_test, of_cost in zip(
                trial.costs or (None,), validation, test, expected, strict=True
            )
        ]
    return {
        "key": trial.key,
        "status": "done",
        **described(trial),
        "decisions": decisions,
        "seconds": {
            "fit": fit_seconds,
            "predict": predict_seconds / len(decisions),
            "trial": process_time() - start,
        },
        "rows": {name: len(getattr(parts, name)) for name in ("train", "validation", "test")},
        "versions": versions(),
        "blas": blas(),
    }


def _criterion(name: str, cost: Cost) -> Criterion:
    """Make the criterion of a cost of the user: less is better, unless its name says that it is a score."""
    return get_criterion(replace(cost, as_score=cost.as_score and known_criterion(name) is not None))


def described(trial: Trial) -> dict[str, Any]:
    """Describe a trial for readers of its record."""
    return {
        "dataset": trial.dataset,
        "repetition": trial.repetition,
        "kind": trial.kind,
        "cost": trial.cost,
        "parameters": json.loads(trial.parameters),
    }


def learner_of(trial: Trial, costs: Mapping[str, Cost], test_labels: Any = None) -> Any:
    """Make the learner of a trial.

    Parameters
    ----------
    trial : Trial
        Which says its kind, parameters and cost. The candidates ``["extend", "test"]`` are those of training and those
        of the test rows: what the paper calls peeping.
    costs : mapping of str to Cost
        Costs of the user.
    test_labels : ndarray of shape (n, K)
        Labels of the test rows.
    """
    parameters = built(json.loads(trial.parameters))
    if parameters.get("candidates") == ["extend", "test"]:
        parameters["candidates"] = ("extend", test_labels)
    if trial.cost is not None:
        parameters["cost"] = costs.get(trial.cost, trial.cost)
    return LEARNERS[trial.kind](**parameters, random_state=trial.seed_for(trial.kind))


def built(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with the estimators that they describe: ``{"class": "module:name"}`` and parameters beside it."""
    return {name: _estimator(name, value) if _is_class(value) else value for name, value in parameters.items()}


def _is_class(value: Any) -> bool:
    return isinstance(value, Mapping) and "class" in value


def _estimator(name: str, described: Mapping[str, Any]) -> Any:
    kind: Any = function_of(str(described["class"]))
    if not hasattr(kind, "get_params"):
        raise ValueError(f"{name}.class: {described['class']} is no estimator of scikit-learn's form")
    try:
        return kind(**{key: value for key, value in described.items() if key != "class"})
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None


def depths_of(trial: Trial, models: Sequence[Any]) -> list[int | None]:
    """Depths at which models differ: those that are less than their own, and the first that is not."""
    if not trial.depths:
        return [None]
    deepest = max(model.get_depth() for model in models)
    within: list[int | None] = [depth for depth in trial.depths if depth < deepest]
    return within + [depth for depth in trial.depths if depth >= deepest][:1]


def _at(model: Any, depth: int | None) -> Any:
    return model if depth is None else model.at_depth(depth)


def _measured(
    model: Any, X: Any, Y: Any, rows: Rows, costs: Sequence[Any], criteria: Mapping[str, Criterion]
) -> tuple[list[Values | None], list[float | None], float]:
    """Measure the decisions for each of some costs, or for the model's own.

    Returns
    -------
    values : list of dict or None
        Every criterion; None where there are no rows.
    expected : list of float or None
        What a row was expected to cost on average; None where that is not known.
    seconds : float
        Processor time of what predicting does not need.
    """
    if not len(rows):
        return [None] * max(1, len(costs)), [None] * max(1, len(costs)), 0.0
    predictions, expected, seconds = _answers(model, X[rows], costs)
    values: list[Values | None] = [
        {name: _rounded(criterion(Y[rows], predicted)) for name, criterion in criteria.items()}
        for predicted in predictions
    ]
    return values, expected, seconds


def _answers(model: Any, X: Any, costs: Sequence[Any]) -> tuple[list[Any], list[float | None], float]:
    """Predict for each of some costs, or for the model's own; also the mean expected costs, and their seconds."""
    if not isinstance(model, PosteriorClassifier):
        predictions = model.predict_each(X, costs) if costs else [model.predict(X)]
        return predictions, [None] * len(predictions), 0.0
    if costs and model.cost_after_fit:
        each = [_answers(model.with_cost(cost), X, []) for cost in costs]
        return [own[0][0] for own in each], [own[1][0] for own in each], sum(own[2] for own in each)
    wanted: Sequence[Any] = costs or [None]
    row_costs = [model.row_cost(cost) for cost in wanted]
    seconds = 0.0

    def question(posterior: Posterior) -> list[Any]:
        nonlocal seconds
        decided = [model.decide(posterior, cost) for cost in wanted]
        begin = process_time()
        expected = [
            model.expected_of(model.posterior_for(posterior, cost), cost, own)
            for cost, row_cost, own in zip(wanted, row_costs, decided, strict=True)
            if row_cost is not None
        ]
        seconds += process_time() - begin
        return [*decided, *expected]

    answers = model.ask(X, question)
    means = iter([_rounded(float(own.mean())) for own in answers[len(wanted) :]])
    return answers[: len(wanted)], [None if cost is None else next(means) for cost in row_costs], seconds


def _rounded(value: float) -> float:
    """Six digits: far more than a split of some hundred rows tells, and a store half as large."""
    return float(f"{value:.6g}")
