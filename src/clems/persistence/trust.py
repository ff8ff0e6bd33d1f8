"""What a file may ask for: which names, each in which roles, and how a description of objects may look.

A model file holds a description of objects, `schema.json`, and the arrays that it refers to. skops builds the objects.
Before it does, :func:`check_schema` walks over the description and refuses all that is not listed here:

- a *name* is that of a class or function, such as ``sklearn.linear_model._ridge.Ridge``;
- a *role* is what skops makes of it, such as ``ObjectNode`` (an object with attributes) or ``FunctionNode``;
- `ROLES` says in which roles each name may occur, and `PARTS` what a description of each role consists of.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.costs.at_k import NdcgAt, PrecisionAt, PropensityCost, RecallAt
from clems.costs.cost import CallableCost, CountCost, PriceCost, Top
from clems.costs.criteria import LabelF1, MeanCost
from clems.costs.formulas import COSTS, FBeta
from clems.costs.random_prices import RandomPrices
from clems.costs.thresholds import PriceThreshold
from clems.datasets.encoding import TableEncoder
from clems.datasets.encoding.encodings import ENCODINGS
from clems.embedding.candidates import CandidateSet
from clems.embedding.codewords import HammingOnRepetition, Repetition
from clems.embedding.smacof import Embedding
from clems.learners import LEARNERS
from clems.learners.cost_sensitive import ClassifierExpert
from clems.learners.ecc import Group
from clems.learners.guaranteed_cost import GuaranteedCost
from clems.learners.pipeline import Pipeline
from clems.posterior.calibration import Calibration, Isotonic, Sigmoid, Unchanged
from clems.posterior.chains import Chain
from clems.posterior.classifiers import Given, OfAllLabels, OfEachLabel
from clems.posterior.distances import ByDistance
from clems.posterior.experts import Expert
from clems.posterior.held_out_rows import HeldOutRows
from clems.posterior.joint import HeldOut, Independent, Observed
from clems.posterior.leaves import ByLeaves
from clems.posterior.mixture import Mixture
from clems.posterior.neighbours import ByNeighbours
from clems.posterior.ridge_expert import Gaussian, Linear, RidgeScores
from clems.trees.leaf_table import LeafCounts, LeafShares

PROTOCOL = 2  # of skops: how a description is written
DEEPEST = 200  # tables and objects inside of one another
LONGEST_RANGE = 10**7  # numbers that a range may stand for
NUMBER = "__id__"
MASKED = "numpy.ma.MaskedArray"

OWN_CLASSES = (
    *LEARNERS.values(),
    GuaranteedCost,
    *(Pipeline, TableEncoder, *ENCODINGS.values()),
    *(ByDistance, ByLeaves, ByNeighbours, CandidateSet, Chain, Embedding, Group, LeafCounts, LeafShares),
    *(Calibration, Given, HeldOut, Independent, Isotonic, Observed, OfAllLabels, OfEachLabel, Sigmoid, Unchanged),
    *(CallableCost, CountCost, PriceCost, PropensityCost, FBeta, NdcgAt, PrecisionAt, RecallAt, PriceThreshold, Top),
    *(ClassifierExpert, Expert, Gaussian, HeldOutRows, Linear, Mixture, RidgeScores),
    *(MeanCost, LabelF1, RandomPrices, HammingOnRepetition, Repetition),
)
OWN_FUNCTIONS = {part for cost in COSTS.values() for part in (cost.formula, cost.threshold)}

# Estimators of scikit-learn's that are built unasked. Those in `PLAIN` predict by numpy and Python, which check their
# own indices. Compiled code follows what is in the others without a check, so `soundness` checks it.
PLAIN = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.compose._column_transformer": "ColumnTransformer _RemainderColsList make_column_selector",
    "sklearn.compose._target": "TransformedTargetRegressor",
    "sklearn.cross_decomposition._pls": "CCA PLSCanonical PLSRegression",
    "sklearn.decomposition._pca": "PCA",
    "sklearn.decomposition._truncated_svd": "TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.ensemble._bagging": "BaggingClassifier BaggingRegressor",
    "sklearn.ensemble._stacking": "StackingClassifier StackingRegressor",
    "sklearn.ensemble._voting": "VotingClassifier VotingRegressor",
    "sklearn.ensemble._weight_boosting": "AdaBoostClassifier AdaBoostRegressor",
    "sklearn.feature_extraction.text": "TfidfTransformer",
    "sklearn.feature_selection._univariate_selection": "SelectKBest SelectPercentile",
    "sklearn.feature_selection._variance_threshold": "VarianceThreshold",
    "sklearn.frozen._frozen": "FrozenEstimator",
    "sklearn.gaussian_process._gpc": "GaussianProcessClassifier",
    "sklearn.gaussian_process._gpr": "GaussianProcessRegressor",
    "sklearn.impute._base": "MissingIndicator SimpleImputer",
    "sklearn.kernel_approximation": "Nystroem RBFSampler",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.linear_model._base": "LinearRegression",
    "sklearn.linear_model._bayes": "ARDRegression BayesianRidge",
    "sklearn.linear_model._coordinate_descent": "ElasticNet ElasticNetCV Lasso LassoCV MultiTaskElasticNet "
    "MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV",
    "sklearn.linear_model._glm.glm": "GammaRegressor PoissonRegressor TweedieRegressor",
    "sklearn.linear_model._huber": "HuberRegressor",
    "sklearn.linear_model._least_angle": "Lars LarsCV LassoLars LassoLarsCV LassoLarsIC",
    "sklearn.linear_model._logistic": "LogisticRegression LogisticRegressionCV",
    "sklearn.linear_model._omp": "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV",
    "sklearn.linear_model._passive_aggressive": "PassiveAggressiveClassifier PassiveAggressiveRegressor",
    "sklearn.linear_model._perceptron": "Perceptron",
    "sklearn.linear_model._quantile": "QuantileRegressor",
    "sklearn.linear_model._ridge": "Ridge RidgeCV RidgeClassifier RidgeClassifierCV",
    "sklearn.linear_model._stochastic_gradient": "SGDClassifier SGDRegressor",
    "sklearn.linear_model._theil_sen": "TheilSenRegressor",
    "sklearn.model_selection._classification_threshold": "FixedThresholdClassifier",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier",
    "sklearn.multioutput": "ClassifierChain MultiOutputClassifier MultiOutputRegressor RegressorChain",
    "sklearn.naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neural_network._multilayer_perceptron": "MLPClassifier MLPRegressor",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing._data": "Binarizer MaxAbsScaler MinMaxScaler Normalizer PowerTransformer "
    "QuantileTransformer RobustScaler StandardScaler",
    "sklearn.preprocessing._discretization": "KBinsDiscretizer",
    "sklearn.preprocessing._encoders": "OrdinalEncoder",
    "sklearn.preprocessing._function_transformer": "FunctionTransformer",
    "sklearn.preprocessing._label": "LabelBinarizer LabelEncoder",
    "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
    "sklearn.svm._classes": "LinearSVC LinearSVR",
}
CHECKED = {
    "sklearn.ensemble._forest": "ExtraTreesClassifier ExtraTreesRegressor RandomForestClassifier RandomForestRegressor",
    "sklearn.ensemble._gb": "GradientBoostingClassifier GradientBoostingRegressor",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting": "HistGradientBoostingClassifier "
    "HistGradientBoostingRegressor",
    "sklearn.feature_extraction._dict_vectorizer": "DictVectorizer",
    "sklearn.feature_extraction._hash": "FeatureHasher",
    "sklearn.feature_extraction.text": "CountVectorizer HashingVectorizer TfidfVectorizer",
    "sklearn.neighbors._classification": "KNeighborsClassifier RadiusNeighborsClassifier",
    "sklearn.neighbors._regression": "KNeighborsRegressor RadiusNeighborsRegressor",
    "sklearn.preprocessing._encoders": "OneHotEncoder",
    "sklearn.svm._classes": "NuSVC NuSVR SVC SVR",
    "sklearn.tree._classes": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
}
INNER = {  # what these estimators hold
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
    "sklearn._loss.loss": "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss "
    "HalfPoissonLoss HalfSquaredError HalfTweedieLoss HalfTweedieLossIdentity HuberLoss PinballLoss",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": "ConstantKernel DotProduct Matern Product RBF RationalQuadratic Sum "
    "WhiteKernel",
    "sklearn.metrics._dist_metrics": "ChebyshevDistance64 EuclideanDistance64 ManhattanDistance64 MinkowskiDistance64",
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
}
SCORES = {"sklearn.feature_selection._univariate_selection": "chi2 f_classif f_regression"}  # of features, by name
LOSS_MODULE = "sklearn._loss._loss"
BARE_LOSS_MODULE = "_loss"  # what scikit-learn 1.6 calls it; it may be anyone's, so it is never loaded by that name
LOSSES = {
    LOSS_MODULE: "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss "
    "CyHalfMultinomialLoss CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss CyHalfTweedieLossIdentity "
    "CyHuberLoss CyPinballLoss",
    "sklearn.linear_model._sgd_fast": "EpsilonInsensitive Hinge Huber Log ModifiedHuber SquaredEpsilonInsensitive "
    "SquaredHinge SquaredLoss",
}


def name_of(thing: Any) -> str:
    """Name by which a file refers to a class or function."""
    return f"{thing.__module__}.{thing.__name__}"


def _names(*lists: Mapping[str, str]) -> Iterator[str]:
    return (f"{module}.{name}" for names in lists for module, listed in names.items() for name in listed.split())


NUMBERS = {f"numpy.{np.dtype(letter).type.__name__}" for letter in "?bhilqBHILQefdgU"}
KEYS = NUMBERS | {f"builtins.{kind}" for kind in ("bool", "float", "int", "str")}  # types of keys, which are called

# In which roles a name may occur. skops trusts a name in every role, also as a thing to call; that is too much.
ROLES: dict[str, frozenset[str]] = {
    **{name_of(own): frozenset({"ObjectNode", "TypeNode"}) for own in OWN_CLASSES},
    **{name_of(own): frozenset({"FunctionNode"}) for own in OWN_FUNCTIONS if isinstance(own, FunctionType)},
    **{name: frozenset({"ObjectNode"}) for name in _names(PLAIN, CHECKED, INNER)},
    **{name: frozenset({"FunctionNode"}) for name in _names(SCORES)},
    **{name: frozenset({"LossNode"}) for name in _names(LOSSES)},
    **{
        name_of(getattr(sparse, f"{form}_{kind}")): frozenset({"SparseMatrixNode"})
        for form in ("csr", "csc")
        for kind in ("array", "matrix")
    },
    **{f"numpy.{name}": frozenset({"FunctionNode"}) for name in dir(np) if isinstance(getattr(np, name), np.ufunc)},
    **dict.fromkeys(KEYS, frozenset({"TypeNode"})),
    **dict.fromkeys(NUMBERS, frozenset({"NdArrayNode", "TypeNode"})),
    "builtins.dict": frozenset({"DictNode"}),
    "builtins.frozenset": frozenset({"ConstructorFromReduceNode"}),
    "builtins.list": frozenset({"ListNode"}),
    "builtins.range": frozenset({"ConstructorFromReduceNode"}),
    "builtins.set": frozenset({"SetNode"}),
    "builtins.slice": frozenset({"SliceNode"}),
    "builtins.str": frozenset({"JsonNode", "TypeNode"}),
    "builtins.tuple": frozenset({"TupleNode"}),
    "numpy.dtype": frozenset({"DTypeNode"}),
    "numpy.ndarray": frozenset({"NdArrayNode"}),
    "numpy.random._generator.Generator": frozenset({"RandomGeneratorNode"}),
    "numpy.random.mtrand.RandomState": frozenset({"RandomStateNode"}),
    "sklearn.tree._tree.Tree": frozenset({"TreeNode"}),
    "sklearn.utils._bunch.Bunch": frozenset({"DictNode"}),
}
SEARCH_TREES = ("sklearn.neighbors._ball_tree.BallTree", "sklearn.neighbors._kd_tree.KDTree")  # which are not saved
YOURS = frozenset({"FunctionNode", "ObjectNode", "TupleNode", "TypeNode"})  # roles of what a user trusts


class ModelError(ValueError):
    """A model that cannot be saved, or a file that holds none that can be loaded safely.

    Examples
    --------
    >>> from pathlib import Path
    >>> from clems import load
    >>> from clems.persistence import ModelError
    >>> file = Path("notes.clems")
    >>> _ = file.write_text("no model")
    >>> try:
    ...     load(file)
    ... except ModelError:
    ...     print("refused")
    refused
    """


class Array(NamedTuple):
    """What the header of an array in a file says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Members(NamedTuple):
    """The arrays in a file.

    Attributes
    ----------
    headers : dict of str to Array
        Of each array.
    sizes : dict of str to int
        Bytes that each array, or sparse matrix, takes when it is loaded.
    read : callable
        Function of a name; returns the array.
    room : int
        Bytes that all objects of a model may take.
    """

    headers: dict[str, Array]
    sizes: dict[str, int]
    read: Callable[[str], NDArray[Any]]
    room: int


Node = dict[str, Any]


def name_in(node: Node) -> str:
    """Name that a node gives."""
    return f"{node['__module__']}.{node['__class__']}"


def without_search_trees(schema: Node) -> None:
    """Leave out the trees in which neighbours are looked up: they are grown again from the points."""
    for node in nodes_of(schema):
        if name_in(node) in SEARCH_TREES:
            number = node[NUMBER]
            node.clear()
            node.update(__class__="str", __module__="builtins", __loader__="JsonNode", content="null", is_json=True)
            node[NUMBER] = number


def with_full_names(schema: Node) -> None:
    """Name losses and ufuncs by the modules that they are found in, whatever older versions say.

    Losses of scikit-learn 1.6 claim to be of a module `_loss`. Ufuncs of numpy 2.0 claim none, so skops takes the first
    loaded module that has one of that name.
    """
    for node in nodes_of(schema):
        module, name, role = node["__module__"], node["__class__"], node["__loader__"]
        if role == "LossNode" and module == BARE_LOSS_MODULE:
            node["__module__"] = LOSS_MODULE
        elif role == "FunctionNode":
            function = getattr(sys.modules.get(module), name, None)
            if isinstance(function, np.ufunc) and function is getattr(np, name, None):
                node["__module__"] = "numpy"


def refused_roles(schema: Node) -> list[str]:
    """Names in what is about to be saved that occur in a role in which they are never loaded."""
    found = {name_in(node) for node in nodes_of(schema) if not _may(name_in(node), str(node["__loader__"]), {MASKED})}
    return sorted(found)


def _may(name: str, role: str, trusted: set[str]) -> bool:
    """Whether a name may ever occur in a role, though it may have to be trusted first."""
    if name == MASKED:
        return role == "MaskedArrayNode" and name in trusted
    return role in ROLES.get(name, YOURS)


def nodes_of(schema: Any) -> Iterator[Node]:
    """Walk through everything that skops might build from a schema, without recursion."""
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if "__loader__" in one:
                yield one
            left += one.values()
        elif isinstance(one, list):
            left += one


def check_schema(schema: Any, members: Members, trusted: set[str]) -> list[str]:
    """Refuse a description that asks for anything but what is trusted; return all names that it uses.

    Every object has a number. skops builds the first object of a number and takes it wherever the number comes again,
    whatever is described there. Files that it writes describe an object in full wherever it occurs, so that is
    demanded: nothing can hide behind a number, and a few lists that hold one another do not keep skops busy for ever.

    Parameters
    ----------
    schema : object
        As read from JSON.
    members : Members
        The arrays in the file.
    trusted : set of str
        Names that the user trusts.
    """
    if not isinstance(schema, dict) or schema.get("protocol") != PROTOCOL:
        raise ModelError(f"it describes objects otherwise than by protocol {PROTOCOL} of skops.")
    _check_numbers(schema, {})
    visited: set[int] = set()
    names: set[str] = set()
    unknown: set[str] = set()
    total = 0

    def visit(node: Any) -> None:
        nonlocal total
        if not isinstance(node, dict) or not all(
            isinstance(node.get(key), str) for key in ("__loader__", "__module__", "__class__")
        ):
            raise ModelError("it has something else in the place of an object.")
        number, name, role = node.get(NUMBER), name_in(node), node["__loader__"]
        if number is not None:
            if number in visited:
                return
            visited.add(number)
        if role not in PARTS or not _may(name, role, trusted):
            raise ModelError(f"it uses {name} as a {role}, which is never trusted.")
        if name not in ROLES and name not in trusted:
            unknown.add(name)
        names.add(name)
        if role in ("NdArrayNode", "SparseMatrixNode") and "file" in node:
            total += _size_of(node, members)
            if total > members.room:
                raise ModelError(f"its arrays would take more than {members.room} bytes, far more than models do.")
        if role == "TreeNode":
            _check_tree(node, members)
        for part in PARTS[role](node):
            visit(part)

    visit(schema)
    if unknown:
        asked = sorted(unknown)
        raise ModelError(
            f"it asks for {', '.join(asked)}, which clems does not trust; if you know that to be harmless, load it "
            f"with trusted={asked}."
        )
    return sorted(names)


def _check_numbers(value: Any, numbered: dict[int, str], depth: int = 0) -> str:
    """Refuse a description in which two objects of the same number differ; return its fingerprint."""
    if isinstance(value, list):
        return f"[{','.join([_check_numbers(part, numbered, depth) for part in value])}]"
    if not isinstance(value, dict):
        return repr(value)
    if depth > DEEPEST:
        raise ModelError(f"it has more than {DEEPEST} objects inside of one another.")
    parts = [f"{key!r}:{_check_numbers(part, numbered, depth + 1)}" for key, part in value.items() if key != NUMBER]
    text = f"{{{','.join(parts)}}}"
    if "__loader__" not in value:
        return text
    fingerprint = blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    if NUMBER in value and numbered.setdefault(value[NUMBER], fingerprint) != fingerprint:
        raise ModelError(f"it has two objects of the same number, one of which is a {name_in(value)}.")
    return fingerprint


def _size_of(node: Node, members: Members) -> int:
    """Bytes that the array of a node takes."""
    name = str(node["file"])
    if name.endswith(".npz") != (node["__loader__"] == "SparseMatrixNode"):
        raise ModelError("it holds a sparse matrix in the place of something else.")
    if name not in members.sizes:
        raise ModelError(f"it refers to an array {name} that it does not have.")
    return members.sizes[name]


def _check_tree(node: Node, members: Members) -> None:
    """Refuse a tree whose parts do not fit together: scikit-learn builds it before it looks at all of them."""
    try:
        n_features, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
        state = node["content"]["content"]
        numbers = [json.loads(part["content"]) for part in (n_features, n_outputs, state["node_count"])]
        nodes, values = (members.headers[state[part]["file"]] for part in ("nodes", "values"))
        classes = members.read(n_classes["file"])
        d, outputs, count = (number if type(number) is int else -1 for number in numbers)
        is_sound = (
            classes.dtype == np.intp
            and classes.shape == (outputs,)
            and outputs > 0
            and bool((classes > 0).all())
            and 0 <= d < 2**31
            and nodes.shape == (count,)
            and count > 0
            and values.shape == (count, outputs, classes.max())
            and values.dtype == np.float64
            and len({*node["content"]["content"]}) == 4
        )
    except (KeyError, TypeError, ValueError):
        is_sound = False
    if not is_sound:
        raise ModelError("it holds a Tree whose parts do not fit together.")


def _scalar(text: Any) -> Any:
    """Read a number, a word or nothing."""
    value = json.loads(text)
    if not isinstance(value, (str, int, float, type(None))):
        raise ModelError("it has a list or a table in the place of a number or word.")
    return value


def _of_json(node: Node) -> list[Any]:
    _scalar(node["content"])
    return []


def _of_dict(node: Node) -> list[Any]:
    content, keys = node["content"], node["key_types"]
    kinds = keys["content"]
    if keys["__loader__"] != "ListNode" or len(kinds) != len(content):
        raise ModelError("it has a table whose keys and values do not fit together.")
    for kind in kinds:  # which are called
        if kind["__loader__"] != "TypeNode" or name_in(kind) not in KEYS:
            raise ModelError(f"it uses {name_in(kind)} as the type of a key, which is never trusted.")
    return [keys, *content.values()]


def _of_list(node: Node) -> list[Any]:
    return list(node["content"])


def _of_array(node: Node) -> list[Any]:
    if node["type"] == "numpy":
        return []
    shape, content = node["shape"], node["content"]
    length = _scalar(shape["content"][0]["content"]) if shape["content"] else None
    if shape["__loader__"] != "TupleNode" or length != len(content):
        raise ModelError("it has an array whose shape does not fit what it holds.")
    return [shape, *content]


def _of_object(node: Node) -> list[Any]:
    return [node["content"]] if "content" in node else []


def _of_call(node: Node) -> list[Any]:
    """Arguments of `range`, which are few numbers, or of `frozenset`, a list."""
    arguments = node["content"]
    if node["__class__"] == "range":
        if len(range(*(_scalar(part["content"]) for part in arguments["content"]))) > LONGEST_RANGE:
            raise ModelError(f"it holds a range of more than {LONGEST_RANGE} numbers.")
    elif [part["__loader__"] for part in arguments["content"]] != ["ListNode"]:
        raise ModelError("it holds a set of something else than a list.")
    if arguments["__loader__"] != "TupleNode":
        raise ModelError("it calls something with other than its arguments.")
    return [arguments]


def _of_tree(node: Node) -> list[Any]:
    return [node["__reduce__"]["args"], node["content"]]


def _of_loss(node: Node) -> list[Any]:
    arguments = node["__reduce__"]["args"]
    if node["content"]["content"] or any(part["__loader__"] != "JsonNode" for part in arguments["content"]):
        raise ModelError(f"it holds a {name_in(node)} with more than numbers.")
    return [arguments, node["content"]]


def _of_mask(node: Node) -> list[Any]:
    return [node["content"]["data"], node["content"]["mask"]]


def _of_generator(node: Node) -> list[Any]:
    """Parts of numpy's usual generator; others would be built with a state of any size, or read beyond its end."""
    source, seed = node["content"]["bit_generator"], node["content"]["seed_seq"]
    kind, pool = source["content"]["bit_generator"], seed["content"]["pool_size"]
    if (_scalar(kind["content"]), _scalar(pool["content"])) != ("PCG64", 4):
        raise ModelError("it holds a source of random numbers that is not numpy's usual one.")
    return [source, seed]


def _of_slice(node: Node) -> list[Any]:
    for part in ("start", "stop", "step"):
        if not isinstance(node["content"][part], (int, type(None))):
            raise ModelError("it holds a slice of something else than numbers.")
    return []


def _of_name(node: Node) -> list[Any]:  # noqa: ARG001
    return []


# What a node of each role consists of, beside numbers and words: all other roles of skops are refused.
PARTS: dict[str, Callable[[Node], list[Any]]] = {
    "ConstructorFromReduceNode": _of_call,
    "DTypeNode": _of_object,
    "DictNode": _of_dict,
    "FunctionNode": _of_name,
    "JsonNode": _of_json,
    "ListNode": _of_list,
    "LossNode": _of_loss,
    "MaskedArrayNode": _of_mask,
    "NdArrayNode": _of_array,
    "ObjectNode": _of_object,
    "RandomGeneratorNode": _of_generator,
    "RandomStateNode": _of_object,
    "SetNode": _of_list,
    "SliceNode": _of_slice,
    "SparseMatrixNode": _of_name,
    "TreeNode": _of_tree,
    "TupleNode": _of_list,
    "TypeNode": _of_name,
}
