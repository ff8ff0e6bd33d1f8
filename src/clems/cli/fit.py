"""`clems fit`: train a learner on a file, and save it."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clems.cli.console import column_lines, note, print_json, progress
from clems.cli.data import read_training
from clems.cli.estimators import estimator_named
from clems.cli.on_dask import fit_in_parts, in_parts
from clems.cli.options import (
    NO_TAGS,
    USUAL,
    Cost,
    Data,
    Drop,
    Estimator,
    Force,
    Jobs,
    Json,
    Kinds,
    Labels,
    MissingLabels,
    Pairs,
    Parameters,
    Quiet,
    RowId,
    Scheduler,
    Seed,
    TagColumn,
    TextForm,
    Unit,
    Workers,
    check_output,
    form_for,
    kinds_of,
    output,
    parameters_in,
)
from clems.wording import names_in

if TYPE_CHECKING:
    from clems.datasets import Dataset

# Keys of LEARNERS, read from its source: help and completion must not wait until all learners are imported.
_REGISTRY = Path(__file__).parents[1].joinpath("learners", "__init__.py").read_text("utf-8")
LEARNER_NAMES = re.findall(r'^    "(\w+)": \w+,$', _REGISTRY, re.MULTILINE)
Learner = StrEnum("Learner", LEARNER_NAMES)  # type: ignore[misc]
CLEMS = Learner("clems")


def fit(
    file: Data,
    output: Annotated[Path, output("File to save the model to.")],
    labels: Labels = None,
    cost: Cost = None,
    learner: Annotated[Learner, typer.Option(help="The learner to train.")] = CLEMS,
    estimator: Estimator = None,
    tags: TagColumn = NO_TAGS,
    pairs: Pairs = None,
    row_id: RowId = None,
    drop: Drop = None,
    missing_labels: MissingLabels = None,
    kinds: Kinds = None,
    unit: Unit = None,
    text: TextForm = USUAL,
    parameters: Parameters = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train a learner on a file and save the model.

    Columns of a table may hold text, words, numbers with missing values, dates, or yes and no; the encoding of each is
    printed, and shown by 'clems inspect'. The model remembers --tags, --separator, --labels, --id, --drop, --as,
    --unit, --delimiter and --decimal.

    Examples
    --------
        clems fit tickets.csv --tags tags --separator ";" --id id --cost prices.csv --unit € -o model.clems

        clems fit tickets.csv --labels "tag_*" --drop "internal_*" --as text=subject,notes -o model.clems

        clems fit yeast.arff --cost rank --learner pcc --set n_trees=200 -o yeast.clems

        clems fit tickets.csv --labels "tag_*" --missing-labels keep --learner leml -o model.clems

        clems fit tickets.csv --tags tags --learner cost_sensitive --estimator logistic_regression -o model.clems

        clems fit "data/*.parquet" --labels "tag_*" --workers 2 -o model.clems
    """
    from scipy import sparse
    from sklearn.utils import get_tags

    from clems.datasets.copies import copies_of_labels
    from clems.datasets.dataset import check_complete
    from clems.learners.pipeline import Pipeline
    from clems.persistence import info_of, save

    check_output(output, force, file, pairs, labels, cost)
    start = perf_counter()
    with progress(f"Reading {file}", quiet) as update:
        settings = parameters_in(parameters) | ({} if estimator is None else {"estimator": estimator})
        form = form_for(text)
        roles: dict[str, Any] = {"row_id": row_id, "kinds": kinds_of(kinds)}
        make = partial(make_learner, learner.value, cost, settings, seed, jobs, form["encoding"], form["decimal"])
        if in_parts(file, scheduler, workers):
            _check_for_parts(pairs=pairs, missing_labels=missing_labels)
            model = make()
            copies = []
            data, n = fit_in_parts(model, file, scheduler, workers, labels, tags, text, drop=names_in(drop), **roles)
        else:
            data = read_training(file, labels, tags, drop, text, pairs=pairs, missing_labels=missing_labels, **roles)
            copies = copies_of_labels(data)
            data, n = replace(data, table=None), len_of(data)  # of the table, which only takes memory from here on
            model = make()
            if sparse.issparse(data.X) or not get_tags(model).input_tags.allow_nan:
                check_complete(data)
            update(None, f"Training {type(model).__name__} on {n:,} rows")
            model.fit(data.feature_frame() if data.encoder is None else data.X, data.label_frame())
        whole = model if data.encoder is None else Pipeline([("columns", data.encoder), ("learner", model)])
        update(None, f"Saving {output}")
        of_columns = {**vars(tags), "labels": labels, "id": row_id, "drop": drop, "as": "\n".join(kinds or []) or None}
        options = of_columns | {"unit": unit, "delimiter": text.delimiter, "decimal": text.decimal}
        reading = {name: value for name, value in options.items() if value is not None}
        save(whole, output, reading=reading)
    info = info_of(whole, reading)
    if json:
        print_json(vars(info) | {"output": str(output), "rows": n})
        return
    for line in column_lines(info.columns):
        note(line, quiet)
    for feature, label in copies:
        note(
            f"Note: in all rows the feature {feature!r} tells the label {label!r}; leave it out with --drop if it is a "
            "copy of it, or new rows will not have it.",
            quiet,
        )
    held_out = info.summary.get("oob_cost_", info.summary.get("held_out_cost_"))
    known = "" if held_out is None else f"; mean cost of held-out rows {held_out:.4g}"
    what = f"{info.learner} for {info.cost}" if info.cost else info.learner
    sizes = f"{n:,} rows, {data.X.shape[1]:,} features, {len(info.label_names):,} labels"
    note(f"{what} on {sizes}{known}; saved to {output} after {perf_counter() - start:.1f} s.", quiet)


def _check_for_parts(**options: Any) -> None:
    """Refuse options that tables in parts do not have."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name}= is not for tables that are read in parts.")


def len_of(data: Dataset) -> int:
    """Count the rows of a dataset."""
    return int(data.X.shape[0])


def make_learner(
    name: str,
    cost: str | None,
    parameters: dict[str, Any],
    seed: int,
    jobs: int | None,
    encoding: str = "utf-8",
    decimal: str = ".",
) -> Any:
    """Create a learner from its name, a cost as text, or a file of prices, and parameters."""
    from clems.costs.criteria import label_criteria
    from clems.costs.text import read_cost
    from clems.learners import LEARNERS

    kind = LEARNERS[name]
    if "cost" in parameters:
        raise ValueError("The cost is set by --cost, not by --set.")
    given: dict[str, Any] = {"random_state": seed, "n_jobs": jobs, **parameters}
    if isinstance(estimator := given.get("estimator"), str):
        given["estimator"] = _named_estimator(estimator, name)
    if kind.cost_sensitive:
        if cost in label_criteria() and not kind.label_based:
            able = ", ".join(other for other, own in LEARNERS.items() if own.label_based)
            raise ValueError(f"{name} cannot be trained for {cost}, which looks at all rows together; {able} can.")
        given["cost"] = read_cost(cost or "f1", encoding=encoding, decimal=decimal)
    elif cost is not None:
        able = ", ".join(other for other, own in LEARNERS.items() if own.cost_sensitive)
        raise ValueError(f"{name} takes no cost; these learners do: {able}.")
    model: Any = kind()
    known = model.get_params(deep=False)
    for unknown in (parameter for parameter in given if parameter.partition("__")[0] not in known):
        raise ValueError(f"{name} has no parameter {unknown!r}; it has {', '.join(known)}.")
    return model.set_params(**given)


def _named_estimator(estimator: str, learner: str) -> Any:
    """Make the estimator of a name, of the kind that a learner is built on."""
    from sklearn.utils import get_tags

    from clems.learners import LEARNERS

    found, wanted = estimator_named(estimator), LEARNERS[learner].predictor
    if (kind := get_tags(found).estimator_type) != wanted:
        able = ", ".join(other for other, own in LEARNERS.items() if own.predictor == kind)
        raise ValueError(f"{learner} is built on a {wanted}, not on a {kind}{f'; {able} are' if able else ''}.")
    return found
