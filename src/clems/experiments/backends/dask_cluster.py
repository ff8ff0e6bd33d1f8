"""Trials carried out on a Dask cluster: one that is there, or one made of processes of this computer."""

from __future__ import annotations

import logging
import pickle
from collections import deque
from collections.abc import Iterable
from contextlib import ExitStack
from functools import lru_cache, partial
from importlib import import_module
from itertools import islice
from time import monotonic
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

RECOUNT = 5.0  # seconds after which the threads of a cluster are counted again


def on_dask(
    trials: Iterable[T], work: Work, load: Load, costs: Any, *, jobs: int | None, scheduler: str | None
) -> Results[T]:
    """Carry out trials on a Dask cluster."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise ImportError("The backend dask needs Dask: pip install 'clems[dask]'.") from None

    coming = iter(trials)
    again = deque(islice(coming, jobs or (1 if scheduler else cpu_count())))
    if not again:
        return
    with ExitStack() as stack:
        if scheduler is None:  # to the end, as a worker that dies is started again
            stack.enter_context(apart_from_main([work, costs]))
        cluster = scheduler or stack.enter_context(local_cluster(distributed, len(again)))
        client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        client.wait_for_workers(1)
        # A task that makes the data is done again when all workers that had it are dead; scattered data would be lost.
        made = lru_cache(KEPT)(lambda name: got(lambda: _send(client, load(name))))
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
    quiet = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}  # the data has to be sent
    with import_module("dask").config.set(quiet):
        return client.submit(pickle.loads, pickle.dumps(dataset, PROTOCOL), pure=False)


def local_cluster(distributed: Any, jobs: int) -> Any:
    """Start a cluster of processes of this computer, whose memory is not limited, as it is not without Dask either."""
    settings = {"distributed.scheduler.allowed-failures": DEATHS - 1}
    with import_module("dask").config.set(settings), modest_start():
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


DASK = Backend(on_dask, has_scheduler=True)
