"""The command line: parse, call the library, print."""

from __future__ import annotations

import sys
from typing import Any

import typer

from clems.cli import experiment
from clems.cli.report import report

INTERRUPTED = 130  # what shells expect of a command that was ended by Ctrl-C

app = typer.Typer(
    name="clems",
    help="Cost-sensitive multi-label classification: train for the cost you actually pay.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.add_typer(experiment.app, name="experiment")
app.command()(report)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version and end.")) -> None:
    """Cost-sensitive multi-label classification: train for the cost you actually pay."""
    if show:
        from clems import __version__

        typer.echo(__version__)
        raise typer.Exit


def main(arguments: list[str] | None = None) -> Any:
    """Run the command; what goes wrong is told in one sentence, with exit code 1, wrong usage with 2."""
    try:
        app(arguments)
    except KeyboardInterrupt:
        typer.echo("Interrupted; what was finished is kept.", err=True)
        sys.exit(INTERRUPTED)
    except (ValueError, OSError, ImportError) as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(1)
