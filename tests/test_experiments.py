"""Experiments as a whole: every smoke file on every backend, and the files of the paper as they are."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clems import LEARNERS, weighted_hamming
from clems.cli import main
from clems.datasets import Dataset, digit_scenes
from clems.experiments import Store, compare, make_plan, read_spec, run, run_trial, write_report
from clems.experiments.selection import results, summary

PAPER = Path(__file__).parents[1] / "experiments" / "paper"
SMOKE = sorted((PAPER / "smoke").glob("*.toml"))
NAMES = {path.stem for path in SMOKE}


@cache
def plans():
    return {path.stem: make_plan(read_spec(path)) for path in SMOKE}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Records of all smoke files, one trial after the other."""
    return records_of(tmp_path_factory.mktemp("serial"), "serial")


def records_of(folder, backend):
    store, trials = Store(folder), [trial for plan in plans().values() for trial in plan.trials]
    outcome = run(trials, store, run_trial, read_spec_of, {}, backend=backend, jobs=2)
    assert (outcome.failed, outcome.left) == (0, 0)
    return {key: {**record, "seconds": None} for key, record in store.records().items()}, store


def read_spec_of(name):
    """Data of all smoke files: the same dataset, divided as published, of which other splits take all rows."""
    return plans()["table3"].spec.load(name)


@pytest.mark.parametrize("backend", ["local", "dask"])
def test_all_backends_have_the_same_records(backend, undisturbed, tmp_path):
    assert records_of(tmp_path, backend)[0] == undisturbed[0]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_reports_of_all_smoke_files(name, undisturbed, tmp_path):
    plan, records = plans()[name], undisturbed[1].records()
    cells = summary(results(plan, records))
    assert cells["mean"].notna().all()
    written = write_report(plan, records, tmp_path / f"{name}.md", command="this")
    text = (tmp_path / f"{name}.md").read_text()
    assert "missing" not in text
    assert all(entry.title in text for entry in plan.spec.learners.values())
    assert len(written) > 1 or plan.spec.kind == "table"
    for suffix in ("csv", "tex"):
        write_report(plan, records, tmp_path / f"{name}.{suffix}")
    assert len(pd.read_csv(tmp_path / f"{name}.csv"))


def test_every_file_of_the_paper_has_a_smoke_size():
    assert {path.stem for path in PAPER.glob("*.toml")} == NAMES


@pytest.mark.parametrize("path", sorted(PAPER.glob("*.toml")), ids=lambda path: path.stem)
def test_smoke_files_have_the_learners_of_the_whole(path):
    whole, small = read_spec(path), plans()[path.stem].spec
    assert whole.learners.keys() == small.learners.keys()
    assert whole.criteria == small.criteria
    assert whole.kind == small.kind
    assert {entry.kind for entry in whole.learners.values()} <= LEARNERS.keys()


def test_printed_values_belong_to_the_table():
    for name in ("table2", "table3"):
        spec = read_spec(PAPER / f"{name}.toml")
        printed = pd.read_csv(spec.printed)
        assert {*printed["dataset"]} == {*spec.datasets}
        assert {*printed["learner"]} <= spec.learners.keys()
        assert {*printed["criterion"]} <= {*spec.criteria}


# --- compare ---


def small(n=160):
    X, Y = digit_scenes(n, random_state=0)
    return Dataset(X, Y, [f"pixel {i}" for i in range(X.shape[1])], [str(i) for i in range(10)], "scenes")


def test_compare_finds_what_a_loop_would(tmp_path):
    settings = {"repetitions": 2, "trees": 5, "depths": [3, 6], "backend": "serial"}
    found = compare(small(), "f1", learners=["br", "clems"], store=tmp_path, **settings)
    table = found.table
    assert {*table.index} == {"br", "clems"}
    assert table["mean"].is_monotonic_decreasing
    assert found.best == table.index[0]
    values = results(found.plan, found.records).pivot(index="repetition", columns="learner", values="value")
    assert np.allclose(values.mean()[table.index], table["mean"])
    assert np.allclose(values.sem()[table.index], table["standard_error"])
    assert "F1 ↑" in str(found)
    again = compare(small(), "f1", learners=["br", "clems"], store=tmp_path, **settings)
    assert again.records == found.records  # seconds included: nothing was run again


def test_compare_takes_prices_and_functions():
    prices = weighted_hamming([9.0] + [1.0] * 9)

    def forgotten(Y, P):
        return ((Y == 1) & (P == 0)).sum(axis=1)

    settings = {"learners": ["br", "clems"], "repetitions": 2, "trees": 20, "depths": [4], "backend": "serial"}
    assert compare(small(), prices, **settings).table["mean"].is_monotonic_increasing
    found = compare(small(), forgotten, **settings)
    assert found.table["mean"]["clems"] < found.table["mean"]["br"] / 10  # which predicts nearly all for everyone


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learners": ["svm"]}, "compare: learners.svm.kind: there is no learner 'svm'; allowed are br, cc"),
        ({"cost": "f3"}, "Unknown cost 'f3'"),
        ({"cost": "micro_f1", "learners": ["pcc"]}, "compare: none of the learners has a rule for 'micro_f1'"),
        ({"repetitions": 0}, "compare: repetitions: Input should be greater than or equal to 1"),
        ({"cost": lambda Y, P: abs(Y - P).sum(axis=1)}, "cannot be sent to other processes; define it in a module"),
        ({"backend": "cloud"}, "No backend 'cloud'"),
    ],
)
def test_compare_refuses_in_one_sentence(settings, message):
    with pytest.raises(ValueError, match=message):
        compare(small(), **settings)


# --- the command ---

TINY = """
title = "Tiny"
datasets = ["digit-scenes"]
criteria = ["f1", "rank"]
repetitions = 2
trees = 2
depths = [2, 4]
split = { train = 0.02, validation = 0.01, test = 0.01 }
[learners.br]
[learners.pcc]
parameters = { n_samples = 10 }
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(TINY)
    return tmp_path


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["experiment", *arguments])
    return ended.value.code


def test_plan_run_report(tiny, capsys):
    assert command("plan", "tiny.toml") == 0
    assert "4 fits, 0 of them done; the rest takes roughly " in capsys.readouterr().out
    assert command("run", "tiny.toml", "--backend", "serial", "--learners", "br") == 0
    assert "2 trials done" in capsys.readouterr().err
    assert command("report", "tiny.toml") == 0
    assert "2 of 4 trials are missing: pcc on digit-scenes (2)" in " ".join(capsys.readouterr().out.split())
    assert command("run", "tiny.toml", "--backend", "serial") == 0
    assert "4 trials done" in capsys.readouterr().err
    assert command("plan", "tiny.toml") == 0
    assert "4 fits, 4 of them done; the rest takes roughly 0 seconds on one core." in capsys.readouterr().out
    assert command("report", "tiny.toml", "--output", "tiny.csv") == 0
    assert {*pd.read_csv("tiny.csv")["learner"]} == {"br", "pcc"}
    assert Store(tiny / "results" / "tiny").records().keys() == {
        trial.key for trial in make_plan(read_spec("tiny.toml")).trials
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "absent.toml"], 2, "absent.toml"),
        (["run", "tiny.toml", "--backend", "cloud"], 2, "cloud"),
        (["run", "tiny.toml", "--budget", "long"], 1, "A budget is a time such as 90s, 30m, 2h or 1h30m; got 'long'."),
        (["run", "tiny.toml", "--learners", "svm"], 1, "The experiment has no learner 'svm'; it has br, pcc."),
        (["run", "tiny.toml", "--scheduler", "tcp://nowhere:1"], 1, "Only the backend dask has a scheduler"),
        (["report", "tiny.toml", "--output", "tiny.docx"], 1, "tiny.docx"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(tiny, capsys, arguments, code, message):
    assert command(*arguments) == code
    told = capsys.readouterr()
    assert message in " ".join((told.out + told.err).split())
    assert "Traceback" not in told.err
    assert not (tiny / "results").exists()


def test_a_trial_that_fails_is_told_kept_and_tried_again_on_request(tiny, capsys):
    broken = TINY.replace("n_samples = 10", "n_samples = 0")
    (tiny / "tiny.toml").write_text(broken)
    assert command("run", "tiny.toml", "--backend", "serial") == 1
    assert "2 trials done, 2 failed" in capsys.readouterr().err
    assert command("report", "tiny.toml") == 0
    assert "failed on digit-scenes 2 times: ValueError: n_samples must be a whole number of at least 1" in " ".join(
        capsys.readouterr().out.split()
    )
    kept = Store(tiny / "results" / "tiny").records()
    assert sum("Traceback" in record.get("traceback", "") for record in kept.values()) == 2
    lines = (tiny / "results" / "tiny" / "records.jsonl").read_text().count("\n")
    command("run", "tiny.toml", "--backend", "serial")
    assert (tiny / "results" / "tiny" / "records.jsonl").read_text().count("\n") == lines
    command("run", "tiny.toml", "--backend", "serial", "--retry-failed")
    assert (tiny / "results" / "tiny" / "records.jsonl").read_text().count("\n") == lines + 2


def test_compare_as_a_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, Y = digit_scenes(120, random_state=0)
    frame = pd.DataFrame(X[:, ::4]).add_prefix("pixel ").assign(colour=["red", "blue", "green"] * 40)
    frame = frame.join(pd.DataFrame(Y[:, :3]).add_prefix("tag "))
    frame.to_csv("scenes.csv", index=False)
    Path("prices.csv").write_text("label,false_negative,false_positive\ntag 0,5,1\ntag 1,1,1\ntag 2,1,1\n")
    usual = ["compare", "scenes.csv", "--labels", "tag *", "--repetitions", "2", "--trees", "3", "--jobs", "1"]
    usual += ["--learners", "br,clems", "--cost", "prices.csv", "--store", "kept"]
    with pytest.raises(SystemExit, match="0"):
        main([*usual, "--json"])
    told = json.loads(capsys.readouterr().out)
    table = told["learners"]
    assert told["best"] == min(table, key=lambda name: table[name]["mean"])
    with pytest.raises(SystemExit, match="0"):
        main([*usual, "--output", "found.csv"])
    shown = capsys.readouterr()
    assert "prices.csv ↓" in shown.out
    assert f"Best mean: {told['best']}." in shown.err
    written = pd.read_csv("found.csv").set_index("learner")["mean"]
    assert written.to_dict() == pytest.approx({name: own["mean"] for name, own in table.items()})


def test_the_best_by_an_f_measure_is_the_one_that_scores_most():
    learners = {"good": {"kind": "clems"}, "bad": {"kind": "br", "parameters": {"n_trees": 1}}}
    found = compare(small(), "f_beta(2)", learners=learners, trees=20, repetitions=2, backend="serial")
    assert found.best == "good"
    assert found.table["mean"].is_monotonic_increasing  # costs


def test_nothing_done_has_no_best():
    found = compare(small(), learners="br", budget=0, backend="serial")
    with pytest.raises(ValueError, match="none is best"):
        _ = found.best
    with pytest.raises(TypeError, match="data must be a Dataset"):
        compare((1, 2))


def test_a_script_is_not_run_again_by_the_processes_that_it_starts(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from clems.datasets import load_dataset\n"
        "from clems.experiments import compare\n"
        "print('begun')\n"
        "scenes = load_dataset('digit-scenes').take(slice(80))\n"
        "print(compare(scenes, learners=['br', 'clems'], repetitions=1, trees=2, depths=[2], jobs=2).table.shape)\n"
    )
    for arguments, given in ([script], ""), ([], script.read_text()):
        ended = subprocess.run([sys.executable, *arguments], input=given, capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout.splitlines()[:1] == ["begun"]
        assert len(ended.stdout.splitlines()) == 2
