"""Mutated files for every reader: each must end in a dataset or in a DataError.

``python -m benchmarks.fuzz --files 100000 --output benchmarks/results/fuzz.md``
"""

import argparse
import bz2
import gzip
import io
import lzma
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from clems.datasets import DataError, Limits, read_arff, read_libsvm, read_table
from clems.datasets.formats.mulan import labels_of_xml

LIMITS = Limits(total=64 << 20, columns=1_000_000)
SECONDS = 10  # a file of a few hundred bytes that takes longer hangs

DENSE = b"""% a comment
@RELATION 'dense: -C -2'
@attribute a numeric
@attribute 'b c' REAL
@attribute colour {red,'dark blue',"gr\\"een"}
@attribute switch {no,yes}
@attribute y {0,1}
@attribute z {1,0}
@data
1.5,-2e3,red,no,1,0
?,0.25,'dark blue',yes,0,1
% another
3, .5 ,?,no,1,1
"""
NUMBERS = (
    b"@relation 'n: -C 1'\n@attribute y {0,1}\n"
    + b"@attribute a real\n@attribute b real\n@data\n"
    + b"1,0.5,-7\n0,1e-3,8\n" * 4
)
SPARSE = (
    b"@relation 's: -C 2'\n@attribute y {0,1}\n@attribute z {1,0}\n"
    + b"".join(b"@attribute x%d numeric\n" % place for place in range(8))
    + b"@attribute w {u,v,'x y'}\n@data\n{0 1,3 5,9 12}\n{}\n{1 0,4 0.5,10 'x y'}\n{2 1, 3 1}\n" * 1
)
WHOLE = (
    b"@relation 's: -C 2'\n@attribute y {0,1}\n@attribute z {0,1}\n"
    + b"".join(b"@attribute x%d numeric\n" % place for place in range(8))
    + b"@data\n"
    + b"{0 1,3 5,9 12}\n{}\n{1 1,4 5}\n" * 3
)
GAPS = b"@relation 'g: -C 2'\n@attribute y {0,1}\n@attribute z {1,0}\n@attribute x real\n@data\n1,?,0.5\n?,0,2\n"
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="a"></label><label name="b &amp; c"><label name="d"/></label>
</labels>
"""
LIBSVM = b"1,3 1:0.5 4:1 7:1e-3\n 2:1\n3 1:2 # hello\n2:7 3:1\n" * 2
ANNOUNCED = b"4 9 5\n0,2 0:1 4:2\n\n 1:3 8:0.25\n4 2:1\n"
CSV = b'x,"y, z",city,tag_a,tag_b\n1,2.5,Rome,0,1\n,NA,"Os""lo",1,0\n-3e5,?,Rome,1,1\n'
CSV_GAPS = b"x,tag_a,tag_b\n1,,1\n2,?,0\n3,1,NA\n"
TAGS = b'id;x;tags\nu;1;"red|blue"\nv;2;\nw;3;red\n'
PAIRS = b"row,label\nu,red\nv,blue\nu,blue\n"
TOKENS = [
    *b"@data @attribute @relation numeric string date {0,1} {} { } , ; : ' \" \\ ? % # | = - . e E + *".split(b" "),
    *b"nan inf 1e999 -1 0 1 99999999999 1e-999 0x10 1_0 True yes \x00 \xff \xef\xbb\xbf \xc3\xa9".split(b" "),
    *b"<label <!DOCTYPE &amp; &#0; 0:1 1:1 {0_1} ,, \n \r\n \r \t \n\n -C_3 -C_-9 'a_b' _".replace(b"_", b"\xa0").split(
        b" "
    ),
]
TOKENS = [token.replace(b"\xa0", b" ") for token in TOKENS]


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame({"x": [1.5, None, 3], "kind": pd.Categorical(["u", "v", "u"]), "y": [True, False, True]}).to_parquet(
        buffer
    )
    return buffer.getvalue()


def _arff(data: bytes, **options):
    return read_arff(io.BytesIO(data), limits=LIMITS, **options)


def _table(data: bytes, **options):
    return read_table(io.BytesIO(data), limits=LIMITS, **options)


READERS = {
    "arff dense": (DENSE, _arff),
    "arff dense one-hot": (DENSE, lambda data: _arff(data, nominal="one-hot")),
    "arff numbers": (NUMBERS, _arff),
    "arff sparse": (SPARSE, _arff),
    "arff sparse one-hot": (SPARSE, lambda data: _arff(data, nominal="one-hot")),
    "arff whole numbers": (WHOLE, _arff),
    "arff latin-1": (DENSE, lambda data: _arff(data, encoding="latin-1")),
    "arff gzip": (gzip.compress(DENSE), _arff),
    "arff bzip2": (bz2.compress(SPARSE), _arff),
    "arff xz": (lzma.compress(WHOLE), _arff),
    "xml": (XML, lambda data: labels_of_xml(io.BytesIO(data), LIMITS)),
    "libsvm": (LIBSVM, lambda data: read_libsvm(io.BytesIO(data), limits=LIMITS)),
    "libsvm announced": (ANNOUNCED, lambda data: read_libsvm(io.BytesIO(data), limits=LIMITS)),
    "csv columns": (CSV, lambda data: _table(data, labels="tag_*", nominal="codes")),
    "csv one-hot": (CSV, lambda data: _table(data, labels="tag_*", nominal="one-hot")),
    "csv tags": (TAGS, lambda data: _table(data, tags="tags", separator="|", drop="id")),
    "csv pairs": (PAIRS, lambda data: _table(TAGS, pairs=io.BytesIO(data), row_id="id", drop="tags")),
    "parquet": (_parquet(), lambda data: _table(data, labels="y")),
    "arff missing labels": (GAPS, lambda data: _arff(data, missing_labels="keep")),
    "csv missing labels": (CSV_GAPS, lambda data: _table(data, labels="tag_*", missing_labels="keep")),
}


# The fast ways of readers, and what to put in their place so that everything is read in the slow way.
SLOW = {
    "clems.datasets.formats.arff_rows._plain_dense_rows": lambda *_: None,
    "clems.datasets.formats.arff_rows._plain_sparse_rows": lambda *_: None,
    "clems.datasets.formats.arff_header._plain_lines": lambda block: (len(block), len(block), []),
    "clems.datasets.formats.libsvm._plain_rows": lambda *_: None,
    "clems.datasets.text.cells._by_pandas": lambda *_: None,
    "clems.datasets.text.cells._all_numbers": lambda *_: None,
}


def mutated(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Change a file in one to eight places."""
    text = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5, 8])):
        place = rng.randrange(len(text) + 1)
        stop = min(len(text), place + rng.choice([1, 1, 2, 4, 16, 64]))
        match rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 6, 7, 8, 8]):
            case 0 if text:
                text[place % len(text)] ^= 1 << rng.randrange(8)
            case 1 if text:
                text[place % len(text)] = rng.randrange(256)
            case 2:
                del text[place:stop]
            case 3:
                text[place:place] = text[place:stop] * rng.choice([1, 1, 2, 50])
            case 4 | 5:
                text[place:place] = rng.choice(TOKENS)
            case 6:
                text[place:stop] = rng.choice(TOKENS)
            case 7:
                del text[place:]
            case 8:
                other = rng.choice(others)
                start = rng.randrange(len(other))
                text[place:stop] = other[start : start + rng.choice([4, 16, 64])]
    return bytes(text)


def check(outcome: object) -> None:
    """Refuse a dataset that is not one."""
    if isinstance(outcome, list):
        assert outcome
        return
    X, Y = outcome.X, outcome.Y
    values = X.data if sparse.issparse(X) else X
    assert not np.isinf(values).any()
    assert X.shape == (Y.shape[0], len(outcome.feature_names))
    assert Y.shape[1] == len(outcome.label_names) > 0
    labels = Y.data if sparse.issparse(Y) else Y
    assert np.isin(labels[~np.isnan(labels)], (0, 1)).all()


def too_long(*_: object) -> None:
    raise TimeoutError(f"it takes more than {SECONDS} s")


def fuzz(n_files: int, seed: int = 0) -> tuple[Counter[tuple[str, str]], list[tuple[str, bytes, str]]]:
    """Count how reading ends, for each reader; collect what should not happen."""
    rng = random.Random(seed)
    others = [data for data, _ in READERS.values()]
    names = list(READERS)
    counts: Counter[tuple[str, str]] = Counter()
    failures = []
    before = signal.signal(signal.SIGALRM, too_long)
    try:
        for place in range(n_files):
            name = names[place % len(names)]
            seed_file, read = READERS[name]
            data = mutated(seed_file, others, rng)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                try:
                    check(read(data))
                    counts[name, "dataset"] += 1
                except DataError as error:
                    if not str(error).isprintable():
                        raise
                    counts[name, "DataError"] += 1
            except Exception:
                counts[name, "other"] += 1
                failures.append((name, data, traceback.format_exc()))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    return counts, failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    fuzz(2 * len(READERS), seed=-1)  # what is imported and allocated once is not growth
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    counts, failures = fuzz(options.files, options.seed)
    seconds = time.perf_counter() - start
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    lines = [
        "# Mutated files",
        "",
        f"`python -m benchmarks.fuzz --files {options.files} --seed {options.seed}`: {options.files:,} files of "
        f"{len(READERS)} kinds in {seconds / 60:.0f} minutes; the peak of memory grew by {growth:.0f} MiB; none took "
        f"longer than {SECONDS} s.",
        "",
        "| reader | files | dataset | DataError | anything else |",
        "|---|---|---|---|---|",
    ]
    for name in [*READERS, "all"]:
        ends = [
            sum(n for (who, what), n in counts.items() if name in (who, "all") and what == end)
            for end in ("dataset", "DataError", "other")
        ]
        lines.append(f"| {name} | {sum(ends):,} | " + " | ".join(f"{n:,}" for n in ends) + " |")
    for name, data, trace in failures[:20]:
        print(f"{name}: {data!r}\n{trace}", file=sys.stderr)
    text = "\n".join(lines) + "\n"
    print(text)
    if failures:
        sys.exit(f"{len(failures)} of {options.files} files ended in neither a dataset nor a DataError.")
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
