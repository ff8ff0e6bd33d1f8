"""Learners compared on one's own data in one call."""

import subprocess
import sys

import numpy as np
import pytest

from clems import weighted_hamming
from clems.datasets import Dataset, digit_scenes
from clems.experiments import compare
from clems.experiments.analysis.selection import results
from clems.experiments.analysis.significance import corrected_t_test, holm


def small(n=160):
    X, Y = digit_scenes(n, random_state=0)
    return Dataset(X, Y, [f"pixel {i}" for i in range(X.shape[1])], [str(i) for i in range(10)], "scenes")


def test_compare_finds_what_a_loop_would(tmp_path):
    settings = {"repetitions": 2, "trees": 5, "depths": [3, 6], "backend": "serial"}
    found = compare(small(), "f1", learners=["br", "clems"], store=tmp_path, **settings)
    table = found.table
    assert {*table.index} == {"br", "clems"}
    assert table["mean"].is_monotonic_decreasing
    assert found.best == table.index[0]
    values = results(found.plan, found.records).pivot(index="repetition", columns="learner", values="value")
    assert np.allclose(values.mean()[table.index], table["mean"])
    assert np.allclose(values.sem()[table.index], table["standard_error"])
    assert "F1 ↑" in str(found)
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
        ({"learners": ["svm"]}, "compare: learners.svm.kind: there is no learner 'svm'; allowed are br, cc"),
        ({"cost": "f3"}, "Unknown cost 'f3'"),
        ({"cost": "micro_f1", "learners": ["pcc"]}, "compare: none of the learners has a rule for 'micro_f1'"),
        ({"repetitions": 0}, "compare: repetitions: Input should be greater than or equal to 1"),
        ({"cost": lambda Y, P: abs(Y - P).sum(axis=1)}, "cannot be sent to other processes; define it in a module"),
        ({"backend": "cloud"}, "No backend 'cloud'"),
    ],
)
def test_compare_refuses_in_one_sentence(settings, message):
    with pytest.raises(ValueError, match=message):
        compare(small(), **settings)


def test_the_best_by_an_f_measure_is_the_one_that_scores_most():
    learners = {"good": {"kind": "clems"}, "bad": {"kind": "br", "parameters": {"n_trees": 1}}}
    found = compare(small(), "f_beta(2)", learners=learners, trees=20, repetitions=2, backend="serial")
    assert found.best == "good"
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
