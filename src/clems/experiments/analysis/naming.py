"""How criteria and learners are called in what is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clems.costs.criteria import Criterion, get_criterion, known_criterion
from clems.costs.formulas import get_cost
from clems.evaluation.ranking import ranking_named

if TYPE_CHECKING:
    from clems.experiments.spec import Spec


def criterion_named(name: str) -> Criterion:
    """Find the criterion of a name in records; one that the package does not know is a cost, so less is better."""
    found = known_criterion(name) or ranking_named(name)
    return found or replace(get_criterion(get_cost(_of_records_only, name=name)), title=name)


def _of_records_only(*_: Any) -> float:
    raise AssertionError("What a record calls by name is not computed anew.")


def heading_of(criterion: str) -> str:
    """Return the title of a criterion with the arrow that points where better values are."""
    named = criterion_named(criterion)
    return f"{named.title} {named.arrow}"


def titles_of(spec: Spec) -> dict[str, str]:
    """Return the titles of the entries of an experiment by name."""
    return {name: entry.title or name for name, entry in spec.learners.items()}


def listed(names: Sequence[str]) -> str:
    """Write names one after another, with "and" before the last."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
