"""
A guarantee on the mean cost
============================

``GuaranteedCost`` decides as many rows as it can while the mean cost stays at or below a level, with a
confidence that you choose, and hands the others over. The guarantee holds for any model; a poor model hands
over more rows.
"""

import numpy as np
from matplotlib import pyplot as plt

from clems import CLEMS, GuaranteedCost
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# A model is trained, and the guarantee is calibrated on rows that the model has not seen. The guaranteed quantity
# is the mean of 1 − F1 over all rows, where a row that is handed over costs nothing.

X, Y = digit_scenes(24000, random_state=0)
model = CLEMS("f1", n_trees=30, random_state=0).fit(X[:1000], Y[:1000])
levels = [0.1, 0.15, 0.2, 0.25, 0.3]
calibration = slice(1000, 1400)
for level in levels:
    safe = GuaranteedCost(model, level, confidence=0.9).fit(X[calibration], Y[calibration])
    print(f"at most {level:.2f}: {safe.share_handed_over_:.0%} of the calibration rows are handed over")

# %%
# Does the guarantee hold? We draw fifty calibration sets of 200 rows each, and for each of them compute the mean
# cost of many fresh rows.

fresh = slice(12000, None)
predicted, expected = model.predict(X[fresh]), model.expected_cost(X[fresh])
paid = model.cost_.rowwise(Y[fresh], predicted)
starts = 1400 + 200 * np.arange(50)
cost, share = np.empty((2, len(levels), len(starts)))
for line, level in enumerate(levels):
    for place, start in enumerate(starts):
        rows = slice(start, start + 200)
        threshold = GuaranteedCost(model, level, confidence=0.9).fit(X[rows], Y[rows]).threshold_
        decided = expected <= threshold
        cost[line, place], share[line, place] = paid[decided].sum() / len(paid), 1 - decided.mean()
broken = (cost > np.array(levels)[:, None]).mean()
print(f"broken: {broken:.1%} of {cost.size} guarantees; up to 10% are allowed")

# %%
# Each dot is a calibration set; its guarantee is broken if the dot lies to the right of the line of its level.
# The lower the level, the more rows are handed over.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True)
height = np.arange(len(levels))[:, None] + np.random.default_rng(0).uniform(-0.3, 0.3, cost.shape)
kept = cost <= np.array(levels)[:, None]
for axis, values in [(left, cost), (right, share)]:
    axis.scatter(values[kept], height[kept], s=14, color="C0", alpha=0.6)
    axis.scatter(values[~kept], height[~kept], s=22, color="C1")
left.vlines(levels, np.arange(len(levels)) - 0.4, np.arange(len(levels)) + 0.4, color="0.2")
left.text(levels[0] + 0.01, 0, "guaranteed", va="center", color="0.2")
left.set(yticks=range(len(levels)), yticklabels=[f"at most {level}" for level in levels], xlim=(0, None))
left.set(xlabel="mean cost of fresh rows (1 − F1)", title=f"Broken: {broken:.1%}, up to 10% are allowed")
left.tick_params(axis="y", length=0)
right.xaxis.set_major_formatter("{x:.0%}")
right.set(xlabel="share of fresh rows that are handed over", title="Price of the guarantee", xlim=(0, 1))
plt.show()
