"""One trial attempted in this process, and what every backend shares."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Callable, Generator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, TypeVar

from clems.experiments.environment import libraries
from clems.experiments.store import Record, plain

KEPT = 2  # datasets that a process remembers: that of most trials, and that of the last ones of those before
PROTOCOL = pickle.HIGHEST_PROTOCOL
DEATHS = 3  # workers that a trial may cost
LINE = 300  # characters of an error at most
TRACE = 10_000  # characters of a traceback at most; its end says what went wrong


class AnyTrial(Protocol):
    """What execution has to know of a trial."""

    @property
    def key(self) -> str:
        """Name of its record."""

    @property
    def dataset(self) -> str:
        """Name of its data."""

    @property
    def repetition(self) -> int:
        """Number of its split."""

    @property
    def kind(self) -> str:
        """Name of its learner."""

    @property
    def cost(self) -> str | None:
        """Cost that its training depends on."""

    @property
    def parameters(self) -> str:
        """Parameters of its learner as JSON."""


T = TypeVar("T", bound=AnyTrial)
Work = Callable[[Any, Any, Any], Record]
Load = Callable[[str], Any]
Results = Generator[tuple[T, Record], None, None]


@dataclass(frozen=True)
class Backend:
    """A way to carry out trials.

    Attributes
    ----------
    run : callable
        Generator function of trials, `work`, `load` and `costs`, with keywords `jobs` and `scheduler`; see
        :func:`clems.experiments.backends.execute`.
    has_scheduler : bool
        Whether it can use a cluster that is there.
    """

    run: Callable[..., Any]
    has_scheduler: bool = False


class WorkerDiedError(RuntimeError):
    """A process ended in the middle of a trial, for instance because memory ran out."""


def attempt(trial: AnyTrial, work: Work, dataset: Callable[[], Any], costs: Any) -> Record:
    """Carry out one trial in this process, whatever comes of it.

    Parameters
    ----------
    trial : trial
        What to do.
    work : callable
        How to do it.
    dataset : callable
        Returns the data, or raises what was wrong with it.
    costs : object
        Passed on.

    Returns
    -------
    dict
        A record as a store gives it back.
    """
    start = perf_counter()
    try:
        with libraries().limit(limits=1):
            return dict(plain(work(trial, dataset(), costs)))
    except (Exception, SystemExit) as error:
        return failed(trial, error, perf_counter() - start)


def failed(trial: AnyTrial, error: BaseException, seconds: float) -> Record:
    """Make the record of a trial that went wrong.

    Parameters
    ----------
    trial : trial
        The trial.
    error : exception
        What went wrong.
    seconds : float
        How long it took to.

    Returns
    -------
    dict
        A record of status failed with the error on one line and the end of its traceback.
    """
    line = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return {
        "key": trial.key,
        "status": "failed",
        "dataset": trial.dataset,
        "repetition": trial.repetition,
        "kind": trial.kind,
        "cost": trial.cost,
        "parameters": json.loads(trial.parameters),
        "error": line if len(line) <= LINE else line[: LINE - 1] + "…",
        "traceback": "".join(traceback.format_exception(error))[-TRACE:],
        "seconds": {"fit": seconds},
    }


def got(get: Callable[[], Any]) -> Callable[[], Any]:
    """Get something now and give it on request; so is what went wrong, which is not tried again."""
    try:
        value = get()
    except Exception as error:
        fault, trace = error, error.__traceback__

        def refuse() -> Any:
            raise fault.with_traceback(trace)

        return refuse
    return lambda: value
