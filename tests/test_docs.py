"""What the documentation shows is what the code does."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import clems
from clems import costs

MODULES = [module.name for module in pkgutil.walk_packages(clems.__path__, "clems.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_everything_public_is_documented():
    assert sorted(clems.__all__) == sorted(set(clems.__all__))
    for name in clems.__all__:
        documented = getattr(clems, name)
        assert isinstance(documented, dict) or documented.__doc__, name


def test_the_contributing_page_shows_the_real_code():
    page = Path(__file__).parents[1].joinpath("CONTRIBUTING.md").read_text()
    assert f"```python\n{inspect.getsource(costs.f1)}```" in page


def test_the_table_of_costs_is_true():
    page = Path(__file__).parents[1].joinpath("docs/costs.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert {name for name, *_ in rows} == set(clems.COSTS)
    for name, _, symmetric, separating, reported in rows:
        cost = clems.COSTS[name]
        assert (symmetric == "yes", separating == "yes") == (cost.symmetric, cost.separating)
        assert (reported == "score ↑") == cost.as_score
