"""Tables of an evaluation agree with scikit-learn, with the criteria and with each other."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import multilabel_confusion_matrix, precision_recall_fscore_support

from clems import BR, CLEMS, CRITERIA, weighted_hamming
from clems.datasets import digit_scenes
from clems.evaluation import evaluate, reliability

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


def test_reliability_keeps_the_means():
    model = fitted()
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
