"""Values that are printed elsewhere, to show beside ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

PRINTED = ["dataset", "learner", "criterion", "mean", "ste"]


def read_printed(path: Path) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Read what a paper prints.

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
