"""
Budgets: at most so many labels
===============================

A page has room for two tags, and a doctor for three suspected diagnoses. ``at_most`` and ``exactly`` return the
best answer within such a budget, which is not the unrestricted answer cut short.
"""

import numpy as np
from matplotlib import pyplot as plt

from clems import CLEMS, weighted_hamming
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# Prices make budgets interesting: missing one of the digits 0 to 4 costs 3, missing any other costs 10, and a
# false alarm costs 1. Under such prices, a model without a budget predicts many labels.

prices = weighted_hamming([3] * 5 + [10] * 5, 1, name="prices")
X, Y = digit_scenes(2000, random_state=0)
train, test = slice(1200), slice(1200, None)
model = CLEMS(prices, n_trees=50, random_state=0).fit(X[train], Y[train])
free = model.predict(X[test])
drawn, true = free.sum(axis=1).mean(), Y[test].sum(axis=1).mean()
print(f"labels of a row without a budget: {drawn:.1f} on average, in truth {true:.1f}")

# %%
# The usual shortcut is to keep the most probable labels of the unrestricted answer. A budget leads to a new
# decision instead, because which labels are worth predicting also depends on their prices.


def cut_short(predicted, probability, budget):
    """Keep the most probable of the predicted labels, as many as the budget allows."""
    order = np.argsort(-np.where(predicted == 1, probability, -1), axis=1)
    place = np.argsort(order, axis=1)
    return predicted * (place < budget)


budgets = np.arange(0, 8)
probability = model.predict_proba(X[test])
within = [prices.rowwise(Y[test], model.predict(X[test], at_most=int(budget))).mean() for budget in budgets]
short = [prices.rowwise(Y[test], cut_short(free, probability, budget)).mean() for budget in budgets]
exactly = [prices.rowwise(Y[test], model.predict(X[test], exactly=int(budget))).mean() for budget in budgets]

# %%
# With a small budget, the new decision is cheaper than the answer cut short. With a large budget, both equal the
# unrestricted answer, and predicting exactly that many labels costs more.

figure, axis = plt.subplots()
axis.plot(budgets, short, "o-", color="C6")
axis.plot(budgets, exactly, "o-", color="C1")
axis.plot(budgets, within, "o-", color="C0")
axis.text(1.1, short[1] + 0.25, "cut short", color="C6", weight="bold")
axis.text(7.1, within[7], "at most", color="C0", weight="bold", va="center")
axis.text(7.1, exactly[7], "exactly", color="C1", weight="bold", va="center")
axis.set(xlabel="labels that a row may have", ylabel="cost of a new row", xlim=(-0.2, 7.9))
plt.show()
