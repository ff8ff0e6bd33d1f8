"""Columns of a table: picking them by name or pattern, and turning words into numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import translate
from re import compile as pattern
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from clems.datasets.dataset import first_repeated
from clems.datasets.text.source import Origin
from clems.wording import first_few

Nominal = Literal["codes", "one-hot"]
MissingLabels = Literal["refuse", "keep"]
TO_KEEP = ", or in training missing with missing_labels='keep'"  # what labels may be, where one is missing

BINARY = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, "no": 0.0, "yes": 1.0}


def check_missing_labels(missing_labels: str) -> None:
    """Check what is to be done with missing labels."""
    if missing_labels not in get_args(MissingLabels):
        raise ValueError(f"missing_labels must be 'refuse' or 'keep'; got {missing_labels!r}.")


def check_nominal(nominal: str | None) -> None:
    """Check the name of an encoding of words."""
    if nominal is not None and nominal not in get_args(Nominal):
        raise ValueError(f"nominal must be 'codes' or 'one-hot'; got {nominal!r}.")


def check_names(names: Sequence[str], source: Origin, what: str = "columns") -> None:
    """Refuse two columns of the same name."""
    if (twice := first_repeated(names)) is not None:
        raise source.fault(f"two {what} are called {twice!r}; names must differ")


def pick(wanted: str | Iterable[object], names: Sequence[str], source: Origin) -> list[int]:
    """Find columns by names or patterns such as ``tag_*``, in the order wanted and each once."""
    wishes = [wanted] if isinstance(wanted, str) else [str(wish) for wish in wanted]
    if not wishes:
        return []
    positions = {name: position for position, name in enumerate(names)}
    found: dict[int, None] = {}
    for wish in wishes:
        if wish in positions:
            found[positions[wish]] = None
            continue
        matches = pattern(translate(wish)).match if {*wish} & {*"*?["} else None
        hits = [position for position, name in enumerate(names) if matches and matches(name)]
        if not hits:
            missing = f"no column matches {wish!r}" if matches else f"there is no column {wish!r}"
            raise source.fault(f"{missing}{_instead(wish, names, close=not matches)}")
        found.update(dict.fromkeys(hits))
    return list(found)


def pick_one(name: str, names: Sequence[str], source: Origin) -> int:
    """Find one column by its name."""
    if name not in names:
        raise source.fault(f"there is no column {name!r}{_instead(str(name), names)}")
    return list(names).index(name)


def pick_labels(labels: Any, names: Sequence[str], source: Origin) -> list[int]:
    """Find the columns of labels, at least one."""
    if not isinstance(labels, Iterable):
        raise TypeError(f"labels must be names or patterns of columns; got {labels!r}.")
    found = [] if isinstance(labels, str) and not labels else pick(labels, names, source)
    if not found:
        raise ValueError(f"labels={labels!r} names no label; there must be one at least.")
    return found


def binary(values: Sequence[str]) -> dict[str, float] | None:
    """Numbers for the values of a column that says yes or no, whatever their order; None for any other column."""
    numbers = {value: BINARY[value.lower()] for value in values if value.lower() in BINARY}
    return numbers if len(numbers) == len(values) == len({*numbers.values()}) else None


def one_hot(
    X: Any, names: Sequence[str], values: Sequence[Sequence[str] | None], source: Origin
) -> tuple[Any, list[str]]:
    """Replace columns of codes by one column per value, missing where the code is missing.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        Features, the words among them as codes.
    names : sequence of str
        Names of the features.
    values : sequence
        For each feature the values that its codes stand for, or None if it holds numbers.
    source : Origin
        Where it came from; its limits apply.
    """
    words = [position for position, listed in enumerate(values) if listed is not None]
    if not words:
        return X, list(names)
    is_sparse = sparse.issparse(X)
    columns = sum(len(listed or "x") for listed in values)
    source.check_size(X.shape[0], len(words) if is_sparse else columns, 16 if is_sparse else 8)
    by_column = X.tocsc() if is_sparse else X
    parts: list[Any] = []
    new_names: list[str] = []
    start = filled = 0
    for position in [*words, len(names)]:
        if position > start:
            parts.append(by_column[:, start:position])
            new_names += names[start:position]
        if position < len(names):
            listed = values[position] or ()
            codes = (by_column[:, [position]].toarray() if is_sparse else by_column[:, [position]]).ravel()
            filled += len(listed) * int(np.isnan(codes).sum()) if is_sparse else 0
            source.check_size(filled, 1, 16)
            parts.append(_indicators(codes, len(listed), is_sparse))
            new_names += [f"{names[position]}={value}" for value in listed]
        start = position + 1
    if (twice := first_repeated(new_names)) is not None:
        raise source.fault(f"one-hot encoding makes two features called {twice!r}; use nominal='codes'")
    return (sparse.hstack(parts, format="csr") if is_sparse else np.hstack(parts)), new_names


def _indicators(codes: Any, n_values: int, is_sparse: bool) -> Any:
    n = len(codes)
    missing = np.isnan(codes)
    if not is_sparse:
        hot = (codes[:, None] == np.arange(n_values)).astype(np.float64)
        hot[missing] = np.nan
        return hot
    rows = np.flatnonzero(~missing)
    hot = sparse.csc_array((np.ones(len(rows)), (rows, codes[rows].astype(np.int64))), shape=(n, n_values))
    if not missing.any():
        return hot
    gaps = np.repeat(np.flatnonzero(missing), n_values)
    filled = (np.full(len(gaps), np.nan), (gaps, np.tile(np.arange(n_values), int(missing.sum()))))
    return hot + sparse.csc_array(filled, shape=(n, n_values))


def _instead(wish: str, names: Sequence[str], close: bool = True) -> str:
    if not names:
        return ", nor any other"
    if close and (alike := get_close_matches(wish, names[:10_000], n=1)):
        return f"; did you mean {alike[0]!r}?"
    return f"; there are {first_few(names)}"
