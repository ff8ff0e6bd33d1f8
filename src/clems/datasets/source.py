"""Where data comes from: a file or stream, plain or compressed, read in blocks of whole lines with bounded memory."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

BLOCK = 1 << 19  # bytes; large enough to make Python's share of the work small, small enough for the processor's cache
MEBIBYTE = 1 << 20

NOT_ENCODED = "the text is not {}; say its encoding, for instance encoding='latin-1'"

PathOrFile = str | os.PathLike[str] | IO[bytes]


class DataError(ValueError):
    """A file does not hold what it should; the message says where, what was found and what is allowed."""


@dataclass(frozen=True)
class Limits:
    """What a file may grow to when it is read, so that a hostile one cannot fill the memory.

    Parameters
    ----------
    total : int, default=4 GiB
        Most bytes that a compressed file may unpack to, and that a matrix made from a small file may take.
    ratio : float, default=200
        Most times its own size that a compressed file may unpack to, counted from 64 MiB on.
    columns : int, default=10,000,000
        Most features, and most labels, of formats that number them instead of listing them.

    Examples
    --------
    >>> from clems.datasets import Limits
    >>> Limits(total=1 << 40, ratio=1000)
    Limits(total=1099511627776, ratio=1000, columns=10000000)
    """

    total: int = 4 << 30
    ratio: float = 200.0
    columns: int = 10_000_000


class Origin:
    """Where data comes from, for saying what is wrong with it and for bounding what it becomes.

    Parameters
    ----------
    name : str
        What to call it.
    limits : Limits or None
        What it may grow to.
    """

    def __init__(self, name: str, limits: Limits | None = None) -> None:
        self.name = name
        self.limits = limits or Limits()

    def fault(self, what: str, line: int | None = None, text: str | bytes | None = None) -> DataError:
        """Put a sentence about this origin together."""
        place = self.name if line is None else f"{self.name}, line {line}"
        if text is None:
            return DataError(f"{place}: {what}{'' if what.endswith('?') else '.'}")
        shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return DataError(f"{place}: {what}: {shown[:60] + '…' if len(shown) > 60 else shown!r}.")

    def check_size(self, rows: int, columns: int, size: int = 8) -> None:
        """Refuse a matrix that would take more than the limit."""
        if rows * columns * size > self.limits.total:
            raise self.fault(
                f"{rows:,} rows of {columns:,} columns would take {rows * columns * size / MEBIBYTE:,.0f} MiB; "
                f"limits=Limits(total=...) allows {self.limits.total / MEBIBYTE:,.0f} MiB"
            )


class Source(Origin):
    """A file or binary stream that is read once, as UTF-8 whatever its compression and encoding.

    Parameters
    ----------
    origin : str, path or binary file
        What to read. Compression (gzip, bzip2, xz) is recognised by content, not by name.
    limits : Limits or None
        What it may grow to.
    encoding : str
        Encoding of the text.
    """

    def __init__(self, origin: PathOrFile, limits: Limits | None = None, encoding: str = "utf-8") -> None:
        self.encoding = codecs.lookup(encoding).name  # an unknown encoding is said before anything is opened
        self.path = Path(os.fspath(origin)) if isinstance(origin, (str, os.PathLike)) else None
        super().__init__(str(self.path) if self.path else str(getattr(origin, "name", "data")), limits)
        self._file: IO[bytes] = self.path.open("rb") if self.path else origin  # type: ignore[assignment]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.path:
            self._file.close()

    def read(self) -> bytes:
        """Read everything, unpacked."""
        return b"".join(self.chunks())

    def in_utf8(self, data: bytes) -> bytes:
        """Recode what was read whole, and check that it is text."""
        return b"".join(self._recoded(iter([data]))).removeprefix(codecs.BOM_UTF8)

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Read blocks of whole lines that end with a line feed, each with the number of its first line."""
        line, pending = 1, []
        for chunk in self._text():
            cut = chunk.rfind(b"\n") + 1
            if not cut:
                pending.append(chunk)
                continue
            block = b"".join([*pending, chunk[:cut]])
            pending = [chunk[cut:]] if cut < len(chunk) else []
            if b"\r" in block:
                block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            yield line, block
            line += block.count(b"\n")
        if last := b"".join(pending):
            yield line, last.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removesuffix(b"\n") + b"\n"

    def _text(self) -> Iterator[bytes]:
        """Chunks in UTF-8 without a byte order mark."""
        chunks = self.chunks()
        if self.encoding != "utf-8":
            chunks = self._recoded(chunks)
        for place, chunk in enumerate(chunks):
            yield chunk.removeprefix(codecs.BOM_UTF8) if place == 0 else chunk

    def _recoded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(self.encoding)()
        line, chunk = 1, b""
        try:
            for chunk in chunks:
                yield decoder.decode(chunk).encode()
                line += chunk.count(b"\n")
            yield decoder.decode(b"", final=True).encode()
        except UnicodeDecodeError as error:
            line += chunk.count(b"\n", 0, error.start)
            raise self.fault(NOT_ENCODED.format(self.encoding), line, chunk[error.start : error.start + 20]) from None

    def chunks(self) -> Iterator[bytes]:
        """Read pieces of a fair size, unpacked."""
        metered = _Metered(self._file)
        stream = _opened(metered)
        packed = stream is not metered
        total = 0
        try:
            while chunk := stream.read(BLOCK):
                total += len(chunk)
                if packed and total > self.limits.total:
                    raise self.fault(
                        f"it unpacks to more than {self.limits.total / MEBIBYTE:,.0f} MiB; "
                        "if you trust it, pass limits=Limits(total=...)"
                    )
                if packed and total > max(64 * MEBIBYTE, self.limits.ratio * metered.count):
                    raise self.fault(
                        f"it unpacks to more than {self.limits.ratio:g} times its size; "
                        "if you trust it, pass limits=Limits(ratio=...)"
                    )
                yield chunk
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            if not packed:
                raise
            raise self.fault(f"the compressed file is damaged or cut short ({error})") from None


def stem(name: str) -> str:
    """Name of a file without folder and endings."""
    return Path(name).name.partition(".")[0] or "data"


class _Metered:
    """A binary stream that counts what was read from it and can look at its first bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.head = file.read(6)
        self._ahead = io.BytesIO(self.head)
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._ahead.read(size)
        if len(data) < size or size < 0:
            data += self._file.read(size - len(data) if size >= 0 else -1)
        self.count += len(data)
        return data


def _opened(metered: _Metered) -> Any:
    """Give the stream itself, or what unpacks it."""
    file: Any = metered
    if metered.head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file, mode="rb")
    if metered.head.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if metered.head.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(file)
    return metered
