"""Which learner for my data and my cost: an experiment of one dataset and one criterion, in one call."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import pandas as pd
from rich.console import Console
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from clems.costs.criteria import known_criterion
from clems.costs.formulas import get_cost
from clems.datasets import Dataset
from clems.experiments.analysis.saved import BASELINE, saved, saved_in_words
from clems.experiments.analysis.selection import results, summary
from clems.experiments.analysis.significance import against_best, told_apart_in_words
from clems.experiments.identity import can_be_sent
from clems.experiments.output.by_learner import show_learners
from clems.experiments.output.report import write_report
from clems.experiments.plan import Plan, make_plan
from clems.experiments.running import run
from clems.experiments.spec import DEPTHS, SpecError, check_spec
from clems.experiments.store import Store
from clems.experiments.trial import run_trial
from clems.labels.matrix import missing_in
from clems.learners import LEARNERS
from clems.learners.pipeline import steps_of

# All but CFT, which takes many times as long as the others together, and those that need more than is always installed.
QUICK = [name for name, learner in LEARNERS.items() if name != "cft" and not learner.needs]
WIDTH = 100  # characters of a line of the table


@dataclass(frozen=True, repr=False)
class Comparison:
    """Results of learners on one dataset for one cost.

    Attributes
    ----------
    plan : Plan
        What was compared.
    records : mapping
        What came out of each trial.
    unit : str
        What costs are counted in; may be empty.

    Examples
    --------
    >>> from clems.datasets import load_dataset
    >>> from clems.experiments import compare
    >>> data = load_dataset("digit-scenes", "train").take(range(120))
    >>> found = compare(data, "f1", learners=["br", "pcc"], repetitions=2, trees=5, backend="serial")
    >>> found.best in {"br", "pcc"}
    True
    """

    plan: Plan
    records: Mapping[str, Any]
    unit: str = ""

    @cached_property
    def _results(self) -> pd.DataFrame:
        return results(self.plan, self.records)

    @property
    def table(self) -> pd.DataFrame:
        """One line per learner, the best first.

        Mean and standard error over the repetitions; `p`: how probable so great a distance to the best is by chance
        alone, corrected for the number of rivals, NaN for the best itself; and seconds of processor time of a fit and
        of the prediction of the test rows.
        """
        cells = summary(self._results).set_index("learner").sort_values("rank", kind="stable")
        tests = against_best(self._results).set_index("learner")["p_holm"].rename("p")
        seconds = self._results.groupby("learner")[["fit_seconds", "predict_seconds"]].mean()
        return cells[["mean", "standard_error", "n", "rank"]].join(tests).join(seconds)

    @cached_property
    def savings(self) -> pd.DataFrame | None:
        """What each learner saves a row against plain ways to predict; None of micro and macro F1.

        A line for each learner and way (`against`): a plain random forest at ½, the labels more probable than ½ by the
        learner's own probabilities, nothing, everything, and the best constant of the rows before the test. What a row
        cost so (`paid`), what was `saved`, and the ends `low` and `high` of a 95 % interval; means over repetitions.
        """
        return saved(self.plan, self._results)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the best learner saves, and whether the repetitions tell it from the others, in words."""
        first = self.table.iloc[0]
        if np.isnan(first["mean"]):
            return ()
        money = [] if self.savings is None else saved_in_words(self.savings, str(first.name), self.unit)
        return (*money, *told_apart_in_words(self._results))

    @property
    def best(self) -> str:
        """Name of the learner with the best mean."""
        first = self.table.iloc[0]
        if np.isnan(first["mean"]):
            raise ValueError("No learner has been through all of its trials, so that none is best.")
        return str(first.name)

    def report(self, output: str | Path) -> list[Path]:
        """Write what was found to a file: Markdown, CSV or LaTeX."""
        said = self.plan.spec.model_copy(update={"notes": " ".join(self.sentences)})
        plan = Plan(said, self.plan.planned, self.plan.without_rule)
        return write_report(plan, self.records, Path(output))

    def show(self, console: Console) -> None:
        """Show what was found in a terminal: what the best saves, and a line for each learner."""
        show_learners(self.plan, self.records, self.table, self.savings, self.sentences, self.unit, console)

    def __repr__(self) -> str:
        first = self.table.iloc[0]
        led = "nothing done" if np.isnan(first["mean"]) else f"{first.name} is the best"
        return f"<Comparison of {self.plan.spec.title}: {led}>"

    def _repr_html_(self) -> str:
        """Sentences and tables, for notebooks."""
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        saved = "" if self.savings is None else self.savings["saved"].unstack("against").round(3).to_html()
        return f"<strong>{escape(self.plan.spec.title)}</strong>{said}{self.table.round(3).to_html()}{saved}"

    def __str__(self) -> str:
        text = StringIO()
        self.show(Console(file=text, width=WIDTH))
        return text.getvalue()


def compare(
    data: Dataset,
    cost: Any = "f1",
    *,
    learners: Sequence[Any] | Mapping[str, Any] = tuple(QUICK),
    unit: str = "",
    baseline: bool = True,
    repetitions: int = 5,
    trees: int = 100,
    depths: Sequence[int] = tuple(DEPTHS),
    seed: int = 0,
    backend: Literal["local", "serial", "dask"] = "local",
    jobs: int | None = None,
    budget: float | None = None,
    store: str | Path | None = None,
) -> Comparison:
    """Compare learners on a dataset for a cost.

    Rows are split at random several times: half for training, a quarter to choose the depth of trees and a quarter to
    test. All learners get the same splits.

    Parameters
    ----------
    data : Dataset
        The data; :func:`clems.datasets.read_dataset` reads them, ``Dataset(X, Y, feature_names, label_names)`` takes
        arrays, :func:`clems.datasets.from_frame` a DataFrame.
    cost : str, Cost or callable, default="f1"
        What a mistake costs, as learners take it; also "micro_f1" and "macro_f1".
    learners : sequence or mapping, default=all but "cft" and "c2ae"
        Keys of `LEARNERS`, and estimators: learners, or scikit-learn's pipelines that end in one. Or a mapping from a
        name to an estimator, or to ``kind`` and ``parameters`` as in an experiment's file. An estimator is trained
        anew on each split for the cost that is compared, whatever its own cost is; a pipeline gets the columns of a
        table as they came, others features that are made of them. CFT is left out by default because it takes many
        times as long as the others, C2AE because it needs torch.
    unit : str, default=""
        What costs are counted in, such as "€".
    baseline : bool, default=True
        Whether a plain random forest at ½, scikit-learn's, takes part.
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
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from clems import CLEMS
    >>> from clems.datasets import load_dataset
    >>> from clems.experiments import compare
    >>> scenes = load_dataset("digit-scenes").take(slice(200))
    >>> mine = make_pipeline(StandardScaler(), CLEMS(n_trees=10))
    >>> found = compare(scenes, "f1", learners={"br": {}, "mine": mine}, repetitions=3, trees=10, backend="serial")
    >>> found.best
    'mine'
    >>> bool(found.savings.loc[("mine", "predicting nothing"), "saved"] > 0)
    True
    """
    if not isinstance(data, Dataset):
        raise TypeError(f"data must be a Dataset, such as Dataset(X, Y, ...) makes; got {type(data).__name__}.")
    if missing_in(data.Y) is not None:
        raise ValueError(f"{data.name}: labels are missing; a comparison needs all of them, as a cost does.")
    named = isinstance(cost, str) and known_criterion(cost) is not None
    resolved = None if named else get_cost(cost).for_labels(data.label_names)
    name = cost if named else _free_name(str(resolved.name))  # type: ignore[union-attr]
    entries = _entries(learners)
    if baseline:
        entries |= {BASELINE: {"model": RandomForestClassifier(n_estimators=trees)}}
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
    if not any(one.learner != BASELINE for one in plan.planned):
        raise SpecError(f"compare: none of the learners has a rule for {name!r}.")
    if backend != "serial" and not can_be_sent(spec.own_costs()):
        raise SpecError(
            f"compare: the cost {name!r} cannot be sent to other processes; define it in a module, or use "
            "backend='serial'."
        )
    if backend != "serial":
        _check_sendable({one: entry.model for one, entry in spec.learners.items() if entry.model is not None})
    with TemporaryDirectory() as temporary:
        records = Store(temporary if store is None else store)
        how: dict[str, Any] = {"backend": backend, "jobs": jobs, "budget": budget}
        run(plan.trials, records, run_trial, spec.load, spec.own_costs(), **how)
        return Comparison(plan, records.records(), unit)


def _entries(learners: Any) -> dict[str, Any]:
    """Name what is compared: learners by their keys, estimators by what they end in."""
    if isinstance(learners, Mapping):
        return {str(name): _entry(one) for name, one in learners.items()}
    entries: dict[str, Any] = {}
    for one in [learners] if isinstance(learners, str) or hasattr(learners, "fit") else learners:
        name = base = one if isinstance(one, str) else _described(one)
        while not isinstance(one, str) and name in entries:
            number = int(name.removeprefix(base) or 1)
            name = f"{base} {number + 1}"
        entries[name] = {} if isinstance(one, str) else _entry(one)
    return entries


def _entry(one: Any) -> Any:
    return {"model": clone(one)} if hasattr(one, "fit") and not isinstance(one, type) else one


def _described(model: Any) -> str:
    before, last = steps_of(model)
    return f"pipeline of {type(last).__name__}" if before else type(last).__name__


def _check_sendable(models: Mapping[str, Any]) -> None:
    for name, model in models.items():
        if not can_be_sent(model) or b"__main__" in pickle.dumps(model):
            raise SpecError(
                f"compare: the model {name!r} has parts that other processes cannot import; define them in a module, "
                "or use backend='serial'."
            )


def _free_name(name: str) -> str:
    """Name a cost of the user so that no other cost has the name, as records go by names."""
    return name if known_criterion(name) is None else f"own {name}"
