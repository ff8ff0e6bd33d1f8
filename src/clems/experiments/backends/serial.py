"""Trials carried out in this process, one after another."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any

from clems.experiments.backends.attempt import KEPT, Backend, Load, Results, T, Work, attempt, got


def one_after_another(trials: Iterable[T], work: Work, load: Load, costs: Any, **_others: Any) -> Results[T]:
    """Carry out trials here."""
    loaded = lru_cache(KEPT)(lambda name: got(partial(load, name)))
    for trial in trials:
        yield trial, attempt(trial, work, loaded(trial.dataset), costs)


SERIAL = Backend(one_after_another)
