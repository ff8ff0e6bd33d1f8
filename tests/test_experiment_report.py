"""Reports have tables, words and figures, as files and in a terminal."""

import builtins
import io
import re
from xml.etree import ElementTree

import pytest
from made_records import POSITIONS, made_store, rows_of

from clems.experiments.output.figures.curves import curves
from clems.experiments.output.figures.times import times
from clems.experiments.output.kinds import comparisons, make_table
from clems.experiments.output.latex import to_latex
from clems.experiments.output.long_form import to_csv
from clems.experiments.output.markdown import to_markdown
from clems.experiments.output.report import WRITERS, show_report, write_report
from clems.experiments.output.terminal import to_rich


def console(width):
    rich = pytest.importorskip("rich.console")
    return rich.Console(file=io.StringIO(), width=width, record=True)


@pytest.mark.parametrize(("width", "pieces"), [(200, 1), (70, 3)])
def test_terminal_shows_the_same_cells(width, pieces):
    plan, records = made_store(notes="[a remark]")
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
    plan, records = made_store("pqrstuv")
    near, f1, rank = comparisons(plan, records)
    assert near.startswith("First, or not significantly behind the first by the paired, corrected test, is ")
    assert f1.startswith("F1 ↑: average ranks over 7 datasets and 3 learners: The gamma_1 1.00, The beta 2.00, ")
    assert "only The beta is not significantly worse than The gamma_1." in f1
    assert rank.startswith("rank ↓: average ranks over 7 datasets and 3 learners: The alpha 1.00")


def texts_of(svg):
    root = ElementTree.parse(svg).getroot()
    return {"".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")}


def test_markdown_of_a_table(tmp_path):
    plan, records = made_store(notes="A remark.")
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
    plan, records = made_store("pq", kind="curves", positions=POSITIONS, x_label="M / K")
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
    plan, records = made_store("pq", ["f1"], kind="times", baseline="alpha")
    files = write_report(plan, records, tmp_path / "times.md")
    text = files[-1].read_text()
    check_figures(tmp_path, text, files, {"The beta", "The gamma_1", "× The alpha", "training", "prediction", "p"})
    rows = rows_of(text)
    assert [row[1] for row in rows[:3]] == ["training", "prediction", "total"]
    assert {float(row[2]) for row in rows} == {1}
    assert [float(row[3]) for row in rows if row[1] == "prediction"] == pytest.approx([11, 11])
    plan.spec.baseline = None
    assert {ax.get_ylabel() for ax in times(plan, records).axes} == {"seconds"}


def check_figures(folder, text, files, shown=frozenset({"The alpha", "The beta", "The gamma_1"})):
    links = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert links == [path.name for path in files if path.suffix == ".png"]
    for link in links:
        assert folder.joinpath(link).read_bytes().startswith(b"\x89PNG")
        texts = texts_of(folder.joinpath(link).with_suffix(".svg"))
        assert all(any(wanted in own for own in texts) for wanted in shown)


def test_figures_of_partial_stores(tmp_path):
    plan, records = made_store("pq", ["f1"], kind="curves", positions=POSITIONS, repetitions=1)
    for kind, kept in (("curves", {}), ("times", {}), ("curves", dict([*records.items()][:2]))):
        plan.spec.kind = kind
        for path in write_report(plan, kept, tmp_path / "part.md"):
            assert path.stat().st_size


@pytest.mark.parametrize("suffix", [".csv", ".tex"])
def test_other_files(tmp_path, suffix):
    plan, records = made_store()
    output = tmp_path / f"out{suffix}"
    assert write_report(plan, records, output) == [output]
    table = make_table(plan, records)
    assert output.read_text() == (to_csv(table) if suffix == ".csv" else to_latex(table))


def test_reports_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    plan, records = made_store()
    output = tmp_path / "out.csv"
    output.write_text("before")
    with pytest.raises(ValueError, match=r"A report ends in \.md, \.csv, \.tex; got 'out\.html'\."):
        write_report(plan, records, tmp_path / "out.html")
    monkeypatch.setitem(WRITERS, ".csv", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(plan, records, output)
    assert output.read_text() == "before"
    assert [*tmp_path.iterdir()] == [output]


def test_absent_packages_are_named(tmp_path, monkeypatch):
    plan, records = made_store()
    whole, table = builtins.__import__, make_table(plan, records)

    def without(name, *rest, **others):
        if name.split(".")[0] in ("matplotlib", "scikit_posthocs", "rich"):
            raise ImportError(name)
        return whole(name, *rest, **others)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"Figures need matplotlib: pip install 'clems\[report\]'\."):
        curves(plan, records)
    with pytest.raises(ImportError, match=r"need rich: pip install 'clems\[report\]'\."):
        to_rich(table, 80)
    (file,) = write_report(plan, records, tmp_path / "table.md")  # a table is worth having without figures
    assert "pip install 'clems[report]'" in file.read_text()
