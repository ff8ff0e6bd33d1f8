"""Experiments as a whole: every smoke file, a trial of each on every backend, and the files as they are."""

import json
import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from clems import LEARNERS
from clems.experiments import Store, make_plan, read_spec, run, run_trial, write_report
from clems.experiments.analysis.selection import results, summary

ROOT = Path(__file__).parents[1]
WHOLE = {path.stem: path for path in sorted(ROOT.glob("experiments/*/*.toml"))}
SMOKE = {path.stem: path for path in sorted(ROOT.glob("experiments/*/smoke/*.toml"))}


@cache
def plans():
    return {name: make_plan(installed(read_spec(path))) for name, path in SMOKE.items()}


def installed(spec):
    """An experiment without the entries that need a package that is not installed."""
    entries = {name: entry for name, entry in spec.learners.items() if entry.is_installed}
    return spec.model_copy(update={"learners": entries})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Records of trials that were run one after the other; smoke files share many."""
    return Store(tmp_path_factory.mktemp("serial"))


def records_of(trials, store, backend):
    costs = {name: cost for plan in plans().values() for name, cost in plan.spec.own_costs().items()}
    outcome = run(trials, store, run_trial, read_spec_of, costs, backend=backend, jobs=2)
    assert (outcome.failed, outcome.left) == (0, 0)
    return {trial.key: {**store.records()[trial.key], "seconds": None} for trial in trials}


def read_spec_of(name):
    """Data of all smoke files: the same dataset, divided as published, of which other splits take all rows."""
    return plans()["table3"].spec.load(name)


@pytest.mark.parametrize("backend", ["local", "dask"])
def test_all_backends_have_the_same_records(backend, store, tmp_path):
    trials = [plan.trials[0] for plan in plans().values()]
    assert records_of(trials, Store(tmp_path), backend) == records_of(trials, store, "serial")


@pytest.mark.parametrize("name", SMOKE)
def test_reports_of_all_smoke_files(name, store, tmp_path):
    plan = plans()[name]
    records_of(plan.trials, store, "serial")
    records = store.records()
    cells = summary(results(plan, records))
    assert cells["mean"].notna().all()
    written = write_report(plan, records, tmp_path / f"{name}.md", command="this")
    text = (tmp_path / f"{name}.md").read_text()
    assert "missing" not in text
    assert all(entry.title in text for entry in plan.spec.learners.values())
    assert len(written) > 1 or plan.spec.kind in ("table", "ratios")
    for suffix in ("csv", "tex"):
        write_report(plan, records, tmp_path / f"{name}.{suffix}")
    assert len(pd.read_csv(tmp_path / f"{name}.csv"))


def test_every_file_has_a_smoke_size_and_a_place_in_the_makefile():
    files = {(path.parent.name, name) for name, path in WHOLE.items()}
    assert files == {(path.parents[1].name, name) for name, path in SMOKE.items()}
    assert len(files) == len([*ROOT.glob("experiments/*/*.toml")])  # a name is given once, as results/ goes by names
    lines = dict(line.split(" := ") for line in ROOT.joinpath("Makefile").read_text().splitlines() if " := " in line)
    assert files == {
        (folder, name) for folder in ("paper", "choices", "xmlc", "eurlex") for name in lines[folder.upper()].split()
    }


@pytest.mark.parametrize("name", WHOLE)
def test_smoke_files_have_the_learners_of_the_whole(name):
    whole, small = read_spec(WHOLE[name]), read_spec(SMOKE[name])
    assert whole.learners.keys() == small.learners.keys()
    assert whole.criteria == small.criteria
    assert whole.kind == small.kind
    assert {entry.kind for entry in whole.learners.values()} <= LEARNERS.keys()


def test_printed_values_belong_to_the_table():
    for name in ("table2", "table3", "xmlc", "eurlex"):
        spec = read_spec(WHOLE[name])
        printed = pd.read_csv(spec.printed)
        assert {*printed["dataset"]} == {*spec.datasets}
        assert {*printed["learner"]} <= spec.learners.keys()
        assert {*printed["criterion"]} <= {*spec.criteria}


EARLIER = {path.stem: path for path in sorted(ROOT.glob("results/earlier/*/*.toml"))}
KEPT = {path: ROOT / "results" / name for name, path in WHOLE.items()} | {
    path: path.parent for path in EARLIER.values()
}


@pytest.mark.parametrize(
    "path", [path for path, folder in KEPT.items() if (folder / "records.jsonl").exists()], ids=str
)
def test_no_record_is_without_an_experiment(path):
    """A change of a file that makes records unknown has to move them to where they are read."""
    spec = read_spec(path)
    planned = {trial.key for trial in make_plan(spec).trials}
    assert not [record for key, record in Store(KEPT[path]).records().items() if key not in planned]


def test_records_of_an_earlier_version_say_so():
    assert EARLIER.keys() == {path.stem for path in ROOT.glob("experiments/paper/*.toml")}
    for name, path in EARLIER.items():
        assert read_spec(path).title.startswith("Of an earlier version. ")
        assert path.with_suffix(".md").read_text().startswith("# Of an earlier version. "), name


PAPER = [name for name, path in WHOLE.items() if path.parent.name in ("paper", "eurlex")]


@pytest.mark.parametrize("name", PAPER)
def test_all_learners_of_a_table_have_the_same_trees(name):
    """As many, and as deep: depths are chosen from the same ones, full depth among them, or trees are full."""
    trials = make_plan(read_spec(WHOLE[name])).trials
    assert {json.loads(trial.parameters)["n_trees"] for trial in trials} == {100}
    offered = {trial.depths for trial in trials if trial.depths}
    assert len(offered) == 1
    assert None in offered.pop()
    shape = {"estimator", "max_features", "min_samples_split", "max_depth"}
    assert not any(shape & json.loads(trial.parameters).keys() for trial in trials)  # tree_shape has them
    assert "100 extremely randomised trees" in " ".join(read_spec(WHOLE[name]).notes.split())


def test_choices_and_verdicts_have_seeds_of_their_own():
    """CONTRIBUTING.md has the list; a seed is for choosing by or for a verdict, never for both."""
    page = ROOT.joinpath("CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (choice|verdict) \| (.*) \|$", page, re.MULTILINE)
    roles = {int(seed): role for seed, role, _ in rows}
    assert len(roles) == len(rows)
    users = {int(seed): {*re.findall(r"`([\w.-]+)`", names)} for seed, _, names in rows}
    for name, path in WHOLE.items():
        assert name in users.get(read_spec(path).seed, ()), f"{name}: its seed is not in CONTRIBUTING.md"
    assert all(roles[read_spec(WHOLE[name]).seed] == "verdict" for name in PAPER)
