"""Decisions from marginals against those of xCOLUMNs, where both apply; skipped where it is not installed."""

import numpy as np
import pytest

from clems import Posterior, decide, weighted_hamming

weighted = pytest.importorskip("xcolumns.weighted_prediction")
block_coordinate = pytest.importorskip("xcolumns.block_coordinate")

rng = np.random.default_rng(0)
P = rng.random((200, 12))
MISS, ALARM = rng.integers(1, 9, (2, 12)).astype(float)
PRICES = weighted_hamming(MISS, ALARM)


def test_prices_are_its_weighted_predictions():
    gains = {"a": MISS + ALARM, "b": -ALARM}  # a · p + b is what predicting a label gains
    assert np.array_equal(decide(P, PRICES), weighted.predict_weighted_per_instance(P, 0, 0.0, **gains))
    for k in (1, 3, 11):
        assert np.array_equal(decide(P, PRICES, exactly=k), weighted.predict_weighted_per_instance(P, k, **gains))


@pytest.mark.parametrize("cost", ["f1", "hamming", "accuracy", "rank", "zero_one"])
def test_so_many_labels_are_its_top_k(cost):
    for k in (1, 3):
        wanted = weighted.predict_optimizing_instance_precision(P, k)
        assert np.array_equal(wanted, weighted.predict_top_k(P, k))
        assert np.array_equal(decide(P, cost, exactly=k), wanted)


def test_f1_of_rows_costs_no_more_than_by_its_block_coordinate_ascent():
    """Its macro F1 of the transposed matrix is F1 of rows, by expected counts rather than by the expectation."""
    found = block_coordinate.predict_optimizing_macro_f1_score_using_bc(np.ascontiguousarray(P.T), 0, seed=0).T
    posterior = Posterior.from_marginals(P)
    exact, theirs = (posterior.expected_cost(own.astype(int), "f1") for own in (posterior.decide("f1"), found))
    assert (exact <= theirs + 1e-12).all()
    assert theirs.mean() < exact.mean() + 0.01
    assert (posterior.decide("f1") == found).all(axis=1).mean() > 0.5
