"""Model files: a zip archive of arrays and their description, a few words about the model, and a digest at the end.

The map of the module: what a file says about its model (`ModelInfo`); `save`, `load` and `describe`; packing a model;
and reading a file that nobody trusts yet, member by member, each within bounds.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from clems.costs.cost import Cost
from clems.datasets.encoding import TableEncoder
from clems.files import replacing
from clems.learners.guaranteed_cost import GuaranteedCost
from clems.learners.model import Model
from clems.learners.pipeline import ends_in_learner, steps_of
from clems.persistence.soundness import check_content, held_by
from clems.persistence.trust import (
    Array,
    Members,
    ModelError,
    check_schema,
    name_of,
    nodes_of,
    refused_roles,
    with_full_names,
    without_search_trees,
)
from clems.wording import printable

FORMAT = 1  # goes up when older versions can no longer read what is written
INFO, SCHEMA = "clems.json", "schema.json"  # what describes the model, and what skops builds it from
DENSE, SPARSE = ".npy", ".npz"  # arrays, and sparse matrices, which are archives of their own
DIGEST = 64  # bytes at the end of a file: the SHA-256 of all before, in hexadecimal digits
ROOM = 1 << 28  # bytes to which any file may unpack
DENSEST = 100  # beyond these, how many times its own size
TEXT = 1 << 24  # bytes of JSON that any file may hold
WORDIEST = 16  # beyond these, how many times its own size
MARKS = 500_000  # brackets, commas and escapes in JSON, of which each may become an object
MARKED = 2  # beyond these, how many for each byte of its size
HEADER = 10_000  # bytes that the header of an array may take


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
    steps : list of str
        Names of the classes of a pipeline's steps before the learner.
    columns : list of list of str
        Of a model that takes a table: name, kind and what is done with each column.
    reading : dict
        How the command reads data for it unless options say otherwise: `tags`, `separator`, `id`, `unit` and the like.

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems.persistence import info_of
    >>> info = info_of(CLEMS("f1", n_trees=5, random_state=0).fit(*digit_scenes(60, random_state=0)))
    >>> info.learner, info.cost, info.n_features, len(info.label_names)
    ('CLEMS', 'f1', 121, 10)
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
    steps: list[str] = field(default_factory=list)
    columns: list[list[str]] = field(default_factory=list)
    reading: dict[str, str] = field(default_factory=dict)


KINDS = {  # what each of these may be in a file
    **dict.fromkeys(("clems", "sklearn", "saved", "learner"), (str,)),
    "cost": (str, type(None)),
    "parameters": (dict,),
    "n_features": (int,),
    "feature_names": (list, type(None)),
    "label_names": (list,),
    "summary": (dict,),
    "steps": (list,),
    "columns": (list,),
    "reading": (dict,),
}


def save(model: Any, path: str | os.PathLike[str], *, reading: Mapping[str, str] | None = None) -> None:
    """Save a fitted model to a file, whole or not at all.

    The file has the format of skops, a zip archive of arrays and their description; nothing in it is code. Your own
    cost or other function is saved by its name, so it must be defined at the top level of a module.

    Parameters
    ----------
    model : learner, GuaranteedCost or Pipeline
        Any fitted learner of `LEARNERS`, `GuaranteedCost`, or a Pipeline of scikit-learn's that ends in a learner. The
        regressors, classifiers and transformers of scikit-learn's that :doc:`the guarantees </guarantees>` list are
        loaded unasked; what else an estimator holds, such as the splits of a grid search, has to be named in `load`.
    path : str or path
        The file; ``.clems`` is the usual ending. One that exists is replaced when all is written.
    reading : mapping of str to str, default=None
        How commands read data for it unless options say otherwise, see :class:`ModelInfo`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clems import PLST, load, save
    >>> from clems.datasets import digit_scenes
    >>> from clems.persistence import describe
    >>> X, Y = digit_scenes(100, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "digits.clems"
    ...     save(PLST(random_state=0).fit(X, Y), file)
    ...     describe(file).learner, load(file).predict(X[:3]).shape
    ('PLST', (3, 10))
    """
    if not _is_saved(model):
        raise ModelError(
            "Only a learner of clems, such as CLEMS or BR, or a Pipeline that ends in one can be saved; got "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)
    path = Path(path)
    if path.is_dir():
        raise ModelError(f"{path} is a folder; give the name of a file.")
    check_names(model)
    content = packed(model, reading or {})
    with replacing(path, compress=False) as file:
        file.write(content)


def load(path: str | os.PathLike[str], trusted: Iterable[Any] = ()) -> Model:
    """Load a model from a file that was written by :func:`clems.save`.

    Only learners of clems, and what they need from scikit-learn, SciPy and NumPy, are built. A file that asks for
    anything else is refused before any of it is imported, and so is a file whose arrays do not fit together. A model
    that was saved with another version of clems or scikit-learn is loaded with a warning, because its predictions may
    differ.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of str, function or class, default=()
        What else may be built: costs, estimators and the like of your own, themselves or their names, such as
        ``"prices.late_fee"``. What they hold is not checked: trust a name only in files from people you trust.

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

    Examples
    --------
    >>> from clems import CLEMS, load, save
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(60, random_state=0)
    >>> model = CLEMS("f1", n_trees=5, random_state=0).fit(X, Y)
    >>> file = "model.clems"
    >>> save(model, file)
    >>> bool((load(file).predict(X) == model.predict(X)).all())
    True
    """
    path = Path(path)
    data = _read(path)
    names = {thing if isinstance(thing, str) else name_of(thing) for thing in trusted}
    with _refusing(path):
        check_digest(data)
        with ZipFile(BytesIO(data)) as file:
            info = _info_in(file, len(data))
            known = check_schema(_json_in(file, SCHEMA, len(data)), _members(file, len(data)), names)
    versions = ("clems", info.clems, _version()), ("scikit-learn", info.sklearn, sklearn.__version__)
    differing = [f"{name} {theirs} (this is {ours})" for name, theirs, ours in versions if theirs != ours]
    if differing:
        savers = " and ".join(differing)
        warnings.warn(f"{path} was saved by {savers}; it may predict otherwise or fail.", UserWarning, stacklevel=2)
    with _refusing(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # which is said above, once
        import skops.io  # here, since it imports all of scikit-learn

        model = skops.io.loads(data, trusted=known)
        if not _is_saved(model):
            raise ModelError(f"it holds no learner but a {type(model).__name__}.")
        check_is_fitted(model)
        check_content(model)
    return cast("Model", model)


def _is_saved(model: Any) -> bool:
    """Whether a model is of a kind that a file may hold."""
    return isinstance(model, GuaranteedCost) or ends_in_learner(model)


def describe(path: str | os.PathLike[str]) -> ModelInfo:
    """Tell what a file says about its model; the model itself is neither built nor checked.

    Parameters
    ----------
    path : str or path
        A file that was written by :func:`clems.save`.

    Returns
    -------
    ModelInfo

    Examples
    --------
    >>> from clems import CLEMS, save
    >>> from clems.datasets import digit_scenes
    >>> from clems.persistence import describe
    >>> file = "model.clems"
    >>> save(CLEMS("f1", n_trees=5, random_state=0).fit(*digit_scenes(60, random_state=0)), file)
    >>> describe(file).learner
    'CLEMS'
    """
    path = Path(path)
    _check_file(path)
    with _refusing(path), ZipFile(path) as file:
        return _info_in(file, path.stat().st_size)


def info_of(model: Any, reading: Mapping[str, str] | None = None) -> ModelInfo:
    """Describe a fitted model.

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems.persistence import info_of
    >>> info_of(CLEMS("f1", n_trees=5, random_state=0).fit(*digit_scenes(60, random_state=0))).cost
    'f1'
    """
    names, n_features = getattr(model, "feature_names_in_", None), getattr(model, "n_features_in_", None)
    before, model = steps_of(model)
    encoder = before[0] if before and isinstance(before[0], TableEncoder) else None
    n_features = model.n_features_in_ if n_features is None else n_features  # of a first step that does not say
    found = {name: _plain(value) for name, value in sorted(vars(model).items()) if name.endswith("_")}
    return ModelInfo(
        clems=_version(),
        sklearn=sklearn.__version__,
        saved=datetime.now(UTC).isoformat(timespec="seconds"),
        learner=type(model).__name__,
        cost=model.criterion_.name if model.cost_sensitive else None,
        parameters={name: _shown(value) for name, value in model.get_params(deep=False).items()},
        n_features=int(n_features),
        feature_names=None if names is None else [str(name) for name in names],
        label_names=[name if isinstance(name, (int, float)) else str(name) for name in model.classes_.tolist()],
        summary={name: value for name, value in found.items() if value is not None and name != "n_features_in_"},
        steps=[type(step).__name__ for step in before],
        columns=[] if encoder is None else [list(note) for note in encoder.columns_],
        reading=dict(reading or {}),
    )


def packed(model: Any, reading: Mapping[str, str] | None = None) -> bytes:
    """Contents of a file with a model."""
    import skops.io  # here, since it imports all of scikit-learn

    loose, tight = BytesIO(), BytesIO()
    try:
        skops.io.dump(model, loose)
    except Exception as error:  # whatever a user's object raises when it is asked for its state
        raise ModelError(f"This {type(model).__name__} cannot be saved: {_first_line(error)}") from None
    with ZipFile(loose) as given, ZipFile(tight, "w", ZIP_DEFLATED) as file:
        schema = json.loads(given.read(SCHEMA))
        without_search_trees(schema)
        with_full_names(schema)
        if refused := refused_roles(schema):
            if refused[0].startswith("builtins.") and getattr(model, "estimator", None) is not None:
                name = type(model.estimator).__name__
                raise ModelError(
                    f"This {type(model).__name__} cannot be saved safely, since its {name} holds a {refused[0]}; save "
                    f"the {name} as its library does, and let a CostSensitiveClassifier(cv='prefit') decide by its "
                    "probabilities, which can be saved."
                )
            raise ModelError(
                f"This {type(model).__name__} cannot be saved safely, since it holds a {refused[0]}; use a "
                "function at the top of a module, or an object of a class that is defined there."
            )
        kept: dict[bytes, str] = {}  # an array that occurs often, such as those of shared trees, is written once
        place: dict[str, str] = {}
        for node in nodes_of(schema):
            if "file" in node:
                name = node["file"]
                if name not in place:
                    content = given.read(name)
                    place[name] = kept.setdefault(sha256(content).digest(), name)
                    if place[name] == name:
                        file.writestr(name, content)
                node["file"] = place[name]
        file.writestr(SCHEMA, json.dumps(schema))
        file.writestr(INFO, json.dumps({"format": FORMAT, **asdict(info_of(model, reading))}, indent=1))
        file.comment = b"0" * DIGEST  # a comment ends the file, so the digest can take its place
    body = tight.getvalue()[:-DIGEST]
    return body + sha256(body).hexdigest().encode()


def check_digest(data: bytes) -> None:
    """Refuse a file that is not as it was written: the checksums of zip archives do not cover all of it."""
    if data[:2] != b"PK" or INFO.encode() not in data:
        raise ModelError("it is no file that clems has saved.")
    if sha256(data[:-DIGEST]).hexdigest().encode() != data[-DIGEST:]:
        raise ModelError("it is damaged, or was changed after it was saved.")


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


def _info_in(file: ZipFile, size: int) -> ModelInfo:
    if INFO not in file.namelist():
        raise ModelError("it is no file that clems has saved.")
    said = _json_in(file, INFO, size)
    if said.pop("format") > FORMAT:
        raise ModelError(f"it was saved by clems {said.get('clems')}, which is too new for this version, {_version()}.")
    info = ModelInfo(**said)
    if not all(isinstance(getattr(info, name), kinds) for name, kinds in KINDS.items()):
        raise ModelError("it is damaged.")
    if not all(
        isinstance(column, list) and len(column) == 3 and {*map(type, column)} == {str} for column in info.columns
    ):
        raise ModelError("it is damaged.")
    return info


def _json_in(file: ZipFile, name: str, size: int) -> Any:
    """Read what is written in JSON, if it is neither far longer nor far richer than what models have."""
    _check_packing(file)
    if (length := file.getinfo(name).file_size) > (most := max(TEXT, WORDIEST * size)):
        raise ModelError(f"{name} in it is of {length} bytes, where {most} are the most.")
    text = file.read(name)
    if sum(text.count(mark) for mark in b"[{,\\") > MARKS + MARKED * size:
        raise ModelError(f"{name} in it describes far more objects than models have.")
    return json.loads(text)


def _members(file: ZipFile, size: int) -> Members:
    """Headers and sizes of the arrays in a file, none of which is larger than it may be."""
    room = max(ROOM, DENSEST * size)
    headers, sizes = {}, {}
    if (total := sum(member.file_size for member in file.infolist())) > room:
        raise ModelError(f"it would unpack to {total} bytes, far more than models do.")
    for name in file.namelist():
        if name.endswith(DENSE):
            with file.open(name) as member:
                headers[name] = _header(member, file.getinfo(name).file_size)
            sizes[name] = file.getinfo(name).file_size
        elif name.endswith(SPARSE):
            with file.open(name) as member, ZipFile(member) as parts:
                _check_packing(parts)
                sizes[name] = sum(part.file_size for part in parts.infolist())
                if sum(sizes.values()) > room:
                    raise ModelError(f"it would unpack to more than {room} bytes, far more than models do.")
                for part in parts.namelist():
                    with parts.open(part) as inner:
                        _header(inner, parts.getinfo(part).file_size)
    return Members(headers, sizes, lambda name: np.load(BytesIO(file.read(name)), allow_pickle=False), room)


def _check_packing(file: ZipFile) -> None:
    """Refuse ways of packing that clems does not use, some of which take gigabytes to unpack a few bytes."""
    if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in file.infolist()):
        raise ModelError("it is packed in another way than clems packs.")


def _header(member: IO[bytes], size: int) -> Array:
    """Read the header of an array, which must claim just as much as follows it."""
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(member)
    if version not in read:
        raise ModelError(f"it holds an array of version {version}.")
    shape, _, dtype = read[version](member, max_header_size=HEADER)
    count = 1
    for length in shape:
        count *= length
    if dtype.hasobject or dtype.itemsize == 0 or member.tell() + count * dtype.itemsize != size:
        raise ModelError("it holds an array that is not what its header says.")
    return Array(shape, dtype)


def _read(path: Path) -> bytes:
    _check_file(path)
    return path.read_bytes()


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise ModelError(f"{path} is a folder; give the name of a file.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if not path.is_file():
        raise ModelError(f"{path} is no regular file, but a device or a pipe.")
    if not path.stat().st_size:
        raise ModelError(f"{path} is empty.")


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say of which file it is that something is wrong; what a bad file makes zipfile, json or skops raise is no bug."""
    try:
        yield
    except ModelError as error:
        raise ModelError(printable(f"{path} cannot be loaded: {error}")) from None
    except MemoryError:
        raise ModelError(f"{path} cannot be loaded: there is not enough memory for what it asks for.") from None
    except Exception as error:
        raise ModelError(
            printable(f"{path} cannot be loaded: it is damaged or no model ({_first_line(error)}).")
        ) from None


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
    return str(value.name) if isinstance(value, Cost) else " ".join(repr(value).split())
