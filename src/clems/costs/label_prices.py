"""Numbers of labels, such as prices: read by name from a dict, Series or DataFrame, and put in the order of labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from clems.datasets.dataset import first_repeated
from clems.wording import first_few, plural

Names = tuple[str, ...]
Numbers = tuple[float, ...]

FALSE_NEGATIVE, FALSE_POSITIVE = KINDS = ("false_negative", "false_positive")  # columns of prices
LABEL = "label"  # the column with the names in a price file
MOST = 20  # names that an error lists


def split_names(numbers: Any, what: str) -> tuple[Names | None, Any]:
    """Split a dict or a Series into the names of labels and their numbers; of anything else the names are None.

    Parameters
    ----------
    numbers : mapping, Series, array-like or number
        Numbers of labels. Names are compared as text, so that a label 3 may be called ``3`` or ``"3"``.
    what : str
        What to call them in an error.
    """
    if isinstance(numbers, Mapping):
        names, values = [*numbers.keys()], [*numbers.values()]
    elif hasattr(numbers, "index") and hasattr(numbers, "to_numpy"):  # a Series of pandas
        names, values = [*numbers.index], [*numbers.to_numpy()]
    else:
        return None, numbers
    texts = tuple(map(str, names))
    if not texts:
        raise ValueError(f"{what} is empty; it must have a number for each label.")
    if (twice := first_repeated(texts)) is not None:
        raise ValueError(f"{what} names the label {twice!r} twice; every label has one number.")
    return texts, values


def columns_of(frame: Any, what: str) -> dict[str, Any]:
    """Read prices from a DataFrame: a Series for each of its columns ``false_negative`` and ``false_positive``.

    The index has the names of labels, or, as in a price file, a column ``label``.
    """
    given = [*frame.columns]
    priced = [kind for kind in KINDS if kind in given]
    others = [name for name in given if name not in (*KINDS, LABEL)]
    if not priced or (others and len(priced) < len(KINDS)):  # the other one may be there by a wrong name
        raise ValueError(
            f"{what} was given a DataFrame with the columns {first_few(given)}; "
            f"prices are in the columns {' and '.join(KINDS)}, of which one may be left out."
        )
    frame = frame.set_index(LABEL) if LABEL in given else frame
    return {kind: frame[kind] for kind in priced}


def as_numbers(values: Any, names: Names | None, what: str, kind: str = "price") -> Numbers:
    """Check one number, or one for each label: finite, at least 0."""
    try:
        array = np.atleast_1d(np.asarray(values, np.float64))
    except (TypeError, ValueError):
        array = np.array([np.nan] if names is None else [*map(_number, values)])
    wrong = ~(np.isfinite(array) & (array >= 0))
    if names is not None and wrong.any():
        first = int(wrong.argmax())
        raise ValueError(f"{what} is {values[first]!r} for {names[first]!r}; a {kind} is a number of at least 0.")
    if array.ndim != 1 or not array.size or wrong.any():
        raise ValueError(f"{what} must be one {kind} or one per label, each a number of at least 0.")
    return tuple(array.tolist())


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def places_of(names: Iterable[Any], labels: Names, what: str, kind: str = "price") -> list[int]:
    """Find where each of the names is in `labels`, so that the numbers at these places are in the order of the names.

    Parameters
    ----------
    names : iterable
        Names of the labels of a model or of a label matrix, in order; numbers from 0 on for labels without names.
    labels : tuple of str
        Names that numbers were given for.
    what, kind : str
        What was given the numbers, and what they are, for an error, which lists all that do not match.
    """
    wanted = [str(name) for name in names]
    position, known = {name: at for at, name in enumerate(labels)}, {*wanted}
    missing, unknown = [name for name in wanted if name not in position], [name for name in labels if name not in known]
    if not missing and not unknown and len(known) == len(wanted):
        return [position[name] for name in wanted]
    raise ValueError(f"{what} {_mismatch(wanted, labels, missing, unknown, kind)}.")


def _mismatch(wanted: Sequence[str], labels: Names, missing: Sequence[str], unknown: Sequence[str], kind: str) -> str:
    """Say why names do not match, and what to do."""
    if not missing and not unknown:
        return f"is by name, but two labels are called {first_repeated(wanted)!r}"
    if _are_numbers(wanted) and not _are_numbers(labels):
        return (
            f"is by name ({first_few(labels)}), but the {plural(len(wanted), 'label')} here have no names; "
            "give labels as a DataFrame with these columns, or numbers in the order of the labels as a list"
        )
    faults = []
    if missing:
        faults.append(f"has no {kind} for {first_few(missing, most=MOST)}")
    if unknown:
        none = "is no label" if len(unknown) == 1 else "are no labels"
        faults.append(f"names {first_few(unknown, most=MOST)}, which {none}")
    order = " (a Series is matched by its index; numbers in the order of the labels are a list or an array)"
    return f"{' and '.join(faults)}; the labels are {first_few(wanted)}{order if _are_numbers(labels) else ''}"


def _are_numbers(names: Sequence[str]) -> bool:
    """Whether names are those of labels without names, 0, 1, 2 and so on."""
    return list(names) == [str(at) for at in range(len(names))]


def nameless(labels: Names, what: str) -> ValueError:
    """Make the error for numbers by name that are needed where labels have no names."""
    return ValueError(
        f"{what} is by name ({first_few(labels)}), but the labels here have no names; ask a fitted model, which knows "
        "them, give DataFrames, or put it in their order with cost.for_labels(names)."
    )


def names_of_pair(Y: Any, P: Any) -> list[Any]:
    """Names of the labels of truths and predictions: the columns of one that is a DataFrame, else numbers from 0 on."""
    frame = next((one for one in (Y, P) if hasattr(one, "columns")), None)
    return [*range(np.shape(Y)[1])] if frame is None else [*frame.columns]
