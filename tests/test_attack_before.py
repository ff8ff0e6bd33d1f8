"""Each point of the attack on 0.1 has a reproduction and a test."""

from dataclasses import replace

from attack.before import POINTS, clems, missing_tests


def test_each_point_has_tests_that_are_there():
    assert len(POINTS) == 18
    assert all(point.tests for point in POINTS)
    assert missing_tests() == []


def test_a_test_that_is_not_there_is_found(monkeypatch):
    point = replace(POINTS[0], tests=("test_attack_before.py::test_that_is_no_more",))
    monkeypatch.setattr("attack.before.POINTS", [point])
    assert missing_tests() == [*point.tests]


def test_ends_are_told_apart():
    assert clems(script="raise SystemExit('why')").how == "a sentence"
    assert clems(script="raise KeyError").how == "traceback, KeyError"
    assert clems(script="import os; os.kill(os.getpid(), 11)").how == "SIGSEGV, exit 139"
    assert clems(script="while True: pass", seconds=1).how == "stopped after 1 s of processor time"
    assert clems(script="pass").how == "accepted"
