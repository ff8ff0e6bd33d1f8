"""Saving fitted models to files and loading them, so that a file can never run code of its own."""

from __future__ import annotations

import json
import os
import sys
import uuid
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import sklearn
from scipy import sparse
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from clems.candidates import CandidateSet
from clems.chain import Chain
from clems.classifier import MultiLabelClassifier
from clems.codes import HammingOnRepetition, Repetition
from clems.cost import CallableCost, CountCost, PriceCost
from clems.costs import COSTS, FBeta, PriceThreshold
from clems.forest import LeafShares, Leaves
from clems.learners import LEARNERS
from clems.learners.ecc import Group
from clems.posterior import ByDistance, ByLeaves, ByNeighbours
from clems.smacof import Embedding

FORMAT = 1  # goes up when older versions can no longer read what is written
INFO, SCHEMA = "clems.json", "schema.json"  # what describes the model, and what skops builds it from
PACKED = ".npz"  # sparse matrices, archives of their own
DIGEST = 64  # bytes at the end of a file: the SHA-256 of all before, in hexadecimal digits
ROOM = 1 << 28  # bytes to which any file may unpack
DENSEST = 100  # beyond these, how many times its own size

OWN_CLASSES = (
    *LEARNERS.values(),
    *(ByDistance, ByLeaves, ByNeighbours, CandidateSet, Chain, Embedding, Group, Leaves, LeafShares),
    *(CallableCost, CountCost, PriceCost, FBeta, PriceThreshold, HammingOnRepetition, Repetition),
)
OWN_FUNCTIONS = {part for cost in COSTS.values() for part in (cost.formula, cost.threshold)}
SCIKIT_LEARN = (  # what its estimators hold and skops does not trust unasked; `check_content` sees to indices
    "sklearn._loss.loss.HalfTweedieLoss",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.DotProduct",
    "sklearn.gaussian_process.kernels.Matern",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.RationalQuadratic",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.metrics._dist_metrics.ChebyshevDistance64",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._dist_metrics.ManhattanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)


def name_of(thing: Any) -> str:
    """Name by which a file refers to a class or function."""
    return f"{thing.__module__}.{thing.__name__}"


# In which roles a name may occur. skops trusts a name in every role, also as a thing to call; that is too much.
ROLES: dict[str, frozenset[str]] = {
    **{name_of(own): frozenset({"ObjectNode", "TypeNode"}) for own in OWN_CLASSES},
    **{name_of(own): frozenset({"FunctionNode"}) for own in OWN_FUNCTIONS if isinstance(own, FunctionType)},
    **{name: frozenset({"ObjectNode"}) for name in SCIKIT_LEARN},
    **{
        name_of(getattr(sparse, f"{form}_{kind}")): frozenset({"SparseMatrixNode"})
        for form in ("csr", "csc", "coo")
        for kind in ("array", "matrix")
    },
    "sklearn.tree._tree.Tree": frozenset({"TreeNode"}),
    "numpy.dtype": frozenset({"DTypeNode"}),
    "builtins.range": frozenset({"ConstructorFromReduceNode"}),
    "builtins.frozenset": frozenset({"ConstructorFromReduceNode"}),
}
YOURS = frozenset({"FunctionNode", "ObjectNode", "TupleNode", "TypeNode"})  # roles of what a user trusts
COMMON = YOURS | {  # roles of what skops trusts by itself; methods, partials and constructor calls are left out
    *("BytearrayNode", "BytesNode", "DefaultDictNode", "DictNode", "JsonNode", "ListNode", "LossNode", "SetNode"),
    *("MaskedArrayNode", "NdArrayNode", "RandomGeneratorNode", "RandomStateNode", "SliceNode"),
}


class ModelError(ValueError):
    """A model that cannot be saved, or a file that holds none that can be loaded safely."""


@dataclass(frozen=True)
class ModelInfo:
    """What a file says about the model in it.

    Attributes
    ----------
    clems, sklearn : str
        Versions of clems and scikit-learn that it was saved with.
    saved : str
        When, in ISO format, UTC.
    learner : str
        Name of its class.
    cost : str or None
        Name of its cost; None for a learner that takes none.
    parameters : dict
        Parameters of the learner as text.
    n_features : int
        Number of features.
    feature_names : list of str or None
        Their names, if they have names.
    label_names : list
        Names of the labels, numbers where they have none.
    summary : dict
        What training found: each fitted attribute that is a single number or word, such as `depth_`.
    """

    clems: str
    sklearn: str
    saved: str
    learner: str
    cost: str | None
    parameters: dict[str, str]
    n_features: int
    feature_names: list[str] | None
    label_names: list[Any]
    summary: dict[str, Any]


def save(model: MultiLabelClassifier, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to a file, whole or not at all.

    The file is one of skops, a zip archive of arrays and their description; nothing in it is code. A cost or another
    function of your own is saved by its name, so it must be defined at the top of a module.

    Parameters
    ----------
    model : learner
        Any fitted learner of `LEARNERS`. Regressors and classifiers of scikit-learn's in it are loaded unasked; what
        else an estimator holds, such as the splits of a grid search, has to be named in `load`.
    path : str or path
        The file; ``.skops`` is the usual ending. One that exists is replaced when all is written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clems import PLST, load, save
    >>> from clems.datasets import digit_scenes
    >>> from clems.persistence import describe
    >>> X, Y = digit_scenes(100, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "digits.skops"
    ...     save(PLST(random_state=0).fit(X, Y), file)
    ...     describe(file).learner, load(file).predict(X[:3]).shape
    ('PLST', (3, 10))
    """
    if not isinstance(model, MultiLabelClassifier):
        raise ModelError(f"Only a learner of clems, such as CLEMS or BR, can be saved; got {type(model).__name__}.")
    check_is_fitted(model)
    path = Path(path)
    if path.is_dir():
        raise ModelError(f"{path} is a folder; give the name of a file.")
    check_names(model)
    _write(path, packed(model))


def load(path: str | os.PathLike[str], trusted: Iterable[Any] = ()) -> Any:
    """Load a model from a file that was written by :func:`save`.

    Nothing is built but learners of clems, and what scikit-learn, SciPy and NumPy need for them; a file that asks for
    anything else is refused before any of it is imported. A model that another version of clems or scikit-learn has
    saved is loaded with a warning, since its predictions may differ.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of str, function or class, default=()
        What else may be built: costs, estimators and the like of your own, themselves or their names, such as
        ``"prices.late_fee"``.

    Returns
    -------
    learner
        Fitted; it predicts as the one that was saved.

    Raises
    ------
    ModelError
        If the file is damaged, is no such file, or holds what is not trusted.
    FileNotFoundError
        If there is no file.
    """
    path = Path(path)
    data = _read(path)
    names = {thing if isinstance(thing, str) else name_of(thing) for thing in trusted}
    with _refusing(path):
        check_digest(data)
        with ZipFile(BytesIO(data)) as file:
            info = _info_in(file, len(data))
            known = check_roles(_schema_in(file), names)
    versions = ("clems", info.clems, _version()), ("scikit-learn", info.sklearn, sklearn.__version__)
    differing = [f"{name} {theirs} (this is {ours})" for name, theirs, ours in versions if theirs != ours]
    if differing:
        told = " and ".join(differing)
        warnings.warn(f"{path} was saved by {told}; it may predict otherwise or fail.", UserWarning, stacklevel=2)
    with _refusing(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # which is said above, once
        model = _built(data, known)
        if not isinstance(model, MultiLabelClassifier):
            raise ModelError(f"it holds no learner but a {type(model).__name__}.")
        check_is_fitted(model)
        check_content(model)
    return model


def describe(path: str | os.PathLike[str]) -> ModelInfo:
    """Tell what a file says about its model; the model itself is neither built nor checked.

    Parameters
    ----------
    path : str or path
        A file that was written by :func:`save`.

    Returns
    -------
    ModelInfo
    """
    path = Path(path)
    _check_file(path)
    with _refusing(path), ZipFile(path) as file:
        return _info_in(file, path.stat().st_size)


def info_of(model: MultiLabelClassifier) -> ModelInfo:
    """Describe a fitted model."""
    names = getattr(model, "feature_names_in_", None)
    found = {name: _plain(value) for name, value in sorted(vars(model).items()) if name.endswith("_")}
    return ModelInfo(
        clems=_version(),
        sklearn=sklearn.__version__,
        saved=datetime.now(UTC).isoformat(timespec="seconds"),
        learner=type(model).__name__,
        cost=model._criterion().name if model.cost_sensitive else None,
        parameters={name: _shown(value) for name, value in model.get_params(deep=False).items()},
        n_features=int(model.n_features_in_),
        feature_names=None if names is None else [str(name) for name in names],
        label_names=[name if isinstance(name, (int, float)) else str(name) for name in model.classes_.tolist()],
        summary={name: value for name, value in found.items() if value is not None and name != "n_features_in_"},
    )


def packed(model: MultiLabelClassifier) -> bytes:
    """Contents of a file with a model."""
    import skops.io  # here, since it imports all of scikit-learn

    loose, tight = BytesIO(), BytesIO()
    try:
        skops.io.dump(model, loose)
    except Exception as error:  # whatever a user's object raises when it is asked for its state
        raise ModelError(f"This {type(model).__name__} cannot be saved: {_first_line(error)}") from None
    with ZipFile(loose) as given, ZipFile(tight, "w", ZIP_DEFLATED) as file:
        schema = json.loads(given.read(SCHEMA))
        for node in nodes_of(schema):
            if node["__loader__"] not in ROLES.get(_name_in(node), COMMON):
                raise ModelError(
                    f"This {type(model).__name__} cannot be saved safely, since it holds a {_name_in(node)}; use a "
                    "function at the top of a module, or an object of a class that is defined there."
                )
        kept: dict[
            bytes, str
        ] = {}  # an array that occurs more than once, such as those of shared trees, is written once
        place: dict[str, str] = {}
        for name in given.namelist():
            if name == SCHEMA:
                continue
            content = given.read(name)
            place[name] = kept.setdefault(sha256(content).digest(), name)
            if place[name] == name:
                file.writestr(name, content)
        for node in nodes_of(schema):
            if "file" in node:
                node["file"] = place[node["file"]]
        file.writestr(SCHEMA, json.dumps(schema))
        file.writestr(INFO, json.dumps({"format": FORMAT, **asdict(info_of(model))}, indent=1))
        file.comment = b"0" * DIGEST  # a comment ends the file, so the digest can take its place
    body = tight.getvalue()[:-DIGEST]
    return body + sha256(body).hexdigest().encode()


def check_digest(data: bytes) -> None:
    """Refuse a file that is not as it was written: the checksums of zip archives do not cover all of it."""
    if data[:2] != b"PK" or INFO.encode() not in data:
        raise ModelError("it is no file that clems has saved.")
    if sha256(data[:-DIGEST]).hexdigest().encode() != data[-DIGEST:]:
        raise ModelError("it is damaged, or was changed after it was saved.")


def check_roles(schema: Any, trusted: set[str]) -> list[str]:
    """Refuse a file that uses a name otherwise than it may be used; return the names that skops is to trust."""
    roles = {**dict.fromkeys(trusted, YOURS), **ROLES}
    used: dict[Any, str] = {}  # by the number of an object, which skops builds once wherever it occurs
    for node in nodes_of(schema):
        name, role = _name_in(node), str(node["__loader__"])
        if role not in roles.get(name, COMMON):
            raise ModelError(f"it uses {name} as a {role}, which is never trusted.")
        if role == "SparseMatrixNode" and not str(node.get("file")).endswith(PACKED):
            raise ModelError("it holds a sparse matrix in the place of something else.")
        if used.setdefault(node.get("__id__") or (name, role), name) != name:
            raise ModelError(f"it has two objects of the same number, one of which is a {name}.")
        for key in nodes_of(node.get("key_types")):  # types of keys are called
            if key["__loader__"] not in ("ListNode", "TypeNode") or _name_in(key) in roles:
                raise ModelError(f"it uses {_name_in(key)} as the type of a key, which is never trusted.")
    return sorted({*used.values()} & roles.keys())


def check_names(model: Any) -> None:
    """Refuse a model with a function or class that cannot be found by its name again, such as a lambda."""
    for one in held_by(model):
        is_name = isinstance(one, (type, FunctionType, BuiltinFunctionType))
        thing = one if is_name or not hasattr(one, "__dict__") else type(one)
        if not hasattr(thing, "__name__") or not getattr(thing, "__module__", None):
            continue
        if getattr(sys.modules.get(thing.__module__), thing.__name__, None) is not thing:
            raise ModelError(
                f"This {type(model).__name__} cannot be saved, since {name_of(thing)} could not be found by its name "
                "again; define it at the top of a module."
            )


def check_content(model: Any) -> None:
    """Refuse indices that compiled code would follow out of its arrays, or for ever."""
    for one in held_by(model):
        if hasattr(one, "tree_"):  # a tree of scikit-learn's
            sound = _sound_tree(one.tree_, int(one.n_features_in_))
        elif hasattr(one, "_predictors"):  # boosted trees
            sound = all(_sound_predictor(tree, int(one.n_features_in_)) for stage in one._predictors for tree in stage)
        elif type(one).__name__ in ("KDTree", "BallTree"):
            sound = _sound_search_tree(one)
        elif isinstance(one, LeafShares):
            sound = _all_in(one.place, 0, one.table.shape[0])
        elif sparse.issparse(one) and one.format in ("csr", "csc"):
            one.check_format(full_check=True)
            continue
        else:
            continue
        if not sound:
            raise ModelError(f"it holds a {type(one).__name__} with indices that lead nowhere.")


def _all_in(values: Any, start: int, stop: int) -> bool:
    return bool(((values >= start) & (values < stop)).all())


def _go_on(left: Any, right: Any, inner: Any) -> bool:
    """Whether the children of inner nodes come after them, as in every tree that scikit-learn grows."""
    return all(bool(((child[inner] > inner) & (child[inner] < len(child))).all()) for child in (left, right))


def _sound_tree(tree: Any, d: int) -> bool:
    if tree.n_features != d or not 0 < tree.node_count <= tree.capacity:  # before any of its nodes is read
        return False
    nodes = tree.__getstate__()["nodes"]
    inner = np.flatnonzero(nodes["left_child"] != -1)
    return _all_in(nodes["feature"][inner], 0, d) and _go_on(nodes["left_child"], nodes["right_child"], inner)


def _sound_predictor(tree: Any, d: int) -> bool:
    nodes = tree.nodes
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    categorical = nodes["bitset_idx"][inner[nodes["is_categorical"][inner] != 0]]
    return (
        len(nodes) > 0
        and _all_in(nodes["feature_idx"][inner], 0, d)
        and _go_on(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), inner)
        and _all_in(categorical, 0, min(len(tree.binned_left_cat_bitsets), len(tree.raw_left_cat_bitsets)))
    )


def _sound_search_tree(tree: Any) -> bool:
    data, order, nodes, bounds, _, n_levels, n_nodes, *_ = tree.__getstate__()
    n, ends = len(data), (nodes["idx_start"], nodes["idx_end"])
    return (
        np.array_equal(np.sort(order), np.arange(n))
        and n_nodes == len(nodes) == bounds.shape[1] == 2**n_levels - 1
        and bounds.shape[2] in (1, data.shape[1])
        and all(_all_in(end, 0, n + 1) for end in ends)
        and bool((ends[0] <= ends[1]).all() and nodes["is_leaf"][n_nodes // 2 :].all())
    )


def held_by(model: Any) -> Iterator[Any]:
    """Walk through all that a model holds, each object once."""
    seen: dict[int, Any] = {}  # objects stay alive here, so that no other takes the number of one
    left = [model]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        yield one
        if isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, (list, tuple, set, frozenset)):
            left += one
        elif isinstance(one, np.ndarray):
            left += one.ravel().tolist() if one.dtype.hasobject else []
        elif hasattr(one, "__dict__") and not isinstance(one, (type, FunctionType)):
            left += vars(one).values()


def nodes_of(schema: Any) -> Iterator[dict[str, Any]]:
    """Walk through everything that skops might build from a schema, without recursion, which a file could exhaust."""
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if "__loader__" in one:
                yield one
            left += one.values()
        elif isinstance(one, list):
            left += one


def _name_in(node: dict[str, Any]) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _built(data: bytes, known: list[str]) -> Any:
    """Model in a file, if it holds nothing but what skops trusts and these names."""
    import skops.io
    from skops.io.exceptions import UntrustedTypesFoundException

    try:
        return skops.io.loads(data, trusted=known)
    except UntrustedTypesFoundException:
        refused = sorted({*skops.io.get_untrusted_types(data=data)} - {*known})
        raise ModelError(
            f"it asks for {', '.join(refused)}, which clems does not trust; if you know that to be harmless, load it "
            f"with trusted={refused}."
        ) from None


def _info_in(file: ZipFile, size: int) -> ModelInfo:
    if INFO not in file.namelist():
        raise ModelError("it is no file that clems has saved.")
    _check_room(file, size)
    said = json.loads(file.read(INFO))
    if said.pop("format") > FORMAT:
        raise ModelError(f"it was saved by clems {said.get('clems')}, which is too new for this version, {_version()}.")
    info = ModelInfo(**said)
    if not all(isinstance(word, str) for word in (info.clems, info.sklearn, info.saved, info.learner)):
        raise ModelError("it is damaged.")
    return info


def _schema_in(file: ZipFile) -> Any:
    return json.loads(file.read(SCHEMA))


def _check_room(file: ZipFile, size: int) -> None:
    """Refuse a file that would unpack to far more than its size; zipfile itself never unpacks more than is declared."""
    total, room = sum(member.file_size for member in file.infolist()), max(ROOM, DENSEST * size)
    for name in file.namelist():
        if total <= room and name.endswith(PACKED):
            with file.open(name) as inner, ZipFile(inner) as parts:
                total += sum(part.file_size for part in parts.infolist())
    if total > room:
        raise ModelError(f"it would unpack to {total} bytes, far more than models do.")


def _read(path: Path) -> bytes:
    _check_file(path)
    return path.read_bytes()


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise ModelError(f"{path} is a folder; give the name of a file.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if not path.stat().st_size:
        raise ModelError(f"{path} is empty.")


def _write(path: Path, data: bytes) -> None:
    """Write a file that takes the place of another only when all of it is on the disk."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into.")
    if path.exists() and not path.is_file():  # a device or a pipe: a file must not take its place
        path.write_bytes(data)
        return
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say of which file it is that something is wrong; what a bad file makes zipfile, json or skops raise is no bug."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{path} cannot be loaded: {error}") from None
    except Exception as error:
        raise ModelError(f"{path} cannot be loaded: it is damaged or no model ({_first_line(error)}).") from None


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:200].rstrip(".: ")


def _version() -> str:
    return str(sys.modules[__name__.partition(".")[0]].__version__)  # which the package sets after its modules


def _plain(value: Any) -> Any:
    """Single numbers and words, as JSON has them; None for anything else."""
    value = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(value, (int, float)) and bool(np.isfinite(value))
    return value if is_number or isinstance(value, str) else None


def _shown(value: Any) -> str:
    """Parameter as text, without the places of objects in memory."""
    if isinstance(value, (type, FunctionType)):
        return name_of(value)
    return str(value.name) if isinstance(value, (CallableCost, CountCost, PriceCost)) else " ".join(repr(value).split())
