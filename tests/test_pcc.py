"""PCC against the distribution that its chain says."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from clems import BR, CC, COSTS, PCC, get_cost, weighted_hamming
from clems.decisions.rules import rule_for
from clems.learners import pcc

X, Y = make_multilabel_classification(160, n_features=6, n_classes=5, random_state=0)
TRAIN, TEST = slice(0, 100), slice(100, 160)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
FOREST = RandomForestClassifier(7, random_state=0)


def test_a_fitted_model_decides_as_its_chain_says():
    model = PCC(n_samples=4000, estimator=TREE, order=[3, 1, 4, 0, 2], random_state=0).fit(X[TRAIN], Y[TRAIN])
    every = np.array([*product([0, 1], repeat=5)], np.uint8)
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


def test_seeds_decide_the_draws():
    one, same, other = (PCC(estimator=TREE, random_state=s, n_samples=5).fit(X, Y).predict_proba(X) for s in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_costs_are_checked_before_prediction():
    model = PCC(estimator=TREE).fit(X, Y)
    with pytest.raises(ValueError, match="has 2 false_negative prices for 5 labels"):
        model.predict(X, cost=weighted_hamming([1, 2]))
    with pytest.raises(ValueError, match="Unknown cost 'f3'"):
        model.predict(X, cost="f3")


def test_pcc_needs_probabilities():
    with pytest.raises(ValueError, match=r"PCC needs an estimator with predict_proba, which LinearSVC does not have; "):
        PCC(estimator=LinearSVC()).fit(X, Y)
    assert not hasattr(BR(LinearSVC()), "predict_proba")
    assert not hasattr(CC(estimator=LinearSVC()), "predict_proba")


def test_a_calibrated_chain_says_of_each_label_what_its_calibrators_make_of_it():
    model = PCC(beam_width=32, estimator=TREE, calibration="sigmoid", random_state=0).fit(X[TRAIN], Y[TRAIN])
    plain = PCC(beam_width=32, estimator=TREE, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert model.calibration_.method == "sigmoid"
    assert plain.calibration_.log_loss == {}
    first = plain.chain_.probability(0, X[TEST], np.zeros((60, 0)))  # no label is before it
    wanted = model.chain_.calibrators[0](first[:, None])[:, 0]
    np.testing.assert_allclose(model.predict_proba(X[TEST])[:, 0], wanted, atol=1e-12)
    every = np.array([*product([0, 1], repeat=5)], np.uint8)
    joint = np.ones((60, 32))
    for j in range(5):
        for v, vector in enumerate(every):
            p = model.chain_.probability(j, X[TEST], np.tile(vector[:j], (60, 1)))
            joint[:, v] *= p if vector[j] else 1 - p
    np.testing.assert_allclose(model.predict_proba(X[TEST]), joint @ every, atol=1e-12)
    assert abs(model.predict_proba(X[TEST]) - plain.predict_proba(X[TEST])).max() > 0.1


def test_a_calibrated_chain_pays_what_it_expects():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(1500, 4))
    labels = (rng.random((1500, 3)) < 1 / (1 + np.exp(-features[:, :3]))).astype(int)  # of which leaves are too sure
    train, test = slice(0, 500), slice(500, None)
    ratios = {}
    for calibration in (None, "auto"):
        model = PCC(estimator=FOREST, calibration=calibration, random_state=0).fit(features[train], labels[train])
        paid = model.cost_.rowwise(labels[test], model.predict(features[test])).mean()
        ratios[calibration] = paid / model.expected_cost(features[test]).mean()
    assert ratios[None] > 1.15
    assert ratios["auto"] == pytest.approx(1, abs=0.1)


def test_calibration_of_chains_with_odd_rows_and_of_one_depth():
    labels = np.column_stack([Y[TRAIN], np.zeros(100), np.ones(100), np.eye(100)[3]])  # never, always, once
    model = PCC(estimator=TREE, calibration="isotonic", random_state=0).fit(X[TRAIN], labels, np.arange(100) % 3 + 1)
    assert np.array_equal(model.predict_proba(X[TEST])[:, 5:7], np.tile([0, 1], (60, 1)))
    assert PCC(estimator=TREE, calibration="auto").fit(X[:1], Y[:1]).predict(X[:1]).tolist() == Y[:1].tolist()
    assert PCC().depth_path
    assert not model.depth_path
    with pytest.raises(ValueError, match="at_depth is for calibration=None"):
        model.at_depth(3)
    with pytest.raises(ValueError, match="calibration must be 'auto', 'sigmoid', 'isotonic' or None; got 'platt'"):
        PCC(calibration="platt").fit(X[TRAIN], Y[TRAIN])
