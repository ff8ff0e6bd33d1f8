"""What the documentation shows is what the code does."""

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from test_imports import ORDER

import clems
from clems.costs import formulas as costs
from clems.datasets import DataError, digit_scenes, read_arff, read_table
from clems.decisions.rules import RULES, rule_for
from tools import family_tree, learners_table
from tools import map as source_map
from tools.printed import RUNS

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


@cache
def reference():
    """The pages of the site's reference: the public names of each module."""
    path = ROOT / "docs/extensions/api_pages.py"
    module = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location(path.stem, path))
    spec.loader.exec_module(module)
    return module.pages()


def test_everything_public_has_an_example():
    without = []
    for module, entries in reference().items():
        for name, value in entries:
            home = f"clems.{clems._HOMES[name]}" if isinstance(value, Mapping) else None  # a dict has no docstring
            shown = importlib.import_module(home).__doc__ if home else value.__doc__
            if ">>>" not in shown or (home and name not in shown):
                without.append(f"{module}.{name}")
    assert not without


def test_the_reference_has_every_package_that_exports_something():
    """But those whose names are public elsewhere, and those of the commands."""
    shown = {id(value) for entries in reference().values() for _, value in entries}
    inside = {"clems.cli", "clems.datasets.encoding", "clems.datasets.formats", "clems.labels"}
    for name in MODULES:
        exported = getattr(importlib.import_module(name), "__all__", [])
        if not any(name.startswith(package) for package in inside):
            values = [getattr(importlib.import_module(name), each) for each in exported]
            assert all(id(value) in shown or inspect.ismodule(value) for value in values), name


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
        assert shown == f"`{learner.__name__}`"
        times = {"training": learner.cost_at_fit, "prediction": learner.cost_at_predict}
        when = "in " + " and ".join(time for time, used_then in times.items() if used_then)
        when = when if learner.cost_sensitive else "no"
        assert (used, built_on) == (when, learner.predictor)
        assert probabilities == ("yes" if hasattr(learner(), "predict_proba") else "no")
    drawn = [name for group in family_tree.GROUPS for name, _, _ in family_tree.placed(group, 0)]
    assert sorted(drawn) == sorted(clems.LEARNERS)
    assert [name for name, *_ in rules] == list(RULES)
    decided = {name: {*costs.split(", ")} for name, costs, _ in rules}
    for cost in (*clems.COSTS.values(), clems.weighted_hamming(1)):
        assert [name for name, costs in decided.items() if cost.name in costs] == [
            name for name, rule in RULES.items() if rule is rule_for(cost)
        ]


NUMBER = re.compile(r"\d[\d,.]*")
WITH_FILES = {"costs.md", "from-a-csv-to-savings.md"}  # whose blocks need files, and are run elsewhere
PAGES = [page.name for page in sorted(ROOT.glob("docs/*.md")) if RUNS.search(page.read_text())]


def numbers(text):
    return [float(number.strip(",.").replace(",", "")) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}" for name in PAGES if name not in WITH_FILES)])
def test_blocks_that_run_print_what_is_shown(page, tmp_path, monkeypatch, capsys):
    """One after the other. Amounts depend on the versions of what is below, by less than a quarter."""
    monkeypatch.chdir(tmp_path)
    blocks, names = RUNS.findall(ROOT.joinpath(page).read_text()), {"__name__": "shown"}
    assert blocks
    for code, wanted in blocks:
        exec(code, names)
        printed = capsys.readouterr().out
        if wanted:
            assert NUMBER.sub("#", printed) == NUMBER.sub("#", wanted)
            assert numbers(printed) == pytest.approx(numbers(wanted), rel=0.25)
    if "server" in names:
        names["server"].server_close()


def test_the_readme_is_short():
    text = ROOT.joinpath("README.md").read_text()
    assert len(text) <= 5000
    assert len(RUNS.findall(text)[0][0].replace("\n\n", "\n").splitlines()) <= 12
    assert "make demo" in text
    assert "make test" in text


def test_the_page_on_choosing_shows_all_learners():
    code = (
        ROOT.joinpath("docs/choosing.md").read_text().partition("<!-- learners -->\n```python\n")[2].partition("```")[0]
    )
    X, Y = digit_scenes(60, random_state=0)
    exec(code, names := {"X": X[:40], "Y": Y[:40, :3], "X_new": X[40:]})
    assert names["model"].predict_proba(X[40:]).shape == (20, 3)


def test_what_a_fitted_model_can_be_asked():
    page = ROOT.joinpath("docs/decisions.md").read_text()
    code = page.partition("for any cost:")[2].partition("```python\n")[2].partition("```")[0]
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


def test_the_page_on_data_reads_a_table(tmp_path, monkeypatch, capsys):
    section = ROOT.joinpath("docs/data.md").read_text().partition("<!-- a table -->\n")[2]
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
