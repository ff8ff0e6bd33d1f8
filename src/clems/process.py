"""The command as a process: its standard streams, and how it ends when a signal asks it to."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from time import monotonic
from typing import Any, TextIO

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
PATIENCE = 3.0  # seconds for cleaning up, in which further signals change nothing
STDOUT = 1
SHELL = 128  # what shells add to the number of the signal that ended a command

CLOSED: set[int] = set()  # numbers of standard streams that were closed when the command began
_ended_by: int | None = None


class Ended(KeyboardInterrupt):
    """A signal other than Ctrl-C asked the command to end; what cleans up after Ctrl-C cleans up after it."""


def open_streams() -> None:
    """See to it that there are three standard streams, and that text which cannot be encoded does not end the command.

    A stream that was closed would have its number taken by the next file that is opened, and what is meant for the
    stream would be written into that file. In its place comes one that fails when it is used, but for standard error:
    what nobody listens to is left unsaid.
    """
    for number, way in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, way), True)  # it takes the lowest number that is free, this one
            CLOSED.add(number)
    sys.stdin = sys.stdin or _stream(0, "r")
    sys.stdout = sys.stdout or _stream(1, "w")
    sys.stderr = sys.stderr or _stream(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _stream(number: int, way: str) -> Any:
    return open(number, way, encoding="utf-8", closefd=False)


def silence(stream: TextIO | None) -> None:
    """Give up a stream that cannot be written to, so that nothing complains of it when Python ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


@contextmanager
def signals_caught() -> Iterator[None]:
    """Make an exception of each signal that asks the command to end, so that it can clean up.

    A signal that was ignored before, as by ``nohup``, still is.
    """
    global _ended_by
    _ended_by, last = None, -PATIENCE

    def catch(number: int, _: object) -> None:
        global _ended_by
        nonlocal last
        if monotonic() - last < PATIENCE:
            return
        _ended_by, last = number, monotonic()
        _hush()
        raise KeyboardInterrupt if number == signal.SIGINT else Ended

    before = {number: signal.getsignal(number) for number in ENDING}
    caught = [number for number, own in before.items() if own in (signal.SIG_DFL, signal.default_int_handler)]
    for number in caught:
        signal.signal(number, catch)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, before[number])


def _hush() -> None:
    """Keep libraries from complaining that their work was cut short, which is what was asked for."""
    logging.disable()
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    threading.excepthook = lambda _: None


def how_ended() -> str:
    """Say what asked the command to end."""
    return "Interrupted" if _ended_by in (None, signal.SIGINT) else f"Ended by {signal.Signals(_ended_by).name}"


def code_of_end() -> int:
    """Exit code of a command that was asked to end, as shells know it."""
    return SHELL + (_ended_by or signal.SIGINT)


def end_by(number: int) -> int:
    """Have the process end by a signal once all else is done; return the exit code that stands for it in shells."""
    global _ended_by
    _ended_by = number
    return code_of_end()


def say(text: str) -> None:
    """Write a line to standard error, if that can be written to."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def end_as_signalled() -> None:
    """End by the signal that asked for it, as others then see; Ctrl-C ends with an exit code instead."""
    if _ended_by in (None, signal.SIGINT):
        return
    gc.collect()  # what was under way when the exception came may be cleaned up only now
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    signal.signal(_ended_by, signal.SIG_DFL)
    os.kill(os.getpid(), _ended_by)
