"""
First steps: train for the cost you pay
=======================================

The data are pictures of one to three overlapping digits, and the labels say which digits are there. The same
forest gives a different answer for each cost, which is the idea of this package.
"""

import numpy as np
from matplotlib import pyplot as plt

from clems import CLEMS, CRITERIA
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# The data needs no download. Each row is a picture of 11 × 11 pixels, and its labels say which of the ten digits
# are in it. ``fit`` and ``predict`` work as in scikit-learn; ``cost`` says what a mistake costs.

X, Y = digit_scenes(4000, random_state=0)
X_train, Y_train, X_test, Y_test = X[:3000], Y[:3000], X[3000:], Y[3000:]

model = CLEMS(cost="f1", random_state=0).fit(X_train, Y_train)
print("F1 of new rows:", round(model.score(X_test, Y_test), 3))

# %%
# Once trained, a model can decide for any other cost without training again. Each row of this table is a
# decision, and each column a criterion. A decision that is good by one criterion is poor by another: the decision
# for Hamming loss has the fewest wrong labels and the lowest F1.

costs = ["hamming", "f1", "accuracy", "rank"]
print(f"{'decided for':12}", *(f"{CRITERIA[cost].title + ' ' + CRITERIA[cost].arrow:>11}" for cost in costs))
for cost in costs:
    predicted = model.predict(X_test, cost=cost)
    print(f"{cost:12}", *(f"{CRITERIA[name](Y_test, predicted):11.3f}" for name in costs))

# %%
# The model also says how certain it is: the probability of each label, and the expected cost of its prediction.
# Below are three pictures with the probabilities of their digits, from one where the model is certain to one
# where it is not.

probability, predicted = model.predict_proba(X_test), model.predict(X_test)
expected = model.expected_cost(X_test)
rows = np.argsort(expected)[[50, 500, 950]]  # a sure one, one in the middle, an unsure one

figure, axes = plt.subplots(2, 3, figsize=(8, 4.4), height_ratios=[1.1, 1])
for (picture, bars), row in zip(axes.T, rows, strict=True):
    picture.imshow(X_test[row].reshape(11, 11), cmap="gray_r")
    picture.set(xticks=[], yticks=[])
    picture.spines[:].set_visible(True)
    picture.spines[:].set_color("C7")
    picture.set_title(f"expected cost {expected[row]:.2f}", loc="center", weight="normal")
    colours = np.where(predicted[row] == 1, "C0", "C7")
    bars.bar(range(10), probability[row], color=colours)
    bars.plot(np.flatnonzero(Y_test[row]), np.full(Y_test[row].sum(), 1.08), "o", color="C1", markersize=5)
    bars.set(xticks=range(10), ylim=(0, 1.15), yticks=[0, 0.5, 1], xlabel="digit")
axes[1, 0].set_ylabel("probability")
figure.suptitle("Blue digits are predicted for F1, orange dots are the truth", color="0.3")
plt.show()
