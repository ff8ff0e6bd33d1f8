"""What users have, in every form: it means the same, and what is wrong with it is said in one sentence."""

import numpy as np
import pandas as pd
import pytest
from distributions import every_vector, own_cost, posterior_of
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB

from clems import COSTS, Posterior, decide, weighted_hamming
from clems.posterior.distribution import stacked
from clems.posterior.given import shares_of_candidates

P = np.random.default_rng(0).random((6, 3)).round(2)


class Tensor:
    """As much of a tensor of torch as is asked for."""

    def __init__(self, values, where="gpu", gradient=True):
        self.values, self.where, self.gradient = values, where, gradient

    def detach(self):
        return Tensor(self.values, self.where, gradient=False)

    def cpu(self):
        return Tensor(self.values, "cpu", self.gradient)

    def double(self):
        return Tensor(self.values.astype(np.float64), self.where, self.gradient)

    def __array__(self, dtype=None, copy=None):
        if self.where != "cpu" or self.gradient:
            raise TypeError("can't convert to numpy")
        return np.asarray(self.values, dtype)


FORMS = {
    "list": P.tolist(),
    "csr": sparse.csr_array(P),
    "csc matrix": sparse.csc_matrix(P),
    "frame": pd.DataFrame(P, columns=["a", "b", "c"]),
    "nullable frame": pd.DataFrame(P, columns=["a", "b", "c"]).astype("Float64"),
    "objects": P.astype(object),
    "outputs": [np.column_stack([1 - p, p]) for p in P.T],
    "outputs of tensors": [Tensor(np.column_stack([1 - p, p])) for p in P.T],
    "tensor": Tensor(P),
    "rounding": np.where(P.max() == P, 1 + 5e-10, P),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_means_the_same(form):
    posterior = Posterior.from_marginals(FORMS[form])
    wanted = np.where(P.max() == P, 1, P) if form == "rounding" else P
    assert posterior.marginals.dtype == np.float64
    np.testing.assert_allclose(posterior.marginals, wanted, atol=1e-15)
    if form != "rounding":
        assert np.array_equal(decide(FORMS[form], "f1"), decide(P, "f1"))


def test_what_classifiers_return_is_taken():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 2))
    for model in (RandomForestClassifier(3, random_state=0), MultiOutputClassifier(GaussianNB())):
        outputs = model.fit(X, Y).predict_proba(X)
        wanted = np.column_stack([own[:, 1] for own in outputs])
        assert np.array_equal(Posterior.from_marginals(outputs).marginals, wanted)
    Y[:, 1] = 1  # a forest gives one column for a label that does not vary
    outputs = RandomForestClassifier(3, random_state=0).fit(X, Y).predict_proba(X)
    with pytest.raises(
        ValueError, match=r"^P\[1\] has one column: the classifier saw one class of label 1 alone, and "
    ):
        decide(outputs)


def with_value(value, kind=float):
    wrong = P.astype(kind)
    wrong[4, 1] = value
    return wrong


RANGE = r"; probabilities are between 0 and 1; scores become such by calibration\.$"
WRONG = {
    r"^P has the value nan in row 4, column 1" + RANGE: with_value(np.nan),
    r"^P has the value inf in row 4, column 1" + RANGE: with_value(np.inf),
    r"^P has the value -0.1 in row 4, column 1" + RANGE: with_value(-0.1),
    r"^P has the value 1.00001 in row 4, column 1" + RANGE: with_value(1.00001),
    r"^P has the value likely in row 4, column 1" + RANGE: with_value("likely", object),
    r"^P has the value 0.5 in row 4, column 1" + RANGE: with_value("0.5", object),
    r"^P has the value None in row 4, column 1" + RANGE: with_value(None, object),
    r"^P has the value -3.0 in row 4, column 'b'" + RANGE: pd.DataFrame(with_value(-3), columns=["a", "b", "c"]),
    r"^P has the value <NA> in row 4, column 'b'" + RANGE: pd.DataFrame(
        with_value(np.nan), columns=["a", "b", "c"]
    ).astype("Float64"),
    r"^P has the value 2.0 in row 4, column 1" + RANGE: sparse.csr_array(with_value(2)),
    r"^P holds values of type <U4" + RANGE: P.astype("U4"),
    r"^P holds values of type complex128" + RANGE: P.astype(complex),
    r"of shape \(n, K\); its shape is \(6,\)\.$": P[:, 0],
    r"of shape \(n, K\); its shape is \(\)\.$": 0.5,
    r"of shape \(n, K\); its shape is \(6, 0\)\.$": P[:, :0],
    r"its shape is \(1, 6, 3\)\. Samples of label vectors go to Posterior\.from_samples\.$": P[None],
    r"^Probabilities must be a matrix; these are rows of different lengths\.$": [[0.5], [0.5, 0.5]],
    r"of shape \(n, 2\), .*; P\[1\] has the shape \(6, 3\), P\[0\] \(6, 2\)\.$": [FORMS["outputs"][0], P],
    r"; P\[2\] has the shape \(5, 2\), P\[0\] \(6, 2\)\.$": [*FORMS["outputs"][:2], FORMS["outputs"][2][1:]],
    r"^P\[1\] must hold probabilities of two classes; row 0 adds up to 0\.8\.$": [
        FORMS["outputs"][0],
        np.full((6, 2), 0.4),
    ],
    r"^P\[1\] has the value -1.0 in row 0, column 0; probabilities are between 0 and 1\.$": [
        FORMS["outputs"][0],
        np.tile([-1.0, 2.0], (6, 1)),
    ],
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_wrong_is_said_in_one_sentence(message):
    with pytest.raises(ValueError, match=message):
        Posterior.from_marginals(WRONG[message])
    with pytest.raises(ValueError, match=message):
        decide(WRONG[message])


# Candidates


@pytest.mark.parametrize("power", [0, 0.5, 1, 3])
def test_candidates_weigh_by_their_probability_and_frequency(power):
    Y = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 1, 0]])
    posterior = Posterior.from_marginals(P, candidates=Y, prior_power=power)
    assert posterior.labels.tolist() == [[0, 0, 0], [0, 1, 1], [1, 1, 0]]
    assert posterior.shared
    product = np.where(posterior.labels == 1, P[:, None], 1 - P[:, None]).prod(axis=2)
    wanted = product * np.array([1, 1, 3]) ** power
    np.testing.assert_allclose(posterior.share.toarray(), wanted / wanted.sum(axis=1, keepdims=True), atol=1e-12)
    for form in (sparse.csr_array(Y), pd.DataFrame(Y), Y.tolist(), Y.astype(bool)):
        same = Posterior.from_marginals(P, candidates=form, prior_power=power)
        assert np.array_equal(same.share.toarray(), posterior.share.toarray())
    assert np.array_equal(decide(P, "rank", candidates=Y, prior_power=power), posterior.decide("rank"))


def test_all_vectors_as_candidates_are_independent_labels():
    every = every_vector(3)
    among, free = Posterior.from_marginals(P, candidates=every), Posterior.from_marginals(P)
    np.testing.assert_allclose(among.marginals, P, atol=1e-12)
    for cost in COSTS.values():
        decided = free.decide(cost)
        np.testing.assert_allclose(among.expected_cost(decided, cost), free.expected_cost(decided, cost), atol=1e-12)
        np.testing.assert_allclose(
            free.expected_cost(among.decide(cost), cost), free.expected_cost(decided, cost), atol=1e-12
        )


def test_certain_probabilities_leave_candidates_comparable():
    posterior = Posterior.from_marginals([[1, 0, 1], [1, 0, 0]], candidates=[[1, 1, 0], [0, 1, 0], [1, 0, 0]])
    # No candidate is [1, 0, 1]: the one with a single contradiction is left, and where one fits, it alone.
    assert posterior.labels[posterior.share.toarray().argmax(axis=1)].tolist() == [[1, 0, 0], [1, 0, 0]]
    np.testing.assert_allclose(posterior.share.toarray().max(axis=1), 1)


def test_many_rows_are_compared_with_candidates_in_blocks(monkeypatch):
    Y = every_vector(3)[[0, 3, 5, 5]]
    wanted = Posterior.from_marginals(P, candidates=Y).share.toarray()
    monkeypatch.setattr("clems.posterior.given.row_blocks", lambda n, width: (slice(i, i + 2) for i in range(0, n, 2)))
    assert np.array_equal(Posterior.from_marginals(P, candidates=Y).share.toarray(), wanted)
    assert Posterior.from_marginals(P[:0], candidates=Y).decide().shape == (0, 3)


def test_columns_of_frames_are_matched_by_name():
    frame, Y = pd.DataFrame(P, columns=["a", "b", "c"]), pd.DataFrame([[1, 1, 0], [0, 1, 1]], columns=["a", "b", "c"])
    wanted = Posterior.from_marginals(frame, candidates=Y)
    other = Posterior.from_marginals(frame, candidates=Y[["c", "a", "b"]])
    assert np.array_equal(other.labels, wanted.labels)
    assert np.array_equal(other.share.toarray(), wanted.share.toarray())
    with pytest.raises(
        ValueError, match=r"^P and candidates must have the same labels; candidates lack 'b' and P lacks 'd'\.$"
    ):
        Posterior.from_marginals(frame, candidates=Y.rename(columns={"b": "d"}))


def test_candidates_that_do_not_fit():
    with pytest.raises(
        ValueError, match=r"^candidates must be one or more vectors of 3 labels; their shape is \(1, 2\)"
    ):
        Posterior.from_marginals(P, candidates=[[0, 1]])
    with pytest.raises(
        ValueError, match=r"^candidates must be one or more vectors of 3 labels; their shape is \(0, 3\)"
    ):
        Posterior.from_marginals(P, candidates=np.empty((0, 3)))
    with pytest.raises(ValueError, match=r"^candidates has the value 0.5 in row 0, column 0; labels must be 0 or 1"):
        Posterior.from_marginals(P, candidates=[[0.5, 0, 1]])
    for wrong in (-1, np.nan, "1", True):
        with pytest.raises(ValueError, match="prior_power must be a finite number of at least 0; got"):
            Posterior.from_marginals(P, candidates=[[0, 1, 1]], prior_power=wrong)
    with pytest.raises(ValueError, match=r"^prior_power is the power of how often candidates occur; got 2 and no cand"):
        Posterior.from_marginals(P, prior_power=2)


# Samples and label sets


def test_samples_are_counted():
    rng = np.random.default_rng(0)
    S = rng.integers(0, 2, (4, 30, 3))
    posterior = Posterior.from_samples(S)
    assert not posterior.shared
    np.testing.assert_allclose(posterior.marginals, S.mean(axis=1), atol=1e-12)
    predicted = rng.integers(0, 2, (4, 3))
    for cost in (*COSTS.values(), own_cost):
        of_each = [COSTS["f1"].rowwise(S[row], np.tile(predicted[row], (30, 1))).mean() for row in range(4)]
        np.testing.assert_allclose(posterior.expected_cost(predicted), of_each, atol=1e-12)
        assert posterior.decide(cost).shape == (4, 3)
        assert posterior.top_k(4, cost).labels.shape == (4, 4, 3)
    assert np.array_equal(Posterior.from_samples(S.tolist()).share.toarray(), posterior.share.toarray())
    assert np.array_equal(Posterior.from_samples(Tensor(S)).share.toarray(), posterior.share.toarray())


def test_samples_that_are_none():
    with pytest.raises(ValueError, match=r"of shape \(n, m, K\); their shape is \(6, 3\)\.$"):
        Posterior.from_samples(P)
    with pytest.raises(ValueError, match=r"of shape \(n, m, K\); their shape is \(2, 0, 3\)\.$"):
        Posterior.from_samples(np.empty((2, 0, 3)))
    S = np.zeros((3, 4, 2))
    S[2, 1, 1] = 0.5
    message = r"^Samples must be zeros and ones; row 2, sample 1 has the value 0\.5 for label 1\.$"
    with pytest.raises(ValueError, match=message):
        Posterior.from_samples(S)


def test_label_sets_are_as_they_are_given():
    labels, shares = np.array([[1, 0], [0, 1], [1, 0]]), np.array([[0.2, 0.3, 0.5], [0, 1, 0]])
    wanted = posterior_of(np.array([[0, 1], [1, 0]]), np.array([[0.3, 0.7], [1, 0]]))
    for form in (shares, sparse.csr_array(shares), shares.tolist(), pd.DataFrame(shares), sparse.coo_array(shares)):
        posterior = Posterior.from_label_sets(labels, form)
        assert np.array_equal(posterior.labels, wanted.labels)  # those that are there twice are one
        np.testing.assert_allclose(posterior.share.toarray(), wanted.share.toarray(), atol=1e-15)
        assert posterior.share.nnz == 3
        assert posterior.shared
    assert np.array_equal(posterior.decide("f1"), wanted.decide("f1"))


def test_label_sets_that_do_not_fit():
    labels = [[1, 0], [0, 1]]
    for wrong in (np.ones((3, 3)) / 3, np.ones(2) / 2):
        with pytest.raises(
            ValueError, match=r"^shares must have a column for each of 2 label vectors, of shape \(n, L\)"
        ):
            Posterior.from_label_sets(labels, wrong)
    for form in (np.array, sparse.csr_array):
        with pytest.raises(
            ValueError, match=r"^The shares of a row must add up to 1; those of row 1 add up to 0\.9\.$"
        ):
            Posterior.from_label_sets(labels, form([[0.5, 0.5], [0.5, 0.4]]))
    with pytest.raises(
        ValueError, match=r"^shares has the value -0\.5 in row 0, column 1; shares are between 0 and 1\.$"
    ):
        Posterior.from_label_sets(labels, [[0.5, -0.5]])
    with pytest.raises(ValueError, match=r"^shares holds the value -0\.5; shares are between 0 and 1\.$"):
        Posterior.from_label_sets(labels, sparse.csr_array([[0.5, -0.5]]))
    with pytest.raises(ValueError, match="labels has the value 2 in row 0"):
        Posterior.from_label_sets([[2, 0]], [[1.0]])


# Decide in one call


def test_a_posterior_is_decided_as_it_is():
    posterior = Posterior.from_marginals(P, candidates=every_vector(3)[1:6])
    assert np.array_equal(decide(posterior, "rank", at_most=1), posterior.decide("rank", at_most=1))
    for wrong in ({"candidates": [[0, 0, 1]]}, {"prior_power": 2}):
        with pytest.raises(ValueError, match=r"^A posterior has its label vectors; candidates and prior_power are for"):
            decide(posterior, **wrong)
    with pytest.raises(ValueError, match="Unknown cost 'f7'"):
        decide(P, "f7")


def test_names_of_labels_stay_with_rows_blocks_and_powers():
    frame = pd.DataFrame(P, columns=["a", "b", "c"])
    prices = weighted_hamming({"c": 9, "a": 1, "b": 2})
    for posterior in (Posterior.from_marginals(frame), Posterior.from_marginals(frame, candidates=every_vector(3))):
        wanted = decide(posterior, weighted_hamming([1, 2, 9]))
        parts = [posterior.rows(slice(0, 2)), posterior.rows([2, 3, 4, 5])]
        for same in (posterior, posterior.sharpened(1), stacked(parts), posterior.rows(np.arange(6))):
            assert np.array_equal(same.decide(prices), wanted)


@pytest.mark.filterwarnings("error")
def test_label_sets_of_next_to_no_weight_are_next_to_impossible():
    labels = np.array([[0, 0], [1, 0], [1, 1]], np.uint8)
    for power in (0.0, 1.0):
        shares = shares_of_candidates(np.full((2, 2), 0.5), labels, np.array([5.0, 5e-324, 5.0]), power).toarray()
        np.testing.assert_allclose(shares, [[0.5, 0, 0.5] if power else [1 / 3] * 3] * 2, atol=1e-12)
