"""Saved models come back as they were; whatever else a file may be, it is refused in a sentence and runs nothing."""

import ast
import importlib
import io
import json
import os
import pickle
import sys
import zipfile
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import clems
from attack.forging import SCHEMA, forged, listed, mapping, members_of, nodes_of, signed, text, with_arrays
from attack.forging import described as node
from clems import BR, CC, CLEMS, ECC, LEARNERS, SLEEC, f_beta, get_cost, load, save, weighted_hamming
from clems.embedding.codewords import Repetition
from clems.persistence import ModelError, ModelInfo, describe, trust
from clems.persistence import file as model_file

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(60, 5).round(3)
Y = (X[:, :3] + 0.2 * RANDOM.rand(60, 3) > 0.6).astype(np.uint8)
NEW = RANDOM.rand(20, 5)
FEATURES, LABELS = list("abcde"), ["red", "green", "blue"]
FEATURE_FORMS = {
    "array": (X, NEW),
    "sparse": (sparse.csr_array(X), sparse.csr_array(NEW)),
    "frame": (pd.DataFrame(X, columns=FEATURES), pd.DataFrame(NEW, columns=FEATURES)),
}
LABEL_FORMS = {
    "array": Y,
    "sparse": sparse.csr_array(Y),
    "frame": pd.DataFrame(Y, columns=LABELS),
    "sets": [{LABELS[k] for k in np.flatnonzero(row)} for row in Y],
}
ESTIMATORS = {
    "regressor": {
        "default": None,
        "tree": DecisionTreeRegressor(max_depth=4),
        "forest": ExtraTreesRegressor(3),
        "bootstrap": RandomForestRegressor(3),
        "linear": Ridge(),
        "nearest": KNeighborsRegressor(3, algorithm="kd_tree"),
        "pipeline": make_pipeline(StandardScaler(), SVR()),
    },
    "classifier": {
        "default": None,
        "tree": DecisionTreeClassifier(max_depth=4),
        "forest": ExtraTreesClassifier(3),
        "linear": LogisticRegression(),
        "bayes": GaussianNB(),
    },
}
COSTS = {name: name for name in clems.COSTS} | {
    "f_beta(0.5)": f_beta(0.5),
    "prices": weighted_hamming([10, 1, 2]),
    "cost": get_cost("rank"),
}
CHEAP = {"n_trees": 4, "n_rounds": 2, "n_folds": None, "n_samples": 20, "n_hidden": 8, "max_epochs": 5}


def late_fee(Y, P):
    return np.abs(Y - P).sum(axis=1) / 2


class Fee:
    def __init__(self, price):
        self.price = price

    def __call__(self, Y, P):
        return self.price * np.abs(Y - P).sum(axis=1)

    def method(self, Y, P):
        return self(Y, P)


class OwnClassifier(DecisionTreeClassifier):
    pass


def new(learner, **wanted):
    known = learner().get_params()
    if wanted.get("estimator") is None and learner is not CLEMS:  # a hundred trees for each label take their time
        wanted["estimator"] = ExtraTreesClassifier(2) if learner.predictor == "classifier" else ExtraTreesRegressor(2)
    return learner(**{name: value for name, value in {**CHEAP, "random_state": 0, **wanted}.items() if name in known})


def answers(model, X):
    found = {"predict": model.predict(X)}
    if hasattr(model, "predict_proba"):
        found["predict_proba"] = model.predict_proba(X)
    if model.cost_at_predict:
        found["other"] = model.predict(X, cost="hamming")
    if isinstance(model, CLEMS):
        found["micro"] = model.predict(X, cost="micro_f1")
        found["expected"] = model.expected_cost(X, cost="accuracy")
        found["top"], _, found["top cost"] = model.top_k(X, 2, cost="f1")
        found["error"] = model.embedding_error()
    if hasattr(model, "at_depth") and (model.depth_path or isinstance(model, CLEMS)) and model.get_depth():
        found["depth"] = model.at_depth(2).predict(X)
    return found


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert type(value) is type(other[name])
        assert value.dtype == other[name].dtype
        dense = [v.toarray() if sparse.issparse(v) else v for v in (value, other[name])]
        np.testing.assert_array_equal(*dense, name)


def round_trip(model, path, **options):
    save(model, path)
    return load(path, **options)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small file, and the model in it."""
    path = tmp_path_factory.mktemp("saved") / "model.skops"
    model = BR(DecisionTreeClassifier(max_depth=2), random_state=0).fit(X, Y)
    save(model, path)
    return path.read_bytes(), model


@pytest.fixture
def place(tmp_path):
    """A path, and a function that says why bytes at it are refused."""
    path = tmp_path / "model.skops"

    def refusal(data, **options):
        path.write_bytes(data)
        with pytest.raises(ModelError) as caught:
            load(path, **options)
        message = str(caught.value)
        assert str(path) in message
        assert message.count("\n") == 0
        assert message.endswith(".")
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
        return message.removeprefix(f"{path} ")

    return path, refusal


# What was saved comes back


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_predicts_as_before(tmp_path, data):
    names = sorted(name for name, learner in LEARNERS.items() if learner.is_installed())
    learner = LEARNERS[data.draw(st.sampled_from(names), "learner")]
    estimator = data.draw(st.sampled_from(sorted(ESTIMATORS[learner.predictor])), "estimator")
    cost = data.draw(st.sampled_from([name for name, own in COSTS.items() if learner.supports(get_cost(own))]), "cost")
    features, unseen = FEATURE_FORMS[data.draw(st.sampled_from(["array", "sparse", "frame"]), "X")]
    if sparse.issparse(features) and estimator in ("bayes", "pipeline", "nearest"):
        features, unseen = FEATURE_FORMS["array"]
    labels = LABEL_FORMS[data.draw(st.sampled_from(sorted(LABEL_FORMS)), "Y")]
    seed = data.draw(st.sampled_from([0, np.random.RandomState(5)]), "seed")
    model = new(learner, estimator=ESTIMATORS[learner.predictor][estimator], cost=COSTS[cost], random_state=seed)
    model.fit(features, labels)
    loaded = round_trip(model, tmp_path / "model.skops")
    assert type(loaded) is type(model)
    assert_same(answers(model, unseen), answers(loaded, unseen))
    assert loaded.score(features, labels) == model.score(features, labels)
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.cost_ == model.cost_
    assert {*vars(loaded)} == {*vars(model)}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_every_learner_with_sparse_labels(learner, tmp_path):
    model = new(learner).fit(sparse.csr_array(X), LABEL_FORMS["sparse"])
    loaded = round_trip(model, tmp_path / "model.skops")
    assert sparse.issparse(loaded.predict(NEW))
    assert_same(answers(model, NEW), answers(round_trip(loaded, tmp_path / "again.skops"), NEW))


@pytest.mark.parametrize(
    "model",
    [
        CLEMS("micro_f1", n_trees=3),
        CLEMS("rank", n_trees=3, dtype=np.float32, cost_transform="identity", candidates=("augment", 2)),
        CLEMS("f1", n_trees=3, cost_transform=np.sqrt, dtype=np.dtype("float32"), candidates=np.eye(3, dtype=int)),
        CC(order=range(2, -1, -1), estimator=GaussianNB()),
        CC(n_chains=2, estimator=GaussianNB()),
        ECC(Repetition, n_components=9, estimator=GaussianNB()),
        ECC("rrep", estimator=GaussianNB()),
        SLEEC("f1", n_clusters=2, estimator=Ridge()),
        BR(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)),
        BR(GradientBoostingClassifier(n_estimators=2)),
        BR(AdaBoostClassifier(n_estimators=2)),
        BR(KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=4)),
        BR(KNeighborsClassifier(3, algorithm="ball_tree", leaf_size=4)),
        BR(CalibratedClassifierCV(GaussianNB(), cv=2)),
        BR(GaussianProcessClassifier()),
        BR(SGDClassifier(loss="log_loss")),
        BR(SVC()),
        BR(LogisticRegression(class_weight={0: 1, 1: 2})),
        BR(LogisticRegression(class_weight={0.0: 1, 1.0: 2})),
    ],
    ids=lambda model: f"{type(model).__name__}-{type(model.estimator).__name__}",
)
def test_settings_and_estimators(model, tmp_path):
    model.set_params(random_state=0).fit(X, Y)
    loaded = round_trip(model, tmp_path / "model.skops")
    assert_same(answers(model, NEW), answers(loaded, NEW))
    assert repr(loaded) == repr(model)


def test_an_array_that_occurs_often_is_written_once(tmp_path):
    save(CLEMS(n_trees=5, random_state=0).fit(X, Y), tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as file:
        contents = [file.read(name) for name in file.namelist()]
    assert max(Counter(contents).values()) == 1


def test_skops_itself_can_read_the_file(saved, place):
    data, model = saved
    loaded = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert_same(answers(model, NEW), answers(loaded, NEW))


# What a file says about itself


def test_description(tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    model = CLEMS("f_beta(0.5)", n_trees=4, depths=(2, 4), random_state=0).fit(
        FEATURE_FORMS["frame"][0], LABEL_FORMS["frame"]
    )
    save(model, path)
    monkeypatch.setattr(skops.io, "loads", None)
    info = describe(path)
    assert isinstance(info, ModelInfo)
    assert (info.clems, info.learner, info.cost) == (clems.__version__, "CLEMS", "f_beta(0.5)")
    assert (info.n_features, info.feature_names, info.label_names) == (5, FEATURES, LABELS)
    assert info.parameters["n_trees"] == "4"
    assert info.saved.endswith("+00:00")
    wanted = {name: getattr(model, name) for name in ("decoder_", "depth_", "sharpness_", "oob_cost_")}
    assert wanted.items() <= info.summary.items()


def test_description_of_a_learner_without_cost_and_names(saved, place):
    path, _ = place
    path.write_bytes(saved[0])
    info = describe(path)
    assert (info.cost, info.feature_names, info.label_names) == (None, None, [0, 1, 2])
    assert info.parameters["estimator"] == "DecisionTreeClassifier(max_depth=2)"


def test_description_has_no_places_in_memory(tmp_path):
    model = new(CLEMS, cost=late_fee).fit(X, Y)
    save(model, tmp_path / "model.skops")
    shown = describe(tmp_path / "model.skops").parameters["cost"]
    assert shown == f"{__name__}.late_fee"


@pytest.mark.parametrize(
    ("patched", "words"),
    [("clems", ["clems 0.0.9", clems.__version__]), ("sklearn", ["scikit-learn 0.0.9"])],
)
def test_another_version_is_reported(patched, words, tmp_path, monkeypatch):
    model = BR(GaussianNB()).fit(X, Y)
    with monkeypatch.context() as patch:
        patch.setattr(f"{patched}.__version__", "0.0.9")
        save(model, tmp_path / "model.skops")
    with pytest.warns(UserWarning, match="was saved by") as caught:
        loaded = load(tmp_path / "model.skops")
    assert len(caught) == 1
    assert all(word in str(caught[0].message) for word in words)
    assert_same(answers(model, NEW), answers(loaded, NEW))


def test_a_newer_format_is_refused(saved, place):
    message = place[1](forged(saved[0], info=lambda info: info.update(format=2, clems="9.0")))
    assert "clems 9.0" in message


# Functions and classes of the user's


@pytest.mark.parametrize("own", [late_fee, Fee(2.0), get_cost(late_fee, name="fee"), get_cost(Fee(3.0))])
def test_own_costs_need_trust(own, place):
    path, refusal = place
    model = new(CLEMS, cost=own).fit(X, Y)
    save(model, path)
    name = f"{__name__}.{'Fee' if 'Fee' in repr(own) else 'late_fee'}"
    assert f"load it with trusted=[{name!r}]." in refusal(path.read_bytes())
    for trusted in (name, Fee if name.endswith("Fee") else late_fee):
        assert_same(answers(model, NEW), answers(load(path, trusted=[trusted]), NEW))


def test_own_estimators_need_trust(place):
    path, refusal = place
    model = BR(OwnClassifier(random_state=0)).fit(X, Y)
    save(model, path)
    assert f"{__name__}.OwnClassifier" in refusal(path.read_bytes())
    assert_same(answers(model, NEW), answers(load(path, [OwnClassifier]), NEW))


@pytest.mark.parametrize("kind", ["lambda", "local", "partial", "method"])
def test_what_has_no_name_is_not_saved(kind, tmp_path):
    def local(Y, P):
        return late_fee(Y, P)

    own = {"lambda": lambda Y, P: late_fee(Y, P), "local": local, "partial": partial(late_fee), "method": Fee(1).method}
    with pytest.raises(ModelError, match=r"^This CLEMS cannot be saved.* module") as caught:
        save(new(CLEMS, cost=own[kind]).fit(X, Y), tmp_path / "model.skops")
    assert "\n" not in str(caught.value)
    assert not [*tmp_path.iterdir()]


def test_only_fitted_learners_are_saved(tmp_path):
    with pytest.raises(ModelError, match="got LogisticRegression"):
        save(LogisticRegression().fit(X, Y[:, 0]), tmp_path / "model.skops")
    with pytest.raises(NotFittedError):
        save(BR(), tmp_path / "model.skops")
    assert not [*tmp_path.iterdir()]


# Saving is all or nothing


@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
def test_a_save_that_fails_leaves_the_earlier_file(failing, saved, tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    path.write_bytes(saved[0])

    def full(*args):
        raise OSError(28, "No space left on device")

    class FullDisk(io.FileIO):
        def write(self, data):
            super().write(data[: len(data) // 2])
            full()

    if failing == "write":
        monkeypatch.setattr(os, "fdopen", FullDisk)
    else:
        monkeypatch.setattr(*{"fsync": (os, "fsync", full), "replace": (Path, "replace", full)}[failing])
    with pytest.raises(OSError, match="No space left"):
        save(saved[1], path)
    monkeypatch.undo()
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_bytes() == saved[0]


def test_places_where_nothing_can_be_saved(saved, tmp_path):
    with pytest.raises(ModelError, match="is a folder"):
        save(saved[1], tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        save(saved[1], tmp_path / "nowhere" / "model.skops")


# Files that are no models


@pytest.mark.parametrize("read", [load, describe])
def test_no_files(read, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read(tmp_path / "missing.skops")
    with pytest.raises(ModelError, match="is a folder"):
        read(tmp_path)
    empty = tmp_path / "empty.skops"
    empty.touch()
    with pytest.raises(ModelError, match="is empty"):
        read(empty)


def zip_of(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            file.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"name,age\nAda,36\n",
        pickle.dumps([1, 2]),
        zip_of(readme_txt="hello"),
        zip_of(schema_json="{}"),
        skops.io.dumps(LogisticRegression().fit(X, Y[:, 0])),
    ],
    ids=["text", "pickle", "zip", "odd skops", "skops"],
)
def test_foreign_files(data, place):
    assert place[1](data) == "cannot be loaded: it is no file that clems has saved."
    with pytest.raises(ModelError, match="cannot be loaded"):
        describe(place[0])


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 10**9))
def test_truncated_files(saved, place, length):
    place[1](saved[0][: length % len(saved[0]) or 1])


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**9), st.integers(1, 255))
@example(0, 1)
@example(-1, 1)
def test_changed_bytes(saved, place, where, change):
    data = bytearray(saved[0])
    data[where % len(data)] ^= change
    place[1](bytes(data))
    with suppress(ModelError):  # this reads a part only, so it may not notice
        describe(place[0])


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**9), st.integers(1, 255))
def test_changed_bytes_with_a_digest_that_fits(saved, place, where, change):
    data = bytearray(saved[0][: -model_file.DIGEST])
    data[where % len(data)] ^= change
    place[0].write_bytes(signed(bytes(data)))
    with suppress(ModelError):
        assert_same(answers(saved[1], NEW), answers(load(place[0]), NEW))  # a date was changed, say


# Files that mean harm


def leave_mark(path):
    Path(path[0] if isinstance(path, list) else path).touch()
    return "key"


class Marker:
    def __init__(self, path):
        leave_mark(path)


def payloads(mark):
    command, function = f"touch {mark}", f"{__name__}.leave_mark"
    args = listed(tuple, text(command))
    own = listed(tuple, text(str(mark)))
    content = {"start": None, "stop": None, "step": None}
    hidden = {"__id__": 7}  # skops builds the first object of a number and takes it for the others
    return {
        "constructor": node("ConstructorFromReduceNode", "os.system", content=args),
        "constructor of posix": node("ConstructorFromReduceNode", "posix.system", content=args),
        "eval": node("ConstructorFromReduceNode", "builtins.eval", content=listed(tuple, text(f"open('{mark}', 'w')"))),
        "own module's os": node("ConstructorFromReduceNode", "clems.persistence.file.os.system", content=args),
        "own module's import": node("FunctionNode", "clems.persistence.file.os"),
        "own function": node(
            "ConstructorFromReduceNode", "clems.datasets.text.source.open_text", content=listed(tuple, text(str(mark)))
        ),
        "own private function": node(
            "ConstructorFromReduceNode",
            "clems.files.replacing",
            content=listed(tuple, text(str(mark)), text("x")),
        ),
        "type of a key": mapping([node("FunctionNode", "os.system")], **{command: text(1)}),
        "type of a key, by the user's": mapping([node("FunctionNode", function)], **{str(mark): text(1)}),
        "class of a key, by the user's": mapping([node("TypeNode", f"{__name__}.Marker")], **{str(mark): text(1)}),
        "hidden type of a key": listed(
            list,
            node("FunctionNode", function, **hidden),
            mapping([node("TypeNode", "builtins.str", **hidden)], **{str(mark): text(1)}),
        ),
        "list": node("ListNode", function, content=[text(str(mark))]),
        "set": node("SetNode", function, content=[text(str(mark))]),
        "dict": node("DictNode", "os.getcwd", content={}, key_types=listed(list)),
        "array": node("NdArrayNode", "os.system", type="json", content=[text(command)], shape=listed(tuple, text(1))),
        "function": node("FunctionNode", "os.system"),
        "old function": node("FunctionNode", "numpy.sqrt", content={"module_path": "os", "function": "system"}),
        "type": node("TypeNode", "subprocess.Popen"),
        "object": node("ObjectNode", "subprocess.Popen", content=mapping()),
        "partial": node(
            "PartialNode",
            "functools.partial",
            content={
                "func": node("FunctionNode", "os.system"),
                "args": args,
                "kwds": mapping(),
                "namespace": text(None),
            },
        ),
        "method": node(
            "MethodNode",
            "pathlib.PosixPath",
            content={
                "func": "touch",
                "obj": node("ConstructorFromReduceNode", "pathlib.PosixPath", content=own),
            },
        ),
        "operator": node("OperatorFuncNode", "operator.methodcaller", attrs=listed(tuple, text("touch"))),
        "loss": node("LossNode", "os.system", content=mapping(), **{"__reduce__": {"args": args}}),
        "tree": node("TreeNode", "os.system", content=mapping(), **{"__reduce__": {"args": args}}),
        "random": node(
            "RandomGeneratorNode",
            "numpy.random.Generator",
            content={"bit_generator": mapping(bit_generator=text("seed")), "seed_seq": mapping()},
        ),
        "slice": node("SliceNode", "os.system", content=content),
        "unknown": node("NoSuchNode", "os.system"),
        "nothing": {},
        "clems class that is called": node("ListNode", "clems.learners.br.BR", content=[]),
    }


# skops ignores which class a slice names, and what newer functions say beside their names.
HARMLESS = {("slice", 1), ("slice", 2), ("old function", 1), ("old function", 2)}


@pytest.mark.parametrize("kind", sorted(payloads("")))
@pytest.mark.parametrize("protocol", [0, 1, 2])
def test_a_file_runs_nothing(kind, protocol, saved, place, tmp_path):
    mark = tmp_path / "mark"

    def change(schema):
        schema["protocol"] = protocol
        schema["content"]["content"]["estimator"] = payloads(mark)[kind]

    data = forged(saved[0], schema=change)
    if (kind, protocol) in HARMLESS:
        place[0].write_bytes(data)
        with suppress(ModelError):  # older versions of numpy have no module for what newer ones trust
            load(place[0])
    else:
        assert place[1](data).startswith("cannot be loaded: it ")
    assert not mark.exists()


@pytest.mark.parametrize(
    "kind",
    ["list", "set", "type of a key, by the user's", "class of a key, by the user's", "hidden type of a key"],
)
def test_what_a_user_trusts_is_not_called(kind, saved, place, tmp_path):
    mark = tmp_path / "mark"

    def change(schema):
        schema["content"]["content"]["estimator"] = payloads(mark)[kind]

    data = forged(saved[0], schema=change)
    message = place[1](data, trusted=[leave_mark, Marker])
    assert "which is never trusted" in message or "of the same number" in message
    assert not mark.exists()
    skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert mark.exists()


def test_the_payloads_are_live(saved, tmp_path):
    mark = tmp_path / "mark"

    def change(schema):
        schema["content"]["content"]["estimator"] = payloads(mark)["constructor of posix"]

    data = forged(saved[0], schema=change)
    skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert mark.exists()


def test_the_refusal_names_what_is_refused(saved, place):
    def change(schema):
        schema["content"]["content"]["estimator"] = node("FunctionNode", "posix.system")

    assert "it asks for posix.system, which clems does not trust" in place[1](forged(saved[0], schema=change))


class Pickled:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def test_a_pickle_is_not_opened(saved, place, tmp_path):
    mark = tmp_path / "mark"
    data = pickle.dumps(Pickled(mark))
    place[1](data)
    place[1](signed(b"PK" + data + b"clems.json"))
    array = io.BytesIO()
    np.save(array, np.array([Pickled(mark)], object), allow_pickle=True)
    place[1](forged(saved[0], arrays=lambda name, content: array.getvalue() if name.endswith(".npy") else content))
    assert not mark.exists()
    pickle.loads(data)
    assert mark.exists()


def test_only_names_of_this_package_are_trusted_as_its_own():
    for name in trust.ROLES:
        module, _, own = name.rpartition(".")
        if module.startswith("sklearn") and not hasattr(importlib.import_module(module), own):
            continue  # another version has it
        thing = getattr(importlib.import_module(module), own)
        assert callable(thing)
        if module.startswith("clems"):
            assert thing.__module__ == module


def test_something_else_in_our_clothes(saved, place):
    def change(schema):
        schema.update(listed(list, text(1)))

    assert "it holds no learner but a list" in place[1](forged(saved[0], schema=change))

    def forget(schema):
        schema["content"]["content"] = {}
        schema["content"]["key_types"]["content"] = []

    place[1](forged(saved[0], schema=forget))


def test_files_that_unpack_to_too_much(saved, place, monkeypatch):
    bomb = forged(saved[0], arrays=lambda name, content: bytes(10**6) if name.endswith(".npy") else content)
    monkeypatch.setattr(model_file, "ROOM", 10**5)
    assert "far more than models do" in place[1](bomb)


def test_matrices_that_unpack_to_too_much(place, monkeypatch):
    path, refusal = place
    save(new(SLEEC, estimator=Ridge()).fit(X, Y), path)
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.npy", bytes(10**7))
    data = forged(
        path.read_bytes(), arrays=lambda name, content: inner.getvalue() if name.endswith(".npz") else content
    )
    monkeypatch.setattr(model_file, "ROOM", 10**6)
    assert "far more than models do" in refusal(data)


def test_deep_nesting(saved, place):
    data = forged(
        saved[0], arrays=lambda name, content: "[" * 10**5 + "]" * 10**5 if name == "schema.json" else content
    )
    place[1](data)


@pytest.mark.parametrize(
    ("field", "value"),
    [("left_child", 10**6), ("right_child", 10**6), ("left_child", 0), ("right_child", -5), ("feature", 10**6)],
)
def test_trees_that_lead_out_of_memory_or_in_circles(field, value, saved, place):
    def change(array):
        if array.dtype.names and "left_child" in array.dtype.names:
            array[field][0] = value

    assert "DecisionTreeClassifier that cannot be used: a " in place[1](with_arrays(saved[0], change))


@pytest.mark.parametrize(("field", "value"), [("left", 10**6), ("right", 0), ("feature_idx", 5), ("feature_idx", -1)])
def test_boosted_trees_too(field, value, place):
    path, refusal = place
    save(BR(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)).fit(X, Y), path)

    def change(array):
        if array.dtype.names and "feature_idx" in array.dtype.names:
            array[field][0] = value

    assert "HistGradientBoostingClassifier that cannot be used: a " in refusal(with_arrays(path.read_bytes(), change))


def names_in(data, role):
    """Names that occur in a role in a file."""
    nodes = nodes_of(json.loads(members_of(data)[SCHEMA]))
    return {f"{one['__module__']}.{one['__class__']}" for one in nodes if one["__loader__"] == role}


def test_ufuncs_are_named_as_numpy_exports_them(place):
    """Ufuncs of numpy 2.0 do not say which module they are of."""
    path, _ = place
    save(CLEMS("f1", n_trees=3, cost_transform=np.cbrt).fit(X, Y), path)
    assert "numpy.cbrt" in (names := names_in(path.read_bytes(), "FunctionNode"))
    assert all(name.startswith(("numpy.", "clems.")) and name.count(".") <= 3 for name in names)


def test_no_module_is_loaded_in_the_place_of_losses(place, tmp_path, monkeypatch):
    """The losses of scikit-learn 1.6 say that they are of a module `_loss`, which may be a file of anyone's."""
    path, refusal = place
    mark = tmp_path / "mark"
    code = f"import pathlib\nfrom sklearn._loss._loss import *\npathlib.Path({str(mark)!r}).touch()\n"
    (tmp_path / "_loss.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "_loss", None)  # where scikit-learn 1.6 puts its own
    del sys.modules["_loss"]
    model = BR(GradientBoostingClassifier(n_estimators=2, max_depth=1)).fit(X, Y)
    save(model, path)
    assert_same(answers(load(path), X), answers(model, X))
    assert names_in(path.read_bytes(), "LossNode") == {"sklearn._loss._loss.CyHalfBinomialLoss"}

    def change(schema):
        for one in nodes_of(schema):
            if one["__loader__"] == "LossNode":
                one["__module__"] = "_loss"

    data = forged(path.read_bytes(), schema=change)
    for trusted in ((), ["_loss.CyHalfBinomialLoss"]):
        message = refusal(data, trusted=trusted)
        assert message == "cannot be loaded: it uses _loss.CyHalfBinomialLoss as a LossNode, which is never trusted."
    assert not mark.exists()
    skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert mark.exists()


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
def test_search_trees_are_not_saved_but_grown_again(algorithm, place):
    path, _ = place
    model = BR(KNeighborsClassifier(3, algorithm=algorithm, leaf_size=4)).fit(X, Y)
    save(model, path)
    with zipfile.ZipFile(path) as file:
        assert b'Tree"' not in file.read("schema.json")
        assert not any(np.load(file.open(name)).ndim == 3 for name in file.namelist() if name.endswith(".npy"))
    loaded = load(path)
    assert_same(answers(model, NEW), answers(loaded, NEW))
    for one, other in zip(model.estimators_, loaded.estimators_, strict=True):
        assert type(one._tree) is type(other._tree)
        np.testing.assert_array_equal(one._tree.__getstate__()[1], other._tree.__getstate__()[1])


def test_tables_too(place):
    path, refusal = place
    model = CLEMS(n_trees=2, depths=[2], random_state=0).fit(X, Y)  # cut, so that rows stop at other nodes
    save(model, path)
    size = sum(tree.tree_.node_count for tree in model.estimator_)

    def change(array):
        if array.shape == (size,) and array.dtype == np.intp:
            array[:] = 10**6

    assert "LeafShares that cannot be used" in refusal(with_arrays(path.read_bytes(), change))

    def arrays(name, content):
        if not name.endswith(".npz"):
            return content
        table = sparse.load_npz(io.BytesIO(content))
        table.indices[:] = 10**6
        buffer = io.BytesIO()
        sparse.save_npz(buffer, table)
        return buffer.getvalue()

    refusal(forged(path.read_bytes(), arrays=arrays))


def test_skops_is_imported_only_when_needed():  # it takes a second, since it imports all of scikit-learn
    parts = ast.parse(Path(model_file.__file__).read_text()).body
    assert "skops" not in "".join(ast.unparse(part) for part in parts if isinstance(part, ast.Import | ast.ImportFrom))
