"""Learners compared on one's own data in one call."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from clems import BR, CLEMS, CostSensitiveClassifier, Pipeline, TableEncoder, weighted_hamming
from clems.datasets import Dataset, digit_scenes, from_frame
from clems.evaluation import savings
from clems.experiments import compare
from clems.experiments.analysis.saved import BASELINE
from clems.experiments.analysis.selection import results
from clems.experiments.analysis.significance import corrected_t_test, holm, told_apart_in_words
from clems.experiments.trial import Data, parts_of
from clems.learners.pipeline import reach


def small(n=160):
    X, Y = digit_scenes(n, random_state=0)
    return Dataset(X, Y, [f"pixel {i}" for i in range(X.shape[1])], [str(i) for i in range(10)], "scenes")


def test_compare_finds_what_a_loop_would(tmp_path):
    settings = {"repetitions": 2, "trees": 5, "depths": [3, 6], "backend": "serial"}
    found = compare(small(), "f1", learners=["br", "clems"], store=tmp_path, **settings)
    table = found.table
    assert {*table.index} == {"br", "clems", BASELINE}
    assert table["mean"].is_monotonic_decreasing
    assert found.best == table.index[0]
    values = results(found.plan, found.records).pivot(index="repetition", columns="learner", values="value")
    assert np.allclose(values.mean()[table.index], table["mean"])
    assert np.allclose(values.sem()[table.index], table["standard_error"])
    assert "F1 ↑" in str(found)
    assert (table[["fit_seconds", "predict_seconds"]] > 0).all(axis=None)
    again = compare(small(), "f1", learners=["br", "clems"], store=tmp_path, **settings)
    assert again.records == found.records  # seconds included: nothing was run again


def test_p_values_are_corrected_for_the_number_of_rivals_as_in_the_report():
    settings = {"learners": ["br", "cc", "pcc", "clems"], "repetitions": 3, "trees": 5, "depths": [4]}
    found = compare(small(), "f1", **settings, backend="serial")
    repetitions = results(found.plan, found.records)
    values = repetitions.pivot(index="repetition", columns="learner", values="value")
    best, *rivals = found.table.index
    ratio = repetitions["test_ratio"].mean()
    wanted = holm([corrected_t_test(values[best] - values[rival], ratio) for rival in rivals])
    assert np.isnan(found.table["p"][best])
    assert found.table["p"][rivals].tolist() == pytest.approx(wanted.tolist())
    assert str(found).count("≈") - 1 == (found.table["p"] >= 0.05).sum()  # one is in the note


def test_compare_takes_prices_and_functions():
    prices = weighted_hamming([9.0] + [1.0] * 9)

    def forgotten(Y, P):
        return ((Y == 1) & (P == 0)).sum(axis=1)

    settings = {"learners": ["br", "clems"], "repetitions": 2, "trees": 20, "depths": [4], "backend": "serial"}
    assert compare(small(), prices, **settings).table["mean"].is_monotonic_increasing
    found = compare(small(), forgotten, **settings)
    assert found.table["mean"]["clems"] < found.table["mean"]["br"] / 10  # which predicts nearly all for everyone


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learners": ["svm"]}, "compare: learners.svm.kind: there is no learner 'svm'; allowed are bcs, br, c2ae, cc"),
        ({"cost": "f3"}, "Unknown cost 'f3'"),
        ({"cost": "micro_f1", "learners": ["pcc"]}, "compare: none of the learners has a rule for 'micro_f1'"),
        ({"repetitions": 0}, "compare: repetitions: Input should be greater than or equal to 1"),
        ({"cost": lambda Y, P: abs(Y - P).sum(axis=1)}, "cannot be sent to other processes; define it in a module"),
        ({"backend": "cloud"}, "No backend 'cloud'"),
        ({"learners": {"x": {"model": 3}}}, "compare: learners.x: model must be an estimator of scikit-learn's form"),
        ({"learners": {"x": {"model": CLEMS(), "parameters": {"n_trees": 2}}}}, "model has its own parameters"),
        ({"learners": {"x": {"model": BR(), "cost": "f1"}}}, "BR takes no cost"),
        ({"learners": ["given"]}, "model must be an estimator"),
        (
            {"learners": [make_pipeline(FunctionTransformer(lambda X: X), CLEMS())]},
            "the model 'pipeline of CLEMS' has parts that other processes cannot import",
        ),
    ],
)
def test_compare_refuses_in_one_sentence(settings, message):
    with pytest.raises(ValueError, match=message):
        compare(small(), **settings)


def test_the_best_by_an_f_measure_is_the_one_that_scores_most():
    learners = {"good": {"kind": "clems"}, "bad": {"kind": "br", "parameters": {"n_trees": 1}}}
    found = compare(small(), "f_beta(2)", learners=learners, trees=20, repetitions=2, backend="serial")
    assert found.best == "good"
    assert found.savings["saved"]["good", BASELINE] > 0
    assert found.table["mean"].is_monotonic_decreasing  # scores, as of f1


def test_nothing_done_has_no_best():
    found = compare(small(), learners="br", budget=0, backend="serial")
    with pytest.raises(ValueError, match="none is best"):
        _ = found.best
    with pytest.raises(TypeError, match="data must be a Dataset"):
        compare((1, 2))


@pytest.mark.parametrize(("backend", "from_file"), [("local", True), ("local", False), ("dask", True)])
def test_a_script_is_not_run_again_by_the_processes_that_it_starts(backend, from_file, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from clems.datasets import load_dataset\n"
        "from clems.experiments import compare\n"
        "print('begun')\n"
        "scenes = load_dataset('digit-scenes').take(slice(80))\n"
        "how = dict(learners=['br', 'clems'], repetitions=1, trees=2, depths=[2], jobs=2)\n"
        f"print(compare(scenes, **how, backend={backend!r}).table.shape)\n"
    )
    arguments, given = ([script], "") if from_file else ([], script.read_text())
    ended = subprocess.run([sys.executable, *arguments], input=given, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[:1] == ["begun"]
    assert len(ended.stdout.splitlines()) == 2


def messy(n=160):
    """Text, gaps, a date, an id and tags."""
    rng = np.random.default_rng(0)
    Y = rng.random((n, 2)) < [0.4, 0.2]
    words = [
        " ".join(["bitte das", "drucker" if a else "", "sofort" if b else "", rng.choice(["neu", "alt"])]) for a, b in Y
    ]
    frame = {
        "id": [f"T{row}" for row in range(n)],
        "text": [f"{text} {rng.choice(['büro', 'lager', 'hof'])} geht nicht" for text in words],
        "country": pd.Series(rng.choice(["DE", "AT"], n)).where(rng.random(n) > 0.2),
        "created": pd.date_range("2025-01-01", periods=n, freq="7h").strftime("%d.%m.%Y %H:%M"),
        "hours": pd.Series(rng.normal(8, 2, n).round(1)).where(rng.random(n) > 0.2),
        "tags": [";".join(np.array(["Drucker", "Eilt"])[row]) for row in Y],
    }
    return from_frame(pd.DataFrame(frame), tags="tags", separator=";", row_id="id", name="tickets")


def test_pipelines_take_part_with_the_columns_as_they_came():
    data, prices = messy(), weighted_hamming({"Drucker": 20, "Eilt": 20}, 1, name="prices")
    by_hand = make_column_transformer(
        (TfidfVectorizer(), "text"), (OneHotEncoder(handle_unknown="ignore"), ["country"])
    )
    models = {
        "hand": make_pipeline(by_hand, CostSensitiveClassifier(LogisticRegression())),
        "table": Pipeline([("columns", TableEncoder()), ("learner", CLEMS("f1", n_trees=10))]),
        "bare": CLEMS("f1", n_trees=10),
        "for f1": {"model": CLEMS(n_trees=10), "cost": "f1"},
    }
    found = compare(data, prices, learners={"br": {}, **models}, unit="€", repetitions=2, trees=10, jobs=2)
    assert found.table["mean"].notna().all(), str(found)
    assert found.table["mean"]["for f1"] > found.table["mean"]["bare"]  # which is trained for the prices
    for planned in found.plan.planned:  # each as a loop over the splits has it
        if planned.learner not in ("hand", "table"):
            continue
        parts = parts_of(planned.trial, Data(data))
        model = clone(models[planned.learner])
        model.steps[-1][1].set_params(cost=prices)
        seed = planned.trial.seed_for(planned.trial.parameters)
        unseeded = [name for name in model.get_params() if name.endswith("random_state")]
        model.set_params(**dict.fromkeys(unseeded, seed))
        Y = data.Y.toarray()
        model.fit(data.table.iloc[parts.train], pd.DataFrame(Y[parts.train], columns=data.label_names))
        learner, X, _ = reach(model, data.table.iloc[parts.test])
        theirs = savings(learner, X, Y[parts.test])
        values = results(found.plan, found.records).set_index(["learner", "repetition"])
        ours = values.loc[(planned.learner, planned.trial.repetition)]
        assert ours["value"] == pytest.approx(theirs.paid / len(parts.test), rel=1e-5)
        assert ours["half"] == pytest.approx(theirs.table["paid"]["½ thresholds"] / len(parts.test), rel=1e-5)
        assert ours["expected"] == pytest.approx(theirs.expected / len(parts.test), rel=1e-5)
    assert "€ a row against predicting nothing" in str(found)
    assert models["table"].steps[-1][1].cost == "f1"  # what was given is as it was


def test_savings_are_those_of_a_loop_over_the_splits():
    data, prices = small(), weighted_hamming([9.0] + [1.0] * 9, name="prices")
    found = compare(data, prices, learners=["clems"], repetitions=3, trees=5, backend="serial")
    values = results(found.plan, found.records).pivot(index="repetition", columns="learner", values="value")
    paid = {"predicting nothing": [], "predicting everything": [], "the best constant": [], BASELINE: []}
    for repetition in range(3):
        trial = next(
            one.trial for one in found.plan.planned if one.trial.repetition == repetition and one.learner == BASELINE
        )
        parts = parts_of(trial, Data(data))
        truth, before = data.Y[parts.test], np.concatenate([parts.train, parts.validation])
        forest = RandomForestClassifier(5, random_state=trial.seed_for(trial.parameters))
        forest.fit(data.X[parts.train], data.Y[parts.train])
        against = savings(np.zeros_like(truth), None, truth, prices, Y_train=data.Y[before]).table["paid"]
        for way in [*paid][:3]:
            paid[way].append(against[way] / len(truth))
        paid[BASELINE].append(prices.rowwise(truth, forest.predict(data.X[parts.test])).mean())
    for way, theirs in paid.items():
        line = found.savings.loc["clems", way]
        assert line["paid"] == pytest.approx(np.mean(theirs), rel=1e-5)
        assert line["saved"] == pytest.approx((np.array(theirs) - values["clems"]).mean(), rel=1e-4)
        assert line["low"] < line["saved"] < line["high"]


def test_criteria_of_all_rows_together_have_no_savings():
    found = compare(small(), "micro_f1", learners=["clems"], repetitions=2, trees=5, backend="serial")
    assert found.savings is None
    assert found.sentences


def lines(**values):
    """Results of learners, a value per repetition."""
    frame = [
        {"dataset": "d", "criterion": "hamming", "learner": name, "x": np.nan, "repetition": at, "value": value}
        for name, some in values.items()
        for at, value in enumerate(some)
    ]
    return pd.DataFrame(frame).assign(test_ratio=1 / 3, options_missing=0)


def _told(mean, deviation, J, rivals):
    """Whether the test sees differences of a mean and a standard deviation in J repetitions."""
    z = np.arange(J) - (J - 1) / 2
    return corrected_t_test(mean + deviation * z / z.std(ddof=1), 1 / 3) < 0.05 / rivals


def test_it_says_when_repetitions_tell_nothing_apart():
    assert told_apart_in_words(lines(a=[1.0], b=[2.0])) == [
        "1 repetition tells nothing apart, as one value has no spread; use 5 or more."
    ]
    said = told_apart_in_words(lines(a=[1.0, 1.2, 1.1], b=[1.1, 1.0, 1.3]))
    assert said == [
        "3 repetitions tell nothing apart: no rival is worse than a by more than chance.",
        "From b only more rows would tell it, not a hundred repetitions on these.",
    ]
    said = told_apart_in_words(lines(a=[1.0, 1.2, 1.1], b=[1.3, 1.3, 1.3], c=[9.0, 9.1, 9.1]))
    assert said[0] == "3 repetitions do not tell a from b: that may be chance."
    needed = int(said[1].removeprefix("If differences stay as they are, it could be told by ").split()[0])
    assert [_told(mean=0.2, deviation=0.1, J=J, rivals=2) for J in (needed - 1, needed)] == [False, True]
    assert told_apart_in_words(lines(a=[1.0, 1.01, 1.0], b=[2.0, 2.0, 2.01])) == [
        "a is better than b by more than chance."
    ]


def test_estimators_without_names_are_called_by_what_they_end_in():
    given = [CLEMS(n_trees=2), CLEMS(n_trees=3), make_pipeline(OneHotEncoder(), BR()), "br"]
    found = compare(small(), learners=given, budget=0, baseline=False, backend="serial")
    assert [*found.plan.spec.learners] == ["CLEMS", "CLEMS 2", "pipeline of BR", "br"]
    assert len({one.trial.key for one in found.plan.planned}) == 4 * 5
