"""A short run of the attacks on learners, and that they find what they are for."""

import warnings

import numpy as np
import pytest

from attack.estimators import REFUSED, SAME, VARIANTS, campaign, digest
from clems import BR, LEARNERS


def some(step, kinds=None):
    """Every so many attacks of some kinds."""
    seen = iter(range(10**6))
    return lambda attack: (kinds is None or attack.kind in kinds) and next(seen) % step == 0


@pytest.mark.parametrize("name", [*LEARNERS, *VARIANTS])
def test_attacks_end_in_the_same_answer_or_are_reported(name):
    counts, failures = campaign([name], seed=1, processes=False, keep=some(37))
    assert failures == []
    assert counts.total() >= 10
    for ended in (SAME, REFUSED):
        assert sum(n for (_, _, end), n in counts.items() if end == ended) > 0


def test_other_processes():
    counts, failures = campaign(["plst"], seed=1, keep=lambda attack: attack.name.startswith("by "))
    assert failures == []
    assert counts == {("plst", "processes", SAME): 4}


def test_answers_that_depend_on_hash_seeds_are_found(monkeypatch):
    for digests, failed in ((({"br": "a"}, {"br": "a"}), 0), (({"br": "a"}, {"br": "b"}), 1)):
        monkeypatch.setattr("attack.estimators.digests_by_hash", lambda *_, digests=digests: digests)
        _, failures = campaign(["br"], keep=lambda attack: attack.name == "hash seeds")
        assert len(failures) == failed
    assert digest("br", 1) == digest("br", 1) != digest("br", 2)


def raises(self, X, honest):
    raise IndexError("out of bounds")


def differs(self, X, honest):
    return honest(self, X) ^ (getattr(X, "dtype", None) == np.int16)


def warns(self, X, honest):
    warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)
    return honest(self, X)


def writes(self, X, honest):
    predicted = honest(self, X)
    if isinstance(X, np.ndarray) and X.flags.writeable:
        X[0] = 1
    return predicted


@pytest.mark.parametrize(
    ("fault", "message"),
    [(raises, "IndexError: out"), (differs, "differ"), (warns, "RuntimeWarning"), (writes, "an input was changed")],
)
def test_attacks_find_faults(fault, message, monkeypatch):
    honest = BR.predict
    monkeypatch.setattr(BR, "predict", lambda self, X: fault(self, X, honest))
    wanted = {"X of predict: int16", "X of predict: float32"}
    _, failures = campaign(["br"], seed=2, processes=False, keep=lambda attack: attack.name in wanted)
    assert any(message in failure for failure in failures)


def test_attacks_find_what_is_answered_but_has_no_answer(monkeypatch):
    monkeypatch.setattr(BR, "fit", lambda self, X, y, sample_weight=None: self)
    monkeypatch.setattr("attack.estimators.fitted", lambda *_: BR())
    _, failures = campaign(["br"], seed=3, processes=False, keep=lambda attack: attack.name == "no rows")
    assert failures == ["br, shapes, no rows: Failure: answered what has no answer"]
