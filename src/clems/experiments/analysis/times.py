"""Running times, relative to those of one learner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from clems.experiments.analysis.selection import CELL
from clems.experiments.analysis.significance import interval

PHASES = ["training", "prediction", "total"]


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
    fit, predict = done["fit_seconds"], done["predict_seconds"]
    phases = dict(zip(PHASES, (fit, predict, fit + predict), strict=True))
    of_baseline = {
        phase: seconds[done["learner"] == baseline]
        .groupby([done[name] for name in ("dataset", "criterion", "repetition")])
        .first()
        for phase, seconds in phases.items()
    }
    for cell, lines in done.groupby(CELL, sort=False, dropna=False):
        for phase, all_seconds in phases.items():
            seconds = all_seconds[lines.index].set_axis(lines["repetition"]).dropna()
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
