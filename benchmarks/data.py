"""Datasets as the benchmarks take them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import sparse

from clems.datasets import load_dataset


def load(name: str, part: str | None = None) -> tuple[Any, np.ndarray]:
    """Features, dense or sparse as they come, and dense labels; where there are none, say what is to be done."""
    try:
        data = load_dataset(name) if part is None else load_dataset(name, part)
    except FileNotFoundError as error:
        sys.exit(str(error))
    return data.X, data.Y.toarray() if sparse.issparse(data.Y) else data.Y
