"""What is assumed of labels together: the formula by brute force, and the choice on held-out rows."""

from dataclasses import replace

import numpy as np
import pytest

from clems import weighted_hamming
from clems.costs.criteria import CRITERIA, get_criterion
from clems.posterior.joint import UNCHANGED, HeldOut, Independent, Observed, cheaper_or_more_honest, choose_joint

RNG = np.random.default_rng(0)
SETS = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]], np.uint8)


def held_out(truth, marginals, n_folds=2):
    """Rows of which each fold's training rows have every candidate equally often."""
    candidates = np.unique(truth, axis=0)
    even = np.ones((n_folds, len(candidates)))
    return HeldOut(marginals, truth, None, np.arange(len(truth)) % n_folds, candidates, even, even.sum(axis=0))


def test_shares_of_observed_label_sets_are_those_of_the_formula():
    P, frequency, power, sharpness = RNG.random((5, 4)), np.array([3.0, 1, 7]), 0.7, 0.4
    product = np.where(SETS == 1, P[:, None, :], 1 - P[:, None, :]).prod(axis=2)
    wanted = frequency**power * product**sharpness
    posterior = Observed(SETS, frequency, power, sharpness)(P)
    np.testing.assert_allclose(posterior.share.toarray(), wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-9)


def test_independent_labels_keep_their_marginals():
    P = RNG.random((5, 4))
    assert np.array_equal(Independent()(P).marginals, P)


def test_questions_are_answered_in_the_order_of_rows_and_by_the_fold_s_training_rows():
    rows = held_out(SETS[RNG.integers(3, size=9)], RNG.random((9, 4)))
    rows.by_fold[1, 0] = 0  # the training rows of the second fold lack the first candidate
    joint = rows.ask(lambda frequency: rows.observed(frequency, 0, 1.0), lambda posterior, _: posterior.marginals)
    for row in range(9):
        candidates = rows.candidates[rows.by_fold[row % 2] > 0]
        alone = Observed(candidates, np.ones(len(candidates)), 0, 1.0)(rows.marginals[[row]])
        np.testing.assert_allclose(joint[row], alone.marginals[0], atol=1e-12)


@pytest.mark.parametrize("cost", ["zero_one", "f1"])
def test_label_sets_that_occur_are_taken_where_labels_go_together(cost):
    truth = SETS[RNG.integers(3, size=200)]
    vague = np.clip(0.5 + (truth - 0.5) * 0.3 + RNG.normal(size=truth.shape) * 0.2, 0.02, 0.98)
    joint, costs, marginals = choose_joint(held_out(truth, vague), get_criterion(cost), ("independent", "observed"))
    assert isinstance(joint, Observed)
    assert costs["observed"] < 0.8 * costs["independent"]
    assert marginals.shape == truth.shape
    assert np.array_equal(joint.labels, np.unique(SETS, axis=0))
    assert np.array_equal(joint.frequency, [2, 2, 2])  # of all rows


@pytest.mark.parametrize("criterion", [get_criterion("f1"), CRITERIA["macro_f1"]])
def test_labels_stay_independent_where_they_are(criterion):
    P = RNG.random((300, 3))
    truth = (RNG.random(P.shape) < P).astype(np.uint8)
    joint, costs, marginals = choose_joint(held_out(truth, P), criterion, ("independent", "observed"))
    assert isinstance(joint, Independent)
    assert costs.keys() == {"independent", "observed"}
    assert np.array_equal(marginals, P)
    forced, costs, _ = choose_joint(held_out(truth, P), criterion, ("observed",))
    assert isinstance(forced, Observed)
    assert costs.keys() == {"observed"}


def test_what_no_cost_changes_is_chosen_once(monkeypatch):
    P = RNG.random((60, 4))
    rows, asked, original = held_out(SETS[RNG.integers(3, size=60)], P), [], HeldOut.observed
    monkeypatch.setattr(HeldOut, "observed", lambda *args, **given: asked.append(given) or original(*args, **given))
    chosen = {}
    for cost in ("f1", "rank", "f1"):
        before, joint = len(asked), choose_joint(rows, get_criterion(cost), ("observed",))[0]
        chosen.setdefault(cost, []).append((joint.power, joint.sharpness, len(asked) - before))
    (first, again), [other] = chosen["f1"], chosen["rank"]
    assert first[:2] == again[:2] == other[:2]
    assert again[2] == other[2] < first[2] / 5


def test_the_same_evidence_counted_twice_is_made_less_sharp():
    which = RNG.integers(2, size=400)
    guessed = np.where(RNG.random(400) < 0.8, which, 1 - which)  # right in four rows out of five, in all labels alike
    both = np.array([[0, 0, 0], [1, 1, 1]], np.uint8)
    P = np.where(both[guessed] == 1, 0.8, 0.2)
    joint, _, marginals = choose_joint(held_out(both[which], P), get_criterion("f1"), ("observed",))
    assert joint.sharpness <= 0.4  # three labels say the same: a third is right
    assert np.abs(marginals - P).max() < 0.05


def test_of_two_that_cost_the_same_the_more_honest_one_is_taken():
    rng = np.random.default_rng(0)
    cost = rng.random(400)
    paid = {"independent": cost, "observed": cost + 0.001 * rng.normal(size=400)}
    honest, hopeful = cost + 0.1 * rng.normal(size=400), cost - 0.3

    def chosen(paid, **expected):
        return cheaper_or_more_honest(paid, expected, "independent", None)

    assert chosen(paid, independent=hopeful, observed=honest) == "observed"
    assert chosen(paid, independent=honest, observed=hopeful) == "independent"
    dear = {name: values + 0.2 * (name == "observed") for name, values in paid.items()}
    assert chosen(dear, independent=hopeful, observed=honest + 0.2) == "independent"
    cheap = {name: values - 0.2 * (name == "observed") for name, values in paid.items()}
    assert chosen(cheap, independent=honest, observed=hopeful - 9) == "observed"
    weight = np.where(np.arange(400) < 200, 1.0, 0)  # rows that do not count do not decide
    half = {"independent": np.where(weight > 0, honest, hopeful), "observed": np.where(weight > 0, hopeful, honest)}
    assert cheaper_or_more_honest(paid, half, "independent", weight) == "independent"


def test_marginals_of_observed_label_sets_are_calibrated_again():
    """Labels are drawn by known probabilities; candidates that are few make something else of these."""
    rng = np.random.default_rng(0)
    P = rng.uniform(0.02, 0.5, (4000, 6))
    truth = (rng.random(P.shape) < P).astype(np.uint8)
    few = np.unique(truth[:15], axis=0)
    even = np.ones((2, len(few)))
    rows = HeldOut(P, truth, None, np.arange(4000) % 2, few, even, even.sum(axis=0))
    joint, _, marginals = choose_joint(rows, get_criterion("hamming"), ("observed",))
    fresh = rng.uniform(0.02, 0.5, (2000, 6))
    before = replace(joint, calibrator=UNCHANGED)(fresh)
    after = joint(fresh)
    assert abs(before.marginals - fresh).mean() > 1.3 * abs(after.marginals - fresh).mean()
    assert abs((before.marginals - fresh).mean(axis=0)).max() > 5 * abs((after.marginals - fresh).mean(axis=0)).max()
    assert np.array_equal(after.share.toarray(), before.share.toarray())
    assert marginals.mean(axis=0) == pytest.approx(truth.mean(axis=0), abs=0.01)
    prices = weighted_hamming([50] * 6, 1)
    decided = after.decide(prices)
    assert np.array_equal(decided, after.marginals > 1 / 51)
    assert after.expected_of(prices, decided) == pytest.approx(prices.of_rows(after.marginals, decided))


def test_what_all_candidates_have_is_sure():
    posterior = Observed(np.array([[1, 0, 1], [1, 0, 0]], np.uint8), np.array([0.3, 0.7]), 0.3, 0.7)(
        RNG.random((50, 3))
    )
    assert (posterior.marginals[:, 0] == 1).all()
    assert (posterior.marginals[:, 1] == 0).all()
