"""The HTML report: its numbers are those that one computes otherwise, it stands alone, and no name can do harm."""

import json
import re
import sys
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from io import BytesIO
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest
from plotly.offline import get_plotlyjs
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import precision_recall_fscore_support
from sklearn.neighbors import KNeighborsClassifier

import clems
from clems import BR, CLEMS, CRITERIA, LEARNERS, PCC, SLEEC, get_cost, save, weighted_hamming
from clems.cli.app import main
from clems.datasets import digit_scenes
from clems.evaluation import plot
from clems.evaluation.answers import answers_of
from clems.evaluation.bootstrap import bootstrap
from clems.evaluation.label_map import make_map, names_of, principal_plane
from clems.evaluation.report import make_content, render, write_report
from clems.evaluation.report.content import baselines
from clems.evaluation.report.rows import data_address, unusual_features
from clems.evaluation.savings import best_constant
from clems.trees import leaf_table

X, DIGITS = digit_scenes(300, random_state=0)
Y = DIGITS[:, :5]
NAMES = ["nil", "one", "two", "three", "four"]
TRAIN, TEST = slice(0, 200), slice(200, 300)
SECTIONS = ["savings", "decision", "criteria", "map", "expected", "handing-over", "labels", "mistakes", "what-if"]
PIXELS = [f"p{k}" for k in range(121)]
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def model():
    return CLEMS("f1", n_trees=10, random_state=0).fit(X[TRAIN], pd.DataFrame(Y[TRAIN], columns=NAMES))


@pytest.fixture(scope="module")
def content(model):
    return make_content(model, X[TEST], Y[TEST], n_mistakes=12)


@pytest.fixture(scope="module")
def page(content):
    return Page(render(content, "Digits"))


class Page(HTMLParser):
    """A page taken apart: sections with their text, tables, addresses, scripts of data."""

    VOID = ("meta", "link", "img", "input", "option", "br")

    def __init__(self, text):
        super().__init__()
        self.text, self.sections, self.tables, self.addresses, self.data = text, {}, {}, [], {}
        self.open, self.section, self.scripts, self.names = [], None, 0, []
        self.feed(text)
        assert not [tag for tag, _ in self.open], "all is closed"

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action", "srcset")]
        self.scripts += tag == "script"
        if tag in ("input", "select", "button"):
            self.names.append(given)
        if tag == "section":
            self.section = given["id"]
            self.sections[self.section], self.tables[self.section] = "", []
        if tag == "table":
            self.tables[self.section].append([])
        if tag == "tr":
            self.tables[self.section][-1].append([])
        if tag in ("td", "th"):
            self.tables[self.section][-1][-1].append("")
        if tag not in self.VOID:
            self.open.append((tag, given))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tags = [tag for tag, _ in self.open]
        if tags and tags[-1] == "script":
            name = self.open[-1][1].get("id")
            self.data[name] = self.data.get(name, "") + data
        elif "section" in tags:
            self.sections[self.section] += data
            if ("td" in tags or "th" in tags) and "small" not in tags:
                self.tables[self.section][-1][-1][-1] += data

    def figure(self, name):
        return json.loads(self.data["figures"])[name]


def test_every_section_is_there_and_has_a_heading(page):
    assert [*page.sections] == SECTIONS
    for section in SECTIONS:
        assert f'<h2 id="{section}-h">' in page.text
        assert f'aria-labelledby="{section}-h"' in page.text
        assert f'href="#{section}"' in page.text
    assert '<html lang="en">' in page.text
    assert 'name="viewport" content="width=device-width' in page.text
    assert "@media print" in page.text
    assert "prefers-color-scheme: dark" in page.text


def test_it_stands_alone(page):
    assert {address[0] if address.startswith("#") else address[:5] for address in page.addresses} == {"#", "data:"}
    without = page.text.replace(get_plotlyjs(), "")  # which names its home, and many others
    styles = page.text.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in styles
    assert "@import" not in styles
    assert "http://" not in without
    assert "https://" not in without
    assert "default-src 'none'" in page.text


def test_only_its_own_scripts_and_styles_are_allowed(page):
    """Browsers compare the text between two tags, letter by letter, with the checksums of the policy."""
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page.text)[1]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert {name: rules[name] for name in ("default-src", "base-uri", "form-action")} == {
        name: ["'none'"] for name in ("default-src", "base-uri", "form-action")
    }
    assert rules["img-src"] == ["data:"]
    for tag, rule in (("script", "script-src"), ("style", "style-src-elem")):
        texts = re.findall(rf"<{tag}>(.*?)</{tag}>", page.text, re.DOTALL)
        sums = {f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts}
        assert sums, tag
        empty = {"'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"}
        assert {*rules[rule]} - empty == sums
        assert "\r" not in "".join(texts)


def test_criteria_are_those_of_the_predictions(model, content, page):
    predicted = model.predict(X[TEST])
    values = {one.name: content.comparison.value[0, at] for at, one in enumerate(content.comparison.criteria)}
    assert next(iter(values)) == "f1"
    assert {*values} == {*CRITERIA} - {"f_beta"}
    for name, value in values.items():
        assert value == pytest.approx(CRITERIA[name](Y[TEST], predicted))
    head, *rows = page.tables["criteria"][0]
    assert head[:2] == ["answer", "F1 ↑"]
    assert rows[0] == ["CLEMS", *(f"{value:,.3f}" for value in values.values())]
    assert f"its F1 is {values['f1']:.3f}" in page.sections["decision"]
    right = (predicted == Y[TEST]).all(axis=1).mean()
    assert f"{right:.0%} of the rows" in page.sections["decision"]


def test_baselines_need_no_training(model):
    found, lacking = baselines(model, answers_of(model, X[TEST], paper=True))
    assert lacking == ()
    candidates = model.candidates_.labels
    mean = [get_cost("f1").rowwise(Y[TRAIN], np.tile(one, (200, 1))).mean() for one in candidates]
    assert (found["best constant"] == candidates[np.argmin(mean)]).all()
    assert (found["majority of each label"] == (Y[TRAIN].mean(axis=0) > 0.5)).all()
    assert np.array_equal(found["each label at ½"], model.predict_proba(X[TEST]) > 0.5)
    nearest = model.with_decoder("nearest").predict(X[TEST])
    assert np.array_equal(found["paper’s decoding"], nearest)
    assert (nearest[:, None] == candidates).all(axis=2).any(axis=1).all()
    assert best_constant(get_cost("hamming"), np.array([[0, 0], [1, 1]]), np.array([1.0, 3.0])).tolist() == [1, 1]


def test_intervals_are_those_of_resampled_rows():
    random = np.random.RandomState(0)
    predictions = {"some": random.rand(60, 4) < 0.4, "none": np.zeros((60, 4), int)}
    truth = random.rand(60, 4) < 0.3
    found = bootstrap(predictions, truth, n_resamples=40, random_state=3)
    drawn = np.random.default_rng(3).integers(60, size=(40, 60))
    for at, criterion in enumerate(found.criteria):
        for place, P in enumerate(predictions.values()):
            assert found.value[place, at] == pytest.approx(criterion(truth, P))
            again = [criterion(truth[rows], P[rows]) for rows in drawn]
            assert found.resampled[:, place, at] == pytest.approx(np.array(again))
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()
    value, low, high = found.lead(0, 1, [one.name for one in found.criteria].index("hamming"))
    assert value == pytest.approx(found.value[1, 0] - found.value[0, 0])
    assert low < value < high
    assert (
        found.best
        == (found.value == np.where([one.sign > 0 for one in found.criteria], found.value.max(0), found.value.min(0)))
    ).all()


def test_blocks_of_resamples_change_nothing(monkeypatch):
    given = {"all": np.ones((30, 3), int)}, np.eye(3, dtype=int).repeat(10, axis=0)
    whole = bootstrap(*given, n_resamples=50).resampled
    monkeypatch.setattr(sys.modules[bootstrap.__module__], "CELLS", 7 * 30)
    assert bootstrap(*given, n_resamples=50).resampled == pytest.approx(whole)


def test_labels_are_those_of_scikit_learn(model, page):
    precision, recall, f1, support = precision_recall_fscore_support(Y[TEST], model.predict(X[TEST]), zero_division=0)
    rows = {name: cells for name, *cells in page.tables["labels"][0][1:]}
    assert {*rows} == {*NAMES}
    for at, name in enumerate(NAMES):
        assert rows[name][0] == str(support[at])
        assert rows[name][-3:] == [f"{value:.3f}" for value in (precision[at], recall[at], f1[at])]


def test_expected_and_realised_cost(model, content, page):
    expected, realised = model.expected_cost(X[TEST]), get_cost("f1").rowwise(Y[TEST], model.predict(X[TEST]))
    groups = content.evaluation.reliability
    assert np.average(groups["expected"], weights=groups["rows"]) == pytest.approx(expected.mean())
    said = f"expected to pay {expected.mean():.3f} a row, in 1 − F1, and paid {realised.mean():.3f}"
    assert said in page.sections["decision"]
    shown = page.tables["expected"][0][1:]
    assert [row[1:] for row in shown] == [[f"{e:.3f}", f"{r:.3f}"] for e, r in groups[["expected", "realised"]].values]
    assert page.figure("reliability")["data"][1]["x"] == pytest.approx(groups["expected"].tolist())


def test_mistakes_come_with_their_rows(model, content, page):
    predicted = model.predict(X[TEST])
    costs = get_cost("f1").rowwise(Y[TEST], predicted)
    assert [row.cost for row in content.mistakes] == pytest.approx(np.sort(costs)[::-1][:12])
    for row in (*content.mistakes, *content.right):
        at = int(row.name)
        assert row.cost == pytest.approx(costs[at])
        assert {*row.true_positives, *row.false_negatives} == {*names_of(Y[TEST][[at]], NAMES)[0]}
        assert {*row.true_positives, *row.false_positives} == {*names_of(predicted[[at]], NAMES)[0]}
        assert row.expected == pytest.approx(model.expected_cost(X[TEST][[at]])[0])
        assert f"row {row.name}" in page.sections["mistakes"]
        assert 1 <= len(row.features) <= 6
    assert all(row.cost == 0 for row in content.right)


def test_what_if_is_what_the_model_predicts_for_other_costs(model, content, page):
    rows = {name: cells for name, *cells in page.tables["what-if"][0][1:]}
    criteria = [one.name for one in content.what_if.comparison.criteria]
    for cost in ("hamming", "rank", "accuracy"):
        predicted = model.predict(X[TEST], cost=cost)
        values = [f"{CRITERIA[name](Y[TEST], predicted):,.3f}" for name in criteria]
        changed = (predicted != model.predict(X[TEST])).any(axis=1).mean()
        assert rows[CRITERIA[cost].title] == [*values, f"{predicted.sum(axis=1).mean():.2f}", f"{changed:.1%}"]
    for example in content.what_if.examples:
        at = int(example.name)
        assert dict(example.decisions)["rank"] == ", ".join(
            names_of(model.predict(X[TEST][[at]], cost="rank"), NAMES)[0]
        )


def test_the_map_shows_the_embedding_and_what_is_near_by_cost(model, content, page):
    found = content.map
    order = np.argsort(-model.candidates_.frequency, kind="stable")
    labels = model.candidates_.labels[order]
    assert found.sets == tuple(names_of(labels, NAMES))
    costs = get_cost("f1").pairwise(labels, labels)
    for i, places in enumerate(found.predictions.index):
        others = np.delete(costs[i], i)
        assert found.predictions.cost[i] == pytest.approx(np.sort(others)[:3])
        assert costs[i, places] == pytest.approx(found.predictions.cost[i])
    points = np.concatenate([model.embedding_.truth[order], model.embedding_.prediction[order]])
    flat = np.concatenate([found.truth, found.prediction])
    assert found.share == pytest.approx(flat.var(axis=0).sum() / points.var(axis=0).sum())
    assert f"show {found.share:.0%} of the variation" in " ".join(page.sections["map"].split())
    assert make_map(model, most=4).sets == found.sets[:4]
    figure = page.figure("label-map")
    assert figure["data"][1]["x"] == pytest.approx(found.truth[:, 0].tolist())
    size = np.array(figure["data"][1]["marker"]["size"])
    assert (np.diff(size) <= 0).all()
    near = ", ".join(found.sets[found.predictions.index[0, 0]])
    assert f"{found.predictions.cost[0, 0]:.3g}  {near}" in figure["data"][1]["hovertext"][0]


def test_the_plane_of_few_points():
    flat, share = principal_plane(np.zeros((3, 1)))
    assert (flat == 0).all()
    assert share == 1
    assert principal_plane(np.array([[0.0, 0, 0], [3, 4, 0]]))[1] == pytest.approx(1)


def test_an_asymmetric_cost_has_other_neighbours_by_role():
    price = weighted_hamming([5, 1, 1, 1, 1], [1, 1, 1, 1, 5], "euros")
    model = CLEMS(price, n_trees=5, random_state=0).fit(X[TRAIN], Y[TRAIN])
    found = make_map(model)
    labels = model.candidates_.labels[np.argsort(-model.candidates_.frequency, kind="stable")]
    costs = price.pairwise(labels, labels)
    for i, places in enumerate(found.truths.index):
        assert costs[places, i] == pytest.approx(np.sort(np.delete(costs[:, i], i))[:3])
    page = Page(render(make_content(model, X[TEST], Y[TEST])))
    head, *rows = page.tables["labels"][0]
    assert head[-1] == "price"
    total = price.rowwise(Y[TEST], model.predict(X[TEST])).sum()
    assert sum(float(row[-1].replace(",", "")) for row in rows) == pytest.approx(total)
    assert "mean euros is" in page.sections["decision"]


def test_names_cannot_do_harm(tmp_path):
    names = [EVIL, "<img src=x onerror=alert(1)>", "a&b", '"quoted" %{x}', "</script>"]
    evil = CLEMS(weighted_hamming(2, name=EVIL), n_trees=5, random_state=0)
    evil.fit(X[TRAIN], pd.DataFrame(Y[TRAIN], columns=names))
    features = [f"{EVIL}{place}" for place in range(X.shape[1])]
    text = write_report(evil, X[TEST], Y[TEST], tmp_path / "evil.html", title=EVIL, feature_names=features).read_text()
    assert EVIL not in text
    assert "<img" not in text.replace('"<img', "").partition("</main>")[0]
    page = Page(text)
    assert page.scripts == 5
    assert EVIL in page.sections["labels"]
    assert EVIL in page.sections["mistakes"]
    hovers = [text for trace in page.figure("label-map")["data"] for text in trace.get("hovertext") or []]
    assert any("&lt;script&gt;" in hover for hover in hovers)
    ticks = page.figure("labels-figure")["layout"]["yaxis"]["ticktext"]
    for figure in (*hovers, *ticks):
        assert not [tag for tag in figure.split("<")[1:] if not tag.startswith(("b>", "/b>", "br>"))]


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_a_report(name):
    learner = LEARNERS[name](**{"n_trees": 3, "random_state": 0}).fit(X[:100, ::4], Y[:100])
    content = make_content(learner, X[TEST, ::4], Y[TEST], n_mistakes=3)
    page = Page(render(content))
    assert [*page.sections] == SECTIONS
    value = learner.criterion_(Y[TEST], learner.predict(X[TEST, ::4]))
    assert content.comparison.value[0, 0] == pytest.approx(value)
    assert ("label-map" in json.loads(page.data["figures"])) == (name == "clems")
    if name != "clems":
        assert "so there is no map" in page.sections["map"]
        assert "so there are no constant answers" in page.sections["criteria"]
    silent = "does not say what a single row is expected to cost" in page.sections["expected"]
    assert silent == (not hasattr(learner, "expected_cost")) == (name not in ("clems", "cost_sensitive", "pcc"))
    assert ("each label at ½" in content.comparison.models) == hasattr(learner, "predict_proba")
    assert (content.what_if is not None) == learner.cost_at_predict
    assert ("decides for one cost only" in page.sections["what-if"]) == (not learner.cost_at_predict)


def test_micro_f1_is_no_cost_of_rows():
    model = CLEMS("micro_f1", n_trees=5, random_state=0).fit(X[TRAIN], Y[TRAIN])
    content = make_content(model, X[TEST], Y[TEST])
    assert content.own.name == "micro_f1"
    assert content.comparison.value[0, 0] == pytest.approx(CRITERIA["micro_f1"](Y[TEST], model.predict(X[TEST])))
    page = Page(render(content))
    assert "trained for micro F1 does not say what a single row" in page.sections["expected"]
    assert page.tables["what-if"][0][1][0] == "micro F1"


@pytest.mark.parametrize("form", ["sparse", "frame", "sets"])
def test_forms_of_data(form):
    labels = [{NAMES[k] for k in np.flatnonzero(row)} for row in Y]
    features = {"sparse": sparse.csr_array(X), "frame": pd.DataFrame(X), "sets": X}[form]
    if form == "frame":
        features.columns, features.index = [f"pixel {k}" for k in range(121)], [f"scene {k}" for k in range(300)]
    pick = (lambda rows: features.iloc[rows]) if form == "frame" else (lambda rows: features[rows])
    given = labels if form == "sets" else Y
    model = CLEMS(n_trees=5, random_state=0).fit(pick(TRAIN), given[TRAIN])
    content = make_content(model, pick(TEST), given[TEST])
    row = content.mistakes[0]
    assert row.name.startswith("scene 2" if form == "frame" else "")
    assert row.features[0][0].startswith("pixel" if form == "frame" else "feature")
    name, value = row.features[0]
    at = int(row.name.split()[-1]) - (200 if form == "frame" else 0)
    assert float(value) == X[TEST][at, int(name.split()[-1])]


def test_unusual_features_are_the_same_of_sparse_data():
    rows = np.arange(4)
    assert unusual_features(X, rows, NAMES * 30) == unusual_features(sparse.csr_array(X), rows, NAMES * 30)
    assert unusual_features(np.array([["a"], ["b"]]), np.array([0]), ["word"]) == [()]


def test_pictures_are_png():
    from PIL import Image

    grey = np.arange(12.0).reshape(3, 4)
    for picture in (grey, np.random.RandomState(0).randint(0, 255, (5, 2, 3)).astype(np.uint8)):
        with urlopen(data_address(picture)) as file:
            shown = np.asarray(Image.open(BytesIO(file.read())))
        scaled = (picture / 11 * 255).round() if picture is grey else picture
        assert np.array_equal(shown, scaled)
    assert data_address("data:image/gif;base64,xyz") == "data:image/gif;base64,xyz"
    with pytest.raises(ValueError, match="needs no network"):
        data_address("https://example.org/cat.png")
    with pytest.raises(ValueError, match=r"got \(3,\)"):
        data_address([1, 2, 3])


def test_pictures_in_the_page(model):
    content = make_content(model, X[TEST], Y[TEST], images=X[TEST].reshape(-1, 11, 11), n_mistakes=5)
    page = Page(render(content))
    pictures = [address for address in page.addresses if address.startswith("data:image/png")]
    assert len(content.mistakes) == 5
    assert len(content.right) >= 1
    assert len(content.what_if.examples) == 3
    assert len(pictures) == 5 + len(content.right) + 3
    assert page.text.count('alt="Picture of row') == len(pictures)


def test_a_report_is_written_whole_or_not_at_all(model, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before")
    monkeypatch.setattr("clems.evaluation.report.render", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(model, X[TEST], Y[TEST], path)
    assert path.read_text() == "before"
    assert [*tmp_path.iterdir()] == [path]


def test_a_report_reads_each_row_once(model, tmp_path, monkeypatch):
    read = []
    leaves_of = leaf_table.leaves_of
    monkeypatch.setattr(
        leaf_table, "leaves_of", lambda trees, X, *jobs: read.append(len(X)) or leaves_of(trees, X, *jobs)
    )
    write_report(model, X[TEST], Y[TEST], tmp_path / "report.html", images=X[TEST].reshape(-1, 11, 11))
    assert read == [100]


def test_the_same_model_has_the_same_report(model):
    first, second = (render(make_content(model, X[TEST], Y[TEST])) for _ in range(2))
    assert first == second


def test_faults_are_reported_in_a_sentence(model, tmp_path, monkeypatch):
    given = model, X[TEST], Y[TEST], tmp_path / "report.html"
    with pytest.raises(ValueError, match="There are 3 images for 100 rows"):
        write_report(*given, images=X[:3])
    with pytest.raises(ValueError, match="There are 2 names for 121 features"):
        write_report(*given, feature_names=["a", "b"])
    with pytest.raises(TypeError, match=r"A report needs a learner of clems, or .* got a KNeighborsClassifier"):
        write_report(KNeighborsClassifier(), *given[1:])
    with pytest.raises(NotFittedError):
        write_report(CLEMS(), *given[1:])
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        write_report(*given[:3], tmp_path / "nowhere" / "report.html")
    with pytest.raises(ValueError, match="which BR does not have"):
        plot.label_map(BR(n_trees=3).fit(X[TRAIN], Y[TRAIN]))
    with pytest.raises(ValueError, match="BR does not compute what a single row is expected to cost"):
        plot.reliability(BR(n_trees=3).fit(X[TRAIN], Y[TRAIN]), X[TEST], Y[TEST])
    for missing in ("jinja2", "plotly.offline"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, missing, None)
            with pytest.raises(ImportError, match=r"pip install 'clems\[report\]'\.$"):
                write_report(*given)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(ImportError, match=r"need plotly: pip install 'clems\[report\]'\.$"):
        plot.label_map(model)


def test_figures_for_notebooks(model):
    figure = clems.plot.label_map(model, most=10)
    assert [len(trace.x) for trace in figure.data] == [0, 10, 10, 10]
    assert figure.layout.yaxis.scaleanchor == "x"
    predictions = {"CLEMS": model.predict(X[TEST]), "none": np.zeros_like(Y[TEST])}
    figure = plot.criteria(predictions, Y[TEST], ["f1", "rank"])
    assert len(figure.data) == 4
    assert figure.data[0].x[0] == pytest.approx(CRITERIA["f1"](Y[TEST], predictions["CLEMS"]))
    assert len(plot.criteria(predictions, Y[TEST]).data) == 2 * len(CRITERIA)
    assert figure.layout.annotations[0].text == "<b>F1</b> ↑"
    assert len(plot.reliability(model, X[TEST], Y[TEST]).data) == 2
    assert [*plot.labels(model, X[TEST], Y[TEST], most=3).layout.yaxis.tickvals] == [0, 1, 2]


@pytest.mark.parametrize("learner", [PCC(n_trees=3, random_state=0), SLEEC(n_trees=3, random_state=0)])
def test_what_if_of_others_is_theirs(learner):
    learner.fit(X[:100, ::4], Y[:100])
    found = make_content(learner, X[TEST, ::4], Y[TEST]).what_if
    titles = [*found.costs]
    predicted = learner.predict(X[TEST, ::4], cost="rank")
    at = titles.index("rank")
    column = [one.name for one in found.comparison.criteria].index("rank")
    assert found.comparison.value[at, column] == pytest.approx(CRITERIA["rank"](Y[TEST], predicted))


def test_the_command(tmp_path, capsys):
    model = CLEMS("f1", n_trees=10, random_state=0)
    model.fit(pd.DataFrame(X[TRAIN], columns=PIXELS), pd.DataFrame(Y[TRAIN], columns=NAMES))
    save(model, tmp_path / "model.clems")
    frame = pd.DataFrame(np.hstack([X[TEST], Y[TEST]]), columns=[*PIXELS, *NAMES])
    frame = frame.astype(dict.fromkeys(NAMES, int))
    frame[[*PIXELS[::-1], *NAMES[::-1]]].to_csv(tmp_path / "test.csv", index=False)
    output = tmp_path / "report.html"
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "model.clems"), str(tmp_path / "test.csv"), "--output", str(output)])
    assert end.value.code == 0
    assert capsys.readouterr().out.split() == [str(output)]
    page = Page(output.read_text())
    value = CRITERIA["f1"](Y[TEST], model.predict(frame[PIXELS]))
    assert page.tables["criteria"][0][1][1] == f"{value:.3f}"
    assert "p1" in page.sections["mistakes"]
