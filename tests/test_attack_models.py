"""The attack on model files finds what it is there to find, and nothing else."""

import random

import numpy as np
import pytest

from attack import models
from clems import BR, save
from clems.persistence import trust


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.clems"
    model = BR(models.CLASSIFIERS["tree"], random_state=0).fit(models.X, models.Y)
    save(model, path)
    return [("br: tree", path.read_bytes(), models.answers(model))]


def outcomes(files, tmp_path, n):
    models.work([*range(n)], 0, files, tmp_path / "records")
    return models.read(tmp_path / "records")


def test_changed_files_do_no_harm(files, tmp_path):
    found = outcomes(files, tmp_path, 60)
    assert sorted(job for job, *_ in found) == [*range(60)]
    assert all(end.startswith(models.FINE) for *_, end in found)
    assert {end.split()[0] for *_, end in found} >= {"refused", "predicted"}


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        ("import os; os.kill(os.getpid(), 11)", "crashed: signal 11"),
        ("while True: pass", "took longer than"),
        ("import numpy; numpy.ones(16_000_000)", "took 1"),
        ("raise KeyError", "load raised KeyError"),
    ],
)
def test_harm_is_found(harm, message, files, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "load", lambda path: exec(harm))
    monkeypatch.setattr(models, "SECONDS", 1 if "longer" in message else 60)
    monkeypatch.setattr(models, "MEMORY", 100 << 20)
    found = outcomes(files, tmp_path, 1)
    assert len(found) == 1
    assert all(end.startswith(message) for *_, end in found)


def test_files_that_are_loaded_without_their_digest_are_found(files, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "load", lambda path: None)
    monkeypatch.setattr(models, "answers", lambda model: [np.zeros(1)])
    found = outcomes(files, tmp_path, 40)
    assert {end for _, _, kind, end in found if kind == "unsigned"} == {"unsigned file was loaded"}


def test_a_number_makes_the_same_file_again(files):
    for seed in range(20):
        one, other = (models.mutated(files[0][1], random.Random(seed)) for _ in range(2))
        assert one == other


def test_names_that_are_not_attacked_are_found():
    """The campaign makes a model of each and refuses to start without one; here two show what it counts."""
    tree, svc = (BR(models.CLASSIFIERS[name], random_state=0).fit(models.X, models.Y) for name in ("tree", "svc"))
    without, both = models.not_attacked([tree]), models.not_attacked([tree, svc])
    names = {trust.name_of(type(model.estimators_[0])) for model in (tree, svc)}
    assert len(names) == 2
    assert without & names == {trust.name_of(type(svc.estimators_[0]))}
    assert not both & names
    assert not both & {*models.NEVER_SAVED}
    assert {*models.NEVER_SAVED} <= trust.ROLES.keys()
