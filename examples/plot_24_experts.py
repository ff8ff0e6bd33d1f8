"""
Experts, and what they add to a forest
======================================

A forest knows which labels occur together, while a linear or kernel model of single labels often has better
probabilities. CLEMS combines both, as far as that lowers the cost of held-out rows.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from tickets import tickets  # generated support tickets; the file is beside this one

from clems import CLEMS, COSTS
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# There are three kinds of data: pictures, on which a Gaussian kernel does well; text, on which a linear model may
# do well; and rules with thresholds on single features, for which trees are made.

pictures = digit_scenes(2000, random_state=0)
table = tickets(2000, 1)
text = TfidfVectorizer().fit_transform(table["text"]), table["tags"].str.get_dummies(";").to_numpy()
rng = np.random.default_rng(0)
features = rng.random((2000, 30))
steps = np.column_stack([(features[:, k] > 0.6) ^ (features[:, k + 5] > 0.3) for k in range(5)])
rules = features, (steps ^ (rng.random(steps.shape) < 0.05)).astype(int)

# %%
# We fit CLEMS with and without an expert. ``mixture_costs_`` has the cost of held-out training rows for each
# mixture, with its weight of the expert, and ``mixture_`` has the choice. Weight 0 is the forest alone.

found = {}
for name, (X, Y) in {"pictures": pictures, "text": text, "rules": rules}.items():
    with_expert = CLEMS("f1", n_trees=50, random_state=0).fit(X[:1000], Y[:1000])
    alone = CLEMS("f1", n_trees=50, experts=None, random_state=0).fit(X[:1000], Y[:1000])
    test = [COSTS["f1"].rowwise(Y[1000:], model.predict(X[1000:])).mean() for model in (alone, with_expert)]
    found[name] = with_expert, test
    expert, weight = ", ".join(with_expert.experts_), with_expert.mixture_.weight
    print(f"{name:9} expert {expert}, weight {weight}; 1 − F1 of new rows: {test[0]:.3f} alone, {test[1]:.3f} mixed")

# %%
# Left: the held-out cost for each weight, relative to the forest alone; a ring marks the choice. Right: what this
# gains on new rows. It is much for pictures and text, and little for rules.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.6), width_ratios=[1.4, 1])
for place, (name, (model, (alone, mixed))) in enumerate(found.items()):
    weights, costs = np.array([(mixture.weight, cost) for mixture, cost in model.mixture_costs_.items()]).T
    left.plot(weights, costs / costs[0], "o-", color=f"C{place}", markersize=4)
    chosen = np.flatnonzero(weights == model.mixture_.weight)[0]
    left.plot(weights[chosen], costs[chosen] / costs[0], "o", markersize=11, fillstyle="none", color=f"C{place}")
    left.annotate(name, (weights[-1], costs[-1] / costs[0]), (8, -3), textcoords="offset points", color=f"C{place}")
    right.plot([alone, mixed], [place, place], color="C7", zorder=1)
    right.scatter(alone, place, s=70, color="C6")
    right.scatter(mixed, place, s=70, color=f"C{place}")
model, (alone, mixed) = found["pictures"]
right.text(alone, -0.2, "alone", color="C6", ha="center")
right.text(mixed, -0.2, "mixed", color="C0", ha="center")
left.axhline(1, color="C7", linewidth=1)
left.set(xlabel="weight of the expert", ylabel="held-out cost, forest alone = 1", xlim=(-0.03, 0.95))
right.set(yticks=range(3), yticklabels=found, xlabel="1 − F1 of new rows", ylim=(2.5, -0.6), xlim=(0.18, 0.52))
right.tick_params(axis="y", length=0)
plt.show()
