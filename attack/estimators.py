"""Attacks on all learners with input in odd types, layouts, forms, shapes and sizes, from threads and processes.

The answer for plain float64 arrays is the oracle. Every attack must end in the same answer or, where it asks for
something that has no answer, in a ValueError or TypeError, also scikit-learn's; any other exception, a changed input
and a warning are failures, but for those that say what is so, of labels that never occur and of a single row. Run
``python -m attack.estimators --output attack/results/estimators.md``.
"""

# ruff: noqa: N818
import argparse
import hashlib
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from clems import LEARNERS
from clems.posterior.experts import EXPERTS

TREES = {"regressor": DecisionTreeRegressor(), "classifier": DecisionTreeClassifier()}
CHEAP = {"n_rounds": 2, "n_samples": 20, "n_neighbors": 3, "n_trees": 3, "random_state": 0}
CHEAP |= {"n_hidden": 16, "learning_rate": 1e-2, "max_epochs": 30, "validation_fraction": None}
VARIANTS = {  # of learners: settings that lead through other code
    **{f"clems, {expert} expert": ("clems", {"experts": [expert]}) for expert in EXPERTS},
    "clems, micro_f1": ("clems", {"cost": "micro_f1"}),
    "cost_sensitive, calibrated": ("cost_sensitive", {"calibration": "isotonic", "joint": "observed"}),
}
SINGLE = "There is a single training row: "
NEVER = r"(\d+ of \d+ labels|The only label) never occurs? in training"
SAME, REFUSED, EITHER = "same answer", "refused", "same answer or refused"
TRAIN, TEST, FEATURES, LABELS = 50, 20, 8, 3
PATIENCE = 120  # seconds that another process may take


class Failure(Exception):
    """What an attack found."""


@dataclass(frozen=True)
class Attack:
    """One attack on one learner.

    Attributes
    ----------
    learner : str
        Its name in `LEARNERS` or `VARIANTS`.
    kind, name : str
        Under what it is counted, and what it is.
    run : callable
        It returns how the attack ended, or raises.
    """

    learner: str
    kind: str
    name: str
    run: Callable[[], str]


@cache
def data(seed):
    """Training features, labels and new features: whole numbers from 0 to 100, which every type of number holds."""
    random = np.random.default_rng(seed)
    X = random.integers(1, 101, (TRAIN + TEST, FEATURES)).astype(float)
    X[random.random(X.shape) < 0.4] = 0
    Y = (X[:, :LABELS] + random.normal(0, 10, (len(X), LABELS)) > 20).astype(np.int64)
    return X[:TRAIN], Y[:TRAIN], X[TRAIN:]


def new(name, trees=False, **settings):
    """Return an unfitted learner, cheap to train; with `trees` on the default forest."""
    of, varied = VARIANTS.get(name, (name, {}))
    learner = LEARNERS[of]
    own = {key: value for key, value in CHEAP.items() if key in learner().get_params()}
    return learner(estimator=None if trees else TREES[learner.predictor], **own | varied | settings)


def answers(model, X):
    """Everything that a model says about rows, as arrays."""
    asked = ["predict", "predict_proba", *["expected_cost"] * model.criterion_.of_single_rows]
    found = [getattr(model, name)(X) for name in asked if hasattr(model, name)]
    if model.cost_at_predict:
        found += model.predict_each(X, ["rank", "hamming"])
    return [one.toarray() if sparse.issparse(one) else np.asarray(one) for one in found]


@cache
def fitted(name, seed, trees=False):
    """Fit a learner to the plain data."""
    return new(name, trees).fit(*data(seed)[:2])


@cache
def expected(name, seed, trees=False):
    """What it answers for plain features."""
    return answers(fitted(name, seed, trees), data(seed)[2])


@cache
def expected_of_sparse(name, seed):
    """What it answers when it is trained on a tidy sparse matrix.

    That must be what it answers otherwise, too. Of splits that are equally good up to rounding, though, scikit-learn's
    trees may take another in a sparse matrix than in an array; then the codes that trees are trained on are compared.
    """
    X, Y, new_X = data(seed)
    model = new(name).fit(sparse.csr_array(X), Y)
    found = answers(model, new_X)
    if not hasattr(model, "codes_"):
        compare(found, expected(name, seed))
    elif not np.allclose(model.codes_, fitted(name, seed).codes_, rtol=0, atol=1e-9):
        raise Failure("codes differ between a sparse matrix and an array")
    return found


def compare(found, wanted, tolerance=0.0):
    """Fail unless labels are equal, and numbers are so up to a tolerance."""
    for one, other in zip(found, wanted, strict=True):
        numbers = tolerance if other.dtype.kind == "f" else 0
        if one.shape != other.shape or not np.allclose(one.astype(float), other.astype(float), rtol=0, atol=numbers):
            raise Failure(f"{(one != other).sum() if one.shape == other.shape else one.shape} answers differ")


def snapshot(given):
    """Everything that an input holds, to see whether it was changed."""
    if sparse.issparse(given):
        if given.format in ("lil", "dok"):
            return [given.toarray()]
        parts = ("data", "indices", "indptr", "row", "col", "offsets")
        return [np.array(getattr(given, part)) for part in parts if hasattr(given, part)]
    if isinstance(given, pd.DataFrame):
        return [given.to_numpy(object), np.array(given.columns)]
    return [np.array(given, object if isinstance(given, (list, tuple)) else None)]


def warnings_for(labels):
    """What is said of the labels of training rows, if anything: of a single row, and of labels that none has."""
    said = [SINGLE] if len(labels) == 1 else []
    said += [NEVER] if not labels.any(axis=0).all() else []
    return "|".join(f"(?:{one})" for one in said) or None


def watched(call, wanted, *given, said=None):
    """Run an attack; say how it ended, and fail if that is not what is wanted or if an input was changed.

    Nor may there be warnings, but for those of this library that begin with what is `said`.
    """
    before = [snapshot(one) for one in given]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            call()
            ended = SAME
        except (ValueError, TypeError) as error:
            if not str(error).strip():
                raise Failure(f"{type(error).__name__} without a sentence") from error
            ended = REFUSED
            if wanted == SAME:
                raise Failure(f"refused with {str(error).splitlines()[0]!r}") from error
    for one in heard:
        if said is None or one.category is not UserWarning or not re.match(said, str(one.message)):
            raise Failure(f"warned {one.category.__name__}: {one.message}")
    if wanted == REFUSED and ended == SAME:
        raise Failure("answered what has no answer")
    for one, old in zip(given, before, strict=True):
        for part, was in zip(snapshot(one), old, strict=True):
            if part.dtype != was.dtype or (not np.array_equal(part, was) and not pd.isna(part[part != was]).all()):
                raise Failure("an input was changed")
    return ended


TYPES = [
    "bool",
    *(f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
]
TYPES += ["longdouble", ">f4", ">f8", ">i2", ">i8", ">u4", "object"]


def with_gap(A, gap):
    """Put something that stands for no value in the place of the first of the greatest numbers."""
    A = A.astype(object if gap is None else float)
    A[np.unravel_index(A.argmax(), A.shape)] = gap
    return A


# Some take gaps in features, others in labels; then what stands for one makes no difference.
MISSING = {"NaN": partial(with_gap, gap=np.nan), "None": partial(with_gap, gap=None)}
NO_NUMBERS = {
    "strings": lambda A: np.full(A.shape, "word"),
    "bytes": lambda A: np.full(A.shape, b"word"),
    "strings as objects": lambda A: np.full(A.shape, "word", object),
    "complex": lambda A: A + 1j,
    "dates": lambda A: A.astype("datetime64[s]"),
    "lists as objects": lambda A: [[[1]] * A.shape[1]] * len(A),
    "structured": lambda A: np.zeros(A.shape, [("a", float)]),
    "infinity": lambda A: np.where(A.max() == A, -np.inf, A),
    "1e4000": lambda A: A + np.longdouble(10) ** 4000,
    "three dimensions": lambda A: A[:, :, None],
    "one dimension": lambda A: A[:, 0],
    "a number": lambda A: 3.0,
    "a word": lambda A: "word",
    "nothing": lambda A: None,
}


def mapped(A):
    """A read-only view of a file."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, A)
        return np.load(file.name, mmap_mode="r")


def frozen(A):
    """An array that cannot be written to."""
    A = A.copy()
    A.flags.writeable = False
    return A


def unaligned(A):
    """An array whose numbers begin at odd addresses."""
    raw = np.zeros(A.nbytes + 1, np.uint8)
    view = raw[1:].view(A.dtype).reshape(A.shape)
    view[:] = A
    return view


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "rows reversed": lambda A: A[::-1].copy()[::-1],
    "columns reversed": lambda A: A[:, ::-1].copy()[:, ::-1],
    "every other row": lambda A: np.repeat(A, 2, axis=0)[::2],
    "every third column": lambda A: np.repeat(A, 3, axis=1)[:, ::3],
    "transposed": lambda A: np.ascontiguousarray(A.T).T,
    "read-only": frozen,
    "file": mapped,
    "unaligned": unaligned,
    "matrix": lambda A: A.view(np.matrix),
    "masked": np.ma.MaskedArray,
}


def in_parts(A, random, index=np.int32):
    """Rows, columns and parts of entries in no order; those of some zeros are there too and cancel."""
    row, column = (place.astype(index) for place in np.indices(A.shape).reshape(2, -1))
    first = random.integers(0, 3, row.size).astype(A.dtype)
    order = random.permutation(2 * row.size)
    parts = ((row, row), (column, column), (A.ravel() - first, first))
    return [np.concatenate(part)[order] for part in parts]


def compressed(form, A, random, index):
    """A compressed matrix whose entries are stored in parts and in no order."""
    row, column, value = in_parts(A, random, index)
    outer, inner = (column, row) if form.startswith("csc") else (row, column)
    order = np.argsort(outer, kind="stable")
    ends = np.concatenate([[0], np.bincount(outer, minlength=A.shape[form.startswith("csc")]).cumsum()]).astype(index)
    value = value[order].reshape(-1, 1, 1) if form.startswith("bsr") else value[order]
    matrix = getattr(sparse, form)((value, inner[order], ends), shape=A.shape)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def sparse_forms(random):
    """Sparse matrices of all forms, tidy and untidy."""
    for form, kind in product(("csr", "csc", "coo", "lil", "dok", "dia", "bsr"), ("array", "matrix")):
        name = f"{form}_{kind}"
        yield name, getattr(sparse, name)
        if form in ("csr", "csc", "bsr"):
            for index in (np.int32, np.int64):
                yield f"{name} in parts, {index.__name__}", partial(compressed, name, random=random, index=index)
        if form == "coo":

            def parts(A, name=name):
                row, column, value = in_parts(A, random)
                return getattr(sparse, name)((value, (row, column)), shape=A.shape)

            yield f"{name} in parts", parts


def nullable(A, dtype):
    """A DataFrame of a type of pandas' own."""
    return pd.DataFrame(A).astype(dtype)


def mixed(A):
    """A DataFrame of columns of several types."""
    types = ["float64", "int64", "Float64", "int8", "float32", "Int64"]
    return pd.DataFrame(A).astype({k: types[k % 6] for k in range(A.shape[1])})


FRAMES = {
    "list": np.ndarray.tolist,
    "tuple": lambda A: tuple(map(tuple, A.tolist())),
    "list of arrays": list,
    "frame": pd.DataFrame,
    "frame, Float64": partial(nullable, dtype="Float64"),
    "frame, Int64": partial(nullable, dtype="Int64"),
    "frame, object": partial(nullable, dtype=object),
    "frame, mixed": mixed,
    "frame, sparse columns": lambda A: pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(A)),
    "frame, odd index": lambda A: pd.DataFrame(A, index=np.arange(len(A))[::-1] // 2),
    "frame, several blocks": lambda A: pd.concat(
        [pd.DataFrame(A[:, :1]), pd.DataFrame(A[:, 1:])], axis=1, ignore_index=True
    ),
}


def cast(A, dtype):
    """Numbers of a type; where it cannot hold them, what it makes of them."""
    return A.astype(dtype)


def forms(seed):
    """Yield kind, name, function and what is wanted, for each way to pass a matrix."""
    random = np.random.default_rng(seed)
    for dtype in TYPES:
        yield "types", dtype, partial(cast, dtype=dtype), SAME
    for name, form in NO_NUMBERS.items():
        yield "types", name, form, REFUSED
    for name, form in MISSING.items():
        yield "types", name, form, EITHER
    for name, form in LAYOUTS.items():
        yield "layouts", name, form, EITHER if name == "matrix" else SAME
    for name, form in FRAMES.items():
        yield "forms", name, form, SAME
    for name, form in sparse_forms(random):
        yield "sparse", name, form, SAME
    numbers = [dtype for dtype in TYPES if dtype not in ("bool", "object")]
    layouts = [name for name in LAYOUTS if name not in ("masked", "matrix")]
    for _ in range(12):  # several at once
        dtype, first, second = random.choice(numbers), *random.choice(layouts, 2)
        yield (
            "mixtures",
            f"{dtype}, {first}, {second}",
            lambda A, dtype=dtype, first=first, second=second: LAYOUTS[second](LAYOUTS[first](A.astype(dtype))),
            SAME,
        )


def plain(form, A):
    """The numbers that a form makes of a matrix: only a type of few values and gaps change them."""
    if form in MISSING.values():
        return MISSING["NaN"](A)
    return A.astype(bool).astype(float) if getattr(form, "keywords", {}).get("dtype") == "bool" else A


def attacks_by_form(name, seed) -> Iterator[Attack]:
    """Pass features and labels in every form."""
    X, Y, new_X = data(seed)
    model = fitted(name, seed)

    def wanted_of(given, seen, new_seen):
        if sparse.issparse(given) or hasattr(given, "sparse"):
            return expected_of_sparse(name, seed)
        return expected(name, seed) if seen is X else answers(new(name).fit(seen, Y), new_seen)

    for kind, what, form, wanted in forms(seed):

        def fit(form=form, wanted=wanted):
            given = form(X)

            def call():
                trained = new(name).fit(given, Y)
                compare(answers(trained, form(new_X)), wanted_of(given, plain(form, X), plain(form, new_X)))

            return watched(call, wanted, *[given] * (wanted == SAME))

        def predict(form=form, wanted=wanted):
            given = form(new_X)

            def call():
                compare(answers(model, given), answers(model, plain(form, new_X)))

            return watched(call, wanted, *[given] * (wanted == SAME))

        def labels(form=form, wanted=wanted):
            given = form(Y if wanted == SAME else Y.astype(float))

            def call():
                trained = new(name).fit(X, given)
                if form in MISSING.values():
                    compare(answers(trained, new_X), answers(new(name).fit(X, plain(form, Y)), new_X))
                    return
                compare(answers(trained, new_X), expected(name, seed))
                if trained.score(X, given) != model.score(X, Y):
                    raise Failure("the score differs")

            return watched(call, wanted, *[given] * (wanted == SAME))

        yield Attack(name, kind, f"X of fit: {what}", fit)
        yield Attack(name, kind, f"X of predict: {what}", predict)
        yield Attack(name, kind, f"Y: {what}", labels)


def attacks_by_shape(name, seed) -> Iterator[Attack]:
    """Few rows, features and labels, and labels that do not vary."""
    X, Y, new_X = data(seed)
    shapes = {
        "1 row": (X[:1], Y[:1]),
        "2 rows": (X[:2], Y[:2]),
        "1 feature": (X[:, :1], Y),
        "1 label": (X, Y[:, :1]),
        "1 of each": (X[:1, :1], Y[:1, :1]),
        "no label": (X, np.zeros_like(Y)),
        "all labels": (X, np.ones_like(Y)),
        "a constant label": (X, np.column_stack([Y, np.ones(TRAIN, int), np.zeros(TRAIN, int)])),
        "more features than rows": (np.tile(X[:5], (1, 20)), Y[:5]),
        "constant features": (np.ones_like(X), Y),
        "zeros": (np.zeros_like(X), Y),
        "equal rows": (np.repeat(X[:1], TRAIN, axis=0), np.repeat(Y[:1], TRAIN, axis=0)),
    }
    for (what, (features, labels)), form in product(shapes.items(), (np.asarray, sparse.csr_array)):

        def fine(features=features, labels=labels, form=form):
            def call():
                predicted = new(name).fit(form(features), labels).predict(form(features))
                constant = (labels == labels[0]).all(axis=0)
                if predicted.shape != labels.shape or (predicted[:, constant] != labels[:, constant]).any():
                    raise Failure("a constant label changed")

            return watched(call, SAME, said=warnings_for(labels))

        yield Attack(name, "shapes", f"{what}, {form.__name__}", fine)
    empty = {
        "no rows": (X[:0], Y[:0]),
        "no features": (X[:, :0], Y),
        "no labels at all": (X, Y[:, :0]),
        "fewer labels than rows": (X, Y[:-1]),
    }
    for what, given in empty.items():
        yield Attack(name, "shapes", what, lambda given=given: watched(lambda: new(name).fit(*given), REFUSED))
    for what, given in {"no rows": new_X[:0], "fewer features": new_X[:, 1:], "more": np.tile(new_X, 2)}.items():
        call = partial(fitted(name, seed).predict, given)
        yield Attack(name, "shapes", f"{what} in predict", lambda call=call: watched(call, REFUSED))


def attacks_by_weight(name, seed) -> Iterator[Attack]:
    """Weights of every form and size."""
    X, Y, new_X = data(seed)
    usual = np.random.default_rng(seed).integers(0, 4, TRAIN)
    weights = {
        "list": usual.tolist(),
        "tuple": tuple(usual.tolist()),
        "series": pd.Series(usual, index=np.arange(TRAIN)[::-1]),
        "series, Int64": pd.Series(usual, dtype="Int64"),
        "objects": usual.astype(object),
        "strided": np.repeat(usual, 3)[::3],
        "reversed": usual[::-1].copy()[::-1],
        "read-only": frozen(usual),
        **{dtype: usual.astype(dtype) for dtype in ("int8", "uint64", "float16", "float32", "longdouble", ">f8")},
    }

    def weighted(weight):
        return answers(new(name).fit(X, Y, weight), new_X)

    for what, weight in weights.items():

        def same(weight=weight):
            return watched(lambda: compare(weighted(weight), weighted(usual.astype(float))), SAME, weight)

        yield Attack(name, "weights", what, same)
    ones = np.ones(TRAIN)
    some = np.where(np.arange(TRAIN) % 2, 1.0, 0.0)
    sizes = {
        "one row counts": np.eye(1, TRAIN)[0],
        "half of them 0": some,
        "half of them 5e-324": some + 5e-324,
        "half of them 1e-300": some + 1e-300,
        "all 1e-90": ones * 1e-90,
        "all 1e90": ones * 1e90,
        "1e-90 to 1e90": np.logspace(-90, 90, TRAIN),
    }
    for what, weight in sizes.items():

        def counts(weight=weight):
            return watched(lambda: weighted(weight), SAME, weight, said=warnings_for(Y[weight > 0]))

        yield Attack(name, "weights", what, counts)
    bad = {
        "negative": -ones,
        "one is negative": np.where(np.arange(TRAIN), 1.0, -1e-300),
        "zero": 0 * ones,
        "NaN": ones * np.nan,
        "infinity": ones * np.inf,
        "1e300": ones * 1e300,
        "1e4000": ones * np.longdouble(10) ** 4000,
        "5e-324": ones * 5e-324,
        "too few": ones[1:],
        "two columns": np.ones((TRAIN, 2)),
        "a number": 1.0,
        "strings": ["1"] * TRAIN,
        "words": ["word"] * TRAIN,
        "complex": ones + 1j,
        "dates": ones.astype("datetime64[s]"),
        "a set": {1.0},
        "sparse": sparse.csr_array(ones[None]),
    }
    for what, weight in bad.items():
        yield Attack(name, "weights", what, lambda weight=weight: watched(lambda: weighted(weight), REFUSED))


def attacks_by_size(name, seed) -> Iterator[Attack]:
    """Features that are huge or tiny: an answer, or a sentence where single precision does not hold them."""
    X, Y, new_X = data(seed)
    powers = [-1074, -1030, -600, -130, -30, 30, 60, 120]
    sizes = {f"times 2^{power}": (partial(np.ldexp, x2=power), SAME) for power in powers}
    sizes |= {f"times 2^{power}": (partial(np.ldexp, x2=power), REFUSED) for power in (128, 400, 511, 512, 1000, 1016)}
    span = 10.0 ** np.linspace(-300, 30, FEATURES)
    sizes["from 1e-300 to 1e30"] = (lambda A: A * span, SAME)
    sizes["from 1e-300 to 1e300"] = (lambda A: A * span**-1, REFUSED)
    sizes["1e200 added"] = (lambda A: A + 1e200, REFUSED)
    sizes["1e30 added"] = (lambda A: A + 1e30, SAME)
    for (what, (change, wanted)), form, trees in product(sizes.items(), (np.asarray, sparse.csr_array), (False, True)):

        def fit(change=change, form=form, wanted=wanted, trees=trees):
            given = form(_called(change, X))

            def call():
                for answer in answers(new(name, trees).fit(given, Y), form(_called(change, new_X))):
                    if not np.isfinite(answer.astype(float)).all():
                        raise Failure("an answer is not finite")

            return watched(call, wanted, given)

        def predict(change=change, form=form, wanted=wanted, trees=trees):
            return watched(lambda: answers(fitted(name, seed, trees), form(_called(change, new_X))), wanted)

        where = f"{what}, {form.__name__}, {'forest' if trees else 'tree'}"
        yield Attack(name, "sizes", f"fit, {where}", fit)
        yield Attack(name, "sizes", f"predict, {where}", predict)


def _called(change, A):
    return np.ldexp(A, change.keywords["x2"]) if isinstance(change, partial) else change(A)


def attacks_by_use(name, seed) -> Iterator[Attack]:
    """Copies, repetition, jobs and threads."""
    X, Y, new_X = data(seed)

    def copies(copy, trees):
        model = copy(fitted(name, seed, trees))
        compare(answers(model, new_X), expected(name, seed, trees))
        compare(answers(copy(model.fit(X[:10], Y[:10])).fit(X, Y), new_X), expected(name, seed, trees))
        compare(answers(clone(model).fit(X, Y), new_X), expected(name, seed, trees))

    def repeated(trees):
        model = fitted(name, seed, trees)
        before = pickle.dumps(model)
        for _ in range(3):
            compare(answers(model, new_X), expected(name, seed, trees))
        if pickle.dumps(model) != before:
            raise Failure("a prediction changed the model")

    def jobs():
        found = answers(new(name, trees=True, n_jobs=2).fit(X, Y), new_X)
        compare(found, expected(name, seed, True), 1e-12)  # forests sum up trees as they come

    def fits(trees):
        def trained(first):
            return answers(new(name, trees).fit(X[first:], Y[first:]), new_X)

        alone = [trained(first) for first in range(6)]
        with ThreadPoolExecutor(6) as pool:
            for found, wanted in zip(pool.map(trained, range(6)), alone, strict=True):
                compare(found, wanted)

    def predictions(trees):
        model = fitted(name, seed, trees)
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(lambda _: answers(model, new_X), range(16)):
                compare(found, expected(name, seed, trees))

    for trees, of in ((False, "tree"), (True, "forest")):
        for what, copy in {"deepcopy": deepcopy, "pickle": lambda m: pickle.loads(pickle.dumps(m))}.items():
            call = partial(copies, copy, trees)
            yield Attack(name, "copies", f"{what}, {of}", lambda call=call: watched(call, SAME))
        for kind, what, use in (
            ("copies", "predicted again", repeated),
            ("threads", "fit in threads", fits),
            ("threads", "predict in threads", predictions),
        ):
            yield Attack(name, kind, f"{what}, {of}", partial(watched, partial(use, trees), SAME))
    yield Attack(name, "processes", "n_jobs=2", lambda: watched(jobs, SAME))


def fit_and_answer(name, seed, trees):
    """Answers of a learner that is trained here; for other processes."""
    X, Y, new_X = data(seed)
    return answers(new(name, trees).fit(X, Y), new_X)


def answer(model, seed):
    """Answers of a model that came from elsewhere; for other processes."""
    return answers(model, data(seed)[2])


def attacks_by_process(name, seed, pools, by_hash) -> Iterator[Attack]:
    """Training and prediction in other processes.

    Parameters
    ----------
    name : str
        The learner.
    seed : int
        Of the data.
    pools : dict
        Pools of processes by the way in which they are started.
    by_hash : callable
        Function without arguments; what `digest` says of each learner in processes with several hash seeds.
    """

    def elsewhere(pool, trees):
        found = pool.submit(fit_and_answer, name, seed, trees).result(PATIENCE)
        compare(found, expected(name, seed, trees))
        compare(pool.submit(answer, fitted(name, seed, trees), seed).result(PATIENCE), expected(name, seed, trees))

    for (way, pool), trees in product(pools.items(), (False, True)):
        call = partial(elsewhere, pool, trees)
        where = f"by {way}, {'forest' if trees else 'tree'}"
        yield Attack(name, "processes", where, lambda call=call: watched(call, SAME))

    def hashed():
        if len(found := {digests[name] for digests in by_hash()}) > 1:
            raise Failure(f"{len(found)} different answers")

    yield Attack(name, "processes", "hash seeds", lambda: watched(hashed, SAME))


def digest(name, seed):
    """Digest of what a learner answers that is trained on label sets of words."""
    X, Y, new_X = data(seed)
    words = np.array(["red", "green", "blue"])
    model = new(name, trees=True).fit(X, [set(words[row == 1]) for row in Y])
    parts = [np.ascontiguousarray(one, float).tobytes() for one in answers(model, new_X)]
    return hashlib.sha256(b"".join([*parts, " ".join(model.classes_).encode()])).hexdigest()


def digests_by_hash(names, seed):
    """Ask other processes, each with a hash seed of its own, for digests."""
    found = []
    for hash_seed in ("0", "1", "12345"):
        command = [sys.executable, "-m", "attack.estimators", "--digests", *names, "--seed", str(seed)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        root = Path(__file__).parents[1]
        done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True)
        found.append({name: digest for digest, name in (line.split(" ", 1) for line in done.stdout.splitlines())})
    return found


def all_attacks(names, seed, pools) -> Iterator[Attack]:
    """All attacks on some learners."""
    by_hash = cache(partial(digests_by_hash, tuple(names), seed))
    for name in names:
        if pools:
            yield from attacks_by_process(name, seed, pools, by_hash)
        for attacks in (attacks_by_form, attacks_by_shape, attacks_by_weight, attacks_by_size, attacks_by_use):
            yield from attacks(name, seed)


def campaign(names, seed=0, processes=True, keep=lambda attack: True):
    """Run attacks.

    Parameters
    ----------
    names : sequence of str
        Learners to attack.
    seed : int, default=0
        Of data and of random mixtures.
    processes : bool, default=True
        Whether other processes are started.
    keep : callable, default=all
        Function of an attack: whether it is run.

    Returns
    -------
    counts : Counter
        How many attacks on a learner, of a kind, ended how.
    failures : list of str
    """
    counts, failures = Counter(), []
    pools = {}
    if processes:
        pools = {way: ProcessPoolExecutor(1, multiprocessing.get_context(way)) for way in ("fork", "spawn")}
        for pool in pools.values():  # before there are threads
            pool.submit(int).result(PATIENCE)
    try:
        for attack in filter(keep, all_attacks(names, seed, pools)):
            try:
                ended = attack.run()
            except Exception as error:
                ended = "failed"
                failures.append(f"{attack.learner}, {attack.kind}, {attack.name}: {type(error).__name__}: {error}")
            counts[attack.learner, attack.kind, ended] += 1
    finally:
        for pool in pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
    return counts, failures


def report(counts, failures, seed, seconds):
    """Write what came out as Markdown."""
    kinds = list(dict.fromkeys(kind for _, kind, _ in counts))
    lines = [
        "# Attacks on the learners",
        "",
        f"`python -m attack.estimators --seed {seed}`: {counts.total():,} attacks in {seconds:.0f} s, {len(failures)} "
        "failed. A cell says how many were answered + how many were refused by a ValueError or TypeError, each "
        "where it has to be. Answers are compared with those for plain arrays: to the last digit, but for "
        "probabilities under n_jobs=2 (to 1e-12), and for embeddings trained on sparse features, which are "
        "compared with tidy ones and by their codes. Where no other answer is at hand there is less to check: "
        "under sizes that answers are finite, under shapes that constant labels stay, under very unequal weights "
        "that there is an answer.",
        "",
        f"| learner | {' | '.join(kinds)} | failed |",
        f"|---{'|---:' * (len(kinds) + 1)}|",
    ]
    for name in dict.fromkeys(name for name, _, _ in counts):
        cells = [f"{counts[name, kind, SAME]} + {counts[name, kind, REFUSED]}" for kind in kinds]
        lines.append(f"| {name} | {' | '.join(cells)} | {sum(counts[name, kind, 'failed'] for kind in kinds)} |")
    if failures:
        lines += ["", "## Failures", "", *(f"- {failure}" for failure in failures)]
    return "\n".join(lines) + "\n"


def main():
    """Run the campaign and write its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    usual = [*(name for name, learner in LEARNERS.items() if learner.is_installed()), *VARIANTS]
    parser.add_argument("--learners", nargs="*", default=usual)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--digests", nargs="*", help="print digests of the answers of these learners, and no more")
    options = parser.parse_args()
    if options.digests is not None:
        for name in options.digests:
            print(digest(name, options.seed), name)
        return 0
    start = perf_counter()
    counts, failures = campaign(options.learners, options.seed)
    text = report(counts, failures, options.seed, perf_counter() - start)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text)
    print(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
