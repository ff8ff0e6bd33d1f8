"""What the paper prints, and the files that its Table 3 is about."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clems import COSTS
from clems.experiments import read_spec
from clems.experiments.output.printed import read_printed
from clems.labels.matrix import as_dense

PAPER = Path(__file__).parents[1] / "experiments" / "paper"


def divided(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Features and labels of the file that the paper's Table 3 trains on, and of the one that it tests on."""
    try:
        data = read_spec(PAPER / "table3.toml").load(name)
    except FileNotFoundError as error:
        sys.exit(str(error))
    X, Y, n = data.whole.X, as_dense(data.whole.Y), data.n_train
    return X[:n], Y[:n], X[n:], Y[n:]


def printed(table: str) -> pd.Series:
    """What a table of the paper prints, by dataset, learner and criterion; learners as its experiment calls them."""
    values = read_printed(PAPER / "printed" / f"{table}.csv")
    return pd.Series({place: mean for place, (mean, _) in values.items()}).rename_axis(
        ["dataset", "learner", "criterion"]
    )


def printed_cost(dataset: str, learner: str, cost: str) -> float | None:
    """What the paper's Table 2 prints, as a cost; None where it is left blank."""
    value = printed("table2").get((dataset, learner, cost))
    return 1 - value if value is not None and COSTS[cost].as_score else value
