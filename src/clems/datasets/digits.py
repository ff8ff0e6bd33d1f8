"""Digit scenes: a multi-label dataset that needs no download."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state

CANVAS = 11  # pixels a side; a digit has 8, so digits of one scene overlap
MOST = 3  # digits in a scene


def digit_scenes(
    n_samples: int = 4000, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Draw scenes of one to three handwritten digits; the labels say which digits are there.

    The digits are scikit-learn's bundled 8×8 images, put at random positions of an 11×11 canvas, where they overlap
    with the brighter pixel on top. The uncertainty in such a scene makes the choice of a cost matter.

    Parameters
    ----------
    n_samples : int, default=4000
        Number of scenes.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 121)
        Pixels, row by row, from 0 to 16; ``X[i].reshape(11, 11)`` is a picture.
    Y : ndarray of shape (n_samples, 10)
        1 where a digit is in the scene.

    Examples
    --------
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(5, random_state=0)
    >>> X.shape, Y.shape
    ((5, 121), (5, 10))
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; got {n_samples}.")
    rng = check_random_state(random_state)
    digits = load_digits()
    size = digits.images.shape[1]
    scenes = np.zeros((n_samples, CANVAS, CANVAS))
    Y = np.zeros((n_samples, 10), np.uint8)
    for scene, labels in zip(scenes, Y, strict=True):
        for image in rng.choice(len(digits.images), rng.randint(1, MOST + 1), replace=False):
            top, left = rng.randint(0, CANVAS - size + 1, 2)
            window = scene[top : top + size, left : left + size]
            np.maximum(window, digits.images[image], out=window)
            labels[digits.target[image]] = 1
    return scenes.reshape(n_samples, -1), Y
