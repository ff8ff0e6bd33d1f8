"""TableEncoder: from a table as people have it to features, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from clems.arrays import with_short_indices
from clems.datasets.columns import pick, pick_one
from clems.datasets.dataset import first_repeated
from clems.datasets.encoding.encodings import ENCODINGS, Encoding
from clems.datasets.encoding.kinds import KINDS, kind_of
from clems.datasets.rows import Rows
from clems.wording import all_of, did_you_mean, first_few, plural

WIDE = 256  # features from which on those of words are sparse


class ColumnNote(NamedTuple):
    """What was done with a column.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        What it holds: a kind of `KINDS`; "id", "constant" or "dropped" of a column that is left out.
    how : str
        What is done with it, in a few words.
    """

    name: str
    kind: str
    how: str


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table into features: text, words, numbers with missing values, dates, yes and no.

    The kind of each column is detected when the encoder is fitted, and kept in `columns_`; labels are not used.

    =============  =================================================================================================
    kind           features
    =============  =================================================================================================
    `numbers`      the number less the median, divided by the standard deviation; a gap is 0, with a feature to say so
    `booleans`     0 and 1 of no and yes, false and true; gaps as those of numbers
    `dates`        year, month, day, weekday, hour and days since 1970, those that vary, centred as numbers are
    `words`        a feature for each word (one-hot), and one for gaps: of at most 40 words
    `characters`   TF-IDF of pieces of two to four characters, in 30 directions: of many words, names, dirty strings
    `text`         TF-IDF of words
    =============  =================================================================================================

    Columns with a different value in every row, such as ids, or with the same value in every row are left out.

    Parameters
    ----------
    kinds : mapping of str to str or None, default=None
        Kinds of columns by name, where another is wanted than the one that is found.
    drop : str or sequence of str, default=()
        Names or patterns of columns to leave out.
    decimal : str, default="."
        The point in numbers that are text.

    Attributes
    ----------
    columns_ : list of ColumnNote
        What was done with each column.
    feature_names_in_ : ndarray of str
        Names of the columns that new rows must have; they may have others, in any order.
    n_features_in_ : int
        How many these are.

    Examples
    --------
    >>> import pandas as pd
    >>> from clems.datasets import TableEncoder
    >>> table = pd.DataFrame({"size": [3.0, None, 1.0, 2.0], "colour": ["red", "blue", "red", "blue"], "plant": "Ulm"})
    >>> encoder = TableEncoder().fit(table)
    >>> for column in encoder.columns_:
    ...     print(*column, sep=" | ")
    size | numbers | less 2, divided by 0.816497; 1 gap filled with the median
    colour | words | 2 words, one-hot
    plant | constant | left out: one value in all rows
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size is missing', 'colour=blue', 'colour=red']
    >>> encoder.transform(pd.DataFrame({"colour": ["red", "green"], "size": [2.0, None]}))
    array([[0., 0., 0., 1.],
           [0., 1., 0., 0.]])
    """

    def __init__(
        self,
        *,
        kinds: Mapping[str, str] | None = None,
        drop: str | Sequence[str] = (),
        decimal: str = ".",
    ) -> None:
        self.kinds = kinds
        self.drop = drop
        self.decimal = decimal

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:  # noqa: ARG002
        """Find out what each column holds and learn its encoding.

        Parameters
        ----------
        X : DataFrame
            The table, without labels.
        y : object, default=None
            Labels, which are not looked at.
        """
        return self.fit_rows(X, Rows("X", None, decimal=self.decimal))

    def fit_rows(self, X: pd.DataFrame, rows: Rows, names_rows: str | None = None) -> Self:
        """Fit as `fit` does; sentences about what is wrong call rows as `rows` does.

        Parameters
        ----------
        X : DataFrame
            The table.
        rows : Rows
            Where it is from.
        names_rows : str or None, default=None
            A column that is not in it, since it says which row is which; noted in `columns_`.
        """
        frame = _frame(X, rows)
        names = list(frame.columns)
        kinds = check_kinds(self.kinds, names, rows)
        dropped = {*pick(self.drop, names, rows)}
        if not len(frame):
            raise rows.fault("there are no rows")
        encodings: list[Encoding] = []
        left_out = {} if names_rows is None else {names_rows: ["id", "left out: it says which row is which"]}
        for position, name in enumerate(names):
            column = frame.iloc[:, position]
            if position in dropped:
                left_out[name] = ["dropped", "left out, as you said"]
                continue
            guess = None if name in kinds else kind_of(name, column, rows)
            if guess is not None and guess.kind not in ENCODINGS:
                left_out[name] = [guess.kind, f"left out: {guess.detail}"]
                continue
            encodings.append(ENCODINGS[kinds[name] if guess is None else guess.kind].fit(name, column, rows))
        if not encodings:
            raise rows.fault("no column is left for features")
        features = [feature for one in encodings for feature in one.features]
        if (twice := first_repeated(features)) is not None:
            raise rows.fault(f"two features would be called {twice!r}; rename a column")
        self._names = names if names_rows is None else [names_rows, *names]
        self._n_columns, self._encodings, self._left_out = len(names), encodings, left_out
        self.feature_names_in_ = np.array([one.name for one in encodings], object)
        self.n_features_in_ = len(encodings)
        self._is_sparse = any(one.is_sparse for one in encodings) or len(features) > WIDE
        return self

    def transform(self, X: pd.DataFrame) -> Any:
        """Make features of rows; columns are found by name, in any order, and others are ignored.

        Parameters
        ----------
        X : DataFrame
            The rows. A column that is not known for any of them is there and empty.

        Returns
        -------
        ndarray or CSR array of shape (n, d)
            Sparse if there is text, or if there are many words; nothing is missing.
        """
        return self.transform_rows(X, Rows("X", None, decimal=self.decimal))

    def transform_rows(self, X: pd.DataFrame, rows: Rows) -> Any:
        """Transform as `transform` does; sentences about what is wrong call rows as `rows` does.

        Parameters
        ----------
        X : DataFrame
            The rows.
        rows : Rows
            Where they are from.
        """
        check_is_fitted(self)
        frame = _frame(X, rows)
        there = {*frame.columns}
        if missing := [one.name for one in self._encodings if one.name not in there]:
            are = "is" if len(missing) == 1 else "are"
            raise rows.fault(
                f"{plural(len(missing), 'column')} of the model {are} missing: {first_few(missing)}; where nothing is "
                "known, add an empty column of that name"
            )
        parts = [one(frame[one.name], rows) for one in self._encodings]
        if self._is_sparse:
            whole = sparse.hstack([sparse.csr_array(part) for part in parts], format="csr")
            return with_short_indices(sparse.csr_array(whole))
        return np.hstack([part.toarray() if sparse.issparse(part) else part for part in parts])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Name the features that `transform` returns."""
        check_is_fitted(self)
        return np.array([feature for one in self._encodings for feature in one.features], object)

    @property
    def columns_(self) -> list[ColumnNote]:
        """What was done with each column."""
        check_is_fitted(self, "_names")
        done = {one.name: (one.kind, one.how) for one in self._encodings} | self._left_out
        return [ColumnNote(name, *done[name]) for name in self._names]

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers without gaps, so that nothing is done with them."""
        plain = [one for one in self._encodings if one.kind in ("numbers", "booleans") and not one.n_gaps]
        return len(plain) == self._n_columns

    def anew(self) -> TableEncoder:
        """Return one that is not fitted and takes each column as this one does."""
        check_is_fitted(self)
        kinds = {one.name: one.kind for one in self._encodings}
        return TableEncoder(kinds=kinds, drop=[*{*self._names[-self._n_columns :]} - {*kinds}], decimal=self.decimal)

    @property
    def left_out(self) -> list[str]:
        """Columns that are left out."""
        return list(self._left_out)

    @property
    def text_columns(self) -> list[str]:
        """Columns of text."""
        return [column.name for column in self.columns_ if column.kind == "text"]

    @property
    def word_columns(self) -> list[str]:
        """Columns whose cells are to be read as they are written, also where they look like numbers."""
        return [one.name for one in self._encodings if one.reads_words]

    def unseen(self, X: pd.DataFrame) -> dict[str, str]:
        """List columns that hold words that training has not seen, each with one of them."""
        found = {one.name: one.unseen(X[one.name]) for one in self._encodings}
        return {name: word for name, word in found.items() if word is not None}


def check_kinds(kinds: Mapping[str, str] | None, names: Sequence[str], rows: Rows) -> dict[str, str]:
    """Check kinds of columns that the user names."""
    for name, kind in (kinds or {}).items():
        if kind not in KINDS:
            near = did_you_mean(kind, KINDS)
            raise ValueError(f"There is no kind {kind!r} of columns; {near or f'there are {all_of(KINDS)}.'}")
        pick_one(name, names, rows)
    return dict(kinds or {})


def _frame(X: Any, rows: Rows) -> pd.DataFrame:
    if not isinstance(X, pd.DataFrame):
        raise TypeError(f"TableEncoder takes a DataFrame; got {type(X).__name__}.")
    frame = X.set_axis([str(column) for column in X.columns], axis="columns")
    if (twice := first_repeated(list(frame.columns))) is not None:
        raise rows.fault(f"two columns are called {twice!r}; names must differ")
    return frame
