"""A short run of the files of known values, and that a wrong value would be noticed."""

import numpy as np
import pytest

from attack import readers
from clems.datasets.text import source


def test_files_of_known_values_are_read_as_they_were_written():
    counts, failures = readers.run(600, seed=7)
    assert failures == []
    assert sum(counts[form, "files"] for form in readers.FORMS) == 600
    assert all(counts[form, "files"] for form in readers.FORMS if not form.startswith(("Parquet", "CSV, p")))
    assert source.BLOCK == 1 << 19  # small blocks are undone


@pytest.mark.parametrize("form", readers.FORMS)
def test_every_format(form):
    make = readers.Maker(3, size=2000)
    for place in range(25):
        make.case(3, place)
        assert readers.wrong(readers.FORMS[form][1](make)) is None


@pytest.mark.parametrize("form", readers.FORMS)
def test_one_unit_in_the_last_place_is_noticed(form):
    make = readers.Maker(4, size=2000)
    make.case(4, 0)
    case = readers.FORMS[form][1](make)
    for row, values in enumerate(case.X):
        for place, value in enumerate(values):
            other = 0.5 if np.isnan(value) else np.nextafter(value, np.inf)
            changed = [*values[:place], other, *values[place + 1 :]]
            broken = case._replace(X=[*case.X[:row], changed, *case.X[row + 1 :]])
            assert "are not" in readers.wrong(broken)
    first, *others = case.Y[0]
    other = 0 if np.isnan(first) else 1 - first
    assert "are not" in readers.wrong(case._replace(Y=[[other, *others], *case.Y[1:]]))
    if case.features:
        assert "are called" in readers.wrong(case._replace(features=["other", *case.features[1:]]))


def test_the_sign_of_zero_and_what_is_raised_are_noticed():
    case = readers.Case(b"", lambda: (np.array([[0.0]]), np.array([[1]])), [[-0.0]], [[1]], [], [])
    assert "are not" in readers.wrong(case)
    assert readers.wrong(case._replace(X=[[0.0]])) is None
    assert "ZeroDivisionError" in readers.wrong(case._replace(read=lambda: 1 / 0))


def test_a_number_makes_the_same_file_again():
    one, two = (readers.Maker(0, size=500).case(0, 12)[1].data for _ in range(2))
    assert one == two


def test_coverage_guided_fuzzing_has_a_seed_for_every_reader():
    pytest.importorskip("atheris")
    from attack.coverage_readers import NAMES, outcome, seeds

    assert {data[0] % len(NAMES) for data in seeds()} == {*range(len(NAMES))}
    assert not isinstance(outcome("csv columns", seeds()[NAMES.index("csv columns")][1:]), str)
