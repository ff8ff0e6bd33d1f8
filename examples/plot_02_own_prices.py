"""
Your own prices: a miss costs more than a false alarm
=====================================================

A price list says what each mistake costs in euros. The model uses it for its decisions, and the result is an
amount of money.
"""

import pandas as pd
from matplotlib import pyplot as plt

from clems import CLEMS, weighted_hamming
from clems.datasets import digit_scenes
from clems.evaluation import savings

plt.style.use("clems.figures")

# %%
# Ten sensors, one for each digit, report what they see. Two of them watch expensive machines: missing an alarm of
# these costs 20 €, and missing an alarm of any other sensor costs 5 €. Following up a false alarm costs 2 €.
# Prices are matched to labels by name.

names = [f"sensor {digit}" for digit in range(10)]
prices = pd.DataFrame({"false_negative": 5, "false_positive": 2}, index=names)
prices.loc[["sensor 0", "sensor 9"], "false_negative"] = 20
cost = weighted_hamming(prices, name="prices")

X, Y = digit_scenes(2000, random_state=0)
Y = pd.DataFrame(Y, columns=names)
train, test = slice(1000), slice(1000, None)
model = CLEMS(cost, random_state=0).fit(X[train], Y[train])

# %%
# ``savings`` compares what was paid with simple ways to predict. The first, predicting everything more probable
# than ½, is what most people do; it uses the same probabilities.

found = savings(model, X[test], Y[test], unit="€")
print(found)

# %%
# With thresholds of ½, nearly all of the cost comes from misses. Decided by prices, there are more false alarms,
# but they pay off, above all for the two expensive machines.

answers = {"above ½": model.predict_proba(X[test]) > 0.5, "decided by prices": model.predict(X[test])}
figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharex=True, sharey=True)
for axis, (title, predicted) in zip(axes, answers.items(), strict=True):
    misses = (Y[test] > predicted).sum() * prices["false_negative"]
    alarms = (Y[test] < predicted).sum() * prices["false_positive"]
    axis.barh(names, misses, color="C1", height=0.7)
    axis.barh(names, alarms, left=misses, color="C0", height=0.7)
    axis.set(title=f"{title}: {misses.sum() + alarms.sum():,.0f} €", xlabel="paid on all new rows, in €")
    axis.tick_params(axis="y", length=0)
axes[0].text(0.97, 0.5, "misses", color="C1", weight="bold", ha="right", transform=axes[0].transAxes)
axes[0].text(0.97, 0.42, "false alarms", color="C0", weight="bold", ha="right", transform=axes[0].transAxes)
axes[0].invert_yaxis()
plt.show()
