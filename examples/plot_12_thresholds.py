"""
Thresholds: what a threshold of ½ costs
=======================================

Most people predict the labels more probable than ½. How much can a better threshold gain, and how much can you
gain by deciding each row for the cost?
"""

import numpy as np
from matplotlib import pyplot as plt

from clems import CLEMS, COSTS, weighted_hamming
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# We take one model and its probabilities. For each cost, all rows are decided with a single threshold, from 0 to
# 1.

X, Y = digit_scenes(3000, random_state=0)
train, test = slice(2000), slice(2000, None)
model = CLEMS("f1", random_state=0).fit(X[train], Y[train])
probability = model.predict_proba(X[test])
costs = {
    "Hamming loss": COSTS["hamming"],
    "1 − F1": COSTS["f1"],
    "rank loss": COSTS["rank"],
    "a miss costs ten": weighted_hamming(10, 1),
}
thresholds = np.linspace(0.01, 0.99, 50)

# %%
# The line shows the cost of each threshold, and the dashed line the cost of deciding each row for the cost. For
# Hamming loss, ½ is the right threshold. For the other costs the best threshold is far from ½, and deciding costs
# about as much as the lowest point of the line, which nobody knows without the labels of these very rows.

figure, axes = plt.subplots(1, 4, figsize=(10, 2.9))
for axis, (title, cost) in zip(axes, costs.items(), strict=True):
    cut = [cost.rowwise(Y[test], (probability > threshold).astype(int)).mean() for threshold in thresholds]
    half = cost.rowwise(Y[test], (probability > 0.5).astype(int)).mean()
    decided = cost.rowwise(Y[test], model.predict(X[test], cost=cost)).mean()
    best = thresholds[np.argmin(cut)]
    print(f"{title:17} at ½ {half:.3f}, best cut {min(cut):.3f} at {best:.2f}, decided {decided:.3f}")
    axis.plot(thresholds, cut, color="C6")
    axis.plot(0.5, half, "o", color="C1")
    axis.axhline(decided, color="C0", linestyle="--")
    axis.set(title=title, xlabel="threshold", xticks=[0, 0.5, 1], ylim=(0, 1.6 * half))
axes[0].set_ylabel("mean of new rows")
axes[3].text(0.56, half - 1.5, "cut at ½", color="C1")
axes[3].text(0.4, decided - 1.9, "decided", color="C0")
plt.show()
