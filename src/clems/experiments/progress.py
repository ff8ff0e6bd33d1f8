"""Progress of a run, as a bar on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Protocol

from clems.experiments.backends.attempt import AnyTrial
from clems.experiments.store import Record


class Progress(Protocol):
    """Shows how far a run is."""

    def advance(self, trial: AnyTrial, record: Record) -> None:
        """Show that a trial ended."""


class Silence:
    """No progress to be seen."""

    def advance(self, trial: AnyTrial, record: Record) -> None:
        """Show nothing."""


class Bar:
    """A bar on a terminal: how many of all, how fast, how long still, how many failed, and what was last."""

    def __init__(self, bar: Any, total: int) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=total, failed="", rate="", last="")
        self._start = monotonic()
        self._ended = self._failed = 0

    def advance(self, trial: AnyTrial, record: Record) -> None:
        """Show that a trial ended."""
        self._ended += 1
        self._failed += record["status"] == "failed"
        self._bar.update(
            self._task,
            advance=1,
            rate=_rate(self._ended, monotonic() - self._start),
            failed=f"{self._failed} failed" if self._failed else "",
            last=f"{trial.dataset} {trial.kind} {trial.repetition}",
        )


def _rate(number: int, seconds: float) -> str:
    """Say how fast, in a unit in which it is more than one."""
    for unit, length in (("s", 1.0), ("min", 60.0)):
        if number * length >= seconds:
            return f"{number * length / max(seconds, 1e-3):.1f}/{unit}"
    return f"{number * 3600 / seconds:.1f}/h"


@contextmanager
def progress_on(console: Any, total: int) -> Iterator[Progress]:
    """Show progress on a console, by default the standard error stream, if it is a terminal and there is any."""
    try:
        from rich import progress
        from rich.console import Console
    except ImportError:  # then there is no progress to be seen, and all else is the same
        yield Silence()
        return
    console = console or Console(stderr=True)
    if not console.is_terminal or not total:
        yield Silence()
        return
    columns = (
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("[red]{task.fields[failed]}"),
        progress.TextColumn("{task.fields[last]}", markup=False, style="dim"),
    )
    with progress.Progress(*columns, console=console, refresh_per_second=4) as bar:
        yield Bar(bar, total)
