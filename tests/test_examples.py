"""Scripts of the gallery have its form, and the educational twin of CLEMS computes what CLEMS computes.

`make docs` runs them all; here run the two that take the least time.
"""

import ast
import importlib.util
import re
import runpy
import sys
from functools import cache, partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from rich.console import Console
from sklearn.neighbors import KNeighborsRegressor

from clems import CLEMS, COSTS, mirrored_smacof
from clems.datasets import digit_scenes
from clems.embedding.smacof import label_start
from clems.evaluation.savings import amount

X, Y = digit_scenes(500, random_state=4)
TRAIN, TEST = slice(350), slice(350, None)
NEIGHBOURS = KNeighborsRegressor(12, weights="distance")


EXAMPLES = Path(__file__).parents[1] / "examples"
GALLERY = sorted(EXAMPLES.glob("plot_*.py"))
QUICK = ["plot_07_reading_files", "plot_16_stratified_splits"]
INSTALLED = {"clems", "matplotlib", "numpy", "pandas", "scipy", "sklearn"}  # what the extra `report` brings, and less


@cache
def example(name):
    path = EXAMPLES / f"{name}.py"
    module = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location(name, path))
    spec.loader.exec_module(module)
    return module


twin = example("plot_23_clems_in_sixty_lines")
COSTS_OF_TWIN = {"hamming": twin.hamming_cost, "f1": twin.f1_cost}


@pytest.mark.parametrize("name", COSTS_OF_TWIN)
def test_costs_of_the_twin_are_those_of_the_library(name):
    every = (np.arange(32)[:, None] >> np.arange(5)) & 1
    wanted = COSTS[name].pairwise(every, every)
    np.testing.assert_allclose(COSTS_OF_TWIN[name](every.astype(float), every), wanted, atol=1e-15)


@pytest.mark.parametrize("cost", ["hamming", "f1", "rank"])
def test_the_twin_embeds_as_well_as_the_solver(cost):
    """Both end at a minimum: the same stress up to one part in a thousand, or up to 1e-9 where there is none."""
    labels, frequency = np.unique(Y, axis=0, return_counts=True)
    points = labels.astype(float)
    *_, stress = twin.embed(points, COSTS[cost].pairwise, frequency)
    D = np.sqrt(COSTS[cost].pairwise(labels, labels))
    solved = mirrored_smacof(D, label_start(labels, 10, np.random.RandomState(1)), frequency, tol=1e-8)
    assert stress == pytest.approx(solved.stress, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("seed", [2, 4])
@pytest.mark.parametrize("cost", ["hamming", "f1", "rank"])
def test_the_twin_decides_as_clems_does(cost, seed, monkeypatch):
    """Once both are at the minimum: after a thousand steps, one row of 150 may still be decided otherwise."""
    monkeypatch.setattr(twin, "embed", partial(twin.embed, steps=3000))
    X, Y = digit_scenes(500, random_state=seed)
    model = CLEMS(cost, decoder="nearest", estimator=NEIGHBOURS, tol=1e-9, max_iter=5000, random_state=0)
    wanted = model.fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
    found = twin.clems(X[TRAIN], Y[TRAIN], X[TEST], COSTS[cost].pairwise, NEIGHBOURS)
    assert np.array_equal(found, wanted)


def test_the_twin_prints_that_either_of_its_two_costs_is_less_where_it_was_trained_for(capsys):
    twin.main()
    _, *rows = capsys.readouterr().out.splitlines()
    means = np.array([row.split()[-2:] for row in rows], float)
    assert means.argmin(axis=0).tolist() == [0, 1]


def title_of(path):
    """Title of a script: the first line of its docstring, underlined."""
    title, line, blank, *paragraph = ast.get_docstring(ast.parse(path.read_text("utf-8"))).split("\n")
    assert line == "=" * len(title), "reST wants the line as long as the title"
    assert not blank
    assert paragraph, "one paragraph says what the script is about"
    assert "" not in paragraph, "one paragraph"
    return title


def test_the_gallery_has_a_title_for_each_of_its_questions():
    titles = [title_of(path) for path in GALLERY]
    assert len(titles) == len(set(titles)) >= 24
    places = [int(re.match(r"plot_(\d\d)_", path.name)[1]) for path in GALLERY]
    assert places == [*range(1, len(GALLERY) + 1)]


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_needs_nothing_but_the_package_and_ends_in_a_picture(path):
    text = path.read_text("utf-8")
    cells = text.split("\n# %%\n")
    assert len(cells) > 2, "short cells"
    assert all(re.match(r"# \S", cell) for cell in cells[1:]), "each begins with prose"
    assert text.count("plt.show()") == 1
    assert "plt.show()" in cells[-1]
    assert text.count('plt.style.use("clems.figures")') == 1
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.split(".")[0])
    beside = {other.stem for other in EXAMPLES.glob("*.py")}
    assert imported <= INSTALLED | beside | sys.stdlib_module_names


@pytest.mark.parametrize("name", QUICK)
def test_quick_scripts_of_the_gallery_run(name, monkeypatch, capsys):
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(plt, "show", lambda: None)
    with mpl.rc_context({"backend": "agg"}):
        runpy.run_path(f"{name}.py", run_name="__main__")
        figures = plt.get_fignums()
        plt.close("all")
    assert len(figures) == 1
    assert capsys.readouterr().out


def test_the_demo_shows_money_and_a_promise_that_are_those_of_its_rows(monkeypatch, capsys):
    demo = example("demo")
    parts = {"TRAIN": slice(150), "TEST": slice(150, 300), "CALIBRATION": slice(300, 500)}
    for name, rows in parts.items():
        monkeypatch.setattr(demo, name, rows)
    monkeypatch.setattr(demo, "LEVEL", 8)
    model = CLEMS(demo.PRICES, n_trees=10, random_state=0).fit(X[parts["TRAIN"]], Y[parts["TRAIN"]])
    console = Console(width=400)
    demo.show_money(model, X, Y, console)
    demo.show_promise(model, X, Y, console)
    printed = capsys.readouterr().out
    truth, predicted = Y[parts["TEST"]], model.predict(X[parts["TEST"]])
    paid = demo.PRICES.rowwise(truth, predicted)
    nothing = demo.PRICES.rowwise(truth, np.zeros_like(truth))
    assert f"pays {amount(paid.sum(), '€')} on the test pictures" in printed
    saved = next(line for line in printed.splitlines() if "predicting nothing" in line)
    assert amount(nothing.sum() - paid.sum(), "€") in saved
    assert "at most 8 € a picture" in printed
    assert f"all of them, {amount(paid.mean(), '€')}." in printed
    share, kept = re.search(r"hands over (\d+)% and pays (\S+) €", printed).groups()
    assert 0 < int(share) < 100
    assert float(kept) < paid.mean()
