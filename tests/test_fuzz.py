"""Broken and hostile files end in a dataset or in a DataError: a short run of what `make fuzz` does at length."""

import random

import pytest
from scipy import sparse

from benchmarks.fuzz import READERS, SLOW, check, fuzz, mutated
from clems.datasets import DataError


@pytest.mark.parametrize("name", READERS)
def test_unbroken_files_are_read(name):
    data, read = READERS[name]
    check(read(data))


@pytest.mark.filterwarnings("ignore:.*has the separator")
def test_broken_files_are_refused():
    counts, failures = fuzz(3000, seed=1)
    assert failures == []
    assert sum(n for (_, end), n in counts.items() if end == "DataError") > 1000
    assert sum(n for (_, end), n in counts.items() if end == "dataset") > 100
    assert sum(counts.values()) == 3000


def outcome(read, data):
    """What reading ends in, in a form that can be compared."""
    try:
        dataset = read(data)
    except DataError as error:
        return str(error)
    sides = (side.toarray() if sparse.issparse(side) else side for side in (dataset.X, dataset.Y))
    return [side.tobytes() for side in sides], list(dataset.feature_names), list(dataset.label_names)


@pytest.mark.filterwarnings("ignore:.*has the separator")  # which a mutated file may have lost
@pytest.mark.parametrize("block", [7, 64, 1 << 19])
def test_the_fast_ways_change_nothing(monkeypatch, block):
    """Broken or not, a file ends in the same dataset or in the same sentence without what makes reading fast."""
    rng = random.Random(block)
    readers = {name: reader for name, reader in READERS.items() if name.startswith(("arff", "libsvm", "csv"))}
    monkeypatch.setattr("clems.datasets.text.source.BLOCK", block)
    files = [
        (read, mutated(data, [data, b"1.5", b"1e3"], rng) if place else data)
        for data, read in readers.values()
        for place in range(150)
    ]
    fast = [outcome(read, data) for read, data in files]
    for target, replacement in SLOW.items():
        monkeypatch.setattr(target, replacement)
    for (read, data), expected in zip(files, fast, strict=True):
        assert outcome(read, data) == expected, data
