"""Savings are sums of costs, expected and realised; the curve of rows handed over is what sorting by hand gives."""

import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from clems import BR, CLEMS, COSTS, PCC, get_cost, save, weighted_hamming
from clems.cli.app import main
from clems.datasets import digit_scenes
from clems.evaluation import abstention_curve, evaluate, plot, savings
from clems.evaluation.report import make_content, render
from clems.evaluation.savings import amount, best_constant

X, Y = digit_scenes(240, random_state=0)
Y = Y[:, :4]
NAMES = ["nil", "one", "two", "three"]
TRAIN, TEST = slice(0, 160), slice(160, 240)
PRICES = weighted_hamming([9, 2, 3, 5], [1, 2, 1, 3], "prices")
ORDER = ["½ thresholds", "predicting nothing", "predicting everything", "the best constant"]


@pytest.fixture(scope="module")
def model():
    return CLEMS(PRICES, n_trees=10, random_state=0).fit(X[TRAIN], pd.DataFrame(Y[TRAIN], columns=NAMES))


def rule(rows):
    return (np.asarray(rows)[:, 40:44] > 0.5).astype(int)


# Savings


@pytest.mark.parametrize("cost", [None, "f1", "accuracy"])
@pytest.mark.parametrize("learner", [CLEMS, PCC])
def test_realised_and_expected_savings_are_sums_of_costs(learner, cost):
    fitted = learner(PRICES, n_trees=5, random_state=0).fit(X[TRAIN], Y[TRAIN])
    row_cost = PRICES if cost is None else get_cost(cost)
    found = savings(fitted, X[TEST], Y[TEST], cost, unit="€", rule=rule, Y_train=Y[TRAIN])
    posterior, predicted = fitted.posterior(X[TEST], cost), fitted.predict(X[TEST], cost)

    def expected(labels):
        honest = fitted.paid_over_expected(cost) * posterior.expected_cost(labels, row_cost)
        return np.minimum(honest, row_cost.bound(4)).sum()

    others = {
        "½ thresholds": fitted.predict_proba(X[TEST]) > 0.5,
        "predicting nothing": np.zeros((80, 4), int),
        "predicting everything": np.ones((80, 4), int),
        "the best constant": None,
        "your rule": rule(X[TEST]),
    }
    assert found.table.index.tolist() == [*others]
    own = row_cost.rowwise(Y[TEST], predicted)
    assert found.paid == pytest.approx(own.sum())
    assert found.expected == pytest.approx(expected(predicted))
    for name, labels in others.items():
        if labels is None:
            continue
        line, costs = found.table.loc[name], row_cost.rowwise(Y[TEST], labels)
        assert line["paid"] == pytest.approx(costs.sum())
        assert line["saved"] == pytest.approx(costs.sum() - own.sum())
        assert line["saved_per_row"] == pytest.approx((costs - own).mean())
        assert line["expected"] == pytest.approx(expected(labels) - found.expected)
        assert line["low"] <= line["saved"] <= line["high"]
        assert line["low_per_row"] * 80 == pytest.approx(line["low"])


def test_intervals_are_of_the_differences_of_resampled_rows(model):
    found = savings(model, X[TEST], Y[TEST])
    saved = PRICES.rowwise(Y[TEST], np.zeros((80, 4), int)) - PRICES.rowwise(Y[TEST], model.predict(X[TEST]))
    drawn = np.random.default_rng(0).integers(80, size=(1000, 80))
    low, high = np.quantile(saved[drawn].sum(axis=1), [0.025, 0.975])
    assert found.table.loc["predicting nothing", ["low", "high"]].tolist() == pytest.approx([low, high])


@pytest.mark.parametrize("cost", ["f1", "rank", "hamming", "composition", "zero_one", PRICES])
def test_the_best_constant_is_the_best_on_training_rows(cost):
    row_cost = get_cost(cost)
    vectors = np.array([*product([0, 1], repeat=4)], np.uint8)
    found = savings(Y[TEST], None, Y[TEST], cost, Y_train=Y[TRAIN])
    means = np.array([row_cost.rowwise(Y[TRAIN], np.tile(one, (160, 1))).mean() for one in vectors])
    best = vectors[np.isclose(means, means.min())]
    paid = [row_cost.rowwise(Y[TEST], np.tile(one, (80, 1))).sum() for one in best]
    assert any(found.table.loc["the best constant", "paid"] == pytest.approx(one) for one in paid)


def test_the_candidates_of_a_model_are_its_training_rows(model):
    kept, given_again = (savings(model, X[TEST], Y[TEST], Y_train=rows) for rows in (None, Y[TRAIN]))
    pd.testing.assert_frame_equal(kept.table, given_again.table)
    assert best_constant(COSTS["hamming"], np.array([[0, 0], [1, 1]]), np.array([1.0, 3.0])).tolist() == [1, 1]


def test_predictions_save_what_their_model_saves(model):
    whole = savings(model, X[TEST], Y[TEST], rule=rule)
    given_rows = savings(
        model.predict(X[TEST]),
        X[TEST],
        sparse.csr_array(Y[TEST]),
        PRICES,
        rule=rule(X[TEST]),
        Y_train=Y[TRAIN],
        probabilities=model.predict_proba(X[TEST]),
    )
    columns = ["paid", "saved", "low", "high"]
    pd.testing.assert_frame_equal(whole.table[columns], given_rows.table[columns])
    assert given_rows.expected is None
    assert given_rows.table["expected"].isna().all()


def test_a_weight_of_two_is_a_row_twice(model):
    weight = np.arange(80) % 3
    once = savings(model, X[TEST], Y[TEST], sample_weight=weight)
    rows = np.repeat(np.arange(80), weight)
    twice = savings(model, X[TEST][rows], Y[TEST][rows])
    columns = ["paid", "saved", "saved_per_row", "expected"]
    pd.testing.assert_frame_equal(once.table[columns], twice.table[columns])
    assert (once.table["low"] <= once.table["saved"]).all()


def test_a_learner_without_expected_costs_saves_too():
    fitted = BR(n_trees=3, random_state=0).fit(X[TRAIN], Y[TRAIN])
    found = savings(fitted, X[TEST], Y[TEST], PRICES)
    assert found.expected is None
    assert found.paid == pytest.approx(PRICES.rowwise(Y[TEST], fitted.predict(X[TEST])).sum())
    assert found.lacking == ("Without the labels of training rows there is no comparison with the best constant.",)
    assert found.table.index.tolist() == ORDER[:3]


def test_it_reads_well():
    Y_true, P = np.array([[1, 0]] * 200), np.array([[1, 0]] * 150 + [[1, 1]] * 50)
    found = savings(P, None, Y_true, weighted_hamming(20, 13, "prices"), unit="€", rule=Y_true)
    assert str(found).splitlines() == [
        "prices: 650 € on 200 rows",
        "saves 3,350 € on 200 rows against predicting nothing (95 % interval 3,194 € to 3,493 €)",
        "saves 1,950 € on 200 rows against predicting everything (95 % interval 1,794 € to 2,093 €)",
        "costs 650 € more on 200 rows than your rule (95 % interval 507 € to 806 €)",
        "Without probabilities of labels there is no comparison with ½ thresholds.",
        "Without the labels of training rows there is no comparison with the best constant.",
    ]
    assert "<td>3,350 €</td>" in found._repr_html_()
    evil = savings(P, None, Y_true, "f1", unit="<script>")
    assert "<script>" not in evil._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (-1e-9, "−1e-09"), (99.96, "100"), (1234567.8, "1,234,568"), (np.nan, "–")]
)
def test_amounts(value, text):
    assert amount(value) == text


def test_wrong_input_gets_a_sentence(model):
    rows = X[TEST], Y[TEST]
    with pytest.raises(ValueError, match="micro_f1 is no cost of single rows, so no row saves any of it"):
        savings(model, *rows, "micro_f1")
    with pytest.raises(ValueError, match="macro_f1 is no cost of single rows"):
        savings(Y[TEST], None, Y[TEST], "macro_f1")
    with pytest.raises(ValueError, match="What a row costs must be given"):
        savings(Y[TEST], None, Y[TEST])
    with pytest.raises(TypeError, match=r"A LogisticRegression is no learner of clems; give what it predicts"):
        savings(LogisticRegression(), *rows)
    with pytest.raises(
        ValueError, match=r"rule must predict labels of the shape of Y, \(80, 4\); it predicts \(79, 4\)"
    ):
        savings(model, *rows, rule=Y[TEST][1:])
    with pytest.raises(ValueError, match=r"rule must predict labels of the shape of Y"):
        savings(Y[TEST], None, Y[TEST], "f1", rule=Y[TEST][1:])
    with pytest.raises(ValueError, match="probabilities must be between 0 and 1"):
        savings(Y[TEST], None, Y[TEST], "f1", probabilities=Y[TEST] + 1)
    with pytest.raises(ValueError, match=r"probabilities must have the shape \(80, 4\)"):
        savings(Y[TEST], None, Y[TEST], "f1", probabilities=[0.5])
    with pytest.raises(ValueError, match="probabilities belong to predictions"):
        savings(model, *rows, probabilities=Y[TEST])
    with pytest.raises(ValueError, match="rows that are handed over have no cost of their own"):
        savings(model.predict(X[TEST], abstain_at=1), *rows, "f1")
    with pytest.raises(ValueError, match="must have the same shape"):
        savings(Y[TEST][1:], None, Y[TEST], "f1")


# Rows handed over


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=7),
    st.sampled_from([0.0, 0.5]),
)
def test_the_curve_is_the_mean_over_all_orders_of_rows_expected_alike(rows, price):
    expected, realised = np.array(rows, float).T
    n = len(rows)
    curve = abstention_curve(expected, realised, price, steps=n)
    assert curve["share"].tolist() == pytest.approx(np.arange(n + 1) / n)
    for k, line in enumerate(curve.itertuples()):
        # Rows surely decided, and the mean of those among which chance decides.
        border = np.sort(expected)[n - k - 1] if k < n else -1
        sure, tied = expected < border, expected == border
        paid = realised[sure].sum() + (n - k - sure.sum()) * (realised[tied].mean() if k < n else 0)
        assert line.cost == pytest.approx(paid / n + price * k / n)
        assert line.perfect == pytest.approx(np.sort(realised)[: n - k].sum() / n + price * k / n)
        assert line.random == pytest.approx(realised.mean() * (n - k) / n + price * k / n)
        if k < n:
            assert line.decided == pytest.approx(paid / (n - k))
            assert line.threshold == border
    assert np.isnan(curve["decided"].iloc[-1])


def test_evaluate_has_the_curve_and_the_savings(model):
    found = evaluate(model, X[TEST], Y[TEST], unit="€", abstain_at=0.7)
    expected, realised = model.expected_cost(X[TEST]), PRICES.rowwise(Y[TEST], model.predict(X[TEST]))
    pd.testing.assert_frame_equal(found.abstention, abstention_curve(expected, realised, 0.7))
    pd.testing.assert_frame_equal(found.savings.table, savings(model, X[TEST], Y[TEST]).table)
    assert found.savings.unit == "€"
    with pytest.raises(ValueError, match="abstain_at must be None or a finite number of at least 0; got -1"):
        evaluate(model, X[TEST], Y[TEST], abstain_at=-1)


def test_criteria_of_all_rows_have_neither():
    fitted = CLEMS("micro_f1", n_trees=3, random_state=0).fit(X[TRAIN], Y[TRAIN])
    found = evaluate(fitted, X[TEST], Y[TEST])
    assert found.savings is None
    assert found.abstention is None
    page = render(make_content(fitted, X[TEST], Y[TEST]))
    assert "micro F1 belongs to all rows together" in page
    assert "does not say which rows to hand over" in page
    with pytest.raises(ValueError, match="does not compute what a single row is expected to cost"):
        plot.abstention(fitted, X[TEST], Y[TEST])


# In the report and on the command line


def test_the_report_says_what_is_saved_and_what_handing_over_is_worth(model):
    content = make_content(model, X[TEST], Y[TEST], unit="€", abstain_at=2.5)
    page = render(content)
    for sentence in content.evaluation.savings.sentences[:2]:
        assert f"<li>It {sentence}.</li>" in page
    for line in content.evaluation.savings.table.itertuples():
        assert f"<td>{amount(line.low, '€')} to {amount(line.high, '€')}</td>" in page
    over = model.expected_cost(X[TEST]) > 2.5
    costs = PRICES.rowwise(Y[TEST], model.predict(X[TEST]))
    assert f"expected to cost more are {over.mean():.0%} of all" in page
    assert f"a row costs {amount(np.where(over, 2.5, costs).mean(), '€')} in the mean" in page
    free = make_content(model, X[TEST], Y[TEST]).handing_over
    half = np.argsort(model.expected_cost(X[TEST]), kind="stable")[:40]
    assert f"expects to cost least costs {amount(costs[half].mean())} a row" in free
    assert make_content(model, X[160:161], Y[160:161]).handing_over == ""


def test_the_figure_shows_the_curve(model):
    figure = plot.abstention(model, X[TEST], Y[TEST], abstain_at=2)
    curve = evaluate(model, X[TEST], Y[TEST], abstain_at=2).abstention
    points = re.findall(r'class="dot accent" cx="([\d.]+)%" cy="([\d.]+)"', figure.body)
    across, down = (np.array([float(point[axis]) for point in points]) for axis in (0, 1))
    assert across == pytest.approx((100 * curve["share"]).to_numpy(), abs=0.01)
    highest = 1.06 * curve[["cost", "random"]].to_numpy().max()
    assert highest * (1 - down / figure.height) == pytest.approx(curve["cost"].to_numpy(), abs=1e-3 * highest)


def test_the_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pixels = [f"p{k}" for k in range(X.shape[1])]
    frame = pd.DataFrame(np.hstack([X, Y]), columns=[*pixels, *NAMES]).astype(dict.fromkeys(NAMES, int))
    fitted = CLEMS(PRICES, n_trees=5, random_state=0).fit(frame.loc[:159, pixels], frame.loc[:159, NAMES])
    save(fitted, "model.clems")
    frame[160:].to_csv("test.csv", index=False)

    def run(*words):
        with pytest.raises(SystemExit) as end:
            main([*words])
        assert end.value.code == 0
        return capsys.readouterr().out

    found = json.loads(run("evaluate", "model.clems", "test.csv", "--unit", "€", "--abstain-at", "0.5", "--json"))
    wanted = evaluate(fitted, frame.loc[160:, pixels], Y[TEST], unit="€", abstain_at=0.5)
    assert found["savings"]["unit"] == "€"
    assert found["savings"]["paid"] == pytest.approx(wanted.savings.paid)
    saved = {name: line["saved"] for name, line in found["savings"]["against"].items()}
    assert saved == pytest.approx(wanted.savings.table["saved"].to_dict())
    assert found["abstention"][0]["cost"] == pytest.approx(wanted.abstention["cost"][0])
    assert found["abstention"][-1]["decided"] is None
    shown = run("evaluate", "model.clems", "test.csv", "--unit", "€")
    assert "Savings in €" in shown
    assert "Mean cost by the share of rows handed over" in shown
    run("report", "model.clems", "test.csv", "--unit", "€", "--abstain-at", "0.5")
    page = (tmp_path / "report.html").read_text()
    assert f"It {wanted.savings.sentences[0]}." in page
    assert "At a price of 0.5 € a row" in page


def test_the_page_on_savings_prints_what_it_shows(capsys):
    blocks = Path(__file__).parents[1].joinpath("docs/savings.md").read_text().split("```")[1::2]
    code, shown = blocks[::2], blocks[1::2]
    assert len(code) == len(shown) == 3
    names = {}
    for block, wanted in zip(code, shown, strict=True):
        exec(block.removeprefix("python\n"), names)
        assert capsys.readouterr().out == wanted.removeprefix("\n")
