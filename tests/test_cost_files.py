"""A cost as text means the cost that the library has; a file of prices says what is wrong with it."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from clems import COSTS, CRITERIA, LEARNERS
from clems.cost_files import LABEL_BASED, read_cost
from clems.decoding import LABEL_BASED as RULES

NAMES = ["bug", "new", "urgent"]
Y = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1]])
P = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0]])


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])


@pytest.mark.parametrize("name", COSTS)
def test_names(name):
    assert read_cost(name, NAMES) is COSTS[name]


def test_any_beta():
    assert read_cost("f_beta(0.5)", NAMES).name == "f_beta(0.5)"
    with pytest.raises(ValueError, match=r"f_beta\(x\)"):
        read_cost("f_beta(x)", NAMES)


def test_criteria_of_all_rows_stay_names():
    assert {*LABEL_BASED} == {*CRITERIA} - {*COSTS} == {*RULES}
    for name in LABEL_BASED:
        assert read_cost(name, NAMES) == name
    assert any(learner.label_based for learner in LEARNERS.values())


def prices(text):
    Path("prices.csv").write_text(text)
    return read_cost("prices.csv", NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "label,false_negative,false_positive\nbug,10,1\nnew,2,3\nurgent,4,0.5\n",
        "false_positive;why;label;false_negative\n3;;new;2\n0.5;x;urgent;4\n1;;bug;10\n",
    ],
)
def test_prices_are_paid_by_label(text):
    cost = prices(text)
    assert cost.name == "prices.csv"
    assert cost.rowwise(Y, P).tolist() == [10 + 0.5, 0, 2 + 4]


HEAD = "label,false_negative,false_positive\n"
GOOD = "bug,10,1\nnew,2,3\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + GOOD, r"no price for 1 label: 'urgent'"),
        (HEAD + GOOD + "urgnt,1,1\n", r"line 4: there is no such label; there are 'bug', 'new', 'urgent': 'urgnt'"),
        (HEAD + GOOD + "urgent,1,1\nbug,1,1\n", r"the label 'bug' has two lines"),
        (HEAD + GOOD + "urgent,-1,1\n", r"line 4: false_negative must be a number of at least 0: '-1'"),
        (HEAD + GOOD + "urgent,1,\n", r"line 4: false_positive must be a number of at least 0"),
        (HEAD + GOOD + "urgent,1,nan\n", r"line 4: false_positive must be a number of at least 0: 'nan'"),
        (HEAD + GOOD + "urgent,1\n", r"line 4: the line has 2 values"),
        ("label,price\nbug,1\n", r"no column 'false_negative'"),
        ("", r"empty"),
    ],
)
def test_what_is_wrong_with_prices_is_said(text, said):
    with pytest.raises(ValueError, match=said):
        prices(text)


def test_a_function_of_ones_own():
    Path("my_costs_a.py").write_text("def off_by(Y, P):\n    return abs(Y.sum(axis=1) - P.sum(axis=1))\nsize = 3\n")
    cost = read_cost("my_costs_a:off_by", NAMES)
    assert (cost.name, cost.rowwise(Y, P).tolist()) == ("off_by", [0, 0, 2])
    for text, said in (
        ("my_costs_a:of_by", "my_costs_a has no function 'of_by'"),
        ("my_costs_a:size", "has no function 'size'"),
        ("my_costs_b:f", "No module named 'my_costs_b'"),
    ):
        with pytest.raises(ValueError, match=said):
            read_cost(text, NAMES)
    Path("my_costs_c.py").write_text("1 / 0\n")
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        read_cost("my_costs_c:f", NAMES)


def test_an_unknown_cost_names_others():
    with pytest.raises(ValueError, match="did you mean 'hamming'"):
        read_cost("haming", NAMES)
    with pytest.raises(ValueError, match="there are accuracy, "):
        read_cost("no/such.csv", NAMES)


def test_only_what_was_asked_for_is_found_in_the_working_directory():
    Path("my_costs_d.py").write_text(
        "import my_helpers_d\n\ndef f(Y, P):\n    import my_late_d\n    return 0 * Y[:, 0]\n"
    )
    for name in ("my_helpers_d", "my_late_d", "my_other_d", "string"):
        Path(f"{name}.py").write_text("HERE = True\n")
    before = list(sys.path)
    read_cost("my_costs_d:f", NAMES).rowwise(Y, P)  # imports what lies beside it, also later
    assert "my_late_d" in sys.modules
    assert sys.path == before
    with pytest.raises(ImportError):
        import_module("my_other_d")
    with pytest.raises(ValueError, match=r"The module string has no function 'HERE' \(.*string.py\)\."):
        read_cost("string:HERE", NAMES)  # Python's own comes first
