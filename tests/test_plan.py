"""The plan of an experiment."""

import json
from itertools import product

import pytest
from small_experiment import spec_of

from clems.experiments.plan import make_plan
from clems.experiments.spec import SpecError


def test_learners_are_fitted_as_often_as_they_need():
    learners = {name: {} for name in ("br", "pcc", "clems", "cft", "sleec")}
    plan = make_plan(spec_of(learners=learners, criteria=["f1", "rank", "micro_f1"], repetitions=3))
    fits = {name: sum(trial.kind == name for trial in plan.trials) for name in learners}
    assert fits == {"br": 3, "pcc": 3, "clems": 9, "cft": 6, "sleec": 3}
    assert plan.without_rule == {("pcc", "micro_f1"), ("cft", "micro_f1"), ("sleec", "micro_f1")}
    assert len({trial.key for trial in plan.trials}) == len(plan.trials)


def test_entries_that_differ_in_name_alone_share_their_trials():
    twins = {"one": {"kind": "br"}, "two": {"kind": "br", "title": "another"}}
    plan = make_plan(spec_of(learners=twins, repetitions=2))
    assert (len(plan.planned), len(plan.trials)) == (4, 2)
    fixed = {"for f1": {"kind": "pcc", "cost": "f1"}, "for rank": {"kind": "pcc", "cost": "rank"}}
    plan = make_plan(spec_of(learners=fixed, criteria=["hamming"], repetitions=1))
    assert [trial.costs for trial in plan.trials] == [("f1", "rank")]


def test_grids_and_places():
    learners = {
        "plst": {"along": {"n_components": [0.5, 1.0]}, "grid": {"n_trees": [2, 3]}},
        "clems": {"parameters": {"depths": "none", "decoder": "nearest"}, "on": {"scenes": {"n_trees": 9}}},
    }
    plan = make_plan(spec_of(learners=learners, repetitions=1))
    found = [(one.x, json.loads(one.trial.parameters)) for one in plan.planned]
    assert [(x, own["n_components"], own["n_trees"]) for x, own in found[:-1]] == [
        (x, x, trees) for x, trees in product((0.5, 1.0), (2, 3))
    ]
    assert found[-1] == (None, {"decoder": "nearest", "depths": None, "n_trees": 9})
    assert plan.planned[-1].trial.depths == (2, 4)  # it no longer chooses for itself


def test_a_learner_may_have_fewer_repetitions_than_others():
    learners = {"br": {}, "cc": {"repetitions": 2}, "plst": {"repetitions": 9}}
    plan = make_plan(spec_of(learners=learners, repetitions=3))
    seen = {name: [one.trial.repetition for one in plan.planned if one.learner == name] for name in learners}
    assert seen == {"br": [0, 1, 2], "cc": [0, 1], "plst": [0, 1, 2]}


def test_a_part_of_a_plan():
    plan = make_plan(spec_of(learners={"br": {}, "cc": {}}, repetitions=1))
    assert [one.learner for one in plan.part(learners=["cc"]).planned] == ["cc"]
    assert plan.part(datasets=["scenes"]).planned == plan.planned
    assert [*plan.part(learners=["cc"]).spec.learners] == ["cc"]
    times = make_plan(spec_of(learners={"br": {}, "cc": {}, "plst": {}}, kind="times", baseline="br"))
    assert [*times.part(learners=["plst"]).spec.learners] == ["br", "plst"]
    with pytest.raises(SpecError, match="no dataset 'flags'; it has scenes"):
        plan.part(datasets=["flags"])
