"""The search for predictions of small expected cost against all that it could have found."""

import numpy as np
import pytest
from distributions import posterior_of
from hypothesis import given
from hypothesis import strategies as st

from clems import COSTS, f_beta, get_cost
from clems.decisions.decide import best_of_candidates, expected_costs
from clems.decisions.rules import least_expected, rule_for

SEARCHES = [least_expected, best_of_candidates]
COUNTED = [COSTS["accuracy"], COSTS["zero_one"], f_beta(4), COSTS["rank"]]
RARE = 0.01  # labels less probable than this need not be added


def by_pairs(Y, P):
    """Squared error of the number of labels, and a price of its own for each: more than counts can say."""
    return (Y.sum(axis=1) - P.sum(axis=1)) ** 2 + ((Y != P) * np.arange(1, Y.shape[1] + 1)).sum(axis=1)


@st.composite
def posteriors(draw, K=6):
    """Up to five rows that share up to twelve label vectors, some of them far more probable than others."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = np.unique(rng.random((draw(st.integers(1, 12)), K)) < draw(st.sampled_from([0.2, 0.5])), axis=0)
    share = rng.dirichlet(np.full(len(labels), draw(st.sampled_from([0.2, 1, 5]))), draw(st.integers(1, 5)))
    return posterior_of(labels, share)


def all_expected(posterior, cost, predictions):
    """Expected cost of each of several predictions for every row, shape (n, m)."""
    return posterior.share.toarray() @ cost.pairwise(posterior.labels, predictions)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("cost", [*COUNTED, get_cost(by_pairs)])
@given(posterior=posteriors())
def test_nothing_that_is_considered_is_better(search, cost, posterior):
    decided = search(posterior, cost)
    reached = expected_costs(posterior, cost, decided)
    assert (reached <= all_expected(posterior, cost, posterior.labels).min(axis=1) + 1e-9).all()
    if search is best_of_candidates and rule_for(cost).exact:
        return  # the best candidate is all that is asked for
    for row, marginals in enumerate(posterior.marginals):
        order = np.argsort(-marginals, kind="stable")
        prefixes = np.array([np.isin(np.arange(6), order[:size]) for size in range(1 + (marginals > RARE).sum())])
        flips = decided[row] ^ np.eye(6, dtype=np.uint8)[(marginals > RARE) | (decided[row] == 1)]
        tried = np.vstack([prefixes, flips]).astype(np.uint8)
        assert reached[row] <= all_expected(posterior.rows([row]), cost, tried).min() + 1e-9


def test_labels_of_small_probability_are_searched_too():
    """One of twenty labels is there, none more probable than another: where recall is dear, all are predicted."""
    labels = np.eye(20, dtype=np.uint8)
    posterior = posterior_of(labels, np.full((1, 20), 0.05))
    prefixes = np.tri(21, 20, -1, dtype=np.uint8)
    assert all_expected(posterior, f_beta(10), prefixes).argmin() == 20
    assert least_expected(posterior, f_beta(10)).all()
