"""Imports point one way: a package may use only the packages before it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import clems

# The order in which data flows. A package is a folder or a file of `src/clems`; `__init__` and `__main__` come last.
ORDER = [
    "arrays",
    "checks",
    "wording",
    "files",
    "labels",
    "datasets",
    "costs",
    "model_selection",
    "embedding",
    "trees",
    "decisions",
    "posterior",
    "learners",
    "persistence",
    "evaluation",
    "dask",
    "experiments",
    "cli",
    "__main__",
]
ROOT = Path(clems.__file__).parent
MODULES = {path: path.relative_to(ROOT).parts[0].removesuffix(".py") for path in sorted(ROOT.rglob("*.py"))}


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers read: names in annotations may point anywhere."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _nodes(node)


def _imports(path: Path) -> set[str]:
    """Packages of clems that a module imports; from `clems` itself, the packages in which the names are."""
    found = set()
    for node in _nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            if node.module == "clems":
                found |= {f"clems.{clems._HOMES.get(alias.name, alias.name)}" for alias in node.names}
            else:
                found.add(str(node.module))
    return {name.split(".")[1] for name in found if name.startswith("clems.")} - {"__version__"}


def test_every_package_has_its_place():
    assert {*MODULES.values()} - {"__init__"} == {*ORDER}


def test_imports_point_one_way():
    for path, package in MODULES.items():
        if package == "__init__":
            continue
        allowed = ORDER[: ORDER.index(package) + 1]
        for imported in _imports(path):
            assert imported in allowed, f"{path.relative_to(ROOT)} imports {imported}, which comes after {package}"
