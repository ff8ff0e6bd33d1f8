"""The attack on model files finds what it is there to find, and nothing else."""

import json
import random

import numpy as np
import pytest

from attack import models
from attack.forging import SCHEMA, members_of, nodes_of
from clems import BR, LEARNERS, save
from clems.persistence import trust
from clems.persistence.file import packed


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


def test_every_name_that_a_file_may_hold_is_attacked():
    found = set()
    for model in models.subjects().values():
        schema = json.loads(members_of(packed(model))[SCHEMA])
        found |= {trust.name_in(node) for node in nodes_of(schema)}
    missing = {name for name in trust.ROLES if name not in found and not name.startswith("numpy.")}
    missing -= {trust.name_of(learner) for learner in LEARNERS.values() if not learner.is_installed()}
    assert missing == {*models.NEVER_SAVED}
