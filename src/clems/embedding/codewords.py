"""Error-correcting codes of label vectors: repetition, and Hamming's code on top of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clems.arrays import Bits, Integers
from clems.checks import check_components

LENGTH = 4  # bits per label, where nothing else is said: the length of the paper's experiments

# Hamming (7,4): column j of the checks is j + 1 in binary, so what the checks say is the place of a single wrong bit.
CHECKS = np.array([[0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 0, 0, 1, 1], [1, 0, 1, 0, 1, 0, 1]], np.uint8)
PLACES = np.array([4, 2, 1], np.uint8)
DATA, PARITY = [2, 4, 5, 6], [3, 1, 0]  # where a block holds the four bits it carries, and the parity of each check


@dataclass(frozen=True)
class Code(ABC):
    """A code: a longer vector of bits for each label vector, from which labels are read even if some bits are wrong.

    Attributes
    ----------
    n_labels : int
        Number of labels K.
    size : int
        Most bits of a codeword. A code that comes in blocks may be shorter, see `length`.
    """

    n_labels: int
    size: int

    name: ClassVar[str]

    def __post_init__(self) -> None:
        least = self.least(self.n_labels)
        if self.size < least:
            raise ValueError(
                f"The code {self.name!r} needs at least {least} bits for {self.n_labels} labels; got {self.size}."
            )

    @classmethod
    @abstractmethod
    def least(cls, n_labels: int) -> int:
        """Fewest bits that hold so many labels."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Number of bits of a codeword."""

    @abstractmethod
    def encode(self, Y: Bits) -> Bits:
        """Codewords of label vectors: from shape (n, K) to shape (n, length)."""

    @abstractmethod
    def decode(self, bits: Bits) -> Bits:
        """Label vectors of codewords in which bits may be wrong: from shape (n, length) to shape (n, K)."""


@dataclass(frozen=True)
class Repetition(Code):
    """Repetition code: labels one after the other, again and again; the majority of its copies decides a label.

    A label has ⌊size / K⌋ or ⌈size / K⌉ copies. It is right as long as fewer than half of them are wrong; if just half
    of them say so, the label is not predicted.

    Examples
    --------
    >>> from clems.embedding.codewords import Repetition
    >>> code = Repetition(n_labels=2, size=6)
    >>> code.encode([[1, 0]])
    array([[1, 0, 1, 0, 1, 0]], dtype=uint8)
    >>> code.decode([[0, 0, 1, 0, 1, 1]])
    array([[1, 0]], dtype=uint8)
    """

    name = "rrep"

    @classmethod
    def least(cls, n_labels: int) -> int:
        """Fewest bits that hold so many labels: one for each."""
        return n_labels

    @property
    def length(self) -> int:
        """Number of bits of a codeword."""
        return self.size

    @property
    def labels(self) -> Integers:
        """Label of each bit."""
        return np.arange(self.size) % self.n_labels

    def encode(self, Y: Bits) -> Bits:
        """Copy the labels."""
        return np.asarray(Y, np.uint8)[:, self.labels]

    def decode(self, bits: Bits) -> Bits:
        """Labels that most of their copies agree on."""
        rounds = -(-self.size // self.n_labels)
        votes = np.zeros((len(bits), rounds * self.n_labels), np.int32)
        votes[:, : self.size] = 2 * np.asarray(bits, np.int32) - 1
        balance = votes.reshape(len(bits), rounds, self.n_labels).sum(axis=1)
        return np.asarray(balance > 0, np.uint8)


@dataclass(frozen=True)
class HammingOnRepetition(Code):
    """Hamming's (7,4) code on top of the repetition code: two layers of correction.

    Labels are repeated to four bits for each block of seven. A block corrects one wrong bit; then the majority of its
    copies decides a label. There are ⌊size / 7⌋ blocks.

    Examples
    --------
    >>> from clems.embedding.codewords import HammingOnRepetition
    >>> code = HammingOnRepetition(n_labels=4, size=7)
    >>> word = code.encode([[1, 0, 1, 1]])
    >>> word[0, 2] ^= 1
    >>> code.decode(word)
    array([[1, 0, 1, 1]], dtype=uint8)
    """

    name = "hamr"

    @classmethod
    def least(cls, n_labels: int) -> int:
        """Fewest bits that hold so many labels: seven for each four of them."""
        return 7 * -(-n_labels // 4)

    @property
    def length(self) -> int:
        """Number of bits of a codeword."""
        return self.size // 7 * 7

    @property
    def repetition(self) -> Repetition:
        """The code below."""
        return Repetition(self.n_labels, self.size // 7 * 4)

    def encode(self, Y: Bits) -> Bits:
        """Copy the labels and add three parities to each four of the copies."""
        blocks = np.zeros((len(Y), self.size // 7, 7), np.uint8)
        blocks[..., DATA] = self.repetition.encode(Y).reshape(len(Y), -1, 4)
        blocks[..., PARITY] = blocks @ CHECKS.T % 2
        return blocks.reshape(len(Y), -1)

    def decode(self, bits: Bits) -> Bits:
        """Labels that most of their copies agree on, after each block is corrected."""
        blocks = np.asarray(bits, np.uint8).reshape(len(bits), -1, 7)
        wrong = (blocks @ CHECKS.T % 2) @ PLACES  # counted from 1; 0 where all checks hold
        corrected = blocks ^ (wrong[..., None] == np.arange(1, 8))
        return self.repetition.decode(corrected[..., DATA].reshape(len(bits), -1))


CODES: dict[str, type[Code]] = {code.name: code for code in (Repetition, HammingOnRepetition)}


def make_code(code: str | Callable[[int, int], Any], n_labels: int, n_components: int | float | None) -> Any:
    """Resolve a code given by name, or as a class or function.

    Parameters
    ----------
    code : str or callable
        A key of `CODES`, or what makes a code of a number of labels and a number of bits.
    n_labels : int
        Number of labels K.
    n_components : int, float or None
        Number of bits, or a multiple of K as a float. None is 4 K, or more where the code needs more.
    """
    make = CODES.get(code) if isinstance(code, str) else code
    if not callable(make):
        names = ", ".join(map(repr, CODES))
        raise ValueError(
            f"code must be one of {names}, or a class of codes such as clems.embedding.codewords.Code; got {code!r}."
        )
    if n_components is None:
        least = make.least(n_labels) if hasattr(make, "least") else n_labels
        size = max(LENGTH * n_labels, least)
    else:
        size = check_components(n_components, n_labels)
    made = make(n_labels, size)
    if not all(hasattr(made, part) for part in ("length", "encode", "decode")):
        raise ValueError(f"A code has length, encode and decode; {code!r} made {made!r}.")
    return made


def grouped(kinds: Integers, group_size: int, random_state: np.random.RandomState) -> list[Integers]:
    """Divide bits at random into groups of nearly equal size, no two bits of a kind in a group where avoidable.

    Parameters
    ----------
    kinds : ndarray of shape (M,)
        What each bit is a copy of.
    group_size : int
        Most bits of a group.
    random_state : RandomState
        Decides which bits come together.

    Returns
    -------
    list of ndarray
        The bits of each group in ascending order; ⌈M / group_size⌉ groups.
    """
    number, total = -(-len(kinds) // group_size), len(kinds)
    room = np.full(number, total // number)
    room[: total % number] += 1
    groups: list[list[int]] = [[] for _ in range(number)]
    _, kind, copies = np.unique(kinds, return_inverse=True, return_counts=True)
    # Always into the groups with most room: so rooms differ by at most one, and a kind comes twice into a group only if
    # it has more copies than there are groups.
    for which in np.lexsort((random_state.permutation(len(copies)), -copies)):
        bits = random_state.permutation(np.flatnonzero(kind == which))
        while len(bits):
            roomiest = np.lexsort((random_state.permutation(number), -room))
            chosen = roomiest[room[roomiest] > 0][: len(bits)]
            for bit, group in zip(bits, chosen, strict=False):
                groups[group].append(int(bit))
            room[chosen] -= 1
            bits = bits[len(chosen) :]
    return [np.array(sorted(group)) for group in groups]
