"""Draw the logo, the icon, the card for links and the picture of the home page and the README, light and dark.

Usage: python -m tools.pictures [--output docs/_static]
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from playwright.sync_api import sync_playwright

from clems import CLEMS, weighted_hamming
from clems.datasets import digit_scenes
from tools.screenshots import SWITCHES

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
SIDE = 11  # pixels of a scene
TRAIN = 3000
CHECKED = 400  # scenes among which one is looked for
STEP = 38  # between two digits


@dataclass(frozen=True)
class Colours:
    """Colours of a picture."""

    ink: str
    muted: str
    line: str
    accent: str
    contrast: str
    paper: str


LIGHT = Colours("#1c2126", "#5b6670", "#d5dade", "#0b6bb0", "#d9662b", "#ffffff")
DARK = Colours("#e9ebee", "#a3acb6", "#3a424b", "#5fb3ee", "#f0955a", "#15181c")
SCHEMES = {"": LIGHT, "-dark": DARK}


def svg(width: float, height: float, parts: Iterator[str] | list[str], title: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" font-family="{FONT}">'
    )
    return "\n".join([head, f"<title>{title}</title>", *parts, "</svg>", ""])


def word(text: str, x: float, baseline: float, size: float, colour: str) -> str:
    """Letters as outlines, so that they look the same without the font."""
    path = TextPath((0, 0), text, size=size, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    commands = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}
    drawn = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        numbers = [] if code == 79 else [f"{p:.1f}" for p in points]
        drawn.append(commands[code] + " ".join(numbers))
    return f'<path transform="translate({x:g} {baseline:g}) scale(1 -1)" fill="{colour}" d="{"".join(drawn)}"/>'


def mark(colours: Colours, x: float = 0, y: float = 0, scale: float = 1) -> str:
    """Label sets as points whose distances are costs, the decision among them: 48 units wide and high."""
    points = {"a": (9, 36), "b": (24, 9), "c": (40, 30)}
    lines = "".join(
        f'<line x1="{points[one][0]}" y1="{points[one][1]}" x2="{points[two][0]}" y2="{points[two][1]}" '
        f'stroke="{colours.accent}" stroke-width="2.6" stroke-opacity="{shown}"/>'
        for one, two, shown in (("a", "b", 0.45), ("b", "c", 0.45), ("a", "c", 0.45))
    )
    dots = "".join(
        f'<circle cx="{points[name][0]}" cy="{points[name][1]}" r="{radius}" fill="{colour}"/>'
        for name, radius, colour in (("a", 6, colours.accent), ("b", 6, colours.accent), ("c", 7.5, colours.contrast))
    )
    return f'<g transform="translate({x:g} {y:g}) scale({scale:g})">{lines}{dots}</g>'


def logo(colours: Colours) -> str:
    return svg(196, 48, [mark(colours), word("clems", 58, 35, 38, colours.ink)], "clems")


def icon(colours: Colours) -> str:
    return svg(48, 48, [mark(colours)], "clems")


@dataclass(frozen=True)
class Scene:
    """A picture of digits, how probable each digit is, and what is decided under each cost."""

    pixels: np.ndarray
    true: np.ndarray
    probability: np.ndarray
    decided: dict[str, np.ndarray]


def scene() -> Scene:
    """Train for F1, and find a test scene on which four costs lead to four decisions."""
    X, Y = digit_scenes(TRAIN + CHECKED, random_state=0)
    model = CLEMS("f1", random_state=0).fit(X[:TRAIN], Y[:TRAIN])
    prices = weighted_hamming([2] * 9 + [40], 4)
    costs = {
        "wrong labels": "hamming",
        "F1": "f1",
        "ranking": "rank",
        "a missed 9 costs 40, a missed other 2, a false alarm 4": prices,
    }
    X, Y = X[TRAIN:], Y[TRAIN:]
    posterior = model.posterior(X)
    probability = posterior.marginals
    decided = {name: posterior.decide(cost) for name, cost in costs.items()}
    differs = [len({tuple(labels[row]) for labels in decided.values()}) == len(costs) for row in range(CHECKED)]
    right = (decided["F1"] == Y).all(axis=1)
    row = int(np.flatnonzero(differs & right & (Y.sum(axis=1) == 2))[0])
    return Scene(
        X[row].reshape(SIDE, SIDE), Y[row], probability[row], {name: own[row] for name, own in decided.items()}
    )


def pixels(shown: np.ndarray, x: float, y: float, size: float, colours: Colours) -> Iterator[str]:
    side = size * SIDE
    yield f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="6" fill="{colours.line}" fill-opacity=".35"/>'
    for (row, column), value in np.ndenumerate(shown / shown.max()):
        if value > 0.02:
            yield (
                f'<rect x="{x + column * size:g}" y="{y + row * size:g}" width="{size}" height="{size}" '
                f'fill="{colours.ink}" fill-opacity="{value:.2f}"/>'
            )


def label(
    text: str, x: float, y: float, colour: str, size: float = 15, anchor: str = "start", bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"{weight}>{text}</text>'


def one_row(shown: Scene, colours: Colours) -> str:
    """A scene, the probabilities of its digits, and four decisions, from left to right."""
    parts = [
        label("a row", 20, 28, colours.muted, bold=True),
        label("how probable each label is", 240, 28, colours.muted, bold=True),
        label("the answer depends on what a mistake costs", 240, 196, colours.muted, bold=True),
        *pixels(shown.pixels, 20, 46, 16, colours),
        label(f"in truth {' and '.join(map(str, np.flatnonzero(shown.true)))}", 20, 248, colours.muted),
    ]
    left, floor = 258, 140
    for digit, probability in enumerate(shown.probability):
        x, height = left + digit * STEP, 88 * probability
        colour = colours.accent if probability > 0.5 else colours.muted
        parts += [
            f'<rect x="{x - 12}" y="{floor - height:.1f}" width="24" height="{height:.1f}" rx="3" fill="{colour}"/>',
            label(f"{probability:.2f}".lstrip("0"), x, floor - height - 6, colours.muted, 12, "middle"),
            label(str(digit), x, floor + 20, colours.ink, 15, "middle"),
        ]
    half = floor - 44
    parts.append(
        f'<line x1="{left - 18}" x2="{left + 9 * STEP + 18}" y1="{half}" y2="{half}" stroke="{colours.contrast}" '
        f'stroke-dasharray="4 4"/>{label("½", left + 9 * STEP + 26, half + 5, colours.contrast, 14)}'
    )
    for line, (name, decided) in enumerate(shown.decided.items()):
        y = 224 + 36 * line
        for digit, chosen in enumerate(decided):
            x = left + digit * STEP
            if chosen:
                parts += [
                    f'<circle cx="{x}" cy="{y}" r="14" fill="{colours.contrast}"/>',
                    label(str(digit), x, y + 5, colours.paper, 15, "middle", bold=True),
                ]
            else:
                parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colours.line}"/>')
        first, _, rest = name.partition(", ")
        shift = 5 if not rest else -2
        parts.append(label(first, left + 9 * STEP + 30, y + shift, colours.ink))
        if rest:
            parts.append(label(rest, left + 9 * STEP + 30, y + 15, colours.muted, 13))
    return svg(880, 372, parts, "One row, one model, four costs, four answers")


def one_row_narrow(shown: Scene, colours: Colours) -> str:
    """The same for a phone: the scene above, each cost above its decision."""
    step, left, floor = 33, 32, 270
    parts = [
        *pixels(shown.pixels, 16, 16, 11, colours),
        label("a row: in truth", 158, 66, colours.muted, 17, bold=True),
        label(" and ".join(map(str, np.flatnonzero(shown.true))), 158, 92, colours.muted, 17, bold=True),
        label("how probable each label is", 16, 174, colours.muted, 17, bold=True),
        label("the answer depends on the cost", 16, 332, colours.muted, 17, bold=True),
    ]
    for digit, probability in enumerate(shown.probability):
        x, height = left + digit * step, 72 * probability
        colour = colours.accent if probability > 0.5 else colours.muted
        parts += [
            f'<rect x="{x - 11}" y="{floor - height:.1f}" width="22" height="{height:.1f}" rx="3" fill="{colour}"/>',
            label(f"{probability:.2f}".lstrip("0"), x, floor - height - 6, colours.muted, 13, "middle"),
            label(str(digit), x, floor + 20, colours.ink, 16, "middle"),
        ]
    for line, (name, decided) in enumerate(shown.decided.items()):
        y = 384 + 62 * line
        parts.append(label(name.partition(", ")[0], 16, y - 22, colours.ink, 16))
        for digit, chosen in enumerate(decided):
            x = left + digit * step
            if chosen:
                parts += [
                    f'<circle cx="{x}" cy="{y}" r="14" fill="{colours.contrast}"/>',
                    label(str(digit), x, y + 5.5, colours.paper, 16, "middle", bold=True),
                ]
            else:
                parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colours.line}"/>')
    return svg(360, 596, parts, "One row, one model, four costs, four answers")


def card(shown: Scene) -> str:
    """The picture that a link to the site shows, 1200 by 630 pixels."""
    inside = one_row(shown, LIGHT).partition("</title>")[2].rpartition("</svg>")[0]
    parts = [
        f'<rect width="1200" height="630" fill="{LIGHT.paper}"/><rect width="1200" height="12" fill="{LIGHT.accent}"/>',
        mark(LIGHT, 70, 52, 1.7),
        word("clems", 172, 113, 64, LIGHT.ink),
        label("Multi-label predictions for the cost you actually pay", 72, 190, LIGHT.ink, 34),
        f'<g transform="translate(60 222) scale(1.08)">{inside}</g>',
    ]
    return svg(1200, 630, parts, "clems")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/_static"))
    folder = parser.parse_args().output
    shown = scene()
    for suffix, colours in SCHEMES.items():
        folder.joinpath(f"logo{suffix}.svg").write_text(logo(colours))
        folder.joinpath(f"one-row{suffix}.svg").write_text(one_row(shown, colours))
        folder.joinpath(f"one-row-narrow{suffix}.svg").write_text(one_row_narrow(shown, colours))
    folder.joinpath("icon.svg").write_text(icon(LIGHT))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=SWITCHES)
        page = browser.new_page(viewport={"width": 1200, "height": 630})
        page.set_content(f"<style>body {{ margin: 0 }}</style>{card(shown)}")
        page.screenshot(path=folder / "card.png")
        browser.close()


if __name__ == "__main__":
    main()
