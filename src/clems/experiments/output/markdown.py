"""A report as Markdown, with its figures beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clems.experiments.analysis.naming import titles_of
from clems.experiments.analysis.selection import results
from clems.experiments.output.against_print import FAR, differences, print_in_words, print_table
from clems.experiments.output.figures.style import save
from clems.experiments.output.kinds import KINDS, comparisons, make_table
from clems.experiments.output.ratio_rows import honesty_tables
from clems.experiments.output.table import Table
from clems.experiments.store import Records

if TYPE_CHECKING:
    from clems.experiments.plan import Plan


def write_page(plan: Plan, records: Records, output: Path, command: str) -> tuple[str, list[Path]]:
    """Write a report as Markdown and save its figures.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.
    output : path
        The file, which figures are saved beside.
    command : str
        By which it is made.

    Returns
    -------
    tuple of str and list of path
        The text, and the files of the figures.
    """
    kind, table = KINDS[plan.spec.kind], make_table(plan, records)
    drawn, remark = [], ""
    try:
        drawn = kind.figures(plan, records)
    except ImportError as error:
        if kind.led_by_figures:
            raise
        remark = str(error)  # a table is worth having without them
    files = [file for name, _, figure in drawn for file in save(figure, output.with_name(f"{output.stem}-{name}"))]
    pictures = [
        f"![{title}]({path.name.replace(' ', '%20')})"
        for (_, title, _), path in zip(drawn, files[::2], strict=True)  # of each figure a PNG and an SVG
    ]
    parts = [f"# {table.title}"]
    if command:
        parts.append(f"Made by `{command}`.")
    parts += [f"**{sentence}**" if not at else sentence for at, sentence in enumerate(table.missing)]
    if kind.led_by_figures:
        parts += [*pictures, kind.caption, "## Numbers"]
    parts += [to_markdown(table).rstrip("\n"), *table.legend]
    if found := differences(plan, table):
        titles = titles_of(plan.spec)
        parts += [
            "## Against print",
            f"Beyond {FAR:g} standard errors of the difference, in cells that have all of their repetitions:",
            "\n".join(f"- {sentence}" for sentence in print_in_words(plan, found, titles)),
            print_table(found, titles),
        ]
    for honesty in honesty_tables(plan, results(plan, records)):
        parts += [f"## {honesty.title}", to_markdown(honesty).rstrip("\n"), *honesty.legend]
    if said := comparisons(plan, records):
        parts += ["## Over datasets", "\n".join(f"- {sentence}" for sentence in said), *pictures]
        parts += [kind.caption] if pictures else []
        parts += [remark] if remark else []
    if table.footnotes:
        parts += ["## Notes", "\n".join(f"- {' '.join(note.split())}" for note in table.footnotes)]
    return "\n\n".join(parts) + "\n", files


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
