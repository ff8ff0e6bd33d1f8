"""A report says so if its records come from several BLAS kernels."""

import pytest
from made_records import FAILED, decision, make_plan, planned, record

from clems.experiments.analysis.kernels import kernel_of, several_kernels
from clems.experiments.output.kinds import make_table


def on(*kernels):
    libraries = [{"library": "openblas", "version": "0.3", "architecture": name, "threads": 1} for name in kernels]
    return record(decision({"f1": 0.5})) | {"blas": libraries}


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (on("Haswell", "Haswell"), "openblas Haswell"),
        (on("Haswell", "SkylakeX"), "openblas Haswell with openblas SkylakeX"),
        (on(None), "openblas of unknown kernel"),
        (on(), "not recorded"),
        (record(decision({"f1": 0.5})), "not recorded"),
    ],
    ids=["one", "two", "unknown", "none", "old"],
)
def test_kernels_are_named(made, name):
    assert kernel_of(made) == name


def test_several_kernels_are_said_in_a_sentence():
    places = [planned("a", repetition=n) for n in range(5)]
    keys = [one.trial.key for one in places]
    plan = make_plan(places)
    same = dict.fromkeys(keys, on("Haswell"))
    old = dict.fromkeys(keys, record(decision({"f1": 0.5})))
    for records in ({}, same, old, same | {"of another experiment": on("Zen")}, same | {keys[0]: FAILED}):
        assert several_kernels(plan, records) == []
    mixed = same | {keys[0]: on("SkylakeX"), keys[1]: old[keys[1]], keys[2]: FAILED}
    assert several_kernels(plan, mixed) == make_table(plan, mixed).footnotes
    assert several_kernels(plan, mixed) == [
        "Records come from several BLAS kernels, on which single runs may depend: "
        "openblas Haswell (2), openblas SkylakeX (1), not recorded (1)."
    ]
