"""A record holds what it should."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.preprocessing import MaxAbsScaler
from small_experiment import DATA, DIGITS, PUBLISHED, SCENES, spec_of, trial_of

from clems import CRITERIA, LEARNERS, f_beta, weighted_hamming
from clems.experiments.analysis.naming import criterion_named
from clems.experiments.environment import blas, versions
from clems.experiments.plan import make_plan
from clems.experiments.spec import SpecError
from clems.experiments.trial import Data, Trial, learner_of, parts_of, run_trial


@given(
    n=st.integers(8, 300),
    train=st.floats(0.2, 0.6),
    validation=st.floats(0, 0.2),
    test=st.floats(0.15, 0.2),
    repetition=st.integers(0, 9),
)
@settings(deadline=None, max_examples=50)
def test_parts_of_a_split_are_disjoint_and_of_their_size(n, train, validation, test, repetition):
    data = Data(DATA.whole.take(np.arange(n) % 160))
    trial = Trial("d", repetition, "br", None, (), "{}", (), ("random", train, validation, test), 0)
    parts = parts_of(trial, data)
    rows = np.concatenate([parts.train, parts.validation, parts.test])
    assert len({*rows.tolist()}) == len(rows)
    assert rows.max() < n
    for part, share in ((parts.train, train), (parts.validation, validation), (parts.test, test)):
        assert abs(len(part) - share * n) <= 1
    assert parts.train_for_test is not None
    assert np.array_equal(parts.train, parts_of(trial, data).train)


def test_a_published_split_is_kept_and_all_of_its_training_rows_are_used_in_the_end():
    trial = trial_of("br", split={"split": {"kind": "published", "validation": 0.2}, "data": {"scenes": DATA.whole}})
    parts = parts_of(trial, PUBLISHED)
    assert parts.test.tolist() == [*range(100, 160)]
    assert sorted([*parts.train, *parts.validation]) == sorted(parts.train_for_test) == [*range(100)]
    assert len(parts.validation) == 20
    record = run_trial(trial, PUBLISHED, {})
    tuned, final = (
        learner_of(trial, {}).fit(SCENES[rows], DIGITS[rows]) for rows in (parts.train, parts.train_for_test)
    )
    for decision in record["decisions"]:
        for part, model in (("validation", tuned), ("test", final)):
            rows = getattr(parts, part)
            predicted = model.at_depth(decision["depth"]).predict(SCENES[rows])
            assert decision[part]["f1"] == pytest.approx(CRITERIA["f1"](DIGITS[rows], predicted), rel=1e-5)


def test_files_of_a_published_split_can_be_swapped():
    split = {"kind": "published", "validation": 0.2}
    given = {"datasets": ["digit-scenes", "scenes"], "repetitions": 1}
    plain, swapped = (spec_of(split=split | own, **given) for own in ({}, {"swapped": ["digit-scenes"]}))
    usual, other = (spec.load("digit-scenes") for spec in (plain, swapped))
    n = len(usual.whole.X)
    assert (usual.n_train, other.n_train) == (3000, 1000)
    assert np.array_equal(other.whole.Y, np.roll(usual.whole.Y, 1000, axis=0))
    trials = [make_plan(spec).trials for spec in (plain, swapped)]
    assert [one.key == two.key for one, two in zip(*trials, strict=True)] == [False, True]
    parts = parts_of(trials[1][0], other)
    assert parts.test.tolist() == [*range(1000, n)]
    assert (len(parts.train), len(parts.validation), len(parts.train_for_test)) == (800, 200, 1000)


def test_a_training_file_can_be_divided_by_itself():
    usual, other = (
        make_plan(spec_of(repetitions=1, split=split | {"training_file": ["scenes"]})).trials[0]
        for split in ({}, {"swapped": ["scenes"]})
    )
    parts = parts_of(usual, PUBLISHED)
    rows = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(rows) == [*range(100)]
    assert np.array_equal(parts.train, parts.train_for_test)
    assert [len(parts.train), len(parts.validation), len(parts.test)] == [50, 25, 25]
    assert len({trial.key for trial in (usual, other, trial_of("br"))}) == 3


def test_one_fit_for_a_cost_decides_for_what_is_reported():
    learners = {"clems": {"trained_for": "rank"}}
    (trial,) = make_plan(spec_of(learners=learners, criteria=["micro_f1", "f1"], repetitions=1)).trials
    assert (trial.cost, trial.costs) == ("rank", ("f1", "micro_f1"))
    record = run_trial(trial, DATA, {})
    parts = parts_of(trial, DATA)
    model = learner_of(trial, {}).fit(SCENES[parts.train], DIGITS[parts.train])
    assert model.cost == "rank"
    assert [decision["cost"] for decision in record["decisions"]] == ["f1", "micro_f1"]
    for decision in record["decisions"]:
        predicted = model.predict(SCENES[parts.test], cost=decision["cost"])
        for name, criterion in CRITERIA.items():
            assert decision["test"][name] == pytest.approx(criterion(DIGITS[parts.test], predicted), rel=1e-5)


def test_estimators_are_made_of_their_description():
    described = {"class": "sklearn.ensemble:RandomForestRegressor", "n_estimators": 4, "max_depth": "none"}
    plan = make_plan(spec_of(learners={"clems": {"parameters": {"estimator": described}}}, repetitions=1))
    parameters = json.loads(plan.trials[0].parameters)
    assert parameters["estimator"] == described | {"max_depth": None}
    forest = learner_of(plan.trials[0], {}).estimator
    assert isinstance(forest, RandomForestRegressor)
    assert (forest.n_estimators, forest.max_depth) == (4, None)
    assert run_trial(plan.trials[0], DATA, {})["parameters"] == parameters


def test_estimators_within_others_are_made_of_their_description():
    scaled = ["scaled", {"class": "sklearn.preprocessing:MaxAbsScaler"}]
    machine = ["machine", {"class": "sklearn.svm:LinearSVC", "C": 3}]
    described = {"class": "sklearn.pipeline:Pipeline", "steps": [scaled, machine]}
    plan = make_plan(spec_of(learners={"br": {"parameters": {"estimator": described}}}, repetitions=1))
    (_, scaler), (_, classifier) = learner_of(plan.trials[0], {}).estimator.steps
    assert isinstance(scaler, MaxAbsScaler)
    assert classifier.C == 3
    assert json.loads(json.dumps(run_trial(plan.trials[0], DATA, {})))["parameters"]["estimator"] == described


def test_a_record_says_what_its_numbers_depend_on():
    record = run_trial(trial_of("br"), DATA, {})
    assert record["versions"] == versions()
    assert [one["architecture"] for one in record["blas"]] == [one["architecture"] for one in blas()]


CHEAP = {"cft": {"n_rounds": 1}, "pcc": {"n_samples": 10}}


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_record_holds_every_criterion_of_every_decision(kind):
    trial = trial_of(kind, ["f1", "rank"], **CHEAP.get(kind, {}))
    record = run_trial(trial, DATA, {})
    assert json.loads(json.dumps(record)) == record
    assert record["key"] == trial.key
    parts = parts_of(trial, DATA)
    model = learner_of(trial, {}).fit(SCENES[parts.train], DIGITS[parts.train])
    costs = trial.costs or (None,)
    assert {decision["cost"] for decision in record["decisions"]} == {*costs}
    for decision in record["decisions"]:
        own = model if decision["depth"] is None else model.at_depth(decision["depth"])
        own = own.with_cost(decision["cost"]) if model.cost_after_fit else own
        cost = {"cost": decision["cost"]} if model.cost_at_predict and not model.cost_at_fit else {}
        for part in ("validation", "test"):
            rows = getattr(parts, part)
            predicted = own.predict(SCENES[rows], **cost)
            assert decision[part].keys() == CRITERIA.keys()
            for name, criterion in CRITERIA.items():
                assert decision[part][name] == pytest.approx(criterion(DIGITS[rows], predicted), rel=1e-5)
        assert ("expected" in decision) == hasattr(own, "expected_cost")
        if "expected" in decision:
            assert decision["expected"] == pytest.approx(own.expected_cost(SCENES[parts.test], **cost).mean(), rel=1e-5)
        held_out = getattr(own, "oob_cost_", getattr(own, "held_out_cost_", np.nan))
        assert decision.get("held_out", np.nan) == pytest.approx(held_out, rel=1e-5, nan_ok=True)


def test_depths_beyond_the_deepest_tree_are_not_repeated():
    plan = make_plan(spec_of(learners={"br": {}}, depths=[2, 40, 50], repetitions=1))
    assert [decision["depth"] for decision in run_trial(plan.trials[0], DATA, {})["decisions"]] == [2, 40]


def test_the_last_depth_may_be_none_at_all():
    plan = make_plan(spec_of(learners={"br": {}}, depths=[1, 2, "none"], repetitions=1))
    decisions = run_trial(plan.trials[0], DATA, {})["decisions"]
    assert [decision["depth"] for decision in decisions] == [1, 2, None]
    full = make_plan(spec_of(learners={"br": {}}, depths=[50], repetitions=1))
    assert decisions[-1]["test"] == run_trial(full.trials[0], DATA, {})["decisions"][0]["test"] != decisions[-2]["test"]


@pytest.mark.parametrize("own", [f_beta(0.5), weighted_hamming(2.0)])
def test_what_is_ones_own_is_recorded_as_a_cost(own):
    plan = make_plan(spec_of(costs={"own": own}, criteria=["own"], repetitions=1))
    record = run_trial(plan.trials[0], DATA, plan.spec.own_costs())
    parts = parts_of(plan.trials[0], DATA)
    model = learner_of(plan.trials[0], {}).fit(SCENES[parts.train], DIGITS[parts.train])
    for decision in record["decisions"]:
        predicted = model.at_depth(decision["depth"]).predict(SCENES[parts.test])
        paid = own.rowwise(DIGITS[parts.test], predicted).mean()
        assert decision["test"]["own"] == pytest.approx(paid, rel=1e-5)
    assert not criterion_named("own").greater_is_better


def test_costs_of_ones_own_are_trained_for_and_measured():
    prices = weighted_hamming([7.0] + [1.0] * 9)
    spec = spec_of(
        costs={"price": prices, "two": "clems.costs.formulas:f1"}, criteria=["price"], learners={"clems": {}}
    )
    trial = make_plan(spec).trials[0]
    assert trial.costs == ("price",)
    with pytest.raises(SpecError, match=r"costs.x: no.such:thing cannot be imported"):
        spec_of(costs={"x": "no.such:thing"}).own_costs()
    record = run_trial(trial, DATA, {"price": spec_of(costs={"price": prices}).own_costs()["price"]})
    parts = parts_of(trial, DATA)
    model = learner_of(trial, {"price": prices}).fit(SCENES[parts.train], DIGITS[parts.train])
    realised = prices.rowwise(DIGITS[parts.test], model.predict(SCENES[parts.test])).mean()
    assert record["decisions"][0]["test"]["price"] == pytest.approx(realised, rel=1e-5)
    assert not criterion_named("price").greater_is_better


def test_peeping_candidates_are_those_of_the_test_rows_too():
    plan = make_plan(spec_of(learners={"clems": {"parameters": {"candidates": ["extend", "test"]}}}, repetitions=1))
    trial = plan.trials[0]
    parts = parts_of(trial, DATA)
    model = learner_of(trial, {}, DIGITS[parts.test]).fit(SCENES[parts.train], DIGITS[parts.train])
    seen = {tuple(row) for row in DIGITS[np.concatenate([parts.train, parts.test])]}
    assert {tuple(row) for row in model.candidates_.labels} == seen


def test_names_of_criteria_that_are_computed():
    assert criterion_named("f1") == CRITERIA["f1"]
    assert f_beta(2).name not in CRITERIA
