"""The report that the home page shows: written anew by each build, by the package itself."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

TRAIN = 800
PRICES = [5] * 9 + [20]


def write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.name != "html":
        return
    from clems import CLEMS, weighted_hamming
    from clems.datasets import digit_scenes
    from clems.evaluation.report import write_report

    X, Y = digit_scenes(TRAIN + 400, random_state=0)
    model = CLEMS(weighted_hamming(PRICES, 2, name="prices"), random_state=0).fit(X[:TRAIN], Y[:TRAIN])
    pictures = X[TRAIN:].reshape(-1, 11, 11)
    output = Path(app.outdir, "live-report.html")
    write_report(model, X[TRAIN:], Y[TRAIN:], output, title="Which digits are there?", images=pictures, unit="€")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
