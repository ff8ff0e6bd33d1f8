"""
Which learner for my data?
==========================

``compare`` trains the learners of this package for your cost, on the same random splits of your data. It says
which learner is best, and which are not clearly worse.
"""

from matplotlib import pyplot as plt

from clems.datasets import load_dataset
from clems.experiments import compare

plt.style.use("clems.figures")

# %%
# Any ``Dataset`` works, whether read from a file or made from arrays. This page uses few rows, small forests and
# few splits so that it builds quickly; the defaults are larger. Trials can also run in several processes or on a
# Dask cluster.

scenes = load_dataset("digit-scenes").take(slice(600))
learners = ["br", "cc", "pcc", "clems", "cost_sensitive", "plst", "faie", "sleec", "ecc"]
found = compare(
    scenes, cost="f1", learners=learners, repetitions=5, trees=20, depths=[10, 35], baseline=False, backend="serial"
)
print(found)

# %%
# The same result as a picture: means over splits with standard errors. Blue marks the best learner and those
# whose distance to it may be due to chance (corrected p above 0.05). The last five take no cost, so they are not
# trained for F1.

table = found.table.iloc[::-1]
figure, axis = plt.subplots()
for place, (_, row) in enumerate(table.iterrows()):
    colour = "C6" if row["p"] <= 0.05 else "C0"
    axis.errorbar(row["mean"], place, xerr=row["standard_error"], fmt="o", color=colour, capsize=3)
    axis.text(row["mean"] + row["standard_error"] + 0.008, place, f"{row['mean']:.3f}", va="center", color=colour)
axis.set(yticks=range(len(table)), yticklabels=table.index, xlabel="F1 of test rows, mean over five splits")
axis.tick_params(axis="y", length=0)
axis.margins(x=0.1)
plt.show()
