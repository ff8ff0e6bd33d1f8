"""What an experiment's file may say, and the sentences about one that says otherwise."""

import pytest
from small_experiment import spec_of

from clems import weighted_hamming
from clems.experiments.spec import SpecError


def estimator(name, **parameters):
    return {"estimator": {"class": name, **parameters}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": []}, "spec: datasets: List should have at least 1 item"),
        ({"datasets": ["emotion"]}, r"datasets: there is no dataset 'emotion'; did you mean 'emotions'\?"),
        ({"datasets": ["flags", "flags"]}, "spec: datasets: 'flags' is listed twice"),
        ({"criteria": ["f1", "recall"]}, "spec: criteria: there is no criterion 'recall'; allowed are accuracy"),
        (
            {"learners": {"svm": {}}},
            "spec: learners.svm.kind: there is no learner 'svm'; allowed are bcs, br, c2ae, cc, cca",
        ),
        (
            {"learners": {"x": {"kind": "br", "deep": 1}}},
            "learners.x.deep: there is no such key; allowed are along, at",
        ),
        ({"learners": {"br": {"parameters": {"n_tree": 1}}}}, "br has no parameter 'n_tree' to set; it has estimator"),
        ({"learners": {"br": {"parameters": {"n_jobs": 1}}}}, "br has no parameter 'n_jobs' to set"),
        ({"learners": {"br": {"cost": "f1"}}}, "learners.br: br takes no cost"),
        ({"learners": {"clems": {"cost": "f3"}}}, "learners.clems.cost: there is no criterion 'f3'"),
        ({"learners": {"cft": {"trained_for": "f1"}}}, "cft cannot be trained for one cost and decide for another"),
        ({"learners": {"clems": {"trained_for": "f1", "cost": "f1"}}}, "cost and trained_for exclude each other"),
        ({"learners": {"clems": {"trained_for": "f3"}}}, "learners.clems.trained_for: there is no criterion 'f3'"),
        ({"learners": {"br": {"parameters": estimator("no.such:Tree")}}}, "no.such:Tree cannot be imported"),
        ({"learners": {"br": {"parameters": estimator("math:sqrt")}}}, "estimator.class: math:sqrt is no estimator of"),
        ({"learners": {"br": {"on": {"flags": estimator("sklearn.tree:ExtraTreeClassifier", deep=1)}}}}, "'deep'"),
        ({"learners": {"br": {"on": {"moon": {}}}}}, "learners.br.on: there is no dataset 'moon'"),
        ({"learners": {"plst": {"along": {"n_components": [1, 2]}, "at": [1.0]}}}, "at has 1 places for 2 values"),
        ({"learners": {"ecc": {"along": {"code": ["rrep"]}}}}, "along.code has values that are no numbers; at gives"),
        ({"learners": {"br": {"grid": {"n_trees": []}}}}, "learners.br: grid.n_trees has no values"),
        ({"costs": {"f1": weighted_hamming(1.0)}}, "costs.f1: the package has a criterion of this name"),
        ({"learners": {}}, "spec: learners: Dictionary should have at least 1 item"),
        ({"repetitions": 0}, "spec: repetitions: Input should be greater than or equal to 1"),
        ({"repetitions": "many"}, "spec: repetitions: Input should be a valid integer"),
        ({"split": {"train": 0.9, "test": 0.3}}, "spec: split: train, validation and test are together more than 1"),
        ({"split": {"kind": "odd"}}, "spec: split.kind: Input should be 'random' or 'published'"),
        ({"split": {"swapped": ["flags"]}}, "spec: split: swapped needs files to swap; use split.kind = 'published'"),
        ({"split": {"kind": "published", "swapped": ["moon"]}}, "split.swapped: there is no dataset 'moon'"),
        (
            {"split": {"kind": "published", "training_file": ["flags"]}},
            "spec: split: training_file is divided at random; use split.kind = 'random'",
        ),
        ({"split": {"training_file": ["moon"]}}, "split.training_file: there is no dataset 'moon'"),
        ({"kind": "pie"}, "spec: kind: there is no kind 'pie'; allowed are curves, ratios, table, times"),
        ({"kind": "times"}, "spec: baseline: times are relative to an entry; name it"),
        ({"kind": "curves"}, "spec: learners: curves need an entry with a parameter along the axis"),
        ({"baseline": "cc"}, "spec: baseline: there is no entry 'cc'; entries are br"),
        ({"tress": 5}, "spec: tress: there is no such key; allowed are baseline, costs, criteria"),
        ({"title": None}, "spec: title: Input should be a valid string"),
    ],
)
def test_a_wrong_file_is_refused_with_its_key_and_what_is_allowed(changes, message):
    with pytest.raises(SpecError, match=message) as raised:
        spec_of(**changes)
    assert "\n" not in str(raised.value)
