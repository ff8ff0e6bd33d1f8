"""Reports of experiments, in a terminal or as a file: what there is, what is missing, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clems.experiments.output.kinds import comparisons, make_table
from clems.experiments.output.latex import to_latex
from clems.experiments.output.long_form import to_csv
from clems.experiments.output.markdown import write_page
from clems.experiments.output.table import Table
from clems.experiments.output.terminal import to_rich
from clems.experiments.store import Records
from clems.files import replacing

if TYPE_CHECKING:
    from clems.experiments.plan import Plan

Writer = Callable[["Plan", Records, Path, str], tuple[str, list[Path]]]


def _table_alone(write: Callable[[Table], str]) -> Writer:
    return lambda plan, records, *_: (write(make_table(plan, records)), [])


# By suffix: from a plan, records, the file and the command to the text, and to other files that were written for it.
WRITERS: dict[str, Writer] = {".md": write_page, ".csv": _table_alone(to_csv), ".tex": _table_alone(to_latex)}


def write_report(plan: Plan, records: Records, output: Path, command: str = "") -> list[Path]:
    """Write a report on the records that exist.

    Files are written whole or not at all, and depend only on the plan and the records.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.
    output : path
        Ends in ``.md`` (table, statistics, figures beside it), ``.csv`` (a line for each cell, with all digits) or
        ``.tex`` (table for booktabs).
    command : str, default=""
        Command that makes the report, which Markdown names.

    Returns
    -------
    list of path
        Files that were written, the report last.

    Examples
    --------
    >>> from clems.datasets import load_dataset
    >>> from clems.experiments import Spec, Store, make_plan, run, run_trial, write_report
    >>> data = {"digits": load_dataset("digit-scenes", "train").take(range(120))}
    >>> options = {"learners": {"br": {}}, "repetitions": 1, "trees": 5, "depths": [5]}
    >>> spec = Spec(title="One learner", datasets=["digits"], criteria=["f1"], data=data, **options)
    >>> plan = make_plan(spec)
    >>> store = Store("records")
    >>> _ = run(plan.trials, store, run_trial, spec.load, {}, backend="serial")
    >>> from pathlib import Path
    >>> [path.name for path in write_report(plan, store.records(), Path("report.csv"))]
    ['report.csv']
    """
    output = Path(output)
    writer = WRITERS.get(output.suffix.lower())
    if writer is None:
        raise ValueError(f"A report ends in {', '.join(WRITERS)}; got {output.name!r}.")
    text, others = writer(plan, records, output, command)
    with replacing(output) as file:
        file.write(text.encode())
    return [*others, output]


def show_report(plan: Plan, records: Records, console: Any) -> None:
    """Show a report in a terminal.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.
    console : rich.console.Console
        Where.

    Examples
    --------
    >>> from clems.datasets import load_dataset
    >>> from clems.experiments import Spec, Store, make_plan, run, run_trial, show_report
    >>> data = {"digits": load_dataset("digit-scenes", "train").take(range(120))}
    >>> options = {"learners": {"br": {}}, "repetitions": 1, "trees": 5, "depths": [5]}
    >>> spec = Spec(title="One learner", datasets=["digits"], criteria=["f1"], data=data, **options)
    >>> plan = make_plan(spec)
    >>> store = Store("records")
    >>> _ = run(plan.trials, store, run_trial, spec.load, {}, backend="serial")
    >>> from io import StringIO
    >>> from rich.console import Console
    >>> shown = StringIO()
    >>> show_report(plan, store.records(), Console(file=shown, width=100))
    >>> "One learner" in shown.getvalue()
    True
    """
    table = make_table(plan, records)

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False)

    say(table.title, "bold")
    for piece in to_rich(table, console.width):
        console.print(piece)
    for sentence in table.legend:
        say(sentence, "dim")
    for sentence in comparisons(plan, records):
        say(sentence)
    for sentence in table.missing:
        say(sentence, "yellow")
    for note in table.footnotes:
        say(note, "dim")
