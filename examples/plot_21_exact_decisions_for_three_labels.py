"""
Exact decisions, drawn for three labels
=======================================

Three labels have eight label sets. Which of them is best depends on the probabilities and on the cost: each
cost divides the square of probabilities into different regions.
"""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap

from clems import Posterior, decide, get_cost, weighted_hamming

plt.style.use("clems.figures")

# %%
# The axes show the probabilities of labels A and B; label C has a probability of 0.3, and labels are independent.

STEPS = 201
C = 0.3
axis_values = np.linspace(0, 1, STEPS)
A, B = np.meshgrid(axis_values, axis_values)
P = np.column_stack([A.ravel(), B.ravel(), np.full(A.size, C)])
costs = {
    "Hamming: above ½": "hamming",
    "zero-one: most probable set": "zero_one",
    "F1": "f1",
    "accuracy (Jaccard)": "accuracy",
    "rank: above the mean": "rank",
    "a missed A costs five": weighted_hamming([5, 1, 1], 1),
}

# %%
# ``decide`` is exact for all of these costs. As a check, a few hundred points are decided again by trying all
# eight label sets.

sets = (np.arange(8)[:, None] >> np.arange(3)) & 1
some = np.random.default_rng(0).choice(len(P), 300, replace=False)
for title, cost in costs.items():
    likelihood = np.where(sets == 1, P[some, None], 1 - P[some, None]).prod(axis=2)
    least = (likelihood @ get_cost(cost).pairwise(sets, sets)).min(axis=1)
    posterior = Posterior.from_marginals(P[some])
    gap = np.abs(posterior.expected_cost(posterior.decide(cost), cost) - least).max()
    print(f"{title:30} largest distance to the best of eight: {gap:.0e}")

# %%
# Hamming loss, zero-one loss and prices consider one label at a time; an expensive miss moves only the border of
# A. For F1 and accuracy, labels below ½ are predicted together where none of them is certain. For rank loss only
# the mean matters, so all regions meet where the three labels are equally probable.

colours = ListedColormap(["#f0f0f0", "#56B4E9", "#E69F00", "#0072B2", "#cccccc", "#9ad0b9", "#f2c4a0", "#CC79A7"])
figure, axes = plt.subplots(2, 3, figsize=(8.5, 5.8), sharex=True, sharey=True)
for axis, (title, cost) in zip(axes.flat, costs.items(), strict=True):
    number = (decide(P, cost) @ [1, 2, 4]).reshape(STEPS, STEPS)
    axis.imshow(number, origin="lower", extent=(0, 1, 0, 1), cmap=colours, vmin=0, vmax=7)
    axis.contour(axis_values, axis_values, number, levels=np.arange(7) + 0.5, colors="white", linewidths=1)
    for which in np.unique(number):
        place = np.argwhere(number == which)
        if len(place) > 0.005 * number.size:
            row, column = place[np.square(place - place.mean(axis=0)).sum(axis=1).argmin()]
            name = "".join(letter for letter, has in zip("ABC", sets[which], strict=True) if has) or "none"
            axis.text(axis_values[column], axis_values[row], name, ha="center", va="center", size=9)
    axis.set_title(title, size=10)
for axis in axes[1]:
    axis.set_xlabel("probability of A")
for axis in axes[:, 0]:
    axis.set_ylabel("probability of B")
plt.show()
