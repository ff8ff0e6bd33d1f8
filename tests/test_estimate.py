"""How long trials may take."""

import pytest
from small_experiment import spec_of

from clems import LEARNERS
from clems.experiments.estimate import SECONDS, estimate, sizes_of
from clems.experiments.plan import make_plan


def test_time_is_estimated_from_what_was_run():
    spec = spec_of(learners={"br": {}, "cc": {}}, repetitions=2, datasets=["scenes", "flags"])
    plan, sizes = make_plan(spec), sizes_of(spec)
    assert sizes == pytest.approx({"scenes": 10 * 160**0.5, "flags": 7 * 194**0.5})
    done = [{"status": "done", "dataset": "flags", "kind": kind, "seconds": {"trial": 2.0}} for kind in ("br", "cc")]
    known = [trial for trial in plan.trials if trial.dataset == "flags"]
    assert estimate(known, sizes, done) == 8.0
    assert estimate(plan.trials, sizes, done) == pytest.approx(8 * (1 + sizes["scenes"] / sizes["flags"]))
    chains = [trial for trial in plan.trials if trial.kind == "cc"]
    assert estimate(chains, sizes, done[:1]) == pytest.approx(2 * sum(sizes.values()) * SECONDS["cc"] * 3 / 100)
    assert SECONDS.keys() == LEARNERS.keys()
