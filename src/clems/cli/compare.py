"""`clems compare`: which learner for my data and my cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from clems.cli.console import (
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Force,
    Json,
    Quiet,
    Separator,
    Tags,
    check_output,
    doing,
    names_in,
    note,
    print_json,
)
from clems.cli.fit import Cost, Labels, read_training

WIDTH = 100  # characters of a line of the table


def compare(
    file: Annotated[str, typer.Argument(help="Data: CSV, TSV, Parquet, ARFF or libsvm.", show_default=False)],
    labels: Labels = None,
    cost: Cost = None,
    learners: Annotated[
        str | None, typer.Option(help="Which, with commas between; by default all but cft, which takes very long.")
    ] = None,
    repetitions: Annotated[int, typer.Option(min=2, help="Random splits.")] = 5,
    trees: Annotated[int, typer.Option(min=1, help="Trees of each forest.")] = 100,
    store: Annotated[
        Path | None, typer.Option(help="Folder to keep the records in, so that the same command goes on from there.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the table too: .md, .csv, .tex.")] = None,
    budget: Annotated[str | None, typer.Option(help="Stop after this time, such as 90s, 30m or 2h30m.")] = None,
    tags: Tags = None,
    separator: Separator = None,
    drop: Drop = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same splits and models.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Fits at a time; by default the number of cores.")] = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare learners on your data for your cost: mean cost over random splits, standard errors and tests.

    Words in columns become a column of 0 and 1 each.

    Examples
    --------
        clems compare tickets.csv --labels "tag_*" --cost prices.csv

        clems compare yeast.arff --cost rank --learners br,pcc,clems --budget 10m --store results/yeast
    """
    from clems.cost_files import read_cost
    from clems.experiments import compare as run_comparison
    from clems.experiments.compare import QUICK
    from clems.experiments.report import show_report
    from clems.experiments.running import parse_budget
    from clems.experiments.store import RECORDS

    if output is not None:
        check_output(output, force, file, labels, cost, store and store / RECORDS)
    seconds = None if budget is None else parse_budget(budget)
    options: dict[str, Any] = {"tags": tags, "separator": separator, "delimiter": delimiter, "nominal": "one-hot"}
    options |= {"drop": names_in(drop), "decimal": decimal, "encoding": encoding}
    doing(f"Reading {file}")
    data = read_training(file, labels=labels, **options)
    meant = read_cost(cost or "f1", list(data.label_names))
    doing(f"Comparing learners on {data.X.shape[0]:,} rows")
    found = run_comparison(
        data,
        meant if isinstance(meant, str) else _by_name(cost or "f1", meant),
        learners=names_in(learners) or QUICK,
        repetitions=repetitions,
        trees=trees,
        seed=seed,
        jobs=jobs,
        budget=seconds,
        store=store,
    )
    for path in found.report(output) if output else []:
        note(str(path), quiet)
    if json:
        print_json({"best": found.best, "learners": found.table.to_dict("index")})
    else:
        show_report(found.plan, found.records, Console(width=WIDTH))
        note(f"Best mean: {found.best}.", quiet)


def _by_name(text: str, meant: object) -> object:
    """Name of a cost that goes by one, so that it is reported as scores are; else the cost."""
    from clems.costs import COSTS

    return text if text in COSTS else meant
