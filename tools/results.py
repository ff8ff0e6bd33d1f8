"""Which results were measured with the present code, and which with earlier code.

``python -m tools.results`` (``make results``) writes into each results file the commit that it was measured at, with a
checksum of the source that it measures, and into the pages that link to it a note of what is of earlier code; then it
lists all of them. A report that was written anew from the same records keeps the commit of these.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import subprocess
import tarfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRIAL = "src/clems/experiments/trial.py"
# What results measure: scripts and modules, with all that they import, module by module.
MEASURED: dict[str, tuple[str, ...]] = {
    "results/*/*.md": (TRIAL,),
    "results/earlier/*/*.md": (TRIAL,),
    "benchmarks/results/*.md": (TRIAL,),  # of scripts that have become experiments; all others have their script
    **{
        f"benchmarks/results/{name}.md": (f"benchmarks/{name}.py",)
        for name in (
            *["chains", "columns", "embeddings", "fuzz", "guarantee", "independent", "joint", "limits", "memory"],
            *["dask_rows", "readers", "runner", "scale", "solver", "stratification", "tickets"],
        )
    },
    "benchmarks/results/commands.md": ("benchmarks/commands.py", "src/clems/__main__.py", "src/clems/cli/predict.py"),
    "attack/results/*.md": ("attack/models.py", "attack/forging.py"),
    "attack/results/before.md": ("attack/before.py", "src/clems/__main__.py", "src/clems/cli/app.py"),
    "attack/results/coverage-models.md": ("attack/coverage_models.py",),
    "attack/results/coverage-readers.md": ("attack/coverage_readers.py",),
    "attack/results/estimators.md": ("attack/estimators.py",),
    "attack/results/readers.md": ("attack/readers.py",),
    "attack/results/signals.md": ("attack/signals.py", "src/clems/__main__.py", "src/clems/cli/app.py"),
}
STAMP = re.compile(r"\n\nMeasured at commit ([0-9a-f]{7,}), source `([0-9a-f]{12})`\.\n?\Z")
SAYS = re.compile(r"[Mm]ade at commit ([0-9a-f]{7,})")  # a file of a script that is no longer there
LINK = re.compile(r"\]\(([^)\s#]*results/[^)\s#]+\.md)")
START, END = "<!-- measured: made by python -m tools.results -->\n", "<!-- end of what was measured -->\n"

Source = Mapping[str, str]  # text of each file by its path


def code_of(text: str) -> str:
    """Return the lines of a module without docstrings, comments that have their own line, and blank lines."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            lines[first.lineno - 1 : first.end_lineno] = [""] * ((first.end_lineno or 0) - first.lineno + 1)
    return "\n".join(line for line in lines if line.strip() and not line.strip().startswith("#"))


def imports_of(text: str, homes: Mapping[str, str]) -> set[str]:
    """Dotted names that a module imports, but for type checkers only; names of `clems` itself by where they are."""
    found = set()
    nodes: list[ast.AST] = [ast.parse(text)]
    while nodes:
        node = nodes.pop()
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "clems":
            found |= {f"clems.{homes.get(alias.name, alias.name)}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def homes_of(source: Source) -> dict[str, str]:
    """In which package each public name is."""
    for node in ast.parse(source.get("src/clems/__init__.py", "")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            return dict(ast.literal_eval(node.value))
    return {}


def with_imports(roots: tuple[str, ...], source: Source) -> set[str]:
    """Paths of modules, and of all that they import."""
    homes, found, new = homes_of(source), set[str](), {path for path in roots if path in source}
    while new:
        found |= new
        names = {name for path in new for name in imports_of(source[path], homes)}
        places = {f"src/{name.replace('.', '/')}" for name in names} | {name.replace(".", "/") for name in names}
        new = {file for place in places for file in (f"{place}.py", f"{place}/__init__.py") if file in source} - found
    return found


def checksum(measured: tuple[str, ...], source: Source) -> str:
    """Compute the checksum of the source that is measured: modules with all that they import."""
    own = sorted((path, code_of(source[path])) for path in with_imports(measured, source))
    return hashlib.sha256(repr(own).encode()).hexdigest()[:12]


def git(*arguments: str) -> bytes:
    """Answer of git."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


@cache
def source_at(commit: str) -> Source:
    """Python files of a commit."""
    folders = [name for name in ("src", "benchmarks", "attack") if git("ls-tree", "--name-only", commit, name)]
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit, *folders))) as archive:
        files = [one for one in archive.getmembers() if one.name.endswith(".py")]
        return {one.name: content.read().decode() for one in files if (content := archive.extractfile(one))}


@cache
def source_now() -> Source:
    """Python files as they lie here."""
    paths = [path for name in ("src", "benchmarks", "attack") for path in (ROOT / name).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def files() -> dict[Path, tuple[str, ...]]:
    """Every results file with what it measures; the more special pattern holds."""
    return {path: measured for pattern, measured in MEASURED.items() for path in sorted(ROOT.glob(pattern))}


def stamp_of(text: str) -> tuple[str, str] | None:
    """Commit and checksum that a results file names."""
    found = STAMP.search(text)
    return (found[1], found[2]) if found else None


def commit_of(path: Path) -> str:
    """Find the commit at which a file was measured: of records the earliest that is kept, else of its numbers."""
    records = path.with_name("records.jsonl")
    if records.exists():
        blame = git("blame", "-s", "--abbrev=8", "--", str(records)).decode().splitlines()
        known = {line.split()[0].lstrip("^") for line in blame} - {"0" * 9}
        if known:
            return git("rev-list", "--no-walk", "--abbrev-commit", *known).decode().split()[-1]
        return head()
    if found := SAYS.search(path.read_text()):
        return found[1]
    name = path.relative_to(ROOT).as_posix()
    committed = git("show", f"HEAD:{name}").decode() if git("ls-files", "--", name) else ""
    if numbers(path.read_text()) != numbers(committed):  # words alone are no new measurement
        return head()
    if stamp := stamp_of(committed):
        return stamp[0]
    return git("log", "-1", "--format=%h", "--", name).decode().strip()


def numbers(text: str) -> list[str]:
    """Numbers of a results file, without those of its stamp."""
    return re.findall(r"\d[\d.,]*", STAMP.sub("", text))


def head() -> str:
    """The commit that is checked out."""
    return git("rev-parse", "--short", "HEAD").decode().strip()


def stamped(path: Path, measured: tuple[str, ...]) -> str:
    """Text of a results file with the line that says when it was measured."""
    commit = commit_of(path)
    bare = STAMP.sub("", path.read_text()).rstrip("\n")
    return f"{bare}\n\nMeasured at commit {commit}, source `{checksum(measured, source_at(commit))}`.\n"


def linked(page: Path) -> list[Path]:
    """Results files that a page links to, in order."""
    text = page.read_text().partition(START)[0]
    found = dict.fromkeys((page.parent / link).resolve() for link in LINK.findall(text))
    return [path for path in found if path in files()]


def pages() -> list[Path]:
    """Pages that quote results."""
    return [page for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))] if linked(page)]


def label(path: Path) -> str:
    """Name of a results file in notes: benchmarks/solver, earlier/table2, experts/before."""
    parts = [part for part in path.relative_to(ROOT).with_suffix("").parts if part != "results"]
    return "/".join(dict.fromkeys(parts))


def note(page: Path, stale: Mapping[Path, bool]) -> str:
    """What a page says of the results that it links to."""
    parts = []
    for what, wanted in (("an earlier version of the code", True), ("the present code", False)):
        own = [path for path in linked(page) if stale[path] is wanted]
        listed = ", ".join(f"{label(path)} (commit {commit})" for path in own if (commit := at(path)))
        parts += [f"Measured with {what}: {listed}."] if own else []
    return f"{START}\n{' '.join(parts)} Run `make results` to check again.\n\n{END}"


def at(path: Path) -> str:
    """Commit that a results file names; empty without one."""
    stamp = stamp_of(path.read_text())
    return stamp[0] if stamp else ""


def renewed(page: Path, stale: Mapping[Path, bool]) -> str:
    """Return a page with its note as it should be, at its end."""
    before, mark, rest = page.read_text().partition(START)
    if not mark:
        return f"{before.rstrip(chr(10))}\n\n{note(page, stale)}"
    return before + note(page, stale) + rest.partition(END)[2]


def main() -> None:
    for path, measured in files().items():
        path.write_text(stamped(path, measured))
    stale = {}
    for path, measured in files().items():
        stamp = stamp_of(path.read_text())
        stale[path] = stamp is None or stamp[1] != checksum(measured, source_now())
        print(f"{'stale' if stale[path] else 'fresh'}  {at(path)}  {path.relative_to(ROOT)}")
    for page in pages():
        page.write_text(renewed(page, stale))
    print(f"{sum(stale.values())} of {len(stale)} results are of earlier code.")


if __name__ == "__main__":
    main()
