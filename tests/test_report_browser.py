"""The report in a real browser: Debian's Chromium, driven by Playwright; `make test-browser` runs these alone."""

import shutil

import numpy as np
import pandas as pd
import pytest

from clems import CLEMS, Posterior, decide, get_cost, read_prices, weighted_hamming
from clems.datasets import digit_scenes
from clems.evaluation.report import write_report
from clems.evaluation.savings import amount

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; make test-browser does that")
expect = sync_api.expect
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; apt-get install chromium"),
]
SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
SECTIONS = [
    *("savings", "decision", "what-if", "mistakes", "labels", "expected", "handing-over"),
    *("sources", "map", "criteria", "other-costs"),
]
EVIL = "<script>alert(1)</script>"
NAMES = [EVIL, *"abcdefghi"]
WIDTHS = [390, 1400]
X, Y = digit_scenes(420, random_state=0)
TRAIN, TEST = slice(0, 300), slice(300, 420)
FN, FP = [9.0, 2, 3, 4, 5, 6, 7, 8, 1, 0.5], [1.0, 1, 2, 1, 1, 3, 1, 1, 2.5, 1]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    model = CLEMS("rank", n_trees=10, random_state=0).fit(X[TRAIN], pd.DataFrame(Y[TRAIN], columns=NAMES))
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(model, X[TEST], Y[TEST], path, title="Scenes", images=X[TEST].reshape(-1, 11, 11))


@pytest.fixture(scope="module")
def priced():
    """A model for prices, from its forest alone, so that it has one distribution for every cost."""
    cost = weighted_hamming(dict(zip(NAMES, FN, strict=True)), dict(zip(NAMES, FP, strict=True)), "euros")
    model = CLEMS(cost, n_trees=10, experts=None, random_state=0)
    return model.fit(X[TRAIN], pd.DataFrame(Y[TRAIN], columns=NAMES))


@pytest.fixture(scope="module")
def price_report(priced, tmp_path_factory):
    path = tmp_path_factory.mktemp("prices") / "report.html"
    rows = pd.DataFrame({"ticket": [f"=T-{row}" for row in range(120)]}, index=[f"T-{row}" for row in range(120)])
    return write_report(priced, X[TEST], Y[TEST], path, unit="€", show=rows)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


def opened_at(width, browser, report):
    """Open a report; what it says on the console and what it asks for are kept."""
    context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(20_000)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda one: asked.append(one.url))
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready=true]")
    return page, said, asked


def check_silence(said, asked, report):
    assert said == [], "the console is silent"
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()], "nothing is fetched"


@pytest.fixture(scope="module", params=WIDTHS)
def opened(request, browser, report):
    page, said, asked = opened_at(request.param, browser, report)
    yield page, said, asked
    page.context.close()


@pytest.fixture
def page(opened, report):
    """The page as it is when it is opened, which takes the most time of all."""
    page, said, asked = opened
    page.mouse.move(1, 1)
    page.emulate_media(media="screen", color_scheme="light")
    page.get_by_role("radio", name="both").check()
    page.get_by_label("With the label").fill("")
    yield page
    check_silence(said, asked, report)


@pytest.fixture(scope="module", params=WIDTHS)
def opened_prices(request, browser, price_report):
    page, said, asked = opened_at(request.param, browser, price_report)
    yield page, said, asked
    page.context.close()


@pytest.fixture
def live(opened_prices, price_report):
    """The page whose prices are those of the model."""
    page, said, asked = opened_prices
    page.get_by_role("button", name="Back to the beginning").click()
    expect(page.locator("#live-changed")).to_have_text("0")
    yield page
    check_silence(said, [url for url in asked if not url.startswith("blob:")], price_report)


def highest(page, role="truth"):
    """Number of the topmost point of the map."""
    page.locator("#label-map").scroll_into_view_if_needed()
    return page.evaluate(
        """role => { const tops = [...document.querySelectorAll(`.point.${role}`)].map((one) =>
                       one.getBoundingClientRect().top);
                     return tops.indexOf(Math.min(...tops)); }""",
        role,
    )


def middle(page, role, number):
    """Where a point of the map is on the screen."""
    page.locator("#label-map").scroll_into_view_if_needed()
    box = page.locator(f".point.{role}").nth(number).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def sets_of(page):
    return page.evaluate(
        """() => { const { labels, sets } = JSON.parse(document.getElementById("map-data").textContent);
                   return sets.map((set) => set.map((label) => labels[label])); }"""
    )


def test_every_section_and_figure_is_seen(page):
    for section in SECTIONS:
        assert page.locator(f"#{section} h2").is_visible()
    assert page.locator(".figure").count() == 1 + 2 + 1 + 8 + 10  # map, axes, shares, criteria, labels
    for figure in page.locator(".figure").all():
        assert figure.bounding_box()["height"] >= 20
        assert figure.bounding_box()["width"] >= 100
        assert figure.get_attribute("aria-label")
    assert page.locator(".card img").count() > 20
    assert page.evaluate("[...document.images].every((one) => one.complete && one.naturalWidth === 11)")


def test_nothing_is_wider_than_the_screen(page):
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    outside = page.evaluate(
        """() => [...document.querySelectorAll("main *, header *")]
             .filter((one) => !one.closest(".scroll, .aloud, .map, [hidden]") && one.getClientRects().length)
             .filter((one) => { const { left, right } = one.getBoundingClientRect();
                                return left < -0.5 || right > innerWidth + 0.5; }).map((one) => one.outerHTML)"""
    )
    assert outside == []
    for part in page.locator(".scroll").all():
        box = part.bounding_box()
        assert box is None or box["x"] + box["width"] <= page.viewport_size["width"]


def test_no_third_of_the_screen_is_empty(page):
    """In every section there is something to see in the left, the middle and the right third, on a wide screen too."""
    spans = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("section, header")].map((section) => {
             const parts = [...section.querySelectorAll("p, li, td, th, h2, input, circle, rect, .map, dd")]
               .filter((one) => one.getClientRects().length).map((one) => one.getBoundingClientRect());
             return [section.id, [0, 1, 2].map((third) => parts.filter(({ left, right }) =>
               right > (third * innerWidth) / 3 && left < ((third + 1) * innerWidth) / 3).length)]; }))"""
    )
    assert [name for name, thirds in spans.items() if not all(thirds)] == []
    assert {*spans} == {*SECTIONS, ""}


def test_hover_tells_a_label_set_and_what_is_near(page):
    page.mouse.move(*middle(page, "truth", highest(page)))
    tip = page.locator("#map-tip")
    tip.wait_for()
    text = tip.text_content()
    assert "as the truth" in text
    assert "nearest predictions by cost" in text
    assert page.locator(".link").count() == 3
    assert tip.bounding_box()["x"] + tip.bounding_box()["width"] <= page.viewport_size["width"]
    page.mouse.move(5, 5)
    expect(page.locator(".link")).to_have_count(0)
    assert not tip.is_visible()


def test_names_in_hints_are_only_text(page):
    page.get_by_role("radio", name="truth").check()
    page.get_by_label("With the label").fill("<script")
    page.mouse.move(*middle(page, "truth", sets_of(page).index([EVIL])))
    tip = page.locator("#map-tip")
    tip.wait_for()
    assert "<script>" in tip.text_content()
    assert page.locator("script").count() == 6


def test_the_filter_dims_what_does_not_match(page):
    sets = sets_of(page)
    page.get_by_label("With the label").fill("a")
    matching = [any("a" in name for name in names) for names in sets]
    dim = page.evaluate("[...document.querySelectorAll('.point.truth')].map((one) => one.classList.contains('dim'))")
    assert [not one for one in dim] == matching
    assert page.locator("#matches").text_content() == f"{sum(matching)} of {len(sets)} label sets"
    both = sum(all(any(word in name for name in names) for word in "bc") for names in sets)
    page.get_by_label("With the label").fill("b, c")
    assert page.locator("#matches").text_content().startswith(f"{both} of")
    page.get_by_label("With the label").fill("")
    assert page.locator(".point.dim").count() == 0


def test_roles_are_shown_by_choice(page):
    n = page.locator(".point.truth").count()
    for choice, seen in {"truth": (n, 0), "prediction": (0, n), "both": (n, n)}.items():
        page.get_by_role("radio", name=choice).check()
        assert tuple(page.locator(f".point.{role}:visible").count() for role in ("truth", "prediction")) == seen
    page.get_by_role("radio", name="both").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".point.prediction:visible").count() == 0


def test_zoom_by_buttons_and_drag(page):
    def place():
        return page.locator(".point.truth").first.get_attribute("transform")

    whole = place()
    page.get_by_role("button", name="Zoom in").press("Enter")
    larger = place()
    assert larger != whole
    box = page.locator("#label-map").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 120)
    page.mouse.up()
    assert place() not in (whole, larger)
    page.get_by_role("button", name="Whole map").click()
    assert place() == whole


def test_names_on_the_map_do_not_cover_each_other(page):
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("#label-map .name")].map((one) => {
             const box = one.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; })"""
    )
    assert len(boxes) > 5
    for place, (left, top, right, bottom) in enumerate(boxes):
        for a, b, c, d in boxes[:place]:
            assert min(right, c) - max(left, a) < 1 or min(bottom, d) - max(top, b) < 4


def test_enter_in_a_field_does_not_load_the_page_anew(page):
    page.evaluate("window.stays = true")
    page.get_by_label("With the label").press("Enter")
    page.get_by_label("Labels, at most").press("Enter")
    assert page.evaluate("window.stays")


def test_controls_have_names(page):
    for control in page.locator("input, select, button, summary").all():
        assert control.evaluate("one => one.ariaLabel || (one.labels?.[0] ?? one).textContent.trim()")
    assert page.locator("#live-said").get_attribute("aria-live") == "polite"


def test_dark_and_light(page):
    def colours():
        return page.evaluate(
            """() => [document.documentElement, document.querySelector(".point.truth .shape"),
                      document.querySelector("#criteria .figure text")]
                     .map((one, at) => getComputedStyle(one)[at ? "fill" : "backgroundColor"])"""
        )

    light = colours()
    page.emulate_media(color_scheme="dark")
    assert all(here != there for here, there in zip(colours(), light, strict=True))
    page.emulate_media(color_scheme="light")
    assert colours() == light


def test_print(page):
    page.emulate_media(color_scheme="dark")
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator(".controls").first.is_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).color") == "rgb(29, 33, 38)"


def test_a_tap_does_what_a_hover_does(browser, report):
    window = {"width": 390, "height": 900}
    context = browser.new_context(viewport=window, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page = context.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready=true]")
    page.touchscreen.tap(*middle(page, "truth", highest(page)))
    page.locator("#map-tip").wait_for()
    assert page.locator(".link").count() == 3
    context.close()


def test_what_is_slipped_into_the_page_does_not_run(browser, report, tmp_path):
    """Were a name not escaped, the policy would still keep it from doing anything."""
    slipped = """<script>document.title = "ran"</script><img src="data:," onerror="document.title = 'ran'">
        <style>body { display: none }</style><base href="https://example.org/">
        <form action="https://example.org/"><button id="send">send</button></form>"""
    path = tmp_path / "slipped.html"
    path.write_text(report.read_text().replace("<header>", f"<header>{slipped}", 1))
    page = browser.new_page()
    asked = []
    page.on("request", lambda one: asked.append(one.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=true]")
    assert page.title() == "Scenes"
    assert page.evaluate("getComputedStyle(document.body).display") == "block"
    assert page.evaluate("document.baseURI") == path.as_uri()
    page.evaluate("document.getElementById('send').click()")
    page.wait_for_timeout(200)
    assert page.url == path.as_uri()
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    page.close()


def saved(page, button):
    """What a button of the page saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    return download.value.path()


def decided(page):
    """The page's decisions, row by row; rows that are handed over are empty."""
    return pd.read_csv(saved(page, "Save decisions as CSV"))


def prices(page):
    """The prices in the page's fields, in the order of the labels."""
    table = pd.read_csv(saved(page, "Save prices as CSV"))
    assert table["label"].tolist() == NAMES
    return table["false_negative"].tolist(), table["false_positive"].tolist()


def price_field(page, kind, label):
    return page.get_by_label(f"Price of a false {kind} of {label}", exact=True)


def check_page(page, cost, P, factor=1.0, abstain_at=None, **terms):
    """Compare what the page decides, and all that it tells of it, with what Python decides."""
    table = decided(page)
    labels = decide(P, cost, **terms)
    expected = factor * Posterior.from_marginals(P).expected_cost(labels, cost)
    over = expected > (np.inf if abstain_at is None else abstain_at)
    if factor == 1:
        assert np.ma.getmaskarray(decide(P, cost, abstain_at=abstain_at, **terms))[:, 0].tolist() == over.tolist()
    assert table[NAMES].isna().all(axis=1).tolist() == over.tolist()
    assert np.array_equal(table[NAMES].to_numpy()[~over], labels[~over])
    costs = np.where(over, abstain_at or 0, cost.rowwise(Y[TEST], labels))
    assert table["paid"].to_numpy() == pytest.approx(costs)
    is_price = cost.name not in ("f1", "accuracy", "rank", "hamming")
    shown = page.locator("#live-paid").text_content()
    paid, unit = (costs.sum(), "€") if is_price else (costs.mean(), "")
    assert shown in {amount(paid * (1 + rounding), unit) for rounding in (-1e-12, 1e-12)}, "a half may go either way"
    truth, made = Y[TEST][~over], labels[~over]
    tp = (truth & made).sum()
    assert page.locator("#live-precision").text_content() == share(tp, made.sum())
    assert page.locator("#live-recall").text_content() == share(tp, truth.sum())
    for k, name in enumerate(NAMES):
        line = page.locator(f"tr[data-label='{k}']")
        assert line.locator("th").text_content() == name
        hits = (truth[:, k] & made[:, k]).sum()
        cells = {"predicted": str(made[:, k].sum()), "recall": share(hits, truth[:, k].sum())}
        cells["precision"] = share(hits, made[:, k].sum())
        assert {key: line.locator(f"[data-cell={key}]").text_content() for key in cells} == cells
    expect(page.locator("#live-said")).to_contain_text(shown)
    return labels, over


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "–"


def test_the_page_begins_with_what_the_model_decides(live, priced, price_report):
    assert prices(live) == (FN, FP)
    labels, _ = check_page(live, priced.cost_, priced.predict_proba(X[TEST]))
    assert np.array_equal(labels, priced.predict(X[TEST]))
    assert decided(live)["row"].tolist() == [f"T-{row}" for row in range(120)]
    expect(live.locator("#live-said")).to_contain_text("No row is decided otherwise.")
    assert price_report.stat().st_size < 1_500_000


def test_moving_a_price_decides_as_python_does(live, priced):
    """Row by row, for prices that are typed, moved by arrow keys, and of all labels at once."""
    P = priced.predict_proba(X[TEST])
    price_field(live, "negative", "c").fill("80.5")
    price_field(live, "positive", EVIL).fill("0")
    fn, fp = [*FN[:3], 80.5, *FN[4:]], [0.0, *FP[1:]]
    assert prices(live) == (fn, fp)
    cost = weighted_hamming(fn, fp)
    labels, _ = check_page(live, cost, P)
    assert np.array_equal(labels, priced.predict(X[TEST], cost=cost)), "what the model itself decides"
    changed = (labels != priced.predict(X[TEST])).any(axis=1).sum()
    assert changed > 0
    assert live.locator("#live-changed").text_content() == str(changed)
    before = cost.rowwise(Y[TEST], priced.predict(X[TEST])).sum()
    gain = before - cost.rowwise(Y[TEST], labels).sum()
    assert live.locator("#live-saved").text_content() == amount(gain, "€")

    live.get_by_label("All false negatives").focus()
    live.keyboard.press("ArrowRight")
    assert live.locator("#factor-said").text_content() == "× 2"
    assert prices(live) == ([2 * one for one in fn], fp)
    check_page(live, weighted_hamming([2 * one for one in fn], fp), P)
    live.get_by_label("All false negatives").focus()
    live.keyboard.press("ArrowLeft")
    live.keyboard.press("ArrowLeft")
    check_page(live, weighted_hamming([0.5 * one for one in fn], fp), P)

    live.get_by_label("Price of a false negative of every label").fill("3")
    live.get_by_label("Price of a false positive of every label").fill("7")
    check_page(live, weighted_hamming(3, 7), P)
    live.get_by_label("Price of a false negative of every label").fill("0")
    live.get_by_label("Price of a false positive of every label").fill("0")
    check_page(live, weighted_hamming(0, 0), P)


def test_a_budget_and_handing_over(live, priced):
    P = priced.predict_proba(X[TEST])
    live.get_by_label("Labels, at most").fill("2")
    labels, _ = check_page(live, priced.cost_, P, at_most=2)
    assert np.array_equal(labels, priced.predict(X[TEST], at_most=2))
    assert labels.sum(axis=1).max() == 2
    live.get_by_label("Handing over, €").fill("8.5")
    assert priced.paid_over_expected() != 1
    _, over = check_page(live, priced.cost_, P, priced.paid_over_expected(), at_most=2, abstain_at=8.5)
    assert 0 < over.sum() < 120
    assert live.locator("#live-over").text_content() == str(over.sum())
    assert over.tolist() == np.ma.getmaskarray(priced.predict(X[TEST], at_most=2, abstain_at=8.5))[:, 0].tolist()
    live.get_by_label("Labels, at most").fill("0")
    live.get_by_label("Handing over, €").fill("")
    check_page(live, priced.cost_, P, at_most=0)


@pytest.mark.parametrize("name", ["f1", "accuracy", "rank", "hamming"])
def test_presets(live, priced, name):
    P, cost = priced.predict_proba(X[TEST]), get_cost(name)
    live.locator(f"input[name=decide-for][value={name}]").check()
    assert price_field(live, "negative", "c").is_disabled()
    labels, _ = check_page(live, cost, P)
    if name in ("rank", "hamming"):  # for which probabilities of labels are all that counts
        assert np.array_equal(labels, priced.predict(X[TEST], cost=name))
    live.get_by_label("Labels, at most").fill("1")
    check_page(live, cost, P, at_most=1)
    middling = float(np.median(cost.rowwise(Y[TEST], labels)))
    live.get_by_label("Labels, at most").fill("")
    live.get_by_label("Handing over, €").fill(str(middling))
    check_page(live, cost, P, abstain_at=middling)


def test_what_cannot_be_read_is_said(live, priced):
    field = price_field(live, "negative", "c")
    for wrong in ("-1", ""):
        field.fill(wrong)
        expect(live.locator("#live-said")).to_contain_text("Prices and limits are numbers of at least 0")
        assert field.get_attribute("aria-invalid") == "true"
    field.fill("3")
    check_page(live, weighted_hamming([*FN[:3], 3, *FN[4:]], FP), priced.predict_proba(X[TEST]))
    assert field.get_attribute("aria-invalid") is None


def test_rows_that_change_are_listed_and_prices_can_be_used(live, priced):
    price_field(live, "negative", "c").fill("50")
    live.locator("#live-rows-said").click()
    names = live.locator("#live-rows th").all_text_contents()
    path = saved(live, "Save prices as CSV")
    cost = read_prices(path)
    labels = priced.predict(X[TEST], cost=cost)
    changed = np.flatnonzero((labels != priced.predict(X[TEST])).any(axis=1))
    assert 0 < len(names) == min(30, len(changed))
    assert {*names} <= {f"T-{row}" for row in changed}
    first = live.locator("#live-rows tr").first.locator("td").all_text_contents()
    row = int(names[0][2:])
    sets = [", ".join(np.array(NAMES)[one == 1]) or "no label" for one in (Y[TEST][row], labels[row])]
    assert [first[0], first[2]] == sets
    live.locator("#live-rows-said").click()


def test_the_page_decides_as_python_does_for_probabilities_of_any_kind(browser, price_report):
    """Ties, certain labels, one label and many, any prices: the same decision in every row."""
    page, *_ = opened_at(1400, browser, price_report)
    rng = np.random.default_rng(0)
    ask = """([P, all]) => all.map((terms) => P.map((p) => {
               const { decided, over } = decisions.decide(p, terms); return [decided.join(""), over]; }))"""
    for K in (1, 2, 5, 24, 60):
        some = rng.random((12, K)) ** 3
        P = np.concatenate([some, rng.integers(0, 9, (20, K)) / 8, np.round(some, 1), np.eye(K)[:3], np.zeros((1, K))])
        fn, fp = rng.integers(0, 5, K).astype(float), rng.integers(0, 5, K).astype(float)
        for name in ("prices", "f1", "accuracy", "rank", "hamming"):
            cost = weighted_hamming(fn, fp) if name == "prices" else get_cost(name)
            asked = [(most, price) for most in (None, 0, 1, min(3, K), K) for price in (None, 0.0, 0.375, 2.0)]
            prices = {"cost": name, "fn": fn.tolist(), "fp": fp.tolist(), "factor": 1}
            every = page.evaluate(ask, [P.tolist(), [{**prices, "most": m, "abstain": price} for m, price in asked]])
            for (most, price), here in zip(asked, every, strict=True):
                found = decide(P, cost, at_most=most, abstain_at=price)
                labels, over = np.ma.getdata(found).tolist(), np.ma.getmaskarray(found)[:, 0].tolist()
                there = [["".join(map(str, line)), one] for line, one in zip(labels, over, strict=True)]
                assert here == there, (K, name, most, price)
    page.context.close()
