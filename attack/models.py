"""Mutated model files of every learner and estimator that may be saved, loaded and asked to predict in child processes.

A file is changed where it can hurt: in its arrays, its description of objects, its JSON, its archive; then it is signed
again, so that the digest fits. A child process loads it and lets the model predict. It must be refused in a sentence,
raise an exception, or predict; it must not crash, take longer than `SECONDS`, or take `MEMORY` more than the honest
model. Files that are changed without being signed again must be refused.

Children are forked from a process that has imported everything, and go on until one dies, so a file takes milliseconds.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import importlib
import inspect
import io
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import (
    calibration,
    compose,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    frozen,
    gaussian_process,
    impute,
    kernel_approximation,
    kernel_ridge,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    random_projection,
    svm,
    tree,
)
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction import text as vectorizers
from sklearn.gaussian_process import kernels
from threadpoolctl import threadpool_limits

from attack.forging import INFO, SCHEMA, described, members_of, nodes_of, packed, saved, signed, text
from clems import (
    BR,
    CLEMS,
    CRITERIA,
    ECC,
    LEARNERS,
    PLST,
    CostSensitiveClassifier,
    GuaranteedCost,
    Pipeline,
    TableEncoder,
    save,
    weighted_hamming,
)
from clems.costs.formulas import PARAMETRISED
from clems.decisions.decide import DECODERS
from clems.embedding.codewords import CODES
from clems.learners.pipeline import reach
from clems.persistence import ModelError, load, trust
from clems.persistence import file as model_file
from clems.persistence.soundness import held_by
from clems.posterior.experts import EXPERTS

SECONDS = 10  # that a file may take
MEMORY = 1 << 30  # bytes that it may take more than the honest model
LIMIT = 6 << 30  # bytes of address space beyond which a child gets no more
CHEAP = {"n_trees": 2, "n_rounds": 1, "n_folds": None, "n_samples": 10, "random_state": 0}
CHEAP |= {"n_hidden": 4, "max_epochs": 3}
RANDOM = np.random.RandomState(0)
X = RANDOM.rand(40, 5).round(3)
Y = (X[:, :2] + 0.2 * RANDOM.rand(40, 2) > 0.6).astype(np.uint8)
NEW = RANDOM.rand(8, 5)
NUMBERS = [0, 1, -1, 2, 3, 4, 5, 6, 127, 255, 256, 625, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**63 - 1]
NUMBERS += [10**6, 10**9, 10**12, -(10**6)]
VALUES = [*NUMBERS, 2**64, 10**30, 0.5, -0.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf")]
WORDS = ["", "zero", "brute", "kd_tree", "precomputed", "rbf", "poly", "auto", "one_class", "f1", "nearest", "x" * 1000]

CLASSIFIERS = {
    "tree": tree.DecisionTreeClassifier(max_depth=3),
    "extra tree": tree.ExtraTreeClassifier(max_depth=3),
    "random forest": ensemble.RandomForestClassifier(2, max_depth=2),
    "extra trees": ensemble.ExtraTreesClassifier(2, max_depth=2),
    "boosting": ensemble.GradientBoostingClassifier(n_estimators=2, max_depth=2),
    "binned boosting": ensemble.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5, max_leaf_nodes=4),
    "ada": ensemble.AdaBoostClassifier(n_estimators=2),
    "bagging": ensemble.BaggingClassifier(n_estimators=2, max_features=3),
    "stacking": ensemble.StackingClassifier(
        [("a", naive_bayes.GaussianNB()), ("b", tree.DecisionTreeClassifier())], linear_model.LogisticRegression(), cv=2
    ),
    "kd tree": neighbors.KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=4),
    "ball tree": neighbors.KNeighborsClassifier(3, algorithm="ball_tree", leaf_size=4),
    "brute neighbours": neighbors.KNeighborsClassifier(3, algorithm="brute"),
    "neighbours by distance": neighbors.KNeighborsClassifier(3, weights="distance", p=3),
    "radius": neighbors.RadiusNeighborsClassifier(2.0),
    "radius, brute": neighbors.RadiusNeighborsClassifier(2.0, algorithm="brute"),
    "svc": svm.SVC(),
    "svc, poly": svm.SVC(kernel="poly"),
    "nu svc": svm.NuSVC(nu=0.1),
    "linear svc": svm.LinearSVC(),
    "logistic": linear_model.LogisticRegression(),
    "logistic cv": linear_model.LogisticRegressionCV(cv=2),
    "sgd": linear_model.SGDClassifier(loss="log_loss"),
    "perceptron": linear_model.Perceptron(),
    "ridge": linear_model.RidgeClassifier(),
    "gaussian bayes": naive_bayes.GaussianNB(),
    "bernoulli bayes": naive_bayes.BernoulliNB(),
    "multinomial bayes": naive_bayes.MultinomialNB(),
    "lda": discriminant_analysis.LinearDiscriminantAnalysis(),
    "qda": discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1),
    "mlp": neural_network.MLPClassifier(hidden_layer_sizes=(3,), max_iter=5),
    "gaussian process": gaussian_process.GaussianProcessClassifier(),
    "calibrated": calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), cv=2),
    "one vs rest": multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "one vs one": multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
    "exponential boosting": ensemble.GradientBoostingClassifier(loss="exponential", n_estimators=2, max_depth=2),
    "bagged neighbours": ensemble.BaggingClassifier(neighbors.KNeighborsClassifier(3), n_estimators=2),
    "mlp, sgd": neural_network.MLPClassifier(hidden_layer_sizes=(3,), max_iter=5, solver="sgd"),
    "fixed threshold": model_selection.FixedThresholdClassifier(svm.SVC()),
    "categorical bayes": pipeline.make_pipeline(
        preprocessing.KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
        naive_bayes.CategoricalNB(min_categories=3),
    ),
    **{
        f"sgd, {loss}": linear_model.SGDClassifier(loss=loss)
        for loss in ("hinge", "squared_hinge", "modified_huber", "squared_error", "huber", "epsilon_insensitive")
    },
    "pipeline": pipeline.make_pipeline(
        preprocessing.StandardScaler(), preprocessing.QuantileTransformer(n_quantiles=5), svm.SVC()
    ),
}
OF_ALL_LABELS = {
    "tree": tree.DecisionTreeClassifier(max_depth=3),
    "extra trees": ensemble.ExtraTreesClassifier(2, max_depth=2),
    "neighbours": neighbors.KNeighborsClassifier(3),
    "radius": neighbors.RadiusNeighborsClassifier(2.0),
    "mlp": neural_network.MLPClassifier(hidden_layer_sizes=(3,), max_iter=5),
    "one vs rest": multiclass.OneVsRestClassifier(svm.SVC(probability=False)),
    "each": multioutput.MultiOutputClassifier(naive_bayes.GaussianNB()),
    "chain": multioutput.ClassifierChain(linear_model.LogisticRegression()),
}
SOME_KERNELS = (
    kernels.Matern() + kernels.WhiteKernel(),
    kernels.DotProduct() * kernels.RationalQuadratic(),
)
HISTOGRAM = {"max_iter": 2, "min_samples_leaf": 5, "max_leaf_nodes": 4}
REGRESSORS = {
    "tree": tree.DecisionTreeRegressor(max_depth=3),
    "random forest": ensemble.RandomForestRegressor(2, max_depth=2),
    "neighbours": neighbors.KNeighborsRegressor(3, leaf_size=4),
    "brute neighbours": neighbors.KNeighborsRegressor(3, algorithm="brute"),
    "radius": neighbors.RadiusNeighborsRegressor(2.0),
    "ridge": linear_model.Ridge(),
    "kernel ridge": kernel_ridge.KernelRidge(kernel="rbf"),
    "gaussian process": gaussian_process.GaussianProcessRegressor(),
    "mlp": neural_network.MLPRegressor(hidden_layer_sizes=(3,), max_iter=5),
    "pls": cross_decomposition.PLSRegression(1),
    "svr": multioutput.MultiOutputRegressor(svm.SVR()),
    "nu svr": multioutput.MultiOutputRegressor(svm.NuSVR()),
    "boosting": multioutput.MultiOutputRegressor(ensemble.GradientBoostingRegressor(n_estimators=2, max_depth=2)),
    "binned boosting": multioutput.MultiOutputRegressor(
        ensemble.HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5, max_leaf_nodes=4)
    ),
    "chain": multioutput.RegressorChain(linear_model.Lasso(0.01)),
    "voting": ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=2))]),
    "stacking": ensemble.StackingRegressor([("a", linear_model.Ridge())], svm.SVR(), cv=2),
    **{f"kernel {k}": gaussian_process.GaussianProcessRegressor(kernel) for k, kernel in enumerate(SOME_KERNELS)},
    **{
        f"boosting, {loss}": ensemble.GradientBoostingRegressor(loss=loss, n_estimators=2)
        for loss in ("huber", "absolute_error", "quantile")
    },
    **{
        f"binned boosting, {loss}": ensemble.HistGradientBoostingRegressor(loss=loss, quantile=quantile, **HISTOGRAM)
        for loss, quantile in (("absolute_error", None), ("quantile", 0.4))
    },
    **{
        f"exponential of {name}": compose.TransformedTargetRegressor(inner, func=np.exp, inverse_func=np.log)
        for name, inner in {
            "gamma": linear_model.GammaRegressor(),
            "poisson": linear_model.PoissonRegressor(),
            "tweedie, log": linear_model.TweedieRegressor(power=1.5, link="log"),
            "tweedie, identity": linear_model.TweedieRegressor(power=1.5, link="identity"),
            "binned boosting": ensemble.HistGradientBoostingRegressor(loss="gamma", **HISTOGRAM),
        }.items()
    },
    **{
        f"sgd, {loss}": linear_model.SGDRegressor(loss=loss)
        for loss in ("huber", "epsilon_insensitive", "squared_epsilon_insensitive")
    },
}
TRANSFORMERS = {
    "columns": compose.make_column_transformer(
        (preprocessing.StandardScaler(), [0, 1]), (preprocessing.MinMaxScaler(), slice(2, 4)), remainder="passthrough"
    ),
    "union": pipeline.make_union(preprocessing.MaxAbsScaler(), preprocessing.RobustScaler()),
    "bins": preprocessing.KBinsDiscretizer(3, strategy="uniform"),
    "few components": decomposition.TruncatedSVD(2),
    "best by chi2": feature_selection.SelectKBest(feature_selection.chi2, k=2),
    "best by F of regression": feature_selection.SelectKBest(feature_selection.f_regression, k=2),
    "best share": feature_selection.SelectPercentile(feature_selection.f_classif, percentile=50),
    "nystroem": kernel_approximation.Nystroem(n_components=3),
    "random features": kernel_approximation.RBFSampler(n_components=3),
    "projection": random_projection.GaussianRandomProjection(3),
    "sparse projection": random_projection.SparseRandomProjection(3),
    "categories": preprocessing.OneHotEncoder(handle_unknown="ignore"),
    "sets and keys": preprocessing.FunctionTransformer(inv_kw_args={2: {3}, True: frozenset([4]), "name": range(5)}),
}
OTHER_VERSIONS = "named by versions of scikit-learn other than this one"
NEVER_SAVED = {  # names that may occur in a file and do in none of these, each with the reason
    "clems.costs.cost.CallableCost": "holds a function of the user's, which must be trusted",
    "sklearn.compose._column_transformer._RemainderColsList": OTHER_VERSIONS,
    **{
        f"sklearn.linear_model._sgd_fast.{name}": OTHER_VERSIONS
        for name in ("Huber", "Log", "SquaredEpsilonInsensitive", "SquaredLoss")
    },
    **{
        f"sklearn.metrics._dist_metrics.{name}Distance64": "held by search trees, which are grown again instead"
        for name in ("Chebyshev", "Euclidean", "Manhattan", "Minkowski")
    },
    **{f"scipy.sparse._csc.csc_{kind}": "estimators keep rows" for kind in ("array", "matrix")},
}


FIRST_STEPS = {
    "table": TableEncoder(),
    "terms": compose.make_column_transformer(
        (vectorizers.TfidfVectorizer(min_df=2), "text"),
        (preprocessing.OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5), ["word"]),
        (impute.SimpleImputer(add_indicator=True), ["size"]),
    ),
    "counts": compose.make_column_transformer(
        (vectorizers.CountVectorizer(stop_words=["vpn"]), "text"),
        (
            pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()),
            compose.make_column_selector("size"),
        ),
    ),
    "records": DictVectorizer(),
    "hashed records": FeatureHasher(16),
    "hashes": compose.make_column_transformer(
        (vectorizers.HashingVectorizer(n_features=16), "text"),
        (preprocessing.OneHotEncoder(drop="first", handle_unknown="ignore"), ["word"]),
        (preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["name"]),
    ),
}


MIXED = X - 0.5  # with numbers below 0
THREE = (X[:, 0] > 0.3).astype(int) + (X[:, 0] > 0.6)  # a class of three for each row
THREE_LABELS = np.eye(3, dtype=np.uint8)[THREE]


def by_learner() -> Iterator[tuple[str, Any]]:
    """Every learner, on dense and on sparse features."""
    for name, learner in LEARNERS.items():
        if learner.is_installed():
            known = learner().get_params()
            for form, features in (("", X), (", sparse", sparse.csr_array(X))):
                yield f"{name}{form}", learner(**{key: CHEAP[key] for key in CHEAP if key in known}).fit(features, Y)


def by_estimator() -> Iterator[tuple[str, Any]]:
    """Estimators inside of learners; one that was fitted elsewhere may know more classes than two."""
    for name, classifier in CLASSIFIERS.items():
        yield f"br: {name}", BR(classifier, random_state=0).fit(X, Y)
    for name in ("svc", "brute neighbours", "boosting", "radius, brute"):
        yield f"br: {name}, sparse", BR(CLASSIFIERS[name], random_state=0).fit(sparse.csr_array(X), Y)
    for name in ("tree", "random forest", "boosting", "binned boosting", "kd tree", "svc", "nu svc", "logistic", "mlp"):
        fitted = clone(CLASSIFIERS[name]).fit(X, THREE)
        yield f"three classes: {name}", CostSensitiveClassifier(fitted, cv="prefit").fit(X, THREE_LABELS)
    several = multiclass.OneVsRestClassifier(naive_bayes.GaussianNB()).fit(
        X, np.column_stack([Y, np.ones_like(Y[:, 0])])
    )
    yield "constant label", CostSensitiveClassifier(several, cv="prefit").fit(X, THREE_LABELS)
    for name, classifier in OF_ALL_LABELS.items():
        yield f"all labels: {name}", CostSensitiveClassifier(classifier, cv=2, random_state=0).fit(X, Y)
    for name, regressor in REGRESSORS.items():
        yield f"plst: {name}", PLST(estimator=regressor, random_state=0).fit(X, Y)
        yield f"clems: {name}", CLEMS(estimator=regressor, random_state=0).fit(X, Y)
    for name, transformer in TRANSFORMERS.items():
        steps = pipeline.make_pipeline(transformer, linear_model.LogisticRegression())
        yield f"br after: {name}", BR(steps, random_state=0).fit(X, Y)


def by_settings() -> Iterator[tuple[str, Any]]:
    """Ways to choose, decide and calibrate, and costs of every kind, each of which leaves objects of its own."""
    for criterion in CRITERIA:
        yield f"clems: {criterion}", CLEMS(criterion, n_trees=2, random_state=0).fit(X, Y)
    for name, make in PARAMETRISED.items():
        asked = [one for one in inspect.signature(make).parameters.values() if one.default is one.empty]
        yield f"clems: {name}", CLEMS(make(*[2] * len(asked)), n_trees=2, random_state=0).fit(X, Y)
    named, prices = pd.DataFrame(Y, columns=["a", "b"]), weighted_hamming({"a": 2, "b": 0.5}, {"a": 1, "b": 3})
    for kind in (CLEMS, CostSensitiveClassifier):
        for cost in (prices, "micro_f1"):
            learner = kind(cost=cost, n_trees=2, random_state=0).fit(X, named)
            yield f"{kind.__name__} with names: {learner.criterion_.name}", learner
    for decoder in DECODERS:
        yield f"clems: {decoder}", CLEMS(decoder=decoder, n_trees=2, random_state=0).fit(X, Y)
    for name in EXPERTS:
        for form, features in (("", MIXED), (", sparse", sparse.csr_array(X))):
            yield f"expert: {name}{form}", CLEMS(experts=[name], n_trees=2, random_state=0).fit(features, Y)
    for name in ("svc", "logistic", "boosting"):
        yield f"expert: {name}", CLEMS(experts=[CLASSIFIERS[name]], n_trees=2, random_state=0).fit(X, Y)
    by_class = clone(CLASSIFIERS["logistic"]).set_params(class_weight={0.0: 1.0, 1.0: 2.0})
    yield "keys that are floats", BR(by_class).fit(X, Y)
    yield "experts: none", CLEMS(experts=None, n_trees=2, depths=range(1, 4), random_state=0).fit(X, Y)
    for method in ("sigmoid", "isotonic"):
        for joint in ("independent", "observed"):
            learner = CostSensitiveClassifier(
                CLASSIFIERS["logistic"], calibration=method, joint=joint, cv=2, random_state=0
            )
            yield f"calibrated: {method}, {joint}", learner.fit(X, Y)
    yield "given probabilities", CostSensitiveClassifier(None, cv="prefit").fit(X[:, :2], Y)
    for code in CODES:
        yield f"ecc: {code}", ECC(code=code, n_trees=2, random_state=0).fit(X, Y)
    yield "clems: random state", CLEMS(n_trees=2, random_state=np.random.RandomState(3)).fit(X, Y)
    yield "clems: labels by name", CLEMS(n_trees=2).fit(X, [{"abc"[k] for k in np.flatnonzero(row)} for row in Y])
    learner = CLEMS(n_trees=2, random_state=0).fit(X, Y)
    yield "guaranteed", GuaranteedCost(learner, level=0.9, confidence=0.6).fit(X, Y)
    yield "guaranteed, frozen", GuaranteedCost(frozen.FrozenEstimator(learner), level=0.9, confidence=0.6).fit(X, Y)


def by_first_step() -> Iterator[tuple[str, Any]]:
    """Pipelines that take tables or records, of scikit-learn's kind and of clems'."""
    rows, labels = tables(120, 0), Y[np.arange(120) % len(Y)]
    learner = partial(CLEMS, random_state=0)
    for name, first in FIRST_STEPS.items():
        taken = as_taken(first, rows)
        yield f"pipeline: {name}", pipeline.make_pipeline(clone(first), learner(n_trees=2)).fit(taken, labels)
        if name != "table":  # a step that reads what the first one made before clems checks it
            steps = (clone(first), decomposition.TruncatedSVD(3), learner(n_trees=2))
            yield f"pipeline: {name}, components", pipeline.make_pipeline(*steps).fit(taken, labels)
    steps = [("columns", TableEncoder()), ("learner", BR(CLASSIFIERS["tree"], random_state=0))]
    yield "pipeline of clems", Pipeline(steps).fit(rows, labels)


def by_name(made: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every estimator of scikit-learn's that may be saved and that none of these models holds, as it comes."""
    held = {trust.name_of(type(one)) for model in made.values() for one in held_by(model)}
    for name, roles in trust.ROLES.items():
        if name in held or name in NEVER_SAVED or roles != {"ObjectNode"}:
            continue
        module, _, own = name.rpartition(".")
        kind = getattr(importlib.import_module(module), own, None)  # None in a version of scikit-learn without it
        if kind is None or not issubclass(kind, BaseEstimator) or own.startswith("_"):
            continue
        if is_classifier(kind()):
            yield f"br: {own}", BR(kind(), random_state=0).fit(X, Y)
        elif is_regressor(kind()):
            yield f"plst: {own}", PLST(estimator=kind(), random_state=0).fit(X, Y)
        else:
            steps = pipeline.make_pipeline(kind(), linear_model.LogisticRegression())
            yield f"br after: {own}", BR(steps, random_state=0).fit(X, Y)


def subjects() -> dict[str, Any]:
    """All kinds of models, fitted: every learner, estimator that may be saved, and object that they may hold."""
    made: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in (by_learner, by_estimator, by_settings, by_first_step):
            made |= dict(kind())
        return made | dict(by_name(made))


def as_taken(first: Any, rows: pd.DataFrame) -> Any:
    """Rows in the form that the first step of a pipeline takes: a table, or a list of records without gaps."""
    return rows.drop(columns="size").to_dict("records") if isinstance(first, (DictVectorizer, FeatureHasher)) else rows


def tables(n: int, seed: int) -> pd.DataFrame:
    """Rows of a table with text, words, dates and gaps."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "text": [" ".join(rng.choice(["refund", "vpn", "slow", "mail", "login"], 5)) for _ in range(n)],
            "word": rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "name": [f"{rng.choice(['Müller', 'Weiss'])} {row}" for row in rng.integers(0, 90, n)],
            "when": (pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "h")).strftime(
                "%Y-%m-%d %H:%M"
            ),
            "urgent": rng.choice(["yes", "no"], n),
            "size": pd.Series(rng.random(n)).where(rng.random(n) > 0.1),
        }
    )


# Mutations: each takes the members of a file and a source of chance, and changes the members.


def change_array(members: dict[str, bytes], rng: random.Random) -> None:
    names = [name for name in members if name.endswith(".npy")]
    if not names:
        return
    name = rng.choice(names)
    array = np.load(io.BytesIO(members[name]))
    match rng.randrange(12):
        case 0 | 1 | 2 | 3:
            array = with_value(array, rng)
        case 4:
            array = array[: rng.randrange(len(array) + 1)] if array.ndim else array
        case 5:
            array = np.concatenate([array, array]) if array.ndim and array.nbytes < 10**6 else array
        case 6:
            array = array.T.copy() if array.ndim > 1 else array[None]
        case 7 if array.dtype.names is None:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array = array.astype(
                    rng.choice(["i1", "i4", "i8", "u4", "u8", "f4", "f8", "f2", "?", ">i8", ">f8", "U8"])
                )
        case 8:
            other = rng.choice(names)
            members[name] = members[other]
            return
        case 9 if array.ndim:
            width = rng.choice([0, 1, 2, 4, 6, 64])
            array = (
                np.resize(array, (len(array), width)) if array.ndim == 1 else np.resize(array, (array.shape[0], width))
            )
        case 10 if array.ndim:
            array = array[rng.sample(range(len(array)), len(array))] if len(array) < 10**4 else array
        case _:
            array = array.ravel()[:1].reshape(()) if array.size else array
    members[name] = saved(array)


def with_value(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Put a hostile value into one place, or into all."""
    if not array.size:
        return array
    array = array.copy()
    part = array if array.dtype.names is None else array[rng.choice(array.dtype.names)]
    places = rng.choice([0, 0, rng.randrange(part.size), rng.randrange(part.size), slice(None)])
    near = [part.size, part.size - 1, len(X), len(X) - 1, 5, 3]
    value = rng.choice(VALUES + near * 3)
    flat = part.reshape(-1) if part.flags.c_contiguous else part
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            flat[places if flat.ndim == 1 else ...] = value
        except (OverflowError, ValueError, TypeError):
            flat[places if flat.ndim == 1 else ...] = rng.choice([0, 1])
    return array


def is_sound(matrix: Any) -> bool:
    """Whether a matrix can be stored in another format: of one that an earlier change broke, SciPy reads anything."""
    if matrix.format not in ("csr", "csc") or (np.diff(matrix.indptr) < 0).any() or max(matrix.shape) > 10**6:
        return False
    try:
        matrix.check_format(full_check=True)
    except ValueError:
        return False
    return True


def change_matrix(members: dict[str, bytes], rng: random.Random) -> None:
    names = [name for name in members if name.endswith(".npz")]
    if not names:
        return change_array(members, rng)
    name = rng.choice(names)
    matrix = sparse.load_npz(io.BytesIO(members[name]))
    if rng.random() < 0.3 and is_sound(matrix):
        buffer = io.BytesIO()
        sparse.save_npz(buffer, matrix.asformat(rng.choice(["bsr", "coo", "csc", "csr", "dia"])))
        members[name] = buffer.getvalue()
        return None
    with zipfile.ZipFile(io.BytesIO(members[name])) as file:
        parts = {part: file.read(part) for part in file.namelist()}
    if rng.random() < 0.2:
        parts["format.npy"] = saved(np.array(rng.choice([b"csr", b"csc", b"bsr", b"coo", b"dia", b"lil"])))
    elif rng.random() < 0.1:
        parts["shape.npy"] = saved(np.array(rng.choice([(0, 0), (1, 1), (10**9, 10**9), (-1, 3), (10**12, 1)])))
    else:
        change_array(parts, rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for part, content in parts.items():
            file.writestr(zipfile.ZipInfo(part), content)
    members[name] = buffer.getvalue()
    return None


def change_schema(members: dict[str, bytes], rng: random.Random) -> None:
    try:
        schema = json.loads(members[SCHEMA])
    except ValueError:
        return
    nodes = list(nodes_of(schema))
    if rng.random() < 0.7:  # objects without numbers are each for themselves; with them, all that are the same must be
        for node in nodes:
            node.pop("__id__", None)
    node, other = rng.choice(nodes), rng.choice(nodes)
    kind = rng.randrange(16)
    if kind <= 4:
        values = [one for one in nodes if one["__loader__"] == "JsonNode"]
        if values:
            rng.choice(values)["content"] = json.dumps(
                rng.choice([*VALUES, *WORDS, True, False, None, [1], {"a": 1}, "[" * 50])
            )
    elif kind == 5:  # one object in the place of another
        keep = {key: node[key] for key in node if key in ("protocol", "_skops_version")}
        node.clear()
        node.update(copy.deepcopy(other), **keep)
    elif kind == 6:
        tables = [one for one in nodes if one["__loader__"] == "DictNode" and one["content"]]
        table = rng.choice(tables)
        place = rng.randrange(len(table["content"]))
        del table["content"][list(table["content"])[place]]
        if rng.random() < 0.9:
            del table["key_types"]["content"][place]
    elif kind == 7:  # an attribute beside the others, or in the place of a method
        objects = [one for one in nodes if one["__loader__"] == "ObjectNode" and "key_types" in one.get("content", {})]
        table = rng.choice(objects)["content"]
        name = rng.choice(ATTRIBUTES)
        if name not in table["content"]:
            table["key_types"]["content"].append(described("TypeNode", "builtins.str"))
        table["content"][name] = copy.deepcopy(rng.choice([other, text(rng.choice(VALUES)), UFUNC]))
    elif kind == 8:
        node["__class__"], node["__module__"] = other["__class__"], other["__module__"]
    elif kind == 9:
        node["__module__"], _, node["__class__"] = rng.choice(NAMES).rpartition(".")
    elif kind == 10:
        node["__loader__"] = rng.choice(LOADERS)
    elif kind == 11:
        node["__id__"] = other.get("__id__", 7)
    elif kind == 12:
        files = [one for one in nodes if "file" in one]
        if files:
            rng.choice(files)["file"] = rng.choice([*members, "no such file"])
    elif kind == 13:
        lists = [one for one in nodes if isinstance(one.get("content"), list) and one["content"]]
        if lists:
            content = rng.choice(lists)["content"]
            match rng.randrange(4):
                case 0:
                    content.pop(rng.randrange(len(content)))
                case 1:
                    content.append(copy.deepcopy(rng.choice(content)))
                case 2:
                    rng.shuffle(content)
                case 3:
                    content *= rng.choice([0, 2, 50])
    elif kind == 14:
        key = rng.choice(list(node))
        node[key] = rng.choice([None, 0, [], {}, "", 10**30, [[]], {"__loader__": "ListNode"}, copy.deepcopy(other)])
    else:
        kept = copy.deepcopy(node)
        node.clear()
        node.update(described("ListNode", "builtins.list", content=[kept], **{"__id__": 99}))
    members[SCHEMA] = json.dumps(schema).encode()


def change_info(members: dict[str, bytes], rng: random.Random) -> None:
    info = json.loads(members[INFO])
    if rng.random() < 0.3:
        members[INFO] = members[INFO][: rng.randrange(len(members[INFO]))]
        return
    key = rng.choice(list(info))
    info[key] = rng.choice([*VALUES, *WORDS, None, [], {}, [[]], "\x1b[2J"])
    members[INFO] = json.dumps(info).encode()


def change_member(members: dict[str, bytes], rng: random.Random) -> None:
    name = rng.choice(list(members))
    content = members[name]
    match rng.randrange(5):
        case 0:
            del members[name]
        case 1:
            members[name] = content[: rng.randrange(len(content) + 1)]
        case 2:
            members[name] = content + bytes(rng.choice([1, 100, 10**6]))
        case 3:
            members[name] = members[rng.choice(list(members))]
        case 4 if content:
            changed = bytearray(content)
            for _ in range(rng.choice([1, 1, 2, 5])):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            members[name] = bytes(changed)


UFUNC = described("FunctionNode", "numpy.positive")
NAMES = sorted(trust.ROLES)
LOADERS = [*trust.PARTS, "CachedNode", "MethodNode", "PartialNode", "OperatorFuncNode", "BytesNode", "DefaultDictNode"]
ATTRIBUTES = [
    *("tree_", "estimators_", "_predictors", "_tree", "_fit_X", "n_features_in_", "_validate_X_predict", "predict"),
    *("predict_proba", "transform", "kneighbors", "_impl", "_sparse", "kernel", "n_jobs", "weights", "metric", "_y"),
    *(
        "effective_metric_",
        "effective_metric_params_",
        "init_",
        "n_outputs_",
        "n_classes_",
        "classes_",
        "_check_n_features",
    ),
    *("_n_support", "support_vectors_", "_dual_coef_", "ends", "table", "trees", "points", "_reader", "estimator"),
    *(name for name in dir(BaseEstimator) if not name.startswith("__")),
]
CHANGES = [change_array] * 5 + [change_matrix] * 2 + [change_schema] * 6 + [change_info] + [change_member]


def mutated(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Change a file; return how as well."""
    if rng.random() < 0.15:  # without the knowledge of a new digest
        changed = bytearray(data)
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            place = rng.randrange(len(data))
            changed[place] ^= 1 << rng.randrange(8)
        return bytes(changed), "unsigned" if bytes(changed) != data else "same"
    if rng.random() < 0.1:
        changed = bytearray(data[:-64])
        for _ in range(rng.choice([1, 1, 2, 8])):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return signed(bytes(changed)), "raw"
    members = members_of(data)
    kinds = [rng.choice(CHANGES) for _ in range(rng.choice([1, 1, 1, 1, 2, 3]))]
    for change in kinds:
        try:
            change(members, rng)
        except Exception:
            continue  # an earlier change left nothing to change
    packing = rng.choices([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA], [80, 19, 1])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return packed(members, packing), kinds[0].__name__.removeprefix("change_")


def answers(model: Any) -> list[np.ndarray]:
    """What a model says about new rows."""
    rows = as_taken(model.steps[0][1], tables(20, 1)) if isinstance(model, pipeline.Pipeline) else NEW
    if isinstance(model, GuaranteedCost):
        return [np.ma.filled(model.predict(rows).astype(float), -1)]
    learner, rows, _ = reach(model, rows[:, : model.n_features_in_] if rows is NEW else rows)
    found = [learner.predict(rows)]
    if hasattr(learner, "predict_proba"):
        found.append(learner.predict_proba(rows))
    if hasattr(learner, "expected_cost") and learner.criterion_.of_single_rows:
        found.append(learner.expected_cost(rows))
    if learner.cost_at_predict:
        found.append(learner.predict(rows, cost="hamming"))
    return [np.asarray(one.toarray() if sparse.issparse(one) else one, float) for one in found]


def outcome(path: Path, kind: str, honest: list[np.ndarray]) -> str:
    """Load a file, let its model predict, and say how that ended."""
    try:
        model = load(path)
    except ModelError as error:
        message = str(error)
        return "refused" if message.isprintable() and message.endswith(".") else f"odd message: {message!r}"
    except Exception as error:
        return f"load raised {type(error).__name__}: {error}"[:200]
    try:
        found = answers(model)
    except Exception as error:
        return f"raised {type(error).__name__}"
    same = len(found) == len(honest) and all(
        np.array_equal(*pair, equal_nan=True) for pair in zip(found, honest, strict=True)
    )
    if kind == "unsigned":
        return "unsigned file was loaded"
    return "predicted the same" if same else "predicted otherwise"


FINE = ("refused", "predicted", "raised")


File = tuple[str, bytes, list[np.ndarray]]  # a model's name, its file, and what it says about new rows


def child(
    jobs: list[int], seed: int, files: list[tuple[str, bytes, list[np.ndarray]]], state: mmap.mmap, out: int
) -> None:
    """Work through some files; what is being done stands in shared memory."""
    warnings.simplefilter("ignore")
    faulthandler.disable()  # a crash is noted by the parent
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (size + LIMIT, size + LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    path = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)) / "model.clems"
    try:
        for place, job in enumerate(jobs):
            name, data, honest = files[job % len(files)]
            rng = random.Random(f"{seed} {job}")
            changed, kind = mutated(data, rng)
            path.write_bytes(changed)
            Path("/proc/self/clear_refs").write_text("5")  # the peak of memory starts anew
            before = memory("VmRSS")
            state[:16] = struct.pack("qd", place, time.monotonic())
            found = outcome(path, kind, honest)
            if (grown := memory("VmHWM") - before) > MEMORY:
                found = f"took {grown >> 20} MiB: {found}"
            os.write(out, json.dumps([job, name, kind, found]).encode() + b"\n")
    finally:
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def memory(what: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    return 0


def work(jobs: list[int], seed: int, files: list[File], results: Path) -> None:
    """Let one child after the other work through files, and note what kills them."""
    out = os.open(results, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while jobs:
        state = mmap.mmap(-1, 16)
        state[:16] = struct.pack("qd", -1, time.monotonic())
        pid = os.fork()
        if not pid:
            try:
                child(jobs, seed, files, state, out)
                os._exit(0)
            except BaseException:
                Path(f"{results}.traceback").write_text(traceback.format_exc())
                os._exit(70)
        os.setpgid(pid, pid)
        hung = False
        try:
            while not hung and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                place, since = struct.unpack("qd", state[:16])
                if not (hung := place >= 0 and time.monotonic() - since > SECONDS):
                    time.sleep(0.05)
        finally:
            os.killpg(pid, signal.SIGKILL)  # with the processes that its models have started
            status = os.waitpid(pid, 0)[1]
        place, _ = struct.unpack("qd", state[:16])
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            return
        job = jobs[max(place, 0)]
        what = (
            f"took longer than {SECONDS} s"
            if hung
            else f"crashed: signal {status & 127}"
            if status & 127
            else "child failed"
        )
        os.write(out, json.dumps([job, files[job % len(files)][0], "?", what]).encode() + b"\n")
        if what == "child failed":
            sys.exit(Path(f"{results}.traceback").read_text())
        jobs = jobs[max(place, 0) + 1 :]


def read(path: Path) -> list[list[Any]]:
    """Outcomes so far; a last line may be cut short."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.startswith("[") and line.endswith("]")]


def not_attacked(models: Iterable[Any]) -> set[str]:
    """Names that a file may hold and that no file of these models does, but those that occur in none."""
    held = set(NEVER_SAVED) | {trust.name_of(one) for one in LEARNERS.values() if not one.is_installed()}
    for model in models:
        held |= {trust.name_in(node) for node in nodes_of(json.loads(members_of(model_file.packed(model))[SCHEMA]))}
    return {name for name in trust.ROLES if name not in held and not name.startswith("numpy.")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--records", type=Path, help="where outcomes are kept; a run goes on from there")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--found", type=Path, default=Path("build/attack"), help="where files that did harm are kept")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    # Threads of OpenMP are not there after a fork, and whoever has had them before waits for them for ever.
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        files, made = [], subjects()
        if missing := not_attacked(made.values()):
            sys.exit(f"Files may hold these names, and none of the models does: {', '.join(sorted(missing))}.")
        for name, model in made.items():
            path = Path(folder) / "model.clems"
            save(model, path)
            files.append((name, path.read_bytes(), answers(load(path))))
        records = read(options.records) if options.records else []
        known = {job for job, *_ in records}
        left = [job for job in range(options.files) if job not in known]
        results = [options.records or Path(folder) / "records.jsonl"] * options.jobs
        workers = []
        for part, result in enumerate(results):
            if not (pid := os.fork()):
                work(left[part :: options.jobs], options.seed, files, result)
                os._exit(0)
            workers.append(pid)
        ends = [os.waitpid(pid, 0)[1] for pid in workers]
        if any(ends):
            sys.exit("A worker failed.")
        records = read(results[0])
    harm = [record for record in records if not record[3].startswith(FINE)]
    for job, name, kind, found in harm[:40]:
        data, _ = mutated(files[job % len(files)][1], random.Random(f"{options.seed} {job}"))
        options.found.mkdir(parents=True, exist_ok=True)
        (options.found / f"{options.seed}-{job}.clems").write_bytes(data)
        print(f"{job} {name} ({kind}): {found}", file=sys.stderr)
    report = written(records, len(files), options)
    print(report)
    if harm or len(records) != options.files:
        sys.exit(f"{len(harm)} of {len(records)} files did harm; {options.files} were to be tried.")
    if options.output:
        options.output.write_text(report)


def written(records: list[list[Any]], n_models: int, options: argparse.Namespace) -> str:
    """Counts as a page."""
    counts = Counter((kind, found.split(":")[0]) for _, _, kind, found in records)
    ends = sorted({end for _, end in counts})
    kinds = sorted({kind for kind, _ in counts})
    per_model = Counter(name for _, name, _, _ in records)
    lines = [
        "# Mutated model files",
        "",
        f"`python -m attack.models --files {options.files} --seed {options.seed}`: {len(records):,} files made from "
        f"{n_models} models, {min(per_model.values()):,} or more of each. Each was loaded and asked to predict in a "
        "child process: none may crash, take "
        f"longer than {SECONDS} s or take {MEMORY >> 20} MiB more than before; a file that is changed without a new "
        "digest may never load.",
        "",
        "| change | files | " + " | ".join(ends) + " |",
        "|---" * (len(ends) + 2) + "|",
    ]
    for kind in [*kinds, "all"]:
        row = [sum(n for (who, what), n in counts.items() if kind in (who, "all") and what == end) for end in ends]
        lines.append(f"| {kind} | {sum(row):,} | " + " | ".join(f"{n:,}" for n in row) + " |")
    lines += ["", f"Models: {', '.join(sorted(per_model))}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
