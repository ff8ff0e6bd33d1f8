"""What is missing is said."""

from made_records import FAILED, decision, make_plan, planned, record

from clems.experiments.analysis.completeness import missing


def test_missing_trials_are_listed():
    places = [planned("a", "d", n) for n in range(3)] + [planned("b", "e", n) for n in range(2)]
    keys = [one.trial.key for one in places]
    records = {keys[0]: record(decision({"f1": 1.0})), keys[1]: FAILED, keys[4]: record(decision({"f1": 1.0}))}
    own = missing(make_plan(places), records)
    assert own.sentences == [
        "3 of 5 trials are missing: a on d (2), b on e (1).",
        "a failed on d once: ValueError: too few rows.",
    ]
    twins = [planned("a"), planned("a")]
    twins[1].learner = "b"  # of the same trial
    assert missing(make_plan(twins), {}).sentences == ["1 of 1 trial is missing: a on d (1), b on d (1)."]
    whole = missing(make_plan(places), dict.fromkeys(keys, record(decision({"f1": 1.0}))))
    assert (whole.planned, whole.missing, whole.sentences) == (5, 0, [])
