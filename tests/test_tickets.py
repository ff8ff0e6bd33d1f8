"""The story of the tickets, through the command alone: every command of docs/from-a-csv-to-savings.md."""

import html
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from test_examples import example

from clems import CLEMS, TableEncoder, load, read_prices

PAGE = Path(__file__).parents[1].joinpath("docs/from-a-csv-to-savings.md").read_text("utf-8")
tickets = example("tickets")


@pytest.fixture(scope="module")
def run(forks):
    def run(line, folder):
        words = shlex.split(line)
        assert words[0] == "clems", line
        return forks.run(*words[1:], cwd=folder, text=True, environment={"COLUMNS": "200"})

    return run


@pytest.fixture(scope="module")
def story(run, tmp_path_factory):
    """The folder after all commands of the page, and what each of them said."""
    folder = tmp_path_factory.mktemp("tickets")
    tickets.main(folder)
    said = {}
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    done = {}
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith("$ ") or line in done:
            continue
        done[line] = None
        ended = run(line[2:], folder)
        if after.startswith("Error: "):
            assert ended.returncode == 1, line
            assert after in ended.stderr
        else:
            assert ended.returncode == 0, (line, ended.stderr)
        said[line[2:]] = ended
    return folder, said


def test_every_command_of_the_page_does_what_it_says(story):
    folder, said = story
    fit = next(ended.stderr for line, ended in said.items() if line.startswith("clems fit tickets.csv"))
    shown = re.search(r"kept in the model:\n\n```\n(.*?)```", PAGE, re.DOTALL)[1].splitlines()
    for line in shown:  # of which the numbers are left out on the page
        pattern = re.escape(line).replace("…", r"[\d.,]+")
        assert any(re.fullmatch(pattern + ".*", own) for own in fit.splitlines()), (line, fit)
    assert folder.joinpath("report.html").stat().st_size > 10_000
    inspected = said["clems inspect other.clems"].stdout
    assert "customer  words" in inspected
    assert "created" not in inspected.partition("columns\n")[2]
    kinds = said["clems inspect tickets.csv"].stdout
    assert re.search(r"country +words, 3 values, \d+ missing", kinds)
    assert re.search(r"created +dates", kinds)


def test_evaluation_leads_with_euros(story):
    folder, said = story
    first, *lines = said["clems evaluate model.clems test.csv"].stdout.splitlines()
    paid = re.fullmatch(r"prices.csv: ([\d,]+) € on 400 rows, [\d,]+ € expected", first)
    predicted, truth = predictions(folder, "model.clems")
    price = read_prices(folder / "prices.csv").rowwise(truth, predicted)
    assert float(paid[1].replace(",", "")) == pytest.approx(price.sum(), abs=0.5)
    against = ["½ thresholds", "predicting nothing", "predicting everything", "the best constant"]
    for line, name in zip(lines, against, strict=False):
        assert re.match(rf"saves [\d,]+ € on 400 rows against {name} \(95 % interval", line), line
    assert "saves" in folder.joinpath("report.html").read_text("utf-8")


def test_evaluation_shows_what_each_tag_costs_and_saves(story):
    folder, said = story
    shown = said["clems evaluate model.clems test.csv"].stdout
    table = shown.partition("By label in €: paid, and saved against")[2].partition("Labels")[0]
    lines = {line.split()[0]: line.split()[1:] for line in table.splitlines() if line.strip() and "─" not in line}
    paid = {tag: float(lines[tag][0].replace(",", "")) for tag in tickets.TAGS}
    predicted, truth = predictions(folder, "model.clems")
    prices = tickets.PRICES.set_index("label")
    for tag in tickets.TAGS:
        missed, wrong = ((truth[tag] > predicted[tag]).sum(), (truth[tag] < predicted[tag]).sum())
        cost = missed * prices["false_negative"][tag] + wrong * prices["false_positive"][tag]
        assert paid[tag] == pytest.approx(cost, abs=0.5)
    assert float(lines["in"][1].replace(",", "")) == pytest.approx(sum(paid.values()), abs=2)


def test_comparison_leads_with_euros(story):
    _, said = story
    ended = next(ended for line, ended in said.items() if line.startswith("clems compare"))
    title, first, *lines = ended.stdout.splitlines()
    assert title == "4 learners on tickets for prices.csv"
    assert re.match(r"\w+ (saves|costs) [\d.]+ € a row (more than|against) random forest at ½ \(95 % interval", first)
    assert any("repetitions" in line and ("tell" in line or "told" in line) for line in lines) or any(
        "by more than chance" in line for line in lines
    )
    for name in ("model", "br", "cost_sensitive", "random forest at ½"):
        assert sum(line.strip().startswith(name) for line in lines) >= 2  # what it costs, and what it saves
    assert "seconds to fit" in ended.stdout
    assert "customer  characters" in ended.stderr


def test_new_tickets_are_tagged(run, story):
    folder, _ = story
    tagged, new = pd.read_csv(folder / "tagged.csv"), pd.read_csv(folder / "new.csv")
    assert tagged["id"].tolist() == new["id"].tolist()
    assert list(tagged) == ["id", *sorted(tickets.TAGS), "expected_cost"]
    handed = pd.read_csv(folder / "handed-over.csv")["Netz"].isna()
    assert handed.tolist() == (tagged["expected_cost"] > 3).tolist()
    assert 0 < handed.sum() < len(handed)
    # Other order, more columns, unseen words and gaps; then a column that is not there, and a cell that is no number.
    other = new[[*reversed(new.columns)]].assign(category="Auto", hours=np.nan, more="x")
    other.to_csv(folder / "other.csv", index=False)
    ended = run("clems predict model.clems other.csv", folder)
    assert (ended.returncode, len(pd.read_csv(io.StringIO(ended.stdout)))) == (0, 50)
    assert "Ignored 1 column that is not a feature: more" in ended.stderr
    assert "The column category has categories that the model has not seen, such as 'Auto'." in ended.stderr
    other.drop(columns="text").to_csv(folder / "other.csv", index=False)
    ended = run("clems predict model.clems other.csv", folder)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "1 feature of the model is missing: 'text'; where nothing is known, add an empty column" in ended.stderr
    new.assign(hours="7,5").to_csv(folder / "other.csv", index=False)
    ended = run("clems predict model.clems other.csv", folder)
    assert (
        "column 'hours' must hold numbers, or yes and no, as in training, in row 1 of the data: '7,5'" in ended.stderr
    )
    ended = run("clems evaluate model.clems new.csv", folder)
    assert "there is no column 'tags'" in ended.stderr


def test_a_german_spreadsheet_gives_the_same_model(story):
    folder, said = story
    plain, german = load(folder / "model.clems"), load(folder / "german.clems")
    test = pd.read_csv(folder / "test.csv")
    np.testing.assert_array_equal(plain.predict(test), german.predict(test))
    lines = said["clems evaluate german.clems test-de.csv --encoding latin-1"].stdout.splitlines()
    assert lines[1:5] == said["clems evaluate model.clems test.csv"].stdout.splitlines()[1:5]


def test_mistakes_are_tickets_that_people_know(run, story):
    """By their ids, with what customers wrote, or with the columns that are asked for."""
    folder, _ = story
    predicted, truth = predictions(folder, "model.clems")
    test = pd.read_csv(folder / "test.csv", dtype=str)
    worst = test.iloc[read_prices(folder / "prices.csv").rowwise(truth, predicted).argmax()]
    page = html.unescape(folder.joinpath("report.html").read_text("utf-8"))
    first = page.partition('<li class="card">')[2].partition('<li class="card">')[0]
    assert f"row {worst['id']}<" in first
    assert worst["text"] in first
    assert f"<dt>best, at no cost</dt><dd>{', '.join(sorted(worst['tags'].split(';')))}" in first
    ended = run("clems report model.clems test.csv --output shown.html --show category --show created", folder)
    assert ended.returncode == 0, ended.stderr
    page = html.unescape(folder.joinpath("shown.html").read_text("utf-8"))
    first = page.partition('<li class="card">')[2].partition('<li class="card">')[0]
    assert worst["text"] not in first
    assert f"<dt>category</dt><dd>{worst['category']}</dd>" in first
    assert f"<dt>created</dt><dd>{worst['created']}</dd>" in first
    ended = run("clems report model.clems test.csv --output other.html --show subject", folder)
    assert (ended.returncode, folder.joinpath("other.html").exists()) == (1, False)
    assert "there is no column 'subject'; there are 'id', 'text'" in ended.stderr


def predictions(folder, model):
    test = pd.read_csv(folder / "test.csv")
    tags = sorted(tickets.TAGS)
    predicted = load(folder / model).predict(test)
    return pd.DataFrame(predicted, columns=tags), truths(test)


def truths(frame):
    cells = frame["tags"].fillna("").str.split(";")
    return pd.DataFrame({tag: [int(tag in cell) for cell in cells] for tag in sorted(tickets.TAGS)})


def paid_by(model, prices, test):
    predicted = pd.DataFrame(model.predict(test), columns=sorted(tickets.TAGS))
    return prices.rowwise(truths(test), predicted).mean()


def test_it_costs_no_more_than_a_pipeline_built_by_hand(story):
    """By hand, columns that tell nothing are left out, which the command cannot know; so 2 % more are allowed."""
    folder, _ = story
    prices, test = read_prices(folder / "prices.csv"), tickets.tickets(2000, 7)
    by_hand = make_pipeline(
        make_column_transformer(
            (TfidfVectorizer(min_df=2, sublinear_tf=True), "text"),
            (OneHotEncoder(handle_unknown="ignore"), ["category", "country", "vip"]),
            (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["hours"]),
        ),
        CLEMS(prices, random_state=0),
    )
    paid, theirs = [paid_by(load(folder / "model.clems"), prices, test)], []
    for seed in (1, 4, 5):  # the first is what the command has trained on
        train = tickets.tickets(800, seed)
        rows = train.drop(columns="tags")
        theirs.append(paid_by(by_hand.fit(rows, truths(train)), prices, test))
        if seed > 1:
            ours = make_pipeline(TableEncoder(drop="id"), CLEMS(prices, random_state=0))
            paid.append(paid_by(ours.fit(rows, truths(train)), prices, test))
    assert np.mean(paid) <= 1.02 * np.mean(theirs), (paid, theirs)


def test_in_python(story, monkeypatch, capsys):
    folder, said = story
    monkeypatch.chdir(folder)
    code = re.search(r"<!-- runs -->\n```python\n(.*?)```", PAGE, re.DOTALL)[1]
    exec(compile(code, "page", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[:5] == said["clems evaluate model.clems test.csv"].stdout.splitlines()[:5]
