"""Experts beside the forest of CLEMS: which, what they say of held-out rows, and what they are worth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsRegressor

from clems import CLEMS, COSTS, get_cost, load, save
from clems.costs.criteria import get_criterion, label_criteria
from clems.datasets import digit_scenes
from clems.posterior import held_out_rows as rows_module
from clems.posterior.experts import EXPERTS, ExpertKind, expert_for
from clems.posterior.held_out_rows import powers_of_odds, suits
from clems.posterior.mixture import EXPERTS_ALONE, WEIGHTS, Mixture

RNG = np.random.default_rng(0)
N, D, K = 300, 60, 4
MEANING = RNG.normal(size=(D, K))
WORDS = (RNG.random((2 * N, D)) < 0.12).astype(float)
TAGS = (WORDS @ MEANING + RNG.normal(0, 0.5, (2 * N, K)) > 1).astype(int)
TRAIN, TEST = slice(0, N), slice(N, 2 * N)


def fitted(**settings):
    return CLEMS(**{"cost": "f1", "n_trees": 24, "random_state": 0, **settings}).fit(WORDS[TRAIN], TAGS[TRAIN])


def cost_of(model, cost="f1"):
    return COSTS[cost].of_rows(TAGS[TEST].astype(np.uint8), model.predict(WORDS[TEST], cost=cost)).mean()


def test_features_that_are_mostly_zero_get_a_linear_expert():
    assert expert_for(WORDS) == expert_for(sparse.csr_array(WORDS)) == "linear"
    assert expert_for(WORDS + 1) == expert_for(sparse.csr_array(WORDS + 1)) == "gaussian"


def test_evidence_of_words_lowers_the_cost_of_every_cost():
    mixture, alone = fitted(), fitted(experts=None)
    assert [*mixture.experts_] == ["linear"]
    assert mixture.mixture_.weight in WEIGHTS
    assert [one.weight for one in mixture.mixture_costs_] == [0, *WEIGHTS]
    of_forest, *_ = mixture.mixture_costs_.values()
    assert mixture.mixture_costs_[mixture.mixture_] < of_forest
    assert alone.experts_ == alone.mixture_costs_ == {}
    assert alone.mixture_.weight == 0
    for cost in ("f1", "rank", "hamming", "accuracy"):
        assert cost_of(mixture, cost) < 0.97 * cost_of(alone, cost)


def test_a_cost_that_is_decided_by_marginals_may_take_labels_apart():
    model = fitted(cost="rank")
    *vectors, apart = model.mixture_costs_
    assert [one.weight for one in vectors] == [0, *WEIGHTS]
    assert apart.apart
    assert model.mixture_costs_[apart] == min(model.mixture_costs_.values())
    assert model.mixture_ == apart
    assert [*model.oob_costs_] == ["exact"]
    assert cost_of(model, "rank") < cost_of(model.with_decoder("expected"), "rank")
    among_vectors = model.with_decoder("expected")
    assert not among_vectors.mixture_.apart
    assert [*among_vectors.mixture_costs_] == vectors
    assert model.posterior_for(model.posterior(WORDS[TEST]), "f1").mixture.weight in WEIGHTS


@given(st.integers(0, 2**32 - 1), st.floats(-2, 2), st.floats(-2, 2))
def test_powers_of_odds_are_the_likeliest_that_are_not_below_0(seed, first, second):
    rng = np.random.default_rng(seed)
    odds, weight = rng.normal(size=(200, 2)) * 2, rng.random(200)
    truth = (rng.random(200) < 1 / (1 + np.exp(-0.3 - odds @ [first, second]))).astype(int)
    truth[:2] = 0, 1

    def loss(found):
        lines = odds @ found[:2] + found[2]
        return weight / weight.mean() @ (np.logaddexp(0, lines) - truth * lines) + (found[:2] ** 2).sum() / 2

    best = minimize(loss, np.zeros(3), bounds=[(0, None), (0, None), (None, None)]).x
    learned = powers_of_odds(odds, truth, weight)
    if learned is None:
        assert best[:2].max() < 1e-3
    else:
        np.testing.assert_allclose(learned, best, atol=2e-3)
        assert powers_of_odds(odds, truth, 1e6 * weight) == learned


def test_rows_that_are_told_apart_without_a_fault_do_not_make_powers_boundless():
    odds = np.column_stack([np.repeat([-1.0, 1.0], 50), np.repeat([-2.0, 2.0], 50)])
    learned = powers_of_odds(odds, (odds[:, 0] > 0).astype(int), None)
    assert 0 < max(learned) < 3


def test_mixtures_of_the_same_weight_keep_their_own_costs(monkeypatch):
    monkeypatch.setattr("clems.posterior.held_out_rows.HeldOutRows._apart", lambda _: [Mixture(1.0, WEIGHTS[0], 0.0)])
    costs = fitted(cost="rank", n_trees=5).mixture_costs_
    assert [mixture.weight for mixture in costs] == [0, *WEIGHTS, WEIGHTS[0]]
    assert len({*costs.values()}) == len(costs)


def test_a_model_without_weight_of_experts_is_the_forest_alone(monkeypatch):
    monkeypatch.setitem(EXPERTS, "linear", ExpertKind(lambda _: True, noise))
    mixture, alone = fitted(), fitted(experts=None)
    assert mixture.mixture_ == alone.mixture_
    assert np.array_equal(mixture.predict(WORDS[TEST]), alone.predict(WORDS[TEST]))
    assert np.array_equal(mixture.predict_proba(WORDS[TEST]), alone.predict_proba(WORDS[TEST]))


def noise(X, Y, weight, rows, random_state):
    def read(X):
        return np.random.RandomState(0).uniform(0.05, 0.95, (X.shape[0], Y.shape[1]))

    return read, random_state.uniform(0.05, 0.95, (len(rows), Y.shape[1]))


def test_any_classifier_may_be_consulted():
    for experts in ([LogisticRegression()], [LogisticRegression(), "linear"], [RidgeClassifier(), RidgeClassifier()]):
        model = fitted(experts=experts)
        assert len(model.experts_) == len(experts)
        assert model.mixture_.weight > 0
        assert cost_of(model) < cost_of(fitted(experts=None))


def test_held_out_rows_of_a_classifier_are_those_that_it_has_not_seen():
    class Memory(LogisticRegression):
        """Knows the rows that it was trained on by heart."""

        def fit(self, X, y, sample_weight=None):
            self.known_ = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
            return super().fit(X, y, sample_weight)

        def predict_proba(self, X):
            p = np.array([self.known_.get(row.tobytes(), 0.5) for row in X])
            return np.column_stack([1 - p, p])

    model = CLEMS("f1", experts=[Memory()], n_trees=24, random_state=0)
    rows = np.random.default_rng(1).normal(size=(200, 6))
    labels = (rows[:, :3] > 0).astype(int)
    assert model.fit(rows, labels).mixture_.weight == 0


@pytest.mark.parametrize("cost", ["f1", "macro_f1"])
def test_saved_mixtures_answer_as_before(cost, tmp_path):
    for experts in ("auto", [LogisticRegression()]):
        model = fitted(cost=cost, experts=experts)
        save(model, tmp_path / "model.clems")
        loaded = load(tmp_path / "model.clems")
        for other in (None, "rank", "hamming", "micro_f1"):
            assert np.array_equal(model.predict(WORDS[TEST], cost=other), loaded.predict(WORDS[TEST], cost=other))
        assert np.array_equal(model.predict_proba(WORDS[TEST]), loaded.predict_proba(WORDS[TEST]))
        assert loaded.mixture_ == model.mixture_
        assert loaded.mixture_costs_ == model.mixture_costs_


def test_of_many_labels_experts_may_count_alone(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    X = (rng.random((360, 40)) < 0.2) * 1.0
    Y = (X @ rng.normal(size=(40, 12)) + rng.normal(0, 0.1, (360, 12)) > 1).astype(int)  # few vectors occur twice

    def fit(**settings):
        return CLEMS("f1", n_trees=6, random_state=0, **settings).fit(X[:300], Y[:300])

    few = fit()
    assert few.mixture_ != EXPERTS_ALONE
    monkeypatch.setattr(rows_module, "WIDE", 11)
    many, expected, truth = fit(), fit(decoder="expected"), Y[300:].astype(np.uint8)
    assert (many.mixture_, many.decoder_) == (EXPERTS_ALONE, "exact")
    assert [*many.oob_costs_] == ["exact"]
    assert COSTS["f1"].of_rows(truth, many.predict(X[300:])).mean() < 0.95 * (1 - few.score(X[300:], Y[300:]))
    (expert,) = many.experts_.values()
    np.testing.assert_allclose(many.predict_proba(X[300:]), expert(X[300:]), atol=2e-4)
    known = {row.tobytes() for row in Y[:300]}
    for among in (expected, many.with_decoder("expected"), many.with_decoder("nearest")):
        assert among.mixture_ != EXPERTS_ALONE
        assert {row.tobytes() for row in among.predict(X[300:])} <= known
        assert among.sharpness_ == among.mixture_.sharpness
        for criterion in label_criteria():  # whose thresholds are of the experts alone, whatever the decoder
            if among is not expected:
                assert np.array_equal(among.predict(X[300:], cost=criterion), many.predict(X[300:], cost=criterion))
    assert (many.top_k(X[300:], 3).labels[:, 0] == many.predict(X[300:])).all()
    save(many, tmp_path / "model.clems")
    loaded = load(tmp_path / "model.clems")
    for cost in ("f1", "accuracy", "macro_f1"):
        assert np.array_equal(loaded.predict(X[300:], cost=cost), many.predict(X[300:], cost=cost))
    assert np.array_equal(loaded.expected_cost(X[300:]), many.expected_cost(X[300:]))


def test_experts_alone_are_not_for_functions_of_which_nothing_is_known():
    """A search among all vectors of many labels takes seconds for a row."""
    known = [get_criterion(cost) for cost in (*COSTS, "precision_at(3)", "micro_f1")]
    own = get_criterion(get_cost(lambda truth, predicted: abs(truth - 1.0 * predicted).sum(axis=1)))
    assert [suits(EXPERTS_ALONE, one) for one in (*known, own)] == [True] * len(known) + [False]
    assert suits(Mixture(1.0, 0.5), own)


def test_sparse_and_dense_features_mean_the_same():
    dense = fitted()
    other = CLEMS("f1", n_trees=24, random_state=0).fit(sparse.csr_array(WORDS[TRAIN]), TAGS[TRAIN])
    np.testing.assert_allclose(
        dense.predict_proba(WORDS[TEST]), other.predict_proba(sparse.csr_array(WORDS[TEST])), atol=1e-9
    )


def test_held_out_rows_cost_what_new_rows_do():
    """Held-out over test cost, over splits of generated data; with a fifth of the trees it was 1.1."""
    X, Y = digit_scenes(1200, random_state=0)
    ratios = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(1200)
        model = CLEMS("hamming", n_trees=60, random_state=seed).fit(X[order[:500]], Y[order[:500]])
        test = COSTS["hamming"].of_rows(Y[order[500:]].astype(np.uint8), model.predict(X[order[500:]])).mean()
        ratios.append(model.oob_cost_ / test)
    assert 0.95 < np.mean(ratios) < 1.05


def test_the_paper_consults_none_and_estimators_only_if_asked():
    assert fitted(decoder="nearest").experts_ == {}
    assert fitted(estimator=KNeighborsRegressor(5)).experts_ == {}
    model = fitted(estimator=KNeighborsRegressor(5), experts=[RidgeClassifier()])
    assert [*model.experts_] == ["RidgeClassifier"]


@pytest.mark.parametrize(
    ("experts", "message"),
    [
        ("linear", r"experts must be 'auto', None or a list of names and classifiers; got 'linear'\."),
        (3, r"experts must be 'auto', None or a list"),
        (["kernel"], r"An expert must be a classifier or one of 'linear', 'gaussian'; got 'kernel'\."),
    ],
)
def test_experts_that_are_none_are_refused(experts, message):
    with pytest.raises(ValueError, match=message):
        fitted(experts=experts)


def test_labels_that_do_not_vary_are_known():
    labels = np.column_stack([TAGS, np.ones(len(TAGS), int), np.zeros(len(TAGS), int)])
    model = CLEMS("f1", n_trees=24, random_state=0).fit(WORDS[TRAIN], labels[TRAIN])
    assert np.array_equal(model.predict(WORDS[TEST])[:, 4:], labels[TEST][:, 4:])
    assert model.mixture_.weight > 0


@pytest.mark.parametrize("kind", EXPERTS)
@pytest.mark.parametrize("most", [10, 4000])
def test_sparse_labels_train_the_same_expert(kind, most, monkeypatch):
    monkeypatch.setattr("clems.posterior.ridge_expert.MOST_ROWS", most)
    monkeypatch.setattr("clems.posterior.ridge_expert.LANDMARKS", 30)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 20)) * (rng.random((60, 20)) < 0.2)
    Y = (X[:, :5] + 0.1 * rng.standard_normal((60, 5)) > 0.3).astype(np.uint8)
    Y[:, 3], Y[:, 4] = 0, 1  # labels that do not vary
    found = [
        EXPERTS[kind].fit(X, labels, None, np.arange(12), np.random.RandomState(0))
        for labels in (Y, sparse.csr_array(Y))
    ]
    (expert, held_out), (other, other_held_out) = found
    np.testing.assert_allclose(other_held_out, held_out, atol=1e-9)
    np.testing.assert_allclose(other(X), expert(X), atol=1e-9)
