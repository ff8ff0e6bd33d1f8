"""The same records on every backend, whatever happens to workers."""

import json
import sys
from collections import Counter
from contextlib import closing
from functools import partial

import pytest
from stand_in import Loading, Trial, Unreadable, collected, load, work, workers

from clems.experiments.backends import BACKENDS, execute
from clems.experiments.backends.attempt import KEPT, Backend, attempt, failed

pytest.importorskip("fcntl", reason="workers are killed by signals")


MIXED = [
    *(Trial(dataset, repetition) for dataset in ("a", "b", "c") for repetition in range(5)),
    Trial("a", 0, "wrong"),
    Trial("b", 0, "exits"),
    Trial("c", 0, "strange"),
    Trial("c", 0, "threads"),
    Trial("missing", 0),
    Trial("missing", 1),
]


def test_serial_records_are_those_of_the_work():
    loads = Counter()

    def counted(name):
        loads[name] += 1
        return load(name)

    records = collected(execute(MIXED, work, counted, [1, 2]))
    assert len(records) == len(MIXED)
    assert records["b-3-well"]["value"] == {"sum": 3 + 0.1 * 3, "nan": None, "pair": [1, 2]}
    assert records["a-0-wrong"]["error"] == "ValueError: this trial is wrong"
    assert records["b-0-exits"]["error"] == "SystemExit: enough"
    assert records["c-0-strange"]["error"].startswith("TypeError: A record holds what JSON knows")
    assert records["missing-1-well"]["error"] == "FileNotFoundError: No dataset 'missing'."
    assert Counter(record["status"] for record in records.values()) == {"done": 16, "failed": 5}
    assert records["c-0-threads"]["value"]["sum"] == 1  # whatever the number of cores
    assert loads["missing"] == 1  # what could not be loaded is not tried again


@pytest.mark.parametrize("backend", ["local", "dask"])
def test_all_backends_give_the_same_records_though_a_worker_dies(backend, tmp_path):
    if backend == "dask":
        pytest.importorskip("distributed")
    trials = sorted([*MIXED, Trial("b", 1, "deadly-once", str(tmp_path))], key=lambda trial: trial.dataset)
    records = collected(execute(iter(trials), work, Loading(str(tmp_path)), [1, 2], backend, jobs=2))
    assert (tmp_path / "b-1-deadly-once").exists()
    assert records == collected(execute(trials, work, load, [1, 2]))  # here nothing is deadly any more
    arrivals = Counter((tmp_path / "arrivals").read_text().splitlines())
    assert len({line.split()[0] for line in arrivals}) >= 2
    assert set(arrivals.values()) == {1}  # in each process once
    assert workers() == []


def test_a_trial_that_kills_three_workers_has_failed_and_the_others_have_not():
    trials = [Trial("a", repetition) for repetition in range(8)]
    deadly = Trial("a", 0, "deadly")
    records = collected(execute([*trials[:3], deadly, *trials[3:]], work, load, [1], "local", jobs=2))
    fatal = records.pop(deadly.key)
    assert (fatal["status"], fatal["dataset"]) == ("failed", "a")
    assert fatal["error"] == "WorkerDiedError: the worker died 3 times, at last by signal 9"
    assert records == collected(execute(trials, work, load, [1]))


def test_closing_ends_workers_in_the_middle_of_their_trials():
    results = execute([Trial("a", 0), *(Trial("a", n, "slow") for n in range(3))], work, load, [1], "local", jobs=2)
    assert next(results)[0] == Trial("a", 0)
    children = workers()
    assert len(children) == 2
    results.close()
    assert workers() == []


def test_trials_are_taken_when_there_is_a_worker_for_them():
    taken = []

    def coming():
        for repetition in range(1000):
            taken.append(repetition)
            yield Trial("a", repetition)

    with closing(execute(coming(), work, load, [1], "local", jobs=1)) as results:
        for number, _ in enumerate(results):
            assert len(taken) <= number + 3
            if number == 20:
                break


def test_without_trials_nothing_is_started():
    for backend in BACKENDS:
        assert list(execute([], work, load, [], backend)) == []


def test_workers_that_cannot_begin_are_said(capfd):
    with (
        closing(execute([Trial("a", 0)], work, load, Unreadable(), "local", jobs=1)) as results,
        pytest.raises(RuntimeError, match=r"3 workers ended before they began, at last by exit code 1;"),
    ):
        next(results)


def test_parameters_are_checked_before_anything_starts():
    with pytest.raises(ValueError, match=r"No backend 'threads'; there are serial, local, dask\."):
        execute([], work, load, [], "threads")
    with pytest.raises(ValueError, match=r"jobs must be at least 1; got 0\."):
        execute([], work, load, [], "local", jobs=0)
    with pytest.raises(ValueError, match=r"Only the backend dask has a scheduler"):
        execute([], work, load, [], "local", scheduler="tcp://127.0.0.1:8786")


def test_a_backend_of_ones_own_is_one_entry(monkeypatch):
    def backwards(trials, work, load, costs, **_):
        for trial in reversed([*trials]):
            yield trial, attempt(trial, work, partial(load, trial.dataset), costs)

    monkeypatch.setitem(BACKENDS, "backwards", Backend(backwards, has_scheduler=True))
    records = collected(execute(MIXED, work, load, [1, 2], "backwards", scheduler="tcp://127.0.0.1:8786"))
    assert [*records] == [trial.key for trial in reversed(MIXED)]
    assert records == collected(execute(MIXED, work, load, [1, 2]))
    with pytest.raises(ValueError, match=r"Only the backend dask or backwards has a scheduler"):
        execute([], work, load, [], "local", scheduler="tcp://127.0.0.1:8786")


def test_without_dask_the_way_to_install_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'clems\[dask\]'"):
        next(execute([Trial("a", 0)], work, load, [], "dask"))


def test_failures_are_short_and_whole():
    try:
        raise ValueError("much\n" * 10_000)
    except ValueError as error:
        record = failed(Trial("a", 0), error, 1.5)
    assert (record["dataset"], record["repetition"], record["cost"]) == ("a", 0, None)
    assert record["parameters"] == {"alpha": 1}
    assert record["seconds"] == {"fit": 1.5}
    assert len(record["error"]) == 300
    assert "\n" not in record["error"]
    assert len(json.dumps(record)) < 30_000


def test_interrupts_are_not_failures():
    def interrupted(trial, dataset, costs):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(Trial("a", 0), interrupted, lambda: None, [])


def test_few_datasets_are_kept():
    loads = Counter()

    def counted(name):
        loads[name] += 1
        return load(name)

    trials = [Trial(name, repetition) for name in "abcdef" for repetition in range(3)]
    collected(execute(trials, work, counted, []))
    assert set(loads.values()) == {1}
    assert len(loads) > KEPT
