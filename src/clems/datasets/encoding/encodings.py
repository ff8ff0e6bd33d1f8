"""Encodings: how a column of each kind becomes features. What one learns in training is arrays and words, no code."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd, svd_flip

from clems.datasets.columns import binary
from clems.datasets.encoding.cells import ISO, Values, numbers_of, texts_of, times_of, without_categories
from clems.datasets.encoding.kinds import date_fault, date_form, number_fault, shown_form
from clems.datasets.rows import Rows
from clems.wording import plural

MOST_WORDS = 1000  # values of a column that have a feature each, the most frequent
MOST_TERMS = 5000  # terms of a column of text, those of the most rows
DIRECTIONS = 30  # in which the pieces of a column of strings are seen at most
FEWEST = 10  # rows whose squares a direction holds at least: one of fewer is chance, which linear models learn by heart
DIGITS = 9  # decimals of these features, so that linear algebra of another processor gives the same
PARTS = ("year", "month", "day", "weekday", "hour", "time")  # of a date; time is in days since 1970


class Encoding:
    """How a column becomes features; each kind has a class below and an entry in `ENCODINGS`."""

    kind: ClassVar[str]
    is_sparse: ClassVar[bool] = False
    reads_words: ClassVar[bool] = True  # whether cells are to be read as they are written, "007" too
    name: str
    n_gaps: int

    @classmethod
    def fit(cls, name: str, column: pd.Series, rows: Rows) -> Self:
        """Learn what is needed of a column."""
        raise NotImplementedError

    def __call__(self, column: pd.Series, rows: Rows) -> Any:
        """Return the features of cells, array or CSR array."""
        raise NotImplementedError

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        raise NotImplementedError

    @property
    def how(self) -> str:
        """What is done, in a few words."""
        raise NotImplementedError

    def unseen(self, column: pd.Series) -> str | None:  # noqa: ARG002
        """Return a cell that training has not seen, of a kind where that matters."""
        return None


def _gaps(n: int) -> str:
    return f", {plural(n, 'gap')}" if n else ""


class Numbers(Encoding):
    """Numbers, less the median of training and divided by their spread, so that linear models take them, too.

    A gap becomes the median, 0, and, if training had gaps, a feature says so.
    """

    kind, reads_words = "numbers", False

    def __init__(self, name: str, fill: float, scale: float, n_gaps: int) -> None:
        self.name, self.fill, self.scale, self.n_gaps = name, fill, scale, n_gaps

    @classmethod
    def fit(cls, name: str, column: pd.Series, rows: Rows) -> Self:
        """Learn the median and the spread."""
        values = cls.read(name, column, rows)
        some = values[~np.isnan(values)]
        fill, scale = _centre(some[:, None])
        return cls(name, float(fill[0]), float(scale[0]), len(values) - len(some))

    @staticmethod
    def read(name: str, column: pd.Series, rows: Rows) -> Values:
        """Read numbers; texts that are numbers, and those that say no or yes, are numbers."""
        values = numbers_of(without_categories(column))
        if values is None:
            texts = texts_of(column)
            distinct = sorted({*texts} - {""})
            meant: dict[str, Any] = {**(binary(distinct) or {text: rows.number(text) for text in distinct}), "": np.nan}
            for row, text in enumerate(texts):
                if meant[text] is None:
                    raise number_fault(name, row, text, rows)
            values = np.array([meant[text] for text in texts], np.float64)
        if np.isinf(values).any():
            row = int(np.isinf(values).argmax())
            raise rows.row_fault(f"column {name!r} must be finite", row, column.iloc[row])
        return values

    def __call__(self, column: pd.Series, rows: Rows) -> Any:
        """Fill gaps."""
        values = self.read(self.name, column, rows)[:, None]
        return _centred(values, np.array([self.fill]), np.array([self.scale]), bool(self.n_gaps))

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [self.name, *([f"{self.name} is missing"] if self.n_gaps else [])]

    @property
    def how(self) -> str:
        """What is done, in a few words."""
        filled = f"; {plural(self.n_gaps, 'gap')} filled with the median" if self.n_gaps else ""
        return f"less {self.fill:g}, divided by {self.scale:g}{filled}"


class Booleans(Numbers):
    """Yes or no, true or false: 1 and 0; a gap is the more frequent."""

    kind = "booleans"

    @classmethod
    def fit(cls, name: str, column: pd.Series, rows: Rows) -> Self:
        """Learn which is the more frequent."""
        values = cls.read(name, column, rows)
        some = values[~np.isnan(values)]
        return cls(name, float(len(some) > 0 and some.mean() > 0.5), 1.0, len(values) - len(some))

    def __call__(self, column: pd.Series, rows: Rows) -> Any:
        """Fill gaps."""
        values = self.read(self.name, column, rows)[:, None]
        return _filled(values, np.array([self.fill]), bool(self.n_gaps))

    @property
    def how(self) -> str:
        """What is done, in a few words."""
        return f"0 and 1{_gaps(self.n_gaps)}"


class Dates(Encoding):
    """Dates and times: those of their parts that vary in training, centred as numbers are."""

    kind = "dates"

    def __init__(
        self,
        name: str,
        form: str,
        parts: list[str],
        fill: NDArray[np.float64],
        scale: NDArray[np.float64],
        n_gaps: int,
    ) -> None:
        self.name, self.form, self.parts = name, form, parts
        self.fill, self.scale, self.n_gaps = fill, scale, n_gaps

    @classmethod
    def fit(cls, name: str, column: pd.Series, rows: Rows) -> Self:
        """Learn the form of dates, and which parts vary."""
        written = texts_of(column)
        form = ISO if numbers_of(column) is not None else date_form(name, written, rows)
        if form is None:
            row = int((written != "").argmax())
            raise date_fault(name, row, written[row], ISO, rows)
        every = _parts(times_of(column, form))
        some = every[~np.isnan(every).any(axis=1)]
        varied = [part for part, values in zip(PARTS, some.T, strict=True) if len(values) and np.ptp(values)]
        kept = [PARTS.index(part) for part in varied]
        return cls(name, form, varied, *_centre(some[:, kept]), len(every) - len(some))

    def __call__(self, column: pd.Series, rows: Rows) -> Any:
        """Return the parts of dates."""
        times = times_of(column, self.form)
        wrong = times.isna().to_numpy(bool) & (texts_of(column) != "")
        if wrong.any():
            row = int(wrong.argmax())
            what = f"column {self.name!r} must hold dates written {shown_form(self.form)}, as in training"
            raise rows.row_fault(what, row, column.iloc[row])
        parts = _parts(times)[:, [PARTS.index(part) for part in self.parts]]
        return _centred(parts, self.fill, self.scale, bool(self.n_gaps))

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name}: {part}" for part in [*self.parts, *(["is missing"] if self.n_gaps else [])]]

    @property
    def how(self) -> str:
        """What is done, in a few words."""
        return f"written {shown_form(self.form)}: {', '.join(self.parts)}{_gaps(self.n_gaps)}"


class Words(Encoding):
    """Words of which there are few: a feature for each, and one for gaps; a word that is new is none of them."""

    kind = "words"

    def __init__(self, name: str, words: NDArray[np.str_], n_words: int, n_gaps: int) -> None:
        self.name, self.words, self.n_words, self.n_gaps = name, words, n_words, n_gaps

    @classmethod
    def fit(cls, name: str, column: pd.Series, rows: Rows) -> Self:  # noqa: ARG003
        """Learn the words."""
        texts = texts_of(column)
        words, counts = np.unique(texts[texts != ""].astype(str), return_counts=True)
        kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_WORDS])
        return cls(name, words[kept], len(words), int((texts == "").sum()))

    def __call__(self, column: pd.Series, rows: Rows) -> Any:  # noqa: ARG002
        """Return a one for the word of each row."""
        at = {word: place for place, word in enumerate([*self.words.tolist(), *([""] if self.n_gaps else [])])}
        places = np.array([at.get(text, -1) for text in texts_of(column)], np.int64)
        known = np.flatnonzero(places >= 0)
        return sparse.csr_array((np.ones(len(known)), (known, places[known])), shape=(len(places), len(at)))

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name}={word}" for word in self.words] + ([f"{self.name} is missing"] if self.n_gaps else [])

    @property
    def how(self) -> str:
        """What is done, in a few words."""
        few = "" if len(self.words) == self.n_words else f", the {len(self.words):,} most frequent"
        return f"{plural(self.n_words, 'word')}, one-hot{few}{_gaps(self.n_gaps)}"

    def unseen(self, column: pd.Series) -> str | None:
        """Return a word that training has not seen."""
        known = {*self.words.tolist(), ""}
        return next((text for text in texts_of(column) if text not in known), None)


class Text(Encoding):
    """Text: TF-IDF of its words, ``(1 + ln tf) · (1 + ln (1 + n) / (1 + df))``, rows of length one."""

    kind, is_sparse = "text", True
    units: ClassVar[str] = "word"
    analysis: ClassVar[dict[str, Any]] = {}

    def __init__(self, name: str, terms: NDArray[np.str_], idf: NDArray[np.float64], n_gaps: int) -> None:
        self.name, self.terms, self.idf, self.n_gaps = name, terms, idf, n_gaps

    @classmethod
    def fit(cls, name: str, column: pd.Series, rows: Rows) -> Self:
        """Learn the terms that occur in two rows at least, and how many rows have each."""
        texts = texts_of(column)
        n, n_gaps = len(texts), int((texts == "").sum())
        counter = CountVectorizer(**cls.analysis, binary=True)
        try:
            seen = counter.fit_transform(texts)
        except ValueError:  # no text has a term
            raise rows.fault(
                f"column {name!r} holds no words of two letters; leave it out with drop=[{name!r}]"
            ) from None
        frequency = np.asarray(seen.sum(axis=0)).ravel()
        order = np.argsort(-frequency, kind="stable")
        kept = order[frequency[order] >= 2] if (frequency >= 2).any() else order
        kept = np.sort(kept[:MOST_TERMS])
        terms = np.asarray(counter.get_feature_names_out()[kept], str)
        return cls(name, terms, 1 + np.log((1 + n) / (1 + frequency[kept])), n_gaps)

    def __call__(self, column: pd.Series, rows: Rows) -> Any:  # noqa: ARG002
        """Weigh the terms of each row."""
        counter = CountVectorizer(**self.analysis, vocabulary=self.terms.tolist(), dtype=np.float64)
        counts = sparse.csr_array(counter.transform(texts_of(column)))
        counts.data = (1 + np.log(counts.data)) * self.idf[counts.indices]
        return normalize(counts, copy=False)

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name}: {term}" for term in self.terms]

    @property
    def how(self) -> str:
        """What is done, in a few words."""
        return f"TF-IDF of {plural(len(self.terms), self.units)}{_gaps(self.n_gaps)}"


class Characters(Text):
    """Strings of which there are many, short or dirty: TF-IDF of pieces of two to four characters, in few directions.

    A column of names has hundreds of pieces, which would outnumber the other columns in a forest; its leading singular
    vectors are as many features as other columns have. Rows have length one, so that the square of a singular value
    counts rows; a direction that holds fewer than ten is left out.
    """

    kind, is_sparse, units = "characters", False, "piece"
    analysis: ClassVar[dict[str, Any]] = {"analyzer": "char_wb", "ngram_range": (2, 4)}
    directions: NDArray[np.float64]

    @classmethod
    def fit(cls, name: str, column: pd.Series, rows: Rows) -> Self:
        """Learn the pieces, how many rows have each, and the directions in which they vary most."""
        one = super().fit(name, column, rows)
        weights = Text.__call__(one, column, rows)
        k = min(DIRECTIONS, *weights.shape)
        if k < weights.shape[1]:
            U, S, V = randomized_svd(weights, k, n_iter=5, flip_sign=False, random_state=0)
            held = max(1, int(np.count_nonzero(S**2 >= FEWEST)))  # singular values fall
            one.directions = svd_flip(U[:, :held], V[:held], u_based_decision=False)[1].T
        else:
            one.directions = np.eye(k)
        return one

    def __call__(self, column: pd.Series, rows: Rows) -> Any:
        """Project the weights of pieces."""
        return np.asarray(super().__call__(column, rows) @ self.directions).round(DIGITS)

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [f"{self.name}: direction {place + 1}" for place in range(self.directions.shape[1])]

    @property
    def how(self) -> str:
        """What is done, in a few words."""
        pieces = plural(len(self.terms), self.units)
        return f"TF-IDF of {pieces}, in {plural(self.directions.shape[1], 'direction')}{_gaps(self.n_gaps)}"


ENCODINGS: dict[str, type[Encoding]] = {one.kind: one for one in (Numbers, Booleans, Dates, Words, Characters, Text)}


def _centre(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Median and standard deviation of each column, 0 and 1 where there is none."""
    if not len(values):
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    with np.errstate(over="ignore"):
        spread = values.std(axis=0)
    return np.median(values, axis=0), np.where((spread > 0) & np.isfinite(spread), spread, 1.0)


def _centred(
    values: NDArray[np.float64], fill: NDArray[np.float64], scale: NDArray[np.float64], tells_gaps: bool
) -> NDArray[np.float64]:
    """Return ``(x − median) / standard deviation`` of each column, gaps filled."""
    return _filled((values - fill) / scale, np.zeros(len(fill)), tells_gaps)


def _filled(values: NDArray[np.float64], fill: NDArray[np.float64], tells_gaps: bool) -> NDArray[np.float64]:
    """Put what is known from training into gaps and, where training had some, say in a last column where they were."""
    gone = np.isnan(values)
    filled = np.where(gone, fill, values)
    return np.column_stack([filled, gone.any(axis=1)]) if tells_gaps else filled


def _parts(times: pd.Series) -> NDArray[np.float64]:
    """Return the parts of times as columns, NaN where one is missing."""
    calendar = times.dt
    days = (times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    columns = (calendar.year, calendar.month, calendar.day, calendar.day_of_week, calendar.hour, days)
    return np.column_stack([column.to_numpy(np.float64, na_value=np.nan) for column in columns])
