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

from clems.cli import main

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
STILL = "what was finished is kept, and no file is left half-written.\n"


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
    fit = ["fit", "train.csv", "--labels", "tag_*", "--set", "n_trees=3", "-q"]
    for name, cost in (("model", "f1"), ("own", "our_costs:off_by")):
        assert ended(*fit, "--cost", cost, "-o", f"{name}.clems", cwd=folder).returncode == 0
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


def at_once(*arguments):
    """Run the command in this process; return exit code."""
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    return end.value.code or 0


# What lies in the working directory is not run.


def plant(folder):
    for name in HOSTILE:
        folder.joinpath(f"{name}.py").write_text(
            f"import os\nopen(os.path.join({str(folder)!r}, 'ran-{name}'), 'w').close()\n"
        )


ALL = [
    ["predict", "model.clems", "train.csv", "-q"],
    [
        "fit",
        "train.csv",
        "--labels",
        "tag_*",
        "--learner",
        "br",
        "--set",
        "n_trees=2",
        "--jobs",
        "2",
        "-o",
        "new.clems",
    ],
    ["evaluate", "model.clems", "train.csv", "--json"],
    ["report", "model.clems", "train.csv"],
    ["inspect", "model.clems"],
    ["compare", "train.csv", "--labels", "tag_*", "--learners", "br,clems", "--repetitions", "2", "--trees", "2"],
    ["datasets", "list"],
    ["experiment", "run", "spec.toml", "--jobs", "1"],
    ["experiment", "run", "spec.toml", "--jobs", "1", "--backend", "dask", "--store", "dask"],
    ["experiment", "report", "spec.toml", "--output", "report.md"],
    ["predict", "own.clems", "train.csv", "-q", "--trust", "our_costs:off_by"],
]


@pytest.mark.parametrize("arguments", ALL, ids=lambda arguments: " ".join(arguments[:2]))
def test_no_file_of_the_working_directory_is_run(here, arguments):
    plant(here)
    found = ended(*arguments, cwd=here)
    assert [file.name for file in here.glob("ran-*")] == []
    assert found.returncode == 0, found.stderr


def test_nor_by_python_with_a_module(here):
    plant(here)
    for name in ("signal", "pickle", "selectors", "uuid", "csv", "multiprocessing"):
        here.joinpath(f"{name}.py").unlink()  # some of which Python may import before clems begins
    found = ended("predict", "model.clems", "train.csv", "-q", cwd=here, start=[sys.executable, "-m", "clems"])
    assert [file.name for file in here.glob("ran-*")] == []
    assert found.returncode == 0, found.stderr


def test_a_trusted_module_may_be_part_of_a_package_and_is_named_if_it_is_not_there(here):
    package = here / "ours"
    package.mkdir()
    package.joinpath("costs.py").write_text("def off_by(Y, P):\n    return abs(Y - P).sum(axis=1) * 1.0\n")
    fit = ["fit", "train.csv", "--labels", "tag_*", "--set", "n_trees=2", "-o", "packed.clems", "-q"]
    assert ended(*fit, "--cost", "ours.costs:off_by", cwd=here).returncode == 0
    found = ended("predict", "packed.clems", "train.csv", "-q", "--trust", "ours.costs:off_by", cwd=here)
    assert found.returncode == 0, found.stderr
    found = ended("predict", "packed.clems", "train.csv", "-q", "--trust", "theirs.costs:off_by", cwd=here)
    assert found.returncode == 1
    assert found.stderr == b"Error: --trust theirs.costs:off_by cannot be imported: No module named 'theirs'.\n"


# Signals.


def heeded():
    """Heed SIGHUP, whatever started the tests."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def waiting(here, *arguments, preexec_fn=heeded):
    """Start a command that waits for its input, and wait until it has begun to write."""
    out = here / "out"
    out.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [*COMMAND, "predict", "model.clems", "-", "--output", str(out / "p.csv"), *arguments],
        cwd=here,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=preexec_fn,
    )
    while not list(out.glob(".p.csv.*")):
        assert process.poll() is None
        time.sleep(0.05)
    return process, out


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_cleans_up_and_is_seen(here, name):
    process, out = waiting(here)
    process.send_signal(getattr(signal, name))
    _, said = process.communicate()
    assert process.returncode == -getattr(signal, name)
    assert said.decode() == f"Ended by {name}; {STILL}"
    assert not list(out.iterdir())


def test_a_signal_that_is_ignored_stays_so(here):
    process, out = waiting(here, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    _, said = process.communicate(b"a,b\n1,2\n")
    assert process.returncode == 0, said
    assert [file.name for file in out.iterdir()] == ["p.csv"]


LONG = SPEC.replace("trees = 2", "trees = 3000").replace("repetitions = 2", "repetitions = 20").replace("off_by", "f1")


def children(session):
    """Processes of a session that live."""
    listed = subprocess.run(["ps", "--sid", str(session), "-o", "stat=,args="], capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if not line.startswith("Z")]


@pytest.mark.parametrize(("backend", "name"), [("local", "SIGTERM"), ("dask", "SIGINT"), ("dask", "SIGTERM")])
def test_a_run_ends_with_all_its_workers(here, backend, name):
    """A terminal sends Ctrl-C to all processes of a command."""
    here.joinpath("long.toml").write_text(LONG.replace('costs = { f1 = "our_costs:f1" }\n', ""))
    process = subprocess.Popen(
        [*COMMAND, "experiment", "run", "long.toml", "--backend", backend, "--jobs", "2"],
        cwd=here,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not Path(here, "results/long/records.jsonl").exists() or len(children(process.pid)) < 4:
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(2)
    os.killpg(process.pid, getattr(signal, name))
    _, said = process.communicate(timeout=60)
    how = "Interrupted" if name == "SIGINT" else f"Ended by {name}"
    assert said.decode() == f"{how}; {STILL}"
    assert process.returncode == (130 if name == "SIGINT" else -signal.SIGTERM)
    for _ in range(50):
        if not children(process.pid):
            break
        time.sleep(0.1)
    assert children(process.pid) == []


# Standard streams.


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_keep_a_file_from_being_written(here, closed):
    shell = f'exec "$@" {closed}'
    found = ended(
        *("predict", "model.clems", "train.csv", "-o", "p.csv"), cwd=here, start=["sh", "-c", shell, "sh", *COMMAND]
    )
    assert found.returncode == 0, found.stderr
    assert len(pd.read_csv(here / "p.csv")) == 60


def test_processes_that_it_starts_have_streams_too(here):
    fit = ["fit", "train.csv", "--labels", "tag_*", "--learner", "br", "--set", "n_trees=2", "--jobs", "2"]
    shell = 'exec "$@" <&- >&- 2>&-'
    found = ended(*fit, "-o", "new.clems", cwd=here, start=["sh", "-c", shell, "sh", *COMMAND])
    assert found.returncode == 0
    assert here.joinpath("new.clems").exists()


@pytest.mark.parametrize(
    ("arguments", "closed"),
    [(["predict", "model.clems", "-"], "<&-"), (["predict", "model.clems", "train.csv"], ">&-")],
    ids=["input", "output"],
)
def test_a_closed_stream_that_is_needed_is_told(here, arguments, closed):
    found = ended(*arguments, cwd=here, start=["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND])
    assert found.returncode == 1
    assert found.stderr.decode().endswith(
        "Error: A standard stream that is needed is closed; give the names of files, and --output.\n"
    )
    assert b"Traceback" not in found.stderr


def test_a_reader_that_wants_no_more_ends_it_in_silence(here):
    reader, writer = os.pipe()
    os.close(reader)
    found = ended("evaluate", "model.clems", "train.csv", "-q", cwd=here, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (found.returncode, found.stderr) == (-signal.SIGPIPE, b"")


def test_notes_that_cannot_be_written_are_left_out(here):
    with Path("/dev/full").open("w") as full:
        found = ended("predict", "model.clems", "train.csv", "-o", "p.csv", cwd=here, stdout=full, stderr=full)
    assert found.returncode == 0
    assert here.joinpath("p.csv").exists()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_tables_in_any_encoding_and_data_in_one(here, encoding):
    settings = os.environ | {"PYTHONIOENCODING": encoding}
    found = ended("evaluate", "model.clems", "train.csv", cwd=here, env=settings)
    assert found.returncode == 0, found.stderr
    assert b"\\u2193" in found.stdout
    plain = ended("evaluate", "model.clems", "train.csv", "--json", cwd=here, env=settings)
    assert "tag_é" in json.loads(plain.stdout.decode("utf-8"))["labels"]
    predicted = ended("predict", "model.clems", "train.csv", "-q", cwd=here, env=settings)
    assert predicted.stdout.decode("utf-8").startswith("tag_x,tag_é\n")


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
        assert "is read by this command and would be replaced; choose another --output, or say --force." in said
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
        "Error: The memory is not enough (Training CLEMS on 60 rows): Unable to allocate 74.5 GiB; try it with fewer "
        "rows or trees, fewer jobs at a time, or on a computer with more of it.\n"
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


def test_standard_output_that_is_a_file_is_appended_to(here):
    with here.joinpath("all.csv").open("wb") as out:
        out.write(b"# before\n")
        out.flush()
        found = ended("predict", "model.clems", "train.csv", "-o", "/dev/stdout", "-q", cwd=here, stdout=out)
    assert found.returncode == 0
    assert here.joinpath("all.csv").read_bytes().startswith(b"# before\ntag_x,")
    assert stat.S_ISLNK(os.lstat("/dev/stdout").st_mode)
