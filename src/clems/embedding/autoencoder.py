"""Canonical correlated autoencoder: networks that give features and labels one code, from which labels are scored.

The networks are F_x from features to a code, F_e from labels to a code and F_d from a code to scores of labels; torch
trains them. Scores are between 0 and 1, by a logistic function at the end. A fitted network is a list of layers in
numpy, so that only training needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from clems.arrays import Floats, Integers, Labels, Weights, row_blocks
from clems.labels.matrix import as_dense

SLOPE = 0.01  # of a leaky ReLU below 0
STEEPNESS = 5.0  # of the ranking loss, as published
ORTHOGONALITY = 0.5  # weight of its penalty, as published
MIDDLE = 0.5  # score between the labels of a row and the others
START = 0.1  # share of the variance that outputs start with, so that no score is far from ½
FLATTEST = 1e-9  # a column that deviates less, as a share of its greatest entry, is constant
FARTHEST = 1e6  # deviations beyond which a feature counts as that far

Layers = list[tuple[Floats, Floats]]  # weights of shape (inputs, outputs) and biases of each layer


class Scaling(NamedTuple):
    """How features become numbers of mean 0 and variance 1.

    Attributes
    ----------
    exponents : ndarray of int of shape (d,)
        Powers of two that columns are divided by first, so that no square overflows.
    mean, deviation : ndarray of shape (d,)
        Of the columns after that.
    """

    exponents: NDArray[np.int64]
    mean: Floats
    deviation: Floats

    def of(self, X: Any) -> Floats:
        """Scaled features, dense."""
        dense = np.asarray(X.toarray() if sparse.issparse(X) else X, np.float64)
        with np.errstate(over="ignore"):
            scaled = (np.ldexp(dense, -self.exponents) - self.mean) / self.deviation
        return np.asarray(np.clip(scaled, -FARTHEST, FARTHEST))


class Networks(NamedTuple):
    """The three networks, each a list of layers, and how features are scaled before the first."""

    scaling: Scaling
    from_features: Layers
    from_labels: Layers
    to_labels: Layers


class Trained(NamedTuple):
    """Networks as they were when the loss was least, and the loss before training and after each epoch."""

    networks: Networks
    losses: Floats


class Plan(NamedTuple):
    """How networks are trained; parameters of :class:`clems.C2AE` under their names.

    By `by_features`, they are trained until the scores of held-out rows by their features are best; else until all that
    is minimised is least.
    """

    n_components: int
    alpha: float
    n_hidden: int
    batch_size: int
    learning_rate: float
    max_epochs: int
    patience: int
    validation_fraction: float | None
    n_threads: int
    by_features: bool


def scaling_of(X: Any, weight: Weights) -> Scaling:
    """Scaling of features by their weighted means and deviations."""
    greatest = abs(X).max(axis=0) if X.dtype.kind != "b" else X.max(axis=0)
    greatest = np.asarray(greatest.toarray() if sparse.issparse(greatest) else greatest, np.float64).ravel()
    exponents = np.frexp(greatest)[1].astype(np.int64)
    d = X.shape[1]
    plain = Scaling(exponents, np.zeros(d), np.ones(d))
    share = np.full(X.shape[0], 1 / X.shape[0]) if weight is None else weight / weight.sum()
    mean, variance = np.zeros(d), np.zeros(d)
    for rows in row_blocks(*X.shape):
        mean += share[rows] @ plain.of(X[rows])
    for rows in row_blocks(*X.shape):
        variance += share[rows] @ (plain.of(X[rows]) - mean) ** 2
    deviation = np.sqrt(variance)
    return Scaling(exponents, mean, np.where(deviation > FLATTEST, deviation, 1.0))


def forward(layers: Layers, inputs: Floats) -> Floats:
    """Compute the outputs of a network: an affine map for each layer, a leaky ReLU between them."""
    values = inputs
    for place, (weights, bias) in enumerate(layers):
        values = (np.maximum(values, SLOPE * values) if place else values) @ weights + bias
    return values


def scores_by(layers: Layers, codes: Floats) -> Floats:
    """Scores of labels, the outputs of F_d between 0 and 1."""
    return np.asarray(expit(forward(layers, codes)))


def ranking_loss(backend: Any, scores: Any, labels: Any) -> Any:
    """Loss of the scores of each row, in numpy or torch: labels should score above the others, and ½ in between.

    The published loss is the mean of exp(−5 (s_p − s_q)) over a label p and another q of a row. One threshold for all
    rows needs scores that can be compared between rows: so each row has a label more, whose score is ½, among both. Of
    A = mean of exp(−5 (s_p − ½)) and B = mean of exp(−5 (½ − s_q)), the published loss is A B, that of the pairs with ½
    A + B; a row that has all labels or none has only the latter.
    """
    missed = labels * backend.exp(STEEPNESS * (MIDDLE - scores))
    extra = (1 - labels) * backend.exp(STEEPNESS * (scores - MIDDLE))
    present, absent = labels.sum(1), (1 - labels).sum(1)
    below, above = missed.sum(1) / present.clip(1), extra.sum(1) / absent.clip(1)
    return below * above + below + above


def import_torch() -> Any:
    """Return torch, or say how to install it."""
    try:
        return import_module("torch")
    except ImportError:
        raise ImportError("C2AE needs torch: pip install 'clems[c2ae]'.") from None


def train(
    X: Any,
    Y: Labels,
    weight: Weights,
    plan: Plan,
    random_state: np.random.RandomState,
    report: Callable[[int, float], None] = lambda *_: None,
) -> Trained:
    """Train the networks until the loss of held-out rows no longer falls.

    Weights are drawn and rows are shuffled by numpy, so that torch's own random numbers are neither used nor changed.
    Computation is in double precision.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        Features; sparse ones become dense a batch at a time.
    Y : ndarray or CSR array of shape (n, K)
        Labels.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    plan : Plan
        Sizes of networks and of steps.
    random_state : RandomState
        Where weights, held-out rows and the order of rows come from.
    report : callable, optional
        Called with the epochs that have ended and the loss.
    """
    torch = import_torch()
    n, (d, K) = X.shape[0], (X.shape[1], Y.shape[1])
    M, H = plan.n_components, plan.n_hidden
    start = Networks(
        scaling_of(X, weight),
        drawn([d, H, H, M], random_state),
        drawn([K, H, M], random_state),
        drawn([M, H, K], random_state),
    )
    share = np.ones(n) if weight is None else weight / weight.mean()
    n_held_out = int(n * (plan.validation_fraction or 0))
    order = random_state.permutation(n) if n_held_out else np.arange(n)
    judged, learned = (order[:n_held_out], order[n_held_out:]) if n_held_out else (order, order)

    def batch(rows: Integers) -> tuple[Any, ...]:
        parts = start.scaling.of(X[rows]), as_dense(Y[rows]).astype(np.float64), share[rows]
        return tuple(map(torch.from_numpy, parts))

    def batches(rows: Integers) -> Iterator[tuple[Any, ...]]:
        return (batch(rows[first : first + plan.batch_size]) for first in range(0, len(rows), plan.batch_size))

    with undisturbed(torch, plan.n_threads):
        nets = [
            [(torch.tensor(W, requires_grad=True), torch.tensor(b, requires_grad=True)) for W, b in layers]
            for layers in start[1:]
        ]

        def loss_now() -> float:
            """Loss of the rows that judge: of their scores by F_d(F_x), or all that is minimised."""
            total = 0.0
            with torch.no_grad():
                for x, y, w in batches(judged):
                    if plan.by_features:
                        scores = torch.sigmoid(run(torch, nets[2], run(torch, nets[0], x)))
                        total += float(w @ ranking_loss(torch, scores, y))
                    else:
                        total += float(w.sum() * objective(torch, nets, x, y, w, plan.alpha))
            return total / float(share[judged].sum())

        def weights_now() -> list[Layers]:
            return [[(W.detach().numpy().copy(), b.detach().numpy().copy()) for W, b in layers] for layers in nets]

        optimizer = torch.optim.Adam([part for net in nets for layer in net for part in layer], lr=plan.learning_rate)
        losses, best, best_epoch = [loss_now()], weights_now(), 0
        for epoch in range(1, plan.max_epochs + 1):
            mixed = random_state.permutation(learned) if len(learned) > plan.batch_size else learned
            for x, y, w in batches(mixed):
                optimizer.zero_grad()
                objective(torch, nets, x, y, w, plan.alpha).backward()
                optimizer.step()
            losses.append(loss_now())
            report(epoch, losses[-1])
            if losses[-1] < losses[best_epoch]:
                best, best_epoch = weights_now(), epoch
            if epoch - best_epoch >= plan.patience:
                break
    return Trained(Networks(start.scaling, *best), np.array(losses))


def objective(torch: Any, nets: Any, x: Any, y: Any, w: Any, alpha: float) -> Any:
    """Distance of both codes, orthogonality of each, and ranking loss of labels decoded from their own code."""
    from_features, from_labels, to_labels = nets
    codes = run(torch, from_features, x), run(torch, from_labels, y)
    share = w / w.sum()
    apart = share @ ((codes[0] - codes[1]) ** 2).sum(1)
    # ‖Zᵀ Z / n − I‖² of both codes: uncorrelated, of variance 1.
    identity = torch.eye(codes[0].shape[1], dtype=torch.float64)
    askew = sum(((Z.T @ (share[:, None] * Z) - identity) ** 2).sum() for Z in codes)
    ranked = share @ ranking_loss(torch, torch.sigmoid(run(torch, to_labels, codes[1])), y)
    return apart + ORTHOGONALITY * askew + alpha * ranked


def run(torch: Any, layers: Any, values: Any) -> Any:
    """Compute the outputs of a network in torch."""
    for place, (weights, bias) in enumerate(layers):
        values = (torch.nn.functional.leaky_relu(values, SLOPE) if place else values) @ weights + bias
    return values


def drawn(sizes: list[int], random_state: np.random.RandomState) -> Layers:
    """Layers to start from: normal weights that keep the variance of values, up to the last; no biases."""
    layers = []
    for place, (inputs, outputs) in enumerate(pairwise(sizes)):
        is_last = place == len(sizes) - 2
        variance = (2 if place else 1) * (START if is_last else 1) / inputs
        weights = random_state.standard_normal((inputs, outputs)) * variance**0.5
        layers.append((weights, np.zeros(outputs)))
    return layers


@contextmanager
def undisturbed(torch: Any, n_threads: int) -> Iterator[None]:
    """Compute on the CPU, with gradients, by so many threads, whatever torch is set to; it stays set so."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        with torch.inference_mode(False), torch.enable_grad(), torch.device("cpu"):
            yield
    finally:
        torch.set_num_threads(before)
