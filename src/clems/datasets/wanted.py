"""What a fitted model asks of a file of rows, and where it is found there: columns go by their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from clems.datasets.columns import pick, pick_one
from clems.datasets.dataset import Dataset
from clems.datasets.text.source import Origin
from clems.wording import first_few, plural

# Of each feature the column, and the word if the feature says that it is there.
Positions = list[tuple[int, str | None]]


@dataclass(frozen=True)
class Wanted:
    """What a model asks of a file.

    Attributes
    ----------
    features : sequence of str or None
        Names of its features. ``colour=red`` is the column of that name or, where there is none, says whether the
        column ``colour`` holds the word ``red``. None: all columns that are nothing else, in their order.
    n_features : int
        How many there are.
    labels : sequence of str
        Names of its labels, which are no features.
    truth : bool, default=False
        Whether labels are to be read too.
    tags, separator : str or None, default=None
        Where they are if they are in one column, as in `read_table`.
    keep : sequence of str, default=()
        Columns of a table to be given back as they are written.
    drop : str or sequence of str, default=()
        Names or patterns of columns that are of no use, so that they need not be noted.
    keep_if_there : sequence of str, default=()
        Columns to be given back as `keep` says, where a table has them.
    encode : callable or None, default=None
        Of a model that takes columns as they come: ``encode(frame, rows)`` makes features of them. Each of `features`
        is a column then.
    gaps : bool, default=False
        Whether the model takes features that are missing, NaN, if they are dense.
    words : collection of str, default=()
        Columns for `encode` that hold words, also where they look like numbers; the others hold numbers.
    """

    features: Sequence[str] | None
    n_features: int
    labels: Sequence[str]
    truth: bool = False
    tags: str | None = None
    separator: str | None = None
    keep: Sequence[str] = ()
    drop: str | Sequence[str] = ()
    keep_if_there: Sequence[str] = ()
    encode: Callable[[Any, Any], Any] | None = None
    words: Collection[str] = ()
    gaps: bool = False

    @property
    def beside(self) -> list[str]:
        """Columns of a table that are neither features nor labels of their own."""
        return [*self.keep, *([self.tags] if self.tags and self.truth else [])]

    def find(self, names: Sequence[str], source: Origin, words: bool = True) -> tuple[Positions, list[str]]:
        """Find the column of each feature.

        Parameters
        ----------
        names : sequence of str
            Names of the columns.
        source : Origin
            Where they are, for saying what is missing.
        words : bool, default=True
            Whether columns may hold words.

        Returns
        -------
        positions : list of tuple of int and (str or None)
            As `find_features` gives them.
        extra : list of str
            Columns that are of no use.
        """
        dropped = {*pick(self.drop, names, source)}
        taken = {pick_one(name, names, source) for name in self.beside} | dropped
        known, labels = {*names}, {*self.labels}
        taken |= {place for place, name in enumerate(names) if name in self.keep_if_there or name == self.tags}
        if self.truth and not self.tags and (absent := [name for name in self.labels if name not in known]):
            raise source.fault(
                f"{plural(len(absent), 'label')} of the model {_are_missing(absent)}; labels are columns of 0 and 1, "
                "or in one column, which tags= names, with separator= between them"
            )
        taken |= {position for position, name in enumerate(names) if name in labels}
        left = [position for position in range(len(names)) if position not in taken]
        if self.features is None:
            if len(left) != self.n_features:
                raise source.fault(
                    f"the model has {plural(self.n_features, 'feature')} without names, and there are "
                    f"{plural(len(left), 'column')} that could be these"
                )
            return [(position, None) for position in left], []
        positions, missing = find_features(self.features, names, words and self.encode is None)
        if missing:
            advice = "; where nothing is known, add an empty column of that name" if self.encode else ""
            raise source.fault(f"{plural(len(missing), 'feature')} of the model {_are_missing(missing)}{advice}")
        used = {position for position, _ in positions}
        if both := sorted(used & dropped):
            raise source.fault(f"the column {names[both[0]]!r} is a feature of the model; it cannot be dropped")
        return positions, [names[position] for position in left if position not in used]


def find_features(features: Sequence[str], names: Sequence[str], words: bool = True) -> tuple[Positions, list[str]]:
    """Find the column of each feature by name, and those that have none.

    Parameters
    ----------
    features : sequence of str
        Names of features.
    names : sequence of str
        Names of columns.
    words : bool, default=True
        Whether columns may hold words, each of which may be a feature.

    Returns
    -------
    positions : list of tuple of int and (str or None)
        The column of each that was found; and the word, if it says whether the column holds that word.
    missing : list of str
        Columns that are missing, each once.

    Examples
    --------
    >>> from clems.datasets.wanted import find_features
    >>> find_features(["size", "colour=red", "age"], ["colour", "size"])
    ([(1, None), (0, 'red')], ['age'])
    """
    at = {name: position for position, name in enumerate(names)}
    positions: Positions = []
    missing: dict[str, None] = {}
    for feature in features:
        if feature in at:
            positions.append((at[feature], None))
            continue
        parts = feature.split("=") if words else [feature]
        cuts = [("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))]
        found = next(((at[column], word) for column, word in cuts if column in at), None)
        if found is None:
            missing[parts[0]] = None
        else:
            positions.append(found)
    return positions, list(missing)


def columns_of_words(features: Sequence[str]) -> set[str]:
    """Columns that may hold words, by the names of features."""
    parts = [feature.split("=") for feature in features if "=" in feature]
    return {"=".join(part[:cut]) for part in parts for cut in range(1, len(part))} - {*features}


def selected(data: Dataset, features: Sequence[str], wanted: Wanted) -> Dataset:
    """Put features, and labels if they are wanted, into the order of a model; features that it has not are 0."""
    at = {name: position for position, name in enumerate(data.feature_names)}
    X = _columns(data.X, [at.get(name) for name in features])
    Y, labels = data.Y, data.label_names
    if wanted.truth and list(labels) != list(wanted.labels):
        at = {name: position for position, name in enumerate(labels)}
        Y, labels = _columns(Y, [at[name] for name in wanted.labels]), wanted.labels
    return Dataset(X, Y, features, labels, data.name, data.source)


def _columns(matrix: Any, positions: list[int | None]) -> Any:
    """Columns of a matrix, zeros where the position is None."""
    n, d = matrix.shape
    if not sparse.issparse(matrix):
        chosen = matrix[:, [position or 0 for position in positions]] if d else np.zeros((n, len(positions)))
        chosen[:, [position is None for position in positions]] = 0
        return chosen
    if None in positions:
        matrix = sparse.hstack([matrix, sparse.csr_array((n, 1), dtype=matrix.dtype)], format="csr")
    return matrix[:, [d if position is None else position for position in positions]]


def _are_missing(names: Sequence[str]) -> str:
    return f"{'is' if len(names) == 1 else 'are'} missing: {first_few(names)}"
