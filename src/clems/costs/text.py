"""Costs as command lines and experiment files give them: files of prices, functions, or what `get_cost` reads."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module, invalidate_caches
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from clems.costs.cost import Cost
from clems.costs.criteria import label_criteria
from clems.costs.formulas import COSTS, OTHER_NAMES, calls, cost_named, get_cost, weighted_hamming
from clems.costs.label_prices import KINDS, LABEL
from clems.datasets.dataset import first_repeated
from clems.datasets.formats.table import read_frame
from clems.datasets.text.decimals import number
from clems.datasets.text.source import DataError, Source
from clems.wording import did_you_mean, first_few

FUNCTION = re.compile(r"[\w.]+:\w+")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
COLUMNS = [LABEL, *KINDS]


def read_cost(text: str, *, encoding: str = "utf-8", decimal: str = ".") -> Cost | str:
    """Resolve a cost written as text.

    Parameters
    ----------
    text : str
        A name as :func:`clems.get_cost` takes it, such as ``f1`` or ``f_beta(0.5)``; ``micro_f1`` or ``macro_f1``;
        ``module:function``, a function in a module that can be imported, also from the working directory;
        or the path of a CSV of prices, see :func:`read_prices`.
    encoding, decimal : str
        Of a file of prices, as in :func:`read_prices`.

    Returns
    -------
    Cost or str
        The cost; for micro and macro F1, which no single row has, the name.

    Raises
    ------
    ValueError
        If there is no such cost, or if the file is not a valid price list.

    Examples
    --------
    >>> from clems.costs.text import read_cost
    >>> read_cost("f_beta(2)").name
    'f_beta(2)'
    """
    if (named := cost_named(text)) is not None:
        return named
    if text in label_criteria():
        return text
    if FUNCTION.fullmatch(text):
        return get_cost(function_of(text))
    if Path(text).is_file():
        return read_prices(text, encoding=encoding, decimal=decimal)
    known = [*COSTS, *label_criteria()]
    there_are = f"there are {', '.join([*sorted(known), *calls()])}."
    instead = did_you_mean(text, known, OTHER_NAMES) or there_are
    raise ValueError(
        f"There is no cost {text!r}, nor a file of prices of that name; {instead} "
        "A function of your own is module:function."
    )


def read_prices(path: str | Path, *, encoding: str = "utf-8", decimal: str = ".") -> Cost:
    """Read the prices of mistakes from a CSV: for each label a line ``label,false_negative,false_positive``.

    Prices are matched to labels by name when a model is fitted or used; ``clems fit --cost prices.csv`` reads the same
    files.

    Parameters
    ----------
    path : str or path
        The file. Its first line names the columns, in any order; others are ignored. Every label has one line.
    encoding : str, default="utf-8"
        Encoding of a file that is not UTF-8; one that is, is read as such.
    decimal : str, default="."
        The point in numbers, for instance ``","``; a number that is written with a point is read, too.

    Returns
    -------
    Cost
        As :func:`clems.weighted_hamming` returns it, named after the file.

    Examples
    --------
    >>> import pandas as pd
    >>> from clems import read_prices
    >>> prices = {"label": ["urgent", "bug"], "false_negative": [10, 1], "false_positive": [2, 1]}
    >>> pd.DataFrame(prices).to_csv("prices.csv", index=False)
    >>> Y = pd.DataFrame([[1, 1], [0, 1]], columns=["bug", "urgent"])
    >>> read_prices("prices.csv").rowwise(Y, 0 * Y)
    array([11., 10.])
    """
    encoding = _encoding_of(path, encoding)
    with Source(path, None, encoding) as source:
        frame, rows = read_frame(source, written=None)
    if missing := [name for name in COLUMNS if name not in frame.columns]:
        others = [str(name) for name in frame.columns if name not in COLUMNS]
        near = did_you_mean(missing[0], others) or (f"it has {first_few(others)}" if others else "")
        raise source.fault(
            f"it has no column {missing[0]!r}; a file of prices has {', '.join(COLUMNS)}"
            + (f"; {near.replace('did you mean', 'rename').rstrip('?')}" if near else "")
        )
    names = [str(name).strip() for name in frame[LABEL].fillna("")]
    if not names:
        raise source.fault("it has no prices; every label has a line")
    if (twice := first_repeated(names)) is not None:
        raise source.fault(f"the label {twice!r} has two lines; every label has one")
    prices: dict[str, Any] = {}
    for column in KINDS:
        cells = [str(cell).strip() for cell in frame[column].fillna("")]
        numbers = [_price(cell, decimal) for cell in cells]
        for row, (value, cell) in enumerate(zip(numbers, cells, strict=True)):
            if value is None or value < 0:
                comma = decimal == "." and "," in cell and _price(cell, ",") is not None
                advice = f"; write {cell.replace(',', '.')}, or say decimal=','" if comma else ""
                raise rows.row_fault(f"{column} must be a number of at least 0{advice}", row, cell)
        prices[column] = dict(zip(names, numbers, strict=True))
    return weighted_hamming(**prices, name=Path(path).name)


def _price(cell: str, decimal: str) -> float | None:
    """Read a price; with another decimal mark than a point, a point may part thousands, and is refused if it could."""
    if decimal != "." and THOUSANDS.fullmatch(cell):
        return None
    return number(cell.replace(decimal, ".").encode())


def _encoding_of(path: str | Path, given: str) -> str:
    """Return UTF-8 if that is what a file holds, whatever encoding is given for it and for data beside it."""
    try:
        Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        if given.lower().replace("-", "").replace("_", "") == "utf8":
            raise DataError(
                f"{path}: the text is not utf-8; save it as UTF-8 or, if data and prices are in another encoding, "
                "say which, for instance encoding='latin-1'."
            ) from None
        return given
    return "utf-8"


def function_of(text: str) -> Callable[[Any, Any], Any]:
    """Import the function that ``module:function`` names, also from the working directory."""
    module_name, _, name = text.partition(":")
    module = module_named(module_name, text)
    function = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"The module {module_name} has no function {name!r}{_place(module)}.")
    return function  # type: ignore[no-any-return]


def module_named(name: str, asked: str = "") -> ModuleType:
    """Import a module that the user names, from the working directory if no installed one has the name.

    Nothing else is imported from there, except by the module itself.

    Parameters
    ----------
    name : str
        Name of the module, with dots if it is a part of a package.
    asked : str, default=""
        What the user has written, for error messages; by default the name.

    Returns
    -------
    module
    """
    if HERE not in sys.meta_path:
        sys.meta_path.append(HERE)  # last, so that nothing there shadows an installed module
    root = name.partition(".")[0]
    if root not in sys.modules:
        HERE.folders[root] = str(Path.cwd())
        invalidate_caches()
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(f"{asked or name} cannot be imported: {error}.") from None
    except Exception as error:  # a user's module may raise anything
        raise ValueError(f"{asked or name} cannot be imported: {type(error).__name__}: {error}.") from error


class _Here:
    """Find modules that the user named in the working directory of that moment, and modules that these import.

    Optional imports of other packages are not found here, whatever files there are.

    Attributes
    ----------
    folders : dict
        Folder of each module that the user named, or that such a module imports.
    """

    def __init__(self) -> None:
        self.folders: dict[str, str] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a top-level module; Python finds the modules of packages by itself."""
        if path is not None:
            return None
        folder = self.folders.get(name) or self.folders.get(_importer())
        spec = None if folder is None else PathFinder.find_spec(name, [folder], target)
        if folder is not None and spec is not None:
            self.folders[name] = folder
        return spec


HERE = _Here()


def _importer() -> str:
    """Return the name of the top-level module or package whose code is importing."""
    frame = sys._getframe(1)
    while frame is not None:
        root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if root not in ("importlib", "_frozen_importlib") and frame.f_globals is not globals():
            return root
        frame = frame.f_back  # type: ignore[assignment]
    return ""


class Modules:
    """Modules from a working directory: a process that unpickles this can import them too.

    It must be sent before objects that refer to them.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (dict(HERE.folders),)


def _arrived(folders: dict[str, str]) -> Modules:
    HERE.folders.update(folders)
    if HERE not in sys.meta_path:
        sys.meta_path.append(HERE)
    return Modules()


def _place(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return f" ({file})" if file else ""
