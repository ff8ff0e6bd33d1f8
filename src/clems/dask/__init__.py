"""Rows that lie in partitions, beyond the memory of one machine: fitted, predicted and evaluated by Dask."""

from clems.dask.answers import evaluate, predict, predict_proba
from clems.dask.fitting import fit

__all__ = ["evaluate", "fit", "predict", "predict_proba"]
