"""The report in a real browser: Debian's Chromium, driven by Playwright; `make test-browser` runs these alone."""

import shutil

import pandas as pd
import pytest

from clems import CLEMS
from clems.datasets import digit_scenes
from clems.evaluation.report import write_report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; make test-browser does that")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; apt-get install chromium"),
]
SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
SECTIONS = ["savings", "decision", "criteria", "map", "expected", "handing-over", "labels", "mistakes", "what-if"]
EVIL = "<script>alert(1)</script>"
NAMES = [EVIL, *"abcdefghi"]
WIDTHS = [390, 1400]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    X, Y = digit_scenes(420, random_state=0)
    model = CLEMS("rank", n_trees=10, random_state=0).fit(X[:300], pd.DataFrame(Y[:300], columns=NAMES))
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(model, X[300:], Y[300:], path, title="Scenes", images=X[300:].reshape(-1, 11, 11))


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=WIDTHS)
def opened(request, browser, report):
    context = browser.new_context(viewport={"width": request.param, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(20_000)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda one: asked.append(one.url))
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready=true]")
    yield page, said, asked
    context.close()


@pytest.fixture
def page(opened, report):
    """The page as it is when it is opened, which takes the most time of all."""
    page, said, asked = opened
    page.mouse.move(1, 1)
    page.emulate_media(media="screen", color_scheme="light")
    page.get_by_role("radio", name="both").check()
    page.get_by_label("With the label").fill("")
    yield page
    assert said == [], "the console is silent"
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()], "nothing is fetched"


def point(page, trace, number):
    """Where a point of the map is on the screen."""
    page.locator("#label-map").scroll_into_view_if_needed()
    return page.evaluate(
        """([trace, number]) => {
            const map = document.getElementById("label-map"), box = map.getBoundingClientRect();
            const { xaxis, yaxis } = map._fullLayout, { x, y } = map.data[trace];
            return [box.left + xaxis._offset + xaxis.d2p(x[number]), box.top + yaxis._offset + yaxis.d2p(y[number])];
        }""",
        [trace, number],
    )


def trace(page, number):
    return page.evaluate("number => document.getElementById('label-map').data[number]", number)


def test_every_section_and_figure_is_seen(page):
    for section in SECTIONS:
        assert page.locator(f"#{section} h2").is_visible()
    assert page.locator(".plot").count() == page.locator(".plot .main-svg:first-child").count() == 12
    for figure in page.locator(".plot").all():
        assert figure.bounding_box()["height"] > 100
        assert figure.get_attribute("aria-label")
    assert page.locator(".card img").count() > 20
    assert page.evaluate("[...document.images].every((one) => one.complete && one.naturalWidth === 11)")


def test_nothing_is_wider_than_the_screen(page):
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for part in page.locator(".scroll").all():
        assert part.bounding_box()["width"] <= page.viewport_size["width"]


def test_hover_tells_a_label_set_and_what_is_near(page):
    outermost = page.evaluate(
        """() => { const { x, y } = document.getElementById("label-map").data[1];
                   return y.indexOf(Math.max(...y)); }"""
    )
    page.mouse.move(*point(page, 1, outermost))
    hover = page.locator("#label-map .hovertext")
    hover.wait_for()
    text = hover.text_content()
    assert "as the truth" in text
    assert "nearest predictions by cost" in text
    page.wait_for_function("document.getElementById('label-map').data[0].x.length === 9")
    page.mouse.move(5, 5)
    page.wait_for_function("document.getElementById('label-map').data[0].x.length === 0")


def test_names_in_hovers_are_only_text(page):
    carried = page.evaluate("JSON.parse(document.getElementById('map-data').textContent).sets")
    alone = carried.index([EVIL])
    page.get_by_role("radio", name="truth").check()
    page.get_by_label("With the label").fill("<script")
    x, y = point(page, 1, alone)
    page.mouse.move(x, y)
    hover = page.locator("#label-map .hovertext")
    hover.wait_for()
    assert "<script>" in hover.text_content()
    assert page.locator("script").count() == 5


def test_the_filter_dims_what_does_not_match(page):
    sets = page.evaluate("JSON.parse(document.getElementById('map-data').textContent).sets")
    page.get_by_label("With the label").fill("a")
    matching = [any("a" in name for name in names) for names in sets]
    page.wait_for_function("document.getElementById('label-map').data[1].marker.opacity.includes(0.06)")
    opacity = trace(page, 1)["marker"]["opacity"]
    assert [one > 0.5 for one in opacity] == matching
    assert page.locator("#matches").text_content() == f"{sum(matching)} of {len(sets)} label sets"
    page.get_by_label("With the label").fill("b, c")
    page.wait_for_function(
        "count => document.querySelector('#matches').textContent.startsWith(count + ' of')",
        arg=str(sum(all(any(word in name for name in names) for word in "bc") for names in sets)),
    )
    page.get_by_label("With the label").fill("")
    page.wait_for_function("!document.getElementById('label-map').data[1].marker.opacity.includes(0.06)")


def test_roles_are_shown_by_choice(page):
    for choice, seen in {"truth": [True, False], "prediction": [False, True], "both": [True, True]}.items():
        page.get_by_role("radio", name=choice).check()
        page.wait_for_function(
            "seen => [1, 2].every((k) => document.getElementById('label-map').data[k].visible === seen[k - 1])",
            arg=seen,
        )
    page.get_by_role("radio", name="both").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.getElementById('label-map').data[2].visible === false")


def test_enter_in_the_filter_does_not_load_the_page_anew(page):
    page.evaluate("window.stays = true")
    page.get_by_label("With the label").press("Enter")
    assert page.evaluate("window.stays")


def test_controls_have_names(page):
    for control in page.locator("input, select, button, summary").all():
        assert control.evaluate("one => (one.labels?.[0] ?? one).textContent.trim()")


def test_dark_and_light(page):
    def colours():
        return page.evaluate(
            """() => { const map = document.getElementById("label-map");
                       return [getComputedStyle(document.documentElement).backgroundColor,
                               map.data[1].marker.color, map.layout.font.color]; }"""
        )

    light = colours()
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("was => document.getElementById('label-map').layout.font.color !== was", arg=light[2])
    assert all(here != there for here, there in zip(colours(), light, strict=True))
    page.emulate_media(color_scheme="light")
    page.wait_for_function("was => document.getElementById('label-map').layout.font.color === was", arg=light[2])
    assert colours() == light


def test_print(page):
    page.emulate_media(color_scheme="dark")
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator(".controls").is_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).color") == "rgb(29, 33, 38)"


def test_a_tap_does_what_a_hover_does(browser, report):
    window = {"width": 390, "height": 900}
    context = browser.new_context(viewport=window, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page = context.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready=true]")
    highest = page.evaluate("(({ y }) => y.indexOf(Math.max(...y)))(document.getElementById('label-map').data[1])")
    page.touchscreen.tap(*point(page, 1, highest))
    page.locator("#label-map .hovertext").wait_for()
    page.wait_for_function("document.getElementById('label-map').data[0].x.length === 9")
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
