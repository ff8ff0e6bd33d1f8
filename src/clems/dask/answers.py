"""What a fitted model answers about rows in partitions: maps that compute nothing until they are asked to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from clems.dask.partitions import check_collection, constant, import_dask, is_frame, partitions_of, rows_in, stacked
from clems.evaluation.answers import HALF, Alternative, Answers, answers_of
from clems.evaluation.evaluate import against_simple, evaluate_answers
from clems.labels.matrix import as_dense
from clems.learners.input import check_labels
from clems.learners.pipeline import learner_of, reach
from clems.posterior.distribution import AnyCost
from clems.wording import first_few, plural


def predict(model: Any, X: Any, cost: AnyCost | None = None) -> Any:
    """Predict the labels of rows in partitions, when that is asked for.

    Parameters
    ----------
    model : learner or Pipeline
        Any fitted learner, or a Pipeline that ends in one.
    X : dask array or dask DataFrame of shape (n, d)
        Features; of a DataFrame the columns of training are taken by name, others are ignored.
    cost : str, Cost or callable, default=None
        A cost other than the model's own, as in its `predict`.

    Returns
    -------
    dask array or dask DataFrame of shape (n, K)
        Of an array an array, of a DataFrame a DataFrame with the names of labels and the index of the rows; partition
        for partition what `model.predict` returns.

    Examples
    --------
    >>> import clems.dask
    >>> import dask.array as da
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CLEMS("f1", n_trees=20, random_state=0).fit(X[:200], Y[:200])
    >>> predicted = clems.dask.predict(model, da.from_array(X[200:], chunks=(50, -1)))
    >>> predicted.shape, predicted.chunks, int(predicted[0].sum().compute())
    ((100, 10), ((50, 50), (10,)), 5)
    """
    options = {} if cost is None else {"cost": cost}
    return _mapped(model, X, "predict", options, learner_of(model, "clems.dask.predict")._form_of_labels)


def predict_proba(model: Any, X: Any) -> Any:
    """Compute how probable labels are for rows in partitions, when that is asked for.

    Parameters
    ----------
    model : learner or Pipeline
        A fitted learner with probabilities, or a Pipeline that ends in one.
    X : dask array or dask DataFrame of shape (n, d)
        Features, as in :func:`predict`.

    Returns
    -------
    dask array or dask DataFrame of shape (n, K)

    Examples
    --------
    >>> import clems.dask
    >>> import dask.array as da
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CLEMS("f1", n_trees=20, random_state=0).fit(X[:200], Y[:200])
    >>> probable = clems.dask.predict_proba(model, da.from_array(X[200:], chunks=(50, -1)))
    >>> bool((probable.compute() == model.predict_proba(X[200:])).all())
    True
    """
    learner = learner_of(model, "clems.dask.predict_proba")
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{type(learner).__name__} has no probabilities of labels.")
    check_is_fitted(learner)
    return _mapped(model, X, "predict_proba", {}, np.empty((0, len(learner.classes_))))


def evaluate(model: Any, X: Any, Y: Any, *, unit: str = "", abstain_at: float | None = None) -> Any:
    """Compare predictions for rows in partitions with the truth, when that is asked for.

    Answers and labels of all rows come together in one worker, three bytes a label and row; features do not.

    Parameters
    ----------
    model : learner or Pipeline
        Any fitted learner, or a Pipeline that ends in one.
    X : dask array or dask DataFrame of shape (n, d)
        Features, as in :func:`predict`.
    Y : dask array or dask DataFrame of shape (n, K)
        True labels, cut into partitions as the features are.
    unit, abstain_at
        As in :func:`clems.evaluation.evaluate`.

    Returns
    -------
    Delayed
        Whose ``compute()`` gives the `Evaluation` that :func:`clems.evaluation.evaluate` returns.

    Examples
    --------
    >>> import clems.dask
    >>> import dask.array as da
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = CLEMS("f1", n_trees=20, random_state=0).fit(X[:200], Y[:200])
    >>> rows = da.from_array(X[200:], chunks=(50, -1)), da.from_array(Y[200:], chunks=(50, -1))
    >>> list(clems.dask.evaluate(model, *rows).compute().criteria)[:3]
    ['hamming', 'zero_one', 'f1']
    """
    learner = learner_of(model, "clems.dask.evaluate")
    check_is_fitted(learner)
    delayed, sent = import_dask().delayed, constant(model)
    parts = [delayed(_compared)(one.rows, sent) for one in partitions_of(_own_columns(learner, model, X), Y)]
    return delayed(_evaluated)(parts, sent, unit, abstain_at)


def _mapped(model: Any, X: Any, question: str, options: dict[str, Any], form: Any) -> Any:
    """Ask a question about each partition; `form` is an answer without rows."""
    learner = learner_of(model)
    check_is_fitted(learner)
    rows, names = _own_columns(learner, model, check_collection(X, "X")), learner.classes_
    sent = constant(model)
    if is_frame(rows):
        meta = pd.DataFrame(as_dense(form), columns=names, index=rows._meta.index[:0])
        return rows.map_partitions(_of_frame, sent, question, options, meta, meta=meta)
    chunks = rows.chunks[0], (len(names),)
    return rows.map_blocks(_of_array, sent, question, options, form, dtype=form.dtype, chunks=chunks, meta=form)


def _own_columns(learner: Any, model: Any, X: Any) -> Any:
    """Take the columns that a model was trained on, and refuse rows that lack some."""
    if is_frame(X) and (names := getattr(model, "feature_names_in_", None)) is not None:
        there = {*X.columns}
        if missing := [str(name) for name in names if name not in there]:
            raise ValueError(f"X lacks {plural(len(missing), 'column')} of the model: {first_few(missing)}.")
        return X[[*names]] if [*X.columns] != [*names] else X
    if model is learner and X.shape[1] != learner.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features; in training it had {learner.n_features_in_}.")
    return X


def _of_array(block: Any, model: Any, question: str, options: dict[str, Any], form: Any) -> Any:
    return getattr(model, question)(block, **options) if block.shape[0] else form


def _of_frame(
    frame: pd.DataFrame, model: Any, question: str, options: dict[str, Any], meta: pd.DataFrame
) -> pd.DataFrame:
    if not len(frame):
        return meta.set_axis(frame.index, axis="index")
    answer = as_dense(getattr(model, question)(frame, **options))
    return pd.DataFrame(answer, columns=meta.columns, index=frame.index)


def _compared(rows: Any, model: Any) -> tuple[Any, Any, Any, Any] | None:
    """Answers about a partition: labels, predictions, ½ thresholds, and what is expected of all ways to predict."""
    X, Y = rows_in(rows)
    if not X.shape[0]:
        return None
    learner, X, _ = reach(model, X, "clems.dask.evaluate")
    found = answers_of(learner, X, against=against_simple(learner))
    expected = {name: one.expected for name, one in found.against.items()} | {"": found.expected}
    half = found.against[HALF].predicted if HALF in found.against else None
    return check_labels(learner, Y), found.predicted, half, expected


def _evaluated(parts: Sequence[Any], model: Any, unit: str, abstain_at: float | None) -> Any:
    there = [part for part in parts if part is not None]
    if not there:
        raise ValueError("There are no rows in any partition.")
    learner = learner_of(model)
    truth, predicted, half, expected = zip(*there, strict=True)
    given = against_simple(learner) or {}
    costs = {
        name: None if expected[0][name] is None else np.concatenate([one[name] for one in expected])
        for name in expected[0]
    }
    labels = {name: np.concatenate(half) if name == HALF else given[name] for name in costs if name}
    shape = sum(len(one) for one in predicted), len(learner.classes_)
    against = {name: Alternative(np.broadcast_to(one, shape), costs[name]) for name, one in labels.items()}
    answers = Answers(np.concatenate(predicted), costs[""], None, None, [], against, [])
    return evaluate_answers(learner, answers, stacked(truth), unit=unit, abstain_at=abstain_at)
