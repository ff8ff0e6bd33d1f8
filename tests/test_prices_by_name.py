"""Prices by name are matched to labels wherever a cost meets them, whatever their order, and never by position."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from clems import (
    BR,
    CFT,
    CLEMS,
    PCC,
    SLEEC,
    GuaranteedCost,
    Posterior,
    decide,
    get_criterion,
    load,
    read_prices,
    save,
    weighted_hamming,
)
from clems.cli.app import main
from clems.datasets import Dataset
from clems.decisions.decide import decide as decide_of
from clems.evaluation import bootstrap, evaluate, savings
from clems.evaluation.report import make_content, render
from clems.experiments import compare
from clems.experiments.loading import read_spec
from clems.experiments.plan import make_plan
from clems.experiments.trial import run_trial

NAMES = ["billing", "bug", "outage", "urgent"]
FN, FP = [2, 1, 40, 120], [1, 3, 2, 5]
TABLE = pd.DataFrame({"false_negative": FN, "false_positive": FP}, index=NAMES)
SHUFFLED = TABLE.loc[["urgent", "bug", "billing", "outage"]]
RIGHT = weighted_hamming(FN, FP)
WRONG = weighted_hamming(SHUFFLED["false_negative"].tolist(), SHUFFLED["false_positive"].tolist())  # as 0.1 took it

random = np.random.default_rng(0)
X = random.normal(size=(150, 4))
Y = pd.DataFrame((X + random.normal(size=X.shape) > [0.3, 0.5, 1, 1.2]).astype(int), columns=NAMES)
NEW, TRUE = X[100:], Y[100:]


def in_a_file(tmp_path):
    path = tmp_path / "prices.csv"
    SHUFFLED.to_csv(path, index_label="label")
    return read_prices(path)


FORMS = {
    "dicts": lambda _: weighted_hamming(SHUFFLED["false_negative"].to_dict(), TABLE["false_positive"].to_dict()),
    "Series": lambda _: weighted_hamming(SHUFFLED["false_negative"], TABLE["false_positive"]),
    "DataFrame": lambda _: weighted_hamming(SHUFFLED),
    "column": lambda _: weighted_hamming(SHUFFLED.rename_axis("label").reset_index()),
    "file": in_a_file,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_prices_in_the_order_of_the_labels(form, tmp_path):
    cost = FORMS[form](tmp_path)
    resolved = cost.for_labels(NAMES)
    assert (resolved.false_negative, resolved.false_positive) == (tuple(FN), tuple(FP))
    assert (resolved.threshold, resolved.symmetric, resolved.separating) == (
        RIGHT.threshold,
        RIGHT.symmetric,
        RIGHT.separating,
    )
    assert pickle.loads(pickle.dumps(cost)) == cost
    assert hash(cost) != hash(resolved)
    P = 1 - TRUE
    for truth, predicted in ((TRUE, P), (TRUE, P.to_numpy()), (TRUE.to_numpy(), P), (TRUE, P[SHUFFLED.index])):
        np.testing.assert_array_equal(cost.rowwise(truth, predicted), RIGHT.rowwise(TRUE, P))
        np.testing.assert_array_equal(cost.pairwise(truth, predicted), RIGHT.pairwise(TRUE, P))
    assert RIGHT.for_labels(["any", "names", "at", "all"]) is RIGHT


@pytest.mark.parametrize("learner", [CLEMS, PCC, CFT, SLEEC])
def test_the_order_of_prices_makes_no_difference_to_a_learner(learner, tmp_path):
    def fitted(cost):
        return learner(cost=cost, n_trees=3, random_state=0).fit(X[:100], Y[:100])

    cost = weighted_hamming(SHUFFLED["false_negative"], SHUFFLED["false_positive"])
    model, right = fitted(cost), fitted(RIGHT)
    predicted = right.predict(NEW)
    assert model.cost_ == RIGHT
    np.testing.assert_array_equal(model.predict(NEW), predicted)
    assert model.score(NEW, TRUE[SHUFFLED.index]) == right.score(NEW, TRUE) == -RIGHT.rowwise(TRUE, predicted).mean()
    np.testing.assert_array_equal(clone(model).fit(X[:100], Y[:100]).predict(NEW), predicted)
    save(model, tmp_path / "model.clems")
    again = load(tmp_path / "model.clems")
    assert (again.cost, again.cost_) == (cost, RIGHT)
    np.testing.assert_array_equal(again.predict(NEW), predicted)
    found = evaluate(again, NEW, TRUE)
    assert found.criteria["weighted_hamming"] == pytest.approx(RIGHT.rowwise(TRUE, predicted).mean())
    assert found.labels["price"].sum() == pytest.approx(RIGHT.rowwise(TRUE, predicted).sum())
    if learner is PCC:
        assert RIGHT.rowwise(TRUE, predicted).mean() < RIGHT.rowwise(TRUE, fitted(WRONG).predict(NEW)).mean()


@pytest.mark.parametrize("learner", [CLEMS, PCC, SLEEC])
def test_prices_for_predict(learner):
    model = learner(cost="f1", n_trees=3, random_state=0).fit(X[:100], Y[:100])
    cost = weighted_hamming(SHUFFLED)
    predicted = model.predict(NEW, cost=RIGHT)
    np.testing.assert_array_equal(model.predict(NEW, cost=cost), predicted)
    np.testing.assert_array_equal(model.predict_each(NEW, [cost])[0], predicted)
    if learner is not SLEEC:
        np.testing.assert_array_equal(model.expected_cost(NEW, cost=cost), model.expected_cost(NEW, cost=RIGHT))
        np.testing.assert_array_equal(model.decide(model.posterior(NEW), cost), predicted)
        np.testing.assert_array_equal(model.top_k(NEW, 2, cost).labels, model.top_k(NEW, 2, RIGHT).labels)
    with pytest.raises(ValueError, match="weighted_hamming has no price for 'urgent'; the labels are 'billing', 'bug'"):
        model.predict(NEW, cost=weighted_hamming(SHUFFLED.drop("urgent")))


def test_label_sets_have_names_too():
    sets = [[name for name, there in zip(NAMES, row, strict=True) if there] for row in Y.to_numpy()]
    model = PCC(cost=weighted_hamming(SHUFFLED), n_trees=3, random_state=0).fit(X, sets)
    assert model.cost_ == RIGHT


def test_labels_without_names_are_numbers():
    prices = pd.Series(FN[::-1], index=[3, 2, 1, 0])
    model = PCC(cost=weighted_hamming(prices), n_trees=3, random_state=0).fit(X, Y.to_numpy())
    assert model.cost_.false_negative == tuple(FN)
    numbered = weighted_hamming(pd.Series(FN))  # an index that nobody gave is 0, 1, 2 and so on
    np.testing.assert_array_equal(
        numbered.rowwise(TRUE.to_numpy(), 1 - TRUE.to_numpy()), weighted_hamming(FN).rowwise(TRUE, 1 - TRUE)
    )
    with pytest.raises(ValueError, match=r"names '0', '1', '2', '3', which are no labels.*a Series is matched by its"):
        numbered.rowwise(TRUE, 1 - TRUE)


def test_criteria_and_scorers():
    cost, P = weighted_hamming(SHUFFLED), 1 - TRUE
    mean = RIGHT.rowwise(TRUE, P).mean()
    assert get_criterion(cost)(TRUE, P) == get_criterion(cost)(TRUE, P.to_numpy()) == mean
    assert bootstrap({"all wrong": P.to_numpy()}, TRUE, [cost, "f1"], n_resamples=5).value.tolist() == [[mean, 0]]
    model = PCC(n_trees=3, random_state=0).fit(X[:100], Y[:100])
    assert get_criterion(cost).scorer(model, NEW, TRUE) == get_criterion(RIGHT).scorer(model, NEW, TRUE)


def test_savings_and_guarantees():
    cost = weighted_hamming(SHUFFLED)
    model = PCC(n_trees=3, random_state=0).fit(X[:100], Y[:100])
    P = pd.DataFrame(model.predict(NEW), columns=NAMES)
    blind = BR(n_trees=3, random_state=0).fit(X[:100], Y[:100])
    for asked, truth in ((model, TRUE), (blind, TRUE), (P, TRUE), (P[SHUFFLED.index], TRUE), (P.to_numpy(), TRUE)):
        by_name, by_position = (savings(asked, NEW, truth, one, Y_train=Y[:100]) for one in (cost, RIGHT))
        pd.testing.assert_frame_equal(by_name.table, by_position.table)
    pd.testing.assert_frame_equal(
        savings(P[SHUFFLED.index], NEW, TRUE, RIGHT).table, savings(P.to_numpy(), NEW, TRUE, RIGHT).table
    )
    for given in (model, Other(model)):
        promised = [GuaranteedCost(given, level=30, cost=one).fit(NEW, TRUE) for one in (cost, RIGHT)]
        assert promised[0].threshold_ == promised[1].threshold_
        assert promised[0].criterion_.cost == RIGHT


class Other:
    """A model that is no learner of clems."""

    def __init__(self, model):
        self.predict = model.predict
        self.expected_cost = model.expected_cost


def test_a_report_and_a_comparison():
    model = PCC(cost=weighted_hamming(SHUFFLED, name="euros"), n_trees=3, random_state=0).fit(X[:100], Y[:100])
    assert "euros" in render(make_content(model, NEW, TRUE))
    data = Dataset(X, Y.to_numpy(), [*"abcd"], NAMES)
    options = {"learners": ["pcc", "br"], "repetitions": 2, "trees": 3, "backend": "serial"}
    by_name, by_position = (compare(data, cost, **options).table for cost in (weighted_hamming(SHUFFLED), RIGHT))
    pd.testing.assert_series_equal(by_name["mean"], by_position["mean"])
    with pytest.raises(ValueError, match="names 'x', which is no label"):
        compare(data, weighted_hamming({**TABLE["false_negative"], "x": 1}), **options)


def test_the_command_and_an_experiment_match_by_name(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    in_a_file(tmp_path)
    pd.concat([pd.DataFrame(X, columns=[*"abcd"]), Y], axis=1).to_csv("rows.csv", index=False)
    fit = ["fit", "rows.csv", "--labels", ",".join(NAMES), "--learner", "pcc", "--set", "n_trees=3", "-o"]

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main([*arguments])
        return end.value.code, capfd.readouterr().err

    assert run(*fit, "model.clems", "--cost", "prices.csv")[0] == 0
    model = load("model.clems")
    assert (model.cost_.false_negative, model.cost_.name) == (tuple(FN), "prices.csv")
    assert run("predict", "model.clems", "rows.csv", "--cost", "prices.csv", "-o", "out.csv")[0] == 0
    assert np.array_equal(pd.read_csv("out.csv")[NAMES], model.predict(pd.DataFrame(X, columns=[*"abcd"])))
    TABLE.drop("bug").to_csv("few.csv", index_label="label")
    few = "Error: few.csv has no price for 'bug'; the labels are 'billing', 'bug', 'outage', 'urgent'.\n"
    assert run(*fit, "other.clems", "--cost", "few.csv") == (1, few)
    assert run("predict", "model.clems", "rows.csv", "--cost", "few.csv", "-o", "other.csv") == (1, few)
    assert run("compare", "rows.csv", "--labels", ",".join(NAMES), "--cost", "few.csv", "--learners", "br") == (1, few)
    assert not [*tmp_path.glob("other*")]

    tmp_path.joinpath("spec.toml").write_text(
        'title = "t"\ndatasets = ["rows"]\ncriteria = ["euros", "precision_at(2)"]\nrepetitions = 1\ntrees = 3\n'
        '[data.rows]\npath = "rows.csv"\noptions = {labels = ' + json.dumps(NAMES) + "}\n"
        '[costs]\neuros = "prices.csv"\n[learners.br]\n'
    )
    monkeypatch.chdir("/")
    spec = read_spec(tmp_path / "spec.toml")
    (planned,) = make_plan(spec).planned
    record = run_trial(planned.trial, spec.load("rows"), spec.own_costs())
    test = record["decisions"][0]["test"]
    assert 0 < test["precision_at(2)"] < 1 < test["euros"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (({},), "false_negative of weighted_hamming is empty"),
        (({"a": 1, "b": -1},), "false_negative of weighted_hamming is -1 for 'b'; a price is a number of at least 0"),
        (({"a": 1}, {"a": "x"}), "false_positive of weighted_hamming is 'x' for 'a'"),
        (({"a": 1, "b": 2}, [1, 2]), "prices by name and by position; give both by name"),
        (({"a": 1, "b": 2}, {"a": 1}), "false_positive of weighted_hamming has no price for 'b'"),
        ((pd.Series([1, 2], index=["a", "a"]),), "names the label 'a' twice"),
        ((pd.DataFrame({"fn": [1]}, index=["a"]),), "with the columns 'fn'; prices are in the columns false_negative"),
        ((pd.DataFrame({"false_negative": [1], "false_positives": [1]}),), "of which one may be left out"),
        ((TABLE, 2), "has false_positive prices twice"),
    ],
)
def test_what_is_wrong_is_said(given, said):
    with pytest.raises(ValueError, match=said):
        weighted_hamming(*given)


def test_one_kind_of_price_may_be_left_out():
    for given in ((TABLE[["false_negative"]],), (TABLE["false_negative"],)):
        assert weighted_hamming(*given).for_labels(NAMES) == weighted_hamming(FN)
    for given in ((TABLE[["false_positive"]],), (1, TABLE["false_positive"])):
        assert weighted_hamming(*given).for_labels(NAMES) == weighted_hamming(1, FP)


def test_without_names_nothing_is_computed():
    cost = weighted_hamming(SHUFFLED)
    with pytest.raises(ValueError, match=r"is by name \('urgent', .*\), but the 4 labels here have no names"):
        cost.rowwise(TRUE.to_numpy(), TRUE.to_numpy())
    posterior = PCC(n_trees=3, random_state=0).fit(X[:100], Y[:100]).posterior(NEW)
    with pytest.raises(ValueError, match="the 4 labels here have no names"):
        posterior.decide(cost)
    with pytest.raises(ValueError, match="the labels here have no names; ask a fitted model, which knows them"):
        decide_of(posterior, cost)


def test_probabilities_with_names():
    P = pd.DataFrame(np.random.default_rng(1).random((20, 4)), columns=NAMES)
    cost = weighted_hamming(SHUFFLED)
    for options in ({}, {"at_most": 1}, {"candidates": Y}):
        np.testing.assert_array_equal(decide(P, cost, **options), decide(P.to_numpy(), RIGHT, **options))
        np.testing.assert_array_equal(decide(P[SHUFFLED.index], cost)[:, [2, 1, 3, 0]], decide(P, RIGHT))
    posterior = Posterior.from_marginals(P)
    np.testing.assert_array_equal(posterior.expected_cost(TRUE[:20], cost), posterior.expected_cost(TRUE[:20], RIGHT))
    np.testing.assert_array_equal(posterior.top_k(2, cost).labels, posterior.top_k(2, RIGHT).labels)
    np.testing.assert_array_equal(decide(P.to_numpy(), cost, candidates=Y), decide(P, RIGHT, candidates=Y))
    with pytest.raises(ValueError, match="but the 4 labels here have no names"):
        decide(P.to_numpy(), cost)


def test_columns_of_two_frames_are_matched_for_every_cost():
    P = pd.DataFrame(random.integers(0, 2, TRUE.shape), columns=NAMES, index=TRUE.index)
    for name in ("f1", "hamming", "macro_f1"):
        assert get_criterion(name)(TRUE, P[SHUFFLED.index]) == get_criterion(name)(TRUE, P)
