"""Trials carried out in processes of this computer, one trial at a time in each."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import islice
from multiprocessing import connection, get_all_start_methods, get_context, parent_process
from typing import Any

from joblib import cpu_count  # type: ignore[import-untyped]

from clems.costs.text import Modules
from clems.experiments.backends.attempt import (
    DEATHS,
    KEPT,
    PROTOCOL,
    AnyTrial,
    Backend,
    Load,
    Results,
    T,
    Work,
    WorkerDiedError,
    attempt,
    failed,
    got,
)
from clems.experiments.backends.starting import apart_from_main, modest_start
from clems.experiments.store import Record

UNBORN = (
    f"{DEATHS} workers ended before they began, at last by {{}}; what they said is above. They must be able to import "
    "the function that carries out trials, and a script that has a cost of its own needs if __name__ == '__main__'."
)


def in_processes(
    trials: Iterable[T], work: Work, load: Load, costs: Any, *, jobs: int | None, **_others: Any
) -> Results[T]:
    """Carry out trials in processes of this computer."""
    packed = lru_cache(KEPT)(lambda name: got(lambda: pickle.dumps(load(name), PROTOCOL)))
    coming = iter(trials)
    again = deque(islice(coming, jobs or cpu_count()))  # no more workers than trials
    deaths: Counter[str] = Counter()
    unborn = 0
    workers: list[_Worker] = []
    idle: list[_Worker] = []
    finished: list[tuple[T, Record]] = []
    try:
        for _ in again:
            workers.append(_Worker(work, costs, packed))  # noqa: PERF401 - if one does not start, the others are ended
        while workers:
            while idle and (trial := again.popleft() if again else next(coming, None)) is not None:
                try:
                    packed(trial.dataset)()
                except Exception as error:
                    yield trial, failed(trial, error, 0.0)
                else:
                    idle.pop().give(trial)
            yield from finished  # once the next ones are under way
            finished = []
            if idle and all(worker.trial is None for worker in workers):
                return
            for worker in _heard(workers):
                try:
                    record = worker.connection.recv()
                except (EOFError, OSError):
                    worker.process.join(5)  # to hear how it ended itself
                    how = worker.end()
                    workers.remove(worker)
                    idle = [other for other in idle if other is not worker]
                    if worker.trial is not None:
                        deaths[worker.trial.key] += 1
                        if deaths[worker.trial.key] < DEATHS:
                            again.appendleft(worker.trial)
                        else:
                            died = WorkerDiedError(f"the worker died {DEATHS} times, at last by {how}")
                            finished.append((worker.trial, failed(worker.trial, died, 0.0)))
                    elif not worker.is_ready:
                        unborn += 1
                        if unborn == DEATHS:
                            raise WorkerDiedError(UNBORN.format(how)) from None
                    workers.append(_Worker(work, costs, packed))
                else:
                    unborn = 0
                    if worker.trial is not None:
                        finished.append((worker.trial, record))
                    worker.is_ready, worker.trial = True, None
                    idle.append(worker)
    finally:
        for worker in workers:
            worker.process.kill()  # all at once, then wait for each
        for worker in workers:
            worker.end()


def _heard(workers: list[_Worker]) -> list[_Worker]:
    """Wait until some have a record, or are dead."""
    ready = connection.wait([worker.connection for worker in workers])
    return [worker for worker in workers if worker.connection in ready]


class _Worker:
    """A process that is given one trial at a time, so that it is known which one it died of."""

    def __init__(self, work: Work, costs: Any, packed: Callable[[str], Callable[[], bytes]]) -> None:
        context = _context(work.__module__)
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(Modules(), theirs, work, costs), daemon=True)
        with modest_start(), apart_from_main([work, costs]):
            self.process.start()
        theirs.close()
        self.is_ready = False
        self.trial: Any = None
        # Forgets when the worker does, which remembers in the same way: both see the same names.
        self._send = lru_cache(KEPT)(lambda name: self.connection.send_bytes(packed(name)()))

    def give(self, trial: AnyTrial) -> None:
        """Begin a trial; if the worker is dead, that is seen when it is waited for."""
        self.trial = trial
        try:
            self.connection.send(trial)
            self._send(trial.dataset)
        except OSError:
            pass

    def end(self) -> str:
        """End the process, whatever it does, and say how it ended."""
        self.process.kill()
        self.process.join()
        code = self.process.exitcode or 0
        self.process.close()
        self.connection.close()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def _context(module: str) -> Any:
    """Choose how processes start: forked off one that has imported what they need and does nothing else.

    To fork off this one would not do, as it may have threads; to start each anew takes seconds.
    """
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__, module])
    return context


def _serve(modules: Modules, parent: connection.Connection, work: Work, costs: Any) -> None:  # noqa: ARG001
    """Serve as a worker: carry out trials until the parent closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    received = lru_cache(KEPT)(lambda _: got(lambda: pickle.loads(parent.recv_bytes())))
    try:
        parent.send(None)
        while True:
            trial = parent.recv()
            parent.send(attempt(trial, work, received(trial.dataset), costs))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    """End this process, in mid-trial too, if the parent was killed: nothing would read its record."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


PROCESSES = Backend(in_processes)
