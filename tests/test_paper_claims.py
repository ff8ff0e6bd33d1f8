"""What docs/paper.md says of the paper's claims is what records say, counted once more with plain numpy."""

import json
import re

import made_records
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy import stats

from clems.experiments import Plan
from clems.experiments.analysis.selection import results
from tools.paper_claims import CLAIMS, cost_sensitive
from tools.paper_claims.bound import BOUND
from tools.paper_claims.counting import VERDICTS, against_position, duels
from tools.paper_claims.page import FIGURES, PAGE, renewed
from tools.paper_claims.records import ENOUGH, ROOT, Evidence, has_a_dataset, what_is_there

LEVELS = {"br": 0.50, "cc": 0.51, "pcc": 0.55, "cft": 0.53, "clems-nearest": 0.55, "clems": 0.57}
SHARE = 25 / 75  # test rows by training and validation rows, as `made_records.record` has them
LOST = {("q", "pcc", 5), ("q", "br", 0), *(("r", "cft", repetition) for repetition in range(1, 6))}


def value_of(criterion, value):
    return 3 - 2 * value if criterion == "rank" else value  # less is better


@pytest.fixture
def store():
    """Values by dataset, learner and repetition, and the plan and records of a part of them."""
    rng, values, places, records = np.random.default_rng(0), {}, [], {}
    for dataset in "pqr":
        for repetition in range(6):
            shared = rng.normal(0, 0.05)
            for learner, level in LEVELS.items():
                one = made_records.planned(learner, dataset, repetition)
                one.trial.cost = None
                places.append(one)
                if (dataset, learner, repetition) in LOST:
                    continue
                value = values[dataset, learner, repetition] = level + shared + rng.normal(0, 0.02)
                test = {name: value_of(name, value) for name in ("f1", "rank")}
                records[one.trial.key] = made_records.record(made_records.decision(test))
    return values, made_records.make_plan(places, ["f1", "rank"]), records


@pytest.fixture
def evidence(store, monkeypatch):
    _, plan, records = store
    there = what_is_there(plan, records)
    found = Evidence("table2", there, records, ROOT / "experiments/paper/table2.toml", ROOT / "results/table2")
    monkeypatch.setattr(cost_sensitive, "evidence", lambda name: found)
    yield found
    plt.close("all")


def p_of(differences):
    J = len(differences)
    spread = np.sqrt((1 / J + SHARE) * differences.var(ddof=1))
    return 2 * stats.t.sf(abs(differences.mean()) / spread, J - 1)


def counted(values, learner, rivals):
    """Rows in which a learner is better and worse than each rival, and significantly so by Holm's correction."""
    tally = dict.fromkeys(VERDICTS, 0)
    for dataset in "pqr":
        for sign in (1, -1):  # F1, and rank loss, where all values are turned over and twice as far apart
            found = []
            for rival in rivals:
                own, other = (
                    {r: values[dataset, name, r] for r in range(6) if (dataset, name, r) in values}
                    for name in (learner, rival)
                )
                common = sorted(own.keys() & other.keys())
                if min(len(own), len(other)) >= ENOUGH:
                    gains = np.array([own[r] - other[r] for r in common]) * (1 if sign > 0 else 2)
                    found.append((p_of(gains), gains.mean()))
            left = len(found)
            most = 0.0
            for p, gain in sorted(found):
                most = max(most, p * left)
                left -= 1
                sure = most < 0.05
                tally[("ahead" if sure else "better") if gain > 0 else ("behind" if sure else "worse")] += 1
    return tally


def said(text):
    """Numbers of "better in 5 of 6 rows (2 significantly) and worse in 1 (0 significantly)", wherever it stands."""
    form = r"better in (\d+) of (\d+) \w+ \((\d+) significantly\) and worse in (\d+) \((\d+) significantly\)"
    return [tuple(map(int, found)) for found in re.findall(form, " ".join(text.split()))]


def expected(tally):
    better, worse = tally["ahead"] + tally["better"], tally["behind"] + tally["worse"]
    return better, better + worse, tally["ahead"], worse, tally["behind"]


def test_counts_of_a_claim_are_those_of_the_records(store, evidence):
    values, *_ = store
    text = CLAIMS["sensitive"]().text("sensitive")
    wanted = [expected(counted(values, name, ["br", "cc"])) for name in ("clems-nearest", "pcc", "cft")]
    assert said(text) == wanted
    assert wanted[-1][1] == 8  # CFT has one repetition on r, which is too few to count
    assert "3 datasets: p and r (6 repetitions); q (5 to 6 repetitions)" in " ".join(text.split())


def test_first_places_are_those_of_the_records(store, evidence):
    values, *_ = store
    first = dict.fromkeys(LEVELS, 0)
    for dataset in "pqr":
        kept = {name: [values[dataset, name, r] for r in range(6) if (dataset, name, r) in values] for name in LEVELS}
        means = {name: np.mean(own) for name, own in kept.items() if len(own) >= ENOUGH}
        first[max(means, key=means.get)] += 2  # by F1 and by rank loss
    text = CLAIMS["default"]().text("default")
    rows = made_records.rows_of(text.partition("| mean rank")[0])
    assert {row[0].removeprefix("The "): int(row[1]) for row in rows} == first
    assert {row[0].removeprefix("The "): (int(row[3]), int(row[4])) for row in rows}["cft"] == (4, 2)


def test_differences_are_of_repetitions_that_both_have(store):
    values, plan, records = store
    found = duels(results(plan, records), "clems", ["pcc"]).set_index(["dataset", "criterion"])
    common = [r for r in range(6) if ("q", "pcc", r) in values]
    gain = np.mean([values["q", "clems", r] - values["q", "pcc", r] for r in common])
    assert found.loc[("q", "f1"), "pairs"].item() == len(common) == 5
    mean = np.mean([values["q", "pcc", r] for r in common])
    assert found.loc[("q", "f1"), "percent"].item() == pytest.approx(100 * gain / mean)


def test_a_position_is_compared_with_the_base():
    frame = pd.DataFrame(
        [("d", "f1", "a", x, r, 0.5 + 0.1 * x + 0.001 * x * r, 1 / 3) for x in (0.5, 1.0, 2.0) for r in range(4)],
        columns=["dataset", "criterion", "learner", "x", "repetition", "value", "test_ratio"],
    )
    found = against_position(frame, 1.0).set_index("x")
    base, half = (0.5 + 0.1 * x + 0.0015 * x for x in (1.0, 0.5))
    assert found.loc[0.5, "percent"] == pytest.approx(100 * (half - base) / base)
    assert found["verdict"].to_dict() == {0.5: "behind", 1.0: "base", 2.0: "ahead"}


def test_an_earlier_version_stands_in_until_a_dataset_is_whole(store):
    _, plan, records = store
    assert has_a_dataset(what_is_there(plan, records), plan)
    few = {one.trial.key for one in plan.planned if one.trial.repetition < 2 or one.learner == "br"}
    some = Plan(plan.spec, plan.planned, set())
    there = what_is_there(some, {key: one for key, one in records.items() if key in few})
    assert {one.learner for one in there.planned} == {"br"}
    assert not has_a_dataset(there, plan)


def test_the_page_has_a_place_and_a_picture_for_each_claim():
    page = PAGE.read_text()
    for name in CLAIMS:
        assert renewed(page, name, "new").count("\nnew\n") == 1
    assert len(re.findall("<!-- claims ", page)) == len(CLAIMS)
    pictures = re.findall(r"\]\(figures/(paper-.*\.svg)\)", page)
    assert {path.name for path in FIGURES.glob("paper-*.svg")} == {*pictures}
    with pytest.raises(ValueError, match="has no place for nothing"):
        renewed(page, "nothing", "new")


def test_claims_of_the_summary_are_those_of_the_headings():
    page = PAGE.read_text()
    verdicts = {"agreed", "refuted", "improved", "not settled"}
    headings = dict(re.findall(r"^### (.*): (.*)$", page, re.MULTILINE))
    assert {*headings.values()} == verdicts
    listed = dict(re.findall(r"^\| \[([^\]]*)\]\(#\S*\) \| ([a-z ]*)", page, re.MULTILINE))
    assert {claim: verdict.strip() for claim, verdict in listed.items()} == headings


def test_theorems_bound_is_measured_as_the_page_says():
    made = json.loads(BOUND.read_text())["rows"]
    mirrored = [row for row in made if row["roles"] == "mirrored"]
    broken, n = sum(row["broken"] for row in mirrored), sum(row["n"] for row in mirrored)
    page = " ".join(PAGE.read_text().split())
    assert f"With truth points learned, the cost is above the bound on {broken:,} of {n:,} rows" in page
