"""Specs, plans and trials: what a file may say, what it amounts to, and that a record holds what it should."""

import inspect
import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clems import CRITERIA, LEARNERS, f_beta, weighted_hamming
from clems.datasets import Dataset, digit_scenes
from clems.experiments.plan import SECONDS, estimate, make_plan, sizes_of
from clems.experiments.spec import SpecError, check_spec, read_spec
from clems.experiments.trial import Data, Trial, criterion_named, learner_of, parts_of, run_trial

SCENES, DIGITS = digit_scenes(160, random_state=0)
NAMES = [f"pixel {i}" for i in range(SCENES.shape[1])], [str(i) for i in range(10)]
DATA = Data(Dataset(SCENES, DIGITS, *NAMES, "scenes"))
PUBLISHED = Data(DATA.whole, 100)


def spec_of(**changes):
    given = {"title": "t", "datasets": ["scenes"], "data": {"scenes": DATA.whole}, "criteria": ["f1"]}
    return check_spec(given | {"learners": {"br": {}}, "trees": 3, "depths": [2, 4]} | changes)


def trial_of(kind, criteria=("f1",), split=None, **parameters):
    plan = make_plan(
        spec_of(learners={kind: {"parameters": parameters}}, criteria=[*criteria], repetitions=1, **split or {})
    )
    return plan.trials[0]


# --- specs ---


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": []}, "spec: datasets: List should have at least 1 item"),
        ({"datasets": ["emotion"]}, r"datasets: there is no dataset 'emotion'; did you mean 'emotions'\?"),
        ({"datasets": ["flags", "flags"]}, "spec: datasets: 'flags' is listed twice"),
        ({"criteria": ["f1", "recall"]}, "spec: criteria: there is no criterion 'recall'; allowed are accuracy"),
        ({"learners": {"svm": {}}}, "spec: learners.svm.kind: there is no learner 'svm'; allowed are br, cc, cft"),
        (
            {"learners": {"x": {"kind": "br", "deep": 1}}},
            "learners.x.deep: there is no such key; allowed are along, at",
        ),
        ({"learners": {"br": {"parameters": {"n_tree": 1}}}}, "br has no parameter 'n_tree' to set; it has estimator"),
        ({"learners": {"br": {"parameters": {"n_jobs": 1}}}}, "br has no parameter 'n_jobs' to set"),
        ({"learners": {"br": {"cost": "f1"}}}, "learners.br: br takes no cost"),
        ({"learners": {"clems": {"cost": "f3"}}}, "learners.clems.cost: there is no criterion 'f3'"),
        ({"learners": {"br": {"on": {"moon": {}}}}}, "learners.br.on: there is no dataset 'moon'"),
        ({"learners": {"plst": {"along": {"n_components": [1, 2]}, "at": [1.0]}}}, "at has 1 places for 2 values"),
        ({"learners": {"ecc": {"along": {"code": ["rrep"]}}}}, "along.code has values that are no numbers; at gives"),
        ({"learners": {"br": {"grid": {"n_trees": []}}}}, "learners.br: grid.n_trees has no values"),
        ({"costs": {"f1": weighted_hamming(1.0)}}, "costs.f1: the package has a criterion of this name"),
        ({"learners": {}}, "spec: learners: Dictionary should have at least 1 item"),
        ({"repetitions": 0}, "spec: repetitions: Input should be greater than or equal to 1"),
        ({"repetitions": "many"}, "spec: repetitions: Input should be a valid integer"),
        ({"split": {"train": 0.9, "test": 0.3}}, "spec: split: train, validation and test are together more than 1"),
        ({"split": {"kind": "odd"}}, "spec: split.kind: Input should be 'random' or 'published'"),
        ({"split": {"swapped": ["flags"]}}, "spec: split: swapped needs files to swap; use split.kind = 'published'"),
        ({"split": {"kind": "published", "swapped": ["moon"]}}, "split.swapped: there is no dataset 'moon'"),
        ({"kind": "times"}, "spec: baseline: times are relative to an entry; name it"),
        ({"kind": "curves"}, "spec: learners: curves need an entry with a parameter along the axis"),
        ({"baseline": "cc"}, "spec: baseline: there is no entry 'cc'; entries are br"),
        ({"tress": 5}, "spec: tress: there is no such key; allowed are baseline, costs, criteria"),
        ({"title": None}, "spec: title: Input should be a valid string"),
    ],
)
def test_a_wrong_file_is_told_with_its_key_and_what_is_allowed(changes, message):
    with pytest.raises(SpecError, match=message) as told:
        spec_of(**changes)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "is not TOML"),
        ('title = "t"\nprinted = "absent.csv"', "printed: there is no file"),
        ('title = "t"\n[data.own]\npath = "absent.csv"', "data.own.path: there is no file"),
        ('title = "t"\n[data.own]\npath = "spec.toml"', "the name does not tell the format"),
        (
            'title = "t"\n[data.own]\npath = "own.csv"\noptions = { label = "x" }',
            "no option 'label'; allowed are labels",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_told(text, message, tmp_path):
    path = tmp_path / "spec.toml"
    (tmp_path / "own.csv").write_text("a,b\n1,0\n")
    rest = '\ndatasets = ["flags"]\ncriteria = ["f1"]\nlearners.br = {}\n'
    head, _, tables = text.partition("\n[")
    path.write_text(head + rest + (f"[{tables}" if tables else ""))
    with pytest.raises(SpecError, match=message) as told:
        read_spec(path)
    assert str(path) in str(told.value)


def test_a_file_of_ones_own_is_read_as_it_says(tmp_path):
    lines = ["x,tag_a,tag_b", *(f"{i},{i % 2},{i % 3 == 0:d}" for i in range(12))]
    (tmp_path / "own.csv").write_text("\n".join(lines))
    (tmp_path / "spec.toml").write_text(
        'title = "t"\ndatasets = ["own"]\ncriteria = ["f1"]\nlearners.br = {}\n'
        '[data.own]\npath = "own.csv"\noptions = { labels = "tag_*" }\n'
    )
    spec = read_spec(tmp_path / "spec.toml")
    data = spec.load("own")
    assert data.n_train is None
    assert [*data.whole.label_names] == ["tag_a", "tag_b"]
    before = make_plan(spec).trials[0].key
    (tmp_path / "own.csv").write_text("\n".join([*lines, "99,1,1"]))
    assert make_plan(spec).trials[0].key != before


# --- plans ---


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


def test_keys_change_with_what_changes_the_numbers_alone():
    def keys(**changes):
        return {trial.key for trial in make_plan(spec_of(**changes)).trials}

    usual = keys(learners={"clems": {}})
    assert usual == keys(learners={"clems": {"title": "C", "notes": "n"}}, title="other", notes="n")
    assert usual < keys(learners={"clems": {}}, repetitions=6)
    assert usual < keys(learners={"clems": {}}, criteria=["rank", "f1"])
    assert usual == keys(learners={"clems": {}}, depths=[7])  # it chooses for itself
    for changes in (
        {"trees": 4},
        {"seed": 1},
        {"split": {"train": 0.4}},
        {"learners": {"clems": {"parameters": {"roles": "swapped"}}}},
        {"data": {"scenes": DATA.whole.take(slice(100))}},
        {"costs": {"own": weighted_hamming(1.0)}},
    ):
        assert not usual & keys(**{"learners": {"clems": {}}} | changes)
    assert not keys() & keys(depths=[7])
    prices = [keys(costs={"own": weighted_hamming(price)}, criteria=["own"]) for price in (1.0, 2.0, 2.0)]
    assert prices[0].isdisjoint(prices[1])
    assert prices[1] == prices[2]


FACTOR = 1


def scaled(factor, more=0):
    def wrong(Y, P, power=1 + more):
        return factor * abs(Y - P).sum(axis=1) ** power

    return wrong


NAMED = {"square": lambda number: number**2}  # which cannot be sent to other processes


def by_name(Y, P):
    return NAMED["square"](abs(Y - P).sum(axis=1))


def by_global(Y, P):
    return [FACTOR * twice(sum(int(a != b) for a, b in zip(y, p, strict=True))) for y, p in zip(Y, P, strict=True)]


def twice(number):
    return 2 * number


def test_functions_are_told_apart_by_all_that_they_refer_to(monkeypatch):
    def print_of(function):
        return spec_of(costs={"own": function}, criteria=["own"]).fingerprint("scenes")

    assert print_of(scaled(1)) == print_of(scaled(1))
    assert len({print_of(scaled(factor, more)) for factor in (1, 2) for more in (0, 1)}) == 4
    usual = print_of(by_global)
    exec(inspect.getsource(by_global), own := dict(globals()))
    assert print_of(own["by_global"]) == usual  # compiled anew, at another place in memory
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert print_of(by_global) != usual
    monkeypatch.undo()
    monkeypatch.setitem(globals(), "twice", lambda number: 3 * number)
    assert print_of(by_global) != usual
    monkeypatch.undo()
    assert print_of(by_name) not in (usual, print_of(scaled(1)))
    assert print_of(by_global) == usual == print_of(f"{__name__}:by_global")


def test_files_beside_the_data_count_and_are_seen_from_the_folder_of_the_spec(tmp_path):
    (tmp_path / "rows.csv").write_text("id,a\n" + "\n".join(f"{row},{row % 7}" for row in range(30)))
    text = 'title = "t"\ndatasets = ["own"]\ncriteria = ["f1"]\n[learners.br]\n[data.own]\npath = "rows.csv"\n'
    (tmp_path / "spec.toml").write_text(text + 'options = { pairs = "pairs.csv", row_id = "id" }')
    prints = []
    for step in (2, 2, 3):
        pairs = [f"{row},{'new' if row % step else 'old'}" for row in range(30)]
        (tmp_path / "pairs.csv").write_text("\n".join(["id,label", *pairs]))
        prints.append(read_spec(tmp_path / "spec.toml").fingerprint("own"))
    assert prints[0] == prints[1] != prints[2]


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


def test_a_part_of_a_plan():
    plan = make_plan(spec_of(learners={"br": {}, "cc": {}}, repetitions=1))
    assert [one.learner for one in plan.part(learners=["cc"]).planned] == ["cc"]
    assert plan.part(datasets=["scenes"]).planned == plan.planned
    assert [*plan.part(learners=["cc"]).spec.learners] == ["cc"]
    times = make_plan(spec_of(learners={"br": {}, "cc": {}, "plst": {}}, kind="times", baseline="br"))
    assert [*times.part(learners=["plst"]).spec.learners] == ["br", "plst"]
    with pytest.raises(SpecError, match="no dataset 'flags'; it has scenes"):
        plan.part(datasets=["flags"])


def test_time_is_estimated_from_what_was_run():
    spec = spec_of(learners={"br": {}, "cc": {}}, repetitions=2, datasets=["scenes", "flags"])
    plan, sizes = make_plan(spec), sizes_of(spec)
    assert sizes == pytest.approx({"scenes": 10 * 160**0.5, "flags": 7 * 194**0.5})
    done = [{"status": "done", "dataset": "flags", "kind": kind, "seconds": {"trial": 2.0}} for kind in ("br", "cc")]
    known = [trial for trial in plan.trials if trial.dataset == "flags"]
    assert estimate(known, sizes, done) == 8.0
    assert estimate(plan.trials, sizes, done) == pytest.approx(8 * (1 + sizes["scenes"] / sizes["flags"]))
    chains = [trial for trial in plan.trials if trial.kind == "cc"]
    assert estimate(chains, sizes, done[:1]) == pytest.approx(2 * sum(sizes.values()) * SECONDS["cc"] * 3 / 100)
    assert SECONDS.keys() == LEARNERS.keys()


# --- trials ---


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
        cost = {"cost": decision["cost"]} if model.cost_at_predict and not model.cost_at_fit else {}
        for part in ("validation", "test"):
            rows = getattr(parts, part)
            predicted = own.predict(SCENES[rows], **cost)
            assert decision[part].keys() == CRITERIA.keys()
            for name, criterion in CRITERIA.items():
                assert decision[part][name] == pytest.approx(criterion(DIGITS[rows], predicted), rel=1e-5)


def test_depths_beyond_the_deepest_tree_are_not_repeated():
    plan = make_plan(spec_of(learners={"br": {}}, depths=[2, 40, 50], repetitions=1))
    assert [decision["depth"] for decision in run_trial(plan.trials[0], DATA, {})["decisions"]] == [2, 40]


def test_costs_of_ones_own_are_trained_for_and_measured():
    prices = weighted_hamming([7.0] + [1.0] * 9)
    spec = spec_of(costs={"price": prices, "two": "clems.costs:f1"}, criteria=["price"], learners={"clems": {}})
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
    assert criterion_named("f1") is CRITERIA["f1"]
    assert f_beta(2).name not in CRITERIA
