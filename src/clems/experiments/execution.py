"""Trials carried out one after another, on the cores of this computer, or on a cluster: the same records everywhere."""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache, partial
from importlib import import_module
from itertools import islice
from multiprocessing import connection, get_all_start_methods, get_context, parent_process, resource_tracker
from time import monotonic, perf_counter
from types import ModuleType
from typing import Any, Protocol, TypeVar

from joblib import cpu_count  # type: ignore[import-untyped]
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from clems.cost_files import Modules
from clems.experiments.store import Record, plain

KEPT = 2  # datasets that a process remembers: that of most trials, and that of the last ones of those before
PROTOCOL = pickle.HIGHEST_PROTOCOL
DEATHS = 3  # workers that a trial may cost
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
LINE = 300  # characters of an error at most
TRACE = 10_000  # characters of a traceback at most; its end says what went wrong
UNBORN = (
    f"{DEATHS} workers ended before they began, at last by {{}}; what they said is above. They must be able to import "
    "the function that carries out trials, and a script that has a cost of its own needs if __name__ == '__main__'."
)
RECOUNT = 5.0  # seconds after which the threads of a cluster are counted again


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


class WorkerDiedError(RuntimeError):
    """A process ended in the middle of a trial, for instance because memory ran out."""


def execute(
    trials: Iterable[T],
    work: Work,
    load: Load,
    costs: Any,
    backend: str = "serial",
    jobs: int | None = None,
    scheduler: str | None = None,
) -> Results[T]:
    """Carry out trials and give their records as they come.

    Trials are taken one by one, when there is a worker for them. So their number does not matter for memory, and where
    they end early nothing more is begun. Closing the generator abandons those under way and ends all workers; those of
    a cluster that was there before finish what they are at.

    An error in a trial is its record, of status failed. A worker that dies is replaced and its trial begun again; a
    trial that costs three workers has failed.

    Parameters
    ----------
    trials : iterable
        Best with those of one dataset after each other: a process remembers only the last two.
    work : callable
        Function of a trial, a dataset and `costs` that returns a record; other processes must be able to import it.
    load : callable
        Function of a name that returns a dataset. Called in this process, once per dataset, whatever the backend.
    costs : object
        Passed on.
    backend : {"serial", "local", "dask"}, default="serial"
        Here; in processes of this computer; on a Dask cluster. In all of them a trial has one thread for linear
        algebra, as sums can depend on the number of threads.
    jobs : int or None, default=None
        Most trials at a time; by default as many as there are cores, or threads of the cluster.
    scheduler : str or None, default=None
        Address of the scheduler of a Dask cluster; by default one is made of processes of this computer.

    Yields
    ------
    tuple of trial and dict
        In the order in which trials end.
    """
    check_backend(backend, jobs, scheduler)
    results: Results[T] = BACKENDS[backend](trials, work, load, costs, jobs, scheduler)
    return results


def check_backend(backend: str, jobs: int | None, scheduler: str | None) -> None:
    """Refuse what there is not, or what does not go together."""
    if backend not in BACKENDS:
        raise ValueError(f"No backend {backend!r}; there are {', '.join(BACKENDS)}.")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1; got {jobs}.")
    if scheduler is not None and backend != "dask":
        raise ValueError(
            f"Only the backend dask has a scheduler; got scheduler={scheduler!r} with backend={backend!r}."
        )


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
        with _libraries().limit(limits=1):
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


@cache
def _libraries() -> Any:
    """Linear algebra of this process; looked for once, as that takes as long as a short trial."""
    return ThreadpoolController()


def _got(get: Callable[[], Any]) -> Callable[[], Any]:
    """Get something now and give it on request; so is what went wrong, which is not tried again."""
    try:
        value = get()
    except Exception as error:
        fault, trace = error, error.__traceback__

        def refuse() -> Any:
            raise fault.with_traceback(trace)

        return refuse
    return lambda: value


def _serially(
    trials: Iterable[T],
    work: Work,
    load: Load,
    costs: Any,
    jobs: int | None,  # noqa: ARG001
    scheduler: str | None,  # noqa: ARG001
) -> Results[T]:
    loaded = lru_cache(KEPT)(lambda name: _got(partial(load, name)))
    for trial in trials:
        yield trial, attempt(trial, work, loaded(trial.dataset), costs)


class _Worker:
    """A process that is given one trial at a time, so that it is known which one it died of."""

    def __init__(self, work: Work, costs: Any, packed: Callable[[str], Callable[[], bytes]]) -> None:
        context = _context(work.__module__)
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(Modules(), theirs, work, costs), daemon=True)
        with _modest_start(), _apart_from_main([work, costs]):
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


@contextmanager
def _modest_start() -> Iterator[None]:
    """Start processes that have one thread for linear algebra from the beginning, and leave Ctrl-C to this one."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    mask = None
    if hasattr(signal, "pthread_sigmask"):
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])  # a closed terminal is no end for the next
        resource_tracker.ensure_running()  # now, as it would undo what follows
        signal.pthread_sigmask(signal.SIG_SETMASK, {*mask, signal.SIGINT})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _apart_from_main(needed: Any) -> Iterator[None]:
    """Start processes that do not run the user's script once more, unless something they need is defined in it."""
    if b"__main__" in pickle.dumps(needed):
        yield
        return
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")  # which has no file to run
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _serve(modules: Modules, parent: connection.Connection, work: Work, costs: Any) -> None:  # noqa: ARG001
    """Do what a worker does: trials, until there is nobody to tell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    received = lru_cache(KEPT)(lambda _: _got(lambda: pickle.loads(parent.recv_bytes())))
    try:
        parent.send(None)
        while True:
            trial = parent.recv()
            parent.send(attempt(trial, work, received(trial.dataset), costs))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    """End this process in mid-trial if the parent was killed: nobody would hear of it."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _locally(
    trials: Iterable[T],
    work: Work,
    load: Load,
    costs: Any,
    jobs: int | None,
    scheduler: str | None,  # noqa: ARG001
) -> Results[T]:
    packed = lru_cache(KEPT)(lambda name: _got(lambda: pickle.dumps(load(name), PROTOCOL)))
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


def _on_dask(
    trials: Iterable[T], work: Work, load: Load, costs: Any, jobs: int | None, scheduler: str | None
) -> Results[T]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise ImportError("The backend dask needs Dask: pip install 'clems[dask]'.") from None

    coming = iter(trials)
    again = deque(islice(coming, jobs or (1 if scheduler else cpu_count())))
    if not again:
        return
    with ExitStack() as stack:
        cluster = scheduler or stack.enter_context(_cluster(distributed, len(again)))
        client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        client.wait_for_workers(1)
        # A task that makes the data is done again when all workers that had it are dead; scattered data would be lost.
        made = lru_cache(KEPT)(lambda name: _got(lambda: _send(client, load(name))))
        stack.callback(made.cache_clear)
        there = partial(_attempt_there, modules=Modules(), work=work, costs=costs)
        under_way: dict[Any, T] = {}
        stack.callback(lambda: client.cancel(list(under_way), force=True))
        completed = distributed.as_completed(loop=client.loop)
        room, counted = jobs or 0, -RECOUNT
        while True:
            if jobs is None and monotonic() - counted > RECOUNT:  # clusters grow and shrink
                room, counted = max(1, sum(client.nthreads().values())), monotonic()
            # No more than can begin at once: one that waits behind another that kills its worker would share the blame.
            while len(under_way) < room and (trial := again.popleft() if again else next(coming, None)) is not None:
                try:
                    data = made(trial.dataset)()
                except Exception as error:
                    yield trial, failed(trial, error, 0.0)
                else:
                    future = client.submit(there, trial, data, pure=False)
                    under_way[future] = trial
                    completed.add(future)
            if not under_way:
                return
            future = next(completed)
            trial = under_way.pop(future)
            if future.status == "finished":
                yield trial, future.result()
                continue
            fault = WorkerDiedError("the cluster gave it up") if future.cancelled() else future.exception()
            if isinstance(fault, distributed.KilledWorker):
                fault = WorkerDiedError(f"the worker died {fault.allowed_failures + 1} times")
            yield trial, failed(trial, fault, 0.0)


def _send(client: Any, dataset: Any) -> Any:
    """Give a cluster data."""
    quiet = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}  # it is meant to be sent
    with import_module("dask").config.set(quiet):
        return client.submit(pickle.loads, pickle.dumps(dataset, PROTOCOL), pure=False)


def _cluster(distributed: Any, jobs: int) -> Any:
    """Start a cluster of processes of this computer, whose memory is not limited, as it is not without Dask either."""
    settings = {"distributed.scheduler.allowed-failures": DEATHS - 1}
    with import_module("dask").config.set(settings), _modest_start():
        return distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": ":0"},  # any port that is free
            silence_logs=logging.CRITICAL,
            memory_limit=0,
        )


def _attempt_there(trial: AnyTrial, dataset: Any, modules: Modules, work: Work, costs: Any) -> Record:  # noqa: ARG001
    """Carry out a trial on a worker that has the data."""
    return attempt(trial, work, lambda: dataset, costs)


BACKENDS: dict[str, Callable[..., Any]] = {"serial": _serially, "local": _locally, "dask": _on_dask}
