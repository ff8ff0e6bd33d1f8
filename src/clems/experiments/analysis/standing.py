"""In how many rows each learner is first, or not significantly behind the first: the count that reports lead with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from clems.experiments.analysis.naming import listed, titles_of
from clems.experiments.analysis.selection import CELL, ROW, summary
from clems.experiments.analysis.significance import against_best
from clems.wording import plural

if TYPE_CHECKING:
    from clems.experiments.plan import Plan


@dataclass(frozen=True)
class Standing:
    """How often a learner leads the rows in which it has a rival.

    Attributes
    ----------
    near, first : int
        Rows in which it is the first or not significantly behind the first, and in which it is the first.
    rows, datasets : int
        Rows that count, and datasets that they are of.
    repetitions : tuple of int
        Its numbers of repetitions there, each once.
    """

    near: int
    first: int
    rows: int
    datasets: int
    repetitions: tuple[int, ...]


def standings(results: pd.DataFrame) -> dict[str, Standing]:
    """Count the rows in which each learner is the first, or not significantly behind the first.

    A row counts for a learner that has all of its repetitions there, if another one has, too, and if they have two or
    more in common: without a rival, or without a test, nothing was won. The test is that of :func:`against_best`.

    Parameters
    ----------
    results : DataFrame
        What :func:`results` returns.
    """
    cells = summary(results)
    complete = cells[cells["n"] == cells["planned"]]
    found = {tuple(map(str, cell)): (mean, int(n)) for *cell, mean, n in complete[[*CELL, "mean", "n"]].to_numpy()}
    tests = against_best(results.merge(complete[CELL], on=CELL)).dropna(subset="p")
    rows: dict[str, list[tuple[str, bool, bool, int]]] = {name: [] for name in results["learner"].unique()}
    for (dataset, criterion, x), tested in tests.groupby(ROW, sort=False, dropna=False):
        best = tested["best"].iloc[0]
        for learner, worse in [(best, False), *zip(tested["learner"], tested["worse"], strict=True)]:
            (mean, n), (least, _) = (found[dataset, criterion, name, str(x)] for name in (learner, best))
            rows[learner].append((dataset, not worse, mean == least, n))
    return {
        learner: Standing(
            near=sum(near for _, near, _, _ in own),
            first=sum(first for _, _, first, _ in own),  # equals share the place
            rows=len(own),
            datasets=len({dataset for dataset, *_ in own}),
            repetitions=tuple(sorted({n for *_, n in own})),
        )
        for learner, own in rows.items()
        if own
    }


def standings_in_words(plan: Plan, results: pd.DataFrame) -> list[str]:
    """Say in how many rows each learner is the first, or not significantly behind the first."""
    titles = titles_of(plan.spec)
    found = sorted(standings(results).items(), key=lambda item: (-item[1].near / item[1].rows, -item[1].first))
    if not found:
        return []
    said = [
        f"{titles[name]} in {one.near} of {one.rows} rows (first in {one.first}; {plural(one.datasets, 'dataset')}, "
        f"{' or '.join(map(str, one.repetitions))} repetitions)"
        for name, one in found
    ]
    return [
        f"First, or not significantly behind the first by the paired, corrected test, is {listed(said)}. Rows without "
        "a rival, or with a single repetition, do not count; the fewer the repetitions, the less the test sees."
    ]
