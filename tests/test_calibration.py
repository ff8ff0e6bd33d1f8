"""Calibration: against scikit-learn, against probabilities that are known, and chosen on rows that were held out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from clems.posterior import calibration
from clems.posterior.calibration import METHODS, calibrate, chosen_method, fit_isotonic, fit_sigmoid


def drawn(n=4000, K=3, slope=1.0, intercept=0.0, seed=0):
    """Probabilities, and labels that are as probable as a line of their logits says."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(n, K)) * 1.5 - 1
    return expit(u), (rng.random((n, K)) < expit(intercept + slope * u)).astype(np.uint8)


@pytest.mark.parametrize("method", METHODS)
def test_a_label_alone_is_calibrated_as_among_others(method):
    P, Y = drawn(600, K=4)
    Y[20:, 3] = 0  # so few that it has no isotonic function of its own
    whole = METHODS[method](P, Y, None, False)
    for label in range(4):
        own = slice(label, label + 1)
        assert np.array_equal(whole.of_label(label)(P[:, own]), whole(P)[:, own])


def folds(n, k=4):
    return np.arange(n) % k


def test_a_sigmoid_finds_the_line_that_labels_were_drawn_by():
    P, Y = drawn(slope=0.5, intercept=0.7)
    found = fit_sigmoid(P, Y, None, False)
    assert found.slope == pytest.approx(0.5, abs=0.06)
    assert found.intercept == pytest.approx(0.7, abs=0.1)


def test_lines_without_shrinkage_are_those_of_logistic_regression(monkeypatch):
    monkeypatch.setattr(calibration, "SHRINKAGE", 1e-9)
    P, Y = drawn(500, slope=2)
    weight = np.random.default_rng(1).random(500)
    found = fit_sigmoid(P, Y, weight, False)
    for label in range(3):
        other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
        other.fit(logit(P[:, [label]]), Y[:, label], weight)
        assert found.slope[label] == pytest.approx(other.coef_[0, 0], rel=1e-4)
        assert found.intercept[label] == pytest.approx(other.intercept_[0], rel=1e-3, abs=1e-4)


def test_the_line_of_a_label_minimises_log_loss_and_distance_to_the_common_one():
    P, Y = drawn(60, 5)
    Y[:, 4] = 0
    Y[0, 4] = 1  # a rare one
    z, found = logit(P), fit_sigmoid(P, Y, None, False)
    rare_alone = LogisticRegression(C=np.inf, max_iter=1000).fit(z[:, [4]], Y[:, 4]).intercept_[0]
    others = found.intercept[:4].mean()
    assert abs(found.intercept[4] - others) < abs(rare_alone - others)  # it goes along with the others
    # A penalised minimum has a gradient of SHRINKAGE times the way from the common line, the same for all labels' D.
    u = found.intercept + found.slope * z
    gradient = np.stack([(expit(u) - Y).sum(axis=0), ((expit(u) - Y) * z).sum(axis=0)], axis=1)
    common = np.stack([found.intercept, found.slope], axis=1) + gradient / calibration.SHRINKAGE
    prior = np.log(Y.sum(axis=0) + 0.5) - np.log(len(Y) - Y.sum(axis=0) + 0.5)
    design = np.column_stack([np.ones(5), prior])
    for part in common.T:  # lies on a line of the label's prior
        weights = np.linalg.lstsq(design, part, rcond=None)[0]
        np.testing.assert_allclose(design @ weights, part, atol=1e-4)


def test_a_forest_s_zero_counts_as_half_of_the_least_that_it_tells():
    P, Y = drawn(300, 2)
    P = np.round(P, 2)
    assert (P == 0).any()
    found = fit_sigmoid(P, Y, None, False)
    assert found.least == pytest.approx(0.005)
    assert np.array_equal(found(np.zeros((1, 2))), found(np.full((1, 2), 0.005)))
    assert found(np.ones((1, 2))).max() < 1


@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), K=st.integers(1, 4), scores=st.booleans())
@settings(max_examples=60, deadline=None)
def test_whatever_the_rows_calibrated_values_are_probabilities(seed, n, K, scores):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, K)) * 10.0 ** rng.integers(-3, 4) if scores else rng.random((n, K)).round(seed % 3)
    Y = (rng.random((n, K)) < rng.random(K)).astype(np.uint8)
    for fit in (fit_sigmoid, fit_isotonic):
        P = fit(values, Y, None, scores)(rng.permutation(values))
        assert np.isfinite(P).all()
        assert P.min() >= 0
        assert P.max() <= 1


def test_scores_may_be_in_any_unit():
    P, Y = drawn(400)
    scores = logit(P)
    one, other = fit_sigmoid(scores, Y, None, True), fit_sigmoid(1000 * scores, Y, None, True)
    np.testing.assert_allclose(one(scores), other(1000 * scores), atol=1e-8)
    assert np.abs(one(scores) - P).mean() < 0.03


def test_isotonic_is_scikit_learn_s_within_bounds_and_a_sigmoid_for_rare_labels():
    P, Y = drawn(600)
    Y[:, 2] = 0
    Y[:20, 2] = 1
    weight = np.random.default_rng(0).random(600)
    found, test = fit_isotonic(P, Y, weight, False), np.random.default_rng(1).random((50, 3))
    calibrated = found(test)
    assert found.columns == [0, 1]
    for label in (0, 1):
        other = IsotonicRegression(y_min=1 / 602, y_max=601 / 602, out_of_bounds="clip")
        other.fit(logit(P[:, label]), Y[:, label], weight)
        np.testing.assert_allclose(calibrated[:, label], other.predict(logit(test[:, label])), atol=1e-9)
    assert np.array_equal(calibrated[:, 2], fit_sigmoid(P, Y, weight, False)(test)[:, 2])


def test_a_weight_is_a_number_of_equal_rows():
    P, Y = drawn(150)
    times = np.random.default_rng(0).integers(1, 4, 150)
    for fit in (fit_sigmoid, fit_isotonic):
        weighted = fit(P, Y, times.astype(float), False)
        repeated = fit(np.repeat(P, times, axis=0), np.repeat(Y, times, axis=0), None, False)
        if fit is fit_sigmoid:
            np.testing.assert_allclose(weighted(P), repeated(P), atol=1e-6)


def test_weights_that_add_up_to_1_say_as_much_as_weights_of_1():
    P, Y = drawn(150, slope=0.5)
    weight = np.random.default_rng(0).random(150)
    for fit in (fit_sigmoid, fit_isotonic):
        shares, ones = (fit(P, Y, scale * weight, False)(P) for scale in (1 / weight.sum(), 1 / weight.mean()))
        np.testing.assert_allclose(shares, ones, atol=1e-9)
        assert np.isfinite(fit(P, Y, 0 * weight, False)(P)).all()  # such as those of a fold in which nothing counts


@pytest.mark.parametrize(
    ("slope", "wanted"), [(1.0, "none"), (0.3, "sigmoid"), (3.0, "sigmoid")], ids=["right", "too sure", "too shy"]
)
def test_what_is_right_is_left_alone_and_what_is_wrong_is_not(slope, wanted):
    P, Y = drawn(1000, slope=slope)
    calibrator, held_out, found = calibrate(P, Y, None, folds(1000), [*METHODS], False)
    assert found.method == wanted
    assert found.log_loss.keys() == METHODS.keys()
    assert found.log_loss[wanted] <= found.log_loss["none"]
    truth = expit(slope * logit(P))
    assert np.abs(calibrator(P) - truth).mean() < 0.03
    assert np.abs(held_out - truth).mean() < 0.03


def test_what_no_line_can_say_is_said_by_steps():
    rng = np.random.default_rng(0)
    P = rng.random((3000, 2))
    Y = (rng.random(P.shape) < np.where(P < 0.5, 0.1, 0.6)).astype(np.uint8)
    _, held_out, found = calibrate(P, Y, None, folds(3000), [*METHODS], False)
    assert found.method == "isotonic"
    assert np.abs(held_out - np.where(P < 0.5, 0.1, 0.6)).mean() < 0.03


def test_a_row_has_no_part_in_its_own_held_out_probability():
    P, Y = drawn(40)
    fold = folds(40)
    _, before, _ = calibrate(P, Y, None, fold, ["sigmoid"], False)
    other = Y.copy()
    other[fold == 1] = 1 - other[fold == 1]
    _, after, found = calibrate(P, other, None, fold, ["sigmoid"], False)
    assert np.array_equal(before[fold == 1], after[fold == 1])
    assert (before[fold != 1] != after[fold != 1]).any(axis=1).all()
    assert found.log_loss.keys() == {"none", "sigmoid"}  # what was before is reported, if it cannot be chosen


def test_a_more_flexible_method_must_be_better_by_a_standard_error():
    loss = np.random.default_rng(0).random(100)
    noise = np.random.default_rng(1).normal(size=100)
    assert chosen_method({"none": loss, "sigmoid": loss - 0.01 * noise.mean() + noise}, None) == "none"
    assert chosen_method({"none": loss, "sigmoid": loss - 0.1, "isotonic": loss - 0.1}, None) == "sigmoid"
    assert chosen_method({"none": loss, "sigmoid": loss + 0.1, "isotonic": loss - 0.1}, None) == "isotonic"


def test_weights_of_very_different_sizes():
    """By rounding the Hessian of a line is singular where one row outweighs all others."""
    rng = np.random.default_rng(0)
    values, Y = rng.random((50, 3)), rng.integers(0, 2, (50, 3)).astype(np.uint8)
    calibrated = fit_sigmoid(values, Y, np.logspace(-90, 90, 50), are_scores=False)(values)
    assert ((calibrated >= 0) & (calibrated <= 1)).all()
    np.testing.assert_array_equal(calibrated[-1] > 0.5, Y[-1] == 1)
