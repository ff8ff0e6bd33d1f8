"""A comparison on one dataset for a terminal: what the best saves, and a line for each learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from clems.evaluation.answers import HALF
from clems.evaluation.savings import CONSTANT, EVERYTHING, NOTHING, amount
from clems.experiments.analysis.saved import BASELINE
from clems.experiments.output.kinds import make_table
from clems.experiments.output.terminal import empty_table, styled
from clems.experiments.store import Records

if TYPE_CHECKING:
    from clems.experiments.plan import Plan


WAYS = (BASELINE, HALF, NOTHING, EVERYTHING, CONSTANT)


def show_learners(
    plan: Plan,
    records: Records,
    table: pd.DataFrame,
    savings: pd.DataFrame | None,
    sentences: Sequence[str],
    unit: str,
    console: Any,
) -> None:
    """Show a comparison.

    Parameters
    ----------
    plan, records
        What was to be done, and what came out.
    table : DataFrame
        A line for each learner.
    savings : DataFrame or None
        What each saves a row, against what.
    sentences : sequence of str
        What is said first.
    unit : str
        What costs are counted in.
    console : rich.console.Console
        Where.
    """

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False)

    (row,), known = (report := make_table(plan, records)).rows, table.dropna(subset="mean")
    say(report.title, "bold")
    for sentence in sentences:
        say(sentence)
    first = empty_table(["learner"], [row.heading, "seconds to fit", "to predict"])
    for name, line in table.iterrows():
        seconds = [_seconds(line["fit_seconds"]), _seconds(line["predict_seconds"])]
        cell = row.cells[str(name)]
        first.add_row(styled(str(name)), styled(cell.text(row.decimals), cell.best), *map(styled, seconds))
    console.print(first)
    if savings is not None and len(known):
        there = {*savings.index.get_level_values("against")}
        ways = [way for way in WAYS if way in there]
        second = empty_table([f"saved a row{f' in {unit}' if unit else ''} against"], [_short(way) for way in ways])
        wide = savings["saved"].unstack("against").reindex(columns=ways)
        for name in known.index:
            second.add_row(styled(str(name)), *(styled(amount(value)) for value in wide.loc[name]))
        console.print(second)
    for sentence in report.legend:
        say(sentence, "dim")
    say("Seconds are of processor time, means over repetitions.", "dim")
    for sentence in report.missing:
        say(sentence, "yellow")
    for note in report.footnotes:
        say(note, "dim")


def _seconds(value: float) -> str:
    return "" if value != value else f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _short(way: str) -> str:
    """Leave out the word that all ways to predict share."""
    return way.removeprefix("predicting ").removeprefix("the ")
