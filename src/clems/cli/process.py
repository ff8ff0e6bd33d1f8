"""The command as a process: its standard streams, and how signals end it."""

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
PATIENCE = 3.0  # seconds for cleaning up, during which further signals are ignored
STDOUT = 1
SHELL = 128  # what shells add to the number of the signal that ended a command

CLOSED: set[int] = set()  # numbers of standard streams that were closed when the command began
_ended_by: int | None = None


class Ended(KeyboardInterrupt):
    """A signal other than Ctrl-C ends the command; code that cleans up after Ctrl-C cleans up after it too."""


def open_streams() -> None:
    """Ensure that there are three standard streams, and that text which cannot be encoded raises no error.

    The next file that is opened would get the number of a closed stream, and output for the stream would be written
    into that file. A closed stream is replaced by one that fails when it is used; standard error by one that discards.
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
    """Redirect a stream that cannot be written to, so that Python prints no error about it when it exits."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


@contextmanager
def signals_caught() -> Iterator[None]:
    """Raise an exception on each signal that ends the command, so that it can clean up.

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
    """Silence warnings and errors of libraries about work that was cut short."""
    logging.disable()
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    threading.excepthook = lambda _: None


def how_ended() -> str:
    """Describe what ended the command."""
    return "Interrupted" if _ended_by in (None, signal.SIGINT) else f"Ended by {signal.Signals(_ended_by).name}"


def code_of_end() -> int:
    """Return the exit code of a command ended by a signal, as shells show it."""
    return SHELL + (_ended_by or signal.SIGINT)


def end_by(number: int) -> int:
    """End the process by a signal once all else is done; return the exit code that shells show for it."""
    global _ended_by
    _ended_by = number
    return code_of_end()


def say(text: str) -> None:
    """Write a line to standard error, if it can be written to."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def end_as_signalled() -> None:
    """End by the signal that was received, as the parent process then sees; after Ctrl-C, by an exit code instead."""
    if _ended_by in (None, signal.SIGINT):
        return
    gc.collect()  # objects that the exception interrupted may be cleaned up only now
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    signal.signal(_ended_by, signal.SIG_DFL)
    os.kill(os.getpid(), _ended_by)
