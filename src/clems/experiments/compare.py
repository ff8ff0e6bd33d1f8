"""Which learner for my data and my cost: an experiment of one dataset and one criterion, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from clems.costs.criteria import known_criterion
from clems.costs.formulas import get_cost
from clems.datasets import Dataset
from clems.experiments.analysis.selection import results, summary
from clems.experiments.analysis.significance import against_best
from clems.experiments.identity import can_be_sent
from clems.experiments.output.report import show_report, write_report
from clems.experiments.plan import Plan, make_plan
from clems.experiments.running import run
from clems.experiments.spec import DEPTHS, SpecError, check_spec
from clems.experiments.store import Store
from clems.experiments.trial import run_trial
from clems.learners import LEARNERS

QUICK = [name for name in LEARNERS if name != "cft"]  # which takes many times as long as all others together


@dataclass(frozen=True)
class Comparison:
    """What learners achieved on one dataset for one cost.

    Attributes
    ----------
    plan : Plan
        What was compared.
    records : mapping
        What came out of each trial.
    """

    plan: Plan
    records: Mapping[str, Any]

    @property
    def table(self) -> pd.DataFrame:
        """One line per learner, the best first.

        Mean and standard error over the repetitions, and `p`: how probable so great a distance to the best is by chance
        alone, corrected for the number of rivals; NaN for the best itself.
        """
        repetitions = results(self.plan, self.records)
        cells = summary(repetitions).set_index("learner").sort_values("rank", kind="stable")
        tests = against_best(repetitions).set_index("learner")["p_holm"].rename("p")
        return cells[["mean", "standard_error", "n", "rank"]].join(tests)

    @property
    def best(self) -> str:
        """Name of the learner with the best mean."""
        first = self.table.iloc[0]
        if np.isnan(first["mean"]):
            raise ValueError("No learner has been through all of its trials, so that none is best.")
        return str(first.name)

    def report(self, output: str | Path) -> list[Path]:
        """Write what was found to a file: Markdown, CSV or LaTeX."""
        return write_report(self.plan, self.records, Path(output))

    def __str__(self) -> str:
        console = Console(file=StringIO(), width=100)
        show_report(self.plan, self.records, console)
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def compare(
    data: Dataset,
    cost: Any = "f1",
    *,
    learners: Sequence[str] | Mapping[str, Mapping[str, Any]] = tuple(QUICK),
    repetitions: int = 5,
    trees: int = 100,
    depths: Sequence[int] = tuple(DEPTHS),
    seed: int = 0,
    backend: str = "local",
    jobs: int | None = None,
    budget: float | None = None,
    store: str | Path | None = None,
) -> Comparison:
    """Compare learners on a dataset for a cost.

    Rows are split at random, half for training and a quarter each to choose the depth of trees and to test, several
    times over; all learners get the same splits.

    Parameters
    ----------
    data : Dataset
        The data; :func:`clems.datasets.read_dataset` reads them, ``Dataset(X, Y, feature_names, label_names)`` takes
        arrays.
    cost : str, Cost or callable, default="f1"
        What a mistake costs, as learners take it; also "micro_f1" and "macro_f1".
    learners : sequence of str or mapping, default=all but "cft"
        Keys of `LEARNERS`, or a name for each entry with its ``kind`` and ``parameters`` as in an experiment's file.
        CFT is left out by default because it takes many times as long as the others.
    repetitions : int, default=5
        Splits.
    trees : int, default=100
        Trees of default forests.
    depths : sequence of int, default=(5, 10, 15, 20, 25, 30, 35)
        Depths of trees to choose from.
    seed : int, default=0
        From which all seeds come.
    backend : {"local", "serial", "dask"}, default="local"
        Where trials run.
    jobs : int or None, default=None
        Trials at a time; None is the number of cores.
    budget : float or None, default=None
        Seconds after which no more trials are begun.
    store : str, path or None, default=None
        Folder to keep the records in, so that another call goes on from there; None keeps none.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from clems.datasets import load_dataset
    >>> from clems.experiments import compare
    >>> scenes = load_dataset("digit-scenes").take(slice(200))
    >>> comparison = compare(scenes, "f1", learners=["br", "clems"], repetitions=3, trees=10, backend="serial")
    >>> comparison.best
    'clems'
    """
    if not isinstance(data, Dataset):
        raise TypeError(f"data must be a Dataset, such as Dataset(X, Y, ...) makes; got {type(data).__name__}.")
    named = isinstance(cost, str) and known_criterion(cost) is not None
    resolved = None if named else get_cost(cost).for_labels(data.label_names)
    name = cost if named else _free_name(str(resolved.name))  # type: ignore[union-attr]
    learners = [learners] if isinstance(learners, str) else learners
    entries = dict(learners) if isinstance(learners, Mapping) else {learner: {} for learner in learners}
    spec = check_spec(
        {
            "title": f"{len(entries)} learners on {data.name} for {name}",
            "datasets": [data.name],
            "data": {data.name: data},
            "costs": {} if resolved is None else {name: resolved},
            "criteria": [name],
            "learners": entries,
            "repetitions": repetitions,
            "trees": trees,
            "depths": list(depths),
            "seed": seed,
        },
        "compare",
    )
    plan = make_plan(spec)
    if not plan.planned:
        raise SpecError(f"compare: none of the learners has a rule for {name!r}.")
    if backend != "serial" and not can_be_sent(spec.own_costs()):
        raise SpecError(
            f"compare: the cost {name!r} cannot be sent to other processes; define it in a module, or use "
            "backend='serial'."
        )
    with TemporaryDirectory() as temporary:
        records = Store(temporary if store is None else store)
        how: dict[str, Any] = {"backend": backend, "jobs": jobs, "budget": budget}
        run(plan.trials, records, run_trial, spec.load, spec.own_costs(), **how)
        return Comparison(plan, records.records())


def _free_name(name: str) -> str:
    """Name a cost of the user so that no other cost has the name, as records go by names."""
    return name if known_criterion(name) is None else f"own {name}"
