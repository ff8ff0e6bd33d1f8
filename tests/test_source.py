"""Opening files: compression, limits, damage."""

import bz2
import gzip
import io
import lzma

import pytest

from clems.datasets import DataError, Limits, read_arff, read_libsvm, read_table
from clems.datasets.source import BLOCK, Source

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
