"""`clems experiment`: plan, run and report an experiment that a file describes."""

from __future__ import annotations

import shlex
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from clems.cli.console import doing, print_path
from clems.cli.options import Budget, FitsAtATime, Force, check_output, output
from clems.cli.process import say

if TYPE_CHECKING:
    from clems.experiments.plan import Plan

REASONS = 5  # most errors of failed trials that are shown

app = typer.Typer(
    help="Experiments described by a file: plan, run and report. Runs resume where they stopped.", no_args_is_help=True
)


class Backend(StrEnum):
    """Names of `BACKENDS`, which is imported only when trials run."""

    serial = "serial"
    local = "local"
    dask = "dask"


File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The experiment, a TOML file.")]
Folder = Annotated[
    Path | None,
    typer.Option("--store", help="Folder of the records; by default results/NAME, by the name of the file."),
]
Some = Annotated[str | None, typer.Option(help="Use only these, separated by commas.")]


@app.command()
def plan(spec: File, store: Folder = None, datasets: Some = None, learners: Some = None) -> None:
    """Show which trials would run, how many fits they need, and roughly how long they take.

    Example: clems experiment plan experiments/paper/table2.toml
    """
    from clems.experiments.estimate import estimate, sizes_of
    from clems.experiments.store import Store

    chosen = _plan(spec, datasets, learners)
    records = Store(_folder(spec, store)).records()
    console = Console()
    table = Table(title=chosen.spec.title, title_justify="left")
    planned = {name: [one.trial for one in chosen.planned if one.learner == name] for name in chosen.spec.learners}
    planned = {name: trials for name, trials in planned.items() if trials}
    for heading in ["dataset", *(chosen.spec.learners[name].title for name in planned), "fits", "done"]:
        table.add_column(heading, justify="left" if heading == "dataset" else "right")
    for dataset in chosen.spec.datasets:
        keys = [{trial.key for trial in trials if trial.dataset == dataset} for trials in planned.values()]
        if all_keys := set().union(*keys):
            done = sum(_is_done(records, key) for key in all_keys)
            table.add_row(dataset, *(str(len(own)) for own in keys), str(len(all_keys)), str(done))
    console.print(table)
    for learner, criterion in sorted(chosen.without_rule):
        console.print(f"– {chosen.spec.learners[learner].title} cannot optimise {criterion}.")
    left = [trial for trial in chosen.trials if not _is_done(records, trial.key)]
    seconds = estimate(left, sizes_of(chosen.spec), records.values())
    console.print(
        f"{len(chosen.trials):,} fits, {len(chosen.trials) - len(left):,} of them done; "
        f"the rest takes roughly {_duration(seconds)} on one core."
    )


@app.command()
def run(
    spec: File,
    store: Folder = None,
    backend: Annotated[
        Backend, typer.Option(help="Where trials run: in this process, in several processes, or on Dask.")
    ] = Backend.local,
    jobs: FitsAtATime = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler, tcp://…; by default a cluster is started on this computer."),
    ] = None,
    budget: Budget = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed trials again.")] = False,
    datasets: Some = None,
    learners: Some = None,
) -> None:
    """Run all trials that have no record yet; a stopped run resumes where it stopped.

    Example: clems experiment run experiments/paper/table2.toml --store results/table2 --jobs 2 --budget 2h
    """
    from clems.experiments.running import parse_budget
    from clems.experiments.running import run as run_trials
    from clems.experiments.store import Store
    from clems.experiments.trial import run_trial

    chosen = _plan(spec, datasets, learners)
    seconds = None if budget is None else parse_budget(budget)
    folder = _folder(spec, store)
    doing(f"Running trials of {spec}")
    outcome = run_trials(
        chosen.trials,
        Store(folder),
        run_trial,
        chosen.spec.load,
        chosen.spec.own_costs(),
        backend=backend.value,
        jobs=jobs,
        scheduler=scheduler,
        budget=seconds,
        retry_failed=retry_failed,
    )
    failed = f", {outcome.failed:,} failed" if outcome.failed else ""
    left = f", {outcome.left:,} left" if outcome.left else ""
    took = _duration(outcome.seconds)
    say(f"{outcome.done:,} trials done{failed}{left} after {took}; records are in {folder}.")
    if outcome.failed:
        reasons = Counter(record["error"] for record in _failures(Store(folder).records(), chosen))
        for reason, times in reasons.most_common(REASONS):
            say(f"{times:,} × {reason}")
        say("Use --retry-failed to run them again.")
        raise typer.Exit(1)


@app.command()
def report(
    spec: File,
    store: Folder = None,
    output: Annotated[Path | None, output("Write to a file, .md, .csv or .tex, instead of the screen.")] = None,
    datasets: Some = None,
    learners: Some = None,
    force: Force = False,
) -> None:
    """Show the recorded results, with published values where they exist, and list what is missing.

    Example: clems experiment report experiments/paper/table2.toml --store results/table2 --output table2.md
    """
    from clems.experiments.output.report import show_report, write_report
    from clems.experiments.spec import DataSpec
    from clems.experiments.store import RECORDS, Store

    chosen, folder = _plan(spec, datasets, learners), _folder(spec, store)
    if output is not None:
        read = [own.path for own in chosen.spec.data.values() if isinstance(own, DataSpec)]
        check_output(output, force, spec, folder / RECORDS, chosen.spec.printed, chosen.spec.reasons, *read)
    records = Store(folder).records()
    if output is None:
        show_report(chosen, records, Console())
        return
    command = f"clems experiment report {shlex.quote(str(spec))} --store {shlex.quote(str(folder))}"
    for path in write_report(chosen, records, output, command=f"{command} --output {shlex.quote(str(output))}"):
        print_path(path)


def _plan(spec: Path, datasets: str | None, learners: str | None) -> Plan:
    from clems.experiments.loading import read_spec
    from clems.experiments.plan import make_plan

    doing(f"Reading {spec}")
    chosen = [None if names is None else names.split(",") for names in (datasets, learners)]
    return make_plan(read_spec(spec)).part(*chosen)


def _folder(spec: Path, store: Path | None) -> Path:
    return Path("results") / spec.stem if store is None else store


def _failures(records: dict[str, dict[str, Any]], plan: Plan) -> list[dict[str, Any]]:
    """Pick the records of trials that failed."""
    kept = [records[trial.key] for trial in plan.trials if trial.key in records]
    return [record for record in kept if record["status"] == "failed"]


def _is_done(records: dict[str, dict[str, object]], key: str) -> bool:
    return key in records and records[key]["status"] == "done"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
