"""What numbers depend on is recorded: versions, and the BLAS with its kernel."""

import json
import os
import subprocess
import sys

import pytest

from clems.experiments.environment import PACKAGES, blas, libraries, versions


def test_versions_of_what_may_change_the_numbers():
    assert versions().keys() == {"python", *PACKAGES}


def test_the_blas_is_described_with_its_kernel_and_threads():
    with libraries().limit(limits=1):
        described = blas()
    assert described
    assert json.loads(json.dumps(described)) == described
    for one in described:
        assert one.keys() == {"library", "version", "architecture", "threads"}
        assert one["threads"] == 1


def test_the_kernel_is_the_one_that_was_asked_for():
    if not all(one["library"] == "openblas" and one["architecture"] == "Haswell" for one in blas()):
        pytest.skip("another kernel is known to run here only where OpenBLAS runs that of Haswell")
    script = "import clems.experiments; from clems.experiments.environment import blas; print(blas())"
    asked = {**os.environ, "OPENBLAS_CORETYPE": "Nehalem"}
    shown = subprocess.run([sys.executable, "-c", script], env=asked, capture_output=True, text=True, check=True)
    assert "'architecture': 'Nehalem'" in shown.stdout
    assert "Haswell" not in shown.stdout
