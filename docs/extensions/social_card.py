"""What a link to a page shows elsewhere: its title, its first sentences and a picture."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LENGTH = 200


def first_words(doctree: nodes.document | None) -> str:
    """The first paragraph of a page, cut at a word."""
    paragraph = next(doctree.findall(nodes.paragraph), None) if doctree else None
    text = " ".join(paragraph.astext().split()) if paragraph else ""
    return text if len(text) <= LENGTH else text[:LENGTH].rpartition(" ")[0] + " …"


def add(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    description = context.get("meta", {}).get("description") if context.get("meta") else None
    description = description or first_words(doctree) or app.config.html_title
    properties = {
        "og:title": context.get("title", app.config.project),
        "og:description": description,
        "og:type": "website",
        "og:site_name": app.config.project,
        "og:url": f"{app.config.html_baseurl}{app.builder.get_target_uri(name)}",
        "og:image": f"{app.config.html_baseurl}_static/card.png",
        "og:image:alt": "One row, one model, four costs, four answers",
    }
    tags = [f'<meta property="{key}" content="{escape(value)}">' for key, value in properties.items()]
    tags += ['<meta name="twitter:card" content="summary_large_image">']
    if not (context.get("meta") or {}).get("description"):
        tags.append(f'<meta name="description" content="{escape(description)}">')
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
