"""Records of trials on disk: JSON lines that only grow, so that a run that is killed loses nothing."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import sleep
from typing import Any, Self

Record = dict[str, Any]
Records = Mapping[str, Mapping[str, Any]]  # by key

RECORDS = "records.jsonl"
STATUSES = ("done", "failed")
ATTEMPTS, PAUSE = 10, 0.05  # to lock a store, and seconds between them
BLOCK = 1 << 16  # bytes that are read from the end to find the last line; twice as many as often as it takes


class StoreError(ValueError):
    """A store cannot be read or written; the message says where and why."""


def plain(value: Any) -> Any:
    """Reduce a value to what it is once it was written as JSON and read again.

    Tuples become lists, and numpy's numbers and arrays Python's. JSON has no word for NaN and infinities: they become
    None.

    Parameters
    ----------
    value : object
        Part of a record.

    Returns
    -------
    object
        The same in dicts, lists, strings, numbers, bools and None.

    Examples
    --------
    >>> from clems.experiments.store import plain
    >>> plain({"test": {"f1": float("nan")}, "depths": (5, 10)})
    {'test': {'f1': None}, 'depths': [5, 10]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise TypeError(f"A record holds what JSON knows: objects, lists, text, numbers; got {type(value).__name__}.")


class Store:
    """A folder with one file of records, ``records.jsonl``, that one process at a time appends to.

    A record is complete as soon as `append` returns: killing the process at any moment loses none. If the last line was
    cut off, by a full disk or a power failure, it is ignored, and removed before the next one is written.

    Any process may read at any time. In a ``with`` block the store is locked for this process from the start; without
    one, `append` locks it for one record. The system releases the lock when the process ends, however it ends.

    Parameters
    ----------
    folder : str or path
        Made when the first record is written.

    Examples
    --------
    >>> import tempfile
    >>> from clems.experiments.store import Store
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
    ...     store.append({"key": "a", "status": "failed"})
    ...     store.append({"key": "a", "status": "done", "seconds": {"fit": 0.5}})
    ...     store.records()
    {'a': {'key': 'a', 'status': 'done', 'seconds': {'fit': 0.5}}}
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / RECORDS
        self._lock: int | None = None
        self._file: int | None = None

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.folder / "records.lock", self.folder)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            _cut_torn_end(self._file)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others write; nothing happens if this store is not open."""
        if self._file is not None:
            os.close(self._file)
        if self._lock is not None:
            os.close(self._lock)
        self._file = self._lock = None

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a record, whole or not at all.

        Parameters
        ----------
        record : mapping
            Has a ``key``, and a ``status`` that is ``"done"`` or ``"failed"``; its values are what `plain` takes.
        """
        if self._file is None:
            with self:
                self.append(record)
            return
        checked = plain(record)
        if fault := _fault(checked):
            raise StoreError(f"{self.path} takes no such record: {fault}.")
        line = json.dumps(checked, allow_nan=False).encode() + b"\n"
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            written = os.write(self._file, line)
            while written < len(line):  # a full disk takes a part first and then says why
                written += os.write(self._file, line[written:])
        except BaseException:  # a signal may come when all is written, and a record that is whole is kept
            if os.lseek(self._file, 0, os.SEEK_END) < end + len(line):
                os.ftruncate(self._file, end)
            raise

    def records(self) -> dict[str, Record]:
        """Read what is known of each trial.

        Returns
        -------
        dict
            The last record of each key, or the last one that is done: a failure never replaces a result.
        """
        kept: dict[str, Record] = {}
        for record in self._read():
            earlier = kept.get(record["key"])
            if earlier is None or record["status"] == "done" or earlier["status"] == "failed":
                kept[record["key"]] = record
        return kept

    def _read(self) -> Iterator[Record]:
        if not self.path.exists():
            return
        broken = None  # the number of a line that is an error unless it is the last
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                if broken is not None:
                    raise StoreError(
                        f"{self.path}, line {broken}: this is not JSON, or nested too deeply; remove the line."
                    )
                record = _parsed(line)
                if record is None:
                    broken = number
                elif fault := _fault(record):
                    raise StoreError(f"{self.path}, line {number}: this is no record: {fault}.")
                else:
                    yield record


def _parsed(line: bytes) -> Any:
    """Value of a line of JSON, None if it is broken."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # the latter of what is nested too deeply
        return None


def _fault(record: Any) -> str | None:
    """Say what is missing from a record."""
    if not isinstance(record, dict):
        return "it is not an object"
    if not isinstance(record.get("key"), str):
        return "it has no key"
    if record.get("status") not in STATUSES:
        return f"its status is {record.get('status')!r}, not {' or '.join(map(repr, STATUSES))}"
    return None


def _cut_torn_end(file: int) -> None:
    """Remove what follows the last line feed, and the last line if it is broken."""
    size = os.lseek(file, 0, os.SEEK_END)
    length, tail = BLOCK, b""
    while tail.count(b"\n") < 2 and len(tail) < size:
        os.lseek(file, max(size - length, 0), os.SEEK_SET)
        tail = _read_up_to(file, min(length, size))
        length *= 2
    end = tail.rfind(b"\n") + 1
    start = tail.rfind(b"\n", 0, max(end - 1, 0)) + 1
    if end and _parsed(tail[start:end]) is None:
        end = start
    if end < len(tail):
        os.ftruncate(file, size - len(tail) + end)


def _read_up_to(file: int, length: int) -> bytes:
    """Read so many bytes, or all there are."""
    pieces = []
    while length and (piece := os.read(file, length)):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def _locked(path: Path, folder: Path) -> int:
    """Open and lock a file; the lock belongs to the process and ends with it, so none is ever left over."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    for patience in reversed(range(ATTEMPTS)):
        try:
            _lock(lock)
        except OSError:
            if patience:  # a worker that a killed run was just starting has the lock for a moment more
                sleep(PAUSE)
                continue
            os.close(lock)
            message = f"Another run is writing to {folder}; wait until it ends, or choose another folder."
            raise StoreError(message) from None
        break
    return lock


def _lock(file: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
