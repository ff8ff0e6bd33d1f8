"""Random prices: drawn by the names of labels, and a price list from then on."""

import numpy as np
import pandas as pd
import pytest

import clems
from clems import CLEMS, decide, get_cost, random_prices, weighted_hamming
from clems.datasets import digit_scenes

X, Y = digit_scenes(60, random_state=0)
NAMES = ["urgent", "bug", "new"]


def test_prices_are_within_their_bounds_and_go_by_name():
    many = random_prices(200, 5).for_labels(range(500))
    for prices, most in ((many.false_negative, 200), (many.false_positive, 5)):
        assert 1 <= min(prices) < 1 + 0.05 * most
        assert most * 0.95 < max(prices) <= most
    one = random_prices(200, 5).for_labels(NAMES)
    other = random_prices(200, 5).for_labels(NAMES[::-1])
    assert one.false_negative == other.false_negative[::-1]
    assert one.false_positive == other.false_positive[::-1]


def test_it_costs_what_its_price_list_costs():
    prices = get_cost("random_prices(200, 5)")
    listed = prices.for_labels(NAMES)
    rng = np.random.default_rng(0)
    truth, predicted = (pd.DataFrame(rng.integers(0, 2, (9, 3)), columns=NAMES) for _ in range(2))
    by_hand = weighted_hamming(listed.false_negative, listed.false_positive)
    assert np.allclose(prices.rowwise(truth, predicted), by_hand.rowwise(truth.to_numpy(), predicted.to_numpy()))
    numbered = prices.for_labels(range(3))
    pair = truth.to_numpy(), predicted.to_numpy()
    assert np.allclose(prices.rowwise(*pair), numbered.rowwise(*pair))
    assert np.allclose(prices.pairwise(*pair), numbered.pairwise(*pair))
    assert prices.bound(3) == numbered.bound(3)
    P = rng.random((9, 3))
    assert np.array_equal(decide(P, "random_prices(200, 5)"), decide(P, numbered))


def test_a_model_of_it_can_be_saved(tmp_path):
    model = CLEMS(random_prices(20, 2), n_trees=3, random_state=0).fit(X, Y)
    clems.save(model, tmp_path / "model.clems")
    assert np.array_equal(clems.load(tmp_path / "model.clems").predict(X), model.predict(X))


@pytest.mark.parametrize("most", [0.5, np.inf, np.nan])
def test_greatest_prices_are_at_least_one(most):
    with pytest.raises(ValueError, match="The greatest false_positive of random_prices must be a number of at least 1"):
        random_prices(200, most)
