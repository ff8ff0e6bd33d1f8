"""Pictures of reports for the documentation: the page in Chromium, wide and narrow, light and dark."""

from __future__ import annotations

import argparse
import shutil
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from clems import CLEMS
from clems.datasets import digit_scenes
from clems.evaluation.report import write_report

SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


def digits(path: Path) -> Path:
    """Report on a model for F1, whose map has many label sets, with pictures."""
    X, Y = digit_scenes(900, random_state=0)
    model = CLEMS("f1", random_state=0).fit(X[:600], Y[:600])
    return write_report(
        model, X[600:], Y[600:], path, title="Which digits are there?", images=X[600:].reshape(-1, 11, 11)
    )


def top(page: Page) -> None:
    """Stay where the page begins."""


def go_to(page: Page, section: str) -> None:
    """Scroll to a section, below the line of links."""
    page.evaluate("id => document.getElementById(id).scrollIntoView()", section)


def hover(page: Page) -> None:
    """Point at the topmost label set of the map."""
    go_to(page, "map")
    boxes = [point.bounding_box() for point in page.locator(".point.truth").all()]
    box = min((box for box in boxes if box), key=lambda box: box["y"])
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def narrow_down(page: Page) -> None:
    """Show truths with an 8 only."""
    go_to(page, "map")
    page.get_by_role("radio", name="truth").check()
    page.get_by_label("With the label").fill("8")


def what_if(page: Page) -> None:
    """Make a false negative of one label twice as dear."""
    page.get_by_label("Price of a false negative of Dringend").fill("160")
    page.locator("#live-rows-said").click()
    go_to(page, "what-if")


def mistakes(page: Page) -> None:
    """Go to the mistakes."""
    go_to(page, "mistakes")


SHOTS = {
    "report-1400": ("tickets", 1400, 1500, "light", top),
    "report-1400-what-if": ("tickets", 1400, 1400, "light", what_if),
    "report-1400-mistakes": ("tickets", 1400, 1100, "light", mistakes),
    "report-1400-hover": ("digits", 1400, 900, "light", hover),
    "report-1400-dark": ("digits", 1400, 900, "dark", narrow_down),
    "report-390": ("tickets", 390, 1100, "light", top),
    "report-390-what-if": ("tickets", 390, 1100, "light", what_if),
    "report-390-map": ("digits", 390, 1100, "light", narrow_down),
    "report-390-dark": ("digits", 390, 1100, "dark", mistakes),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tickets", type=Path)
    parser.add_argument("--output", type=Path, default=Path("docs/figures"))
    given = parser.parse_args()
    reports = {"tickets": given.tickets, "digits": digits(given.tickets.with_name("digits.html"))}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=SWITCHES)
        for name, (report, width, height, scheme, prepare) in SHOTS.items():
            window = {"width": width, "height": height}
            context = browser.new_context(viewport=window, color_scheme=scheme, reduced_motion="reduce")
            page = context.new_page()
            page.goto(reports[report].resolve().as_uri())
            page.wait_for_selector("html[data-ready=true]")
            prepare(page)
            page.wait_for_timeout(1000)
            picture = Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(96)
            picture.save(given.output / f"{name}.png", optimize=True)
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
