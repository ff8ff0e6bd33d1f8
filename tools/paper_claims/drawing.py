"""What all pictures share: how learners look, panels, rows of names, scales, legends, and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D

from clems.files import replacing

STYLE = {"font.size": 9, "figure.constrained_layout.h_pad": 0.08, "figure.constrained_layout.w_pad": 0.06}
WIDE = 7.6  # inches of a picture
COLOURS = {
    "clems": "#0072B2",
    "clems-forest": "#009E73",
    "clems-nearest": "#56B4E9",
    "pcc": "#D55E00",
    "cft": "#E69F00",
    "cc": "#CC79A7",
    "br": "#777777",
}
CYCLE = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#777777", "#000000"]
MARKERS = "os^DvPX*"
OURS = {"clems-nearest": -0.13, "clems": 0.13}  # the paper's algorithm and the default: places within a row
QUIET = "#444444"  # of zero lines and of words beside a picture


def use_style() -> None:
    """Draw as the figures of the package are drawn; the same picture is the same file."""
    mpl.use("agg")
    plt.style.use("clems.figures")
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "clems", **STYLE}


def save(figure: Any, path: Path) -> None:
    """Write a picture on white, without a date."""
    with replacing(path) as out:
        figure.savefig(out, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def grid(parent: Any, number: int, columns: int, **options: Any) -> list[Any]:
    """Panels in a figure; places that are left over are empty."""
    axes = parent.subplots(-(-number // columns), columns, squeeze=False, **options).ravel().tolist()
    for ax in axes[number:]:
        ax.remove()
    return axes[:number]


def panels(number: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, list[Any]]:
    """A figure with a grid of panels of a size in inches."""
    columns = min(columns, number)
    figure = plt.figure(figsize=(size[0] * columns, size[1] * -(-number // columns) + 0.35))
    return figure, grid(figure, number, columns, **options)


def rows_of_panels(
    number: int, columns: int, size: tuple[float, float], names: Sequence[str], x_label: str
) -> tuple[Any, list[Any]]:
    """A figure with panels that share their rows, one for each name."""
    figure, axes = panels(number, columns, size, sharey=True)
    name_rows(axes[0], names)
    name_x(figure, x_label)
    return figure, axes


def figure_of_rows(names: Sequence[str], margin: float, height: float) -> tuple[Any, Any]:
    """A figure with a row for each name; the margin and the height of a row are in inches."""
    figure, ax = plt.subplots(figsize=(WIDE, margin + height * len(names)))
    name_rows(ax, names)
    return figure, ax


def name_rows(ax: Any, names: Sequence[str]) -> None:
    """Name the rows of a picture, the first on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)


def name_x(figure: Any, label: str, size: float = 9) -> None:
    """Say below all panels what x is."""
    figure.supxlabel(label, fontsize=size, color=QUIET)


def log_scale(ax: Any, ticks: Sequence[float]) -> None:
    """Make x logarithmic, with those of the ticks that are within what is drawn."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    there = [tick for tick in ticks if low <= tick <= high]
    ax.set_xticks(there, [f"{tick:g}" for tick in there])
    ax.minorticks_off()


def interval(ax: Any, at: float, middle: float, ends: tuple[float, float], colour: str) -> None:
    """Draw a value and its interval in a row."""
    ax.plot(ends, [at, at], color=colour, linewidth=1.6, alpha=0.6)
    ax.plot(middle, at, "o", color=colour, markersize=6)


def legend_above(figure: Any, handles: Sequence[Any]) -> None:
    """Put one legend above all panels, in as many lines as it needs."""
    width = sum(0.42 + 0.07 * len(one.get_label()) for one in handles)  # inches, roughly
    columns = -(-len(handles) // -(-int(10 * width) // 72))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, fontsize=8, columnspacing=1.2)


def dot(colour: str, label: str, **look: Any) -> Line2D:
    """A dot in a legend."""
    return Line2D([], [], **{"marker": "o", "linestyle": "", "markersize": 6, "color": colour, **look}, label=label)


def line(colour: str, label: str, **look: Any) -> Line2D:
    """A line in a legend."""
    return Line2D([], [], **{"color": colour, "linewidth": 1.4, **look}, label=label)


def curve(colour: str, label: str, marker: str) -> Line2D:
    """A line with markers in a legend."""
    return line(colour, label, marker=marker, markersize=4)
