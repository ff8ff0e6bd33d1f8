"""
The embedding, step by step
===========================

CLEMS turns label sets into points whose distances are costs, learns to predict the point of a row, and decodes
the labels of a nearby point. This page shows the steps one by one, for three labels and in two dimensions, so
that they can be drawn.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.neighbors import KNeighborsRegressor

from clems import COSTS, mirrored_smacof
from clems.datasets import digit_scenes
from clems.embedding.smacof import label_start

plt.style.use("clems.figures")

# %%
# **Candidates** are the label sets seen in training, here those of the digits 0, 1 and 2, with their frequencies.

X, Y = digit_scenes(12000, random_state=0)
rows = Y[:, 3:].sum(axis=1) == 0
X, Y = X[rows], Y[rows, :3]
train, test = slice(len(Y) // 2), slice(len(Y) // 2, None)
candidates, index, frequency = np.unique(Y[train], axis=0, return_inverse=True, return_counts=True)
names = ["".join(str(digit) for digit in np.flatnonzero(one)) for one in candidates]
print(dict(zip(names, frequency.tolist(), strict=True)))

# %%
# **Costs** are computed for all pairs, with truths in rows and predictions in columns. Their square roots are the
# target distances.

costs = COSTS["f1"].pairwise(candidates, candidates)
distances = np.sqrt(costs)

# %%
# **Points**: SMACOF moves a truth and a prediction point of each candidate until their distances match the
# targets. Stress measures the remaining differences; 0 is perfect. It never rises.

embedding = mirrored_smacof(distances, label_start(candidates, 2, np.random.RandomState(0)), frequency)
print(f"stress {embedding.history[0]:.3f} at first, {embedding.stress:.3f} after {embedding.n_iter} steps")

# %%
# **Regression** maps pixels to the point of the truth, and **decoding** finds the prediction whose point is
# nearest.

regressor = KNeighborsRegressor(12, weights="distance").fit(X[train], embedding.truth[index.ravel()])
predicted = regressor.predict(X[test])
to_prediction = np.linalg.norm(predicted[:, None] - embedding.prediction, axis=2)
decided = candidates[to_prediction.argmin(axis=1)]
print(f"F1 of new rows: {1 - COSTS['f1'].rowwise(Y[test], decided).mean():.3f}")

# %%
# In the right picture, crosses are prediction points. Dots are the points that the regressor predicts for new
# rows, in the colour of the nearest candidate.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.5, 3.6), width_ratios=[1, 0.8, 1.3])
left.imshow(costs, cmap="Blues")
for truth, prediction in np.ndindex(costs.shape):
    value = costs[truth, prediction]
    colour = "white" if value > 0.6 else "0.2"
    left.text(prediction, truth, f"{value:.1f}", ha="center", va="center", size=8, color=colour)
left.set(xticks=range(len(names)), yticks=range(len(names)), title="1. Costs", xlabel="prediction", ylabel="truth")
left.set_xticklabels(names)
left.set_yticklabels(names)
left.spines[:].set_visible(False)
left.tick_params(length=0)
middle.plot(range(1, embedding.n_iter + 1), embedding.history)
middle.set(title="2. Stress", xlabel="step", ylim=(0, None), xticks=[1, 4, 8, 12])
for place, (name, point) in enumerate(zip(names, embedding.prediction, strict=True)):
    near = predicted[to_prediction.argmin(axis=1) == place]
    right.scatter(*near.T, s=8, alpha=0.5, color=f"C{place}", linewidth=0)
    right.plot(*point, "x", color="0.1", markersize=7, markeredgewidth=2)
    right.annotate(name, point, (6, 4), textcoords="offset points", weight="bold", color="0.1")
right.set(title="3. New rows and the nearest candidates", xticks=[], yticks=[], aspect="equal")
right.spines[:].set_visible(False)
plt.show()
