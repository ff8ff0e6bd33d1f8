"""
Stratified splits: rare labels in every fold
============================================

With random folds, some folds have no row with a rare label. Iterative stratification distributes rows so that
each fold has its share of every label.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import KFold

from clems.model_selection import IterativeStratifiedKFold, split_quality

plt.style.use("clems.figures")

# %%
# Two thousand rows have thirty labels. Most labels are rare, as tags usually are.

rng = np.random.default_rng(0)
frequency = 0.3 * np.arange(1, 31) ** -1.3
Y = (rng.random((2000, 30)) < frequency).astype(int)
X = np.zeros((len(Y), 1))  # features play no part
print("rows with the most and the least frequent label:", Y.sum(axis=0).max(), Y.sum(axis=0).min())

# %%
# Both splitters have scikit-learn's interface: ``cross_val_score(model, X, Y, cv=...)`` accepts either.

splitters = {
    "random folds": KFold(10, shuffle=True, random_state=0),
    "iterative stratification": IterativeStratifiedKFold(10, shuffle=True, random_state=0),
}
folds = {name: [test for _, test in cv.split(X, Y)] for name, cv in splitters.items()}
for name, parts in folds.items():
    quality = split_quality(Y, parts)
    print(f"{name}: label distribution error {quality.label_distribution:.5f}, {quality.missing} empty cells")

# %%
# The pictures show the number of rows with each label in each fold, relative to the label's share: white is
# exactly the share. Crosses are labels that a fold does not have at all; with stratification, these are only
# labels with fewer rows than there are folds.

figure, axes = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True)
for axis, (name, parts) in zip(axes, folds.items(), strict=True):
    counts = np.array([Y[rows].sum(axis=0) for rows in parts])
    ratio = counts / (Y.sum(axis=0) / 10)
    picture = axis.imshow(ratio, cmap="PuOr", vmin=0, vmax=2, aspect="auto")
    fold, label = np.nonzero(counts == 0)
    axis.scatter(label, fold, marker="x", s=25, color="0.2", linewidth=1)
    axis.set(title=name, ylabel="fold", yticks=[0, 9], yticklabels=[1, 10])
    axis.spines[:].set_visible(False)
axes[1].set(xlabel="label, from frequent to rare", xticks=[0, 29], xticklabels=[1, 30])
figure.colorbar(picture, ax=axes, label="rows over their share", ticks=[0, 1, 2])
plt.show()
