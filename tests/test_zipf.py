"""Generated data: label sets by Zipf's law, each once, and features that tell labels apart."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from benchmarks.scale import exponent
from benchmarks.zipf import SIZES, codes_of, words_of, zipf_rows, zipf_sets


def test_sets_are_distinct_and_of_three_to_five_labels():
    sets = zipf_sets(2000, 80).toarray()
    assert len(np.unique(sets, axis=0)) == 2000
    assert {*sets.sum(axis=1).tolist()} == {*SIZES}
    often = sets.sum(axis=0)
    assert often[:5].min() > 3 * often[-20:].max()


def test_rows_have_every_set():
    Y = zipf_rows(500, 200, 60).toarray()
    vectors, counts = np.unique(Y, axis=0, return_counts=True)
    assert len(vectors) == 200
    assert counts.max() > 10
    assert np.array_equal(Y, zipf_rows(500, 200, 60).toarray())  # as the seed says
    assert len(np.unique(zipf_rows(50, 200, 60).toarray(), axis=0)) == 50


def test_features_depend_on_labels():
    Y = zipf_rows(1500, 400, 30)
    for X in (words_of(Y, 200), codes_of(Y, 40)):
        scores = Ridge().fit(X[:1000], Y[:1000].toarray()).predict(X[1000:])
        assert roc_auc_score(Y[1000:].toarray()[:, :10], scores[:, :10]) > 0.8


def test_exponents_are_slopes():
    sizes = np.array([10, 100, 1000])
    assert abs(exponent(sizes, 3e-5 * sizes**1.5) - 1.5) < 1e-9
