"""Learners with a posterior: what they predict is what their posterior decides, and each row is read once."""

from functools import cache

import numpy as np
import pytest
from distributions import brute, own_cost
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from clems import (
    BCS,
    CCAOC,
    CLEMS,
    COSTS,
    CSRPE,
    GLE,
    LEARNERS,
    PCC,
    CostSensitiveClassifier,
    f_beta,
    get_cost,
    weighted_hamming,
)
from clems.datasets import digit_scenes
from clems.decisions.decide import TIE
from clems.learners import base
from clems.learners.by_posterior import PosteriorClassifier
from clems.posterior.one_standard_error import root_of_ratio

X, DIGITS = digit_scenes(200, random_state=0)
Y = DIGITS[:, :6]
TRAIN, TEST = slice(0, 140), slice(140, 200)
BERNOULLI = BernoulliNB(binarize=8)
MODELS = {
    "CLEMS": CLEMS("f1", n_trees=10, random_state=0),
    "CLEMS-nearest": CLEMS("f1", decoder="nearest", n_trees=10, random_state=0),
    "CLEMS-neighbours": CLEMS("accuracy", estimator=KNeighborsRegressor(5, algorithm="kd_tree"), random_state=0),
    "PCC": PCC("f1", n_trees=5, n_samples=30, random_state=0),
    "independent": CostSensitiveClassifier(BERNOULLI, cv=2, joint="independent", random_state=0),
    "observed": CostSensitiveClassifier(BERNOULLI, cv=2, joint="observed", random_state=0),
    "CSRPE": CSRPE("f1", n_trees=5, random_state=0),
    "CCAOC": CCAOC("f1", n_trees=5, random_state=0),
    "BCS": BCS("f1", n_trees=5, random_state=0),
    "GLE": GLE("f1", n_trees=5, random_state=0),
    "PCC-beam": PCC("f1", beam_width=9, estimator=DecisionTreeClassifier(min_samples_leaf=5), random_state=0),
}
OTHER_COSTS = [*COSTS, f_beta(3), weighted_hamming([5, 1, 1, 2, 1, 9], [1, 1, 3, 1, 1, 2]), own_cost]
each_model = pytest.mark.parametrize("name", MODELS)
each_cost = pytest.mark.parametrize("cost", OTHER_COSTS)


@cache
def fitted(name):
    return MODELS[name].fit(X[TRAIN], Y[TRAIN])


@cache
def posterior_of(name):
    return fitted(name).posterior(X[TEST])


def test_these_are_all_learners_with_a_posterior():
    assert {type(model) for model in MODELS.values()} == {
        learner for learner in LEARNERS.values() if issubclass(learner, PosteriorClassifier)
    }
    for learner in LEARNERS.values():
        assert hasattr(learner, "posterior") == issubclass(learner, PosteriorClassifier)


@each_model
@each_cost
def test_models_answer_as_their_posterior_does(name, cost):
    model = fitted(name)
    posterior = model.posterior(X[TEST], cost)
    predicted = model.predict(X[TEST], cost=cost)
    assert np.array_equal(posterior.decide(cost), predicted)
    assert np.array_equal(model.decide(posterior_of(name), cost), predicted)
    assert np.array_equal(model.decide(posterior, cost), predicted)
    ratio, most = model.paid_over_expected(cost), get_cost(cost).bound(6) or np.inf
    expected = np.minimum(ratio * posterior.expected_cost(predicted, cost), most)
    np.testing.assert_allclose(model.expected_cost(X[TEST], cost), expected, atol=1e-12)
    by_posterior, top = posterior.top_k(4, cost), model.top_k(X[TEST], 4, cost)
    assert np.array_equal(by_posterior.labels, top.labels)
    np.testing.assert_allclose(by_posterior.probability, top.probability, atol=1e-12)
    np.testing.assert_allclose(np.minimum(ratio * by_posterior.expected_cost, most), top.expected_cost, atol=1e-12)


@each_model
def test_without_a_cost_it_is_the_models_own(name):
    model, posterior = fitted(name), posterior_of(name)
    predicted = model.predict(X[TEST])
    assert np.array_equal(model.decide(posterior), predicted)
    mixes = model.experts_ if isinstance(model, CLEMS) else {}  # by log loss, whatever the cost
    of_labels = model.posterior(X[TEST], "macro_f1") if mixes else posterior
    assert np.array_equal(model.predict_proba(X[TEST]), of_labels.marginals)
    np.testing.assert_allclose(
        model.expected_cost(X[TEST]),
        model.paid_over_expected() * posterior.expected_cost(predicted, model.cost_),
        atol=1e-12,
    )
    top = model.top_k(X[TEST], 3)
    assert np.array_equal(top.labels[:, 0], predicted)
    if getattr(model, "decoder_", "exact") != "nearest":
        assert np.array_equal(posterior.decide(model.cost_), predicted)
    assert model.row_cost() is model.cost_
    assert model.row_cost("rank") is COSTS["rank"]


@each_model
def test_a_posterior_is_a_distribution_for_each_row(name):
    model, posterior = fitted(name), posterior_of(name)
    assert len(posterior) == 60
    np.testing.assert_allclose(posterior.share.sum(axis=1), 1)
    assert posterior.share.data.min() >= 0
    assert posterior.labels.shape[1] == 6
    assert posterior.shared == (isinstance(model, CLEMS) or name in ("observed", "CSRPE"))
    if posterior.shared:
        np.testing.assert_allclose(posterior.marginals, posterior.share @ posterior.float_labels, atol=1e-12)
    if isinstance(model, CLEMS):
        assert np.array_equal(posterior.labels, model.candidates_.labels)
        assert posterior.points.shape == (60, 6)


@each_model
def test_blocks_change_nothing(name, monkeypatch):
    model = fitted(name)
    whole, top, expected = posterior_of(name), model.top_k(X[TEST], 3), model.expected_cost(X[TEST], "rank")
    monkeypatch.setattr(base, "BLOCK", 7)
    parts = model.posterior(X[TEST])
    assert len(parts) == 60
    assert parts.shared == whole.shared
    np.testing.assert_allclose(parts.marginals, whole.marginals, atol=1e-12)
    for cost in ("f1", "zero_one", "accuracy"):
        assert np.array_equal(parts.decide(cost), whole.decide(cost))
    for one, other in zip(top, model.top_k(X[TEST], 3), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(model.expected_cost(X[TEST], "rank"), expected, atol=1e-12)
    if parts.shared:
        np.testing.assert_allclose(parts.share.toarray(), whole.share.toarray(), atol=1e-12)
        if isinstance(model, CLEMS):
            np.testing.assert_allclose(parts.points, whole.points, atol=1e-12)
    else:
        assert np.array_equal(parts.labels, whole.labels)
        assert np.array_equal(parts.share.data, whole.share.data)
        assert np.array_equal(parts.likelihood, whole.likelihood)


@each_model
def test_questions_are_answered_in_one_pass(name, monkeypatch):
    model, read = fitted(name), []
    learner, posterior_of_block = type(model), type(model)._posterior

    def watched(self, block):
        read.append(block.shape[0])
        return posterior_of_block(self, block)

    monkeypatch.setattr(learner, "_posterior", watched)
    monkeypatch.setattr(base, "BLOCK", 25)
    for ask in (
        model.predict,
        model.predict_proba,
        model.expected_cost,
        model.posterior,
        lambda rows: model.top_k(rows, 2),
        lambda rows: model.predict_each(rows, ["f1", "rank", own_cost]),
        lambda rows: model.ask(rows, lambda one: [one.marginals, one.decide("rank"), one.top_k(2).expected_cost]),
    ):
        read.clear()
        ask(X[TEST])
        assert read == [25, 25, 10]

    def question(one):
        for_rank = model.posterior_for(one, "rank")
        return [one.marginals, for_rank.decide("rank"), for_rank.top_k(2, "rank").expected_cost]

    marginals, decided, costs = model.ask(X[TEST], question)
    np.testing.assert_allclose(marginals, model.predict_proba(X[TEST]), atol=1e-12)
    assert np.array_equal(decided, model.predict(X[TEST], "rank"))
    costs = model.paid_over_expected("rank") * costs
    np.testing.assert_allclose(costs, model.top_k(X[TEST], 2, "rank").expected_cost, atol=1e-12)


@pytest.mark.parametrize("name", ["PCC", "PCC-beam"])
@pytest.mark.parametrize("cost", [None, "zero_one", "accuracy", own_cost])
def test_the_best_of_a_chain_are_the_prediction_and_then_rising_costs(name, cost):
    model, posterior = fitted(name), posterior_of(name)
    resolved = model.row_cost(cost)
    table, of = brute(posterior, resolved)
    for k in (1, 2, 7):
        top = model.top_k(X[TEST], k, cost)
        assert np.array_equal(top.labels[:, 0], model.predict(X[TEST], cost))
        np.testing.assert_allclose(top.expected_cost[:, 0], model.expected_cost(X[TEST], cost), atol=1e-12)
        assert (np.diff(top.expected_cost[:, 1:], axis=1) >= -(10.0**-TIE)).all()
        for place in range(k):
            np.testing.assert_allclose(top.expected_cost[:, place], of(top.labels[:, place]), atol=1e-12)
        for row in range(60):
            assert len({*map(bytes, top.labels[row])}) == k
            own = posterior.rows([row])
            same = (own.labels[own.share.indices] == top.labels[row][:, None]).all(axis=2)
            np.testing.assert_allclose(top.probability[row], same @ own.share.data, atol=1e-12)
        assert (top.expected_cost >= table.min(axis=1)[:, None] - 1e-12).all()
    for k in (0, 8, 1.5):
        with pytest.raises(ValueError, match=rf"^k must be a whole number of at least 1 and at most 7; got {k}\.$"):
            model.top_k(X[TEST], k, cost)


@pytest.mark.parametrize("name", ["CLEMS", "PCC"])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, np.asfortranarray, np.ndarray.tolist])
def test_a_posterior_takes_rows_in_any_form(name, form):
    one, other = posterior_of(name), fitted(name).posterior(form(X[TEST]))
    np.testing.assert_allclose(one.marginals, other.marginals, atol=1e-12)


@pytest.mark.parametrize("learner", [CLEMS, PCC])
def test_an_unfitted_model_answers_nothing(learner):
    model, posterior = learner(), posterior_of(learner.__name__)
    for ask in (
        lambda: model.posterior(X),
        lambda: model.decide(posterior),
        lambda: model.expected_cost(X),
        lambda: model.top_k(X, 1),
        lambda: model.predict_each(X, ["f1"]),
        lambda: model.predict_proba(X),
        lambda: model.ask(X, lambda one: [one.marginals]),
    ):
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.parametrize("learner", [CLEMS, PCC])
def test_a_posterior_wants_at_least_one_row_of_the_right_width(learner):
    model = fitted(learner.__name__)
    with pytest.raises(ValueError, match="0 sample"):
        model.posterior(X[:0])
    with pytest.raises(ValueError, match="features"):
        model.posterior(X[:, 1:])


# Budgets, and rows that are handed over


@each_model
def test_budgets_are_those_of_the_posterior(name):
    model, posterior = fitted(name), posterior_of(name)
    for cost in (None, "f1", "zero_one", own_cost):
        for budget in ({"at_most": 1}, {"exactly": 3}):
            decided = model.predict(X[TEST], cost, **budget)
            mixed = model.posterior(X[TEST], cost)
            assert np.array_equal(decided, mixed.decide(model.cost_ if cost is None else cost, **budget))
            assert np.array_equal(decided, model.decide(posterior, cost, **budget))
            assert decided.dtype == model.predict(X[TEST]).dtype
    with pytest.raises(ValueError, match="at_most must be a whole number of at least 0 and at most 6; got 7"):
        model.predict(X[TEST], at_most=7)


@each_model
def test_rows_are_handed_over(name, monkeypatch):
    model, posterior = fitted(name), posterior_of(name)
    for cost in (None, "rank"):
        expected = model.expected_cost(X[TEST], cost)
        price = float(np.median(expected))
        monkeypatch.setattr(base, "BLOCK", 7)
        answers = model.predict(X[TEST], cost, abstain_at=price), model.decide(posterior, cost, abstain_at=price)
        for answer in answers:
            assert isinstance(answer, np.ma.MaskedArray)
            assert np.array_equal(answer.data, model.predict(X[TEST], cost))
            assert np.array_equal(answer.mask.all(axis=1), expected > price)
            assert np.array_equal(answer.mask.any(axis=1), expected > price)
    both = model.predict(X[TEST], abstain_at=price, at_most=1)
    plain = model.predict(X[TEST], at_most=1)
    assert np.array_equal(both.data, plain)
    assert np.array_equal(both.mask[:, 0], posterior.expected_cost(plain, model.cost_) > price)


def test_sparse_labels_are_handed_over_as_an_array():
    model = PCC("f1", n_trees=2, n_samples=10, random_state=0).fit(X[TRAIN], sparse.csr_array(Y[TRAIN]))
    assert sparse.issparse(model.predict(X[TEST], at_most=2))
    handed = model.predict(X[TEST], abstain_at=0.2)
    assert isinstance(handed, np.ma.MaskedArray)
    assert np.array_equal(handed.data, model.predict(X[TEST]).toarray())


def test_criteria_of_all_rows_together_have_no_budget():
    model = fitted("CLEMS")
    message = r"^macro_f1 is decided for all rows together, so no row has a budget; name a cost of single rows, such as"
    with pytest.raises(ValueError, match=message):
        model.predict(X[TEST], "macro_f1", at_most=1)
    with pytest.raises(ValueError, match="macro_f1 is no cost of single rows"):
        model.predict(X[TEST], "macro_f1", abstain_at=1)


@pytest.mark.parametrize("name", ["CLEMS", "CLEMS-neighbours", "independent", "observed"])
@pytest.mark.parametrize("cost", ["f1", "rank", "accuracy", weighted_hamming(5, 1)], ids=str)
def test_expected_costs_are_those_of_the_posterior_times_what_held_out_rows_paid(name, cost):
    model = fitted(name)
    predicted, ratio = model.predict(X[TEST], cost), model.paid_over_expected(cost)
    expected = ratio * model.posterior(X[TEST], cost).expected_cost(predicted, cost)
    assert 0.5 < ratio < 2
    assert ratio != 1
    assert np.allclose(model.expected_cost(X[TEST], cost), expected)
    assert np.allclose(model.top_k(X[TEST], 2, cost).expected_cost[:, 0], expected)
    price = float(np.quantile(expected, 0.45, method="lower")) + 1e-9
    assert np.array_equal(
        np.ma.getmaskarray(model.predict(X[TEST], cost, abstain_at=price)).any(axis=1), expected > price
    )


def test_the_more_a_model_is_sure_of_itself_the_more_held_out_rows_correct_it():
    models = [CLEMS("f1", sharpness=own, experts=None, n_trees=30, random_state=0) for own in (0.5, 1, 2, 6)]
    ratios = [model.fit(X, Y).paid_over_expected("hamming") for model in models]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1 < ratios[-1]
    assert fitted("CLEMS-nearest").paid_over_expected() == 1


def test_no_row_is_expected_to_cost_more_than_it_can():
    """Held-out rows paid where next to nothing was expected, of a label that hardly any row has."""
    rng = np.random.default_rng(0)
    rare, features = np.zeros((120, 3), int), rng.normal(size=(120, 4))
    rare[5] = 1
    model = CostSensitiveClassifier(None, "rank", n_trees=9, random_state=0).fit(features, rare)
    assert model.paid_over_expected("hamming") > 10
    for cost in ("hamming", "zero_one", weighted_hamming([1, 2, 3])):
        most = get_cost(cost).bound(3)
        assert model.expected_cost(4 * features, cost).max() <= most
        assert model.top_k(features, 2, cost).expected_cost.max() <= most


def test_nothing_expected_says_nothing_of_what_is_paid():
    assert root_of_ratio(np.ones(5), np.zeros(5), None) == 1
    assert root_of_ratio(np.zeros(5), np.ones(5), None) == 1
    assert root_of_ratio(np.full(5, 4.0), np.ones(5), None) == 2
    model = CLEMS("f1", random_state=0).fit([[0.0], [1.0]], [[1, 0, 0], [0, 1, 1]])
    assert 0 <= model.expected_cost([[0.5]])[0] <= 1


@each_model
def test_the_others_of_top_k_cost_no_less_than_the_prediction_for_prices(name):
    model = fitted(name)
    prices = weighted_hamming([5, 1, 1, 2, 1, 9], [1, 1, 3, 1, 1, 2])
    if not model.cost_at_predict or name == "CLEMS-nearest":
        return
    best = model.top_k(X[TEST], 4, prices).expected_cost
    assert (best[:, 1:] >= best[:, :1] - 1e-9).all()


@each_model
def test_a_posterior_does_not_change_with_the_array_it_was_read_from(name):
    model, buffer = fitted(name), X[TEST].copy()
    posterior = model.posterior(buffer)
    buffer[:] = 0
    assert np.array_equal(model.decide(posterior), model.predict(X[TEST]))
