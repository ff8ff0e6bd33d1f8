"""Coverage-guided fuzzing of every reader by atheris: each input must end in a dataset or in a DataError.

``python -m attack.coverage_readers --seconds 7200 --corpus attack/corpus/readers``

The first byte of an input chooses the reader, one of those of `benchmarks.fuzz`; the rest is the file. What one reader
reads in a fast way must be the same without it. ``--minimise`` leaves only what adds coverage in the corpus.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha1
from pathlib import Path
from unittest.mock import patch

import atheris

with atheris.instrument_imports(include=["clems.datasets"]):
    from benchmarks.fuzz import READERS, SLOW, check
    from clems.datasets import DataError

from scipy import sparse

MEMORY = 6144  # MiB, of which most is the fuzzer's own: it grows with the number of inputs
SECONDS = 10  # of one input
MOST = 4096  # bytes of one input
NAMES = list(READERS)


def outcome(name: str, data: bytes) -> object:
    """What reading ends in, in a form that can be compared."""
    try:
        found = READERS[name][1](data)
    except DataError as error:
        if not str(error).isprintable():
            raise AssertionError(f"{name}: {str(error)!r} is not one line") from error
        return str(error)
    check(found)
    if isinstance(found, list):
        return found
    sides = [side.toarray() if sparse.issparse(side) else side for side in (found.X, found.Y)]
    return [(side.shape, side.tobytes()) for side in sides], list(found.feature_names), list(found.label_names)


def one_input(data: bytes) -> None:
    """Read one file, in the usual way and, where there is another, in that."""
    if not data:
        return
    name, file = NAMES[data[0] % len(NAMES)], data[1:]
    fast = outcome(name, file)
    if name == "xml" or data[0] >= 128:  # the upper half of the bytes looks for coverage only
        return
    patches = [patch(target, replacement) for target, replacement in SLOW.items()]
    for one in patches:
        one.start()
    try:
        slow = outcome(name, file)
    finally:
        for one in patches:
            one.stop()
    assert slow == fast, f"{name}: {fast!r} without the fast ways is {slow!r}"


def seeds() -> list[bytes]:
    """One file for each reader, with and without the comparison."""
    files = [data for data, _ in READERS.values()]
    return [
        bytes([place + start]) + data
        for start in (0, 128 - 128 % len(NAMES) + len(NAMES))
        for place, data in enumerate(files)
    ]


def write_seeds(corpus: Path) -> None:
    """Write what the corpus starts from."""
    corpus.mkdir(parents=True, exist_ok=True)
    for data in seeds():
        (corpus / sha1(data).hexdigest()).write_bytes(data)


def minimise(corpus: Path) -> None:
    """Keep only files that add coverage; libFuzzer starts itself anew by its first argument, so that is a program."""
    with tempfile.TemporaryDirectory() as folder:
        program, kept = Path(folder, "fuzz"), Path(folder, "kept")
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m attack.coverage_readers --libfuzzer "$0" "$@"\n')
        program.chmod(0o755)
        kept.mkdir()
        subprocess.run([program, "-merge=1", kept, corpus], check=True)
        files = list(kept.iterdir())
        if not files:
            sys.exit(f"Merging kept no file at all, so {corpus} is left as it was.")
        for file in corpus.iterdir():
            file.unlink()
        for file in files:
            shutil.copy(file, corpus)
    print(f"{len(files):,} files are kept, {sum(file.stat().st_size for file in corpus.iterdir()) / 1024:.0f} KiB.")


def main() -> None:
    """Read the command line, and run libFuzzer, which ends the process; a fault makes its exit code other than 0."""
    if sys.argv[1:2] == ["--libfuzzer"]:
        atheris.Setup(sys.argv[2:], one_input)
        atheris.Fuzz()
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--corpus", type=Path, default=Path("attack/corpus/readers"))
    parser.add_argument("--crashes", type=Path, default=Path("build"), help="folder for inputs that fail")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minimise", action="store_true")
    options = parser.parse_args()
    write_seeds(options.corpus)
    if options.minimise:
        minimise(options.corpus)
        return
    options.crashes.mkdir(parents=True, exist_ok=True)
    flags = {
        "max_total_time": options.seconds,
        "rss_limit_mb": MEMORY,
        "timeout": SECONDS,
        "max_len": MOST,
        "seed": options.seed,
        "print_final_stats": 1,
        "artifact_prefix": f"{options.crashes}{os.sep}",
    }
    atheris.Setup([sys.argv[0], *(f"-{name}={value}" for name, value in flags.items()), str(options.corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
