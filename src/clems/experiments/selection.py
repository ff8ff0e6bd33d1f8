"""From records to results: choosing by validation, means and ranks, and which differences are more than chance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from clems.experiments.trial import criterion_named

Records = Mapping[str, Mapping[str, Any]]
Floats = NDArray[np.float64]

ALPHA = 0.05  # level of all tests
LEAST = 3  # datasets, and learners, below which ranks over datasets say nothing
ROW = ["dataset", "criterion", "x"]  # what is compared with each other
CELL = ["dataset", "criterion", "learner", "x"]
COLUMNS = [
    *CELL,
    "repetition",
    "value",
    "depth",
    "parameters",
    "fit_seconds",
    "predict_seconds",
    "test_ratio",
    "options",
    "options_missing",
]


def results(plan: Any, records: Records) -> pd.DataFrame:
    """Choose, for each cell and repetition, by validation, and return what came out on test rows.

    Of all planned trials of a place, and of their decisions for the cost that counts there, the one whose validation
    value is the best is taken; of several the first.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.

    Returns
    -------
    DataFrame
        One line per cell (dataset, criterion, learner, x) and repetition that is planned, in the order of the spec.
        ``value`` is NaN where no trial is done. ``parameters`` is JSON; ``test_ratio`` is test rows by training and
        validation rows; ``options_missing`` of ``options`` planned trials had no part in the choice, as they failed or
        are not done.
    """
    places: dict[tuple[Any, ...], list[Any]] = {}
    for one in plan.planned:
        places.setdefault((one.trial.dataset, one.learner, one.x, one.trial.repetition), []).append(one)
    lines = []
    for (dataset, learner, x, repetition), place in places.items():
        for criterion in plan.spec.criteria:
            serving = [one for one in place if _serves(one, criterion, plan.without_rule)]
            if serving:
                cell = (dataset, criterion, learner, np.nan if x is None else float(x), repetition)
                lines.append((*cell, *_chosen(serving, criterion, records)))
    frame = pd.DataFrame(lines, columns=COLUMNS)
    orders = {"dataset": plan.spec.datasets, "criterion": plan.spec.criteria, "learner": plan.spec.learners}
    places_of = {column: {name: at for at, name in enumerate(order)} for column, order in orders.items()}

    def place_of(column: pd.Series) -> pd.Series:
        return column.map(places_of[column.name]) if column.name in places_of else column

    return frame.sort_values([*CELL, "repetition"], key=place_of, ignore_index=True, kind="stable")


def _target(planned: Any, criterion: str) -> str:
    """Cost for which is decided."""
    return str(planned.fixed_cost or criterion)


def _serves(planned: Any, criterion: str, without_rule: set[tuple[str, str]]) -> bool:
    target = _target(planned, criterion)
    return (planned.learner, target) not in without_rule and (not planned.trial.costs or target in planned.trial.costs)


def _chosen(serving: list[Any], criterion: str, records: Records) -> tuple[Any, ...]:
    """Columns after the repetition."""
    sign = criterion_named(criterion).sign
    done = [(one, records[one.trial.key]) for one in serving if _is_done(records.get(one.trial.key))]
    decided = [
        (decision, record)
        for one, record in done
        for decision in record["decisions"]
        if decision["cost"] in (None, _target(one, criterion))
    ]
    absent = len(serving) - len(done)
    if not decided:
        return (np.nan, None, None, np.nan, np.nan, np.nan, len(serving), absent)

    def goodness(one: tuple[Mapping[str, Any], Mapping[str, Any]]) -> float:
        value = (one[0].get("validation") or {}).get(criterion)
        return -np.inf if value is None or np.isnan(value) else sign * value

    decision, record = max(decided, key=goodness)  # the first of equals
    value = decision["test"].get(criterion)
    seconds, rows = record.get("seconds") or {}, record.get("rows") or {}
    seen = (rows.get("train") or 0) + (rows.get("validation") or 0)
    return (
        np.nan if value is None else float(value),
        decision["depth"],
        json.dumps(record["parameters"], sort_keys=True),
        seconds.get("fit", np.nan),
        seconds.get("predict", np.nan),
        rows.get("test", np.nan) / seen if seen else np.nan,
        len(serving),
        absent,
    )


def _is_done(record: Mapping[str, Any] | None) -> bool:
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


def missing(plan: Any, records: Records) -> Missing:
    """Find trials that are planned and not done, and why those that failed did."""
    places: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str, str]] = Counter()
    distinct = {(one.learner, one.trial.dataset, one.trial.key): None for one in plan.planned}  # in order
    for learner, dataset, key in distinct:
        record = records.get(key)
        if _is_done(record):
            continue
        places[learner, dataset] += 1
        if record is not None:
            failed[learner, dataset, str(record.get("error", "no reason was kept"))] += 1
    keys = {key for *_, key in distinct}
    absent = sum(not _is_done(records.get(key)) for key in keys)
    return Missing(len(keys), absent, dict(places), dict(failed))


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard error and rank of each cell.

    Parameters
    ----------
    results : DataFrame
        What :func:`results` returns.

    Returns
    -------
    DataFrame
        One line per cell: ``mean``, ``standard_error`` (NaN for a single repetition), ``n`` repetitions of ``planned``
        ones, ``rank`` of the mean in its row (1 is the best, equals share the better rank, NaN without a value),
        ``is_best``, and ``options_missing``, trials that had no part in choices.
    """
    cells = results.groupby(CELL, sort=False, dropna=False)
    frame = cells.agg(
        mean=("value", "mean"),
        standard_error=("value", "sem"),
        n=("value", "count"),
        planned=("value", "size"),
        options_missing=("options_missing", lambda own: int(own[results.loc[own.index, "value"].notna()].sum())),
    ).reset_index()
    sign = frame["criterion"].map(lambda name: criterion_named(name).sign)
    badness = (-sign * frame["mean"]).groupby([frame[name] for name in ROW], sort=False, dropna=False)
    frame["rank"] = badness.rank(method="min")
    frame["is_best"] = frame["rank"] == 1
    return frame


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
    >>> from clems.experiments.selection import corrected_t_test
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
    >>> from clems.experiments.selection import holm
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


def time_ratios(results: pd.DataFrame, baseline: str | None) -> pd.DataFrame:
    """Seconds of training, prediction and both, and how many times those of the baseline they are.

    The factor is the geometric mean over repetitions that both have, so that half as long and twice as long are equally
    far from one; its interval is that of the mean logarithm.

    Parameters
    ----------
    results : DataFrame
        What :func:`results` returns.
    baseline : str or None
        Learner that the others are compared with; with None factors are NaN.

    Returns
    -------
    DataFrame
        One line per dataset, criterion, learner, x and ``phase``: mean ``seconds``, ``factor``, ``low``, ``high`` and
        ``n``.
    """
    return pd.DataFrame(
        _time_lines(results, baseline), columns=[*CELL, "phase", "seconds", "factor", "low", "high", "n"]
    )


def _time_lines(results: pd.DataFrame, baseline: str | None) -> Iterator[tuple[Any, ...]]:
    done = results.dropna(subset="value")
    phases = {
        "training": done["fit_seconds"],
        "prediction": done["predict_seconds"],
        "total": done["fit_seconds"] + done["predict_seconds"],
    }
    of_baseline = {
        phase: seconds[done["learner"] == baseline]
        .groupby([done[name] for name in ("dataset", "criterion", "repetition")])
        .first()
        for phase, seconds in phases.items()
    }
    for cell, own in done.groupby(CELL, sort=False, dropna=False):
        for phase, all_seconds in phases.items():
            seconds = all_seconds[own.index].set_axis(own["repetition"]).dropna()
            if seconds.empty:
                continue
            base = of_baseline[phase]
            pairs = [(value, base.get((*cell[:2], repetition))) for repetition, value in seconds.items()]
            logs = np.log([value / other for value, other in pairs if other is not None and value > 0 and other > 0])
            factor, low, high = np.nan, np.nan, np.nan
            if len(logs):
                factor = np.exp(logs.mean())
            if len(logs) > 1:
                low, high = np.exp(interval(logs.mean(), stats.sem(logs), len(logs)))
            yield (*cell, phase, seconds.mean(), factor, low, high, len(seconds))
