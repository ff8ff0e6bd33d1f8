"""Whether what was built from a file can be used: compiled code follows indices without a check of its own.

A crafted file can hold trees that claim other features than their model, support vectors that are fewer than said, or
an attribute in the place of a method that checks. Each kind of object that compiled code reads has an entry in
`CHECKS`, and for an object every entry that applies is called, not only the first. What only compiled code reads
(trees, search trees) may occur nowhere but in the estimator whose check knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from types import FunctionType
from typing import Any

import numpy as np
from joblib import cpu_count  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.neighbors import (
    BallTree,
    KDTree,
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree

from clems.learners.c2ae import C2AE
from clems.learners.pipeline import steps_of
from clems.persistence.trust import ModelError
from clems.trees.leaf_table import LeafCounts, LeafShares

MOST_JOBS = 1024  # threads or processes that a model may ask for; it gets no more than there are cores
WIDEST = 1 << 24  # columns of a sparse matrix other than of features: its products take memory for each of them
CATEGORIES = 8  # words of 32 bits for the categories of a feature
KERNELS = ("linear", "poly", "rbf", "sigmoid")
METRICS = ("chebyshev", "cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "minkowski", "sqeuclidean")
LONGEST_TERM = 20  # words or characters of a term of text
LONGEST_PATTERN = 60  # characters of the pattern of words
MOST_REPEATS = 3  # marks in it that repeat something
EXPONENTS = 1100  # of two in the size of a number, at most
MERSENNE = 624  # words of the state of numpy's RandomState

SINGLE = (DecisionTreeClassifier, DecisionTreeRegressor)
FORESTS = (ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor)
BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
BINNED = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
NEIGHBOURS = (KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsClassifier, RadiusNeighborsRegressor)
MACHINES = (SVC, NuSVC, SVR, NuSVR)


class _UnsoundError(Exception):
    """Something in an object does not fit the rest."""


def check_content(model: Any) -> None:
    """Refuse a model in which compiled code would leave its arrays, or never end."""
    held = list(held_by(model))
    n_features = steps_of(model)[1].n_features_in_  # of the learner, of which alone trees are read
    known: list[Any] = []  # what only compiled code reads, where it belongs
    for one in held:
        for kinds, fitted, check in CHECKS:
            if isinstance(one, kinds) and (fitted is None or fitted in vars(one)):
                try:
                    known += check(one)
                except (_UnsoundError, AttributeError, TypeError, ValueError, LookupError) as error:
                    why = f": {error}" if isinstance(error, _UnsoundError) else ""
                    raise ModelError(f"it holds a {type(one).__name__} that cannot be used{why}.") from None
    inside = {*map(id, known)}
    for one in held:
        if isinstance(one, COMPILED) and id(one) not in inside:
            raise ModelError(f"it holds a {type(one).__name__} in the place of something else.")
        if isinstance(one, (LeafShares, LeafCounts)) and any(tree.n_features_in_ != n_features for tree in one.trees):
            raise ModelError(f"it holds {type(one).__name__} of trees for other features than its own.")
        if sparse.issparse(one) and max(one.shape) > max(WIDEST, len(one.indptr), n_features):
            raise ModelError(f"it holds a {type(one).__name__} of {max(one.shape)} columns, far more than models have.")


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
            left += np.ma.getdata(one).ravel().tolist() if one.dtype.hasobject else []
        if hasattr(one, "__dict__") and not isinstance(one, (type, FunctionType)):
            left += vars(one).values()


def _demand(holds: Any, what: str) -> None:
    if not holds:
        raise _UnsoundError(what)


def _array(owner: Any, name: str, shape: tuple[int | None, ...], kinds: str = "f") -> NDArray[Any]:
    """Array of an object, if it is nothing but an array, of this shape and kind of numbers."""
    array = getattr(owner, name)
    fits = type(array) is np.ndarray and array.dtype.kind in kinds and array.ndim == len(shape)
    fits = fits and all(size in (None, own) for size, own in zip(shape, array.shape, strict=True))
    _demand(fits, f"{name} is not as it should be")
    return array  # type: ignore[no-any-return]


def _all_in(values: Any, start: int, stop: int) -> bool:
    return bool(((values >= start) & (values < stop)).all())


def _go_on(left: Any, right: Any, inner: Any) -> bool:
    """Whether the children of inner nodes come after them, as in every tree that scikit-learn grows."""
    return all(bool(((child[inner] > inner) & (child[inner] < len(child))).all()) for child in (left, right))


def _features(estimator: Any) -> int:
    """How many features an estimator takes; scikit-learn checks those that it is given against it."""
    d = vars(estimator)["n_features_in_"]
    _demand(type(d) is int, "n_features_in_ is no number")
    return int(d)


@cache
def _methods(kind: Any) -> frozenset[str]:
    """Names of the methods and properties of a class."""
    known = ((name, value) for base in kind.__mro__ for name, value in vars(base).items())
    return frozenset(name for name, value in known if callable(value) or hasattr(value, "__get__"))


def _estimator(one: BaseEstimator) -> list[Any]:
    """Attributes may not take the place of methods."""
    kind: Any = type(one)
    methods = _methods(kind)
    for name in vars(one):
        _demand(name not in methods, f"{name} in the place of a method")
        if name == "n_features_in_":
            _features(one)
    return []


def _jobs(one: Any) -> list[Any]:
    """Let an estimator ask for no more jobs than there are cores: each may be a process that imports everything."""
    jobs = one.n_jobs
    _demand(jobs is None or (type(jobs) is int and abs(jobs) <= MOST_JOBS), f"n_jobs of {jobs!r}"[:40])
    if jobs is not None and jobs > cpu_count():  # as on the computer that saved it
        one.n_jobs = cpu_count()
    return []


def _tree(one: Any) -> list[Any]:
    d, tree = _features(one), one.tree_
    _demand(type(tree) is Tree and tree.n_features == d, "a tree of other features")
    _demand(0 < tree.node_count == tree.capacity, "nodes that it does not have")  # before any node is read
    nodes = tree.__getstate__()["nodes"]
    inner = np.flatnonzero(nodes["left_child"] != -1)
    _demand(_all_in(nodes["feature"][inner], 0, d), "a feature that does not exist")
    _demand(_go_on(nodes["left_child"], nodes["right_child"], inner), "a child that does not exist")
    return [tree]


def _forest(one: Any) -> list[Any]:
    trees = one.estimators_
    _demand(type(trees) is list and trees, "no trees")
    _demand(all(isinstance(tree, SINGLE) and _features(tree) == _features(one) for tree in trees), "other trees")
    # A prediction has a column for each of these before any tree is read.
    outputs = one.n_outputs_
    _demand(type(outputs) is int and all(tree.tree_.n_outputs == outputs for tree in trees), "trees of other outputs")
    if isinstance(one, (ExtraTreesClassifier, RandomForestClassifier)):
        said = np.atleast_1d(one.n_classes_)
        _demand(all(np.array_equal(tree.tree_.n_classes, said) for tree in trees), "trees for other classes")
    return []


def _boosted(one: Any) -> list[Any]:
    trees, d = _array(one, "estimators_", (None, one.n_trees_per_iteration_), "O"), _features(one)
    for tree in trees.ravel().tolist():
        _demand(isinstance(tree, DecisionTreeRegressor) and _features(tree) == d, "other trees")
        _demand(tree.tree_.value.shape[1:] == (1, 1), "trees of several outputs")
    n_classes = len(one.classes_) if isinstance(one, GradientBoostingClassifier) else 2
    _demand(trees.shape[1] == (1 if n_classes == 2 else n_classes), "trees for other classes")
    # What it starts from has a column for each class, or one, and the trees add to these columns unchecked.
    start, row = one.init_, np.zeros((1, d), np.float32)
    if isinstance(one, GradientBoostingClassifier):
        _demand(one._loss.is_multiclass is (n_classes > 2), "a loss for other classes")
        _demand(isinstance(start, DummyClassifier) or start == "zero", "a start that is not known")
        _demand(start == "zero" or start.predict_proba(row).shape == (1, n_classes), "a start of other size")
    else:
        _demand(isinstance(start, DummyRegressor) or start == "zero", "a start that is not known")
        _demand(start == "zero" or start.predict(row).shape == (1,), "a start of other size")
    return []


def _binned(one: Any) -> list[Any]:
    d, inside = _features(one), []
    categorical = one._bin_mapper.is_categorical_
    _demand(type(categorical) is np.ndarray and categorical.shape == (d,), "other categories")
    n_trees = one.n_trees_per_iteration_  # for each of which a prediction has a column before any tree is read
    _demand(type(n_trees) is int and all(len(stage) == n_trees for stage in one._predictors), "trees for other classes")
    for tree in (tree for stage in one._predictors for tree in stage):
        _demand(type(tree) is TreePredictor, "other trees")
        nodes = tree.nodes
        _demand(type(nodes) is np.ndarray and nodes.ndim == 1 and len(nodes), "no nodes")
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        by_category = inner[nodes["is_categorical"][inner] != 0]
        sets = [_array(tree, f"{kind}_left_cat_bitsets", (None, CATEGORIES), "u") for kind in ("binned", "raw")]
        _demand(_all_in(nodes["feature_idx"][inner], 0, d), "a feature that does not exist")
        left, right = (nodes[side].astype(np.int64) for side in ("left", "right"))
        _demand(_go_on(left, right, inner), "a child that does not exist")
        _demand(_all_in(nodes["bitset_idx"][by_category], 0, min(map(len, sets))), "categories that there are not")
        _demand(categorical[nodes["feature_idx"][by_category]].all(), "categories of a feature that has none")
        inside.append(tree)
    return inside


def _neighbours(one: Any) -> list[Any]:
    """Points are checked; the tree that finds the nearest of them is not saved, and grown again."""
    d, points = _features(one), one._fit_X
    _demand(sparse.issparse(points) or _array(one, "_fit_X", (None, d)) is points, "other points")
    _demand(points.shape[1] == d and points.shape[0] == one.n_samples_fit_ > 0, "other points")
    metric, options = one.effective_metric_, one.effective_metric_params_
    _demand(metric in METRICS and type(options) is dict, "a distance that is not known")
    plain = all(type(value) in (int, float, type(None)) for value in options.values())
    _demand(plain and (options.get("p") or 1) > 0, "a distance with arrays")
    if isinstance(one, (KNeighborsClassifier, RadiusNeighborsClassifier)):
        classes = one.classes_ if type(one.classes_) is list else [one.classes_]
        several = one.outputs_2d_
        _demand(type(several) is bool and several == (type(one.classes_) is list), "other classes")
        groups = _array(one, "_y", (points.shape[0], len(classes)) if several else (points.shape[0],), "i")
        for column, known in zip(groups.reshape(len(groups), -1).T, classes, strict=True):
            _demand(type(known) is np.ndarray and _all_in(column, 0, len(known)), "a class that does not exist")
    else:
        _demand(len(one._y) == points.shape[0], "other targets")
    kind = {"kd_tree": KDTree, "ball_tree": BallTree, "brute": None}[one._fit_method]
    _demand(one._tree is None, "a tree that is not its own")
    if kind is not None:
        one._tree = kind(points, one.leaf_size, metric=metric, **options)
    return []


def _machine(one: Any) -> list[Any]:
    d, vectors = _features(one), one.support_vectors_
    _demand("_impl" not in vars(one) and "_sparse_kernels" not in vars(one), "another kind of machine")
    _demand(one.kernel in KERNELS, "a kernel that is not known")
    _demand(type(one._sparse) is bool and one._sparse == sparse.issparse(vectors), "other support vectors")
    _demand(one._sparse or _array(one, "support_vectors_", (None, d)) is vectors, "other support vectors")
    _demand(not one._sparse or vectors.format == "csr", "support vectors by columns")  # read as rows all the same
    n = vectors.shape[0]
    _demand(vectors.shape[1] == d, "support vectors of other features")
    classifies = isinstance(one, (SVC, NuSVC))
    n_classes = len(one.classes_) if classifies else 2
    pairs = n_classes * (n_classes - 1) // 2
    in_class = _array(one, "_n_support", (n_classes,), "i")
    _demand(n_classes > 1 and (in_class >= 0).all(), "classes without end")
    _demand(in_class.sum() == n if classifies else (in_class <= n).all(), "other support vectors")
    _array(one, "support_", (n,), "i")
    for name in ("_dual_coef_", "dual_coef_"):
        coefficients = getattr(one, name)
        if one._sparse:
            fits = sparse.issparse(coefficients) and coefficients.shape == (n_classes - 1, n)
            _demand(fits and len(coefficients.data) == (n_classes - 1) * n, "other coefficients")
        else:
            _array(one, name, (n_classes - 1, n))
    for name in ("_intercept_", "intercept_"):
        _array(one, name, (pairs,))
    for name in ("_probA", "_probB"):
        _demand(len(_array(one, name, (None,))) in (0, pairs), "other probabilities")
    _demand(len(one._probA) == len(one._probB), "other probabilities")
    asked = vars(one).get("_effective_probability", one.probability)  # before scikit-learn 1.9 the parameter itself
    _demand(asked is False or (asked is True and len(one._probA) == pairs), "probabilities that it does not have")
    return []


def _vectorizer(one: Any) -> list[Any]:
    """Terms have the columns 0 to V − 1, since a sparse matrix is made of them unchecked; patterns end."""
    terms = one.vocabulary_
    _demand(isinstance(terms, dict) and len(terms), "no terms")
    places = [*terms.values()]
    _demand(all(isinstance(place, int | np.integer) and type(place) is not bool for place in places), "other terms")
    _demand({*map(int, places)} == {*range(len(terms))}, "terms without a column of their own")
    return []


def _analysis(one: Any) -> list[Any]:
    least, most = one.ngram_range
    _demand(type(least) is int and type(most) is int and 0 < least <= most <= LONGEST_TERM, "other terms")
    pattern = one.token_pattern
    _demand(pattern is None or (isinstance(pattern, str) and _ends(pattern)), "a pattern that may not end")
    return []


def _ends(pattern: str) -> bool:
    """Whether a pattern is short and has no groups, so that no text keeps it busy for long."""
    plain = pattern.removeprefix("(?u)")
    few = sum(plain.count(mark) for mark in "*+{") <= MOST_REPEATS
    return len(plain) <= LONGEST_PATTERN and few and "(" not in plain


def _hasher(one: Any) -> list[Any]:
    _demand(type(one.n_features) is int and 0 < one.n_features <= WIDEST, "columns without end")
    return []


def _one_hot(one: Any) -> list[Any]:
    """Columns of all categories together are those that a sparse matrix is said to have, which nobody checks."""
    categories, d = one.categories_, _features(one)
    _demand(type(categories) is list and len(categories) == d, "other categories")
    for known in categories:
        _demand(type(known) is np.ndarray and known.ndim == 1, "other categories")
        values = known.tolist()
        if known.dtype.kind != "O":  # looked up by a search that trusts their order
            rising = all(low < high for low, high in pairwise(values) if high == high)
            _demand(rising and all(value == value for value in values[:-1]), "categories out of order")
        _demand(len({*map(repr, values)}) == len(values), "a category twice")
    none = [None] * d
    grouped = one._infrequent_enabled
    _demand(type(grouped) is bool, "other groups")
    mappings, rare = (one._default_to_infrequent_mappings, one._infrequent_indices) if grouped else (none, none)
    drops = none if one._drop_idx_after_grouping is None else one._drop_idx_after_grouping
    for known, mapping, few, drop, said in zip(categories, mappings, rare, drops, one._n_features_outs, strict=True):
        size = len(known)
        _demand((mapping is None) == (few is None), "other groups")
        if mapping is not None:  # from categories to groups
            fits = type(mapping) is np.ndarray and mapping.shape == known.shape and mapping.dtype.kind == "i"
            _demand(fits and _all_in(mapping, 0, size), "other groups")
            size = int(mapping.max()) + 1
        _demand(
            drop is None or (isinstance(drop, int | np.integer) and 0 <= drop < size), "a category that is not there"
        )
        _demand(type(said) is int and said == size - (drop is not None), "other columns")
    return []


def _n_nodes(trees: Any) -> int:
    _demand(type(trees) is list and all(isinstance(tree, SINGLE) for tree in trees), "other trees")
    return sum(tree.tree_.node_count for tree in trees)


def _shares(one: LeafShares) -> list[Any]:
    nodes = _n_nodes(one.trees)
    _demand(sparse.issparse(one.table) and one.table.shape[0] == nodes, "a table of other nodes")
    _demand(one.ends is None or _all_in(_array(one, "ends", (nodes,), "i"), 0, nodes), "a row that does not exist")
    return []


def _leaves(one: LeafCounts) -> list[Any]:
    _demand(sparse.issparse(one.counts) and one.counts.shape[0] == _n_nodes(one.trees), "a table of other nodes")
    return []


def _networks(one: C2AE) -> list[Any]:
    """Each layer takes what the one before it gives: features, a code, and labels that vary."""
    K, M, d = len(one.classes_), int(one.codes_.shape[1]), _features(one)
    _array(one, "codes_", (None, M))
    varied = int(np.isnan(_array(one, "_constant", (K,))).sum())
    if not varied:
        networks = (one.from_features_, one.from_labels_, one.to_labels_)
        _demand(all(layers == [] for layers in networks), "networks of labels that do not vary")
        return []
    _demand((np.abs(_array(one, "_exponents", (d,), "i")) <= EXPONENTS).all(), "another scale")
    for name in ("_mean", "_deviation"):
        _array(one, name, (d,))
    for name, first, last in (("from_features_", d, M), ("from_labels_", varied, M), ("to_labels_", M, varied)):
        layers = getattr(one, name)
        _demand(type(layers) is list and layers, f"{name} is not as it should be")
        size = first
        for weights, bias in layers:
            fits = all(type(part) is np.ndarray and part.dtype.kind == "f" for part in (weights, bias))
            _demand(fits and weights.ndim == 2 and len(weights) == size, f"{name} with layers that do not fit")
            size = weights.shape[1]
            _demand(bias.shape == (size,), f"{name} with layers that do not fit")
        _demand(size == last, f"{name} with layers that do not fit")
    return []


def _matrix(one: Any) -> list[Any]:
    _demand(one.format in ("csr", "csc") and one.ndim == 2, "another format")
    ends = one.indptr
    # SciPy compares ends only if the last of them is above 0, and by differences, which may overflow.
    _demand((ends[1:] >= ends[:-1]).all(), "rows that go back")
    one.check_format(full_check=True)
    return []


def _random_state(one: np.random.RandomState) -> list[Any]:
    state = one.get_state(legacy=False)
    _demand(state["bit_generator"] == "MT19937" and 0 <= state["state"]["pos"] <= MERSENNE, "another state")
    return []


COMPILED = (Tree, TreePredictor)  # what only compiled code reads

# What is checked: kinds of objects; the attribute without which they have not been fitted and refuse to predict.
CHECKS: tuple[tuple[Any, str | None, Callable[[Any], list[Any]]], ...] = (
    (BaseEstimator, None, _estimator),
    (BaseEstimator, "n_jobs", _jobs),
    (SINGLE, "tree_", _tree),
    (FORESTS, "estimators_", _forest),
    (BOOSTED, "estimators_", _boosted),
    (BINNED, "_predictors", _binned),
    (NEIGHBOURS, "_fit_X", _neighbours),
    (MACHINES, "support_vectors_", _machine),
    ((CountVectorizer, DictVectorizer), "vocabulary_", _vectorizer),
    ((CountVectorizer, HashingVectorizer), None, _analysis),
    ((HashingVectorizer, FeatureHasher), None, _hasher),
    (OneHotEncoder, "categories_", _one_hot),
    (C2AE, "to_labels_", _networks),
    (LeafShares, None, _shares),
    (LeafCounts, None, _leaves),
    (sparse.sparray | sparse.spmatrix, None, _matrix),
    (np.random.RandomState, None, _random_state),
)
