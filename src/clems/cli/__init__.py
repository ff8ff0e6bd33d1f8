"""The command line: parse, call the library, print."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, NoReturn

import typer

from clems.cli import datasets, experiment
from clems.cli.compare import compare
from clems.cli.console import EXITS, sentence_of
from clems.cli.evaluate import evaluate
from clems.cli.fit import fit
from clems.cli.inspect import inspect
from clems.cli.predict import predict
from clems.cli.report import report

INTERRUPTED = 130  # what shells expect of a command that was ended by Ctrl-C

app = typer.Typer(
    name="clems",
    help="Cost-sensitive multi-label classification: train for the cost you actually pay.",
    epilog=EXITS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for command in (fit, predict, evaluate, report, inspect, compare):
    app.command(epilog=EXITS)(command)
app.add_typer(datasets.app, name="datasets")
app.add_typer(experiment.app, name="experiment")


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version and end.")) -> None:
    """Cost-sensitive multi-label classification: train for the cost you actually pay."""
    if show:
        from clems import __version__

        typer.echo(__version__)
        raise typer.Exit


def main(arguments: list[str] | None = None) -> Any:
    """Run the command; what goes wrong is told in one sentence, with exit code 1, wrong usage with 2."""
    with warnings.catch_warnings():
        warnings.showwarning = _note  # type: ignore[assignment]
        try:
            try:
                app(arguments)
            except SystemExit as end:  # typer turns an interruption into this
                if end.code == INTERRUPTED:
                    raise KeyboardInterrupt from None
                sys.stdout.flush()  # here, where it can still be told that this fails
                raise
        except KeyboardInterrupt:
            _end("Interrupted; what was finished is kept, and no file is left half-written.", INTERRUPTED)
        except Exception as error:
            if not isinstance(error, (ValueError, OSError, ImportError)) and not hasattr(error, "__notes__"):
                raise  # a fault of ours, which wants its traceback
            _end(f"Error: {sentence_of(error)}", 1)


def _end(sentence: str, code: int) -> NoReturn:
    typer.echo(sentence, err=True)
    try:
        sys.stdout.flush()
    except OSError:  # what could not be written is not to be tried, and complained about, when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _note(message: Warning | str, *_: Any) -> None:
    typer.echo(f"Note: {message}", err=True)
