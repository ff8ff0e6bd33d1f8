"""The command as a process: what lies around it, its streams, and the signals that end it."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clems import load
from clems.cli.app import main

FIT = ["fit", "train.csv", "--labels", "tag_*"]
COMMAND = [str(Path(sys.executable).with_name("clems"))]
if not Path(COMMAND[0]).exists():
    COMMAND = [sys.executable, "-P", "-m", "clems"]
# Libraries that are used, optional ones that libraries look for, and parts of Python.
HOSTILE = [
    *("skops", "quantile_forest", "sklearn", "numpy", "pandas", "scipy", "json", "typing_extensions", "pyarrow"),
    *("matplotlib", "plotly", "dask", "distributed", "joblib", "jinja2", "rich", "typer", "click", "pydantic"),
    *("numexpr", "bottleneck", "xgboost", "lightgbm", "catboost", "threadpoolctl", "lz4", "psutil", "numba", "cupy"),
    *("IPython", "kaleido", "polars", "fastparquet", "cloudpickle", "multiprocessing", "signal", "pickle", "selectors"),
    *("tomllib", "csv", "zipfile", "uuid", "scikit_posthocs", "statsmodels", "defusedxml", "sitecustomize"),
    *("usercustomize", "anywidget", "narwhals"),
]
SPEC = """
title = "t"
datasets = ["rows"]
criteria = ["off_by"]
repetitions = 2
trees = 2
depths = [2]
costs = { off_by = "our_costs:off_by" }
[data.rows]
path = "train.csv"
options = { labels = "tag_*" }
[learners.br]
[learners.clems]
"""
OURS = """
import our_helpers

def off_by(Y, P):
    return abs(Y - P).sum(axis=1) * our_helpers.PRICE
"""
STILL = "files that were finished are kept, and none is left half-written.\n"
SEVERAL = """
import json, os, sys
from clems.__main__ import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["clems", *arguments]
    try:
        main()
    except SystemExit as end:
        sys.stdout.flush()
        os.write(1, b"\\0%d\\0" % (end.code or 0))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(3)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["tag_x"], frame["tag_é"] = (X[:, 0] > 0).astype(int), (X[:, 1] > 0.5).astype(int)
    frame.to_csv(folder / "train.csv", index=False)
    folder.joinpath("our_costs.py").write_text(OURS)
    folder.joinpath("our_helpers.py").write_text("PRICE = 2.0\n")
    folder.joinpath("spec.toml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert at_once(*FIT, "--set", "n_trees=3", "-q", "-o", "model.clems") == 0
    return folder


@pytest.fixture
def here(made, tmp_path):
    for file in made.iterdir():
        if file.is_file():
            tmp_path.joinpath(file.name).write_bytes(file.read_bytes())
    return tmp_path


def ended(*arguments, cwd, start=COMMAND, **options):
    options = {"capture_output": True} | options if "stdout" not in options else options
    return subprocess.run([*start, *map(str, arguments)], cwd=cwd, **options)


def ended_together(commands, cwd, **options):
    """Run several commands one after another in one new interpreter, as starting one takes longest.

    Returns
    -------
    list of tuple
        Exit code and standard output of each.
    """
    start = [sys.executable, "-P", "-c", SEVERAL, json.dumps(commands)]
    found = ended(cwd=cwd, start=start, **options)
    outputs, codes = (found.stdout.split(b"\0")[first:-1:2] for first in (0, 1))
    assert len(codes) == len(commands), found.stderr
    return list(zip(map(int, codes), outputs, strict=True))


def at_once(*arguments):
    """Run the command in this process; return exit code."""
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    for name in ("our_costs", "our_helpers", "ours", "ours.costs"):  # others look for them where they are then
        sys.modules.pop(name, None)
    return end.value.code or 0


# What lies in the working directory is not run.


def plant(folder):
    for name in HOSTILE:
        folder.joinpath(f"{name}.py").write_text(
            f"import os\nopen(os.path.join({str(folder)!r}, 'ran-{name}'), 'w').close()\n"
        )


IN_ONE = [
    ["predict", "model.clems", "train.csv", "-q"],
    ["evaluate", "model.clems", "train.csv", "--json"],
    ["report", "model.clems", "train.csv"],
    ["inspect", "model.clems"],
    ["compare", "train.csv", "--labels", "tag_*", "--learners", "br,clems", "--repetitions", "2", "--trees", "2"],
    ["datasets", "list"],
    ["experiment", "run", "spec.toml", "--jobs", "1", "--backend", "local"],
    ["experiment", "report", "spec.toml", "--output", "report.md"],
    ["experiment", "run", "spec.toml", "--jobs", "1", "--backend", "dask", "--store", "on-dask"],
]


def test_of_the_working_directory_only_a_trusted_module_and_what_it_imports_is_run(here, monkeypatch):
    """Nor is any file run by the workers that a command starts."""
    monkeypatch.chdir(here)
    here.joinpath("ours").mkdir()
    here.joinpath("ours/costs.py").write_text(OURS)
    trusting = []
    for number, cost in enumerate(["our_costs:off_by", "ours.costs:off_by"]):
        model = f"own-{number}.clems"
        assert at_once(*FIT, "--set", "n_trees=2", "-o", model, "-q", "--cost", cost) == 0
        trusting.append(["predict", model, "train.csv", "-q", "--trust", cost])
    plant(here)
    codes = [code for code, _ in ended_together([*IN_ONE, *trusting], here)]
    assert [file.name for file in here.glob("ran-*")] == []
    assert codes == [0] * (len(IN_ONE) + 2)
    for store in ("results/spec", "on-dask"):
        assert here.joinpath(store, "records.jsonl").read_bytes().count(b'"done"') == 4


def test_nor_by_python_with_a_module(here):
    plant(here)
    for name in ("signal", "pickle", "selectors", "uuid", "csv", "multiprocessing"):
        here.joinpath(f"{name}.py").unlink()  # some of which Python may import before clems begins
    found = ended("predict", "model.clems", "train.csv", "-q", cwd=here, start=[sys.executable, "-m", "clems"])
    assert [file.name for file in here.glob("ran-*")] == []
    assert found.returncode == 0, found.stderr


def test_a_trusted_module_that_is_not_there_is_named(here, monkeypatch, capfd):
    monkeypatch.chdir(here)
    assert at_once("predict", "model.clems", "train.csv", "-q", "--trust", "theirs.costs:off_by") == 1
    said = capfd.readouterr().err
    assert said == "Error: --trust theirs.costs:off_by cannot be imported: No module named 'theirs'.\n"


# Signals.


@pytest.fixture
def waiting(here, forks):
    """Start a command that waits for its input, and wait until it has begun to write."""
    out = here / "out"
    out.mkdir()
    read, write = map(os.fdopen, os.pipe(), ("rb", "wb"))

    def start(**options):
        command = forks.start("predict", "model.clems", "-", "-o", out / "p.csv", cwd=here, stdin=read, **options)
        while not list(out.glob(".p.csv.*")):
            assert command.lives()
            time.sleep(0.05)
        return command, write, out

    with read, write:
        yield start


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_cleans_up_and_is_seen(waiting, name):
    command, _, out = waiting()
    os.kill(command.pid, getattr(signal, name))
    assert command.wait() == (130 if name == "SIGINT" else -getattr(signal, name))
    assert command.stderr.decode() == f"{'Interrupted' if name == 'SIGINT' else f'Ended by {name}'}; {STILL}"
    assert not list(out.iterdir())


def test_a_signal_that_is_ignored_stays_so(waiting):
    command, write, out = waiting(ignored=[signal.SIGHUP])
    os.kill(command.pid, signal.SIGHUP)
    write.write(b"a,b\n1,2\n")
    write.close()
    assert command.wait() == 0, command.stderr
    assert [file.name for file in out.iterdir()] == ["p.csv"]


LONG = SPEC.replace("trees = 2", "trees = 200").replace("repetitions = 2", "repetitions = 500").replace("off_by", "f1")


def children(session):
    """Processes of a session that live."""
    listed = subprocess.run(["ps", "--sid", str(session), "-o", "stat=,args="], capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if not line.startswith("Z")]


@pytest.mark.parametrize(("backend", "name"), [("local", "SIGTERM"), ("dask", "SIGINT"), ("dask", "SIGTERM")])
def test_a_run_ends_with_all_its_workers(here, forks, backend, name):
    """A terminal sends Ctrl-C to all processes of a command."""
    here.joinpath("long.toml").write_text(LONG.replace('costs = { f1 = "our_costs:f1" }\n', ""))
    command = forks.start("experiment", "run", "long.toml", "--backend", backend, "--jobs", 2, cwd=here, session=True)
    records = here / "results/long/records.jsonl"
    while not records.exists() or not records.stat().st_size:  # until a trial is done, and others are under way
        assert command.lives()
        time.sleep(0.05)
    assert len(children(command.pid)) >= 3
    os.killpg(command.pid, getattr(signal, name))
    assert command.wait() == (130 if name == "SIGINT" else -signal.SIGTERM)
    how = "Interrupted" if name == "SIGINT" else f"Ended by {name}"
    assert command.stderr.decode() == f"{how}; {STILL}"
    for _ in range(50):
        if not children(command.pid):
            break
        time.sleep(0.1)
    assert children(command.pid) == []


# Standard streams.


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_closed_streams_do_not_keep_a_file_from_being_written(here, forks, closed):
    found = forks.run("predict", "model.clems", "train.csv", "-o", "p.csv", cwd=here, closed=[closed])
    assert found.returncode == 0, found.stderr
    assert len(pd.read_csv(here / "p.csv")) == 60


def test_processes_that_it_starts_have_streams_too_and_run_no_file_of_the_working_directory(here):
    """Nor do three closed streams keep a file from being written."""
    plant(here)
    fit = [*FIT, "--learner", "br", "--set", "n_trees=2", "--jobs", "2"]
    shell = 'exec "$@" <&- >&- 2>&-'
    found = ended(*fit, "-o", "new.clems", cwd=here, start=["sh", "-c", shell, "sh", *COMMAND])
    assert [file.name for file in here.glob("ran-*")] == []
    assert found.returncode == 0
    assert load(here / "new.clems").predict(pd.read_csv(here / "train.csv")[["a", "b"]]).shape == (60, 2)


@pytest.mark.parametrize(
    ("arguments", "closed"),
    [(["predict", "model.clems", "-"], "stdin"), (["predict", "model.clems", "train.csv"], "stdout")],
    ids=["input", "output"],
)
def test_a_closed_stream_that_is_needed_is_reported(here, forks, arguments, closed):
    found = forks.run(*arguments, cwd=here, closed=[closed])
    assert found.returncode == 1
    assert found.stderr.decode().endswith(
        "Error: A standard stream that this command needs is closed; give file names, and --output.\n"
    )
    assert b"Traceback" not in found.stderr


def test_a_reader_that_wants_no_more_ends_it_in_silence(here, forks):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        found = forks.run("evaluate", "model.clems", "train.csv", "-q", cwd=here, stdout=stdout)
    assert (found.returncode, found.stderr) == (-signal.SIGPIPE, b"")


def test_notes_that_cannot_be_written_are_left_out(here, forks):
    with Path("/dev/full").open("w") as full:
        found = forks.run("predict", "model.clems", "train.csv", "-o", "p.csv", cwd=here, stdout=full, stderr=full)
    assert found.returncode == 0
    assert here.joinpath("p.csv").exists()


@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_full_disk_is_reported(here, forks, unbuffered):
    with Path("/dev/full").open("w") as full:
        found = forks.run("predict", "model.clems", "train.csv", "-q", cwd=here, stdout=full, unbuffered=unbuffered)
    assert (found.returncode, found.stderr) == (1, b"Error: No space left on device.\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_tables_in_any_encoding_and_data_in_one(here, encoding):
    evaluate = ["evaluate", "model.clems", "train.csv"]
    commands = [evaluate, [*evaluate, "--json"], ["predict", "model.clems", "train.csv", "-q"]]
    found = ended_together(commands, here, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert [code for code, _ in found] == [0, 0, 0]
    table, plain, predicted = (output for _, output in found)
    assert b"\\u2193" in table
    assert "tag_é" in json.loads(plain.decode("utf-8"))["labels"]
    assert predicted.decode("utf-8").startswith("tag_x,tag_é\n")


# Outputs that are inputs.


@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "roundabout"])
def test_an_output_that_is_an_input_is_refused(here, monkeypatch, capfd, link):
    monkeypatch.chdir(here)
    outputs = {"same": Path("train.csv"), "symbolic": Path("s.csv"), "hard": Path("h.csv")}
    outputs["symbolic"].symlink_to("train.csv")
    outputs["hard"].hardlink_to("train.csv")
    output = outputs.get(link, Path("../") / here.name / "train.csv")
    before = Path("train.csv").read_bytes()
    for arguments in (
        ["predict", "model.clems", "train.csv"],
        ["report", "model.clems", "train.csv"],
        ["fit", "train.csv", "--labels", "tag_*"],
        ["compare", "train.csv", "--labels", "tag_*"],
        ["experiment", "report", "spec.toml"],
    ):
        assert at_once(*arguments, "--output", output) == 1
        said = capfd.readouterr().err
        assert "is read by this command and would be replaced; choose another --output, or pass --force." in said
    assert Path("train.csv").read_bytes() == before
    assert at_once("predict", "model.clems", "train.csv", "--output", output, "--force") == 0
    assert Path("train.csv").read_bytes() != before or link == "hard"


def test_a_model_a_spec_and_prices_are_inputs_too(here, monkeypatch, capfd):
    monkeypatch.chdir(here)
    Path("prices.csv").write_text("label,false_negative,false_positive\ntag_x,1,1\ntag_é,1,1\n")
    Path("model.csv").symlink_to("model.clems")
    for arguments in (
        ["predict", "model.clems", "train.csv", "-o", "model.csv"],
        ["report", "model.clems", "train.csv", "-o", "model.clems"],
        ["experiment", "report", "spec.toml", "--output", "spec.toml"],
        ["fit", "train.csv", "--labels", "tag_*", "--cost", "prices.csv", "-o", "prices.csv"],
    ):
        assert at_once(*arguments) == 1
        assert "is read by this command" in capfd.readouterr().err


# Memory, and what is nested too deeply.


def test_too_little_memory_is_a_sentence(here, monkeypatch, capfd):
    monkeypatch.chdir(here)

    def refuse(*_, **__):
        raise MemoryError("Unable to allocate 74.5 GiB")

    monkeypatch.setattr("clems.learners.clems.CLEMS.fit", refuse)
    assert at_once("fit", "train.csv", "--labels", "tag_*", "-o", "m.clems") == 1
    said = capfd.readouterr().err
    assert said == (
        "Error: Not enough memory (Training CLEMS on 60 rows): Unable to allocate 74.5 GiB; use fewer rows or trees, "
        "fewer jobs at a time, or a computer with more memory.\n"
    )


def test_what_is_nested_too_deeply_is_a_sentence(here, monkeypatch, capfd):
    monkeypatch.chdir(here)
    Path("deep.toml").write_text("a = " + "[" * 100_000)
    assert at_once("experiment", "plan", "deep.toml") == 1
    assert capfd.readouterr().err == "Error: deep.toml cannot be read: it is nested too deeply.\n"
    deep = "parameters.x" + ".x" * 5_000 + " = 1\n"
    Path("deep.toml").write_text(SPEC.replace("[learners.clems]", f"[learners.clems]\n{deep}"))
    assert at_once("experiment", "plan", "deep.toml") == 1
    assert capfd.readouterr().err.startswith("Error: ")
    assert at_once("fit", "train.csv", "--labels", "tag_*", "--set", "seed=" + "[" * 100_000, "-o", "m.clems") == 1
    assert capfd.readouterr().err.startswith("Error: ")


# Spreadsheets.


def test_formulas_for_spreadsheets_are_text_on_request(here, monkeypatch, capfd):
    monkeypatch.chdir(here)
    rows = pd.read_csv("train.csv")[["a", "b"]].head(7)
    rows["=id"] = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\tx", "-3.5", "plain"]
    rows.to_csv("ids.csv", index=False)
    predict = ["predict", "model.clems", "ids.csv", "--id", "=id", "-q"]
    assert at_once(*predict) == 0
    assert capfd.readouterr().out.startswith("=id,tag_x")
    for suffix, between in ((".csv", ","), (".tsv", "\t")):
        assert at_once(*predict, "--spreadsheet-safe", "-o", f"safe{suffix}") == 0
        safe = pd.read_csv(f"safe{suffix}", sep=between, dtype=str)
        assert list(safe.columns) == ["'=id", "tag_x", "tag_é"]
        assert list(safe["'=id"]) == ["'=1+1", "'+cmd|x", "'-2+3", "'@SUM(A1)", "'\tx", "-3.5", "plain"]
        assert {*safe["tag_x"]} <= {"0", "1"}
    assert at_once(*predict, "--spreadsheet-safe", "-o", "safe.parquet") == 1
    assert "--spreadsheet-safe is for CSV and TSV" in capfd.readouterr().err
    assert not Path("safe.parquet").exists()


# Files.


def test_standard_output_that_is_a_file_is_appended_to(here, forks):
    with here.joinpath("all.csv").open("wb") as out:
        out.write(b"# before\n")
        out.flush()
        found = forks.run("predict", "model.clems", "train.csv", "-o", "/dev/stdout", "-q", cwd=here, stdout=out)
    assert found.returncode == 0
    assert here.joinpath("all.csv").read_bytes().startswith(b"# before\ntag_x,")
    assert stat.S_ISLNK(os.lstat("/dev/stdout").st_mode)
