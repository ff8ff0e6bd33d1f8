"""Features that say nothing but what a label says: what a model learns from them is of no use for new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from clems.arrays import Floats
from clems.datasets.dataset import Dataset

LEAST = 10  # rows that have a label, and rows that lack it, from which on it is no accident that a feature equals it
NEAR = 1e-6  # how near sums of random numbers have to be for columns to be compared


def copies_of_labels(data: Dataset) -> list[tuple[str, str]]:
    """List the features that have one value in all rows with a label and another in all rows without it.

    Parameters
    ----------
    data : Dataset
        Of which labels that fewer than `LEAST` rows have, or lack, are passed over.

    Returns
    -------
    list of tuple
        Names of the feature and of the label.

    Examples
    --------
    >>> import numpy as np
    >>> from clems.datasets import Dataset
    >>> from clems.datasets.copies import copies_of_labels
    >>> Y = np.arange(40)[:, None] % 2
    >>> copies_of_labels(Dataset(np.hstack([3 - Y, Y // 2]), Y, ["late", "other"], ["urgent"]))
    [('late', 'urgent')]
    """
    X, Y, n = data.X, data.Y, data.X.shape[0]
    with_label = _flat(Y.sum(axis=0))
    labels = np.flatnonzero((with_label >= LEAST) & (n - with_label >= LEAST))
    if not len(labels) or not X.shape[1]:
        return []
    # A column of two values adds up, times random numbers, to what tells which of its rows have the greater value.
    random = np.random.RandomState(0).random_sample(n)
    total, of_labels = random.sum(), (Y.T @ random)[labels]
    low, high = (_flat(extreme(axis=0)) for extreme in (X.min, X.max))
    with np.errstate(all="ignore"):
        of_features = (X.T @ random - low * total) / (high - low)
    found = []
    for label, own in zip(labels.tolist(), of_labels.tolist(), strict=True):
        truth = _flat(Y[:, [label]]) > 0
        for wanted, rows in ((own, truth), (total - own, ~truth)):
            for feature in np.flatnonzero(abs(of_features - wanted) < NEAR * n).tolist():
                values = _flat(X[:, [feature]])
                if (values[rows] == high[feature]).all() and (values[~rows] == low[feature]).all():
                    found.append((data.feature_names[feature], data.label_names[label]))
    return found


def _flat(row: Any) -> Floats:
    return np.asarray(row.toarray() if hasattr(row, "toarray") else row, np.float64).ravel()
