"""What the documentation shows is what the code does."""

import doctest
import importlib
import pkgutil

import pytest

import clems

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
