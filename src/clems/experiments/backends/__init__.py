"""Backends: ways to carry out trials, found in `BACKENDS`. The records are the same in all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clems.experiments.backends.attempt import Backend, Load, Results, T, Work
from clems.experiments.backends.dask_cluster import DASK
from clems.experiments.backends.processes import PROCESSES
from clems.experiments.backends.serial import SERIAL

BACKENDS: dict[str, Backend] = {"serial": SERIAL, "local": PROCESSES, "dask": DASK}


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
    results: Results[T] = BACKENDS[backend].run(trials, work, load, costs, jobs=jobs, scheduler=scheduler)
    return results


def check_backend(backend: str, jobs: int | None, scheduler: str | None) -> None:
    """Refuse an unknown backend, and settings that it does not take."""
    if backend not in BACKENDS:
        raise ValueError(f"No backend {backend!r}; there are {', '.join(BACKENDS)}.")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1; got {jobs}.")
    if scheduler is not None and not BACKENDS[backend].has_scheduler:
        with_one = " or ".join(name for name, one in BACKENDS.items() if one.has_scheduler)
        raise ValueError(
            f"Only the backend {with_one} has a scheduler; got scheduler={scheduler!r} with backend={backend!r}."
        )
