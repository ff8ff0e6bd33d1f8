"""
CLEMS in sixty lines
====================

The algorithm of the paper in plain numpy and scikit-learn, to be read in one sitting: Huang & Lin (2017),
Cost-sensitive label embedding for multi-label classification, Machine Learning 106. ``CLEMS`` with
``decoder="nearest"`` computes the same; it is faster, checks its input, and has options at every step.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.neighbors import KNeighborsRegressor

from clems.datasets import digit_scenes

# %%
# **1. Costs.** A cost says what predicting p costs if y is true. It is a matrix with truths in rows and
# predictions in columns.


def hamming_cost(Y, P):
    """c(y, p) = share of labels that are wrong: |y| + |p| − 2 |y ∩ p| of K."""
    return (Y.sum(axis=1)[:, None] + P.sum(axis=1) - 2 * Y @ P.T) / Y.shape[1]


def f1_cost(Y, P):
    """c(y, p) = 1 − F1 = 1 − 2 |y ∩ p| / (|y| + |p|), and 0 for two empty sets."""
    sizes = Y.sum(axis=1)[:, None] + P.sum(axis=1)
    return np.where(sizes > 0, 1 - 2 * Y @ P.T / np.maximum(sizes, 1), 0)


# %%
# **2. Points.** Label vectors become points whose distances are square roots of costs. A distance is symmetric,
# but a cost need not be, so every vector gets two points: T_i as the truth and P_j as the prediction.


def distances(A, B):
    """‖A_i − B_j‖, from ‖a − b‖² = ‖a‖² − 2 a·b + ‖b‖²."""
    return np.sqrt(np.maximum((A**2).sum(axis=1)[:, None] - 2 * A @ B.T + (B**2).sum(axis=1), 0))


def embed(labels, cost, frequency, steps=1000):
    """Find T and P of least stress, Σ_ij a_i (‖T_i − P_j‖ − D_ij)², for D = √c and a the share of rows of each vector.

    Each step minimises a function that lies above the stress and touches it at the present points (SMACOF), so that the
    stress never rises. With G_ij = D_ij / ‖T_i − P_j‖ and L vectors its minimum is at

        T'_i = (Σ_j G_ij T_i − Σ_j G_ij P_j) / L + mean of P
        P'_j = Σ_i a_i G_ij P_j − Σ_i a_i G_ij T_i + Σ_i a_i T'_i
    """
    D = np.sqrt(cost(labels, labels))
    a = frequency[:, None] / frequency.sum()
    jitter = 1e-3 * np.random.RandomState(0).standard_normal(labels.shape)
    T, P = labels + jitter, labels - jitter  # a start where similar vectors are near and the roles can part
    for _ in range(steps):
        G = D / np.maximum(distances(T, P), 1e-9)
        aG = a * G
        new_T = (G.sum(axis=1)[:, None] * T - G @ P) / len(P) + P.mean(axis=0)
        P = aG.sum(axis=0)[:, None] * P - aG.T @ T + (a * new_T).sum(axis=0)
        T = new_T
    stress = (a * (distances(T, P) - D) ** 2).sum() / (a * D**2).sum()  # 0 is perfect, 1 is a single point
    return T, P, stress


# %%
# **3. Learning.** A regressor learns where the truth of a row lies. If it predicts z, predicting p costs about ‖z
# − P_p‖², so the nearest P_p is the prediction.


def clems(X, Y, X_new, cost, regressor):
    """Train on rows X with labels Y for a cost, and predict the labels of new rows."""
    candidates, index, frequency = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    T, P, _ = embed(candidates.astype(float), cost, frequency)
    Z = regressor.fit(X, T[index.ravel()]).predict(X_new)
    return candidates[distances(Z, P).argmin(axis=1)]


# %%
# **It works:** of the two models, each is cheaper by the cost that it was trained for.


def main():
    X, Y = digit_scenes(2000, random_state=0)
    train, test = slice(1500), slice(1500, None)
    costs = {"hamming": hamming_cost, "f1": f1_cost}
    print("mean cost of 500 new scenes" + "".join(f"{name:>10}" for name in costs))
    means = []
    for name, cost in costs.items():
        predicted = clems(X[train], Y[train], X[test], cost, KNeighborsRegressor(12, weights="distance"))
        means.append([np.diagonal(other(Y[test].astype(float), predicted)).mean() for other in costs.values()])
        print(f"  CLEMS trained for {name:7}" + "".join(f"{mean:10.3f}" for mean in means[-1]))
    return costs, np.array(means)


def draw(names, means):
    plt.style.use("clems.figures")
    _, axes = plt.subplots(1, 2, figsize=(7, 2.4), sharey=True)
    for axis, name, values in zip(axes, names, means.T, strict=True):
        colours = ["C0" if trained == name else "C7" for trained in names]
        bars = axis.barh([f"trained for {trained}" for trained in names], values, color=colours, height=0.6)
        axis.bar_label(bars, fmt="%.3f", padding=3)
        axis.set(title=f"cost by {name}", xlabel="mean of new scenes")
        axis.tick_params(axis="y", length=0)
        axis.margins(x=0.2)
    axes[0].invert_yaxis()
    plt.show()


if __name__ == "__main__":
    draw(*main())
