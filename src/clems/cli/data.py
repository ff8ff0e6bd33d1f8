"""Files of data as the commands read them: to train on, and labelled rows for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clems.cli.models import Loaded, load_model
from clems.cli.options import TagColumn, TextForm, form_for, input_of, remembered
from clems.wording import all_of, names_in

if TYPE_CHECKING:
    from clems.datasets import Dataset

NOT_GIVEN = {"drop": [], "kinds": {}, "encoding": "utf-8"}  # options that are other than None by default


def read_training(
    file: str, labels: str | None, tags: TagColumn, drop: str | None, text: TextForm, **options: Any
) -> Dataset:
    """Read a file to train on: as `read_data` does, with features of every column."""
    from clems.datasets.formats import format_of

    encode = {"encode": True} if format_of(file).is_table else {}
    data = read_data(file, labels, tags, drop, text, **options, **encode)
    if not data.X.shape[1]:
        raise ValueError(f"{file}: no column is left for features.")
    return data


def read_data(
    file: str, labels: str | None, tags: TagColumn, drop: str | None, text: TextForm, **options: Any
) -> Dataset:
    """Read a file of any format with those options that were given, which its format must have."""
    from clems.datasets import read_dataset
    from clems.datasets.formats import format_of, formats_for

    file_format = format_of(file)
    options |= {"drop": names_in(drop)} | vars(tags) | vars(text)
    given = {name: value for name, value in options.items() if value != NOT_GIVEN.get(name)}
    for name in given:
        if name not in file_format.options:
            able = dict.fromkeys(other.name for other in formats_for("read").values() if name in other.options)
            raise ValueError(f"{name}= is for {all_of(list(able))} files, which {file} is not.")
    named = file_format.parse_labels(labels or "")
    return read_dataset(file, None if named == [] else named, **{**given, **file_format.training})


def model_and_rows(
    model: str,
    file: str,
    trust: list[str] | None,
    tags: TagColumn,
    drop: str | None,
    text: TextForm,
    show: list[str] | None = None,
) -> tuple[Loaded, Any, Any, Any]:
    """Load a model, and read all rows of a file with the features and labels that the model has.

    Options of training about tags and text need not be given again. The last of what is returned is a table of the
    columns to show, by default those of text, whose index is the column that names rows, where there is one.
    """
    import numpy as np
    import pandas as pd
    from scipy import sparse

    from clems.datasets.new_rows import NewRows
    from clems.datasets.text.source import DataError

    fitted = load_model(model, trust)
    reading = fitted.reading
    known = remembered({} if tags.tags else reading, **vars(tags))
    ids = [reading["id"]] if "id" in reading else []
    keep = [name for name in dict.fromkeys(show or []) if name not in ids]
    usual = [] if show else fitted.text_columns
    wanted = fitted.wanted(truth=True, drop=names_in(drop), keep=keep, keep_if_there=[*ids, *usual], **known)
    pieces = [piece for piece in NewRows(input_of(file), wanted, **form_for(text, reading)) if piece.X.shape[0]]
    if not pieces:
        raise DataError(f"{file}: there are no rows.")

    def stacked(parts: list[Any]) -> Any:
        return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)

    shown = pd.concat([piece.kept for piece in pieces], ignore_index=True)
    if ids and ids[0] in shown:
        shown = shown.set_index(ids[0])
    return fitted, stacked([piece.X for piece in pieces]), stacked([piece.Y for piece in pieces]), shown
