"""The reference: a page for every public name, from its docstring. Names that a package exports need no entry here.

A name is documented where it is shortest: what `clems` exports is not repeated below `clems.costs`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import clems

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MADE = Path(__file__).parents[1] / "made" / "api"
MODULES = {  # what users import from, in the order of the reference
    "clems": "What most people need.",
    "clems.datasets": "Reading and writing data, and the usual datasets by name.",
    "clems.model_selection": "Splits in which each part has its share of every label.",
    "clems.evaluation": "What a model does on labelled rows, and what that is worth.",
    "clems.evaluation.plot": "Figures for notebooks, as SVG.",
    "clems.evaluation.report": "The report as an HTML file.",
    "clems.dask": "Rows in partitions, beyond the memory of one machine.",
    "clems.experiments": "Comparisons of learners, from one call to a cluster.",
    "clems.persistence": "Models in files.",
    "clems.posterior": "Distributions over label vectors, and where they come from.",
}
GROUPS = {  # of what `clems` exports, by where it is defined
    "learners": "Learners",
    "posterior": "Probabilities and decisions",
    "costs": "Costs and criteria",
    "datasets": "Tables",
    "persistence": "Models in files",
    "embedding": "The embedding",
    "evaluation": "Figures",
}


def public_names(module: str) -> list[str]:
    """Names that a module exports, without modules."""
    names = import_module(module).__all__
    return [name for name in names if not isinstance(getattr(import_module(module), name), ModuleType)]


def pages() -> dict[str, list[tuple[str, Any]]]:
    """The public names and objects of each module, each object in the first module that exports it."""
    seen: set[int] = set()
    listed = {}
    for module in MODULES:
        found = [(name, getattr(import_module(module), name)) for name in public_names(module)]
        listed[module] = [(name, value) for name, value in found if id(value) not in seen]
        seen |= {id(value) for _, value in found}
    return listed


def first_line(value: Any) -> str:
    text = inspect.getdoc(value) if not isinstance(value, Mapping) else f"All {len(value)}, by name."
    return " ".join((text or "").partition("\n\n")[0].split())


def page(module: str, name: str, value: Any) -> str:
    """The page of one name."""
    full = f"{module}.{name}"
    title = f"{full}\n{'=' * len(full)}\n\n.. currentmodule:: {module}\n\n"
    if isinstance(value, Mapping):
        rows = "\n".join(f"   * - ``{key!r}``\n     - {first_line_of_entry(value[key])}" for key in value)
        home = f"{module}.{clems._HOMES[name]}" if module == "clems" else module
        body = inspect.getdoc(import_module(home)) or ""
        return f"{title}.. py:data:: {full}\n\n{body}\n\n.. list-table::\n   :widths: 25 75\n\n{rows}\n"
    if inspect.isclass(value):
        return f"{title}.. autoclass:: {full}\n   :members:\n   :inherited-members: Exception, BaseModel\n"
    return f"{title}.. autofunction:: {full}\n"


def first_line_of_entry(value: Any) -> str:
    if inspect.isclass(value):
        return f":class:`clems.{value.__name__}`: {first_line(value)}"
    return getattr(value, "title", None) or getattr(value, "name", "")


def table(module: str, entries: list[tuple[str, Any]]) -> str:
    lines = "\n".join(f"   * - :doc:`{name} <{module}.{name}>`\n     - {first_line(value)}" for name, value in entries)
    return f".. list-table::\n   :widths: 28 72\n   :class: api\n\n{lines}\n\n"


def write_pages(app: Sphinx) -> None:
    MADE.mkdir(parents=True, exist_ok=True)
    texts = {}
    index = "API reference\n=============\n\n"
    index += "Every public name, from its docstring. Each has an example, which the tests run.\n\n"
    for module, entries in pages().items():
        index += f"{module}\n{'-' * len(module)}\n\n{MODULES[module]}\n\n"
        if module == "clems":
            for package, heading in GROUPS.items():
                grouped = [(name, value) for name, value in entries if clems._HOMES[name].split(".")[0] == package]
                if grouped:
                    index += f"{heading}\n{'~' * len(heading)}\n\n{table(module, grouped)}"
        elif entries:
            index += table(module, entries)
        for name, value in entries:
            texts[f"{module}.{name}"] = page(module, name, value)
    index += ".. toctree::\n   :hidden:\n\n" + "".join(f"   {name}\n" for name in texts)
    for name, text in {"index": index, **texts}.items():
        path = MADE / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in MADE.glob("*.rst"):
        if path.stem != "index" and path.stem not in texts:
            path.unlink()


def skip(app: Sphinx, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what classes inherit from other packages, which document it themselves."""
    home = getattr(inspect.unwrap(value), "__module__", None) if callable(value) else None
    return (
        True
        if (name.startswith("set_") and name.endswith("_request")) or (home and not home.startswith("clems"))
        else None
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
