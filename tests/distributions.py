"""Posteriors to test with, and what predictions cost under them by brute force over all label vectors."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from clems import COSTS, f_beta, get_cost, weighted_hamming
from clems.posterior.distribution import Posterior


def every_vector(K):
    """All 2^K label vectors; label k of the i-th is bit k of i."""
    return (np.arange(2**K)[:, None] >> np.arange(K) & 1).astype(np.uint8)


def posterior_of(labels, share, **known):
    return Posterior(labels.astype(np.uint8), sparse.csr_array(share), **known)


def some_shares(draw, rng, n, size, concentrations=(0.02, 0.1, 0.3, 0.5, 3)):
    """Shares of a few vectors for some rows; those that are counts of draws are often equal, or zero."""
    if draw(st.booleans()):
        return rng.dirichlet(np.full(size, draw(st.sampled_from(concentrations))), n)
    counts = rng.multinomial(draw(st.integers(1, 12)), np.full(size, 1 / size), n)
    return counts / counts.sum(axis=1, keepdims=True)


@st.composite
def posteriors(draw, max_labels=6, whole=False):
    """Distributions of one to four rows over the same few vectors or, if whole, over all of them and without ties."""
    K, n = draw(st.integers(1, max_labels)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = rng.permutation(every_vector(K))[: 2**K if whole else draw(st.integers(1, 2**K))]
    if whole:
        return posterior_of(labels, rng.dirichlet(np.full(2**K, draw(st.sampled_from([0.1, 0.5, 3]))), n))
    return posterior_of(labels, some_shares(draw, rng, n, len(labels)))


@st.composite
def own_posteriors(draw, max_labels=5):
    """Distributions of one to four rows, each over vectors of its own, as chains have them."""
    K, n = draw(st.integers(1, max_labels)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = [rng.permutation(every_vector(K))[: draw(st.integers(1, 2**K))] for _ in range(n)]
    rows = [rng.dirichlet(np.full(len(own), draw(st.sampled_from([0.3, 1, 5]))))[None] for own in labels]
    return posterior_of(np.concatenate(labels), sparse.block_diag(rows, "csr"), shared=False)


def own_cost(Y, P):
    """Root of prices that grow along the labels; misses cost twice."""
    price = np.arange(1, Y.shape[1] + 1)
    return np.sqrt((2 * (Y > P) + (Y < P)) @ price)


def jaccard(Y, P):
    union = (Y | P).sum(axis=1)
    return 1 - np.where(union > 0, (Y & P).sum(axis=1) / np.maximum(union, 1), 1)


SEARCHED = [COSTS["accuracy"], get_cost(own_cost), get_cost(jaccard)]  # which no exact rule is known for
ALL_COSTS = [*COSTS.values(), f_beta(3), weighted_hamming(3, 1), *SEARCHED[1:]]


def brute(posterior, cost):
    """Expected cost of all vectors for all rows, and the function that looks up what a prediction costs."""
    every = every_vector(posterior.labels.shape[1])
    table = np.zeros((len(posterior), len(every)))
    for truth, share in zip(posterior.labels, posterior.share.toarray().T, strict=True):
        table += np.outer(share, cost.rowwise(np.broadcast_to(truth, every.shape), every))

    def of(predicted):
        return table[np.arange(len(table)), predicted.astype(int) @ (1 << np.arange(every.shape[1]))]

    return table, of


def reached_and_least(posterior, cost, predicted):
    """Expected cost of each row's prediction, and the least of all vectors."""
    of_all = posterior.share @ cost.pairwise(posterior.labels, every_vector(predicted.shape[1]))
    chosen = predicted @ (1 << np.arange(predicted.shape[1]))
    return of_all[np.arange(len(predicted)), chosen], of_all.min(axis=1)
