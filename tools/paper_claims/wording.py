"""Claims on the paper's wording: what changes if a part of the algorithm is as worded, or as it could be."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clems.experiments.analysis.naming import heading_of
from tools.paper_claims.bars import VERDICT_COLOURS
from tools.paper_claims.counting import duels, in_words, signed
from tools.paper_claims.drawing import QUIET, figure_of_rows, interval
from tools.paper_claims.page import Claim
from tools.paper_claims.records import evidence


def wording(rival: str, title: str) -> Claim:
    """What changes if a part of the algorithm is as the paper words it, or as it could be."""
    own = evidence("wording")
    found = duels(own.results, rival, ["clems-nearest"])
    found = found.sort_values("criterion", kind="stable", key=lambda names: names.map(own.criteria.index))
    spans = [_span(name, found[found["criterion"] == name]) for name in own.criteria]
    return Claim(
        _figure(found, title),
        f"{title}: what it changes, by criterion and dataset",
        f"{own.caption(own.of(rival, 'clems-nearest'))} Forests of 25 trees; lines are 95 % intervals.",
        [f"Differences, + is better: {'; '.join(spans)}. It is {in_words(found)}."],
    )


def _span(criterion: str, found: pd.DataFrame) -> str:
    """Say what the least and the greatest difference by a criterion are."""
    percents = sorted(found["percent"], key=abs)
    return f"{heading_of(criterion)[:-2]} {signed(percents[0])} to {signed(percents[-1])} %"


def _figure(found: pd.DataFrame, title: str) -> Any:
    """Percent gained with 95 % intervals, a row for each dataset and criterion."""
    names = [f"{one.dataset}, {heading_of(one.criterion)}" for one in found.itertuples()]
    figure, ax = figure_of_rows(names, 0.9, 0.27)
    ax.axvline(0, color=QUIET, linewidth=1)
    for at, one in enumerate(found.itertuples()):
        colour = VERDICT_COLOURS["ahead" if one.percent > 0 else "behind"]
        interval(ax, at, one.percent, (one.low, one.high), colour)
    ax.set_xlabel("better than CLEMS, nearest by, in %")
    ax.set_title(title)
    ax.grid(axis="x")
    return figure
