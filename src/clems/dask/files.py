"""Files of tables as partitions: what their columns are is learned from some rows of each, then each is read by it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from clems.dask.partitions import Partition, computed, constant, import_dask, stacked
from clems.datasets.columns import pick, pick_labels, pick_one
from clems.datasets.dataset import Dataset, check_complete
from clems.datasets.formats.table import read_frame
from clems.datasets.frame import Roles, dataset_of, labels_of, tags_of
from clems.datasets.new_rows import NewRows
from clems.datasets.rows import Rows
from clems.datasets.text.source import DataError, Part, Source
from clems.datasets.wanted import Wanted
from clems.wording import first_few

ROWS = 20_000  # of all parts together, from which encodings of columns are learned


class Seen(NamedTuple):
    """What was seen of a part.

    Attributes
    ----------
    columns : list of str
        Names of its columns.
    n : int
        Number of its rows.
    some : DataFrame
        Some of these.
    tags : set of str
        Labels in its column of tags.
    """

    columns: list[str]
    n: int
    some: pd.DataFrame
    tags: set[str]


def training_partitions(
    parts: list[Part], roles: Roles, form: dict[str, Any], name: str
) -> tuple[Dataset, list[Partition], int]:
    """Find out what the columns of a table in parts hold, and return tasks that read these.

    Parameters
    ----------
    parts : list of Part
        The table.
    roles : Roles
        Which columns are labels, features or neither.
    form : dict
        `delimiter`, `decimal` and `encoding` of a CSV.
    name : str
        What to call the table.

    Returns
    -------
    dataset : Dataset
        Some rows of each part, and the encoder that was learned from them, if there is anything to encode.
    partitions : list of Partition
        Of features, in the form in which the learner is given them, and a DataFrame of labels.
    n : int
        Number of rows in all.
    """
    roles.check()
    delayed = import_dask().delayed
    each = -(-ROWS // len(parts))
    (seen,) = computed([delayed(see)(part, roles, form, each) for part in parts])
    for part, one in zip(parts, seen, strict=True):
        if {*one.columns} != {*seen[0].columns}:
            other = sorted({*one.columns} ^ {*seen[0].columns})
            raise DataError(
                f"{part.name}: it has other columns than {parts[0].name}; they differ in {first_few(other)}."
            )
    if roles.tags is not None and roles.labels is None:
        roles = roles._replace(labels=sorted(set().union(*(one.tags for one in seen))))
    some = pd.concat([one.some for one in seen if one.n] or [seen[0].some], ignore_index=True)
    data = dataset_of(some, Rows(name, None, decimal=form["decimal"]), roles._replace(encode=True), name)
    if sparse.issparse(data.X):
        check_complete(data)
    if not data.X.shape[1]:
        raise DataError(f"{name}: no column is left for features.")
    d, encoder = data.X.shape[1], data.encoder
    reading = Wanted(data.feature_names, d, data.label_names, True, roles.tags, roles.separator, gaps=True)
    if encoder is not None:
        columns = encoder.feature_names_in_.tolist()
        reading = replace(reading, features=columns, encode=encoder.transform_rows, words=encoder.word_columns)
    sent = constant(reading)
    tasks = [Partition(part.name, delayed(partial)(labelled, part, sent, form, encoder is None)) for part in parts]
    return data, tasks, sum(one.n for one in seen)


def see(part: Part, roles: Roles, form: dict[str, Any], most: int) -> Seen:
    """Look at a part: check its labels, and take some rows."""
    words = [column for column, kind in (roles.kinds or {}).items() if kind not in ("numbers", "booleans")]
    written = [column for column in (roles.tags, roles.row_id) if column is not None]
    with Source(part, encoding=form["encoding"]) as source:
        marks = {"delimiter": form["delimiter"], "decimal": form["decimal"]}
        frame, rows = read_frame(source, written=written, words=words, drop=roles.drop, any_length=True, **marks)
    columns, tags = list(map(str, frame.columns)), set[str]()
    if roles.tags is not None:
        column = frame.iloc[:, pick_one(roles.tags, columns, rows)]
        tags = {label for _, label in tags_of(column, roles.separator, rows)}
    else:
        dropped = {*pick(roles.drop, columns, rows)}
        assert roles.labels is not None
        labels_of(frame.iloc[:, [at for at in pick_labels(roles.labels, columns, rows) if at not in dropped]], rows)
    n = len(frame)
    chosen = np.sort(np.random.default_rng(n).choice(n, most, replace=False)) if n > most else np.arange(n)
    return Seen(columns, n, frame.iloc[chosen], tags)


def labelled(part: Part, wanted: Wanted, form: dict[str, Any], named: bool) -> tuple[Any, pd.DataFrame]:
    """Read features and labels of a part, as new rows are read for a model."""
    pieces = [*NewRows(part, wanted, **form)]
    X, Y = stacked([piece.X for piece in pieces]), stacked([piece.Y for piece in pieces])
    data = Dataset(X, Y, wanted.features if named else range(X.shape[1]), wanted.labels, part.name)  # type: ignore[arg-type]
    return data.feature_frame() if named else X, data.label_frame()
