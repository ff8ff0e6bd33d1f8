"""Figures as SVG: drawn once, as wide as their place, in the colours of the page around them.

Across, places are shares of the width (``"25%"``); down, they are pixels. So a figure fits a phone and a wide screen
without a script, and letters keep their size. Classes say what things look like; `STYLE` has the looks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from clems.arrays import Floats
from clems.files import replacing

# Colours by what they are for; the report has another set of the same names for the dark.
COLOURS = {
    "ink": "#1d2126",
    "muted": "#5d6670",
    "line": "#e2e5e8",
    "quiet": "#98a1ab",
    "accent": "#0072B2",
    "contrast": "#C2560A",
    "paper": "#ffffff",
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
# Pixels around what is drawn, for names and numbers: left, right, top, bottom.
MARGINS = {"names": (152, 14, 6, 24), "axes": (56, 18, 12, 50), "bare": (0, 0, 0, 0)}
STYLE = """
.figure { overflow: visible; display: block; }
.figure text { font: 13px var(--font); fill: var(--muted); }
.figure .grid, .figure .line { fill: none; stroke: var(--line); stroke-width: 1; }
.figure .line { stroke: var(--quiet); stroke-width: 2; }
.figure .line.thin { stroke-width: 1.25; }
.figure .line.dotted { stroke-dasharray: 2 4; stroke-width: 1.5; }
.figure .line.accent { stroke: var(--accent); }
.figure .dot { fill: var(--quiet); }
.figure .dot.accent { fill: var(--accent); }
.figure .ring { fill: var(--paper); stroke: var(--contrast); stroke-width: 2; }
.figure .bar.accent { fill: var(--accent); }
.figure .bar.contrast { fill: var(--contrast); }
.figure .title { font-weight: 600; fill: var(--ink); }
.figure .truth .shape { fill: var(--accent); fill-opacity: 0.7; stroke: var(--paper); stroke-width: 1; }
.figure .prediction .shape { fill: var(--paper); fill-opacity: 0.2; stroke: var(--contrast); stroke-width: 1.4; }
.figure .name { font-size: 11.5px; fill: var(--ink); text-anchor: middle; pointer-events: none; }
.figure .name { paint-order: stroke; stroke: var(--paper); stroke-width: 3.5px; stroke-linejoin: round; }
"""


@dataclass(frozen=True)
class Figure:
    """A figure. Notebooks show it; `save` writes it as an SVG file.

    Attributes
    ----------
    body : str
        SVG elements.
    height : int
        Pixels, without margins.
    label : str
        What it shows, for those who do not see it.
    kind : str, default="axes"
        Which of `MARGINS` it has.
    width : int, default=640
        Pixels, without margins, where nothing else says how wide it is.
    """

    body: str
    height: int
    label: str
    kind: str = "axes"
    width: int = 640

    def inline(self) -> str:
        """Return it for a page with `STYLE`, as wide as its place."""
        return tag(
            "svg", self.body, class_=f"figure {self.kind}", height=self.height, role="img", aria_label=self.label
        )

    def svg(self) -> str:
        """Return it as a document of its own."""
        left, right, top, bottom = MARGINS[self.kind]
        width, height = self.width + left + right, self.height + top + bottom
        variables = "; ".join([*(f"--{name}: {colour}" for name, colour in COLOURS.items()), f"--font: {FONT}"])
        place = {"x": left, "y": top, "width": self.width, "height": self.height, "overflow": "visible"}
        return tag(
            "svg",
            tag("style", escape(f"svg {{ {variables} }}{STYLE}", quote=False))
            + tag("rect", width="100%", height="100%", fill=COLOURS["paper"])
            + tag("svg", self.body, class_="figure", **place),
            **{"xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height},
            role="img",
            aria_label=self.label,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to an SVG file, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Path
        """
        with replacing(path) as file:
            file.write(self.svg().encode())
        return Path(path)

    def _repr_svg_(self) -> str:
        return self.svg()


def tag(name: str, body: str = "", **attributes: Any) -> str:
    """Write an element; attributes are escaped, `body` is not.

    Examples
    --------
    >>> from clems.evaluation.figure import tag
    >>> tag("text", "a", class_="name", text_anchor="end", x="5%")
    '<text class="name" text-anchor="end" x="5%">a</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{body}</{name}>"


def text(words: object, **attributes: Any) -> str:
    """Write words."""
    return tag("text", escape(str(words), quote=False), **attributes)


def hint(words: str) -> str:
    """Write what is shown to who points at an element, for its body."""
    return tag("title", escape(words, quote=False))


def percent(share: float) -> str:
    """Write a share of the width."""
    return f"{100 * share:.4g}%"


@dataclass(frozen=True)
class Axis:
    """An axis from its first to its last tick, or between given ends.

    Attributes
    ----------
    low, high : float
        Its ends.
    ticks : tuple of float
        Round numbers on it.
    """

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Return where a value is, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def written(self, tick: float) -> str:
        """Write a tick with as many digits as tell it from the others."""
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else abs(tick) or 1.0
        digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
        digits += abs(step * 10**digits - round(step * 10**digits)) > 1e-6
        return f"{tick:,.{digits}f}".replace("-", "−")


def axis_of(values: Floats | Sequence[float], count: int = 5, ends: tuple[float, float] | None = None) -> Axis:
    """Make an axis that holds some values.

    Parameters
    ----------
    values : array-like
        What must find room; what is not known is left out.
    count : int, default=5
        About so many ticks.
    ends : tuple of float, default=None
        Where it begins and ends; by default a little beyond the values.
    """
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    least, most = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if ends is None:
        room = 0.04 * (most - least) or 0.5 * (abs(most) or 1.0)
        ends = least - room, most + room
    low, high = ends
    rough = (high - low) / max(1, count)
    size = 10.0 ** np.floor(np.log10(rough))
    step = float(next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.999))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return Axis(low, high, tuple(round(number * step, 12) for number in range(first, last + 1)))
