"""`clems compare`: compare learners on a dataset for a cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from clems.cli.console import doing, note, print_json
from clems.cli.data import read_training
from clems.cli.options import (
    NO_TAGS,
    USUAL,
    Budget,
    Cost,
    Data,
    Drop,
    FitsAtATime,
    Force,
    Json,
    Kinds,
    Labels,
    Quiet,
    RowId,
    Seed,
    TagColumn,
    TextForm,
    check_output,
    form_for,
    kinds_of,
    output,
)
from clems.wording import names_in

WIDTH = 100  # characters of a line of the table


def compare(
    file: Data,
    labels: Labels = None,
    cost: Cost = None,
    learners: Annotated[
        str | None,
        typer.Option(help="Learners to compare, separated by commas; by default all but cft, which is slow."),
    ] = None,
    repetitions: Annotated[int, typer.Option(min=2, help="Number of random splits.")] = 5,
    trees: Annotated[int, typer.Option(min=1, help="Number of trees per forest.")] = 100,
    store: Annotated[
        Path | None, typer.Option(help="Folder for the records, from which the same command resumes.")
    ] = None,
    output: Annotated[Path | None, output("Also write the table to a file: .md, .csv or .tex.")] = None,
    budget: Budget = None,
    tags: TagColumn = NO_TAGS,
    row_id: RowId = None,
    drop: Drop = None,
    kinds: Kinds = None,
    text: TextForm = USUAL,
    seed: Seed = 0,
    jobs: FitsAtATime = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare learners on your data for your cost: mean cost over random splits, standard errors and tests.

    Columns of a table become features as in 'clems fit', once for all rows; that looks at no labels.

    Examples
    --------
        clems compare tickets.csv --labels "tag_*" --cost prices.csv

        clems compare yeast.arff --cost rank --learners br,pcc,clems --budget 10m --store results/yeast
    """
    from clems.costs.criteria import known_criterion
    from clems.costs.text import read_cost
    from clems.datasets.dataset import check_complete
    from clems.experiments import compare as run_comparison
    from clems.experiments.compare import QUICK
    from clems.experiments.output.report import show_report
    from clems.experiments.running import parse_budget
    from clems.experiments.store import RECORDS

    if output is not None:
        check_output(output, force, file, labels, cost, store and store / RECORDS)
    seconds = None if budget is None else parse_budget(budget)
    doing(f"Reading {file}")
    data = check_complete(read_training(file, labels, tags, drop, text, row_id=row_id, kinds=kinds_of(kinds)))
    form = form_for(text)
    resolved = read_cost(cost or "f1", encoding=form["encoding"], decimal=form["decimal"])
    doing(f"Comparing learners on {data.X.shape[0]:,} rows")
    comparison = run_comparison(
        data,
        cost or "f1" if known_criterion(cost or "f1") else resolved,  # by name, scores are reported as such
        learners=names_in(learners) or QUICK,
        repetitions=repetitions,
        trees=trees,
        seed=seed,
        jobs=jobs,
        budget=seconds,
        store=store,
    )
    for path in comparison.report(output) if output else []:
        note(str(path), quiet)
    if json:
        print_json({"best": comparison.best, "learners": comparison.table.to_dict("index")})
    else:
        show_report(comparison.plan, comparison.records, Console(width=WIDTH))
        note(f"Best mean: {comparison.best}.", quiet)
