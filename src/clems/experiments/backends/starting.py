"""How worker processes start: with one thread for linear algebra, and without running the user's script again."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import ModuleType
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@contextmanager
def modest_start() -> Iterator[None]:
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
def apart_from_main(needed: Any) -> Iterator[None]:
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
