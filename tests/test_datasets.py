"""Digit scenes."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clems.datasets import digit_scenes


def test_scenes_show_what_the_labels_say():
    X, Y = digit_scenes(300, random_state=0)
    assert X.shape == (300, 121)
    assert Y.shape == (300, 10)
    assert X.min() == 0
    assert X.max() == 16
    assert set(Y.sum(axis=1)) == {1, 2, 3}
    digits = load_digits()
    windows = np.lib.stride_tricks.sliding_window_view(X.reshape(-1, 11, 11), (8, 8), axis=(1, 2))
    for scene, labels in zip(windows[:40], Y, strict=False):
        for digit in np.flatnonzero(labels):
            pictures = digits.images[digits.target == digit]
            # The brighter pixel is on top, so somewhere a picture of the digit is nowhere brighter than the scene.
            assert (scene[:, :, None] >= pictures).all(axis=(-2, -1)).any()


def test_seeded():
    one, two, other = (digit_scenes(20, random_state=seed) for seed in (0, 0, 1))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    assert not np.array_equal(one[0], other[0])


def test_no_scenes():
    with pytest.raises(ValueError, match="n_samples must be at least 1; got 0"):
        digit_scenes(0)
