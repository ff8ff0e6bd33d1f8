"""Opening files: compression, limits, damage."""

import bz2
import gzip
import io
import lzma
import os
import threading
from pathlib import Path

import pytest

from clems.datasets import DataError, Limits, read_arff, read_libsvm, read_table
from clems.datasets.formats.mulan import labels_of_xml
from clems.datasets.new_rows import NewRows
from clems.datasets.text.source import BLOCK, Source
from clems.datasets.wanted import Wanted

PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
TEXT = b"x,y\n" + b"1,1\n" * 50


@pytest.mark.parametrize("packer", PACKERS)
def test_compression_shows_in_the_content(tmp_path, packer):
    tmp_path.joinpath("table").write_bytes(PACKERS[packer](TEXT))
    assert read_table(tmp_path / "table", "y").X.shape == (50, 1)
    twice = PACKERS[packer](TEXT) + PACKERS[packer](b"2,0\n")  # files may be put one after the other
    assert read_table(io.BytesIO(twice), "y").X.shape == (51, 1)


@pytest.mark.parametrize("packer", PACKERS)
def test_damaged_files(packer):
    packed = PACKERS[packer](TEXT * 20)
    with pytest.raises(DataError, match="the compressed file is damaged or cut short"):
        read_table(io.BytesIO(packed[: len(packed) // 2]), "y")
    broken = bytearray(packed)
    broken[len(broken) // 2] ^= 0xFF
    with pytest.raises(DataError, match="the compressed file is damaged or cut short"):
        read_table(io.BytesIO(bytes(broken)), "y")


@pytest.mark.parametrize("packer", PACKERS)
def test_bombs(packer):
    bomb = PACKERS[packer](b"\n" * (1 << 20)) * 70  # files put one after the other, of nothing but empty lines
    with pytest.raises(DataError, match=r"unpacks to more than 200 times its size.*limits=Limits\(ratio=...\)"):
        list(Source(io.BytesIO(bomb)).blocks())
    assert sum(len(block) for _, block in Source(io.BytesIO(bomb), Limits(ratio=1e9)).blocks()) == 70 << 20
    for read in (read_libsvm, read_arff, lambda file, limits: read_table(file, "y", limits=limits)):
        with pytest.raises(DataError, match=r"unpacks to more than 1 MiB.*limits=Limits\(total=...\)"):
            read(io.BytesIO(bomb), limits=Limits(total=1 << 20))


class Endless(io.RawIOBase):
    """A stream that starts in some way and never ends."""

    def __init__(self, start, again):
        self.start, self.again, self.given = start, again, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        assert self.given < 1 << 26, "it is read for ever"
        if self.start:
            size = min(len(buffer), len(self.start))
            buffer[:size], self.start = self.start[:size], self.start[size:]
            return size
        at = self.given % len(self.again)
        buffer[:] = (self.again * (len(buffer) // len(self.again) + 2))[at : at + len(buffer)]
        self.given += len(buffer)
        return len(buffer)


def endless(start, again):
    return io.BufferedReader(Endless(start, again))


LIMITS = Limits(total=1 << 20)
ARFF = b"@relation r\n@attribute x real\n@attribute y {0,1}\n"
READ = {
    "arff": lambda file: read_arff(file, ["y"], limits=LIMITS),
    "arff latin-1": lambda file: read_arff(file, ["y"], encoding="latin-1", limits=LIMITS),
    "libsvm": lambda file: read_libsvm(file, limits=LIMITS),
    "table": lambda file: read_table(file, "y", limits=LIMITS),
    "table utf-16": lambda file: read_table(file, "y", encoding="utf-16-le", limits=LIMITS),
    "pairs": lambda file: read_table(io.BytesIO(b"x\n1\n"), pairs=file, limits=LIMITS),
    "xml": lambda file: labels_of_xml(file, LIMITS),
}


@pytest.mark.parametrize("reader", READ)
@pytest.mark.parametrize("again", [b"\0", b"\n", b"\r", b"1,1\n", b'"1\n', b"#\n", b"\x1f\x8b"])
@pytest.mark.parametrize("start", [b"", ARFF + b"@data\n", b"x,y\n", b"PAR1", b"1 1:1\n"])
def test_what_has_no_end_is_not_read_for_ever(reader, start, again):
    with pytest.raises(DataError) as caught:
        READ[reader](endless(start, again))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/full"])
@pytest.mark.parametrize("reader", READ)
def test_devices_are_not_read_for_ever(reader, path):
    if not Path(path).exists():
        pytest.skip("there is no such device here")
    with pytest.raises(DataError, match=r"limits=Limits\(total=...\)|not utf"):
        READ[reader](path)


def test_the_limit_is_for_plain_files_too(tmp_path):
    tmp_path.joinpath("table.csv").write_bytes(b"x,y\n" + b"1,1\n" * (1 << 18))
    with pytest.raises(
        DataError, match=r"table.csv: it has more than 1 MiB; if you trust it, pass limits=Limits\(total=...\)"
    ):
        read_table(tmp_path / "table.csv", "y", limits=LIMITS)
    assert read_table(tmp_path / "table.csv", "y", limits=Limits(total=1 << 23)).X.shape == (1 << 18, 1)
    with pytest.raises(
        DataError, match=r"line 3: the line is longer than 131,072 bytes, an eighth of .*total=...\) allows"
    ):
        read_table(io.BytesIO(b"x,y\n1,1\n" + b"1" * (1 << 19)), "y", limits=LIMITS)
    with pytest.raises(DataError, match=r"line 4: the line is longer than 1 MiB"):
        read_arff(io.BytesIO(ARFF + b"%" * (1 << 21)), ["y"], limits=Limits(total=1 << 23))


def test_pieces_may_be_of_any_length_but_not_a_line():
    def pieces(start, again, **options):
        return iter(NewRows(endless(start, again), Wanted(["x"], 1, ["y"]), limits=LIMITS, **options))

    for start, again in ((b"x,y\n", b"1,1\n"), (b'"x",y\n', b'"1",1\n'), (b"x,y\n", b"\n1,1\n\n\n")):
        many = pieces(start, again)
        assert sum(len(next(many).X) for _ in range(30)) > 100_000
    for start, again in (
        (b"", b"x"),
        (b"x,y\n", b"1"),
        (b"x,y\n", b"1,"),
        (b'x,y\n"', b"1\n"),
        (b'x,"', b"y\n"),
        (b"PAR1", b"1"),
    ):
        with pytest.raises(DataError, match=r"limits=Limits\(total=...\)|the line has"):
            list(pieces(start, again))


@pytest.mark.parametrize("reader", ["arff", "libsvm", "table"])
def test_pipes_with_names(tmp_path, reader):
    texts = {"arff": ARFF + b"@data\n1.5,1\n", "libsvm": b"0 1:1.5\n", "table": b"x,y\n1.5,1\n"}
    for data in (texts[reader], gzip.compress(texts[reader])):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
        writer.start()
        assert READ[reader](tmp_path / "pipe").X[0, 0] == 1.5
        writer.join()
        (tmp_path / "pipe").unlink()


def test_blocks_are_whole_lines_with_their_numbers():
    lines = [b"%d" % place + b"x" * (place % 97) for place in range(30_000)]
    found = list(Source(io.BytesIO(b"\r\n".join(lines))).blocks())
    assert len(found) > 2
    assert b"".join(block for _, block in found).split(b"\n")[:-1] == lines
    for first, block in found:
        assert block.split(b"\n")[0] == lines[first - 1]


def test_a_line_longer_than_a_block():
    long = b"y" * (3 * BLOCK)
    found = list(Source(io.BytesIO(b"x\n" + long + b"\nz")).blocks())
    assert [(first, len(block)) for first, block in found] == [(1, 3 * BLOCK + 3), (3, 2)]


def test_a_stream_that_cannot_be_rewound():
    class Pipe(io.RawIOBase):
        def __init__(self):
            self.rest = io.BytesIO(gzip.compress(TEXT))

        def readable(self):
            return True

        def read(self, size=-1):
            return self.rest.read(min(size, 7) if size >= 0 else 7)

    assert read_table(Pipe(), "y").X.shape == (50, 1)


@pytest.mark.parametrize("encoding", ["zlib_codec", "rot13", "base64", "undefined", "utf-9"])
def test_what_is_no_encoding_of_text_is_said(encoding):
    """Python knows some that turn bytes into bytes, or text into text."""
    with pytest.raises(ValueError, match=f"There is no encoding '{encoding}'; there are utf-8, latin-1"):
        read_table(io.BytesIO(b"x,y\n1,1\n"), "y", encoding=encoding)
