"""A cost as text means the cost that the library has; a file of prices says what is wrong with it."""

import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clems import CLEMS, COSTS, CRITERIA, LEARNERS, f_beta, get_cost, get_criterion, load, weighted_hamming
from clems.cli.app import main
from clems.costs.criteria import label_criteria
from clems.costs.formulas import PARAMETRISED
from clems.costs.text import read_cost, read_prices
from clems.experiments.spec import check_spec

NAMES = ["bug", "new", "urgent"]
Y = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1]])
P = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0]])


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])


@pytest.mark.parametrize("name", COSTS)
def test_names(name):
    assert read_cost(name) is COSTS[name]


def test_any_beta():
    assert read_cost("f_beta(0.5)").name == "f_beta(0.5)"
    for wrong in ("f_beta(x)", "f_beta()", "f_beta(1,2)"):
        with pytest.raises(ValueError, match=re.escape(f"Unknown cost {wrong!r}; f_beta(beta) takes a number.")):
            read_cost(wrong)


@pytest.mark.parametrize("beta", [1e-07, 0.5, 3, 1e20])
def test_the_name_of_a_parametrised_cost_means_it(beta):
    assert get_cost(f_beta(beta).name) == f_beta(beta)


def priced(misses, alarms):
    """Cost with one price for misses and one for false alarms: what someone adds to the package."""
    return replace(weighted_hamming(misses, alarms), name=f"priced({misses:g}, {alarms:g})")


def test_a_parametrised_cost_is_one_entry(monkeypatch, capfd):
    monkeypatch.setitem(PARAMETRISED, "priced", priced)
    text, cost = "priced(10, 0.5)", priced(10, 0.5)
    assert get_cost(text) == read_cost(text) == cost
    assert get_criterion(text)(Y, P) == cost.rowwise(Y, P).mean()
    rows = np.column_stack([np.linspace(0, 1, 30), np.tile(Y, (10, 1))])
    frame = pd.DataFrame(rows, columns=["x", *NAMES]).astype(dict.fromkeys(NAMES, int))
    model = CLEMS(cost=text, n_trees=3, random_state=0).fit(frame[["x"]], frame[NAMES])
    assert model.cost_ == cost
    frame.to_csv("rows.csv", index=False)
    spec = {"title": "t", "datasets": ["yeast"], "criteria": ["mine"], "costs": {"mine": text}, "learners": {"br": {}}}
    assert check_spec(spec, "spec").own_costs() == {"mine": replace(cost, name="mine")}
    fit = ["fit", "rows.csv", "--labels", "bug,new,urgent", "--set", "n_trees=3", "--output", "m.clems", "--cost"]
    for given, code in ((text, 0), ("priced(10)", 1), ("priced(-1,2)", 1)):
        with pytest.raises(SystemExit) as end:
            main([*fit, given])
        assert end.value.code == code
    said = capfd.readouterr().err.splitlines()
    assert said[0].startswith("CLEMS for priced(10, 0.5) on 30 rows")
    assert said[1] == "Error: Unknown cost 'priced(10)'; priced(misses, alarms) takes numbers."
    assert said[2].startswith("Error: false_negative of weighted_hamming must be one price")
    np.testing.assert_array_equal(load("m.clems").predict(frame[["x"]]), model.predict(frame[["x"]]))
    with pytest.raises(ValueError, match=r"zero_one, f_beta\(beta\), .*, priced\(misses, alarms\)\."):
        read_cost("no/such")


def test_criteria_of_all_rows_stay_names():
    assert {*label_criteria()} == {*CRITERIA} - {*COSTS}
    for name in label_criteria():
        assert read_cost(name) == name
    assert any(learner.label_based for learner in LEARNERS.values())


def read_prices_of(text):
    Path("prices.csv").write_text(text)
    return read_cost("prices.csv")


def prices(text):
    return read_prices_of(text).for_labels(NAMES)


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
        (HEAD + GOOD, r"prices\.csv has no price for 'urgent'; the labels are 'bug', 'new', 'urgent'\."),
        (
            HEAD + GOOD + "urgnt,1,1\n",
            r"has no price for 'urgent' and names 'urgnt', which is no label; the",
        ),
        (HEAD + GOOD + "urgent,1,1\nold,1,1\nx,2,2\n", r"prices\.csv names 'old', 'x', which are no labels; the"),
        (HEAD, r"it has no prices; every label has a line"),
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


def test_prices_need_the_names_of_labels():
    cost = read_prices_of(HEAD + GOOD + "urgent,1,1\n")
    with pytest.raises(ValueError, match=r"prices\.csv is by name \('bug', 'new', 'urgent'\), but the 3 labels"):
        cost.rowwise(Y, P)


def test_a_function_of_ones_own():
    Path("my_costs_a.py").write_text("def off_by(Y, P):\n    return abs(Y.sum(axis=1) - P.sum(axis=1))\nsize = 3\n")
    cost = read_cost("my_costs_a:off_by")
    assert (cost.name, cost.rowwise(Y, P).tolist()) == ("off_by", [0, 0, 2])
    for text, said in (
        ("my_costs_a:of_by", "my_costs_a has no function 'of_by'"),
        ("my_costs_a:size", "has no function 'size'"),
        ("my_costs_b:f", "No module named 'my_costs_b'"),
    ):
        with pytest.raises(ValueError, match=said):
            read_cost(text)
    Path("my_costs_c.py").write_text("1 / 0\n")
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        read_cost("my_costs_c:f")


def test_an_unknown_cost_names_others():
    with pytest.raises(ValueError, match="did you mean 'hamming'"):
        read_cost("haming")
    with pytest.raises(ValueError, match="there are accuracy, "):
        read_cost("no/such.csv")


def test_only_what_was_asked_for_is_found_in_the_working_directory():
    Path("my_costs_d.py").write_text(
        "import my_helpers_d\n\ndef f(Y, P):\n    import my_late_d\n    return 0 * Y[:, 0]\n"
    )
    for name in ("my_helpers_d", "my_late_d", "my_other_d", "string"):
        Path(f"{name}.py").write_text("HERE = True\n")
    before = list(sys.path)
    read_cost("my_costs_d:f").rowwise(Y, P)  # imports what lies beside it, also later
    assert "my_late_d" in sys.modules
    assert sys.path == before
    with pytest.raises(ImportError):
        import_module("my_other_d")
    with pytest.raises(ValueError, match=r"The module string has no function 'HERE' \(.*string.py\)\."):
        read_cost("string:HERE")  # Python's own comes first


def test_a_cost_does_not_put_the_working_directory_before_python():
    sys.modules.pop("tabnanny", None)
    Path("my_costs_e.py").write_text("import tabnanny\n\ndef f(Y, P):\n    return 0 * Y[:, 0]\n")
    Path("tabnanny.py").write_text("raise RuntimeError('it ran')\n")
    read_cost("my_costs_e:f")
    assert Path(sys.modules["tabnanny"].__file__).parent != Path.cwd()


def test_prices_of_a_spreadsheet(tmp_path):
    path = tmp_path / "prices.csv"
    text = "label;false_negative;false_positive;geschätzt\nbug;10,50;1\nnew;2;3,5\n".replace("\n", ";Jörg\n").replace(
        "geschätzt;Jörg", "geschätzt"
    )
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"the text is not utf-8; save it as UTF-8 or, .* encoding='latin-1'"):
        read_prices(path)
    with pytest.raises(
        ValueError, match=r"line 2: false_negative must be .*; write 10.50, or say decimal=',': '10,50'"
    ):
        read_prices(path, encoding="latin-1")
    prices = read_prices(path, encoding="latin-1", decimal=",")
    assert (prices.false_negative, prices.false_positive) == ((10.5, 2.0), (1.0, 3.5))
    path.write_text("label,false_negative,false_positive\ngröße,10.5,1\n")  # read as what it is, beside other data
    assert read_prices(path, encoding="latin-1", decimal=",").labels == ("größe",)
    path.write_text("label;false_negative;false_positive\nbug;1.500;1\n")  # which may be a thousand
    with pytest.raises(ValueError, match=r"must be a number of at least 0: '1.500'"):
        read_prices(path, decimal=",")
    path.write_text("label,False Negative,false_positive\nbug,1,1\n")
    with pytest.raises(ValueError, match=r"it has no column 'false_negative'; .*; rename 'False Negative'"):
        read_prices(path)
