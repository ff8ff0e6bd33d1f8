"""Features that tell a label are found, whatever their form, and no others."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clems.cli.app import main
from clems.datasets import Dataset
from clems.datasets.copies import LEAST, copies_of_labels


def data_of(X, Y):
    names = [f"f{j}" for j in range(X.shape[1])], [f"l{k}" for k in range(Y.shape[1])]
    return Dataset(X, Y, *names)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_copies_are_the_features_that_brute_force_finds(seed, sparse_X, sparse_Y):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2 * LEAST, 60))
    Y = (rng.random((n, 3)) < 0.5).astype(np.uint8)
    noise, level = rng.normal(size=(n, 2)), rng.normal(size=2) * 100
    X = np.column_stack([noise, level[0] + Y[:, 0] * level[1], 1 - Y[:, 1], Y[:, 2] ^ (np.arange(n) == 3), Y[:, 2] * 0])
    wanted = [
        (f"f{j}", f"l{k}")
        for k in range(3)
        for j in range(X.shape[1])
        if LEAST <= Y[:, k].sum() <= n - LEAST
        and len({*X[Y[:, k] > 0, j]}) == len({*X[Y[:, k] == 0, j]}) == 1 < len({*X[:, j]})
    ]
    form = [sparse.csr_array(one) if there else one for one, there in ((X, sparse_X), (Y, sparse_Y))]
    assert sorted(copies_of_labels(data_of(*form))) == sorted(wanted)


def test_rare_labels_and_gaps_are_passed_over():
    Y = (np.arange(40) < LEAST - 1)[:, None].astype(np.uint8)
    assert copies_of_labels(data_of(Y * 1.0, Y)) == []
    Y = (np.arange(40) < LEAST)[:, None].astype(np.uint8)
    assert copies_of_labels(data_of(Y * 1.0, Y)) == [("f0", "l0")]
    assert copies_of_labels(data_of(np.where(np.arange(40) == 5, np.nan, Y[:, 0] * 1.0)[:, None], Y)) == []


def test_fit_says_so(tmp_path, capsys):
    rng = np.random.default_rng(0)
    tags = rng.integers(0, 2, (60, 2))
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(copy=np.where(tags[:, 0], "yes", "no"))
    frame.join(pd.DataFrame(tags).add_prefix("tag ")).to_csv(tmp_path / "t.csv", index=False)
    usual = ["fit", str(tmp_path / "t.csv"), "--labels", "tag *", "--set", "n_trees=3", "-o", str(tmp_path / "m.clems")]
    for options, there in (([], True), (["--drop", "copy", "--force"], False)):
        with pytest.raises(SystemExit, match="0"):
            main([*usual, *options])
        assert ("Note: in all rows the feature 'copy' tells the label 'tag 0'" in capsys.readouterr().err) == there
