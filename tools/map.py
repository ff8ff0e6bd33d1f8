"""The map of the source in CONTRIBUTING.md: every file with the first line of its docstring, in the order of the flow.

``python -m tools.map`` writes it anew.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "clems"
PAGE = ROOT / "CONTRIBUTING.md"
START, END = "<!-- map: made by python -m tools.map -->\n", "<!-- end of the map -->"
ORDER = [  # of packages and files, as the test of imports has it
    *["arrays", "checks", "wording", "files", "labels", "datasets", "costs", "model_selection", "embedding", "trees"],
    *["decisions", "posterior", "learners", "persistence", "evaluation", "dask", "experiments", "cli"],
]


def first_line(path: Path) -> str:
    """First line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, f"{path} has no docstring"
    return docstring.split("\n")[0]


def lines_of(path: Path, depth: int = 0) -> list[str]:
    """Lines of the map for a file or a package and what is in it."""
    indent = "  " * depth
    if path.is_dir():
        lines = [f"{indent}- **{path.name}/** {first_line(path / '__init__.py')}"]
        parts = [part for part in sorted(path.iterdir()) if part.suffix == ".py" or (part / "__init__.py").exists()]
        return lines + [line for part in parts if part.stem != "__init__" for line in lines_of(part, depth + 1)]
    return [f"{indent}- `{path.name}` {first_line(path)}"]


def made() -> str:
    """The whole map."""
    places = [SOURCE / name if (SOURCE / name).is_dir() else SOURCE / f"{name}.py" for name in ORDER]
    return "\n".join(line for place in places for line in lines_of(place)) + "\n"


def replaced(page: str) -> str:
    """The page with the map as it has to be."""
    before, _, rest = page.partition(START)
    return before + START + made() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text()))
