"""Splits of multi-label data in which each part has its share of every label: iterative stratification.

The algorithm is that of Sechidis, Tsoumakas and Vlahavas, "On the stratification of multi-label data" (2011). It
takes label after label, always the rarest among the rows that are left, and gives each row of it to the part that
still wants most rows of this label. All rows of such a pass carry the label, so which part is next does not depend on
the rows: a sort gives the sequence of parts for a whole pass, and no step is taken row by row.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit, KFold, ShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from clems.arrays import Floats, Integers, Labels
from clems.labels.matrix import split_missing

__all__ = [
    "IterativeStratifiedKFold",
    "IterativeStratifiedShuffleSplit",
    "SplitQuality",
    "iterative_split",
    "iterative_stratification",
    "split_quality",
]

Split = tuple[Integers, Integers]

ROW = 10**9  # what parts want is held in whole billionths of a row: equal wants compare as equal, and sums are exact
POOL = 1 << 13  # rows considered for a move at a time


@dataclass(frozen=True)
class SplitQuality:
    """How well the parts of a split mirror the whole; for each of these, less is better.

    Attributes
    ----------
    label_distribution : float
        LD of Sechidis et al.: mean over labels and parts of the difference between the odds of the label (rows with
        it over rows without it) in the part and in all rows. Labels that no row or every row carries are left out,
        for they cannot be split badly; if that leaves none, this is 0. A part in which every row carries the label
        counts as having half a row without it, so that its odds are finite.
    example_distribution : float
        ED of Sechidis et al.: mean over parts of the difference between the number of rows and the wanted number.
    missing : int
        Pairs of a part and a label that has no row there, though it has at least as many rows as there are parts.

    Examples
    --------
    >>> import numpy as np
    >>> from clems.model_selection import iterative_split, split_quality
    >>> Y = np.repeat([[1, 0], [1, 1], [0, 1], [0, 0]], 10, axis=0)
    >>> quality = split_quality(Y, iterative_split(Y, (0.5, 0.5), random_state=0))
    >>> quality.label_distribution, quality.missing
    (0.0, 0)
    """

    label_distribution: float
    example_distribution: float
    missing: int


def iterative_stratification(
    Y: Any,
    proportions: ArrayLike,
    *,
    exact_sizes: bool = False,
    shuffle: bool = True,
    random_state: Any = None,
) -> Integers:
    """Distribute rows over parts so that each part has its share of every label.

    Parameters
    ----------
    Y : array-like, DataFrame or sparse matrix of shape (n, K)
        Labels, zeros and ones. Sparse labels are not made dense.
    proportions : array-like of shape (k,)
        Wanted share of the rows for each part; positive, and 1 together.
    exact_sizes : bool, default=False
        The published algorithm (False) looks first at labels and does not promise the sizes of the parts. With True,
        each part has in the end its share of the rows, rounded up or down: as few rows as possible are moved, one by
        one, each time the row after whose move the counts of labels are nearest to the wanted ones, by χ² distance.
        As odds depend on sizes, that mostly brings the odds of labels nearer to those of the whole, too.
    shuffle : bool, default=True
        Whether rows are dealt in random order, and ties between labels and between parts go by a random order of
        these. With False, rows are dealt as they come and ties go to the first; nothing is random then.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling; it must be None if `shuffle` is False.

    Returns
    -------
    ndarray of shape (n,)
        Number of the part of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from clems.model_selection import iterative_stratification
    >>> Y = np.repeat([[1, 0], [1, 1], [0, 1], [0, 0]], 10, axis=0)
    >>> part = iterative_stratification(Y, (0.75, 0.25), random_state=0)
    >>> Y[part == 1].sum(axis=0).tolist()
    [5, 5]
    """
    _check_shuffle(shuffle, random_state)
    labels = sparse.csr_array(split_missing(Y)[0])
    sizes = _as_shares(proportions) * labels.shape[0]
    return _stratify(labels, sizes, exact_sizes, check_random_state(random_state) if shuffle else None)


def iterative_split(Y: Any, proportions: ArrayLike, *, random_state: Any = None) -> list[Integers]:
    """Split rows, for example into those for training, validation and test, by iterative stratification.

    Each part has its share of the rows, rounded up or down, and as nearly as possible its share of every label.

    Parameters
    ----------
    Y : array-like, DataFrame or sparse matrix of shape (n, K)
        Labels, zeros and ones; one that is missing (NaN) counts as not there.
    proportions : array-like of shape (k,)
        Wanted share of the rows for each part; positive, and 1 together.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.

    Returns
    -------
    list of ndarray
        Numbers of the rows of each part, ascending.

    Examples
    --------
    >>> from clems.model_selection import iterative_split
    >>> train, validation, test = iterative_split([[1, 0], [1, 0], [0, 1], [0, 1]], (0.5, 0.25, 0.25), random_state=0)
    >>> len(train), len(validation), len(test)
    (2, 1, 1)
    """
    part = iterative_stratification(Y, proportions, exact_sizes=True, random_state=random_state)
    number = np.bincount(part, minlength=np.size(proportions))
    if not number.all():
        share = np.asarray(proportions)[number.argmin()]
        raise ValueError(f"Part {number.argmin()} would be empty: {share:g} of {len(part)} rows is less than one.")
    return [np.flatnonzero(part == k) for k in range(len(number))]


def split_quality(Y: Any, parts: Sequence[ArrayLike], proportions: ArrayLike | None = None) -> SplitQuality:
    """Measure how well parts of the rows mirror all rows.

    Parameters
    ----------
    Y : array-like, DataFrame or sparse matrix of shape (n, K)
        Labels, zeros and ones, of all rows.
    parts : sequence of array-like
        Numbers of the rows of each part: what `iterative_split` returns, the train and test rows of one split, or the
        test rows of all folds, ``[test for _, test in cv.split(X, Y)]``.
    proportions : array-like of shape (k,), default=None
        Wanted share of the rows for each part, for `example_distribution`; None stands for equal shares.

    Examples
    --------
    >>> import numpy as np
    >>> from clems.model_selection import iterative_split, split_quality
    >>> Y = np.repeat([[1, 0], [1, 1], [0, 1], [0, 0]], 10, axis=0)
    >>> split_quality(Y, iterative_split(Y, (0.5, 0.5), random_state=0))
    SplitQuality(label_distribution=0.0, example_distribution=0.0, missing=0)
    """
    labels, _ = split_missing(Y)
    n = labels.shape[0]
    rows = [_as_rows(part, number, n) for number, part in enumerate(parts)]
    if not rows:
        raise ValueError("parts is empty; it must hold an array of row numbers for each part.")
    shares = np.full(len(rows), 1 / len(rows)) if proportions is None else _as_shares(proportions)
    if len(shares) != len(rows):
        raise ValueError(f"There are {len(rows)} parts and {len(shares)} proportions; each part must have one.")
    sizes = np.array([len(part) for part in rows])
    counts = _label_counts(labels, np.concatenate(rows), np.repeat(np.arange(len(rows)), sizes), len(rows))
    total = _label_counts(labels, np.arange(n), np.zeros(n, np.intp), 1)[0]
    split = (total > 0) & (total < n)
    odds = counts / np.maximum(sizes[:, None] - counts, 0.5)
    error = np.abs(odds[:, split] - total[split] / (n - total[split]))
    return SplitQuality(
        label_distribution=float(error.mean()) if error.size else 0.0,
        example_distribution=float(np.abs(sizes - shares * n).mean()),
        missing=int(((counts == 0) & (total >= len(rows))).sum()),
    )


def held_out(n: int, n_folds: int | None, random_state: np.random.RandomState) -> list[tuple[Any, Any]]:
    """Pairs of rows to train on and rows to predict; without folds, all of both."""
    if n_folds is None or n == 1:
        return [(slice(None), slice(None))]
    return list(KFold(min(n_folds, n), shuffle=True, random_state=random_state).split(np.empty(n)))


class IterativeStratifiedKFold(BaseCrossValidator):  # type: ignore[misc]
    """Folds for cross-validation of multi-label data, by iterative stratification.

    Every row is in the test set of one fold. The numbers of rows of the folds differ by at most one, as in
    scikit-learn's KFold, and each fold has, as nearly as possible, its share of every label; see `exact_sizes` of
    :func:`iterative_stratification`.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Whether rows are dealt in random order and ties go by a random order. With False nothing is random.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling; it must be None if `shuffle` is False.

    Examples
    --------
    >>> import numpy as np
    >>> from clems.model_selection import IterativeStratifiedKFold
    >>> Y = np.repeat([[1, 0], [1, 1], [0, 1], [0, 0]], 10, axis=0)
    >>> folds = IterativeStratifiedKFold(4, shuffle=True, random_state=0)
    >>> [Y[test].sum(axis=0).tolist() for _, test in folds.split(Y, Y)]
    [[5, 5], [5, 5], [5, 5], [5, 5]]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None) -> None:
        if not isinstance(n_splits, numbers.Integral):
            raise ValueError(f"The number of folds must be a whole number; got n_splits={n_splits!r}.")
        if n_splits < 2:
            raise ValueError(f"Cross-validation needs two folds or more; got n_splits={n_splits}.")
        _check_shuffle(shuffle, random_state)
        self.n_splits: int = int(n_splits)
        self.shuffle: bool = shuffle
        self.random_state: Any = random_state

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Split]:
        """Split rows into those for training and those for test, once for each fold.

        Parameters
        ----------
        X : array-like of n rows
            Only its number of rows is used.
        y : array-like, DataFrame or sparse matrix of shape (n, K)
            Labels, zeros and ones; one that is missing (NaN) counts as not there.
        groups : object
            Ignored.

        Yields
        ------
        train, test : ndarray
            Numbers of the rows for training and for test, ascending.
        """
        labels = _labels_to_split(self, X, y, groups)
        if self.n_splits > labels.shape[0]:
            raise ValueError(
                f"Cannot have number of splits n_splits={self.n_splits} greater than the number of samples: "
                f"n_samples={labels.shape[0]}."
            )
        part = iterative_stratification(
            labels,
            np.full(self.n_splits, 1 / self.n_splits),
            exact_sizes=True,
            shuffle=self.shuffle,
            random_state=self.random_state,
        )
        for fold in range(self.n_splits):
            yield np.flatnonzero(part != fold), np.flatnonzero(part == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds; the parameters are ignored."""
        return self.n_splits


class IterativeStratifiedShuffleSplit(BaseShuffleSplit):  # type: ignore[misc]
    """Repeated random splits of multi-label data into training and test, by iterative stratification.

    The numbers of rows for training and test are exactly those of scikit-learn's ShuffleSplit and
    StratifiedShuffleSplit with the same sizes; rows that belong to neither are a third part, which is left out. Each
    part has, as nearly as possible, its share of every label; see `exact_sizes` of :func:`iterative_stratification`.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    test_size : float or int, default=None
        Share or number of the rows for test; None is what `train_size` leaves, or a tenth if that is None too.
    train_size : float or int, default=None
        Share or number of the rows for training; None is what the test leaves.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.

    Examples
    --------
    >>> import numpy as np
    >>> from clems.model_selection import IterativeStratifiedShuffleSplit
    >>> Y = np.repeat([[1, 0], [1, 1], [0, 1], [0, 0]], 10, axis=0)
    >>> splits = IterativeStratifiedShuffleSplit(2, test_size=0.25, random_state=0)
    >>> [len(test) for _, test in splits.split(Y, Y)]
    [10, 10]
    """

    def __init__(
        self, n_splits: int = 10, *, test_size: Any = None, train_size: Any = None, random_state: Any = None
    ) -> None:
        super().__init__(n_splits, test_size=test_size, train_size=train_size, random_state=random_state)

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Split]:
        """Split rows at random into those for training and those for test, `n_splits` times.

        Parameters
        ----------
        X : array-like of n rows
            Only its number of rows is used.
        y : array-like, DataFrame or sparse matrix of shape (n, K)
            Labels, zeros and ones; one that is missing (NaN) counts as not there.
        groups : object
            Ignored.

        Yields
        ------
        train, test : ndarray
            Numbers of the rows for training and for test, ascending.
        """
        labels = sparse.csr_array(_labels_to_split(self, X, y, groups))
        n = labels.shape[0]
        by_size = ShuffleSplit(1, test_size=self.test_size, train_size=self.train_size, random_state=0)
        train, test = next(by_size.split(np.empty((n, 1))))
        sizes = np.array([len(train), len(test), n - len(train) - len(test)], np.float64)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            part = _stratify(labels, sizes[sizes > 0], True, rng)
            yield np.flatnonzero(part == 0), np.flatnonzero(part == 1)


def _check_shuffle(shuffle: Any, random_state: Any) -> None:
    if not isinstance(shuffle, bool):
        raise TypeError(f"shuffle must be True or False; got {shuffle!r}.")
    if not shuffle and random_state is not None:
        raise ValueError("random_state has no effect since shuffle is False; leave it None, or set shuffle=True.")


def _labels_to_split(splitter: Any, X: Any, y: Any, groups: Any) -> Labels:
    name = type(splitter).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    if groups is not None:
        warnings.warn(f"The groups parameter is ignored by {name}", UserWarning, stacklevel=3)
    labels, _ = split_missing(y, "y")
    check_consistent_length(X, labels)
    return labels


def _as_shares(proportions: ArrayLike) -> Floats:
    try:
        shares = np.asarray(proportions, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"proportions must be numbers, one for each part; got {proportions!r}.") from None
    if shares.ndim != 1 or len(shares) == 0:
        raise ValueError(f"proportions must be numbers, one for each part; their shape is {shares.shape}.")
    wrong = ~(np.isfinite(shares) & (shares > 0))
    if wrong.any():
        number = int(wrong.argmax())
        raise ValueError(f"The proportion of part {number} is {shares[number]:g}; it must be positive and finite.")
    if abs(shares.sum() - 1) > 1e-6:
        raise ValueError(f"proportions must be 1 together; those given are {shares.sum():g}.")
    return np.asarray(shares / shares.sum())


def _as_rows(part: ArrayLike, number: int, n: int) -> Integers:
    rows = np.asarray(part)
    if rows.shape == (0,):
        raise ValueError(f"Part {number} is empty; each part must have at least one row.")
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(
            f"Part {number} is not an array of row numbers; parts must be a sequence of such arrays, one a part."
        )
    if rows.min() < 0 or rows.max() >= n:
        wrong = rows[(rows < 0) | (rows >= n)][0]
        raise ValueError(f"Part {number} has the row number {wrong}; rows are numbered from 0 to {n - 1}.")
    return rows.astype(np.intp)


def _label_counts(Y: Labels, rows: Integers, part: Integers, parts: int) -> Floats:
    """Count the rows of each label in each part, given rows and their parts: an array of shape (parts, K)."""
    members = sparse.csr_array((np.ones(len(rows)), (part, rows)), shape=(parts, Y.shape[0]))
    counts = members @ Y
    return np.asarray(counts.toarray() if sparse.issparse(counts) else counts)


def _stratify(Y: Labels, sizes: Floats, exact_sizes: bool, rng: np.random.RandomState | None) -> Integers:
    """Deal the rows of a CSR array to parts of about, or exactly, these sizes; at random if there is a `rng`."""
    if rng is None:
        part = _deal(Y, sizes)
        return _with_exact_sizes(Y, part, sizes) if exact_sizes else part
    rows, labels, parts = (rng.permutation(length) for length in (*Y.shape, len(sizes)))
    part = np.empty(len(rows), np.intp)
    part[rows] = parts[_stratify(Y[rows][:, labels], sizes[parts], exact_sizes, None)]
    return part


def _deal(Y: Labels, sizes: Floats) -> Integers:
    """Deal rows to parts by the published algorithm; ties go to the first label and to the first part."""
    n, K = Y.shape
    columns = Y.tocsc()
    left = np.diff(columns.indptr).astype(np.int64)  # rows of each label that have no part yet
    wants_rows = np.rint(sizes * ROW).astype(np.int64)
    wants = np.rint(np.outer(left, sizes / max(n, 1)) * ROW).astype(np.int64)
    left[left == 0] = n + 1
    part = np.full(n, -1, np.intp)
    for _ in range(K):
        label = left.argmin()
        if left[label] > n:
            break
        rows = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
        rows = rows[part[rows] < 0]
        parts = _sequence(wants[label], wants_rows, len(rows))
        part[rows] = parts
        wants_rows -= ROW * np.bincount(parts, minlength=len(sizes))
        start, end = Y.indptr[rows], Y.indptr[rows + 1]
        size = end - start
        labels = Y.indices[(end - size.cumsum()).repeat(size) + np.arange(size.sum())].astype(np.intp)
        np.subtract.at(wants.reshape(-1), labels * len(sizes) + parts.repeat(size), ROW)
        np.subtract.at(left, labels, 1)
        left[labels[left[labels] == 0]] = n + 1
    rest = np.flatnonzero(part < 0)
    part[rest] = _sequence(wants_rows, wants_rows, len(rest))
    return part


def _sequence(wants: NDArray[np.int64], wants_rows: NDArray[np.int64], m: int) -> Integers:
    """Find the parts that m rows of one label go to: always the one that wants most, which then wants one less.

    A part that wants w rows of the label has turns at the levels w, w − 1, w − 2 …; the m highest turns are taken. At
    one level, the part that wants most rows comes first. A turn lowers what a part wants of rows and of the label
    alike, so the difference of the two stays, and it alone decides who comes first, whatever the level.
    """
    parts = (wants - wants_rows).argsort(kind="stable")
    wants = wants[parts]
    highest = np.sort(wants)[::-1]
    lowest = ((highest.cumsum() - ROW * m) // np.arange(1, len(wants) + 1)).max()  # m turns or more are not below it
    turns = np.maximum((wants - lowest) // ROW + 1, 0)
    turn = np.arange(turns.sum()) - (turns.cumsum() - turns).repeat(turns)
    first = (ROW * turn - wants.repeat(turns)).argsort(kind="stable")[:m]
    return np.asarray(parts.repeat(turns)[first])


def _with_exact_sizes(Y: Labels, part: Integers, sizes: Floats) -> Integers:
    """Move rows, as few as possible, from parts with too many to parts with too few, each time at the least harm."""
    n = len(part)
    rounded = np.round(sizes, 6)  # a size that is whole but for an error of arithmetic is whole
    number, goal = np.bincount(part, minlength=len(sizes)), np.floor(rounded).astype(np.intp)
    broken = np.flatnonzero(rounded > goal)
    fullest = broken[np.argsort((goal - number)[broken], kind="stable")]
    goal[fullest[: n - goal.sum()]] += 1
    excess = number - goal
    if not excess.any():
        return part
    part, ones = part.copy(), Y.astype(np.float64)
    counts = _label_counts(ones, np.arange(n), part, len(sizes))
    wanted = np.outer(sizes / n, np.maximum(counts.sum(axis=0), 1))  # of a label that never occurs: anything but 0
    while excess.any():
        giver, taker = excess.argmax(), excess.argmin()
        count = min(excess[giver], -excess[taker])
        _move(ones, part, counts, wanted, giver, taker, count)
        excess[giver] -= count
        excess[taker] += count
    return part


def _move(
    ones: Labels, part: Integers, counts: Floats, wanted: Floats, giver: np.intp, taker: np.intp, count: int
) -> None:
    """Move so many rows of one part to another, noting it in `part` and in the `counts` of labels.

    A row moves when it adds least to the χ² distance, Σ (count − wanted)² / wanted over labels and parts.
    """
    both = [giver, taker]
    harm_of_label = _harm_of_move(counts[both], wanted[both])
    while count:
        rows = np.flatnonzero(part == giver)
        harm = (ones @ harm_of_label)[rows]
        # Moves only raise harms: the other rows need no new look while a row of the pool does no more harm than they.
        limit = np.partition(harm, POOL)[POOL] if len(rows) > POOL else np.inf
        rows, harm = rows[harm <= limit], harm[harm <= limit]
        pool = ones[rows]
        while count and harm.min() <= limit:
            best = harm.argmin()
            labels = pool.indices[pool.indptr[best] : pool.indptr[best + 1]]
            part[rows[best]] = taker
            counts[giver, labels] -= 1
            counts[taker, labels] += 1
            count -= 1
            harm_of_label[labels] = _harm_of_move(counts[np.ix_(both, labels)], wanted[np.ix_(both, labels)])
            harm = pool @ harm_of_label
            harm[part[rows] == taker] = np.inf


def _harm_of_move(counts: Floats, wanted: Floats) -> Floats:
    """For each label, what a row that moves adds to the χ² distance, given what giver and taker have and want."""
    leaving, coming = (1 + 2 * np.array([[-1], [1]]) * (counts - wanted)) / wanted
    return np.asarray(leaving + coming)
