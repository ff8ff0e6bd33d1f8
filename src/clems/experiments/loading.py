"""Loading an experiment from its file, and finding the files that it names from where it lies."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from clems.datasets.formats import format_of
from clems.experiments.spec import DataSpec, Spec, SpecError, check_spec


def read_spec(path: str | Path) -> Spec:
    """Read an experiment's file.

    Parameters
    ----------
    path : str or Path
        A TOML file.

    Returns
    -------
    Spec

    Raises
    ------
    SpecError
        If it is wrong; the message names the key and what is allowed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from clems.experiments import read_spec
    >>> lines = ['title = "Small"', 'datasets = ["digit-scenes"]', 'criteria = ["f1"]', "[learners.br]"]
    >>> _ = Path("small.toml").write_text(chr(10).join(lines))
    >>> read_spec("small.toml").title
    'Small'
    """
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{path} is not TOML: {error}.") from None
    except RecursionError:
        raise SpecError(f"{path} cannot be read: it is nested too deeply.") from None
    spec = check_spec(given, str(path))
    folder = path.resolve().parent
    data = {name: _seen_from(folder, entry) for name, entry in spec.data.items() if isinstance(entry, DataSpec)}
    for name, entry in data.items():
        if not entry.path.is_file():
            raise SpecError(f"{path}: data.{name}.path: there is no file {entry.path}.")
        try:
            options = format_of(entry.path).options
        except ValueError as error:
            raise SpecError(f"{path}: data.{name}.path: {error}") from None
        if unknown := sorted({*entry.options} - {*options}):
            raise SpecError(f"{path}: data.{name}.options: no option {unknown[0]!r}; allowed are {', '.join(options)}.")
    costs = {name: _file_or_text(folder, given) for name, given in spec.costs.items()}
    beside = {name: folder / file for name in ("printed", "reasons") if (file := getattr(spec, name)) is not None}
    for name, file in beside.items():
        if not file.is_file():
            raise SpecError(f"{path}: {name}: there is no file {file}.")
    return spec.model_copy(update={"data": data, "costs": costs, **beside})


def _file_or_text(folder: Path, given: Any) -> Any:
    """Find a file of prices from the folder of the spec; other costs stay as they are."""
    return str(folder / given) if isinstance(given, str) and (folder / given).is_file() else given


def _seen_from(folder: Path, entry: DataSpec) -> DataSpec:
    """Find the files of a dataset from the folder of the spec."""
    files = {
        name: str(folder / value)
        for name, value in entry.options.items()
        if isinstance(value, str) and (name == "pairs" or (name == "labels" and value.lower().endswith(".xml")))
    }
    return entry.model_copy(update={"path": folder / entry.path, "options": entry.options | files})
