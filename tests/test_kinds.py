"""A kind of experiment, an analysis and a form of file of one's own are one entry each."""

import pytest
from made_records import made_store
from small_experiment import spec_of

from clems.experiments.analysis import ANALYSES
from clems.experiments.output.criterion_rows import criterion_rows
from clems.experiments.output.kinds import KINDS, Kind, comparisons, make_table
from clems.experiments.output.report import WRITERS, write_report
from clems.experiments.spec import SpecError


def fault(spec):
    return None if len(spec.criteria) == 1 else "criteria: medals are given for one"


def test_a_kind_of_ones_own(monkeypatch, tmp_path):
    medals = Kind(criterion_rows, lambda plan, records: [], "No figures.", row_label="medal", fault=fault)
    monkeypatch.setitem(KINDS, "medals", medals)
    assert spec_of(kind="medals").kind == "medals"
    with pytest.raises(SpecError, match=r"spec: criteria: medals are given for one\."):
        spec_of(kind="medals", criteria=["f1", "rank"])
    plan, records = made_store(kind="medals")
    assert make_table(plan, records).heads == ["dataset", "medal"]
    assert comparisons(plan, records) == []
    (file,) = write_report(plan, records, tmp_path / "medals.md")
    assert "No figures.\n\n## Numbers\n\n| dataset | medal |" in file.read_text()


def test_an_analysis_of_ones_own(monkeypatch, tmp_path):
    plan, records = made_store()
    monkeypatch.setitem(ANALYSES, "least", lambda plan, results: [f"The least value is {results['value'].min():.3f}."])
    assert comparisons(plan, records)[-1].startswith("The least value is 0.")
    assert "- The least value is 0." in write_report(plan, records, tmp_path / "table.md")[-1].read_text()


def test_a_form_of_file_of_ones_own(monkeypatch, tmp_path):
    plan, records = made_store()
    monkeypatch.setitem(WRITERS, ".txt", lambda plan, records, output, command: (f"{plan.spec.title} by {command}", []))
    assert write_report(plan, records, tmp_path / "out.txt", "hand")[-1].read_text() == "A table by hand"
    with pytest.raises(ValueError, match=r"A report ends in \.md, \.csv, \.tex, \.txt; got 'out\.pdf'\."):
        write_report(plan, records, tmp_path / "out.pdf")
