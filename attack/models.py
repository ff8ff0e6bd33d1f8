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
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import (
    calibration,
    compose,
    cross_decomposition,
    discriminant_analysis,
    ensemble,
    gaussian_process,
    impute,
    kernel_ridge,
    linear_model,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.base import BaseEstimator
from sklearn.feature_extraction import text as vectorizers
from threadpoolctl import threadpool_limits

from attack.forging import INFO, SCHEMA, described, members_of, nodes_of, packed, saved, signed, text
from clems import BR, CLEMS, LEARNERS, PLST, TableEncoder, save
from clems.learners.pipeline import reach
from clems.persistence import ModelError, load, trust

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
    "voting": ensemble.VotingClassifier([("a", naive_bayes.GaussianNB()), ("b", tree.DecisionTreeClassifier())]),
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
    "pipeline": pipeline.make_pipeline(
        preprocessing.StandardScaler(), preprocessing.QuantileTransformer(n_quantiles=5), svm.SVC()
    ),
}
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
}


FIRST_STEPS = {
    "table": TableEncoder(),
    "terms": compose.make_column_transformer(
        (vectorizers.TfidfVectorizer(min_df=2), "text"),
        (preprocessing.OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5), ["word"]),
        (impute.SimpleImputer(add_indicator=True), ["size"]),
    ),
    "hashes": compose.make_column_transformer(
        (vectorizers.HashingVectorizer(n_features=16), "text"),
        (preprocessing.OneHotEncoder(drop="first", handle_unknown="ignore"), ["word"]),
        (preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["name"]),
    ),
}


def subjects() -> dict[str, Any]:
    """All kinds of models, fitted: every learner, on dense and sparse features; every estimator that may be saved."""
    made: dict[str, Any] = {}
    for name, learner in LEARNERS.items():
        if not learner.is_installed():
            continue
        known = learner().get_params()
        for form, features in (("", X), (", sparse", sparse.csr_array(X))):
            made[f"{name}{form}"] = learner(**{key: CHEAP[key] for key in CHEAP if key in known}).fit(features, Y)
    for name, classifier in CLASSIFIERS.items():
        made[f"br: {name}"] = BR(classifier, random_state=0).fit(X, Y)
    for name in ("svc", "brute neighbours", "boosting", "radius, brute"):
        made[f"br: {name}, sparse"] = BR(CLASSIFIERS[name], random_state=0).fit(sparse.csr_array(X), Y)
    for name, regressor in REGRESSORS.items():
        made[f"plst: {name}"] = PLST(estimator=regressor, random_state=0).fit(X, Y)
        made[f"clems: {name}"] = CLEMS(estimator=regressor, random_state=0).fit(X, Y)
    made["clems: random state"] = CLEMS(n_trees=2, random_state=np.random.RandomState(3)).fit(X, Y)
    made["clems: labels by name"] = CLEMS(n_trees=2).fit(X, [{"abc"[k] for k in np.flatnonzero(row)} for row in Y])
    rows, labels = tables(120, 0), Y[np.arange(120) % len(Y)]
    for name, first in FIRST_STEPS.items():
        made[f"pipeline: {name}"] = pipeline.make_pipeline(first, CLEMS(n_trees=2, random_state=0)).fit(rows, labels)
    return made


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
    learner, rows, _ = reach(model, tables(20, 1) if isinstance(model, pipeline.Pipeline) else NEW)
    found = [learner.predict(rows)]
    if hasattr(learner, "predict_proba"):
        found.append(learner.predict_proba(rows))
    if hasattr(learner, "expected_cost"):
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
        files = []
        for name, model in subjects().items():
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
