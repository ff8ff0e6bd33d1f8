"""In how many rows a learner is first, or not significantly behind the first."""

from made_records import make_results

from clems.experiments.analysis.standing import Standing, standings, standings_in_words

NOISE = [0.00, 0.02, 0.01, 0.03, 0.00, 0.02, 0.01, 0.03, 0.02, 0.01]


def around(level, noise=NOISE):
    return [level + one for one in noise]


VALUES = {
    ("d", "best"): around(0.5),
    ("d", "near"): [*around(0.5, NOISE[::-1])[:-1], 0.48],  # a little less on average, by turns more and less
    ("d", "far"): around(0.3),
    ("d", "partial"): [0.9, None, *[0.9] * 8],  # has no part, not even as the first
    ("e", "best"): around(0.3)[:4],
    ("e", "far"): around(0.7)[:4],
    ("f", "best"): around(0.3),  # alone
    ("g", "best"): [0.5],  # no test
    ("g", "far"): [0.1],
    ("h", "best"): around(0.5),
    ("h", "far"): around(0.5),  # equals share the place
}


def test_rows_with_a_rival_and_a_test_count():
    assert standings(make_results(VALUES)[0]) == {
        "best": Standing(near=2, first=2, rows=3, datasets=3, repetitions=(4, 10)),
        "near": Standing(near=1, first=0, rows=1, datasets=1, repetitions=(10,)),
        "far": Standing(near=2, first=2, rows=3, datasets=3, repetitions=(4, 10)),
    }


def test_of_costs_less_is_better():
    found = standings(make_results(VALUES, "rank")[0])
    assert (found["far"].near, found["far"].first) == (2, 2)
    assert (found["near"].near, found["near"].first) == (0, 0)


def test_datasets_and_repetitions_stand_beside_each_count():
    results, plan, _ = make_results(VALUES)
    (said,) = standings_in_words(plan, results)
    assert "The best in 2 of 3 rows (first in 2; 3 datasets, 4 or 10 repetitions)" in said
    assert "The near in 1 of 1 rows (first in 0; 1 dataset, 10 repetitions)" in said
    assert standings_in_words(*make_results({("d", "a"): [0.1, 0.2]})[1::-1]) == []
