"""Tables of results, as objects, and how they are written: terminal, Markdown, CSV and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clems.experiments.plan import Plan
from clems.experiments.selection import Records, missing, results, summary
from clems.experiments.significance import ALPHA, against_best
from clems.experiments.times import time_ratios
from clems.experiments.trial import criterion_named

NAN = float("nan")
NO_RULE = "–"
NOT_DONE = "missing"
FEWER = "†"  # stands where the choice was among fewer trials than planned
AS_GOOD = "≈"  # stands at means that are not significantly worse than the best
PRINTED = ["dataset", "learner", "criterion", "mean", "ste"]
PHASES = ["training", "prediction", "total"]
LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "−": "$-$",
    "≈": r"$\approx$",
    "†": r"$\dagger$",
    "χ": r"$\chi$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "α": r"$\alpha$",
    "…": r"\ldots{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


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
        What the paper has.
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
        """Write what the paper has, and in brackets how far ours is from it."""
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
        """Whether the paper has any value of this row."""
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
    x_label: str = ""
    legend: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)

    @property
    def heads(self) -> list[str]:
        """Headings of the columns before those of learners."""
        return ["dataset", "criterion" if self.rows_have_criteria else "", *([self.x_label] if self.x_label else [])]

    @property
    def rows_have_criteria(self) -> bool:
        """Whether rows are of criteria, and not of phases."""
        return any(row.criterion not in PHASES for row in self.rows)

    @property
    def lines(self) -> list[tuple[list[str], list[tuple[str, bool]]]]:
        """Lines, ours and under them the paper's: heads, and of each learner the text and whether it is bold."""
        lines = []
        for row in self.rows:
            x = [] if not self.x_label else ["" if row.x is None else f"{row.x:g}"]
            cells = [row.cells[name] for name in self.headings]
            lines.append(([row.dataset, row.heading, *x], [(cell.text(row.decimals), cell.best) for cell in cells]))
            if row.is_printed:
                blank = ["", "paper", *([""] if x else [])]
                lines.append((blank, [(cell.printed_text(row.decimals), False) for cell in cells]))
        return lines


def make_table(plan: Plan, records: Records) -> Table:
    """Make the table that a spec asks for, with what records there are.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.
    """
    spec = plan.spec
    frame = results(plan, records)
    headings = {name: entry.title or name for name, entry in spec.learners.items()}
    rows, legend = _time_rows(plan, frame) if spec.kind == "times" else _rows(plan, frame)
    x_label = (spec.x_label or "x") if any(row.x is not None for row in rows) else ""
    notes = [f"{headings[name]}: {entry.notes}" for name, entry in spec.learners.items() if entry.notes]
    footnotes = [*notes, *([spec.notes] if spec.notes else [])]
    return Table(spec.title, headings, rows, x_label, legend, missing(plan, records).sentences, footnotes)


def _rows(plan: Plan, frame: pd.DataFrame) -> tuple[list[Row], list[str]]:
    spec = plan.spec
    cells = {_place(one): one for one in summary(frame).to_dict("records")}
    tests = {_place(one): one for one in against_best(frame).to_dict("records")}
    printed = read_printed(spec.printed) if spec.printed else {}
    positions = {
        dataset: sorted({one.x for one in plan.planned if one.trial.dataset == dataset}, key=_position)
        for dataset in dict.fromkeys([*spec.datasets, *(one.trial.dataset for one in plan.planned)])
    }
    places_of = {(one.trial.dataset, one.learner, one.x) for one in plan.planned}
    rows = []
    for dataset, criterion in ((dataset, criterion) for dataset in positions for criterion in spec.criteria):
        own = criterion_named(criterion)
        for x in positions[dataset] or [None]:
            made = {}
            for name in spec.learners:
                place = (dataset, criterion, name, x)
                told = printed.get((dataset, name, criterion), (NAN, NAN)) if x is None else (NAN, NAN)
                if place in cells:
                    made[name] = _cell(cells[place], tests.get(place), *told)
                else:  # it takes part and has no rule, or it takes no part here
                    without = (name, criterion) in plan.without_rule or (dataset, name, x) in places_of
                    made[name] = Cell(printed=told[0], printed_error=told[1], has_rule=not without)
            if sum(bool(cell.planned) for cell in made.values()) == 1:  # no race
                made = {name: replace(cell, rank=NAN, best=False) for name, cell in made.items()}
            rows.append(Row(dataset, criterion, f"{own.title} {own.arrow}", x, _decimals(made.values()), made))
    return rows, _legend([cell for row in rows for cell in row.cells.values()])


def _decimals(cells: Iterable[Cell]) -> int:
    """Decimals under which the middle one of the standard errors has two digits, or else the greatest value four."""
    cells = list(cells)
    errors = [cell.error for cell in cells if cell.error > 0]
    if errors:
        return _decimals_of(float(np.median(errors)), 2)
    values = [abs(number) for cell in cells for number in (cell.value, cell.printed) if not math.isnan(number)]
    return _decimals_of(max([*values, 1e-3]), 4)


def _decimals_of(value: float, digits: int) -> int:
    return int(np.clip(digits - 1 - math.floor(math.log10(value)), 0, 6))


def _position(x: float | None) -> tuple[bool, float]:
    return (x is None, x or 0)


def _place(one: Mapping[str, Any]) -> tuple[str, str, str, float | None]:
    return one["dataset"], one["criterion"], one["learner"], None if pd.isna(one["x"]) else one["x"]


def _cell(own: Mapping[str, Any], test: Mapping[str, Any] | None, printed: float, printed_error: float) -> Cell:
    p = test["p_holm"] if test is not None else NAN
    return Cell(
        value=own["mean"],
        error=own["standard_error"],
        n=int(own["n"]),
        planned=int(own["planned"]),
        rank=own["rank"],
        best=bool(own["is_best"]),
        p=p,
        worse=None if test is None or math.isnan(p) else bool(test["worse"]),
        printed=printed,
        printed_error=printed_error,
        options_missing=int(own["options_missing"]),
    )


def _legend(cells: list[Cell]) -> list[str]:
    planned = sorted({cell.planned for cell in cells if cell.planned})
    if not planned:
        return []
    over = " or ".join(map(str, planned))
    error = " ± standard error" if max(planned) > 1 else ""
    repetitions = "one repetition" if planned == [1] else f"{over} repetitions"
    said = [
        f"Mean{error} over {repetitions}, and in parentheses its rank in the row. Bold is the best mean; "
        "arrows point where better values are."
    ]
    if any(cell.worse is not None for cell in cells):
        said.append(
            f"{AS_GOOD} marks those that are not significantly worse than the best, by the corrected resampled t-test "
            "of Nadeau and Bengio over paired repetitions, as splits share rows, with Holm's correction for the rivals "
            f"of the row (α = {ALPHA:g})."
        )
    if any(cell.n < cell.planned for cell in cells if cell.n):
        said.append("Where n is given, only n repetitions are there.")
    if any(cell.options_missing for cell in cells):
        said.append(f"{FEWER}: some parameters were not tried in all repetitions, as trials are missing.")
    if any(not cell.has_rule for cell in cells):
        said.append(f"{NO_RULE}: the learner has no rule to decide for this criterion.")
    if any(cell.printed == cell.printed for cell in cells):
        said.append(
            "Under our values stand those that the paper prints; in brackets ours minus the paper's, in standard "
            "errors of the difference."
        )
    return said


def read_printed(path: Path) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Read what a paper prints.

    Parameters
    ----------
    path : path
        CSV with columns dataset, learner, criterion, mean and ste; ste may be empty.

    Returns
    -------
    dict
        Mean and standard error by (dataset, learner, criterion).
    """
    frame = pd.read_csv(path)
    if absent := [name for name in PRINTED if name not in frame]:
        raise ValueError(f"{path} has no column {', '.join(absent)}; printed values need {', '.join(PRINTED)}.")
    try:
        numbers = frame[["mean", "ste"]].astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{path} has a mean or ste that is not a number: {error}.") from None
    keys = frame[["dataset", "learner", "criterion"]].astype(str).itertuples(index=False, name=None)
    return dict(zip(keys, numbers.itertuples(index=False, name=None), strict=True))


def _time_rows(plan: Plan, frame: pd.DataFrame) -> tuple[list[Row], list[str]]:
    spec = plan.spec
    # Training and prediction are the same for all criteria, up to the choice of depth: the first speaks for all.
    frame = frame[frame["criterion"] == spec.criteria[0]]
    times = {(*_place(one), one["phase"]): one for one in time_ratios(frame, spec.baseline).to_dict("records")}
    planned = summary(frame)
    of_place = {_place(one): int(one["planned"]) for one in planned.to_dict("records")}
    rows = []
    for dataset in planned["dataset"].unique():
        for x in sorted({place[3] for place in of_place if place[0] == dataset}, key=_position):
            for phase in PHASES:
                cells = {}
                for name in spec.learners:
                    place = (dataset, spec.criteria[0], name, x)
                    own = times.get((*place, phase), {})
                    value = own.get("factor" if spec.baseline else "seconds", NAN)
                    n, of = own.get("n", 0), of_place.get(place, 0)
                    cells[name] = Cell(value=value, n=n, planned=of, seconds=own.get("seconds", NAN))
                least = min((cell.value for cell in cells.values() if cell.value > 0), default=1.0)
                rows.append(Row(dataset, phase, phase, x, _decimals_of(least, 2), cells))
    base = spec.learners[spec.baseline].title or spec.baseline if spec.baseline else ""
    relative = f"Seconds as multiples of those of {base}, geometric mean over repetitions; less is faster."
    return rows, [relative if base else "Mean seconds; less is faster."]


def _number(value: float, error: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    text = text if math.isnan(error) else f"{text} ± {error:.{decimals}f}"
    return text.replace("-", "−")


def to_frame(table: Table) -> pd.DataFrame:
    """Return a table in long form, one line per cell in which there is anything."""
    lines = [
        {
            "dataset": row.dataset,
            "criterion": row.criterion,
            "learner": name,
            "x": row.x,
            "mean": cell.value,
            "standard_error": cell.error,
            "n": cell.n,
            "planned": cell.planned,
            "rank": cell.rank,
            "best": cell.best,
            "p": cell.p,
            "worse": cell.worse,
            "printed": cell.printed,
            "printed_error": cell.printed_error,
            "deviation": cell.deviation,
            "options_missing": cell.options_missing,
            "seconds": cell.seconds,
        }
        for row in table.rows
        for name, cell in row.cells.items()
        if cell.planned or cell.printed == cell.printed
    ]
    frame = pd.DataFrame(lines)
    return frame.dropna(axis="columns", how="all") if len(frame) else frame


def to_csv(table: Table) -> str:
    """Write a table as CSV in long form, with all digits."""
    return str(to_frame(table).to_csv(index=False, lineterminator="\n"))


def to_markdown(table: Table) -> str:
    """Write a table as Markdown."""
    lines = [[*table.heads, *table.headings.values()], ["---"] * (len(table.heads) + len(table.headings))]
    lines += [[*heads, *(_bold(*cell) for cell in cells)] for heads, cells in table.lines]
    text = "".join("| " + " | ".join(_in_markdown(cell) for cell in line) + " |\n" for line in lines)
    return text.replace("|  ", "| ")


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text


def _in_markdown(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def to_latex(table: Table) -> str:
    """Write a table as LaTeX, for the package booktabs."""
    columns = "l" * len(table.heads) + "r" * len(table.headings)
    head = " & ".join(map(_in_latex, [*table.heads, *table.headings.values()]))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_in_latex(table.title)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
    ]
    lines += [r"\toprule", head + r" \\", r"\midrule"]
    dataset = ""
    for heads, cells in table.lines:
        if dataset and heads[0] and heads[0] != dataset:
            lines.append(r"\addlinespace")
        dataset = heads[0] or dataset
        written = [rf"\textbf{{{_in_latex(text)}}}" if bold else _in_latex(text) for text, bold in cells]
        lines.append(" & ".join([*map(_in_latex, heads), *written]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    said = [*table.legend, *table.missing, *table.footnotes]
    lines += [rf"\par\smallskip\footnotesize {_in_latex(sentence)}" for sentence in said]
    return "\n".join([*lines, r"\end{table}", ""])


def _in_latex(text: str) -> str:
    return "".join(LATEX.get(mark, mark) for mark in " ".join(text.split()))


def to_rich(table: Table, width: int) -> list[Any]:
    """Return a table for a terminal: in one piece if it is wide enough, else one piece for each dataset.

    Parameters
    ----------
    table : Table
        What to show.
    width : int
        Columns of the terminal.

    Returns
    -------
    list of rich.table.Table
        Learners are columns in one piece, and lines in several.
    """
    wide = [
        [*table.heads, *table.headings.values()],
        *([*heads, *(text for text, _ in own)] for heads, own in table.lines),
    ]
    needed = sum(max(len(line[at]) for line in wide) + 3 for at in range(len(wide[0]))) + 1
    return [_wide(table)] if needed <= width else list(_by_dataset(table))


def _wide(table: Table) -> Any:
    heads, headings = table.heads, list(table.headings.values())
    piece = _piece(heads, headings)
    names = [*(heads[0] for heads, _ in table.lines[1:]), "last"]
    for (heads, cells), following in zip(table.lines, names, strict=True):
        own = [_styled(*cell, dim=heads[1] == "paper") for cell in cells]
        piece.add_row(
            *(_styled(head, False) for head in heads), *own, end_section=bool(following) and following != heads[0]
        )
    return piece


def _by_dataset(table: Table) -> Iterable[Any]:
    for dataset in dict.fromkeys(row.dataset for row in table.rows):
        rows = [row for row in table.rows if row.dataset == dataset]
        heads = [row.heading if row.x is None else f"{row.heading} at {row.x:g}" for row in rows]
        piece = _piece([dataset], heads)
        for name, title in table.headings.items():
            cells = [(row.cells[name], row.decimals) for row in rows]
            piece.add_row(_styled(title, False), *(_styled(cell.text(own), cell.best) for cell, own in cells))
            if any(cell.printed == cell.printed for cell, _ in cells):
                printed = [_styled(cell.printed_text(own), False, dim=True) for cell, own in cells]
                piece.add_row(_styled("  paper", False, dim=True), *printed)
        yield piece


def _piece(left: Iterable[str], right: Iterable[str]) -> Any:
    try:
        from rich import box
        from rich.table import Table as Piece
    except ImportError:
        raise ImportError("Tables in a terminal need rich: pip install 'clems[report]'.") from None
    piece = Piece(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in left:
        piece.add_column(_styled(head, False))
    for head in right:
        piece.add_column(_styled(head, False), justify="right")
    return piece


def _styled(text: str, bold: bool, dim: bool = False) -> Any:
    from rich.text import Text  # as Text, brackets are not taken for styles

    return Text(text, style="bold green" if bold else "dim" if dim or text in (NO_RULE, NOT_DONE) else "")
