"""`clems predict`: predict labels for the rows of a file of any length."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from clems.cli.console import note, progress
from clems.cli.models import ask, load_model
from clems.cli.on_dask import answers_in_parts, in_parts
from clems.cli.options import (
    STANDARD,
    USUAL,
    AtMost,
    Drop,
    Exactly,
    Force,
    Jobs,
    Model,
    Quiet,
    Rows,
    Scheduler,
    TextForm,
    Trust,
    Workers,
    check_output,
    complete_cost,
    form_for,
    input_of,
    output,
)
from clems.wording import all_of, names_in, plural

if TYPE_CHECKING:
    import pandas as pd

    from clems.datasets.formats import Format

PROBABILITY, EXPECTED = "{}_proba", "expected_cost"


def predict(
    model: Model,
    file: Rows,
    output: Annotated[str, output("CSV, TSV, Parquet or JSON lines (.jsonl); - is standard output.")] = STANDARD,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add a column LABEL_proba with the probability of each label.")
    ] = False,
    expected_cost: Annotated[
        bool, typer.Option("--expected-cost", help="Add a column with the expected cost of the prediction.")
    ] = False,
    row_id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="Columns to copy, separated by commas; by default the --id of training."
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(help="Predict for a cost other than that of training.", autocompletion=complete_cost),
    ] = None,
    at_most: AtMost = None,
    exactly: Exactly = None,
    abstain_at: Annotated[
        float | None,
        typer.Option(
            metavar="PRICE",
            help="Hand over rows that are expected to cost more than this: their labels are left empty.",
        ),
    ] = None,
    trust: Trust = None,
    drop: Drop = None,
    text: TextForm = USUAL,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="Put ' before text that a spreadsheet would run as a formula, in CSV and TSV only.",
        ),
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of CSV to standard output.")] = False,
) -> None:
    """Predict the labels of rows; features are matched by name, and other columns are ignored.

    The file is read, predicted and written in pieces, so it may be of any length.

    Examples
    --------
        clems predict model.clems new.csv --output predictions.csv

        clems predict model.clems new.csv --id ticket --proba --expected-cost -o predictions.parquet

        clems predict model.clems new.csv --at-most 3 --abstain-at 0.5 -o predictions.csv

        zcat new.csv.gz | clems predict model.clems - --json | jq .

        clems predict model.clems "new/*.parquet" --workers 2 -o predictions.parquet
    """
    from clems.datasets.new_rows import NewRows

    if output != STANDARD:
        check_output(output, force, model, file, cost)
    start = perf_counter()
    with progress(f"Loading {model}", quiet) as update:
        loaded = load_model(model, trust)
        fitted, reading = loaded.learner, loaded.reading
        if jobs is not None:
            fitted.n_jobs = jobs
        form = form_for(text, reading)
        other = _other_cost(fitted, cost, form["encoding"], form["decimal"])
        _check_able(fitted, proba, expected_cost, other)
        terms = _checked_terms(fitted, other, at_most, exactly, abstain_at)
        unseen: dict[str, str] = {}
        extra: list[str] = []
        ids = [reading["id"]] if "id" in reading and not row_id else []
        columns = {"keep": names_in(row_id), "keep_if_there": ids, "drop": names_in(drop), "tags": reading.get("tags")}
        wanted = loaded.wanted(unseen, **columns)
        output_columns(wanted.keep, wanted.labels, proba, expected_cost)  # before the work
        answer = partial(_answers, fitted, other, wanted.labels, proba, expected_cost, terms)

        def answered() -> Generator[tuple[pd.DataFrame, int, float | None], None, None]:
            """Answers, one piece of the rows below the other; and what is said of columns."""
            if file != STANDARD and in_parts(file, scheduler, workers):
                for part, done in answers_in_parts(file, scheduler, workers, loaded, columns, form, answer):
                    extra[:] = part.extra
                    unseen.update({**part.unseen, **unseen})
                    yield part.frame, part.over, done
                return
            rows = NewRows(input_of(file), wanted, **form)
            for piece in rows:
                yield *answer(piece), rows.done
            extra[:] = rows.extra
            unseen.update({**rows.unseen, **unseen})

        n = over = 0
        with (
            closing(answered()) as pieces,
            _output(output, json) as (target, file_format),
            file_format.appending(target, spreadsheet_safe) as write,
        ):
            for answers, abstained, done in pieces:
                write(answers)
                n, over = n + len(answers), over + abstained
                update(done, f"Predicting: {n:,} rows")
    if extra := [name for name in extra if name not in loaded.left_out]:
        shown = ", ".join(extra[:5]) + (" …" if len(extra) > 5 else "")
        what = plural(len(extra), "column") + (
            " that is not a feature" if len(extra) == 1 else " that are not features"
        )
        note(f"Ignored {what}: {shown}", quiet)
    for column, word in unseen.items():
        note(f"The column {column} has categories that the model has not seen, such as {word!r}.", quiet)
    if abstain_at is not None:
        note(
            f"{over:,} of {plural(n, 'row')} handed over, with empty labels: "
            f"{'it is' if over == 1 else 'they are'} expected to cost more than {abstain_at:g}.",
            quiet,
        )
    if output != STANDARD:
        note(f"{n:,} rows predicted; saved to {output} after {perf_counter() - start:.1f} s.", quiet)


def _check_able(fitted: Any, proba: bool, expected_cost: bool, cost: Any) -> None:
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{type(fitted).__name__} has no probabilities; leave out --proba.")
    if expected_cost and not hasattr(fitted, "expected_cost"):
        raise ValueError(f"{type(fitted).__name__} has no expected costs; leave out --expected-cost.")
    if expected_cost and fitted.row_cost(cost) is None:
        name = cost or fitted.criterion_.name
        raise ValueError(f"{name} is no cost of single rows, so none is expected; leave out --expected-cost.")


@dataclass(frozen=True)
class Terms:
    """What is asked of predictions besides the cost: a budget of labels, and a price of handing rows over."""

    at_most: int | None
    exactly: int | None
    abstain_at: float | None


def _checked_terms(fitted: Any, cost: Any, at_most: int | None, exactly: int | None, abstain_at: float | None) -> Terms:
    from clems.decisions.budget import allowed_sizes
    from clems.decisions.handing_over import check_price

    asked = {"--at-most": at_most, "--exactly": exactly, "--abstain-at": abstain_at}
    if names := [name for name, value in asked.items() if value is not None]:
        if not hasattr(fitted, "expected_cost"):
            raise ValueError(f"{type(fitted).__name__} has no expected costs; leave out {all_of(names)}.")
        if fitted.row_cost(cost) is None:
            raise ValueError(
                f"{cost or fitted.criterion_.name} is no cost of single rows; leave out {all_of(names)}, or name "
                "another --cost, such as f1."
            )
    allowed_sizes(at_most, exactly, len(fitted.classes_))
    return Terms(at_most, exactly, check_price(abstain_at))


def output_columns(keep: list[str], labels: list[str], proba: bool, expected_cost: bool) -> list[str]:
    """Name the columns that are written; no two are the same."""
    names = [*keep, *labels, *(PROBABILITY.format(label) for label in labels if proba)]
    names += [EXPECTED] if expected_cost else []
    if len({*names}) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"Two columns of the output would be called {twice!r}; rename the column or the label.")
    return names


def _other_cost(fitted: Any, cost: str | None, encoding: str, decimal: str) -> Any:
    """Read the cost to decide for, if it is another than the model's own."""
    if cost is None:
        return None
    if not fitted.cost_at_predict:
        trained = (
            "decides for the cost that it was trained for; train another" if fitted.cost_sensitive else "takes no cost"
        )
        raise ValueError(f"{type(fitted).__name__} {trained}.")
    from clems.costs.text import read_cost

    return read_cost(cost, encoding=encoding, decimal=decimal)


def _answers(
    fitted: Any, cost: Any, labels: list[str], proba: bool, expected_cost: bool, terms: Terms, piece: Any
) -> tuple[pd.DataFrame, int]:
    """Return what is written for a piece of the rows, and how many of them are handed over."""
    import numpy as np
    import pandas as pd

    from clems.evaluation.answers import answers_of

    X, K = piece.X, len(fitted.classes_)
    columns = output_columns(list(piece.kept.columns), labels, proba, expected_cost)
    parts: list[Any]
    over = np.zeros(X.shape[0], bool)
    if X.shape[0]:
        wanted = expected_cost or terms.abstain_at is not None
        budget: dict[str, Any] = {"at_most": terms.at_most, "exactly": terms.exactly}
        asked: dict[str, Any] = {"marginals": proba}
        if proba and hasattr(fitted, "posterior"):  # those that the labels beside them are decided by
            asked = {"marginals": False, "further": lambda own, _: [own.marginals]}
        question = partial(answers_of, fitted, cost=cost, expected=wanted, **asked, **budget)
        answers = ask(question, fitted, X)  # each row is read once
        parts = [answers.predicted]
        parts += answers.further or [answers.marginals] if proba else []
        parts += [answers.expected[:, None]] if expected_cost else []
        if terms.abstain_at is not None:
            over = answers.expected > terms.abstain_at
    else:  # no model predicts zero rows
        parts = [np.empty((0, K), np.uint8), np.empty((0, K * proba)), np.empty((0, int(expected_cost)))]
    names = columns[len(columns) - sum(part.shape[1] for part in parts) :]

    frames = [piece.kept.reset_index(drop=True)]
    for part in parts:
        frames.append(pd.DataFrame(part, columns=names[: part.shape[1]]))
        names = names[part.shape[1] :]
    if terms.abstain_at is not None:  # a type that has empty cells, whether this piece has some or not
        frames[1] = frames[1].astype("UInt8").mask(np.repeat(over[:, None], K, axis=1))
    return pd.concat(frames, axis="columns"), int(over.sum())


@contextmanager
def _output(path: str, json: bool) -> Iterator[tuple[IO[bytes], Format]]:
    """Open the output and choose its format; a file is written whole or not at all."""
    from clems.datasets.formats import CSV, JSON_LINES, format_of
    from clems.files import is_written_whole, replacing

    of_stream = JSON_LINES if json else CSV
    if path == STANDARD:
        yield sys.stdout.buffer, of_stream
        sys.stdout.buffer.flush()  # so that a full disk is reported now
        return
    file_format = format_of(path, "append") if is_written_whole(path) else of_stream
    with replacing(path) as file:
        yield file, file_format
