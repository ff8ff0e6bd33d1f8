"""C2AE: networks that give features and labels one code, and score labels by it."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]

from clems.arrays import Floats, Labels, Weights, row_blocks
from clems.checks import check_components, check_count, check_number
from clems.embedding.autoencoder import Layers, Networks, Plan, Scaling, forward, import_torch, scores_by, train
from clems.labels.matrix import as_dense
from clems.learners.base import Profile, check_estimator
from clems.learners.by_code import CodeClassifier
from clems.learners.by_threshold import AnyCost
from clems.model_selection import held_out

NETWORK = "network"


class C2AE(CodeClassifier):
    """Canonical correlated autoencoder: one network encodes labels, one decodes them, and one maps features to codes.

    The three networks are trained together, so that the features and the labels of a row have the same code, codes are
    uncorrelated, and the labels of a row, decoded from their own code, score higher than the other labels. New rows are
    encoded from their features, and a label is predicted if its score exceeds a threshold. Training needs torch,
    ``pip install 'clems[c2ae]'``; prediction, saving and loading do not.

    Parameters
    ----------
    cost : str, Cost or callable, default=None
        What the threshold is chosen for: a key of `clems.COSTS`, a cost such as ``weighted_hamming(prices)``, or a
        function of truths and predictions, see :func:`clems.get_cost`. None is no cost, or F1 with
        ``threshold="auto"``.
    n_components : int, float or None, default=0.8
        Dimension of the code: a number, a multiple of the number of labels K as a float, or None for K.
    alpha : float, default=2.0
        Weight of the ranking loss of decoded labels beside the distance of codes.
    n_hidden : int, default=512
        Units of each hidden layer.
    batch_size : int, default=500
        Rows of a step.
    learning_rate : float, default=1e-4
        Size of a step of Adam.
    max_epochs : int, default=500
        Most passes over the training rows.
    patience : int, default=20
        Training stops when the loss has not fallen for so many epochs; weights are those of the least loss.
    validation_fraction : float or None, default=0.1
        Share of the rows that are held out to see whether the loss still falls. With None, or if that is less than one
        row, all rows train, and the loss is theirs.
    threshold : float, "auto" or None, default=None
        Score above which a label is predicted. "auto" is that of least cost for the training rows, which then can be
        had for any cost in `predict`. None is ½, or "auto" if a cost is given.
    n_folds : int or None, default=2
        A threshold is chosen by scores of training rows, each predicted by networks that were trained on other parts,
        out of so many. None saves the time: scores are those of rows that the networks know.
    estimator : "network", estimator or None, default="network"
        What predicts codes of features. "network" is the one that is trained with the others, as published; or any
        scikit-learn regressor, which learns their codes afterwards; None is a forest,
        :func:`clems.trees.growing.default_forest`.
    n_trees : int, default=100
        Trees of that forest.
    n_jobs : int, default=None
        Threads of torch, and parallel jobs of the forest or of the fits of a single-output regressor.
    random_state : int, RandomState or None, default=None
        Seed of the networks' weights, of held-out rows, and of the estimator where it has none. Random numbers of torch
        are not used.
    verbose : int, default=0
        1 prints a line per stage, and shows progress on a terminal.

    Attributes
    ----------
    from_features_, from_labels_, to_labels_ : list of tuple of ndarray
        Weights, of shape (inputs, outputs), and biases of the layers of each network; between them are leaky ReLUs.
        Labels are those that vary.
    losses_ : ndarray
        Ranking loss of what is predicted for held-out rows, before training and after each epoch; with another
        estimator than the network, all that is minimised.
    n_epochs_ : int
        Epochs after which it was least, of which the weights are.
    n_components_ : int
        Number of codes.
    codes_ : ndarray of shape (n, M)
        Codes of the training rows by their labels.
    reconstruction_error_ : float
        Share of the training rows' label entries that come out wrong when their codes are decoded.
    estimator_ : estimator or None
        Fitted regressor; None if the network predicts codes.
    threshold_ : float
        Score above which a label is predicted.
    cost_ : Cost
        What the threshold is chosen for, and what `score` measures; without a cost that is subset accuracy, as in
        scikit-learn.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    Notes
    -----
    To the published loss, which compares the labels of a row with one another, a label of score ½ is added in each row,
    so that one threshold suits all rows and rows with all labels or none count; see
    :func:`clems.embedding.autoencoder.ranking_loss`. Scores are between 0 and 1. Features are scaled to mean 0 and
    variance 1. Published are 50 epochs of steps with momentum; here the steps are Adam's, and held-out rows say when to
    stop. A label that all rows have, or none, is not embedded.

    References
    ----------
    Yeh, Wu, Ko & Wang (2017), Learning deep latent spaces for multi-label classification, AAAI 31.

    Examples
    --------
    >>> from clems import C2AE
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = C2AE("f1", n_hidden=64, learning_rate=1e-3, random_state=0).fit(X[:200], Y[:200])
    >>> model.predict(X[200:]).shape, model.codes_.shape
    ((100, 10), (200, 8))
    """

    needs = ("torch",)
    takes_gaps = False  # it computes with features itself

    profile = Profile(
        "reduction",
        "distance of codes of features and labels, and ranking of decoded labels",
        "n (d + K) per epoch, 3 times",
        "n M + d",
    )

    def __init__(
        self,
        cost: AnyCost | None = None,
        *,
        n_components: int | float | None = 0.8,
        alpha: float = 2.0,
        n_hidden: int = 512,
        batch_size: int = 500,
        learning_rate: float = 1e-4,
        max_epochs: int = 500,
        patience: int = 20,
        validation_fraction: float | None = 0.1,
        threshold: float | str | None = None,
        n_folds: int | None = 2,
        estimator: Any = NETWORK,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_components = n_components
        self.alpha = alpha
        self.n_hidden = n_hidden
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.threshold = threshold
        self.n_folds = n_folds
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        self._check_threshold()
        if not self._by_network and self.estimator is not None:
            check_estimator(self.estimator, self.predictor)
        self._plan(Y.shape[1])  # bad parameters are refused first
        import_torch()
        if not self._by_network:
            super()._fit(X, Y, weight, random_state)
            return
        start = perf_counter()
        self.codes_ = self._encode(X, Y, weight, random_state)
        self.estimator_ = None
        self.reconstruction_error_ = self._error_of(self.codes_, Y, weight)
        self._say(
            f"networks: {self.n_epochs_} epochs, {self.reconstruction_error_:.2%} of label entries lost, in "
            f"{perf_counter() - start:.1f} s"
        )
        self._set_threshold(Y, lambda: self._scores_of_training(X, Y, weight, random_state), weight)

    @property
    def _by_network(self) -> bool:
        return isinstance(self.estimator, str) and self.estimator == NETWORK

    def _plan(self, K: int) -> Plan:
        return Plan(
            check_components(self.n_components, K),
            check_number(self.alpha, "alpha"),
            check_count(self.n_hidden, "n_hidden"),
            check_count(self.batch_size, "batch_size"),
            check_number(self.learning_rate, "learning_rate"),
            check_count(self.max_epochs, "max_epochs"),
            check_count(self.patience, "patience"),
            check_fraction(self.validation_fraction),
            effective_n_jobs(self.n_jobs) if self.n_jobs else 1,
            self._by_network,
        )

    def _encode(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:
        plan, (n, K) = self._plan(Y.shape[1]), Y.shape
        share = np.asarray(Y.sum(axis=0), np.float64).ravel() / n
        self._constant = np.where((share > 0) & (share < 1), np.nan, share)
        varied = np.isnan(self._constant)
        if not varied.any():
            self._keep(None)
            self.losses_, self.n_epochs_ = np.zeros(1), 0
            return np.zeros((n, plan.n_components))
        with self._progress(plan.max_epochs) as report:
            trained = train(X, Y[:, varied], weight, plan, random_state, report)
        self._keep(trained.networks)
        self.losses_, self.n_epochs_ = trained.losses, int(np.nanargmin(trained.losses))
        blocks = (as_dense(Y[rows])[:, varied].astype(np.float64) for rows in row_blocks(n, K))
        return np.concatenate([forward(self.from_labels_, block) for block in blocks])

    def _keep(self, networks: Networks | None) -> None:
        """Keep networks as arrays, which can be saved."""
        none: Layers = []
        empty = Networks(Scaling(np.zeros(0, np.int64), np.zeros(0), np.zeros(0)), none, none, none)
        scaling, self.from_features_, self.from_labels_, self.to_labels_ = networks or empty
        self._exponents, self._mean, self._deviation = scaling

    def _decoded(self, Z: Floats) -> Floats:
        """Scores of labels: F_d of those that vary, 1 or 0 of the others."""
        scores = np.tile(self._constant, (len(Z), 1))
        if self.to_labels_:
            scores[:, np.isnan(self._constant)] = scores_by(self.to_labels_, Z)
        return scores

    def _scores(self, X: Any) -> Floats:
        return self._decoded(self._codes_by_network(X)) if self.estimator_ is None else super()._scores(X)

    def _codes_by_network(self, X: Any) -> Floats:
        if not self.from_features_:
            return np.zeros((X.shape[0], 1))
        scaling = Scaling(self._exponents, self._mean, self._deviation)
        blocks = row_blocks(*X.shape)
        return np.concatenate([forward(self.from_features_, scaling.of(X[rows])) for rows in blocks])

    def _scores_of_training(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> Floats:
        """Scores of the training rows, by networks trained on other rows if there are folds."""
        n, varied = X.shape[0], np.isnan(self._constant)
        if self.n_folds is None or n == 1 or not varied.any():
            return self._scores(X)
        plan, scores = self._plan(Y.shape[1]), np.tile(self._constant, (n, 1))
        for others, part in held_out(n, self.n_folds, random_state):
            used = None if weight is None else weight[others]
            with self._progress(plan.max_epochs) as report:
                found = train(X[others], Y[others][:, varied], used, plan, random_state, report).networks
            codes = forward(found.from_features, found.scaling.of(X[part]))
            scores[np.ix_(part, np.flatnonzero(varied))] = scores_by(found.to_labels, codes)
        return scores

    @contextmanager
    def _progress(self, most: int) -> Iterator[Callable[[int, float], None]]:
        """Show how far training is, on a terminal, if `verbose`."""
        if not self.verbose:
            yield lambda *_: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = (TextColumn("epoch"), MofNCompleteColumn(), BarColumn(), TextColumn("loss {task.fields[loss]}"))
        with Progress(
            *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal, transient=True
        ) as bar:
            task = bar.add_task("", total=most, loss="")
            yield lambda epoch, loss: bar.update(task, completed=epoch, loss=f"{loss:.4g}")


def check_fraction(value: Any) -> float | None:
    """Check the share of rows that are held out."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if value is not None and not (is_number and 0 < value < 1):
        raise ValueError(f"validation_fraction must be None or a number between 0 and 1; got {value!r}.")
    return None if value is None else float(value)
