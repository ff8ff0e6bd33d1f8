"""Settings of all tests."""

import os
import signal

import numpy as np
import pytest
from forked import Forks
from hypothesis import settings
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

SHORT = 40  # characters of a table that is written out

settings.register_profile("clems", deadline=None)  # no test depends on a clock
settings.register_profile("long", deadline=None, max_examples=3000)
settings.load_profile("clems")


def pytest_configure(config):
    """Give one of several test processes one thread for linear algebra, so that they do not wait for one another."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        import sklearn.cluster  # noqa: F401 - what is limited has to be loaded

        threadpool_limits(1)


def pytest_collection_modifyitems(items):
    """Skip what is tested for a learner, or its module, if it needs a package that is not installed."""
    from clems import LEARNERS

    def learner_in(value):
        if isinstance(value, str):
            return LEARNERS.get(value.rpartition(".")[2])
        return value if isinstance(value, type) else type(value)

    for item in items:
        for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
            learner = learner_in(value)
            if not getattr(learner, "is_installed", lambda: True)():
                item.add_marker(pytest.mark.skip(reason=f"{learner.__name__} needs {', '.join(learner.needs)}"))


def pytest_make_parametrize_id(config, val, argname):
    """Call parameters of tests by names that say what they are and are the same in every process.

    Costs, functions and classes have names, estimators those of their classes, arrays have shapes, and short tables are
    written out; but not sets, which have no order, nor what is known by its place in memory.
    """
    name = getattr(val, "__name__", None) or getattr(val, "name", None)
    if isinstance(name, str):
        return argname if name == "<lambda>" else name
    if isinstance(val, BaseEstimator):
        return type(val).__name__
    if hasattr(val, "shape") and hasattr(val, "dtype"):
        return f"{type(val).__name__} of {'x'.join(map(str, val.shape))}"
    if isinstance(val, (list, tuple, range)) or (isinstance(val, dict) and val):
        shown = repr(val)
        if len(shown) <= SHORT and shown.isprintable() and " at 0x" not in shown and "{" not in shown[1:]:
            return shown
    return None


@pytest.fixture(autouse=True)
def _numbers_of_its_own(request, monkeypatch):
    """Give every test the same random numbers, whichever tests of its module were run before it."""
    if isinstance(getattr(request.module, "RNG", None), np.random.Generator):
        monkeypatch.setattr(request.module, "RNG", np.random.default_rng(0))


@pytest.fixture(scope="session")
def forks():
    """Commands as processes of their own, without the second that each takes to import what it needs."""
    forks = Forks()
    yield forks
    forks.end()


# What is started in the background ignores Ctrl-C, and so would all processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
