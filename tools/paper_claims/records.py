"""Which records stand for an experiment: its own, or those of an earlier version until a dataset is whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from clems.experiments import Plan, Store, make_plan, read_spec
from clems.experiments.analysis.completeness import is_done
from clems.experiments.analysis.naming import listed, titles_of
from clems.experiments.analysis.selection import results
from clems.experiments.store import Records
from clems.wording import plural

ROOT = Path(__file__).parents[2]
ENOUGH = 3  # repetitions of a learner, or all that are planned, from which on they are shown


@dataclass(frozen=True)
class Evidence:
    """What is recorded of an experiment.

    Attributes
    ----------
    name : str
        Of the experiment.
    plan : Plan
        Of the trials that are done, without learners that have too few repetitions on a dataset.
    records : mapping
        Record of each key that has one.
    spec : path
        Its file.
    folder : path
        Where records and report are.
    """

    name: str
    plan: Plan
    records: Records
    spec: Path
    folder: Path

    @cached_property
    def results(self) -> pd.DataFrame:
        """Values of all trials, chosen by validation."""
        return results(self.plan, self.records)

    @property
    def is_earlier(self) -> bool:
        """Whether an earlier version made them."""
        return self.folder.parent.name == "earlier"

    @property
    def datasets(self) -> list[str]:
        """Those with results."""
        return [*self.results["dataset"].unique()]

    @property
    def criteria(self) -> list[str]:
        """Those that the experiment reports."""
        return [*self.plan.spec.criteria]

    def of(self, *learners: str) -> pd.DataFrame:
        """Results of some learners."""
        return self.results[self.results["learner"].isin(learners)]

    def planned(self, *learners: str) -> list[str]:
        """Those of some learners that the experiment has."""
        return [name for name in learners if name in self.plan.spec.learners]

    def title(self, learner: str) -> str:
        """What a learner is called."""
        return titles_of(self.plan.spec)[learner]

    def caption(self, used: pd.DataFrame | None = None) -> str:
        """Where a picture comes from, and how many datasets and repetitions it is of."""
        used = self.results if used is None else used
        version = " of an earlier version, on splits that were looked at in development" if self.is_earlier else ""
        link = f"[{self.name}.toml]({from_docs(self.spec)})"
        return f"From {link}{version}; {repetitions_in_words(used)}."


def from_docs(path: Path) -> str:
    """A path as pages in docs link to it."""
    return f"../{path.resolve().relative_to(ROOT).as_posix()}"


def repetitions_in_words(used: pd.DataFrame) -> str:
    """Say of how many datasets and repetitions results are: 2 datasets: flags (5 to 20 repetitions); yeast (7)."""
    counts = used.groupby(["dataset", "learner"], sort=False)["repetition"].nunique().groupby("dataset", sort=False)
    by_number: dict[str, list[str]] = {}
    for dataset, own in counts:
        least, most = int(own.min()), int(own.max())
        number = plural(most, "repetition") if least == most else f"{least} to {most} repetitions"
        by_number.setdefault(number, []).append(dataset)
    said = [f"{listed(names)} ({number})" for number, names in by_number.items()]
    total = plural(sum(map(len, by_number.values())), "dataset")
    return f"{total}: {'; '.join(said)}"


def places_of(plan: Plan) -> dict[tuple[Any, ...], list[Any]]:
    """Planned trials that differ in their repetition alone, by dataset and what else they are."""
    places: dict[tuple[Any, ...], list[Any]] = {}
    for one in plan.planned:
        place = one.trial.dataset, one.learner, one.x, one.trial.cost, one.trial.parameters
        places.setdefault(place, []).append(one)
    return places


def what_is_there(plan: Plan, records: Records) -> Plan:
    """Return the plan of trials that are done, without places of which fewer than `ENOUGH` repetitions are."""
    kept: set[int] = set()
    for planned in places_of(plan).values():
        done = [one for one in planned if is_done(records.get(one.trial.key))]
        kept |= {*map(id, done)} if len(done) >= min(ENOUGH, len(planned)) else set()
    return Plan(plan.spec, [one for one in plan.planned if id(one) in kept], plan.without_rule)


def has_a_dataset(there: Plan, plan: Plan) -> bool:
    """Whether all of the learners of a plan are there on any dataset, at all of their places."""
    kept = places_of(there).keys()
    lacking = {dataset for dataset, *place in places_of(plan) if (dataset, *place) not in kept}
    return bool({dataset for dataset, *_ in kept} - lacking)


def evidence_in(name: str, spec: Path, folder: Path) -> Evidence:
    """Read the records of an experiment."""
    plan, records = make_plan(read_spec(spec)), Store(folder).records()
    return Evidence(name, what_is_there(plan, records), records, spec, folder)


def spec_of(name: str) -> Path:
    """Find the file of an experiment."""
    return next(ROOT.glob(f"experiments/*/{name}.toml"))


@cache
def evidence(name: str) -> Evidence:
    """Find the records of an experiment: its own, or else those of an earlier version."""
    spec = spec_of(name)
    own = evidence_in(name, spec, ROOT / "results" / name)
    if has_a_dataset(own.plan, make_plan(read_spec(spec))):
        return own
    folder = ROOT / "results" / "earlier" / name
    return evidence_in(name, folder / f"{name}.toml", folder)
