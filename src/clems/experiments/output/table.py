"""A table of results, as objects: cells, rows, and what is said about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

NAN = float("nan")
NO_RULE = "–"
NOT_DONE = "missing"
PRINTED = "printed"  # heads a line of values printed elsewhere
FEWER = "†"  # stands where the choice was among fewer trials than planned
AS_GOOD = "≈"  # stands at means that are not significantly worse than the best


@dataclass(frozen=True)
class Cell:
    """What a table knows of one learner in one row.

    Attributes
    ----------
    value, error : float
        Mean over repetitions and its standard error; NaN if there is none.
    n, planned : int
        Repetitions that are there, and that should be; none are planned where a learner has no part.
    rank : float
        Of the mean among those of the row, 1 is the best.
    best : bool
        Whether the rank is 1.
    p : float
        That the best is no better, corrected for the number of rivals.
    worse : bool or None
        Whether it is significantly worse than the best; None without a test.
    printed, printed_error : float
        What is printed elsewhere.
    has_rule : bool
        Whether the learner can decide for this criterion.
    options_missing : int
        Planned trials that had no part in choosing parameters.
    seconds : float
        In tables of times, of which the value is the factor to the baseline.
    """

    value: float = NAN
    error: float = NAN
    n: int = 0
    planned: int = 0
    rank: float = NAN
    best: bool = False
    p: float = NAN
    worse: bool | None = None
    printed: float = NAN
    printed_error: float = NAN
    has_rule: bool = True
    options_missing: int = 0
    seconds: float = NAN

    @property
    def deviation(self) -> float:
        """Difference to the printed value, in standard errors of the difference."""
        spread = math.hypot(self.error, self.printed_error)
        return (self.value - self.printed) / spread if spread > 0 else NAN

    def text(self, decimals: int) -> str:
        """Write mean ± standard error (rank), and what else there is to say of it."""
        if math.isnan(self.value):
            return NO_RULE if not self.has_rule else NOT_DONE if self.planned else ""
        text = _number(self.value, self.error, decimals)
        if not math.isnan(self.rank):
            text += f" ({self.rank:.0f})"
        if self.worse is False and not self.best:
            text += f" {AS_GOOD}"
        text += f" {FEWER}" if self.options_missing else ""
        return text + (f" n={self.n}" if self.n < self.planned else "")

    def printed_text(self, decimals: int) -> str:
        """Write what is printed, and in brackets how far ours is from it."""
        if math.isnan(self.printed):
            return ""
        text = _number(self.printed, self.printed_error, decimals)
        return text if math.isnan(self.deviation) else f"{text} [{self.deviation:+.1f}]".replace("-", "−")


@dataclass(frozen=True)
class Row:
    """Cells that are compared with each other.

    Attributes
    ----------
    dataset, criterion : str
        Where; in tables of times the criterion is a phase.
    heading : str
        Title of the criterion with the arrow that points where better values are.
    x : float or None
        Position in a figure.
    decimals : int
        To which numbers are written.
    cells : dict
        By learner.
    """

    dataset: str
    criterion: str
    heading: str
    x: float | None
    decimals: int
    cells: Mapping[str, Cell]

    @property
    def is_printed(self) -> bool:
        """Whether any value is printed of this row."""
        return any(not math.isnan(cell.printed) for cell in self.cells.values())


@dataclass(frozen=True)
class Table:
    """A table to be written.

    Attributes
    ----------
    title : str
        What it shows.
    headings : dict
        Titles of learners, by name, in order.
    rows : list of Row
        In order.
    row_label : str
        Heading of what rows are of.
    x_label : str
        Heading of positions, empty where there are none.
    legend : list of str
        Sentences that say how to read it.
    missing : list of str
        Sentences that say what is missing.
    footnotes : list of str
        Remarks.
    """

    title: str
    headings: Mapping[str, str]
    rows: list[Row]
    row_label: str = "criterion"
    x_label: str = ""
    legend: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)

    @property
    def heads(self) -> list[str]:
        """Headings of the columns before those of learners."""
        return ["dataset", self.row_label, *([self.x_label] if self.x_label else [])]

    @property
    def lines(self) -> list[tuple[list[str], list[tuple[str, bool]]]]:
        """Lines, ours and under them printed ones: heads, and of each learner the text and whether it is bold."""
        lines = []
        for row in self.rows:
            x = [] if not self.x_label else ["" if row.x is None else f"{row.x:g}"]
            cells = [row.cells[name] for name in self.headings]
            lines.append(([row.dataset, row.heading, *x], [(cell.text(row.decimals), cell.best) for cell in cells]))
            if row.is_printed:
                blank = ["", PRINTED, *([""] if x else [])]
                lines.append((blank, [(cell.printed_text(row.decimals), False) for cell in cells]))
        return lines


def _number(value: float, error: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    text = text if math.isnan(error) else f"{text} ± {error:.{decimals}f}"
    return text.replace("-", "−")


def decimals_of(cells: Iterable[Cell]) -> int:
    """Decimals under which the middle one of the standard errors has two digits, or else the greatest value four."""
    cells = list(cells)
    errors = [cell.error for cell in cells if cell.error > 0]
    if errors:
        return decimals_for(float(np.median(errors)), 2)
    values = [abs(number) for cell in cells for number in (cell.value, cell.printed) if not math.isnan(number)]
    return decimals_for(max([*values, 1e-3]), 4)


def decimals_for(value: float, digits: int) -> int:
    """Decimals under which a value has some digits."""
    return int(np.clip(digits - 1 - math.floor(math.log10(value)), 0, 6))
