"""Check the built site: every internal link and anchor, nothing from outside, every search that people make.

Usage: python -m tools.check_site build/site
"""

from __future__ import annotations

import argparse
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.search.en import SearchEnglish

# What people search for, and the page that has to be among what is found.
SEARCHES = {
    "pipeline": "pipelines",
    "missing values": "missing-values",
    "threshold": "thresholds",
    "probabilities": "probabilities",
    "own cost": "own-cost",
    "save": "saving",
    "Dask": "dask",
    "speed": "speed",
}
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "srcset"), ("video", "src")}
LOADING = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload"}
ADDRESS = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)|@import\s+['\"]((?:https?:)?//[^'\"]+)")


class Page(HTMLParser):
    """Links, anchors and resources of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and LOADING & {*given.get("rel", "").split()}:
            self.loaded.append(given["href"])
        self.loaded += [given[name] for of, name in LOADED if of == tag and given.get(name)]


@cache
def page_at(path: Path) -> Page:
    return Page(path.read_text())


def outside(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def faults_of_link(site: Path, path: Path, link: str) -> str | None:
    """Say what is wrong with an internal link; None if it leads to a page, and to a place in it."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file() or not target.is_relative_to(site):
        return f"no such page: {link}"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page_at(target).anchors:
        return f"no such place in the page: {link}"
    return None


def pages_of(site: Path) -> list[Path]:
    """Pages of the site, without templates of its theme."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def faults_of_pages(site: Path) -> list[str]:
    found = []
    for path in pages_of(site):
        page = page_at(path)
        wrong = [faults_of_link(site, path, link) for link in page.links]
        wrong += [faults_of_link(site, path, link) for link in page.loaded if not link.startswith("data:")]
        wrong += [f"asks the network for {link}" for link in page.loaded if outside(link)]
        found += [f"{path.relative_to(site)}: {fault}" for fault in dict.fromkeys(wrong) if fault]
    for path in sorted(site.rglob("*.css")):
        asked = [one or two for one, two in ADDRESS.findall(path.read_text())]
        found += [f"{path.relative_to(site)}: asks the network for {address}" for address in asked]
    return found


def found_pages(site: Path, words: str) -> list[str]:
    """Pages that have every word of a search, as the search of the site finds them: by stems, and by titles."""
    text = site.joinpath("searchindex.js").read_text()
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    english = SearchEnglish({})
    found: set[int] | None = None
    for word in words.lower().split():
        if word in english.stopwords:
            continue
        pages: set[int] = set()
        for terms in (index["terms"], index["titleterms"]):
            for term in (english.stem(word), word):
                at = terms.get(term, [])
                pages |= {at} if isinstance(at, int) else {*at}
        found = pages if found is None else found & pages
    return [index["docnames"][number] for number in sorted(found or ())]


def faults_of_searches(site: Path) -> list[str]:
    return [
        f"a search for {words!r} does not find {page}"
        for words, page in SEARCHES.items()
        if page not in found_pages(site, words)
    ]


def faults_of_files(site: Path) -> list[str]:
    wanted = ["sitemap.xml", "llms.txt", "live-report.html", "search.html", "_static/icon.svg", "_static/card.png"]
    return [f"{name} is missing" for name in wanted if not site.joinpath(name).is_file()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    site = parser.parse_args().site.resolve()
    faults = faults_of_files(site) + faults_of_pages(site) + faults_of_searches(site)
    pages = pages_of(site)
    links = sum(len(page_at(page).links) for page in pages)
    print("\n".join(faults) or f"{len(pages)} pages, {links:,} links, {len(SEARCHES)} searches: no faults")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
