"""
Your own cost function: any Python function works
=================================================

Some costs are not price lists. A service team sends one specialist for each label of a job. Every specialist
who is sent but not needed costs a day; and if anyone is missing, no matter how many, the team has to come
again.
"""

from matplotlib import pyplot as plt

from clems import CLEMS, get_cost, weighted_hamming
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# A cost is a function of truths and predictions, two arrays of zeros and ones. It returns a number of at least 0
# for each row, and 0 where both are equal. In this example, digits stand for specialists.

SECOND_TRIP = 6


def days_lost(Y, P):
    """One day for each false positive, six for a second trip if there is any false negative."""
    return (P > Y).sum(axis=1) + SECOND_TRIP * (Y > P).any(axis=1)


X, Y = digit_scenes(3000, random_state=0)
train, test = slice(2000), slice(2000, None)
model = CLEMS(days_lost, random_state=0).fit(X[train], Y[train])

# %%
# There is no formula for the best answer under such a cost, so the model searches the label sets that it has
# seen, and others close to the best of these. The other answers come from the same model, decided for built-in
# costs and for a price list that counts every single miss as a second trip.

answers = {
    "for days lost": model.predict(X[test]),
    "for prices": model.predict(X[test], cost=weighted_hamming(SECOND_TRIP, 1)),
    "for F1": model.predict(X[test], cost="f1"),
    "the most probable set": model.predict(X[test], cost="zero_one"),
    "for Hamming loss": model.predict(X[test], cost="hamming"),
}
cost = get_cost(days_lost)
paid = {name: cost.rowwise(Y[test], predicted).mean() for name, predicted in answers.items()}
extra = {name: (predicted > Y[test]).sum(axis=1).mean() for name, predicted in answers.items()}
for name in answers:
    print(f"{name:22} {paid[name]:.2f} days lost, {extra[name]:.2f} for those not needed")

# %%
# The decision for the cost itself loses the fewest days per job. It sends more specialists who are not needed
# than the decisions for built-in costs, but fewer than the decision for the price list.

figure, axis = plt.subplots(figsize=(7, 3.2))
names = [*answers][::-1]
axis.barh(names, [extra[name] for name in names], color="C0", height=0.6)
trips = [paid[name] - extra[name] for name in names]
bars = axis.barh(names, trips, left=[extra[name] for name in names], color="C1", height=0.6)
axis.bar_label(bars, [f"{paid[name]:.2f}" for name in names], padding=4)
axis.text(0.05, len(names) - 0.45, "not needed", color="C0", va="bottom")
axis.text(extra[names[-1]] + 0.05, len(names) - 0.45, "second trips", color="C1", va="bottom")
axis.set(xlabel="days lost for a job, mean of new rows")
axis.tick_params(axis="y", length=0)
plt.show()
