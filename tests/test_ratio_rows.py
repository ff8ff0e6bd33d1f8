"""Ratios of costs over those of another entry, and what was paid over what was expected or held out."""

import numpy as np
import pandas as pd
import pytest
from small_experiment import spec_of

from clems.experiments import make_plan
from clems.experiments.analysis.selection import COLUMNS
from clems.experiments.output.ratio_rows import honesty_tables, ratio_rows
from clems.experiments.spec import SpecError

LEARNERS = {"pcc": {"title": "PCC", "over": "plain"}, "plain": {"kind": "br", "title": "BR"}}


def plan_of():
    return make_plan(spec_of(kind="ratios", criteria=["f1", "rank"], learners=LEARNERS, repetitions=2))


def results_of(lines):
    """Results from learner, criterion, repetition, value and expected cost."""
    dataset = plan_of().spec.datasets[0]
    frame = pd.DataFrame(lines, columns=["learner", "criterion", "repetition", "value", "expected"])
    frame["held_out"] = 2 * frame["expected"]
    return frame.assign(dataset=dataset, x=np.nan).reindex(columns=COLUMNS)


def test_costs_are_divided_repetition_by_repetition():
    frame = results_of(
        [
            ("pcc", "f1", 0, 0.8, 0.25),  # a score: the cost is 0.2
            ("pcc", "f1", 1, 0.9, 0.25),
            ("plain", "f1", 0, 0.6, np.nan),
            ("plain", "f1", 1, 0.5, np.nan),
            ("pcc", "rank", 0, 3.0, 2.0),
            ("pcc", "rank", 1, 6.0, 4.0),
            ("plain", "rank", 0, 2.0, np.nan),
            ("plain", "rank", 1, 6.0, np.nan),
        ]
    )
    rows, legend = ratio_rows(plan_of(), frame)
    ratios = {row.criterion: row.cells["pcc"] for row in rows}
    assert {*rows[0].cells} == {"pcc"}
    assert ratios["f1"].value == pytest.approx((0.2 / 0.4 + 0.1 / 0.5) / 2)
    assert ratios["f1"].error == pytest.approx((0.5 - 0.2) / 2)
    assert ratios["rank"].value == pytest.approx((1.5 + 1) / 2)
    assert "PCC over BR" in legend[0]
    assert "Of 2 cells 0 lie above 1" in legend[1]  # 1.25 ± 0.25
    assert f"of PCC: {np.sqrt(0.35 * 1.25):.3f} (" in legend[2]
    frame.loc[frame["learner"] == "pcc", "value"] += 3 * (frame["criterion"] == "rank")
    assert "Of 2 cells 1 lie above 1 by more than a standard error: PCC on" in ratio_rows(plan_of(), frame)[1][1]

    table, other = honesty_tables(
        plan_of(),
        results_of(frame[["learner", "criterion", "repetition", "value", "expected"]].to_numpy().tolist()),
    )
    paid = {row.criterion: row.cells["pcc"].value for row in table.rows}
    assert paid == pytest.approx({"f1": 0.15 / 0.25, "rank": 7.5 / 3})
    assert [*table.headings] == ["pcc"]
    assert "Of 2 cells 0 are within 0.9 to 1.1; mean over all: PCC 1.550." in table.legend[0]
    assert other.title == "Paid over held out"
    assert {row.criterion: row.cells["pcc"].value for row in other.rows} == pytest.approx({"f1": 0.3, "rank": 1.25})


def test_what_is_not_known_is_left_out():
    frame = results_of([("pcc", "f1", 0, 0.8, np.nan), ("plain", "f1", 0, np.nan, np.nan)])
    rows, _ = ratio_rows(plan_of(), frame)
    assert np.isnan(rows[0].cells["pcc"].value)
    assert honesty_tables(plan_of(), frame) == []


def test_ratios_name_what_they_are_over():
    with pytest.raises(SpecError, match="learners: ratios need an entry that says over which other entry"):
        spec_of(kind="ratios", learners={"br": {}})
    with pytest.raises(SpecError, match=r"learners\.br\.over: there is no entry 'pcc'; entries are br"):
        spec_of(learners={"br": {"over": "pcc"}})
    assert [*plan_of().part(learners=["pcc"]).spec.learners] == ["pcc", "plain"]
    needed = {"class": "not_installed:Tree"}
    assert spec_of(learners={"br": {"needs": "not_installed", "parameters": {"estimator": needed}}})
    with pytest.raises(SpecError, match="not_installed:Tree cannot be imported"):
        spec_of(learners={"br": {"parameters": {"estimator": needed}}})
