"""The posterior: what is derived from it, its rows, blocks and powers, and what it answers for any cost."""

from itertools import pairwise

import numpy as np
import pytest
from distributions import ALL_COSTS, brute, own_cost, own_posteriors, posterior_of, posteriors
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from clems import COSTS, Posterior
from clems.decisions.decide import decide, expected_costs, top_k
from clems.posterior.distribution import marginals_of, sharpened, stacked

each_kind = st.one_of(posteriors(), own_posteriors())


@st.composite
def known_posteriors(draw):
    """Posteriors with all that may be known besides: marginals, likelihoods, points."""
    bare = draw(each_kind)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return Posterior(
        bare.labels,
        bare.share,
        marginals=rng.random(bare.marginals.shape),
        likelihood=rng.normal(size=bare.share.nnz),
        shared=bare.shared,
        points=rng.normal(size=(len(bare), 2)),
        embedded=rng.normal(size=(len(bare.labels), 2)),
    )


def same(one, other):
    """The same posterior, to the last bit."""
    for name in ("labels", "marginals", "likelihood", "sizes", "float_labels", "points", "embedded"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.share.toarray(), other.share.toarray())
    assert one.shared == other.shared


# What is derived


@given(posterior=posteriors())
def test_marginals_are_summed_over_the_distribution(posterior):
    wide = np.hstack([posterior.labels, np.zeros((len(posterior.labels), 60), np.uint8)])
    for labels in (posterior.labels, wide):
        for share in (posterior.share, posterior.share.toarray()):
            wanted = posterior.share.toarray() @ labels
            np.testing.assert_allclose(marginals_of(share, labels), wanted, atol=1e-12)
            np.testing.assert_allclose(posterior_of(labels, share).marginals, wanted, atol=1e-12)
    assert posterior.marginals.max() <= 1


@given(posterior=each_kind)
def test_what_is_derived_is_derived_once(posterior):
    assert len(posterior) == posterior.share.shape[0]
    assert posterior.sizes.tolist() == [int(vector.sum()) for vector in posterior.labels]
    assert np.array_equal(posterior.float_labels, posterior.labels)
    assert posterior.float_labels.dtype == np.float64
    for name in ("marginals", "sizes", "float_labels"):
        assert getattr(posterior, name) is getattr(posterior, name)


def test_points_are_computed_when_they_are_asked_for():
    calls = []

    def points():
        calls.append(1)
        return np.ones((2, 3))

    posterior = posterior_of(np.eye(2), np.eye(2), points=points, embedded=np.zeros((2, 3)))
    parts = posterior.rows([0]), posterior.sharpened(2), stacked([posterior, posterior])
    for cost in ALL_COSTS:
        posterior.decide(cost)
    assert not calls
    assert [part.points.shape for part in parts] == [(1, 3), (2, 3), (4, 3)]
    assert np.array_equal(posterior.points, np.ones((2, 3)))
    assert calls == [1]


def test_a_posterior_without_points_has_none():
    posterior = posterior_of(np.eye(2), np.eye(2))
    for one in (posterior, posterior.rows([0, 1]), posterior.sharpened(2), stacked([posterior, posterior])):
        with pytest.raises(ValueError, match=r"^This posterior has no points in an embedded space\.$"):
            _ = one.points


def test_a_posterior_says_what_it_is():
    assert (
        repr(posterior_of(np.eye(4)[:3], np.eye(3)[[0, 1]])) == "Posterior of 2 rows over 3 label vectors of 4 labels"
    )


# Rows and blocks


@given(posterior=known_posteriors())
def test_all_rows_are_the_same_posterior(posterior):
    n = len(posterior)
    for rows in (np.arange(n), slice(None), slice(0, n), [*range(n)]):
        same(posterior.rows(rows), posterior)


@given(posterior=known_posteriors(), data=st.data())
def test_some_rows_are_those_rows(posterior, data):
    rows = np.array(data.draw(st.lists(st.integers(0, len(posterior) - 1), min_size=1, max_size=6)))
    for part in (posterior.rows(rows), posterior.rows(np.arange(len(posterior))).rows(rows)):
        assert np.array_equal(part.share.toarray(), posterior.share.toarray()[rows])
        assert np.array_equal(part.marginals, posterior.marginals[rows])
        assert np.array_equal(part.points, posterior.points[rows])
        known, bounds = posterior.likelihood, posterior.share.indptr
        assert np.array_equal(part.likelihood, np.concatenate([known[bounds[row] : bounds[row + 1]] for row in rows]))
        assert part.labels is posterior.labels
        assert part.shared == posterior.shared


@given(posterior=known_posteriors(), data=st.data())
def test_blocks_make_the_whole(posterior, data):
    cuts = sorted(data.draw(st.sets(st.integers(1, len(posterior) - 1)))) if len(posterior) > 1 else []
    blocks = [posterior.rows(np.arange(*pair)) for pair in zip([0, *cuts], [*cuts, len(posterior)], strict=True)]
    whole = stacked(blocks)
    assert len(whole) == len(posterior)
    assert whole.shared == posterior.shared
    if posterior.shared:
        same(whole, posterior)
    for name in ("marginals", "points"):
        assert np.array_equal(getattr(whole, name), getattr(posterior, name))
    for one, other in zip(probable(whole), probable(posterior), strict=True):
        assert one == other
    for cost in (COSTS["f1"], COSTS["zero_one"], COSTS["accuracy"]):
        assert np.array_equal(whole.decide(cost), posterior.decide(cost))
        assert np.array_equal(whole.expected_cost(whole.decide(cost), cost), expected_of(posterior, cost))


def probable(posterior):
    """For each row its label vectors with their shares and likelihoods."""
    owns = [slice(*pair) for pair in pairwise(posterior.share.indptr)]
    vectors = [[*map(bytes, posterior.labels[posterior.share.indices[own]])] for own in owns]
    return [
        [*zip(some, posterior.share.data[own], posterior.likelihood[own], strict=True)]
        for some, own in zip(vectors, owns, strict=True)
    ]


def expected_of(posterior, cost):
    return expected_costs(posterior, cost, decide(posterior, cost))


# Sharpness


@st.composite
def shares(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = rng.dirichlet(np.full(draw(st.integers(1, 9)), draw(st.sampled_from([0.3, 3]))), draw(st.integers(1, 5)))
    dense[dense < 1e-9] = 0
    return sparse.csr_array(dense / dense.sum(axis=1, keepdims=True))


@given(share=shares(), power=st.floats(0.1, 5))
def test_sharpened_shares_are_powers(share, power):
    found = sharpened(share, power).toarray()
    wanted = share.toarray() ** power
    np.testing.assert_allclose(found, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found.min() >= 0
    for before, after in zip(share.toarray(), found, strict=True):
        assert (np.diff(after[np.argsort(before)]) >= 0).all()
    assert np.array_equal(sharpened(share, 1.0).toarray(), share.toarray())


@given(share=shares(), one=st.floats(0.3, 3), other=st.floats(0.3, 3))
def test_sharpness_multiplies(share, one, other):
    twice = sharpened(sharpened(share, one), other)
    np.testing.assert_allclose(twice.toarray(), sharpened(share, one * other).toarray(), rtol=1e-9)


def test_the_greatest_sharpness_leaves_the_likeliest():
    share = sparse.csr_array(np.array([[0.5, 0.3, 0.2], [0.0, 0.2, 0.8]]))
    assert sharpened(share, 1e5).toarray().tolist() == [[1, 0, 0], [0, 0, 1]]


@given(posterior=each_kind, one=st.floats(0.3, 3), other=st.floats(0.3, 3))
def test_powers_of_a_posterior_multiply(posterior, one, other):
    twice, at_once = posterior.sharpened(one).sharpened(other), posterior.sharpened(one * other)
    np.testing.assert_allclose(twice.share.toarray(), at_once.share.toarray(), rtol=1e-9)
    np.testing.assert_allclose(twice.marginals, at_once.marginals, atol=1e-9)
    assert twice.labels is posterior.labels
    assert twice.shared == posterior.shared
    back = posterior.sharpened(one).sharpened(1 / one)
    np.testing.assert_allclose(back.share.toarray(), posterior.share.toarray(), rtol=1e-9, atol=1e-12)


@given(posterior=each_kind)
def test_the_power_of_one_changes_nothing(posterior):
    placed = Posterior(
        posterior.labels,
        posterior.share,
        shared=posterior.shared,
        points=np.arange(len(posterior) * 2.0).reshape(-1, 2),
        embedded=np.zeros((len(posterior.labels), 2)),
    )
    same(placed.sharpened(1), placed)
    for power in (0.5, 3):
        assert np.array_equal(placed.sharpened(power).points, placed.points)
        assert placed.sharpened(power).embedded is placed.embedded


# What it answers


@settings(max_examples=50)
@given(posterior=each_kind, seed=st.integers(0, 99))
def test_it_answers_for_any_cost(posterior, seed):
    rng = np.random.default_rng(seed)
    for given_, cost in [*((cost.name, cost) for cost in COSTS.values()), *((cost, cost) for cost in ALL_COSTS[-3:])]:
        decided = posterior.decide(given_)
        assert np.array_equal(decided, decide(posterior, cost))
        _, of = brute(posterior, cost)
        predicted = rng.integers(0, 2, decided.shape)
        for form in (predicted, predicted.astype(float), predicted.tolist(), sparse.csr_array(predicted)):
            np.testing.assert_allclose(posterior.expected_cost(form, given_), of(predicted), atol=1e-12)
        k = 1 + (len(posterior.labels) > 1)
        for one, other in zip(posterior.top_k(k, given_), top_k(posterior, cost, decided, k), strict=True):
            assert np.array_equal(one, other)


@given(posterior=each_kind)
def test_a_function_is_a_cost_and_f1_the_usual_one(posterior):
    predicted = posterior.decide(own_cost)
    np.testing.assert_allclose(posterior.expected_cost(predicted, own_cost), posterior.top_k(1, own_cost)[2][:, 0])
    assert np.array_equal(posterior.decide(), posterior.decide("f1"))
    assert np.array_equal(posterior.expected_cost(predicted), posterior.expected_cost(predicted, "f1"))
    assert np.array_equal(posterior.top_k(1).labels, posterior.top_k(1, "f1").labels)


def test_predictions_have_to_fit():
    posterior = posterior_of(np.eye(3), np.eye(3)[[0, 1]])
    for shape in ((2, 2), (3, 3), (1, 3)):
        message = (
            rf"^There must be a prediction of 3 labels for each of 2 rows; their shape is \({shape[0]}, {shape[1]}\)\.$"
        )
        with pytest.raises(ValueError, match=message):
            posterior.expected_cost(np.zeros(shape))
    with pytest.raises(
        ValueError, match=r"^the prediction has the value 2 in row 0, column 1; labels must be 0 or 1\.$"
    ):
        posterior.expected_cost([[0, 2, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="Unknown cost 'f7'"):
        posterior.decide("f7")
