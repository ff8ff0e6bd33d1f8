"""What differs from printed values by more than chance: counts, and every such cell with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clems.experiments.analysis.naming import criterion_named, heading_of, listed
from clems.experiments.output.printed import read_printed, read_reasons, reason_for
from clems.experiments.output.table import NAN, Cell, Table

if TYPE_CHECKING:
    from clems.experiments.plan import Plan

FAR = 3.0  # standard errors of a difference that are not put down to chance


@dataclass(frozen=True)
class Difference:
    """A cell beside what is printed for it.

    Attributes
    ----------
    dataset, learner, criterion : str
        Where.
    cell : Cell
        Ours, with the printed value that it is compared with.
    decimals : int
        To which numbers are written.
    reason : str
        Why it differs, as far as it is known.
    """

    dataset: str
    learner: str
    criterion: str
    cell: Cell
    decimals: int
    reason: str

    @property
    def gain(self) -> float:
        """How many standard errors of the difference ours is better."""
        return criterion_named(self.criterion).sign * self.cell.deviation

    @property
    def verdict(self) -> str:
        """Whether ours is better or worse, empty where the difference may be chance."""
        return "" if abs(self.gain) <= FAR else "better" if self.gain > 0 else "worse"


def differences(plan: Plan, table: Table) -> list[Difference]:
    """Compare each cell that has all of its repetitions with what is printed for its learner, or for another.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    table : Table
        What came out.
    """
    return [*_differences(plan, table)] if plan.spec.printed else []


def _differences(plan: Plan, table: Table) -> Iterator[Difference]:
    spec = plan.spec
    printed = read_printed(spec.printed) if spec.printed else {}
    reasons = read_reasons(spec.reasons) if spec.reasons else []
    for row in table.rows:
        for name, cell in row.cells.items():
            compared = spec.learners[name].printed_as or name
            mean, error = printed.get((row.dataset, compared, row.criterion), (NAN, NAN))
            beside = replace(cell, printed=mean, printed_error=error)
            # a difference has standard errors where both values have one
            if cell.n == cell.planned and beside.deviation == beside.deviation:
                place = (row.dataset, name, row.criterion)
                yield Difference(*place, beside, row.decimals, reason_for(place, reasons))


def print_in_words(plan: Plan, found: list[Difference], titles: dict[str, str]) -> list[str]:
    """Say of each learner in how many cells it is better and worse than print."""
    said = []
    for name in dict.fromkeys(one.learner for one in found):
        own = [one for one in found if one.learner == name]
        other = plan.spec.learners[name].printed_as
        beside = f"{titles[name]} (beside what is printed for {titles[other]})" if other else titles[name]
        better, worse = ([one for one in own if one.verdict == verdict] for verdict in ("better", "worse"))
        where = f" ({listed([f'{one.dataset} {one.criterion}' for one in worse])})" if worse else ""
        said.append(f"{beside}: better than print in {len(better)} of {len(own)} cells, worse in {len(worse)}{where}.")
    return said


def print_table(found: list[Difference], titles: dict[str, str]) -> str:
    """List all cells that differ from print by more than chance, as Markdown."""
    lines = [
        "| dataset | criterion | learner | ours | printed | standard errors | ours is | reason |",
        "|---" * 8 + "|",
    ]
    for one in (one for one in found if one.verdict):
        value = replace(one.cell, rank=NAN, worse=None, options_missing=0).text(one.decimals)
        # what is printed, without the deviation that stands in a column of its own
        printed = replace(one.cell, value=NAN).printed_text(one.decimals)
        deviation = f"{one.cell.deviation:+.1f}".replace("-", "−")
        cells = [one.dataset, heading_of(one.criterion), titles[one.learner], value, printed, deviation]
        lines.append("| " + " | ".join([*cells, one.verdict, one.reason]) + " |")
    return "\n".join(lines)
