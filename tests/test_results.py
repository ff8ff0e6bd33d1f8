"""Results say which code they measured, and pages that quote them say so, too."""

import pytest

from tools.results import END, ROOT, START, checksum, files, label, linked, note, numbers, pages, stamp_of, with_imports

SOURCE = {
    "src/clems/__init__.py": '_HOMES = {"CLEMS": "learners"}\n',
    "src/clems/learners/__init__.py": "from clems.learners.clems import CLEMS\n",
    "src/clems/learners/clems.py": '"""CLEMS."""\nfrom clems.trees import growing\n\n\ndef fit():\n    return 1\n',
    "src/clems/trees/growing.py": "from clems.arrays import Floats\nDEPTH = 5\n",
    "src/clems/arrays.py": "if TYPE_CHECKING:\n    from clems.cli import app\n",
    "src/clems/cli/app.py": "x = 1\n",
    "benchmarks/speed.py": "from clems import CLEMS\nfrom benchmarks import data\n",
    "benchmarks/data.py": "ROWS = 3\n",
}
SCRIPT = ("benchmarks/speed.py",)


def changed(path, old, new):
    assert old in SOURCE[path]
    return checksum(SCRIPT, {**SOURCE, path: SOURCE[path].replace(old, new)}) != checksum(SCRIPT, SOURCE)


def test_what_is_measured_is_what_is_imported():
    used = {path for path in SOURCE if not path.endswith(("cli/app.py", "clems/__init__.py"))}
    assert with_imports(SCRIPT, SOURCE) == used


def test_changes_of_code_count_and_those_of_words_do_not():
    assert changed("src/clems/trees/growing.py", "5", "6")
    assert changed("benchmarks/data.py", "3", "4")
    assert changed("src/clems/learners/clems.py", "return 1", "return 2")
    assert not changed("src/clems/cli/app.py", "1", "2")
    assert not changed("src/clems/learners/clems.py", "CLEMS.", "CLEMS, in other words.")
    assert not changed("src/clems/learners/clems.py", "    return 1", "    # why\n\n    return 1")


def test_a_stamp_is_no_measurement():
    text = "# Made\n\nIt takes 1.5 s and 3 MiB.\n"
    assert numbers(text) == numbers(f"{text}\nMeasured at commit 123abcd, source `0123456789ab`.\n") == ["1.5", "3"]
    assert numbers(text) != numbers(text.replace("1.5", "1.4"))


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_result_names_its_commit(path):
    assert stamp_of(path.read_text()), "run: make results"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_pages_name_the_commits_of_what_they_quote(page):
    """Not whether these are stale, which any change of code would change, but as of when they are."""
    said = page.read_text().partition(START)[2].partition(END)[0]
    for path in linked(page):
        assert f"{label(path)} (commit {stamp_of(path.read_text())[0]})" in said, "run: make results"


def test_what_is_stale_is_said_to_be_of_an_earlier_version():
    page = ROOT / "docs" / "speed.md"
    first, *others = linked(page)
    said = note(page, {first: True, **dict.fromkeys(others, False)})
    earlier, _, present = said.partition("Measured with the present code: ")
    assert "an earlier version of the code: benchmarks/joint (commit" in earlier
    assert "joint" not in present
    assert all(f"/{path.stem} " in present for path in others)
