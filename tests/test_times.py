"""Running times relative to those of one learner."""

import numpy as np
import pytest
from made_records import decision, make_plan, planned, record

from clems.experiments.analysis.selection import results
from clems.experiments.analysis.times import time_ratios


def test_times_are_geometric_means_of_paired_ratios():
    places = [planned(name, "d", n) for name in ("br", "a") for n in range(3)]
    seconds = [(1, 1), (2, 1), (4, 1), (2, 1), (2, 1), (None, None)]
    records = {
        one.trial.key: record(decision({"f1": 0.5}), fit=fit, predict=predict)
        for one, (fit, predict) in zip(places, seconds, strict=True)
        if fit
    }
    frame = results(make_plan(places), records)
    own = time_ratios(frame, "br").set_index(["learner", "phase"])
    assert own.loc[("a", "training"), "factor"] == pytest.approx(np.sqrt(2 * 1))
    assert own.loc[("a", "total"), "factor"] == pytest.approx(np.sqrt(3 / 2 * 3 / 3))
    assert own.loc[("br", "total"), "factor"] == pytest.approx(1)
    assert own.loc[("br", "training"), "seconds"] == pytest.approx(7 / 3)
    assert own.loc[("a", "training"), "low"] < np.sqrt(2) < own.loc[("a", "training"), "high"]
    assert time_ratios(frame, None)["factor"].isna().all()
