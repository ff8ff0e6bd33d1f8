"""Scores of rankings: precision, recall, nDCG and propensity-scored precision at k of real-valued scores of labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clems.arrays import Integers, canonical, row_blocks
from clems.checks import check_count
from clems.costs.at_k import discounts, greatest_sums, weights_of_hits
from clems.costs.label_prices import names_of_pair
from clems.labels.matrix import as_labels
from clems.wording import first_few


def ranking_scores(Y: Any, scores: Any, k: int | Iterable[int] = (1, 3, 5), propensities: Any = None) -> pd.DataFrame:
    """Compute what tables of extreme classification report of labels in order: precision, recall, nDCG and PSP at k.

    Labels are ranked by their scores, the greatest first; of equal scores the label that comes first in Y is first. Of
    a sparse matrix only entries other than 0 are ranked, and places that stay empty are no hits. Precision, recall and
    nDCG are means over rows; a row without true labels scores 0. Propensity-scored precision is the sum over rows of
    ``Σ y_l / p_l`` of the first k labels, over the greatest that this sum could be.

    Parameters
    ----------
    Y : array-like, sparse matrix or DataFrame of shape (n, K)
        True labels, zeros and ones.
    scores : array-like, sparse matrix or DataFrame of shape (n, K)
        Scores of the labels, such as `predict_proba` returns them. Columns of two DataFrames are matched by name.
    k : int or iterable of int, default=(1, 3, 5)
        How many labels count.
    propensities : array-like of shape (K,), dict or Series, default=None
        How probable it is that labels are noted where they are true, see :func:`clems.propensities`, for PSP.

    Returns
    -------
    DataFrame
        A row for each k, with the columns `precision`, `recall`, `ndcg` and, given propensities, `psp`.

    Examples
    --------
    >>> from clems import propensities
    >>> from clems.evaluation import ranking_scores
    >>> Y = [[1, 0, 1, 0], [0, 1, 0, 0]]
    >>> scores = [[0.9, 0.8, 0.4, 0.1], [0.2, 0.3, 0.7, 0.1]]
    >>> ranking_scores(Y, scores, k=(1, 3), propensities=propensities(Y)).loc[3].round(3).to_dict()
    {'precision': 0.5, 'recall': 1.0, 'ndcg': 0.775, 'psp': 1.0}
    """
    ks = [check_count(one, "k") for one in ([k] if np.isscalar(k) else list(k))]  # type: ignore[arg-type]
    if not ks:
        raise ValueError("k must hold at least one number of labels.")
    truth = sparse.csr_array(as_labels(Y))
    n, K = truth.shape
    if not n:
        raise ValueError("Scores of a ranking need at least one row.")
    ranked = ranked_labels(_checked_scores(scores, Y, truth.shape), min(max(ks), K))
    # y_l of the label at each place, shape (n, places); a place that is empty, -1, is no hit
    hits = np.where(ranked >= 0, truth[np.arange(n)[:, None], np.maximum(ranked, 0)].toarray(), 0.0)
    scores_at: dict[str, list[float]] = {"precision": [], "recall": [], "ndcg": []}
    size = np.diff(truth.indptr)
    gain = discounts(max(ks))
    for one in ks:
        hit = hits[:, :one]
        scores_at["precision"].append(float(hit.sum(axis=1).mean() / one))
        scores_at["recall"].append(float((hit.sum(axis=1) / np.maximum(size, 1)).mean()))
        # DCG over that of a ranking with all true labels first
        best = gain.cumsum()[np.clip(size, 1, one) - 1]
        scores_at["ndcg"].append(float((hit @ gain[: hit.shape[1]] / best).mean()))
    if propensities is not None:
        weights = weights_of_hits(propensities, names_of_pair(Y, scores), K)
        worth, best = hits * weights[np.maximum(ranked, 0)], greatest_sums(truth, weights, ks).sum(axis=0)
        # a set of rows without any true label has nothing to find
        scores_at["psp"] = [
            float(worth[:, :one].sum() / total) if total else 0.0 for one, total in zip(ks, best, strict=True)
        ]
    return pd.DataFrame(scores_at, index=pd.Index(ks, name="k"))


def ranked_labels(scores: Any, k: int) -> Integers:
    """Return the k labels of the greatest score of each row, the greatest first, of equal ones the first; -1 is none.

    Parameters
    ----------
    scores : ndarray or CSR array of shape (n, K)
        Scores; of a CSR array those that are stored are ranked.
    k : int
        How many, at most K.

    Returns
    -------
    ndarray of shape (n, k)
    """
    n = scores.shape[0]
    ranked = np.full((n, k), -1, np.intp)
    if sparse.issparse(scores):
        length = np.diff(scores.indptr)
        row = np.repeat(np.arange(n), length)
        order = np.lexsort((scores.indices, -scores.data, row))
        rank = np.arange(len(row)) - np.repeat(scores.indptr[:-1], length)  # within the row
        first = rank < k
        ranked[row[first], rank[first]] = scores.indices[order][first]
        return ranked
    for rows in row_blocks(n, scores.shape[1]):
        ranked[rows] = np.argsort(-scores[rows], axis=1, kind="stable")[:, :k]
    return ranked


def _checked_scores(scores: Any, Y: Any, shape: tuple[int, int]) -> Any:
    """Scores as an array or CSR array of floats, columns in the order of the labels."""
    names, others = ([*getattr(one, "columns", ())] for one in (Y, scores))
    if names and others and {*names} != {*others}:
        raise ValueError(
            f"scores have the columns {first_few(others)}, Y has {first_few(names)}; they must have the same."
        )
    scores = scores[names] if names and others else scores
    try:
        given = sparse.csr_array(scores) if sparse.issparse(scores) else np.asarray(scores)
        given = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("scores must be a matrix of numbers, one for each row and label.") from None
    if given.shape != shape:
        raise ValueError(f"scores must have the shape of Y, {shape}, one for each row and label; it is {given.shape}.")
    if np.isnan(given.data if sparse.issparse(given) else given).any():
        raise ValueError("scores hold NaN, which has no place in an order.")
    return canonical(given, "scores") if sparse.issparse(given) else given
