"""Settings of all tests."""

from hypothesis import settings

settings.register_profile("clems", deadline=None)  # no test depends on a clock
settings.register_profile("long", deadline=None, max_examples=3000)
settings.load_profile("clems")


def pytest_make_parametrize_id(config, val, argname):
    """Costs, functions and classes are called by their names, so that a test has the same name in every process."""
    name = getattr(val, "__name__", None) or getattr(val, "name", None)
    return name if isinstance(name, str) else None
