"""Carrying out what is not yet in the store: with progress, within a budget, and from where it was after any end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from time import monotonic
from typing import Any

from clems.experiments.backends import check_backend, execute
from clems.experiments.backends.attempt import Load, T, Work
from clems.experiments.progress import progress_on
from clems.experiments.store import Store

BUDGET = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")


@dataclass(frozen=True)
class Outcome:
    """Where trials stand after a run; the three numbers add up to all of them.

    Attributes
    ----------
    done : int
        Trials that are done, now or earlier.
    failed : int
        Trials that failed, now or earlier.
    left : int
        Trials that have no record, because the budget was used up.
    seconds : float
        How long the run took.
    """

    done: int
    failed: int
    left: int
    seconds: float


def parse_budget(text: str) -> float:
    """Read a length of time.

    Parameters
    ----------
    text : str
        Hours, minutes and seconds, each of which may be left out.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> from clems.experiments.running import parse_budget
    >>> parse_budget("1h30m"), parse_budget("90s"), parse_budget("0.5h")
    (5400.0, 90.0, 1800.0)
    """
    match = BUDGET.fullmatch(text.strip())
    if not match or not any(match.groups()):
        raise ValueError(f"A budget is a time such as 90s, 30m, 2h or 1h30m; got {text!r}.")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


def run(
    trials: Iterable[T],
    store: Store,
    work: Work,
    load: Load,
    costs: Any,
    *,
    backend: str = "local",
    jobs: int | None = None,
    scheduler: str | None = None,
    budget: float | None = None,
    retry_failed: bool = False,
    console: Any = None,
) -> Outcome:
    """Run trials that have no record yet, and append each record when it is complete.

    A run can end at any moment, by Ctrl-C, a kill or a power failure, and the next run resumes from there. After Ctrl-C
    the trials in progress are abandoned, their workers ended, and KeyboardInterrupt is raised again.

    Parameters
    ----------
    trials : iterable
        Trials; those with the same key count once.
    store : Store
        Where records are.
    work, load, costs, backend, jobs, scheduler
        As for `execute`.
    budget : float or None, default=None
        Seconds after which no more trials are begun; those under way are finished.
    retry_failed : bool, default=False
        Whether trials that failed are tried again.
    console : rich.console.Console or None, default=None
        Where progress is shown, if it is a terminal; by default the standard error stream.

    Returns
    -------
    Outcome
        Where the trials stand.

    Examples
    --------
    >>> from clems.datasets import load_dataset
    >>> from clems.experiments import Spec, Store, make_plan, run, run_trial
    >>> data = {"digits": load_dataset("digit-scenes", "train").take(range(120))}
    >>> options = {"learners": {"br": {}}, "repetitions": 1, "trees": 5, "depths": [5]}
    >>> spec = Spec(title="One learner", datasets=["digits"], criteria=["f1"], data=data, **options)
    >>> plan = make_plan(spec)
    >>> outcome = run(plan.trials, Store("records"), run_trial, spec.load, {}, backend="serial")
    >>> outcome.failed, outcome.left
    (0, 0)
    """
    check_backend(backend, jobs, scheduler)
    start = monotonic()
    distinct = {trial.key: trial for trial in trials}
    with store:  # from here on, so that another run that is writing shows now, not after an hour
        status = {key: record["status"] for key, record in store.records().items() if key in distinct}
        passed = {"done"} if retry_failed else {"done", "failed"}
        waiting = _by_dataset([trial for key, trial in distinct.items() if status.get(key) not in passed])
        begun = waiting if budget is None else _until(start + budget, waiting)
        results = execute(begun, work, load, costs, backend, jobs, scheduler)
        with progress_on(console, len(waiting)) as progress, closing(results):
            for trial, record in results:
                store.append(record)
                status[trial.key] = record["status"]
                progress.advance(trial, record)
    ended = list(status.values())
    done, failed = ended.count("done"), ended.count("failed")
    return Outcome(done, failed, len(distinct) - done - failed, monotonic() - start)


def _by_dataset(trials: Sequence[T]) -> list[T]:
    """Put trials of one dataset after each other, in order otherwise, so that data is sent once."""
    order = {name: number for number, name in enumerate(dict.fromkeys(trial.dataset for trial in trials))}
    return sorted(trials, key=lambda trial: order[trial.dataset])


def _until(deadline: float, trials: Iterable[T]) -> Iterator[T]:
    """Give trials that begin before a moment."""
    for trial in trials:
        if monotonic() >= deadline:
            return
        yield trial
