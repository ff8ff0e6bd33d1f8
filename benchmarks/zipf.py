"""Generated data at the sizes of extreme multi-label data: labels by Zipf's law, in sets of three to five.

A label's share falls with its rank, ``1 / (rank + SHIFT)``; a label set is drawn label by label, and no set is drawn
twice. Sets are themselves frequent by Zipf's law where there are more rows than sets. Features depend on labels: of
sparse rows each label adds some of its own words, which other labels share, and chance adds others; dense rows are the
sum of their labels' codes and noise.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

SIZES = (3, 4, 5)  # labels of a set
SHIFT = 5  # so that the most frequent label is in about a tenth of the sets, not in most
WORDS = 12  # words of a label, of which a row has each by a chance of one half
NOISE = 20  # words of a row that have nothing to do with its labels
SPREAD = 0.5  # of the noise of dense features, over that of a code


def zipf_sets(L: int, K: int, seed: int = 0) -> sparse.csr_array:
    """Draw L distinct sets of three to five of K labels; a CSR array of shape (L, K)."""
    rng = np.random.default_rng(seed)
    cumulated = np.cumsum(1 / np.arange(1 + SHIFT, K + 1 + SHIFT))
    names = rng.integers(2**62, size=K + 1, dtype=np.uint64)  # sums of which name sets; the last label is none
    names[K] = 0
    sets, known = np.empty((0, SIZES[-1]), np.int32), np.empty(0, np.uint64)
    while len(sets) < L:
        drawn = np.searchsorted(cumulated, rng.random((L, SIZES[-1])) * cumulated[-1]).astype(np.int32)
        drawn[np.arange(SIZES[-1]) >= rng.choice(SIZES, L)[:, None]] = K
        drawn.sort(axis=1)
        repeated = ((drawn[:, 1:] == drawn[:, :-1]) & (drawn[:, 1:] < K)).any(axis=1)
        sets, known = np.concatenate([sets, drawn[~repeated]]), np.concatenate([known, names[drawn[~repeated]].sum(1)])
        known, first = np.unique(known, return_index=True)
        sets = sets[first]
    chosen = sets[rng.permutation(len(sets))[:L]]
    there = chosen < K
    bounds = np.concatenate([[0], there.sum(axis=1).cumsum()])
    return sparse.csr_array((np.ones(bounds[-1], np.uint8), chosen[there], bounds), (L, K))


def zipf_rows(n: int, L: int, K: int, seed: int = 0) -> sparse.csr_array:
    """Draw n rows of L distinct label sets, each of which is there if n is at least L; a CSR array of shape (n, K)."""
    rng = np.random.default_rng((seed, 1))
    cumulated = np.cumsum(1 / np.arange(1 + SHIFT, L + 1 + SHIFT))
    more = np.searchsorted(cumulated, rng.random(max(n - L, 0)) * cumulated[-1])
    return zipf_sets(L, K, seed)[rng.permutation(np.concatenate([np.arange(min(n, L)), more]))]


def words_of(Y: sparse.csr_array, d: int, seed: int = 0) -> sparse.csr_array:
    """Sparse features of rows by their labels: counts of d words; a CSR array of shape (n, d)."""
    rng = np.random.default_rng((seed, 2))
    n, K = Y.shape
    vocabulary = rng.integers(d, size=(K, WORDS))
    owner = np.repeat(np.arange(n), np.diff(Y.indptr))
    said = rng.random((Y.nnz, WORDS)) < 0.5
    rows = np.concatenate([np.repeat(owner, said.sum(axis=1)), np.repeat(np.arange(n), NOISE)])
    words = np.concatenate([vocabulary[Y.indices][said], rng.integers(d, size=n * NOISE)])
    places = rows.astype(np.int32), words.astype(np.int32)  # as support vector machines want them
    return sparse.coo_array((np.ones(len(rows), np.float32), places), (n, d)).tocsr()


def codes_of(Y: sparse.csr_array, d: int, seed: int = 0) -> np.ndarray:
    """Dense features of rows by their labels, float32, shape (n, d)."""
    rng = np.random.default_rng((seed, 3))
    codes = rng.standard_normal((Y.shape[1], d)).astype(np.float32)
    noise = rng.standard_normal((Y.shape[0], d), np.float32)
    return np.asarray(Y.astype(np.float32) @ codes) + np.float32(SPREAD) * noise
