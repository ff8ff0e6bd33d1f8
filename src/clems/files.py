"""Files that are written whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
STREAM = re.compile(r"/dev/stdout|/dev/stderr|(?:/dev|/proc/self)/fd/(\d+)")  # of this process


def check_place(path: Path) -> None:
    """Refuse a path where no file can be written."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")


def is_written_whole(path: str | os.PathLike[str]) -> bool:
    """Whether a path is that of a file, which another one can take the place of; else it is a stream or a device."""
    path = Path(path)
    return STREAM.fullmatch(os.fspath(path)) is None and (not path.exists() or path.is_file())


@contextmanager
def replacing(path: str | os.PathLike[str], *, compress: bool = True) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of another only when all is written and on the disk.

    The new file has the permissions of the one that it replaces. Of a link, what it points to is replaced. A pipe, a
    device or a standard stream of this process is written to as it is.

    Parameters
    ----------
    path : str or path
        The file.
    compress : bool, default=True
        Whether it is compressed if it ends in ``.gz``, ``.bz2`` or ``.xz``.

    Yields
    ------
    binary file
    """
    path = Path(path)
    check_place(path)
    if not is_written_whole(path):
        stream = STREAM.fullmatch(os.fspath(path))
        number = os.dup(int(stream[1] or STREAMS[stream[0]])) if stream else os.open(path, os.O_WRONLY)
        with os.fdopen(number, "wb") as raw, _packed(path if compress else None, raw) as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(f"{path} is a link that leads nowhere.")
    check_place(target)
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        try:
            number = _created(unfinished, target)
        except OSError as error:  # which is about the file that was asked for
            raise type(error)(f"{path}: no file can be made here ({error.strerror}).") from None
        with os.fdopen(number, "wb") as raw:
            with _packed(path if compress else None, raw) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _created(path: Path, like: Path) -> int:
    """Create a file with the owner and permissions of another, if that is there."""
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    if not like.exists():
        return os.open(path, how, 0o666)
    old = like.stat()
    number = os.open(path, how, 0o600)  # nobody else reads it before it is as it should be
    try:
        if hasattr(os, "fchown") and (old.st_uid, old.st_gid) != (os.fstat(number).st_uid, os.fstat(number).st_gid):
            with suppress(OSError):  # only the superuser may give files away
                os.fchown(number, old.st_uid, old.st_gid)
        path.chmod(stat.S_IMODE(old.st_mode))
    except BaseException:
        os.close(number)
        raise
    return number


@contextmanager
def _packed(path: Path | None, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    opener: Any = OPENERS.get(path.suffix.lower()) if path else None
    if opener is None:
        yield raw
    else:
        with opener(raw, "wb") as file:
            yield file
