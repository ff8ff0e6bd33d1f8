"""Words of messages: things counted, names listed or split at commas, and text that is safe to print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches


def plural(n: int, what: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> from clems.wording import plural
    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"


def first_few(names: Sequence[str], most: int = 5, show: Callable[[str], str] = repr) -> str:
    """List the first of many names, and count the others.

    Examples
    --------
    >>> from clems.wording import first_few
    >>> first_few("abcdefg")
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    shown = ", ".join(map(show, names[:most]))
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def all_of(names: Sequence[str], last: str = "and") -> str:
    """List all names.

    Examples
    --------
    >>> from clems.wording import all_of
    >>> all_of(["CSV", "TSV", "Parquet"])
    'CSV, TSV and Parquet'
    """
    *others, final = names
    return f"{', '.join(others)} {last} {final}" if others else final


def did_you_mean(name: str, known: Iterable[str], other_names: Mapping[str, str] | None = None) -> str:
    """Ask whether a known name was meant, whatever the case of letters; nothing if none is near.

    Parameters
    ----------
    name : str
        What was written.
    known : iterable of str
        Names that there are.
    other_names : mapping of str to str, default=None
        Known names by what others call them.

    Examples
    --------
    >>> from clems.wording import did_you_mean
    >>> did_you_mean("Haming", ["hamming", "rank"])
    "did you mean 'hamming'?"
    >>> did_you_mean("jaccard", ["accuracy"], {"jaccard": "accuracy"})
    "did you mean 'accuracy'?"
    >>> did_you_mean("cost", ["hamming", "rank"])
    ''
    """
    own = {one.lower(): one for one in known}
    plain = name.lower().replace("-", "_").replace(" ", "_")
    near = get_close_matches(plain, [*own, *(other_names or {})], n=1)
    return f"did you mean {own.get(near[0]) or (other_names or {})[near[0]]!r}?" if near else ""


def names_in(text: str | None) -> list[str]:
    """Split names or patterns at commas; a comma in a name is written ``?``, which stands for any character."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def printable(text: str) -> str:
    """Text on one line, without what would move the cursor of a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
