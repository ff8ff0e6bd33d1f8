"""Models as the commands use them: loaded with what the user trusts, asked about rows of a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from clems.cli.console import input_of


def load_model(path: str, trust: Iterable[str]) -> Any:
    """Load a model; only modules of what is trusted, ``module:function``, may lie in the working directory."""
    from clems.cost_files import module_named
    from clems.persistence import load

    names = [name if ":" in name else ":".join(name.rsplit(".", 1)) for name in trust]
    for name in names:
        module_named(name.partition(":")[0], f"--trust {name}")
    return load(path, [name.replace(":", ".") for name in names])


def wanted_by(model: Any, **options: Any) -> Any:
    """Say what a model asks of a file of rows."""
    from clems.datasets.new_rows import Wanted

    names = getattr(model, "feature_names_in_", None)
    features = None if names is None else [str(name) for name in names]
    return Wanted(features, int(model.n_features_in_), label_names(model), **options)


def label_names(model: Any) -> list[str]:
    """Names of a model's labels as text."""
    return [str(name) for name in model.classes_.tolist()]


def ask(question: Any, model: Any, X: Any, **options: Any) -> Any:
    """Ask a method of a model about features in its own order; a model that cannot answer is told in a sentence."""
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
                f"The model does not predict ({type(error).__name__}: {error}); its file is damaged, or was saved by "
                "another version of clems or scikit-learn."
            ) from error


def labelled_rows(file: str, wanted: Any, **options: Any) -> tuple[Any, Any]:
    """Read all rows and labels of a file."""
    import numpy as np
    from scipy import sparse

    from clems.datasets.new_rows import NewRows
    from clems.datasets.source import DataError

    pieces = [piece for piece in NewRows(input_of(file), wanted, **options) if piece.X.shape[0]]
    if not pieces:
        raise DataError(f"{file}: there are no rows.")

    def stacked(parts: list[Any]) -> Any:
        return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)

    return stacked([piece.X for piece in pieces]), stacked([piece.Y for piece in pieces])
