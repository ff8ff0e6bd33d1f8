"""A few blows of the attack by signals."""

import pytest

from attack.signals import attack

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork, in newer Pythons, as there are threads


def test_a_signal_or_fault_leaves_the_old_file_or_the_new_one():
    rows, faults, made = attack(["predict"], ["SIGTERM", "ENOSPC"], most=3)
    assert faults == []
    assert {"open", "write", "fsync", "replace"} <= {*made["predict"]}
    assert all(found["runs"] == found["old"] + found["new"] for _, _, found in rows)
    assert sum(found["new"] for _, _, found in rows) == 1, "only after it took the old one's place"
