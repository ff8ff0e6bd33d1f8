"""`clems compare`: compare learners on a dataset for a cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from clems.cli.console import column_lines, doing, note, print_json
from clems.cli.data import read_training
from clems.cli.options import (
    NO_TAGS,
    USUAL,
    Budget,
    Cost,
    Data,
    Drop,
    Estimator,
    FitsAtATime,
    Force,
    Json,
    Kinds,
    Labels,
    Pairs,
    Parameters,
    Quiet,
    RowId,
    Seed,
    TagColumn,
    TextForm,
    Trust,
    Unit,
    check_output,
    form_for,
    kinds_of,
    output,
    parameters_in,
    remembered,
)
from clems.wording import did_you_mean, names_in


def compare(
    file: Data,
    labels: Labels = None,
    cost: Cost = None,
    learners: Annotated[
        str | None,
        typer.Option(help="Learners to compare, separated by commas; by default all but cft, which is slow."),
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            help="A saved model, a learner or a pipeline, to include: it is trained anew on each split. Its training "
            "options and its cost are used where you give none. Repeat it for several.",
        ),
    ] = None,
    estimator: Estimator = None,
    parameters: Parameters = None,
    repetitions: Annotated[int, typer.Option(min=2, help="Number of random splits.")] = 5,
    trees: Annotated[int, typer.Option(min=1, help="Number of trees per forest.")] = 100,
    store: Annotated[
        Path | None, typer.Option(help="Folder for the records; the same command resumes from it.")
    ] = None,
    output: Annotated[Path | None, output("Also write the table to a file: .md, .csv or .tex.")] = None,
    budget: Budget = None,
    tags: TagColumn = NO_TAGS,
    pairs: Pairs = None,
    row_id: RowId = None,
    drop: Drop = None,
    kinds: Kinds = None,
    unit: Unit = None,
    text: TextForm = USUAL,
    trust: Trust = None,
    seed: Seed = 0,
    jobs: FitsAtATime = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare learners on your data for your cost: savings, mean cost over random splits, tests and times.

    Columns of a table are encoded as in 'clems fit', on training rows only. A plain random forest that predicts at ½ is
    included. --estimator and --set apply to the learners that have them.

    Examples
    --------
        clems compare tickets.csv --tags tags --separator ";" --id id --cost prices.csv --unit €

        clems compare tickets.csv --model mine.clems --learners clems,pcc

        clems compare yeast.arff --cost rank --learners br,pcc,clems --budget 10m --store results/yeast
    """
    from scipy import sparse

    from clems.costs.criteria import known_criterion
    from clems.costs.text import read_cost
    from clems.datasets.dataset import check_complete
    from clems.experiments import compare as run_comparison
    from clems.experiments.compare import QUICK, WIDTH
    from clems.experiments.running import parse_budget
    from clems.experiments.store import RECORDS

    if output is not None:
        check_output(output, force, file, pairs, labels, cost, store and store / RECORDS, *(models or []))
    seconds = None if budget is None else parse_budget(budget)
    entries = entries_of(names_in(learners) or QUICK, estimator, parameters_in(parameters))
    own, reading, own_cost = saved_models(models or [], trust)
    if twice := [*{*entries} & {*own}]:
        raise ValueError(f"A model and a learner are both called {twice[0]!r}; rename the file.")
    known = remembered({} if tags.tags or labels or pairs else reading, labels=labels, **vars(tags))
    labels = known.pop("labels")
    row_id, unit = row_id or reading.get("id"), reading.get("unit", "") if unit is None else unit
    drop = reading.get("drop") if drop is None else drop
    kinds = kinds or (reading["as"].split("\n") if "as" in reading else None)
    form = form_for(text, reading)
    doing(f"Reading {file}")
    data = read_training(
        file,
        labels,
        TagColumn(**known),
        drop,
        TextForm(**form | {"decimal": text.decimal or reading.get("decimal")}),
        pairs=pairs,
        row_id=row_id,
        kinds=kinds_of(kinds),
    )
    if sparse.issparse(data.X):
        check_complete(data)
    for line in column_lines([] if data.encoder is None else data.encoder.columns_):
        note(line, quiet)
    given = cost or own_cost or "f1"
    # by name, scores are reported as such
    named = isinstance(given, str) and not known_criterion(given)
    resolved = read_cost(given, encoding=form["encoding"], decimal=form["decimal"]) if named else given
    doing(f"Comparing learners on {data.X.shape[0]:,} rows")
    comparison = run_comparison(
        data,
        resolved,
        learners=entries | own,
        unit=unit,
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
        savings = comparison.savings
        print_json(
            {
                "best": comparison.best,
                "unit": unit,
                "learners": comparison.table.to_dict("index"),
                "savings": None if savings is None else savings.reset_index().to_dict("records"),
                "sentences": comparison.sentences,
            }
        )
    else:
        comparison.show(Console(width=WIDTH))
        note(f"Best mean: {comparison.best}.", quiet)


def entries_of(names: list[str], estimator: str | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """Describe learners for a comparison, with the estimator and the parameters of those that take them."""
    from inspect import signature

    from sklearn.utils import get_tags

    from clems.cli.estimators import estimator_named
    from clems.experiments.spec import SET_BY_TRIALS
    from clems.learners import LEARNERS

    for name in (one for one in SET_BY_TRIALS if one in parameters):
        raise ValueError(f"--set {name}: comparisons set it themselves.")
    inside = None if estimator is None else estimator_named(estimator)
    kind = None if inside is None else get_tags(inside).estimator_type
    entries: dict[str, Any] = {}
    used: set[str] = set()
    for name in names:
        if name not in LEARNERS:
            there_are = f"there are {', '.join(LEARNERS)}."
            raise ValueError(f"There is no learner {name!r}; {did_you_mean(name, LEARNERS) or there_are}")
        learner = LEARNERS[name]
        takes = {*parameters} & {*signature(learner).parameters}
        values = {key: parameters[key] for key in takes}
        used |= takes
        entries[name] = {"parameters": values}
        if inside is not None and learner.predictor == kind:
            entries[name] = learner(estimator=inside, **values)
            used.add("estimator")
    who = names[0] if len(names) == 1 else f"none of {', '.join(names)}"
    for unknown in (one for one in parameters if one not in used):
        known = {parameter for name in entries for parameter in signature(LEARNERS[name]).parameters}
        has = f"{who} has {'no' if len(names) == 1 else 'a'} parameter {unknown!r}"
        raise ValueError(f"--set: {has}{f'; {near}' if (near := did_you_mean(unknown, known)) else '.'}")
    if inside is not None and "estimator" not in used:
        able = ", ".join(name for name, one in LEARNERS.items() if one.predictor == kind)
        is_built = f"{who} is {'not ' if len(names) == 1 else ''}built on a {kind}"
        raise ValueError(f"--estimator {estimator}: {is_built}{f'; {able} are' if able else ''}.")
    return entries


def saved_models(paths: list[Path], trust: list[str] | None) -> tuple[dict[str, Any], dict[str, str], Any]:
    """Load models by the names of their files, with options and cost of the first of them."""
    from sklearn.pipeline import Pipeline

    from clems.cli.models import load_model

    models: dict[str, Any] = {}
    reading: dict[str, str] = {}
    cost = None
    for path in paths:
        loaded = load_model(str(path), trust)
        if path.stem in models:
            raise ValueError(f"Two models are called {path.stem!r}; rename a file.")
        steps = [] if loaded.encoder is None else loaded.encoder.steps
        models[path.stem] = Pipeline([*steps, ("learner", loaded.learner)]) if steps else loaded.learner
        reading = reading or loaded.reading
        cost = cost or getattr(loaded.learner, "cost", None)
    return models, reading, cost
