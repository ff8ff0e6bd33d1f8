"""`clems fit`: train a learner on a file, and save it."""

from __future__ import annotations

import ast
from enum import StrEnum
from pathlib import Path
from pkgutil import iter_modules
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clems.cli.console import (
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Force,
    Jobs,
    Json,
    Quiet,
    Separator,
    Tags,
    check_output,
    names_in,
    note,
    print_json,
    progress,
)

if TYPE_CHECKING:
    from clems.datasets import Dataset

# One file each, so that their names are known before any of them is imported.
LEARNER_NAMES = sorted(one.name for one in iter_modules([str(Path(__file__).parents[1] / "learners")]))
Learner = StrEnum("Learner", LEARNER_NAMES)  # type: ignore[misc]
CLEMS = Learner("clems")


class Nominal(StrEnum):
    """How words become numbers, so that other files give the same: codes would be those of one file."""

    one_hot = "one-hot"


def complete_cost(start: str) -> list[str]:
    """Names of costs that start so; criteria, which are named here, would import scikit-learn at every key."""
    from clems.costs import COSTS

    return [name for name in (*COSTS, "micro_f1", "macro_f1") if name.startswith(start)]


Cost = Annotated[
    str | None,
    typer.Option(
        help="What a mistake costs: a name such as f1, hamming, rank or f_beta(2); a CSV of prices with the columns "
        "label, false_negative, false_positive; or module:function of your own. By default f1.",
        autocompletion=complete_cost,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        help="Which columns are labels: names or patterns such as 'tag_*', with commas between. Of an ARFF file also "
        "their number or an XML file; it may tell itself."
    ),
]


def fit(
    file: Annotated[str, typer.Argument(help="Data: CSV, TSV, Parquet, ARFF or libsvm.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the model.", show_default=False)],
    labels: Labels = None,
    cost: Cost = None,
    learner: Annotated[Learner, typer.Option(help="What to train.")] = CLEMS,
    tags: Tags = None,
    separator: Separator = None,
    pairs: Annotated[Path | None, typer.Option(help="The labels are in this table of row and label.")] = None,
    row_id: Annotated[str | None, typer.Option(help="Column by which --pairs calls the rows.")] = None,
    drop: Drop = None,
    nominal: Annotated[Nominal | None, typer.Option(help="Make a column of 0 and 1 for each word.")] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the learner, such as n_trees=200; repeat."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same model.")] = 0,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train on a file and save the model.

    Examples
    --------
        clems fit tickets.csv --labels "tag_*" --cost prices.csv --output model.clems

        clems fit tickets.csv --tags tags --separator ";" --drop id --nominal one-hot -o model.clems

        clems fit yeast.arff --cost rank --learner pcc --set n_trees=200 -o yeast.clems
    """
    from clems.persistence import info_of, save

    check_output(output, force, file, pairs, labels, cost)
    start = perf_counter()
    with progress(f"Reading {file}", quiet) as update:
        data = read_training(
            file,
            labels=labels,
            tags=tags,
            separator=separator,
            pairs=pairs,
            row_id=row_id,
            drop=names_in(drop),
            nominal=nominal.value if nominal else None,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
        )
        model = make_learner(learner.value, cost, list(data.label_names), _parsed(parameters or []), seed, jobs)
        update(None, f"Training {type(model).__name__} on {len_of(data):,} rows")
        model.fit(data.feature_frame(), data.label_frame())
        update(None, f"Saving {output}")
        save(model, output)
    info = info_of(model)
    if json:
        print_json(vars(info) | {"output": str(output), "rows": len_of(data)})
        return
    held_out = info.summary.get("oob_cost_")
    known = "" if held_out is None else f"; mean cost of held-out rows {held_out:.4g}"
    what = f"{info.learner} for {info.cost}" if info.cost else info.learner
    sizes = f"{len_of(data):,} rows, {info.n_features:,} features, {len(info.label_names):,} labels"
    note(f"{what} on {sizes}{known}; saved to {output} after {perf_counter() - start:.1f} s.", quiet)


def len_of(data: Dataset) -> int:
    """Count the rows of a dataset."""
    return int(data.X.shape[0])


def read_training(file: str, *, labels: str | None, drop: list[str], complete: bool = True, **options: Any) -> Dataset:
    """Read a file of any form with the options that its reader has; words become a column each, or are refused.

    If it is to be complete, missing features are refused.
    """
    from clems.datasets.arff import read_arff
    from clems.datasets.dataset import check_complete
    from clems.datasets.libsvm import read_libsvm
    from clems.datasets.reading import reader_of
    from clems.datasets.table import read_table

    reader: Any = reader_of(file)
    unset = {"tags": None, "separator": None, "pairs": None, "row_id": None, "delimiter": None, "decimal": "."}
    if reader is not read_table:
        for name, default in unset.items():
            if options.pop(name, default) != default:
                raise ValueError(f"{name}= is for CSV and Parquet files, which {file} is not.")
    if reader is read_libsvm:
        data = read_libsvm(file, names_in(labels) or None)
    elif reader is read_arff:
        options["nominal"] = "one-hot"  # of the words that the file declares
        data = read_arff(file, _labels_of_arff(labels), drop=drop, **options)
    else:
        data = read_table(file, names_in(labels) or None, drop=drop, **options)
    if complete and not data.X.shape[1]:
        raise ValueError(f"{file}: no column is left for features.")
    return check_complete(data) if complete else data


def _labels_of_arff(labels: str | None) -> Any:
    if labels is None or labels.lower().endswith(".xml"):
        return labels
    try:
        return int(labels)
    except ValueError:
        return names_in(labels)


def make_learner(
    name: str, cost: str | None, label_names: list[str], parameters: dict[str, Any], seed: int, jobs: int | None
) -> Any:
    """Make a learner of its name, a cost as text and parameters."""
    from clems.cost_files import LABEL_BASED, read_cost
    from clems.learners import LEARNERS

    kind = LEARNERS[name]
    if "cost" in parameters:
        raise ValueError("The cost has an option of its own: --cost, not --set.")
    given: dict[str, Any] = {"random_state": seed, "n_jobs": jobs, **parameters}
    if kind.cost_sensitive:
        if cost in LABEL_BASED and not kind.label_based:
            able = ", ".join(other for other, own in LEARNERS.items() if own.label_based)
            raise ValueError(f"{name} cannot be trained for {cost}, which looks at all rows together; {able} can.")
        given["cost"] = read_cost(cost or "f1", label_names)
    elif cost is not None:
        able = ", ".join(other for other, own in LEARNERS.items() if own.cost_sensitive)
        raise ValueError(f"{name} does not heed a cost; these do: {able}.")
    model: Any = kind()
    known = model.get_params(deep=False)
    for unknown in (parameter for parameter in given if parameter.partition("__")[0] not in known):
        raise ValueError(f"{name} has no parameter {unknown!r}; it has {', '.join(known)}.")
    return model.set_params(**given)


def _parsed(texts: list[str]) -> dict[str, Any]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"--set takes NAME=VALUE; got {text!r}.")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):  # the last two of text that is nested deeply
            found[name] = value
    return found
