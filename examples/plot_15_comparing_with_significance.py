"""
Comparing with significance: is it more than chance?
====================================================

Two models differ in the third digit on one test set. Their intervals may overlap although the difference is
real: both models are measured on the same rows, so what matters is the interval of the difference.
"""

import numpy as np
from matplotlib import pyplot as plt

from clems import CLEMS
from clems.datasets import digit_scenes
from clems.evaluation import bootstrap

plt.style.use("clems.figures")

# %%
# One model decides for F1. It is compared with small variations: decided for accuracy, with a fifth of the trees,
# and without the expert that CLEMS adds.

X, Y = digit_scenes(2500, random_state=0)
train, test = slice(1500), slice(1500, None)
model = CLEMS("f1", random_state=0).fit(X[train], Y[train])
smaller = CLEMS("f1", n_trees=20, random_state=0).fit(X[train], Y[train])
forest = CLEMS("f1", experts=None, random_state=0).fit(X[train], Y[train])
predictions = {
    "the model": model.predict(X[test]),
    "for accuracy": model.predict(X[test], cost="accuracy"),
    "20 trees": smaller.predict(X[test]),
    "no expert": forest.predict(X[test]),
}

# %%
# ``bootstrap`` resamples the rows a thousand times, with the same rows for all models. ``lead`` is the difference
# between two models with its interval.

found = bootstrap(predictions, Y[test], ["f1"])
leads = {name: found.lead(0, place, 0) for place, name in enumerate(found.models) if place}
for name, (value, low, high) in leads.items():
    print(f"the model − {name}: {value:.3f}, 95 % interval {low:.3f} to {high:.3f}")

# %%
# On the left is each model by itself: all intervals of the first three overlap. On the right is how far the model
# is ahead, row by row. If an interval does not include 0 (green), the difference is more than chance in the
# choice of test rows. It does not say what another training set would do; ``compare`` repeats the training, too.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.2), sharey=True)
for place, name in enumerate(found.models):
    value, low, high = found.value[place, 0], found.low[place, 0], found.high[place, 0]
    left.errorbar(value, place, xerr=[[value - low], [high - value]], fmt="o", color="C0", capsize=3)
    if place:
        value, low, high = leads[name]
        colour = "C1" if low <= 0 <= high else "C2"
        right.errorbar(value, place, xerr=[[value - low], [high - value]], fmt="o", color=colour, capsize=3)
right.axvline(0, color="0.4", linewidth=1)
left.set(yticks=np.arange(4), yticklabels=found.models, xlabel="F1 with its interval", title="Each by itself")
right.set(xlabel="lead of the model in F1 with its interval", title="Row by row", ylim=(3.5, -0.5))
left.tick_params(axis="y", length=0)
plt.show()
