"""Chains against scikit-learn, against enumeration of their distribution, and against definitions written out."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import kstest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from clems import BR, CC, CFT, COSTS, PCC, get_cost, weighted_hamming
from clems.chain import Chain, by_draws, by_likelihood, grow, probability, row_offsets
from clems.decoding import Posterior, rule_for
from clems.division import beside
from clems.learners import pcc
from clems.learners.cft import Round, pooled

X, Y = make_multilabel_classification(160, n_features=6, n_classes=5, random_state=0)
TRAIN, TEST = slice(0, 100), slice(100, 160)
NAMES = np.array(list("abcde"))
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
FOREST = RandomForestClassifier(7, random_state=0)
LINEAR = LogisticRegression()
ESTIMATORS = [TREE, FOREST, LINEAR]
FORMS = [np.asarray, sparse.csr_array, sparse.csr_matrix]


def every_vector(K):
    return np.array(list(itertools.product([0, 1], repeat=K)), np.uint8)


# The parts of the spine


@pytest.mark.parametrize("form", FORMS)
def test_labels_stand_beside_features(form):
    features = form(X)
    assert beside(features, Y[:, :0].astype(np.uint8)) is features
    wide = beside(features, Y.astype(np.uint8))
    assert sparse.issparse(wide) == sparse.issparse(features)
    assert np.array_equal(wide.toarray() if sparse.issparse(wide) else wide, np.hstack([X, Y]))


class Sparse(ClassifierMixin, BaseEstimator):
    """A classifier that takes sparse features only."""

    def fit(self, X, y, sample_weight=None):
        assert sparse.issparse(X)
        self.classes_ = np.unique(y)
        self.share_ = y.mean()
        return self

    def predict_proba(self, X):
        assert sparse.issparse(X)
        return np.tile([1 - self.share_, self.share_], (X.shape[0], 1))

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


@pytest.mark.parametrize("learner", [BR, CC, PCC, CFT])
def test_sparse_features_stay_sparse(learner):
    model = learner(estimator=Sparse(), random_state=0).fit(sparse.csr_array(X), Y)
    assert model.predict(sparse.csr_array(X)).shape == Y.shape


# BR and CC against scikit-learn


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_br_is_one_classifier_per_label(estimator, form):
    ours = BR(estimator, n_jobs=2).fit(form(X[TRAIN]), Y[TRAIN])
    theirs = MultiOutputClassifier(estimator).fit(form(X[TRAIN]), Y[TRAIN])
    probabilities = np.column_stack([of_label[:, 1] for of_label in theirs.predict_proba(form(X[TEST]))])
    np.testing.assert_allclose(ours.predict_proba(form(X[TEST])), probabilities)
    assert np.array_equal(ours.predict(form(X[TEST])), theirs.predict(form(X[TEST])))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("order", [None, [3, 1, 4, 0, 2]])
def test_cc_is_scikit_learns_chain(estimator, order, form):
    ours = CC(order=order, estimator=estimator).fit(form(X[TRAIN]), Y[TRAIN])
    theirs = ClassifierChain(estimator, order=order).fit(form(X[TRAIN]), Y[TRAIN])
    np.testing.assert_allclose(ours.predict_proba(form(X[TEST])), theirs.predict_proba(form(X[TEST])), atol=1e-12)
    assert np.array_equal(ours.predict(form(X[TEST])), theirs.predict(form(X[TEST])))


def test_several_chains_are_averaged():
    model = CC(n_chains=4, estimator=TREE, random_state=0).fit(X[TRAIN], Y[TRAIN])
    orders = [chain.order.tolist() for chain in model.chains_]
    assert len({*map(tuple, orders)}) == 4
    alone = [CC(order=order, estimator=TREE).fit(X[TRAIN], Y[TRAIN]).predict_proba(X[TEST]) for order in orders]
    np.testing.assert_allclose(model.predict_proba(X[TEST]), np.mean(alone, axis=0))
    assert np.array_equal(model.predict(X[TEST]), np.mean(alone, axis=0) > 0.5)
    listed = CC(n_chains=4, order=orders, estimator=TREE).fit(X[TRAIN], Y[TRAIN])
    assert np.array_equal(listed.predict_proba(X[TEST]), model.predict_proba(X[TEST]))


def test_orders():
    assert CC(estimator=TREE).fit(X, Y).chains_[0].order.tolist() == [0, 1, 2, 3, 4]
    for learner in (CC, PCC, CFT):
        drawn = learner(order="random", estimator=TREE, random_state=0).fit(X, Y)
        again = learner(order="random", estimator=TREE, random_state=0).fit(X, Y)
        chain, same = (model.chains_[0] if learner is CC else model.chain_ for model in (drawn, again))
        assert chain.order.tolist() == same.order.tolist() != [0, 1, 2, 3, 4]


def test_an_order_may_name_labels():
    sets = [{"abcde"[k] for k in np.flatnonzero(row)} for row in Y]
    for learner in (CC, PCC, CFT):
        named = learner(order=list("caebd"), estimator=TREE, random_state=0).fit(X, sets)
        numbered = learner(order=[2, 0, 4, 1, 3], estimator=TREE, random_state=0).fit(X, Y)
        assert np.array_equal(named.predict(X), numbered.predict(X))


@pytest.mark.parametrize("learner", [CC, PCC, CFT])
@pytest.mark.parametrize(
    "order", ["alphabetic", [0, 1, 2], [0, 1, 2, 3, 3], [0, 1, 2, 3, 9], 3, [[0, 1]], {"a": 1}, {0, 1, 2, 3, 4}]
)
def test_bad_orders(learner, order):
    with pytest.raises(ValueError, match=r"^(order must be None, 'random' or each of the 5 labels|n_chains=1 needs)"):
        learner(order=order, estimator=TREE).fit(X, Y)


def test_bad_numbers():
    for settings_, message in [
        ({"n_chains": 0}, "n_chains must be a whole number of at least 1; got 0"),
        ({"n_chains": 3, "order": range(5)}, "n_chains=3 needs as many orders, or 'random'; order lists 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            CC(estimator=TREE, **settings_).fit(X, Y)
    for name in ("n_samples", "beam_width"):
        with pytest.raises(ValueError, match=rf"{name} must be a whole number of at least 1.*; got 2.5"):
            PCC(estimator=TREE, **{name: 2.5}).fit(X, Y)
    with pytest.raises(ValueError, match="n_rounds must be a whole number of at least 1; got True"):
        CFT(estimator=TREE, n_rounds=True).fit(X, Y)


# PCC against enumeration


def offsets(seed, n, K):
    return np.random.default_rng(seed).integers(0, 2**32, (n, K))


class Table:
    """A classifier that looks the probability up by the labels before; features are the row of the table."""

    classes_ = (0, 1)

    def __init__(self, table):
        self.table = table  # shape (rows, 2^j)

    def predict_proba(self, X):
        row, bits = X[:, 0].astype(int), X[:, 1:].astype(int)
        p = self.table[row, bits @ (1 << np.arange(bits.shape[1]))]
        return np.column_stack([1 - p, p])


@st.composite
def chains(draw, max_labels=8):
    """Chains with known probabilities for up to three rows, and the distribution of all vectors that they have."""
    K, n = draw(st.integers(1, max_labels)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sharpness = draw(st.sampled_from([0.1, 0.5, 2]))
    tables = [rng.beta(sharpness, sharpness, (n, 2**j)) for j in range(K)]
    if draw(st.booleans()):
        tables = [table.round(1) for table in tables]  # with zeros, ones and ties
    order = rng.permutation(K)
    every = every_vector(K)
    joint = np.ones((n, 2**K))
    for j, table in enumerate(tables):
        before, bit = every[:, order[:j]], every[:, order[j]]
        p = table[:, before @ (1 << np.arange(j))]
        joint *= np.where(bit, p, 1 - p)
    return Chain(order, [Table(table) for table in tables]), np.arange(n, dtype=float)[:, None], every, joint


@settings(max_examples=500)
@given(case=chains())
def test_decisions_of_a_chain_are_the_best_of_all_vectors(case):
    chain, rows, every, joint = case
    posterior = grow(chain, rows, 1, by_likelihood(2 ** len(chain.order)))
    np.testing.assert_allclose(posterior.marginals, joint @ every, atol=1e-12)
    for cost in map(get_cost, ["hamming", "f1", "f_beta", "f_beta(0.5)", "rank", "composition", "zero_one"]):
        predicted = rule_for(cost).decide(cost, posterior)
        expected = joint @ cost.pairwise(every, every)
        reached = expected[np.arange(len(rows)), predicted @ (1 << np.arange(len(chain.order)))[::-1]]
        np.testing.assert_allclose(reached, expected.min(axis=1), atol=1e-12)


@given(case=chains(), n_samples=st.integers(1, 200), seed=st.integers(0, 99))
def test_draws_are_whole_and_probable(case, n_samples, seed):
    chain, rows, every, joint = case
    K = len(chain.order)
    posterior = grow(chain, rows, n_samples, by_draws(offsets(seed, len(rows), K)))
    counts = posterior.share.data * n_samples
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
    np.testing.assert_allclose(posterior.share.sum(axis=1), 1)
    place = posterior.labels @ (1 << np.arange(K))[::-1]
    row = np.repeat(np.arange(len(rows)), np.diff(posterior.share.indptr))
    np.testing.assert_allclose(np.exp(posterior.likelihood), joint[row, place], atol=1e-12)
    assert (joint[row, place] > 0).all()
    assert len({*zip(row, place, strict=True)}) == len(row)  # every vector once
    first = posterior.labels[:, chain.order[0]]
    drawn = np.bincount(row, counts * first, len(rows))
    assert (np.abs(drawn - n_samples * (joint @ every)[:, chain.order[0]]) < 1).all()


def test_draws_agree_with_enumeration_on_average():
    rng = np.random.default_rng(0)
    K, seeds, n_samples = 4, 3000, 7
    tables = [rng.random((2, 2**j)) for j in range(K)]
    chain = Chain(np.arange(K), [Table(table) for table in tables])
    rows = np.arange(2.0)[:, None]
    whole = grow(chain, rows, 1, by_likelihood(2**K))
    frequency, marginals, sampled = np.zeros((2, 2**K)), np.zeros((seeds, 2, K)), np.zeros((seeds, 2, K))
    for seed in range(seeds):
        drawn = grow(chain, rows, n_samples, by_draws(offsets(seed, len(rows), K)))
        place = drawn.labels @ (1 << np.arange(K))[::-1]
        np.add.at(frequency, (np.repeat([0, 1], np.diff(drawn.share.indptr)), place), drawn.share.data / seeds)
        marginals[seed], sampled[seed] = drawn.marginals, drawn.share @ drawn.labels.astype(float)
    joint = whole.share.data.reshape(2, -1)
    five_errors = 5 * np.sqrt(joint * (1 - joint) / (seeds * n_samples))  # of independent draws, which have more
    assert (np.abs(frequency - joint) < five_errors).all()
    errors = marginals.std(axis=0) / np.sqrt(seeds)
    assert (np.abs(marginals.mean(axis=0) - whole.marginals) < 5 * errors + 1e-12).all()
    assert (marginals.std(axis=0) < sampled.std(axis=0) + 1e-12).all()
    independent = np.sqrt(whole.marginals * (1 - whole.marginals) / n_samples)
    assert (sampled.std(axis=0) < independent).all()


def test_a_fitted_model_decides_as_its_chain_says():
    model = PCC(n_samples=4000, estimator=TREE, order=[3, 1, 4, 0, 2], random_state=0).fit(X[TRAIN], Y[TRAIN])
    every = every_vector(5)
    joint = np.ones((60, 32))
    for j, estimator in enumerate(model.chain_.estimators):
        for v, vector in enumerate(every[:, model.chain_.order]):
            p = estimator.predict_proba(np.hstack([X[TEST], np.tile(vector[:j], (60, 1))]))
            joint[:, v] *= p[:, list(estimator.classes_).index(vector[j])] if vector[j] in estimator.classes_ else 0
    np.testing.assert_allclose(joint.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_proba(X[TEST]), joint @ every, atol=0.02)
    complete = PCC(beam_width=32, estimator=TREE, order=[3, 1, 4, 0, 2], random_state=0).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(complete.predict_proba(X[TEST]), joint @ every, atol=1e-12)

    def own(truth, prediction):
        return np.abs(truth.sum(axis=1) - prediction.sum(axis=1)) + (truth != prediction).any(axis=1)

    for cost in (*COSTS.values(), weighted_hamming([5, 1, 1, 2, 9], [1, 1, 3, 1, 1])):
        expected = joint @ cost.pairwise(every, every)
        reached = expected[np.arange(60), complete.predict(X[TEST], cost) @ [16, 8, 4, 2, 1]]
        if rule_for(cost).exact:
            np.testing.assert_allclose(reached, expected.min(axis=1), atol=1e-12)
        drawn = expected[np.arange(60), model.predict(X[TEST], cost) @ [16, 8, 4, 2, 1]]
        assert drawn.mean() < expected.min(axis=1).mean() * 1.02 + 1e-12
    expected = joint @ get_cost(own).pairwise(every, every)
    reached = expected[np.arange(60), complete.predict(X[TEST], own) @ [16, 8, 4, 2, 1]]
    assert (reached <= (expected + np.where(joint > 0, 0, np.inf)).min(axis=1) + 1e-12).all()


@pytest.mark.parametrize("width", [1, 3, None])
def test_hamming_is_decided_by_marginals(width):
    model = PCC("hamming", beam_width=width, estimator=TREE, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert np.array_equal(model.predict(X[TEST]), model.predict_proba(X[TEST]) > 0.5)
    rank = model.predict(X[TEST], cost="rank")
    assert np.array_equal(rank, model.predict_proba(X[TEST]) > model.predict_proba(X[TEST]).mean(axis=1, keepdims=True))


def test_a_beam_of_one_is_the_greedy_chain():
    model = PCC("zero_one", beam_width=1, estimator=TREE).fit(X[TRAIN], Y[TRAIN])
    assert np.array_equal(model.predict(X[TEST]), CC(estimator=TREE).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST]))


@given(case=chains(max_labels=6))
def test_a_wider_beam_finds_likelier_vectors(case):
    chain, rows, _, joint = case
    found = []
    for width in (1, 4, 64):
        posterior = grow(chain, rows, 1, by_likelihood(width))
        assert (np.diff(posterior.share.indptr) <= width).all()
        best = rule_for(COSTS["zero_one"]).decide(COSTS["zero_one"], posterior)
        found.append(joint[np.arange(len(rows)), best @ (1 << np.arange(len(chain.order)))[::-1]])
    np.testing.assert_allclose(found[-1], joint.max(axis=1))
    greedy, bits = np.ones(len(rows)), np.zeros((len(rows), 0))
    for estimator in chain.estimators:
        p = estimator.predict_proba(np.hstack([rows, bits]))[:, 1]
        bits = np.column_stack([bits, p > 0.5])
        greedy *= np.maximum(p, 1 - p)
    np.testing.assert_allclose(found[0], greedy)


@pytest.mark.parametrize("settings_", [{}, {"beam_width": 5}])
def test_a_row_is_predicted_alike_in_any_company(settings_, monkeypatch):
    model = PCC(estimator=FOREST, random_state=0, **settings_).fit(X[TRAIN], Y[TRAIN])
    together, marginals = model.predict(X[TEST]), model.predict_proba(X[TEST])
    order = np.random.default_rng(0).permutation(60)
    assert np.array_equal(model.predict(X[TEST][order]), together[order])
    assert np.array_equal(np.vstack([model.predict(row[None]) for row in X[TEST]]), together)
    monkeypatch.setattr(pcc, "ENTRIES", 3000)
    for features in (X[TEST], sparse.csr_array(X[TEST]), np.asfortranarray(X[TEST]), X[TEST].astype(np.int64)):
        assert np.array_equal(model.predict_proba(features), marginals)
        assert np.array_equal(model.predict(features), together)


def test_offsets_are_uniform_and_those_of_different_rows_independent():
    rng = np.random.default_rng(0)
    features = np.unique(rng.integers(0, 2, (20_000, 16)).astype(float), axis=0)  # few values: the hard case
    seeds = rng.integers(0, 2**63, 5).astype(np.uint64)
    drawn = row_offsets(features, seeds) / 2**32
    assert drawn.min() >= 0
    assert drawn.max() < 1
    for column in drawn.T:
        assert kstest(column, "uniform").pvalue > 1e-4
    assert np.abs(np.corrcoef(drawn.T) - np.eye(5)).max() < 0.04
    assert abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < 0.04
    assert np.array_equal(row_offsets(sparse.csr_array(features), seeds), row_offsets(features, seeds))


def test_seeds_decide_the_draws():
    one, same, other = (PCC(estimator=TREE, random_state=s, n_samples=5).fit(X, Y).predict_proba(X) for s in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_what_always_or_never_occurred_has_probability_one_or_zero():
    labels = np.hstack([np.ones((160, 1)), Y[:, :2], np.zeros((160, 1))])
    for learner in (BR, CC, PCC):
        probabilities = learner(estimator=TREE, random_state=0).fit(X, labels).predict_proba(X)
        assert (probabilities[:, [0, 3]] == [1, 0]).all()


class Given:
    """A classifier that predicts what it is given."""

    def __init__(self, value, classes=(0, 1)):
        self.value, self.classes_ = value, classes

    def predict_proba(self, X):
        return np.asarray(self.value)


def test_probabilities_of_estimators_are_checked():
    rows = np.zeros((2, 1))
    assert probability(Given([[0, 1 + 1e-12], [1, 0]]), rows).tolist() == [1, 0]
    assert probability(Given([[0.2, 0.8], [1, 0]], (True, False)), rows).tolist() == [0.2, 1]
    assert probability(Given([[1], [1]], (0.0,)), rows).tolist() == [0, 0]
    for value, classes, message in [
        ([[0.5, 1.1]] * 2, (0, 1), "Given predicted probabilities outside 0 to 1"),
        ([[0.5, np.nan]] * 2, (0, 1), "Given predicted probabilities outside 0 to 1"),
        ([0.5, 0.5], (0, 1), r"classes \[0, 1\] and gave an array of shape \(2,\)"),
        ([[0.5, 0.5]] * 2, ("0", "1"), r"classes \['0', '1'\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            probability(Given(value, classes), rows)


class Failing(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        if y.sum() == 1:
            raise ValueError("Too few examples.")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("learner", [BR, CC, PCC, CFT])
def test_a_failing_estimator_tells_the_label(learner):
    labels = Y.copy()
    labels[:, 3] = 0
    labels[0, 3] = 1
    with pytest.raises(ValueError, match="Too few") as caught:
        learner(estimator=Failing()).fit(X, pd.DataFrame(labels, columns=NAMES))
    assert caught.value.__notes__[0].startswith("It happened while training the label 'd', which 1 of ")


def test_costs_are_checked_before_prediction():
    model = PCC(estimator=TREE).fit(X, Y)
    with pytest.raises(ValueError, match="has 2 false_negative prices for 5 labels"):
        model.predict(X, cost=weighted_hamming([1, 2]))
    with pytest.raises(ValueError, match="Unknown cost 'f3'"):
        model.predict(X, cost="f3")


def test_rank_of_labels_that_are_alike():
    for K in (1, 3, 6, 7, 10):
        for p, wanted in ((0.1, 0), (0.7, 1), (0.3, 0), (1.0, 1), (0.0, 0)):
            marginals = np.full((2, K), p)
            posterior = Posterior(np.zeros((2, K), np.uint8), sparse.csr_array(np.eye(2)), marginals, np.ones(2))
            assert (rule_for(COSTS["rank"]).decide(COSTS["rank"], posterior) == wanted).all()


def test_pcc_needs_probabilities():
    with pytest.raises(ValueError, match=r"PCC needs an estimator with predict_proba, which LinearSVC does not have; "):
        PCC(estimator=LinearSVC()).fit(X, Y)
    assert not hasattr(BR(LinearSVC()), "predict_proba")
    assert not hasattr(CC(estimator=LinearSVC()), "predict_proba")


# CFT against its definition


class Noting(ClassifierMixin, BaseEstimator):
    """A naive Bayes classifier that notes what it is trained on."""

    def __init__(self, notes=None):
        self.notes = notes

    def __sklearn_clone__(self):
        return Noting(self.notes)

    def fit(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        self.notes.append((np.asarray(X), np.asarray(y), weight))
        self.model_ = GaussianNB().fit(X, y, sample_weight=weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


def noted(learner, **settings_):
    notes = []
    model = learner(estimator=Noting(notes), random_state=0, **settings_).fit(X[TRAIN], Y[TRAIN])
    return model, notes


def test_one_round_for_hamming_is_the_training_of_a_chain():
    plain, plain_notes = noted(CC, order=[3, 1, 4, 0, 2])
    filtered, notes = noted(CFT, cost="hamming", n_rounds=1, order=[3, 1, 4, 0, 2])
    assert len(notes) == len(plain_notes) == 5
    for problem, other in zip(notes, plain_notes, strict=True):
        for ours, theirs in zip(problem, other, strict=True):
            assert np.array_equal(ours, theirs)
    assert np.array_equal(plain.predict(X[TEST]), filtered.predict(X[TEST]))


def test_one_round_for_hamming_grows_the_forests_of_a_chain():
    forest = RandomForestClassifier(7)
    plain, filtered = CC(estimator=forest, random_state=0), CFT("hamming", n_rounds=1, estimator=forest, random_state=0)
    assert np.array_equal(*(model.fit(X[TRAIN], Y[TRAIN]).predict(X[TEST]) for model in (plain, filtered)))


@pytest.mark.parametrize("cost", [*COSTS.values(), weighted_hamming([5, 1, 1, 2, 9], [1, 1, 3, 1, 1])])
def test_a_label_is_weighed_by_what_it_costs(cost):
    rng = np.random.default_rng(0)
    truth, at = rng.integers(0, 2, (2, 50, 5)).astype(np.uint8)
    order, weight = np.array([3, 1, 4, 0, 2]), rng.random(50)
    found = Round.of(at, truth, cost, weight, order)
    assert np.array_equal(found.at, at[:, order])
    for j, label in enumerate(order):
        zero, one = at.copy(), at.copy()
        zero[:, label], one[:, label] = 0, 1
        costs = np.column_stack([cost.rowwise(truth, zero), cost.rowwise(truth, one)])
        np.testing.assert_allclose(found.weight[:, j], weight * np.abs(costs[:, 0] - costs[:, 1]), atol=1e-12)
        matters = found.weight[:, j] > 0
        assert np.array_equal(found.target[matters, j], costs[matters].argmin(axis=1))


@pytest.mark.parametrize("n_rounds", [1, 2, 4])
def test_pooled_rows_are_those_of_all_rounds(n_rounds):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (40, 4)).astype(np.uint8)
    stands = [truth, *(truth ^ (rng.random((40, 4)) < 0.2) for _ in range(n_rounds - 1))]
    sample_weight = rng.random(40)
    rounds = [Round.of(at, truth, COSTS["rank"], sample_weight, np.array([2, 0, 3, 1])) for at in stands]
    for j, problem in enumerate(pooled(rounds, NAMES[:4], sample_weight.mean())):
        wanted = {}
        total = np.mean([r.weight[:, j] for r in rounds]) / sample_weight.mean()
        for r in rounds:
            for row in range(40):
                if r.weight[row, j]:
                    key = (*X[row], *r.at[row, :j], r.target[row, j])
                    wanted[key] = wanted.get(key, 0) + r.weight[row, j] / total
        features = beside(X[:40][slice(None) if problem.rows is None else problem.rows], problem.labels)
        found = {(*x, y): w for x, y, w in zip(features, problem.target, problem.weight, strict=True)}
        assert found.keys() == wanted.keys()
        np.testing.assert_allclose([found[key] for key in wanted], [*wanted.values()], rtol=1e-5)


def test_rounds_train_on_where_the_chain_arrives():
    _, notes = noted(CFT, cost="f1", n_rounds=3, n_folds=None)
    assert len(notes) == 15
    once, *_ = noted(CFT, cost="f1", n_rounds=1)
    truth, arrived = (labels.astype(np.uint8) for labels in (Y[TRAIN], once.predict(X[TRAIN])))
    rounds = [Round.of(at, truth, COSTS["f1"], None, np.arange(5)) for at in (truth, arrived)]
    for (features, target, weight), wanted in zip(notes[5:10], pooled(rounds, NAMES, 1.0), strict=True):
        rows = slice(None) if wanted.rows is None else wanted.rows
        assert np.array_equal(features, beside(X[TRAIN][rows], wanted.labels))
        assert np.array_equal(target, wanted.target)
        np.testing.assert_allclose(weight, wanted.weight)


def test_between_rounds_rows_are_predicted_by_chains_that_have_not_seen_them():
    notes = []
    features = np.arange(30.0)[:, None]  # tells rows apart
    labels = np.random.default_rng(0).integers(0, 2, (30, 2))

    class Spy(Noting):
        def __sklearn_clone__(self):
            return Spy(self.notes)

        def predict_proba(self, X):
            asked = {*X[:, 0].tolist()}
            trained = {*notes[-2][0][:, 0].tolist()}
            assert not asked & trained
            predicted.append(asked)
            return super().predict_proba(X)

    predicted = []
    CFT("hamming", n_rounds=3, n_folds=3, estimator=Spy(notes), random_state=0).fit(features, labels)
    assert len(notes) == 2 * (2 * 3 + 1)
    assert sorted(row for asked in predicted[::2] for row in asked) == sorted([*range(30)] * 2)


def test_labels_without_a_price_are_skipped():
    notes = []
    cost = weighted_hamming([1, 0, 1, 0, 1], [1, 0, 1, 0, 1])
    model = CFT(cost, n_rounds=2, n_folds=None, estimator=Noting(notes)).fit(X, Y)
    assert len(notes) == 6
    predicted = model.predict(X)
    assert (predicted[:, [1, 3]] == (Y[:, [1, 3]].mean(axis=0) > 0.5)).all()


def test_cft_needs_sample_weight_before_it_starts():
    fits = []

    class Spy(KNeighborsClassifier):
        def fit(self, X, y):
            fits.append(1)
            return super().fit(X, y)

    with pytest.raises(ValueError, match=r"CFT trains with weights, but Spy.fit has no parameter sample_weight"):
        CFT(estimator=Spy()).fit(X, Y)
    assert not fits
    with pytest.raises(ValueError, match=r"sample_weight was given, but Spy.fit has no parameter sample_weight"):
        BR(Spy()).fit(X, Y, np.ones(160))


def test_rounds_heed_the_cost():
    blind, careful = (
        CFT(weighted_hamming(price), n_rounds=2, random_state=0).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST]).sum()
        for price in (1, 20)
    )
    assert careful > 1.2 * blind
