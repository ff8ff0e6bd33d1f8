"""Files of known values, in every format and many legal spellings, read back and compared to the last bit.

``python -m attack.readers --files 1000000 --seed 0 --output attack/results/readers.md``

The oracle is what was written: values as Python's ``float`` reads their text, labels and names as they were chosen.
pandas, liac-arff and scikit-learn read some of the files too; where they differ from ``float``, that is counted only.
"""

import argparse
import bz2
import gzip
import io
import lzma
import random
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import arff
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from clems.datasets import read_arff, read_libsvm, read_table
from clems.datasets.new_rows import NewRows
from clems.datasets.text import source
from clems.datasets.text.cells import MISSING
from clems.datasets.wanted import Wanted

BLOCKS = [1 << 19] * 20 + [256, 64, 7]  # bytes; small ones put the ends of blocks into small files
NAMES = ["x", "a b", "é", "x-1", "it's", "50%", "名", "A", "size_", "nan", "1"]
WORDS = ["red", "dark blue", "grün", "x.y", "Ω"]
ZEROS, ONES = ["0", "0.0", "-0", "0e5", "00", "+0"], ["1", "1.0", "+1", "1e0", "01", "10E-1"]
NO, YES = ["0", "no", "False", "FALSE", "No"], ["1", "yes", "true", "True", "YES"]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 1),
    "bzip2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
}
SECOND = 40  # every so manieth file is read by others, too


class Case(NamedTuple):
    """A file, how to read it, and what is in it."""

    data: bytes
    read: Callable[[], Any]
    X: list[list[float]]
    Y: list[list[Any]]  # zeros, ones, and NaN where a label is missing
    features: list[str]
    labels: list[str]
    second: tuple[str, Callable[[], Any]] | None = None  # what another library reads of it: numbers of the features


def spelling(rng: random.Random) -> str:
    """One legal number, without blanks around it."""
    kind = rng.randrange(14)
    if kind == 0:  # any double at all
        value = struct.unpack("<d", rng.randbytes(8))[0]
        text = repr(value) if np.isfinite(value) else "0"
    elif kind == 1:
        text = repr(rng.uniform(-10, 10))
    elif kind == 2:
        text = str(rng.randrange(10 ** rng.randrange(1, 9)))
    elif kind == 3:  # whole numbers around the ends of machine words
        text = str(rng.choice([2**31, 2**32, 2**53, 2**63, 2**64, 10**18, 10**19]) + rng.randrange(-2, 3))
    elif kind == 4:
        text = f"{rng.random():.{rng.randrange(1, 45)}f}"
    elif kind == 5:  # half-way between two doubles, or a digit beside it
        value = rng.randrange(2**53, 2**54, 2) + 1
        text = f"{value * 10**3 + rng.randrange(-1, 2)}e-3"
    elif kind == 6:  # denormal
        text = f"{rng.randrange(1, 10**17)}e-{rng.randrange(315, 345)}"
    elif kind == 7:  # great
        text = f"{rng.random():.16f}e{rng.randrange(290, 309)}"
    elif kind == 8:
        text = f"{rng.randrange(10**17)}E{rng.choice(['+', '-', ''])}{rng.randrange(0, 280)}"
    elif kind == 9:  # fixed point of eight characters at most
        digits = str(rng.randrange(10 ** rng.randrange(1, 8)))
        cut = rng.randrange(len(digits) + 1)
        text = digits[:cut] + "." + digits[cut:]
    elif kind == 10:
        text = "0" * rng.randrange(1, 30) + str(rng.randrange(1000)) + rng.choice(["", ".", ".5", "e2", "E-02"])
    elif kind == 11:  # many digits
        text = f"{rng.randrange(10 ** rng.randrange(20, 300))}" + rng.choice(
            ["", ".", "." + str(rng.randrange(10**40))]
        )
    elif kind == 12:
        text = rng.choice(
            ["0", "0.0", ".0", "0e0", "0e999", "1e-999", "5e-324", "2.4703282292062328e-324", "0.1", "1e0"]
        )
    else:
        text = rng.choice(
            ["1.7976931348623157e308", "1.7976931348623158e308", "2.2250738585072011e-308", "9007199254740993", "1e23"]
        )
    if not text.startswith("-"):
        text = rng.choice(["", "", "", "-", "+"]) + text
    return text


class Maker:
    """Makes files; numbers come from a pool, because spelling each anew takes longer than reading it."""

    def __init__(self, seed: int, size: int = 30_000) -> None:
        rng = random.Random(f"numbers {seed}")
        spelled = [text for text in (spelling(rng) for _ in range(size)) if np.isfinite(float(text))]
        self.any = [(text, float(text)) for text in spelled]
        self.short = [pair for pair in self.any if len(pair[0]) <= 8 and pair[0].replace(".", "").isdigit()]
        self.pool = self.any
        self.rng = rng

    def case(self, seed: int, place: int) -> tuple[str, Case]:
        """Make the file of a number."""
        self.rng = random.Random(seed * 1_000_000_007 + place)
        self.pool = self.short if self.rng.random() < 0.5 else self.any  # short ones have a way of their own
        form = self.rng.choices(list(FORMS), [weight for weight, _ in FORMS.values()])[0]
        return form, FORMS[form][1](self)

    def size(self, most: int) -> int:
        """A small number, seldom a greater one."""
        return self.rng.randrange(1, most) if self.rng.random() < 0.97 else self.rng.randrange(most, 12 * most)

    def names(self, n: int) -> list[str]:
        """Different names."""
        start = self.rng.randrange(len(NAMES))
        return [f"{NAMES[(start + place) % len(NAMES)]}{place or ''}" for place in range(n)]

    def blank(self, tab: bool = True) -> str:
        return self.rng.choice(["", "", "", " ", "  ", "\t", " \t"] if tab else ["", "", "", " ", "  "])

    def labels(self, n: int, k: int) -> list[list[int]]:
        return [[self.rng.randrange(2) for _ in range(k)] for _ in range(n)]

    def gappy(self, n: int, k: int) -> tuple[list[list[Any]], dict[str, Any]]:
        """Labels of which some are missing now and then, and the option that lets them be."""
        Y: list[list[Any]] = self.labels(n, k)
        if self.rng.random() < 0.85:
            return Y, {}
        share = self.rng.choice([0.1, 0.5, 1.0])
        return [[np.nan if self.rng.random() < share else value for value in row] for row in Y], {
            "missing_labels": "keep"
        }

    def lines(self, lines: list[str], *, last: bool = True) -> str:
        """Join lines by ends of some kind."""
        end = self.rng.choice(["\n", "\n", "\n", "\r\n", "\r"])
        return end.join(lines) + (end if last and self.rng.random() < 0.8 else "")

    def packed(self, text: str) -> tuple[bytes, dict[str, str]]:
        """Encode, perhaps compress; and the encoding as an option."""
        encodings = ["utf-8"] * 12 + ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"]
        encoding = self.rng.choice(encodings)
        try:
            data = text.encode(encoding)
        except UnicodeEncodeError:
            data, encoding = text.encode(), "utf-8"
        option = {} if encoding in ("utf-8", "utf-8-sig") else {"encoding": encoding}
        if self.rng.random() < 0.03:
            data = self.rng.choice(list(PACKERS.values()))(data)
        return data, option


def quoted(name: str) -> str:
    """A name or word in the quotes of ARFF, where it needs them."""
    return name if name.isalnum() else "'" + name.replace("'", "\\'") + "'"


def arff_dense(make: Maker) -> Case:
    """Numbers, words and switches, one value per attribute."""
    rng = make.rng
    n, d, k = make.size(5), make.size(5), rng.randrange(1, 4)
    names = make.names(d + k)
    features, labels = names[:d], names[d:]
    plain = rng.random() < 0.6
    kinds = ["number" if plain else rng.choice(["number", "number", "word", "switch"]) for _ in range(d)]
    words = [rng.sample(WORDS, rng.randrange(2, len(WORDS))) for _ in range(d)]
    (Y, gaps), X, rows = make.gappy(n, k), [], []
    for truth in Y:
        cells, values = [], []
        for kind, listed in zip(kinds, words, strict=True):
            if rng.random() < 0.06:
                text, value = "?", np.nan
            elif kind == "number":
                text, value = rng.choice(make.pool)
                if not plain and rng.random() < 0.1:
                    text = f"'{text}'"
            elif kind == "word":
                value = float(rng.randrange(len(listed)))
                text = quoted(listed[int(value)])
            else:
                value = float(rng.randrange(2))
                text = ["no", "yes"][int(value)]
            cells.append(text)
            values.append(value)
        X.append(values)
        cells += ["?" if np.isnan(value) else str(value) for value in truth]
        if rng.random() < 0.4:
            cells = [make.blank() + cell + make.blank() for cell in cells]
        rows.append(",".join(cells))
        if rng.random() < 0.1:
            rows.append(rng.choice(["", "  ", "% a comment, 1, 2"]))
    declared = {"number": ["numeric", "REAL", "integer"], "switch": ["{no,yes}", "{yes, no}"]}
    head = [f"@relation 'r: -C -{k}'", *(["% a comment"] if rng.random() < 0.2 else [])]
    for name, kind, listed in zip(features, kinds, words, strict=True):
        type_ = "{" + ",".join(map(quoted, listed)) + "}" if kind == "word" else rng.choice(declared[kind])
        head.append(f"{rng.choice(['@attribute', '@ATTRIBUTE'])} {quoted(name)} {type_}")
    head += [f"@attribute {quoted(name)} {{0,1}}" for name in labels]
    data, options = make.packed(make.lines([*head, rng.choice(["@data", "@DATA"]), *rows]))
    options |= gaps
    if rng.random() < 0.3:
        options |= {"labels": labels}

    def second() -> Any:
        return np.array([row[:d] for row in arff.loads(data.decode())["data"]], np.float64)

    could = plain and data.isascii() and b"\r" not in data and b"\\" not in data
    return Case(
        data,
        lambda: read_arff(io.BytesIO(data), **options),
        X,
        Y,
        features,
        labels,
        ("liac-arff", second) if could else None,
    )


def arff_sparse(make: Maker) -> Case:
    """Pairs in braces; what a row omits is 0 or the first word."""
    rng = make.rng
    n, d, k = make.size(5), make.size(6), rng.randrange(1, 4)
    names = make.names(d + k)
    plain = rng.random() < 0.6
    is_word = [not plain and rng.random() < 0.3 for _ in range(d)]
    whole = rng.random() < 0.4  # short whole numbers have a way of their own
    (Y, gaps), X, rows = make.gappy(n, k), [], []
    for truth in Y:
        values, pairs = [0.0] * d, []
        for place in range(d):
            if rng.random() < 0.5:
                continue
            if rng.random() < 0.03:
                text, values[place] = "?", np.nan
            elif is_word[place]:
                word = rng.randrange(len(WORDS))
                text, values[place] = quoted(WORDS[word]), float(word)
            elif whole:
                text = str(rng.randrange(10 ** rng.randrange(1, 8)))
                values[place] = float(text)
            else:
                text, value = rng.choice(make.pool)
                values[place] = value or 0.0  # a zero is not stored, so it has no sign
            pairs.append(f"{place} {text}")
        marked = ["?" if np.isnan(value) else str(value) for value in truth]
        pairs += [f"{d + place} {text}" for place, text in enumerate(marked) if text != "0" or rng.random() < 0.1]
        if rng.random() < 0.2:
            rng.shuffle(pairs)
        rows.append("{" + rng.choice([",", ",", ", ", " ,\t"]).join(pairs) + "}")
        X.append(values)
        if rng.random() < 0.05:
            rows.append("")
    head = ["@relation r"]
    listed = "{" + ",".join(map(quoted, WORDS)) + "}"
    head += [
        f"@attribute {quoted(name)} {listed if word else 'numeric'}" for name, word in zip(names, is_word, strict=False)
    ]
    head += [f"@attribute {quoted(name)} {{0,1}}" for name in names[d:]]
    data, options = make.packed(make.lines([*head, "@data", *rows]))
    options |= gaps
    return Case(data, lambda: read_arff(io.BytesIO(data), names[d:], **options), X, Y, names[:d], names[d:])


def libsvm(make: Maker) -> Case:
    """Rows with the numbers of their labels, without a header."""
    return _libsvm(make, None)


def libsvm_announced(make: Maker) -> Case:
    """Rows below a line of sizes."""
    rng = make.rng
    return _libsvm(make, (make.size(6), make.size(8), rng.randrange(1, 6)))


def _libsvm(make: Maker, sizes: tuple[int, int, int] | None) -> Case:
    rng = make.rng
    n, d, k = sizes or (make.size(6), make.size(8), 4)
    first = 0 if sizes else rng.randrange(2)
    own = list(range(k)) if sizes else sorted(rng.sample(range(-3, 200), k))
    X, Y, rows = [], [], []
    for row in range(n):
        truth = [int(rng.random() < 0.4) for _ in range(k)] if row else [1] * k  # each label is there, and each feature
        values, pairs = [0.0] * d, []
        for place in range(d):
            if row and rng.random() < 0.5:
                continue
            text, value = rng.choice(make.pool)
            values[place] = value or 0.0
            pairs.append(f"{place + first}:{text}")
        if rng.random() < 0.2:
            rng.shuffle(pairs)
        spelled = [
            rng.choice(["{}", "{}", "{}", "0{}", "+{}"]).format(own[at]) if own[at] >= 0 else str(own[at])
            for at in range(k)
            if truth[at]
        ]
        line = ",".join(spelled) + " " + rng.choice([" ", " ", "  ", "\t"]).join(pairs)
        if not spelled and pairs and rng.random() < 0.3:
            line = line.lstrip()
        if rng.random() < 0.1 and line.strip():
            line += rng.choice([" ", " # a comment", "\t"])
        X.append(values)
        Y.append(truth)
        rows.append(line)
        if rng.random() < 0.05:
            rows.append("# a comment")
        if not sizes and rng.random() < 0.05:
            rows.append("")
    lines = [*([f"{n} {d} {k}"] if sizes else []), *rows]
    data = make.lines(lines).encode()
    if rng.random() < 0.03:
        data = rng.choice(list(PACKERS.values()))(data)
    options: dict[str, Any] = {}
    if not sizes and (first == 0 or rng.random() < 0.5):
        options = {"zero_based": first == 0, "n_features": d}
    features = [f"x{place + first}" for place in range(d)]

    def second() -> Any:
        return load_svmlight_file(io.BytesIO(data), n_features=d, multilabel=True, zero_based=first == 0)[0].toarray()

    could = (
        not sizes
        and data.isascii()
        and all(line.strip() and line[0] not in " #" and ":" not in line.split()[0] for line in rows)
    )
    could = could and b"\r" not in data
    return Case(
        data,
        lambda: read_libsvm(io.BytesIO(data), **options),
        X,
        Y,
        features,
        [str(label) for label in own],
        ("scikit-learn", second) if could else None,
    )


class _Table(NamedTuple):
    """Cells of a CSV."""

    lines: list[list[str]]
    X: list[list[float]]
    delimiter: str
    decimal: str


def _cells(make: Maker, n: int, d: int, names: list[str], missing: float) -> _Table:
    """Cells of numbers, with a line of names first; other columns are appended by others."""
    rng = make.rng
    delimiter = rng.choice([",", ",", ";", "\t", "|"])
    decimal = "," if delimiter != "," and rng.random() < 0.4 else "."
    blanks = rng.random() < 0.3
    always = rng.random() < 0.1
    X, lines = [], [[_cell(name, delimiter, always) for name in names]]
    for _ in range(n):
        cells, values = [], []
        for _ in range(d):
            if rng.random() < missing:
                text, value = rng.choice(MISSING), np.nan
            else:
                text, value = rng.choice(make.pool)
                text = text.replace(".", decimal)
                if blanks:
                    text = make.blank(delimiter != "\t") + text + make.blank(delimiter != "\t")
                if always or rng.random() < 0.05:
                    text = f'"{text}"'
            cells.append(text)
            values.append(value)
        X.append(values)
        lines.append(cells)
    return _Table(lines, X, delimiter, decimal)


def _cell(text: str, delimiter: str, always: bool = False) -> str:
    needs = always or any(mark in text for mark in (delimiter, '"', "\n", "\r")) or text.startswith(" ")
    return '"' + text.replace('"', '""') + '"' if needs else text


def _truths(make: Maker, Y: list[list[Any]], k: int) -> list[list[str]]:
    """Labels as text, each column in numbers or in words."""
    families = [make.rng.choice([(ZEROS, ONES), (NO, YES), (["0"], ["1"])]) for _ in range(k)]
    return [
        [make.rng.choice(MISSING if np.isnan(value) else families[place][value]) for place, value in enumerate(row)]
        for row in Y
    ]


def _decimal(cells: list[str], table: _Table) -> list[str]:
    return [cell.replace(".", table.decimal) for cell in cells]


def _written(make: Maker, table: _Table, lines: list[list[str]]) -> tuple[bytes, dict[str, Any]]:
    text = [table.delimiter.join(line) for line in lines]
    if make.rng.random() < 0.1:
        text.insert(make.rng.randrange(1, len(text) + 1), "")
    data, options = make.packed(make.lines(text))
    marks: dict[str, Any] = {"decimal": table.decimal, "delimiter": table.delimiter}
    return data, {**options, **marks}


def csv_columns(make: Maker) -> Case:
    """Features and labels in columns; a column of words among them sometimes."""
    rng = make.rng
    n, d, k = make.size(5), make.size(5), rng.randrange(1, 4)
    names = make.names(d + k)
    Y, gaps = make.gappy(n, k)
    table = _cells(make, n, d, names, 0.06)
    lines = [
        table.lines[0],
        *(row + _decimal(truth, table) for row, truth in zip(table.lines[1:], _truths(make, Y, k), strict=True)),
    ]
    X, features = table.X, names[:d]
    options = gaps
    if rng.random() < 0.2:  # words in the first column
        chosen = [rng.choice(WORDS) for _ in range(n)]
        listed = sorted({*chosen})
        lines = [
            ["word", *lines[0]],
            *([_cell(word, table.delimiter), *row] for word, row in zip(chosen, lines[1:], strict=True)),
        ]
        if rng.random() < 0.5:
            X = [[float(listed.index(word)), *row] for word, row in zip(chosen, X, strict=True)]
            features, options = ["word", *features], {**gaps, "nominal": "codes"}
        else:
            X = [[float(word == other) for other in listed] + row for word, row in zip(chosen, X, strict=True)]
            features, options = [f"word={word}" for word in listed] + features, {**gaps, "nominal": "one-hot"}
    data, marks = _written(make, table, lines)

    def second() -> Any:
        frame = pd.read_csv(
            io.BytesIO(data),
            sep=table.delimiter,
            decimal=table.decimal,
            skipinitialspace=True,
            na_values=MISSING,
            keep_default_na=False,
        )
        return frame.iloc[:, :d].to_numpy(np.float64)

    could = not options and "encoding" not in marks and not data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7z"))
    return Case(
        data,
        lambda: read_table(io.BytesIO(data), names[d:], **marks, **options),
        X,
        Y,
        features,
        names[d:],
        ("pandas", second) if could else None,
    )


def csv_tags(make: Maker) -> Case:
    """Labels in one column."""
    rng = make.rng
    n, d = make.size(5), make.size(5)
    names = make.names(d)
    labels = sorted(rng.sample([*WORDS, "NA", "null", "1"], rng.randrange(1, 5)))
    Y = [[1] * len(labels), *make.labels(n - 1, len(labels))]
    table = _cells(make, n, d, [*names, "tags"], 0.06)
    separator = rng.choice(["/", "&", "~"])
    tagged = [
        _cell(separator.join(label for label, has in zip(labels, row, strict=True) if has), table.delimiter)
        for row in Y
    ]
    lines = [table.lines[0], *([*row, cell] for row, cell in zip(table.lines[1:], tagged, strict=True))]
    data, marks = _written(make, table, lines)
    options = {"tags": "tags", "separator": separator, **({"labels": labels} if rng.random() < 0.5 else {})}
    return Case(data, lambda: read_table(io.BytesIO(data), **marks, **options), table.X, Y, names, labels)


def csv_pairs(make: Maker) -> Case:
    """Labels in a second file."""
    rng = make.rng
    n, d = make.size(5), make.size(5)
    names = make.names(d)
    labels = sorted(rng.sample(WORDS, rng.randrange(1, 5)))
    Y = [[1] * len(labels), *make.labels(n - 1, len(labels))]
    table = _cells(make, n, d, [*names, "id"], 0.06)
    ids = [f"{rng.choice(['r', 'NA', '0', '+'])}{row}" for row in range(n)]
    lines = [table.lines[0], *([*row, cell] for row, cell in zip(table.lines[1:], ids, strict=True))]
    data, marks = _written(make, table, lines)
    pairs = [
        f"{ids[row]},{label}" for row, has in enumerate(Y) for label, value in zip(labels, has, strict=True) if value
    ]
    rng.shuffle(pairs)
    encoding = marks.get("encoding", "utf-8")
    try:
        second_file = make.lines(["row,label", *pairs]).encode(encoding)
    except UnicodeEncodeError:
        return csv_tags(make)
    return Case(
        data,
        lambda: read_table(io.BytesIO(data), pairs=io.BytesIO(second_file), row_id="id", **marks),
        table.X,
        Y,
        names,
        labels,
    )


def csv_pieces(make: Maker) -> Case:
    """New rows for a model, a few at a time."""
    rng = make.rng
    n, d, k = make.size(7), make.size(5), rng.randrange(1, 3)
    names = make.names(d + k)
    Y = make.labels(n, k)
    table = _cells(make, n, d, names, 0.0)
    lines = [
        table.lines[0],
        *(row + _decimal(truth, table) for row, truth in zip(table.lines[1:], _truths(make, Y, k), strict=True)),
    ]
    data, marks = _written(make, table, lines)
    rows, order = rng.randrange(1, 4), rng.sample(range(d), d)

    def read() -> Any:
        wanted = Wanted([names[place] for place in order], d, names[d:], truth=True)
        pieces = list(NewRows(io.BytesIO(data), wanted, rows=rows, **marks))
        return np.concatenate([piece.X for piece in pieces]), np.concatenate([piece.Y for piece in pieces])

    X = [[row[place] for place in order] for row in table.X]
    return Case(data, read, X, Y, [], [])


def parquet(make: Maker) -> Case:
    """Columns of several types."""
    rng = make.rng
    n, d, k = make.size(5), make.size(4), rng.randrange(1, 3)
    names = make.names(d + k)
    Y, gaps = make.gappy(n, k)
    columns: dict[str, Any] = {}
    X = np.empty((n, d))
    for place in range(d):
        kind = rng.choice(["float64", "float32", "Int64", "UInt64", "boolean", "Float64"])
        gone = [rng.random() < 0.1 for _ in range(n)]
        if kind in ("float64", "Float64"):
            values = [rng.choice(make.pool)[1] for _ in range(n)]
        elif kind == "float32":
            values = [float(np.float32(rng.uniform(-9, 9))) for _ in range(n)]
        else:
            ends = {"Int64": (-(2**63), 2**63 - 1), "UInt64": (0, 2**64 - 1), "boolean": (0, 1)}[kind]
            values = [rng.randint(*ends) for _ in range(n)]
        column = pd.Series(
            [None if is_gone else value for value, is_gone in zip(values, gone, strict=True)], dtype=object
        )
        columns[names[place]] = column.astype(kind)
        X[:, place] = [np.nan if is_gone else float(value) for value, is_gone in zip(values, gone, strict=True)]
    for place, name in enumerate(names[d:]):
        column = [row[place] for row in Y]
        types = ["boolean", "Int8", "float64", "object"] if gaps else ["bool", "int8", "float64"]
        known = pd.Series([None if np.isnan(value) else value for value in column], dtype=object)
        columns[name] = known.astype(rng.choice(types))
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer, compression=rng.choice([None, "snappy", "gzip"]))
    data = buffer.getvalue()
    return Case(data, lambda: read_table(io.BytesIO(data), names[d:], **gaps), X.tolist(), Y, names[:d], names[d:])


FORMS: dict[str, tuple[float, Callable[[Maker], Case]]] = {
    "ARFF, dense": (34, arff_dense),
    "ARFF, sparse": (26, arff_sparse),
    "libsvm": (20, libsvm),
    "libsvm, announced": (13, libsvm_announced),
    "CSV, columns": (4, csv_columns),
    "CSV, tags": (1, csv_tags),
    "CSV, pairs": (0.7, csv_pairs),
    "CSV, in pieces": (1, csv_pieces),
    "Parquet": (0.3, parquet),
}


def bits(X: Any) -> tuple[tuple[int, ...], bytes]:
    """Numbers to the last bit; all NaNs are one."""
    X = np.array(X.toarray() if sparse.issparse(X) else X, np.float64, order="C")
    X[np.isnan(X)] = np.nan
    return X.shape, X.tobytes()


def wrong(case: Case) -> str | None:
    """Say what is read in another way than it was written."""
    try:
        found = case.read()
    except Exception:  # a legal file must be read, so that whatever is raised is wrong
        return traceback.format_exc()
    X, Y = (found.X, found.Y) if hasattr(found, "X") else found
    n = len(case.X)
    expected = np.array(case.X, np.float64).reshape(n, -1)
    if bits(X) != bits(expected):
        return f"features\n{X.toarray() if sparse.issparse(X) else X!r}\nare not\n{expected!r}"
    if bits(Y) != bits(np.array(case.Y, np.float64).reshape(n, -1)):
        return f"labels\n{Y.toarray() if sparse.issparse(Y) else Y!r}\nare not\n{case.Y}"
    if hasattr(found, "X"):
        for what, names, known in (
            ("features", found.feature_names, case.features),
            ("labels", found.label_names, case.labels),
        ):
            if list(names) != known:
                return f"{what} are called {list(names)}, not {known}"
    return None


def run(
    n_files: int, seed: int = 0, start: int = 0
) -> tuple[Counter[tuple[str, str]], list[tuple[int, str, bytes, str]]]:
    """Read files; count them, and collect what was read wrong."""
    make, usual = Maker(seed), source.BLOCK
    counts: Counter[tuple[str, str]] = Counter()
    failures = []
    for place in range(start, start + n_files):
        form, case = make.case(seed, place)
        try:
            source.BLOCK = make.rng.choice(BLOCKS)
            fault = wrong(case)
        finally:
            source.BLOCK = usual
        counts[form, "files"] += 1
        counts[form, "values"] += sum(map(len, case.X))
        if fault:
            counts[form, "wrong"] += 1
            failures.append((place, form, case.data, fault))
        if case.second and place % SECOND == 0:
            counts[case.second[0], _second(case)] += 1
    return counts, failures


def _second(case: Case) -> str:
    """What another library makes of a file."""
    assert case.second
    expected = np.array(case.X, np.float64).reshape(len(case.X), -1)
    try:
        return "same" if bits(case.second[1]()) == bits(expected) else "other"
    except Exception:  # which files it takes is its own affair
        return "refused"


def report(counts: Counter[tuple[str, str]], command: str, seconds: float) -> str:
    """Put the counts together."""
    lines = [
        "# Files of known values",
        "",
        f"`{command}`, {seconds / 60:.0f} minutes of one core. Every value is compared to the last bit,",
        "the sign of zero included, with what Python's `float` makes of its text; labels and names with those written.",
        "In one of seven files of ARFF, CSV with columns and Parquet some labels are missing, and kept so.",
        "",
        "| format | files | values | files read wrong |",
        "|---|---|---|---|",
    ]
    kinds = ("files", "values", "wrong")
    table = {form: [counts[form, kind] for kind in kinds] for form in FORMS}
    table["all"] = [sum(row) for row in zip(*table.values(), strict=True)]
    lines += [f"| {form} | " + " | ".join(f"{n:,}" for n in row) + " |" for form, row in table.items()]
    lines += [
        "",
        f"Others read every {SECOND}th file of those in their format:",
        "",
        "| library | files | as `float` reads them | with other values | refused |",
        "|---|---|---|---|---|",
    ]
    for who in ("liac-arff", "pandas", "scikit-learn"):
        numbers = [counts[who, what] for what in ("same", "other", "refused")]
        lines.append(f"| {who} | " + " | ".join(f"{n:,}" for n in (sum(numbers), *numbers)) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first file, to see one again")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    start = time.process_time()
    counts, failures = run(options.files, options.seed, options.start)
    command = f"python -m attack.readers --files {options.files} --seed {options.seed}"
    text = report(counts, command, time.process_time() - start)
    print(text)
    for place, form, data, fault in failures[:20]:
        print(f"File {place} of seed {options.seed}, {form}: {data!r}\n{fault}\n", file=sys.stderr)
    if failures:
        sys.exit(f"{len(failures):,} of {options.files:,} files were read wrong.")
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
