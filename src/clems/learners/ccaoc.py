"""CCAOC: output codes by canonical correlation analysis, labels and the combinations of them that features tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from clems.arrays import Floats, Labels, Weights
from clems.checks import check_components, check_count, check_number
from clems.costs.cost import Cost
from clems.embedding.candidates import choose_candidates
from clems.embedding.canonical import canonical_directions
from clems.embedding.ridge import doubled, ridge_smoother, roots, scaled_rows
from clems.labels.matrix import as_dense
from clems.learners.base import Profile
from clems.learners.by_division import DividedClassifier, Problem
from clems.learners.by_linear_code import variation_of, weighted_mean
from clems.learners.by_posterior import PosteriorClassifier
from clems.model_selection import held_out
from clems.posterior.chains import probability
from clems.posterior.distribution import Posterior
from clems.posterior.given import IMPOSSIBLE
from clems.posterior.independent import IndependentPosterior
from clems.posterior.mean_field import mean_field
from clems.posterior.votes import shares_of_scores

DECODINGS = ("mean_field", "observed")
EXACT = 1e-6  # the least variance of a predicted variate, beside its own


class CCAOC(PosteriorClassifier, DividedClassifier):
    """Output codes by canonical correlation analysis: labels, and combinations of them that features predict best.

    A codeword is the label vector itself and a few of its canonical variates, the combinations of labels that correlate
    most with features (CCA). A classifier gives the probability of each label, and a ridge regression predicts each
    variate. Both are combined: a label vector is more probable if its labels are more probable and if its variates are
    closer to the predicted ones.

    Parameters
    ----------
    cost : str, Cost or callable, default="f1"
        What a mistake costs: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a function of
        truths and predictions, see :func:`clems.get_cost`.
    n_components : int, float or None, default=None
        Number of variates: a number, a multiple of the number of labels K as a float, or None for K. There are no more
        than the rank of the labels.
    balance : float, default=1.0
        How much the classifiers count beside the variates, λ.
    decoding : {"mean_field", "observed"}, default="mean_field"
        "mean_field" finds the independent labels that agree best with both, as published; any label vector may be
        predicted. "observed" weighs the label vectors of training, exactly, each by its frequency too.
    ridge : float, default=1.0
        Penalty of squared coefficients of the features, as `alpha` of scikit-learn's Ridge.
    label_ridge : float, default=1.0
        Penalty of squared coefficients of the labels, as in `CCA`.
    n_folds : int or None, default=2
        By how many folds rows are held out to see how exact the variates are predicted; None takes the training rows,
        which a regression on many features fits too well.
    estimator : estimator, default=None
        Any scikit-learn classifier with `predict_proba`; None is a forest,
        :func:`clems.trees.growing.default_classifier`.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        How many labels are trained at a time; in prediction, how many trees of the default forest work at a time.
    random_state : int, RandomState or None, default=None
        Seed of folds, and of the classifiers where they have none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    directions_ : ndarray of shape (K, d)
        Weights of the labels in each variate.
    correlations_ : ndarray of shape (d,)
        Canonical correlations, greatest first.
    variances_ : ndarray of shape (d,)
        Mean squared errors of the predicted variates.
    candidates_ : CandidateSet
        Label vectors of training.
    estimators_ : list
        Fitted classifiers in the order of `classes_`.
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
    The variates are predicted by the ridge regression that defines them, as published, whatever `estimator` is. The
    mean field is from memory of the paper and derived anew: each step is the best for its label, so the bound of the
    evidence never falls.

    References
    ----------
    Zhang & Schneider (2011), Multi-label output codes using canonical correlation analysis, AISTATS 14.

    Examples
    --------
    >>> from clems import CCAOC
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CCAOC("f1", n_trees=10, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.predict(X[200:], cost="rank").shape
    ((100, 10), (100, 10))
    """

    takes_gaps = False  # it computes with features itself
    needs_probabilities = True

    profile = Profile(
        "expansion",
        "correlation, then the bound of the evidence",
        "n d min(n, d) + K³, K F",
        "d² or n², K²",
    )

    def __init__(
        self,
        cost: str | Cost | Callable[[Any, Any], Any] = "f1",
        *,
        n_components: int | float | None = None,
        balance: float = 1.0,
        decoding: str = "mean_field",
        ridge: float = 1.0,
        label_ridge: float = 1.0,
        n_folds: int | None = 2,
        estimator: Any = None,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_components = n_components
        self.balance = balance
        self.decoding = decoding
        self.ridge = ridge
        self.label_ridge = label_ridge
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        K = Y.shape[1]
        size = min(check_components(self.n_components, K), K)
        ridge, label_ridge = check_number(self.ridge, "ridge"), check_number(self.label_ridge, "label_ridge")
        self._balance = check_number(self.balance, "balance")
        n_folds = None if self.n_folds is None else check_count(self.n_folds, "n_folds", least=2)
        if self.decoding not in DECODINGS:
            raise ValueError(f"decoding must be one of {', '.join(map(repr, DECODINGS))}; got {self.decoding!r}.")
        self._decoding = self.decoding
        prototypes = self._prototypes(K, weight, random_state)
        labels = sparse.csr_array(Y, dtype=np.float64)
        mean = weighted_mean(labels, weight)
        centred = scaled_rows(labels, weight).toarray() - np.outer(roots(weight, X.shape[0]), mean)
        smooth = ridge_smoother(X, weight, ridge)
        variation = variation_of(labels, mean, weight)
        self.correlations_, V = canonical_directions(smooth.products(centred), variation, label_ridge, size)
        total = X.shape[0] if weight is None else float(weight.sum())
        self.directions_ = V * np.sqrt(total)  # variates of variance 1
        variates = np.asarray(labels @ self.directions_)
        self._coef, self._intercept = smooth.coefficients(variates)
        self._exponent = smooth.exponent
        squares = np.empty(variates.shape)
        for others, part in held_out(X.shape[0], n_folds, random_state):
            own = None if weight is None else weight[others]
            whole = n_folds is None or X.shape[0] == 1
            known = smooth if whole else ridge_smoother(X[others], own, ridge)
            squares[part] = (variates[part] - known.predict(X[part], variates[others])) ** 2
        self.variances_ = np.average(squares, axis=0, weights=weight) + EXACT
        self.candidates_ = choose_candidates(Y, "observed", self.cost_, random_state, weight)
        self._say(f"variates: {len(self.variances_)}, the first with a correlation of {self.correlations_[0]:.3g}")
        dense = as_dense(Y)
        problems = (
            Problem(name, dense[:, :0], label, weight)
            for name, label in zip(self.classes_.tolist(), dense.T, strict=True)
        )
        self.estimators_ = self._fit_each(prototypes, X, problems)

    def _posterior(self, X: Any) -> Posterior:
        p = np.column_stack([probability(estimator, X) for estimator in self.estimators_])
        values = np.round(np.asarray(doubled(X, self._exponent) @ self._coef + self._intercept), 9)
        if self._decoding == "observed":
            return Posterior(self.candidates_.labels, shares_of_scores(self._scores(p, values)))
        power = self._balance  # p^λ, normalised
        yes, no = p**power, (1 - p) ** power
        return IndependentPosterior(
            np.round(mean_field(yes / (yes + no), values, self.directions_.T, 1 / self.variances_), 8)
        )

    def _scores(self, p: Floats, values: Floats) -> Floats:
        """Log scores of the candidates: λ log p(S) − ½ Σ_k s_k⁻² (v_kᵀS − m_k)² + log frequency, shape (n, L)."""
        candidates = self.candidates_.labels.astype(np.float64)
        yes, no = (np.log(np.maximum(part, IMPOSSIBLE)) for part in (p, 1 - p))
        scores = self._balance * (yes @ candidates.T + no @ (1 - candidates.T))
        scale = 1 / np.sqrt(self.variances_)
        own, wanted = (candidates @ self.directions_) * scale, values * scale
        # ‖a − b‖² by the three products of which it consists
        scores -= 0.5 * ((wanted**2).sum(axis=1)[:, None] + (own**2).sum(axis=1) - 2 * wanted @ own.T)
        frequency = self.candidates_.frequency
        return np.asarray(scores + np.log(np.maximum(frequency / frequency.sum(), IMPOSSIBLE)))

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.estimators_ = [new(estimator) for estimator in self.estimators_]
