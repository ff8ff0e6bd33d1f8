"""
Which learner for my data?
==========================

``compare`` trains the learners of this package on the same random splits of your data for your cost, and tells
which is best and which are not clearly worse.
"""

from matplotlib import pyplot as plt

from clems.datasets import load_dataset
from clems.experiments import compare

plt.style.use("clems.figures")

# %%
# Any ``Dataset`` will do: read from a file, or made of arrays. Few rows, small forests and few splits, so that
# this page is built quickly; the defaults are larger. Trials may run in processes or on a Dask cluster as well.

scenes = load_dataset("digit-scenes").take(slice(600))
learners = ["br", "cc", "pcc", "clems", "cost_sensitive", "plst", "faie", "sleec", "ecc"]
found = compare(
    scenes, cost="f1", learners=learners, repetitions=5, trees=20, depths=[10, 35], baseline=False, backend="serial"
)
print(found)

# %%
# The same as a picture: means over splits with standard errors. Blue are the best learner and those of which so
# great a distance to it may be chance (corrected p above 0.05). The last five take no cost: they know nothing
# of F1.

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
