"""Which differences are more than chance: paired tests within a row of a table, corrected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from clems.experiments.analysis.naming import criterion_named, listed
from clems.experiments.analysis.selection import ROW, summary
from clems.wording import plural

Floats = NDArray[np.float64]

ALPHA = 0.05  # level of all tests


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
    >>> from clems.experiments.analysis.significance import corrected_t_test
    >>> round(corrected_t_test([0.02, 0.01, 0.03, 0.02], 1 / 3), 3)
    0.049
    """
    values = np.asarray(differences, np.float64)
    J = len(values)
    if J < 2 or np.isnan(test_ratio):
        return float("nan")
    # standard error of the mean: √(s² (1 / J + test rows / other rows))
    spread = np.sqrt((1 / J + test_ratio) * values.var(ddof=1))
    # Differences that are all the same leave nothing to chance.
    if spread <= 1e-12 * np.abs(values).max():
        return 1.0 if np.allclose(values, 0, atol=1e-15) else 0.0
    return float(2 * stats.t.sf(abs(values.mean()) / spread, J - 1))


def corrected_interval(differences: Any, test_ratio: float) -> tuple[float, float]:
    """Return both ends of the 95 % interval of a mean difference that belongs to :func:`corrected_t_test`."""
    values = np.asarray(differences, np.float64)
    J = len(values)
    if J < 2 or np.isnan(test_ratio):
        return float("nan"), float("nan")
    half = stats.t.ppf(1 - ALPHA / 2, J - 1) * np.sqrt((1 / J + test_ratio) * values.var(ddof=1))
    return float(values.mean() - half), float(values.mean() + half)


def repetitions_needed(differences: Any, test_ratio: float, level: float = ALPHA, most: int = 100) -> int | None:
    """Least number of repetitions at which :func:`corrected_t_test` would see differences of this mean and spread.

    Splits share rows, so that the variance of a mean does not go to zero with their number: None if no number up to
    `most` would do.

    Examples
    --------
    >>> from clems.experiments.analysis.significance import repetitions_needed
    >>> repetitions_needed([0.03, 0.00, 0.02, 0.03], 1 / 3), repetitions_needed([0.02, -0.02, 0.01], 1 / 3)
    (13, None)
    """
    values = np.asarray(differences, np.float64)
    if len(values) < 2 or np.isnan(test_ratio):
        return None
    mean, variance = abs(values.mean()), values.var(ddof=1)
    if mean == 0:
        return None
    J = np.arange(2, most + 1)
    with np.errstate(divide="ignore"):
        enough = 2 * stats.t.sf(mean / np.sqrt((1 / J + test_ratio) * variance), J - 1) < level
    return int(J[enough.argmax()]) if enough.any() else None


def holm(p: Any) -> Floats:
    """Correct p-values for their number by Holm's method; NaN are no tests and stay.

    Examples
    --------
    >>> from clems.experiments.analysis.significance import holm
    >>> holm([0.01, 0.04, 0.02]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    p = np.asarray(p, np.float64)
    corrected = np.full(p.shape, np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # NaN are sorted last
    # the k-th smallest of m p-values becomes max over i ≤ k of (m − i + 1) pᵢ, at most 1
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
    for row, in_row in results.groupby(ROW, sort=False, dropna=False):
        ranked = _in_row(cells, row)
        first = ranked.loc[ranked["is_best"], "learner"]
        if first.empty:
            continue
        best, sign = first.iloc[0], criterion_named(row[1]).sign
        values = in_row.pivot(index="repetition", columns="learner", values="value")
        ratio = float(in_row["test_ratio"].mean())
        tested = []
        for rival in [name for name in in_row["learner"].unique() if name != best]:
            lost = (sign * (values[best] - values[rival])).dropna()
            tested.append((rival, best, len(lost), corrected_t_test(lost, ratio), lost.mean()))
        corrected = holm([p for *_, p, _ in tested])
        lines += [
            (*row, *some, p_holm, bool(p_holm < ALPHA and loss > 0))
            for (*some, loss), p_holm in zip(tested, corrected, strict=True)
        ]
    return pd.DataFrame(lines, columns=[*ROW, "learner", "best", "pairs", "p", "p_holm", "worse"])


def told_apart_in_words(results: pd.DataFrame) -> list[str]:
    """Say from which rivals the best of a single row cannot be told, and whether more repetitions would tell.

    Parameters
    ----------
    results : DataFrame
        What :func:`results` returns, of one dataset and criterion.
    """
    values = results.pivot(index="repetition", columns="learner", values="value")
    tests = against_best(results)
    if tests.empty:
        return []
    J, best, ratio = int(values.notna().any(axis=1).sum()), tests["best"].iloc[0], float(results["test_ratio"].mean())
    tested = tests.dropna(subset="p")
    if tested.empty:
        return [f"{_tell(J)} nothing apart, as one value has no spread; use 5 or more."]
    unclear = tested.loc[~tested["worse"], "learner"].tolist()
    same = [rival for rival in unclear if (values[best] - values[rival]).dropna().eq(0).all()]
    if same == tested["learner"].tolist():
        return [f"{listed([best, *same])} have the same value in every repetition."]
    if not unclear:
        return [f"{best} is better than {listed(tested['learner'].tolist())} by more than chance."]
    if len(unclear) == len(tested):
        said = [f"{_tell(J)} nothing apart: no rival is worse than {best} by more than chance."]
    else:
        said = [f"{plural(J, 'repetition')} do not tell {best} from {listed(unclear)}: that may be chance."]
    needed = {
        rival: repetitions_needed((values[best] - values[rival]).dropna(), ratio, ALPHA / len(tested))
        for rival in unclear
        if rival not in same
    }
    some = [f"{J} repetitions from {rival}" for rival, J in needed.items() if J is not None]
    if some:
        said.append(f"If differences stay as they are, it could be told by {listed(some)}.")
    if none := [rival for rival, J in needed.items() if J is None]:
        said.append(f"From {listed(none)} only more rows would tell it, not a hundred repetitions on these.")
    return said


def _tell(repetitions: int) -> str:
    return f"{plural(repetitions, 'repetition')} tell{'s' * (repetitions == 1)}"


def _in_row(cells: pd.DataFrame, row: tuple[Any, ...]) -> pd.DataFrame:
    dataset, criterion, x = row
    same = cells["x"].isna() if pd.isna(x) else cells["x"] == x
    return cells[(cells["dataset"] == dataset) & (cells["criterion"] == criterion) & same]
