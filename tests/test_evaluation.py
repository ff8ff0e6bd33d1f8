"""Tables of an evaluation agree with scikit-learn, with the criteria and with each other."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import multilabel_confusion_matrix, precision_recall_fscore_support

from clems import BR, CLEMS, COSTS, CRITERIA, PCC, SLEEC, weighted_hamming
from clems.datasets import digit_scenes
from clems.evaluation.answers import answers_of
from clems.evaluation.evaluate import evaluate, evaluate_answers, reliability
from clems.learners import base, pcc
from clems.trees import leaf_table

X, Y = digit_scenes(260, random_state=0)
Y = Y[:, :4].copy()
Y[:, 3] = 0  # a label that is never there
NAMES = ["null", "eins", "zwei", "drei"]


def fitted(cost="f1"):
    return CLEMS(cost=cost, n_trees=10, random_state=0).fit(X[:160], pd.DataFrame(Y[:160], columns=NAMES))


def test_labels_are_counted_as_scikit_learn_counts_them():
    model = fitted()
    found = evaluate(model, X[160:], Y[160:])
    predicted = model.predict(X[160:])
    matrices = multilabel_confusion_matrix(Y[160:], predicted).reshape(-1, 4)
    np.testing.assert_array_equal(found.labels[["tn", "fp", "fn", "tp"]], matrices)
    scores = precision_recall_fscore_support(Y[160:], predicted, zero_division=0)
    np.testing.assert_allclose(found.labels[["precision", "recall", "f1", "support"]].fillna(0).T, scores)
    assert found.labels.index.tolist() == NAMES
    assert found.labels.loc["drei", ["precision", "recall"]].isna().all()
    assert found.labels["f1"].mean() == pytest.approx(found.criteria["macro_f1"])


def test_criteria_are_those_of_the_registry():
    model = fitted()
    found = evaluate(model, X[160:], Y[160:])
    predicted = model.predict(X[160:])
    assert found.criteria == {name: criterion(Y[160:], predicted) for name, criterion in CRITERIA.items()}


def test_prices_of_labels_add_up_to_the_cost():
    found = evaluate(fitted(weighted_hamming([10, 1, 2, 3], 0.5, "euros")), X[160:], Y[160:])
    assert found.labels["price"].sum() == pytest.approx(100 * found.criteria["euros"])


@pytest.mark.parametrize("learner", [CLEMS, PCC])
def test_reliability_keeps_the_means(learner):
    model = learner("f1", n_trees=10, random_state=0).fit(X[:160], Y[:160])
    found = evaluate(model, X[160:], Y[160:])
    groups = found.reliability
    assert groups["rows"].sum() == 100
    assert 1 < len(groups) <= 10
    assert groups["expected"].is_monotonic_increasing
    for column, mean in (
        ("expected", model.expected_cost(X[160:]).mean()),
        ("realised", 1 - found.criteria["f1"]),
    ):
        assert np.average(groups[column], weights=groups["rows"]) == pytest.approx(mean)


def test_equal_expectations_are_one_group():
    groups = reliability(np.array([0.5, 0.5, 0.5, 0.1]), np.array([0.0, 1.0, 0.5, 0.0]))
    assert groups.to_dict("list") == {"expected": [0.1, 0.5], "realised": [0.0, 0.5], "rows": [1, 3]}


@pytest.mark.parametrize("model", [BR(n_trees=3, random_state=0), CLEMS(cost="macro_f1", n_trees=3, random_state=0)])
def test_without_expected_cost_there_is_no_reliability(model):
    found = evaluate(model.fit(X[:160], Y[:160]), X[160:], Y[160:])
    assert found.reliability is None
    assert found.labels.index.tolist() == ["0", "1", "2", "3"]


# One pass


@pytest.fixture
def rows_read(monkeypatch):
    """Numbers of rows whose leaves are found, or whose label vectors are drawn, call by call."""
    read = []

    def watch(module, name, features):
        function = getattr(module, name)

        def watched(*arguments):
            read.append(features(arguments).shape[0])
            return function(*arguments)

        monkeypatch.setattr(module, name, watched)

    watch(leaf_table, "leaves_of", lambda arguments: arguments[1])
    watch(pcc, "grow", lambda arguments: arguments[1])
    return read


OTHERS = [COSTS["rank"], COSTS["accuracy"]]


@pytest.mark.parametrize("learner", [CLEMS, PCC])
@pytest.mark.parametrize("block", [4096, 30])
def test_every_row_is_read_once(learner, block, rows_read, monkeypatch):
    model = learner("f1", n_trees=5, random_state=0).fit(X[:160], Y[:160])
    monkeypatch.setattr(base, "BLOCK", block)
    blocks = [100] if block > 100 else [30, 30, 30, 10]
    for ask in (
        lambda: evaluate(model, X[160:], Y[160:]),
        lambda: answers_of(model, X[160:]),
        lambda: answers_of(model, X[160:], paper=True, others=OTHERS),
        lambda: answers_of(model, X[160:], "hamming", expected=False),
    ):
        rows_read.clear()
        ask()
        assert rows_read == blocks


@pytest.mark.parametrize("cost", [None, "hamming", "accuracy"])
@pytest.mark.parametrize("learner", [CLEMS, PCC])
def test_what_is_asked_at_once_is_what_is_asked_one_by_one(learner, cost):
    model = learner("f1", n_trees=5, random_state=0).fit(X[:160], Y[:160])
    found = answers_of(model, X[160:], cost, paper=True, others=OTHERS)
    assert np.array_equal(found.predicted, model.predict(X[160:], cost))
    assert np.array_equal(found.expected, model.expected_cost(X[160:], cost))
    assert np.array_equal(found.marginals, model.predict_proba(X[160:]))
    for own, wanted in zip(found.for_others, model.predict_each(X[160:], OTHERS), strict=True):
        assert np.array_equal(own, wanted)
    if learner is CLEMS:
        assert np.array_equal(found.nearest, model.with_decoder("nearest").predict(X[160:]))
    else:
        assert found.nearest is None
    less = answers_of(model, X[160:], cost, expected=False)
    assert np.array_equal(less.predicted, found.predicted)
    assert less.expected is less.nearest is None
    assert less.for_others == []
    if cost is None:
        one, other = evaluate_answers(model, found, Y[160:]), evaluate(model, X[160:], Y[160:])
        assert one.criteria == other.criteria
        pd.testing.assert_frame_equal(one.labels, other.labels)
        pd.testing.assert_frame_equal(one.reliability, other.reliability)


def test_criteria_of_all_rows_have_no_cost_of_single_rows():
    model = fitted("micro_f1")
    found = answers_of(model, X[160:])
    assert found.expected is None
    assert np.array_equal(found.predicted, model.predict(X[160:]))
    np.testing.assert_allclose(answers_of(model, X[160:], "f1").expected, model.expected_cost(X[160:], "f1"))


def test_learners_without_a_posterior_answer_what_they_can():
    model = BR(n_trees=3, random_state=0).fit(X[:160], Y[:160])
    found = answers_of(model, X[160:], paper=True)
    assert np.array_equal(found.predicted, model.predict(X[160:]))
    assert np.array_equal(found.marginals, model.predict_proba(X[160:]))
    assert found.expected is found.nearest is None
    model = SLEEC("f1", n_trees=3, random_state=0).fit(X[:160], Y[:160])
    found = answers_of(model, X[160:], "hamming", others=OTHERS)
    assert np.array_equal(found.predicted, model.predict(X[160:], "hamming"))
    assert found.marginals is found.expected is None
    for own, cost in zip(found.for_others, OTHERS, strict=True):
        assert np.array_equal(own, model.predict(X[160:], cost))
        assert own.dtype == np.uint8
