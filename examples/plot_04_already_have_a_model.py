"""
I already have a model: decide with its probabilities
=====================================================

You can keep your classifier. ``CostSensitiveClassifier`` calibrates its probabilities on held-out rows and
decides for your cost, where most people use a threshold of ½.
"""

from matplotlib import pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clems import COSTS, CostSensitiveClassifier, decide
from clems.datasets import digit_scenes

plt.style.use("clems.figures")

# %%
# These are four unchanged classifiers from scikit-learn. A classifier for a single label is trained once for each
# label.

X, Y = digit_scenes(3000, random_state=0)
train, test = slice(2000), slice(2000, None)
classifiers = {
    "random forest": RandomForestClassifier(50, random_state=0),
    "nearest neighbours": KNeighborsClassifier(12),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
    "naive Bayes": GaussianNB(),
}

# %%
# The cost is 1 − F1. A threshold of ½ predicts the labels more probable than that, using the same probabilities.

cost = COSTS["f1"]
rows = {}
for name, classifier in classifiers.items():
    model = CostSensitiveClassifier(classifier, cost="f1", cv=3, random_state=0).fit(X[train], Y[train])
    half = cost.rowwise(Y[test], (model.predict_proba(X[test]) > 0.5).astype(int)).mean()
    decided = cost.rowwise(Y[test], model.predict(X[test])).mean()
    expected = model.expected_cost(X[test]).mean()
    rows[name] = half, decided, expected
    print(f"{name:20} at ½ {half:.2f}, decided {decided:.2f}, expected {expected:.2f}")

# %%
# If you have only probabilities, pass them to ``decide``, which uses them unchanged.

print(decide([[0.9, 0.45, 0.4], [0.6, 0.2, 0.1]], cost="f1"))

# %%
# Decided for the cost, the same classifiers pay less than with a threshold of ½, and what they expect to pay is
# close to what they pay.

figure, axis = plt.subplots(figsize=(7, 3.4))
for place, (half, decided, expected) in enumerate(rows.values()):
    axis.plot([decided, half], [place, place], color="C7", zorder=1)
    axis.scatter(half, place, s=80, color="C6")
    axis.scatter(decided, place, s=80, color="C0")
    axis.scatter(expected, place, s=160, marker="|", color="C1")
first = next(iter(rows.values()))
for value, text, colour in [(first[0], "cut at ½", "0.4"), (first[1], "decided", "C0")]:
    axis.annotate(text, (value, 0), (0, 12), textcoords="offset points", ha="center", color=colour)
axis.annotate("expected", (first[2], 0), (0, -22), textcoords="offset points", ha="center", color="C1")
axis.set(yticks=range(len(rows)), yticklabels=rows, ylim=(len(rows) - 0.6, -0.7))
axis.set(xlabel="1 − F1, mean of new rows", xlim=(0, 1.05))
axis.tick_params(axis="y", length=0)
plt.show()
