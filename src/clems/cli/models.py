"""Models as the commands use them: loaded with the functions that the user trusts, applied to rows of a file."""

from __future__ import annotations

import warnings
from typing import Any


def load_model(path: str, trust: list[str] | None) -> Any:
    """Load a model; modules of trusted functions, ``module:function``, may be in the working directory, no others."""
    from clems.costs.text import module_named
    from clems.learners.base import MultiLabelClassifier
    from clems.persistence import load

    names = [name if ":" in name else ":".join(name.rsplit(".", 1)) for name in trust or []]
    for name in names:
        if ":" not in name:
            raise ValueError(f"--trust takes MODULE:FUNCTION; got {name!r}.")
        module_named(name.partition(":")[0], f"--trust {name}")
    model = load(path, [name.replace(":", ".") for name in names])
    if not isinstance(model, MultiLabelClassifier):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which hands rows over; commands use learners only, so load it in "
            "Python: clems.load(...).predict(X)."
        )
    return model


def wanted_by(model: Any, **options: Any) -> Any:
    """List what a model needs from a file: its features, and its labels where they are to be compared."""
    from clems.datasets.wanted import Wanted

    names = getattr(model, "feature_names_in_", None)
    features = None if names is None else [str(name) for name in names]
    return Wanted(features, int(model.n_features_in_), label_names(model), **options)


def label_names(model: Any) -> list[str]:
    """Return the names of a model's labels as text."""
    return [str(name) for name in model.classes_.tolist()]


def ask(question: Any, model: Any, X: Any, **options: Any) -> Any:
    """Call a method of a model with features in its order; a damaged model raises `ModelError` with one sentence."""
    from scipy import sparse

    from clems.persistence import ModelError

    if hasattr(model, "feature_names_in_") and not sparse.issparse(X):
        import pandas as pd

        X = pd.DataFrame(X, columns=model.feature_names_in_)
    with warnings.catch_warnings():  # a sparse matrix has no names
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        try:
            return question(X, **options)
        except (AttributeError, TypeError, LookupError, ArithmeticError) as error:
            if getattr(error, "__notes__", None):  # of a cost of the user's
                raise
            raise ModelError(
                f"The model does not predict ({type(error).__name__}: {error}); its file is damaged or was saved by "
                "another version of clems or scikit-learn."
            ) from error
