"""Costs as text, for command lines and files: a name, a file of prices, or a function of one's own."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module, invalidate_caches
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from clems.cost import Cost
from clems.costs import COSTS, get_cost, weighted_hamming
from clems.criteria import CRITERIA
from clems.datasets.columns import plural
from clems.datasets.dataset import first_repeated
from clems.datasets.decimals import number
from clems.datasets.source import Source
from clems.datasets.table import read_frame

LABEL_BASED = tuple(name for name in CRITERIA if name not in COSTS)  # criteria of all rows together
FUNCTION = re.compile(r"[\w.]+:\w+")
BETA = re.compile(r"f_beta\(.*\)")
COLUMNS = ["label", "false_negative", "false_positive"]


def read_cost(text: str, label_names: Sequence[str]) -> Cost | str:
    """Find the cost that a text means.

    Parameters
    ----------
    text : str
        A key of `COSTS`, or ``f_beta(0.5)`` with any β; ``micro_f1`` or ``macro_f1``; ``module:function``, a function
        of one's own in a module that can be imported, also from the working directory; or the path of a CSV of prices,
        see :func:`read_prices`.
    label_names : sequence of str
        Names of the labels, in order.

    Returns
    -------
    Cost or str
        The cost; of micro and macro F1, which are no costs of single rows, the name.

    Raises
    ------
    ValueError
        If there is no such cost, or if the file does not hold what it should.

    Examples
    --------
    >>> from clems.cost_files import read_cost
    >>> read_cost("f_beta(2)", ["new", "urgent"]).name
    'f_beta(2)'
    """
    if text in COSTS or BETA.fullmatch(text):
        return get_cost(text)
    if text in LABEL_BASED:
        return text
    if FUNCTION.fullmatch(text):
        return get_cost(function_of(text))
    if Path(text).is_file():
        return read_prices(text, label_names)
    known = [*COSTS, *LABEL_BASED]
    close = get_close_matches(text, known, n=1)
    instead = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))} and f_beta(0.5)."
    raise ValueError(
        f"There is no cost {text!r}, nor a file of prices of that name; {instead} "
        "A function of your own is module:function."
    )


def read_prices(path: str | Path, label_names: Sequence[str]) -> Cost:
    """Read a CSV with the prices of mistakes: for each label a line ``label,false_negative,false_positive``.

    Parameters
    ----------
    path : str or path
        The file. Its first line names the columns, in any order; others are ignored. Every label has one line.
    label_names : sequence of str
        Names of the labels, in order.

    Returns
    -------
    Cost
        As of :func:`clems.weighted_hamming`, called by the name of the file.
    """
    with Source(path) as source:
        frame, rows = read_frame(source, None, None)
    if missing := [name for name in COLUMNS if name not in frame.columns]:
        raise source.fault(f"it has no column {missing[0]!r}; a file of prices has {', '.join(COLUMNS)}")
    names = [str(name).strip() for name in frame["label"].fillna("")]
    known, priced = {*label_names}, {*names}
    for row, name in enumerate(names):
        if name not in known:
            raise rows.row_fault(f"there is no such label; there are {_some(label_names)}", row, name)
    if (twice := first_repeated(names)) is not None:
        raise source.fault(f"the label {twice!r} has two lines; every label has one")
    if absent := [name for name in label_names if name not in priced]:
        raise source.fault(f"there is no price for {plural(len(absent), 'label')}: {_some(absent)}")
    prices = {}
    for column in COLUMNS[1:]:
        found = [number(str(cell).strip().encode()) for cell in frame[column].fillna("")]
        for row, value in enumerate(found):
            if value is None or value < 0:
                raise rows.row_fault(f"{column} must be a number of at least 0", row, frame[column].iloc[row])
        by_label = dict(zip(names, found, strict=True))
        prices[column] = [float(by_label[name] or 0) for name in label_names]
    return weighted_hamming(**prices, name=Path(path).name)


def function_of(text: str) -> Callable[[Any, Any], Any]:
    """Import the function that ``module:function`` names, also from the working directory."""
    module_name, _, name = text.partition(":")
    module = module_named(module_name, text)
    function = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"The module {module_name} has no function {name!r}{_place(module)}.")
    return function  # type: ignore[no-any-return]


def module_named(name: str, asked: str = "") -> ModuleType:
    """Import a module that the user asks for, from the working directory if there is none of the name elsewhere.

    Nothing else is ever imported from there, but what the module itself imports.

    Parameters
    ----------
    name : str
        Name of the module, with dots if it is a part of a package.
    asked : str, default=""
        What the user has written, for saying that it is wrong; by default the name.

    Returns
    -------
    module
    """
    if HERE not in sys.meta_path:
        sys.meta_path.append(HERE)  # last, so that nothing there takes the place of something installed
    root = name.partition(".")[0]
    if root not in sys.modules:
        HERE.folders[root] = str(Path.cwd())
        invalidate_caches()
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(f"{asked or name} cannot be imported: {error}.") from None
    except Exception as error:  # whatever a user's module raises
        raise ValueError(f"{asked or name} cannot be imported: {type(error).__name__}: {error}.") from error


class _Here:
    """Finds modules that were asked for in the folder where the user was then, and what they import beside them.

    Other packages look for optional ones as they are imported; those are not found here, whatever files there are.

    Attributes
    ----------
    folders : dict
        Folder of each module that was asked for, or that such a module has asked for.
    """

    def __init__(self) -> None:
        self.folders: dict[str, str] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module that is no part of a package; Python finds the parts of packages by itself."""
        if path is not None:
            return None
        folder = self.folders.get(name) or self.folders.get(_importer())
        spec = None if folder is None else PathFinder.find_spec(name, [folder], target)
        if folder is not None and spec is not None:
            self.folders[name] = folder
        return spec


HERE = _Here()


def _importer() -> str:
    """Name of the module or package whose code is importing at this moment."""
    frame = sys._getframe(1)
    while frame is not None:
        root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if root not in ("importlib", "_frozen_importlib") and frame.f_globals is not globals():
            return root
        frame = frame.f_back  # type: ignore[assignment]
    return ""


class Modules:
    """Modules that came from a working directory: where this is sent to, they can be imported from there too.

    It has to be sent before what refers to them.
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


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return f"{shown} and {len(names) - 5:,} more" if len(names) > 5 else shown
