"""
The label map: which label sets a cost considers similar
========================================================

CLEMS places label sets so that distances are costs: label sets that are close together are cheap to confuse.
Another cost gives another map of the same label sets.
"""

from matplotlib import pyplot as plt

from clems import CLEMS, weighted_hamming
from clems.datasets import digit_scenes
from clems.evaluation.label_map import make_map

plt.style.use("clems.figures")

# %%
# The scenes have only the digits 0 to 3, so that the map has few label sets. The first cost is F1; under the
# second, a missed 0 costs ten times as much as any other mistake.

X, Y = digit_scenes(6000, random_state=0)
rows = Y[:, 4:].sum(axis=1) == 0
X, Y = X[rows], Y[rows, :4]
costs = {"F1": "f1", "a missed 0 costs ten": weighted_hamming([10, 1, 1, 1], 1, name="prices")}
maps = {title: make_map(CLEMS(cost, n_trees=10, random_state=0).fit(X, Y)) for title, cost in costs.items()}

# %%
# A map has two points for each label set, one as the truth and one as the prediction, because a cost need not be
# symmetric. ``plot.label_map`` and the report draw an interactive map; this one uses matplotlib. The output says
# how much of the variation the two axes show, because it is never all of it.
#
# For F1, both roles nearly coincide, and label sets that share digits are close together. Under the prices,
# truths with a 0 (on the right) are far from predictions without it (on the left). Predictions with a 0 lie in
# between, because a 0 that is a false positive costs little.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4))
for axis, (title, found) in zip(axes, maps.items(), strict=True):
    print(f"{title}: {found.share:.0%} of the variation is in the two axes")
    for names, truth, prediction in zip(found.sets, found.truth, found.prediction, strict=True):
        axis.plot(*zip(truth, prediction, strict=True), color="C7", linewidth=1, zorder=1)
        axis.annotate(" ".join(names), truth, (9, 0), textcoords="offset points", va="center", size=9, color="0.3")
    axis.scatter(*found.truth.T, s=150 * (found.frequency / found.total) ** 0.5, color="C0", zorder=2)
    axis.scatter(*found.prediction.T, s=20, facecolor="white", edgecolor="C1", zorder=3)
    axis.set(title=title, xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    axis.margins(0.15)
axes[0].text(0, 0, "● truth, larger if frequent", color="C0", transform=axes[0].transAxes)
axes[0].text(0, -0.06, "○ prediction", color="C1", transform=axes[0].transAxes)
plt.show()
