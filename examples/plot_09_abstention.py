"""
Abstention: which rows to hand to a person
==========================================

If a row is expected to cost more than a person's time, it is better to hand it over. ``abstain_at`` does that.
Whether it pays depends on how well a model knows which rows will be expensive.
"""

from matplotlib import pyplot as plt

from clems import CLEMS, weighted_hamming
from clems.datasets import digit_scenes
from clems.evaluation import evaluate

plt.style.use("clems.figures")

# %%
# Missing the digit 0 or 9 costs 20 €, missing any other digit costs 5 €, and a false alarm costs 2 €. If a person
# looks at a row, that costs 6 €.

PERSON = 6
prices = weighted_hamming([20, 5, 5, 5, 5, 5, 5, 5, 5, 20], 2, name="prices")
X, Y = digit_scenes(2500, random_state=0)
train, test = slice(1500), slice(1500, None)
model = CLEMS(prices, n_trees=50, random_state=0).fit(X[train], Y[train])

# %%
# Rows that are handed over are masked; the model's own prediction for them is still available in ``.data``.

predicted = model.predict(X[test], abstain_at=PERSON)
handed_over = predicted.mask.any(axis=1)
paid = prices.rowwise(Y[test], predicted.data)
share = handed_over.mean()
mean = paid[~handed_over].sum() / len(paid) + PERSON * share
print(f"all decided: {paid.mean():.2f} € a row; {share:.0%} handed over: {mean:.2f} €")

# %%
# The curve hands over the rows with the highest expected cost first. It lies between handing over random rows and
# handing over the most expensive rows, which nobody knows beforehand. The choice of ``abstain_at``, made without
# a single true label, costs little more than the lowest point of the curve.

curve = evaluate(model, X[test], Y[test], abstain_at=PERSON).abstention
figure, axis = plt.subplots()
lines = [("random", "C6", "at random"), ("cost", "C0", "by expected cost"), ("perfect", "C2", "the most expensive")]
for column, colour, name in lines:
    axis.plot(curve["share"], curve[column], color=colour)
    axis.text(0.3, curve[column][6] + 0.12, name, color=colour, weight="bold")
axis.plot(share, mean, "o", color="C1", markersize=9)
axis.annotate(
    "abstain_at", (share, mean), (-14, 12), textcoords="offset points", color="C1", ha="center", weight="bold"
)
axis.xaxis.set_major_formatter("{x:.0%}")
axis.set(xlabel="share of rows that are handed over", ylabel="€ a row, with the person's", ylim=(3.5, None))
plt.show()
