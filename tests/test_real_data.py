"""On real data, where CLEMS_DATA points at it: the files are read whole, and the paper's figures come out."""

import os
from functools import cache
from pathlib import Path

import arff as liac
import numpy as np
import pytest
from scipy import sparse

from benchmarks.data import load, split
from clems import COSTS, LEARNERS
from clems.datasets import load_dataset, read_arff
from clems.datasets.formats.mulan import labels_of_xml, xml_beside
from clems.datasets.text.source import Source
from tools.paper import printed_cost

HOME = Path(os.environ.get("CLEMS_DATA") or "nowhere")
pytestmark = pytest.mark.skipif(not HOME.is_dir(), reason="CLEMS_DATA does not point at the datasets")

SIZES = {  # rows, features, labels, distinct label vectors; rows for training and for test, where they are published
    "cal500": ((502, 68, 174, 502), None),
    "emotions": ((593, 72, 6, 27), (391, 202)),
    "birds": ((645, 260, 19, 133), (322, 323)),
    "medical": ((978, 1449, 45, 94), (333, 645)),
    "enron": ((1702, 1001, 53, 753), (1123, 579)),
    "scene": ((2407, 294, 6, 15), (1211, 1196)),
    "yeast": ((2417, 103, 14, 198), (1500, 917)),
    "slashdot": ((3782, 1079, 22, 156), None),
    "language-log": ((1460, 1004, 75, 304), None),
    "corel5k": ((5000, 499, 374, 3175), (4500, 500)),
    "flags": ((194, 19, 7, 54), (129, 65)),
    "arts": ((7484, 23146, 26, 599), None),
}
UNLABELLED = {"birds": 294, "language-log": 207}
CONSTANT = {"language-log": 6, "arts": 4}


@cache
def fitted(learner, dataset, cost, repetition, **settings):
    """A model of one random split; `cost` is None where training does not depend on it, so that one fit serves all."""
    X, Y = load(dataset)
    train, _ = split(len(Y), repetition)
    own = {"cost": cost} if cost else {}
    return LEARNERS[learner](**settings, **own, random_state=repetition).fit(X[train], Y[train])


def mean_costs(learner, dataset, cost, splits, **settings):
    """Mean test cost of a learner, trained for the cost if it can be, on each of some random splits."""
    X, Y = load(dataset)
    kind, found = LEARNERS[learner], []
    for repetition in range(splits):
        _, test = split(len(Y), repetition)
        model = fitted(learner, dataset, cost if kind.cost_at_fit else None, repetition, **settings)
        later = {"cost": cost} if kind.cost_at_predict and not kind.cost_at_fit else {}
        found.append(COSTS[cost].rowwise(Y[test], model.predict(X[test], **later)).mean())
    return np.array(found)


@pytest.mark.parametrize("cost", ["f1", "accuracy", "rank", "composition"])
@pytest.mark.parametrize("learner", ["clems", "br", "cc", "pcc"])  # one fit of all but CLEMS serves all costs
def test_emotions_is_as_good_as_printed(learner, cost):
    paper = printed_cost("emotions", "clems-nearest" if learner == "clems" else learner, cost)
    if paper is None:
        pytest.skip("left blank in the paper")
    assert mean_costs(learner, "emotions", cost, 5).mean() <= (1 if learner == "pcc" else 1.05) * paper


def test_roles_as_worded_are_clearly_worse_on_rank():
    mirrored = mean_costs("clems", "emotions", "rank", 3, decoder="nearest")
    swapped = mean_costs("clems", "emotions", "rank", 3, roles="swapped", decoder="nearest")
    assert (swapped > 1.2 * mirrored).all()


def rows_of(*datasets):
    """All rows with their labels, as a sorted list: what two splits of the same data have in common."""
    tables = []
    for dataset in datasets:
        X, Y = (side.toarray() if sparse.issparse(side) else side for side in (dataset.X, dataset.Y))
        tables.append(np.hstack([X, Y]))
    return sorted(row.tobytes() for row in np.vstack(tables))


@pytest.mark.parametrize("name", SIZES)
def test_every_dataset_has_its_size(name):
    size, parts = SIZES[name]
    whole = load_dataset(name, data_home=HOME)
    summary = whole.summary()
    assert (summary.rows, summary.features, summary.labels, summary.distinct) == size
    assert summary.unlabelled == UNLABELLED.get(name, 0)
    assert summary.constant == CONSTANT.get(name, 0)
    if parts is None:
        with pytest.raises(FileNotFoundError, match=f"The part 'train' of {name} is not"):
            load_dataset(name, "train", HOME)
        return
    train, test = (load_dataset(name, part, HOME) for part in ("train", "test"))
    assert (train.X.shape[0], test.X.shape[0]) == parts
    assert train.feature_names == test.feature_names == whole.feature_names
    assert train.label_names == test.label_names == whole.label_names
    assert rows_of(train, test) == rows_of(whole)


def test_labels_that_never_occur():
    assert load_dataset("slashdot", data_home=HOME).summary().never == 2
    assert load_dataset("corel5k", "train", HOME).summary().never == 3
    assert load_dataset("corel5k", "test", HOME).summary().never == 111


@pytest.mark.parametrize(
    "name", ["birds", "cal500", "corel5k", "emotions", "enron", "flags", "language-log", "medical", "yeast"]
)
def test_liac_arff_reads_the_same(name):
    path = next(path for path in sorted(HOME.joinpath(name).glob("*.arff*")) if "-t" not in path.name)
    mine = read_arff(path)
    form = liac.LOD if sparse.issparse(mine.X) else liac.DENSE
    with Source(path) as source:
        theirs = liac.loads(source.read().decode(), encode_nominal=True, return_type=form)
    if sparse.issparse(mine.X):
        table = np.zeros((len(theirs["data"]), len(theirs["attributes"])))
        for row, values in zip(table, theirs["data"], strict=True):
            row[list(values)] = list(values.values())
    else:
        table = np.array(theirs["data"], float)
    labels = {*labels_of_xml(xml_beside(path))}
    names = [name.replace("\\", "") for name, _ in theirs["attributes"]]  # it leaves escapes as they are
    is_label = np.array([name in labels for name in names])
    X, Y = (side.toarray() if sparse.issparse(side) else side for side in (mine.X, mine.Y))
    assert np.array_equal(X, table[:, ~is_label])
    assert np.array_equal(Y, table[:, is_label])
    assert mine.feature_names == [name for name in names if name not in labels]
