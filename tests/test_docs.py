"""What the documentation shows is what the code does."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from test_imports import ORDER

import clems
from clems.costs import formulas as costs
from clems.datasets import DataError, digit_scenes, read_arff, read_table
from clems.decisions.rules import RULES, rule_for
from tools import learners_table
from tools import map as source_map

ROOT = Path(__file__).parents[1]

MODULES = [module.name for module in pkgutil.walk_packages(clems.__path__, "clems.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(module).failed == 0


def test_everything_public_is_documented():
    assert sorted(clems.__all__) == sorted(set(clems.__all__))
    for name in clems.__all__:
        documented = getattr(clems, name)
        assert isinstance(documented, dict) or documented.__doc__, name


def test_everything_public_is_where_it_is_said_to_be():
    """A module of a package is there only once something has imported it, so the package must list it."""
    for name, home in clems._HOMES.items():
        package = importlib.import_module(f"clems.{home}")
        assert name in getattr(package, "__all__", vars(package)), name


def test_the_contributing_page_shows_the_real_code():
    page = ROOT.joinpath("CONTRIBUTING.md").read_text()
    assert f"```python\n{inspect.getsource(costs.f1)}```" in page


def test_the_map_of_the_source_is_true():
    page = ROOT.joinpath("CONTRIBUTING.md").read_text()
    assert page == source_map.replaced(page), "python -m tools.map writes it anew"


def test_the_map_and_the_order_of_imports_agree():
    assert [name for name in ORDER if name != "__main__"] == source_map.ORDER


def test_the_table_of_costs_is_true():
    page = ROOT.joinpath("docs/costs.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert {name for name, *_ in rows} == set(clems.COSTS)
    for name, _, symmetric, separating, reported in rows:
        cost = clems.COSTS[name]
        assert (symmetric == "yes", separating == "yes") == (cost.symmetric, cost.separating)
        assert (reported == "score ↑") == cost.as_score


def tables_of(page):
    """Rows of the tables of a page, cell by cell, without their heads."""
    lines = ROOT.joinpath(page).read_text().splitlines()
    tables = [[]]
    for line in lines:
        if line.startswith("| "):
            tables[-1].append(line.strip("| ").split(" | "))
        elif tables[-1] and not line.startswith("|"):
            tables.append([])
    return [rows[1:] for rows in tables if rows]


def test_the_tables_of_learners_and_rules_are_true():
    learners, rules = tables_of("docs/learners.md")
    assert [name for name, *_ in learners] == sorted(clems.LEARNERS)
    page = ROOT.joinpath("docs/learners.md").read_text()
    assert page == learners_table.renewed(page), "python -m tools.learners_table writes it anew"
    for name, shown, used, built_on, probabilities, code, *_ in learners:
        learner = clems.LEARNERS[name]
        assert code in ("reduction", "expansion", "none")
        assert learner.__name__ in page.partition("```mermaid")[2].partition("```")[0]
        assert shown == f"`{learner.__name__}`"
        times = {"training": learner.cost_at_fit, "prediction": learner.cost_at_predict}
        when = "in " + " and ".join(time for time, used_then in times.items() if used_then)
        when = when if learner.cost_sensitive else "no"
        assert (used, built_on) == (when, learner.predictor)
        assert probabilities == ("yes" if hasattr(learner(), "predict_proba") else "no")
    assert [name for name, *_ in rules] == list(RULES)
    decided = {name: {*costs.split(", ")} for name, costs, _ in rules}
    for cost in (*clems.COSTS.values(), clems.weighted_hamming(1)):
        assert [name for name, costs in decided.items() if cost.name in costs] == [
            name for name, rule in RULES.items() if rule is rule_for(cost)
        ]


def test_the_readme_shows_other_learners():
    section = ROOT.joinpath("README.md").read_text().partition("## Other learners\n")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    X, Y = digit_scenes(60, random_state=0)
    exec(code, names := {"X": X[:40], "Y": Y[:40, :3], "X_new": X[40:]})
    assert names["model"].predict_proba(X[40:]).shape == (20, 3)


@pytest.mark.parametrize(
    ("page", "before"), [("README.md", "And what a fitted model can be asked:"), ("docs/decisions.md", "for any cost:")]
)
def test_what_a_fitted_model_can_be_asked(page, before):
    code = ROOT.joinpath(page).read_text().partition(before)[2].partition("```python\n")[2].partition("```")[0]
    X, Y = digit_scenes(90, random_state=0)
    names = {"CLEMS": clems.CLEMS, "X": X[:60], "Y": Y[:60], "X_new": X[60:]}
    exec(code, names)
    assert names["labels"].shape == (30, 3, 10)
    assert names["probability"].shape == names["cost"].shape == (30, 3)


def test_the_page_for_those_who_have_a_model():
    blocks = [
        part.partition("```")[0] for part in ROOT.joinpath("docs/any-model.md").read_text().split("```python\n")[1:]
    ]
    exec(blocks[0] + blocks[1], names := {})
    assert names["labels"].shape == (200, 10)
    P = names["model"].predict_proba(names["X"])
    exec(
        blocks[4].replace("clems.save", "print"),
        names | {"P_cal": P[:400], "Y_cal": names["Y_train"], "P_new": P[400:]},
    )


def test_the_readme_reads_a_table(tmp_path, monkeypatch, capsys):
    section = ROOT.joinpath("README.md").read_text().partition("## Your own data\n")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    rows = [f"{place},{place % 7},{place % 3},{'new;urgent' if place % 2 else 'urgent'}" for place in range(60)]
    tmp_path.joinpath("tickets.csv").write_text("id,length,words,tags\n" + "\n".join(rows))
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(code, names)
    assert names["model"].classes_.tolist() == ["new", "urgent"]
    assert names["scenes"].X.shape == (3000, 121)
    assert "labels per row          1.500" in capsys.readouterr().out


def test_the_page_on_data_shows_real_messages(tmp_path, monkeypatch):
    page = ROOT.joinpath("docs/data.md").read_text()
    monkeypatch.chdir(tmp_path)
    rows = ["1,open,0,new,1"] * 16 + ["17,open,,new"]
    Path("tickets.csv").write_text("id,state,count,kind,urgent\n" + "\n".join(rows))
    with pytest.raises(DataError) as caught:
        read_table("tickets.csv", "urgent")
    assert f"\n{caught.value}\n" in page
    header = ["@relation yeast", "@attribute Att7 numeric", "@attribute y {0,1}", "@data"]
    Path("yeast.arff").write_text("\n".join(header + ["0.5,1"] * 1198 + ["0.1.2,1"]))
    with pytest.raises(DataError) as caught:
        read_arff("yeast.arff", -1)
    assert f"\n{caught.value}\n" in page


def test_the_page_on_costs_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = ROOT.joinpath("docs/costs.md").read_text().split("<!-- runs -->\n```python\n")[1:]
    exec("\n".join(block.partition("```")[0] for block in blocks), names := {})
    assert names["cost"].for_labels(["bug", "new", "urgent"]).false_negative == (2, 1, 120)
    assert (names["model"].predict(names["X"]).sum(axis=1) == 2).all()


def test_the_page_on_posteriors_runs():
    blocks = ROOT.joinpath("docs/posterior.md").read_text().split("```python\n")[1:]
    exec("\n".join(block.partition("```")[0] for block in blocks), names := {})
    assert names["posterior"].marginals.shape == names["probabilities"].shape == (100, 10)
    assert names["labels"].tolist() == names["model"].predict(names["X"][200:]).tolist()
    assert names["independent"].marginals.shape == names["handed"].shape == (2, 3)
