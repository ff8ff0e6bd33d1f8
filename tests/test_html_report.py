"""The HTML report: its numbers are those that one computes otherwise, it stands alone, and no name can do harm."""

import json
import re
import sys
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from io import BytesIO
from urllib.request import urlopen
from xml.etree.ElementTree import fromstring

import numpy as np
import pandas as pd
import pytest
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
from clems.evaluation.figure import Figure, axis_of
from clems.evaluation.label_map import make_map, names_of, principal_plane
from clems.evaluation.report import make_content, render, write_report
from clems.evaluation.report.content import baselines
from clems.evaluation.report.live import make_live
from clems.evaluation.report.rows import data_address, unusual_features
from clems.evaluation.savings import best_constant
from clems.evaluation.sources import has_sources
from clems.learners.by_posterior import PosteriorClassifier
from clems.trees import leaf_table

X, DIGITS = digit_scenes(300, random_state=0)
Y = DIGITS[:, :5]
NAMES = ["nil", "one", "two", "three", "four"]
TRAIN, TEST = slice(0, 200), slice(200, 300)
SECTIONS = [
    *("savings", "decision", "what-if", "mistakes", "labels", "expected", "handing-over"),
    *("sources", "map", "criteria", "other-costs"),
]
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
    NUMBER = re.compile(r"-?[\d.]+")

    def __init__(self, text):
        super().__init__()
        self.text, self.sections, self.tables, self.addresses, self.data = text, {}, {}, [], {}
        self.open, self.section, self.scripts, self.names, self.drawn = [], None, 0, [], {}
        self.feed(text)
        assert not [tag for tag, _ in self.open], "all is closed"

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action", "srcset")]
        self.scripts += tag == "script"
        if tag in ("input", "select", "button"):
            self.names.append(given)
        if tag in ("circle", "path", "g") and self.section:
            self.drawn.setdefault(self.section, []).append(given)
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

    def points(self, section, look):
        """Numbers of elements of a figure: where they are and how large."""
        return [
            {key: float(self.NUMBER.search(value)[0]) for key, value in one.items() if key in ("cx", "cy", "r")}
            for one in self.drawn[section]
            if one.get("class") == look
        ]


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
    assert len(page.text.encode()) < 1_500_000
    without = page.text.replace("http://www.w3.org/2000/svg", "")  # the name of a language, which nobody asks for
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
    assert "unsafe" not in policy
    assert not re.search(r"<[^>]* (style|on\w+)=", page.text.partition("<script")[0])
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        texts = re.findall(rf"<{tag}>(.*?)</{tag}>", page.text, re.DOTALL)
        sums = {f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts}
        assert sums, tag
        assert {*rules[rule]} == sums
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
        assert rows[name][1] == str(support[at])
        assert rows[name][-3:] == [f"{value:.3f}" for value in (precision[at], recall[at], f1[at])]


def test_expected_and_realised_cost(model, content, page):
    expected, realised = model.expected_cost(X[TEST]), get_cost("f1").rowwise(Y[TEST], model.predict(X[TEST]))
    groups = content.evaluation.reliability
    assert np.average(groups["expected"], weights=groups["rows"]) == pytest.approx(expected.mean())
    said = f"expected to pay {expected.mean():.3f} a row, in 1 − F1, and paid {realised.mean():.3f}"
    assert said in page.sections["decision"]
    shown = page.tables["expected"][0][1:]
    assert [row[1:] for row in shown] == [[f"{e:.3f}", f"{r:.3f}"] for e, r in groups[["expected", "realised"]].values]
    across = [point["cx"] for point in page.points("expected", "dot accent")]
    end = 1.08 * groups[["expected", "realised"]].to_numpy().max()
    assert across == pytest.approx((100 * groups["expected"] / end).tolist(), rel=1e-3)


def test_mistakes_come_with_their_rows(model, content, page):
    predicted, probabilities = model.predict(X[TEST]), model.posterior(X[TEST]).marginals
    costs = get_cost("f1").rowwise(Y[TEST], predicted)
    assert [row.cost for row in content.mistakes] == pytest.approx(np.sort(costs)[::-1][:12])
    for row in (*content.mistakes, *content.right):
        at = int(row.name)
        assert row.cost == pytest.approx(costs[at])
        kinds = {kind: {one.name for one in row.labels if one.kind == kind} for kind in ("hit", "missed", "alarm")}
        assert kinds["hit"] | kinds["missed"] == {*names_of(Y[TEST][[at]], NAMES)[0]}
        assert kinds["hit"] | kinds["alarm"] == {*names_of(predicted[[at]], NAMES)[0]}
        assert [one.probability for one in row.labels] == pytest.approx(
            [probabilities[at, NAMES.index(one.name)] for one in row.labels]
        )
        of_truth = model.posterior(X[TEST][[at]]).expected_cost(Y[TEST][[at]], "f1")[0]
        assert row.expected_truth == pytest.approx(min(1, model.paid_over_expected() * of_truth))
        assert row.expected == pytest.approx(model.expected_cost(X[TEST][[at]])[0])
        assert f"row {row.name}" in page.sections["mistakes"]
        assert 1 <= len(row.features) <= 6
    assert all(row.cost == 0 for row in content.right)


def test_what_if_is_what_the_model_predicts_for_other_costs(model, content, page):
    rows = {name: cells for name, *cells in page.tables["other-costs"][0][1:]}
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
    places = [one for one in page.drawn["map"] if one.get("class") == "point truth"]
    across = [float(page.NUMBER.search(one["transform"])[0]) for one in places]
    assert np.corrcoef(across, found.truth[:, 0])[0, 1] == pytest.approx(1, abs=1e-4)
    assert json.loads(page.data["map-data"])["truth"] == pytest.approx(found.truth, abs=1e-4)
    size = [point["r"] for point in page.points("map", "shape") if "r" in point]
    assert (np.diff(size) <= 0).all()
    kept = json.loads(page.data["map-data"])
    assert [[kept["labels"][label] for label in one] for one in kept["sets"]] == [[*one] for one in found.sets]
    assert kept["near"] == {"truth": found.predictions.index.tolist(), "prediction": found.truths.index.tolist()}
    assert kept["cost"]["truth"][0][0] == f"{found.predictions.cost[0, 0]:.3g}"
    near = ", ".join(found.sets[found.predictions.index[0, 0]])
    first = plot.label_map(model).svg().partition('class="point truth"')[2].partition("</g>")[0]
    assert f"{found.predictions.cost[0, 0]:.3g}  {near}" in first


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
    content = make_content(model, X[TEST], Y[TEST])
    page = Page(render(content))
    head, *rows = page.tables["labels"][0]
    assert head[-1] == "paid"
    for row in content.mistakes:
        assert sum(one.price for one in row.labels if one.price is not None) == pytest.approx(row.cost)
        for one in row.labels:
            assert (one.probability > one.threshold) == (one.kind != "missed"), "by thresholds of prices"
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
    assert page.scripts == 6
    for section in ("labels", "mistakes", "what-if", "map"):
        assert EVIL in page.sections[section]
    assert json.loads(page.data["live-data"])["labels"][0] == EVIL
    for figure in (plot.labels(evil, X[TEST], Y[TEST]), plot.label_map(evil), plot.criteria({EVIL: Y}, Y)):
        assert EVIL not in figure.svg()
        assert "&lt;script&gt;" in figure.svg()
        fromstring(figure.svg())  # well formed


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_a_report(name):
    learner = LEARNERS[name](**{"n_trees": 3, "random_state": 0}).fit(X[:100, ::4], Y[:100])
    content = make_content(learner, X[TEST, ::4], Y[TEST], n_mistakes=3)
    page = Page(render(content))
    assert [*page.sections] == [one for one in SECTIONS if one != "sources" or name == "clems"]
    value = learner.criterion_(Y[TEST], learner.predict(X[TEST, ::4]))
    assert content.comparison.value[0, 0] == pytest.approx(value)
    assert ('id="label-map"' in page.text) == (name == "clems")
    assert ("has no probabilities of labels" in page.sections["what-if"]) == (not hasattr(learner, "predict_proba"))
    if name != "clems":
        assert "so there is no map" in page.sections["map"]
    if not hasattr(learner, "candidates_"):
        assert "so there are no constant answers" in page.sections["criteria"]
    silent = "does not say what a single row is expected to cost" in page.sections["expected"]
    assert silent == (not hasattr(learner, "expected_cost")) == (not issubclass(LEARNERS[name], PosteriorClassifier))
    assert ("each label at ½" in content.comparison.models) == hasattr(learner, "predict_proba")
    assert (content.what_if is not None) == learner.cost_at_predict
    assert ("decides for one cost only" in page.sections["other-costs"]) == (not learner.cost_at_predict)


def test_micro_f1_is_no_cost_of_rows():
    model = CLEMS("micro_f1", n_trees=5, random_state=0).fit(X[TRAIN], Y[TRAIN])
    content = make_content(model, X[TEST], Y[TEST])
    assert content.own.name == "micro_f1"
    assert content.comparison.value[0, 0] == pytest.approx(CRITERIA["micro_f1"](Y[TEST], model.predict(X[TEST])))
    page = Page(render(content))
    assert "trained for micro F1 does not say what a single row" in page.sections["expected"]
    assert page.tables["other-costs"][0][1][0] == "micro F1"


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
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        write_report(model, X[TEST], Y[:3], given[3])
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
    with pytest.raises(ValueError, match="show names columns of X, which is no DataFrame"):
        write_report(*given, show=["a"])
    with pytest.raises(ValueError, match="show has 3 rows for 100 test rows"):
        write_report(*given, show=pd.DataFrame({"a": [1, 2, 3]}))
    with pytest.raises(ValueError, match=r"show: there is no column 'a'; there are 'p0', 'p1'"):
        write_report(model, pd.DataFrame(X[TEST], columns=PIXELS), *given[2:], show="a")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'clems\[report\]'\.$"):
        write_report(*given)


def test_figures_for_notebooks(model, tmp_path):
    figure = clems.plot.label_map(model, most=10)
    assert figure.svg().count('class="point truth"') == figure.svg().count('class="point prediction"') == 10
    predictions = {"CLEMS": model.predict(X[TEST]), "none": np.zeros_like(Y[TEST])}
    figure = plot.criteria(predictions, Y[TEST], ["f1", "rank"])
    assert figure.svg().count("<circle") == 4
    assert f"CLEMS: F1 {CRITERIA['f1'](Y[TEST], predictions['CLEMS']):.3f}, 95 % interval" in figure.svg()
    assert plot.criteria(predictions, Y[TEST]).svg().count("<circle") == 2 * len(CRITERIA)
    assert plot.reliability(model, X[TEST], Y[TEST]).svg().count("<circle") == 10
    assert plot.abstention(model, X[TEST], Y[TEST], abstain_at=0.3).svg().count("<circle") == 21
    figure = plot.labels(model, X[TEST], Y[TEST], most=3)
    assert figure.svg().count('class="ring"') == 4  # three, and the legend
    assert figure._repr_svg_() == figure.svg() == figure.save(tmp_path / "labels.svg").read_text("utf-8")
    for name in ("names", "axes", "bare"):
        assert fromstring(Figure("", 10, "a", name).svg()).tag.endswith("svg")


@pytest.mark.parametrize(
    ("values", "ticks", "written"),
    [
        ([0.0, 1.0], [0, 0.25, 0.5, 0.75, 1], ["0.00", "0.25", "0.50", "0.75", "1.00"]),
        ([-3.0, 7.0], [-2.5, 0, 2.5, 5], ["−2.5", "0.0", "2.5", "5.0"]),
        ([0.0, 12000.0, np.nan], [0, 2500, 5000, 7500, 10000, 12500], None),
        ([0.2, 0.2], [0.15, 0.2, 0.25, 0.3], None),
        ([], None, None),
    ],
)
def test_ticks_are_round(values, ticks, written):
    axis = axis_of(values)
    known = [value for value in values if value == value]
    assert all(0 <= axis.at(value) <= 1 for value in [*known, *axis.ticks])
    assert len(axis.ticks) >= 2
    if written is not None:
        assert [*axis.ticks] == ticks
        assert [axis.written(tick) for tick in axis.ticks] == written


def test_a_map_that_is_nearly_empty_says_so():
    few = CLEMS("f1", n_trees=5, random_state=0).fit(X[TRAIN], Y[TRAIN][:, :2])
    page = Page(render(make_content(few, X[TEST], Y[TEST][:, :2])))
    assert "The map would be nearly empty: the model knows 4 label sets only." in page.sections["map"]
    assert 'id="label-map"' not in page.text
    assert len(page.tables["map"][0]) == 1 + 4
    assert "<details open>" in page.text


def test_a_map_of_few_places_says_so(content, page):
    """One price that outweighs all others leaves two places; F1 leaves many."""
    price = weighted_hamming([1000, 1, 1, 1, 1], [1000, 1, 1, 1, 1], "prices")
    one = CLEMS(price, n_trees=5, random_state=0).fit(X[TRAIN], Y[TRAIN])
    found = make_content(one, X[TEST], Y[TEST])
    assert found.map.n_places < 12 < len(found.map.sets)
    few = Page(render(found))
    said = f"The map is nearly empty: its {len(found.map.sets)} label sets are at {found.map.n_places} places only"
    assert said in few.sections["map"]
    assert 'id="label-map"' in few.text
    assert content.map.n_places >= 12
    assert "nearly empty" not in page.sections["map"]


def test_what_the_prediction_rests_on(model, content, page):
    sources = content.sources
    assert sources.experts == tuple(model.experts_)
    assert sources.held_out == model.mixture_costs_
    assert sum(sources.shares.values()) == pytest.approx(1)
    assert 0 < sources.shares["experts"] < 1
    alone = model.by_forest(model.posterior(X[TEST]))
    decided = alone.decide("f1")
    assert sources.changed == (decided != model.predict(X[TEST])).any(axis=1).mean()
    assert sources.cost_alone == pytest.approx(get_cost("f1").rowwise(Y[TEST], decided).mean())
    logit = [
        np.log(p / (1 - p))
        for p in (
            Y[TRAIN].mean(axis=0),
            *(np.clip(p.marginals, 1e-4, 1 - 1e-4) for p in (alone, model.posterior(X[TEST]))),
        )
    ]
    forest, experts = np.abs(logit[1] - logit[0]).sum(), np.abs(logit[2] - logit[1]).sum()
    assert sources.shares["forest"] == pytest.approx(forest / (forest + experts))
    assert f"forest {sources.shares['forest']:.0%}" in page.sections["sources"]
    weights = [row[0] for row in page.tables["sources"][0][1:]]
    assert [weight for weight in weights if "(chosen)" in weight] == [f"{model.mixture_.weight:g} (chosen)"]
    without = CLEMS("f1", n_trees=5, experts=None, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert make_content(without, X[TEST], Y[TEST]).sources is None
    assert has_sources(CLEMS("micro_f1", n_trees=5, random_state=0).fit(X[TRAIN], Y[TRAIN]))


def test_a_decision_that_was_not_the_best_expected_is_told(model):
    nearest = CLEMS("f1", n_trees=10, decoder="nearest", random_state=0).fit(X[TRAIN], Y[TRAIN])
    content = make_content(nearest, X[TEST], Y[TEST])
    best, predicted = nearest.posterior(X[TEST]).decide("f1"), nearest.predict(X[TEST])
    for row in content.mistakes:
        at = int(row.name)
        is_best = np.array_equal(best[at], predicted[at])
        assert row.better == (None if is_best else ", ".join(map(str, np.flatnonzero(best[at]))) or "no label")
    assert any(row.better for row in content.mistakes)
    assert not any(row.better for row in make_content(model, X[TEST], Y[TEST]).mistakes)


def test_the_page_keeps_probabilities_as_they_are(model, content, page):
    data = json.loads(page.data["live-data"])
    kept = np.frombuffer(b64decode(data["marginals"]), "<f8").reshape(100, 5)
    assert np.array_equal(kept, model.posterior(X[TEST]).marginals)
    for name, labels in (("truth", Y[TEST]), ("decided", model.predict(X[TEST]))):
        bits = np.unpackbits(np.frombuffer(b64decode(data[name]), np.uint8), bitorder="little")
        assert np.array_equal(bits[:500].reshape(100, 5), labels)
    assert data["names"] == [str(row) for row in range(100)]
    assert not content.live.of_model


def test_sources_of_labels_apart_are_what_each_adds_with_its_power():
    names = CLEMS("hamming", n_trees=10, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert names.mixture_.apart
    page, sources = Page(render(make_content(names, X[TEST], Y[TEST]))), make_content(names, X[TEST], Y[TEST]).sources
    posterior = names.posterior(X[TEST])
    frequency = np.clip(Y[TRAIN].mean(axis=0), 0.5 / 200, 1 - 0.5 / 200)
    start = np.log(frequency / (1 - frequency))
    by_forest, by_experts = posterior.moved()
    line = start * (names.mixture_.sharpness + names.mixture_.weight) + by_forest + by_experts
    assert np.allclose(1 / (1 + np.exp(-line - names.mixture_.constant)), posterior.marginals)
    moved = abs(by_forest).sum(), abs(by_experts).sum()
    assert sources.shares["forest"] == pytest.approx(moved[0] / sum(moved))
    assert "labels apart (chosen)" in page.sections["sources"]


def test_a_large_test_set_is_drawn_from():
    """However many rows, labels and label sets there are, the file stays small."""
    rng = np.random.default_rng(0)
    K, n = 200, 420
    features = rng.normal(size=(n, 20))
    labels = (features @ rng.normal(size=(20, K)) - 7 + rng.normal(size=(n, K)) > 0).astype(np.uint8)
    names = [f"a label with a rather long name, number {k}" for k in range(K)]
    large = CLEMS("hamming", n_trees=3, experts=None, random_state=0).fit(features, pd.DataFrame(labels, columns=names))
    content = make_content(large, features, labels, columns=pd.DataFrame({"text": ["long text " * 500] * n}))
    assert content.live.marginals.shape == (250, K)
    assert len({*content.live.names}) == 250
    page = render(content)
    assert "250 of the 420 test rows, drawn at random," in page
    assert len(content.map.sets) == 400
    assert len(page.encode()) < 1_500_000
    none = np.zeros((2, 201), np.uint8)
    over = make_live(large, none.astype(float), none, none, str)
    assert over.startswith("With 201 labels there are too many prices for a page")


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


def test_what_is_saved_is_shown_against_the_cheapest_other_way_first():
    prices = weighted_hamming([1, 1, 1, 1, 30], [1, 1, 1, 1, 2], "prices")
    model = CLEMS(prices, n_trees=5, random_state=0).fit(X[TRAIN], Y[TRAIN])
    content = make_content(model, X[TEST], Y[TEST], unit="€")
    table = content.evaluation.savings.table
    tiles = render(content).partition("<nav")[0]
    assert table["saved"].idxmin() != table.index[0]
    assert f"saved against the cheapest other way, {table['saved'].idxmin()}" in tiles
