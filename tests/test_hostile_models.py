"""Files that mean harm to whoever loads them: each is refused in a sentence before it crashes or fills the memory."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from joblib import cpu_count
from scipy import sparse
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC, SVR, NuSVC
from sklearn.tree import DecisionTreeClassifier
from skops.io import dumps

from attack.forging import (
    array_in,
    attributes,
    described,
    forged,
    listed,
    mapping,
    nodes_of,
    put,
    saved,
    take,
    text,
    with_arrays,
    with_matrices,
)
from clems import BR, CLEMS, PLST, SLEEC, load, save
from clems.persistence import ModelError, describe

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(40, 5)
Y = (X[:, :4] + 0.2 * RANDOM.rand(40, 4) > 0.6).astype(np.uint8)
MODELS = {
    "tree": BR(DecisionTreeClassifier(max_depth=2)),
    "forest": BR(RandomForestClassifier(2, max_depth=2)),
    "boosting": BR(GradientBoostingClassifier(n_estimators=2, max_depth=2)),
    "binned": BR(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)),
    "svc": BR(SVC()),
    "sparse svc": BR(SVC()),
    "nu svc": BR(NuSVC(nu=0.1)),
    "kd tree": BR(KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=4)),
    "brute": BR(KNeighborsClassifier(3, algorithm="brute")),
    "clems": CLEMS(n_trees=2),
    "nearest": CLEMS(n_trees=2, decoder="nearest"),
    "seeded": CLEMS(n_trees=2, random_state=np.random.RandomState(3)),
    "sleec": SLEEC(n_trees=2, n_folds=None),
    "svr": PLST(estimator=SVR()),
    "gaussian": CLEMS(n_trees=2, experts=["gaussian"]),
}
KINDS = {
    "tree": "sklearn.tree._tree.Tree",
    "decision tree": "sklearn.tree._classes.DecisionTreeClassifier",
    "extra tree": "sklearn.tree._classes.ExtraTreeRegressor",
    "regression tree": "sklearn.tree._classes.DecisionTreeRegressor",
    "forest": "sklearn.ensemble._forest.RandomForestClassifier",
    "boosting": "sklearn.ensemble._gb.GradientBoostingClassifier",
    "binned": "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
    "svc": "sklearn.svm._classes.SVC",
    "nu svc": "sklearn.svm._classes.NuSVC",
    "neighbours": "sklearn.neighbors._classification.KNeighborsClassifier",
    "shares": "clems.trees.leaf_table.LeafShares",
    "scores": "clems.posterior.ridge_expert.RidgeScores",
    "several outputs": "sklearn.multioutput.MultiOutputRegressor",
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Files of honest models by name."""
    folder, made = tmp_path_factory.mktemp("models"), {}
    for name, model in MODELS.items():
        save(model.fit(sparse.csr_array(X) if name == "sparse svc" else X, Y), folder / name)
        made[name] = (folder / name).read_bytes()
    return made


@pytest.fixture
def refusal(tmp_path):
    """Say why a file is refused."""

    def why(data, read=load):
        path = tmp_path / "model.clems"
        path.write_bytes(data)
        with pytest.raises(ModelError) as caught:
            read(path)
        message = str(caught.value)
        assert message.isprintable()
        assert message.endswith(".")
        return message

    return why


def without_numbers(schema):
    """Let objects be described once each, so that one can be changed and not another."""
    for node in nodes_of(schema):
        node.pop("__id__", None)


def changed(data, kind, change):
    """The file in which all objects of a kind are changed."""

    def schema(schema):
        without_numbers(schema)
        found = [node for node in nodes_of(schema, KINDS[kind]) if node["content"]["content"]]
        assert found
        for node in found:
            if node["__loader__"] == "TreeNode" or "n_features_in_" in attributes(node) or kind in ("shares", "scores"):
                change(node)

    return forged(data, schema=schema)


def test_the_models_are_honest(honest, tmp_path):
    for name, data in honest.items():
        (tmp_path / "model").write_bytes(forged(data, schema=without_numbers))
        np.testing.assert_array_equal(load(tmp_path / "model").predict(X), MODELS[name].predict(X))


# What compiled code would follow out of its arrays


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "clems", "nearest"])
@pytest.mark.parametrize("all_say_so", [False, True])
def test_trees_of_other_features(name, all_say_so, honest, refusal, tmp_path):
    def wide(schema):
        without_numbers(schema)
        for tree in nodes_of(schema, KINDS["tree"]):
            tree["__reduce__"]["args"]["content"][0] = text(200_000_000)
        for kind in ("decision tree", "extra tree", "regression tree"):
            for node in nodes_of(schema, KINDS[kind]):
                if all_say_so and "n_features_in_" in attributes(node):
                    put(node, "n_features_in_", text(200_000_000))

    data = forged(honest[name], schema=wide)
    if name == "tree" and all_say_so:  # which scikit-learn compares with the features that it gets
        (tmp_path / "model").write_bytes(data)
        with pytest.raises(ValueError, match="expecting 200000000 features"):
            load(tmp_path / "model").predict(X)
    else:
        assert "cannot be used" in (message := refusal(data)) or "other features" in message


def test_trees_whose_parts_do_not_fit(honest, refusal):
    for place, value in ((2, 1000), (2, 0), (2, "x"), (0, -1), (0, 2.5)):

        def change(node, place=place, value=value):
            node["__reduce__"]["args"]["content"][place] = text(value)

        assert "a Tree whose parts do not fit together" in refusal(changed(honest["tree"], "tree", change))
    for name in ("node_count", "nodes", "values"):
        data = changed(honest["tree"], "tree", lambda node, n=name: attributes(node).__setitem__(n, text(10**6)))
        assert "a Tree whose parts do not fit together" in refusal(data)


def lead_astray(array):
    """Let trees of all kinds lead out of their nodes."""
    if array.dtype.names and "left" in array.dtype.names:
        array["left"][:] = 10**6
    if array.dtype.names and "left_child" in array.dtype.names:
        array["left_child"][0] = 10**6
    return array


@pytest.mark.parametrize("kind", ["binned", "shares"])
def test_a_sound_tree_hides_nothing(kind, honest, refusal):
    """An attribute that is none of the object's own, beside its own that is unsound."""
    name = "binned" if kind == "binned" else "clems"
    tree = members(honest["tree"])
    arrays = [member for member in tree if member.endswith(".npy")]
    described = tree["schema.json"].decode()
    for member in arrays:  # names are addresses in memory, and those of two files may be the same
        described = described.replace(f'"{member}"', f'"decoy-{member}"')

    def hide(schema):
        without_numbers(schema)
        decoy = next(nodes_of(json.loads(described), KINDS["tree"]))
        without_numbers(decoy)
        for node in nodes_of(schema, KINDS[kind]):
            put(node, "tree_", decoy)
            put(node, "n_features_in_", text(5))

    def unsound(array):
        if kind == "binned":
            return lead_astray(array)
        if array.dtype == np.intp and array.size > 10:  # and the trees stay sound, so that nothing else is found
            array[:] = 10**6
        return array

    more = {f"decoy-{member}": tree[member] for member in arrays}
    data = forged(with_arrays(honest[name], unsound), schema=hide, more=more)
    message = refusal(data)
    assert "that cannot be used" in message or "in the place of something else" in message


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_trees_behind_a_masked_array(honest, refusal):
    def mask(schema):
        without_numbers(schema)
        for node in nodes_of(schema, KINDS["boosting"]):
            if "estimators_" in attributes(node):
                data = attributes(node)["estimators_"]
                content = {"data": data, "mask": text(True)}
                put(node, "estimators_", described("MaskedArrayNode", "numpy.ma.MaskedArray", content=content))

    data = forged(with_arrays(honest["boosting"], lead_astray), schema=mask)
    assert "numpy.ma.MaskedArray as a MaskedArrayNode, which is never trusted" in refusal(data)


@pytest.mark.parametrize("form", ["bsr", "coo", "dia"])
def test_matrices_of_another_format(form, honest, refusal):
    data = with_matrices(honest["clems"], lambda matrix: matrix.asformat(form))
    assert f"a {form}_array that cannot be used" in refusal(data)


@pytest.mark.parametrize(
    "change",
    [
        lambda matrix: (matrix.data, matrix.indices + 10**6, matrix.indptr),
        lambda matrix: (matrix.data, matrix.indices - 10**6, matrix.indptr),
        lambda matrix: (matrix.data, matrix.indices, matrix.indptr * 3),
        lambda matrix: (matrix.data[:3], matrix.indices, matrix.indptr),
    ],
)
def test_matrices_that_lead_out_of_memory(change, honest, refusal):
    def bad(matrix):
        other = sparse.csr_array(matrix.shape)
        other.data, other.indices, other.indptr = change(matrix)
        return other

    refusal(with_matrices(honest["clems"], bad))


@pytest.mark.parametrize("name", ["clems", "sleec"])
@pytest.mark.parametrize(
    ("first", "last"),
    [
        ([0, 1, 0], 0),  # nothing is stored, by the last end
        ([0, 10**9], 0),
        ([0, 5], -1),
        ([0, 2**31 - 1, -(2**31), -1], None),  # differences that are positive again when they overflow
    ],
)
def test_matrices_whose_rows_go_back(first, last, name, honest, refusal):
    """SciPy looks at the ends of rows only if something is stored, and by differences that may overflow."""

    def bad(matrix):
        other = sparse.csr_array(matrix.shape)
        other.data, other.indices, other.indptr = matrix.data, matrix.indices, matrix.indptr.copy()
        other.indptr[: len(first)] = first
        if last is not None:
            other.indptr[-1] = last
        return other

    assert "rows that go back" in refusal(with_matrices(honest[name], bad))


@pytest.mark.parametrize("name", ["clems", "sleec"])
def test_matrices_far_wider_than_models_are(name, honest, refusal):
    """A product of sparse matrices takes memory for each column, stored or not."""

    def wide(matrix):
        return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], 10**8))

    assert "a csr_array of 100000000 columns" in refusal(with_matrices(honest[name], wide))


def test_columns_of_predictions_for_trees_that_are_not_there(honest, refusal):
    data = changed(honest["binned"], "binned", lambda node: put(node, "n_trees_per_iteration_", text(10**8)))
    assert "a HistGradientBoostingClassifier that cannot be used: trees for other classes" in refusal(data)
    for attribute in ("n_outputs_", "n_classes_"):

        def change(node, attribute=attribute):
            put(node, attribute, text(10**8))

        assert "a RandomForestClassifier that cannot be used: trees " in refusal(
            changed(honest["forest"], "forest", change)
        )


@pytest.mark.parametrize("name", ["svc", "nu svc", "sparse svc"])
@pytest.mark.parametrize(
    ("attribute", "other"),
    [
        ("_n_support", [10**6, 10**6]),
        ("_n_support", [-5, 45]),
        ("_n_support", [3, 3, 3]),
        ("_n_support", [1]),
        ("support_", [0]),
        ("_dual_coef_", [[1.0]]),
        ("_dual_coef_", [1.0]),
        ("_intercept_", []),
        ("_probA", [1.0, 2.0, 3.0]),
        ("support_vectors_", [[0.0] * 4]),
        ("support_vectors_", [[0.0] * 5]),
    ],
)
def test_support_vectors_that_are_not_there(name, attribute, other, honest, refusal):
    array = np.array(other, np.int32 if attribute in ("_n_support", "support_") else np.float64)
    kind = "nu svc" if name == "nu svc" else "svc"
    data = changed(honest[name], kind, lambda node: put(node, attribute, array_in("bad.npy")))
    assert "SVC that cannot be used" in refusal(forged(data, more={"bad.npy": saved(array)}))


def test_support_vectors_by_columns(honest, refusal):
    data = with_matrices(honest["sparse svc"], lambda matrix: matrix.asformat("csc"))
    assert "a SVC that cannot be used: support vectors by columns" in refusal(data)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("kernel", text("precomputed")),
        ("_impl", text("one_class")),
        ("_sparse", text(True)),
        ("_sparse", text(1)),
        ("_effective_probability", text(True)),
        ("_effective_probability", text(-1000000)),
    ],
)
def test_support_vectors_of_another_kind(attribute, value, honest, refusal):
    data = changed(honest["svc"], "svc", lambda node: put(node, attribute, value))
    assert "a SVC that cannot be used" in refusal(data)


@pytest.mark.parametrize("name", ["kd tree", "brute"])
@pytest.mark.parametrize(
    ("attribute", "array"),
    [
        ("_fit_X", RANDOM.rand(40, 4)),
        ("_fit_X", RANDOM.rand(39, 5)),
        ("_fit_X", RANDOM.rand(200)),
        ("_y", np.full(40, 10**6)),
        ("_y", np.full(40, -1)),
        ("_y", np.zeros(3, int)),
        ("_y", np.zeros((40, 1), int)),
    ],
)
def test_neighbours_that_are_not_there(name, attribute, array, honest, refusal):
    data = changed(honest[name], "neighbours", lambda node: put(node, attribute, array_in("bad.npy")))
    assert "a KNeighborsClassifier that cannot be used" in refusal(forged(data, more={"bad.npy": saved(array)}))


@pytest.mark.parametrize("kind", [KDTree, BallTree])
@pytest.mark.parametrize("kept", [np.s_[:], np.s_[:0], np.s_[:, :, :1]], ids=["all", "none", "of one feature"])
def test_search_trees_are_not_believed(kind, kept, honest, refusal):
    """As skops writes them, with all their bounds or with fewer, beyond which compiled code would read."""
    files = members(dumps(kind(X, leaf_size=4)))
    more = {name: content for name, content in files.items() if name.endswith(".npy")}
    for name, content in more.items():
        if (array := np.load(io.BytesIO(content))).ndim == 3:
            more[name] = saved(array[kept].copy())
    tree = json.loads(files["schema.json"])
    without_numbers(tree)
    data = changed(honest["kd tree"], "neighbours", lambda node: put(node, "_tree", tree))
    name = f"{kind.__module__}.{kind.__name__}"
    assert f"it asks for {name}, which clems does not trust" in refusal(forged(data, more=more))


@pytest.mark.parametrize("method", ["_validate_X_predict", "predict", "get_params", "feature_importances_"])
def test_attributes_in_the_place_of_methods(method, honest, refusal):
    ufunc = described("FunctionNode", "numpy.positive")
    data = changed(honest["forest"], "decision tree", lambda node: put(node, method, ufunc))
    assert "a DecisionTreeClassifier that cannot be used" in refusal(data)


def test_a_number_of_features_that_equals_all(honest, refusal):
    data = changed(honest["tree"], "decision tree", lambda node: put(node, "n_features_in_", array_in("bad.npy")))
    refusal(forged(data, more={"bad.npy": saved(np.empty(0))}))


@pytest.mark.parametrize("position", [-1, 625, 10**9])
def test_random_states_that_read_beyond_their_end(position, honest, refusal):
    def schema(schema):
        without_numbers(schema)
        for node in nodes_of(schema, "numpy.random.mtrand.RandomState"):
            attributes(node)["state"]["content"]["pos"] = text(position)

    assert "a RandomState that cannot be used" in refusal(forged(honest["seeded"], schema=schema))


@pytest.mark.parametrize("part", [("seed_seq", "pool_size", 10**9), ("bit_generator", "bit_generator", "Philox")])
def test_generators_of_another_kind(part, honest, refusal):
    def schema(schema):
        without_numbers(schema)
        for node in nodes_of(schema, "numpy.random._generator.Generator"):
            node["content"][part[0]]["content"][part[1]] = text(part[2])

    assert "random numbers that is not numpy's usual one" in refusal(forged(honest["binned"], schema=schema))


def test_threads_without_end(honest, refusal):
    data = changed(honest["forest"], "decision tree", lambda node: put(node, "n_jobs", text(10**6)))
    assert "n_jobs of 1000000" in refusal(data)


@pytest.mark.parametrize(("asked", "given"), [(625, cpu_count()), (-1000, -1000), (1, 1), (None, None)])
def test_no_more_processes_than_cores(asked, given, honest, tmp_path):
    """625 processes, each of which imports scikit-learn, take minutes and tens of gigabytes; the cores are enough."""
    data = changed(honest["svr"], "several outputs", lambda node: put(node, "n_jobs", text(asked)))
    (tmp_path / "model").write_bytes(data)
    assert load(tmp_path / "model").estimator_.n_jobs == given


# What would never end, or fill the memory


@pytest.mark.parametrize("rows", [10**6, 3])
def test_landmarks_of_experts_are_as_many_as_training_has(rows, honest, refusal):
    """A row of zeros takes nothing in a file, and a number for each row that is predicted."""
    data = changed(honest["gaussian"], "scores", lambda node: put(node, "landmarks", array_in("bad.npy")))
    assert "a RidgeScores that cannot be used" in refusal(forged(data, more={"bad.npy": saved(np.zeros((rows, 5)))}))


def estimator(value):
    def change(schema):
        attributes(schema)["estimator"] = value

    return change


def test_lists_that_hold_one_another(honest, refusal):
    """Sixty lists, each of which holds the next twice, are 2 ** 60 objects to whoever walks over them."""
    inner = listed(list, **{"__id__": 1})
    for number in range(2, 60):
        again = described("ListNode", "builtins.list", content=[], **{"__id__": number - 1})
        inner = listed(list, inner, again, **{"__id__": number})
    assert "two objects of the same number" in refusal(forged(honest["tree"], schema=estimator(inner)))


def test_an_object_that_holds_itself(honest, refusal):
    inner = listed(list, **{"__id__": 1})
    refusal(forged(honest["tree"], schema=estimator(listed(list, inner, **{"__id__": 1}))))


@pytest.mark.parametrize("count", [10**12, 10**100])
def test_ranges_without_end(count, honest, refusal):
    reduced = "ConstructorFromReduceNode"
    numbers = described(reduced, "builtins.range", content=listed(tuple, text(0), text(count), text(1)))
    refusal(forged(honest["tree"], schema=estimator(numbers)))
    of_numbers = described(reduced, "builtins.frozenset", content=listed(tuple, numbers))
    refusal(forged(honest["tree"], schema=estimator(of_numbers)))


def test_an_array_that_is_taken_often(honest, refusal):
    zeros = listed(list, *(array_in("zeros.npy") for _ in range(15)))
    data = forged(honest["tree"], schema=estimator(zeros), more={"zeros.npy": saved(np.zeros(10**7))})
    assert "far more than models do" in refusal(data)


@pytest.mark.parametrize("member", ["schema.json", "clems.json"])
@pytest.mark.parametrize("content", ["[" * 4 * 10**7, "[" + "[]," * 10**6 + "[]]", "[" + "{}," * 10**6 + "{}]"])
def test_descriptions_without_end(member, content, honest, refusal):
    data = forged(honest["tree"], arrays=lambda name, given: content if name == member else given)
    refusal(data)
    if member == "clems.json":
        refusal(data, describe)


@pytest.mark.parametrize("read", [load, describe])
@pytest.mark.parametrize("count", [10**6, 6 * 10**6])
def test_brackets_in_an_honest_description(count, read, honest, refusal):
    """All else is as it should be, so that the many lists, of a few kB in the file, are what it is refused for."""
    data = forged(honest["tree"], info=lambda info: info.update(label_names=[[]] * count))
    message = refusal(data, read)
    assert "clems.json in it describes far more objects" in message or "where 16777216 are the most" in message


def test_sets_of_ranges(honest, refusal):
    numbers = described(
        "ConstructorFromReduceNode", "builtins.range", content=listed(tuple, text(0), text(10**6), text(1))
    )
    of_numbers = described("ConstructorFromReduceNode", "builtins.frozenset", content=listed(tuple, numbers))
    refusal(forged(honest["tree"], schema=estimator(of_numbers)))


def test_brackets_within_words(honest, refusal):
    words = described("JsonNode", "builtins.str", content="[" + "[]," * 10**6 + "[]]", is_json=True)
    refusal(forged(honest["tree"], schema=estimator(words)))


@pytest.mark.parametrize(("kind", "length"), [("<f8", 10**10), ("<U0", 10**12), ("|O", 1)])
def test_arrays_that_are_less_than_they_say(kind, length, honest, refusal):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({length},), }}"
    written = header.ljust(117).encode() + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(written).to_bytes(2, "little") + written
    data = forged(honest["tree"], arrays=lambda name, content: array if name.endswith(".npy") else content)
    assert "an array that is not what its header says" in refusal(data)


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_of_packing(packing, honest, refusal):
    assert "packed in another way" in refusal(forged(honest["tree"], packing=packing))


def test_deep_nesting(honest, refusal):
    deep = text(1)
    for _ in range(300):
        deep = listed(list, deep)
    assert "inside of one another" in refusal(forged(honest["tree"], schema=estimator(deep)))


def test_keys_of_other_types(honest, refusal):
    for kind in ("builtins.map", "builtins.list", "sklearn.tree._classes.DecisionTreeClassifier"):
        table = mapping([described("TypeNode", kind)], a=text(1))
        refusal(forged(honest["tree"], schema=estimator(table)))


def test_names_are_printed_as_they_are(honest, refusal):
    assert "\\x1b[2J" in refusal(forged(honest["tree"], schema=estimator(described("ObjectNode", "os.\x1b[2J"))))


def test_a_device_is_no_model():
    with pytest.raises(ModelError, match="no regular file"):
        load("/dev/zero")


@pytest.mark.parametrize(
    "estimator",
    [NearestCentroid(), VotingClassifier([("tree", DecisionTreeClassifier())])],  # whose votes numpy counts unchecked
)
def test_estimators_outside_the_list_are_named(estimator, tmp_path):
    save(BR(estimator).fit(X, Y), tmp_path / "model")
    name = f"{type(estimator).__module__}.{type(estimator).__name__}"
    with pytest.raises(ModelError, match=f"it asks for {name}, which clems does not trust"):
        load(tmp_path / "model")
    load(tmp_path / "model", trusted=[name])


def test_the_documentation_lists_what_a_file_may_hold():
    from clems.persistence import trust

    page = Path("docs/guarantees.md").read_text()
    for names in (*trust.PLAIN.values(), *trust.CHECKED.values()):
        for name in names.split():
            assert f"`{name}`" in page


def test_in_a_process_of_its_own(honest, tmp_path):
    """What the tests above say of exceptions holds for the process: it ends with a sentence, not with a signal."""
    path = tmp_path / "model.clems"
    path.write_bytes(with_arrays(honest["tree"], lead_astray))
    ended = subprocess.run(
        [sys.executable, "-m", "clems", "predict", path, "-"], input=b"a,b\n", capture_output=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.decode().startswith(f"Error: {path} cannot be loaded")


def test_a_model_that_cannot_predict_is_reported(honest, tmp_path):
    """Of what Python itself finds out when it is too late, the command makes a sentence."""
    path = tmp_path / "model.clems"
    path.write_bytes(changed(honest["tree"], "decision tree", lambda node: take(node, "n_outputs_")))
    rows = ",".join("abcde") + "\n" + ",".join("12345") + "\n"
    ended = subprocess.run(
        [sys.executable, "-m", "clems", "predict", path, "-"], input=rows.encode(), capture_output=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.decode().startswith("Error: The model does not predict (AttributeError")
    assert ended.stderr.count(b"\n") == 1


def test_a_description_does_not_move_the_cursor(honest, tmp_path):
    path = tmp_path / "model.clems"
    path.write_bytes(forged(honest["tree"], info=lambda info: info.update(learner="BR\x1b[2J")))
    shown = subprocess.run([sys.executable, "-m", "clems", "inspect", path], capture_output=True, check=True).stdout
    assert b"BR\\x1b[2J" in shown
    assert b"\x1b" not in shown
