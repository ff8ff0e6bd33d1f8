"""`clems predict`: labels for the rows of a file, of any length."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from clems.cli.console import (
    STANDARD,
    Decimal,
    Delimiter,
    Drop,
    Encoding,
    Force,
    Jobs,
    Model,
    Quiet,
    Rows,
    Trust,
    check_output,
    input_of,
    names_in,
    note,
    progress,
)
from clems.cli.fit import complete_cost
from clems.cli.models import ask, label_names, load_model, wanted_by

if TYPE_CHECKING:
    import pandas as pd

PROBABILITY, EXPECTED = "{}_proba", "expected_cost"


def predict(
    model: Model,
    file: Rows,
    output: Annotated[
        str, typer.Option("--output", "-o", help="CSV, TSV, Parquet or JSON lines (.jsonl); - is standard output.")
    ] = STANDARD,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add a column LABEL_proba with the probability of each.")
    ] = False,
    expected_cost: Annotated[
        bool, typer.Option("--expected-cost", help="Add a column with what the prediction is expected to cost.")
    ] = False,
    row_id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Copy these columns, with commas between.")
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(help="Decide for another cost than the model's own.", autocompletion=complete_cost),
    ] = None,
    trust: Trust = None,
    drop: Drop = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    jobs: Jobs = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe", help="Put ' before text that a spreadsheet would run as a formula; CSV and TSV only."
        ),
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="JSON lines instead of CSV on standard output.")] = False,
) -> None:
    """Predict the labels of rows; features are found by name, and other columns are ignored.

    The file is read, predicted and written in pieces, so it may be of any length.

    Examples
    --------
        clems predict model.clems new.csv --output predictions.csv

        clems predict model.clems new.csv --id ticket --proba --expected-cost -o predictions.parquet

        zcat new.csv.gz | clems predict model.clems - --json | jq .
    """
    from clems.datasets.columns import plural
    from clems.datasets.new_rows import NewRows
    from clems.datasets.writing import appending

    if output != STANDARD:
        check_output(output, force, model, file, cost)
    start = perf_counter()
    with progress(f"Loading {model}", quiet) as update:
        fitted = load_model(model, trust or [])
        if jobs is not None:
            fitted.n_jobs = jobs
        decide = _decision(fitted, cost)
        _check_able(fitted, proba, expected_cost)
        wanted = wanted_by(fitted, keep=names_in(row_id), drop=names_in(drop))
        columns = output_columns(wanted.keep, wanted.labels, proba, expected_cost)
        rows = NewRows(input_of(file), wanted, delimiter=delimiter, decimal=decimal, encoding=encoding)
        n = 0
        with _output(output, json) as (target, form), appending(target, form, spreadsheet_safe) as write:
            for piece in rows:
                write(_answers(fitted, decide, piece, columns, proba, expected_cost))
                n += piece.X.shape[0]
                update(rows.done, f"Predicting: {n:,} rows")
    if rows.extra:
        shown = ", ".join(rows.extra[:5]) + (" …" if len(rows.extra) > 5 else "")
        what = plural(len(rows.extra), "column") + (
            " that is no feature" if len(rows.extra) == 1 else " that are no features"
        )
        note(f"Ignored {what}: {shown}", quiet)
    for column, word in rows.unseen.items():
        note(f"The column {column} holds words that the model has not seen, such as {word!r}.", quiet)
    if output != STANDARD:
        note(f"{n:,} rows predicted; saved to {output} after {perf_counter() - start:.1f} s.", quiet)


def _check_able(fitted: Any, proba: bool, expected_cost: bool) -> None:
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{type(fitted).__name__} has no probabilities; leave out --proba.")
    if expected_cost and not hasattr(fitted, "expected_cost"):
        raise ValueError(f"{type(fitted).__name__} does not tell expected costs; leave out --expected-cost.")


def output_columns(keep: list[str], labels: list[str], proba: bool, expected_cost: bool) -> list[str]:
    """Names of the columns that are written; they differ."""
    names = [*keep, *labels, *(PROBABILITY.format(label) for label in labels if proba)]
    names += [EXPECTED] if expected_cost else []
    if len({*names}) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"Two columns of the output would be called {twice!r}; rename the column or the label.")
    return names


def _decision(fitted: Any, cost: str | None) -> dict[str, Any]:
    """Arguments of the model's `predict` for another cost."""
    if cost is None:
        return {}
    if not fitted.cost_at_predict:
        trained = (
            "decides for the cost that it was trained for; train another" if fitted.cost_sensitive else "heeds no cost"
        )
        raise ValueError(f"{type(fitted).__name__} {trained}.")
    from clems.cost_files import read_cost

    return {"cost": read_cost(cost, label_names(fitted))}


def _answers(
    fitted: Any, decide: dict[str, Any], piece: Any, columns: list[str], proba: bool, expected_cost: bool
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    from clems.counts import as_dense

    X, K = piece.X, len(fitted.classes_)
    parts: list[Any]
    if X.shape[0]:
        parts = [as_dense(ask(fitted.predict, fitted, X, **decide)).astype(np.uint8)]
        parts += [ask(fitted.predict_proba, fitted, X)] if proba else []
        parts += [ask(fitted.expected_cost, fitted, X, **decide)[:, None]] if expected_cost else []
    else:  # which no model takes
        parts = [np.empty((0, K), np.uint8), np.empty((0, K * proba)), np.empty((0, int(expected_cost)))]
    names = columns[len(columns) - sum(part.shape[1] for part in parts) :]

    frames = [piece.kept.reset_index(drop=True)]
    for part in parts:
        frames.append(pd.DataFrame(part, columns=names[: part.shape[1]]))
        names = names[part.shape[1] :]
    return pd.concat(frames, axis="columns")


@contextmanager
def _output(path: str, json: bool) -> Iterator[tuple[IO[bytes], str]]:
    """Where to write and in which form; a file is there when all is written, or not at all."""
    from clems.datasets.writing import form_of
    from clems.files import is_written_whole, replacing

    if path == STANDARD:
        yield sys.stdout.buffer, "jsonl" if json else "csv"
        sys.stdout.buffer.flush()  # a full disk is told now
        return
    form = form_of(path) if is_written_whole(path) else "jsonl" if json else "csv"
    with replacing(path) as file:
        yield file, form
