"""A table in long form: one line per cell, with all digits, as a frame or CSV."""

from __future__ import annotations

import pandas as pd

from clems.experiments.output.table import Table


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
