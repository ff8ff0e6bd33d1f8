"""How often a promise of GuaranteedCost is broken, and how many rows it hands over: generated and real data.

Usage: python -m benchmarks.guarantee [--output FILE] [--sets 10000]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.stats import binom
from threadpoolctl import threadpool_limits

from benchmarks.data import load
from clems import CLEMS, Posterior, get_cost, weighted_hamming
from clems.costs.cost import Cost
from clems.learners.guaranteed_cost import greatest_threshold, thresholds_between

TEXT = """\
# The guarantee

Made by `make bench-guarantee`. The confidence is {confidence:g}, so that at most {broken:.1%} of the promises may be
broken; with three standard errors of the number of sets, {allowed:.2%}. Handed over: mean share of the rows, by the
betting test that `GuaranteedCost` has; by the Hoeffding–Bentkus bound in its place; and if the distribution were known.

## Generated data, {sets:,} calibration sets of {rows} rows each

{cells} kinds of rows, of known frequency, with {labels} labels of known probability each. The model knows wrong
probabilities: the true ones sharpened and noisy, so that it expects {ratio} of what it pays. The mean cost at a
threshold is computed, not estimated.

| cost | level | price | broken | handed over | by Hoeffding–Bentkus | if all were known |
|---|---|---|---|---|---|---|
"""
REAL = """
## Real data, {sets:,} calibration sets each

CLEMS with its defaults is fitted on half of the rows. Drawn: the other half is the distribution, calibration sets of
its size are drawn from it with replacement, and the mean cost of all of it is compared with the level. Splits: it is
split into two halves, {splits} times; one calibrates, and the mean cost of the other is compared with the level. That
is not what is promised, as the mean of a few hundred rows differs from the mean of the distribution, and a half that
looks cheap leaves a dear one; it is above the level more often.

| data | cost | level | price | broken, drawn | above, splits | handed over | by Hoeffding–Bentkus | if all were known |
|---|---|---|---|---|---|---|---|---|
"""
CONFIDENCE = 0.9
ROWS, CELLS, LABELS, SPLITS = 200, 150, 6, 200


@dataclass(frozen=True)
class World:
    """Kinds of rows: how frequent each is, what it is expected to cost, and what it costs by which probability.

    Attributes
    ----------
    share, expected : ndarray of shape (m,)
        Of each kind.
    costs, probability : ndarray of shape (m, v)
        The costs that a kind may have, and how probable each is.
    bound : float
        The greatest cost.
    """

    share: np.ndarray
    expected: np.ndarray
    costs: np.ndarray
    probability: np.ndarray
    bound: float

    def mean_cost(self, threshold: float, price: float) -> float:
        """Mean cost per row if rows of a greater expected cost are handed over."""
        each = (self.probability * self.costs).sum(axis=1)
        return float(self.share @ np.where(self.expected <= threshold, each, price))

    def handed_over(self, threshold: float) -> float:
        return float(self.share @ (self.expected > threshold))

    def draw(self, n: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Expected and true costs of n rows."""
        kinds = random.choice(len(self.share), n, p=self.share)
        u = random.random(n)[:, None]
        which = (self.probability.cumsum(axis=1)[kinds] < u).sum(axis=1).clip(max=self.costs.shape[1] - 1)
        return self.expected[kinds], self.costs[kinds, which]


def costs_of(K: int) -> dict[str, Cost]:
    random = np.random.default_rng(1)
    prices = weighted_hamming(random.uniform(1, 20, K).round(), random.uniform(1, 5, K).round(), "prices")
    return {**{name: get_cost(name) for name in ("f1", "accuracy", "rank")}, "prices": prices}


def generated(cost: Cost) -> World:
    """Independent labels of known probability, and a model that is too sure of them."""
    random = np.random.default_rng(0)
    vectors = (np.arange(2**LABELS)[:, None] >> np.arange(LABELS) & 1).astype(np.uint8)
    p = 1 / (1 + np.exp(-random.normal(-0.7, 2.0, (CELLS, LABELS))))
    probability = np.prod(np.where(vectors, p[:, None], 1 - p[:, None]), axis=2)
    believed = (probability * random.gamma(4, 0.25, probability.shape)) ** 1.2
    posterior = Posterior(vectors, sparse.csr_array(believed / believed.sum(axis=1, keepdims=True)))
    predicted = posterior.decide(cost)
    share = random.gamma(1, 1, CELLS)
    return World(
        share / share.sum(),
        posterior.expected_cost(predicted, cost),
        cost.pairwise(vectors, predicted).T,
        probability,
        float(cost.bound(LABELS)),
    )


def hoeffding_bentkus(expected: np.ndarray, costs: np.ndarray, level: float, price: float, bound: float) -> float:
    """The threshold that the Hoeffding–Bentkus bound promises, by the same sequence of tests; −∞ if there is none."""
    thresholds, n, level = thresholds_between(price, bound), len(costs), level / bound
    order = np.argsort(expected, kind="stable")
    n_decided = np.searchsorted(expected[order], thresholds, side="right")
    sums = np.concatenate([[0], costs[order].cumsum()])[n_decided] + price * (n - n_decided)
    mean = np.minimum(sums / n / bound, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.where(mean > 0, mean * np.log(mean / level), 0)
        kl += np.where(mean < 1, (1 - mean) * np.log((1 - mean) / (1 - level)), 0)
    p = np.minimum(np.exp(-n * kl), np.e * binom.cdf(np.ceil(n * mean - 1e-9), n, level))
    rejected = (mean < level) & (p <= 1 - CONFIDENCE)
    return float(thresholds[rejected.argmin() - 1]) if rejected[0] else -np.inf


def known(world: World, level: float, price: float) -> float:
    """The greatest threshold that keeps the level."""
    kept = [one for one in thresholds_between(price, world.bound) if world.mean_cost(one, price) <= level]
    return kept[-1] if kept else -np.inf


def promises(world: World, n: int, sets: int, level: float, price: float) -> tuple[float, float, float]:
    """Share of promises that are broken, and of rows that are handed over: by betting, and by Hoeffding–Bentkus."""
    random = np.random.default_rng(2)
    broken, shares = 0, np.zeros(2)
    for _ in range(sets):
        expected, costs = world.draw(n, random)
        found = greatest_threshold(expected, costs, level=level, confidence=CONFIDENCE, price=price, bound=world.bound)
        threshold = -np.inf if found is None else found
        broken += found is not None and world.mean_cost(threshold, price) > level
        shares += (
            world.handed_over(threshold),
            world.handed_over(hoeffding_bentkus(expected, costs, level, price, world.bound)),
        )
    return broken / sets, *(shares / sets)


def settings(mean: float) -> list[tuple[float, float]]:
    """Levels and prices, in parts of the mean cost of deciding every row."""
    return [(0.6 * mean, 0.0), (0.85 * mean, 0.6 * mean)]


def on_generated(sets: int) -> str:
    worlds = {name: generated(cost) for name, cost in costs_of(LABELS).items()}
    ratio = [world.share @ world.expected / world.mean_cost(np.inf, 0) for world in worlds.values()]
    text = TEXT.format(
        confidence=CONFIDENCE,
        broken=1 - CONFIDENCE,
        allowed=1 - CONFIDENCE + 3 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / sets),
        sets=sets,
        rows=ROWS,
        cells=CELLS,
        labels=LABELS,
        ratio=f"{min(ratio):.0%} to {max(ratio):.0%}",
    )
    for name, world in worlds.items():
        for level, price in settings(world.mean_cost(np.inf, 0)):
            broken, own, other = promises(world, ROWS, sets, level, price)
            best = world.handed_over(known(world, level, price))
            text += f"| {name} | {level:.3g} | {price:.3g} | {broken:.2%} | {own:.1%} | {other:.1%} | {best:.1%} |\n"
    return text


def on_real(sets: int) -> str:
    text = REAL.format(sets=sets, splits=SPLITS)
    for data in ("emotions", "yeast"):
        X, Y = load(data)
        order = np.random.default_rng(3).permutation(len(Y))
        train, rest = order[: len(Y) // 2], order[len(Y) // 2 :]
        model = CLEMS("f1", random_state=0).fit(X[train], Y[train])
        for name, cost in costs_of(Y.shape[1]).items():
            expected = model.expected_cost(X[rest], cost)
            costs = cost.rowwise(Y[rest], model.predict(X[rest], cost))
            n, bound = len(rest), float(cost.bound(Y.shape[1]))
            world = World(np.full(n, 1 / n), expected, costs[:, None], np.ones((n, 1)), bound)
            for level, price in settings(float(costs.mean())):
                broken, own, other = promises(world, n, sets, level, price)
                above = np.mean([is_above(expected, costs, level, price, bound, seed) for seed in range(SPLITS)])
                best = world.handed_over(known(world, level, price))
                text += (
                    f"| {data} | {name} | {level:.3g} | {price:.3g} | {broken:.2%} | {above:.1%} | {own:.1%} | "
                    f"{other:.1%} | {best:.1%} |\n"
                )
    return text


def is_above(
    expected: np.ndarray, costs: np.ndarray, level: float, price: float, bound: float, seed: int
) -> np.bool_ | bool:
    """Whether the mean cost of a random half is above the level that the other half promises."""
    order = np.random.default_rng(seed).permutation(len(costs))
    one, two = np.array_split(order, 2)
    found = greatest_threshold(expected[one], costs[one], level=level, confidence=CONFIDENCE, price=price, bound=bound)
    return found is not None and np.where(expected[two] <= found, costs[two], price).mean() > level


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--output", type=Path, help="write the tables here too")
    arguments = parser.parse_args()
    threadpool_limits(1)
    text = on_generated(arguments.sets) + on_real(max(100, arguments.sets // 10))
    sys.stdout.write(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
