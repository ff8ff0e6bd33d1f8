"""The header of an ARFF file: what its columns are called and what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from clems.datasets.columns import binary, check_names
from clems.datasets.dataset import first_repeated
from clems.datasets.text.source import NOT_ENCODED, Source

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
DECLARED = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.DOTALL | re.ASCII)
VALUE = re.compile(rf"\s*+({QUOTED}|(?:[^,'\"\\]|\\.)*+)\s*+(,|$)", re.DOTALL | re.ASCII)
LISTED = re.compile(rf"\{{((?:{QUOTED}|[^}}'\"\\]|\\.)*+)\}}\s*+(?:%.*+)?+", re.DOTALL | re.ASCII)
FIRST = re.compile(rb"(?:^|\n)(@[aA][tT]{2}[rR][iI][bB][uU][tT][eE])(?= )")
DATA = re.compile(rb"\n(?=@[dD][aA][tT][aA])")
ESCAPED = re.compile(r"\\(.)", re.DOTALL | re.ASCII)
SPACE = " \t\n\r\x0b\f"  # as bytes have it; text knows more
NUMBERS = {"numeric", "real", "integer"}
REFUSED = {"string", "date", "relational"}


@dataclass(frozen=True)
class Kind:
    """What an attribute holds: listed values, or numbers, or something that is refused."""

    values: tuple[str, ...] | None = None
    refused: str = ""

    @cached_property
    def words(self) -> tuple[str, ...] | None:
        """Values that need a code: any but those that say yes or no."""
        return None if self.values is None or binary(self.values) else self.values

    @property
    def is_binary(self) -> bool:
        """Whether it says yes or no."""
        return self.values is not None and self.words is None

    @cached_property
    def codes(self) -> dict[str, float]:
        """Number for each listed value."""
        values = self.values or ()
        return binary(values) or {value: float(code) for code, value in enumerate(values)}

    @cached_property
    def first(self) -> float:
        """What a sparse row that omits the attribute means."""
        return next(iter(self.codes.values()), 0.0)


COMMON = {
    **dict.fromkeys((b"numeric", b"NUMERIC", b"real", b"REAL"), Kind()),
    **{text: Kind(tuple(text.decode().strip("{}").split(","))) for text in (b"{0,1}", b"{1,0}")},
}


@dataclass(frozen=True)
class Header:
    """Name of the relation; name of each attribute, the kinds that there are, and which of them each attribute is."""

    relation: str
    names: list[str]
    kinds: list[Kind]
    kind_of: NDArray[np.int64]


def read_header(source: Source) -> tuple[Header, Iterator[tuple[int, bytes]]]:
    """Read up to ``@data``; return the blocks of lines after it, too."""
    draft = _Draft(source)
    blocks = source.blocks()
    for first, block in blocks:
        start, stop, words = _plain_lines(block)  # thousands of attributes are declared alike
        rest = draft.read_lines(block[:start], first)
        if rest is not None:
            return draft.header(), chain([(rest[0], rest[1] + block[start:])], blocks)
        draft.read_plain(words)
        rest = draft.read_lines(block[stop:], first + block.count(b"\n", 0, stop))
        if rest is not None:
            return draft.header(), chain([rest], blocks)
    raise source.fault("there is no @data line; this is not a whole ARFF file")


def _plain_lines(block: bytes) -> tuple[int, int, list[bytes]]:
    """Find the lines of keyword, plain name and common type, if there is nothing else between them and ``@data``.

    Returns
    -------
    start, stop : int
        Where they are; both are the length of the block if there are none.
    words : list of bytes
        All their words.
    """
    nothing = len(block), len(block), list[bytes]()
    if not (match := FIRST.search(block)):
        return nothing
    start, keyword = match.start(1), match[1]
    data = DATA.search(block, start)
    stop = data.end() if data else len(block)
    text = block[start:stop].rstrip()
    words, n_lines = text.split(), text.count(b"\n") + 1
    if len(words) != 3 * n_lines or words[::3] != [keyword] * n_lines or text.count(b"\n" + keyword) != n_lines - 1:
        return nothing
    if not {*words[2::3]} <= COMMON.keys():
        return nothing
    names = b"".join(words[1::3])
    return (start, stop, words) if names.isascii() and names.translate(None, b"'\"\\{%") == names else nothing


class _Draft:
    """What is known of a header so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.relation = ""
        self.names: list[str] = []
        self.kinds: list[Kind] = []
        self.kind_of: list[int] = []

    def header(self) -> Header:
        """Finish."""
        check_names(self.names, self.source, "attributes")
        return Header(self.relation, self.names, self.kinds, np.array(self.kind_of))

    def read_plain(self, words: list[bytes]) -> None:
        """Read words that are keyword, plain name and common type in turn."""
        if not words:
            return
        positions = {kind: position for position, kind in enumerate(dict.fromkeys(words[2::3]), len(self.kinds))}
        self.names += b" ".join(words[1::3]).decode().split(" ")
        self.kinds += [COMMON[kind] for kind in positions]
        self.kind_of += map(positions.__getitem__, words[2::3])

    def read_lines(self, text: bytes, first: int) -> tuple[int, bytes] | None:
        """Read line by line; return what is after ``@data``, and the number of its first line."""
        source = self.source
        lines = text.split(b"\n")[:-1]
        for line, raw in enumerate(lines, first):
            keyword = (raw.split(None, 1) or [b"%"])[0].lower()
            if keyword == b"@attribute":
                name, kind = _declared(decoded(raw, line, source), line, source)
                self.names.append(name)
                self.kind_of.append(len(self.kinds))
                self.kinds.append(kind)
            elif keyword == b"@relation":
                self.relation = decoded(raw, line, source).strip(SPACE)[len("@relation") :].strip(SPACE)
            elif keyword == b"@data":
                if not self.names:
                    raise source.fault("there is no @attribute before @data", line)
                if raw.split(b"%")[0].split()[1:]:
                    raise source.fault("rows start on the line after @data", line, raw)
                n_before = line - first + 1
                return line + 1, text[sum(map(len, lines[:n_before])) + n_before :]
            elif not keyword.startswith(b"%"):
                raise source.fault("expected @relation, @attribute, @data or a % comment", line, raw)
        return None


def decoded(raw: bytes, line: int, source: Source) -> str:
    """Text of a line."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise source.fault(NOT_ENCODED.format("utf-8", "latin-1"), line, raw) from None


def split(text: str, line: int, source: Source) -> list[str]:
    """Split at commas outside of quotes."""
    if not {*text} & {*"'\"\\"}:
        return [value.strip(SPACE) for value in text.split(",")]
    values, position = [], 0
    while True:
        match = VALUE.match(text, position)
        if not match:
            raise source.fault("a quoted value must end with the same quote, then a comma", line, text[position:])
        values.append(match[1].strip(SPACE))
        if not match[2]:
            return values
        position = match.end()


def unquoted(text: str) -> str:
    """Take quotes and backslashes off."""
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        text = text[1:-1]
    if "\\" not in text:
        return text
    named = {"n": "\n", "t": "\t", "r": "\r"}
    return ESCAPED.sub(lambda match: named.get(match[1], match[1]), text)


def _declared(line: str, number: int, source: Source) -> tuple[str, Kind]:
    """Name and kind that a line declares."""
    match = DECLARED.fullmatch(line.strip(SPACE)[len("@attribute") :].strip(SPACE))
    if not match or not match[2]:
        raise source.fault("an attribute needs a name and a type", number, line)
    name, kind = unquoted(match[1]), match[2]
    word = (kind.split(None, 1) or [""])[0].lower()  # a type may consist of separators that are no blanks here
    if word in NUMBERS:
        return name, Kind()
    if word in REFUSED:
        return name, Kind(refused=word)
    if not (listed := LISTED.fullmatch(kind)):
        allowed = "numeric, real, integer, or values in braces"
        raise source.fault(f"attribute {name!r} has an unknown type; allowed are {allowed}", number, kind)
    if not listed[1].strip(SPACE):
        raise source.fault(f"attribute {name!r} lists no values", number, line)
    values = tuple(unquoted(value) for value in split(listed[1], number, source))
    if (twice := first_repeated(values)) is not None:
        raise source.fault(f"attribute {name!r} lists the value {twice!r} twice", number)
    return name, Kind(values)
