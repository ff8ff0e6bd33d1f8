"""CFT: the condensed filter tree, a chain trained for a cost in rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clems.arrays import Bits, Integers, Labels, Weights
from clems.checks import check_count
from clems.costs.cost import Cost
from clems.labels.matrix import as_dense
from clems.learners.base import Profile
from clems.learners.by_chain import ChainClassifier, follow
from clems.learners.by_division import Problem
from clems.model_selection import held_out
from clems.posterior.chains import Chain
from clems.trees.growing import default_classifier


class CFT(ChainClassifier):
    """Condensed filter tree: a chain whose classifiers are trained for a cost, at the predictions the chain reaches.

    In each round, every training row is placed at a prediction: in the first round at the truth, later at what the
    chain of the previous round predicts. The classifier of a label learns which of its two values is cheaper there,
    weighted by the difference in cost, from the rows of all rounds so far.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`.
    n_rounds : int, default=8
        How many times the chain is trained.
    n_folds : int or None, default=2
        Between rounds a row is predicted by a chain that has not seen it, trained on all but one of so many parts of
        the rows. None is the algorithm as published: one chain predicts what it was trained on, and the better it knows
        that by heart, the less the rounds teach.
    order : None, "random" or array-like of shape (K,), default=None
        In which order labels are predicted, as names of `classes_`, numbers where they have no names; None is the order
        of the columns.
    estimator : estimator, default=None
        Any scikit-learn classifier whose `fit` takes `sample_weight`; None is a forest,
        :func:`clems.trees.growing.default_classifier`, with at least ten rows in a leaf, so that weights have an
        effect.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        How many labels are trained at a time; in prediction, how many trees of the default forest work at a time.
    random_state : int, RandomState or None, default=None
        Seed of a random order, of the parts, and of the classifiers where they have none.
    verbose : int, default=0
        1 prints a line per round and part.

    Attributes
    ----------
    chain_ : Chain
        `order`, columns as they are predicted, and `estimators` in this order, those of the last round.
    cost_ : Cost
        The cost trained for.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    References
    ----------
    Li & Lin (2014), Condensed filter tree for cost-sensitive multi-label classification, ICML.

    Examples
    --------
    >>> from clems import CFT
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CFT(cost="f1", n_rounds=2, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape
    (100, 10)
    """

    cost_sensitive = True
    cost_at_fit = True
    needs_weights = True

    profile = Profile(
        "none",
        "the cost, label by label along a chain",
        "8 K F",
        "8 n K",
    )

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        n_rounds: int = 8,
        n_folds: int | None = 2,
        order: Any = None,
        estimator: Any = None,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_rounds = n_rounds
        self.n_folds = n_folds
        self.order = order
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        n_rounds = check_count(self.n_rounds, "n_rounds")
        n_folds = None if self.n_folds is None else check_count(self.n_folds, "n_folds", least=2)
        labels = as_dense(Y)
        order = self._chain_order(self.order, random_state)
        mean = 1.0 if weight is None else float(weight.mean())

        def train(rows: Any, rounds: list[Round], stage: str) -> Chain:
            prototypes = self._prototypes(len(order), weight, random_state)
            problems = pooled([part.of_rows(rows) for part in rounds], self.classes_[order].tolist(), mean)
            stage = f"round {len(rounds)} of {n_rounds}{stage}: "
            return Chain(order, self._fit_each(prototypes, X[rows], problems, stage))

        rounds = [Round.of(labels, labels, self.cost_, weight, order)]
        folds = held_out(len(labels), n_folds, random_state) if n_rounds > 1 else []
        for _ in range(n_rounds - 1):
            at = np.empty_like(labels)
            for fold, (seen, held) in enumerate(folds, 1):
                stage = f", part {fold} of {len(folds)}"
                at[held] = follow(train(seen, rounds, stage), X[held])[0]  # only one chain in memory at a time
            rounds.append(Round.of(at, labels, self.cost_, weight, order))
        self.chain_ = train(slice(None), rounds, "")

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.chain_ = self.chain_.replaced(new)

    def _predict(self, X: Any) -> Bits:  # it has no predict_proba: what its classifiers estimate is weighted by costs
        return follow(self.chain_, X)[0]

    def _default(self) -> Any:
        # In a leaf that holds one row, or rows that agree, a weight changes nothing.
        return default_classifier(self.n_features_in_, n_estimators=self.n_trees, min_samples_leaf=10)


@dataclass(frozen=True)
class Round:
    """What one round adds to the training data; columns are in the order of the chain.

    Attributes
    ----------
    at : ndarray of shape (n, K)
        The prediction that each row stands at.
    target : ndarray of shape (n, K)
        The cheaper value of each label there.
    weight : ndarray of shape (n, K)
        By how much it is cheaper.
    """

    at: Bits
    target: Bits
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, at: Bits, truth: Bits, cost: Cost, weight: Weights, order: Integers) -> Round:
        """Compare the costs of both values of each label, all others as they are."""
        here = cost.of_rows(truth, at)
        dearer = np.empty(at.shape)
        for label in range(at.shape[1]):
            other = at.copy()
            other[:, label] ^= 1
            there = cost.of_rows(truth, other)
            dearer[:, label] = np.where(np.isclose(here, there, rtol=1e-12, atol=0), 0, there - here)
        rows = 1 if weight is None else weight[:, None]
        return cls(at[:, order], (at ^ (dearer < 0))[:, order], (rows * np.abs(dearer))[:, order])

    def of_rows(self, rows: Any) -> Round:
        """Return the same for some of the rows."""
        return Round(self.at[rows], self.target[rows], self.weight[rows])


def pooled(rounds: list[Round], names: list[Any], mean: float) -> Iterator[Problem]:
    """Training data of one label after the other, the rows of all rounds together.

    Rows that are alike in features, earlier labels and target are one row with the sum of their weights, so the
    features are copied only as far as the rounds differ. Over the rows before that, weights have the given mean, that
    of the sample weights; where all are 1 there are none.
    """
    n = len(rounds[0].at)
    at, target, weight = (np.concatenate([getattr(r, name) for r in rounds]) for name in ("at", "target", "weight"))
    row = np.tile(np.arange(n), len(rounds))
    alike = row  # which rows are alike in features and earlier labels
    for j, name in enumerate(names):
        counted = np.flatnonzero(weight[:, j])
        if len(counted):
            _, first, which = np.unique(2 * alike[counted] + target[counted, j], return_index=True, return_inverse=True)
            chosen = counted[first]
            summed = np.bincount(which, weight[counted, j]) * (mean / weight[:, j].mean())
            yield Problem(
                name,
                at[chosen, :j],
                target[chosen, j],
                None if np.allclose(summed, 1, rtol=1e-9, atol=0) else summed,
                None if np.array_equal(row[chosen], np.arange(n)) else row[chosen],
            )
        else:  # both values cost the same everywhere
            yield Problem(name, at[:1, :j], np.full(1, at[:n, j].mean() > 0.5, np.uint8))
        alike = np.unique(2 * alike + at[:, j], return_inverse=True)[1]
