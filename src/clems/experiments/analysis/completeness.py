"""What is missing: trials that are planned and not done, and why those that failed did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clems.experiments.store import Records

if TYPE_CHECKING:
    from clems.experiments.plan import Plan


def is_done(record: Mapping[str, Any] | None) -> bool:
    """Whether a trial has a record, and the record a result."""
    return record is not None and record["status"] == "done"


@dataclass(frozen=True)
class Missing:
    """Trials that a report would need and has not.

    Attributes
    ----------
    planned : int
        Number of distinct trials.
    missing : int
        How many of them are not done, whether they failed or have no record.
    places : dict
        Number of missing trials by (learner, dataset); one that several learners share counts for each.
    failed : dict
        Number of trials that failed by (learner, dataset, error).
    """

    planned: int
    missing: int
    places: dict[tuple[str, str], int]
    failed: dict[tuple[str, str, str], int]

    @property
    def sentences(self) -> list[str]:
        """What is missing, in words; nothing where nothing is."""
        if not self.missing:
            return []
        parts = ", ".join(f"{learner} on {dataset} ({n})" for (learner, dataset), n in self.places.items())
        verb = "trial is" if self.planned == 1 else "trials is" if self.missing == 1 else "trials are"
        said = [f"{self.missing} of {self.planned} {verb} missing: {parts}."]
        for (learner, dataset, error), n in self.failed.items():
            times = "once" if n == 1 else f"{n} times"
            said.append(f"{learner} failed on {dataset} {times}: {error.rstrip('.')}.")
        return said


def missing(plan: Plan, records: Records) -> Missing:
    """Find trials that are planned and not done, and why those that failed did."""
    places: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str, str]] = Counter()
    distinct = {(one.learner, one.trial.dataset, one.trial.key): None for one in plan.planned}  # in order
    for learner, dataset, key in distinct:
        record = records.get(key)
        if is_done(record):
            continue
        places[learner, dataset] += 1
        if record is not None:
            failed[learner, dataset, str(record.get("error", "no reason was kept"))] += 1
    keys = {key for *_, key in distinct}
    absent = sum(not is_done(records.get(key)) for key in keys)
    return Missing(len(keys), absent, dict(places), dict(failed))
