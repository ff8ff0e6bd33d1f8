"""Estimators that `--estimator` names: classifiers of our own choice, and those of scikit-learn's that a file may hold.

Each of the former is made by a function, which imports what it needs when it is called. Linear ones have their features
scaled to at most 1, which keeps zeros and so sparse features.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from typing import Any

from clems.wording import did_you_mean


def logistic_regression() -> Any:
    """Logistic regression on scaled features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))


def linear_svm() -> Any:
    """Linear support vector machine on scaled features, which gives scores."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler
    from sklearn.svm import LinearSVC

    return make_pipeline(MaxAbsScaler(), LinearSVC())


def random_forest() -> Any:
    """Random forest of a hundred trees."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier()


def extra_trees() -> Any:
    """Forest of a hundred extremely randomised trees."""
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier()


def gradient_boosting() -> Any:
    """Gradient boosting on binned features, which are dense."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier()


def nearest_neighbors() -> Any:
    """Shares of labels among the ten nearest training rows, on scaled features."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), KNeighborsClassifier(10))


ESTIMATORS: dict[str, Callable[[], Any]] = {
    make.__name__: make
    for make in (logistic_regression, linear_svm, random_forest, extra_trees, gradient_boosting, nearest_neighbors)
}


def complete_estimator(start: str) -> list[str]:
    """Complete the name of an estimator; those of scikit-learn's, which would have to be imported, are not offered."""
    return [name for name in ESTIMATORS if name.startswith(start)]


def estimator_named(text: str) -> Any:
    """Make an estimator from a key of `ESTIMATORS`, or from the name of one of scikit-learn's and its parameters.

    Nothing is run but the class itself: parameters are plain values, and only classes that a model file may hold
    unasked are known, so that what is trained can be loaded again.

    Parameters
    ----------
    text : str
        Such as ``random_forest`` or ``RandomForestClassifier(n_estimators=300)``.

    Examples
    --------
    >>> from clems.cli.estimators import estimator_named
    >>> estimator_named("RandomForestClassifier(n_estimators=300, bootstrap=False)")
    RandomForestClassifier(bootstrap=False, n_estimators=300)
    """
    from clems.persistence.trust import CHECKED, PLAIN

    if text in ESTIMATORS:
        return ESTIMATORS[text]()
    homes = {name: module for names in (PLAIN, CHECKED) for module, listed in names.items() for name in listed.split()}
    name, parameters = _call(text)
    if name not in homes or not hasattr(kind := getattr(import_module(homes[name]), name), "predict"):
        near = did_you_mean(name, [*ESTIMATORS, *homes])
        there_are = f"there are {', '.join(ESTIMATORS)}, and those of scikit-learn's, such as 'SVC(C=10)'."
        raise ValueError(f"There is no estimator {name!r}; {near or there_are}")
    try:
        known = kind().get_params(deep=False)
    except TypeError:  # of one that is built on another
        raise ValueError(f"{name} needs another estimator inside; choose that one, or use Python.") from None
    for unknown in (parameter for parameter in parameters if parameter not in known):
        raise ValueError(
            f"{name} has no parameter {unknown!r}; {did_you_mean(unknown, known) or 'it has ' + ', '.join(known) + '.'}"
        )
    return kind(**parameters)


def _call(text: str) -> tuple[str, dict[str, Any]]:
    """Read a name, or a name with parameters by name that are plain values."""
    wrong = ValueError(f"--estimator takes a name, perhaps with parameters: 'SVC(C=10)'; got {text!r}.")
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if isinstance(node, ast.Name):
            return node.id, {}
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
            raise wrong
        return node.func.id, {str(one.arg): ast.literal_eval(one.value) for one in node.keywords if one.arg}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise wrong from None
