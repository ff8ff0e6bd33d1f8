"""Counts of true and false positives and negatives against scikit-learn's confusion matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import multilabel_confusion_matrix

from clems.costs.counts import labelwise, pairwise_with, rowwise

labels = arrays(np.uint8, (5, 4), elements=st.integers(0, 1))
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def assert_counts(counts, matrices):
    """Compare counts with confusion matrices, of shape (..., 2, 2)."""
    tn, fp, fn, tp = np.moveaxis(matrices.reshape(-1, 4), -1, 0)
    for found, wanted in ((counts.tn, tn), (counts.fp, fp), (counts.fn, fn), (counts.tp, tp)):
        np.testing.assert_allclose(np.ravel(found), wanted)
    np.testing.assert_allclose(np.ravel(counts.wrong), fp + fn)
    np.testing.assert_allclose(np.ravel(counts.union), tp + fp + fn)


@forms
@given(Y=labels, P=labels)
def test_row_by_row(form, Y, P):
    assert_counts(rowwise(form(Y), form(P)), multilabel_confusion_matrix(Y, P, samplewise=True))


@forms
@given(Y=labels, P=labels, weight=st.none() | arrays(float, 5, elements=st.sampled_from([0.5, 1, 3])))
def test_label_by_label(form, Y, P, weight):
    wanted = multilabel_confusion_matrix(Y, P, sample_weight=weight)
    assert_counts(labelwise(form(Y), form(P), weight), wanted)


@forms
@given(Y=labels, P=labels)
def test_every_row_with_every_row(form, Y, P):
    pairs = np.repeat(Y, 5, axis=0), np.tile(P, (5, 1))
    for dtype in (np.float32, np.float64):
        counts = pairwise_with(form(P), dtype)(form(Y))
        assert counts.tp.shape == (5, 5)
        assert counts.tp.dtype == dtype
        assert_counts(counts, multilabel_confusion_matrix(*pairs, samplewise=True))
