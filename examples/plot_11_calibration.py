"""
Calibration: are the probabilities right?
=========================================

Expected costs are only as accurate as the probabilities behind them. An overconfident or underconfident
classifier decides badly for every cost except the one its threshold was chosen for. Held-out rows correct this.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clems import CostSensitiveClassifier, weighted_hamming
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# Naive Bayes counts the same evidence many times, so it is nearly always certain. The same classifier is used
# unchanged, and calibrated on rows that are held out in folds.

X, Y = digit_scenes(3000, random_state=0)
train, test = slice(2000), slice(2000, None)
bayes = make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-2))
prices = weighted_hamming(10, 1, name="prices")
ways = {
    "uncalibrated": CostSensitiveClassifier(bayes, prices, calibration=None, joint="independent", random_state=0),
    "calibrated": CostSensitiveClassifier(bayes, prices, joint="independent", random_state=0),
}
for model in ways.values():
    model.fit(X[train], Y[train])
print("log loss of held-out rows by each method:", ways["calibrated"].calibration_.log_loss)
print("chosen:", ways["calibrated"].calibration_.method)

# %%
# Each dot is a tenth of all probabilities: the mean predicted probability, and the share of labels that were
# true. On the diagonal, both are equal. Beside it are the expected and the actual cost of rows if a miss costs 10
# and a false alarm 1.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), width_ratios=[1.2, 1])
left.plot([0, 1], [0, 1], color="C7", linewidth=1)
for place, (name, model) in enumerate(ways.items()):
    said, true = model.predict_proba(X[test]).ravel(), Y[test].ravel()
    groups = np.array_split(np.argsort(said, kind="stable"), 10)
    points = np.array([[said[rows].mean(), true[rows].mean()] for rows in groups])
    left.plot(*points.T, "o-", color=f"C{1 - place}", label=name)
    expected, paid = model.expected_cost(X[test]).mean(), prices.rowwise(Y[test], model.predict(X[test])).mean()
    print(f"{name}: {expected:.2f} expected, {paid:.2f} paid")
    for shift, value, what in [(-0.2, expected, "expected"), (0.2, paid, "paid")]:
        right.bar(place + shift, value, 0.36, color=f"C{1 - place}", alpha=0.5 if what == "expected" else 1)
        right.text(place + shift, value + 0.1, f"{what}\n{value:.1f}", ha="center", color="0.3")
left.text(0.62, 0.25, "uncalibrated", color="C1", weight="bold")
left.text(0.1, 0.42, "calibrated", color="C0", weight="bold")
left.set(xlabel="predicted probability", ylabel="share that was true", title="Probabilities of labels")
right.set(xticks=[0, 1], xticklabels=ways, ylabel="cost of a row", title="Costs")
right.margins(y=0.2)
plt.show()
