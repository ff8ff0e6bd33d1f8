"""Choosing by validation against a plain loop, and means against scipy."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_records import FAILED, decision, make_plan, make_results, planned, record
from scipy import stats

from clems import CRITERIA
from clems.experiments.analysis.ranking import over_datasets
from clems.experiments.analysis.selection import results, summary
from clems.experiments.analysis.significance import against_best

COSTS = ["f1", "rank"]


few = st.sampled_from([0.0, 0.25, 0.5, 1.0])


numbers = st.fixed_dictionaries({"f1": few, "rank": few})


@st.composite
def stores(draw):
    """Plans with blind, cost-sensitive and fixed learners, grids and gaps."""
    places, records = [], {}
    entries = {"blind": ((), None), "sensitive": (("f1", "rank"), None), "fixed": (("f1",), "f1")}
    for (name, (costs, fixed)), repetition, n in product(entries.items(), range(2), range(3)):
        place = planned(name, "d", repetition, costs, json.dumps({"n": n}), fixed_cost=fixed)
        places.append(place)
        state = draw(st.sampled_from(["done", "done", "failed", "absent"]))
        if state == "failed":
            records[place.trial.key] = FAILED
        elif state == "done":
            made = [
                decision(draw(numbers), draw(numbers), cost, depth) for cost in costs or [None] for depth in (5, 10)
            ]
            records[place.trial.key] = record(*made, parameters={"n": n})
    return make_plan(draw(st.permutations(places)), COSTS), records


@given(stores())
@settings(max_examples=40)
def test_choosing_is_that_of_a_plain_loop(store):
    plan, records = store
    got = results(plan, records).set_index(["criterion", "learner", "repetition"])
    for criterion, learner, repetition in product(COSTS, ["blind", "sensitive", "fixed"], range(2)):
        best = None
        for one in plan.planned:
            if (one.learner, one.trial.repetition) != (learner, repetition):
                continue
            own = records.get(one.trial.key)
            if own is None or own["status"] == "failed":
                continue
            cost = {"blind": None, "sensitive": criterion, "fixed": "f1"}[learner]
            for made in own["decisions"]:
                if made["cost"] != cost:
                    continue
                value = made["validation"][criterion]
                if best is None or (value > best[0] if criterion == "f1" else value < best[0]):
                    best = value, made["test"][criterion], made["depth"], own["parameters"]
        line = got.loc[criterion, learner, repetition]
        if best is None:
            assert np.isnan(line["value"])
        else:
            assert (line["value"], line["depth"], json.loads(line["parameters"])) == best[1:]
        absent = [
            records.get(one.trial.key, FAILED) is FAILED
            for one in plan.planned
            if (one.learner, one.trial.repetition) == (learner, repetition)
        ]
        assert (line["options"], line["options_missing"]) == (3, sum(absent))


def test_without_validation_the_first_decision_is_taken():
    place = planned("a")
    made = record(decision({"f1": 0.1}, depth=5), decision({"f1": 0.9}, depth=10))
    line = results(make_plan([place]), {place.trial.key: made}).iloc[0]
    assert (line["value"], line["depth"], line["fit_seconds"], line["predict_seconds"]) == (0.1, 5, 1, 0.5)
    assert line["test_ratio"] == 25 / 75


def test_results_are_in_the_order_of_the_spec():
    places = [planned("b", "z", 1), planned("b", "z", 0), planned("a", "z", 0), planned("b", "y", 0, x=2.0)]
    plan = make_plan(places, ["rank", "f1"])
    frame = results(plan, {})
    assert frame["dataset"].tolist() == ["z"] * 6 + ["y"] * 2
    assert frame["criterion"].tolist()[:6] == ["rank"] * 3 + ["f1"] * 3
    assert frame[["learner", "repetition"]].to_numpy().tolist()[:3] == [["b", 0], ["b", 1], ["a", 0]]
    assert frame["value"].isna().all()


def test_learners_without_a_rule_have_no_results():
    places = [planned("a", costs=("f1", "rank")), planned("b", costs=("f1",)), planned("c")]
    frame = results(make_plan(places, COSTS, {("a", "rank")}), {})
    assert {*frame[["learner", "criterion"]].itertuples(index=False, name=None)} == {
        ("a", "f1"),
        ("b", "f1"),
        ("c", "f1"),
        ("c", "rank"),
    }


def test_a_plan_of_nothing_has_no_results():
    frame = results(make_plan([]), {})
    assert frame.empty
    assert summary(frame).empty
    assert against_best(frame).empty
    assert over_datasets(frame) == {}


table_values = st.lists(st.lists(few | st.none(), min_size=1, max_size=4), min_size=1, max_size=4)


@pytest.mark.parametrize("criterion", ["f1", "rank"])
@given(values=table_values)
@settings(max_examples=20)
def test_summary_is_scipys(criterion, values):
    frame, *_ = make_results({("d", f"l{n}"): own for n, own in enumerate(values)}, criterion)
    cells = summary(frame)
    present = [[value for value in own if value is not None] for own in values]
    assert cells["n"].tolist() == [len(own) for own in present]
    assert cells["planned"].tolist() == [len(own) for own in values]
    for own, mean, error in zip(present, cells["mean"], cells["standard_error"], strict=True):
        assert mean == pytest.approx(np.mean(own) if own else np.nan, nan_ok=True)
        assert error == pytest.approx(stats.sem(own) if len(own) > 1 else np.nan, nan_ok=True)
    means = cells["mean"].dropna()
    ranks = stats.rankdata(-CRITERIA[criterion].sign * means, method="min")
    assert cells.loc[means.index, "rank"].tolist() == ranks.tolist()
    assert cells.loc[cells["mean"].isna(), "rank"].isna().all()
    assert cells["is_best"].sum() == (ranks == 1).sum()


def test_only_the_same_positions_are_ranked():
    places = [planned("a", x=1.0), planned("a", x=2.0), planned("b", x=2.0), planned("c")]
    values = dict(zip((one.trial.key for one in places), [0.1, 0.2, 0.3, 0.4], strict=True))
    cells = summary(results(make_plan(places), {key: record(decision({"f1": own})) for key, own in values.items()}))
    assert cells.set_index(["learner", cells["x"].fillna(0)])["rank"].to_dict() == {
        ("a", 1.0): 1,
        ("a", 2.0): 2,
        ("b", 2.0): 1,
        ("c", 0.0): 1,
    }
