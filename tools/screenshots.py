"""Pictures of the report for the documentation: the page in Chromium, wide and narrow, light and dark."""

from __future__ import annotations

import argparse
import shutil
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
POINT = """() => {
    const map = document.getElementById("label-map"), box = map.getBoundingClientRect(), { x, y } = map.data[1];
    const { xaxis, yaxis } = map._fullLayout, at = y.indexOf(Math.max(...y));
    return [box.left + xaxis._offset + xaxis.d2p(x[at]), box.top + yaxis._offset + yaxis.d2p(y[at])];
}"""


def hover(page: Page) -> None:
    """Point at the topmost label set of the map."""
    page.evaluate("document.getElementById('map').scrollIntoView()")
    page.mouse.move(*page.evaluate(POINT))


def narrow_down(page: Page) -> None:
    """Show truths with an 8 only."""
    page.evaluate("document.getElementById('map').scrollIntoView()")
    page.get_by_role("radio", name="truth").check()
    page.get_by_label("With the label").fill("8")


def mistakes(page: Page) -> None:
    """Go to the mistakes."""
    page.evaluate("document.getElementById('mistakes').scrollIntoView()")


SHOTS = {
    "report-1400": (1400, 1500, "light", lambda page: None),
    "report-1400-hover": (1400, 1250, "light", hover),
    "report-1400-dark": (1400, 1250, "dark", narrow_down),
    "report-390": (390, 1100, "light", lambda page: None),
    "report-390-map": (390, 1100, "light", narrow_down),
    "report-390-dark": (390, 1100, "dark", mistakes),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--output", type=Path, default=Path("docs/figures"))
    given = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=SWITCHES)
        for name, (width, height, scheme, prepare) in SHOTS.items():
            window = {"width": width, "height": height}
            context = browser.new_context(viewport=window, color_scheme=scheme, reduced_motion="reduce")
            page = context.new_page()
            page.goto(given.report.resolve().as_uri())
            page.wait_for_selector("html[data-ready=true]")
            prepare(page)
            page.wait_for_timeout(1000)
            picture = Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(96)
            picture.save(given.output / f"{name}.png", optimize=True)
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
