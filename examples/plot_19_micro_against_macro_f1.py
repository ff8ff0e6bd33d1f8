"""
Micro against macro F1: how much rare labels count
==================================================

Micro F1 pools all labels, so frequent labels dominate it. Macro F1 is the mean over labels, so a rare label
counts as much as any other. Both are optimised by thresholds of probabilities: one for all labels, or one for
each.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import f1_score

from clems import CLEMS, CRITERIA
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# The data are digit scenes in which high digits are rare: most scenes with such a digit are left out.

X, Y = digit_scenes(9000, random_state=0)
keep = 0.75 ** np.arange(10)
rng = np.random.default_rng(0)
rows = rng.random(len(Y)) < np.where(Y == 1, keep, 1).min(axis=1)
X, Y = X[rows], Y[rows]
train, test = slice(1500), slice(1500, None)
print("rows with each digit in training:", Y[train].sum(axis=0))

# %%
# One fit serves both criteria.

model = CLEMS("macro_f1", random_state=0).fit(X[train], Y[train])
answers = {name: model.predict(X[test], cost=name) for name in ("micro_f1", "macro_f1")}
for name, predicted in answers.items():
    values = [f"{CRITERIA[other].title} {CRITERIA[other](Y[test], predicted):.3f}" for other in answers]
    print(f"decided for {CRITERIA[name].title}:", ", ".join(values))

# %%
# The left picture shows the F1 of each digit. Decided for macro F1, rare digits are predicted more often and have
# a higher F1; frequent digits hardly change.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6))
for place, (name, predicted) in enumerate(answers.items()):
    colour = f"C{place}"
    by_label = f1_score(Y[test], predicted, average=None, zero_division=0)
    left.plot(by_label, "o-", color=colour)
    right.plot(predicted.sum(axis=0) / Y[test].sum(axis=0), "o-", color=colour)
    left.text(0.05, 0.15 - 0.08 * place, f"for {CRITERIA[name].title}", color=colour, transform=left.transAxes)
right.axhline(1, color="C7", linewidth=1)
for axis in (left, right):
    axis.set(xticks=range(10), xlabel="digit, from frequent to rare")
left.set(title="F1 of a digit", ylim=(0, 1))
right.set(title="Predicted rows over true ones", ylim=(0, None))
plt.show()
