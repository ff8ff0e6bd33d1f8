"""The claim that CLEMS reaches its printed values: our cells beside those of the paper's CLEMS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import FuncFormatter

from clems.experiments.analysis.naming import heading_of
from clems.experiments.output.against_print import FAR, Difference, differences
from clems.experiments.output.kinds import make_table
from tools.paper_claims.drawing import COLOURS, OURS, QUIET, dot, legend_above, rows_of_panels
from tools.paper_claims.page import Claim, table
from tools.paper_claims.records import Evidence, evidence

SIZE = 5.5  # of dots


def against_print() -> Claim:
    """CLEMS beside what is printed for CLEMS, cell by cell."""
    own = evidence("table2")
    found = [one for one in differences(own.plan, make_table(own.plan, own.records)) if one.learner in OURS]
    return Claim(
        _figure(own, found),
        "How many standard errors the paper's algorithm and default CLEMS are better than the printed CLEMS",
        own.caption(own.of(*OURS)),
        [
            *(_counted(own.title(name), [one for one in found if one.learner == name]) for name in OURS),
            f"The grey band is {FAR:g} standard errors wide on each side.",
        ],
        _reasons(own, [one for one in found if one.verdict == "worse"]),
    )


def _figure(own: Evidence, found: Sequence[Difference]) -> Any:
    """A panel for each criterion, a row for each dataset: standard errors better than print."""
    datasets, criteria = own.datasets, own.criteria
    size, label = (1.95, 0.9 + 0.24 * len(datasets)), "standard errors better than the printed CLEMS"
    figure, axes = rows_of_panels(len(criteria), 4, size, datasets, label)
    reach = max([FAR + 1, *(abs(one.gain) * 1.1 for one in found)])
    for ax, criterion in zip(axes, criteria, strict=True):
        ax.axvspan(-FAR, FAR, color="#EEEEEE", linewidth=0)
        ax.axvline(0, color=QUIET, linewidth=1)
        for one in (one for one in found if one.criterion == criterion):
            place = one.gain, datasets.index(one.dataset) + OURS[one.learner]
            ax.plot(*place, "o", color=COLOURS[one.learner], markersize=SIZE)
        ax.set_title(heading_of(criterion))
        _scale(ax, reach)
    legend_above(figure, [dot(COLOURS[name], own.title(name), markersize=SIZE) for name in OURS])
    return figure


def _scale(ax: Any, reach: float) -> None:
    """Make x linear up to what is far, and logarithmic beyond."""
    ax.set_xscale("symlog", linthresh=FAR, linscale=0.8)
    ax.set_xlim(-1.15 * reach, 1.15 * reach)
    far = 20 if reach > 20 else 10
    ax.set_xticks([tick for tick in (-far, -FAR, 0, FAR, far) if abs(tick) < reach])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))
    ax.tick_params(axis="x", labelsize=7.5)
    ax.minorticks_off()


def _counted(title: str, cells: Sequence[Difference]) -> str:
    """Say in how many cells a learner is better and worse than print."""
    by = Counter(one.verdict for one in cells)
    return (
        f"{title} is better than the printed CLEMS by more than {FAR:g} standard errors in {by['better']} of "
        f"{len(cells)} cells, worse in {by['worse']}, and below print, by any amount, in "
        f"{sum(one.gain < 0 for one in cells)}."
    )


def _reasons(own: Evidence, worse: Sequence[Difference]) -> str:
    """Cells that are worse than print, with reasons."""
    if not worse:
        return "No cell of either is worse than print by more than that."
    head = ("dataset", "criterion", "learner", "ours", "printed", "standard errors worse", "reason")
    return table(head, [_cells(own, one) for one in worse])


def _cells(own: Evidence, one: Difference) -> tuple[str, ...]:
    """A difference as a row of a table."""
    values = [f"{value:.{one.decimals}f}" for value in (one.cell.value, one.cell.printed)]
    return (one.dataset, heading_of(one.criterion), own.title(one.learner), *values, f"{abs(one.gain):.1f}", one.reason)
