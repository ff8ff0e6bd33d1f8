"""A table for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clems.experiments.output.table import NO_RULE, NOT_DONE, PRINTED, Table


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
        *([*heads, *(text for text, _ in cells)] for heads, cells in table.lines),
    ]
    needed = sum(max(len(line[at]) for line in wide) + 3 for at in range(len(wide[0]))) + 1
    return [_wide(table)] if needed <= width else list(_by_dataset(table))


def _wide(table: Table) -> Any:
    heads, headings = table.heads, list(table.headings.values())
    piece = empty_table(heads, headings)
    names = [*(heads[0] for heads, _ in table.lines[1:]), "last"]
    for (heads, cells), following in zip(table.lines, names, strict=True):
        values = [styled(*cell, dim=heads[1] == PRINTED) for cell in cells]
        piece.add_row(
            *(styled(head, False) for head in heads), *values, end_section=bool(following) and following != heads[0]
        )
    return piece


def _by_dataset(table: Table) -> Iterable[Any]:
    for dataset in dict.fromkeys(row.dataset for row in table.rows):
        rows = [row for row in table.rows if row.dataset == dataset]
        heads = [row.heading if row.x is None else f"{row.heading} at {row.x:g}" for row in rows]
        piece = empty_table([dataset], heads)
        for name, title in table.headings.items():
            cells = [(row.cells[name], row.decimals) for row in rows]
            piece.add_row(styled(title, False), *(styled(cell.text(decimals), cell.best) for cell, decimals in cells))
            if any(cell.printed == cell.printed for cell, _ in cells):
                printed = [styled(cell.printed_text(decimals), False, dim=True) for cell, decimals in cells]
                piece.add_row(styled(f"  {PRINTED}", False, dim=True), *printed)
        yield piece


def empty_table(left: Iterable[str], right: Iterable[str]) -> Any:
    """Make a table without lines: columns of words at the left, of numbers at the right."""
    try:
        from rich import box
        from rich.table import Table as Piece
    except ImportError:
        raise ImportError("Tables in a terminal need rich: pip install 'clems[report]'.") from None
    piece = Piece(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in left:
        piece.add_column(styled(head, False))
    for head in right:
        piece.add_column(styled(head, False), justify="right")
    return piece


def styled(text: str, bold: bool = False, dim: bool = False) -> Any:
    """Style a cell of a table."""
    from rich.text import Text  # as Text, brackets are not taken for styles

    return Text(text, style="bold green" if bold else "dim" if dim or text in (NO_RULE, NOT_DONE) else "")
