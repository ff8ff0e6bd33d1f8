"""
Landmarks: many label sets
==========================

Embedding all pairs of label sets takes time and memory that grow with the square of their number. With
landmarks, the solver embeds only some label sets, and each of the others is placed by its costs to these. What
does that save, and what is lost?
"""

from time import process_time

import numpy as np
from matplotlib import pyplot as plt

from clems import CLEMS, COSTS, mirrored_smacof
from clems.embedding.landmarks import embed_by_landmarks, number_of_landmarks, sampled_stress
from clems.embedding.smacof import label_start

plt.style.use("clems.figures")

# %%
# **Label sets** are generated to resemble tags: a row is about two of twelve themes, and a theme makes some of
# forty labels likely. Nearly every row has its own label set.

rng = np.random.default_rng(0)
themes = rng.beta(0.3, 1.5, size=(12, 40))
about = np.array([rng.choice(12, 2, replace=False) for _ in range(8000)])
Y = (rng.random((8000, 40)) < themes[about].max(axis=1)).astype(np.uint8)
distinct = rng.permutation(np.unique(Y, axis=0))
print(f"{len(Y)} rows have {len(distinct)} different label sets")

# %%
# ``CLEMS(landmarks="auto")``, the default, solves all label sets together until there are many, so you need not
# set anything:

for size in [1000, 5000, 10_000, 1_000_000]:
    print(f"{size:>9,} label sets: {number_of_landmarks('auto', size) or 'no'} landmarks")

# %%
# **Both ways** are run on more and more label sets, for F1, and until steps gain as little as CLEMS requires.
# Stress is the remaining difference between distances and square roots of costs, as a share of the latter; both
# ways are judged by the same sample of pairs. Time is processor time, the lower of two runs.


def wanted(truths, predictions):
    """Wanted distances of all pairs."""
    return np.sqrt(COSTS["f1"].of_pairs(truths, predictions, np.float32))


def embed(labels, landmarks):
    """Points of label sets, by landmarks or (None) all together."""
    tol, even, dimensions, draws = CLEMS().tol, np.ones(len(labels)), labels.shape[1], np.random.RandomState(0)
    if landmarks:
        return embed_by_landmarks(labels, even, wanted, dimensions, landmarks, draws, tol=tol)
    return mirrored_smacof(wanted(labels, labels), label_start(labels, dimensions, draws), even, tol=tol)


numbers = {None: "all together", 1000: "1,000 landmarks", 300: "300 landmarks", 100: "100 landmarks"}
sizes = np.array([1500, 2500, 4000, 6000])
seconds, stress = np.empty((2, len(numbers), len(sizes)))
for column, size in enumerate(sizes):
    labels = distinct[:size]
    for row, landmarks in enumerate(numbers):
        took = []
        for _ in range(2):
            start = process_time()
            found = embed(labels, landmarks)
            took.append(process_time() - start)
        seconds[row, column] = min(took)
        points = found.truth, found.prediction
        stress[row, column] = sampled_stress(labels, np.ones(size), wanted, *points, np.random.RandomState(1))
for title, times, left in zip(numbers.values(), seconds, stress, strict=True):
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"{title:>15}: {times[-1]:5.2f} s for {sizes[-1]}, growing as L^{exponent:.1f}; stress {left[-1]:.1e}")

# %%
# **The effect on predictions.** Points matter most if labels are decoded from the nearest point, so CLEMS decides
# that way here. We compare the F1 of the same new rows.

X = Y @ rng.normal(size=(40, 30)) + rng.normal(scale=4, size=(8000, 30))
train, test = slice(3000), slice(3000, None)
f1 = {}
for landmarks in numbers:
    model = CLEMS("f1", decoder="nearest", landmarks=landmarks, n_trees=20, random_state=0).fit(X[train], Y[train])
    f1[landmarks] = 1 - COSTS["f1"].rowwise(Y[test], model.predict(X[test]))
    print(f"{numbers[landmarks]:>15}: F1 {f1[landmarks].mean():.4f}")

# %%
# With landmarks, time does not grow with the square of the number of label sets; they pay off once there are
# several times as many label sets as landmarks. The remaining stress is higher than if all are solved together,
# and lower with more landmarks. The right picture shows the difference in F1 to solving all together, with two
# standard errors over new rows: if a bar crosses the line, these rows show no difference.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.5, 3.4), width_ratios=[1, 1, 0.9])
for axis, values in ((left, seconds), (middle, stress)):
    for place, (title, line) in enumerate(zip(numbers.values(), values, strict=True)):
        axis.loglog(sizes, line, "o-", color=f"C{place}", label=title, markersize=4)
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.minorticks_off()
    axis.set_xlabel("label sets")
left.set_title("Seconds")
left.set_yticks([0.1, 1], ["0.1", "1"])
middle.set_title("Stress")
for place, landmarks in enumerate(list(numbers)[1:], 1):
    difference = f1[landmarks] - f1[None]
    bar = 2 * difference.std(ddof=1) / np.sqrt(len(difference))
    right.errorbar(difference.mean(), -place, xerr=bar, fmt="o", color=f"C{place}", markersize=6)
right.axvline(0, color="C0")
right.set(title="Difference in F1", yticks=[], ylim=(-3.7, -0.3), xlim=(-0.011, 0.011), xticks=[-0.01, 0, 0.01])
right.set_xlabel("landmarks less all together")
right.spines["left"].set_visible(False)
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
plt.show()
