"""The built book in a browser, as a reader with a phone or a laptop meets it."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
import io
import os
import shutil
from threading import Thread

import pytest
from sphinx_external_toc.parsing import parse_toc_yaml

from conftest import ROOT

SITE = ROOT / "_build" / "html"
INDEX, CHAPTER = "chapters/index.html", "chapters/four-numbers.html"
PAGES = [f"{name}.html" for name in parse_toc_yaml(ROOT / "_toc.yml")]
PHONE, LAPTOP = 390, 1280
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    if not SITE.is_dir():
        pytest.fail("there is no built book: run `make book` first (`make test` does)")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=SITE))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("needs a browser: install Chromium (on Debian and Ubuntu: apt-get install chromium)")
    assert CHROMIUM, "CI must have Chromium: these tests may not be skipped there"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, address):
    """Return a function that opens a page of the site; fail if anything it asked for went wrong."""
    contexts, complaints = [], []

    def visit(path, width=LAPTOP, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        # The front door only redirects, so it names no icon, and a browser may ask for the usual one.
        context.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("response", lambda r: complaints.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        page.on("request", lambda r: None if r.url.startswith((address, "data:")) else complaints.append(r.url))
        page.goto(f"{address}/{path}", wait_until="networkidle")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, LAPTOP])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_whole(visit, path, width, scheme):
    page = visit(path, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    images = page.eval_on_selector_all("article img", "all => all.map(i => [i.alt, i.complete && i.naturalWidth])")
    assert images
    for alt, loaded_width in images:
        assert loaded_width > 0
        assert len(alt.split()) > 10
    text = page.inner_text("article")
    assert "\\(" not in text and "\\frac" not in text and "check:" not in text
    if path != INDEX:
        assert page.locator("mjx-container").count() > 10


def test_every_figure_of_the_chapter_is_there(visit):
    assert visit(CHAPTER).locator("article .cell_output img").count() == 7


@pytest.mark.parametrize("scheme, background", [("light", (255, 255, 255)), ("dark", (18, 18, 18))])
def test_a_figure_has_the_background_of_its_page(visit, scheme, background):
    from PIL import Image

    page = visit(CHAPTER, LAPTOP, scheme)
    figure = page.locator("article .cell_output img").first
    figure.scroll_into_view_if_needed()
    picture = Image.open(io.BytesIO(figure.screenshot())).convert("RGB")
    assert picture.getpixel((2, 2)) == background
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb{background}"


def test_the_menu_of_a_phone_leads_to_the_chapter(visit):
    page = visit(INDEX, PHONE)
    link = page.locator(".bd-sidebar-primary, #pst-primary-sidebar-modal").get_by_role("link", name="four numbers")
    assert not link.first.is_visible()
    page.locator("button.primary-toggle:visible").first.click()
    page.wait_for_timeout(500)
    link.locator("visible=true").first.click()
    page.wait_for_url("**/four-numbers.html")
    assert page.locator("article h1").inner_text().startswith("Layer norm from four numbers")


def test_the_sidebar_of_a_laptop_leads_to_the_chapter(visit):
    page = visit(INDEX, LAPTOP)
    page.locator(".bd-sidebar-primary").get_by_role("link", name="four numbers").click()
    page.wait_for_url("**/four-numbers.html")


def test_the_front_door_opens(visit):
    page = visit("index.html")
    page.wait_for_url("**/chapters/index.html")
    page.get_by_role("link", name="Layer norm from four numbers").first.click()
    page.wait_for_url("**/four-numbers.html")


def test_search_finds_a_word_of_the_chapter(visit):
    page = visit("search.html?q=broadcasting")
    page.locator("#search-results a", has_text="Layer norm from four numbers").first.wait_for()


def test_a_solution_opens_with_the_keyboard(visit):
    page = visit(CHAPTER, PHONE)
    solution = page.locator("details", has_text="Solution to exercise 1").first
    assert not solution.get_by_text("The mean is 10").is_visible()
    solution.locator("summary").focus()
    page.keyboard.press("Enter")
    assert solution.get_by_text("The mean is 10").is_visible()
