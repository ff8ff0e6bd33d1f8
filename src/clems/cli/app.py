"""The command line: parse, call the library, print."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Any

import typer

from clems.cli import datasets, experiment, process
from clems.cli.compare import compare
from clems.cli.console import in_flags, sentence_of
from clems.cli.evaluate import evaluate
from clems.cli.fit import fit
from clems.cli.inspect import inspect
from clems.cli.options import EXITS, ungrouped
from clems.cli.predict import predict
from clems.cli.report import report

_SAID: set[str] = set()
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
    app.command(epilog=EXITS)(ungrouped(command))
app.add_typer(datasets.app, name="datasets")
app.add_typer(experiment.app, name="experiment")


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Cost-sensitive multi-label classification: train for the cost you actually pay."""
    if show:
        from clems import __version__

        typer.echo(__version__)
        raise typer.Exit


def main(arguments: list[str] | None = None) -> Any:
    """Run the command; an error is printed as one sentence with exit code 1, wrong usage has exit code 2."""
    with warnings.catch_warnings():
        warnings.showwarning = _note  # type: ignore[assignment]
        _SAID.clear()
        try:
            try:
                app(arguments)
            except SystemExit as end:
                if end.code == INTERRUPTED:  # what typer makes of an interruption
                    raise KeyboardInterrupt from None
                if isinstance(end.__context__, BrokenPipeError):  # which typer turns into exit code 1
                    raise end.__context__ from None
                sys.stdout.flush()  # here, where a failure can still be reported
                raise
        except KeyboardInterrupt:
            sentence = f"{process.how_ended()}; files that were finished are kept, and none is left half-written."
            code = process.code_of_end()
        except BrokenPipeError:  # the reader of the output has closed it, as head does
            sentence, code = "", process.end_by(signal.SIGPIPE)
        except Exception as error:
            kinds = (ValueError, OSError, ImportError, MemoryError, RecursionError)
            if not isinstance(error, kinds) and not hasattr(error, "__notes__"):
                raise  # a bug in clems: show the traceback
            sentence, code = f"Error: {sentence_of(error)}", 1
    if sentence:
        process.say(sentence)
    try:
        sys.stdout.flush()
    except OSError:  # Python would try again, and print a traceback, when it exits
        process.silence(sys.stdout)
    sys.exit(code)


def _note(message: Warning | str, *_: Any) -> None:
    """Print a warning as a note on one line, each once: a classifier for every label and fold may say the same."""
    text = in_flags(str(message).strip().partition("\n")[0].rstrip(":"))
    if text not in _SAID:
        _SAID.add(text)
        process.say(f"Note: {text}")
