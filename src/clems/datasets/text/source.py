"""Where data comes from: a file or stream, plain or compressed, read in blocks of whole lines with bounded memory.

The map of the module: `DataError` and `Limits`; `Origin`, which makes the sentence for what is wrong; `Source`, from
bytes to blocks of lines; and the streams below it, which unpack and count.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import math
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from clems.wording import printable

OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}
UNREAD = {b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"Rar!": "RAR"}
BLOCK = 1 << 19  # bytes; large enough to make Python's share of the work small, small enough for the processor's cache
MEBIBYTE = 1 << 20

NOT_ENCODED = "the text is not {}; say its encoding, for instance encoding='{}'"
WINDOWS = re.compile(rb"[\x80-\x9f]")  # letters and signs such as € in cp1252, no text at all in latin-1

T = TypeVar("T")
PathOrFile = str | os.PathLike[str] | IO[bytes]


class DataError(ValueError):
    """A file does not contain what it should; the message says where, what was found and what is allowed.

    Examples
    --------
    >>> import pandas as pd
    >>> from clems.datasets import DataError, read_table
    >>> pd.DataFrame({"words": [3, 4], "bug": [1, 2]}).to_csv("tickets.csv", index=False)
    >>> try:
    ...     read_table("tickets.csv", labels="bug")
    ... except DataError as error:
    ...     print(error)
    tickets.csv, line 3: label 'bug' must be 0 or 1: '2'.
    """


@dataclass(frozen=True)
class Limits:
    """Bounds on what is read and what it may expand to, so that a hostile or endless file cannot fill the memory.

    Parameters
    ----------
    total : int, default=4 GiB
        Most bytes of a file or stream, unpacked if it is compressed, and of a matrix that is made from a small file.
        One line may take an eighth of it.
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

    def __post_init__(self) -> None:
        if not min(self.total, self.ratio, self.columns) > 0:
            raise ValueError(f"Limits must be positive; got {self}.")

    @property
    def line(self) -> int:
        """Most bytes of one line, or of a record of a CSV whose cells have lines of their own."""
        return max(self.total // 8, 1)


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
        sentence = self.name if line is None else f"{self.name}, line {line}"
        sentence += f": {what}"
        if text is not None:
            shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
            sentence += f": {shown[:60] + '…' if len(shown) > 60 else shown!r}"
        return DataError(printable(sentence) + ("" if sentence.endswith("?") else "."))

    def check_size(self, rows: int, columns: int, size: int = 8) -> None:
        """Refuse a matrix that would take more than the limit."""
        if rows * columns * size > self.limits.total:
            raise self.fault(
                f"{rows:,} rows of {columns:,} columns would take {rows * columns * size / MEBIBYTE:,.0f} MiB; "
                f"limits=Limits(total=...) allows {self.limits.total / MEBIBYTE:,.0f} MiB"
            )


@dataclass(frozen=True)
class Part(os.PathLike[str]):
    """A part of the file of a table, which is read as if it were a file of its own.

    Attributes
    ----------
    path : str
        The file.
    name : str
        What to call the part.
    groups : tuple of int or None, default=None
        Of Parquet the first of its groups of rows, and the one after the last; None is all of them.
    span : tuple of int or None, default=None
        Of a CSV the bytes of its records; None is all of them.
    header : int, default=0
        Bytes at the beginning of a CSV that name the columns.
    """

    path: str
    name: str
    groups: tuple[int, int] | None = None
    span: tuple[int, int] | None = None
    header: int = 0

    def __fspath__(self) -> str:
        return self.path

    def open(self) -> IO[bytes]:
        """Open the part."""
        if self.span is None:
            return Path(self.path).open("rb")
        with Path(self.path).open("rb") as file:
            header = file.read(self.header)
            file.seek(self.span[0])
            return io.BytesIO(header + file.read(self.span[1] - self.span[0]))


class Source(Origin):
    """A file or binary stream that is read once, as UTF-8 whatever its compression and encoding.

    Parameters
    ----------
    origin : str, path, Part or binary file
        What to read. Compression (gzip, bzip2, xz) is recognised by content, not by name.
    limits : Limits or None
        What it may grow to.
    encoding : str
        Encoding of the text.
    """

    def __init__(self, origin: PathOrFile, limits: Limits | None = None, encoding: str = "utf-8") -> None:
        try:
            "".encode(encoding)  # an unknown encoding, or one that is not of text, is said before anything is opened
            self.encoding = codecs.lookup(encoding).name
        except (LookupError, UnicodeError):
            raise ValueError(
                f"There is no encoding {encoding!r}; there are utf-8, latin-1, cp1252 and others."
            ) from None
        self.path = Path(os.fspath(origin)) if isinstance(origin, (str, os.PathLike)) else None
        if not self.path and (isinstance(origin, io.TextIOBase) or not hasattr(origin, "read")):
            raise TypeError(f"Pass a path, or a file opened in binary mode; got {origin!r}.")
        part = origin if isinstance(origin, Part) else None
        called = getattr(origin, "name", None)
        name = str(self.path) if self.path and not part else called if isinstance(called, str) else "data"
        super().__init__(name, limits)
        self.groups = part.groups if part else None  # of rows, that are read of Parquet
        self._file: IO[bytes] = part.open() if part else self.path.open("rb") if self.path else origin  # type: ignore[assignment]
        self._size = _size_of(self._file)
        self._is_packed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.path:
            self._file.close()

    def read(self) -> bytes:
        """Read everything, unpacked."""
        return joined(self.chunks())

    def chunks(self, any_length: bool = False) -> Iterator[bytes]:
        """Read pieces of a fair size, unpacked; of a file of any length if they are not kept."""
        stream = _Unpacked(self, self._file, any_length)
        self._is_packed = stream.is_packed
        while chunk := stream.read(BLOCK):
            yield chunk

    def seekable(self, chunks: Iterable[bytes], any_length: bool = False) -> IO[bytes]:
        """Return a file that can be read at any place: itself, or what all chunks hold, in memory.

        Parameters
        ----------
        chunks : iterable of bytes
            What it holds from its beginning on, by `chunks`, of which some may have been looked at.
        any_length : bool, default=False
            Whether it may be longer than the limits, unless it has to be in memory.
        """
        if self._size and not self._is_packed:
            if self._size > self.limits.total and not any_length:
                raise self.too_large()
            self._file.seek(0)
            return self._file
        whole = io.BytesIO()
        for chunk in chunks:
            whole.write(chunk)
            if whole.tell() > self.limits.total:
                raise self.too_large()
        whole.seek(0)
        return whole

    @property
    def done(self) -> float | None:
        """Share of a file that is read; None of a stream, whose length is not known."""
        return self._file.tell() / self._size if self._size else None

    def recoded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Recode text that was cut anywhere to UTF-8, and check that it is text."""
        decode = codecs.getincrementaldecoder(self.encoding)().decode
        line, mark = 1, codecs.BOM_UTF8
        is_latin = codecs.lookup(self.encoding).name == "iso8859-1"
        for chunk in chain(chunks, [None]):
            try:
                text = decode(chunk or b"", chunk is None).encode()
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                wrong = error.object[error.start : error.start + 20]
                likely = "cp1252" if WINDOWS.match(wrong) else "latin-1"
                raise self.fault(NOT_ENCODED.format(self.encoding, likely), line, wrong) from None
            except UnicodeError as error:
                raise self.fault(f"the text is not {self.encoding} ({error})") from None
            if is_latin and (found := WINDOWS.search(chunk or b"")):
                line += found.string.count(b"\n", 0, found.start())
                shown = found.string[found.start() :][:20].decode("cp1252", "replace")
                raise self.fault(NOT_ENCODED.format("latin-1", "cp1252"), line, shown)
            line += text.count(b"\n")
            if text:
                yield text.removeprefix(mark)
                mark = b""

    def too_large(self, what: str = "it has") -> DataError:
        """Say that there is more than may be read."""
        most = _amount(self.limits.total)
        return self.fault(f"{what} more than {most}; if you trust it, pass limits=Limits(total=...)")

    def endless(self, line: int) -> DataError:
        """Say that a line has no end, or a record of a CSV that starts there."""
        return self.fault(
            f"the line is longer than {_amount(self.limits.line)}, an eighth of what limits=Limits(total=...) allows",
            line,
        )

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Read blocks of whole lines in UTF-8 that end with a line feed, each with the number of its first line."""
        if self.encoding != "utf-8":
            return self._blocks(io.BytesIO(joined(self.recoded(self.chunks()))))
        stream = _Unpacked(self, self._file)
        return _ahead(self._blocks(stream)) if stream.is_packed else self._blocks(stream)

    def _blocks(self, stream: Any) -> Iterator[tuple[int, bytes]]:
        line = 1
        while block := stream.read(BLOCK):
            if not block.endswith(b"\n"):
                pieces, size = [block], len(block) - block.rfind(b"\n") - 1
                while (piece := stream.readline(BLOCK)) and not piece.endswith(b"\n"):
                    pieces.append(piece)
                    size += len(piece)
                    if size > self.limits.line:
                        raise self.endless(line + block.count(b"\n"))
                block = b"".join([*pieces, piece])
            if b"\r" in block:
                block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            if line == 1:
                block = block.removeprefix(codecs.BOM_UTF8)
            if not block.endswith(b"\n"):
                block += b"\n"
            yield line, block
            line += block.count(b"\n")


def _ahead(blocks: Iterator[T]) -> Iterator[T]:
    """Get the next block while one is worked on."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block


def joined(chunks: Iterable[bytes]) -> bytes:
    """Put chunks together, without having all of them twice for a while."""
    whole = io.BytesIO()
    for chunk in chunks:
        whole.write(chunk)
    return whole.getvalue()


def _size_of(file: Any) -> int | None:
    """Size in bytes of a file that was not yet read; None of a stream."""
    try:
        return os.fstat(file.fileno()).st_size or None if file.seekable() and file.tell() == 0 else None
    except (AttributeError, OSError):
        return None


def _amount(size: int) -> str:
    return f"{size / MEBIBYTE:,.0f} MiB" if size >= MEBIBYTE else f"{size:,} bytes"


def stem(name: str) -> str:
    """Name of a file without folder and endings."""
    return Path(name).name.partition(".")[0] or "data"


class _Unpacked:
    """A stream of what a file holds, or unpacks to if it is compressed, up to the limits."""

    def __init__(self, source: Source, file: IO[bytes], any_length: bool = False) -> None:
        self._source = source
        self._packed = _Metered(file)
        opener = next((opener for start, opener in OPENERS.items() if self._packed.head.startswith(start)), None)
        if unread := next((name for start, name in UNREAD.items() if self._packed.head.startswith(start)), None):
            raise source.fault(f"it is compressed by {unread}, which is not read; unpack it first")
        self.is_packed = opener is not None
        self._stream: Any = opener(self._packed) if opener else self._packed
        self._most = math.inf if any_length else source.limits.total
        self._total = 0

    def read(self, size: int = -1) -> bytes:
        """Read as `io.BufferedIOBase` does."""
        return self._checked(self._stream.read, size) if size >= 0 else joined(iter(lambda: self.read(BLOCK), b""))

    def readline(self, size: int) -> bytes:
        """Read to the end of the line, but no more than so many bytes."""
        return self._checked(self._stream.readline, size)

    def _checked(self, read: Callable[[int], bytes], size: int) -> bytes:
        source, limits = self._source, self._source.limits
        try:
            data = read(size)
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            if not self.is_packed:
                raise
            raise source.fault(f"the compressed file is damaged or cut short ({error})") from None
        self._total += len(data)
        if self._total > self._most:
            raise source.too_large("it unpacks to" if self.is_packed else "it has")
        if self.is_packed and self._total > max(64 * MEBIBYTE, limits.ratio * self._packed.count):
            raise source.fault(
                f"it unpacks to more than {limits.ratio:g} times its size; if you trust it, pass "
                "limits=Limits(ratio=...)"
            )
        return data


class _Metered:
    """A binary stream that counts what was read from it and can look at its first bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.head = b""
        while len(self.head) < 6 and (more := file.read(6 - len(self.head))):  # a pipe may give less than is asked for
            self.head += more
        self._ahead = io.BytesIO(self.head)
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        """Read as `io.BufferedIOBase` does."""
        data = self._ahead.read(size) or self._file.read(size)
        if size < 0 or len(data) < size:
            data += self._file.read(size - len(data) if size >= 0 else -1)
        self.count += len(data)
        return data

    def readline(self, size: int) -> bytes:
        """Read to the end of the line; what was looked at is read already."""
        return self._file.readline(size)
