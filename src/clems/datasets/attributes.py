"""The header of an ARFF file: what its columns are called and what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from clems.datasets.columns import binary
from clems.datasets.dataset import first_repeated
from clems.datasets.source import NOT_ENCODED, Source

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
DECLARED = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.DOTALL)
VALUE = re.compile(rf"\s*({QUOTED}|(?:[^,'\"\\]|\\.)*)\s*(,|$)", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
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

    @cached_property
    def codes(self) -> dict[str, float]:
        """Number for each listed value."""
        values = self.values or ()
        return binary(values) or {value: float(code) for code, value in enumerate(values)}

    @cached_property
    def first(self) -> float:
        """What a sparse row that omits the attribute means."""
        return next(iter(self.codes.values()), 0.0)


@dataclass(frozen=True)
class Header:
    """Name of the relation; name and kind of each attribute."""

    relation: str
    names: list[str]
    kinds: list[Kind]


def read_header(source: Source) -> tuple[Header, Iterator[tuple[int, bytes]]]:
    """Read up to ``@data``; return the blocks of lines after it, too."""
    relation, names, kinds = "", [], []
    known: dict[bytes, Kind] = {}  # a file declares thousands of attributes of a few kinds
    blocks = source.blocks()
    for first, block in blocks:
        place = 0
        for line, raw in enumerate(block.split(b"\n")[:-1], first):
            place += len(raw) + 1
            words = raw.split(None, 2)
            if not words or words[0].startswith(b"%"):
                continue
            keyword = words[0].lower()
            if keyword == b"@attribute":
                is_plain = len(words) == 3 and words[1].isascii() and words[1].translate(None, b"'\"\\{") == words[1]
                kind = known.get(words[2]) if is_plain else None
                if kind is None:
                    name, kind = _declared(decoded(raw, line, source), line, source)
                    if is_plain:
                        known[words[2]] = kind
                else:
                    name = words[1].decode()
                names.append(name)
                kinds.append(kind)
            elif keyword == b"@relation":
                relation = decoded(raw, line, source).strip()[len("@relation") :].strip()
            elif keyword == b"@data":
                if not names:
                    raise source.fault("there is no @attribute before @data", line)
                if (twice := first_repeated(names)) is not None:
                    raise source.fault(f"two attributes are called {twice!r}; names must differ")
                return Header(relation, names, kinds), _rest(line + 1, block[place:], blocks)
            else:
                raise source.fault("expected @relation, @attribute, @data or a % comment", line, raw)
    raise source.fault("there is no @data line; this is not a whole ARFF file")


def decoded(raw: bytes, line: int, source: Source) -> str:
    """Text of a line."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise source.fault(NOT_ENCODED.format("utf-8"), line, raw) from None


def split(text: str, line: int, source: Source) -> list[str]:
    """Split at commas outside of quotes."""
    if not {*text} & {*"'\"\\"}:
        return [value.strip() for value in text.split(",")]
    values, place = [], 0
    while True:
        match = VALUE.match(text, place)
        if not match:
            raise source.fault("a quoted value must end with the same quote, then a comma", line, text[place:])
        values.append(match[1].strip())
        if not match[2]:
            return values
        place = match.end()


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
    match = DECLARED.fullmatch(line.strip()[len("@attribute") :].strip())
    if not match or not match[2]:
        raise source.fault("an attribute needs a name and a type", number, line)
    name, kind = unquoted(match[1]), match[2]
    word = kind.split(None, 1)[0].lower()
    if word in NUMBERS:
        return name, Kind()
    if word in REFUSED:
        return name, Kind(refused=word)
    if not kind.startswith("{") or "}" not in kind:
        allowed = "numeric, real, integer, or values in braces"
        raise source.fault(f"attribute {name!r} has an unknown type; allowed are {allowed}", number, kind)
    values = tuple(unquoted(value) for value in split(kind[1 : kind.rindex("}")], number, source))
    if (twice := first_repeated(values)) is not None:
        raise source.fault(f"attribute {name!r} lists the value {twice!r} twice", number)
    return name, Kind(values)


def _rest(line: int, block: bytes, blocks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    if block:
        yield line, block
    yield from blocks
