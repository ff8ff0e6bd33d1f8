"""Differences from printed values that are more than chance, and their reasons."""

import pytest
from made_records import make_results

from clems.experiments.output.against_print import FAR, differences, print_in_words, print_table
from clems.experiments.output.kinds import make_table
from clems.experiments.output.markdown import write_page
from clems.experiments.output.printed import read_reasons, reason_for

TITLES = {"a": "The a", "b": "The b", "c": "The c"}
VALUES = {
    ("d", "a"): [0.50, 0.52, 0.48, 0.50],  # mean 0.5, standard error 0.0082
    ("d", "b"): [0.60, 0.62, 0.58, 0.60],
    ("d", "c"): [0.50, None, 0.50, 0.50],
    ("e", "a"): [0.10, 0.12, 0.08, 0.10],
}


def made(tmp_path, criterion="f1", reasons="e,,,another version of the data\n"):
    _, plan, records = make_results(VALUES, criterion)
    plan.spec.printed, plan.spec.reasons = tmp_path / "printed.csv", tmp_path / "reasons.csv"
    lines = [f"d,a,{criterion},0.45,0.001", f"d,b,{criterion},0.58,0.01", f"d,c,{criterion},0.1,0.01"]
    lines += [f"e,a,{criterion},0.3,0.01", f"e,b,{criterion},0.3,0.01"]
    plan.spec.printed.write_text("\n".join(["dataset,learner,criterion,mean,ste", *lines]))
    plan.spec.reasons.write_text(f"dataset,learner,criterion,reason\n{reasons}")
    return plan, records


@pytest.mark.parametrize(("criterion", "up"), [("f1", "better"), ("rank", "worse")])
def test_cells_with_all_repetitions_are_compared(tmp_path, criterion, up):
    plan, records = made(tmp_path, criterion)
    found = differences(plan, make_table(plan, records))
    down = {"better": "worse", "worse": "better"}[up]
    assert [(one.dataset, one.learner, one.verdict) for one in found] == [
        ("d", "a", up),
        ("d", "b", ""),
        ("e", "a", down),
    ]
    assert all((abs(one.cell.deviation) > FAR) == bool(one.verdict) for one in found)
    assert found[0].cell.deviation == pytest.approx(0.05 / (0.0081650**2 + 0.001**2) ** 0.5, rel=1e-4)
    assert [one.reason for one in found] == ["unknown", "unknown", "another version of the data"]


def test_an_entry_may_be_compared_with_what_is_printed_for_another(tmp_path):
    plan, records = made(tmp_path)
    plan.spec.learners["b"].printed_as = "a"
    found = differences(plan, make_table(plan, records))
    assert [(one.learner, one.cell.printed) for one in found] == [("a", 0.45), ("b", 0.45), ("a", 0.3)]
    assert print_in_words(plan, found, TITLES) == [
        "The a: better than print in 1 of 2 cells, worse in 1 (e f1).",
        "The b (beside what is printed for The a): better than print in 1 of 1 cells, worse in 0.",
    ]


def test_the_report_lists_every_difference_with_its_reason(tmp_path):
    plan, records = made(tmp_path)
    lines = print_table(differences(plan, make_table(plan, records)), TITLES).splitlines()[2:]
    assert lines[0] == "| d | F1 ↑ | The a | 0.5000 ± 0.0082 | 0.4500 ± 0.0010 | +6.1 | better | unknown |"
    assert lines[1].endswith("| worse | another version of the data |")
    assert len(lines) == 2
    text, _ = write_page(plan, records, tmp_path / "page.md", "")
    assert all(line in text for line in lines)


def test_the_first_reason_that_fits_holds(tmp_path):
    plan, _ = made(tmp_path, reasons="d,a,,first\n,a,f1,second\n,,,third\n")
    reasons = read_reasons(plan.spec.reasons)
    places = [("d", "a", "f1"), ("e", "a", "f1"), ("e", "a", "rank"), ("d", "b", "f1")]
    assert [reason_for(place, reasons) for place in places] == ["first", "second", "third", "third"]
    assert reason_for(places[0], []) == "unknown"
    plan.spec.reasons.write_text("dataset,learner,why\n")
    with pytest.raises(ValueError, match="has no column criterion, reason"):
        read_reasons(plan.spec.reasons)
