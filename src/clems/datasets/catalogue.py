"""The usual datasets by name: what they are, where they lie, and how to get them."""

from __future__ import annotations

import csv
import hashlib
import os
import re
import warnings
from dataclasses import dataclass, replace
from difflib import get_close_matches
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

import pandas as pd
from scipy import sparse
from sklearn.datasets import fetch_openml

from clems.datasets.columns import BINARY
from clems.datasets.dataset import Dataset, stack
from clems.datasets.digits import CANVAS, digit_scenes
from clems.datasets.formats import formats_for, read_dataset
from clems.datasets.formats.arff import write_arff
from clems.datasets.frame import from_frame
from clems.datasets.text.source import DataError, Source

Subset = Literal["all", "train", "test"]

TEXT = ".txt"  # which any text may end in
WHOLE = re.compile(r"(?:^|[-_.])data(?=[-_.])", re.IGNORECASE)  # what the extreme classification repository calls it
GIVEN = re.compile(r"(?:^|[-_.])(tr|tst)split(?=[-_.])", re.IGNORECASE)  # files of row numbers, as there
PART = re.compile(r"(?:^|[-_.])(train|test)(?=[-_.])", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """A dataset of the catalogue.

    Attributes
    ----------
    name : str
        Its name.
    rows, features, labels : int or None
        Its size where it is known; checked when it is loaded.
    cardinality : float or None
        Labels of a row on average, as published.
    domain : str
        What it is about.
    home : str
        Address of the page that publishes it.
    openml : int or None
        Its number at OpenML, from where it is downloaded.
    sha256 : dict
        Checksums of the published ARFF text, unpacked, of the parts that are known.
    """

    name: str
    rows: int | None
    features: int | None
    labels: int | None
    cardinality: float | None
    domain: str
    home: str
    openml: int | None
    sha256: dict[str, str]


def _catalogue() -> dict[str, Entry]:
    table = files("clems.datasets").joinpath("catalogue.csv").read_text("utf-8")
    entries = {}
    for row in csv.DictReader(table.splitlines()):
        sizes = {key: int(row[key]) if row[key] else None for key in ("rows", "features", "labels")}
        entries[row["name"]] = Entry(
            name=row["name"],
            **sizes,
            cardinality=float(row["cardinality"]) if row["cardinality"] else None,
            domain=row["domain"],
            home=row["home"],
            openml=int(row["openml"]) if row["openml"] else None,
            sha256={part: row[f"sha256_{part}"] for part in get_args(Subset) if row[f"sha256_{part}"]},
        )
    return entries


CATALOGUE = _catalogue()


def list_datasets(data_home: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """List the datasets that `load_dataset` knows.

    Parameters
    ----------
    data_home : str, path or None, default=None
        A folder to look in, as in `load_dataset`.

    Returns
    -------
    DataFrame
        One row per dataset: its size and domain, and in the column ``at`` the folder where it lies on this computer, or
        where to get it.

    Examples
    --------
    >>> from clems.datasets import list_datasets
    >>> print(list_datasets().loc["yeast", "labels"])
    14
    """
    rows = []
    for entry in CATALOGUE.values():
        folder = next((folder for folder in _homes(data_home) if _files(folder / entry.name)), None)
        at = str(folder / entry.name) if folder else f"OpenML {entry.openml}" if entry.openml else entry.home
        sizes = {"rows": entry.rows, "features": entry.features, "labels": entry.labels}
        rows.append(
            {"name": entry.name, **sizes, "cardinality": entry.cardinality, "domain": entry.domain}
            | {"at": at or "generated"}
        )
    return pd.DataFrame(rows).set_index("name").astype({"rows": "Int64", "features": "Int64", "labels": "Int64"})


def load_dataset(name: str, subset: Subset = "all", data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load one of the usual datasets by name.

    The dataset is searched in `data_home`, in the folder that the environment variable ``CLEMS_DATA`` names, and in the
    user's cache. Each of these has one folder per dataset, with ARFF files and their XML, or libsvm files. If it is in
    none of them, it is downloaded from OpenML, if it exists there, and kept in the cache.

    Parameters
    ----------
    name : str
        Its name; `list_datasets` lists them.
    subset : {"all", "train", "test"}, default="all"
        The whole, or a part of the published split. The whole is the file that is neither part, or both parts stacked.
    data_home : str, path or None, default=None
        A folder to look in first.

    Returns
    -------
    Dataset
        Its size is that of the catalogue.

    Raises
    ------
    ValueError
        If there is no dataset of that name.
    FileNotFoundError
        If it is nowhere to be had; the message says where it was looked for and where to get it.
    DataError
        If a file is broken, or is not the dataset that it is called.

    Examples
    --------
    >>> from clems.datasets import load_dataset
    >>> load_dataset("digit-scenes", "train")
    <Dataset digit-scenes: 3,000 rows, 121 features, 10 labels>
    """
    entry = CATALOGUE.get(str(name).lower().replace("_", "-"))
    if entry is None:
        close = get_close_matches(str(name).lower(), CATALOGUE, n=1)
        raise ValueError(
            f"There is no dataset {name!r}{f'; did you mean {close[0]!r}?' if close else '.'} list_datasets() lists "
            "them all; read_arff and the like read your own."
        )
    if subset not in get_args(Subset):
        raise ValueError(f"subset must be 'all', 'train' or 'test'; got {subset!r}.")
    if entry.name == "digit-scenes":
        return _digit_scenes(subset)
    homes = _homes(data_home)
    for home in homes:
        found = _files(home / entry.name)
        if subset in found or (subset == "all" and {"train", "test"} <= {*found}):
            return _load(entry, subset, found)
    if entry.openml is None:
        raise FileNotFoundError(_nowhere(entry, subset, homes, "it is not at OpenML either"))
    if subset != "all":
        raise FileNotFoundError(_nowhere(entry, subset, homes, "OpenML has it without the split"))
    dataset = _download(entry, homes)
    folder = _cache() / entry.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_arff(dataset, folder / f"{entry.name}.arff.xz")
    except OSError as error:
        warnings.warn(f"{entry.name} could not be kept in the cache: {error}.", stacklevel=2)
    return dataset


def find_given_rows(name: str, data_home: str | os.PathLike[str] | None = None) -> tuple[Path, Path] | None:
    """Find the row numbers with which a dataset of the extreme classification repository is divided.

    They lie beside its data as two files, such as ``bibtex_trSplit.txt`` and ``bibtex_tstSplit.txt``.

    Parameters
    ----------
    name : str
        A dataset of the catalogue.
    data_home : str, path or None, default=None
        A folder to look in first, as in `load_dataset`.

    Returns
    -------
    tuple of path or None
        Files of the training and of the test rows; None if it comes without, or with training and test files of data.
    """
    for home in _homes(data_home):
        folder = home / name
        given = {found[1].lower(): path for path in sorted(folder.glob("[!.]*")) if (found := GIVEN.search(path.name))}
        data = _files(folder)
        if not given and not data:
            continue
        if not given or {"train", "test"} <= {*data}:
            return None
        if "all" not in data:
            raise FileNotFoundError(
                f"{folder} has numbers of rows but no data, which is called {name}_data.txt or alike."
            )
        if len(given) == 1:
            absent = f"{name}_{'tst' if 'tr' in given else 'tr'}Split.txt"
            raise FileNotFoundError(f"{min(given.values())} is there, and {absent} of the other part is not beside it.")
        return given["tr"], given["tst"]
    return None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clems"


def _homes(data_home: str | os.PathLike[str] | None) -> list[Path]:
    """Folders to look in, in order."""
    given = [data_home, os.environ.get("CLEMS_DATA")]
    return [Path(home) for home in given if home] + [_cache()]


def _files(folder: Path) -> dict[str, Path]:
    """Files of a dataset by the part that they hold."""
    found: dict[str, Path] = {}
    published = {suffix for suffix, one in formats_for("read").items() if not one.is_table}  # which say their labels
    for path in sorted(folder.glob("[!.]*")):
        suffixes = {suffix.lower() for suffix in path.suffixes} & published
        part = PART.search(path.name)
        # any text may lie there, but one that says what it is, is that
        if suffixes and not GIVEN.search(path.name) and (part or suffixes != {TEXT} or WHOLE.search(path.name)):
            found.setdefault(part[1].lower() if part else "all", path)
    return found


def _load(entry: Entry, subset: Subset, found: dict[str, Path]) -> Dataset:
    """Read files of a dataset."""
    if subset in found:
        dataset = _read(entry, subset, found[subset])
    else:
        train, test = (_read(entry, part, found[part]) for part in ("train", "test"))
        for what in ("feature_names", "label_names"):
            if getattr(train, what) != getattr(test, what):
                raise DataError(
                    f"{train.source} and {test.source} have other {what.replace('_', ' ')} or another order."
                )
        dataset = stack(train, test)
    _check(entry, dataset, rows=subset == "all")
    return dataset


def _read(entry: Entry, part: str, path: Path) -> Dataset:
    dataset = read_dataset(path, name=entry.name)
    published = entry.sha256.get(part)
    if published and not path.is_relative_to(_cache()) and published != _sha256(path):
        warnings.warn(f"{path} is not the published file of {entry.name}; results may differ.", stacklevel=4)
    return dataset


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with Source(path) as source:
        for chunk in source.chunks():
            digest.update(chunk)
    return digest.hexdigest()


def _check(entry: Entry, dataset: Dataset, rows: bool) -> None:
    """Refuse what has another size than it should have."""
    is_size = {"rows": dataset.X.shape[0], "features": dataset.X.shape[1], "labels": dataset.Y.shape[1]}
    for what, size in is_size.items():
        expected = getattr(entry, what)
        if expected is not None and size != expected and (rows or what != "rows"):
            raise DataError(f"{dataset.source} is not {entry.name}: it has {size:,} {what} instead of {expected:,}.")


def _nowhere(entry: Entry, subset: Subset, homes: list[Path], online: str) -> str:
    looked = [f"{home / entry.name} ({', '.join(sorted(_files(home / entry.name))) or 'nothing'})" for home in homes]
    what = entry.name if subset == "all" else f"The part {subset!r} of {entry.name}"
    return (
        f"{what} is not on this computer, and {online}. Looked in {', '.join(looked)}. Get it from {entry.home} and "
        f"put its files into a folder {entry.name!r} of a folder that you pass as data_home= or name in CLEMS_DATA."
    )


def _download(entry: Entry, homes: list[Path]) -> Dataset:
    """Fetch a dataset from OpenML, through scikit-learn, which checks what arrives."""
    try:
        # scikit-learn's other parser takes labels that say TRUE and FALSE for booleans, and stumbles over them
        fetched = fetch_openml(data_id=entry.openml, as_frame="auto", parser="liac-arff", cache=False, n_retries=1)
    except (OSError, HTTPException, ValueError) as error:  # no network, or an answer that is none
        raise FileNotFoundError(_nowhere(entry, "all", homes, f"OpenML does not give it ({error})")) from None
    where = f"OpenML {entry.openml}"
    label_names = [str(label) for label in fetched.target_names]
    if sparse.issparse(fetched.data):
        Y = pd.DataFrame(fetched.target).map(lambda cell: BINARY.get(str(cell).lower(), -1)).to_numpy()
        dataset = Dataset(fetched.data, Y, list(map(str, fetched.feature_names)), label_names, entry.name, where)
    else:
        frame = pd.concat([fetched.data, pd.DataFrame(fetched.target)], axis="columns")
        dataset = replace(from_frame(frame, label_names, nominal="codes", name=entry.name), source=where)
    _check(entry, dataset, rows=True)
    return dataset


def _digit_scenes(subset: Subset) -> Dataset:
    """Scenes of digits with a fixed seed; the first three quarters are for training."""
    X, Y = digit_scenes(random_state=0)
    names = [f"pixel_{row}_{column}" for row in range(CANVAS) for column in range(CANVAS)]
    whole = Dataset(X, Y, names, [str(digit) for digit in range(10)], "digit-scenes", "clems.datasets.digit_scenes")
    cut = 3 * len(X) // 4
    rows = {"all": slice(None), "train": slice(cut), "test": slice(cut, None)}
    return whole.take(rows[subset])
