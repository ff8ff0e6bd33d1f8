"""What all figures share: how learners look, panels, legends, and files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clems.experiments.analysis.naming import titles_of
from clems.files import replacing

if TYPE_CHECKING:
    from clems.experiments.spec import Spec

# Colours of Okabe and Ito, which all eyes tell apart; the palest ones last.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h", "d", "8"]
LINES = ["-", "--", ":", "-."]
HATCHES = ["", "////", "....", "xxxx"]
STYLE = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",  # text stays text, which can be searched and read aloud
    "svg.hashsalt": "clems",  # the same figure is the same file
}
LEAST_WIDTH = 3.2  # inches, for a legend above a single panel
COLUMNS = 4  # panels side by side at most


@dataclass(frozen=True)
class Look:
    """How a learner is drawn, the same in all figures of a spec."""

    title: str
    colour: str
    marker: str
    line: str
    hatch: str

    @property
    def flat(self) -> str:
        """Line of a learner without a position."""
        return "--" if self.line == "-" else self.line


def looks(spec: Spec) -> dict[str, Look]:
    """Give each learner a colour, a marker and a line of its own."""
    return {
        name: Look(
            title,
            COLOURS[at % len(COLOURS)],
            MARKERS[at % len(MARKERS)],
            LINES[at // len(COLOURS) % len(LINES)],
            HATCHES[at // len(COLOURS) % len(HATCHES)],
        )
        for at, (name, title) in enumerate(titles_of(spec).items())
    }


def save(figure: Any, path: Path) -> list[Path]:
    """Save a figure as PNG and SVG, whole or not at all; the same figure gives the same files.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to save.
    path : path
        Where, without a suffix.

    Returns
    -------
    list of path
        Both files.
    """
    written = []
    with style():
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            file = path.with_name(f"{path.name}.{suffix}")
            with replacing(file) as out:
                figure.savefig(out, format=suffix, dpi=200, metadata=metadata, bbox_inches="tight", pad_inches=0.05)
            written.append(file)
    return written


def make_panels(number: int, columns: int, size: tuple[float, float] = (2.1, 1.75)) -> tuple[Any, list[Any]]:
    """Make a figure of panels of a size, in inches; places that are left over are empty."""
    from matplotlib.figure import Figure

    lines = max(math.ceil(number / columns), 1)
    figure = Figure(figsize=(max(columns * size[0], LEAST_WIDTH), lines * size[1]), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    for ax in axes[number:]:
        ax.remove()
    return figure, axes[:number]


def add_legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Put one legend above all panels, in as many columns as there is room for, and make room for its lines."""
    if not labels:
        return
    room = int(figure.get_figwidth() / (0.45 + 0.075 * max(map(len, labels))))
    lines = math.ceil(len(labels) / max(room, 1))
    figure.legend(handles, labels, loc="outside upper center", ncols=math.ceil(len(labels) / lines))
    figure.set_figheight(figure.get_figheight() + 0.18 * lines)


def style() -> AbstractContextManager[Any]:
    """Draw in the style of all figures."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise ImportError("Figures need matplotlib: pip install 'clems[report]'.") from None
    return mpl.rc_context(STYLE)  # type: ignore[arg-type]
