"""
Dask: the same experiment on a cluster
======================================

An experiment is a list of trials that do not depend on each other. They can run one after another, in several
processes, or on a Dask cluster, with the same results.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from clems.datasets import load_dataset
from clems.experiments import Store, compare

plt.style.use("clems.figures")

# %%
# Without a scheduler, ``backend="dask"`` starts a small cluster of processes on this computer and stops it
# afterwards. To use an existing cluster, pass its address: ``clems experiment run --scheduler tcp://…``. Records
# are written to a store, so that an interrupted run resumes where it stopped.

scenes = load_dataset("digit-scenes").take(slice(400))
what = {"learners": ["br", "pcc", "clems"], "repetitions": 4, "trees": 10, "depths": [5, 35]}
with tempfile.TemporaryDirectory() as folder:
    here = compare(scenes, "f1", **what, backend="serial", store=Path(folder) / "here")
    there = compare(scenes, "f1", **what, backend="dask", jobs=2, store=Path(folder) / "there")
    records = [Store(Path(folder) / name).records() for name in ("here", "there")]
print(there)

# %%
# Each dot is a trial at one depth of its trees, with its F1 in this process and on the cluster. All dots lie
# exactly on the line.


def values(of_run):
    """F1 of test rows by learner, for all trials and depths, in the order of their keys."""
    found = {}
    for _, record in sorted(of_run.items()):
        found.setdefault(record["kind"], []).extend(one["test"]["f1"] for one in record["decisions"])
    return found


by_learner = [values(one) for one in records]
print("the same numbers:", by_learner[0] == by_learner[1])

figure, axis = plt.subplots(figsize=(5, 4.4))
axis.plot([0, 0.5], [0, 0.5], color="C7", linewidth=1)
for place, (kind, here_values) in enumerate(by_learner[0].items()):
    axis.scatter(here_values, by_learner[1][kind], s=30, color=f"C{place}", zorder=2)
    axis.annotate(
        kind, (np.mean(here_values), np.mean(here_values)), (18, -22), textcoords="offset points", color=f"C{place}"
    )
axis.set(xlabel="F1 of a trial, one after another", ylabel="F1 of the same trial, on Dask", aspect="equal")
plt.show()
