"""What libFuzzer writes is read as it is meant: inputs, coverage, and how a piece ended."""

import pytest

from attack.coverage import Piece, piece_of, report

LINES = "#2\tINITED cov: 10 ft: 20 corp: 1/1b\n#99\tREDUCE cov: 1399 ft: 4313 corp: 440/45Kb lim: 3074\n"
STATISTICS = "stat::number_of_executed_units: 409273\nstat::average_exec_per_sec:     736\n"


@pytest.mark.parametrize(
    ("more", "code", "end"),
    [
        ("", 0, "ended"),
        ("==1== ERROR: libFuzzer: out-of-memory (used: 6156Mb; limit: 6144Mb)\n", 71, "memory of the fuzzer"),
        ("==1== ERROR: libFuzzer: timeout\n", 70, "fault"),
        ("Traceback (most recent call last):\n", 77, "fault"),
    ],
)
def test_a_piece_by_its_output(more, code, end):
    assert piece_of(LINES + more + STATISTICS, code) == Piece(end, 409273, 1399, 440)


def test_a_piece_that_says_nothing_is_a_fault():
    assert piece_of("", 1) == Piece("fault", 0, 0, 0)


def test_pieces_are_added_up():
    pieces = [Piece("ended", 1000, 5, 7), Piece("memory of the fuzzer", 2000, 6, 8), Piece("fault", 500, 9, 11)]
    text = report("readers", "make", pieces, 12.3)
    assert "3 pieces in 12 minutes, 3,500 inputs" in text
    assert text.splitlines()[-1] == "| 1 | 1 | 1 | 9 | 11 |"
