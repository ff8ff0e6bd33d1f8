"""What is written reads back as what was computed; figures show every learner."""

import builtins
import csv
import io
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from made_records import FAILED, decision, make_plan, planned, record

from clems import CRITERIA
from clems.experiments import figures, tables
from clems.experiments.report import show_report, statistics, write_report
from clems.experiments.selection import results, summary
from clems.experiments.tables import Cell, make_table, read_printed, to_csv, to_latex, to_markdown, to_rich

CELL = re.compile(r"(−?[\d.]+) ± ([\d.]+) \((\d+)\)")
LEARNERS = ["alpha", "beta", "gamma_1"]


def store(datasets="pqr", criteria=("f1", "rank"), positions=None, repetitions=4, **settings):
    """A plan and all of its records, with noise around levels of learners."""
    rng = np.random.default_rng(0)
    places, records = [], {}
    for dataset in datasets:
        for repetition in range(repetitions):
            shared = rng.normal(0, 0.05)
            for level, learner in enumerate(LEARNERS):
                for x in (positions or {}).get(learner, [None]):
                    places.append(planned(learner, dataset, repetition, x=x))
                    value = 0.3 + 0.1 * level + shared + rng.normal(0, 0.02)
                    seconds = {"fit": float(np.exp(rng.normal(level))), "predict": 0.1 + level}
                    test = {"f1": value, "rank": 3 * value}
                    records[places[-1].trial.key] = record(decision(test), **seconds)
    return make_plan(places, criteria, **settings), records


def printed_file(tmp_path):
    path = tmp_path / "printed.csv"
    path.write_text("dataset,learner,criterion,mean,ste\np,alpha,f1,0.25,0.01\np,beta,f1,0.5,\n")
    return path


def rows_of(markdown):
    lines = [line.strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def rows_of_latex(text):
    body = text.partition("\\midrule")[2].partition("\\bottomrule")[0]
    lines = [line.removesuffix(" \\\\").split(" & ") for line in body.splitlines() if line.endswith("\\\\")]
    for latex, plain in (("$\\pm$", "±"), ("$-$", "−"), ("$\\approx$", "≈"), ("$\\uparrow$", "↑")):
        lines = [[cell.replace(latex, plain) for cell in line] for line in lines]
    return lines


@pytest.mark.parametrize("rows", [lambda t: rows_of(to_markdown(t)), lambda t: rows_of_latex(to_latex(t))])
def test_written_tables_read_back(rows):
    plan, records = store()
    cells = summary(results(plan, records)).set_index(["dataset", "criterion", "learner"])
    table = make_table(plan, records)
    written = rows(table)
    assert len(written) == len(table.rows) == 6
    for row, (dataset, heading, *texts) in zip(table.rows, written, strict=True):
        assert (dataset, heading[:2]) == (row.dataset, row.heading[:2])
        for name, text in zip(LEARNERS, texts, strict=True):
            mean, error, rank = CELL.search(text).groups()
            own = cells.loc[row.dataset, row.criterion, name]
            half = 0.5001 * 10.0**-row.decimals
            assert float(mean) == pytest.approx(own["mean"], abs=half)
            assert float(error) == pytest.approx(own["standard_error"], abs=half)
            assert int(rank) == own["rank"]
            assert (("**" in text) or ("textbf" in text)) == own["is_best"]


def test_csv_keeps_all_digits(tmp_path):
    plan, records = store(printed=printed_file(tmp_path))
    text = to_csv(make_table(plan, records))
    lines, cells = [*csv.DictReader(io.StringIO(text))], summary(results(plan, records))
    for column in ("mean", "standard_error", "n", "planned", "rank"):
        assert [float(line[column]) for line in lines] == cells[column].tolist()
    frame = pd.read_csv(io.StringIO(text))
    own = frame.set_index(["dataset", "criterion", "learner"]).loc["p", "f1", "alpha"]
    assert own["deviation"] == pytest.approx((own["mean"] - 0.25) / np.hypot(own["standard_error"], 0.01))
    assert frame["deviation"].count() == 1  # beta is printed without a standard error
    assert frame["printed"].count() == 2


def test_best_follows_the_direction_and_arrows_show_it():
    plan, records = store()
    for row in make_table(plan, records).rows:
        assert row.heading == f"{CRITERIA[row.criterion].title} {CRITERIA[row.criterion].arrow}"
        assert [name for name, cell in row.cells.items() if cell.best] == [
            "gamma_1" if row.criterion == "f1" else "alpha"
        ]


def test_the_papers_values_stand_below(tmp_path):
    plan, records = store(printed=printed_file(tmp_path))
    table = make_table(plan, records)
    ours, paper, other, *_ = rows_of(to_markdown(table))
    assert (ours[:2], paper[:2], other[:2]) == (["p", "F1 ↑"], ["", "paper"], ["p", "rank ↓"])
    assert re.fullmatch(r"0\.250 ± 0\.010 \[[+−]\d+\.\d\]", paper[2])
    assert paper[3:] == ["0.500", ""]
    assert any("the paper prints" in sentence for sentence in table.legend)


def test_printed_values_need_their_columns(tmp_path):
    path = tmp_path / "printed.csv"
    path.write_text("dataset,learner,criterion,mean\np,a,f1,0.5\n")
    with pytest.raises(ValueError, match=r"printed\.csv has no column ste; printed values need dataset, learner"):
        read_printed(path)
    path.write_text("dataset,learner,criterion,mean,ste\np,a,f1,high,\n")
    with pytest.raises(ValueError, match=r"printed\.csv has a mean or ste that is not a number"):
        read_printed(path)


def test_partial_stores_show_what_they_have():
    plan, records = store()
    keys = {(one.learner, one.trial.dataset, one.trial.repetition): one.trial.key for one in plan.planned}
    for repetition in range(4):
        del records[keys["alpha", "q", repetition]]
    records[keys["beta", "p", 0]] = FAILED
    table = make_table(plan, records)
    assert table.missing == [
        "5 of 36 trials are missing: beta on p (1), alpha on q (4).",
        "beta failed on p once: ValueError: too few rows.",
    ]
    rows = rows_of(to_markdown(table))
    assert rows[0][3].endswith("n=3")
    assert rows[2][2] == "missing"
    assert "Where n is given, only n repetitions are there." in table.legend
    assert statistics(plan, records)[1].startswith("Ranks over datasets need at least 3 datasets")
    nothing = make_table(plan, {})
    assert {cell for row in rows_of(to_markdown(nothing)) for cell in row[2:]} == {"missing"}


def test_a_choice_among_fewer_trials_is_marked():
    grid = [planned("a", parameters=f'{{"n": {n}}}') for n in range(2)]
    table = make_table(make_plan(grid), {grid[0].trial.key: record(decision({"f1": 0.5}))})
    assert rows_of(to_markdown(table)) == [["d", "F1 ↑", "0.5000 †"]]
    assert any(sentence.startswith("†: some parameters were not tried") for sentence in table.legend)


def test_without_a_rule_there_is_a_dash():
    plan, records = store(without_rule={("beta", "rank")})
    rows = rows_of(to_markdown(make_table(plan, records)))
    assert [row[3] == "–" for row in rows] == [False, True] * 3
    assert [len(row) for row in rows] == [5] * 6
    blind = planned("a", costs=("f1",))
    table = make_table(make_plan([blind], ["f1", "micro_f1"]), {})
    assert [row[2] for row in rows_of(to_markdown(table))] == ["missing", "–"]


def test_only_rivals_that_are_not_worse_are_marked():
    assert Cell(0.5, 0.01, 4, 4, 2, p=0.3, worse=False).text(2) == "0.50 ± 0.01 (2) ≈"
    assert Cell(0.5, 0.01, 4, 4, 2, p=0.01, worse=True).text(2) == "0.50 ± 0.01 (2)"
    assert Cell(0.5, 0.01, 4, 4, 1, best=True).text(2) == "0.50 ± 0.01 (1)"
    assert Cell(-0.5, n=1, planned=1).text(1) == "−0.5"


def test_notes_are_footnotes():
    plan, records = store(notes="Forests of 100 trees.")
    plan.spec.learners["beta"].notes = "two rounds | not eight"
    table = make_table(plan, records)
    assert table.footnotes == ["The beta: two rounds | not eight", "Forests of 100 trees."]
    assert "two rounds \\textbar{} not eight" in to_latex(table)
    assert "gamma\\_1" in to_latex(table)


def console(width):
    rich = pytest.importorskip("rich.console")
    return rich.Console(file=io.StringIO(), width=width, record=True)


@pytest.mark.parametrize(("width", "pieces"), [(200, 1), (70, 3)])
def test_terminal_shows_the_same_cells(width, pieces):
    plan, records = store(notes="[a remark]")
    table = make_table(plan, records)
    out = console(width)
    assert len(to_rich(table, width)) == pieces
    show_report(plan, records, out)
    text = out.export_text()
    for row in table.rows:
        for cell in row.cells.values():
            assert cell.text(row.decimals) in text
    assert "[a remark]" in text
    assert "Friedman's test" in " ".join(text.split())


def test_statistics_in_words():
    plan, records = store("pqrstuv")
    near, f1, rank = statistics(plan, records)
    assert near.startswith("First, or within the standard error of the first, is ")
    assert f1.startswith("F1 ↑: average ranks over 7 datasets and 3 learners: The gamma_1 1.00, The beta 2.00, ")
    assert "only The beta is not significantly worse than The gamma_1." in f1
    assert rank.startswith("rank ↓: average ranks over 7 datasets and 3 learners: The alpha 1.00")


def texts_of(svg):
    root = ElementTree.parse(svg).getroot()
    return {"".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")}


POSITIONS = {"alpha": [1.2, 1.6], "beta": [2.0, 4.0]}  # and gamma has none


def test_markdown_of_a_table(tmp_path):
    plan, records = store(notes="A remark.")
    files = write_report(plan, records, tmp_path / "table.md", command="clems report x")
    text = files[-1].read_text()
    assert text.startswith("# A table\n\nMade by `clems report x`.\n")
    assert "- A remark." in text
    assert to_markdown(make_table(plan, records)) in text
    check_figures(tmp_path, text, files)
    assert {path.name for path in files} == {
        "table.md",
        *(f"table-ranks-{criterion}.{suffix}" for criterion in ("f1", "rank") for suffix in ("png", "svg")),
    }


def test_markdown_of_curves(tmp_path):
    plan, records = store("pq", kind="curves", positions=POSITIONS, x_label="M / K")
    files = write_report(plan, records, tmp_path / "curves.md")
    text = files[-1].read_text()
    check_figures(tmp_path, text, files)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in files}
    assert {"p: F1 ↑", "q: F1 ↑", "M / K"} <= texts_of(tmp_path / "curves-f1.svg")
    first, *_ = rows_of(text)
    assert first[:3] == ["p", "F1 ↑", "1.2"]
    assert re.fullmatch(r"0\.\d+ ± 0\.\d+", first[3])  # alone in its row, so without a rank
    assert first[4:] == ["", ""]


def test_markdown_of_times(tmp_path):
    plan, records = store("pq", ["f1"], kind="times", baseline="alpha")
    files = write_report(plan, records, tmp_path / "times.md")
    text = files[-1].read_text()
    check_figures(tmp_path, text, files, {"The beta", "The gamma_1", "× The alpha", "training", "prediction", "p"})
    rows = rows_of(text)
    assert [row[1] for row in rows[:3]] == ["training", "prediction", "total"]
    assert {float(row[2]) for row in rows} == {1}
    assert [float(row[3]) for row in rows if row[1] == "prediction"] == pytest.approx([11, 11])
    plan.spec.baseline = None
    assert {ax.get_ylabel() for ax in figures.times(plan, records).axes} == {"seconds"}


def check_figures(folder, text, files, shown=frozenset({"The alpha", "The beta", "The gamma_1"})):
    links = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert links == [path.name for path in files if path.suffix == ".png"]
    for link in links:
        assert folder.joinpath(link).read_bytes().startswith(b"\x89PNG")
        texts = texts_of(folder.joinpath(link).with_suffix(".svg"))
        assert all(any(wanted in own for own in texts) for wanted in shown)


def test_points_stand_at_their_own_positions():
    plan, records = store("p", ["f1"], kind="curves", positions=POSITIONS)
    (ax,) = figures.curves(plan, records).axes
    cells = summary(results(plan, records)).set_index(["learner", "x"])["mean"]
    alpha, beta, gamma = ax.get_lines()
    for name, line in (("alpha", alpha), ("beta", beta)):
        assert line.get_xdata().tolist() == POSITIONS[name]
        assert line.get_ydata().tolist() == [cells[name, x] for x in POSITIONS[name]]
    assert {*gamma.get_ydata()} == {cells["gamma_1"].iloc[0]}


def test_figures_are_reproducible(tmp_path):
    plan, records = store("pq", ["f1"], kind="curves", positions=POSITIONS, repetitions=2)
    once, again = (figures.save(figures.curves(plan, records), tmp_path / name) for name in ("once", "again"))
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]


def test_figures_of_partial_stores(tmp_path):
    plan, records = store("pq", ["f1"], kind="curves", positions=POSITIONS, repetitions=1)
    for kind, kept in (("curves", {}), ("times", {}), ("curves", dict([*records.items()][:2]))):
        plan.spec.kind = kind
        for path in write_report(plan, kept, tmp_path / "part.md"):
            assert path.stat().st_size


def test_every_learner_looks_different():
    entry = SimpleNamespace(title="", notes="")
    looks = figures.looks(SimpleNamespace(learners={f"l{n}": entry for n in range(14)})).values()
    assert len({(look.colour, look.line) for look in looks}) == len({look.marker for look in looks}) == 14


@pytest.mark.parametrize("suffix", [".csv", ".tex"])
def test_other_files(tmp_path, suffix):
    plan, records = store()
    output = tmp_path / f"out{suffix}"
    assert write_report(plan, records, output) == [output]
    table = make_table(plan, records)
    assert output.read_text() == (to_csv(table) if suffix == ".csv" else to_latex(table))


def test_reports_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    plan, records = store()
    output = tmp_path / "out.csv"
    output.write_text("before")
    with pytest.raises(ValueError, match=r"A report ends in \.md, \.csv, \.tex; got 'out\.html'\."):
        write_report(plan, records, tmp_path / "out.html")
    monkeypatch.setattr("clems.experiments.report.to_csv", lambda table: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(plan, records, output)
    assert output.read_text() == "before"
    assert [*tmp_path.iterdir()] == [output]


def test_absent_packages_are_told(tmp_path, monkeypatch):
    plan, records = store()
    whole, table = builtins.__import__, make_table(plan, records)

    def without(name, *rest, **others):
        if name.split(".")[0] in ("matplotlib", "scikit_posthocs", "rich"):
            raise ImportError(name)
        return whole(name, *rest, **others)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"Figures need matplotlib: pip install 'clems\[report\]'\."):
        figures.curves(plan, records)
    with pytest.raises(ImportError, match=r"need rich: pip install 'clems\[report\]'\."):
        tables.to_rich(table, 80)
    (file,) = write_report(plan, records, tmp_path / "table.md")  # a table is worth having without figures
    assert "pip install 'clems[report]'" in file.read_text()
