"""How long trials may take, from those that were recorded and from the size of the data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from clems.datasets.catalogue import CATALOGUE
from clems.experiments.spec import Spec
from clems.experiments.trial import Trial

# Processor time of a trial with 100 trees by labels times root of rows; made by python -m tools.rates where there are
# records; of bcs, cca, ccaoc, cs, csrpe, cssp, gle, leml and moplms, which have none yet, taken from learners like them
SECONDS = {
    "bcs": 0.0025,
    "br": 0.02,
    "c2ae": 0.02,
    "cc": 0.02,
    "cca": 0.0018,
    "ccaoc": 0.02,
    "cft": 0.028,
    "clems": 0.0016,
    "cost_sensitive": 0.0025,
    "cplst": 0.0016,
    "cs": 0.0018,
    "csrpe": 0.05,
    "cssp": 0.0017,
    "ecc": 0.043,
    "faie": 0.0026,
    "gle": 0.05,
    "leml": 0.002,
    "moplms": 0.0017,
    "pcc": 0.028,
    "plst": 0.0017,
    "sleec": 0.0027,
}


def estimate(trials: list[Trial], sizes: Mapping[str, float], records: Iterable[Mapping[str, Any]]) -> float:
    """Estimate how many seconds trials take, one after the other.

    Each is taken to last as long as the trials of the same kind on the same dataset that are recorded, else as long as
    those on other datasets in proportion to the size of the data, else as `SECONDS` has it: that is right within a
    factor of some.

    Parameters
    ----------
    trials : list of Trial
        What is to be run.
    sizes : mapping of str to float
        Size of each dataset, see :func:`sizes_of`.
    records : iterable of dict
        What was run.
    """
    same: dict[tuple[str, str], list[float]] = {}
    rates: dict[str, list[float]] = {}
    for record in records:
        if record["status"] == "done" and record["dataset"] in sizes:
            seconds = record["seconds"]["trial"]
            same.setdefault((record["kind"], record["dataset"]), []).append(seconds)
            rates.setdefault(record["kind"], []).append(seconds / sizes[record["dataset"]])
    total = 0.0
    for trial in trials:
        if known := same.get((trial.kind, trial.dataset)):
            total += float(np.mean(known))
        elif trial.kind in rates:
            total += float(np.median(rates[trial.kind])) * sizes[trial.dataset]
        else:
            trees = json.loads(trial.parameters)["n_trees"]
            share = trees / 100 if isinstance(trees, int) else 1.0  # anything else is refused in the fit
            total += SECONDS[trial.kind] * sizes[trial.dataset] * share
    return total


def sizes_of(spec: Spec) -> dict[str, float]:
    """Labels times root of rows of each dataset, to which times are roughly proportional."""
    sizes = {}
    for name in spec.datasets:
        entry = CATALOGUE.get(name) if name not in spec.data else None
        if entry is not None and entry.rows and entry.labels:
            n, K = entry.rows, entry.labels
        else:
            n, K = spec.load(name).whole.Y.shape
        sizes[name] = K * n**0.5
    return sizes
