"""What stands below the heading of a claim, and its place between comments of docs/paper.md."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tools.paper_claims.records import ROOT

PAGE, FIGURES = ROOT / "docs" / "paper.md", ROOT / "docs" / "figures"
START, END = "<!-- claims {}: made by python -m tools.paper_claims -->\n", "<!-- end of claims -->\n"
WIDTH = 110  # characters of a line
LONGEST = 8  # lines of a paragraph


@dataclass(frozen=True)
class Claim:
    """What stands below the heading of a claim: a picture, where it comes from, and counts.

    Attributes
    ----------
    figure : figure or None
        The picture.
    says : str
        What it shows, for those who do not see it.
    caption : str
        From which experiment it is.
    sentences : list of str
        Counts.
    more : str
        A table or the like, as it is.
    """

    figure: Any
    says: str
    caption: str
    sentences: Sequence[str]
    more: str = ""

    def text(self, name: str) -> str:
        """All of it as Markdown."""
        parts = [] if self.figure is None else [f"![{self.says}](figures/paper-{name}.svg)"]
        paragraph = " ".join([*([self.caption] if self.caption else []), *self.sentences])
        parts += [wrapped(part) for part in _cut(paragraph)]
        return "\n\n".join([*parts, *([self.more] if self.more else [])])


def wrapped(text: str) -> str:
    """Break lines, but not before a percent sign."""
    whole = text.replace(" %", "\N{NO-BREAK SPACE}%")
    filled = textwrap.fill(whole, WIDTH, break_long_words=False, break_on_hyphens=False)
    return filled.replace("\N{NO-BREAK SPACE}", " ")


def _cut(text: str) -> Iterator[str]:
    """Cut a paragraph between sentences so that no part is too long."""
    kept = ""
    for sentence in re.split(r"(?<=[.:]) (?=[A-Z\[])", text):
        longer = f"{kept} {sentence}".strip()
        if kept and len(wrapped(longer).splitlines()) > LONGEST:
            yield kept
            longer = sentence
        kept = longer
    if kept:
        yield kept


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of Markdown."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def renewed(page: str, name: str, text: str) -> str:
    """Return a page with what a claim says between its comments."""
    before, mark, rest = page.partition(START.format(name))
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{PAGE} has no place for {name}: {START.format(name).strip()} ... {END.strip()}")
    return f"{before}{mark}\n{text}\n\n{end}{after}"
