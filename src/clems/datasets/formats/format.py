"""What a file format is: an object that answers all that is asked of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import IO, Any

import pandas as pd

from clems.datasets.dataset import Dataset
from clems.datasets.text.source import Limits, Origin
from clems.datasets.wanted import Wanted, selected
from clems.wording import names_in

Append = Callable[[pd.DataFrame], None]


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format; `FORMATS` has one for each suffix. What a format cannot do is None.

    A format that has a name, suffixes and `read` can be used everywhere: in Python, in the catalogue, by experiments
    and by every command, to train and to predict.

    Attributes
    ----------
    name : str
        What people call it.
    suffixes : tuple of str
        How names of such files end, in small letters with the dot; a suffix such as ``.gz`` may follow.
    read : callable or None
        ``read(path, labels=None, **options)`` reads a dataset. Its parameters are the options of the format; if
        `encoding` and `limits` are among them, they are passed on.
    write : callable or None
        ``write(dataset, path)`` writes a dataset.
    append : callable or None
        ``append(file)`` is a context in which DataFrames, such as predictions, are written one below the other: it
        yields a function that writes one of them. It may have a parameter `spreadsheet_safe`.
    pieces : callable or None
        Of a table, whose columns may be features or labels as the user says: ``pieces(source, **options)`` gives
        DataFrames of some rows each, see `read_pieces`. Other formats say themselves what is a label.
    read_wanted : callable or None
        ``read_wanted(path, wanted, encoding, limits)`` reads what a model asks for, see `read_new`; None reads
        everything and looks for features and labels by name.
    parse_labels : callable
        Function that parses labels given as text on a command line.
    training : mapping
        Options with which training data are read on a command line, so that other files give the same features.
    beside : callable
        ``beside(path)`` lists the files that are read together with a file.

    Examples
    --------
    >>> from clems.datasets.formats import FORMATS
    >>> FORMATS[".arff"].name
    'ARFF'
    >>> list(FORMATS[".arff"].options)
    ['labels', 'nominal', 'drop', 'missing_labels', 'encoding']
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., Dataset] | None = None
    write: Callable[[Dataset, str | PathLike[str]], None] | None = None
    append: Callable[..., AbstractContextManager[Append]] | None = None
    pieces: Callable[..., Any] | None = None
    read_wanted: Callable[[Any, Wanted, str, Limits | None], tuple[Dataset, list[str]]] | None = None
    parse_labels: Callable[[str], Any] = names_in
    training: Mapping[str, Any] = field(default_factory=dict)
    beside: Callable[[Path], Sequence[Path]] = lambda _: ()

    @property
    def is_table(self) -> bool:
        """Whether columns may be features or labels as the user says, and rows are read in pieces."""
        return self.pieces is not None

    @property
    def options(self) -> dict[str, Any]:
        """Options of `read` and their defaults, but for those that every format has."""
        parameters = list(inspect.signature(self.read).parameters.values())[1:] if self.read else []
        return {one.name: one.default for one in parameters if one.name not in ("name", "limits")}

    def read_new(
        self, path: Any, wanted: Wanted, encoding: str = "utf-8", limits: Limits | None = None
    ) -> tuple[Dataset, list[str]]:
        """Read rows for a fitted model.

        Parameters
        ----------
        path : str or path
            The file.
        wanted : Wanted
            What the model asks for.
        encoding, limits
            As in `read`, where it has them.

        Returns
        -------
        dataset : Dataset
            Features in the order of the model, and its labels if they are asked for.
        extra : list of str
            Features of the file that are of no use.
        """
        if self.read_wanted is not None:
            return self.read_wanted(path, wanted, encoding, limits)
        assert self.read is not None
        known = inspect.signature(self.read).parameters
        given = {"encoding": encoding, "limits": limits}
        data = self.read(path, **{name: value for name, value in given.items() if name in known})
        names = [*data.feature_names, *data.label_names]
        positions, extra = wanted.find(names, Origin(data.source or str(path), limits), words=False)
        return selected(data, [names[position] for position, _ in positions], wanted), extra

    def appending(self, file: IO[bytes], spreadsheet_safe: bool = False) -> AbstractContextManager[Append]:
        """Open a context in which DataFrames are written one below the other to a file, which is not closed.

        Parameters
        ----------
        file : binary file
            Where to.
        spreadsheet_safe : bool, default=False
            Whether text that a spreadsheet would take for a formula gets an apostrophe before it.
        """
        assert self.append is not None
        if not spreadsheet_safe:
            return self.append(file)
        if "spreadsheet_safe" not in inspect.signature(self.append).parameters:
            raise ValueError(f"spreadsheet_safe= is for CSV and TSV, not for {self.name}, which has no formulas.")
        return self.append(file, spreadsheet_safe=True)
