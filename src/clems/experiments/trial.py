"""A trial: one learner trained on one split of one dataset, and all that is measured of it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from clems.arrays import with_short_indices
from clems.costs.at_k import propensities
from clems.costs.cost import Cost
from clems.costs.criteria import CRITERIA, Criterion, get_criterion, known_criterion
from clems.costs.text import function_of
from clems.datasets import Dataset
from clems.datasets.given_rows import GivenRows
from clems.evaluation.answers import at_half
from clems.evaluation.ranking import Ranking, ranking_named, scores_of
from clems.experiments.environment import blas, versions
from clems.experiments.identity import digest
from clems.learners import LEARNERS
from clems.learners.by_posterior import PosteriorClassifier
from clems.learners.pipeline import ends_in_learner, reach, steps_of
from clems.posterior.distribution import Posterior

Rows = NDArray[np.intp]
Values = dict[str, float]
GIVEN = "given"  # kind of a trial whose model is an object of the user's
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
    given : GivenRows or None
        Numbers of the training and test rows of each repetition, if it is published with these.
    """

    whole: Dataset
    n_train: int | None = None
    given: GivenRows | None = None


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
        Key of `LEARNERS`, or "given".
    cost : str or None
        The cost that training depends on, if it does.
    costs : tuple of str
        Costs to decide for; none if the learner is blind to costs.
    parameters : str
        Parameters of the learner in JSON, keys in order.
    depths : tuple of int or None
        Depths of trees to evaluate, None for trees as deep as they grow; empty if it has none, or chooses for itself.
    split : tuple
        Kind of the split, and shares of training, validation and test rows.
    seed : int
        From which the seeds of split and learner come, together with the names of dataset and learner.
    fingerprint : str
        Checksum of data and costs of the user.
    model : estimator or None
        Of a trial of the kind "given" what is trained; `parameters` has its checksum.
    """

    dataset: str
    repetition: int
    kind: str
    cost: str | None
    costs: tuple[str, ...]
    parameters: str
    depths: tuple[int | None, ...]
    split: tuple[str, float, float, float]
    seed: int
    fingerprint: str = ""
    model: Any = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> str:
        """Name of its record: a checksum of all that changes the numbers."""
        return digest({one.name: getattr(self, one.name) for one in fields(self) if one.compare})[:16]

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
    if data.given is not None:
        given_train, given_test = data.given.of(trial.repetition)
        if kind == "swapped":
            given_train, given_test = given_test, given_train
        order = np.random.RandomState(trial.seed_for("split")).permutation(given_train)
        cut = len(order) - int(validation * len(order))
        return Parts(order[:cut], order[cut:], given_test, order)
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
    """Train a learner, decide, and measure the result.

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
        learners with a posterior what the predictions for test rows were expected to cost, what held-out training rows
        cost, and the criterion of ½ thresholds. Seconds are of processor time, which does not depend on what else the
        machine is doing: of the fit, with the encoding of columns, of one prediction of the test rows, and of the trial
        as a whole.

    Examples
    --------
    >>> from clems.datasets import load_dataset
    >>> from clems.experiments import Spec, make_plan, run_trial
    >>> data = {"digits": load_dataset("digit-scenes", "train").take(range(120))}
    >>> options = {"learners": {"br": {}}, "repetitions": 1, "trees": 5, "depths": [5]}
    >>> spec = Spec(title="One learner", datasets=["digits"], criteria=["f1"], data=data, **options)
    >>> plan = make_plan(spec)
    >>> record = run_trial(plan.trials[0], spec.load("digits"), {})
    >>> sorted(record["seconds"])
    ['fit', 'predict', 'trial']
    """
    start = process_time()
    Y = data.whole.Y.toarray() if sparse.issparse(data.whole.Y) else data.whole.Y
    parts = parts_of(trial, data)
    X = rows_for(trial, data.whole, parts.train)
    encode_seconds = process_time() - start
    costs = {
        name: cost.for_labels(data.whole.label_names, propensities(Y[parts.train])) for name, cost in costs.items()
    }
    criteria = {**CRITERIA, **{name: criterion_of(name, cost) for name, cost in costs.items()}}
    criteria |= {name: replace(ranking, cost=costs[name]) for name in costs if (ranking := ranking_named(name))}
    others = [costs.get(cost, cost) for cost in trial.costs] if trial.decides_for_others else []

    def fit(rows: Rows) -> tuple[Any, float]:
        model = learner_of(trial, costs, Y[parts.test])
        begin = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about rare labels and the like, which a table of means cannot show
            model.fit(_taken(X, rows), Y[rows])
        return model, process_time() - begin

    model, fit_seconds = fit(parts.train)
    final = model
    if len(parts.train_for_test) > len(parts.train):
        final, fit_seconds = fit(parts.train_for_test)
    depths = depths_of(trial, [model, final])
    decisions, predict_seconds = [], 0.0
    for depth in depths:
        chosen = _at(model, depth)
        validation, *_ = _measured(chosen, X, Y, parts.validation, others, trial.costs, criteria)
        begin = process_time()
        test, beside, aside = _measured(
            chosen if final is model else _at(final, depth), X, Y, parts.test, others, trial.costs, criteria
        )
        predict_seconds += process_time() - begin - aside
        decisions += [
            {"cost": cost, "depth": depth, "validation": on_validation, "test": on_test} | beside_test
            for cost, on_validation, on_test, beside_test in zip(
                trial.costs or (None,), validation, test, beside, strict=True
            )
        ]
    return {
        "key": trial.key,
        "status": "done",
        **described(trial),
        "decisions": decisions,
        "seconds": {
            "fit": fit_seconds + encode_seconds,
            "predict": predict_seconds / len(decisions),
            "trial": process_time() - start,
        },
        "rows": {name: len(getattr(parts, name)) for name in ("train", "validation", "test")},
        "versions": versions(),
        "blas": blas(),
    }


def criterion_of(name: str, cost: Cost) -> Criterion:
    """Make the criterion of a cost of the user: less is better, unless its name says that it is a score."""
    return get_criterion(replace(cost, as_score=cost.as_score and known_criterion(name) is not None))


def rows_for(trial: Trial, data: Dataset, train: Rows) -> Any:
    """All rows as a trial's model takes them.

    A pipeline gets the columns of a table as they came. Others get features, made by an encoder that has seen training
    rows only, as they would be in use.
    """
    if isinstance(trial.model, Pipeline):
        if data.table is not None:
            return data.table
        return data.X if sparse.issparse(data.X) else data.feature_frame()
    if data.table is None:
        return with_short_indices(data.X) if sparse.issparse(data.X) else data.X
    return data.encoder.anew().fit(data.table.iloc[train]).transform(data.table)


def _taken(X: Any, rows: Rows) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


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
    if trial.model is not None:
        return _given_model(trial, costs)
    parameters = built(json.loads(trial.parameters))
    if parameters.get("candidates") == ["extend", "test"]:
        parameters["candidates"] = ("extend", test_labels)
    if trial.cost is not None:
        parameters["cost"] = costs.get(trial.cost, trial.cost)
    return LEARNERS[trial.kind](**parameters, random_state=trial.seed_for(trial.kind))


def _given_model(trial: Trial, costs: Mapping[str, Cost]) -> Any:
    """Make a model anew, for the trial's cost, with seeds where it has none."""
    model = clone(trial.model)
    if trial.cost is not None:
        steps_of(model)[1].set_params(cost=costs.get(trial.cost, trial.cost))
    unseeded = [
        name
        for name, value in model.get_params().items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return model.set_params(**dict.fromkeys(unseeded, trial.seed_for(trial.parameters)))


def built(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with the estimators that they describe: ``{"class": "module:name"}`` and parameters beside it."""
    return {name: _built(name, value) for name, value in parameters.items()}


def _built(name: str, value: Any) -> Any:
    if isinstance(value, list):  # such as the steps of a pipeline
        return [_built(name, one) for one in value]
    return _estimator(name, value) if isinstance(value, Mapping) and "class" in value else value


def _estimator(name: str, described: Mapping[str, Any]) -> Any:
    kind: Any = function_of(str(described["class"]))
    if not hasattr(kind, "get_params"):
        raise ValueError(f"{name}.class: {described['class']} is no estimator of scikit-learn's form")
    try:
        return kind(**{key: _built(f"{name}.{key}", value) for key, value in described.items() if key != "class"})
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None


def depths_of(trial: Trial, models: Sequence[Any]) -> list[int | None]:
    """Depths at which models differ: those that are less than their own, and the first that is not."""
    if not trial.depths:
        return [None]
    deepest = max(model.get_depth() for model in models)
    within: list[int | None] = [depth for depth in trial.depths if depth is not None and depth < deepest]
    return within + [depth for depth in trial.depths if depth is None or depth >= deepest][:1]


def _at(model: Any, depth: int | None) -> Any:
    return model if depth is None else model.at_depth(depth)


def _measured(
    model: Any,
    X: Any,
    Y: Any,
    rows: Rows,
    costs: Sequence[Any],
    names: Sequence[str],
    criteria: Mapping[str, Criterion],
) -> tuple[list[Values | None], list[Values], float]:
    """Measure the decisions for each of some costs, or for the model's own; of a learner with a cost, by its name.

    Returns
    -------
    values : list of dict or None
        Every criterion; None where there are no rows.
    beside : list of dict
        Where they are known: what a row was `expected` to cost on average, what one that was `held_out` from training
        cost, and the criterion of that name of ½ thresholds, `half`.
    seconds : float
        Processor time of what predicting does not need.
    """
    n = max(1, len(costs))
    if not len(rows):
        return [None] * n, [{} for _ in range(n)], 0.0
    features = _taken(X, rows)
    learner, features = reach(model, features)[:2] if ends_in_learner(model) else (model, features)
    answers = _answers(learner, features, costs)
    rankings = {name: one for name, one in criteria.items() if isinstance(one, Ranking)}
    criteria = {name: one for name, one in criteria.items() if name not in rankings}
    begin = process_time()
    ranked = _ranked(learner, features, Y[rows], rankings)
    aside = process_time() - begin
    values: list[Values | None] = [
        {name: _rounded(criterion(Y[rows], predicted)) for name, criterion in criteria.items()} | ranked
        for predicted in answers.predictions
    ]
    beside: list[Values] = [
        {name: value for name, value in (("expected", mean), ("held_out", cost)) if value is not None}
        for mean, cost in zip(answers.expected, answers.held_out, strict=True)
    ]
    if answers.half is not None:
        begin = process_time()
        for one, name in zip(beside, names, strict=True):
            if name in criteria:
                one["half"] = _rounded(criteria[name](Y[rows], answers.half))
        return values, beside, answers.seconds + aside + process_time() - begin
    return values, beside, answers.seconds + aside


def _ranked(model: Any, X: Any, Y: Any, rankings: Mapping[str, Ranking]) -> Values:
    """Measure how a model ranks labels, if that is asked for and it does."""
    scores = scores_of(model, X) if rankings else None
    return {} if scores is None else {name: _rounded(one.measure(Y, scores)) for name, one in rankings.items()}


class _Answered(NamedTuple):
    """Predictions for some costs, mean costs expected and of held-out rows, ½ thresholds, and seconds of the rest."""

    predictions: list[Any]
    expected: list[float | None]
    held_out: list[float | None]
    half: Any
    seconds: float


def _answers(model: Any, X: Any, costs: Sequence[Any]) -> _Answered:
    """Predict for each of some costs, or for the model's own."""
    if not isinstance(model, PosteriorClassifier):
        predictions = model.predict_each(X, costs) if costs else [model.predict(X)]
        predictions = [one if one.ndim == 2 else one[:, None] for one in predictions]  # scikit-learn's of one label
        return _Answered(predictions, [None] * len(predictions), [None] * len(predictions), None, 0.0)
    if costs and model.cost_after_fit:
        each = [_answers(model.with_cost(cost), X, []) for cost in costs]
        return _Answered(
            [one.predictions[0] for one in each],
            [one.expected[0] for one in each],
            [one.held_out[0] for one in each],
            each[0].half,
            sum(one.seconds for one in each),
        )
    wanted: Sequence[Any] = costs or [None]
    row_costs = [model.row_cost(cost) for cost in wanted]
    seconds = 0.0

    def question(posterior: Posterior) -> list[Any]:
        nonlocal seconds
        decided = [model.decide(posterior, cost) for cost in wanted]
        begin = process_time()
        half = at_half(posterior.marginals)
        expected = [
            model.expected_of(model.posterior_for(posterior, cost), cost, own)
            for cost, row_cost, own in zip(wanted, row_costs, decided, strict=True)
            if row_cost is not None
        ]
        seconds += process_time() - begin
        return [half, *decided, *expected]

    half, *answers = model.ask(X, question)
    means = iter([_rounded(float(own.mean())) for own in answers[len(wanted) :]])
    expected = [None if cost is None else next(means) for cost in row_costs]
    trained_for = not costs and row_costs[0] is not None
    held_out = [_held_out_cost(model) if trained_for else None for _ in wanted]
    return _Answered(answers[: len(wanted)], expected, held_out, half, seconds)


def _held_out_cost(model: Any) -> float | None:
    """Mean cost of held-out rows for which a model decided as it does for new ones, if it held any out."""
    cost = getattr(model, "oob_cost_", getattr(model, "held_out_cost_", np.nan))
    return None if np.isnan(cost) else _rounded(float(cost))


def _rounded(value: float) -> float:
    """Six digits: far more than a split of some hundred rows tells, and a store half as large."""
    return float(f"{value:.6g}")
