"""
Missing values: what they cost, and what they reveal
====================================================

Trees accept missing values directly. This is about as good as imputing them if values are missing at random,
and better if the fact that a value is missing carries information: a doctor does not order a test that nobody
needs.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from clems import CLEMS, CRITERIA

plt.style.use("clems.figures")

# %%
# There are six diagnoses, each with a test whose result is higher if the diagnosis is true. Tests are missing
# either at random, or only for patients who do not have the condition. NaN is a missing value.

rng = np.random.default_rng(0)
Y = (rng.random((2000, 6)) < 0.3).astype(int)
X = Y + rng.normal(0, 0.8, Y.shape)
luck = rng.random(X.shape)
train, test = slice(1000), slice(1000, None)
missing = {
    "any test may be missing": lambda share: luck < share,
    "unneeded tests are missing": lambda share: (luck < share) & (Y == 0),
}
shares = [0, 0.2, 0.4, 0.6, 0.8]

# %%
# CLEMS accepts missing values directly: each split of a tree learns to which side they go. The alternative is a
# transformer that replaces them with the mean of the column, as in any scikit-learn pipeline.

learner = CLEMS("f1", n_trees=50, random_state=0)
ways = {"missing values kept": learner, "replaced by the mean": make_pipeline(SimpleImputer(), learner)}
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True)
for axis, (title, gaps) in zip(axes, missing.items(), strict=True):
    for place, (name, model) in enumerate(ways.items()):
        values = []
        for share in shares:
            with_gaps = np.where(gaps(share), np.nan, X)
            predicted = model.fit(with_gaps[train], Y[train]).predict(with_gaps[test])
            values.append(CRITERIA["f1"](Y[test], predicted))
        axis.plot(shares, values, "o-", color=f"C{place}")
        print(f"{title}, {name}:", *(f"{value:.3f}" for value in values))
    axis.xaxis.set_major_formatter("{x:.0%}")
    axis.set(title=title, xlabel="share of these tests")
for place, name in enumerate(ways):
    axes[0].text(0.03, 0.9 - 0.08 * place, name, color=f"C{place}", weight="bold", transform=axes[0].transAxes)
axes[0].set_ylabel("F1 of new rows")
plt.show()
