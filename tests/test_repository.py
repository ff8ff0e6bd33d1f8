"""What is said about the project in several places is the same in all of them."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import clems
from tools.package_metadata import readme_at

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def requirements(*extras):
    listed = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    return {one.name: one for line in listed if (one := Requirement(line)).name != "clems"}


def oldest():
    """The constraints of `make test-oldest` on the oldest Python, by name."""
    lines = [line for line in ROOT.joinpath("requirements-oldest.txt").read_text().splitlines() if line[0] != "#"]
    listed = [Requirement(line) for line in lines]
    return {one.name: one for one in listed if not one.marker or one.marker.evaluate({"python_version": "3.11"})}


def test_the_oldest_versions_that_are_tested_are_the_oldest_that_are_admitted():
    constraints = oldest()
    for name, wanted in requirements("all", "dask", "parquet", "report").items():
        least = next(one.version for one in wanted.specifier if one.operator == ">=")
        pinned = next(iter(constraints[name].specifier)).version.removesuffix(".*")
        width = len(pinned.split("."))
        assert least.split(".")[:width] == pinned.split(".")[: len(least.split("."))], name


def test_the_recipe_asks_for_what_the_package_asks_for():
    text = ROOT.joinpath("recipe/recipe.yaml").read_text()
    run = text.partition("\n  run:\n")[2].partition("\n  run_constraints:")[0]
    listed = {one.name: one.specifier for line in run.splitlines() if (one := Requirement(line.strip("- ")))}
    assert listed.pop("python") == Requirement(f"python{PROJECT['requires-python']}").specifier
    assert listed == {name: one.specifier for name, one in requirements().items()}
    assert f'version: "{clems.__version__}"' in text


@pytest.mark.parametrize(("page", "form"), [("CITATION.cff", "\nversion: {}\n"), ("docs/cite.md", "version = {{{}}}")])
def test_versions_agree(page, form):
    assert form.format(clems.__version__) in ROOT.joinpath(page).read_text()


def test_the_changelog_begins_with_this_version():
    first = re.search(r"^## (\S+)", ROOT.joinpath("CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert first == clems.__version__


def test_every_python_that_is_tested_is_said_to_be_supported():
    said = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    tests = ROOT.joinpath(".github/workflows/tests.yml").read_text()
    assert {*re.findall(r'"(3\.\d+)"', tests.partition("python: [")[2].partition("]")[0])} == said
    least = Version(Requirement(f"python{PROJECT['requires-python']}").specifier.__iter__().__next__().version)
    assert f"{least.major}.{least.minor}" in said


def test_links_of_the_readme_work_at_an_index():
    text = readme_at(ROOT.joinpath("README.md").read_text(), "https://example.org/clems", "abc")
    links = re.findall(r"\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    found = [one or two for one, two in links]
    assert len(found) > 10
    for link in found:
        address, _, path = link.partition("/abc/")
        assert address in {"https://example.org/clems/blob", "https://example.org/clems/raw"}
        assert ROOT.joinpath(path.partition("#")[0]).exists(), path


def test_paragraphs_are_short():
    """At most eight lines, in all pages but tables, lists of names and code."""
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"^:::.*$", "", text, flags=re.MULTILINE)
        for paragraph in re.split(r"\n\s*\n|\n(?=- |\d+\. )", text):
            lines = paragraph.strip().splitlines()
            assert len(lines) <= 8 or lines[0][0] in "|`", f"{page.name}: {lines[0]}"
