"""Markdown pages that lie outside docs/: results, the changelog, how to contribute. Links to them stay as they are.

Each is copied below docs/made/ with its path, so that reports of experiments and benchmarks are pages of the site,
their figures with them, and the links of every page are turned to these copies. Other files that a page links to,
experiments and scripts, are offered as downloads by MyST.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from urllib.parse import unquote

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = DOCS / "made"
PAGES = [
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/results/*.md",
    "results/*/*.md",
    "results/earlier/*/*.md",
    "attack/results/*.md",
]
ELSEWHERE = {ROOT / "README.md": DOCS / "index.md", ROOT / "examples": DOCS / "gallery/index.rst"}
LINK = re.compile(r"(\]\()(?![a-z]+:|#|/)((?:[^()\s#]|\([^()\s]*\))+)(#[^)\s]*)?\)")
FIGURES = {".png", ".svg"}
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def plain(name: str) -> str:
    """Return the name of a figure without blanks and brackets, which Markdown and addresses quote."""
    return re.sub(r"[^\w.-]+", "-", name)


def new_link(target: str, page: Path, at: Path) -> str:
    """What `target`, as seen from `page`, is called as seen from where its copy lies, `at`."""
    path = Path(os.path.normpath(page.parent / target))
    if path in ELSEWHERE:
        path = ELSEWHERE[path]
    elif path.is_relative_to(ROOT) and not path.is_relative_to(DOCS):
        copy = MADE / path.relative_to(ROOT)
        if path.suffix in FIGURES:
            copy = copy.with_name(plain(unquote(path.name)))
        path = copy / "index.md" if copy.is_dir() else copy if copy.exists() else path
    return os.path.relpath(path, at.parent)


def relinked(text: str, page: Path, at: Path) -> str:
    """The text of a page with its links, but those in code, as seen from another place."""
    parts = FENCE.split(text)
    for number in range(0, len(parts), 2):
        parts[number] = LINK.sub(
            lambda found: f"{found[1]}{new_link(found[2], page, at)}{found[3] or ''})", parts[number]
        )
    return "".join(parts)


def copy_pages(app: Sphinx) -> None:
    """Copy the pages and the figures beside them."""
    pages = [page for pattern in PAGES for page in sorted(ROOT.glob(pattern))]
    copies = {page: MADE / page.relative_to(ROOT) for page in pages}
    for copy in copies.values():  # all are there before links are turned to them
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    for folder in {page.parent for page in pages} - {ROOT}:
        title = {"results": "Results", "attack": "Attacks", "benchmarks": "Benchmarks"}[
            folder.relative_to(ROOT).parts[0]
        ]
        listed = "\n".join(page.stem for page in pages if page.parent == folder)
        index = f"---\norphan: true\n---\n# {title}: {folder.name}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
        write(MADE / folder.relative_to(ROOT) / "index.md", index)
    for folder in {page.parent for page in pages} - {ROOT}:
        for figure in (path for path in folder.iterdir() if path.suffix in FIGURES):
            shutil.copyfile(figure, MADE / folder.relative_to(ROOT) / plain(figure.name))
    for page, copy in copies.items():
        text = page.read_text()
        title = "" if text.startswith("# ") else f"# {page.stem.replace('-', ' ').capitalize()}\n\n"
        write(copy, f"---\norphan: true\n---\n{title}{relinked(text, page, copy)}")


def write(path: Path, text: str) -> None:
    """Write a page if it has changed, so that others are not built again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def turn_links(app: Sphinx, name: str, source: list[str]) -> None:
    page = DOCS / f"{name}.md"
    if page.exists() and not page.is_relative_to(MADE):
        source[0] = relinked(source[0], page, page)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", copy_pages, priority=100)
    app.connect("source-read", turn_links)
    return {"parallel_read_safe": True}
