"""The examples run, and the educational twin of CLEMS computes what CLEMS computes."""

import importlib.util
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from clems import CLEMS, COSTS, mirrored_smacof
from clems.datasets import digit_scenes
from clems.embedding.smacof import label_start

X, Y = digit_scenes(500, random_state=4)
TRAIN, TEST = slice(350), slice(350, None)
NEIGHBOURS = KNeighborsRegressor(12, weights="distance")


@cache
def example(name):
    path = Path(__file__).parents[1] / "examples" / f"{name}.py"
    module = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location(name, path))
    spec.loader.exec_module(module)
    return module


twin = example("clems_in_sixty_lines")
COSTS_OF_TWIN = {"hamming": twin.hamming_cost, "f1": twin.f1_cost}


@pytest.mark.parametrize("name", COSTS_OF_TWIN)
def test_costs_of_the_twin_are_those_of_the_library(name):
    every = (np.arange(32)[:, None] >> np.arange(5)) & 1
    wanted = COSTS[name].pairwise(every, every)
    np.testing.assert_allclose(COSTS_OF_TWIN[name](every.astype(float), every), wanted, atol=1e-15)


@pytest.mark.parametrize("cost", ["hamming", "f1", "rank"])
def test_the_twin_embeds_as_well_as_the_solver(cost):
    """Both end at a minimum: the same stress up to one part in a thousand, or up to 1e-9 where there is none."""
    labels, frequency = np.unique(Y, axis=0, return_counts=True)
    points = labels.astype(float)
    *_, stress = twin.embed(points, COSTS[cost].pairwise, frequency)
    D = np.sqrt(COSTS[cost].pairwise(labels, labels))
    solved = mirrored_smacof(D, label_start(labels, 10, np.random.RandomState(1)), frequency, tol=1e-8)
    assert stress == pytest.approx(solved.stress, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("seed", [2, 4])
@pytest.mark.parametrize("cost", ["hamming", "f1", "rank"])
def test_the_twin_decides_as_clems_does(cost, seed, monkeypatch):
    """Once both are at the minimum: after a thousand steps, one row of 150 may still be decided otherwise."""
    monkeypatch.setattr(twin, "embed", partial(twin.embed, steps=3000))
    X, Y = digit_scenes(500, random_state=seed)
    model = CLEMS(cost, decoder="nearest", estimator=NEIGHBOURS, tol=1e-9, max_iter=5000, random_state=0)
    wanted = model.fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
    found = twin.clems(X[TRAIN], Y[TRAIN], X[TEST], COSTS[cost].pairwise, NEIGHBOURS)
    assert np.array_equal(found, wanted)


def test_the_twin_prints_that_either_of_its_two_costs_is_less_where_it_was_trained_for(capsys):
    twin.main()
    _, *rows = capsys.readouterr().out.splitlines()
    means = np.array([row.split()[-2:] for row in rows], float)
    assert means.argmin(axis=0).tolist() == [0, 1]
