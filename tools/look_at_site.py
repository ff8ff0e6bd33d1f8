"""Open the built site in Chromium, wide and narrow, light and dark: no console errors, nothing asked of the network.

Usage: python -m tools.look_at_site build/site [--output build/screenshots]
"""

from __future__ import annotations

import argparse
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tools.check_site import SEARCHES, pages_of
from tools.screenshots import SWITCHES

WIDTHS = (390, 1400)
SCHEMES = ("light", "dark")
PICTURED = [
    "index",
    "start",
    "guide",
    "own-cost",
    "savings",
    "how-it-works",
    "any-model",
    "report",
    "speed",
    "gallery/index",
    "made/api/index",
]
PICTURED += [
    "gallery/plot_01_first_steps",
    "gallery/plot_12_thresholds",
    "gallery/plot_26_landmarks",
    "made/api/clems.CLEMS",
    "made/results/study/study",
    "made/results/earlier/table2/table2",
    "benchmarks",
    "made/CHANGELOG",
]
FIRST = 5  # results of a search among which the page has to be
TOO_WIDE = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
CUT_OFF = """() => {
  const scrolls = (one) => one && one.tagName !== "ARTICLE" &&
    (["auto", "scroll"].includes(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
  const cut = [...document.querySelectorAll("article :is(p, li, dt, dd, h1, h2, h3)")].find(
    (one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !scrolls(one));
  return cut ? cut.textContent.trim().slice(0, 40) : "";
}"""  # text of a page that goes beyond the window where nobody can scroll to it


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def listen(page: Page, home: str, faults: list[str]) -> None:
    """Note errors of the console and requests that leave the machine."""

    def asked(address: str) -> None:
        if not address.startswith((home, "data:", "blob:", "about:")):
            faults.append(f"{page.url}: asked for {address}")

    page.on("request", lambda request: asked(request.url))
    page.on("console", lambda said: faults.append(f"{page.url}: {said.text}") if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))


def look(browser: Browser, home: str, names: list[str], width: int, scheme: str, output: Path) -> list[str]:
    faults: list[str] = []
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", has_touch=width < 600
    )
    page = context.new_page()
    listen(page, home, faults)
    for name in names:
        page.goto(f"{home}/{name}.html")
        if page.evaluate(TOO_WIDE):
            faults.append(f"{name} at {width}: wider than the window")
        if cut := page.evaluate(CUT_OFF):
            faults.append(f"{name} at {width}: cut off at the edge: {cut!r}")
        if name in PICTURED:
            page.wait_for_timeout(300)
            page.screenshot(path=output / f"{name.replace('/', '-')}-{width}-{scheme}.png", full_page=name != "index")
    context.close()
    return faults


def search(browser: Browser, home: str) -> list[str]:
    """Search as a visitor does."""
    faults: list[str] = []
    page = browser.new_page()
    listen(page, home, faults)
    for words, wanted in SEARCHES.items():
        page.goto(f"{home}/search.html?q={words.replace(' ', '+')}")
        page.wait_for_selector("#search-results .search-summary, #search-results p", timeout=20_000)
        page.wait_for_timeout(1500)
        links = page.eval_on_selector_all("#search-results ul.search li > a", "all => all.map(a => a.href)")
        found = [link.removeprefix(f"{home}/").partition(".html")[0] for link in links]
        place = found.index(wanted) + 1 if wanted in found else None
        print(f"search {words!r}: {wanted} is result {place} of {len(found)}")
        if place is None or place > FIRST:
            faults.append(f"search {words!r}: {wanted} is not among the first {FIRST}: {found[:FIRST]}")
    page.close()
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--output", type=Path, default=Path("build/screenshots"))
    parser.add_argument("--only-pictured", action="store_true")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    site = given.site.resolve()
    names = [str(path.relative_to(site).with_suffix("")) for path in pages_of(site)]
    names = [name for name in names if not given.only_pictured or name in PICTURED]
    faults: list[str] = []
    with sync_playwright() as playwright, served(site) as home:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=SWITCHES)
        for width in WIDTHS:
            for scheme in SCHEMES:
                faults += look(browser, home, names, width, scheme, given.output)
        faults += search(browser, home)
        browser.close()
    print("\n".join(dict.fromkeys(faults)) or f"{len(names)} pages at {WIDTHS} pixels, {SCHEMES}: no faults")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
