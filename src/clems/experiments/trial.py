"""A trial: one learner trained on one split of one dataset, and all that is measured of it."""

from __future__ import annotations

import hashlib
import json
import platform
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.cost import Cost
from clems.criteria import CRITERIA, Criterion, get_criterion
from clems.datasets import Dataset
from clems.learners import LEARNERS

Rows = NDArray[np.intp]
Values = dict[str, float]
PACKAGES = ("clems", "numpy", "scipy", "scikit-learn")  # whose versions may change the numbers


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
        Checksum of data and costs that are one's own.
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
        return _digest(asdict(self))[:16]

    def seed_for(self, what: str) -> int:
        """Seed from named axes, never from the order in which trials run."""
        return int(_digest([self.seed, self.dataset, self.repetition, what])[:8], 16) % (2**31 - 1)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


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
        Costs of one's own; those of the package go by their names.

    Returns
    -------
    dict
        The record, ready for JSON: every criterion on validation and test rows, for each cost and depth. Seconds are
        of processor time, which does not depend on what else the machine is doing: of the fit, of one prediction of the
        test rows, and of the trial as a whole.
    """
    start = process_time()
    X, Y = data.whole.X, data.whole.Y
    Y = Y.toarray() if sparse.issparse(Y) else Y
    parts = parts_of(trial, data)
    criteria = {**CRITERIA, **{name: get_criterion(replace(cost, as_score=False)) for name, cost in costs.items()}}
    meant = [costs.get(cost, cost) for cost in trial.costs]

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
        validation = _measured(chosen, X, Y, parts.validation, meant, criteria)
        begin = process_time()
        test = _measured(chosen if final is model else _at(final, depth), X, Y, parts.test, meant, criteria)
        predict_seconds += process_time() - begin
        decisions += [
            {"cost": cost, "depth": depth, "validation": own, "test": others}
            for cost, own, others in zip(trial.costs or (None,), validation, test, strict=True)
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
    }


def criterion_named(name: str) -> Criterion:
    """Criterion of a name in records; one that the package does not know is a cost of one's own, so less is better."""
    return CRITERIA[name] if name in CRITERIA else Criterion(name, name, False, _of_records_only)


def _of_records_only(*_: Any) -> float:
    raise AssertionError("What a record calls by name is not computed anew.")


def described(trial: Trial) -> dict[str, Any]:
    """Describe a trial for whoever reads its record."""
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
        Costs of one's own.
    test_labels : ndarray of shape (n, K)
        Labels of the test rows.
    """
    parameters = json.loads(trial.parameters)
    if parameters.get("candidates") == ["extend", "test"]:
        parameters["candidates"] = ("extend", test_labels)
    if trial.cost is not None:
        parameters["cost"] = costs.get(trial.cost, trial.cost)
    return LEARNERS[trial.kind](**parameters, random_state=trial.seed_for(trial.kind))


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
) -> list[Values | None]:
    """Every criterion of the decisions for each cost, or of the only ones; None where there are no rows."""
    if not len(rows):
        return [None] * max(1, len(costs))
    if model.cost_at_predict and not model.cost_at_fit:
        predictions = model.predict_each(X[rows], costs)
    else:
        predictions = [model.predict(X[rows])]
    return [
        {name: _rounded(criterion(Y[rows], predicted)) for name, criterion in criteria.items()}
        for predicted in predictions
    ]


def _rounded(value: float) -> float:
    """Six digits: far more than a split of some hundred rows tells, and a store half as large."""
    return float(f"{value:.6g}")


@cache
def versions() -> dict[str, str]:
    """Versions of what may change the numbers."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
