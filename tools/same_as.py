"""Whether every learner still answers as it did at another commit: what a refactoring must show.

``python -m tools.same_as 1e78cbe`` installs that commit beside the working tree, lets both fit every learner for every
cost with every decoder on three datasets (generated; dense and sparse real ones, if CLEMS_DATA says where they are),
and compares predictions, probabilities, expected costs and the best label vectors to the last bit. It prints what
differs.

With ``--unrounded`` trees grow on targets as they were before these were rounded: nothing then differs from 1e78cbe.

``python -m tools.same_as --kernels Haswell SkylakeX`` compares the working tree with itself under two kernels of
OpenBLAS, which round differently.

The two sides run in processes of their own, which import nothing but numpy, scikit-learn and their clems.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

ROOT = Path(__file__).parents[1]
ROWS = 120, 60  # training rows, new rows
LABELS = 8  # at most
SETTINGS = {"n_trees": 6, "n_rounds": 1, "n_folds": None, "n_samples": 30, "random_state": 0}
LABEL_BASED = ["micro_f1", "macro_f1"]
DECODERS = ["auto", "nearest", "expected", "exact"]
ESTIMATORS = ["forest", "neighbours", "ridge"]  # of CLEMS: each has its own way to probabilities
ALL_DIGITS = 500  # so many binary digits of a target leave it as it is
REAL = {"dense": "emotions", "sparse": "medical"}


def write_data(folder: Path) -> list[str]:
    """Write the datasets as arrays, so that both sides get the same; return their names."""
    from clems.datasets import digit_scenes, load_dataset

    X, Y = digit_scenes(sum(ROWS), random_state=0)
    made: dict[str, tuple[Any, Any]] = {"generated": (X, Y)}
    for name in REAL.values():
        if "CLEMS_DATA" in os.environ:
            data = load_dataset(name)
            chosen = np.random.RandomState(0).permutation(data.X.shape[0])[: sum(ROWS)]
            made[name] = data.X[chosen], sparse.csr_array(data.Y)[chosen].toarray()
    for name, (features, labels) in made.items():
        counts = labels[: ROWS[0]].sum(axis=0, dtype=np.int64)  # signed: the rarest must not come first
        frequent = np.sort(np.argsort(-counts, kind="stable")[:LABELS])
        np.save(folder / f"{name}-Y.npy", labels[:, frequent])
        if sparse.issparse(features):
            sparse.save_npz(folder / f"{name}-X.npz", sparse.csr_array(features))
        else:
            np.save(folder / f"{name}-X.npy", features)
    return list(made)


def read_data(folder: Path, name: str) -> tuple[Any, Any]:
    """Read a dataset back."""
    dense = folder / f"{name}-X.npy"
    X = np.load(dense) if dense.exists() else sparse.load_npz(folder / f"{name}-X.npz")
    return X, np.load(folder / f"{name}-Y.npy")


def models_of(K: int) -> Iterator[tuple[str, Any, list[Any]]]:
    """All that is fitted: a name, the model, and the costs that it is asked to decide for afterwards."""
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsRegressor

    from clems import COSTS, LEARNERS, weighted_hamming

    prices = weighted_hamming([1 + place % 3 for place in range(K)], [1] * K)
    costs: dict[str, Any] = {**{name: name for name in COSTS}, "prices": prices}
    estimators = {"forest": None, "neighbours": KNeighborsRegressor(4), "ridge": Ridge()}
    for name, learner in LEARNERS.items():
        if not getattr(learner, "is_installed", lambda: True)():  # which older commits do not have
            continue
        known = learner().get_params()
        settings = {key: value for key, value in SETTINGS.items() if key in known}
        if not learner.cost_sensitive:
            yield name, learner(**settings), []
            continue
        own = {key: cost for key, cost in costs.items() if name != "pcc" or key != "accuracy"}
        trained = own if learner.cost_at_fit else {"f1": "f1"}
        for key, cost in {**trained, **({one: one for one in LABEL_BASED} if learner.label_based else {})}.items():
            others = list(own.values()) if key == "f1" and learner.cost_at_predict else []
            if "decoder" not in known:
                yield f"{name} {key}", learner(cost=cost, **settings), others
                continue
            for estimator in ESTIMATORS if key in ("f1", "rank") else ESTIMATORS[:1]:
                for decoder in DECODERS[:1] if key in LABEL_BASED else DECODERS:
                    model = learner(cost=cost, decoder=decoder, estimator=estimators[estimator], **settings)
                    yield f"{name} {key} {decoder} {estimator}", model, others


def answers_of(model: Any, X: Any, costs: list[Any]) -> Iterator[tuple[str, np.ndarray]]:
    """All that a model says about new rows."""
    yield "predict", dense(model.predict(X))
    if hasattr(model, "predict_proba"):
        yield "predict_proba", dense(model.predict_proba(X))
    if hasattr(model, "expected_cost") and getattr(model, "cost", None) not in LABEL_BASED:
        yield "expected_cost", dense(model.expected_cost(X))
        yield "top_k", dense(model.top_k(X, 3)[0])
    for cost in costs:
        name = cost if isinstance(cost, str) else "prices"
        yield f"predict for {name}", dense(model.predict(X, cost=cost))


def dense(answer: Any) -> np.ndarray:
    return np.asarray(answer.toarray() if sparse.issparse(answer) else answer, np.float64)


def answer_all(folder: Path, names: list[str], output: Path, unrounded: bool) -> None:
    """Fit everything and write all answers; what is refused is an answer too."""
    warnings.simplefilter("ignore")
    if unrounded and find_spec("clems.trees"):  # commits before had no package of that name, and did not round
        from clems.trees import growing

        growing.DIGITS = ALL_DIGITS
    found: dict[str, np.ndarray] = {}
    for name in names:
        X, Y = read_data(folder, name)
        n = ROWS[0]
        for called, model, costs in models_of(Y.shape[1]):
            try:
                model.fit(X[:n], Y[:n])
                for answer, value in answers_of(model, X[n:], costs):
                    found[f"{name}: {called}: {answer}"] = value
            except ValueError as error:
                found[f"{name}: {called}: refused"] = np.frombuffer(str(error).encode(), np.uint8)
    np.savez_compressed(output, **found)


def compare(now: dict[str, np.ndarray], then: dict[str, np.ndarray]) -> list[str]:
    """Say what differs."""
    lines = [f"{key}: only then" for key in then if key not in now]
    for key in now:
        if key not in then or np.array_equal(now[key], then[key], equal_nan=True):
            continue
        one, other = now[key], then[key]
        if key.endswith("refused") or one.shape != other.shape:
            lines.append(f"{key}: {one.shape} now, {other.shape} then")
            continue
        rows = (one != other).reshape(len(one), -1).any(axis=1)
        lines.append(f"{key}: {rows.sum()} of {len(rows)} rows differ, by at most {np.nanmax(abs(one - other)):.3g}")
    return lines


def install(revision: str, folder: Path) -> Path:
    """Install a commit into a folder, without what it depends on, which both sides share."""
    checkout, target = folder / "checkout", folder / "installed"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", checkout, revision], cwd=ROOT, check=True)
    try:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, "--target", target, checkout], check=True)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", checkout], cwd=ROOT, check=True)
    return target


def answered(
    sides: dict[str, tuple[Path, dict[str, str]]], folder: Path, unrounded: bool
) -> list[dict[str, np.ndarray]]:
    """Answers of each side, which is a folder to import clems from and variables of the environment."""
    names = write_data(folder)
    for missing in {*REAL.values()} - {*names}:
        print(f"Without CLEMS_DATA there is no {missing}.", file=sys.stderr)
    running = []
    for side, (source, variables) in sides.items():
        own = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1", **variables}
        command = [sys.executable, __file__, side, "--answer", str(folder), f"{folder}/{side}.npz", *names]
        command += ["--unrounded"] if unrounded else []
        running.append(subprocess.Popen(command, env=own))
    ends = [process.wait() for process in running]
    if any(ends):
        sys.exit("One side failed.")
    return [dict(np.load(folder / f"{side}.npz")) for side in sides]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", nargs="?", help="the commit to compare with")
    parser.add_argument("--kernels", nargs=2, help="compare kernels of OpenBLAS instead, such as Haswell SkylakeX")
    parser.add_argument("--unrounded", action="store_true", help="do not round what trees are grown on")
    parser.add_argument("--answer", nargs="+", help=argparse.SUPPRESS)  # one side of the comparison
    options = parser.parse_args()
    if options.answer:
        folder, output, *names = options.answer
        return answer_all(Path(folder), names, Path(output), options.unrounded)
    with tempfile.TemporaryDirectory() as place:
        folder, here = Path(place), ROOT / "src"
        if options.kernels:
            sides = {kernel: (here, {"OPENBLAS_CORETYPE": kernel}) for kernel in options.kernels}
        elif options.revision:
            sides = {"now": (here, {}), "then": (install(options.revision, folder), {})}
        else:
            parser.error("a commit, or --kernels")
        now, then = answered(sides, folder, options.unrounded)
    lines = compare(now, then)
    print("\n".join(lines), end="\n" if lines else "")
    other = f"with {options.kernels[1]}" if options.kernels else f"at {options.revision}"
    new = f"; {len({*now} - {*then})} questions had no answer there" if {*now} - {*then} else ""
    print(f"{len(then)} answers, {len(lines)} of them other than {other}{new}.")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
