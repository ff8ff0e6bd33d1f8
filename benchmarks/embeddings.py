"""Time and memory of label embeddings at EUR-Lex's size, beside a joint forest of ten trees in the same run.

Usage: python -m benchmarks.embeddings [--output FILE] [--runs 1] [--rows 19348] [--only CCA,LEML]
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from threadpoolctl import threadpool_limits

from benchmarks.chains import peak_growth, times
from benchmarks.data import like_eurlex
from clems import BCS, CCA, CCAOC, CLEMS, CPLST, CRITERIA, CS, CSRPE, CSSP, ECC, GLE, LEML, MOPLMS, PLST, SLEEC, FaIE

NOTHING = DummyClassifier()  # learns nothing, so that what remains of a fit is what the embedding adds to it
EMBEDDINGS = {
    "PLST": PLST(),
    "CPLST": CPLST(),
    "FaIE, alpha given": FaIE(alpha=10.0),
    "FaIE, alpha chosen": FaIE(),
    "SLEEC": SLEEC(),
    "SLEEC, M = K / 4": SLEEC(n_components=0.25),
    "CCA": CCA(),
    "CSSP": CSSP(),
    "MOPLMS": MOPLMS(),
    "MOPLMS, M = K / 4": MOPLMS(n_components=0.25),
    "CS": CS(),
    "CLEMS, F1": CLEMS(),
    "LEML": LEML(estimator=DummyRegressor()),
    "LEML, M = K / 4": LEML(n_components=0.25, estimator=DummyRegressor()),
    "BCS": BCS(estimator=DummyRegressor(), random_state=0),
    "ECC, rrep": ECC("rrep", estimator=NOTHING, random_state=0),
    "ECC, hamr": ECC("hamr", estimator=NOTHING, random_state=0),
    "CCAOC, balance given": CCAOC(balance=1.0, estimator=NOTHING, random_state=0),
    "CCAOC, balance chosen": CCAOC(estimator=NOTHING, random_state=0),
    "CSRPE, sharpness given": CSRPE(sharpness=1.0, estimator=NOTHING, random_state=0),
    "CSRPE, sharpness chosen": CSRPE(estimator=NOTHING, random_state=0),
    "GLE": GLE(estimator=NOTHING, random_state=0),
}
WHOLE = (LEML, BCS, ECC, CCAOC, CSRPE, GLE)  # whose code is part of their fit
FOREST = ExtraTreesRegressor(10, max_features="sqrt", random_state=0)
TEXT = """\
# Embeddings

Made by `make bench-embeddings` on generated data of EUR-Lex's size: {n:,} rows, {d:,} features, {density:.1%} of them
not zero, {K} labels, {cardinality:.2f} per row, M = K.

Time of encoding over that of scikit-learn's ExtraTreesRegressor with 10 trees that try the root of the number of
features, fitted to the labels: median of {runs} run(s) taken in turns, one thread. For {whole}
it is the whole `fit` with an estimator that learns nothing, which has the code checked, decoded or calibrated, too.
C2AE is not here: its code is a network. Memory is the growth of the peak meanwhile, in a process of its own, over the
size of the input, {megabytes:.0f} MB; the codes themselves are {codes:.1f} times that.

| | time / forest | memory / input |
|---|---|---|
"""


def encode(name: str, X, Y) -> None:
    """Learn the embedding and encode the labels of all rows."""
    model = EMBEDDINGS[name]
    if isinstance(model, WHOLE):
        model.fit(X, Y)
    elif isinstance(model, CLEMS):
        model.criterion_ = CRITERIA["f1"]
        model._embed(Y, None, np.random.RandomState(0))
    else:
        model._encode(X, Y, None, np.random.RandomState(0))


def size_of(*arrays) -> float:
    """Megabytes of dense and sparse arrays."""
    parts = [part for a in arrays for part in ((a.data, a.indices, a.indptr) if sparse.issparse(a) else (a,))]
    return sum(part.nbytes for part in parts) / 2**20


def _growth(name: str, rows: int, queue) -> None:
    queue.put(peak_growth(encode, name, *like_eurlex(rows)))


def growth(name: str, rows: int) -> float:
    """Growth of the peak memory in MB while encoding, in a new process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_growth, args=(name, rows, queue))
    process.start()
    grown = queue.get()
    process.join()
    return grown


def table(rows: int, runs: int, only: Sequence[str]) -> str:
    names = [name for name in EMBEDDINGS if not only or name.partition(",")[0] in only]
    X, Y = like_eurlex(rows)
    megabytes = size_of(X, Y)
    text = TEXT.format(
        n=X.shape[0],
        d=X.shape[1],
        K=Y.shape[1],
        density=X.nnz / np.prod(X.shape),
        cardinality=Y.sum(axis=1).mean(),
        runs=runs,
        megabytes=megabytes,
        codes=8 * Y.size / 2**20 / megabytes,
        whole=", ".join(kind.__name__ for kind in WHOLE),
    )
    calls = [partial(FOREST.fit, X, Y), *(partial(encode, name, X, Y) for name in names)]
    with threadpool_limits(1):
        seconds = times(runs, *calls)
    ratios = np.median(seconds[:, 1:] / seconds[:, :1], axis=0)
    for name, ratio in zip(names, ratios, strict=True):
        text += f"| {name} | {ratio:.3f} | {growth(name, rows) / megabytes:.1f} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rows", type=int, default=19_348)
    parser.add_argument("--output", type=Path, help="write the table here too")
    parser.add_argument("--only", default="", help="names, separated by commas")
    arguments = parser.parse_args()
    text = table(arguments.rows, arguments.runs, [name for name in arguments.only.split(",") if name])
    print(text)
    if arguments.output:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
