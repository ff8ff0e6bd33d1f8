"""Settings of all tests."""

from hypothesis import settings

settings.register_profile("clems", deadline=None)  # no test depends on a clock
settings.register_profile("long", deadline=None, max_examples=3000)
settings.load_profile("clems")
