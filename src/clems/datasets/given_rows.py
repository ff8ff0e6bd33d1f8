"""Given rows: which are for training and which for testing, as files of row numbers with a column for each split."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from clems.arrays import Integers
from clems.datasets.text.source import Source


@dataclass(frozen=True)
class GivenRows:
    """Numbers of training and test rows, from 0, a column for each repetition.

    Attributes
    ----------
    train : ndarray of shape (n_train, r)
    test : ndarray of shape (n_test, r)
    """

    train: Integers
    test: Integers

    @property
    def repetitions(self) -> int:
        """How many divisions there are."""
        return int(self.train.shape[1])

    def of(self, repetition: int) -> tuple[Integers, Integers]:
        """Return the training and the test rows of a repetition."""
        return self.train[:, repetition], self.test[:, repetition]


def read_given_rows(train: str | os.PathLike[str], test: str | os.PathLike[str], n: int) -> GivenRows:
    r"""Read files of row numbers, which count from 1, as the extreme classification repository has them.

    Parameters
    ----------
    train, test : str or path
        Files of as many columns as there are divisions: in each, numbers of the rows of that part.
    n : int
        How many rows there are.

    Returns
    -------
    GivenRows

    Raises
    ------
    DataError
        If numbers are no numbers of rows, or a row is there twice in a column, or in both parts.

    Examples
    --------
    >>> from pathlib import Path
    >>> from clems.datasets.given_rows import read_given_rows
    >>> _ = Path("trSplit.txt").write_text("1 3\n2 4\n"), Path("tstSplit.txt").write_text("3 1\n4 2\n")
    >>> [rows.tolist() for rows in read_given_rows("trSplit.txt", "tstSplit.txt", 4).of(1)]
    [[2, 3], [0, 1]]
    """
    with Source(train) as first, Source(test) as second:
        parts = [_numbers(first, n), _numbers(second, n)]
        if parts[0].shape[1] != parts[1].shape[1]:
            raise second.fault(f"{parts[1].shape[1]} columns are there, and {parts[0].shape[1]} in {first.name}")
        both = np.sort(np.vstack(parts), axis=0)
        at = np.argwhere(both[1:] == both[:-1])
        if len(at):
            row, column = at[0]
            raise second.fault(f"row {both[row, column] + 1} is in both parts of column {column + 1}, see {first.name}")
    return GivenRows(*parts)


def _numbers(source: Source, n: int) -> Integers:
    """Read a file of numbers from 1 to n, in columns, and let them count from 0."""
    rows: list[list[int]] = []
    for start, block in source.blocks():
        for line, text in enumerate(block.split(b"\n")[:-1], start):
            words = text.split()
            if not words:
                continue
            if rows and len(words) != len(rows[0]):
                raise source.fault(
                    f"{len(words)} columns are there, and {len(rows[0])} in the lines before", line, text
                )
            if not all(word.isdigit() and len(word) <= 18 and 1 <= int(word) <= n for word in words):
                raise source.fault(f"expected numbers of rows, from 1 to {n:,}", line, text)
            rows.append([int(word) - 1 for word in words])
    if not rows:
        raise source.fault("there are no numbers of rows")
    numbers = np.array(rows, np.intp)
    ordered = np.sort(numbers, axis=0)
    at = np.argwhere(ordered[1:] == ordered[:-1])
    if len(at):
        row, column = at[0]
        raise source.fault(f"row {ordered[row, column] + 1} is in column {column + 1} twice")
    return numbers
