"""Laws of costs, for every entry of COSTS, against scikit-learn and against definitions written out."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import metrics

from clems import COSTS, CRITERIA, Cost, f_beta, get_cost, weighted_hamming
from clems.costs.counts import pairwise_with

NAMES = sorted(COSTS)
PRICED = weighted_hamming([3, 0.5, 1, 2], [1, 1, 0.25, 4])


@st.composite
def label_pairs(draw, max_rows=6, max_labels=6):
    shape = draw(st.tuples(st.integers(1, max_rows), st.integers(1, max_labels)))
    return tuple(draw(arrays(np.uint8, shape, elements=st.integers(0, 1))) for _ in range(2))


def all_vectors(K):
    return (np.arange(2**K)[:, None] >> np.arange(K)) & 1


@pytest.mark.parametrize("name", NAMES)
@given(pair=label_pairs())
def test_laws(name, pair):
    Y, P = pair
    cost = COSTS[name]
    rows, pairs = cost.rowwise(Y, P), cost.pairwise(Y, P)
    assert rows.shape == (len(Y),)
    assert pairs.shape == (len(Y), len(P))
    assert (pairs >= 0).all()
    np.testing.assert_allclose(np.diagonal(pairs), rows, atol=1e-12)
    assert (cost.rowwise(Y, Y) == 0).all()
    if cost.symmetric:
        np.testing.assert_allclose(pairs, cost.pairwise(P, Y).T, atol=1e-12)
    if cost.separating:
        assert ((pairs > 0) == (Y[:, None] != P[None]).any(axis=2)).all()
    if cost.as_score:
        assert (pairs <= 1 + 1e-12).all()


ODD = [f_beta(0.3), f_beta(1.2), weighted_hamming([0.1, 0.7, 1.1, 0.3], [0.3, 0.9, 0.2, 0.6], name="odd prices")]


@pytest.mark.parametrize("cost", [*COSTS.values(), *ODD], ids=lambda cost: cost.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_makes_no_cost_negative(cost, dtype):
    every = all_vectors(4)
    assert (cost.rowwise(every, every) == 0).all()
    pairs = cost.pairwise(every, every, dtype=dtype)
    assert (pairs >= 0).all()
    np.testing.assert_allclose(np.diagonal(pairs), 0, atol=1e-6)


def test_rank_of_very_many_labels_in_single_precision():
    Y = np.random.default_rng(0).random((3, 99_999)) < 0.01
    pairs = COSTS["rank"].pairwise(Y, Y, dtype=np.float32)
    assert (np.diagonal(pairs) == 0).all()
    assert (pairs >= 0).all()


@pytest.mark.parametrize("cost", [*COSTS.values(), PRICED, *ODD], ids=lambda cost: cost.name)
def test_facts_are_neither_claimed_wrongly_nor_withheld(cost):
    every = all_vectors(4)
    pairs = cost.pairwise(every, every)
    assert cost.symmetric == np.allclose(pairs, pairs.T)
    assert cost.separating == (pairs + np.eye(len(every)) > 0).all()
    wrong = ~np.eye(len(every), dtype=bool)
    assert cost.uniform == (np.ptp(pairs[wrong]) < 1e-12 and not pairs[~wrong].any())


@pytest.mark.parametrize("name", NAMES)
def test_affine_in_tp(name):
    K, every = 6, all_vectors(6)
    pairs, tp, size = COSTS[name].pairwise(every, every), every @ every.T, every.sum(axis=1)
    bent = []
    for s in range(K + 1):
        for m in range(K + 1):
            where = np.ix_(size == s, size == m)
            x, y = tp[where].ravel(), pairs[where].ravel()
            line = np.polynomial.Polynomial.fit(x, y, 1) if len(set(x)) > 1 else None
            bent.append(0 if line is None else np.abs(line(x) - y).max())
    assert COSTS[name].affine_in_tp == (max(bent) < 1e-9)


@given(pair=label_pairs())
def test_rank_is_its_definition_over_pairs_of_labels(pair):
    Y, P = (matrix.astype(int) for matrix in pair)
    wanted = [
        sum((p[i] < p[j]) + 0.5 * (p[i] == p[j]) for i in range(len(y)) for j in range(len(y)) if y[i] > y[j])
        for y, p in zip(Y, P, strict=True)
    ]
    np.testing.assert_allclose(COSTS["rank"].rowwise(Y, P), wanted)


def independent(marginals):
    """Probabilities of all label vectors where labels are independent, shape (2^K,)."""
    every = all_vectors(len(marginals))
    return np.where(every, marginals, 1 - marginals).prod(axis=1)


PRICES_WITH_NONE = weighted_hamming([2, 0, 3, 0], [1, 0, 0, 5])


@pytest.mark.parametrize(
    "cost", [cost for cost in (*COSTS.values(), PRICED, PRICES_WITH_NONE) if cost.threshold], ids=lambda cost: cost.name
)
@given(marginals=arrays(float, 4, elements=st.sampled_from([0, 0.125, 0.25, 0.5, 0.75, 1])))
def test_labels_above_the_threshold_are_the_best_prediction(cost, marginals):
    predicted = marginals[None] > cost.threshold(marginals[None])
    every, truths = all_vectors(4), independent(marginals)
    reached, expected = (truths @ cost.pairwise(every, predictions) for predictions in (predicted, every))
    assert reached <= expected.min() + 1e-12


def test_a_label_without_price_is_never_predicted():
    marginals = np.array([[0, 0.3, 0.9, 1]])
    assert not (marginals > weighted_hamming(0, 0).threshold(marginals)).any()
    mixed = weighted_hamming([1, 0, 0, 1], [0, 0, 1, 0])
    assert (marginals > mixed.threshold(marginals)).tolist() == [[False, False, False, True]]


@pytest.mark.parametrize(
    ("marginals", "wanted"),
    [
        ([0.75, 0.5, 0.25], [1, 0, 0]),
        ([1.0, 0.75, 0.5], [1, 1, 0]),
        ([0.5, 0.25, 0.0], [1, 0, 0]),
    ],
)
def test_a_label_as_probable_as_the_mean_is_predicted_if_likelier_than_not(marginals, wanted):
    """For the rank loss either costs the same."""
    marginals = np.array([marginals])
    assert (marginals > COSTS["rank"].threshold(marginals)).astype(int).tolist() == [wanted]


@pytest.mark.parametrize("p", [0.0, 0.1, 0.3, 0.49, 0.5, 0.51, 0.7, 1.0])
def test_labels_that_are_alike_for_the_rank_loss_are_all_predicted_or_none(p):
    """Their mean differs from each by a rounding error, which must not decide."""
    for K in range(1, 30):
        marginals = np.full((1, K), p)
        assert ((marginals > COSTS["rank"].threshold(marginals)) == (p > 0.5)).all()


ORACLES = {
    "hamming": metrics.hamming_loss,
    "zero_one": metrics.zero_one_loss,
    "f1": lambda Y, P: 1 - metrics.f1_score(Y, P, average="samples", zero_division=1.0),
    "f_beta": lambda Y, P: 1 - metrics.fbeta_score(Y, P, beta=2, average="samples", zero_division=1.0),
    "accuracy": lambda Y, P: 1 - metrics.jaccard_score(Y, P, average="samples", zero_division=1.0),
}


@pytest.mark.parametrize("name", sorted(ORACLES))
@given(pair=label_pairs().filter(lambda pair: pair[0].shape[1] > 1))
def test_agrees_with_scikit_learn(name, pair):
    Y, P = pair
    assert COSTS[name].rowwise(Y, P).mean() == pytest.approx(ORACLES[name](Y, P))


def test_composition_is_five_hamming_and_f1():
    every = all_vectors(5)
    wanted = 5 * COSTS["hamming"].pairwise(every, every) + COSTS["f1"].pairwise(every, every)
    np.testing.assert_allclose(COSTS["composition"].pairwise(every, every), wanted)


@given(
    pair=label_pairs(max_labels=4).filter(lambda pair: pair[0].shape[1] == 4),
)
def test_prices_are_summed(pair):
    Y, P = (matrix.astype(int) for matrix in pair)
    fn, fp = np.array(PRICED.false_negative), np.array(PRICED.false_positive)
    wanted = (Y * (1 - P)) @ fn + ((1 - Y) * P) @ fp
    np.testing.assert_allclose(PRICED.rowwise(Y, P), wanted)
    np.testing.assert_allclose(np.diagonal(PRICED.pairwise(Y, P)), wanted)


def test_one_price_for_all_is_hamming():
    every = all_vectors(4)
    assert np.array_equal(weighted_hamming(1).pairwise(every, every), 4 * COSTS["hamming"].pairwise(every, every))


@pytest.mark.parametrize("cost", [*COSTS.values(), PRICED], ids=lambda cost: cost.name)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, np.asfortranarray, np.bool_])
def test_form_of_the_labels_does_not_matter(cost, form):
    rng = np.random.default_rng(0)
    Y, P = rng.integers(0, 2, (2, 7, 4))
    np.testing.assert_allclose(cost.rowwise(form(Y), P), cost.rowwise(Y, P))
    np.testing.assert_allclose(cost.pairwise(form(Y), form(P)), cost.pairwise(Y, P), atol=1e-12)
    assert cost.pairwise(form(Y), P, dtype=np.float32).dtype == np.float32


def test_pairwise_is_the_same_in_blocks():
    rng = np.random.default_rng(0)
    Y, P = rng.integers(0, 2, (3000, 20)), rng.integers(0, 2, (900, 20))
    whole = COSTS["f1"].formula(pairwise_with(P.astype(np.uint8))(Y.astype(np.uint8)))
    np.testing.assert_allclose(COSTS["f1"].pairwise(Y, P), whole)


def missed(Y, P):
    return (Y & (1 - P)).sum(axis=1)


def missed_pairs(Y, P):
    return Y.astype(float) @ (1.0 - P).T


@pytest.mark.parametrize("own", [get_cost(missed), get_cost(missed_pairs, pairwise=True)], ids=["rows", "pairs"])
def test_a_function_of_ones_own(own):
    rng = np.random.default_rng(1)
    Y, P = rng.integers(0, 2, (100, 9)), rng.integers(0, 2, (100, 9))
    by_price = weighted_hamming(1, 0)
    np.testing.assert_allclose(own.pairwise(Y, P[:70]), by_price.pairwise(Y, P[:70]))
    np.testing.assert_allclose(own.rowwise(Y, P), by_price.rowwise(Y, P))
    np.testing.assert_allclose(own.rowwise(sparse.csr_array(Y), P), by_price.rowwise(Y, P))
    assert get_cost(own) is own


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        (
            lambda Y, P: np.full(len(Y), np.nan),
            r"'my cost' must be a finite number of at least 0; it is nan for the truth \[1",
        ),
        (lambda Y, P: -(Y != P).sum(1), r"it is -1.0 for the truth \[1, 0\] and the prediction \[0, 0\]"),
        (lambda Y, P: np.full(len(Y), np.inf), "finite"),
        (lambda Y, P: 1.0, r"must return one cost per row.*the shape \(1,\); it returned \(\)"),
        (lambda Y, P: np.ones((len(Y), 2)), r"it returned \(1, 2\)"),
        (lambda Y, P: "expensive", "must return numbers"),
        (lambda Y, P: None, "it returned None"),
    ],
)
def test_a_bad_function_is_named(returns, message):
    with pytest.raises(ValueError, match=message):
        get_cost(returns, name="my cost").rowwise([[1, 0]], [[0, 0]])


def test_a_function_may_subtract_but_not_write():
    assert get_cost(lambda Y, P: np.abs(Y - P).sum(axis=1)).rowwise([[1, 0, 0]], [[0, 1, 1]]) == 3
    ones = np.ones((1, 300), np.uint8)
    assert get_cost(lambda Y, P: Y @ P.T, pairwise=True).pairwise(ones, ones) == 300

    def greedy(Y, P):
        P[:] = 0
        return P.sum(axis=1)

    with pytest.raises(ValueError, match="read-only"):
        get_cost(greedy).rowwise(ones, ones)


def test_a_pairwise_function_taken_for_a_rowwise_one_is_found_out_early():
    seen = []

    def pairs(Y, P):
        seen.append(len(Y))
        return Y @ P.T

    with pytest.raises(ValueError, match=r"pairwise=True"):
        get_cost(pairs).pairwise(np.ones((500, 3)), np.ones((500, 3)))
    assert seen == [2]


def test_a_bad_pairwise_function_is_named():
    with pytest.raises(ValueError, match=r"the shape \(2, 1\); it returned \(2, 2\)"):
        get_cost(lambda Y, P: np.ones((2, 2)), pairwise=True).pairwise([[1, 0], [0, 1]], [[0, 0]])


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=f"Unknown cost 'f3'; the costs are {', '.join(NAMES)}"):
        get_cost("f3")
    with pytest.raises(TypeError, match="got int"):
        get_cost(3)
    with pytest.raises(ValueError, match="Unknown cost"):
        get_cost("f_beta(1e)")
    with pytest.raises(ValueError, match="are for a function of your own"):
        get_cost("f1", pairwise=True)
    with pytest.raises(ValueError, match="A criterion is not a cost"):
        get_cost(CRITERIA["f1"])
    assert get_cost("f_beta(0.5)") == f_beta(0.5)
    assert (f_beta(0.5).name, f_beta(0.5, "careful").name) == ("f_beta(0.5)", "careful")


@pytest.mark.parametrize("beta", [0, -1, np.nan, np.inf, "a", None])
def test_beta_must_be_positive(beta):
    with pytest.raises(ValueError, match="beta must be a positive number"):
        f_beta(beta)


@pytest.mark.parametrize("prices", [-1, [1, np.nan], [], [[1, 2]], "abc", None, [1, [2, 3]]])
def test_prices_must_be_prices(prices):
    with pytest.raises(ValueError, match="false_negative of weighted_hamming must be one price or one per label"):
        weighted_hamming(prices)


def test_prices_must_fit_the_labels():
    assert weighted_hamming([1, 1, 1]).symmetric
    with pytest.raises(ValueError, match="has 2 false_negative but 3 false_positive prices"):
        weighted_hamming([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="has 2 false_negative prices for 3 labels"):
        weighted_hamming([1, 2]).rowwise([[1, 0, 1]], [[1, 1, 1]])


@pytest.mark.parametrize(
    ("Y", "P", "message"),
    [
        ([[0, 2]], [[0, 1]], "the truth has the value 2 in row 0, column 1; labels must be 0 or 1"),
        ([[0, 1]], [[np.nan, 1]], "the prediction has the value nan in row 0, column 0"),
        ([0, 1], [0, 1], "the truth must be two-dimensional"),
        ([[0, 1]], [[0, 1, 1]], "must have the same shape"),
        ([["a", "b"]], [[0, 1]], "labels must be 0 or 1"),
        (sparse.csr_array([[0, 1], [0, 7]]), [[0, 1], [0, 1]], "the value 7 in row 1, column 1"),
    ],
)
def test_bad_labels(Y, P, message):
    with pytest.raises(ValueError, match=message):
        COSTS["f1"].rowwise(Y, P)


@pytest.mark.parametrize("cost", [*COSTS.values(), PRICED, get_cost(missed)], ids=lambda cost: cost.name)
def test_costs_can_be_pickled(cost):
    copy = pickle.loads(pickle.dumps(cost))
    assert isinstance(copy, Cost)
    assert copy == cost
