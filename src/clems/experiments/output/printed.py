"""Values that are printed elsewhere, to show beside ours, and why ours differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

PRINTED = ["dataset", "learner", "criterion", "mean", "ste"]
UNKNOWN = "unknown"
REASONS = ["dataset", "learner", "criterion", "reason"]


def read_printed(path: Path) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Read values that are printed elsewhere.

    Parameters
    ----------
    path : path
        CSV with columns dataset, learner, criterion, mean and ste; ste may be empty.

    Returns
    -------
    dict
        Mean and standard error by (dataset, learner, criterion).
    """
    frame = pd.read_csv(path)
    if absent := [name for name in PRINTED if name not in frame]:
        raise ValueError(f"{path} has no column {', '.join(absent)}; printed values need {', '.join(PRINTED)}.")
    try:
        numbers = frame[["mean", "ste"]].astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{path} has a mean or ste that is not a number: {error}.") from None
    keys = frame[["dataset", "learner", "criterion"]].astype(str).itertuples(index=False, name=None)
    return dict(zip(keys, numbers.itertuples(index=False, name=None), strict=True))


def read_reasons(path: Path) -> list[tuple[str, str, str, str]]:
    """Read why values differ from printed ones.

    Parameters
    ----------
    path : path
        CSV with columns dataset, learner, criterion and reason; each of the first three may be empty, for all.
    """
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if absent := [name for name in REASONS if name not in frame]:
        raise ValueError(f"{path} has no column {', '.join(absent)}; reasons need {', '.join(REASONS)}.")
    return [*frame[REASONS].itertuples(index=False, name=None)]


def reason_for(place: tuple[str, str, str], reasons: list[tuple[str, str, str, str]]) -> str:
    """Return the first reason whose dataset, learner and criterion are those of a place, or "unknown"."""
    fitting = (why for *known, why in reasons if all(one in ("", here) for one, here in zip(known, place, strict=True)))
    return next(fitting, UNKNOWN)
