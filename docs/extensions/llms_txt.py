"""llms.txt: what the site holds, a line for each page, with the Markdown that it was made from."""

from __future__ import annotations

from pathlib import Path

from social_card import first_words
from sphinx.application import Sphinx

SECTIONS = {"": "Pages", "gallery": "Examples", "made/api": "Reference"}


def section_of(name: str) -> str | None:
    """The section of a page; results are left out, the pages on benchmarks lead to them."""
    folder, _, page = name.rpartition("/")
    folder = "made/api" if folder.startswith("made/api") else folder
    return SECTIONS.get(folder) if page not in {"search", "genindex"} else None


def write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.name != "html":
        return
    lines: dict[str, list[str]] = {title: [] for title in SECTIONS.values()}
    for name in sorted(app.env.found_docs):
        if section := section_of(name):
            title = app.env.titles[name].astext()
            source = Path(app.env.doc2path(name, base=False))
            link = f"{app.config.html_baseurl}_sources/{source}.txt"
            lines[section].append(f"- [{title}]({link}): {first_words(app.env.get_doctree(name))}")
    head = (
        "# clems\n\n> Cost-sensitive multi-label classification for Python: label sets of least expected cost, for the "
        "cost that you actually pay. scikit-learn estimators, a command line, reports and experiments.\n"
    )
    text = "\n".join([head, *(f"## {title}\n\n" + "\n".join(listed) + "\n" for title, listed in lines.items())])
    Path(app.outdir, "llms.txt").write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
