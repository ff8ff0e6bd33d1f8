"""On real data, where CLEMS_DATA points at it: the paper's figures and our reading of its roles."""

import numpy as np
import pytest

from benchmarks.mulan import home, load
from benchmarks.table2 import printed
from benchmarks.table2 import test_costs as mean_costs

pytestmark = pytest.mark.skipif(home() is None, reason="CLEMS_DATA does not point at the datasets")


@pytest.mark.parametrize("cost", ["f1", "accuracy", "rank", "composition"])
def test_emotions_is_as_good_as_printed(cost):
    assert mean_costs("emotions", cost, splits=5).mean() <= 1.05 * printed("emotions", cost)


def test_roles_as_worded_are_clearly_worse_on_rank():
    mirrored = mean_costs("emotions", "rank", splits=3)
    swapped = mean_costs("emotions", "rank", splits=3, roles="swapped")
    assert (swapped > 1.2 * mirrored).all()


@pytest.mark.parametrize(
    ("name", "shape", "labels", "distinct"),
    [("emotions", (593, 72), 6, 27), ("scene", (2407, 294), 6, 15), ("enron", (1702, 1001), 53, 753)],
)
def test_the_files_are_read_whole(name, shape, labels, distinct):
    X, Y = load(name)
    assert X.shape == shape
    assert Y.shape == (shape[0], labels)
    assert len(np.unique(Y, axis=0)) == distinct
