"""Reports of experiments, in a terminal or as a file: what there is, what is missing, and how sure it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clems.experiments.figures import critical_differences, curves, save, times
from clems.experiments.plan import Plan
from clems.experiments.selection import Records, results
from clems.experiments.significance import ALPHA, Ranking, near_best, over_datasets
from clems.experiments.tables import Table, make_table, to_csv, to_latex, to_markdown, to_rich
from clems.experiments.trial import criterion_named
from clems.files import replacing

SUFFIXES = (".md", ".csv", ".tex")


def write_report(plan: Plan, records: Records, output: Path, command: str = "") -> list[Path]:
    """Write a report with what records there are.

    Files are written whole or not at all, and depend on plan and records only.

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
        By which it is made, to be told in Markdown.

    Returns
    -------
    list of path
        Files that were written, the report last.
    """
    output = Path(output)
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"A report ends in {', '.join(SUFFIXES)}; got {output.name!r}.")
    table = make_table(plan, records)
    figures: dict[str, Path] = {}
    if suffix == ".md":
        drawn, remark = _figures(plan, records)
        figures = {title: save(figure, output.with_name(f"{output.stem}-{name}"))[0] for name, title, figure in drawn}
        text = _markdown(plan, records, table, figures, remark, command)
    else:
        text = to_csv(table) if suffix == ".csv" else to_latex(table)
    with replacing(output) as file:
        file.write(text.encode())
    return [*(path.with_suffix(end) for path in figures.values() for end in (".png", ".svg")), output]


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
    """
    table = make_table(plan, records)

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False)

    say(table.title, "bold")
    for piece in to_rich(table, console.width):
        console.print(piece)
    for sentence in table.legend:
        say(sentence, "dim")
    for sentence in statistics(plan, records):
        say(sentence)
    for sentence in table.missing:
        say(sentence, "yellow")
    for note in table.footnotes:
        say(note, "dim")


def statistics(plan: Plan, records: Records) -> list[str]:
    """Compare learners over datasets, in a sentence or two for each criterion of a table."""
    if plan.spec.kind != "table" or len(plan.spec.datasets) < 2:
        return []
    titles = {name: entry.title or name for name, entry in plan.spec.learners.items()}
    found = results(plan, records)
    counts = sorted(near_best(found).items(), key=lambda item: -item[1][0] / item[1][1])
    near = [f"{titles[name]} in {among} of {rows}" for name, (among, rows) in counts]
    first = [f"First, or within the standard error of the first, is {_listed(near)} rows."] if near else []
    return first + _over_datasets(over_datasets(found), titles)


def _over_datasets(rankings: dict[str, Ranking | str], titles: dict[str, str]) -> list[str]:
    if len({*map(str, rankings.values())}) == 1 and not any(isinstance(own, Ranking) for own in rankings.values()):
        return [str(own) for own in rankings.values()][:1]  # one sentence for all criteria
    return [f"{_heading(name)}: {_told(own, titles)}" for name, own in rankings.items()]


def _told(ranking: Ranking | str, titles: dict[str, str]) -> str:
    if isinstance(ranking, str):
        return ranking
    ranks = ", ".join(f"{titles[name]} {rank:.2f}" for name, rank in ranking.ranks.items())
    block = f"{len(ranking.datasets)} datasets and {len(ranking.learners)} learners"
    left_out = [titles.get(name, name) for name in ranking.left_out]
    without = f" (without {_listed(left_out)}, where repetitions are missing)" if left_out else ""
    p = "p < 0.001" if ranking.p < 0.001 else f"p = {ranking.p:.3f}"
    said = f"average ranks over {block}{without}: {ranks}. Friedman's test: χ² = {ranking.statistic:.2f}, {p}"
    if ranking.p >= ALPHA:
        return f"{said}, so that ranks may differ by chance."
    rivals = [titles[name] for name in ranking.as_good[1:]]
    best = titles[ranking.ranks.index[0]]
    sure = f"only {_listed(rivals)} {'are' if len(rivals) > 1 else 'is'} not" if rivals else "all others are"
    return (
        f"{said}. By Nemenyi's test ranks differ from {ranking.critical_difference:.2f} on (α = {ALPHA:g}): "
        f"{sure} significantly worse than {best}."
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _heading(criterion: str) -> str:
    own = criterion_named(criterion)
    return f"{own.title} {own.arrow}"


def _figures(plan: Plan, records: Records) -> tuple[list[tuple[str, str, Any]], str]:
    """Name, title and figure of each, and a remark if some could not be drawn."""
    if plan.spec.kind == "curves":
        return [(name, _heading(name), curves(plan, records, [name])) for name in plan.spec.criteria], ""
    if plan.spec.kind == "times":
        return [("times", "Running time", times(plan, records))], ""
    try:
        drawn = critical_differences(plan, records)
    except ImportError as error:  # a table is worth having without them
        return [], str(error)
    return [(f"ranks-{name}", f"Average ranks, {_heading(name)}", figure) for name, figure in drawn.items()], ""


def _markdown(plan: Plan, records: Records, table: Table, figures: dict[str, Path], remark: str, command: str) -> str:
    pictures = [f"![{title}]({path.name.replace(' ', '%20')})" for title, path in figures.items()]
    parts = [f"# {table.title}"]
    if command:
        parts.append(f"Made by `{command}`.")
    parts += [f"**{sentence}**" if not at else sentence for at, sentence in enumerate(table.missing)]
    if plan.spec.kind == "curves":
        parts += [*pictures, "Bands are 95 % confidence intervals of the mean.", "## Numbers"]
    elif plan.spec.kind == "times":
        parts += [*pictures, "Whiskers are 95 % confidence intervals.", "## Numbers"]
    parts += [to_markdown(table).rstrip("\n"), *table.legend]
    if told := statistics(plan, records):
        parts += ["## Over datasets", "\n".join(f"- {sentence}" for sentence in told), *pictures]
        if pictures:
            parts.append("Bars join learners whose average ranks do not differ significantly by Nemenyi's test.")
        parts += [remark] if remark else []
    if table.footnotes:
        parts += ["## Notes", "\n".join(f"- {' '.join(note.split())}" for note in table.footnotes)]
    return "\n\n".join(parts) + "\n"
