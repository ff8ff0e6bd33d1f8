"""Tests within a row against scipy, statsmodels and formulas by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_records import make_results
from scipy import stats

from clems import CRITERIA
from clems.experiments.analysis.significance import against_best, corrected_t_test, holm, interval


def test_interval_is_scipys():
    own = [0.1, 0.4, 0.2, 0.5]
    wanted = stats.ttest_1samp(own, 0).confidence_interval(0.95)
    assert interval(np.mean(own), stats.sem(own), 4) == pytest.approx((wanted.low, wanted.high))
    assert np.isnan(interval(0.1, np.nan, 1)).all()


differences = st.lists(st.floats(-1, 1).map(lambda own: round(own, 3)), min_size=2, max_size=8)


@given(differences)
def test_without_overlap_the_corrected_test_is_the_paired_t_test(own):
    if np.std(own) > 1e-9:
        assert corrected_t_test(own, 0.0) == pytest.approx(stats.ttest_1samp(own, 0).pvalue)
        assert corrected_t_test(own, 1 / 3) >= corrected_t_test(own, 0.0)
    assert corrected_t_test(own, 1 / 3) == pytest.approx(corrected_t_test([-one for one in own], 1 / 3))


def test_corrected_test_by_hand():
    own = np.array([0.02, 0.05, -0.01, 0.04])
    t = 0.025 / np.sqrt((1 / 4 + 0.5) * own.var(ddof=1))
    assert corrected_t_test(own, 0.5) == pytest.approx(2 * stats.t.sf(t, 3))
    assert corrected_t_test([0, 0, 0], 0.5) == 1
    assert corrected_t_test([0.1, 0.1, 0.1], 0.5) == 0
    assert np.isnan(corrected_t_test([0.1], 0.5))
    assert np.isnan(corrected_t_test([0.1, 0.2], np.nan))


def test_holm_is_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for p in np.random.default_rng(0).uniform(0, 0.1, (4, 12)).round(2):  # with ties
        assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])
        assert holm([np.nan, *p])[1:] == pytest.approx(holm(p))
        assert np.isnan(holm([np.nan, *p])[0])
    assert holm([]).size == 0


@pytest.mark.parametrize("criterion", ["f1", "rank"])
def test_rivals_are_tested_against_the_best(criterion):
    rng = np.random.default_rng(0)
    common, sign = rng.normal(0, 1, 10), CRITERIA[criterion].sign
    near, far = rng.normal(0.01, 0.1, 10), rng.normal(2, 0.1, 10)
    lost = {"best": np.zeros(10), "near": np.abs(near.mean()) + near - near.mean(), "far": far}
    frame, *_ = make_results({("d", name): [*(common - sign * own)] for name, own in lost.items()}, criterion)
    tests = against_best(frame).set_index("learner")
    assert tests["best"].unique().tolist() == ["best"]
    assert tests["worse"].to_dict() == {"near": False, "far": True}
    p = [corrected_t_test(lost[name], 1 / 3) for name in ("near", "far")]
    assert tests["p"].tolist() == pytest.approx(p)
    assert tests["p_holm"].tolist() == pytest.approx(holm(p))
    assert (tests["pairs"] == 10).all()


def test_tests_need_two_common_repetitions():
    values = {("d", "a"): [0.9, 0.8, None], ("d", "b"): [0.1, None, 0.2], ("d", "c"): [None, None, None]}
    tests = against_best(make_results(values)[0])
    assert tests["pairs"].tolist() == [1, 0]
    assert tests["p_holm"].isna().all()
    assert not tests["worse"].any()
    assert against_best(make_results({("d", "a"): [None]})[0]).empty
