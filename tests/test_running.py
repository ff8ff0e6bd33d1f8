"""A run ends with the same records however often it was killed."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from stand_in import QUICK, Trial, lasting, load, work, workers

from clems.experiments.backends.starting import THREADS
from clems.experiments.running import parse_budget, run
from clems.experiments.store import Store

pytest.importorskip("fcntl", reason="runs are killed by signals")


# A process that has imported everything forks off runs and kills them. Of each run it prints how it ended.
FORKING = """
import os, random, signal, sys
import rich.console, rich.progress  # here, not in each run
from pathlib import Path
from time import sleep
sys.path.append(sys.argv[2])
from clems.experiments.backends.starting import THREADS
from clems.experiments.running import run
from clems.experiments.store import Store
from stand_in import QUICK, Trial, load, work

def lines(folder):
    path = Store(folder).path
    return path.read_bytes().count(b"\\n") if path.exists() else 0

def begin(trials, folder, backend):
    child = os.fork()
    if not child:
        os.setsid()
        run(trials, Store(folder), work, load, [1], backend=backend, jobs=2)
        os._exit(0)
    return child

def ended(child):
    status = os.waitpid(child, 0)[1]
    print(status, flush=True)
    return status
"""
KILLING = """
random.seed(1)
kills = number = 0
while kills < 20:  # at random moments of a run one after another
    number += 1
    status = 1
    while status:
        child = begin(QUICK, Path(sys.argv[1], f"serial-{number}"), "serial")
        sleep(random.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
        status = ended(child)
        kills += status != 0
folder = Path(sys.argv[1], "local")
for _ in range(2):  # after some more records, so that processes have time to start
    enough = lines(folder) + random.randint(1, 10)
    child = begin(QUICK, folder, "local")
    while lines(folder) < enough:
        sleep(0.005)
    sleep(random.uniform(0, 0.005))
    os.kill(child, signal.SIGKILL)
    ended(child)
ended(begin(QUICK, folder, "local"))
"""
ENDING = """
trials = [Trial("a", 0), Trial("a", 1), Trial("a", 0, "slow"), Trial("a", 1, "slow")]
for how in (signal.SIGINT, signal.SIGKILL):
    folder = Path(sys.argv[1], how.name)
    child = begin(trials, folder, "local")
    while lines(folder) < 2:
        sleep(0.01)
    sleep(0.2)  # now the slow ones are under way
    if how == signal.SIGINT:
        os.killpg(child, how)  # to all processes, as a terminal does
    else:
        os.kill(child, how)
    ended(child)
"""


def forking(script, folder):
    """Run a script to the end of all processes that it has started: they all could write."""
    code = [sys.executable, "-c", FORKING + script, str(folder), str(Path(__file__).parent)]
    alone = {**os.environ, **dict.fromkeys(THREADS, "1")}  # a process with threads should not fork
    return subprocess.run(code, capture_output=True, text=True, check=False, timeout=300, env=alone)


def records_of(folder):
    return {key: lasting(record) for key, record in Store(folder).records().items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    outcome = run(QUICK, Store(folder), work, load, [1], backend="serial")
    assert (outcome.done, outcome.failed, outcome.left) == (40, 0, 0)
    return records_of(folder)


def test_what_is_done_is_not_done_again_and_what_failed_only_on_request(tmp_path):
    trials = [Trial("a", 0), Trial("a", 0), Trial("b", 0, "wrong"), Trial("a", 1)]
    begun = []

    def noted(trial, dataset, costs):
        begun.append(trial.key)
        return work(trial, dataset, costs)

    def again(trials, **settings):
        begun.clear()
        outcome = run(trials, Store(tmp_path), noted, load, [1], backend="serial", **settings)
        return outcome.done, outcome.failed, outcome.left

    assert again(trials[:1]) == (1, 0, 0)
    assert again(trials) == (2, 1, 0)
    assert begun == ["b-0-wrong", "a-1-well"]
    assert again(trials) == (2, 1, 0)
    assert begun == []
    assert again(trials, retry_failed=True, budget=0.0) == (2, 1, 0)
    assert begun == []
    assert again(trials, retry_failed=True) == (2, 1, 0)
    assert begun == ["b-0-wrong"]
    Store(tmp_path).append({"key": "b-0-wrong", "status": "done"})
    assert again(trials, retry_failed=True) == (3, 0, 0)
    assert begun == []
    assert again([Trial("a", 1)]) == (1, 0, 0)  # others in the store do not count


def test_trials_of_a_dataset_follow_each_other(tmp_path):
    trials = [Trial(dataset, repetition) for repetition in range(3) for dataset in "cab"]
    run(trials, Store(tmp_path), work, load, [1], backend="serial")
    assert [key[:3] for key in Store(tmp_path).records()] == [f"{dataset}-{n}" for dataset in "cab" for n in range(3)]


def test_a_second_run_is_refused_before_anything_begins(tmp_path):
    with Store(tmp_path), pytest.raises(ValueError, match=r"Another run is writing"):
        run(QUICK, Store(tmp_path), pytest.fail, pytest.fail, [], backend="serial")


def test_after_the_budget_nothing_is_begun_and_what_is_under_way_is_finished(tmp_path, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("clems.experiments.running.monotonic", lambda: float(next(clock)))
    outcome = run(QUICK, Store(tmp_path), work, load, [1], backend="local", jobs=2, budget=5.0)
    assert outcome.done == 4  # the clock is asked once at the start and once per trial
    assert outcome.left == 36
    assert len(Store(tmp_path).records()) == 4


@pytest.mark.parametrize("backend", ["serial", "local"])
def test_an_interrupt_keeps_what_is_done_and_ends_workers(tmp_path, backend):
    class Interrupted(Store):
        def append(self, record):
            if len(self.records()) == 3:
                raise KeyboardInterrupt
            super().append(record)

    with pytest.raises(KeyboardInterrupt):
        run(QUICK, Interrupted(tmp_path), work, load, [1], backend=backend, jobs=2)
    assert len(Store(tmp_path).records()) == 3
    assert workers() == []
    assert run(QUICK, Store(tmp_path), work, load, [1], backend="serial").done == 40  # the lock is free


def test_runs_that_are_killed_again_and_again_end_as_if_they_had_not_been(tmp_path, undisturbed):
    process = forking(KILLING, tmp_path)
    assert process.stderr == ""
    statuses = process.stdout.split()
    assert statuses.count("9") >= 20
    assert set(statuses) == {"0", "9"}
    stores = [Store(folder) for folder in tmp_path.iterdir()]
    assert len(stores) >= 2
    for store in stores:
        assert records_of(store.folder) == undisturbed
        keys = [json.loads(line)["key"] for line in store.path.read_text().splitlines()]
        assert sorted(keys) == sorted(undisturbed)  # nothing was done twice


def test_no_worker_survives_its_run(tmp_path):
    process = forking(ENDING, tmp_path)
    assert process.stderr.count("Traceback") == 1  # of the run that was interrupted, and of no worker
    assert process.stderr.endswith("KeyboardInterrupt\n")
    assert process.stdout.split()[-1] == "9"
    for folder in tmp_path.iterdir():
        assert set(Store(folder).records()) == {"a-0-well", "a-1-well"}


def test_progress_is_shown_on_a_terminal_only(tmp_path, capfd):
    trials = [Trial("a", 0), Trial("a", 1, "wrong"), Trial("b", 0)]
    for name, is_terminal in (("seen", True), ("unseen", False)):
        screen = io.StringIO()
        console = Console(file=screen, force_terminal=is_terminal, width=120, color_system=None)
        run(trials, Store(tmp_path / name), work, load, [1], backend="serial", console=console)
        shown = screen.getvalue()
        assert all((part in shown) == is_terminal for part in ("3/3", "1 failed", "b well 0", "left"))
    run(trials, Store(tmp_path / "none"), work, load, [1], backend="serial")
    assert capfd.readouterr() == ("", "")


def test_without_rich_a_run_is_silent(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert run([Trial("a", 0)], Store(tmp_path), work, load, [1], backend="serial").done == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1h30m", 5400), ("1h1m1s", 3661), ("1.5m", 90)]
)
def test_budgets_are_read(text, seconds):
    assert parse_budget(text) == seconds
    assert parse_budget(f" {text} ") == seconds


@pytest.mark.parametrize("text", ["", "90", "2 hours", "30m1h", "-1h", "h", "1d"])
def test_what_is_no_budget_is_said(text):
    with pytest.raises(ValueError, match=r"A budget is a time such as 90s, 30m, 2h or 1h30m; got '"):
        parse_budget(text)
