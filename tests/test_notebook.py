"""What things say of themselves: short in a console, as tables in a notebook, with names as text and not as HTML."""

import numpy as np
import pandas as pd
import pytest

from clems import CLEMS, get_cost, random_prices, weighted_hamming
from clems.datasets import Dataset, digit_scenes
from clems.evaluation import evaluate, savings
from clems.experiments import compare


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (get_cost("f1"), "<Cost f1>"),
        (get_cost("f_beta(2)"), "<Cost f_beta(2)>"),
        (get_cost("precision_at(3)"), "<Cost precision_at(3)>"),
        (get_cost("psp_at(3)"), "<Cost psp_at(3)>"),
        (random_prices(200, 5), "<Cost random_prices(200, 5)>"),
        (get_cost(lambda Y, P: abs(Y - P).sum(axis=1), name="own"), "<Cost own>"),
        (
            weighted_hamming({"a": 1, "b": 80.5}, 2, name="prices"),
            "<Cost prices: false negatives 1 to 80.5, false positives 2, 2 labels>",
        ),
        (weighted_hamming(3), "<Cost weighted_hamming: false negatives 3, false positives 1>"),
    ],
)
def test_costs_are_short(cost, said):
    assert repr(cost) == said
    assert cost.name in cost._repr_html_()


def test_prices_are_a_table_and_names_are_text():
    many = weighted_hamming({f"<b>{name}</b>": name + 1 for name in range(30)}, 2, name="<i>")
    page = many._repr_html_()
    assert page.count("<tr>") == 21
    assert "and 10 more labels" in page
    assert "<th>&lt;b&gt;0&lt;/b&gt;</th><td>1</td><td>2</td>" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<tr><th>0</th><td>4</td><td>7</td></tr>" in weighted_hamming([4, 5], 7)._repr_html_()


def test_datasets_evaluations_and_comparisons():
    X, Y = digit_scenes(160, random_state=0)
    names = ["<b>", *map(str, range(1, 10))]
    data = Dataset(X, Y, [f"p{i}" for i in range(X.shape[1])], names, "<s>")
    page = data._repr_html_()
    assert "&lt;s&gt;" in page
    assert "<s>" not in page
    assert "<tr><th>rows</th><td>160</td></tr>" in page
    prices = weighted_hamming(5, 1, name="prices")
    model = CLEMS(prices, n_trees=5, random_state=0).fit(X[:100], pd.DataFrame(Y[:100], columns=names))
    found = evaluate(model, X[100:], Y[100:], unit="€")
    lines = repr(found).splitlines()
    assert lines[:-1] == str(found.savings).splitlines()
    assert lines[-1].startswith("60 rows, 10 labels: hamming 0.")
    assert len(lines) == 6
    page = found._repr_html_()
    assert page.count("<table") == 4
    assert "<b>" not in page
    comparison = compare(data, prices, learners=["clems"], trees=3, repetitions=2, backend="serial")
    assert repr(comparison).startswith("<Comparison of 2 learners on <s> for prices: ")
    assert "<s>" not in comparison._repr_html_()
    assert "nothing done" in repr(compare(data, learners=["br"], budget=0, backend="serial"))


def test_labels_share_what_is_paid_and_saved():
    X, Y = digit_scenes(160, random_state=0)
    names = [f"d{digit}" for digit in range(10)]
    fn = np.arange(1.0, 11)
    model = CLEMS(weighted_hamming(dict(zip(names, fn, strict=True)), 2, name="prices"), n_trees=5, random_state=0)
    model.fit(X[:100], pd.DataFrame(Y[:100], columns=names))
    weight = np.linspace(0, 2, 60)
    found = savings(model, X[100:], Y[100:], sample_weight=weight)
    assert found.labels.index.tolist() == names
    assert found.labels["paid"].sum() == pytest.approx(found.paid)
    for way in found.table.index:
        assert found.labels[way].sum() == pytest.approx(found.table["saved"][way])
    truth, predicted = Y[100:], model.predict(X[100:])
    for label in range(10):  # one mistake after another
        mistakes = [
            (fn[label] if true else 2) * w
            for true, said, w in zip(truth[:, label], predicted[:, label], weight, strict=True)
            if true != said
        ]
        assert found.labels["paid"].iloc[label] == pytest.approx(sum(mistakes))
        nothing = (weight * truth[:, label]).sum() * fn[label] - sum(mistakes)
        assert found.labels["predicting nothing"].iloc[label] == pytest.approx(nothing)
    assert savings(CLEMS("f1", n_trees=3).fit(X, Y), X, Y).labels is None
    by_array = savings(predicted, None, truth, weighted_hamming(fn, 2), sample_weight=weight)
    np.testing.assert_allclose(by_array.labels["paid"], found.labels["paid"])
