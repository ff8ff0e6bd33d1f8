"""How time grows with label vectors and rows, on generated data, as exponents and as ratios to scikit-learn.

Usage: python -m benchmarks.scale [PART ...] [--most 1000000] [--size 0.15] [--output FILE]

Times are processor time of one thread, so that they do not depend on what else the machine does; a part replaces its
section of the output and leaves the others as they are.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.limits import forget_peak, resident
from benchmarks.zipf import codes_of, words_of, zipf_rows, zipf_sets
from clems import CLEMS, COSTS, CostSensitiveClassifier, Posterior
from clems.decisions.nearest import nearest
from clems.decisions.nearest_index import made
from clems.embedding.candidates import choose_candidates
from clems.embedding.landmarks import embed_by_landmarks, sampled_stress
from clems.embedding.smacof import label_start, mirrored_smacof

GRID = (10_000, 30_000, 100_000, 300_000, 1_000_000)
LABELS, COMPONENTS, LANDMARKS = 1000, 256, 1000
OWN = 200  # label vectors of a row of the posteriors that are decided
HEAD = "# Scale\n\nMade by `make bench-scale`: processor time of one thread on generated data.\n"
VERDICT = 1  # seed of the twin; seed 0 is the one that ways to mix and calibrate were chosen on


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = process_time()
    result = function()
    return process_time() - start, result


def commit() -> str:
    """Commit at which a section is measured, as sections are measured one by one."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def exponent(sizes: Any, seconds: Any) -> float:
    """Slope of the logarithms of seconds over those of sizes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def peak() -> float:
    """Peak memory of the process so far, GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def roots(truths: Any, predictions: Any) -> Any:
    return np.sqrt(COSTS["f1"].of_pairs(truths, predictions, np.float32))


def unit() -> float:
    """Seconds of a forest of scikit-learn, of which times are multiples."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((10_000, 50)), rng.standard_normal((10_000, 20))
    return timed(lambda: ExtraTreesRegressor(10, max_features="sqrt", random_state=0).fit(X, Y))[0]


def posterior_over(labels: Any, n: int, seed: int = 0) -> Posterior:
    """A posterior of rows that have 200 of the label vectors each."""
    rng = np.random.default_rng(seed)
    index = np.sort(rng.integers(labels.shape[0], size=(n, OWN)), axis=1)
    share = rng.dirichlet(np.full(OWN, 0.3), size=n)
    bounds = np.arange(0, n * OWN + 1, OWN)
    return Posterior(labels, sparse.csr_array((share.ravel(), index.ravel(), bounds), (n, labels.shape[0])))


def growth(options: argparse.Namespace) -> str:
    """Candidates, embedding and decisions over the number of label vectors."""
    sizes = [L for L in GRID if options.most >= L]
    forest, found, lines = unit(), [], []
    for L in sizes:
        Y = zipf_sets(L, LABELS)
        first, candidates = timed(lambda Y=Y: choose_candidates(Y, "observed", COSTS["f1"], np.random.RandomState(0)))
        labels = candidates.labels
        second, embedding = timed(
            lambda labels=labels, L=L: embed_by_landmarks(
                labels, np.ones(L), roots, COMPONENTS, LANDMARKS, np.random.RandomState(0)
            )
        )
        stress, memory = embedding.stress, peak()
        points, among = embedding.truth[:: L // 500][:500] + 0.0, embedding.prediction
        third, exact = timed(lambda points=points, among=among: nearest(points, among))
        recall, fourth = "", float("nan")
        if L >= 50_000:
            index = made(among, points[:200], lambda some, among=among: nearest(some, among))
            fourth, near = timed(lambda points=points, index=index: index(points))
            recall = f"{np.mean(near == exact):.3f}"
        del embedding, among
        decisions = []
        for decide in (
            lambda one: one.decide("f1"),
            lambda one: one.decide("accuracy"),
            lambda one: one.top_k(5, "f1"),
        ):
            posterior = posterior_over(labels, 100)
            decisions.append(timed(lambda decide=decide, posterior=posterior: decide(posterior))[0])
        found.append([first, second, *decisions, third])
        cells = [f"{seconds / forest:.3g}" for seconds in (first, second)]
        cells += [f"{10 * seconds:.2f}" for seconds in decisions]  # of 100 rows: milliseconds of one
        cells += [f"{2 * third:.2f}", f"{2 * fourth:.2f}" if recall else "", recall, f"{stress:.5f}", f"{memory:.2f}"]
        lines.append(f"| {L:,} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    slopes = [f"{exponent(sizes, seconds):.2f}" for seconds in np.transpose(found)]
    lines.append(f"| exponent | {' | '.join(slopes)} | | | | |")
    head = (
        f"Label vectors by Zipf's law of {LABELS:,} labels, {LANDMARKS:,} landmarks, M = {COMPONENTS}. Candidates and "
        f"embedding: processor time over that of scikit-learn's ExtraTreesRegressor of 10 trees for 10,000 rows, 50 "
        f"features and 20 outputs ({forest:.1f} s). Decisions: milliseconds for a row that has {OWN} label vectors. "
        "Nearest: milliseconds for a row, exact and by an index of faiss, with its recall. Stress of all pairs, "
        "estimated; peak memory of the process up to the embedding.\n\n"
        "| L | candidates | embedding | F1 | accuracy | top_k | nearest, exact | by index | recall | stress | GiB |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(lines)


def solver(options: argparse.Namespace) -> str:
    """Landmarks beside the solver of all pairs: stress, time and what CLEMS costs."""
    n, L = int(12_000 * options.size / 0.15), int(10_000 * options.size / 0.15)
    labels, lines = zipf_sets(L, LABELS), []
    whole, full = timed(
        lambda: mirrored_smacof(
            roots(labels, labels), label_start(labels.toarray(), COMPONENTS, np.random.RandomState(0)), tol=1e-2
        )
    )
    part, placed = timed(
        lambda: embed_by_landmarks(labels, np.ones(L), roots, COMPONENTS, LANDMARKS, np.random.RandomState(0))
    )
    stresses = [
        sampled_stress(labels, np.ones(L), roots, one.truth, one.prediction, np.random.RandomState(1))
        for one in (full, placed)
    ]
    lines.append(
        f"{L:,} label vectors, M = {COMPONENTS}, float32: stress {stresses[0]:.5f} by the solver of all, "
        f"{stresses[1]:.5f} by {LANDMARKS:,} landmarks, in {part / whole:.3f} of the time."
    )
    Y = zipf_rows(n, L, LABELS)
    X = words_of(Y, 1500)
    train, test = slice(0, n * 5 // 6), slice(n * 5 // 6, n)
    lines += ["", "| test cost (F1) of CLEMS, 20 trees | all | landmarks | ratio |", "|---|---|---|---|"]
    for decoder in ("nearest", "auto"):
        costs = []
        for given in (None, LANDMARKS):
            model = CLEMS(
                decoder=decoder, n_trees=20, landmarks=given, n_components=COMPONENTS, dtype="float32", random_state=0
            )
            costs.append(1 - model.fit(X[train], Y[train]).score(X[test], Y[test]))
        lines.append(f"| decoder={decoder!r} | {costs[0]:.4f} | {costs[1]:.4f} | {costs[1] / costs[0]:.4f} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def twin(options: argparse.Namespace) -> str:
    """A twin of eurlex57k beside one-vs-rest linear support vector machines, decided as exactly."""
    own = ours_on_twin(options.size)
    theirs, machines = timed(
        lambda: CostSensitiveClassifier(LinearSVC(dual=True), "f1", random_state=0).fit(*own.training)
    )
    return (
        f"{own.text}, {own.seconds / theirs:.2f} of that of these calibrated and decided exactly "
        f"(CostSensitiveClassifier), whose F1 is {f1_of(machines, *own.test):.4f}."
    )


def whole(options: argparse.Namespace) -> str:
    """The twin at full size, where calibrating one machine per label five times would take hours."""
    return f"{ours_on_twin(1.0).text}."


class Ours(NamedTuple):
    """How CLEMS does on a twin: seconds of its fit, the rows, and all of it in words."""

    seconds: float
    training: tuple[Any, Any]
    test: tuple[Any, Any]
    text: str


def ours_on_twin(size: float) -> Ours:
    """Fit CLEMS to a twin of a share of the size of eurlex57k, and compare its time with that of plain machines."""
    n, d, K, L = int(45_000 * size), int(5000 * size**0.5), int(4271 * size), int(30_000 * size)
    Y = zipf_rows(n * 11 // 10, L, K, VERDICT)
    X = words_of(Y, d, VERDICT)
    training, test = ((X[rows], Y[rows]) for rows in (slice(0, n), slice(n, n + min(500, n // 10))))
    before = peak()
    seconds, model = timed(lambda: CLEMS(n_trees=50, random_state=0).fit(*training))
    memory = peak() - before
    asked, _ = timed(lambda: model.predict(test[0]))
    some = range(0, K, step := max(1, K // 50))
    alone, _ = timed(lambda: [fitted(*training, label) for label in some])
    text = (
        f"{size:g} of the size of eurlex57k: {n:,} rows, {d:,} features, {K:,} labels, {len(model.candidates_):,} "
        f"label vectors; CLEMS with 50 trees and experts. F1 {f1_of(model, *test):.4f}. Predict: "
        f"{1e3 * asked / test[0].shape[0]:.2f} ms a row. Fit: {memory:.2f} GiB beyond the data, "
        f"{seconds / (alone * K / len(some)):.2f} of the processor time of one-vs-rest LinearSVC (one fit of each "
        f"label, extrapolated from every {step}th)"
    )
    return Ours(seconds, training, test, text)


def f1_of(model: Any, X: Any, Y: Any) -> float:
    return float(1 - COSTS["f1"].rowwise(Y, model.predict(X)).mean())


def fitted(X: Any, Y: Any, label: int) -> Any:
    y = Y[:, [label]].toarray().ravel()
    return LinearSVC(dual=True, random_state=0).fit(X, y) if 0 < y.sum() < len(y) else None


def rows(options: argparse.Namespace) -> str:
    """Time and memory over the number of rows, beside scikit-learn's forest of the same number of trees."""
    sizes = [n for n in (10_000, 100_000, 300_000, 1_000_000) if n <= options.rows]
    found, lines = [], []
    for n in sizes:
        Y = zipf_rows(n, 500, 20).toarray()
        X = codes_of(sparse.csr_array(Y), 50)
        before, model = forget_peak(), CLEMS(n_trees=20, random_state=0)
        ours, _ = timed(lambda X=X, Y=Y, model=model: model.fit(X, Y))
        memory = (resident("VmHWM") - before) / 2**30
        del model
        forest = ExtraTreesClassifier(20, random_state=0)
        theirs, _ = timed(lambda X=X, Y=Y, forest=forest: forest.fit(X, Y))
        found.append(ours)
        lines.append(f"| {n:,} | {ours / theirs:.2f} | {memory:.2f} |")
        print(lines[-1], flush=True)
    head = (
        "CLEMS with 20 trees and experts, 50 dense features, 20 labels, 500 label vectors: processor time of fit over "
        "that of scikit-learn's ExtraTreesClassifier with 20 trees, and memory beyond X.\n\n"
        "| n | time / forest | GiB |\n|---|---|---|\n"
    )
    if len(sizes) < 3:
        return head + "\n".join(lines)
    slopes = f"Exponent in n: {exponent(sizes[1:], found[1:]):.2f} from {sizes[1]:,} rows on"
    return head + "\n".join(lines) + f"\n\n{slopes}, {exponent(sizes, found):.2f} from {sizes[0]:,} on."


def latency(options: argparse.Namespace) -> str:
    """Milliseconds for one row at 3,000 label vectors and 100 labels."""
    Y = zipf_rows(4000, 3000, 100)
    X = codes_of(Y, 50)
    model = CLEMS(random_state=0).fit(X[:3900], Y[:3900])
    other, row = model.with_decoder("expected"), X[3900:]
    ways = {
        "F1, exact": model.predict,
        "F1, decoder='expected'": other.predict,
        "accuracy": lambda x: model.predict(x, cost="accuracy"),
        "top_k(3)": lambda x: model.top_k(x, 3),
    }
    lines = [f"{len(model.candidates_):,} label vectors, 100 labels, 100 trees and experts, median of 50 rows.", ""]
    lines += ["| one row | ms |", "|---|---|"]
    for name, answer in ways.items():
        answer(row[:1])
        times = [timed(lambda answer=answer, at=at: answer(row[at : at + 1]))[0] for at in range(50)]
        lines.append(f"| {name} | {1e3 * np.median(times):.1f} |")
    return "\n".join(lines)


def draw(text: str, path: Path) -> None:
    """Draw the growth curves of a result file, with the exponents that are in it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    section = text.partition("## Growth")[2].partition("\n## ")[0]
    table = [line.strip("| ").split("|") for line in section.splitlines() if line[:2] == "| "]
    names, *lines = [[cell.strip() for cell in line] for line in table]
    slopes = next(line for line in lines if line[0] == "exponent")
    lines = [line for line in lines if line[0][0].isdigit()]
    sizes = [int(line[0].replace(",", "")) for line in lines]
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for column in range(1, 7):
        values = np.array([float(line[column]) for line in lines])
        axes.loglog(sizes, values / values[0], "o-", label=f"{names[column]}: L^{slopes[column]}")
    axes.loglog(sizes, np.array(sizes) / sizes[0], "k:", label="L^1")
    axes.set(xlabel="label vectors L", ylabel=f"time over that at {sizes[0]:,}")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


PARTS: dict[str, Callable[[argparse.Namespace], str]] = {
    "growth": growth,
    "solver": solver,
    "twin": twin,
    "whole": whole,
    "rows": rows,
    "latency": latency,
}


def sections_of(text: str) -> dict[str, str]:
    """Sections of a result file by the parts that make them; without the commit of the whole, as each has its own."""
    found = re.findall(r"^## (\w+)\n\n(.*?This section: commit \w+\.)$", text, re.DOTALL | re.MULTILINE)
    return {title.lower(): section for title, section in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[*PARTS])
    parser.add_argument("--most", type=int, default=GRID[-1], help="most label vectors")
    parser.add_argument("--rows", type=int, default=1_000_000, help="most rows")
    parser.add_argument("--size", type=float, default=0.15, help="of the twin, as a share of eurlex57k")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--figure", type=Path, help="where to draw the growth curves of the output")
    options = parser.parse_args()
    known = sections_of(options.output.read_text()) if options.output and options.output.exists() else {}
    for name in options.parts:
        with threadpool_limits(1):
            known[name] = f"{PARTS[name](options)}\n\nThis section: commit {commit()}."
        print(f"## {name.capitalize()}\n\n{known[name]}\n", flush=True)
        text = HEAD + "".join(f"\n## {one.capitalize()}\n\n{known[one]}\n" for one in PARTS if one in known)
        if options.output:
            options.output.write_text(text)
    if options.figure:
        draw(text, options.figure)


if __name__ == "__main__":
    main()
