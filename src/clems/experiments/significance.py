"""Which differences are more than chance: tests within a row, and ranks over datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from clems.experiments.selection import ROW, summary
from clems.experiments.trial import criterion_named

Floats = NDArray[np.float64]

ALPHA = 0.05  # level of all tests
LEAST = 3  # datasets, and learners, below which ranks over datasets say nothing


def interval(mean: Any, standard_error: Any, n: Any, level: float = 1 - ALPHA) -> tuple[Any, Any]:
    """Return both ends of the confidence interval of a mean by the t distribution; NaN for a single repetition."""
    half = stats.t.ppf((1 + level) / 2, np.maximum(np.asarray(n) - 1, 1)) * standard_error
    return mean - half, mean + half


def corrected_t_test(differences: Any, test_ratio: float) -> float:
    """Test whether differences over random splits have mean zero, and return the p-value of both sides.

    Random splits of one dataset share most of their rows, so that their results depend on each other, and the usual
    paired t-test finds differences where there are none. The corrected resampled t-test widens the variance of the mean
    from ``s² / J`` to ``s² (1 / J + test rows / other rows)`` [1]_.

    Parameters
    ----------
    differences : array of shape (J,)
        Difference in each repetition.
    test_ratio : float
        Test rows by all rows that a learner sees before, i.e. training and validation rows.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.

    Examples
    --------
    >>> from clems.experiments.significance import corrected_t_test
    >>> round(corrected_t_test([0.02, 0.01, 0.03, 0.02], 1 / 3), 3)
    0.049
    """
    own = np.asarray(differences, np.float64)
    J = len(own)
    if J < 2 or np.isnan(test_ratio):
        return float("nan")
    spread = np.sqrt((1 / J + test_ratio) * own.var(ddof=1))
    # Differences that are all the same leave nothing to chance.
    if spread <= 1e-12 * np.abs(own).max():
        return 1.0 if np.allclose(own, 0, atol=1e-15) else 0.0
    return float(2 * stats.t.sf(abs(own.mean()) / spread, J - 1))


def holm(p: Any) -> Floats:
    """Correct p-values for their number by Holm's method; NaN are no tests and stay.

    Examples
    --------
    >>> from clems.experiments.significance import holm
    >>> holm([0.01, 0.04, 0.02]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    p = np.asarray(p, np.float64)
    corrected = np.full(p.shape, np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # NaN are sorted last
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1)
    return corrected


def against_best(results: pd.DataFrame) -> pd.DataFrame:
    """Test every learner against the best of its row.

    Repetitions are paired, the test is :func:`corrected_t_test`, and p-values are corrected by Holm's method for the
    number of rivals in the row.

    Parameters
    ----------
    results : DataFrame
        What :func:`results` returns.

    Returns
    -------
    DataFrame
        One line per rival: dataset, criterion, x, ``learner``, ``best``, ``pairs`` (common repetitions), ``p``,
        ``p_holm`` and ``worse``, whether the rival is significantly worse. Without two common repetitions p is NaN.
    """
    lines: list[tuple[Any, ...]] = []
    cells = summary(results)
    for row, own in results.groupby(ROW, sort=False, dropna=False):
        ranked = _in_row(cells, row)
        first = ranked.loc[ranked["is_best"], "learner"]
        if first.empty:
            continue
        best, sign = first.iloc[0], criterion_named(row[1]).sign
        values = own.pivot(index="repetition", columns="learner", values="value")
        ratio = float(own["test_ratio"].mean())
        tested = []
        for rival in [name for name in own["learner"].unique() if name != best]:
            lost = (sign * (values[best] - values[rival])).dropna()
            tested.append((rival, best, len(lost), corrected_t_test(lost, ratio), lost.mean()))
        corrected = holm([p for *_, p, _ in tested])
        lines += [
            (*row, *some, p_holm, bool(p_holm < ALPHA and loss > 0))
            for (*some, loss), p_holm in zip(tested, corrected, strict=True)
        ]
    return pd.DataFrame(lines, columns=[*ROW, "learner", "best", "pairs", "p", "p_holm", "worse"])


def near_best(results: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Count the rows in which each learner is the first, or within the standard error of the first.

    Parameters
    ----------
    results : DataFrame
        What :func:`results` returns.

    Returns
    -------
    dict
        For each learner so many rows of how many: those where it, and another one, have all of their repetitions.
    """
    cells = summary(results)
    cells = cells[cells["n"] == cells["planned"]]
    counts: dict[str, tuple[int, int]] = {}
    for (_, criterion, _), row in cells.groupby(ROW, sort=False, dropna=False):
        if len(row) < 2:
            continue
        badness = -criterion_named(criterion).sign * row["mean"]
        best = badness.idxmin()
        near = badness <= badness[best] + row["standard_error"].fillna(0)[best]
        for learner, is_near in zip(row["learner"], near, strict=True):
            among, rows = counts.get(learner, (0, 0))
            counts[learner] = among + bool(is_near), rows + 1
    return counts


def _in_row(cells: pd.DataFrame, row: tuple[Any, ...]) -> pd.DataFrame:
    dataset, criterion, x = row
    same = cells["x"].isna() if pd.isna(x) else cells["x"] == x
    return cells[(cells["dataset"] == dataset) & (cells["criterion"] == criterion) & same]


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
    present = {name: frozenset(own["learner"]) for name, own in complete.groupby("dataset", sort=False)}
    # A block is given by its learners, which are those that some datasets have in common.
    common = set(present.values())
    while more := {one & other for one in common for other in common} - common:
        common |= more
    blocks = [([name for name, own in present.items() if own >= learners], learners) for learners in common]
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
    unit = np.sqrt(k * (k + 1) / (12 * N))  # in which differences follow the studentised range
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
