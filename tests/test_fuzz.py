"""Broken and hostile files end in a dataset or in a DataError: a short run of what `make fuzz` does at length."""

import pytest

from benchmarks.fuzz import READERS, check, fuzz


@pytest.mark.parametrize("name", READERS)
def test_unbroken_files_are_read(name):
    data, read = READERS[name]
    check(read(data))


def test_broken_files_are_refused():
    counts, failures = fuzz(3000, seed=1)
    assert failures == []
    assert sum(n for (_, end), n in counts.items() if end == "DataError") > 1000
    assert sum(n for (_, end), n in counts.items() if end == "dataset") > 100
    assert sum(counts.values()) == 3000
