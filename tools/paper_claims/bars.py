"""Bars of counted rows: in how many a learner is better and worse than another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from matplotlib.patches import Patch

from tools.paper_claims.counting import VERDICTS, count
from tools.paper_claims.drawing import QUIET, figure_of_rows, name_rows

VERDICT_COLOURS = {"ahead": "#0072B2", "better": "#A9CFE6", "same": "#DDDDDD", "worse": "#F7CBA4", "behind": "#D55E00"}
DARK = {"#0072B2", "#D55E00"}  # with numbers in white


def stack(ax: Any, at: int, parts: Iterable[tuple[str, int]], whole: int = 1) -> None:
    """Draw a bar of parts, each with its colour and its number, as shares of a whole."""
    left = 0.0
    for colour, number in parts:
        share = number / whole
        ax.barh(at, share, left=left, color=colour, height=0.72)
        if number:
            look = {"color": "white" if colour in DARK else "#333333", "fontsize": 8}
            ax.text(left + share / 2, at, str(number), ha="center", va="center", **look)
        left += share


def without_frame(ax: Any, longest: float) -> None:
    """Show nothing but the bars and their names."""
    ax.set_xlim(0, longest)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks([])


def bars(ax: Any, groups: Mapping[str, pd.DataFrame], beside: Mapping[str, str] | None = None) -> None:
    """Draw a bar of counted verdicts for each group of rows, the first on top."""
    most = max([len(found) for found in groups.values()] or [1])
    for at, (label, found) in enumerate(groups.items()):
        stack(ax, at, [(VERDICT_COLOURS[name], number) for name, number in count(found).items()])
        if beside and label in beside:
            ax.text(most * 1.03, at, beside[label], va="center", fontsize=8, color=QUIET)
    name_rows(ax, [*groups])
    without_frame(ax, most)


def legend_below(figure: Any, colours: Mapping[str, str]) -> None:
    """Explain colours by their labels."""
    handles = [Patch(color=colour, label=label) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, handlelength=1.2)


def legend_of_verdicts(figure: Any, groups: Mapping[str, pd.DataFrame]) -> None:
    """Explain the colours of bars that are there."""
    there = sum((count(found) for found in groups.values()), Counter[str]())
    legend_below(figure, {words: VERDICT_COLOURS[name] for name, words in VERDICTS.items() if there[name]})


def figure_of_bars(groups: Mapping[str, pd.DataFrame], title: str, beside: Mapping[str, str] | None = None) -> Any:
    """A picture of bars alone."""
    figure, ax = figure_of_rows([*groups], 0.95, 0.29)
    bars(ax, groups, beside)
    ax.set_title(title)
    if beside:
        ax.annotate("in print", (1.03, 1.0), xycoords="axes fraction", fontsize=8, color=QUIET, va="bottom")
    legend_of_verdicts(figure, groups)
    return figure
