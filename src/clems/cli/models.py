"""Models as the commands use them: loaded with the functions that the user trusts, applied to rows of a file."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Loaded:
    """A model from a file, as commands use it.

    Attributes
    ----------
    learner : learner
        What decides: the model, or the last step of a pipeline.
    encoder : object or None
        What makes features of columns: the steps of a pipeline before the learner.
    columns : list of str or None
        Names of the columns, or features, that it takes.
    reading : dict
        How data was read for it in training, which commands remember.
    """

    learner: Any
    encoder: Any
    columns: list[str] | None
    reading: dict[str, str]

    @property
    def feature_names(self) -> Any:
        """Names of the features that the learner is given, where they are known."""
        from clems.learners.pipeline import names_out

        return None if self.encoder is None else names_out(self.encoder)

    @property
    def left_out(self) -> list[str]:
        """Columns that training left out, so that there is nothing to say if new rows have them."""
        from clems.datasets.encoding import TableEncoder

        first = None if self.encoder is None else self.encoder.steps[0][1]
        return first.left_out if isinstance(first, TableEncoder) else []

    @property
    def text_columns(self) -> list[str]:
        """Columns that training took for text."""
        from clems.datasets.encoding import TableEncoder

        first = None if self.encoder is None else self.encoder.steps[0][1]
        return first.text_columns if isinstance(first, TableEncoder) else []

    def wanted(self, unseen: dict[str, str] | None = None, **options: Any) -> Any:
        """List what it needs from a file: its columns, and its labels where they are to be compared.

        Parameters
        ----------
        unseen : dict, default=None
            Where columns with words that training has not seen are put, each with one of them.
        **options
            Of `Wanted`.
        """
        from sklearn.utils import get_tags

        from clems.datasets.encoding import TableEncoder
        from clems.datasets.wanted import Wanted

        n_features = int(self.learner.n_features_in_)
        if self.encoder is None:
            gaps = get_tags(self.learner).input_tags.allow_nan
            return Wanted(self.columns, n_features, label_names(self.learner), gaps=gaps, **options)
        first = self.encoder.steps[0][1]
        if self.columns is None:
            raise ValueError("The model was trained on columns without names; commands find columns by name.")

        def encode(frame: Any, rows: Any) -> Any:
            if not isinstance(first, TableEncoder):
                return self.encoder.transform(frame)
            if unseen is not None:
                unseen.update({**first.unseen(frame), **unseen})
            X = first.transform_rows(frame, rows)
            return self.encoder[1:].transform(X) if len(self.encoder.steps) > 1 else X

        known = isinstance(first, TableEncoder)
        used, words = (self.columns, first.word_columns) if known else columns_of(first, self.columns)
        return Wanted(used, n_features, label_names(self.learner), encode=encode, words=words, **options)


def load_model(path: str, trust: list[str] | None) -> Loaded:
    """Load a model; modules of trusted functions, ``module:function``, may be in the working directory, no others."""
    from clems.costs.text import module_named
    from clems.learners.pipeline import ends_in_learner, steps_of
    from clems.persistence import describe, load

    names = [name if ":" in name else ":".join(name.rsplit(".", 1)) for name in trust or []]
    for name in names:
        if ":" not in name:
            raise ValueError(f"--trust takes MODULE:FUNCTION; got {name!r}.")
        module_named(name.partition(":")[0], f"--trust {name}")
    model = load(path, [name.replace(":", ".") for name in names])
    if not ends_in_learner(model):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which hands rows over; commands use learners only, so load it in "
            "Python: clems.load(...).predict(X)."
        )
    before, learner = steps_of(model)
    columns = getattr(model, "feature_names_in_", None)
    reading = {name: value for name, value in describe(path).reading.items() if isinstance(value, str)}
    return Loaded(
        learner,
        flat(before) if before else None,
        None if columns is None else [str(name) for name in columns],
        reading,
    )


def flat(steps: list[Any]) -> Any:
    """Put fitted steps into one pipeline."""
    from sklearn.pipeline import Pipeline

    return Pipeline([(str(place), step) for place, step in enumerate(steps)])


def columns_of(transformer: Any, names: list[str]) -> tuple[list[str], list[str]]:
    """Find the columns that a first step uses and, of these, the columns of words or text, by what it has learned.

    Parameters
    ----------
    transformer : estimator
        The first step of a pipeline; another than a ColumnTransformer uses all columns, as numbers.
    names : list of str
        The columns that it was trained on.
    """
    from sklearn.compose import ColumnTransformer

    if not isinstance(transformer, ColumnTransformer):
        return names, []
    used: list[str] = []
    words: list[str] = []
    for _, part, columns in transformer.transformers_:
        listed = [columns] if isinstance(columns, str) else _listed(columns, names)
        if not isinstance(part, str) or part != "drop":
            used += listed
            words += [name for place, name in enumerate(listed) if _reads_words(part, place)]
    return list(dict.fromkeys(used)), words


def _reads_words(part: Any, place: int) -> bool:
    """Whether a fitted transformer has met words in one of its columns."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    if hasattr(part, "steps"):
        return _reads_words(part.steps[0][1], place)
    if hasattr(part, "transformer_list"):
        return any(_reads_words(one, place) for _, one in part.transformer_list)
    if isinstance(part, CountVectorizer | HashingVectorizer):
        return True
    learned = getattr(part, "categories_", None)
    if learned is not None:
        return bool(learned[place].dtype.kind in "OUS")
    return bool(getattr(getattr(getattr(part, "statistics_", None), "dtype", None), "kind", "") == "O")


def _listed(columns: Any, names: Any) -> list[str]:
    """Return the names of columns that are given by name, number, slice or mask."""
    import numpy as np

    if isinstance(columns, list) and all(isinstance(column, str) for column in columns):
        return columns
    return [str(name) for name in np.asarray(names)[columns].tolist()]


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
