"""
Rank loss, and why marginals suffice
====================================

Rank loss counts pairs of labels in the wrong order, so it seems necessary to know how labels depend on each
other. It is not: the best prediction has the labels more probable than the mean of the row.
"""

import numpy as np
from matplotlib import pyplot as plt

from clems import Posterior

plt.style.use("clems.figures")

# %%
# With s true labels of K, rank loss is fn · fp + ½ fn · tn + ½ tp · fp, which equals ½ s · fp + ½ (K − s) · fn, a
# sum over labels. Predicting label k changes the expected cost by ½ (E[s] − K p_k), and E[s] is the sum of the
# marginals p_1 … p_K. So it pays to predict a label if its marginal exceeds the mean of the marginals.
#
# To illustrate this, we draw forty random distributions over the sixteen sets of four labels and adjust them,
# label by label, until all have the same marginals.

marginals = np.array([0.7, 0.5, 0.3, 0.2])
sets = (np.arange(16)[:, None] >> np.arange(4)) & 1
rng = np.random.default_rng(0)
shares = rng.dirichlet(np.full(16, 0.3), 40)
for _ in range(300):
    for label, wanted in enumerate(marginals):
        has = sets[:, label] == 1
        shares[:, has] *= wanted / shares[:, has].sum(axis=1, keepdims=True)
        shares[:, ~has] *= (1 - wanted) / shares[:, ~has].sum(axis=1, keepdims=True)
posterior = Posterior.from_label_sets(sets, shares / shares.sum(axis=1, keepdims=True))
print("largest distance to the marginals:", f"{np.abs(posterior.marginals - marginals).max():.0e}")

# %%
# All decisions under these distributions:

for cost in ("rank", "f1"):
    decided = np.unique(posterior.decide(cost), axis=0)
    print(cost, [" ".join(str(label + 1) for label in np.flatnonzero(row)) for row in decided])

# %%
# The expected cost of each of the sixteen predictions, minus that of predicting nothing; each tick is one
# distribution. For rank loss all forty ticks coincide; for F1 it matters how labels depend on each other.

order = np.argsort([posterior.expected_cost(np.tile(one, (len(posterior), 1)), "rank").mean() for one in sets])
figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.8))
for axis, (cost, title) in zip(axes, {"rank": "rank loss", "f1": "1 − F1"}.items(), strict=True):
    expected = np.array([posterior.expected_cost(np.tile(one, (len(posterior), 1)), cost) for one in sets[order]])
    nothing = expected[np.flatnonzero(order == 0)]
    axis.axhline(0, color="C7", linewidth=1)
    axis.plot(expected - nothing, "_", color="C0", markersize=11, markeredgewidth=1, alpha=0.7)
    names = ["".join(str(label + 1) for label in np.flatnonzero(one)) or "–" for one in sets[order]]
    axis.set(title=title, xticks=range(16), xlabel="labels predicted")
    axis.set_xticklabels(names, rotation=90)
axes[0].set_ylabel("expected cost, less that of nothing")
plt.show()
