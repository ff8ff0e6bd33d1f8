"""Choosing by validation against a plain loop, and statistics against scipy, statsmodels and formulas by hand."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_records import FAILED, decision, make_plan, planned, record
from scipy import stats

from clems import CRITERIA
from clems.experiments.selection import missing, results, summary
from clems.experiments.significance import (
    Ranking,
    against_best,
    corrected_t_test,
    holm,
    interval,
    near_best,
    over_datasets,
)
from clems.experiments.times import time_ratios


def make_results(values, criterion="f1", without_rule=()):
    """Results, plan and records from values by (dataset, learner), a list over repetitions; None is missing."""
    places, records = [], {}
    for (dataset, learner), own in values.items():
        for repetition, value in enumerate(own):
            places.append(planned(learner, dataset, repetition))
            if value is not None:
                records[places[-1].trial.key] = record(decision({criterion: value}))
    plan = make_plan(places, [criterion], without_rule)
    return results(plan, records), plan, records


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


def test_missing_trials_are_told():
    places = [planned("a", "d", n) for n in range(3)] + [planned("b", "e", n) for n in range(2)]
    keys = [one.trial.key for one in places]
    records = {keys[0]: record(decision({"f1": 1.0})), keys[1]: FAILED, keys[4]: record(decision({"f1": 1.0}))}
    own = missing(make_plan(places), records)
    assert own.sentences == [
        "3 of 5 trials are missing: a on d (2), b on e (1).",
        "a failed on d once: ValueError: too few rows.",
    ]
    twins = [planned("a"), planned("a")]
    twins[1].learner = "b"  # of the same trial
    assert missing(make_plan(twins), {}).sentences == ["1 of 1 trial is missing: a on d (1), b on d (1)."]
    whole = missing(make_plan(places), dict.fromkeys(keys, record(decision({"f1": 1.0}))))
    assert (whole.planned, whole.missing, whole.sentences) == (5, 0, [])


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


def test_interval_is_scipys():
    own = [0.1, 0.4, 0.2, 0.5]
    wanted = stats.ttest_1samp(own, 0).confidence_interval(0.95)
    assert interval(np.mean(own), stats.sem(own), 4) == pytest.approx((wanted.low, wanted.high))
    assert np.isnan(interval(0.1, np.nan, 1)).all()


differences = st.lists(st.floats(-1, 1).map(lambda own: round(own, 3)), min_size=2, max_size=8)


@given(differences)
def test_without_overlap_the_corrected_test_is_the_paired_t_test(own):
    if np.std(own) > 1e-9:
        assert corrected_t_test(own, 0.0) == pytest.approx(stats.ttest_1samp(own, 0).pvalue)
        assert corrected_t_test(own, 1 / 3) >= corrected_t_test(own, 0.0)
    assert corrected_t_test(own, 1 / 3) == pytest.approx(corrected_t_test([-one for one in own], 1 / 3))


def test_corrected_test_by_hand():
    own = np.array([0.02, 0.05, -0.01, 0.04])
    t = 0.025 / np.sqrt((1 / 4 + 0.5) * own.var(ddof=1))
    assert corrected_t_test(own, 0.5) == pytest.approx(2 * stats.t.sf(t, 3))
    assert corrected_t_test([0, 0, 0], 0.5) == 1
    assert corrected_t_test([0.1, 0.1, 0.1], 0.5) == 0
    assert np.isnan(corrected_t_test([0.1], 0.5))
    assert np.isnan(corrected_t_test([0.1, 0.2], np.nan))


def test_holm_is_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for p in np.random.default_rng(0).uniform(0, 0.1, (4, 12)).round(2):  # with ties
        assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])
        assert holm([np.nan, *p])[1:] == pytest.approx(holm(p))
        assert np.isnan(holm([np.nan, *p])[0])
    assert holm([]).size == 0


@pytest.mark.parametrize("criterion", ["f1", "rank"])
def test_rivals_are_tested_against_the_best(criterion):
    rng = np.random.default_rng(0)
    common, sign = rng.normal(0, 1, 10), CRITERIA[criterion].sign
    near, far = rng.normal(0.01, 0.1, 10), rng.normal(2, 0.1, 10)
    lost = {"best": np.zeros(10), "near": np.abs(near.mean()) + near - near.mean(), "far": far}
    frame, *_ = make_results({("d", name): [*(common - sign * own)] for name, own in lost.items()}, criterion)
    tests = against_best(frame).set_index("learner")
    assert tests["best"].unique().tolist() == ["best"]
    assert tests["worse"].to_dict() == {"near": False, "far": True}
    p = [corrected_t_test(lost[name], 1 / 3) for name in ("near", "far")]
    assert tests["p"].tolist() == pytest.approx(p)
    assert tests["p_holm"].tolist() == pytest.approx(holm(p))
    assert (tests["pairs"] == 10).all()


def test_tests_need_two_common_repetitions():
    values = {("d", "a"): [0.9, 0.8, None], ("d", "b"): [0.1, None, 0.2], ("d", "c"): [None, None, None]}
    tests = against_best(make_results(values)[0])
    assert tests["pairs"].tolist() == [1, 0]
    assert tests["p_holm"].isna().all()
    assert not tests["worse"].any()
    assert against_best(make_results({("d", "a"): [None]})[0]).empty


def many(datasets, learners, criterion="f1", gaps=()):
    rng = np.random.default_rng(1)
    values = {(d, learner): [*(n + rng.normal(0, 0.6, 2))] for d in datasets for n, learner in enumerate(learners)}
    return make_results(values | {gap: [None, 0.5] for gap in gaps}, criterion)[0]


@pytest.mark.parametrize("criterion", ["f1", "rank"])
def test_ranks_over_datasets_are_those_of_other_packages(criterion):
    posthocs = pytest.importorskip("scikit_posthocs")
    frame = many("pqrstu", "abcd", criterion)
    own = over_datasets(frame)[criterion]
    means = summary(frame).pivot(index="dataset", columns="learner", values="mean") * -CRITERIA[criterion].sign
    wanted = np.mean([stats.rankdata(row) for row in means.to_numpy()], axis=0)
    assert own.ranks[list("abcd")].tolist() == pytest.approx(wanted)
    assert own.ranks.is_monotonic_increasing
    assert (own.statistic, own.p) == pytest.approx(tuple(stats.friedmanchisquare(*means.to_numpy().T)))
    nemenyi = posthocs.posthoc_nemenyi_friedman(means.to_numpy())
    assert own.p_values.loc[list("abcd"), list("abcd")].to_numpy() == pytest.approx(nemenyi.to_numpy(), abs=1e-6)
    assert own.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 6)), abs=1e-3)  # Demšar's table 5
    assert (own.datasets, own.learners, own.left_out) == (tuple("pqrstu"), tuple("abcd"), ())


def test_ranks_are_of_the_greatest_complete_block():
    own = over_datasets(many("pqrst", "abcd", gaps=[("p", "a"), ("t", "a"), ("p", "b")]))["f1"]
    assert isinstance(own, Ranking)
    assert (own.datasets, own.learners, own.left_out) == (tuple("qrst"), tuple("bcd"), ("p", "a"))
    few_of_them = over_datasets(many("pqr", "abc", gaps=[("p", "a")]))["f1"]
    assert few_of_them.startswith("Ranks over datasets need at least 3 datasets")


def test_equal_learners_do_not_differ():
    frame, *_ = make_results({(d, learner): [0.5, 0.5] for d in "pqr" for learner in "abc"})
    own = over_datasets(frame)["f1"]
    assert (own.p, own.ranks.tolist(), own.as_good) == (1, [2, 2, 2], ["a", "b", "c"])


def test_times_are_geometric_means_of_paired_ratios():
    places = [planned(name, "d", n) for name in ("br", "a") for n in range(3)]
    seconds = [(1, 1), (2, 1), (4, 1), (2, 1), (2, 1), (None, None)]
    records = {
        one.trial.key: record(decision({"f1": 0.5}), fit=fit, predict=predict)
        for one, (fit, predict) in zip(places, seconds, strict=True)
        if fit
    }
    frame = results(make_plan(places), records)
    own = time_ratios(frame, "br").set_index(["learner", "phase"])
    assert own.loc[("a", "training"), "factor"] == pytest.approx(np.sqrt(2 * 1))
    assert own.loc[("a", "total"), "factor"] == pytest.approx(np.sqrt(3 / 2 * 3 / 3))
    assert own.loc[("br", "total"), "factor"] == pytest.approx(1)
    assert own.loc[("br", "training"), "seconds"] == pytest.approx(7 / 3)
    assert own.loc[("a", "training"), "low"] < np.sqrt(2) < own.loc[("a", "training"), "high"]
    assert time_ratios(frame, None)["factor"].isna().all()


def test_near_the_best_is_within_its_standard_error():
    spread = [0.4, 0.5, 0.6]  # standard error 0.058
    values = {
        ("d", "best"): spread,
        ("d", "near"): [0.45, 0.45, 0.45],
        ("d", "far"): [0.44, 0.44, 0.44],
        ("d", "partial"): [0.9, None, 0.9],
        ("e", "best"): [0.3, 0.3, 0.3],
        ("e", "far"): [0.7, 0.7, 0.7],
        ("f", "best"): [0.3, 0.3, 0.3],  # alone
    }
    assert near_best(make_results(values)[0]) == {"best": (1, 2), "near": (1, 1), "far": (1, 2)}
    assert near_best(make_results(values, "rank")[0]) == {"best": (1, 2), "near": (0, 1), "far": (1, 2)}
