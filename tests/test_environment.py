"""What numbers depend on is recorded: versions, and the BLAS with its kernel."""

import json
import os
import subprocess
import sys
from ast import literal_eval

import pytest

from clems.experiments.environment import PACKAGES, blas, libraries, versions

KERNELS = {"Nehalem", "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"}  # all run the first two


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


def test_another_kernel_is_recorded_and_clems_answers_alike():
    if not all(one["library"] == "openblas" and one["architecture"] in KERNELS for one in blas()):
        pytest.skip("no other kernel is known to run here")
    other = "Nehalem" if blas()[0]["architecture"] != "Nehalem" else "Haswell"
    script = """if True:
        from clems import CLEMS
        from clems.datasets import digit_scenes
        from clems.experiments.environment import blas
        X, Y = digit_scenes(300, random_state=0)
        found = []
        for cost in ("f1", "rank"):
            model = CLEMS(cost, n_trees=20, random_state=0).fit(X[:200], Y[:200])
            found.append(model.embedding_.truth.tobytes().hex())
            found.append((model.predict(X[200:]).tolist(), model.posterior(X[200:]).share.toarray().tolist()))
        kernels = {one["architecture"] for one in blas()}
    """
    exec(script, here := {})
    asked = {**os.environ, "OPENBLAS_CORETYPE": other}
    run = [sys.executable, "-c", f"{script}    print((kernels, found))"]
    kernels, found = literal_eval(subprocess.run(run, env=asked, capture_output=True, text=True, check=True).stdout)
    assert kernels == {other}
    assert found[0] != here["found"][0]  # the points, in the last digits
    assert found[1::2] == here["found"][1::2]
