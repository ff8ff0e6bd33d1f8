"""Learners compared over datasets: average ranks, Friedman's test and Nemenyi's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats

from clems.experiments.analysis.naming import criterion_named, heading_of, listed, titles_of
from clems.experiments.analysis.selection import summary
from clems.experiments.analysis.significance import ALPHA

if TYPE_CHECKING:
    from clems.experiments.plan import Plan

LEAST = 3  # datasets, and learners, below which ranks over datasets say nothing


@dataclass(frozen=True)
class Ranking:
    """Learners compared over datasets by one criterion.

    Attributes
    ----------
    criterion : str
        The criterion.
    datasets, learners : tuple of str
        Those of the greatest block in which every learner has all of its repetitions on every dataset.
    left_out : tuple of str
        Datasets and learners that are not in it.
    ranks : Series
        Average rank of each learner, the best first.
    statistic, p : float
        Of Friedman's test of equal ranks.
    critical_difference : float
        Of average ranks, by Nemenyi's test at level `ALPHA`.
    p_values : DataFrame
        Of Nemenyi's test, for each pair of learners.
    """

    criterion: str
    datasets: tuple[str, ...]
    learners: tuple[str, ...]
    left_out: tuple[str, ...]
    ranks: pd.Series
    statistic: float
    p: float
    critical_difference: float
    p_values: pd.DataFrame

    @property
    def as_good(self) -> list[str]:
        """Learners whose average rank does not differ significantly from the best one, the best first."""
        return [name for name in self.ranks.index if self.p_values.loc[self.ranks.index[0], name] >= ALPHA]


def over_datasets(results: pd.DataFrame) -> dict[str, Ranking | str]:
    """Compare learners over datasets for each criterion, as Demšar advises [1]_.

    Friedman's test asks whether average ranks differ at all, Nemenyi's which of them do.

    Parameters
    ----------
    results : DataFrame
        What :func:`results` returns, without positions x.

    Returns
    -------
    dict
        For each criterion a Ranking, or a sentence that says why there is none.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
    """
    cells = summary(results)
    cells = cells[cells["x"].isna()]
    return {name: _ranking(name, cells[cells["criterion"] == name]) for name in results["criterion"].unique()}


def _ranking(criterion: str, cells: pd.DataFrame) -> Ranking | str:
    complete = cells[cells["n"] == cells["planned"]]
    present = {name: frozenset(there["learner"]) for name, there in complete.groupby("dataset", sort=False)}
    # A block is given by its learners, which are those that some datasets have in common.
    common = set(present.values())
    while more := {one & other for one in common for other in common} - common:
        common |= more
    blocks = [([name for name, there in present.items() if there >= learners], learners) for learners in common]
    blocks = [block for block in blocks if len(block[0]) >= LEAST and len(block[1]) >= LEAST]
    if not blocks:
        return (
            f"Ranks over datasets need at least {LEAST} datasets on which the same {LEAST} learners "
            "have all of their repetitions."
        )
    datasets, chosen = max(blocks, key=lambda block: (len(block[0]) * len(block[1]), len(block[0]), sorted(block[1])))
    learners = [name for name in cells["learner"].unique() if name in chosen]
    values = complete.pivot(index="dataset", columns="learner", values="mean").loc[datasets, learners]
    ranks = (-criterion_named(criterion).sign * values).rank(axis=1)
    N, k = ranks.shape
    with np.errstate(invalid="ignore"):  # of learners that are all equal everywhere
        statistic, p = stats.friedmanchisquare(*(ranks[name] for name in learners))
    average = ranks.mean().sort_values(kind="stable")
    # Nemenyi: |Rᵢ − Rⱼ| / √(k (k + 1) / (12 N)) follows the studentised range of k groups
    unit = np.sqrt(k * (k + 1) / (12 * N))
    apart = np.abs(np.subtract.outer(average.to_numpy(), average.to_numpy())) / unit
    p_values = pd.DataFrame(stats.studentized_range.sf(apart, k, np.inf), average.index, average.index)
    return Ranking(
        criterion,
        tuple(datasets),
        tuple(learners),
        tuple(
            name
            for column in ("dataset", "learner")
            for name in cells[column].unique()
            if name not in [*datasets, *learners]
        ),
        average,
        float(np.nan_to_num(statistic)),
        1.0 if np.isnan(p) else float(p),
        float(stats.studentized_range.ppf(1 - ALPHA, k, np.inf) * unit),
        p_values.clip(upper=1),
    )


def ranks_in_words(plan: Plan, results: pd.DataFrame) -> list[str]:
    """Say how learners rank over datasets, in a sentence for each criterion."""
    rankings = over_datasets(results)
    if len({*map(str, rankings.values())}) == 1 and not any(isinstance(one, Ranking) for one in rankings.values()):
        return [str(one) for one in rankings.values()][:1]  # one sentence for all criteria
    return [f"{heading_of(name)}: {_in_words(one, titles_of(plan.spec))}" for name, one in rankings.items()]


def _in_words(ranking: Ranking | str, titles: dict[str, str]) -> str:
    if isinstance(ranking, str):
        return ranking
    ranks = ", ".join(f"{titles[name]} {rank:.2f}" for name, rank in ranking.ranks.items())
    block = f"{len(ranking.datasets)} datasets and {len(ranking.learners)} learners"
    left_out = [titles.get(name, name) for name in ranking.left_out]
    without = f" (without {listed(left_out)}, where repetitions are missing)" if left_out else ""
    p = "p < 0.001" if ranking.p < 0.001 else f"p = {ranking.p:.3f}"
    said = f"average ranks over {block}{without}: {ranks}. Friedman's test: χ² = {ranking.statistic:.2f}, {p}"
    if ranking.p >= ALPHA:
        return f"{said}, so that ranks may differ by chance."
    rivals = [titles[name] for name in ranking.as_good[1:]]
    best = titles[ranking.ranks.index[0]]
    sure = f"only {listed(rivals)} {'are' if len(rivals) > 1 else 'is'} not" if rivals else "all others are"
    return (
        f"{said}. By Nemenyi's test ranks differ from {ranking.critical_difference:.2f} on (α = {ALPHA:g}): "
        f"{sure} significantly worse than {best}."
    )
