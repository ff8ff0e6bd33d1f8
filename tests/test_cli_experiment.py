"""The commands `experiment` and `compare`: plan, run, report."""

import json
from pathlib import Path

import pandas as pd
import pytest

from clems.cli.app import main
from clems.datasets import digit_scenes
from clems.experiments import Store, make_plan, read_spec

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
def test_wrong_usage_is_refused_in_a_sentence(tiny, capsys, arguments, code, message):
    assert command(*arguments) == code
    shown = capsys.readouterr()
    assert message in " ".join((shown.out + shown.err).split())
    assert "Traceback" not in shown.err
    assert not (tiny / "results").exists()


def test_a_trial_that_fails_is_shown_kept_and_tried_again_on_request(tiny, capsys):
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
    answer = json.loads(capsys.readouterr().out)
    table = answer["learners"]
    assert answer["best"] == min(table, key=lambda name: table[name]["mean"])
    with pytest.raises(SystemExit, match="0"):
        main([*usual, "--output", "found.csv"])
    shown = capsys.readouterr()
    assert "prices.csv ↓" in shown.out
    assert f"Best mean: {answer['best']}." in shown.err
    written = pd.read_csv("found.csv").set_index("learner")["mean"]
    assert written.to_dict() == pytest.approx({name: own["mean"] for name, own in table.items()})


def test_a_compared_model_keeps_the_options_of_its_training(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, Y = digit_scenes(80, random_state=0)
    tags = pd.DataFrame(Y[:, :3]).add_prefix("tag ")
    codes = pd.Series([1, 2, 3, 4] * 20, name="code")
    frame = pd.DataFrame(X[:, ::9]).add_prefix("pixel ").join([codes, tags, tags.add_prefix("leak ")])
    frame.to_csv("scenes.csv", index=False)
    usual = ["--labels", "tag *", "--drop", "leak *,pixel 1?", "--as", "words=code", "--set", "n_trees=3"]
    with pytest.raises(SystemExit, match="0"):
        main(["fit", "scenes.csv", *usual, "-o", "model.clems"])
    trained = capsys.readouterr().err
    with pytest.raises(SystemExit, match="0"):
        main(
            [
                "compare",
                "scenes.csv",
                "--model",
                "model.clems",
                "--learners",
                "br",
                "--repetitions",
                "2",
                "--trees",
                "3",
            ]
        )
    columns = [line for line in trained.splitlines() if line.startswith("  ")]
    assert [line.split()[:2] for line in columns][-1] == ["code", "words"]
    assert not any("leak" in line for line in columns)
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("  ")] == columns
