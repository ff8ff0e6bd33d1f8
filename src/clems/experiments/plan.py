"""The plan of an experiment: its trials, each with the place in tables and figures that needs it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from clems.costs.cost import Cost
from clems.costs.formulas import COSTS
from clems.evaluation.ranking import ranking_named, ranks_labels
from clems.experiments.identity import model_checksum
from clems.experiments.spec import Entry, Spec, SpecError
from clems.experiments.trial import Trial, built
from clems.learners import LEARNERS
from clems.learners.base import MultiLabelClassifier


@dataclass(frozen=True)
class Planned:
    """A trial in its place.

    Attributes
    ----------
    learner : str
        Name of the entry.
    x : float or None
        Where it stands on the axis of a figure.
    fixed_cost : str or None
        The cost that the entry always decides for, if there is one.
    trial : Trial
        What is run.
    """

    learner: str
    x: float | None
    fixed_cost: str | None
    trial: Trial


@dataclass(frozen=True)
class Plan:
    """All trials of an experiment, each with its place in the result.

    Attributes
    ----------
    spec : Spec
        The experiment.
    planned : list of Planned
        Of which several may be the same trial.
    without_rule : set of (str, str)
        Entries and criteria for which a learner has no rule.

    Examples
    --------
    >>> from clems.experiments import Spec, make_plan
    >>> learners = {"br": {}, "pcc": {}}
    >>> spec = Spec(title="Two learners", datasets=["digit-scenes"], criteria=["f1"], learners=learners, repetitions=2)
    >>> plan = make_plan(spec)
    >>> len(plan.trials), plan.spec.title
    (4, 'Two learners')
    """

    spec: Spec
    planned: list[Planned]
    without_rule: set[tuple[str, str]]

    @property
    def trials(self) -> list[Trial]:
        """Distinct trials, in order."""
        return [*{one.trial.key: one.trial for one in self.planned}.values()]

    def part(self, datasets: Iterable[str] | None = None, learners: Iterable[str] | None = None) -> Plan:
        """Return the plan of some datasets and entries alone; what times or costs are relative to stays."""
        spec = self.spec
        some_data = _chosen("dataset", datasets, spec.datasets)
        names = _chosen("learner", learners, [*spec.learners])
        needed = {spec.baseline, *(spec.learners[name].over for name in names)}
        some = {name: entry for name, entry in spec.learners.items() if name in names or name in needed}
        kept = [one for one in self.planned if one.trial.dataset in some_data and one.learner in some]
        return Plan(spec.model_copy(update={"datasets": some_data, "learners": some}), kept, self.without_rule)


def _chosen(what: str, names: Iterable[str] | None, allowed: list[str]) -> list[str]:
    """Those of the allowed names that are wanted, all if nothing is said."""
    wanted = {*(allowed if names is None else names)}
    if unknown := sorted(wanted - {*allowed}):
        raise SpecError(f"The experiment has no {what} {unknown[0]!r}; it has {', '.join(allowed)}.")
    return [name for name in allowed if name in wanted]


def make_plan(spec: Spec) -> Plan:
    """Derive all trials of an experiment.

    A learner that is trained for a cost has a trial for each of the criteria; a learner that takes no cost, or that
    decides or chooses for any cost after training, has one trial for all of them.

    Examples
    --------
    BR is fitted once for both criteria, CLEMS for each of them:

    >>> from clems.experiments import Spec, make_plan
    >>> learners = {"br": {}, "clems": {}}
    >>> spec = Spec(title="x", datasets=["digit-scenes"], criteria=["f1", "rank"], learners=learners, repetitions=1)
    >>> len(make_plan(spec).trials)
    3
    """
    planned: list[Planned] = []
    own_costs = spec.own_costs()
    wanted = {name: [entry.cost] if entry.cost else spec.criteria for name, entry in spec.learners.items()}
    without_rule = {
        (name, criterion)
        for name, entry in spec.learners.items()
        if entry.learner is not None
        for criterion in wanted[name]
        if not answers(entry.learner(**_parameters(entry)), criterion, own_costs)
    }
    costs_of = {
        name: [cost for cost in criteria if (name, cost) not in without_rule] for name, criteria in wanted.items()
    }
    costs_of_kind: dict[str, set[str]] = {}  # what one fit decides for, whichever entry asks for it
    for name, entry in spec.learners.items():
        costs_of_kind.setdefault(entry.kind, set()).update(costs_of[name])
    checksums = {name: model_checksum(entry.model) for name, entry in spec.learners.items() if entry.model is not None}
    for dataset in spec.datasets:
        fingerprint = spec.fingerprint(dataset)
        for repetition, (name, entry) in product(range(repetitions(spec, dataset)), spec.learners.items()):
            if entry.repetitions is not None and repetition >= entry.repetitions:
                continue
            at_predict = tuple(sorted(costs_of_kind[entry.kind]))
            common: dict[str, Any] = {
                "dataset": dataset,
                "repetition": repetition,
                "kind": entry.kind,
                "split": spec.split.of(dataset),
                "seed": spec.seed,
                "fingerprint": fingerprint,
            }
            if entry.model is not None:
                common |= {"parameters": json.dumps({"model": checksums[name]}), "depths": (), "model": entry.model}
                costs = costs_of[name] if entry.learner is not None and entry.learner.cost_sensitive else [None]
                planned += [
                    Planned(name, None, entry.cost, Trial(cost=cost, costs=(cost,) if cost else (), **common))
                    for cost in costs
                ]
                continue
            for x, parameters in settings(spec, entry, dataset):
                learner = LEARNERS[entry.kind](**parameters)
                common["parameters"] = json.dumps(parameters, sort_keys=True)
                common["depths"] = tuple(map(_without_none, spec.depths)) if learner.depth_path else ()
                planned += [
                    Planned(name, x, entry.cost, Trial(cost=cost, costs=decided, **common))
                    for cost, decided in ways(learner, costs_of[name], at_predict, entry.trained_for)
                ]
    return Plan(spec, planned, without_rule)


def _parameters(entry: Entry) -> dict[str, Any]:
    """Return the parameters of an entry; estimators of a package that is not installed stay descriptions."""
    return built(entry.parameters) if entry.is_installed else entry.parameters


def answers(learner: MultiLabelClassifier, criterion: str, own_costs: Mapping[str, Cost]) -> bool:
    """Whether a learner has an answer for a criterion: it has a rule for it, or takes no cost at all.

    A criterion of rankings, such as P@3, wants scores of labels, too.
    """
    if ranking_named(criterion) and not ranks_labels(learner):
        return False
    if not (learner.cost_sensitive or learner.cost_at_predict):
        return True
    cost = own_costs.get(criterion, COSTS.get(criterion))
    return learner.label_based if cost is None else learner.supports(cost)


def ways(
    learner: MultiLabelClassifier, costs: list[str], at_predict: tuple[str, ...], trained_for: str | None = None
) -> list[tuple[str | None, tuple[str, ...]]]:
    """For which costs a learner is to be trained, and for which each of these fits decides."""
    if trained_for is not None:
        return [(trained_for, tuple(sorted(costs)))] if costs else []
    if learner.cost_after_fit or (learner.cost_at_predict and not learner.cost_at_fit):
        return [(None, at_predict)] if costs else []
    return [(cost, (cost,)) for cost in costs] if learner.cost_sensitive else [(None, ())]


def repetitions(spec: Spec, dataset: str) -> int:
    """Repetitions of trials on a dataset."""
    return spec.repetitions_on.get(dataset, spec.repetitions)


def settings(spec: Spec, entry: Entry, dataset: str) -> list[tuple[float | None, dict[str, Any]]]:
    """All parameters that an entry is tried with, and where each stands on the axis."""
    fixed = {"n_trees": spec.trees} | entry.parameters | entry.on.get(dataset, {})
    positions: list[tuple[float | None, dict[str, Any]]] = [(None, {})]
    if entry.along:
        ((name, values),) = entry.along.items()
        positions = [(x, {name: value}) for x, value in zip(entry.at or values, values, strict=True)]
    grid = [dict(zip(entry.grid, values, strict=True)) for values in product(*entry.grid.values())]
    return [(x, _without_none(fixed | at_x | chosen)) for (x, at_x), chosen in product(positions, grid)]


def _without_none(value: Any) -> Any:
    """Put None where the file says "none", in descriptions of estimators too."""
    if isinstance(value, dict):
        return {name: _without_none(part) for name, part in value.items()}
    return None if value == "none" else value
