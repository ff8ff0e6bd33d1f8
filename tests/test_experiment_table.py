"""Tables of results read back as what was computed, in every form."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from made_records import FAILED, LEARNERS, decision, made_store, make_plan, planned, record, rows_of

from clems import CRITERIA
from clems.experiments.analysis.selection import results, summary
from clems.experiments.output.kinds import comparisons, make_table
from clems.experiments.output.latex import to_latex
from clems.experiments.output.long_form import to_csv
from clems.experiments.output.markdown import to_markdown
from clems.experiments.output.printed import read_printed
from clems.experiments.output.table import Cell

CELL = re.compile(r"(−?[\d.]+) ± ([\d.]+) \((\d+)\)")


def printed_file(tmp_path):
    path = tmp_path / "printed.csv"
    path.write_text("dataset,learner,criterion,mean,ste\np,alpha,f1,0.25,0.01\np,beta,f1,0.5,\n")
    return path


def rows_of_latex(text):
    body = text.partition("\\midrule")[2].partition("\\bottomrule")[0]
    lines = [line.removesuffix(" \\\\").split(" & ") for line in body.splitlines() if line.endswith("\\\\")]
    for latex, plain in (("$\\pm$", "±"), ("$-$", "−"), ("$\\approx$", "≈"), ("$\\uparrow$", "↑")):
        lines = [[cell.replace(latex, plain) for cell in line] for line in lines]
    return lines


FORMS = {"markdown": lambda table: rows_of(to_markdown(table)), "latex": lambda table: rows_of_latex(to_latex(table))}


@pytest.mark.parametrize("rows", FORMS.values(), ids=FORMS)
def test_written_tables_read_back(rows):
    plan, records = made_store()
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
    plan, records = made_store(printed=printed_file(tmp_path))
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
    plan, records = made_store()
    for row in make_table(plan, records).rows:
        assert row.heading == f"{CRITERIA[row.criterion].title} {CRITERIA[row.criterion].arrow}"
        assert [name for name, cell in row.cells.items() if cell.best] == [
            "gamma_1" if row.criterion == "f1" else "alpha"
        ]


def test_printed_values_stand_below(tmp_path):
    plan, records = made_store(printed=printed_file(tmp_path))
    table = make_table(plan, records)
    ours, printed, other, *_ = rows_of(to_markdown(table))
    assert (ours[:2], printed[:2], other[:2]) == (["p", "F1 ↑"], ["", "printed"], ["p", "rank ↓"])
    assert re.fullmatch(r"0\.250 ± 0\.010 \[[+−]\d+\.\d\]", printed[2])
    assert printed[3:] == ["0.500", ""]
    assert any("printed elsewhere" in sentence for sentence in table.legend)


def test_printed_values_need_their_columns(tmp_path):
    path = tmp_path / "printed.csv"
    path.write_text("dataset,learner,criterion,mean\np,a,f1,0.5\n")
    with pytest.raises(ValueError, match=r"printed\.csv has no column ste; printed values need dataset, learner"):
        read_printed(path)
    path.write_text("dataset,learner,criterion,mean,ste\np,a,f1,high,\n")
    with pytest.raises(ValueError, match=r"printed\.csv has a mean or ste that is not a number"):
        read_printed(path)


def test_partial_stores_show_what_they_have():
    plan, records = made_store()
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
    assert comparisons(plan, records)[1].startswith("Ranks over datasets need at least 3 datasets")
    nothing = make_table(plan, {})
    assert {cell for row in rows_of(to_markdown(nothing)) for cell in row[2:]} == {"missing"}


def test_a_choice_among_fewer_trials_is_marked():
    grid = [planned("a", parameters=f'{{"n": {n}}}') for n in range(2)]
    table = make_table(make_plan(grid), {grid[0].trial.key: record(decision({"f1": 0.5}))})
    assert rows_of(to_markdown(table)) == [["d", "F1 ↑", "0.5000 †"]]
    assert any(sentence.startswith("†: some parameters were not tried") for sentence in table.legend)


def test_without_a_rule_there_is_a_dash():
    plan, records = made_store(without_rule={("beta", "rank")})
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
    plan, records = made_store(notes="Forests of 100 trees.")
    plan.spec.learners["beta"].notes = "two rounds | not eight"
    table = make_table(plan, records)
    assert table.footnotes == ["The beta: two rounds | not eight", "Forests of 100 trees."]
    assert "two rounds \\textbar{} not eight" in to_latex(table)
    assert "gamma\\_1" in to_latex(table)
