"""Ranks over datasets against other packages."""

import numpy as np
import pytest
from made_records import make_results
from scipy import stats

from clems import CRITERIA
from clems.experiments.analysis.ranking import Ranking, over_datasets
from clems.experiments.analysis.selection import summary


def many(datasets, learners, criterion="f1", gaps=()):
    rng = np.random.default_rng(1)
    values = {(d, learner): [*(n + rng.normal(0, 0.6, 2))] for d in datasets for n, learner in enumerate(learners)}
    return make_results(values | {gap: [None, 0.5] for gap in gaps}, criterion)[0]


@pytest.mark.parametrize("criterion", ["f1", "rank"])
def test_ranks_over_datasets_are_those_of_other_packages(criterion):
    posthocs = pytest.importorskip("scikit_posthocs")
    frame = many("pqrstu", "abcd", criterion)
    own = over_datasets(frame)[criterion]
    means = summary(frame).pivot(index="dataset", columns="learner", values="mean") * -CRITERIA[criterion].sign
    wanted = np.mean([stats.rankdata(row) for row in means.to_numpy()], axis=0)
    assert own.ranks[list("abcd")].tolist() == pytest.approx(wanted)
    assert own.ranks.is_monotonic_increasing
    assert (own.statistic, own.p) == pytest.approx(tuple(stats.friedmanchisquare(*means.to_numpy().T)))
    nemenyi = posthocs.posthoc_nemenyi_friedman(means.to_numpy())
    assert own.p_values.loc[list("abcd"), list("abcd")].to_numpy() == pytest.approx(nemenyi.to_numpy(), abs=1e-6)
    assert own.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 6)), abs=1e-3)  # Demšar's table 5
    assert (own.datasets, own.learners, own.left_out) == (tuple("pqrstu"), tuple("abcd"), ())


def test_ranks_are_of_the_greatest_complete_block():
    own = over_datasets(many("pqrst", "abcd", gaps=[("p", "a"), ("t", "a"), ("p", "b")]))["f1"]
    assert isinstance(own, Ranking)
    assert (own.datasets, own.learners, own.left_out) == (tuple("qrst"), tuple("bcd"), ("p", "a"))
    few_of_them = over_datasets(many("pqr", "abc", gaps=[("p", "a")]))["f1"]
    assert few_of_them.startswith("Ranks over datasets need at least 3 datasets")


def test_equal_learners_do_not_differ():
    frame, *_ = make_results({(d, learner): [0.5, 0.5] for d in "pqr" for learner in "abc"})
    own = over_datasets(frame)["f1"]
    assert (own.p, own.ranks.tolist(), own.as_good) == (1, [2, 2, 2], ["a", "b", "c"])
