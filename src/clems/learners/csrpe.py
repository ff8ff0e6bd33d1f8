"""CSRPE: cost-sensitive reference pair encoding, bits that compare two label vectors by their cost."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from clems.arrays import Bits, Floats, Labels, Weights
from clems.checks import check_components, check_count
from clems.costs.cost import Cost
from clems.embedding.candidates import choose_candidates
from clems.embedding.reference_pairs import draw_pairs, reference_differences
from clems.learners.base import Profile
from clems.learners.by_division import DividedClassifier, Problem
from clems.learners.by_posterior import PosteriorClassifier
from clems.model_selection import held_out
from clems.posterior.chains import probability
from clems.posterior.distribution import Posterior
from clems.posterior.votes import choose_powers, shares_of_scores

FEWEST = 32  # pairs, however few labels there are
DOUBTS = (1e-300, 1e-3, 1e-2)  # least probabilities of a bit to choose from
POWERS = 2.0 ** np.arange(6, -10, -1)  # sharpness to choose from
ROWS = 2000  # held-out rows that it is chosen on


class CSRPE(PosteriorClassifier, DividedClassifier):
    """Cost-sensitive reference pair encoding: bits that say which of two label vectors is the cheaper prediction.

    For many pairs (a, b) of label vectors, a classifier learns which of the two would be the cheaper prediction for a
    row, weighted by the difference of the two costs. Each candidate, a label vector seen in training, has its own bits.
    The agreement of these bits with the predicted ones gives a posterior over the candidates, from which labels are
    decided for any cost.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`. Bits
        are trained for it; a posterior may be decided for others, too.
    n_components : int, float or None, default=None
        Number of pairs: a number, or a multiple of the number of labels K as a float. None is 4 K, and at least 32. If
        there are no more pairs of candidates, these are all.
    sharpness : "auto" or float, default="auto"
        How much a bit counts: its log probability is taken times the sharpness. "auto" chooses on held-out rows what
        makes their labels likeliest, together with the power of the candidates' frequencies and the least probability
        of a bit.
    n_folds : int or None, default=2
        By how many folds rows are held out for that; None takes the classifiers' own training rows.
    estimator : estimator, default=None
        Any scikit-learn classifier with `predict_proba` and `sample_weight`; None is a forest,
        :func:`clems.trees.growing.default_classifier`.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        How many pairs are trained at a time; in prediction, how many trees of the default forest work at a time.
    random_state : int, RandomState or None, default=None
        Seed of pairs and folds, and of the classifiers where they have none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    candidates_ : CandidateSet
        Label vectors that may be predicted, with their frequencies.
    pairs_ : ndarray of shape (T, 2)
        Numbers of the candidates of each pair.
    estimators_ : list
        Fitted classifiers in this order.
    sharpness_ : float
        The value used.
    prior_power_ : float
        Power of the candidates' frequencies.
    doubt_ : float
        Least probability of a bit, and of its opposite.
    cost_ : Cost
        The cost decided for.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    Notes
    -----
    The paper decodes to the candidate with the nearest bits. Here bits are votes with probabilities, so that there is a
    posterior: with classifiers that are sure, all of it is on the candidate whose bits they give, and with all pairs
    and a cost under which different vectors cost something, that is the candidate of least cost. Pairs are drawn at
    random by frequency as in the paper, but half of them where needed to tell candidates with the same bits apart.
    Where the cost does not tell both of a pair apart, Hamming loss does, with a tenth of the mean weight.

    References
    ----------
    Yang, Huang & Lin (2018), Cost-sensitive reference pair encoding for multi-label learning, PAKDD 22.

    Examples
    --------
    >>> from clems import CSRPE
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CSRPE("f1", n_trees=10, random_state=0).fit(X[:200], Y[:200])
    >>> len(model.pairs_), model.predict(X[200:]).shape, model.predict(X[200:], cost="rank").shape
    (40, (100, 10), (100, 10))
    """

    cost_at_fit = True
    needs_probabilities = True
    needs_weights = True

    profile = Profile(
        "expansion",
        "which of two label vectors is cheaper",
        "L M, 8 K F",
        "L M",
    )

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        n_components: int | float | None = None,
        sharpness: str | float = "auto",
        n_folds: int | None = 2,
        estimator: Any = None,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_components = n_components
        self.sharpness = sharpness
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def depth_path(self) -> bool:  # type: ignore[override]
        """Whether the depth of trees is for you to choose; sharpness is chosen for trees as they are."""
        return not _is_auto(self.sharpness)

    def at_depth(self, depth: int) -> Self:
        """Return the model with its trees cut at a depth; not of one whose sharpness was chosen."""
        if not self.depth_path:
            raise ValueError("at_depth is for a given sharpness: this one was chosen for trees as they are.")
        return super().at_depth(depth)

    @property
    def codes_(self) -> Bits:
        """Bits of the training rows, shape (n, M): what classifiers are trained on."""
        return np.asarray(self._bits[self.candidates_.index])

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        K = Y.shape[1]
        size = max(4 * K, FEWEST) if self.n_components is None else check_components(self.n_components, K)
        n_folds = None if self.n_folds is None else check_count(self.n_folds, "n_folds", least=2)
        sharpness = _checked_sharpness(self.sharpness)
        self.candidates_ = choose_candidates(Y, "observed", self.cost_, random_state, weight)
        labels, frequency = self.candidates_.labels, self.candidates_.frequency
        self.pairs_ = draw_pairs(self.cost_, labels, frequency, size, random_state)
        difference = reference_differences(self.cost_, labels, self.pairs_)
        self._bits, importance = (difference > 0).astype(np.uint8), np.abs(difference)
        self._importance = importance / (frequency @ importance / frequency.sum())  # 1 on average over rows
        self._prototypes(1, weight, np.random.RandomState(0))  # a bad estimator is refused before the work
        self._say(f"pairs: {len(self.pairs_)} of {len(self.candidates_)} candidates")
        self.estimators_ = self._fit_bits(X, slice(None), weight, random_state)
        self.sharpness_, self.prior_power_, self.doubt_ = sharpness or 1.0, 1.0, DOUBTS[0]
        if sharpness is None and len(self.pairs_):
            self._choose(X, weight, n_folds, random_state)

    def _fit_bits(self, X: Any, rows: Any, weight: Weights, random_state: np.random.RandomState) -> list[Any]:
        """Fit a classifier to each bit, on some rows, weighted by how much it matters to them."""
        index = self.candidates_.index[rows]
        own = None if weight is None else weight[rows]
        prototypes = self._prototypes(len(self.pairs_), weight, random_state)

        def problem(bit: int) -> Problem:
            matters = self._importance[index, bit] * (1.0 if own is None else own)
            return PairProblem(bit, np.empty((len(index), 0), np.uint8), self._bits[index, bit], matters)

        return self._fit_each(prototypes, X[rows], [problem(bit) for bit in range(len(self.pairs_))])

    def _choose(self, X: Any, weight: Weights, n_folds: int | None, random_state: np.random.RandomState) -> None:
        """Choose what bits count by the labels of held-out rows."""
        n = X.shape[0]
        if n_folds is None or n == 1:
            rows = np.arange(n)[:ROWS]
            bits = self._bit_probabilities(self.estimators_, X[rows])
        else:
            parts = []
            for others, part in held_out(n, n_folds, random_state):
                fitted = self._fit_bits(X, others, weight, random_state)
                kept = part[: -(-ROWS // n_folds)]
                parts.append((kept, self._bit_probabilities(fitted, X[kept])))
            rows, bits = np.concatenate([kept for kept, _ in parts]), np.concatenate([own for _, own in parts])
        prior, truth = self._prior(), self.candidates_.index[rows]
        own_weight = None if weight is None else weight[rows]
        tried = [
            (*choose_powers(self._evidence(bits, doubt), prior, truth, own_weight, POWERS.tolist()), doubt)
            for doubt in DOUBTS
        ]
        best = int(np.round([loss for _, _, loss, _ in tried], 9).argmin())
        self.sharpness_, self.prior_power_, loss, self.doubt_ = tried[best]
        self._say(f"sharpness: {self.sharpness_:g}, log loss {loss:.3g}")

    def _prior(self) -> Floats:
        frequency = self.candidates_.frequency
        return np.asarray(np.log(np.maximum(frequency / frequency.sum(), DOUBTS[0])))

    def _bit_probabilities(self, estimators: list[Any], X: Any) -> Floats:
        return np.column_stack([np.empty((X.shape[0], 0)), *(probability(one, X) for one in estimators)])

    def _evidence(self, bits: Floats, doubt: float) -> Floats:
        """Log probabilities of the bits of each candidate, weighted by what they matter to it, shape (n, L)."""
        yes, no = np.log(np.maximum(bits, doubt)), np.log(np.maximum(1 - bits, doubt))
        on = (self._importance * self._bits).T
        return np.asarray(yes @ on + no @ (self._importance.T - on))

    def _posterior(self, X: Any) -> Posterior:
        bits = self._bit_probabilities(self.estimators_, X)
        scores = self.sharpness_ * self._evidence(bits, self.doubt_) + self.prior_power_ * self._prior()
        return Posterior(self.candidates_.labels, shares_of_scores(scores))

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.estimators_ = [new(estimator) for estimator in self.estimators_]


@dataclass(frozen=True)
class PairProblem(Problem):
    """What the classifier of a pair is trained on; the target is which of both is cheaper."""

    def __str__(self) -> str:
        return f"the pair {self.name}, whose second is cheaper for {self.target.sum()} of {len(self.target)} rows"


def _is_auto(sharpness: Any) -> bool:
    return isinstance(sharpness, str) and sharpness == "auto"


def _checked_sharpness(sharpness: Any) -> float | None:
    """Return the given sharpness; None if it is to be chosen."""
    if _is_auto(sharpness):
        return None
    is_number = isinstance(sharpness, numbers.Real) and not isinstance(sharpness, (bool, np.bool_))
    if not is_number or not 0 < sharpness < np.inf:
        raise ValueError(f"sharpness must be 'auto' or a number above 0; got {sharpness!r}.")
    return float(sharpness)
